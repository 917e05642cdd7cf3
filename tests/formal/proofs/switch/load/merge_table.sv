// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Readers load any row at any time. The home answers anything, in any order, and wrong answers do
// not enter. The proof follows one load of one reader: its row, and its entry, if it has one. It
// also counts the loads of that reader.
`default_nettype none

module prove_merge_table #(
    parameter int unsigned Ways = 1,
    parameter int unsigned Sets = 2,
    parameter bit Keep = 1'b0, // answers are kept, by the model of kept_answers
    localparam int unsigned N = 3,
    localparam int unsigned Others = N - 1,
    localparam int unsigned TokensLog2 = 2,
    localparam int unsigned Open = 3
) (
    input wire logic                  clk_i, go_i, fell_i, sent_i, accept_i, reader_i, follow_i,
                                      kept_i,
    input wire logic [Others-1:0]     lane_i, merge_i, reach_i,
    input wire logic [TokensLog2-1:0] index_i [Others],
    input wire logic [8:0]            limit_i,
    input wire logic [1:0]            wait_i,   // cycles that a FETCH waits for readers
    input wire logic [15:0]           who_i,
    input wire logic [2:0]            row_i,
    input wire logic [1:0]            place_i,  // of the packet in its row, and whether it is short
    input wire logic                  short_i,
    input wire logic [4:0]            choice_i  // of kept answers: see their model
);
    import error_pkg::*;
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.N = N;
        c.TokensLog2 = TokensLog2;
        c.SwitchReductions = 1'b1;
        c.TileReductions = 1'b1;
        c.MergeLoads = 1'b1;
        c.MergeEntries = Ways * Sets;
        c.MergeWays = Ways;
        c.OpenLoads = Open;
        c.MergeKeep = Keep ? 1024 : 0;
        c = cfg_pkg::derived(c);
        c.LoadIndexW = TokensLog2;  // width of the number of a row or part
        return c;
    endfunction
    localparam cfg_pkg::cfg_t Cfg = sizes();
    localparam int unsigned   RowBytes = 256; // two packets

    logic                rst_n, accept, idle, fetch_valid, kept, is_kept;
    logic [Others-1:0]   take, bad, mask, answered;
    err_e                bad_code, code;
    logic [63:0]         upper;
    packet_pkg::header_t head;

    always_comb begin
        head         = '0;
        head.target0 = who_i;
        head.addr    = {37'd0, row_i, place_i[0], 7'd0} | {47'd0, place_i[1]};
        head.len     = short_i ? 15'd64 : 15'd128;
    end
    assign is_kept = kept_i && kept;
    assign accept = accept_i && code == ERR_NONE;

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    merge_table #(.Cfg(Cfg), .Fetches(4), .Spare(1)) i_dut (
        .clk_i, .rst_ni(rst_n), .go_i, .port_i(5'd1), .reach_i, .fell_i, .limit_i,
        .wait_i(Keep ? '0 : 16'(wait_i)),
        .row_bytes_i(15'(RowBytes)), .row_shift_i(4'd8), .lane_i, .lane_merge_i(merge_i),
        .lane_index_i(index_i), .take_o(take), .bad_o(bad), .bad_code_o(bad_code),
        .fetch_valid_o(fetch_valid), .fetch_upper_o(upper), .fetch_sent_i(sent_i && fetch_valid),
        .answer_i(head), .answer_mask_o(mask), .answer_code_o(code), .answer_accept_i(accept),
        .answered_o(answered), .keep_i(Keep), .epoch_i('0), .answer_kept_i(is_kept), .flit_i(1'b0),
        .flit_bad_i(1'b0), .flit_last_i(1'b0), .flit_data_i(Cfg.FlitW'(choice_i)), .kept_o(kept),
        .kept_last_o(), .kept_data_o(), .kept_take_i(accept && is_kept), .kept_may_i(1'b1),
        .kept_use_o(), .kept_idle_o(),
        .count_o(), .count_idx_i('0), .idle_o(idle)
    );

    // ---- lanes stay until they are taken; in the cycle of go no lane and no answer comes ----
    logic [Others-1:0]     lane_q, merge_q;
    logic [TokensLog2-1:0] index_q [Others];
    logic                  reader_q;
    always_ff @(posedge clk_i) begin
        lane_q   <= rst_n ? lane_i & ~take : '0;
        merge_q  <= merge_i;
        index_q  <= index_i;
        reader_q <= reader_i;
    end
    always_comb begin
        if (rst_n) assume (reader_i == reader_q);
        assume ((lane_q & ~lane_i) == '0);
        for (int unsigned s = 0; s < Others; s++)
            if (lane_q[s]) assume (index_i[s] == index_q[s] && merge_i[s] == merge_q[s]);
        if (!rst_n || go_i) assume (lane_i == '0 && take == '0 && !accept_i);
    end

    // ---- a FETCH waits for readers for a limited time, from when it became the oldest ----
    logic [1:0] wait_q;
    logic [2:0] waited_q;
    always_ff @(posedge clk_i) begin
        wait_q <= wait_i;
        if (!rst_n || go_i || !i_dut.fetch_there || fetch_valid) waited_q <= '0;
        else waited_q <= waited_q + 3'd1;
    end
    always_comb if (rst_n && !go_i) assume (wait_i == wait_q);

    // ---- the reader's loads: its window allows at most Open of them ----
    logic                  comes, loads, ends, ended_q, is_last;
    logic [TokensLog2-1:0] row;
    logic [2:0]            open_q;

    assign comes   = take[reader_i];
    assign row     = index_i[reader_i];
    assign loads   = i_dut.good && i_dut.from_q[reader_i];
    assign is_last = head.addr[7];
    assign ends    = accept && (is_last || is_kept) && mask[reader_i];
    always_comb if (32'(open_q) == Open) assume (!i_dut.any_lane || !i_dut.choice[reader_i]);

    // ---- the followed load ----
    logic       mine_q, begun_q, alone_q; // it is open; its answer has begun; unused
    logic [1:0] way_q, set_q;
    logic [TokensLog2-1:0] mine_row_q;
    logic       of_mine;  // the packet is of its answer
    logic [1:0] way;
    logic       follow;

    always_comb begin
        way = '0;
        for (int unsigned w = 0; w < Ways; w++) if (i_dut.way[w]) way = 2'(w);
    end
    assign follow  = loads && follow_i && !mine_q && i_dut.we;
    assign of_mine = mine_q && !is_kept && !who_i[15]
                     && who_i == 16'(way_q) * 16'(Sets) + 16'(set_q);

    // Entries whose answer has begun.
    logic [Ways*Sets-1:0] begun_entry_q, begun;
    logic [1:0]           entry;
    assign entry = 2'(way) * 2'(Sets) + 2'(i_dut.set);
    assign begun = begun_entry_q
                   | ((accept && !is_kept && !who_i[15]) ? (Ways*Sets)'(1) << who_i : '0);
    always_ff @(posedge clk_i)
        begun_entry_q <= begun & ~(i_dut.makes ? (Ways*Sets)'(1) << entry : '0);

    always_ff @(posedge clk_i) begin
        ended_q <= rst_n && ends;
        if (!rst_n || go_i) begin
            open_q <= '0;
            mine_q <= 1'b0;
        end else begin
            open_q <= open_q + 3'(loads) - 3'(ends);
            if (follow) begin
                mine_q     <= 1'b1;
                begun_q    <= 1'b0;
                {way_q, set_q, mine_row_q} <= {way, 2'(i_dut.set), row};
            end else if (of_mine && accept) begin
                begun_q <= 1'b1;
                if (is_last) mine_q <= 1'b0;
            end
        end
        if (rst_n && !go_i) begin
            // every packet of its answer is of its row, and goes to the reader
            a_row:   assert (!(of_mine && accept) || (32'(row_i) == 32'(mine_row_q)
                                                     && mask[reader_i]));
            // a load joins no answer that has begun, so that it misses no packet
            a_whole: assert (!(loads && i_dut.joins) || !begun[entry]);
            // no answer without an open load
            a_open:  assert (!ends || open_q != '0);
            a_count: assert (32'(open_q) <= Open);
            // its window gets each end
            a_told:  assert (answered[reader_i] == ended_q);
            a_idle:  assert (!idle || open_q == '0);
            a_stays: assert (!mine_q || i_dut.valid_q[way_q][set_q]);
            // a load waits for exactly one FETCH, of this cycle or earlier, or for one kept row
            a_fetch: assert (!loads || (4'(i_dut.makes) + 4'(i_dut.bypasses) + 4'(i_dut.joins)
                                        + 4'(i_dut.kept)) == 4'd1);
            // a FETCH waits for readers no longer than allowed
            a_wait:  assert (3'(waited_q) <= 3'(wait_i) + 3'd1);
            c_wait:  cover (Keep ||
                            (waited_q == 3'd3 && i_dut.fetch_full && i_dut.level == 3'd1));
            a_place: assert (!(i_dut.makes || i_dut.bypasses) || i_dut.fetch_room);
            a_twice: assert (!(comes && mine_q && !begun_q && i_dut.merge_q && row == mine_row_q
                               && !of_mine) || !loads);
            c_join:  cover (follow && i_dut.joins);
            c_other: cover (mine_q && begun_q && loads && row == mine_row_q);
            c_past:  cover (i_dut.bypasses && mine_q && loads);
            c_end:   cover (of_mine && ends);
            c_kept:  cover (!Keep || (is_kept && ends && mine_q));
        end
    end

    wire unused = &{1'b0, bad, bad_code, upper, alone_q};

    // While its window has room, a lane waits for at most 2 Others other choices.
    f_fair #(.Bound(2 * Others)) i_fair (
        .clk_i, .rst_ni(rst_n), .wait_i(lane_i[reader_i] && !take[reader_i] && 32'(open_q) < Open),
        .served_i(i_dut.any_lane && i_dut.choice[reader_i]), .other_i(i_dut.any_lane)
    );
endmodule

`default_nettype wire
