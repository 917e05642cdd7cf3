// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Look-ahead window of one input of the switch: numbers its STORE packets, and tracks the oldest
// with a copy that has not been sent.
//
// Order: A packet enters its queues at once, whatever the window is. Nothing of another class
// therefore waits for it. Outputs see only packets inside the window (see voq).
// Back-pressure: may_o delays credits so that packets from the oldest one on, plus unused credits,
// are at most StorePkts. No two of them then have the same number.
// Latency: The oldest number advances by at most one per cycle, in the cycle after its last copy
// counts as sent. egress reports this one cycle before it reads the last flit, so the next packet
// is ready when the output is free.
// Ports: limited_i changes only while nothing is queued and the sender holds all credits.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module window #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type window_t = `MW_WINDOW(Cfg)
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,
    input  wire logic limited_i,
    input  wire logic push_i,   // packet seq enters its queues
    input  wire logic drop_i,   // a packet was rejected
    input  wire logic issue_i,  // a credit goes to the sender
    input  wire logic here_i,   // a copy of packet oldest has not been sent
    output window_t   win_o,
    output logic      may_o,    // a credit may go to the sender
    output logic      idle_o
);
    logic [Cfg.SeqW-1:0] load_q;  // packets from the oldest on, and credits that the sender may use
    logic step;

    assign idle_o = win_o.seq == win_o.oldest;
    assign step = !here_i && !idle_o;
    assign may_o = !limited_i || load_q != Cfg.SeqW'(Cfg.StorePkts);

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            win_o.seq <= '0;
            win_o.oldest <= '0;
            load_q <= Cfg.SeqW'(Cfg.StorePkts);
        end else if (limited_i) begin
            if (push_i) win_o.seq <= win_o.seq + 1'b1;
            if (step) win_o.oldest <= win_o.oldest + 1'b1;
            load_q <= load_q + Cfg.SeqW'(issue_i) - Cfg.SeqW'(step) - Cfg.SeqW'(drop_i);
        end
    end

    `MW_CONTRACT(limited_i && issue_i, may_o, "a credit that would give two packets a number")
    `MW_CONTRACT(limited_i,
                 win_o.seq - win_o.oldest <= load_q && load_q <= Cfg.SeqW'(Cfg.StorePkts),
                 "packets of the window beyond its numbers")
    `MW_NEXT(!idle_o, $stable(limited_i), "the window changes while a packet is queued")
endmodule

`default_nettype wire
