// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Counts the bytes of every row that is dispatched to this GPU, and lists complete rows for the
// expert engine.
//
// Function: A row with all its bytes (row_bytes and 4 k of gate weights) joins the list of its
// expert, with its token and list position. Rows are {le, row} = le << cap_shift | row. trk_* adds
// bytes of a row in memory (never in two consecutive cycles). cnt_i brings the expected rows of the
// experts, of each GPU once (see count_once), and counted_i reports that all have arrived. Bytes
// and counts come in any order. push_* serves unicast: the engine appends rows itself (any number
// of RowW bits below N << TokensLog2 + 4). With or after push_i.last the lists are complete. The
// expected count is what was pushed, whatever is announced, until push_i.more starts others. In
// layers with merge_loads a row has its number, {home, index}, in place of {le, row}, and row_bytes
// bytes. When it is complete it joins the list of trk_i.le as if it were pushed (loaded_o). With
// source_lists a list holds the rows that are present when its source reports that it is complete.
// A layer that uses a handle (cached) expects the rows of the handle's layer at once: cnt_i brings
// none. Entries of another epoch are empty. sweep_i clears all that the configuration uses, before
// the first layer, when the epoch wraps, and when more rows are used than before.
// Order: A list is in the order of completion.
// Back-pressure: push_ready_o only.
// Latency: stat_*: one expert per cycle, answer in the next cycle. list_*: one row per cycle,
// answer in the next cycle.
// Errors: COUNT for a row that gets more bytes than it has (it is complete once), for a source that
// reports another length of a list than is present, and for a row after that report, or with a
// handle, beyond the expected rows. Such a row is not listed. BOUNDS for rows beyond the expert's,
// and for counts that no number holds.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module row_tracker #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type counted_t = `MW_COUNTED(Cfg),
    parameter int unsigned LeftW = 16  // bits of a row's bytes with its gate weights
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire logic                go_i,
    input  wire node_pkg::node_cfg_t cfg_i,
    input  wire logic                sweep_i,
    output logic                     sweep_busy_o,

    input  wire bundle_pkg::landed_t trk_i,
    output bundle_pkg::token_t       loaded_o, // the number of a row that is loaded and complete

    input  wire bundle_pkg::count_t cnt_i,
    input  wire logic               cnt_list_i,  // it is all of a list, which is complete and
                                                 // stays so, or COUNT
    input  wire counted_t           counted_i,   // from the cycle behind the last count

    input  wire bundle_pkg::push_t push_i,
    output logic                   push_ready_o,

    input  wire logic [node_pkg::ExpertW-1:0] stat_le_i,
    output bundle_pkg::stat_t                 stat_o,
    output bundle_pkg::layer_rows_t           rows_o,

    input  wire bundle_pkg::list_req_t list_i,
    output bundle_pkg::list_rsp_t      list_o,

    output bundle_pkg::error_t err_o,
    output logic               idle_o
);
    localparam int unsigned NumW = Cfg.RowsLog2 + 1;
    // {token, position, row}; a pushed row has at most the first two's bits
    localparam int unsigned EntryW = Cfg.RowsLog2 + Cfg.TokW + 4;

    if (Cfg.RowsLog2 < Cfg.LocalW || Cfg.RowsLog2 > node_pkg::RowW
        || Cfg.TokW + 4 > node_pkg::RowW) begin : gen_check
        $error("row_tracker: sizes do not fit");
    end

    typedef struct packed {
        logic             touched;
        logic [1:0]       epoch;
        logic [LeftW-1:0] left;     // bytes to come
    } count_t;

    typedef struct packed {
        logic [1:0]      epoch;
        logic [NumW-1:0] num;
    } num_t;

    typedef logic [Cfg.RowsLog2-1:0] row_t;

    function automatic row_t area(logic [Cfg.LocalW-1:0] le, logic [4:0] cap_shift);
        return row_t'(le) << cap_shift;
    endfunction

    // none of another layer
    function automatic logic [NumW-1:0] rows_of(num_t word, logic [1:0] epoch);
        return (word.epoch == epoch) ? word.num : '0;
    endfunction

    // ---- sweep ----
    // As far as the configuration uses the rows, where there are many, and every expert's numbers.
    localparam bit Bounded = Cfg.RowsLog2 > 8;
    logic sweep_q, sweep_end;
    row_t at_q;

    if (Bounded) begin : gen_bounded
        logic [6:0] lists;
        assign lists = node_pkg::lists(Cfg.SourceLists, cfg_i);
        // rows that are loaded have the numbers of tokens
        assign sweep_end = at_q == '1
                           || (7'(at_q >> cfg_i.cap_shift) >= lists && (at_q >> Cfg.LocalW) != '0
                               && (!Cfg.MergeLoads || 32'(at_q >> cfg_i.token_shift) >= Cfg.N));
    end else begin : gen_all
        assign sweep_end = at_q == '1;
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni) sweep_q <= 1'b0;
        else if (sweep_q) sweep_q <= !sweep_end;
        else sweep_q <= sweep_i;
        at_q <= sweep_q ? at_q + 1'b1 : '0;
    end

    assign sweep_busy_o = sweep_q;

    // ---- bytes: read, subtract, append ---------------------------------------------------------
    typedef struct packed {
        logic [Cfg.LocalW-1:0] le;
        row_t                  row;
        logic [Cfg.TokW-1:0]   token;
        logic [3:0]            pos;
        logic [7:0]            bytes;
    } trk_t;

    logic trk_q, append_q, pushed_q;  // pushed_q: the lists are the engine's
    logic loads;  // rows are loaded: they have numbers
    logic loaded_q;  // with append_q: one is complete
    trk_t t_q;
    row_t trk_at, at1_q;
    count_t count;
    logic [LeftW-1:0] threshold, to_come;
    logic [14:0] row_bytes;
    logic [LeftW:0] left;
    logic push;

    assign loads = Cfg.MergeLoads && cfg_i.merge_loads;
    assign trk_at = (loads ? '0 : area(
        trk_i.le[Cfg.LocalW-1:0], cfg_i.cap_shift
    )) | trk_i.row[Cfg.RowsLog2-1:0];
    assign row_bytes = node_pkg::dispatch_row(Cfg.RowTypes, cfg_i);
    assign threshold = LeftW'(row_bytes) + (loads ? '0 : LeftW'({cfg_i.k, 2'b00}));
    assign to_come = (count.touched && count.epoch == cfg_i.epoch) ? count.left : threshold;
    assign left = {1'b0, to_come} - (LeftW + 1)'(t_q.bytes);

    table_ram #(
        .Width($bits(count_t)),
        .Depth(2 ** Cfg.RowsLog2)
    ) i_bytes (
        .clk_i,
        .we_i(trk_q || sweep_q),
        .waddr_i(sweep_q ? at_q : at1_q),
        .wdata_i({!sweep_q, cfg_i.epoch, left[LeftW] ? LeftW'(0) : left[LeftW-1:0]}),
        .re_i(trk_i.valid),
        .raddr_i(trk_at),
        .rdata_o(count)
    );

    assign push = push_i.valid && push_ready_o;
    assign push_ready_o = !trk_i.valid && !trk_q;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            trk_q <= 1'b0;
            append_q <= 1'b0;
            pushed_q <= 1'b0;
        end else begin
            trk_q <= trk_i.valid;
            append_q <= push || (trk_q && (left[LeftW] || left == '0) && to_come != '0);
            if (go_i) pushed_q <= 1'b0;
            else if (push || push_i.last) pushed_q <= 1'b1;
        end
        loaded_q <= loads && trk_q;
        if (trk_i.valid) begin
            t_q <= '{
                le: trk_i.le[Cfg.LocalW-1:0],
                row: trk_i.row[Cfg.RowsLog2-1:0],
                token: trk_i.token[Cfg.TokW-1:0],
                pos: trk_i.pos,
                bytes: trk_i.bytes
            };
            at1_q <= trk_at;
            if (loads) {t_q.token, t_q.pos} <= (Cfg.TokW + 4)'(trk_i.row);
        end else if (push) begin
            t_q.le <= push_i.le[Cfg.LocalW-1:0];
            {t_q.token, t_q.pos} <= push_i.row[Cfg.TokW+3:0];
        end
    end

    // ---- numbers of rows: complete, and expected ----------------------------------------------
    num_t complete_word, complete_stat, expected_word, expected_stat;
    logic [NumW-1:0] complete, complete_next, expected_next;
    logic exp_rows, exp_ours, num_full, complete_we, expected_we, late, said_late;
    logic cached, more;  // more: a row behind the last one of its expert
    logic [1:0] exp_epoch;  // of the expected rows
    logic [Cfg.LocalW-1:0] complete_le, expected_le, exp_le;
    logic append;
    num_t complete_in, expected_in;
    logic [NumW-1:0] exp_val;  // rows that are announced: of a list those that are there

    assign exp_rows = cnt_i.valid && !cnt_i.kind;
    assign exp_ours = exp_rows && (7'(cnt_i.idx) >> Cfg.LocalW) == '0;
    assign complete = rows_of(complete_word, cfg_i.epoch);
    assign complete_next = complete + 1'b1;
    assign cached = Cfg.CachedHandle && cfg_i.cached;
    assign exp_epoch = node_pkg::counts_epoch(Cfg.CachedHandle, cfg_i);
    assign expected_next = rows_of(expected_word, exp_epoch) + exp_val;
    assign num_full = (complete >> cfg_i.cap_shift) != '0;
    assign complete_we = sweep_q || append;
    assign complete_le = sweep_q ? at_q[Cfg.LocalW-1:0] : t_q.le;
    assign complete_in = sweep_q ? '0 : '{epoch: cfg_i.epoch, num: complete_next};
    assign expected_we = sweep_q || exp_ours;
    assign expected_le = sweep_q ? at_q[Cfg.LocalW-1:0] : exp_le;
    assign expected_in = sweep_q ? '0 : '{epoch: exp_epoch, num: expected_next};
    assign exp_le = Cfg.LocalW'(cnt_i.idx);
    assign append = append_q && !num_full && !late;

    lutram #(
        .Width($bits(num_t)),
        .Depth(2 ** Cfg.LocalW)
    ) i_complete (
        .clk_i,
        .we_i(complete_we),
        .waddr_i(complete_le),
        .wdata_i(complete_in),
        .raddr_i(t_q.le),
        .rdata_o(complete_word)
    );
    lutram #(
        .Width($bits(num_t)),
        .Depth(2 ** Cfg.LocalW)
    ) i_complete_stat (
        .clk_i,
        .we_i(complete_we),
        .waddr_i(complete_le),
        .wdata_i(complete_in),
        .raddr_i(stat_le_i[Cfg.LocalW-1:0]),
        .rdata_o(complete_stat)
    );
    lutram #(
        .Width($bits(num_t)),
        .Depth(2 ** Cfg.LocalW)
    ) i_expected (
        .clk_i,
        .we_i(expected_we),
        .waddr_i(expected_le),
        .wdata_i(expected_in),
        .raddr_i(exp_le),
        .rdata_o(expected_word)
    );
    lutram #(
        .Width($bits(num_t)),
        .Depth(2 ** Cfg.LocalW)
    ) i_expected_stat (
        .clk_i,
        .we_i(expected_we),
        .waddr_i(expected_le),
        .wdata_i(expected_in),
        .raddr_i(stat_le_i[Cfg.LocalW-1:0]),
        .rdata_o(expected_stat)
    );

    always_ff @(posedge clk_i) begin
        stat_o.complete <= node_pkg::RowW'(rows_of(complete_stat, cfg_i.epoch));
        // of the engine's own lists what it has named, whatever other GPUs announce
        if (pushed_q) stat_o.expected <= node_pkg::RowW'(rows_of(complete_stat, cfg_i.epoch));
        else stat_o.expected <= node_pkg::RowW'(rows_of(expected_stat, exp_epoch));
        stat_o.counted <= Cfg.SourceLists && cfg_i.source_lists && expected_stat.epoch == exp_epoch;
    end

    if (Cfg.CachedHandle) begin : gen_more
        num_t expected_here;

        lutram #(
            .Width($bits(num_t)),
            .Depth(2 ** Cfg.LocalW)
        ) i_expected_here (
            .clk_i,
            .we_i(expected_we),
            .waddr_i(expected_le),
            .wdata_i(expected_in),
            .raddr_i(t_q.le),
            .rdata_o(expected_here)
        );
        assign more = cached && !pushed_q && complete >= rows_of(expected_here, exp_epoch);
    end else begin : gen_no_more
        assign more = 1'b0;
    end
    assign late = append_q && (more || (said_late && !cached));

    // ---- a list that its source says is complete ----------------------------------------------
    // What is there counts, whatever it says: a source that says less or more, or sends rows later,
    // loses its own rows and holds up no others.
    logic early;  // it says another number than is there

    if (Cfg.SourceLists) begin : gen_lists
        num_t said;

        lutram #(
            .Width($bits(num_t)),
            .Depth(2 ** Cfg.LocalW)
        ) i_complete_said (
            .clk_i,
            .we_i(complete_we),
            .waddr_i(complete_le),
            .wdata_i(complete_in),
            .raddr_i(exp_le),
            .rdata_o(said)
        );
        assign exp_val = !cnt_list_i ? cnt_i.val[NumW-1:0] : rows_of(said, cfg_i.epoch);
        assign early = exp_ours && cnt_list_i && exp_val != cnt_i.val[NumW-1:0];
        assign said_late = !pushed_q && counted_i.lists[t_q.le];
    end else begin : gen_no_lists
        assign exp_val = cnt_i.val[NumW-1:0];
        assign {early, said_late} = '0;
    end

    // ---- end of the layer's rows --------------------------------------------------------------
    logic [Cfg.RowsLog2+1:0] missing_q, all;  // rows expected and not complete, modulo; bytes
                                              // may come before counts. all: of a handle
    logic exp_big;

    assign exp_big = exp_rows && (cnt_i.val >> NumW) != '0;

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) begin
            missing_q <= (go_i && cached) ? all : '0;
            rows_o.counted <= 1'b0;
            rows_o.done <= 1'b0;
        end else begin
            if (exp_ours || rows_o.row)
                missing_q <= missing_q
                             + (exp_ours ? (Cfg.RowsLog2+2)'(exp_val) : '0)
                             - (Cfg.RowsLog2+2)'(rows_o.row);
            // when stat_* show the last row, too
            rows_o.counted <= !push_i.more && (rows_o.counted || (push_i.last && !append_q)
                                             || counted_i.all);
            rows_o.done <= rows_o.counted && (missing_q == '0 || pushed_q) && !exp_ours
                           && !append_q;
        end
    end

    if (Cfg.CachedHandle) begin : gen_all_rows
        logic [Cfg.RowsLog2+1:0] all_q;

        assign all = all_q;
        always_ff @(posedge clk_i) begin
            if (!rst_ni || (go_i && !cached)) all_q <= '0;
            else if (exp_ours) all_q <= all_q + (Cfg.RowsLog2 + 2)'(exp_val);
        end
    end else begin : gen_no_rows
        assign all = '0;
    end

    // ---- lists --------------------------------------------------------------------------------
    logic [EntryW-1:0] entry;

    table_ram #(
        .Width(EntryW),
        .Depth(2 ** Cfg.RowsLog2)
    ) i_list (
        .clk_i,
        .we_i(append),
        .waddr_i(area(t_q.le, cfg_i.cap_shift) | complete[Cfg.RowsLog2-1:0]),
        .wdata_i({t_q.token, t_q.pos, t_q.row}),
        .re_i(list_i.valid),
        .raddr_i(area(list_i.le[Cfg.LocalW-1:0], cfg_i.cap_shift) | list_i.idx[Cfg.RowsLog2-1:0]),
        .rdata_o(entry)
    );

    always_ff @(posedge clk_i) begin
        if (!rst_ni) list_o.rvalid <= 1'b0;
        else list_o.rvalid <= list_i.valid;
    end

    assign list_o.row = (pushed_q || loads) ? node_pkg::RowW'(entry[EntryW-1:Cfg.RowsLog2])
                        : node_pkg::RowW'(entry[Cfg.RowsLog2-1:0]);
    assign list_o.token = node_pkg::TokenW'(entry[EntryW-1-:Cfg.TokW]);
    assign list_o.pos = entry[Cfg.RowsLog2+:4];

    assign err_o.valid = (trk_q && left[LeftW]) || (append_q && num_full) || exp_big || early
                         || late;
    assign err_o.code = ((trk_q && left[LeftW]) || early || late) ? error_pkg::ERR_COUNT
                        : error_pkg::ERR_BOUNDS;
    assign rows_o.row = append && (loads ? loaded_q : !pushed_q);
    assign loaded_o.valid = append_q && loaded_q;
    assign loaded_o.token = node_pkg::TokenW'({t_q.token, t_q.pos});
    assign idle_o = !trk_q && !append_q && !sweep_q;

    `MW_NEXT(trk_i.valid, !trk_i.valid, "bytes of two rows in two cycles")
    `MW_CONTRACT(trk_i.valid || push, !sweep_busy_o, "rows change during a sweep")
endmodule

`default_nettype wire
