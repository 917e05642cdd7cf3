// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The copy lane: packets of rows that need no addition (one term, R alone, no term at all) on their way past the adder.
// As there, NaN leave canonical, and nothing else changes.
//
// Order: packets as they come, flits of a packet in order; to memory (own_) and to the uplink (up_) in a queue each, so
// that neither waits for the other there. Those for the uplink show when all of them is here, and then leave without
// gaps.
// Back-pressure: a flit waits for its operand (a_, b_ or res_, which lane_join and sum_read hand out in the order of
// choice) and for room in its queue.
// Worst case: a flit per cycle while operands are here; behind a packet whose queue is full as long as that is.
`default_nettype none

module sum_copy #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type pass_t = logic,  // see row_sum
    parameter type own_t = logic,
    parameter type up_t = logic
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    input  wire logic                 valid_i, // a pass
    input  wire pass_t                pass_i,
    input  wire red_pkg::red_t        red_i,
    output logic                      next_o,  // it is done
    output logic                      fire_o,  // a flit goes in, the operand's that the pass needs
    input  wire logic                 a_valid_i,
    input  wire logic [Cfg.FlitW-1:0] a_data_i,
    input  wire logic                 b_valid_i,
    input  wire logic [Cfg.FlitW-1:0] b_data_i,
    input  wire logic                 res_valid_i,
    output logic                      res_ready_o,
    input  wire logic [Cfg.FlitW-1:0] res_data_i,
    input  wire logic                 res_poison_i, // the flit is not valid

    output logic      own_valid_o,
    input  wire logic own_ready_i,
    output own_t      own_o,
    output logic      up_valid_o,
    input  wire logic up_ready_i,
    output up_t       up_o,

    output logic busy_o // a flit is here
);
    localparam int unsigned UpDepth = 32;  // two packets of 16 flits, or four of 8, less a place

    logic [Cfg.PayW-1:0]  idx_q;
    logic                 last, own_room, up_room, up_some;
    logic [5:0]           whole_q; // packets for the uplink that are here to their end
    logic [Cfg.FlitW-1:0] term, data;
    own_t                 own;
    up_t                  up;

    assign last        = idx_q == pass_i.tag.count;
    assign fire_o      = valid_i && (!pass_i.need_a || a_valid_i) && (!pass_i.need_b || b_valid_i)
                         && (!pass_i.need_r || res_valid_i) && (pass_i.tag.own ? own_room : up_room);
    assign next_o      = fire_o && last;
    assign res_ready_o = fire_o && pass_i.need_r;

    assign term = pass_i.need_a ? a_data_i : pass_i.need_b ? b_data_i : pass_i.need_r ? res_data_i : '0;
    for (genvar w = 0; w < Cfg.Words; w++) begin : gen_word
        assign data[32*w +: 32] = red_pkg::canonical(red_pkg::plain(Cfg.RedTypes, Cfg.RedOps), red_i.dtype,
                                                     term[32*w +: 32]);
    end

    always_comb begin
        own.last     = last;
        own.row_last = pass_i.tag.row_last;
        own.poison   = pass_i.tag.poison || (pass_i.need_r && res_poison_i);
        own.data     = data;
        up.tag       = pass_i.tag;
        up.last      = last;
        up.data      = data;
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni)     idx_q <= '0;
        else if (fire_o) idx_q <= last ? '0 : idx_q + 1'b1;
    end

    // ---- what leaves ----------------------------------------------------------------
    logic own_push, up_push, up_end;

    assign own_push = fire_o && pass_i.tag.own;
    assign up_push  = fire_o && !pass_i.tag.own;

    promise_fifo #(.Width($bits(own_t)), .Depth(16)) i_own (
        .clk_i, .rst_ni, .promise_i(own_push), .room_o(own_room), .push_i(own_push), .data_i(own),
        .valid_o(own_valid_o), .ready_i(own_ready_i), .data_o(own_o)
    );

    promise_fifo #(.Width($bits(up_t)), .Depth(UpDepth)) i_up (
        .clk_i, .rst_ni, .promise_i(up_push), .room_o(up_room), .push_i(up_push), .data_i(up),
        .valid_o(up_some), .ready_i(up_valid_o && up_ready_i), .data_o(up_o)
    );

    assign up_valid_o = whole_q != '0;
    assign up_end     = up_valid_o && up_ready_i && up_o.last;
    assign busy_o     = valid_i || own_valid_o || up_some;

    always_ff @(posedge clk_i) begin
        if (!rst_ni)                          whole_q <= '0;
        else if ((up_push && last) != up_end) whole_q <= whole_q + (up_end ? '1 : 6'd1);
    end

    wire unused = &{1'b0, pass_i, red_i};
endmodule

`default_nettype wire
