// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// STORE credits of one input of the switch that two senders share: the hub, and answers that the
// switch has kept (kept_answers).
//
// Function: The hub of a layer with kept answers leaves some credits unused. A kept answer takes
// one for each packet (use_i), as the hub does, Share at a time: the hub finds those that it
// counts on. The hub must not get these back: of the credits that return, as many stay here as
// kept answers have taken.
// Ports: left_i: a credit is left. may_o: a kept packet may begin. crd_i: a credit returns, which
// the hub gets with crd_o.
// Back-pressure: A packet of the hub that begins goes first (begins_i).
// Latency: Combinational.
`default_nettype none
`include "assert.svh"

module kept_credits #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter int unsigned Share = 4  // the driver leaves as many to kept answers
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
