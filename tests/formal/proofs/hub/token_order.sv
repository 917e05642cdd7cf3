// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// `order` and ranges come at any time. Each token of a range is picked once, and each pick is valid
// within Bound cycles.
`default_nettype none
`include "bundles.svh"

module prove_token_order (
    input  wire logic       clk_i, go_i, sort_i, tok_i, sorted_i, begin_i, take_i,
    input  wire logic [1:0] gpus_i,
    input  wire logic       hot_i,
    input  wire logic [2:0] sort_first_i, sort_stop_i, begin_first_i, begin_stop_i
);
    localparam int unsigned T = 2;
    localparam int unsigned Bound = 30;
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.N = 2;
        c.TokensLog2 = T;
        return cfg_pkg::derived(c);
    endfunction
    localparam cfg_pkg::cfg_t Cfg = sizes();

    logic            rst_n, ready, taken, sorting_q, hot_q;
    logic [Cfg.GpuW-1:0] hot [1];
    logic [T:0]      left_q, first_q, stop_q, open_q;  // tokens to sort; the current range; its
                                                       // remaining tokens
    logic [2**T-1:0] given_q;
    logic [4:0]      waited_q;
    `MW_PICK(Cfg)    pick;

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    assign hot[0] = hot_i;
    assign taken  = take_i && pick.valid;
    token_order #(.Cfg(Cfg), .Hot(1)) i_dut (
        .clk_i, .rst_ni(rst_n), .go_i, .hot_i(hot),
        .sort_i('{valid: sort_i, first: sort_first_i, stop: sort_stop_i}), .ready_o(ready),
        .tok_i('{valid: tok_i, gpus: gpus_i}), .sorted_i,
        .begin_i('{valid: begin_i, first: begin_first_i, stop: begin_stop_i}),
        .pick_o(pick), .take_i(taken)
    );

    always_ff @(posedge clk_i) begin
        hot_q <= hot_i;
        if (!rst_n || go_i) begin
            sorting_q <= 1'b0;
            left_q    <= '0;
            open_q    <= '0;
            waited_q  <= '0;
        end else begin
            if (sort_i) begin
                sorting_q <= 1'b1;
                left_q    <= sort_stop_i - sort_first_i;
            end else begin
                if (sorted_i) sorting_q <= 1'b0;
                if (tok_i) left_q <= left_q - 1'b1;
            end
            if (begin_i) begin
                first_q <= begin_first_i;
                stop_q  <= begin_stop_i;
                open_q  <= begin_stop_i - begin_first_i;
                given_q <= '0;
            end else if (taken) begin
                open_q              <= open_q - 1'b1;
                given_q[pick.token] <= 1'b1;
            end
            waited_q <= (open_q == '0 || pick.valid || begin_i) ? '0 : waited_q + 1'b1;
        end
    end
    always_comb begin
        if (!rst_n) assume (!sort_i && !tok_i && !sorted_i && !begin_i);
        if (sort_i) begin
            assume (!sorting_q && sort_first_i <= sort_stop_i && sort_stop_i <= 3'd4);
        end
        if (tok_i) assume (sorting_q && ready && left_q != '0);
        if (sorted_i) assume (sorting_q && ready && left_q == 3'(tok_i));
        if (sorting_q) assume (hot_i == hot_q);
        if (begin_i) begin
            assume (open_q == '0 && begin_first_i <= begin_stop_i && begin_stop_i <= 3'd4);
        end
    end

    always_ff @(posedge clk_i) begin
        if (rst_n && !go_i) begin
            a_open:  assert (!pick.valid || open_q != '0);
            a_range: assert (!pick.valid || (3'(pick.token) >= first_q && 3'(pick.token) < stop_q));
            a_once:  assert (!pick.valid || !given_q[pick.token]);
            a_there: assert (waited_q <= 5'(Bound - 1));
            c_start: cover (sort_i);
            c_order: cover (taken && open_q == 3'd4 && pick.token == 2'd1);
        end
    end
endmodule

`default_nettype wire
