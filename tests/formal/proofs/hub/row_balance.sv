// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Sources send their copy counts, each once and in any order, and rows end at any time. Layers
// begin at any time, and some use the counts of the previous one. The proof follows one GPU: its
// counts, and the products of the comparison that begins for it.
`default_nettype none

module prove_row_balance #(
    parameter bit Cached = 1'b1
) (
    input wire logic               clk_i, go_i, cached_i, on_i,
    input wire bundle_pkg::count_t cnt_i,
    input wire bundle_pkg::port_t  done_i,
    input wire logic [1:0]         one_i
);
    localparam int unsigned N = 3, Own = 1, TokensLog2 = 1;
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.N = N;
        c.TokensLog2 = TokensLog2;
        c.CachedHandle = Cached;
        c.BalanceRows = 1'b1;
        return cfg_pkg::derived(c);
    endfunction
    localparam cfg_pkg::cfg_t Cfg = sizes();

    logic                rst_n, here, count, anew;
    logic [1:0]          one_q;
    logic [N-1:0]        behind, copied_q;
    node_pkg::node_cfg_t cfg;
    logic                on_q;

    always_comb begin
        cfg              = '0;
        cfg.port         = packet_pkg::port_t'(Own);
        cfg.cached       = cached_i;
        cfg.balance_rows = on_q;
    end

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    row_balance #(.Cfg(Cfg)) i_dut (
        .clk_i, .rst_ni(rst_n), .go_i, .cfg_i(cfg), .cnt_i, .copies_here_i(here), .done_i,
        .behind_o(behind)
    );

    // ---- counts, see count_once; events ----
    assign here  = copied_q == '1;
    assign anew  = go_i && !(Cached && cached_i);
    assign count = cnt_i.valid && cnt_i.kind && cnt_i.idx == packet_pkg::port_t'(Own);
    always_comb begin
        assume (one_i < 2'(N));
        if (rst_n) assume (one_i == one_q);
        assume (32'(cnt_i.src) < N && 32'(done_i.port) < N);
        if (cnt_i.valid) assume (!go_i);
        if (count) assume (!copied_q[cnt_i.src[1:0]] && cnt_i.val <= 32'd1 << TokensLog2);
        if (done_i.valid) assume (done_i.port != packet_pkg::port_t'(Own));
    end

    // ---- the followed GPU, and all ----
    localparam int unsigned Last = 2 ** (TokensLog2 + 1) - 1;
    logic [TokensLog2:0] rows_q, done_q;       // of one_i
    logic [TokensLog2:0] other_rows_q, other_done_q;
    logic [4:0]          rows_all, done_all;
    logic                due_q;                // must be, by the comparison that has begun
    logic                compares_q;
    assign rows_all = 5'(rows_q) + 5'(other_rows_q);
    assign done_all = 5'(done_q) + 5'(other_done_q);

    // One GPU is followed, another has rows, too. For the own one both are others.
    logic [1:0] other;
    assign other = (one_i == 2'd0) ? 2'd2 : 2'd0;
    always_ff @(posedge clk_i) begin
        one_q <= one_i;
        on_q  <= (rst_n && !go_i) ? on_q : on_i;
        if (!rst_n || anew) copied_q <= '0;
        else if (count) copied_q[cnt_i.src[1:0]] <= 1'b1;
        if (!rst_n || anew) begin
            {rows_q, other_rows_q} <= '0;
        end else if (count) begin
            if (cnt_i.src[1:0] == one_i && 32'(one_i) != Own) rows_q <= cnt_i.val[TokensLog2:0];
            if (cnt_i.src[1:0] == other) other_rows_q <= cnt_i.val[TokensLog2:0];
        end
        if (!rst_n || go_i) begin
            {done_q, other_done_q} <= '0;
        end else if (done_i.valid) begin
            if (done_i.port[1:0] == one_i && 32'(done_q) != Last) done_q <= done_q + 1'b1;
            if (done_i.port[1:0] == other && 32'(other_done_q) != Last)
                other_done_q <= other_done_q + 1'b1;
        end
        if (!rst_n || go_i) begin
            compares_q <= 1'b0;
        end else if (i_dut.start && i_dut.gpu_q == one_i) begin
            compares_q <= 1'b1;
            due_q <= 32'(done_all) * 32'(rows_q) > 32'(done_q) * 32'(rows_all);
        end
    end

    logic mark_q, compared;
    assign compared = i_dut.busy_q && i_dut.last_bit && i_dut.gpu_q == one_i;
    always_ff @(posedge clk_i) begin
        // the mark as it must be
        if (!rst_n || go_i) mark_q <= 1'b0;
        else if (compared) mark_q <= due_q;
        if (rst_n && 32'(one_i) != Own) begin
            a_mark:    assert (behind[one_i] == mark_q);
            a_counted: assert (!behind[one_i] || (on_q && here && rows_q != '0));
            c_marked:  cover (behind[one_i] && done_q != '0 && cached_i);
            c_cleared: cover (!behind[one_i] && compared && due_q == 1'b0 && done_q != '0);
        end
        if (rst_n) begin
            a_own:     assert (!behind[Own]);
            l_busy:    assert (!compared || compares_q);
        end
    end
endmodule

`default_nettype wire
