// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Replaces the partial sums of members whose port is down by poisoned ones. One per output, between
// the partial queues and the join.
//
// Function: A row continues with its full number of packets. Partials that such a member had sent
// before are used first. A port goes down when everything from it is in its queue (port_guard), and
// nothing enters while it is down. No queue therefore fills in the middle of a replaced packet. A
// flush may empty a queue there, and the rest of the packet is then replaced, too.
// Ports: A queue sees only reads of its own partials. late_o names a member that the join has
// waited for too long. old_o is high while a row is open that was accepted before a port last went
// down, and may still need a replacement.
`default_nettype none
`include "assert.svh"

module dummy_partial #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter int unsigned Members = Cfg.Others,
    parameter int unsigned Width = 130,  // of a term; the top bit is poison
    localparam int unsigned LevelW = $clog2(Cfg.OpenRows + 1)
) (
    input  wire logic               clk_i,
    input  wire logic               rst_ni,
    input  wire logic               tick_i,
    input  wire logic [Members-1:0] down_i,
    input  wire logic               mark_i,  // the first cycle of a port that is down

    // of the join
    input  wire logic [Members-1:0] wait_i,   // the member that it waits for
    input  wire logic               row_done_i,
    input  wire logic [LevelW-1:0]  level_i,  // open rows
    output logic [Members-1:0]      late_o,
    output logic                    old_o,

    input  wire logic [Members-1:0] re_i,
    input  wire logic [Members-1:0] done_i,
    output logic [Members-1:0]      has_o,
    output logic [Width-1:0]        term_o,

    // of the queues
    input  wire logic [Members-1:0] has_i,
    input  wire logic [Width-1:0]   term_i,
    output logic [Members-1:0]      re_o,
    output logic [Members-1:0]      done_o
);
    logic stands_q, late;
    logic [LevelW-1:0] old_q;

    assign has_o = has_i | down_i;
    assign re_o = re_i & has_i;
    assign done_o = done_i & has_i;
    assign term_o = {term_i[Width-1] || stands_q, term_i[Width-2:0]};
    assign late_o = late ? wait_i : '0;
    assign old_o = old_q != '0;

    always_ff @(posedge clk_i) begin
        stands_q <= (re_i & ~has_i) != '0;
        if (!rst_ni) old_q <= '0;
        else if (mark_i) old_q <= level_i - LevelW'(row_done_i);
        else if (row_done_i && old_o) old_q <= old_q - 1'b1;
    end

    // A join waits for one member at a time, and not in the cycle in which it goes on.
    stall_timer #(
        .Count(1)
    ) i_timer (
        .clk_i,
        .rst_ni,
        .tick_i,
        .wait_i(wait_i != '0),
        .late_o(late)
    );

    `MW_CONTRACT(1'b1, $onehot0(re_i) && $onehot0(wait_i),
                 "the join waits for two members, or reads two")
    `MW_CONTRACT(1'b1, (done_i & ~re_i) == '0, "a packet ends that is not read")
    `MW_CONTRACT(1'b1, old_q <= level_i, "more old rows than open ones")
endmodule

`default_nettype wire
