// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Records the experts that a list of targets has named: one bit each, in LUT RAM.
//
// Latency: seen_o follows expert_i in the same cycle. clear_i starts a clear of 8 cycles
// (clearing_o), as does reset. During a clear nothing is marked and seen_o is undefined.
`default_nettype none
`include "assert.svh"

module seen_table #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire logic                clear_i,  // not with clearing_o
    output logic                     clearing_o,
    input  wire logic [Cfg.ExpW-1:0] expert_i,
    input  wire logic                mark_i,   // expert_i has been seen
    output logic                     seen_o
);
    localparam int unsigned SeenW = Cfg.MaxExperts / 8;  // bits of a word

    logic [2:0] clear_q;
    logic [SeenW-1:0] seen, seen_bit;

    assign seen_bit = SeenW'(1) << expert_i[Cfg.ExpW-4:0];
    assign seen_o = (seen & seen_bit) != '0;

    lutram #(
        .Width(SeenW),
        .Depth(8)
    ) i_seen (
        .clk_i,
        .we_i(clearing_o || mark_i),
        .waddr_i(clearing_o ? clear_q : expert_i[Cfg.ExpW-1-:3]),
        .wdata_i(clearing_o ? '0 : seen | seen_bit),
        .raddr_i(expert_i[Cfg.ExpW-1-:3]),
        .rdata_o(seen)
    );

    // clear_i comes late: the counter, which is back at 0 behind its 8 steps, does not count it.
    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            clearing_o <= 1'b1;
            clear_q <= '0;
        end else begin
            clearing_o <= clear_i || (clearing_o && clear_q != '1);
            if (clearing_o) clear_q <= clear_q + 3'd1;
        end
    end

    `MW_CONTRACT(clear_i, !clearing_o, "a clear starts inside a clear")
endmodule

`default_nettype wire
