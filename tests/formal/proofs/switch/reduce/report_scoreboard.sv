// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The proof has the expected state of one token, over any number of layers. Before the first one
// the table holds anything. Entries come at most once in two cycles. Lanes come from any source for
// any token at any time. The port may be down at any time. A layer ends whenever the table is idle,
// also with incomplete rows. With tile reductions all rows have the same members.
`default_nettype none
`include "bundles.svh"

module prove_report_scoreboard #(
    parameter int unsigned TokensLog2 = 1,
    parameter int unsigned TokenShift = TokensLog2,  // fewer tokens are used
    parameter bit          TileReductions = 1'b0,
    localparam int unsigned N = 3,
    localparam int unsigned Tokens = 2**TokensLog2
) (
    input wire logic                  clk_i, layer_i, down_i, entry_i, mine_i, own_i, row_take_i,
    input wire logic [1:0]            cnt_i, members_i,
    input wire logic [TokensLog2-1:0] entry_index_i, one_i,  // the token that is followed
    input wire logic [N-1:0]          lane_i, source_i,      // the source that is followed
    input wire logic [1:0]            all_i, // members of every row with tile reductions
    input wire logic [TokensLog2-1:0] lane_index_i [N]
);
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.N = N;
        c.TokensLog2 = TokensLog2;
        c.SwitchReductions = 1'b1;
        c.TileReductions = TileReductions;
        return cfg_pkg::derived(c);
    endfunction
    localparam cfg_pkg::cfg_t Cfg = sizes();

    logic                  rst_n, idle, sweep_busy, sweep, go, run, fell;
    logic [1:0]            epoch;
    `MW_OPENED(Cfg)        row;
    logic [N-1:0]          take, bad;
    bundle_pkg::error_t    err;
    `MW_ENTRY(Cfg)         entry;

    always_comb begin
        entry       = '0;
        entry.valid = entry_i;
        entry.mine  = mine_i;
        entry.own   = own_i;
        entry.cnt   = 5'(cnt_i);
        entry.index = entry_index_i;
    end

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    f_layers i_layers (
        .clk_i, .rst_ni(rst_n), .end_i(layer_i), .idle_i(idle),
        .sweep_busy_i(sweep_busy), .sweep_o(sweep), .go_o(go),
        .sweeping_o(), .run_o(run), .ends_o(), .epoch_o(epoch)
    );
    report_scoreboard #(.Cfg(Cfg)) i_dut (
        .clk_i, .rst_ni(rst_n), .go_i(go), .epoch_i(epoch),
        .sweep_i(sweep), .sweep_busy_o(sweep_busy),
        .token_shift_i(4'(TokenShift)), .down_i,
        .fell_o(fell), .tiles_i('{valid: TileReductions, members: all_i}),
        .entry_i(entry), .members_i, .lane_i, .lane_index_i,
        .take_o(take), .bad_o(bad),
        .row_o(row), .row_take_i(row_take_i && row.valid), .err_o(err),
        .idle_o(idle)
    );

    // ---- lanes stay until they are taken ----
    logic [N-1:0]          lane_q, source_q;
    logic [TokensLog2-1:0] lane_index_q [N];
    logic [TokensLog2-1:0] one_q;
    logic                  entry_valid_q;
    logic [1:0]            all_q;
    always_ff @(posedge clk_i) begin
        lane_q        <= rst_n ? lane_i & ~take : '0;
        lane_index_q  <= lane_index_i;
        one_q         <= one_i;
        source_q      <= source_i;
        all_q         <= all_i;
        entry_valid_q <= rst_n && entry_i;
    end
    always_comb begin
        assume (source_i != '0 && (source_i & (source_i - 1'b1)) == '0);
        if (rst_n) assume (one_i == one_q && source_i == source_q && all_i == all_q);
        assume ((lane_q & ~lane_i) == '0);
        for (int unsigned s = 0; s < N; s++)
            if (lane_q[s]) assume (lane_index_i[s] == lane_index_q[s]);
        if (!rst_n || !run || layer_i) assume (!entry_i && lane_i == '0);
        for (int unsigned s = 0; s < N; s++)
            if (lane_i[s]) assume (lane_index_i[s] >> TokenShift == '0);
        if (entry_i && mine_i) assume (entry_index_i >> TokenShift == '0);
        assume (one_i >> TokenShift == '0);
        assume (!(entry_i && entry_valid_q));
        if (entry_i) assume (members_i != '0 && cnt_i != '0);
    end

    // ---- events of the token: an entry one cycle later, a lane when it is taken ----
    logic                  said, mine_q, own_q, of_own, good, complete;
    logic [1:0]            cnt_q, members_q;
    logic [TokensLog2-1:0] said_index, index_q;
    logic [N-1:0]          from;

    always_ff @(posedge clk_i) begin
        {mine_q, own_q, cnt_q, members_q, index_q} <= {mine_i, own_i, cnt_i, members_i,
                                                       entry_index_i};
    end
    always_comb begin
        said_index = entry_valid_q ? index_q : '0;
        for (int unsigned s = 0; s < N; s++) said_index |= take[s] ? lane_index_i[s] : '0;
    end
    assign from   = take;
    assign of_own = take[N-1];
    assign said   = (entry_valid_q || take != '0) && said_index == one_i && !fell;

    logic       wanted_q, wait_own_q, early_q;
    logic [1:0] set_q, left_q;
    logic [N-1:0] missing_q; // with tile reductions, of sources

    always_comb begin
        if (TileReductions) good = !entry_valid_q && (from & missing_q) != '0;
        else if (entry_valid_q) good = mine_q && !wanted_q && (own_q || !early_q);
        else if (of_own)   good = wanted_q ? wait_own_q : !early_q;
        else               good = wanted_q && left_q != '0 && (from[1:0] & set_q) != '0;
    end
    assign complete = said && good && !entry_valid_q
                      && (TileReductions ? missing_q == from
                          : wanted_q && (of_own ? left_q == '0 : left_q == 2'd1 && !wait_own_q));

    logic         pends_q, pends_qq;   // it is ready to open, and has not been taken
    logic         notified_q;          // it was ready to open in this layer
    logic [1:0]   others_q;            // others taken before it
    logic [N-1:0] bad_q;
    logic         bad_known_q, err_q, mine_qq;

    always_ff @(posedge clk_i) begin
        bad_known_q <= rst_n && (said || (!entry_valid_q && take == '0) || fell);
        bad_q       <= (said && !good && !entry_valid_q) ? from : '0;
        err_q       <= rst_n && said && !good && entry_valid_q;
        mine_qq     <= mine_q;
        if (!rst_n || go) begin
            {wanted_q, wait_own_q, early_q, set_q, left_q} <= '0;
            {pends_q, notified_q} <= '0;
            missing_q <= {all_i != '0, all_i};
        end else begin
            if (said && good) begin
                missing_q <= missing_q & ~from;
                if (entry_valid_q) begin
                    {wanted_q, early_q} <= 2'b10;
                    wait_own_q <= own_q && !early_q;
                    set_q      <= members_q;
                    left_q     <= cnt_q;
                end else if (!of_own) left_q <= left_q - 2'd1;
                else if (wanted_q)    wait_own_q <= 1'b0;
                else                  early_q <= 1'b1;
            end
            if (complete) begin
                pends_q  <= 1'b1;
                notified_q <= 1'b1;
                others_q <= '0;
            end else if (row.valid && row_take_i) begin
                if (row.index == one_i) pends_q <= 1'b0;
                others_q <= others_q + 2'd1;
            end
            if (fell) pends_q <= 1'b0;
        end
        pends_qq <= rst_n && pends_q && !fell;

        if (rst_n) begin
            // a row is ready to open once, when all have reported
            a_once:    assert (!(complete && notified_q));
            a_ready:   assert (!row.valid || row.index != one_i || pends_q);
            a_members: assert (!row.valid || row.index != one_i || row.members
                               == (TileReductions ? all_i : set_q));
            a_here:    assert (!(pends_q && pends_qq && !fell) || row.valid);
            a_turn:    assert (!pends_q || fell || 32'(others_q) < Tokens);
            // errors are those of events of this token, and no others
            a_bad:     assert (!bad_known_q || bad == bad_q);
            a_err:     assert (!err_q
                               || (err.valid && err.code == (mine_qq ? error_pkg::ERR_COUNT
                                                             : error_pkg::ERR_BOUNDS)));
            a_idle:    assert (!idle || (!row.valid && bad == '0 && !err.valid && take == '0));
            a_idle_ready: assert (!idle || !pends_q || fell);
            c_ready:   cover (row.valid && row.index == one_i && epoch == 2'd1);
            c_early:   cover (TileReductions || (said && good && entry_valid_q && early_q));
            c_fell:    cover (pends_q && fell);
            c_near:    cover (complete && bad_q != '0);
        end
    end

    // A lane waits for one of each other source, and for as many entries.
    f_fair #(.Bound(2 * N)) i_fair (
        .clk_i, .rst_ni(rst_n), .wait_i((lane_i & source_i) != '0 && (take & source_i) == '0),
        .served_i(i_dut.any_lane && (i_dut.choice & source_i) != '0), .other_i(1'b1)
    );
endmodule

`default_nettype wire
