// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Shares the STORE credits of one input of the switch between two senders: the hub, and
// kept_answers.
//
// Function: If a layer keeps answers, the hub leaves Share of its credits unused. A kept packet
// uses one of these (use_i), so kept packets use at most Share credits at a time. For each credit
// that a kept packet has used, one returning credit stays here. All other returning credits go to
// the hub.
// Ports: left_i: a STORE credit is free. begins_i: a packet of the hub begins. may_o: a kept
// packet may begin, with use_i. crd_i: a credit returns. crd_o: this credit goes to the hub.
// idle_o: kept packets hold no credit.
// Back-pressure: A packet of the hub that begins has priority (begins_i).
// Latency: Combinational.
`default_nettype none
`include "assert.svh"

module kept_credits #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter int unsigned Share = packet_pkg::KeptStores  // the driver leaves as many to them
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,
    input  wire logic left_i,
    input  wire logic begins_i,
    output logic      may_o,
    input  wire logic use_i,
    input  wire logic crd_i,
    output logic      crd_o,
    output logic      idle_o
);
    localparam int unsigned W = $clog2(Cfg.StorePkts + 1);

    if (Share >= Cfg.StorePkts) begin : gen_check
        $error("kept_credits: the hub needs a credit besides those of kept answers");
    end

    logic [W-1:0] taken_q;  // by kept answers, and not back
    logic back;

    assign may_o = left_i && !begins_i && taken_q < W'(Share);
    assign back = crd_i && taken_q != '0;
    assign crd_o = crd_i && !back;
    assign idle_o = taken_q == '0;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) taken_q <= '0;
        else if (use_i != back) taken_q <= taken_q + (use_i ? W'(1) : '1);
    end

    `MW_CONTRACT(use_i, may_o, "a kept packet begins without a credit")
endmodule

`default_nettype wire
