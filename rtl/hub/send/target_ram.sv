// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Target lists of up to four tokens: written one target at a time, read a flit at a time.
//
// Function: Target n of a list is word n / L of lane n mod L, L = targets per flit. A packet
// carries target 0 in its header, and the others from lane 0 of its first target flit on. Target
// flit t is lanes 1 .. L-1 of word t and lane 0 of word t + 1, so the shift by one target is
// wiring.
// Ports: Read with at_i.word = 0 for the header (target0, which is target at_i.nth, 0 without
// RowSparse), and at_i.word = t + 1 for target flit t. Lanes after the end of a list hold old
// targets.
// Latency: Reads are asynchronous.
`default_nettype none
`include "bundles.svh"

module target_ram #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type target_t = `MW_TARGET(Cfg),
    parameter type targets_t = `MW_TARGETS(Cfg),
    localparam int unsigned WordW = 4 - Cfg.LaneW
) (
    input  wire logic                   clk_i,
    input  wire target_t                wr_i,
    input  wire bundle_pkg::target_at_t at_i,
    output targets_t                    targets_o
);
    logic [WordW-1:0] word_before, word_at[Cfg.Lanes];
    logic [Cfg.ExpW+3:0] lane[Cfg.Lanes];

    assign word_before = WordW'(at_i.word - 1'b1);

    if (Cfg.RowSparse) begin : gen_any
        assign targets_o.target0 = 16'(lane[at_i.nth[Cfg.LaneW-1:0]]);
    end else begin : gen_first
        assign targets_o.target0 = 16'(lane[0]);
    end

    for (genvar l = 0; l < Cfg.Lanes; l++) begin : gen_lane
        always_comb begin
            word_at[l] = (l == 0) ? at_i.word[WordW-1:0] : word_before;
            if (Cfg.RowSparse && at_i.word == '0) word_at[l] = WordW'(at_i.nth >> Cfg.LaneW);
        end

        lutram #(
            .Width(Cfg.ExpW + 4),
            .Depth(4 * 2 ** WordW)
        ) i_ram (
            .clk_i,
            .we_i(wr_i.we && wr_i.place[Cfg.LaneW-1:0] == Cfg.LaneW'(l)),
            .waddr_i({wr_i.list, wr_i.place[3:Cfg.LaneW]}),
            .wdata_i(wr_i.data),
            .raddr_i({at_i.list, word_at[l]}),
            .rdata_o(lane[l])
        );
        assign targets_o.flit[16*((l+Cfg.Lanes-1)%Cfg.Lanes)+:16] = 16'(lane[l]);
    end

    if (Cfg.SourceLists) begin : gen_rows
        lutram #(
            .Width(packet_pkg::RowBits),
            .Depth(64)
        ) i_rows (
            .clk_i,
            .we_i(wr_i.we),
            .waddr_i({wr_i.list, wr_i.place}),
            .wdata_i(wr_i.row),
            .raddr_i({at_i.list, at_i.nth}),
            .rdata_o(targets_o.row)
        );
    end else begin : gen_no_rows
        assign targets_o.row = '0;
    end

endmodule

`default_nettype wire
