// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The proof keeps a byte count for each row, a list for each expert, and sums of the counts that
// sources announce. There are two experts of two rows, seven bytes each, and any number of layers.
// Each layer has the next epoch. Before the first one, and when the epochs wrap, the tables are
// swept. A layer may end at any time with incomplete rows, as an aborted one does. In some layers
// rows come as bytes, with counts until here_i is high. In others the engine pushes them. Bytes and
// counts come in any order. With Cached a layer may expect the rows of the previous one.
`default_nettype none

module prove_row_tracker #(
    parameter bit Cached = 1'b0,
    localparam int unsigned TokenW  = node_pkg::TokenW,
    localparam int unsigned RowW    = node_pkg::RowW,
    localparam int unsigned ExpertW = node_pkg::ExpertW
) (
    input  wire logic               clk_i, layer_i, mode_i, cached_i, trk_valid_i,
    trk_le_i, trk_row_i, stat_le_i,
    input  wire logic [1:0]         trk_token_i,
    input  wire logic [3:0]         trk_pos_i, trk_bytes_i,
    input  wire bundle_pkg::count_t cnt_i,
    input  wire logic               here_i, push_valid_i, push_le_i, push_last_i,
    list_valid_i, list_le_i, list_idx_i,
    input  wire logic [5:0]         push_row_i
);
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.N = 2;
        c.RowsLog2 = 2;
        c.TokensLog2 = 1;
        c.MaxLocalExperts = 2;
        c.SourceLists = 1'b0; // lists that sources report as complete are not covered
        c.CachedHandle = Cached;
        return cfg_pkg::derived(c);
    endfunction
    localparam cfg_pkg::cfg_t Cfg = sizes();

    localparam int unsigned Rows = 4, Bytes = 7;

    logic rst_n, sweep_busy, ev_row, idle, counts_all, rows_done, push_ready, ends,
          run, go, sweep, sweeping;
    bundle_pkg::landed_t   trk;
    bundle_pkg::list_req_t list_req;
    bundle_pkg::list_rsp_t list;
    bundle_pkg::error_t    err;
    bundle_pkg::push_t   pushed;
    bundle_pkg::stat_t   stat;
    node_pkg::node_cfg_t cfg;
    logic [1:0]          epoch;
    logic                mode_q;      // the engine pushes rows
    logic                cached_q, cached_next; // the layer has a handle; the next one will
    logic [1:0]          handle_q;    // epoch of the last layer without a handle

    always_comb begin
        cfg           = '0;
        cfg.epoch     = epoch;
        cfg.cached    = cached_q;
        cfg.handle_epoch = handle_q;
        cfg.k         = 5'd1;
        cfg.row_bytes = 15'(Bytes - 4);
        cfg.cap_shift = 5'd1;
    end

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    f_layers i_layers (
        .clk_i, .rst_ni(rst_n), .end_i(layer_i), .idle_i(idle),
        .sweep_busy_i(sweep_busy), .sweep_o(sweep), .go_o(go),
        .sweeping_o(sweeping), .run_o(run), .ends_o(ends), .epoch_o(epoch)
    );
    always_ff @(posedge clk_i) if (!run) mode_q <= mode_i;

    // The layer after a sweep has no handle.
    assign cached_next = Cached && (ends ? cached_i && epoch != '1 : cached_q);
    always_ff @(posedge clk_i) begin
        cached_q <= rst_n && cached_next;
        if (ends && !cached_q) handle_q <= epoch;
    end

    assign trk = '{
        valid: trk_valid_i, le: ExpertW'(trk_le_i), row: RowW'(trk_row_i),
        token: TokenW'(trk_token_i), pos: trk_pos_i,
        bytes: 8'(trk_bytes_i)
    };
    assign list_req = '{valid: list_valid_i, le: ExpertW'(list_le_i), idx: RowW'(list_idx_i)};

    assign pushed = '{valid: push_valid_i, last: push_last_i, more: 1'b0, le: ExpertW'(push_le_i),
                      row: RowW'(push_row_i)};

    row_tracker #(.Cfg(Cfg), .LeftW(4)) i_dut (
        .clk_i, .rst_ni(rst_n), .go_i(go), .cfg_i(cfg), .sweep_i(sweep), .sweep_busy_o(sweep_busy),
        .trk_i(trk), .cnt_i, .cnt_list_i(1'b0), .counted_i({here_i, 2'b00}), .push_i(pushed),
        .push_ready_o(push_ready), .stat_le_i(ExpertW'(stat_le_i)), .stat_o(stat),
        .rows_o({ev_row, counts_all, rows_done}), .list_i(list_req), .list_o(list),
        .err_o(err), .idle_o(idle)
    );

    // ---- expected state ----
    typedef struct packed {
        logic [1:0] token;
        logic [3:0] pos;
        logic       row;
    } entry_t;

    logic [3:0] left_q [Rows];
    entry_t     list_q [Rows];      // by {expert, place}
    logic [1:0] listed_q [2];       // rows in each list
    logic [2:0] expected_q [2];     // announced
    logic       named_q;            // the engine has pushed a row, or has ended
    logic [3:0] missing_q;          // announced and not listed, modulo 16
    logic [3:0]         sum_q;              // announced, modulo 16
    logic       here_q;             // all are announced
    logic       last_q;             // all were pushed
    logic [1:0] at;
    logic       ends_row, many, end1_q, end2_q, many_q, le1_q, le2_q, asked_q, push,
                push_q, push_le_q, adds, full, more;
    logic       lists, list_le;
    entry_t     in, in1_q, in2_q, want_q, pushed_q;
    logic [1:0] stat_q;
    logic [2:0] stat_expected_q;

    assign at        = {trk_le_i, trk_row_i};
    assign ends_row  = trk_valid_i && trk_bytes_i >= left_q[at] && left_q[at] != '0;
    assign many      = trk_valid_i && trk_bytes_i > left_q[at];
    assign in        = '{row: trk_row_i, token: trk_token_i, pos: trk_pos_i};
    assign push      = push_valid_i && push_ready;
    assign adds      = cnt_i.valid && !cnt_i.kind && cnt_i.idx < 6'd2;
    assign list_le   = push_q ? push_le_q : le2_q;
    assign full      = push_q && listed_q[list_le] == 2'd2;
    assign more      = end2_q && cached_q && 3'(listed_q[le2_q]) >= expected_q[le2_q];
    assign lists     = (end2_q && !more) || (push_q && !full);

    logic busy_q, go_q;  // trk_valid_i, go in the cycle before
    always_comb begin
        if (!run || layer_i)
            assume (!trk_valid_i && !list_valid_i && !cnt_i.valid && !push_valid_i && !push_last_i);
        if (mode_q) assume (!trk_valid_i);
        else assume (!push_valid_i && !push_last_i);
        if (busy_q) assume (!trk_valid_i);
        if (trk_valid_i) assume (trk_bytes_i != '0 && trk_bytes_i <= 4'd8);
        if (list_valid_i) assume (2'(list_idx_i) < listed_q[list_le_i]);
        if (here_i) assume (run && !mode_q && !(cnt_i.valid && !cnt_i.kind));
        if (here_q && run) assume (here_i);
        if (push_last_i) assume (!push_valid_i);
        if (last_q && run && !layer_i) assume (push_last_i);       // a level
    end

    // ---- tables ----
    // Entries of this epoch have the expected state. Entries of later epochs, from before a sweep,
    // are empty.
    typedef struct packed {
        logic       touched;
        logic [1:0] epoch;
        logic [3:0] left;
    } count_t;
    typedef struct packed {
        logic [1:0] epoch;
        logic [2:0] num;
    } num_t;

    function automatic logic num_is(num_t word, logic [2:0] num, logic [1:0] of = epoch);
        return ((word.epoch == of) ? word.num : 3'd0) == num
            && (word.epoch <= epoch || word.num == '0);
    endfunction

    logic [1:0] exp_epoch;  // epoch of the expected counts
    logic here_ok;
    assign exp_epoch = cached_q ? handle_q : epoch;
    if (Cached) begin : gen_here
        always_comb begin
            here_ok = 1'b1;
            for (int unsigned e = 0; e < 2; e++) begin
                if (go || run) begin
                    here_ok &= i_dut.gen_more.i_expected_here.mem[e] == i_dut.i_expected.mem[e]
                               && (!(run || cached_q) || i_dut.gen_all_rows.all_q == sum_q);
                end else if (sweep_busy && i_dut.at_q > 2'(e)) begin
                    here_ok &= i_dut.gen_more.i_expected_here.mem[e] == i_dut.i_expected.mem[e];
                end
            end
        end
    end else begin : gen_no_here
        assign here_ok = 1'b1;
    end

    count_t word;
    logic   rows_ok, nums_ok, lists_ok, pipe_ok, sweep_ok;
    logic   quiet;           // between layers
    logic [7:0] listed;      // {token, position, row}
    always_comb begin
        rows_ok  = 1'b1;
        nums_ok  = 1'b1;
        lists_ok = 1'b1;
        sweep_ok = 1'b1;
        quiet    = go || run;
        for (int unsigned r = 0; r < Rows; r++) begin
            word   = i_dut.i_bytes.gen_lut.i_ram.gen_bank[0].i_ram.mem[r];
            listed = i_dut.i_list.gen_lut.i_ram.gen_bank[0].i_ram.mem[r];
            if (quiet) begin
                if (i_dut.trk_q && i_dut.at1_q == 2'(r)) begin
                    rows_ok &= (i_dut.left[4] ? 4'd0 : i_dut.left[3:0]) == left_q[r]
                               && i_dut.count == word;
                end else begin
                    rows_ok &= ((word.touched && word.epoch == epoch) ? word.left : 4'(Bytes))
                               == left_q[r];
                end
                rows_ok &= word.epoch <= epoch || !word.touched;
                if (3'(r) < 3'({r[1], 1'b0}) + 3'(listed_q[r[1]])) begin
                    lists_ok &= listed[7:2] == {list_q[r].token, list_q[r].pos};
                    if (!mode_q) lists_ok &= listed[1:0] == 2'(list_q[r].row);
                end
            end else if (sweep_busy && i_dut.at_q > 2'(r)) begin
                sweep_ok &= !word.touched;
            end
        end
        for (int unsigned e = 0; e < 2; e++) begin
            if (quiet) begin
                nums_ok &= num_is(i_dut.i_complete.mem[e], 3'(listed_q[e])) && listed_q[e] <= 2'd2
                           && num_is(i_dut.i_complete_stat.mem[e], 3'(listed_q[e]))
                           && num_is(i_dut.i_expected.mem[e], expected_q[e], exp_epoch)
                           && num_is(i_dut.i_expected_stat.mem[e], expected_q[e], exp_epoch);
            end else if (sweep_busy && i_dut.at_q > 2'(e)) begin
                sweep_ok &= num_is(i_dut.i_complete.mem[e], '0)
                            && num_is(i_dut.i_complete_stat.mem[e], '0)
                            && num_is(i_dut.i_expected.mem[e], '0)
                                && num_is(i_dut.i_expected_stat.mem[e], '0);
            end
        end
        sweep_ok &= sweep_busy == (sweeping && sweep_busy) && (quiet || epoch == '0);
        pipe_ok  = i_dut.trk_q == busy_q && end1_q
                   == (i_dut.trk_q && (i_dut.left[4] || i_dut.left == '0) && i_dut.to_come != '0)
                   && i_dut.append_q == (end2_q || push_q) && !(end2_q && i_dut.trk_q)
                       && !(end1_q && !busy_q)
                   && (run || (!busy_q && !end2_q && !push_q)) && !(push_q && !mode_q)
                   && !((end2_q || busy_q) && mode_q)
                       && (!run || i_dut.pushed_q == (mode_q && i_dut.pushed_q));
        if (i_dut.trk_q) begin
            pipe_ok &= i_dut.t_q.le == le1_q && i_dut.t_q.row == 2'(in1_q.row)
                       && i_dut.t_q.token == in1_q.token
                       && i_dut.t_q.pos == in1_q.pos && i_dut.at1_q == {le1_q, in1_q.row};
        end
        if (end2_q) begin
            pipe_ok &= i_dut.t_q.le == le2_q && i_dut.t_q.row == 2'(in2_q.row)
                       && i_dut.t_q.token == in2_q.token && i_dut.t_q.pos == in2_q.pos;
        end
        if (push_q) begin
            pipe_ok &= i_dut.t_q.le == push_le_q
                       && {i_dut.t_q.token, i_dut.t_q.pos} == {pushed_q.token, pushed_q.pos};
        end
        if (mode_q && run && !i_dut.pushed_q)
            pipe_ok &= !push_q && listed_q[0] == '0 && listed_q[1] == '0;
        if (run) begin
            pipe_ok &= i_dut.missing_q == missing_q && i_dut.pushed_q == named_q
                       && (!mode_q || !here_q) && !(last_q && (push_q || !mode_q));
        end
    end

    logic [1:0] layers_q;
    logic       broken_q, all_q, big;
    // A complete row does not complete again: at least as many rows have no byte left as are listed
    // or on their way.
    logic [1:0] none_left [2];
    for (genvar e = 0; e < 2; e++) begin : gen_none_left
        assign none_left[e] = 2'(left_q[2*e] == '0) + 2'(left_q[2*e+1] == '0);
    end
    logic none_ok;
    always_comb begin
        none_ok = 1'b1;
        for (int unsigned e = 0; e < 2; e++) begin
            if (!mode_q) begin
                none_ok &= 3'(none_left[e]) >= 3'(listed_q[e]) + 3'(end1_q && le1_q == 1'(e))
                                               + 3'(end2_q && le2_q == 1'(e));
            end
        end
        for (int unsigned r = 0; r < Rows; r++) none_ok &= left_q[r] <= 4'(Bytes);
    end

    assign big = cnt_i.valid && !cnt_i.kind && (cnt_i.val >> 3) != '0;

    always_ff @(posedge clk_i) begin
        busy_q <= rst_n && trk_valid_i;
        go_q   <= go;
        if (!rst_n || !run || ends) begin
            for (int unsigned r = 0; r < Rows; r++) left_q[r] <= 4'(Bytes);
            for (int unsigned e = 0; e < 2; e++) begin
                listed_q[e]   <= '0;
                if (!rst_n || !cached_next) expected_q[e] <= '0;
            end
            if (!rst_n || !cached_next) sum_q <= '0;
            missing_q <= (rst_n && cached_next) ? sum_q : '0;
            here_q    <= 1'b0;
            named_q   <= 1'b0;
            end1_q    <= 1'b0;
            end2_q    <= 1'b0;
            many_q    <= 1'b0;
            push_q    <= 1'b0;
            last_q    <= 1'b0;
            all_q     <= 1'b0;
        end else begin
            if (trk_valid_i) left_q[at] <= many ? '0 : left_q[at] - trk_bytes_i;
            end1_q <= ends_row;
            end2_q <= end1_q;
            many_q <= many;
            push_q <= push;
            last_q <= push_last_i;
            all_q  <= here_i || (last_q && !push_q);
            if (lists) begin
                list_q[{list_le, listed_q[list_le][0]}] <= push_q ? pushed_q : in2_q;
                listed_q[list_le] <= listed_q[list_le] + 1'b1;
            end
            if (adds) expected_q[cnt_i.idx[0]] <= expected_q[cnt_i.idx[0]] + cnt_i.val[2:0];
            if (adds) sum_q <= sum_q + 4'(cnt_i.val[2:0]);
            missing_q <= missing_q + (adds ? 4'(cnt_i.val[2:0]) : 4'd0) - 4'(lists && !mode_q);
            here_q    <= here_i;
            named_q   <= named_q || push || push_last_i;
        end
        if (!rst_n) begin
            asked_q  <= 1'b0;
            layers_q <= '0;
            broken_q <= 1'b0;
        end else begin
            asked_q <= list_valid_i;
            if (ends) begin
                layers_q <= (layers_q == '1) ? layers_q : layers_q + 1'b1;
                broken_q <= broken_q || left_q[0] inside {4'd1, 4'd2, 4'd3};
            end
            // at a row's last byte, once
            a_event: assert (ev_row == (lists && !mode_q));
            // Errors are: more bytes than the row has, more rows than the expert has or a handle
            // expects, and counts that no number can hold. Nothing else is an error.
            a_many:  assert (err.valid == (many_q || full || big || more));
            a_code:  assert (!err.valid || err.code == ((many_q || more) ? error_pkg::ERR_COUNT
                                                        : error_pkg::ERR_BOUNDS));
            a_list:  assert (list.rvalid == asked_q
                             && (!asked_q || !run
                                 || (mode_q ? list.row == RowW'({want_q.token, want_q.pos})
                                 : list.row == RowW'(want_q.row)
                                 && list.token == TokenW'(want_q.token)
                                   && list.pos == want_q.pos)));
            // an answer from before go may be that of the previous layer
            a_stat:  assert (!run || go_q || (stat.complete == RowW'(stat_q)
                                      && stat.expected == RowW'(stat_expected_q)));
            a_all:   assert (!run || (all_q ? counts_all : !counts_all || (here_q || last_q)));
            // the rows of a layer are done only when all are announced, and as many are listed
            a_done:  assert (!run || !rows_done
                             || (counts_all && (named_q || missing_q == 4'(-4'(lists && !mode_q))
                                                || missing_q == '0)));
            a_rows:  assert (rows_ok);
            a_nums:  assert (nums_ok);
            a_lists: assert (lists_ok);
            a_sweep: assert (sweep_ok);
            a_pipe:  assert (pipe_ok);
            a_none:  assert (none_ok);
            a_here:  assert (here_ok);
            a_handle: assert (!cached_q || (handle_q < epoch && (run || go)));
            c_done:    cover (run && rows_done && !mode_q && expected_q[0] == 3'd2
                              && layers_q != '0);
            c_pushed:  cover (run && rows_done && mode_q && listed_q[1] == 2'd2);
            c_early:   cover (run && listed_q[0] == 2'd1 && expected_q[0] == '0 && !mode_q);
            c_round:   cover (ev_row && layers_q == '1 && epoch == '0 && broken_q);
            c_many:    cover (many_q);
            c_full:    cover (full);
            c_named:   cover (run && rows_done && mode_q && expected_q[0] != '0);
            c_big:     cover (big);
            c_cached:  cover (!Cached || (run && rows_done && cached_q && !mode_q
                                          && expected_q[0] == 3'd2));
            c_more:    cover (!Cached || more);
        end
        {in1_q, le1_q} <= {in, trk_le_i};
        {in2_q, le2_q} <= {in1_q, le1_q};
        pushed_q  <= '{token: push_row_i[5:4], pos: push_row_i[3:0], row: 1'b0};
        push_le_q <= push_le_i;
        want_q    <= list_q[{list_le_i, list_idx_i}];
        stat_q    <= listed_q[stat_le_i];
        stat_expected_q <= named_q ? 3'(listed_q[stat_le_i]) : expected_q[stat_le_i];
    end
endmodule

`default_nettype wire
