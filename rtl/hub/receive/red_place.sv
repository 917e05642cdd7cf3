// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Finds the own row to which a merged red adds. Combinational, after rx_resolve's first register.
//
// Function: The row with index i lies at xd_base + (i << row_shift). Rows from red_first to
// 2^token_shift are counted.
// Errors: outside_o: the red begins in none of these rows, or extends beyond its row. rx_resolve
// makes this BOUNDS.
`default_nettype none

module red_place #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default
) (
    input  wire node_pkg::node_cfg_t         cfg_i,
    input  wire logic [Cfg.MemBytesLog2-1:0] first_i,    // byte in memory
    input  wire logic [7:0]                  len_i,      // bytes
    output logic                             outside_o,
    output logic [Cfg.TokensLog2-1:0]        index_o     // of the row, if not outside_o
);
    localparam int unsigned W = Cfg.MemBytesLog2;

    logic [W:0] distance;  // bytes from xd_base, negative for an address below it
    logic [W-1:0] index;
    logic [15:0] in_row;

    assign distance = {1'b0, first_i} - {1'b0, cfg_i.xd_base[W-1:0]};
    assign index = distance[W-1:0] >> cfg_i.row_shift;
    assign in_row = (16'(15'(distance[W-1:0])) & ~(16'hffff << cfg_i.row_shift)) + 16'(len_i);
    assign index_o = index[Cfg.TokensLog2-1:0];
    assign outside_o = distance[W] || (index >> cfg_i.token_shift) != '0
                       || index < W'(cfg_i.red_first) || in_row > 16'(cfg_i.row_bytes);

endmodule

`default_nettype wire
