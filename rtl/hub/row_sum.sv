// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Reduces rows of GPU memory packet by packet, with the type and operator of each row (here called sums): partial sums for the switch, own output rows, the two sums of unicast.
//
// Context c has the rows of requester c: terms are rows of own experts, the sum leaves as PARTIAL packets on part_* or, of rows marked st, as ST packets on
// sst_*. The own port's context has the rows of combine, which end in own memory (port OUT); their addresses come from dest_*. The last term of an own row may be R,
// the reduced row from the wire (res_*), or the row that the own row before it wrote (marked again). A context gives its rows in order; contexts
// are served in turn, one packet each; beside an uplink that has enough to send every second packet is the own context's, and the uplink gets no more than keeps
// it busy (else it starves the home's own sums, or they it).
//
// The first pass adds two terms, each further pass one; a single term passes through; no term at all gives zeros. A packet
// begins only when no other hub can make it wait: with the credit of the requester, with its packet of R here. Then its passes go into a queue from which
// the two read ports run ahead of the adder; single terms are read by both in turn, because one port for all would have to win every conflict. Without memory conflicts one flit enters the adder every cycle, across passes and packets
// (packets of 8 flits or more; shorter ones wait for their own sums).
//
// Back-pressure: out_wr_ may stall; part_ and sst_ too, and then hold up the adder when their queue is full. That
// ends by itself: the link takes a packet that has its credit whatever happens here. ST packets inside count like credits of their home, until they have left. Flits of R follow its header without waiting for
// anything here. A packet on part_ or sst_ comes without gaps: its last pass starts when its reads are granted, of 16 all but two, and the
// memory makes a read wait for at most 5 cycles.
// Worst case for a context: one packet of every other context, and as many of the own one.
// A poisoned packet of a requester carries the mark; own rows with a poisoned packet keep what memory held there.
`default_nettype none

module row_sum #(
    parameter int unsigned N         = 4,
    parameter int unsigned FlitBytes = 8,
    parameter int unsigned AddrW     = 11,   // of a flit
    parameter int unsigned PartPkts  = 4,    // credits of one requester
    parameter red_pkg::set_t RedTypes = red_pkg::AllTypes,
    parameter red_pkg::set_t RedOps   = red_pkg::AllOps,
    localparam int unsigned FW    = 8 * FlitBytes,
    localparam int unsigned CtxW  = (N > 1) ? $clog2(N) : 1,
    localparam int unsigned IdxW  = $clog2(128 / FlitBytes),
    localparam int unsigned PktW  = 8        // packets of a row
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire logic                go_i,
    input  wire node_pkg::node_cfg_t cfg_i,

    // rows that are set up
    input  wire logic [N-1:0]        row_pend_i,     // the context has one
    input  wire logic                row_own_r_i,    // of the own context's next row: ends with R
    input  wire logic                row_own_again_i, // reads what the row before wrote
    output logic [CtxW-1:0]          row_ctx_o,      // the row below is this context's first
    input  wire logic [4:0]          row_last_i,     // terms, R included, less 1
    input  wire logic                row_use_r_i,
    input  wire logic                row_st_i,
    input  wire logic                row_zero_i,     // no term at all
    input  wire logic                row_poison_i,
    input  wire logic [AddrW-1:0]    row_dest_i,     // where an ST row goes
    input  wire red_pkg::red_t       row_red_i,
    input  wire logic [PktW-1:0]     row_last_pkt_i, // packets less 1
    input  wire logic [IdxW-1:0]     row_last_len_i, // flits of the last packet less 1
    output logic                     row_pop_o,      // its last packet is under way
    output logic                     term_re_o,
    output logic [3:0]               term_idx_o,
    input  wire logic                term_valid_i,   // term_addr_i is the address of the term asked for in the last cycle
    input  wire logic [AddrW-1:0]    term_addr_i,
    input  wire logic                dest_valid_i,   // where own rows go, in their order
    output logic                     dest_ready_o,
    input  wire logic [AddrW-1:0]    dest_addr_i,
    input  wire logic                dest_more_i,    // another row of the token follows
    output logic                     row_done_o,     // own row in memory
    output logic                     row_more_o,
    output logic                     st_done_o,      // last flit of an ST row sent

    output logic                     suma_rd_valid_o,
    input  wire logic                suma_rd_ready_i,
    output logic [AddrW-1:0]         suma_rd_addr_o,
    input  wire logic                suma_rd_rvalid_i,
    input  wire logic [FW-1:0]       suma_rd_rdata_i,
    output logic                     sumb_rd_valid_o,
    input  wire logic                sumb_rd_ready_i,
    output logic [AddrW-1:0]         sumb_rd_addr_o,
    input  wire logic                sumb_rd_rvalid_i,
    input  wire logic [FW-1:0]       sumb_rd_rdata_i,

    output logic                     out_wr_valid_o,
    input  wire logic                out_wr_ready_i,
    output logic [AddrW-1:0]         out_wr_addr_o,
    output logic [FW-1:0]            out_wr_data_o,
    output logic [FlitBytes-1:0]     out_wr_be_o,

    input  wire logic                res_valid_i,
    output logic                     res_ready_o,
    input  wire logic [FW-1:0]       res_data_i,
    input  wire logic                res_last_i,

    output logic                     part_valid_o,
    input  wire logic                part_ready_i,
    output logic [FW-1:0]            part_data_o,
    output logic                     part_last_o,
    output logic                     sst_valid_o,    // or an ST packet; flits and last as of part
    input  wire logic                sst_ready_i,
    input  wire logic                part_crd_valid_i,
    input  wire logic [4:0]          part_crd_port_i,

    output logic                     err_valid_o,    // a poisoned result came
    output logic                     idle_o
);
    import packet_pkg::*;

    localparam int unsigned LogF     = $clog2(FlitBytes);
    localparam int unsigned HF       = 16 / FlitBytes;
    localparam int unsigned HBeatW   = $clog2(HF + 1);
    localparam int unsigned PktDepth = (FlitBytes < 16) ? 16 : 32;
    localparam int unsigned UpPkts   = (FlitBytes < 16) ? 4 : 7;   // for the uplink, between their choice and their last flit
    localparam int unsigned CrdW     = $clog2(PartPkts + 1);
    localparam int unsigned PoisonBit = 56;   // of the header
    localparam bit          Plain     = red_pkg::plain(RedTypes, RedOps);
    localparam int unsigned LongLast  = 7;    // a packet of 8 flits or more hides the latency of memory and adder

    typedef enum logic [1:0] {Part, St, Own} kind_e;

    // What leaves the adder with a flit.
    typedef struct packed {
        kind_e           kind;
        logic [CtxW-1:0] dst;
        logic            poison;
        logic            row_last;  // last packet of its row
        logic [IdxW-1:0] count;     // flits of the packet less 1
        logic [AddrW-1:0] addr;     // of an ST packet
    } tag_t;

    typedef struct packed {
        logic need_a;
        logic need_b;
        logic need_r;
        logic first;
        logic pair;
        logic last;
        tag_t tag;
    } pass_t;

    typedef struct packed {
        logic            st;
        logic [CtxW-1:0] dst;
        logic            poison;
        logic            row_last;
        logic [IdxW-1:0] count;
        logic [AddrW-1:0] addr;
        logic            last;
    } out_t;

    // ---- choice of the next packet ------------------------------------------------
    typedef enum logic [1:0] {Pick, Load, Terms} state_e;
    state_e state_q;

    logic [N-1:0]           ready_ctx, grant, take, give, st_left;
    logic [CtxW-1:0]        turn, pick, ctx_q;
    logic [N-1:0][CrdW-1:0] used_q;      // PART credits in use
    logic [CrdW-1:0]        limit;
    logic                   own_ready, own_first, load, own, claim, r_free;
    logic [4:0]             inside_q;    // packets of own rows between their choice and memory
    logic [5:0]             up_q;        // the same of packets for the uplink
    logic                   up_room, up_out, st_pop;
    out_t                   head;        // of the packet that leaves

    assign limit     = (cfg_i.part_credits == '0 || cfg_i.part_credits > 8'(PartPkts)) ? CrdW'(PartPkts) : CrdW'(cfg_i.part_credits);
    // The row before has as many packets: with fewer inside, the one with this number is in memory.
    assign own_ready = (!row_own_r_i || r_free)
                       && (!row_own_again_i || inside_q == '0 || PktW'(inside_q) < cfg_i.row_bytes[14:7]);

    // As many as keep the uplink busy: more would only wait for it in front of own packets, and the adder with them. Short ones are many.
    assign up_room = up_q < 6'(UpPkts) || cfg_i.row_bytes[14:7] == '0;

    always_comb begin
        for (int unsigned c = 0; c < N; c++) begin
            ready_ctx[c] = row_pend_i[c] && ((5'(c) == cfg_i.port) ? own_ready : used_q[c] != limit && up_room);
            take[c]      = load && !own && ctx_q == CtxW'(c);
            give[c]      = part_crd_valid_i && part_crd_port_i == 5'(c);
            st_left[c]   = st_pop && head.last && head.dst == CtxW'(c);
        end
    end

    rr_arb #(.N(N)) i_arb (
        .clk_i, .rst_ni, .clear_i(go_i), .req_i(ready_ctx), .grant_o(grant), .idx_o(turn), .advance_i(state_q == Pick && ready_ctx != '0 && !own_first)
    );

    // Own rows wait for this unit alone, and combine has more of them than any requester: beside an uplink with enough to send, every second packet is theirs.
    assign own_first = ready_ctx[CtxW'(cfg_i.port)] && !own && up_q >= 6'(UpPkts - 2);
    assign pick      = own_first ? CtxW'(cfg_i.port) : turn;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            used_q <= '0;
        end else begin
            for (int unsigned c = 0; c < N; c++) begin
                if (take[c] != give[c] || st_left[c]) used_q[c] <= used_q[c] + CrdW'(take[c]) - CrdW'(give[c]) - CrdW'(st_left[c]);
            end
        end
    end

    // ---- passes of a packet -------------------------------------------------------
    logic [N-1:0]     started_q;     // the packet number of the context's row is in the memory
    logic [PktW-1:0]  pkt, pkt_mem, pkt_q;
    logic             row_last, zero_q, use_r_q, final_step, is_term, advance, push, ring_room;
    tag_t             tag_q;
    logic [4:0]       step_q, last_q;
    logic [AddrW-1:0] addr, addr_q;
    logic             by_b_q;        // the second port reads the next single term
    pass_t            pass_in;

    assign row_ctx_o = ctx_q;
    assign own       = 5'(ctx_q) == cfg_i.port;
    assign load      = state_q == Load;
    assign pkt       = started_q[ctx_q] ? pkt_mem : '0;
    assign row_last  = pkt == row_last_pkt_i;

    lutram #(
        .Width(PktW),
        .Depth(N)
    ) i_pkt_mem (
        .clk_i,
        .we_i    (load),
        .waddr_i (ctx_q),
        .wdata_i (pkt + 1'b1),
        .raddr_i (ctx_q),
        .rdata_o (pkt_mem)
    );

    // Steps are the terms and R; the first two make one pass (with R alone or one term: one step, one pass).
    assign final_step = step_q == last_q;
    assign is_term    = !(use_r_q && final_step) && !zero_q;
    assign advance    = state_q == Terms && ring_room && (term_valid_i || !is_term);
    assign push       = advance && (step_q != '0 || final_step);
    assign addr       = term_addr_i + AddrW'({pkt_q, {IdxW{1'b0}}});

    assign term_re_o  = load || state_q == Terms;
    assign term_idx_o = load ? '0 : step_q[3:0] + 4'(advance);
    assign row_pop_o  = advance && final_step && tag_q.row_last;

    always_comb begin
        pass_in.pair   = step_q == 5'd1;
        pass_in.need_a = is_term && (pass_in.pair || !by_b_q);
        pass_in.need_b = pass_in.pair || (is_term && by_b_q);
        pass_in.need_r = use_r_q && final_step;
        pass_in.first  = step_q[4:1] == '0;
        pass_in.last   = final_step;
        pass_in.tag    = tag_q;
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            state_q   <= Pick;
            started_q <= '0;
        end else begin
            unique case (state_q)
                Pick:    if (ready_ctx != '0) state_q <= Load;
                Load:    state_q <= Terms;
                default: if (advance && final_step) state_q <= Pick;
            endcase
            if (load) started_q[ctx_q] <= !row_last;
        end
        if (go_i) by_b_q <= 1'b0;
        else if (push && is_term && !pass_in.pair) by_b_q <= !by_b_q;
        if (go_i) ctx_q <= '0;
        else if (state_q == Pick && ready_ctx != '0) ctx_q <= pick;
        if (load) begin
            tag_q.kind     <= row_st_i ? St : own ? Own : Part;
            tag_q.dst      <= ctx_q;
            tag_q.addr     <= row_dest_i + AddrW'({pkt, {IdxW{1'b0}}});
            tag_q.poison   <= row_poison_i;
            tag_q.row_last <= row_last;
            tag_q.count    <= row_last ? row_last_len_i : '1;
            last_q         <= row_last_i;
            use_r_q        <= row_use_r_i;
            zero_q         <= row_zero_i;
            pkt_q          <= pkt;
            step_q         <= '0;
        end else if (advance) begin
            step_q <= step_q + 1'b1;
            addr_q <= addr;
        end
    end

    // ---- queue of passes: read by the two operands and, last, by the adder --------
    // Three passes: reads run ahead by no more than the operands' queues, and a packet that is chosen now waits for few others.
    logic [1:0]       wptr_q, aptr_q, bptr_q, dptr_q;
    logic             a_next, b_next, d_next, d_valid, a_need, b_need, a_end, b_end;
    logic [AddrW-1:0] a_addr, b_addr;
    logic [IdxW-1:0]  a_count, b_count;
    pass_t            pass;

    assign ring_room = dptr_q != wptr_q + 2'd1;
    assign d_valid   = dptr_q != wptr_q;

    lutram #(.Width(1 + IdxW + AddrW), .Depth(4)) i_ring_a (
        .clk_i, .we_i(push), .waddr_i(wptr_q), .wdata_i({pass_in.need_a, tag_q.count, addr}), .raddr_i(aptr_q), .rdata_o({a_need, a_count, a_addr})
    );
    lutram #(.Width(1 + IdxW + AddrW), .Depth(4)) i_ring_b (
        .clk_i, .we_i(push), .waddr_i(wptr_q), .wdata_i({pass_in.need_b, tag_q.count, pass_in.pair ? addr_q : addr}), .raddr_i(bptr_q), .rdata_o({b_need, b_count, b_addr})
    );
    lutram #(.Width($bits(pass_t)), .Depth(4)) i_ring_d (
        .clk_i, .we_i(push), .waddr_i(wptr_q), .wdata_i(pass_in), .raddr_i(dptr_q), .rdata_o(pass)
    );

    // What a pass does to its terms.
    red_pkg::red_t red;

    if (Plain) begin : gen_plain
        assign red = '0;
        logic unused_red;
        assign unused_red = ^row_red_i;
    end else begin : gen_red
        red_pkg::red_t red_q;

        always_ff @(posedge clk_i) if (load) red_q <= row_red_i;
        lutram #(.Width($bits(red_pkg::red_t)), .Depth(4)) i_ring_red (
            .clk_i, .we_i(push), .waddr_i(wptr_q), .wdata_i(red_q), .raddr_i(dptr_q), .rdata_o(red)
        );
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            wptr_q <= '0;
            aptr_q <= '0;
            bptr_q <= '0;
            dptr_q <= '0;
        end else begin
            if (push)   wptr_q <= wptr_q + 1'b1;
            if (a_next) aptr_q <= aptr_q + 1'b1;
            if (b_next) bptr_q <= bptr_q + 1'b1;
            if (d_next) dptr_q <= dptr_q + 1'b1;
        end
    end

    // ---- operands and adder -------------------------------------------------------
    logic            a_valid, b_valid, r_valid, r_poison, fire, acc_ready, acc_valid, acc_busy;
    logic [FW-1:0]   a_data, b_data, r_data, acc_data;
    logic [IdxW-1:0] idx_q;
    logic            idx_last, together, own_room, pkt_room, acc_end;
    logic            a_granted, b_granted;
    logic [2:0]      still_q;        // cycles since all reads of the pass were granted
    tag_t            tag_in, acc_tag;

    sum_operand #(.FlitBytes(FlitBytes), .AddrW(AddrW)) i_a (
        .clk_i, .rst_ni,
        .blk_valid_i (aptr_q != wptr_q), .blk_need_i(a_need), .blk_addr_i(a_addr), .blk_last_i(a_count), .blk_next_o(a_next), .at_end_o(a_end),
        .rd_valid_o  (suma_rd_valid_o), .rd_ready_i(suma_rd_ready_i), .rd_addr_o(suma_rd_addr_o),
        .rd_rvalid_i (suma_rd_rvalid_i), .rd_rdata_i(suma_rd_rdata_i),
        .valid_o     (a_valid), .ready_i(fire && pass.need_a), .data_o(a_data)
    );
    sum_operand #(.FlitBytes(FlitBytes), .AddrW(AddrW)) i_b (
        .clk_i, .rst_ni,
        .blk_valid_i (bptr_q != wptr_q), .blk_need_i(b_need), .blk_addr_i(b_addr), .blk_last_i(b_count), .blk_next_o(b_next), .at_end_o(b_end),
        .rd_valid_o  (sumb_rd_valid_o), .rd_ready_i(sumb_rd_ready_i), .rd_addr_o(sumb_rd_addr_o),
        .rd_rvalid_i (sumb_rd_rvalid_i), .rd_rdata_i(sumb_rd_rdata_i),
        .valid_o     (b_valid), .ready_i(fire && pass.need_b), .data_o(b_data)
    );

    // A packet for the uplink leaves the adder in one go: all its reads are granted, of one that fills the operand's queue all but two. A short one waits
    // until operands are here and sums at rest.
    assign a_granted = aptr_q != dptr_q || a_end;
    assign b_granted = bptr_q != dptr_q || b_end;
    assign together  = !pass.last || pass.tag.kind == Own || idx_q != '0
                       || ((pass.tag.count >= IdxW'(LongLast)) ? a_granted && b_granted : still_q == '1);
    assign idx_last  = idx_q == pass.tag.count;
    assign fire      = d_valid && acc_ready && (!pass.need_a || a_valid) && (!pass.need_b || b_valid) && (!pass.need_r || r_valid) && together
                       && (!pass.last || (pass.tag.kind == Own ? own_room : pkt_room));
    assign d_next    = fire && idx_last;

    always_comb begin
        tag_in = pass.tag;
        tag_in.poison |= pass.need_r && r_poison;
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni)   idx_q <= '0;
        else if (fire) idx_q <= idx_last ? '0 : idx_q + 1'b1;
        if (!a_granted || !b_granted || d_next) still_q <= '0;
        else if (still_q != '1)                 still_q <= still_q + 1'b1;
    end

    packet_acc #(
        .FlitBytes(FlitBytes),
        .MetaWidth($bits(tag_t) + 1),
        .RedTypes(RedTypes),
        .RedOps(RedOps)
    ) i_acc (
        .clk_i, .rst_ni,
        .valid_i (fire), .ready_o(acc_ready), .idx_i(idx_q), .first_i(pass.first), .pair_i(pass.pair),
        .a_i     (b_data),
        .b_i     (pass.need_a ? a_data : pass.need_r ? r_data : pass.need_b ? b_data : '0),
        .last_i  (pass.last), .red_i(red), .meta_i({idx_last, tag_in}),
        .valid_o (acc_valid), .data_o(acc_data), .meta_o({acc_end, acc_tag}),
        .busy_o  (acc_busy)
    );

    // ---- R: its header is taken at once, then it can be claimed: the payload follows without waiting for anything
    logic [HBeatW-1:0] res_beat_q;
    logic              res_payload, res_fire, res_begin, payload_begin, res_poison_q;

    assign res_payload   = res_beat_q == HBeatW'(HF);
    assign res_fire      = res_valid_i && res_ready_o;
    assign res_begin     = res_fire && res_beat_q == '0;
    assign payload_begin = res_fire && res_beat_q == HBeatW'(HF - 1);
    assign claim         = load && own && row_use_r_i;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            res_beat_q  <= '0;
            err_valid_o <= 1'b0;
        end else begin
            if (res_fire) res_beat_q <= res_last_i ? '0 : res_payload ? res_beat_q : res_beat_q + 1'b1;
            err_valid_o <= res_begin && res_data_i[PoisonBit];
        end
        if (res_begin) res_poison_q <= res_data_i[PoisonBit];
    end

    if (FlitBytes < 16) begin : gen_direct
        // One packet of R at a time; the next one can be claimed when this one has gone into the adder.
        logic claimed_q;

        assign r_free      = res_payload && !claimed_q;
        assign r_valid     = res_payload && res_valid_i;
        assign r_data      = res_data_i;
        assign r_poison    = res_poison_q;
        assign res_ready_o = !res_payload || (fire && pass.need_r);

        always_ff @(posedge clk_i) begin
            if (!rst_ni)                      claimed_q <= 1'b0;
            else if (claim)                   claimed_q <= 1'b1;
            else if (res_fire && res_last_i) claimed_q <= 1'b0;
        end
        logic unused_begin;
        assign unused_begin = payload_begin;
    end else begin : gen_queue
        // Far enough ahead for own packets in a row.
        logic       room, r_push;
        logic [4:0] free_q;   // packets of R that nobody has claimed

        assign r_free      = free_q != '0;
        assign res_ready_o = !res_payload || room;
        assign r_push      = res_fire && res_payload;

        promise_fifo #(
            .Width(FW + 1),
            .Depth(16)
        ) i_res (
            .clk_i, .rst_ni,
            .promise_i (r_push), .room_o(room), .push_i(r_push), .data_i({res_poison_q, res_data_i}),
            .valid_o   (r_valid), .ready_i(fire && pass.need_r), .data_o({r_poison, r_data})
        );

        always_ff @(posedge clk_i) begin
            if (!rst_ni)                     free_q <= '0;
            else if (payload_begin != claim) free_q <= free_q + (claim ? '1 : 5'd1);
        end
    end

    // ---- own rows -----------------------------------------------------------------
    logic             own_valid, own_end, own_row_end, own_poison, own_pop;
    logic             dest_q, dest_more_q;   // dest_addr_q is the address of the next flit
    logic [AddrW-1:0] dest_addr_q;
    logic             row_end, own_begin, own_out;

    promise_fifo #(
        .Width(FW + 3),
        .Depth(16)
    ) i_own (
        .clk_i, .rst_ni,
        .promise_i (fire && pass.last && pass.tag.kind == Own), .room_o(own_room), .push_i(acc_valid && acc_tag.kind == Own),
        .data_i    ({acc_end, acc_tag.row_last, acc_tag.poison, acc_data}),
        .valid_o   (own_valid), .ready_i(own_pop), .data_o({own_end, own_row_end, own_poison, out_wr_data_o})
    );

    assign out_wr_valid_o = own_valid && dest_q && !own_poison;
    assign out_wr_addr_o  = dest_addr_q;
    assign out_wr_be_o    = '1;
    assign own_pop        = own_valid && dest_q && (own_poison || out_wr_ready_i);

    assign row_end      = own_pop && own_end && own_row_end;
    assign dest_ready_o = !dest_q || row_end;
    assign own_begin    = load && own;
    assign own_out      = own_pop && own_end;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            dest_q     <= 1'b0;
            row_done_o <= 1'b0;
            inside_q   <= '0;
            up_q       <= '0;
        end else begin
            if (dest_ready_o) dest_q <= dest_valid_i;
            row_done_o <= row_end;
            if ((load && !own) != up_out) up_q <= up_q + (up_out ? '1 : 6'd1);
            if (own_begin != own_out) inside_q <= inside_q + (own_out ? '1 : 5'd1);
        end
        row_more_o <= dest_more_q;
        if (dest_ready_o)           dest_more_q <= dest_more_i;
        if (dest_ready_o)           dest_addr_q <= dest_addr_i;
        else if (own_pop)           dest_addr_q <= dest_addr_q + 1'b1;
    end

    // ---- packets to the uplink ----------------------------------------------------
    logic              pkt_valid, pkt_fire, pkt_payload, pkt_pop;
    logic [HBeatW-1:0] pkt_beat_q;
    logic [FW-1:0]     pkt_flit, pkt_data;
    header_t           header;

    promise_fifo #(
        .Width(FW + $bits(out_t)),
        .Depth(PktDepth)
    ) i_pkt (
        .clk_i, .rst_ni,
        .promise_i (fire && pass.last && pass.tag.kind != Own), .room_o(pkt_room), .push_i(acc_valid && acc_tag.kind != Own),
        .data_i    ({acc_tag.kind == St, acc_tag.dst, acc_tag.poison, acc_tag.row_last, acc_tag.count, acc_tag.addr, acc_end, acc_data}),
        .valid_o   (pkt_valid), .ready_i(pkt_pop), .data_o({head, pkt_flit})
    );

    assign pkt_payload = pkt_beat_q == HBeatW'(HF);
    assign pkt_fire    = pkt_valid && (head.st ? sst_ready_i : part_ready_i);
    assign pkt_pop     = pkt_fire && pkt_payload;
    assign st_pop      = pkt_pop && head.st;
    assign up_out      = pkt_pop && head.last;
    assign st_done_o   = st_pop && head.last && head.row_last;

    always_comb begin
        header        = '0;
        header.opcode = head.st ? OP_ST : OP_PARTIAL;
        header.cls    = head.st ? CLS_STORE : CLS_PART;
        header.src    = cfg_i.port;
        header.dst    = 5'(head.dst);
        header.len    = {15'(head.count) + 15'd1} << LogF;
        header.epoch  = cfg_i.epoch;
        header.stage  = STAGE_COMBINE;
        header.poison = head.poison;
        header.addr   = head.st ? 48'(head.addr) << LogF : '0;
    end

    if (HF == 1) begin : gen_header1
        assign pkt_data = pkt_payload ? pkt_flit : header;
    end else begin : gen_header2
        assign pkt_data = pkt_payload ? pkt_flit : pkt_beat_q[0] ? header[FW +: FW] : header[0 +: FW];
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            pkt_beat_q <= '0;
        end else if (pkt_fire) begin
            pkt_beat_q <= !pkt_payload ? pkt_beat_q + 1'b1 : head.last ? '0 : pkt_beat_q;
        end
    end

    assign part_valid_o = pkt_valid && !head.st;
    assign part_data_o  = pkt_data;
    assign part_last_o  = pkt_payload && head.last;
    assign sst_valid_o  = pkt_valid && head.st;

    assign idle_o = state_q == Pick && !d_valid && !acc_busy && !own_valid && !pkt_valid && !r_valid && !res_valid_i && row_pend_i == '0;

    logic unused;
    assign unused = ^{grant, pkt_q, cfg_i};
endmodule

`default_nettype wire
