// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Output of a lane of the row sums: one queue for memory (own_) and one for the uplink (up_), so
// that neither waits for the other.
//
// Order: Flits of each in order of arrival.
// Back-pressure: A place is reserved (promise_i, in the queue that own_i selects, only with that
// queue's room) before its flit arrives (push_i), because the adder cannot wait. own_room_o is low
// with 15 flits reserved or stored, up_room_o with UpDepth - 1.
// Latency: As long as the streams are not taken.
`default_nettype none
`include "assert.svh"

module sum_queues #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type tag_t = logic,  // see row_sum
    parameter type own_t = logic,
    parameter type up_t = logic,
    parameter int unsigned UpDepth = 32
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    input  wire logic                 promise_i,
    input  wire logic                 own_i,
    output logic                      own_room_o,
    output logic                      up_room_o,
    input  wire logic                 push_i,
    input  wire logic [Cfg.FlitW-1:0] data_i,
    input  wire tag_t                 tag_i,   // of its packet
    input  wire logic                 last_i,  // its last flit

    output own_t      own_o,
    input  wire logic own_ready_i,
    output up_t       up_o,
    input  wire logic up_ready_i
);
    promise_fifo #(
        .Width($bits(own_t) - 1),
        .Depth(16)
    ) i_own (
        .clk_i,
        .rst_ni,
        .promise_i(promise_i && own_i),
        .room_o(own_room_o),
        .push_i(push_i && tag_i.own),
        .data_i({last_i, tag_i.row_last, tag_i.poison, data_i}),
        .valid_o(own_o.valid),
        .ready_i(own_ready_i),
        .data_o({own_o.last, own_o.row_last, own_o.poison, own_o.data})
    );
    promise_fifo #(
        .Width($bits(up_t) - 1),
        .Depth(UpDepth)
    ) i_up (
        .clk_i,
        .rst_ni,
        .promise_i(promise_i && !own_i),
        .room_o(up_room_o),
        .push_i(push_i && !tag_i.own),
        .data_i({tag_i, last_i, data_i}),
        .valid_o(up_o.valid),
        .ready_i(up_ready_i),
        .data_o({up_o.tag, up_o.last, up_o.data})
    );

    `MW_CONTRACT(promise_i, own_i ? own_room_o : up_room_o, "a flit without a place")
endmodule

`default_nettype wire
