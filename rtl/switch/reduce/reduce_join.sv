// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Adds the partial sums of the members of a reduction. One per output (requester) of the switch.
//
// Function: Open reductions {members, bytes, type, operator} wait in a queue, in the order of their
// requests. An input register precedes the queue, because the checks of a request take long. There
// a row loses the members that are down. The ports see this in level_o, one cycle later. The oldest
// row is in a register after the queue, with the member whose term is next. Masks and queues are
// indexed by distance: bit d-1 is port p+d modulo N.
// Order: The members' queues are read packet by packet, in the order p+1, p+2, .. modulo N,
// whatever arrived first.
// Back-pressure: Results enter a small ring with one packet per slot. The egress may start a packet
// when its first flit is present (res_o), and takes one flit per cycle. The last pass of a
// packet starts when a slot is free, or when the packet in it is being sent, as the writer stays
// behind the reader.
// Latency: One flit per cycle, without a gap between members, packets and rows. Two cases have a
// gap: after a row of one flit of one member, and between members of a packet of fewer than 6
// flits, whose sums are not available earlier.
// Errors: An empty mask (a rejected request) gives the full number of poisoned packets with zeros.
// A partial whose number of flits differs from the row's poisons the result. Poison is known when
// the header leaves, except for faults of the last term after its first flit (an early end, a link
// error). From there on, flits are marked (res_err_o).
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module reduce_join #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type open_t = `MW_OPEN(Cfg),
    parameter type take_t = `MW_TAKE(Cfg),
    parameter type joined_t = `MW_JOINED(Cfg)
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    input  wire open_t open_i,  // only while open_full_o is low
    output logic       open_full_o,
    // left out of rows that came a cycle before; all results of these are poisoned
    input  wire logic [Cfg.Others-1:0] away_i,

    input  wire logic [Cfg.Others-1:0]        q_has_i,
    // the credit of the packet before is still waiting: do not start the next
    input  wire logic [Cfg.Others-1:0]        q_hold_i,
    // a pass on that member may begin, but for its turn, and q_hold_i, which does not last
    output logic [Cfg.Others-1:0]             q_want_o,
    input  wire logic [Cfg.Others-1:0]        q_may_i,   // it has its turn
    output take_t                             q_o,
    input  wire logic [Cfg.FlitW+1:0]         q_data_i,  // {poison, last, flit} of the
                                                         // queue read, else 0
    output logic [Cfg.Others-1:0]             q_wait_o,  // the member whose partial is next,
                                                         // while there is none
    output logic                              row_done_o,
    output logic [$clog2(Cfg.OpenRows+1)-1:0] level_o,   // open rows

    output joined_t                        res_o,
    input  wire logic                      res_start_i,  // takes it
    input  wire bundle_pkg::result_read_t  res_i,
    output logic [Cfg.FlitW-1:0]           res_data_o,
    output logic                           res_err_o,

    output logic idle_o
);
    localparam int unsigned Slots = Cfg.ResultSlots;
    localparam int unsigned LevelW = $clog2(Cfg.OpenRows + 1);
    localparam int unsigned RingW = $clog2(Slots * Cfg.PayFlits);
    localparam bit Plain = red_pkg::plain(Cfg.RedTypes, Cfg.RedOps);
    localparam int unsigned RedW = Plain ? 0 : $bits(red_pkg::red_t);
    localparam int unsigned OpenW = 1 + Cfg.Others + 15 + RedW + Cfg.StampW;
    localparam int unsigned DescW = 8 + Cfg.StampW;

    // ---- open reductions ----
    logic came_q;  // a row that is not in the queue yet
    logic [Cfg.Others-1:0] came_mask_q;
    logic [14:0] came_bytes_q;
    logic [Cfg.StampB-1:0] came_stamp_q;
    red_pkg::red_t red, came_red_q;
    logic [OpenW-1:0] came, queued, row_q;
    logic queue_valid, row_valid_q, row_done, row_poison;
    logic next_row;  // the register is free for the next row
    logic popped_q;  // the queue still shows the row in the register:
                     // it has no time for row_done
    logic [LevelW-1:0] level_q;
    logic [Cfg.Others-1:0] mask;
    logic [14:0] bytes;

    always_ff @(posedge clk_i) begin
        came_q <= rst_ni && open_i.valid;
        if (open_i.valid) begin
            came_mask_q <= open_i.mask;
            came_bytes_q <= open_i.bytes;
            came_red_q <= open_i.red;
            came_stamp_q <= open_i.stamp;
        end
    end

    // never full: level_q counts its rows and those in the registers around it
    fifo #(
        .Width(OpenW),
        .Depth(Cfg.OpenRows)
    ) i_open (
        .clk_i,
        .rst_ni,
        .valid_i(came_q),
        .ready_o(),
        .data_i(came),
        .valid_o(queue_valid),
        .ready_i(popped_q),
        .data_o(queued),
        .level_o()
    );

    assign next_row = row_done || !row_valid_q;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            row_valid_q <= 1'b0;
            popped_q <= 1'b0;
            level_q <= '0;
        end else begin
            if (next_row) row_valid_q <= queue_valid && !popped_q;
            popped_q <= next_row && queue_valid && !popped_q;
            if (came_q != row_done) level_q <= level_q + (row_done ? '1 : LevelW'(1));
        end
        if (next_row) row_q <= queued;
    end
    assign level_o = level_q;
    assign open_full_o = level_q == LevelW'(Cfg.OpenRows)
                         || (came_q && level_q == LevelW'(Cfg.OpenRows - 1));
    assign {row_poison, mask, bytes} = row_q[Cfg.Others+15:0];

    if (Plain) begin : gen_plain
        assign came = OpenW'({
            came_stamp_q, (came_mask_q & away_i) != '0, came_mask_q & ~away_i, came_bytes_q
        });
        assign red = '0;
    end else begin : gen_red
        assign came = OpenW'({
            came_stamp_q,
            came_red_q,
            (came_mask_q & away_i) != '0,
            came_mask_q & ~away_i,
            came_bytes_q
        });
        assign red = row_q[Cfg.Others+16+:$bits(red_pkg::red_t)];
    end

    // ---- the place in the oldest one ----
    logic [Cfg.Others-1:0] cur_q;  // member whose term is next, none in a
                                   // row without members
    logic [Cfg.Others-1:0] rest_q;  // members of this packet behind it
    logic first_q;  // it is the first of the packet
    logic [7:0] pkt_q;  // packet of the row
    logic [Cfg.PayW-1:0] idx_q;  // flit of the packet
    logic [Cfg.Others-1:0] todo, lowest;
    logic last_pkt, last_pass, first_flit, last_flit;
    logic [Cfg.PayW-1:0] flits;  // of this packet, less 1
    logic room, ready, go;  // ready: the sums of a pass may begin
    logic [3:0] begun_q;  // a pass began 1, 2, 3, 4 cycles ago
    // none did in the last 5 cycles: what it added is in the accumulator
    // when the next one adds to it
    logic settled_q;

    assign last_pkt = pkt_q == bytes[14:7];
    assign flits = last_pkt ? bytes[6:Cfg.FlitLog2] : '1;
    assign last_pass = rest_q == '0;
    assign first_flit = idx_q == '0;
    assign last_flit = idx_q == flits;

    assign ready = (room || !last_pass) && (first_q || settled_q);
    assign go = row_valid_q && (cur_q == '0 || (q_has_i & cur_q) != '0)
        // a pass that has begun never waits
        && (!first_flit || (ready && (cur_q & (q_hold_i | ~q_may_i)) == '0));
    assign row_done = go && last_flit && last_pass && last_pkt;
    assign row_done_o = row_done;
    assign q_want_o = (row_valid_q && first_flit && ready) ? cur_q & q_has_i : '0;
    assign q_wait_o = row_valid_q ? cur_q & ~q_has_i : '0;
    assign q_o.re = go ? cur_q : '0;
    assign q_o.idx = idx_q;
    assign q_o.done = (go && last_flit) ? cur_q : '0;

    // Behind the last term of a packet its members begin anew, or those of the next row.
    always_comb begin
        if (row_valid_q && !last_pass) todo = rest_q;
        else if (row_valid_q && !last_pkt) todo = mask;
        else todo = queued[15+:Cfg.Others];
        lowest = todo & (~todo + 1'b1);
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            pkt_q <= '0;
            idx_q <= '0;
            begun_q <= '0;
            settled_q <= 1'b1;
        end else begin
            if (go) begin
                idx_q <= last_flit ? '0 : idx_q + 1'b1;
                if (last_flit && last_pass) pkt_q <= last_pkt ? '0 : pkt_q + 8'd1;
            end
            begun_q <= {begun_q[2:0], go && first_flit};
            settled_q <= !(go && first_flit) && begun_q == '0;
        end
        if ((go && last_flit) || !row_valid_q) begin
            cur_q <= lowest;
            rest_q <= todo & ~lowest;
            first_q <= last_pass || !row_valid_q;
        end
    end

    // ---- the flit read ----
    logic valid_q, first_pass_q, last_pass_q, last_flit_q, empty_q;
    logic [Cfg.PayW-1:0] read_idx_q;
    logic [6:0] len_q;
    red_pkg::red_t red_q;
    logic poison_q, notified_q;  // so far; as the description says
    logic first_read, spoilt, poison, late, describe;

    assign first_read = read_idx_q == '0;
    assign spoilt = empty_q || q_data_i[Cfg.FlitW+1] || q_data_i[Cfg.FlitW] != last_flit_q;
    assign poison = spoilt || (poison_q && !(first_pass_q && first_read));
    assign late = !first_read && poison && !notified_q;
    assign describe = valid_q && last_pass_q && first_read;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) valid_q <= 1'b0;
        else valid_q <= go;
        if (go) begin
            first_pass_q <= first_q;
            last_pass_q <= last_pass;
            last_flit_q <= last_flit;
            read_idx_q <= idx_q;
            empty_q <= cur_q == '0 || row_poison;
            len_q <= last_pkt ? bytes[6:0] : 7'd127;
            red_q <= red;
        end
        if (valid_q) poison_q <= poison;
        if (describe) notified_q <= poison;
    end

    // ---- sums ----
    logic sum_valid, sum_first, sum_last, sum_err, acc_busy;
    logic [Cfg.FlitW-1:0] sum;

    packet_acc #(
        .Cfg(Cfg),
        .MetaWidth(3),
        .Spaced(1'b1)
    ) i_acc (
        .clk_i,
        .rst_ni,
        .valid_i(valid_q),
        .ready_o(),
        .idx_i(read_idx_q),
        .first_i(first_pass_q),
        .pair_i(1'b0),
        .a_i('0),
        .b_i(q_data_i[Cfg.FlitW-1:0]),
        .last_i(last_pass_q),
        .red_i(red_q),
        .meta_i({first_read, last_flit_q, late}),
        .valid_o(sum_valid),
        .data_o(sum),
        .meta_o({sum_first, sum_last, sum_err}),
        .busy_o(acc_busy)
    );

    // ---- results ----
    logic [RingW-1:0] wptr_q, rptr_q;
    logic [1:0] ready_q;  // results whose first flit is in the ring
    logic [1:0] taken_q;  // slots taken and not yet being sent
    logic [1:0] desc_w_q, desc_r_q;
    logic take, give, come;

    // The next slot begins behind the last flit of a packet, whatever its length.
    function automatic logic [RingW-1:0] advance(input logic [RingW-1:0] ptr, input logic last);
        return last ? (ptr | RingW'(Cfg.PayFlits - 1)) + 1'b1 : ptr + 1'b1;
    endfunction

    logic [Cfg.StampB-1:0] stamp_q;  // of the flit read
    logic [DescW-1:0] desc;

    lutram #(
        .Width(DescW),
        .Depth(4)
    ) i_desc (
        .clk_i,
        .we_i(describe),
        .waddr_i(desc_w_q),
        .wdata_i(DescW'({stamp_q, len_q, poison})),
        .raddr_i(desc_r_q),
        .rdata_o(desc)
    );
    assign {res_o.len, res_o.poison} = desc[7:0];

    if (Cfg.StampW != 0) begin : gen_stamp
        always_ff @(posedge clk_i) if (go) stamp_q <= row_q[OpenW-1-:Cfg.StampW];
        assign res_o.stamp = desc[DescW-1-:Cfg.StampW];
    end else begin : gen_no_stamp
        assign {stamp_q, res_o.stamp} = '0;
    end

    lutram #(
        .Width(Cfg.FlitW + 1),
        .Depth(Slots * Cfg.PayFlits)
    ) i_ring (
        .clk_i,
        .we_i(sum_valid),
        .waddr_i(wptr_q),
        .wdata_i({sum_err, sum}),
        .raddr_i(rptr_q),
        .rdata_o({res_err_o, res_data_o})
    );

    assign res_o.valid = ready_q != '0;
    assign take = go && last_pass && first_flit;
    assign give = res_i.read && res_i.first;
    assign room = taken_q < 2'(Slots);
    assign come = sum_valid && sum_first;
    assign idle_o = !came_q && !queue_valid && !row_valid_q && !valid_q && !acc_busy
                    && ready_q == '0 && taken_q == '0;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            wptr_q <= '0;
            rptr_q <= '0;
            ready_q <= '0;
            taken_q <= '0;
            desc_w_q <= '0;
            desc_r_q <= '0;
        end else begin
            if (sum_valid) wptr_q <= advance(wptr_q, sum_last);
            if (res_i.read) rptr_q <= advance(rptr_q, res_i.last);
            // up or down by 1
            if (come != res_start_i) ready_q <= {ready_q[1] ^ (ready_q[0] == come), !ready_q[0]};
            if (take != give) taken_q <= {taken_q[1] ^ (taken_q[0] == take), !taken_q[0]};
            if (describe) desc_w_q <= desc_w_q + 2'd1;
            if (res_start_i) desc_r_q <= desc_r_q + 2'd1;
        end
    end

    `MW_CONTRACT(open_i.valid, !open_full_o, "a reduction opens without room")
    `MW_CONTRACT(1'b1, level_q <= LevelW'(Cfg.OpenRows) && taken_q <= 2'(Slots),
                 "more rows or results than places")
    `MW_CONTRACT(res_start_i, res_o.valid, "a result that is not there")
    `MW_CONTRACT(1'b1, (q_o.re & ~q_has_i) == '0, "a read of a queue without a partial")
    `MW_NEXT(go && !last_flit, go, "a gap inside a pass")
endmodule

`default_nettype wire
