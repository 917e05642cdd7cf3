// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Target lists of up to four tokens: written one target at a time, read a flit at a time.
//
// Target n of a list is word n / L of lane n mod L, L = targets per flit. A packet carries target 0 in its header and the others from lane 0 of its
// first target flit on: target flit t is lanes 1 .. L-1 of word t and lane 0 of word t + 1, so the shift by one target is wiring.
// Read with word_i = 0 for the header (target0_o) and word_i = t + 1 for target flit t (flit_o). Reads are asynchronous. Lanes behind the
// end of a list hold old targets.
`default_nettype none

module target_ram #(
    parameter int unsigned FlitBytes = 8,
    parameter int unsigned ExpertW   = 12,  // bits of an expert that are kept; those above are zero
    localparam int unsigned Lanes = FlitBytes / 2,
    localparam int unsigned LaneW = $clog2(Lanes),
    localparam int unsigned WordW = 4 - LaneW
) (
    input  wire logic                   clk_i,
    input  wire logic                   we_i,
    input  wire logic [1:0]             wlist_i,
    input  wire logic [3:0]             wpos_i,    // place in the list
    input  wire logic [ExpertW+3:0]     wdata_i,   // {expert, place in the token's list}
    input  wire logic [1:0]             rlist_i,
    input  wire logic [2:0]             word_i,
    output logic [15:0]                 target0_o,
    output logic [8*FlitBytes-1:0]      flit_o
);
    logic [WordW-1:0] word_before;
    logic [ExpertW+3:0] lane [Lanes];

    assign word_before = WordW'(word_i - 1'b1);
    assign target0_o   = 16'(lane[0]);

    for (genvar l = 0; l < Lanes; l++) begin : gen_lane
        lutram #(
            .Width(ExpertW + 4),
            .Depth(4 * 2**WordW)
        ) i_ram (
            .clk_i,
            .we_i    (we_i && wpos_i[LaneW-1:0] == LaneW'(l)),
            .waddr_i ({wlist_i, wpos_i[3:LaneW]}),
            .wdata_i (wdata_i),
            .raddr_i ({rlist_i, (l == 0) ? word_i[WordW-1:0] : word_before}),
            .rdata_o (lane[l])
        );
        assign flit_o[16*((l + Lanes - 1) % Lanes) +: 16] = 16'(lane[l]);
    end

    logic unused_word;  // the list ends before word 2**WordW
    assign unused_word = ^word_i[2:WordW];
endmodule

`default_nettype wire
