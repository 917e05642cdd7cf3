// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The lanes of packets in flight, in the order in which they were chosen.
//
// Ports: choose_i adds one. end_i ends the oldest, whose lane is copy_o.
// Latency: A packet shows one cycle after its choice. There is room for all packets that sum_choice
// admits.
`default_nettype none
`include "assert.svh"

module lane_order (
    input  wire logic clk_i,
    input  wire logic rst_ni,
    input  wire logic choose_i,
    input  wire logic copy_i,
    output logic      some_o,
    output logic      copy_o,
    input  wire logic end_i
);
    localparam int unsigned Packets = 31;  // own ones that sum_choice lets in

    logic room;

    fifo #(
        .Width(1),
        .Depth(Packets)
    ) i_lanes (
        .clk_i,
        .rst_ni,
        .valid_i(choose_i),
        .ready_o(room),
        .data_i(copy_i),
        .valid_o(some_o),
        .ready_i(end_i),
        .data_o(copy_o),
        .level_o()
    );
    `MW_ASSERT(!choose_i || room, "more packets than sum_choice lets in")
    `MW_CONTRACT(end_i, some_o, "a packet ends that was not chosen")
endmodule

`default_nettype wire
