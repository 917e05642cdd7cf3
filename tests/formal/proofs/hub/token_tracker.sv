// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The proof keeps a count for each own token, over any number of layers. Each layer has the next
// epoch. Before the first one, and when the epochs wrap, the counts are swept. A layer may end at
// any time with unfinished tokens, as an aborted one does. Signals come for any token at any time,
// armed or not. A finished token is armed again only after combine has taken it. With
// switch-initiated reductions signals from the link are GRANTs, and lanes leave at any time. With
// tile reductions no token is armed, and a token counts 1 from its GRANT on.
`default_nettype none

module prove_token_tracker #(
    parameter int unsigned TokensLog2 = 1,
    parameter bit          SwitchReductions = 1'b0,
    parameter bit          TileReductions = 1'b0, // with SwitchReductions
    localparam int unsigned N       = 2,
    localparam int unsigned Tokens  = 2**TokensLog2,
    localparam int unsigned TokB    = TokensLog2 + 1,
    localparam int unsigned TokenW  = node_pkg::TokenW
) (
    input  wire logic            clk_i, layer_i, arm_valid_i, own_valid_i, sig_valid_i, rdy_ready_i,
    input  wire logic            arm_remote_i, lane_ready_i,
    input  wire logic [TokB-1:0] arm_token_i, own_token_i, sig_token_i,
    input  wire logic [4:0]      arm_count_i
);
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.N = N;
        c.TokensLog2 = TokensLog2;
        c.SwitchReductions = SwitchReductions;
        c.TileReductions = TileReductions;
        return cfg_pkg::derived(c);
    endfunction
    localparam cfg_pkg::cfg_t Cfg = sizes();

    logic rst_n, arm_ready, own_ready, sig_ready, rdy_valid, idle, sweep_busy, ends, run, go, sweep;
    logic [TokensLog2-1:0] rdy_token, lane_token;
    logic                  lane_valid;
    bundle_pkg::error_t    err;
    node_pkg::node_cfg_t   cfg;
    logic [1:0]            epoch;

    always_comb begin
        cfg             = '0;
        cfg.port        = 5'd1;
        cfg.epoch       = epoch;
        cfg.token_shift = 4'(TokensLog2);
        cfg.switch_reductions = SwitchReductions;
        cfg.tile_reductions = TileReductions;
    end

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    f_layers i_layers (
        .clk_i, .rst_ni(rst_n), .end_i(layer_i), .idle_i(idle),
        .sweep_busy_i(sweep_busy), .sweep_o(sweep), .go_o(go),
        .sweeping_o(), .run_o(run), .ends_o(ends), .epoch_o(epoch)
    );

    token_tracker #(.Cfg(Cfg)) i_dut (
        .clk_i, .rst_ni(rst_n), .go_i(go), .cfg_i(cfg), .sweep_i(sweep), .sweep_busy_o(sweep_busy),
        .arm_i('{valid: arm_valid_i, token: TokenW'(arm_token_i), count: arm_count_i,
                 remote: arm_remote_i}), .arm_ready_o(arm_ready),
        .own_i('{valid: own_valid_i, token: TokenW'(own_token_i)}), .own_ready_o(own_ready),
        .sig_i('{valid: sig_valid_i, token: TokenW'(sig_token_i)}), .sig_ready_o(sig_ready),
        .sig_bytes_i('0),
        .rdy_o({rdy_valid, rdy_token}), .rdy_ready_i,
        .lane_o({lane_valid, lane_token}), .lane_ready_i,
        .err_o(err), .idle_o(idle)
    );

    // accepted in this cycle
    logic                  arm, down, grant, ours, waited_now, last_now, end_now, tell_now, err_now,
                           own_now;
    logic [Tokens-1:0]     waits_q;   // a GRANT is missing, too
    logic [Tokens-1:0]     tell_q;    // own experts have finished, lane has not left
    logic [TokB-1:0]       token;
    logic [TokensLog2-1:0] index;
    logic [4:0]            left_q [Tokens];
    logic [Tokens-1:0]     due_q;     // its count is zero, and combine has not taken it
    logic                  err_q, bounds_q;
    logic [1:0]            hidden_q;

    assign arm     = arm_valid_i && arm_ready;
    assign own_now = own_valid_i && own_ready;
    assign down    = own_now || (!SwitchReductions && sig_valid_i && sig_ready);
    assign grant   = SwitchReductions && sig_valid_i && sig_ready;
    assign token   = arm_valid_i ? arm_token_i : own_now ? own_token_i : sig_token_i;
    assign index   = token[TokensLog2-1:0];
    assign ours    = token[TokB-1:TokensLog2] == 1'b1;
    assign waited_now = (TileReductions || waits_q[index]) && left_q[index] == '0; // a GRANT of it
                                                                                   // is expected
    assign last_now = ours && down && left_q[index] == 5'd1;
    assign end_now  = (last_now && !waits_q[index])
                      || (ours && arm && arm_count_i == '0 && !(SwitchReductions && arm_remote_i))
                      || (ours && grant && waited_now);
    assign tell_now = last_now && waits_q[index];
    assign err_now  = (arm && !ours) || (down && (!ours || left_q[index] == '0))
                      || (grant && !(ours && waited_now));

    always_comb begin
        if (!rst_n || !run || layer_i) assume (!arm_valid_i && !own_valid_i && !sig_valid_i);
        if (TileReductions) assume (!arm_valid_i && !own_valid_i);
        if (!TileReductions && arm_valid_i && arm_token_i[TokB-1])
            assume (!due_q[arm_token_i[TokensLog2-1:0]]);
        if (!TileReductions && arm_valid_i && arm_token_i[TokB-1])
            assume (!tell_q[arm_token_i[TokensLog2-1:0]]);
        if (sig_valid_i && SwitchReductions && sig_token_i[TokB-1])
            assume (!tell_q[sig_token_i[TokensLog2-1:0]]);
    end

    // ---- the table ----
    // Entries of this epoch are the counts. Entries of later epochs, from before a sweep, are zero.
    typedef struct packed {
        logic [1:0] epoch;
        logic [4:0] left;
    } entry_t;
    entry_t entry;
    logic   counts, waited;
    logic [7:0] word [Tokens];   // {waits, entry}

    for (genvar t = 0; t < Tokens; t++) begin : gen_word
        if (SwitchReductions)
            assign word[t] = i_dut.gen_by_switch.i_left.gen_lut.i_ram.gen_bank[0].i_ram.mem[t];
        else            assign word[t] =
            8'(i_dut.gen_alone.i_left.gen_lut.i_ram.gen_bank[0].i_ram.mem[t]);
    end

    always_comb begin
        counts = 1'b1;
        for (int unsigned t = 0; t < Tokens; t++) begin
            {waited, entry} = word[t];
            if (i_dut.take_q && i_dut.mine_q && i_dut.index_q == TokensLog2'(t)) begin
                counts &= i_dut.left == left_q[t] && i_dut.held == waits_q[t]
                          && (i_dut.arm_q || {i_dut.entry, i_dut.waits}
                              == {entry, entry.epoch == epoch && waited})
                          && (entry.epoch <= epoch || (entry.left == '0 && !waited));
            end else if (run) begin
                counts &= ((entry.epoch == epoch) ? {waited, entry.left} : 6'd0)
                          == {waits_q[t], left_q[t]}
                          && (entry.epoch <= epoch || (entry.left == '0 && !waited));
            end else if (go) begin
                counts &= entry.epoch < epoch || (entry.left == '0 && !waited);
            end else if (sweep_busy && TokensLog2'(t) < i_dut.index_q) begin
                counts &= entry.left == '0 && !waited;
            end
        end
        counts &= run || !i_dut.take_q;
    end

    logic [1:0] layers_q;
    logic       broken_q;   // an earlier layer had a token left
    always_ff @(posedge clk_i) begin
        if (!rst_n) begin
            for (int unsigned t = 0; t < Tokens; t++) left_q[t] <= '0;
            due_q    <= '0;
            waits_q  <= '0;
            tell_q   <= '0;
            err_q    <= 1'b0;
            hidden_q <= '0;
            layers_q <= '0;
            broken_q <= 1'b0;
        end else begin
            if (arm && ours) left_q[index] <= arm_count_i;
            else if (TileReductions && grant && ours) left_q[index] <= 5'd1;
            else if (down && ours && left_q[index] != '0) left_q[index] <= left_q[index] - 1'b1;
            if (arm && ours) waits_q[index] <= SwitchReductions && arm_remote_i;
            else if (end_now) waits_q[index] <= 1'b0;
            if (lane_valid && lane_ready_i) tell_q[lane_token] <= 1'b0;
            if (tell_now) tell_q[index] <= 1'b1;
            if (rdy_valid && rdy_ready_i) due_q[rdy_token] <= 1'b0;
            if (end_now) due_q[index] <= 1'b1;
            err_q    <= err_now;
            hidden_q <= (due_q == '0 || rdy_valid) ? '0 : hidden_q + 1'b1;
            if (!run || ends) begin
                for (int unsigned t = 0; t < Tokens; t++) left_q[t] <= '0;
                due_q    <= '0;
                waits_q  <= '0;
                hidden_q <= '0;
            end
            if (ends) begin
                layers_q <= (layers_q == '1) ? layers_q : layers_q + 1'b1;
                broken_q <= broken_q || left_q[0] != '0;
            end

            // a token is handed on once, when its last expert has finished, and never lost
            a_once:   assert (!run || !rdy_valid || due_q[rdy_token]);
            a_soon:   assert (hidden_q < 2'd2);
            // reported to the switch once, when the own experts have finished; only own signals
            // wait for that
            a_tell:   assert (lane_valid ? tell_q == Tokens'(1) << lane_token
                              : tell_q == '0
                              || (i_dut.take_q && tell_q == Tokens'(1) << i_dut.index_q));
            a_free:   assert (sig_ready || i_dut.take_q || i_dut.sweep_q || arm_valid_i || own_now);
            a_arm:    assert (arm_ready || i_dut.take_q || i_dut.sweep_q);
            // an excess signal, or one of another GPU, is an error, and nothing else is
            a_err:    assert (err.valid == err_q);
            a_code:   assert (!err_q || (err.code == (bounds_q ? error_pkg::ERR_BOUNDS
                                                      : error_pkg::ERR_COUNT)));
            a_counts: assert (counts);
            c_ready:  cover (rdy_valid && layers_q == '1);
            c_queued: cover (due_q == '1);
            c_grant:  cover (!SwitchReductions || TileReductions
                             || (grant && end_now && lane_valid));
            // a signal for a token that only an earlier layer has armed
            c_stale:  cover (err.valid && broken_q && !bounds_q && run);
            c_round:  cover (rdy_valid && layers_q == '1 && epoch == '0 && broken_q);
            c_again:  cover (TileReductions || (arm && ours && left_q[index] != '0));
        end
        bounds_q <= !ours;
    end
endmodule

`default_nettype wire
