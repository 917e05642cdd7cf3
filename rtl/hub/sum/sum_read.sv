// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Queue of passes, whose operands two memory ports read ahead of the adder.
//
// Function: Three readers: each port's sum_operand, as far ahead as its flits have room, and, last,
// the adder, which takes the flits of both. A bank conflict of one port therefore delays neither
// the other nor, while flits remain, the adder.
// Order: Passes in the order of their push. A pass leaves with next_i.
// Back-pressure: pkt_room_o is low with three passes inside. Reads run ahead by no more than the
// operands' queues, and a packet that is selected now waits for few others. A selected packet has
// room for more of them with the bypass, so that it does not delay the next choice.
// Latency: As long as the memory ports delay the reads.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module sum_read #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type read_t = `MW_READ(Cfg),
    parameter type answer_t = `MW_ANSWER(Cfg),
    parameter type flit_t = `MW_FLIT(Cfg),
    parameter type operands_t = `MW_OPERANDS(Cfg),
    parameter type pass_t = logic  // see row_sum
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    input  wire logic      push_i,      // only with room_o
    output logic           room_o,
    output logic           pkt_room_o,  // for the passes of one more packet
    input  wire pass_t     pass_i,
    input  wire operands_t operands_i,

    output read_t        sum_rd_o [2],
    input  wire logic    sum_rd_ready_i [2],
    input  wire answer_t sum_rd_i [2],

    output logic          valid_o,    // oldest pass
    output pass_t         pass_o,
    output red_pkg::red_t red_o,
    output logic          granted_o,  // its reads: all of a pass of fewer than 16
                                      // flits, of 16 all but two
    input  wire logic     next_i,     // it is done
    input  wire logic     fire_i,     // takes a flit of those operands that it needs
    output flit_t         a_o,
    output flit_t         b_o
);

    localparam int unsigned Ahead = 3;
    localparam int unsigned Depth = Cfg.AdderBypass ? 16 : Ahead + 1;  // LUT RAM comes in sixteens

    logic [$clog2(Depth)-1:0] wptr_q, aptr_q, bptr_q, dptr_q, held;
    logic a_next, b_next, a_need, b_need, a_end, b_end;
    logic [Cfg.AddrW-1:0] a_addr, b_addr;
    logic [Cfg.PayW-1:0] a_count, b_count;

    assign held = wptr_q - dptr_q;
    assign room_o = held != '1;
    assign pkt_room_o = !Cfg.AdderBypass || 32'(held) < Ahead;
    assign valid_o = dptr_q != wptr_q;
    assign granted_o = (aptr_q != dptr_q || a_end) && (bptr_q != dptr_q || b_end);

    lutram #(
        .Width(1 + Cfg.PayW + Cfg.AddrW),
        .Depth(Depth)
    ) i_ring_a (
        .clk_i,
        .we_i(push_i),
        .waddr_i(wptr_q),
        .wdata_i({pass_i.need_a, pass_i.tag.count, operands_i.a}),
        .raddr_i(aptr_q),
        .rdata_o({a_need, a_count, a_addr})
    );
    lutram #(
        .Width(1 + Cfg.PayW + Cfg.AddrW),
        .Depth(Depth)
    ) i_ring_b (
        .clk_i,
        .we_i(push_i),
        .waddr_i(wptr_q),
        .wdata_i({pass_i.need_b, pass_i.tag.count, operands_i.b}),
        .raddr_i(bptr_q),
        .rdata_o({b_need, b_count, b_addr})
    );
    lutram #(
        .Width($bits(pass_t)),
        .Depth(Depth)
    ) i_ring_d (
        .clk_i,
        .we_i(push_i),
        .waddr_i(wptr_q),
        .wdata_i(pass_i),
        .raddr_i(dptr_q),
        .rdata_o(pass_o)
    );

    if (red_pkg::plain(Cfg.RedTypes, Cfg.RedOps)) begin : gen_plain
        assign red_o = '0;
    end else begin : gen_red
        lutram #(
            .Width($bits(red_pkg::red_t)),
            .Depth(Depth)
        ) i_ring_red (
            .clk_i,
            .we_i(push_i),
            .waddr_i(wptr_q),
            .wdata_i(operands_i.red),
            .raddr_i(dptr_q),
            .rdata_o(red_o)
        );
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            wptr_q <= '0;
            aptr_q <= '0;
            bptr_q <= '0;
            dptr_q <= '0;
        end else begin
            if (push_i) wptr_q <= wptr_q + 1'b1;
            if (a_next) aptr_q <= aptr_q + 1'b1;
            if (b_next) bptr_q <= bptr_q + 1'b1;
            if (next_i) dptr_q <= dptr_q + 1'b1;
        end
    end

    sum_operand #(
        .Cfg(Cfg)
    ) i_a (
        .clk_i,
        .rst_ni,
        .blk_valid_i(aptr_q != wptr_q),
        .blk_need_i(a_need),
        .blk_addr_i(a_addr),
        .blk_last_i(a_count),
        .blk_next_o(a_next),
        .at_end_o(a_end),
        .rd_o(sum_rd_o[0]),
        .rd_ready_i(sum_rd_ready_i[0]),
        .rd_i(sum_rd_i[0]),
        .valid_o(a_o.valid),
        .ready_i(fire_i && pass_o.need_a),
        .data_o(a_o.data)
    );
    sum_operand #(
        .Cfg(Cfg)
    ) i_b (
        .clk_i,
        .rst_ni,
        .blk_valid_i(bptr_q != wptr_q),
        .blk_need_i(b_need),
        .blk_addr_i(b_addr),
        .blk_last_i(b_count),
        .blk_next_o(b_next),
        .at_end_o(b_end),
        .rd_o(sum_rd_o[1]),
        .rd_ready_i(sum_rd_ready_i[1]),
        .rd_i(sum_rd_i[1]),
        .valid_o(b_o.valid),
        .ready_i(fire_i && pass_o.need_b),
        .data_o(b_o.data)
    );

    `MW_CONTRACT(push_i, room_o, "a pass without a place")
    `MW_CONTRACT(next_i, valid_o && fire_i, "a pass ends that is not there, or without a flit")
    `MW_CONTRACT(fire_i, (!pass_o.need_a || a_o.valid) && (!pass_o.need_b || b_o.valid),
                 "a flit is taken without its operands")
endmodule

`default_nettype wire
