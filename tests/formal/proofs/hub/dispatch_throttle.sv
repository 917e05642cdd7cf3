// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The queue holds stores of any kind. Counts and departures are free. Only dispatch is held or
// preferred. A held packet may leave when nothing has left for the configured time.
`default_nettype none
`include "bundles.svh"

module prove_dispatch_throttle #(
    parameter bit Kinds = 1'b0  // checks which packets; otherwise for how long
) (
    input  wire logic       clk_i, go_i, in_valid_i, in_last_i, start_i, last_i,
    start_part_i, used_i, here_i,
    input  wire logic [5:0] in_opcode_i,
    input  wire logic [1:0] idle_i, ahead_i,
    input  wire logic [3:0] tokens_i, rows_i
);
    localparam int unsigned Packets = 4;
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.N = 2;
        c.TokensLog2 = 2;
        c.TokenOrder = 1'b1;
        return cfg_pkg::derived(c);
    endfunction
    localparam cfg_pkg::cfg_t Cfg = sizes();

    logic                rst_n, throttled, first, hold, inside_q, kind_q, kind, front, out, open_q;
    logic [Packets-1:0]  kinds_q;
    logic [2:0]          level_q;
    logic [1:0]          idle_q;
    logic [3:0]          waited_q;
    node_pkg::node_cfg_t cfg;
    `MW_SHARE(Cfg)       share;

    always_comb begin
        cfg            = '0;
        cfg.dispatch_throttle = 1'b1;
        cfg.throttle_ahead = 16'(ahead_i);
        cfg.throttle_idle = 16'(idle_i);
        cfg.row_bytes  = 15'd128;
        share          = '{valid: here_i, tokens: (Cfg.TokensLog2+1)'(tokens_i),
                           rows: (Cfg.TokW+1)'(rows_i)};
    end

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    dispatch_throttle #(.Cfg(Cfg), .Packets(Packets)) i_dut (
        .clk_i, .rst_ni(rst_n), .go_i, .cfg_i(cfg), .share_i(share),
        .in_valid_i, .in_last_i, .in_opcode_i, .out_i(out),
        .start_store_i(start_i), .start_part_i, .used_i, .throttled_o(throttled),
        .first_o(first), .hold_o(hold)
    );

    // ---- the queue: packets enter flit by flit, and leave whole ----
    assign kind  = inside_q ? kind_q : in_opcode_i == packet_pkg::OP_DYMULTIMEM_ST;
    assign front = kinds_q[0];
    assign out   = last_i && (open_q || start_i);
    always_ff @(posedge clk_i) begin
        idle_q   <= idle_i;
        inside_q <= rst_n && (in_valid_i ? !in_last_i : inside_q);
        if (in_valid_i) kind_q <= kind;
        if (!rst_n) begin
            level_q <= '0;
            open_q  <= 1'b0;
        end else begin
            level_q <= level_q + 3'(in_valid_i && in_last_i) - 3'(out);
            open_q  <= (open_q || start_i) && !out;
            if (out) kinds_q <= kinds_q >> 1;
            if (in_valid_i && in_last_i) kinds_q[2'(level_q - 3'(out))] <= kind;
        end
    end
    always_comb begin
        if (!rst_n) assume (!in_valid_i && !start_i);
        if (rst_n) assume (idle_i == idle_q);
        if (level_q == 3'(Packets)) assume (!(in_valid_i && in_last_i));
        if (level_q == '0 || open_q || hold) assume (!start_i);
        if (start_i) assume (used_i && !start_part_i);
        if (start_part_i) assume (used_i);
    end

    always_ff @(posedge clk_i) begin
        if (!rst_n || go_i || !hold || used_i) waited_q <= '0;
        else waited_q <= waited_q + 1'b1;
        if (rst_n) begin
            if (!Kinds) a_same: assert (go_i || waited_q == '0 || 16'(waited_q) <= i_dut.idle_q);
            if (Kinds) a_kind: assert (level_q == '0 || front || !(throttled || hold));
            // counted from the first cycle in which it is held and nothing leaves
            if (!Kinds) a_goes: assert (waited_q <= 4'(idle_i) + 4'd1);
            if (!Kinds) c_hold: cover (hold && level_q != '0 && idle_i == 2'd3);
            if (!Kinds) c_free: cover (waited_q == 4'(idle_i) && hold && idle_i == 2'd3);
            if (!Kinds) c_part: cover (throttled && first && start_part_i);
        end
    end
endmodule

`default_nettype wire
