// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// expert_scan has two experts and tiles of two rows. The engine takes and ends tiles at any time.
// Rows complete one by one, in any order, up to the expected number. This number becomes final in
// any cycle.
`default_nettype none
`include "bundles.svh"

module prove_expert_scan #(
    parameter int unsigned Partial = 1,      // partial tiles
    localparam int unsigned Experts = 2,
    localparam int unsigned RowsLog2 = 1,
    localparam int unsigned CntW = RowsLog2 + 1,
    localparam int unsigned Tile = 2,
    localparam int unsigned Wait = 1,
    localparam int unsigned Bound = (Partial != 0) ? 7 : 4,
    localparam int unsigned RowW = node_pkg::RowW,
    localparam int unsigned LeW = node_pkg::ExpertW
) (
    input  wire logic clk_i, run_i, arrive_i, arrive_le_i, counts_i, tile_ready_i, end_i,
    input  wire logic [CntW-1:0] expected_i [Experts]
);
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.RowsLog2 = RowsLog2;
        c.MaxLocalExperts = Experts;
        return cfg_pkg::derived(c);
    endfunction
    localparam cfg_pkg::cfg_t Cfg = sizes();

    `MW_TILE(Cfg)        tile;
    bundle_pkg::stat_t   stat_q;
    logic                rst_n, all_started, take;
    logic [LeW-1:0]      stat_le;
    logic [1:0]          since_q;              // cycles since reset: go in the first
    logic                run_q, counts_q, busy_q;   // busy: the engine has a tile
    logic [CntW-1:0]     complete_q [Experts], expected_q [Experts], started_q [Experts];
    node_pkg::node_cfg_t cfg;

    always_comb begin
        cfg               = '0;
        cfg.local_experts = 7'(Experts);
        cfg.tile          = 8'(Tile);
        cfg.partial_tiles = Partial != 0;
        cfg.partial_wait  = 16'(Wait);
    end

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    always_ff @(posedge clk_i) begin
        if (!rst_n) since_q <= '0;
        else if (since_q != '1) since_q <= since_q + 1'b1;
    end

    expert_scan #(.Cfg(Cfg)) i_dut (
        .clk_i, .rst_ni(rst_n), .go_i(rst_n && since_q == '0), .cfg_i(cfg),
        .run_i(run_q), .engine_idle_i(!busy_q && !tile.valid),
        .stat_le_o(stat_le), .stat_i(stat_q), .counts_all_i(counts_q),
        .tile_o(tile), .tile_ready_i(tile_ready_i && !busy_q), .all_started_o(all_started)
    );

    assign take = tile.valid && tile_ready_i && !busy_q;

    always_ff @(posedge clk_i) begin
        stat_q.complete <= RowW'(complete_q[stat_le[0]]);
        stat_q.expected <= RowW'(expected_q[stat_le[0]]);
        stat_q.counted  <= 1'b0;
        if (!rst_n) begin
            run_q    <= 1'b0;
            counts_q <= 1'b0;
            busy_q   <= 1'b0;
            for (int unsigned e = 0; e < Experts; e++) begin
                complete_q[e] <= '0;
                started_q[e]  <= '0;
                expected_q[e] <= expected_i[e];
            end
        end else if (since_q == '1) begin
            if (run_i) run_q <= 1'b1;
            if (counts_i) counts_q <= 1'b1;
            if (arrive_i && complete_q[arrive_le_i] != expected_q[arrive_le_i]) begin
                complete_q[arrive_le_i] <= complete_q[arrive_le_i] + 1'b1;
            end
            if (take) busy_q <= 1'b1;
            else if (end_i) busy_q <= 1'b0;
            if (take) started_q[tile.le[0]] <= tile.behind;
        end
    end

    // ---- what a tile holds ----
    logic [CntW-1:0] size, left;
    logic            first_q;    // the tile was not shown one cycle ago

    assign size = tile.behind - tile.first;
    assign left = expected_q[tile.le[0]] - tile.behind;

    // ---- how long an idle engine waits ----
    logic       full, open;
    logic [4:0] waits_q;

    always_comb begin
        full = 1'b0;
        open = 1'b0;
        for (int unsigned e = 0; e < Experts; e++) begin
            full |= complete_q[e] - started_q[e] >= CntW'(Tile)
                    || (counts_q && complete_q[e] == expected_q[e]
                        && complete_q[e] != started_q[e]);
            open |= complete_q[e] != started_q[e];
        end
    end

    always_ff @(posedge clk_i) begin
        first_q <= rst_n && !tile.valid;
        if (!rst_n || !run_q || busy_q || tile.valid || !((Partial != 0) ? open : full))
            waits_q <= '0;
        else waits_q <= waits_q + 5'd1;
        if (rst_n) begin
            a_le:    assert (!tile.valid || tile.le < LeW'(Experts));
            // each row once, in its place, and complete
            a_next:  assert (!tile.valid || tile.first == started_q[tile.le[0]]);
            a_here:  assert (!tile.valid
                             || (size != '0 && size <= complete_q[tile.le[0]] - tile.first));
            a_size:  assert (!tile.valid || size <= CntW'(Tile));
            a_whole: assert (!tile.valid || !first_q || size == CntW'(Tile) || Partial != 0
                             || (counts_q && left == '0));
            // order rule 8: an open tile starts within the bound
            a_soon:  assert (waits_q < 5'(Bound));
            a_all:   assert (!all_started || (!open && counts_q));
        end
    end

    // reachable under the assumptions
    always_ff @(posedge clk_i) begin
        if (rst_n) begin
            c_full: cover (take && size == CntW'(Tile));
            c_rest: cover (take && size == CntW'(1) && counts_q);
            c_all:  cover (all_started);
            c_busy: cover (busy_q && full);
        end
    end
endmodule

`default_nettype wire
