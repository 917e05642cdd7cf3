// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Unit control: count, prefix, signal, flag, fence, order and sync, and the small packets that the
// hub sends to other GPUs.
//
// Function:
// - count: entry_counts counts the entries of the routing table for each {GPU, local expert} (or
//   tokens for each GPU). Then a COUNTS packet goes to each GPU p, p + 1, ... modulo N, its own by
//   the local stream. There are several packets if one has fewer words than there are experts, or
//   GPUs.
// - signal, flag, fence: a packet to each GPU p + 1, ... (fence: p first, by the local stream; flag
//   with flags.0: only p). fence retires when N GPUs have answered.
// - Other GPUs' copy counts (cnt_* of kind 1) go to copy_bases. prefix stores the own base. It must
//   follow the arrival of all counts.
// - With TokenOrder, order puts own tokens into an order for send (see token_order). It reads the
//   routing table once more.
// - With SourceLists, flag with flags.2 reports to every GPU, p first, the number of rows of send
//   in each of its lists. After each tile of rows that has returned (tile_i) its home is notified,
//   between instructions.
// - sync: own rows below its end are in memory, for unit load (offered_o). The greatest end since
//   go counts. With flags.0 it reports a tile of pushes (see push_sync).
// - ctrl_packets sends ACKs, signals of the expert engine, and events.
// Order: COUNTS, FLAG and FENCE are in the store class, after everything that tx took before.
// Back-pressure: ready, which does not depend on the port's own valid.
// Errors: A wrong instruction sends nothing and retires: INSTR for one of another unit, otherwise
// BOUNDS:
// - an event counter that packets do not count,
// - tokens of 2^token_shift or more,
// - a count of rows of fewer or more tokens than the layer has,
// - sync of rows that are not loaded; with flags.0 of no row, or of rows that are loaded.
// sync with flags.0 is UNMAPPED for a GPU that does not exist, and WINDOW while OpenSyncs tiles are
// reported and not granted.
// An impossible copy count (BOUNDS) is not added.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module control #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type read_t = `MW_READ(Cfg),
    parameter type answer_t = `MW_ANSWER(Cfg),
    parameter type share_t = `MW_SHARE(Cfg),
    parameter type range_t = `MW_RANGE(Cfg),
    parameter type pick_t = `MW_PICK(Cfg),
    parameter type stream_t = `MW_STREAM(Cfg),
    parameter type places_t = `MW_PLACES(Cfg),
    parameter type index_t = `MW_INDEX(Cfg),
    parameter type home_row_t = `MW_HOME_ROW(Cfg)
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire logic                go_i,
    input  wire node_pkg::node_cfg_t cfg_i,

    input  wire logic            cmd_valid_i,
    output logic                 cmd_ready_o,
    input  wire isa_pkg::instr_t cmd_i,
    output logic                 retire_o,

    input  wire bundle_pkg::emap_write_t emap_i,

    output read_t        rd_o,
    input  wire logic    rd_ready_i,
    input  wire answer_t rd_i,

    // with source_lists: how many rows send has for a list; a tile has returned
    output logic [Cfg.GpuW-1:0]                 notified_gpu_o,
    output logic [node_pkg::ExpertW-1:0]        notified_local_o,
    input  wire logic [packet_pkg::RowBits-1:0] notified_rows_i,
    input  wire bundle_pkg::tile_back_t         tile_i,
    output logic                                tile_ready_o,

    input  wire bundle_pkg::token_t sig_i,  // a row of this token is finished here
    output logic                    sig_ready_o,
    output bundle_pkg::token_t      own_o,  // it is an own token
    input  wire logic               own_ready_i,

    input  wire index_t tok_i,  // all own experts of this token have finished
    output logic        tok_ready_o,

    input  wire bundle_pkg::port_t ack_i,      // rx_store: answer this GPU's fence
    output logic                   ack_ready_o,
    input  wire logic              ack_rx_i,   // rx: an own fence was answered
    input  wire packet_pkg::port_t ack_src_i,  // by this GPU

    input  wire bundle_pkg::count_t cnt_i,          // of each GPU once, see count_once
    input  wire logic               copies_here_i,  // the copy counts of all

    input  wire logic [Cfg.GpuW-1:0]  base_q_i,  // send: the next row at this GPU
    output logic [node_pkg::RowW-1:0] base_row_o,
    input  wire logic                 base_take_i,
    output logic [node_pkg::RowW-1:0] recv_rows_o,
    input  wire logic [Cfg.GpuW-1:0]  src_i [2],
    output logic [node_pkg::RowW-1:0] src_rows_o [2],
    output logic [node_pkg::RowW-1:0] own_base_o,

    output share_t      share_o,  // for the dispatch throttle
    input  wire range_t begin_i,  // send: takes tokens in the order made
    output pick_t       pick_o,
    input  wire logic   pick_take_i,

    // unit load: own rows with indices below it are in memory; a tile that it reports
    output logic [Cfg.TokensLog2:0] offered_o,
    input  wire home_row_t          report_i,
    output logic                    report_ready_o,

    input  wire logic push_granted_i,  // a tile of pushes: count the event
    output logic      push_sync_o,

    output bundle_pkg::ctl_t   ctl_o,
    input  wire logic          ctl_ready_i,
    output stream_t            cst_o,  // flits of the store class, for the uplink
    input  wire logic          cst_ready_i,
    output stream_t            clo_o,  // or for this GPU
    input  wire logic          clo_ready_i,
    output bundle_pkg::error_t err_o,
    output logic               idle_o
);
    import isa_pkg::*;
    import packet_pkg::*;
    localparam int unsigned CountW = Cfg.TokensLog2 + 1;
    localparam int unsigned WW = $clog2(Cfg.Words);

    localparam int unsigned PacketWords = PayloadMaxBytes / 4;

    if (Cfg.MaxLocalExperts > 2 * PacketWords || Cfg.CopyPkts > 4) begin : gen_check
        $error("control: counts fill two packets at most, those of copies four");
    end

    // ---- instruction ----------------------------------------------------------------------------
    typedef enum logic [3:0] {
        Clear,
        Idle,
        Count,
        Prefix,
        Tell,
        Head,
        Words,
        Drain,
        Ready,
        Sort,
        Report
    } state_e;
    state_e state_q;
    logic anew;  // a layer begins that counts itself
    logic accept, copies_q, to_last, to_next, start_walk, sort_walk, sort_ready, fenced;
    logic event_ready, known, no_tokens, refused, part, bad_count, notified, drained, head_end;
    logic known_event;
    logic not_offered;  // a sync of rows that are not loaded
    logic report_in;  // a sync that reports a tile of pushes
    logic push_full, push_bad, push_reported, push_start;
    error_pkg::err_e push_code;
    iop_e op_q;
    logic tell_q;  // the rows of st are reported
    logic list_in, list_refused, list, tile, tile_go, alone;  // see gen_lists
    logic list_last;  // it is the GPU's last one
    flag_e flag_kind;
    logic [47:0] flag_rows;
    logic [4:0] imm_q;
    logic [Cfg.GpuW-1:0] port, to_q;
    logic [Cfg.TokensLog2:0] end_q, range_end, sort_end;

    assign anew = go_i && !(Cfg.CachedHandle && cfg_i.cached);
    assign port = cfg_i.port[Cfg.GpuW-1:0];
    assign cmd_ready_o = state_q == Idle && !tile_go;
    assign accept = cmd_valid_i && cmd_ready_o;
    assign known = cmd_i.op inside {I_COUNT, I_PREFIX, I_SIGNAL, I_FLAG, I_FENCE}
                   || (Cfg.TokenOrder && cmd_i.op == I_ORDER)
                   || (Cfg.MergeLoads && cmd_i.op == I_SYNC);
    // Receivers take the rows of a source once, so a count is that of all its tokens.
    assign part = !cmd_i.flags[0] && (cmd_i.a[Cfg.TokensLog2:0] != '0
                                      || range_end != (Cfg.TokensLog2+1)'(cfg_i.tokens));
    assign known_event = cfg_pkg::counted(Cfg.Events, 48'(cmd_i.imm));
    assign refused = !known || (cmd_i.op inside {I_COUNT, I_ORDER} && no_tokens)
                     || (cmd_i.op == I_COUNT && part)
                     || list_refused || not_offered || push_code != error_pkg::ERR_NONE
                     || (cmd_i.op inside {I_SIGNAL, I_FLAG} && !list_in
                         && !known_event)
                     || (!Cfg.RowRanges && cmd_i.op == I_FLAG && cmd_i.flags[1]);
    if (Cfg.SourceLists) begin : gen_lists
        logic list_q, tile_q;
        logic [7:0] rows_q;
        logic [3:0] rest_q;  // cycles without a tile: an instruction is
                             // fetched in as many
        logic [node_pkg::ExpertW-1:0] le_q;

        // A FLAG of each list goes to its GPU, to this one first; one of a tile to its home,
        // between instructions, which have a turn behind each.
        assign list_in = cmd_i.op == I_FLAG && cmd_i.flags[2];
        assign list_refused = list_in && (!cfg_i.source_lists || cfg_i.local_experts == '0);
        assign tile_go = tile_i.valid && state_q == Idle && rest_q == '0;
        assign {list, tile} = {list_q, tile_q};
        assign flag_kind = tile_q ? FLAG_TILE : list_q ? FLAG_LIST : FLAG_EVENT;
        assign flag_rows = tile_q ? 48'(rows_q) : 48'({16'(notified_rows_i), 7'(le_q)});
        assign notified_local_o = le_q;
        assign list_last = !list_q || 7'(le_q) + 7'd1 == cfg_i.local_experts;
        always_ff @(posedge clk_i) begin
            if (accept || tile_go) {list_q, tile_q} <= {list_in && !tile_go, tile_go};
            if (tile_go) rows_q <= tile_i.rows;
            if (!rst_ni) rest_q <= '0;
            else if (tile_go) rest_q <= '1;
            else if (state_q == Idle && rest_q != '0) rest_q <= rest_q - 1'b1;
            if (accept) le_q <= '0;
            else if (list_q && head_end) le_q <= list_last ? '0 : le_q + 1'b1;
        end
    end else begin : gen_no_lists
        assign {list_in, list_refused, tile_go, list, tile, flag_rows, notified_local_o} = '0;
        assign list_last = 1'b1;
        assign flag_kind = FLAG_EVENT;
    end
    assign tile_ready_o = tile_go;
    assign notified_gpu_o = to_q;
    assign start_walk = (accept && cmd_i.op == I_COUNT && !refused) || sort_walk;
    assign to_last = ((to_q == Cfg.GpuW'(Cfg.N - 1)) ? '0 : to_q + 1'b1) == port
                     || (op_q == I_FLAG && alone);
    assign alone = tile || (copies_q && !list);

    cmd_range #(
        .Cfg(Cfg)
    ) i_range (
        .first_i({cmd_i.a_high, cmd_i.a}),
        .count_i(cmd_i.b),
        .shift_i({1'b0, cfg_i.token_shift}),
        .end_o(range_end),
        .no_tokens_o(no_tokens),
        .no_bytes_o()
    );

    always_ff @(posedge clk_i) begin
        if (!rst_ni) end_q <= '0;
        // until then the walk is done
        else if (start_walk) end_q <= sort_walk ? sort_end : range_end;
        if (accept) begin
            op_q <= cmd_i.op;
            imm_q <= 5'(cmd_i.imm[Cfg.EventW-1:0]);
            tell_q <= Cfg.RowRanges && cmd_i.flags[1];
            copies_q <= cmd_i.flags[0];
        end else if (tile_go) begin
            op_q <= I_FLAG;
        end
        if (accept)
            to_q <= (cmd_i.op inside {I_COUNT, I_FENCE} || (cmd_i.op == I_FLAG && cmd_i.flags[0])
                     || list_in) ? port : (port == Cfg.GpuW'(Cfg.N - 1)) ? '0 : port + 1'b1;
        else if (tile_go) to_q <= tile_i.home[Cfg.GpuW-1:0];
        else if (to_next) to_q <= (to_q == Cfg.GpuW'(Cfg.N - 1)) ? '0 : to_q + 1'b1;
    end

    // ---- own rows that other GPUs may load ------------------------------------------------------
    if (Cfg.MergeLoads) begin : gen_offers
        assign not_offered = cmd_i.op == I_SYNC && !report_in
                             && (no_tokens || (cmd_i.b != '0
                                               && cmd_i.a < 32'(cfg_i.load_first)));
        always_ff @(posedge clk_i) begin
            if (!rst_ni || go_i) offered_o <= '0;
            else if (accept && cmd_i.op == I_SYNC && !report_in && !not_offered
                     && range_end > offered_o)
                offered_o <= range_end;
        end
    end else begin : gen_no_offers
        assign {not_offered, offered_o} = '0;
    end

    // ---- tiles of pushes ------------------------------------------------------------------------
    // Own reports go before those of unit load, which wait.
    logic tile_taken;
    home_row_t push_report;

    if (Cfg.SumEntries != 0) begin : gen_pushes
        assign report_in = cmd_i.op == I_SYNC && cmd_i.flags[0];
        always_comb begin
            push_code = error_pkg::ERR_NONE;
            if (report_in) begin
                if (32'(cmd_i.imm) >= Cfg.N) push_code = error_pkg::ERR_UNMAPPED;
                else if (no_tokens || cmd_i.b == '0
                         || (cfg_i.merge_loads && 32'(range_end) > 32'(cfg_i.load_first)))
                    push_code = error_pkg::ERR_BOUNDS;
                else if (push_full) push_code = error_pkg::ERR_WINDOW;
            end
        end
        assign push_start = accept && report_in && !refused;
        assign push_reported = tile_taken && push_report.valid;

        push_sync #(
            .Cfg(Cfg)
        ) i_pushes (
            .clk_i,
            .rst_ni,
            .go_i,
            .start_i(push_start),
            .home_i(cmd_i.imm[Cfg.GpuW-1:0]),
            .index_i(cmd_i.a[Cfg.TokensLog2-1:0]),
            .full_o(push_full),
            .valid_o(push_report.valid),
            .ready_i(tile_taken),
            .home_o(push_report.home),
            .index_o(push_report.index),
            .granted_i(push_granted_i),
            .sync_o(push_sync_o),
            .bad_o(push_bad)
        );
    end else begin : gen_no_pushes
        assign {report_in, push_full, push_bad, push_reported, push_start} = '0;
        assign {push_report, push_sync_o} = '0;
        assign push_code = error_pkg::ERR_NONE;
    end
    assign report_ready_o = tile_taken && !push_report.valid;

    // ---- counting -------------------------------------------------------------------------------
    // Counters are read, and cleared when their word leaves for the last time.
    logic walk_done, clearing, word_take;
    places_t tok;
    logic [15:0] charge;
    logic [Cfg.TokensLog2:0] walk_first;
    logic [Cfg.GpuW-1:0] count_gpu;
    logic [Cfg.LocalW-1:0] count_local;
    logic [CountW-1:0] count;
    localparam int unsigned WordW = (Cfg.N > 64) ? 7 : 6;
    logic [WordW-1:0] word_q;  // of all packets
    logic split, split_copies, word_end, word_last;  // of the GPU's counts, of a packet

    assign split = Cfg.MaxLocalExperts > PacketWords && !copies_q
                   && cfg_i.local_experts > 7'(PacketWords);
    assign split_copies = Cfg.CopyPkts > 1 && copies_q;
    assign word_end = word_q == (copies_q ? WordW'(Cfg.N - 1)
                                 : WordW'(6'(cfg_i.local_experts - 7'd1)));
    assign word_last = word_end || (split && word_q == WordW'(PacketWords - 1))
                       || (split_copies && 5'(word_q) == 5'(PacketWords - 1));
    assign count_gpu = copies_q ? word_q[Cfg.GpuW-1:0] : to_q;
    assign count_local = copies_q ? Cfg.LocalW'(0) : word_q[Cfg.LocalW-1:0];

    entry_counts #(
        .Cfg(Cfg)
    ) i_counts (
        .clk_i,
        .rst_ni,
        .cfg_i,
        .emap_i,
        .start_i(start_walk),
        .first_i(walk_first),
        .end_i(end_q),
        .copies_i(copies_q),
        .counting_i(state_q == Count),
        .charge_i(charge),
        .done_o(walk_done),
        .tok_o(tok),
        .rd_o,
        .rd_ready_i,
        .rd_i,
        .gpu_i(count_gpu),
        .local_i(count_local),
        .wipe_i(word_take && (!copies_q || to_last)),
        .count_o(count),
        .clearing_o(clearing)
    );

    counts_e kind;

    always_comb begin
        if (copies_q) kind = COUNTS_COPIES;
        else if (!split) kind = COUNTS_ROWS;
        else if (word_q == '0) kind = COUNTS_ROWS_LOW;
        else kind = COUNTS_ROWS_HIGH;
    end

    // ---- packets of the store class -------------------------------------------------------------
    logic [node_pkg::RowW-1:0] notified_row;  // of GPU to_q
    logic out_valid_q, out_free, out_last_q, out_own_q, head_half_q, no_words;
    logic [Cfg.FlitW-1:0] out_data_q;

    assign out_free = !out_valid_q || (out_own_q ? clo_ready_i : cst_ready_i);
    assign head_end = state_q == Head && out_free && (Cfg.HeadFlits == 1 || head_half_q);
    assign no_words = op_q != I_COUNT || (!copies_q && cfg_i.local_experts == '0);
    assign word_take = state_q == Words && out_free;
    assign to_next = (head_end && no_words && list_last) || (word_take && word_end)
                     || (state_q == Tell && event_ready);

    // Words of copies that its packets have from this one on
    logic [WordW:0] copies_left;
    assign copies_left = (Cfg.CopyPkts > 1) ? (WordW+1)'(Cfg.N) - (WordW+1)'(word_q)
                         : (WordW+1)'(Cfg.N);

    // Of the packet under way; called where it leaves, so that simulation makes it only then.
    function automatic header_t head();
        header_t h;
        h = '0;
        h.opcode = (op_q == I_COUNT) ? OP_COUNTS : (op_q == I_FLAG) ? OP_FLAG : OP_FENCE;
        h.cls = CLS_STORE;
        {h.src_far, h.src} = cfg_i.port;
        {h.dst_far, h.dst} = port_t'(to_q);
        h.len = (op_q != I_COUNT) ? '0
                : copies_q ? 15'((32'(copies_left) > PacketWords) ? PayloadMaxBytes
                                 : 4 * 32'(copies_left))
                : (split && word_q == '0) ? 15'(PayloadMaxBytes)
                : 15'({cfg_i.local_experts - 7'(word_q), 2'b00});
        h.epoch = cfg_i.epoch;
        h.stage = (op_q == I_FLAG) ? stage_e'(flag_kind)
                  : stage_e'((op_q != I_COUNT) ? COUNTS_ROWS : kind);
        h.addr = (list || tile) ? flag_rows : (op_q != I_FLAG) ? '0
                 : 48'({tell_q ? (Cfg.TokW+1)'(notified_row + 1'b1) : (Cfg.TokW+1)'(0), imm_q});
        if (split_copies && op_q == I_COUNT) h.addr = 48'(word_q) << 2;
        return h;
    endfunction

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            out_valid_q <= 1'b0;
            head_half_q <= 1'b0;
            word_q <= '0;
        end else begin
            if (out_free)
                out_valid_q <= state_q == Head
                               || (word_take && (word_q[WW-1:0] == '1 || word_last));
            if (state_q == Head && out_free) head_half_q <= !head_end;
            if (word_take) word_q <= word_end ? '0 : word_q + 1'b1;
        end
        if (out_free) begin
            out_last_q <= state_q == Head ? no_words && head_end : word_last;
            out_own_q <= to_q == port;
            if (state_q == Head) begin
                out_data_q <= Cfg.FlitW'(head()
                                         >> ((Cfg.HeadFlits == 2 && head_half_q) ? Cfg.FlitW : 0));
            end else begin
                for (int unsigned w = 0; w < Cfg.Words; w++) begin
                    if (word_q[WW-1:0] == WW'(w)) out_data_q[32*w+:32] <= 32'(count);
                end
            end
        end
    end
    assign cst_o = '{valid: out_valid_q && !out_own_q, last: out_last_q, data: out_data_q};
    assign clo_o = '{valid: out_valid_q && out_own_q, last: out_last_q, data: out_data_q};

    // ---- sequence -------------------------------------------------------------------------------
    assign drained = state_q == Drain && !out_valid_q && (op_q != I_SIGNAL || !ctl_o.valid)
                     && fenced;
    assign retire_o = (drained && !tile) || state_q == Prefix;
    assign idle_o = state_q == Idle && !ctl_o.valid && !sig_i.valid && !ack_i.valid && notified
                    && !tile_i.valid;

    assign err_o.valid = (accept && refused) || bad_count || push_bad;
    always_comb begin
        err_o.code = (bad_count || !push_bad) ? error_pkg::ERR_BOUNDS : error_pkg::ERR_COUNT;
        if (accept && !known) err_o.code = error_pkg::ERR_INSTR;
        else if (accept && refused)
            err_o.code = (push_code != error_pkg::ERR_NONE) ? push_code : error_pkg::ERR_BOUNDS;
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            state_q <= Clear;
        end else begin
            unique case (state_q)
                Clear:   if (!clearing) state_q <= Idle;
                Idle:    if (tile_go) state_q <= Head;
                         else if (accept) begin
                             if (refused) state_q <= Drain;
                             else unique case (cmd_i.op)
                                 I_COUNT:  state_q <= Count;
                                 I_PREFIX: state_q <= Prefix;
                                 I_SIGNAL: state_q <= Tell;
                                 I_FLAG, I_FENCE: state_q <= Head;
                                 I_ORDER:  state_q <= Ready;
                                 I_SYNC:   state_q <= report_in ? Report : Drain;
                                 default:  state_q <= Drain;
                             endcase
                         end
                Count:   if (walk_done) state_q <= Head;  // the last entry is added in this cycle
                Ready:   if (sort_ready) state_q <= Sort;
                Sort:    if (walk_done) state_q <= Drain;
                Prefix:  state_q <= Idle;
                Report:  if (push_reported) state_q <= Drain;
                Tell:    if (to_next && to_last) state_q <= Drain;
                Head:    if (head_end)
                    state_q <= !no_words ? Words : (to_last && list_last) ? Drain : Head;
                Words:   if (word_take && word_last)
                    state_q <= (word_end && to_last) ? Drain : Head;
                Drain:   if (drained) state_q <= Idle;
                default: state_q <= Idle;
            endcase
        end
    end

    // ---- fence ----------------------------------------------------------------------------------
    // A GPU answers for itself alone, however often. Its answer to itself needs no packet. It waits
    // for an answer from outside.
    logic [Cfg.N-1:0] acked_q;
    logic ack_own, own_ack, far_ack_ready;
    assign ack_own = ack_i.port == cfg_i.port;
    assign own_ack = ack_i.valid && ack_own;
    assign ack_ready_o = ack_own ? !ack_rx_i : far_ack_ready;
    assign fenced = op_q != I_FENCE || acked_q == '1;

    always_ff @(posedge clk_i) begin
        for (int unsigned g = 0; g < Cfg.N; g++) begin
            if (accept) acked_q[g] <= 1'b0;
            else if ((ack_rx_i && ack_src_i == port_t'(g))
                     || (own_ack && !ack_rx_i && cfg_i.port == port_t'(g)))
                acked_q[g] <= 1'b1;
        end
    end

    // ---- order of own tokens, dispatch throttle -------------------------------------------------
    if (Cfg.TokenOrder) begin : gen_order
        localparam int unsigned Hot = (Cfg.N > 5) ? 5 : Cfg.N - 1;
        logic [Cfg.GpuW-1:0] hot[Hot];
        logic [Cfg.TokensLog2:0] first_q, stop_q;
        logic [15:0] charge_q;
        logic order, finding, sorting, counting, lists_ready;

        assign order = accept && cmd_i.op == I_ORDER && !refused;
        assign sorting = state_q == Sort;
        assign counting = state_q == Count && copies_q;
        assign sort_ready = !finding && lists_ready;
        assign sort_walk = state_q == Ready && sort_ready;
        assign charge = sorting ? charge_q : '0;
        assign walk_first = sort_walk ? first_q : cmd_i.a[Cfg.TokensLog2:0];
        assign sort_end = stop_q;

        always_ff @(posedge clk_i) begin
            if (order) begin
                first_q <= cmd_i.a[Cfg.TokensLog2:0];
                stop_q <= range_end;
                charge_q <= cmd_i.imm;
            end
        end

        copy_loads #(
            .Cfg(Cfg),
            .Hot(Hot)
        ) i_loads (
            .clk_i,
            .rst_ni,
            .go_i(anew),
            .port_i(cfg_i.port),
            .cnt_i,
            .cnt_bad_i(bad_count),
            .here_i(copies_here_i),
            .tok_i('{valid: tok.valid && counting, gpus: tok.gpus}),
            .find_i(order),
            .busy_o(finding),
            .hot_o(hot),
            .share_o
        );

        token_order #(
            .Cfg(Cfg),
            .Hot(Hot)
        ) i_order (
            .clk_i,
            .rst_ni,
            .go_i,
            .hot_i(hot),
            .sort_i('{valid: order, first: cmd_i.a[Cfg.TokensLog2:0], stop: range_end}),
            .ready_o(lists_ready),
            .tok_i(tok),
            .sorted_i(sorting && walk_done),
            .begin_i,
            .pick_o,
            .take_i(pick_take_i)
        );
    end else begin : gen_no_order
        assign {sort_ready, sort_walk, sort_end, charge, share_o, pick_o} = '0;
        assign walk_first = cmd_i.a[Cfg.TokensLog2:0];
    end

    // ---- other GPUs' copies, and reports to other GPUs ------------------------------------------
    copy_bases #(
        .Cfg(Cfg)
    ) i_bases (
        .clk_i,
        .rst_ni,
        .go_i(anew),
        .again_i(go_i && !anew),
        .port_i(cfg_i.port),
        .cnt_valid_i(cnt_i.valid && cnt_i.kind),
        .cnt_src_i(cnt_i.src),
        .cnt_idx_i(cnt_i.idx),
        .cnt_val_i(cnt_i.val),
        .bad_o(bad_count),
        .keep_i(state_q == Prefix),
        .base_q_i,
        .base_row_o,
        .base_take_i,
        .notified_q_i(to_q),
        .notified_row_o(notified_row),
        .recv_rows_o,
        .src_i,
        .src_rows_o,
        .own_base_o
    );

    ctrl_packets #(
        .Cfg(Cfg)
    ) i_ctrl (
        .clk_i,
        .rst_ni,
        .go_i,
        .cfg_i,
        .ack_i('{valid: ack_i.valid && !ack_own, port: ack_i.port}),
        .ack_ready_o(far_ack_ready),
        .sig_i,
        .sig_ready_o,
        .own_o,
        .own_ready_i,
        .tok_i,
        .tok_ready_o,
        .report_i(push_report.valid ? push_report : report_i),
        .report_ready_o(tile_taken),
        .event_i('{valid: state_q == Tell, dst: port_t'(to_q), idx: imm_q}),
        .event_ready_o(event_ready),
        .ctl_o,
        .ctl_ready_i,
        .idle_o(notified)
    );

    `MW_STABLE(ctl_o.valid, ctl_ready_i, ctl_o.header.opcode,
               "a control packet changes before it is taken")
    `MW_STABLE(cst_o.valid, cst_ready_i, {cst_o.last, cst_o.data},
               "a flit for the uplink changes before it is taken")
    `MW_STABLE(clo_o.valid, clo_ready_i, {clo_o.last, clo_o.data},
               "a flit for this GPU changes before it is taken")
    `MW_CONTRACT(tile_ready_o, tile_i.valid, "a tile is taken that is not there")
    `MW_CONTRACT(retire_o, state_q inside {Drain, Prefix}, "an instruction retires before its end")
endmodule

`default_nettype wire
