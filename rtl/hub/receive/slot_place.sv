// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Finds whether an explicit store lands in the slots {own token, list position} that rows return
// to, and in which. Combinational, after rx_resolve's first register.
//
// Function: Slot {index, position} lies at cb_base + ((index << k_shift | position) << row_shift).
// A store that starts in the space of the slots of 2^token_shift tokens targets a slot.
// Errors: It is out of bounds if the token does not exist, if the list has no such position, or if
// it extends beyond the row.
`default_nettype none

module slot_place #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default
) (
    input  wire node_pkg::node_cfg_t         cfg_i,
    input  wire logic [Cfg.MemBytesLog2-1:0] first_i,    // byte in memory
    input  wire logic [7:0]                  len_i,
    output logic                             slot_o,
    output logic                             outside_o,  // with slot_o
    output logic [Cfg.TokensLog2-1:0]        index_o
);
    localparam int unsigned W = Cfg.MemBytesLog2;

    logic [W:0] distance;  // from cb_base, below 0 in front of it
    logic [W-1:0] slot, index, position;
    logic [15:0] in_row;

    assign distance = {1'b0, first_i} - {1'b0, cfg_i.cb_base[W-1:0]};
    assign slot = distance[W-1:0] >> cfg_i.row_shift;
    assign index = slot >> cfg_i.k_shift;
    assign position = slot & ~(~W'(0) << cfg_i.k_shift);
    assign in_row = (16'(15'(distance[W-1:0])) & ~(16'hffff << cfg_i.row_shift)) + 16'(len_i);
    assign index_o = index[Cfg.TokensLog2-1:0];
    assign slot_o = !distance[W] && (index >> cfg_i.token_shift) == '0;
    assign outside_o = index >= W'(cfg_i.tokens) || position >= W'(cfg_i.k)
                       || in_row > 16'(cfg_i.row_bytes);

endmodule

`default_nettype wire
