// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Feeds the flits of a pass into the adder, and its sums into the queues of memory (own_) and
// uplink (up_).
//
// Order: Passes as they come, flits of a pass in order. Sums leave in the order of the last passes,
// 6 cycles later.
// Back-pressure: A flit enters when the operands of its pass are available and, in a packet's last
// pass, the queue has reserved a place. own_ready_i and up_ready_i may stall, and then delay the
// adder, with 15 flits or UpDepth - 1 reserved or stored. Sums cannot wait.
// Latency: One flit per cycle, across passes and packets of 8 flits or more, while operands are
// available. Shorter ones wait for their own sums. A packet for the uplink leaves the adder without
// gaps. Its last pass starts when its reads are granted, all but two of 16. A short one waits until
// operands are available and sums at rest. Own packets may have gaps.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module sum_add #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type flit_t = `MW_FLIT(Cfg),
    parameter type result_t = `MW_RESULT(Cfg),
    parameter type pass_t = logic,  // see row_sum
    parameter type tag_t = logic,
    parameter type own_t = logic,
    parameter type up_t = logic
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    input  wire logic          valid_i,    // a pass
    input  wire pass_t         pass_i,
    input  wire red_pkg::red_t red_i,
    input  wire logic          granted_i,  // its reads, but two of 16
    output logic               next_o,     // it is done
    output logic               fire_o,     // a flit goes in, one of each operand
                                           // that the pass needs
    input  wire flit_t         a_i,
    input  wire flit_t         b_i,
    input  wire result_t       res_i,
    output logic               res_ready_o,

    output own_t      own_o,
    input  wire logic own_ready_i,
    output up_t       up_o,
    input  wire logic up_ready_i,

    output logic busy_o  // a flit is here
);
    localparam int unsigned LongLast = 7;  // a packet of 8 flits or more hides the latency
                                           // of memory and adder
    // beside the adder bypass a packet may have to wait for one of that
    localparam int unsigned UpDepth = (Cfg.FlitBytes < 16 && !Cfg.AdderBypass) ? 16 : 32;

    logic [Cfg.PayW-1:0] idx_q;
    logic idx_last, together, ready;
    logic [2:0] still_q;  // cycles since all reads of the pass were granted
    tag_t tag, sum_tag;
    logic own_room, up_room, sum_valid, sum_last, adding;
    logic [Cfg.FlitW-1:0] sum;

    assign together = !pass_i.last || pass_i.tag.own || idx_q != '0
                      || ((pass_i.tag.count >= Cfg.PayW'(LongLast)) ? granted_i
                          : still_q == '1);
    assign idx_last = idx_q == pass_i.tag.count;
    assign fire_o = valid_i && ready && (!pass_i.need_a || a_i.valid)
                    && (!pass_i.need_b || b_i.valid)
                    && (!pass_i.need_r || res_i.valid) && together
                    && (!pass_i.last || (pass_i.tag.own ? own_room : up_room));
    assign next_o = fire_o && idx_last;
    assign res_ready_o = fire_o && pass_i.need_r;

    always_comb begin
        tag = pass_i.tag;
        tag.poison |= pass_i.need_r && res_i.poison;
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni) idx_q <= '0;
        else if (fire_o) idx_q <= idx_last ? '0 : idx_q + 1'b1;
        if (!granted_i || next_o) still_q <= '0;
        else if (still_q != '1) still_q <= still_q + 1'b1;
    end

    packet_acc #(
        .Cfg(Cfg),
        .MetaWidth($bits(tag_t) + 1)
    ) i_acc (
        .clk_i,
        .rst_ni,
        .valid_i(fire_o),
        .ready_o(ready),
        .idx_i(idx_q),
        .first_i(pass_i.first),
        .pair_i(pass_i.pair),
        .a_i(b_i.data),
        .b_i(pass_i.need_a ? a_i.data : pass_i.need_r ? res_i.data : pass_i.need_b ? b_i.data
             : {Cfg.FlitW/16{pass_i.minus, 15'd0}}),
        .last_i(pass_i.last),
        .red_i(red_i),
        .meta_i({idx_last, tag}),
        .valid_o(sum_valid),
        .data_o(sum),
        .meta_o({sum_last, sum_tag}),
        .busy_o(adding)
    );

    sum_queues #(
        .Cfg(Cfg),
        .tag_t(tag_t),
        .own_t(own_t),
        .up_t(up_t),
        .UpDepth(UpDepth)
    ) i_queues (
        .clk_i,
        .rst_ni,
        .promise_i(fire_o && pass_i.last),
        .own_i(pass_i.tag.own),
        .own_room_o(own_room),
        .up_room_o(up_room),
        .push_i(sum_valid),
        .data_i(sum),
        .tag_i(sum_tag),
        .last_i(sum_last),
        .own_o,
        .own_ready_i,
        .up_o,
        .up_ready_i
    );

    assign busy_o = valid_i || adding || own_o.valid || up_o.valid;

    `MW_NEXT(up_o.valid && up_ready_i && !up_o.last, up_o.valid,
             "a gap inside a packet for the uplink")
    `MW_CONTRACT(fire_o && pass_i.last, pass_i.tag.own ? own_room : up_room,
                 "a sum without a place")
endmodule

`default_nettype wire
