// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Queues of reduction requests, and the set-up of rows for row_sum.
//
// Requests come from the wire (one queue of OpenRows per requester; the window of open rows bounds them, so req_ is always accepted; one too
// many is an error and dropped) and from row_build (own_, for combine the queue of the own port). Their flits are parsed on their way into one RAM:
//   {context, request}: word of the header's low half, word of the high half (one word if a flit holds both), words of as many targets as a flit has
// and the same RAM holds {context, row slot}: addresses of up to 16 terms.
// One set-up machine serves the contexts in turn: it reads a request, looks the targets up (own experts: expert map, then allocator client 1, never
// allocating; explicit rows: by position) and writes the term addresses. Every context has two row slots, so the next row is set up while one is summed.
//
// Rows of combine, and those of push in the context of their home, have the same format. Their addr is a token or row number, or a static row's byte address, and is not shifted; dst and len are home and index of the
// token (static: len is the row's); target flits hold all targets, also the first. Rows of push are at most open_rows, and no other GPU asks for rows meanwhile. Bits of their tag, and what makes a row without any:
//   1 more: another row of the token follows     2 use_r: R is the last term            3 explicit: targets are list positions of received row addr
//   4 slots: targets are GPUs, their slots       5 bad: write nothing                   6 again: the destination is the last term
//   7 st: goes to the home's slot; with one term it is not summed: unit send gets both addresses as an st.linear (copy_*)
//
// Order: rows of a context in the order of its requests. An error (unmapped or unallocated target, length or address out of bounds) makes the row a poisoned
// row without terms: its packets are sent all the same.
// Worst case: setting up a row of t terms takes 8 + 8 t cycles, with a request's address row_shift more, and the allocator's misses, a static one at most 9 (6 of another GPU with 16-byte flits, less than its shortest packet); a context waits for one row of every other context.
`default_nettype none

module reduce_serve #(
    parameter int unsigned N          = 4,
    parameter int unsigned FlitBytes  = 8,
    parameter int unsigned AddrW      = 11,  // of a flit
    parameter int unsigned OpenRows   = 8,   // power of two
    parameter int unsigned TokensLog2 = 12,  // of a GPU's tokens, at most
    parameter int unsigned MaxExperts = 64,
    parameter red_pkg::set_t RedTypes = red_pkg::AllTypes,
    parameter red_pkg::set_t RedOps   = red_pkg::AllOps,
    localparam int unsigned FW     = 8 * FlitBytes,
    localparam int unsigned CtxW   = (N > 1) ? $clog2(N) : 1,
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

    // from row_build
    input  wire logic                own_valid_i,
    output logic                     own_ready_o,
    input  wire logic                own_last_i,
    input  wire logic [FW-1:0]       own_data_i,
    input  wire logic                own_static_i,   // one term at byte address addr; the same for all flits of a packet
    input  wire logic [AddrW-1:0]    static_delta_i, // static: flits from the source to the destination

    output logic                     copy_valid_o,   // an instruction for unit send
    input  wire logic                copy_ready_i,
    output isa_pkg::instr_t          copy_o,
    output logic                     copy_busy_o,    // it runs
    input  wire logic                copy_retire_i,

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
    output logic [N-1:0]             row_pend_o,
    output logic                     row_own_r_o,
    output logic                     row_own_again_o,
    input  wire logic [CtxW-1:0]     row_ctx_i,
    output logic [4:0]               row_last_o,
    output logic                     row_use_r_o,
    output logic                     row_st_o,
    output logic                     row_zero_o,
    output logic                     row_poison_o,
    output logic [AddrW-1:0]         row_dest_o,     // where it goes (st)
    output red_pkg::red_t            row_red_o,      // type and operator
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
    output logic                     dest_more_o,

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
    localparam int unsigned SlotW   = $clog2(OpenRows);
    localparam int unsigned BeatW   = (HF == 1) ? 2 : 3;    // words of a request
    localparam int unsigned GlobalW = CtxW + TokensLog2 + 15;
    localparam int unsigned MaddrW  = (GlobalW > AddrW + LogF) ? GlobalW : AddrW + LogF;  // bits of an address that may be set

    // Fields sit where the same bits of a word of targets come from, as far as they can: that saves multiplexers.
    typedef struct packed {
        logic       over;         // against the rules: an error
        logic [9:0] len_low;
        logic       is_static;
        logic       more;
        logic [4:0] len_high;
        logic [4:0] cnt;
        logic       st;
        logic       again;
        logic       bad;          // somebody has reported an error
        logic       slots;
        logic       is_explicit;
        logic       use_r;
    } low_t;

    typedef struct packed {
        logic [TgtW-1:0]   target;
        logic              over;
        logic [MaddrW-1:0] x;       // byte address; of a token or row of this GPU its number
    } high_t;

    localparam int unsigned LowW  = $bits(low_t);
    localparam int unsigned HighW = $bits(high_t);
    localparam bit          Plain = red_pkg::plain(RedTypes, RedOps);
    localparam int unsigned RedW  = $bits(red_pkg::red_t);
    localparam int unsigned RedAt = (HF == 1) ? LowW + HighW : LowW;   // type and operator stand above the rest of the first word
    localparam int unsigned RedEnd = RedAt + (Plain ? 0 : RedW);
    localparam int unsigned HighAt = (HF == 1) ? LowW : 0;
    localparam int unsigned HeadW = (RedEnd > HighW) ? RedEnd : HighW;
    localparam int unsigned WordW = (HeadW > PerFlit * TgtW) ? HeadW : PerFlit * TgtW;
    localparam int unsigned ReqWords = N * OpenRows * 2**BeatW;
    localparam int unsigned RamDepth = ReqWords + N * 32;
    localparam int unsigned RamAw    = $clog2(RamDepth);

    if (2**SlotW != OpenRows || SlotW + BeatW < 5 || ExpIdxW < 5 || MaxExperts > 4096 || CtxW + TokensLog2 > TokenW || TokensLog2 > 15 || MaddrW > 47) begin : gen_check
        $error("reduce_serve: OpenRows must be a power of two, at least 8 with FlitBytes 16, MaxExperts 32 to 4096, TokensLog2 at most 15 and TokenW less log2 of N");
    end

    function automatic logic [RamAw-1:0] req_addr(input logic [CtxW-1:0] c, input logic [SlotW-1:0] s, input logic [BeatW-1:0] b);
        return RamAw'({c, s, b});
    endfunction

    function automatic logic [RamAw-1:0] term_addr(input logic [CtxW-1:0] c, input logic slot, input logic [3:0] t);
        return {(RamAw-5)'(c) + (RamAw-5)'(ReqWords / 32), slot, t};
    endfunction

    // ---- arriving flits -----------------------------------------------------------
    logic             in_valid, in_last, in_first, in_static, in_drop, in_full, in_stray, push;
    logic [FW-1:0]    in_data;
    logic [BeatW-1:0] in_beat, rq_beat_q, own_beat_q;
    logic [CtxW-1:0]  in_ctx, rq_ctx_q, own_ctx, own_ctx_q;
    logic             rq_static_q, rq_drop_q;
    header_t          header;
    low_t             low;
    high_t            high;
    logic [WordW-1:0] in_word, in_targets;
    red_pkg::red_t    in_red;

    assign own_ready_o = !req_valid_i;
    assign in_valid    = req_valid_i || own_valid_i;
    assign in_data     = req_valid_i ? req_data_i : own_data_i;
    assign in_last     = req_valid_i ? req_last_i : own_last_i;
    assign in_beat     = req_valid_i ? rq_beat_q : own_beat_q;
    assign in_first    = in_beat == '0;
    assign own_ctx     = !in_first ? own_ctx_q : CtxW'(header.dst);
    assign in_ctx      = !req_valid_i ? own_ctx : in_first ? CtxW'(header.src) : rq_ctx_q;
    assign in_drop     = req_valid_i && (in_first ? in_stray || in_full : rq_drop_q);
    assign in_stray    = 6'(header.src) >= 6'(N) || header.src == cfg_i.port || header.len == '0;
    assign push        = in_valid && in_last && !in_drop;

    if (HF == 1) begin : gen_header1
        assign header    = in_data;
        assign in_static = req_valid_i ? header.opcode == OP_MULTIMEM_LD_REDUCE : own_static_i;
        assign in_word   = in_first ? WordW'({in_red, high, low}) : in_targets;
    end else begin : gen_header2
        assign header    = {in_data, in_data};
        assign in_static = !req_valid_i ? own_static_i : in_first ? header.opcode == OP_MULTIMEM_LD_REDUCE : rq_static_q;
        assign in_word   = in_first ? WordW'({in_red, low}) : (in_beat == BeatW'(1)) ? WordW'(high) : in_targets;
    end

    assign in_red   = Plain ? '0 : '{dtype: header.dtype, redop: header.redop};

    always_comb begin
        low.len_low     = header.len[9:0];
        low.len_high    = header.len[14:10];
        low.is_static   = in_static;
        low.cnt         = (req_valid_i && in_static) ? 5'd1 : header.cnt;
        low.more        = header.tag[1];
        low.use_r       = header.tag[2] && !req_valid_i;
        low.is_explicit = header.tag[3] && !req_valid_i;
        low.slots       = header.tag[4] && !req_valid_i;
        low.bad         = req_valid_i ? header.poison : header.tag[5];
        low.again       = header.tag[6] && !req_valid_i;
        low.st          = header.tag[7] && !req_valid_i;
        low.over        = req_valid_i && (header.len > cfg_i.row_bytes || header.len[LogF-1:0] != '0 || !red_pkg::has(RedTypes, RedOps, '{dtype: header.dtype, redop: header.redop})
                          || (!in_static && (header.cnt == '0 || header.cnt > 5'(TargetsMax))));
        high.x          = header.addr[MaddrW-1:0];
        high.over       = req_valid_i && (header.addr[47:MaddrW] != '0 || (in_static && ((high.x >> (AddrW + LogF)) != '0 || header.addr[LogF-1:0] != '0)));
        high.target     = {(header.target0 >> (4 + ExpIdxW)) != '0, header.target0[4 +: ExpIdxW]};
        in_targets = '0;
        for (int unsigned l = 0; l < PerFlit; l++) begin
            in_targets[TgtW*l +: TgtW] = {in_data[16*l+4+ExpIdxW +: 12-ExpIdxW] != '0, in_data[16*l+4 +: ExpIdxW]};
        end
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            rq_beat_q  <= '0;
            own_beat_q <= '0;
        end else begin
            if (req_valid_i)      rq_beat_q <= req_last_i ? '0 : rq_beat_q + 1'b1;
            else if (own_valid_i) own_beat_q <= own_last_i ? '0 : own_beat_q + 1'b1;
        end
        if (req_valid_i && in_first) begin
            rq_ctx_q    <= in_ctx;
            rq_drop_q   <= in_drop;
            rq_static_q <= in_static;
        end
        if (!req_valid_i && own_valid_i) own_ctx_q <= own_ctx;
    end

    // ---- queues of requests ---------------------------------------------------------
    logic [N-1:0]     some;            // contexts with a request
    logic [CtxW-1:0]  ctx_q;
    logic [SlotW-1:0] wptr, rptr, rptr_q;
    logic             pop;

    request_queues #(.N(N), .Slots(OpenRows)) i_queues (
        .clk_i, .rst_ni, .in_valid_i(in_valid), .in_ctx_i(in_ctx), .push_i(push), .full_o(in_full), .wptr_o(wptr),
        .out_ctx_i(ctx_q), .pop_i(pop), .rptr_o(rptr), .some_o(some)
    );

    // ---- set-up -------------------------------------------------------------------
    typedef enum logic [3:0] {Idle, Head0, Head1, Start, Begin, Fetch, Target, Lookup, Ask, Answer, Shift1, Shift2, Store, Done} state_e;
    state_e state_q, state_d;

    logic [N-1:0]   can_set, grant;
    logic [CtxW-1:0]  pick;
    logic [N-1:0][1:0] set_q, sum_q;   // rows set up, rows summed, modulo 4
    low_t             low_in, low_q;   // as read, and kept
    high_t            high_q;
    logic             own, here, plain, over, row_push, is_copy, last_term;   // here: a unit of this GPU made the row
    logic             sre, swe, dest_push, dest_room;
    logic [RamAw-1:0] saddr;
    logic [WordW-1:0] rdata;
    logic [4:0]       t_q, t_next;
    logic [3:0]       lane_t;
    logic [TgtW-1:0]  tgt_q;
    logic             mapped;
    logic [node_pkg::ExpertW-1:0] le, le_q;
    logic [3:0]       down_q;            // places that the address in high_q is still to be shifted down to the token
    logic             down;
    logic             in_dest_q;         // x_q is for the destination, not for a term
    logic             bad_q;
    err_e             err_q;             // why
    logic [AddrW-1:0] x_q, source, power, addend;
    logic [4:0]       amount;

    always_comb begin
        for (int unsigned c = 0; c < N; c++) begin
            row_pend_o[c] = set_q[c] != sum_q[c];
            can_set[c]    = some[c] && (set_q[c] ^ sum_q[c]) != 2'd2 && (dest_room || 5'(c) != cfg_i.port);
        end
    end

    rr_arb #(.N(N)) i_arb (
        .clk_i, .rst_ni, .clear_i(go_i), .req_i(can_set), .grant_o(grant), .idx_o(pick), .advance_i(state_q == Idle && can_set != '0)
    );

    assign low_in   = low_t'(rdata[LowW-1:0]);
    assign own      = 5'(ctx_q) == cfg_i.port;
    assign here     = own || low_q.st;
    assign plain    = !low_q.is_static && !low_q.is_explicit && !low_q.slots;  // experts of a token
    assign over     = low_q.over || high_q.over;
    assign lane_t   = t_q[3:0] - 4'(!here);   // the wire puts target 0 into the header
    assign t_next   = t_q + 1'b1;
    assign last_term = !in_dest_q && t_next == low_q.cnt;
    assign pop      = state_q == Done && !in_valid;
    assign is_copy  = low_q.st && low_q.cnt == 5'd1;
    assign row_push = pop && !is_copy;

    always_comb begin
        state_d   = state_q;
        sre       = 1'b0;
        saddr     = req_addr(ctx_q, rptr_q, BeatW'(HF) + BeatW'(lane_t >> LaneW));
        swe       = 1'b0;
        dest_push = 1'b0;
        unique case (state_q)
            Idle:  if (can_set != '0) state_d = Head0;
            Head0: begin
                saddr = req_addr(ctx_q, rptr, '0);
                sre   = !in_valid;
                if (!in_valid) state_d = Head1;
            end
            Head1: begin
                saddr   = req_addr(ctx_q, rptr_q, BeatW'(1));
                sre     = HF != 1;
                state_d = (HF == 1 && low_in.is_static) ? Begin : Start;
            end
            Start:  state_d = Begin;
            Begin:  state_d = low_q.st ? (low_q.cnt == '0 ? Shift1 : Fetch) : own ? Shift2 : (over || low_q.bad) ? Done : low_q.is_static ? Store : Fetch;
            Fetch: begin
                sre     = 1'b1;
                state_d = Target;
            end
            Target: state_d = Lookup;
            Lookup: state_d = !plain ? Shift1 : mapped ? Ask : Done;
            Ask:    if (down_q == '0 && bad_q)            state_d = Done;
                    else if (al_req_valid_o && al_req_ready_i) state_d = Answer;
            Answer: if (al_resp_valid_i) state_d = al_resp_err_i ? Done : Shift2;
            Shift1: state_d = Shift2;
            Shift2: state_d = Store;
            Store: begin
                swe       = !in_dest_q || low_q.again;
                dest_push = in_dest_q && !low_q.st && !in_valid;
                // The destination comes last where it goes with the row (st), else first.
                if (!in_valid) begin
                    if (low_q.st) state_d = in_dest_q ? Done : last_term ? Shift1 : Fetch;
                    else          state_d = (bad_q || last_term || (in_dest_q && low_q.cnt == '0)) ? Done : low_q.is_static ? Store : Fetch;
                end
            end
            default: if (pop) state_d = Idle;
        endcase
    end

    // An address is {{number << amount | number} << amount} + base. The shifts are a multiplier by powers of two, which costs no LUTs.
    always_comb begin
        if (state_q == Shift2)              amount = low_q.is_static ? '0 : 5'(cfg_i.row_shift) - 5'(LogF);
        else if (in_dest_q || low_q.slots)  amount = 5'(cfg_i.n_shift);
        else if (low_q.is_explicit)         amount = 5'(cfg_i.k_shift);
        else                                amount = cfg_i.cap_shift;
        power = AddrW'(1) << amount;
        if (state_q == Answer)                         addend = AddrW'(al_resp_row_i);
        else if (state_q == Shift1)                    addend = in_dest_q ? AddrW'(cfg_i.port) : AddrW'(tgt_q);
        else if (in_dest_q ? low_q.st : low_q.slots)   addend = AddrW'(cfg_i.cb_base >> LogF);
        else if (!in_dest_q)                           addend = AddrW'(cfg_i.yd_base >> LogF);
        else                                           addend = low_q.is_static ? static_delta_i : AddrW'(cfg_i.out_base >> LogF);
    end

    // Number that the address is made of: in Lookup of a term, else of the destination.
    assign source  = low_q.is_static ? AddrW'(high_q.x >> LogF) : (state_q == Lookup && !plain) ? AddrW'(high_q.x)
                   : (state_q == Lookup) ? AddrW'(le) : AddrW'({low_q.len_high, low_q.len_low});
    assign down    = down_q != '0 && state_q inside {Fetch, Target, Lookup, Ask};

    always_ff @(posedge clk_i) begin
        if (!rst_ni) state_q <= Idle;
        else         state_q <= state_d;
        unique case (state_q)
            Idle:  ctx_q <= pick;
            Head0: rptr_q <= rptr;
            Head1: begin
                low_q <= low_in;
                if (HF == 1) high_q <= high_t'(rdata[HighAt +: HighW]);
            end
            Start: if (HF != 1) high_q <= high_t'(rdata[HighW-1:0]);
            Begin: begin
                bad_q     <= over || low_q.bad;
                err_q     <= ERR_BOUNDS;
                in_dest_q <= low_q.st ? low_q.cnt == '0 : own;
                t_q       <= (own && !low_q.st) ? low_q.cnt : '0;
            end
            Target: tgt_q <= (!here && t_q == '0) ? high_q.target : rdata[TgtW * 32'(lane_t[LaneW-1:0]) +: TgtW];
            Lookup: begin
                le_q <= le;
                if (plain && !mapped) begin
                    bad_q <= 1'b1;
                    err_q <= ERR_UNMAPPED;
                end
            end
            Answer: if (al_resp_valid_i) begin
                if (al_resp_err_i) begin
                    bad_q <= 1'b1;
                    err_q <= ERR_UNALLOCATED;
                end
            end
            Store: begin
                if (!in_valid) begin
                    in_dest_q <= low_q.st && last_term;
                    t_q       <= in_dest_q ? '0 : t_next;
                end
            end
            default: ;
        endcase
        if ((state_q == Answer && al_resp_valid_i) || state_q inside {Shift1, Shift2}) x_q <= AddrW'(x_q * power) + addend;
        else if (state_q inside {Begin, Lookup} || (state_q == Store && !in_valid && ((low_q.st && last_term) || low_q.is_static))) x_q <= source;
        // Beside the search for its first term; what falls out must be 0.
        if (state_q == Begin)  down_q <= (here || low_q.is_static) ? '0 : cfg_i.row_shift;
        else if (down)         down_q <= down_q - 1'b1;
        if (down) begin
            high_q.x <= high_q.x >> 1;
            if (high_q.x[0]) bad_q <= 1'b1;
        end
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

    assign al_req_valid_o = state_q == Ask && down_q == '0 && !bad_q;
    assign al_req_le_o    = le_q;
    assign al_req_token_o = TokenW'(high_q.x);
    assign al_req_alloc_o = 1'b0;

    // ---- the RAM ------------------------------------------------------------------
    ram_sdp #(
        .Width(WordW),
        .Depth(RamDepth)
    ) i_ram (
        .clk_i,
        .we_i    (in_valid ? !in_drop : swe),
        .waddr_i (in_valid ? req_addr(in_ctx, wptr, in_beat) : term_addr(ctx_q, set_q[ctx_q][0], t_q[3:0])),
        .wdata_i (in_valid ? in_word : WordW'(x_q)),
        .wbe_i   ('1),
        .re_i    (sre || term_re_i),
        .raddr_i (sre ? saddr : term_addr(row_ctx_i, sum_q[row_ctx_i][0], term_idx_i)),
        .rdata_o (rdata)
    );

    assign term_addr_o = rdata[AddrW-1:0];

    always_ff @(posedge clk_i) term_valid_o <= !sre && term_re_i;

    if (Plain) begin : gen_plain
        assign row_red_o = '0;
    end else begin : gen_red
        red_pkg::red_t red_q;

        always_ff @(posedge clk_i) if (state_q == Head1) red_q <= rdata[RedAt +: RedW];
        lutram #(.Width(RedW), .Depth(2**(CtxW+1))) i_red (
            .clk_i, .we_i(row_push), .waddr_i({ctx_q, set_q[ctx_q][0]}), .wdata_i(red_q), .raddr_i({row_ctx_i, sum_q[row_ctx_i][0]}), .rdata_o(row_red_o)
        );
    end

    // ---- rows set up, for row_sum -------------------------------------------------
    logic [4:0]       steps;   // less 1
    logic [14:0]      length;
    logic [14-LogF:0] flits;     // less 1
    logic             alone, extra;
    logic [1:0]       own_r_q, own_again_q;

    assign alone  = bad_q || low_q.cnt == '0;   // no other term
    assign extra  = low_q.use_r || (low_q.again && !bad_q);
    assign steps  = alone ? '0 : low_q.cnt - 5'(!extra);
    assign length = (!here || low_q.is_static) ? {low_q.len_high, low_q.len_low} : cfg_i.row_bytes;
    assign flits  = (15-LogF)'((length - 15'd1) >> LogF);

    lutram #(
        .Width(9 + AddrW + PktW + IdxW),
        .Depth(2**(CtxW+1))
    ) i_rows (
        .clk_i,
        .we_i    (row_push),
        .waddr_i ({ctx_q, set_q[ctx_q][0]}),
        .wdata_i ({steps, low_q.use_r, low_q.st, alone && !extra, bad_q, x_q, flits}),
        .raddr_i ({row_ctx_i, sum_q[row_ctx_i][0]}),
        .rdata_o ({row_last_o, row_use_r_o, row_st_o, row_zero_o, row_poison_o, row_dest_o, row_last_pkt_o, row_last_len_o})
    );

    assign row_own_r_o     = own_r_q[sum_q[CtxW'(cfg_i.port)][0]];
    assign row_own_again_o = own_again_q[sum_q[CtxW'(cfg_i.port)][0]];

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            set_q <= '0;
            sum_q <= '0;
        end else begin
            if (row_push)  set_q[ctx_q] <= set_q[ctx_q] + 1'b1;
            if (row_pop_i) sum_q[row_ctx_i] <= sum_q[row_ctx_i] + 1'b1;
        end
        if (row_push && own) begin
            own_r_q[set_q[ctx_q][0]]     <= low_q.use_r;
            own_again_q[set_q[ctx_q][0]] <= low_q.again && !bad_q;
        end
    end

    promise_fifo #(
        .Width(AddrW + 1)
    ) i_dest (
        .clk_i, .rst_ni,
        .promise_i (dest_push), .room_o(dest_room), .push_i(dest_push), .data_i({low_q.more, x_q}),
        .valid_o   (dest_valid_o), .ready_i(dest_ready_i), .data_o({dest_more_o, dest_addr_o})
    );

    // ---- copies: rows of one term that go elsewhere; row_build has one on its way -------------------
    logic             copy_q;
    logic [AddrW-1:0] from_q, to_q;
    logic [CtxW-1:0]  copy_dst_q;

    assign copy_valid_o = copy_q && !copy_busy_o;

    always_comb begin
        copy_o     = '0;
        copy_o.op  = isa_pkg::I_ST_LINEAR;
        copy_o.imm = 16'(copy_dst_q);
        copy_o.a   = 32'(from_q) << LogF;
        copy_o.b   = 32'(cfg_i.row_bytes);
        copy_o.c   = 32'(to_q) << LogF;
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            copy_q      <= 1'b0;
            copy_busy_o <= 1'b0;
        end else begin
            if (pop && is_copy)                    copy_q <= 1'b1;
            else if (copy_valid_o && copy_ready_i) copy_q <= 1'b0;
            if (copy_valid_o && copy_ready_i) copy_busy_o <= 1'b1;
            else if (copy_retire_i)           copy_busy_o <= 1'b0;
        end
        if (is_copy && state_q == Store && !in_dest_q) from_q <= x_q;
        if (is_copy && pop) begin
            to_q       <= x_q;
            copy_dst_q <= ctx_q;
        end
    end

    // ---- errors -------------------------------------------------------------------
    // One that comes together with that of an arriving request waits.
    logic set_err, set_err_q, rq_err;
    assign set_err = row_push && bad_q && !low_q.bad;
    assign rq_err  = req_valid_i && in_first && in_drop;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            err_valid_o <= 1'b0;
            set_err_q   <= 1'b0;
        end else begin
            err_valid_o <= rq_err || set_err || set_err_q;
            set_err_q   <= rq_err && (set_err || set_err_q);
        end
        err_code_o <= !rq_err ? err_q : in_stray ? ERR_LENGTH : ERR_WINDOW;
    end

    assign idle_o = state_q == Idle && some == '0 && row_pend_o == '0 && !in_valid;

    logic unused;
    assign unused = ^{grant, al_resp_new_i, al_resp_row_i, cfg_i, header, rq_static_q, in_data};
endmodule

`default_nettype wire
