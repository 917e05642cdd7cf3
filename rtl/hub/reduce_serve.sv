// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Queues of reduction requests, and the set-up of rows for row_sum.
//
// Requests come from the wire (one queue of OpenRows per requester; the window of open rows bounds them, so req_ is always accepted; one too
// many is an error and dropped) and from combine (own_, queues of the own port and of context N, AUX). They are parsed on their way into one RAM:
//   {context, request}: word of the header's low half, word of the high half (one word if a flit holds both), words of as many targets as a flit has
// and the same RAM holds {context, row slot}: addresses of up to 16 terms.
// One set-up machine serves the contexts in turn: it reads a request, looks the targets up (own experts: expert map, then allocator client 1, never
// allocating; explicit rows: by position) and writes the row of term addresses. Every context has two row slots, so the next row is set up while one is summed.
//
// Order: rows of a context in the order of its requests. An error (unmapped or unallocated target, length or address out of bounds) makes the row a poisoned
// row without terms: its packets are sent all the same.
// Worst case: setting up a row of t terms takes 8 + 7 t cycles and the allocator's misses; a context waits for one row of every other context.
`default_nettype none

module reduce_serve #(
    parameter int unsigned N          = 4,
    parameter int unsigned FlitBytes  = 8,
    parameter int unsigned AddrW      = 11,  // of a flit
    parameter int unsigned OpenRows   = 8,   // power of two
    parameter int unsigned MaxExperts = 64,
    localparam int unsigned FW     = 8 * FlitBytes,
    localparam int unsigned Ctx    = N + 1,
    localparam int unsigned CtxW   = $clog2(Ctx),
    localparam int unsigned IdxW   = $clog2(128 / FlitBytes),
    localparam int unsigned PktW   = 8,
    localparam int unsigned TokenW = node_pkg::TokenW,
    localparam int unsigned RowW   = node_pkg::RowW
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire logic                go_i,
    input  wire node_pkg::node_cfg_t cfg_i,          // port is constant from reset on: the expert map is judged by it when written

    input  wire logic                emap_we_i,
    input  wire logic [11:0]         emap_addr_i,
    input  wire node_pkg::emap_t     emap_data_i,

    // from the wire: DYMULTIMEM_LD_REDUCE and MULTIMEM_LD_REDUCE
    input  wire logic                req_valid_i,
    input  wire logic [FW-1:0]       req_data_i,
    input  wire logic                req_last_i,

    // from combine: beats of the header (its fields below stay), then flits of targets
    input  wire logic                own_valid_i,
    output logic                     own_ready_o,
    input  wire logic                own_last_i,
    input  wire logic [FW-1:0]       own_flit_i,
    input  wire logic                own_aux_i,      // for AUX
    input  wire logic                own_static_i,   // one term at byte address own_addr_i
    input  wire logic                own_explicit_i, // targets are list positions of received row own_row_i
    input  wire logic                own_slots_i,    // targets are GPUs: their slots of token own_row_i
    input  wire logic                own_use_r_i,
    input  wire logic                own_bad_i,      // write nothing
    input  wire logic [4:0]          own_cnt_i,
    input  wire logic [19:0]         own_dest_i,     // index at home; ST rows: {home, index}; static: bytes
    input  wire logic [RowW-1:0]     own_row_i,      // token, received row, or index at home
    input  wire logic [31:0]         own_addr_i,
    input  wire logic [AddrW-1:0]    static_delta_i, // static: flits from the source to the destination
    input  wire logic                aux_st_i,

    output logic                     al_req_valid_o,
    input  wire logic                al_req_ready_i,
    output logic [node_pkg::ExpertW-1:0] al_req_le_o,
    output logic [TokenW-1:0]        al_req_token_o,
    output logic                     al_req_alloc_o,
    input  wire logic                al_resp_valid_i,
    input  wire logic [RowW-1:0]     al_resp_row_i,
    input  wire logic                al_resp_new_i,
    input  wire logic                al_resp_err_i,

    // to row_sum
    output logic [Ctx-1:0]           row_pend_o,
    output logic                     row_own_r_o,
    input  wire logic [CtxW-1:0]     row_ctx_i,
    output logic [4:0]               row_last_o,
    output logic                     row_use_r_o,
    output logic                     row_zero_o,
    output logic                     row_poison_o,
    output logic [4:0]               row_dst_o,
    output logic [PktW-1:0]          row_last_pkt_o,
    output logic [IdxW-1:0]          row_last_len_o,
    input  wire logic                row_pop_i,
    input  wire logic                term_re_i,
    input  wire logic [3:0]          term_idx_i,
    output logic                     term_valid_o,   // the read of the last cycle was done
    output logic [AddrW-1:0]         term_addr_o,
    output logic                     dest_valid_o,
    input  wire logic                dest_ready_i,
    output logic [AddrW-1:0]         dest_addr_o,

    output logic                     err_valid_o,
    output error_pkg::err_e          err_code_o,
    output logic                     idle_o
);
    import packet_pkg::*;
    import error_pkg::*;

    localparam int unsigned LogF    = $clog2(FlitBytes);
    localparam int unsigned ExpIdxW = $clog2(MaxExperts);
    localparam int unsigned TgtW    = ExpIdxW + 1;          // one more bit: no such expert
    localparam int unsigned PerFlit = FlitBytes / 2;        // targets of a flit
    localparam int unsigned LaneW   = $clog2(PerFlit);
    localparam int unsigned HF      = 16 / FlitBytes;
    localparam int unsigned LoW     = 30;
    localparam int unsigned HiW     = 1 + ((TgtW + TokenW > 32) ? TgtW + TokenW : 32);
    localparam int unsigned HeadW   = (HF == 1) ? LoW + HiW : ((LoW > HiW) ? LoW : HiW);
    localparam int unsigned BodyW   = (PerFlit * TgtW > AddrW) ? PerFlit * TgtW : AddrW;
    localparam int unsigned WordW   = (HeadW > BodyW) ? HeadW : BodyW;
    localparam int unsigned BeatW   = (HF == 1) ? 2 : 3;    // words of a request
    localparam int unsigned SlotW   = $clog2(OpenRows);
    localparam int unsigned CntW    = $clog2(OpenRows + 1);
    localparam int unsigned ReqWords = Ctx * OpenRows * 2**BeatW;
    localparam int unsigned RamDepth = ReqWords + Ctx * 32;
    localparam int unsigned RamAw    = $clog2(RamDepth);
    localparam int unsigned DestDepth = 16;
    localparam int unsigned MaddrW    = TokenW + 15;

    if (2**SlotW != OpenRows || SlotW + BeatW < 5 || ExpIdxW < 4 || MaxExperts > 4096) begin : gen_check
        $error("reduce_serve: OpenRows must be a power of two, at least 8 with FlitBytes 16, MaxExperts 16 to 4096");
    end

    typedef struct packed {
        logic        is_static;
        logic        is_explicit;
        logic        slots;
        logic        use_r;
        logic        bad;
        logic [4:0]  cnt;
        logic [19:0] dest;      // own_dest_i, or bytes of the row
    } low_t;

    typedef struct packed {
        logic            bad;
        logic [HiW-2:0]  body;  // {first target, token or row}, or byte address
    } high_t;

    function automatic logic [TgtW-1:0] pack(input logic [11:0] expert);
        return {(expert >> ExpIdxW) != '0, expert[ExpIdxW-1:0]};
    endfunction

    function automatic logic [RamAw-1:0] req_addr(input logic [CtxW-1:0] c, input logic [SlotW-1:0] s, input logic [BeatW-1:0] b);
        return RamAw'({c, s, b});
    endfunction

    function automatic logic [RamAw-1:0] term_addr(input logic [CtxW-1:0] c, input logic slot, input logic [3:0] t);
        return {(RamAw-5)'(c) + (RamAw-5)'(ReqWords / 32), slot, t};
    endfunction

    // ---- requests from the wire, parsed -------------------------------------------
    logic [Ctx-1:0][SlotW-1:0] wptr_q, rptr_q;
    logic [Ctx-1:0][CntW-1:0]  queued_q;

    header_t          rq_header;
    low_t             rq_low;
    high_t            rq_high;
    logic [BeatW-1:0] rq_beat_q;
    logic [CtxW-1:0]  rq_ctx_q, rq_ctx;
    logic             rq_static_q, rq_static, rq_drop_q, rq_drop, rq_full, rq_stray, rq_first, rq_we;
    logic [TokenW-1:0] rq_token;
    logic [WordW-1:0] rq_word, rq_targets, own_targets;

    assign rq_first = rq_beat_q == '0;

    if (HF == 1) begin : gen_header1
        assign rq_header = req_data_i;
        assign rq_static = rq_header.opcode == OP_MULTIMEM_LD_REDUCE;
    end else begin : gen_header2
        assign rq_header = rq_first ? {64'd0, req_data_i} : {req_data_i, 64'd0};
        assign rq_static = rq_first ? rq_header.opcode == OP_MULTIMEM_LD_REDUCE : rq_static_q;
    end

    assign rq_ctx   = rq_first ? CtxW'(rq_header.src) : rq_ctx_q;
    assign rq_stray = 6'(rq_header.src) >= 6'(N) || rq_header.src == cfg_i.port || rq_header.len == '0;
    assign rq_full  = queued_q[rq_ctx] == CntW'(OpenRows);
    assign rq_drop  = rq_first ? rq_stray || rq_full : rq_drop_q;
    assign rq_we    = req_valid_i && !rq_drop;
    assign rq_token = TokenW'(rq_header.addr[MaddrW-1:0] >> cfg_i.row_shift);

    always_comb begin
        rq_low             = '0;
        rq_low.is_static   = rq_static;
        rq_low.cnt         = rq_static ? 5'd1 : rq_header.cnt;
        rq_low.dest        = 20'(rq_header.len);
        rq_low.bad         = rq_header.len > cfg_i.row_bytes || rq_header.len[LogF-1:0] != '0 || rq_header.dtype != DTYPE_BF16
                             || rq_header.redop != REDOP_ADD || (!rq_static && (rq_header.cnt == '0 || rq_header.cnt > 5'(TargetsMax)));
        rq_high.bad        = rq_static ? (rq_header.addr >> (AddrW + LogF)) != '0 || rq_header.addr[LogF-1:0] != '0
                                       : rq_header.addr[47:MaddrW] != '0 || (rq_header.addr[14:0] & ((15'd1 << cfg_i.row_shift) - 15'd1)) != '0;
        rq_high.body       = rq_static ? (HiW-1)'(rq_header.addr[31:0]) : (HiW-1)'({pack(rq_header.target0[15:4]), rq_token});
        rq_targets  = '0;
        own_targets = '0;
        for (int unsigned l = 0; l < PerFlit; l++) begin
            rq_targets[TgtW*l +: TgtW]  = pack(req_data_i[16*l+4 +: 12]);
            own_targets[TgtW*l +: TgtW] = pack(own_flit_i[16*l+4 +: 12]);
        end
    end

    // ---- requests of combine ------------------------------------------------------
    low_t             own_low;
    high_t            own_high;
    logic [BeatW-1:0] own_beat_q;
    logic [CtxW-1:0]  own_ctx;
    logic             own_fire;
    logic [WordW-1:0] own_word;

    assign own_ctx     = own_aux_i ? CtxW'(N) : CtxW'(cfg_i.port);
    assign own_ready_o = !req_valid_i;
    assign own_fire    = own_valid_i && own_ready_o;

    always_comb begin
        own_low.is_static   = own_static_i;
        own_low.is_explicit = own_explicit_i;
        own_low.slots       = own_slots_i;
        own_low.use_r       = own_use_r_i;
        own_low.bad         = own_bad_i;
        own_low.cnt         = own_cnt_i;
        own_low.dest        = own_dest_i;
        own_high.bad        = 1'b0;
        own_high.body       = own_static_i ? (HiW-1)'(own_addr_i) : (HiW-1)'(own_row_i);
    end

    if (HF == 1) begin : gen_word1
        assign rq_word  = rq_first ? WordW'({rq_high, rq_low}) : rq_targets;
        assign own_word = (own_beat_q == '0) ? WordW'({own_high, own_low}) : own_targets;
    end else begin : gen_word2
        assign rq_word  = rq_first ? WordW'(rq_low) : (rq_beat_q == BeatW'(1)) ? WordW'(rq_high) : rq_targets;
        assign own_word = (own_beat_q == '0) ? WordW'(own_low) : (own_beat_q == BeatW'(1)) ? WordW'(own_high) : own_targets;
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            rq_beat_q  <= '0;
            own_beat_q <= '0;
        end else begin
            if (req_valid_i) rq_beat_q <= req_last_i ? '0 : rq_beat_q + 1'b1;
            if (own_fire)    own_beat_q <= own_last_i ? '0 : own_beat_q + 1'b1;
        end
        if (req_valid_i && rq_first) begin
            rq_ctx_q    <= rq_ctx;
            rq_drop_q   <= rq_drop;
            rq_static_q <= rq_static;
        end
    end

    // ---- set-up -------------------------------------------------------------------
    typedef enum logic [3:0] {Idle, Head0, Head1, Start, Target, Lookup, Ask, Answer, Shift1, Shift2, Store, Done} state_e;
    state_e state_q, state_d;

    logic [Ctx-1:0]   can_set, grant;
    logic [CtxW-1:0]  pick, ctx_q;
    logic [Ctx-1:0][1:0] rows_q;        // rows set up
    logic [Ctx-1:0]   set_slot_q, sum_slot_q;
    low_t             low_q;
    high_t            high_q;
    logic             own, aux, wire_req, st;
    logic             sre, sre_q;        // set-up read, done in the last cycle
    logic [RamAw-1:0] saddr;
    logic [WordW-1:0] rdata, swdata;
    logic             swe, sw_done;
    logic [4:0]       t_q;
    logic [3:0]       lane_t;
    logic [TgtW-1:0]  tgt_q, lane_tgt;
    logic             mapped;
    logic [node_pkg::ExpertW-1:0] le, le_q;
    logic             in_dest_q;         // address of the destination, not of a term
    logic             bad, bad_q;
    err_e             err_q;             // why
    logic             dest_push, dest_room;
    logic [AddrW-1:0] x_q, shifted, base;
    logic [4:0]       amount;
    logic [RowW-1:0]  row_q;

    // Receipts and releases of requests and rows.
    logic req_push, row_push;
    assign req_push = rq_we && req_last_i;
    assign row_push = state_q == Done;

    always_comb begin
        for (int unsigned c = 0; c < Ctx; c++) begin
            row_pend_o[c] = rows_q[c] != '0;
            can_set[c]    = queued_q[c] != '0 && !rows_q[c][1] && (dest_room || (c < N && 5'(c) != cfg_i.port));
        end
    end

    rr_arb #(.N(Ctx)) i_arb (
        .clk_i, .rst_ni, .clear_i(go_i), .req_i(can_set), .grant_o(grant), .idx_o(pick), .advance_i(state_q == Idle && can_set != '0)
    );

    assign aux      = ctx_q == CtxW'(N);
    assign own      = 5'(ctx_q) == cfg_i.port && !aux;
    assign wire_req = !aux && !own;
    assign st       = aux && aux_st_i;

    // Word of target t: the wire puts target 0 into the header.
    assign lane_t = t_q[3:0] - 4'(wire_req);

    always_comb begin
        state_d = state_q;
        sre     = 1'b0;
        saddr   = req_addr(ctx_q, rptr_q[ctx_q], '0);
        swe     = 1'b0;
        dest_push = 1'b0;
        unique case (state_q)
            Idle:  if (can_set != '0) state_d = Head0;
            Head0: begin
                sre     = !sre_q;
                if (sre_q) state_d = (HF == 1) ? Start : Head1;
            end
            Head1: begin
                sre   = !sre_q;
                saddr = req_addr(ctx_q, rptr_q[ctx_q], BeatW'(1));
                if (sre_q) state_d = Start;
            end
            Start: state_d = (own || st) ? Shift1 : (low_q.cnt == '0 || bad) ? Done : Target;
            Target: begin
                sre   = !sre_q;
                saddr = req_addr(ctx_q, rptr_q[ctx_q], BeatW'(HF) + BeatW'(lane_t >> LaneW));
                if (sre_q) state_d = Lookup;
            end
            Lookup: state_d = (low_q.is_static || low_q.is_explicit || low_q.slots) ? Shift1 : mapped ? Ask : Done;
            Ask:    if (al_req_ready_i) state_d = Answer;
            Answer: if (al_resp_valid_i) state_d = al_resp_err_i ? Done : Shift1;
            Shift1: state_d = Shift2;
            Shift2: state_d = Store;
            Store: begin
                swe       = !in_dest_q;
                dest_push = in_dest_q;
                if (in_dest_q)    state_d = (low_q.cnt == '0 || bad_q) ? Done : Target;
                else if (sw_done) state_d = (t_q + 1'b1 == low_q.cnt) ? Done : Target;
            end
            default: state_d = Idle;
        endcase
    end

    assign bad    = low_q.bad || high_q.bad;
    assign swdata = WordW'(x_q);

    // Lane of the target word that the last cycle read.
    always_comb begin
        lane_tgt = rdata[TgtW * 32'(lane_t[LaneW-1:0]) +: TgtW];
        if (wire_req && t_q == '0) lane_tgt = high_q.body[TokenW +: TgtW];
    end

    always_comb begin
        if (state_q == Shift2)      amount = low_q.is_static ? '0 : 5'(cfg_i.row_shift) - 5'(LogF);
        else if (low_q.is_static)   amount = '0;
        else if (in_dest_q)         amount = st ? 5'(cfg_i.n_shift) : '0;
        else if (low_q.is_explicit) amount = 5'(cfg_i.k_shift);
        else if (low_q.slots)       amount = 5'(cfg_i.n_shift);
        else                        amount = cfg_i.cap_shift;
        if (low_q.is_static)                 base = in_dest_q ? static_delta_i : '0;
        else if (in_dest_q ? st : low_q.slots) base = AddrW'(cfg_i.cb_base >> LogF);
        else if (in_dest_q)                  base = AddrW'(cfg_i.out_base >> LogF);
        else                                 base = AddrW'(cfg_i.yd_base >> LogF);
    end

    assign shifted = x_q << amount;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            state_q <= Idle;
            sre_q   <= 1'b0;
        end else begin
            state_q <= state_d;
            sre_q   <= sre;
        end
        unique case (state_q)
            Idle: ctx_q <= pick;
            Head0: begin
                low_q <= low_t'(rdata[LoW-1:0]);
                if (HF == 1) high_q <= high_t'(rdata[WordW-1 -: HiW]);
            end
            Head1: high_q <= high_t'(rdata[HiW-1:0]);
            Start: begin
                bad_q     <= bad;
                err_q     <= ERR_BOUNDS;
                in_dest_q <= own || st;
                t_q       <= '0;
                x_q       <= low_q.is_static ? AddrW'(high_q.body >> LogF) : st ? AddrW'(low_q.dest[14:0]) : AddrW'(low_q.dest);
            end
            Target: tgt_q <= lane_tgt;
            Lookup: begin
                le_q <= le;
                x_q  <= low_q.is_static ? AddrW'(high_q.body >> LogF) : AddrW'(high_q.body[TokenW-1:0]);
                if (!mapped && !(low_q.is_static || low_q.is_explicit || low_q.slots)) begin
                    bad_q <= 1'b1;
                    err_q <= ERR_UNMAPPED;
                end
            end
            Answer: begin
                x_q   <= AddrW'(le_q);
                row_q <= al_resp_row_i;
                if (al_resp_valid_i && al_resp_err_i) begin
                    bad_q <= 1'b1;
                    err_q <= ERR_UNALLOCATED;
                end
            end
            Shift1: begin
                x_q <= shifted;
                if (!low_q.is_static) begin
                    if (in_dest_q) x_q <= shifted | (st ? AddrW'(cfg_i.port) : '0);
                    else           x_q <= shifted | ((low_q.is_explicit || low_q.slots) ? AddrW'(tgt_q) : AddrW'(row_q));
                end
            end
            Shift2: x_q <= base + shifted;
            Store: begin
                in_dest_q <= 1'b0;
                if (sw_done && !in_dest_q) t_q <= t_q + 1'b1;
            end
            default: ;
        endcase
    end

    // ---- expert map: own experts --------------------------------------------------
    logic emap_mine;

    lutram #(
        .Width(1 + node_pkg::ExpertW),
        .Depth(MaxExperts)
    ) i_emap (
        .clk_i,
        .we_i    (emap_we_i && (emap_addr_i >> ExpIdxW) == '0),
        .waddr_i (emap_addr_i[ExpIdxW-1:0]),
        .wdata_i ({emap_data_i.valid && emap_data_i.gpu == cfg_i.port, emap_data_i.local_expert}),
        .raddr_i (tgt_q[ExpIdxW-1:0]),
        .rdata_o ({emap_mine, le})
    );
    assign mapped = emap_mine && !tgt_q[TgtW-1];

    assign al_req_valid_o = state_q == Ask;
    assign al_req_le_o    = le_q;
    assign al_req_token_o = high_q.body[TokenW-1:0];
    assign al_req_alloc_o = 1'b0;

    // ---- the RAM ------------------------------------------------------------------
    logic             we;
    logic [RamAw-1:0] waddr, raddr;
    logic [WordW-1:0] wdata;

    assign sw_done = !req_valid_i && !own_valid_i;
    assign we      = rq_we || own_fire || (swe && sw_done);
    assign waddr   = req_valid_i ? req_addr(rq_ctx, wptr_q[rq_ctx], rq_beat_q)
                   : own_valid_i ? req_addr(own_ctx, wptr_q[own_ctx], own_beat_q) : term_addr(ctx_q, set_slot_q[ctx_q], t_q[3:0]);
    assign wdata   = req_valid_i ? rq_word : own_valid_i ? own_word : swdata;
    assign raddr   = sre ? saddr : term_addr(row_ctx_i, sum_slot_q[row_ctx_i], term_idx_i);

    ram_sdp #(
        .Width(WordW),
        .Depth(RamDepth)
    ) i_ram (
        .clk_i,
        .we_i    (we),
        .waddr_i (waddr),
        .wdata_i (wdata),
        .wbe_i   ('1),
        .re_i    (sre || term_re_i),
        .raddr_i (raddr),
        .rdata_o (rdata)
    );

    assign term_addr_o = rdata[AddrW-1:0];

    always_ff @(posedge clk_i) term_valid_o <= !sre && term_re_i;

    // ---- rows set up, for row_sum -------------------------------------------------
    logic [4:0]      set_steps, set_dst;
    logic [14:0]     set_bytes;
    logic [14-LogF:0] set_flits;  // less 1
    logic            set_zero;
    logic [1:0]      own_r_q;

    assign set_steps = (bad_q ? '0 : low_q.cnt) + 5'(low_q.use_r);
    assign set_zero  = set_steps == '0;
    assign set_dst   = low_q.dest[19:15];
    assign set_bytes = (wire_req || low_q.is_static) ? low_q.dest[14:0] : cfg_i.row_bytes;
    assign set_flits = (15-LogF)'((set_bytes - 15'd1) >> LogF);

    lutram #(
        .Width(13 + PktW + IdxW),
        .Depth(2**(CtxW+1))
    ) i_rows (
        .clk_i,
        .we_i    (row_push),
        .waddr_i ({ctx_q, set_slot_q[ctx_q]}),
        .wdata_i ({set_zero ? 5'd0 : set_steps - 5'd1, low_q.use_r, set_zero, bad_q, set_dst, set_flits}),
        .raddr_i ({row_ctx_i, sum_slot_q[row_ctx_i]}),
        .rdata_o ({row_last_o, row_use_r_o, row_zero_o, row_poison_o, row_dst_o, row_last_pkt_o, row_last_len_o})
    );

    assign row_own_r_o = own_r_q[sum_slot_q[CtxW'(cfg_i.port)]];

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            wptr_q     <= '0;
            rptr_q     <= '0;
            queued_q   <= '0;
            rows_q     <= '0;
            set_slot_q <= '0;
            sum_slot_q <= '0;
        end else begin
            if (req_push)                    wptr_q[rq_ctx] <= wptr_q[rq_ctx] + 1'b1;
            else if (own_fire && own_last_i) wptr_q[own_ctx] <= wptr_q[own_ctx] + 1'b1;
            if (row_push) begin
                rptr_q[ctx_q]     <= rptr_q[ctx_q] + 1'b1;
                set_slot_q[ctx_q] <= !set_slot_q[ctx_q];
            end
            if (row_pop_i) sum_slot_q[row_ctx_i] <= !sum_slot_q[row_ctx_i];
            for (int unsigned c = 0; c < Ctx; c++) begin
                if (((req_push && rq_ctx == CtxW'(c)) || (own_fire && own_last_i && own_ctx == CtxW'(c))) != (row_push && ctx_q == CtxW'(c))) begin
                    queued_q[c] <= queued_q[c] + ((row_push && ctx_q == CtxW'(c)) ? '1 : CntW'(1));
                end
                if ((row_push && ctx_q == CtxW'(c)) != (row_pop_i && row_ctx_i == CtxW'(c))) begin
                    rows_q[c] <= rows_q[c] + ((row_push && ctx_q == CtxW'(c)) ? 2'd1 : '1);
                end
            end
        end
        if (row_push && own) own_r_q[set_slot_q[ctx_q]] <= low_q.use_r;
    end

    logic [$clog2(DestDepth+1)-1:0] unused_level;

    fifo #(
        .Width(AddrW),
        .Depth(DestDepth)
    ) i_dest (
        .clk_i, .rst_ni,
        .valid_i (dest_push), .ready_o(dest_room), .data_i(x_q),
        .valid_o (dest_valid_o), .ready_i(dest_ready_i), .data_o(dest_addr_o),
        .level_o (unused_level)
    );

    // ---- errors -------------------------------------------------------------------
    // combine has reported its own; one that comes together with that of an arriving request waits.
    logic set_err, set_err_q, rq_err;
    assign set_err = row_push && bad_q && !(!wire_req && low_q.bad);
    assign rq_err  = req_valid_i && rq_first && rq_drop;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            err_valid_o <= 1'b0;
            set_err_q   <= 1'b0;
        end else begin
            err_valid_o <= rq_err || set_err || set_err_q;
            set_err_q   <= rq_err && (set_err || set_err_q);
        end
        err_code_o <= !rq_err ? err_q : rq_stray ? ERR_LENGTH : ERR_WINDOW;
    end

    assign idle_o = state_q == Idle && queued_q == '0 && rows_q == '0 && !req_valid_i && !own_valid_i;

    logic unused;
    assign unused = ^{grant, al_resp_new_i, cfg_i, rq_header, rq_static_q, row_q, req_data_i, own_flit_i};
endmodule

`default_nettype wire
