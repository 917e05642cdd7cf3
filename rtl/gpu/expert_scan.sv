// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Selects the tiles of the expert engine.
//
// Function: It examines one list of rows per cycle, round robin: of each expert, or with
// source_lists of each {expert, source}, here called an expert, too. An expert has a full tile if
// it has as many complete rows as a tile that no tile has taken yet. The last rows form a smaller
// tile when all counts are here (with source_lists its own count, stat_i.counted) and every
// expected row is complete. The first full expert found becomes the next tile, and the scan
// continues after it. With partial_tiles, after partial_wait cycles without work for the engine,
// the expert with the most waiting rows (the first of equals) follows after the next scan without a
// full one.
// Ports: tile_* holds one tile until it is taken. No scan runs meanwhile. all_started_o: every
// expected row of every expert is in a tile that was issued.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module expert_scan #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type tile_t = `MW_TILE(Cfg)
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,
    input  wire logic go_i,
    /* verilator lint_off UNUSEDSIGNAL */  // a unit uses a part of the configuration
    input  wire node_pkg::node_cfg_t cfg_i,
    /* verilator lint_on UNUSEDSIGNAL */

    input  wire logic run_i,
    input  wire logic engine_idle_i,  // no tile in the engine, none waiting for it

    output logic [node_pkg::ExpertW-1:0] stat_le_o,
    /* verilator lint_off UNUSEDSIGNAL */  // no more rows than RowsLog2 says
    input  wire bundle_pkg::stat_t stat_i,
    /* verilator lint_on UNUSEDSIGNAL */
    input  wire logic counts_all_i,

    output tile_t     tile_o,
    input  wire logic tile_ready_i,
    output logic      all_started_o
);
    // compares with a tile, too
    localparam int unsigned AvailW = (Cfg.CountW > 8) ? Cfg.CountW : 8;

    logic [Cfg.LocalW-1:0] le_q, le1_q, best_le_q, last_le;
    logic v1_q, force_q, force1_q, take, pass_end, best_start, scan, clear_done_q;
    logic [Cfg.LocalW-1:0] clear_q;
    logic [6:0] lists;
    logic [Cfg.CountW-1:0] started, complete, expected, behind;
    logic [AvailW-1:0] avail;
    logic [7:0] best_q;
    /* verilator lint_off UNUSEDSIGNAL */  // a memory for fewer rows
    logic [7:0] rows;
    /* verilator lint_on UNUSEDSIGNAL */
    logic enough, all_counted, better, long_q;
    logic [15:0] idle_q;
    logic [Cfg.LocalW:0] full_q;  // experts in a row with nothing left to start

    assign stat_le_o = node_pkg::ExpertW'(le_q);
    assign lists = node_pkg::lists(Cfg.SourceLists, cfg_i);
    assign last_le = Cfg.LocalW'(lists - 7'd1);
    assign scan = run_i && clear_done_q && !tile_o.valid;

    // Rows given out, per expert; cleared after go.
    table_ram #(
        .Width(Cfg.CountW),
        .Depth(Cfg.MaxLocalExperts)
    ) i_started (
        .clk_i,
        .we_i(!clear_done_q || take),
        .waddr_i(clear_done_q ? le1_q : clear_q),
        .wdata_i(behind & {Cfg.CountW{clear_done_q}}),
        .re_i(1'b1),
        .raddr_i(le_q),
        .rdata_o(started)
    );

    assign complete = stat_i.complete[Cfg.CountW-1:0];
    assign expected = stat_i.expected[Cfg.CountW-1:0];
    assign avail = AvailW'(Cfg.CountW'(complete - started));
    assign enough = avail >= AvailW'(cfg_i.tile);
    assign all_counted = (counts_all_i || (Cfg.SourceLists && stat_i.counted))
                         && complete == expected;
    assign take = v1_q && (enough || ((all_counted || force1_q) && avail != '0));
    assign rows = enough ? cfg_i.tile : avail[7:0];
    assign behind = started + Cfg.CountW'(rows);
    assign better = v1_q && best_q < avail[7:0];
    assign pass_end = v1_q && le1_q == last_le && !force1_q;
    assign best_start = pass_end && !take && long_q && (better || best_q != '0);

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i || !run_i) begin
            v1_q <= 1'b0;
            le_q <= '0;
            force_q <= 1'b0;
            best_q <= '0;
            full_q <= '0;
        end else begin
            v1_q <= scan && !take && !best_start;
            force1_q <= force_q;
            if (best_start) begin
                le_q <= better ? le1_q : best_le_q;
                force_q <= 1'b1;
            end else if (scan && !take) begin
                le_q <= (le_q == last_le) ? '0 : le_q + 1'b1;
                force_q <= 1'b0;
            end
            if (pass_end || take) begin
                best_q <= '0;
            end else if (better) begin
                best_q <= avail[7:0];
                best_le_q <= le1_q;
            end
            if (v1_q)
                full_q <= !(counts_all_i && started == expected) ? '0
                                : all_started_o ? full_q : full_q + 1'b1;
        end
        le1_q <= le_q;
    end

    assign all_started_o = counts_all_i && run_i && full_q == (Cfg.LocalW + 1)'(lists);

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) begin
            tile_o.valid <= 1'b0;
        end else if (!tile_o.valid) begin
            tile_o.valid <= take;
        end else if (tile_ready_i) begin
            tile_o.valid <= 1'b0;
        end
        if (take) begin
            tile_o.le <= node_pkg::ExpertW'(le1_q);
            tile_o.first <= started;
            tile_o.behind <= behind;
        end
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) begin
            clear_q <= '0;
            clear_done_q <= 1'b0;
        end else if (!clear_done_q) begin
            clear_q <= clear_q + 1'b1;
            clear_done_q <= clear_q == Cfg.LocalW'(Cfg.MaxLocalExperts - 1);
        end
        if (!engine_idle_i || !run_i || !cfg_i.partial_tiles) begin
            idle_q <= '0;
            long_q <= 1'b0;
        end else if (!long_q) begin
            idle_q <= idle_q + 1'b1;
            long_q <= idle_q == cfg_i.partial_wait;
        end
    end

    `MW_NEXT(tile_o.valid && !go_i && !tile_ready_i, tile_o.valid && $stable(tile_o),
             "a tile changes before it is taken")
    `MW_CONTRACT(tile_o.valid, tile_o.first < tile_o.behind, "a tile without a row")
    `MW_CONTRACT(take, avail != '0 && behind <= complete, "a tile with rows that are not here")
endmodule

`default_nettype wire
