// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// row_tracker beside a count of bytes for each row and a list for each expert: two experts of two rows, seven bytes each. Swept once, one layer.
`default_nettype none

module prove_row_tracker #(
    localparam int unsigned TokenW  = node_pkg::TokenW,
    localparam int unsigned RowW    = node_pkg::RowW,
    localparam int unsigned ExpertW = node_pkg::ExpertW
) (
    input wire logic       clk_i, trk_valid_i, trk_le_i, trk_row_i, list_valid_i, list_le_i, list_idx_i, stat_le_i,
    input wire logic [1:0] trk_token_i,
    input wire logic [3:0] trk_pos_i, trk_bytes_i
);
    localparam int unsigned Rows = 4, Bytes = 7;

    logic rst_n, sweep_busy, ev_row, list_rvalid, err_valid, idle, counts_all, rows_done, push_ready;
    logic [RowW-1:0]     stat_complete, stat_expected, list_row;
    logic [TokenW-1:0]   list_token;
    logic [3:0]          list_pos;
    error_pkg::err_e     err_code;
    node_pkg::node_cfg_t cfg;
    logic [1:0]          since_q;     // cycles since reset: sweep, go behind it
    logic                started_q;

    always_comb begin
        cfg           = '0;
        cfg.epoch     = 2'd1;
        cfg.k         = 5'd1;
        cfg.row_bytes = 15'(Bytes - 4);
        cfg.cap_shift = 5'd1;
    end

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    always_ff @(posedge clk_i) begin
        if (!rst_n) since_q <= '0;
        else if (since_q != '1) since_q <= since_q + 1'b1;
        started_q <= rst_n && (started_q || (since_q == '1 && !sweep_busy));
    end

    row_tracker #(.N(2), .TokensLog2(1), .RowsLog2(2), .MaxLocalExperts(2), .LeftW(4)) i_dut (
        .clk_i, .rst_ni(rst_n), .go_i(rst_n && since_q == 2'd1), .cfg_i(cfg), .sweep_i(rst_n && since_q == '0), .sweep_busy_o(sweep_busy),
        .trk_valid_i, .trk_le_i(ExpertW'(trk_le_i)), .trk_row_i(RowW'(trk_row_i)), .trk_token_i(TokenW'(trk_token_i)), .trk_pos_i, .trk_bytes_i(8'(trk_bytes_i)),
        .exp_valid_i(1'b0), .exp_kind_i(1'b0), .exp_idx_i('0), .exp_val_i('0), .exp_last_i(1'b0),
        .push_valid_i(1'b0), .push_ready_o(push_ready), .push_le_i('0), .push_row_i('0), .push_last_i(1'b0),
        .stat_le_i(ExpertW'(stat_le_i)), .stat_complete_o(stat_complete), .stat_expected_o(stat_expected), .counts_all_o(counts_all), .rows_done_o(rows_done), .ev_row_o(ev_row),
        .list_valid_i, .list_le_i(ExpertW'(list_le_i)), .list_idx_i(RowW'(list_idx_i)), .list_rvalid_o(list_rvalid), .list_row_o(list_row),
        .list_token_o(list_token), .list_pos_o(list_pos), .err_valid_o(err_valid), .err_code_o(err_code), .idle_o(idle)
    );

    // ---- what it should know ----
    typedef struct packed {
        logic       row;
        logic [1:0] token;
        logic [3:0] pos;
    } entry_t;

    logic [3:0] left_q [Rows];
    entry_t     list_q [Rows];      // by {expert, place}
    logic [1:0] listed_q [2];       // rows in each list
    logic [1:0] at;
    logic       ends, many, end1_q, end2_q, many_q, le1_q, le2_q, asked_q;
    entry_t     in, in1_q, in2_q, want_q;
    logic [1:0] stat_q;

    assign at   = {trk_le_i, trk_row_i};
    assign ends = trk_valid_i && trk_bytes_i == left_q[at];
    assign many = trk_valid_i && trk_bytes_i > left_q[at];
    assign in   = '{row: trk_row_i, token: trk_token_i, pos: trk_pos_i};

    logic busy_q;  // trk_valid_i in the cycle before
    always_comb begin
        if (!started_q) assume (!trk_valid_i && !list_valid_i);
        if (busy_q) assume (!trk_valid_i);
        if (trk_valid_i) assume (trk_bytes_i != '0 && trk_bytes_i <= 4'd8);
        if (list_valid_i) assume (2'(list_idx_i) < listed_q[list_le_i]);
    end

    always_ff @(posedge clk_i) begin
        busy_q <= rst_n && trk_valid_i;
        if (!rst_n) begin
            for (int unsigned r = 0; r < Rows; r++) left_q[r] <= 4'(Bytes);
            for (int unsigned e = 0; e < 2; e++) listed_q[e] <= '0;
            end1_q  <= 1'b0;
            end2_q  <= 1'b0;
            many_q  <= 1'b0;
            asked_q <= 1'b0;
        end else begin
            if (trk_valid_i) left_q[at] <= many ? '0 : left_q[at] - trk_bytes_i;
            end1_q  <= ends;
            end2_q  <= end1_q;
            many_q  <= many;
            asked_q <= list_valid_i;
            if (end2_q) begin
                list_q[{le2_q, listed_q[le2_q][0]}] <= in2_q;
                listed_q[le2_q] <= listed_q[le2_q] + 1'b1;
            end
            a_event: assert (ev_row == end2_q);                          // with a row's last byte, once
            a_many:  assert (err_valid == many_q);                       // more bytes than the row has
            a_code:  assert (!err_valid || err_code == error_pkg::ERR_COUNT);
            a_list:  assert (list_rvalid == asked_q && (!asked_q || (list_row == RowW'(want_q.row) && list_token == TokenW'(want_q.token) && list_pos == want_q.pos)));
            a_stat:  assert (!started_q || stat_complete == RowW'(stat_q));
        end
        {in1_q, le1_q} <= {in, trk_le_i};
        {in2_q, le2_q} <= {in1_q, le1_q};
        want_q <= list_q[{list_le_i, list_idx_i}];
        stat_q <= listed_q[stat_le_i];
    end

    logic unused;
    assign unused = ^{idle, counts_all, rows_done, push_ready, stat_expected};
endmodule

`default_nettype wire
