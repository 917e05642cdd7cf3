// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Adder bypass: packets of rows that need no addition (one term, R alone, or no term).
//
// Function: NaN leave canonical, as from the adder, and nothing else changes.
// Order: Packets as they come, flits of a packet in order, to memory (own_) and to the uplink (up_)
// by sum_queues. Packets for the uplink show when they are complete, and leave without gaps.
// Back-pressure: room_o: there is a place for a packet. A flit waits for its operand (from memory
// by the bypass's own port, or R in its slot: lane_order) and for room in its queue.
// Latency: One flit per cycle while operands are available. A packet waits while the queue of the
// packet before it is full.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module sum_copy #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type read_t = `MW_READ(Cfg),
    parameter type answer_t = `MW_ANSWER(Cfg),
    parameter type result_t = `MW_RESULT(Cfg),
    parameter type pass_t = logic,  // see row_sum
    parameter type tag_t = logic,
    parameter type own_t = logic,
    parameter type up_t = logic
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    input  wire logic                 push_i,  // only with room_o
    output logic                      room_o,
    input  wire pass_t                pass_i,
    input  wire logic [Cfg.AddrW-1:0] addr_i,  // first flit of its term
    input  wire red_pkg::red_t        red_i,

    output read_t        rd_o,
    input  wire logic    rd_ready_i,
    input  wire answer_t rd_i,

    input  wire result_t res_i,      // if the packet in front is the next to take it
    output logic         res_ready_o,
    output logic         res_end_o,  // its last flit

    output own_t      own_o,
    input  wire logic own_ready_i,
    output up_t       up_o,
    input  wire logic up_ready_i,

    output logic busy_o  // a flit is here
);
    localparam int unsigned Packets = 3;
    localparam int unsigned UpDepth = 32;  // two packets of 16 flits, or four of 8, less a place

    // ---- packets, and their reads ahead of them -----------------------------------------
    logic valid, blk_valid, blk_room, blk_next, term_valid, fire, last, next;
    pass_t pass;
    red_pkg::red_t red;
    logic [Cfg.AddrW-1:0] blk_addr;
    logic [Cfg.PayW-1:0] blk_last;
    logic [Cfg.FlitW-1:0] term;

    fifo #(
        .Width($bits(pass_t) + $bits(red_pkg::red_t)),
        .Depth(Packets)
    ) i_packets (
        .clk_i,
        .rst_ni,
        .valid_i(push_i),
        .ready_o(room_o),
        .data_i({red_i, pass_i}),
        .valid_o(valid),
        .ready_i(next),
        .data_o({red, pass}),
        .level_o()
    );
    fifo #(
        .Width(Cfg.PayW + Cfg.AddrW),
        .Depth(Packets)
    ) i_blocks (
        .clk_i,
        .rst_ni,
        .valid_i(push_i && pass_i.need_a),
        .ready_o(blk_room),
        .data_i({pass_i.tag.count, addr_i}),
        .valid_o(blk_valid),
        .ready_i(blk_next),
        .data_o({blk_last, blk_addr}),
        .level_o()
    );
    sum_operand #(
        .Cfg(Cfg)
    ) i_term (
        .clk_i,
        .rst_ni,
        .blk_valid_i(blk_valid),
        .blk_need_i(1'b1),
        .blk_addr_i(blk_addr),
        .blk_last_i(blk_last),
        .blk_next_o(blk_next),
        .at_end_o(),
        .rd_o,
        .rd_ready_i,
        .rd_i,
        .valid_o(term_valid),
        .ready_i(fire && pass.need_a),
        .data_o(term)
    );
    `MW_ASSERT(!push_i || (room_o && blk_room), "a copy without a place")

    // ---- flits ----------------------------------------------------------------------
    logic [Cfg.PayW-1:0] idx_q;
    logic own_room, up_room;
    logic [4:0] whole_q;  // packets for the uplink that are here to their end
    logic [Cfg.FlitW-1:0] from, data;
    tag_t tag;

    assign last = idx_q == pass.tag.count;
    assign fire = valid && (!pass.need_a || term_valid) && (!pass.need_r || res_i.valid)
                  && (pass.tag.own ? own_room : up_room);
    assign next = fire && last;
    assign res_ready_o = fire && pass.need_r;
    assign res_end_o = next && pass.need_r;

    assign from = pass.need_a ? term : pass.need_r ? res_i.data : {Cfg.FlitW/16{pass.minus, 15'd0}};
    for (genvar p = 0; p < Cfg.Words / 2; p++) begin : gen_pair
        assign data[64*p+:64] = red_pkg::canonical_pair(
            Cfg.RedTypes, Cfg.RedOps, red.dtype, from[64*p+:64]
        );
    end

    always_comb begin
        tag = pass.tag;
        tag.poison |= pass.need_r && res_i.poison;
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni) idx_q <= '0;
        else if (fire) idx_q <= last ? '0 : idx_q + 1'b1;
    end

    // ---- what leaves ----------------------------------------------------------------
    logic up_end;
    up_t up;  // a packet leaves when it is here to its end

    sum_queues #(
        .Cfg(Cfg),
        .tag_t(tag_t),
        .own_t(own_t),
        .up_t(up_t),
        .UpDepth(UpDepth)
    ) i_queues (
        .clk_i,
        .rst_ni,
        .promise_i(fire),
        .own_i(tag.own),
        .own_room_o(own_room),
        .up_room_o(up_room),
        .push_i(fire),
        .data_i(data),
        .tag_i(tag),
        .last_i(last),
        .own_o,
        .own_ready_i,
        .up_o(up),
        .up_ready_i(up_o.valid && up_ready_i)
    );

    always_comb begin
        up_o = up;
        up_o.valid = whole_q != '0;
    end
    assign up_end = up_o.valid && up_ready_i && up.last;
    assign busy_o = valid || own_o.valid || up.valid;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) whole_q <= '0;
        else if ((next && !tag.own) != up_end) whole_q <= whole_q + (up_end ? '1 : 5'd1);
    end

    `MW_CONTRACT(up_end, whole_q != '0, "a packet leaves before it is whole")
    `MW_NEXT(up_o.valid && up_ready_i && !up_o.last, up_o.valid, "a gap inside a packet")
    `MW_CONTRACT(fire && pass.need_r, res_i.valid, "a flit without its operand")
endmodule

`default_nettype wire
