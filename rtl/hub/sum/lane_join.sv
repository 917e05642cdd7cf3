// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Joins the outputs of the adder and of its bypass, packet by packet, in the order in which the
// packets were chosen.
//
// Order: A row's packets, and the rows of a requester, keep their order in both lanes. choose_i,
// with copy_i, names the lane of each packet before its first flit is available. word_t.last ends a
// packet.
// Back-pressure: A lane's flits wait for their packet's slot and for ready_i. There is no circular
// wait: the packet whose slot it is was chosen before all others, so nothing precedes it in its
// lane.
// Latency: A packet waits for all packets that were chosen before it.
`default_nettype none
`include "assert.svh"

module lane_join #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type word_t = logic  // with fields valid and last
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    input  wire logic choose_i,
    input  wire logic copy_i,

    input  wire word_t add_i,
    output logic       add_ready_o,
    input  wire word_t copy_word_i,
    output logic       copy_ready_o,

    output word_t     word_o,
    input  wire logic ready_i
);
    if (Cfg.AdderBypass) begin : gen_lanes
        logic some, copy;

        lane_order i_order (
            .clk_i,
            .rst_ni,
            .choose_i,
            .copy_i,
            .some_o(some),
            .copy_o(copy),
            .end_i(word_o.valid && ready_i && word_o.last)
        );
        always_comb begin
            word_o = copy ? copy_word_i : add_i;
            word_o.valid = some && word_o.valid;
        end
        assign add_ready_o = some && !copy && ready_i;
        assign copy_ready_o = some && copy && ready_i;
    end else begin : gen_adder
        assign word_o = add_i;
        assign add_ready_o = ready_i;
        assign copy_ready_o = 1'b0;
    end

    `MW_CONTRACT(Cfg.AdderBypass, !(add_ready_o && copy_ready_o), "flits of both lanes are taken")
endmodule

`default_nettype wire
