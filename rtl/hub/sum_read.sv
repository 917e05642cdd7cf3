// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Queues of passes, one for each lane, whose operands two memory ports read ahead of the lanes.
//
// Four ends read: each port's sum_operand the blocks that passes of both lanes need of it, as far ahead as its flits
// have room, and each lane its passes, which take the flits. So a bank conflict of one port holds up neither the other
// nor, while flits are left, a lane.
//
// Order: passes of a lane in the order of their push, and so the flits of a port, of both lanes; a pass leaves with
// add_next_i or copy_next_i. Who pushes sees to it that a lane never waits for what is pushed behind: of two passes that
// wait, the older one has all that it needs at the front.
// Back-pressure: add_room_o and copy_room_o are low with three passes in a lane: reads run ahead by no more than the
// operands' queues, and a packet that is chosen now waits for few others. A packet may have more passes than that:
// push_i waits for room_o.
// Worst case: as long as the memory ports make the reads wait.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module sum_read #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type pass_t = logic  // see row_sum
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    input  wire logic                 push_i,   // only with room_o
    output logic                      room_o,
    output logic                      add_room_o, // for a packet of the lane
    output logic                      copy_room_o,
    input  wire pass_t                pass_i,
    input  wire logic [Cfg.AddrW-1:0] addr_a_i, // first flit of its operands
    input  wire logic [Cfg.AddrW-1:0] addr_b_i,
    input  wire red_pkg::red_t        red_i,    // what it does to its terms

    output `MW_READ(Cfg)        suma_rd_o,
    input  wire logic           suma_rd_ready_i,
    input  wire `MW_ANSWER(Cfg) suma_rd_i,
    output `MW_READ(Cfg)        sumb_rd_o,
    input  wire logic           sumb_rd_ready_i,
    input  wire `MW_ANSWER(Cfg) sumb_rd_i,

    // oldest pass of each lane
    output logic          add_valid_o,
    output pass_t         add_o,
    output red_pkg::red_t add_red_o,
    output logic          granted_o,   // its reads: all of a pass of fewer than 16 flits, of 16 all but two
    input  wire logic     add_next_i,  // it is done
    input  wire logic     add_fire_i,  // takes a flit of those operands that it needs
    output logic          copy_valid_o,
    output pass_t         copy_o,
    output red_pkg::red_t copy_red_o,
    input  wire logic     copy_next_i,
    input  wire logic     copy_fire_i,

    // oldest flit of each port, and whether it is for the copy lane
    output logic                 a_valid_o,
    output logic                 a_copy_o,
    output logic [Cfg.FlitW-1:0] a_data_o,
    output logic                 b_valid_o,
    output logic                 b_copy_o,
    output logic [Cfg.FlitW-1:0] b_data_o
);
    localparam int unsigned Ahead = 3;                    // passes that wait in a lane, before a packet is chosen
    // Of a packet with 16 terms and R 16 passes come behind them; without lanes each pass waits for its place.
    localparam int unsigned Depth = Cfg.CopyLane ? 16 : Ahead + 1;
    localparam int unsigned PtrW  = $clog2(Depth);
    localparam int unsigned PassW = $bits(pass_t) + $bits(red_pkg::red_t);

    typedef logic [PtrW-1:0] ptr_t;

    ptr_t       add_w_q, add_r_q;     // passes of the adder
    logic       add_push, copy_push;

    assign copy_push = push_i && pass_i.copy;
    assign add_push  = push_i && !pass_i.copy;

    // ---- blocks of the ports --------------------------------------------------------
    logic [1:0]                need, full, blk_valid, blk_copy, blk_next, at_end, granted;
    logic [1:0]                add_need, copy_need;
    logic [1:0][Cfg.AddrW-1:0] addr, blk_addr;
    logic [1:0][Cfg.PayW-1:0]  blk_last;

    assign need      = {pass_i.need_b, pass_i.need_a};
    assign addr      = {addr_b_i, addr_a_i};
    assign add_need  = {add_o.need_b, add_o.need_a};
    assign copy_need = {copy_o.need_b, copy_o.need_a};
    assign room_o    = full == '0 && add_w_q + 1'b1 != add_r_q;
    assign granted_o = granted == '1;

    for (genvar i = 0; i < 2; i++) begin : gen_port
        ptr_t w_q, r_q;
        ptr_t granted_q, taken_q; // of the adder's blocks, how many are granted, and taken by passes that are done

        assign full[i]      = w_q + 1'b1 == r_q;
        assign blk_valid[i] = w_q != r_q;
        assign granted[i]   = !add_need[i] || granted_q != taken_q || (at_end[i] && blk_valid[i] && !blk_copy[i]);

        lutram #(.Width(1 + Cfg.PayW + Cfg.AddrW), .Depth(Depth)) i_ring (
            .clk_i, .we_i(push_i && need[i]), .waddr_i(w_q), .wdata_i({pass_i.copy, pass_i.tag.count, addr[i]}),
            .raddr_i(r_q), .rdata_o({blk_copy[i], blk_last[i], blk_addr[i]})
        );

        always_ff @(posedge clk_i) begin
            if (!rst_ni) begin
                w_q       <= '0;
                r_q       <= '0;
                granted_q <= '0;
                taken_q   <= '0;
            end else begin
                if (push_i && need[i])               w_q <= w_q + 1'b1;
                if (blk_next[i])                     r_q <= r_q + 1'b1;
                if (blk_next[i] && !blk_copy[i])     granted_q <= granted_q + 1'b1;
                if (add_next_i && add_need[i])       taken_q <= taken_q + 1'b1;
            end
        end
    end

    sum_operand #(.Cfg(Cfg)) i_a (
        .clk_i, .rst_ni, .blk_valid_i(blk_valid[0]), .blk_copy_i(blk_copy[0]), .blk_addr_i(blk_addr[0]),
        .blk_last_i(blk_last[0]), .blk_next_o(blk_next[0]), .at_end_o(at_end[0]), .rd_o(suma_rd_o),
        .rd_ready_i(suma_rd_ready_i), .rd_i(suma_rd_i), .valid_o(a_valid_o), .copy_o(a_copy_o),
        .ready_i(a_copy_o ? copy_fire_i && copy_need[0] : add_fire_i && add_need[0]), .data_o(a_data_o)
    );
    sum_operand #(.Cfg(Cfg)) i_b (
        .clk_i, .rst_ni, .blk_valid_i(blk_valid[1]), .blk_copy_i(blk_copy[1]), .blk_addr_i(blk_addr[1]),
        .blk_last_i(blk_last[1]), .blk_next_o(blk_next[1]), .at_end_o(at_end[1]), .rd_o(sumb_rd_o),
        .rd_ready_i(sumb_rd_ready_i), .rd_i(sumb_rd_i), .valid_o(b_valid_o), .copy_o(b_copy_o),
        .ready_i(b_copy_o ? copy_fire_i && copy_need[1] : add_fire_i && add_need[1]), .data_o(b_data_o)
    );

    // ---- passes of the lanes ----------------------------------------------------------
    assign add_valid_o = add_w_q != add_r_q;
    assign add_room_o  = !Cfg.CopyLane || add_w_q - add_r_q < ptr_t'(Ahead);

    lutram #(.Width(PassW), .Depth(Depth)) i_adds (
        .clk_i, .we_i(add_push), .waddr_i(add_w_q), .wdata_i({red_i, pass_i}), .raddr_i(add_r_q),
        .rdata_o({add_red_o, add_o})
    );

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            add_w_q <= '0;
            add_r_q <= '0;
        end else begin
            if (add_push)   add_w_q <= add_w_q + 1'b1;
            if (add_next_i) add_r_q <= add_r_q + 1'b1;
        end
    end

    if (Cfg.CopyLane) begin : gen_lanes
        logic free;

        fifo #(.Width(PassW), .Depth(Ahead)) i_copies (
            .clk_i, .rst_ni, .valid_i(copy_push), .ready_o(free), .data_i({red_i, pass_i}), .valid_o(copy_valid_o),
            .ready_i(copy_next_i), .data_o({copy_red_o, copy_o}), .level_o()
        );
        assign copy_room_o = free;
        `MW_ASSERT(!copy_push || free, "a copy without a place")
    end else begin : gen_adder
        assign {copy_valid_o, copy_o, copy_red_o, copy_room_o} = '0;
        wire unused_copy = &{1'b0, copy_push, copy_next_i, copy_fire_i};
    end
endmodule

`default_nettype wire
