// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// A queue of granted tiles, which outputs their rows, or parts of rows, one by one.
//
// Function: A tile begins with row index_i of home_i. It has tile_i rows, or fewer if it would
// pass end_i. Each row leaves as parts 0 to last_part_i, whose numbers are index << parts_i | part.
// Order: Tiles in order of arrival, rows by index, parts in order.
// Back-pressure: Rows wait for row_take_i. The queue has Cfg.OpenSyncs places, and its user counts
// them: a place becomes free when the last row of its tile leaves (done_o).
// Latency: One row per cycle, the first in the cycle after its tile was pushed.
`default_nettype none
`include "assert.svh"

module load_tiles #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default
) (
    input  wire logic                      clk_i,
    input  wire logic                      rst_ni,

    // constant while tiles are here
    input  wire logic [7:0]                tile_i, // 0: 1
    input  wire logic [Cfg.TokensLog2:0]   end_i,
    input  wire logic [2:0]                parts_i,
    input  wire logic [6:0]                last_part_i,

    input  wire logic                      push_i,
    input  wire logic [Cfg.GpuW-1:0]       home_i,
    input  wire logic [Cfg.TokensLog2-1:0] index_i, // below end_i

    output logic                           row_valid_o,
    input  wire logic                      row_take_i,
    output logic [Cfg.GpuW-1:0]            home_o,
    output logic [Cfg.LoadIndexW-1:0]      index_o, // of a part
    output logic                           done_o   // with its last row a tile leaves
);
    logic room;
    logic [$clog2(Cfg.OpenSyncs+1)-1:0] level;
    logic [Cfg.TokensLog2-1:0] first, row;
    logic [7:0] at_q;  // row of the tile
    logic [6:0] part_q;
    logic row_end, last;

    fifo #(
        .Width(Cfg.GpuW + Cfg.TokensLog2),
        .Depth(Cfg.OpenSyncs)
    ) i_tiles (
        .clk_i,
        .rst_ni,
        .valid_i(push_i),
        .ready_o(room),
        .data_i({home_i, index_i}),
        .valid_o(row_valid_o),
        .ready_i(done_o),
        .data_o({home_o, first}),
        .level_o(level)
    );

    assign row = first + Cfg.TokensLog2'(at_q);
    assign index_o = Cfg.LoadIndexW'(row) << parts_i | Cfg.LoadIndexW'(part_q);
    assign last = 9'(at_q) + 9'd1 >= 9'(tile_i) || (Cfg.TokensLog2 + 1)'(row) + 1'b1 == end_i;
    assign row_end = part_q == last_part_i;
    assign done_o = row_take_i && row_end && last;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) {at_q, part_q} <= '0;
        else if (row_take_i) begin
            part_q <= row_end ? '0 : part_q + 1'b1;
            if (row_end) at_q <= last ? '0 : at_q + 1'b1;
        end
    end


    `MW_CONTRACT(push_i, room, "a tile without a place")
    `MW_CONTRACT(push_i, (Cfg.TokensLog2 + 1)'(index_i) < end_i, "a tile without a row")
    `MW_CONTRACT(row_take_i, row_valid_o, "a row is taken that is not there")
    `MW_STABLE(row_valid_o, row_take_i, {home_o, index_o}, "a row goes before it is taken")
endmodule

`default_nettype wire
