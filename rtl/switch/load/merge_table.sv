// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Table of the loads of one home's rows: which GPUs (readers) wait for the answer of which FETCH.
//
// Function: A load that may be merged joins the entry of its row, if there is one. Otherwise it
// creates an entry, and the row is fetched. If its set has no free way, or limit_i entries are in
// use, the load bypasses the table: its row is fetched for this reader alone. passed_q counts the
// open bypasses of each reader. With wait_i the FETCH of an entry waits until all GPUs that the
// home may reach have joined, at most wait_i cycles from the first load on. The first packet of an
// answer closes its entry, because a later reader would miss that packet. The last packet frees the
// entry. go_i clears the table. With keep_i, kept_answers keeps the row from the first packet on
// for later loads, unless the answer is that of a bypass.
// Ports: Masks of ports are indexed by distance. The low bits of a row's index select the set of
// ways. FETCHs wait in a queue until fetch_sent_i. An answer is looked up in the cycle of its
// header. answer_accept_i reports in the same cycle that the packet enters the switch.
// Order: One lane per cycle, round robin over the readers. take_o follows one cycle later, bad_o
// two cycles later.
// Back-pressure: A lane waits for one lane of each other reader, and for room in the queue of
// FETCHs. These packets need no credit, so the wait ends. FETCHs wait for readers only while the
// queue has room for 16 more. Answers never wait.
// Worst case: FETCHs keep their order, so none waits longer than wait_i cycles for readers.
// Errors: The reader of a rejected load gets COUNT if it already waits for the row, in an open
// entry or for a kept answer. It gets PARTITION if the home may not reach it, and OWES if the home
// has been down since go. The home of a rejected answer gets TARGETS if no load waits for it, and
// LENGTH if the packet does not fit the row (answer_code_o).
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module merge_table #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type answering_t = `MW_ANSWERING(Cfg),
    parameter int unsigned Fetches = 64,  // places in the queue
    parameter int unsigned Spare = 16  // of them free while FETCHs wait for readers
) (
    input  wire logic                  clk_i,
    input  wire logic                  rst_ni,
    input  wire logic                  go_i,
    input  wire logic [Cfg.PortW-1:0] port_i,    // constant: the number of this port
    input  wire logic [Cfg.Others-1:0] reach_i,   // ports that the home may reach
    input  wire logic                  fell_i,    // see report_scoreboard
    input  wire logic [8:0]            limit_i,   // entries that may be in use
    input  wire logic [15:0]           wait_i,    // cycles that a FETCH waits for readers
    input  wire logic [14:0]           row_bytes_i,
    input  wire logic [3:0]            row_shift_i,

    // loads
    input  wire logic [Cfg.Others-1:0]     lane_i,
    input  wire logic [Cfg.Others-1:0]     lane_merge_i, // it may be merged
    input  wire logic [Cfg.LoadIndexW-1:0] lane_index_i [Cfg.Others],
    output logic [Cfg.Others-1:0]          take_o,
    output logic [Cfg.Others-1:0]          bad_o,
    output error_pkg::err_e                bad_code_o,

    // FETCHs: half of the header
    output logic        fetch_valid_o,
    output logic [63:0] fetch_upper_o,
    input  wire logic   fetch_sent_i,

    // a packet of an answer
    input  wire packet_pkg::header_t   answer_i,
    output logic [Cfg.Others-1:0]      answer_mask_o, // who gets it
    output error_pkg::err_e            answer_code_o,
    input  wire logic                  answer_accept_i,
    output logic [Cfg.Others-1:0]      answered_o,    // GPUs whose load has ended, a cycle later

    // kept answers: the payload of the packet before, and what is sent; see kept_answers
    input  wire logic                 keep_i,
    input  wire logic [1:0]           epoch_i,
    input  wire logic                 answer_kept_i, // answer_i comes from here
    input  wire logic                 flit_i,
    input  wire logic                 flit_bad_i,
    input  wire logic                 flit_last_i,
    input  wire logic [Cfg.FlitW-1:0] flit_data_i,
    output logic                      kept_o,
    output logic                      kept_last_o,
    output logic [Cfg.FlitW-1:0]      kept_data_o,
    input  wire logic                 kept_take_i,
    input  wire logic                 kept_may_i,
    output logic                      kept_use_o,
    output logic                      kept_idle_o,   // none is sent, and none is to be

    output logic [31:0] count_o, // see load_counts
    input  wire logic [3:0] count_idx_i,
    output logic        idle_o
);
    import error_pkg::*;

    localparam int unsigned Ways = Cfg.MergeWays;
    localparam int unsigned Sets = Cfg.MergeEntries / Ways;
    localparam int unsigned SetW = cfg_pkg::index_w(Sets);
    localparam int unsigned Entries = Ways * Sets;
    localparam int unsigned UsedW = $clog2(Entries + 1);
    localparam int unsigned StampW = 16;  // see load_counts
    localparam int unsigned AgeW = StampW + 1;  // of a FETCH: one that is due may wait for its turn

    if (Entries == 0 || Entries > 511 || Entries != Cfg.MergeEntries || Sets != (1 << $clog2(
            Sets
        ))) begin : gen_check
        $error("merge_table: MergeEntries is MergeWays times a power of two, at most 511");
    end

    typedef logic [Cfg.LoadIndexW-1:0] index_t;
    typedef struct packed {
        logic [StampW-1:0]     first;  // when the first load came, and the last one
        logic [StampW-1:0]     last;
        logic [Cfg.Others-1:0] mask;   // who waits
        index_t                index;
    } word_t;

    // ---- a lane per cycle ----
    logic [Cfg.Others-1:0] choice, from_q;
    logic any_lane, act_q, merge_q, room;
    index_t index, index_q;
    logic [$clog2(Fetches+1)-1:0] level;

    rr_arb #(
        .N(Cfg.Others)
    ) i_arb (
        .clk_i,
        .rst_ni,
        .clear_i(go_i),
        .req_i(lane_i & ~take_o),
        .grant_o(choice),
        .idx_o(),
        .advance_i(any_lane)
    );
    assign room = 32'(level) < Fetches - 1;  // besides what the lane of this cycle may make
    assign any_lane = choice != '0 && room;

    always_comb begin
        index = '0;
        for (int unsigned d = 0; d < Cfg.Others; d++) index |= choice[d] ? lane_index_i[d] : '0;
    end

    always_ff @(posedge clk_i) begin
        act_q <= rst_ni && any_lane;
        take_o <= (rst_ni && any_lane) ? choice : '0;
        from_q <= choice;
        merge_q <= (lane_merge_i & choice) != '0;
        index_q <= index;
    end

    // ---- entries ----
    logic [Ways-1:0][Sets-1:0] valid_q;
    logic [Ways-1:0][Sets-1:0] closed_q;  // its answer has begun
    logic [Ways-1:0][Sets-1:0] full_q;  // all readers wait for it
    logic [UsedW-1:0] used_q;
    logic [SetW-1:0] set, answer_set;
    word_t word[Ways], old[Ways], next;  // of the lane's set, of the answer's
    logic [Ways-1:0] hit, free, way, answer_way;
    logic [Cfg.Others-1:0] mask;  // who waits for the lane's row
    logic [AgeW-1:0] now_q;
    logic [StampW-1:0] since;
    logic joins, makes, bypasses, good, we;
    logic looks, kept, kept_twice, kept_end, evicts, accept;
    logic [Cfg.Others-1:0] kept_mask;
    err_e bad;

    assign set = (Sets > 1) ? SetW'(index_q) : '0;

    for (genvar w = 0; w < Ways; w++) begin : gen_way
        lutram #(
            .Width($bits(word_t)),
            .Depth(Sets)
        ) i_lane (
            .clk_i,
            .we_i(we && way[w]),
            .waddr_i(set),
            .wdata_i(next),
            .raddr_i(set),
            .rdata_o(word[w])
        );
        lutram #(
            .Width($bits(word_t)),
            .Depth(Sets)
        ) i_answer (
            .clk_i,
            .we_i(we && way[w]),
            .waddr_i(set),
            .wdata_i(next),
            .raddr_i(answer_set),
            .rdata_o(old[w])
        );
        assign free[w] = !valid_q[w][set];
        assign hit[w]  = valid_q[w][set] && !closed_q[w][set] && word[w].index == index_q
                         && !(accept && answer_way[w] && answer_set == set);
    end

    always_comb begin
        mask = '0;
        since = StampW'(now_q);
        for (int unsigned w = 0; w < Ways; w++) begin
            if (hit[w]) {mask, since} = {word[w].mask, word[w].first};
        end
        bad = ERR_NONE;
        if (fell_i) bad = ERR_OWES;
        else if ((reach_i & from_q) == '0) bad = ERR_PARTITION;
        else if (merge_q && ((mask & from_q) != '0 || kept_twice)) bad = ERR_COUNT;
        good = act_q && bad == ERR_NONE;
        joins = good && merge_q && hit != '0;
        makes = good && merge_q && hit == '0 && !kept && free != '0 && 32'(used_q) < 32'(limit_i);
        bypasses = good && !joins && !makes && !kept;
    end
    assign we = joins || makes;
    assign way = joins ? hit : free & (~free + 1'b1);
    assign next = '{first: since, last: StampW'(now_q), mask: mask | from_q, index: index_q};

    // ---- loads past the table: how many of each reader are not answered ----
    logic [Cfg.OpenLoadW-1:0] passed_q[Cfg.Others];
    logic [Cfg.Others-1:0] passed;

    for (genvar d = 0; d < Cfg.Others; d++) begin : gen_passed
        assign passed[d] = passed_q[d] != '0;
    end

    // ---- an answer ----
    logic [15:0] who, start, length;
    logic [63:0] row;
    logic [Ways-1:0] answer_valid;
    logic [Cfg.Others-1:0] alone;
    logic is_alone, is_last, fits;
    index_t answer_index;
    word_t answered;

    assign who = answer_i.target0;
    assign is_alone = who[15];
    assign answer_set = (Sets > 1) ? SetW'(who) : '0;
    assign row = 64'(answer_i.addr) >> row_shift_i;
    assign start = answer_i.addr[15:0] & ~(16'hffff << row_shift_i);
    assign length = start + 16'(answer_i.len);
    assign is_last = length == 16'(row_bytes_i);
    assign fits       = start[6:0] == '0
                        && (is_last || (answer_i.len == 15'd128 && length < 16'(row_bytes_i)));
    assign answer_index = answered.index;

    always_comb begin
        answered = '0;
        for (int unsigned w = 0; w < Ways; w++) begin
            answer_way[w] = !is_alone && 32'(who) >> ((Sets > 1) ? SetW : 0) == w;
            answer_valid[w] = answer_way[w] && valid_q[w][answer_set];
            answered = answered | (answer_way[w] ? old[w] : '0);
        end
        for (int unsigned d = 0; d < Cfg.Others; d++)
        alone[d] = is_alone && who[14:0] == 15'((32'(port_i) + d + 1) % Cfg.N);
        answer_mask_o = answer_kept_i ? kept_mask : is_alone ? alone : answered.mask;
        answer_code_o = ERR_NONE;
        if (answer_kept_i) answer_code_o = ERR_NONE;
        else if (is_alone ? (alone & passed) == '0 : answer_valid == '0 || row != 64'(answer_index))
            answer_code_o = ERR_TARGETS;
        else if (!fits) answer_code_o = ERR_LENGTH;
    end

    logic ends;
    assign accept = answer_accept_i && !answer_kept_i;
    assign ends = accept && is_last;

    always_ff @(posedge clk_i) begin
        now_q <= now_q + 1'b1;
        answered_o <= (rst_ni && (ends || kept_end)) ? answer_mask_o : '0;
        bad_o <= (rst_ni && act_q && bad != ERR_NONE) ? from_q : '0;
        bad_code_o <= bad;
        if (!rst_ni || go_i) begin
            now_q <= '0;
            valid_q <= '0;
            used_q <= '0;
        end else begin
            for (int unsigned w = 0; w < Ways; w++) begin
                if (makes && way[w]) {valid_q[w][set], closed_q[w][set]} <= 2'b10;
                if (we && way[w]) full_q[w][set] <= (reach_i & ~next.mask) == '0;
                if (accept && answer_way[w]) begin
                    closed_q[w][answer_set] <= 1'b1;
                    if (is_last) valid_q[w][answer_set] <= 1'b0;
                end
            end
            if (makes != (ends && !is_alone)) used_q <= used_q + (makes ? UsedW'(1) : '1);
        end
        for (int unsigned d = 0; d < Cfg.Others; d++) begin
            if (!rst_ni || go_i) passed_q[d] <= '0;
            else if ((bypasses && from_q[d]) != (ends && alone[d]))
                passed_q[d] <= passed_q[d] + ((bypasses && from_q[d]) ? Cfg.OpenLoadW'(1) : '1);
        end
    end

    // ---- answers that stay ----
    // The look-up must not depend on bad, because bad depends on its result kept_twice.
    assign looks = act_q && merge_q && !fell_i && (reach_i & from_q) != '0 && hit == '0;

    if (Cfg.MergeKeep != 0) begin : gen_keep
        logic row_end, comes;

        answering_t answering;

        assign comes = accept && !is_alone;
        assign answering = '{
                first: comes && start == '0,
                next: comes && start != '0,
                poison: answer_i.poison,
                row: answer_index
            };
        assign kept_end = kept_use_o && row_end;

        kept_answers #(
            .Cfg(Cfg)
        ) i_kept (
            .clk_i,
            .rst_ni,
            .go_i,
            .enable_i(keep_i),
            .epoch_i,
            .row_bytes_i,
            .row_shift_i,
            .look_i('{valid: looks, index: index_q, reader: from_q}),
            .hit_o(kept),
            .twice_o(kept_twice),
            .answer_i(answering),
            .flit_i('{valid: flit_i, last: flit_last_i, err: flit_bad_i, data: flit_data_i}),
            .packet_o({kept_o, kept_last_o, kept_data_o}),
            .packet_mask_o(kept_mask),
            .row_end_o(row_end),
            .packet_take_i(kept_take_i),
            .may_i(kept_may_i),
            .use_o(kept_use_o),
            .evict_o(evicts),
            .idle_o(kept_idle_o)
        );
    end else begin : gen_no_keep
        assign {kept, kept_twice, kept_end, kept_mask, evicts} = '0;
        assign {kept_o, kept_last_o, kept_data_o, kept_use_o} = '0;
        assign kept_idle_o = 1'b1;
    end

    // ---- FETCHs ----
    logic [15:0] to_wait;
    logic fetch_room, fetch_there;
    logic [AgeW-1:0] fetch_since;
    logic due_q;  // it waits for no more readers
    index_t fetch_index;
    logic [15:0] fetch_who;

    always_comb begin
        to_wait = '0;
        for (int unsigned w = 0; w < Ways; w++)
        if (makes && way[w]) to_wait = 16'(w << ((Sets > 1) ? SetW : 0)) | 16'(set);
        for (int unsigned d = 0; d < Cfg.Others; d++)
        if (bypasses && from_q[d]) to_wait = {1'b1, 15'((32'(port_i) + d + 1) % Cfg.N)};
    end

    fifo #(
        .Width(AgeW + 16 + Cfg.LoadIndexW),
        .Depth(Fetches)
    ) i_fetches (
        .clk_i,
        .rst_ni(rst_ni && !go_i),
        .valid_i(makes || bypasses),
        .ready_o(fetch_room),
        .data_i({now_q, to_wait, index_q}),
        .valid_o(fetch_there),
        .ready_i(fetch_sent_i),
        .data_o({fetch_since, fetch_who, fetch_index}),
        .level_o(level)
    );
    assign fetch_upper_o = {fetch_who, 48'(fetch_index)};
    assign fetch_valid_o = fetch_there && (due_q || wait_i == '0);

    // ---- readers for whom a FETCH waits ----
    logic [SetW-1:0] fetch_set;
    logic fetch_full;

    assign fetch_set = (Sets > 1) ? SetW'(fetch_who) : '0;

    always_comb begin
        fetch_full = fetch_who[15];
        for (int unsigned w = 0; w < Ways; w++)
        if (32'(fetch_who) >> ((Sets > 1) ? SetW : 0) == w) fetch_full |= full_q[w][fetch_set];
    end

    always_ff @(posedge clk_i) begin
        due_q <= rst_ni && !go_i && fetch_there && !fetch_sent_i
                 && (due_q || fetch_full || now_q - fetch_since >= AgeW'(wait_i)
                     || 32'(level) > Fetches - Spare);
    end

    // ---- counts ----
    logic [StampW-1:0] spread;
    assign spread = answered.last - answered.first;

    load_counts i_counts (
        .clk_i,
        .clear_i(!rst_ni || go_i),
        .load_i(good),
        .fetch_i(makes || bypasses),
        .bypass_i(bypasses),
        .evict_i(evicts),
        .kept_i(good && kept),
        .used_i(9'(used_q)),
        .free_i(ends && !is_alone),
        .spread_i(spread),
        .idx_i(count_idx_i),
        .count_o
    );

    assign idle_o = !act_q && used_q == '0 && passed == '0 && !fetch_there && answered_o == '0
                    && bad_o == '0 && kept_idle_o;

    `MW_ASSERT(!(makes || bypasses) || fetch_room, "a FETCH has no place")
    `MW_CONTRACT(answer_accept_i, answer_code_o == ERR_NONE, "a wrong answer is accepted")
    `MW_CONTRACT(kept_use_o, answer_accept_i && answer_kept_i, "a kept packet does not enter")
    `MW_CONTRACT(1'b1, $onehot0(hit), "two entries of a row take readers")
    `MW_CONTRACT(answer_accept_i, answer_mask_o != '0, "an answer without a reader")
    `MW_NEXT(fetch_valid_o && !fetch_sent_i && !go_i, fetch_valid_o && $stable(fetch_upper_o),
             "a FETCH changes before it is sent")
endmodule

`default_nettype wire
