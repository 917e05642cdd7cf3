// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// allocator in front of a memory that lets it wait as it likes: one expert with two rows, four tokens. What the first answer about a token says is
// kept, and every later one is compared with it. Swept once, one layer.
`default_nettype none

module prove_allocator #(
    localparam int unsigned TokenW  = node_pkg::TokenW,
    localparam int unsigned RowW    = node_pkg::RowW,
    localparam int unsigned ExpertW = node_pkg::ExpertW
) (
    input wire logic            clk_i, start_i, rd_ready_i, wr_ready_i, answer_i,
    input wire logic [1:0]      valid_i,
    input wire logic [1:0][1:0] token_i
);
    localparam int unsigned Tokens = 4, Misses = 2;

    logic                rst_n, sweep_busy, miss, err, fill, busy, rd_valid, wr_valid, rd_answer, hit_pulse, miss_pulse, idle, started_q, swept_q;
    logic [RowW-1:0]     row;
    logic [1:0]          rd_addr, wr_addr;
    logic [63:0]         rd_data, wr_data;
    logic [7:0]          wr_be;
    logic                req_valid [2], req_ready [2], req_alloc [2], resp_valid [2];
    logic [ExpertW-1:0]  req_le [2];
    logic [TokenW-1:0]   req_token [2];
    node_pkg::node_cfg_t cfg;

    always_comb begin
        cfg               = '0;
        cfg.epoch         = 2'd1;
        cfg.token_shift   = 4'd1;
        cfg.n_shift       = 3'd1;
        cfg.local_experts = 7'd1;
        cfg.cap_shift     = 5'd1;
        for (int unsigned c = 0; c < 2; c++) begin
            req_valid[c] = valid_i[c] && started_q;
            req_le[c]    = '0;
            req_token[c] = TokenW'(token_i[c]);
            req_alloc[c] = c == 0;
        end
    end

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    always_ff @(posedge clk_i) begin
        swept_q   <= rst_n;                                       // the sweep begins in the first cycle
        started_q <= rst_n && (started_q || (swept_q && !sweep_busy));
    end

    allocator #(.N(2), .FlitBytes(8), .AddrW(2), .TokensLog2(1), .RowsLog2(2), .MaxLocalExperts(1), .CacheEntries(16), .Misses(Misses)) i_dut (
        .clk_i, .rst_ni(rst_n), .cfg_i(cfg), .sweep_i(rst_n && !swept_q), .sweep_busy_o(sweep_busy),
        .req_valid_i(req_valid), .req_ready_o(req_ready), .req_le_i(req_le), .req_token_i(req_token), .req_alloc_i(req_alloc), .req_start_i(start_i), .req_retry_i(1'b0),
        .resp_valid_o(resp_valid), .resp_row_o(row), .resp_miss_o(miss), .resp_err_o(err), .fill_o(fill), .busy_o(busy),
        .alm_rd_valid_o(rd_valid), .alm_rd_ready_i(rd_ready_i), .alm_rd_addr_o(rd_addr), .alm_rd_rvalid_i(rd_answer), .alm_rd_rdata_i(rd_data),
        .alm_wr_valid_o(wr_valid), .alm_wr_ready_i(wr_ready_i), .alm_wr_addr_o(wr_addr), .alm_wr_data_o(wr_data), .alm_wr_be_o(wr_be),
        .hit_o(hit_pulse), .miss_o(miss_pulse), .idle_o(idle)
    );

    // ---- memory: of each entry {valid, epoch, row}; reads are answered in order, with what was there when they were granted ----
    typedef logic [4:0] entry_t;
    entry_t     mem_q [Tokens];
    logic [9:0] queue_q [Misses];
    logic [1:0] queued_q;
    logic       grant;

    assign grant     = rd_valid && rd_ready_i;
    assign rd_answer = rst_n && answer_i && queued_q != '0;
    assign rd_data   = {queue_q[0][9:7], 27'd0, queue_q[0][6:5], queue_q[0][4:2], 27'd0, queue_q[0][1:0]};

    always_ff @(posedge clk_i) begin
        if (!rst_n) queued_q <= '0;
        else queued_q <= queued_q + 2'(grant) - 2'(rd_answer);
        if (rd_answer) queue_q[0] <= queue_q[1];
        if (grant) queue_q[(queued_q - 2'(rd_answer) == '0) ? 0 : 1] <= {mem_q[{rd_addr[0], 1'b1}], mem_q[{rd_addr[0], 1'b0}]};
        if (wr_valid && wr_ready_i) begin
            if (wr_be[0]) mem_q[{wr_addr[0], 1'b0}] <= {wr_data[31:29], wr_data[1:0]};
            if (wr_be[4]) mem_q[{wr_addr[0], 1'b1}] <= {wr_data[63:61], wr_data[33:32]};
        end
        if (rst_n) begin
            a_room: assert (!grant || queued_q != 2'(Misses));
            a_addr: assert (!(rd_valid && rd_addr[1]) && !(wr_valid && wr_addr[1]));   // inside the table
        end
    end

    // ---- what was answered ----
    logic [1:0]              open_q;      // a client waits for an answer
    logic [1:0][1:0]         key_q;
    logic [Tokens-1:0]       known_q;     // the token has a row
    logic [Tokens-1:0][1:0]  row_q;
    logic                    got, other;  // a row is told
    logic [1:0]              key;

    assign got = (resp_valid[0] && !miss && !err) || (resp_valid[1] && !err);
    assign key = resp_valid[0] ? key_q[0] : key_q[1];

    always_comb begin
        other = 1'b0;
        for (int unsigned t = 0; t < Tokens; t++) other |= known_q[t] && 2'(t) != key && RowW'(row_q[t]) == row;
        if (!rst_n) assume (valid_i == '0);
        if (open_q[0]) assume (!valid_i[0]);
        if (open_q[1]) assume (!valid_i[1]);
    end

    // the table says the same
    logic [Tokens-1:0] there;
    logic              twice, untold;

    always_comb begin
        twice  = 1'b0;
        untold = 1'b0;
        for (int unsigned t = 0; t < Tokens; t++) there[t] = mem_q[t][4:2] == {1'b1, cfg.epoch};
        for (int unsigned t = 0; t < Tokens; t++) begin
            for (int unsigned u = 0; u < t; u++) twice |= there[t] && there[u] && mem_q[t][1:0] == mem_q[u][1:0];
            twice  |= there[t] && mem_q[t][1];
            untold |= known_q[t] && !(there[t] && mem_q[t][1:0] == row_q[t]);
        end
    end

    always_ff @(posedge clk_i) begin
        if (rst_n && started_q) begin
            a_table: assert (!twice);     // its rows are different ones, and the expert's
            a_told:  assert (!untold);    // what is told stands there
        end
        if (!rst_n) begin
            open_q  <= '0;
            known_q <= '0;
        end else begin
            for (int unsigned c = 0; c < 2; c++) begin
                if (req_valid[c] && req_ready[c]) begin
                    open_q[c] <= 1'b1;
                    key_q[c]  <= token_i[c];
                end else if (resp_valid[c]) begin
                    open_q[c] <= 1'b0;
                end
            end
            if (got) begin
                known_q[key] <= 1'b1;
                row_q[key]   <= row[1:0];
            end
            a_asked:  assert (!(resp_valid[0] && resp_valid[1]) && !(resp_valid[0] && !open_q[0]) && !(resp_valid[1] && !open_q[1]));
            a_same:   assert (!got || !known_q[key] || row == RowW'(row_q[key]));    // a token keeps its row
            a_other:  assert (!got || !other);                                        // and no other has it
            a_inside: assert (!got || row < RowW'(2));
            a_kept:   assert (!(err && known_q[key] && (resp_valid[1] || (resp_valid[0] && !miss))));  // it is never lost
        end
    end

    logic unused;
    assign unused = ^{fill, busy, hit_pulse, miss_pulse, idle, wr_data, wr_be};
endmodule

`default_nettype wire
