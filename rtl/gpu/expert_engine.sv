// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Unit "expert" of the emulated GPU: runs the experts on rows as the row tracker reports them, Y = (x * c) * w, a tile
// at a time.
//
// expert_scan chooses tiles, expert_fetch turns them into rows with addresses and factors, expert_path moves the data
// and keeps the time, and when a tile is done (time over, results in memory) one signal per row leaves here, in the
// order of the tile's rows: its list is read once more for the tokens. With flags.0 nothing is signalled. expert.rows:
// expert_rows fills the tracker's lists from the meta table meanwhile; nothing is signalled either.
//
// Ahead of the engine: three rows that have not started, and the next tile. One tile may be signalled beside the one in
// the engine; signals are the only back-pressure from outside.
// Throughput: two flits per cycle across rows of 16 flits or more and tiles; shorter rows take 8 cycles, tiles of one
// row that are signalled 12.
// Retires when every expected row has been started, is done and its signal was taken.
// Memory needs: region bases aligned to 128 bytes, a row stride of four flits or more. The memory answers 3 cycles
// after the grant.
`default_nettype none
`include "bundles.svh"

module expert_engine #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire logic                go_i,
    input  wire node_pkg::node_cfg_t cfg_i,

    input  wire logic cmd_valid_i,
    output logic      cmd_ready_o,
    /* verilator lint_off UNUSEDSIGNAL */  // the instructions have one operand, a flag
    input  wire isa_pkg::instr_t cmd_i,
    /* verilator lint_on UNUSEDSIGNAL */
    output logic retire_o,

    // row tracker
    output logic [node_pkg::ExpertW-1:0]   stat_le_o,
    input  wire logic [node_pkg::RowW-1:0] stat_complete_i, // next cycle
    input  wire logic [node_pkg::RowW-1:0] stat_expected_i,
    input  wire logic                      counts_all_i,
    output bundle_pkg::list_req_t          list_o,
    input  wire bundle_pkg::list_rsp_t     list_i,          // in order
    output logic                           push_valid_o,
    input  wire logic                      push_ready_i,
    output logic [node_pkg::ExpertW-1:0]   push_le_o,
    output logic [node_pkg::RowW-1:0]      push_row_o,
    output logic                           push_last_o,     // level, without push_valid_o: all rows were pushed
    input  wire logic [15:0]               recv_rows_i,     // received rows of st, from control

    // memory: MISC client, and the engine's own port
    output `MW_READ(Cfg)              rd_o,
    input  wire logic                 rd_ready_i,
    input  wire `MW_ANSWER(Cfg)       rd_i,
    output logic                      exp_rd_valid_o,
    input  wire logic                 exp_rd_ready_i,
    output logic [Cfg.AddrW-2:0]      exp_rd_addr_o,
    input  wire logic [Cfg.FlitW-1:0] exp_rd_data_i [2],
    output logic [1:0]                exp_wr_valid_o,
    output logic [Cfg.AddrW-2:0]      exp_wr_addr_o,
    output logic [Cfg.FlitW-1:0]      exp_wr_data_o [2],

    output logic                        sig_valid_o,
    input  wire logic                   sig_ready_i,
    output logic [node_pkg::TokenW-1:0] sig_token_o,

    input  wire bundle_pkg::emap_write_t emap_i,

    output logic stat_idle_o, // to be counted: running, but no tile in the engine
    output logic stat_wait_o, // a tile is open, but no flits move
    output logic stat_tile_o  // a tile starts
);
    localparam int unsigned GroupW     = Cfg.AddrW - 2;

    // ---- instruction ----------------------------------------------------------------
    logic run_q, unicast_q, silent_q, all_started, finished;
    assign cmd_ready_o = !run_q;
    assign retire_o    = run_q && finished;
    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) begin
            run_q <= 1'b0;
        end else if (!run_q) begin
            run_q     <= cmd_valid_i;
            unicast_q <= cmd_i.op == isa_pkg::I_EXPERT_ROWS;
            silent_q  <= cmd_i.op == isa_pkg::I_EXPERT_ROWS || cmd_i.flags[0];
        end else if (finished) begin
            run_q <= 1'b0;
        end
    end

    // ---- tiles --------------------------------------------------------------------------
    logic                         tile_valid, tile_ready, path_idle, path_empty, fetch_busy;
    logic [node_pkg::ExpertW-1:0] tile_le;
    logic [Cfg.CountW-1:0]        tile_first, tile_end;

    expert_scan #(.Cfg(Cfg)) i_scan (
        .clk_i, .rst_ni, .go_i, .cfg_i, .run_i(run_q), .engine_idle_i(path_idle && !fetch_busy && !tile_valid),
        .stat_le_o, .stat_complete_i, .stat_expected_i, .counts_all_i,
        .tile_valid_o(tile_valid), .tile_ready_i(tile_ready), .tile_le_o(tile_le), .tile_first_o(tile_first),
        .tile_end_o(tile_end), .all_started_o(all_started)
    );

    // ---- rows of expert.rows ------------------------------------------------------------
    `MW_READ(Cfg)         mux [2];
    logic                 mux_ready [2], mux_rvalid [2];
    logic [Cfg.FlitW-1:0] mux_rdata;

    expert_rows #(.Cfg(Cfg)) i_rows (
        .clk_i, .rst_ni, .cfg_i, .run_i(run_q && unicast_q), .recv_rows_i,
        .rd_o(mux[1]), .rd_ready_i(mux_ready[1]), .rd_i('{rvalid: mux_rvalid[1], rdata: mux_rdata}),
        .push_valid_o, .push_ready_i, .push_le_o, .push_row_o, .push_last_o, .emap_i
    );

    mem_rd_mux #(.Cfg(Cfg), .Clients(2)) i_rd_mux (
        .clk_i, .rst_ni, .go_i, .cl_i(mux), .cl_ready_o(mux_ready), .cl_rvalid_o(mux_rvalid), .cl_rdata_o(mux_rdata),
        .rd_o, .rd_ready_i, .rd_i
    );

    // ---- rows -------------------------------------------------------------------------------
    logic              flist_valid, flist_ready, row_valid, row_take, row_last, done_valid, done_ready, list_busy_q,
                       list_signal_q, slist_valid;
    logic [node_pkg::ExpertW-1:0]    flist_le, row_le, done_le, sig_le_q;
    logic [Cfg.CountW-1:0]   flist_idx, row_idx, done_first, done_last, sig_idx_q, sig_last_q;
    logic [GroupW-1:0] row_x, row_y;
    fp_pkg::factor_t   row_factor;

    expert_fetch #(.Cfg(Cfg)) i_fetch (
        .clk_i, .rst_ni, .go_i, .cfg_i, .unicast_i(unicast_q),
        .tile_valid_i(tile_valid), .tile_ready_o(tile_ready), .tile_le_i(tile_le), .tile_first_i(tile_first),
        .tile_end_i(tile_end),
        .list_valid_o(flist_valid), .list_ready_i(flist_ready), .list_le_o(flist_le), .list_idx_o(flist_idx),
        .list_rvalid_i(list_i.rvalid && !list_signal_q), .list_row_i(list_i.row), .list_pos_i(list_i.pos),
        .rd_o(mux[0]), .rd_ready_i(mux_ready[0]), .rd_i('{rvalid: mux_rvalid[0], rdata: mux_rdata}),
        .row_valid_o(row_valid), .row_take_i(row_take), .row_x_o(row_x), .row_y_o(row_y), .row_last_o(row_last),
        .row_le_o(row_le), .row_idx_o(row_idx), .row_factor_o(row_factor), .busy_o(fetch_busy)
    );

    // ---- data and time --------------------------------------------------------------------------
    expert_path #(.Cfg(Cfg)) i_path (
        .clk_i, .rst_ni, .go_i, .cfg_i,
        .row_valid_i(row_valid), .row_take_o(row_take), .row_x_i(row_x), .row_y_i(row_y), .row_last_i(row_last),
        .row_le_i(row_le), .row_idx_i(row_idx), .row_factor_i(row_factor),
        .rd_valid_o(exp_rd_valid_o), .rd_ready_i(exp_rd_ready_i), .rd_addr_o(exp_rd_addr_o), .rd_data_i(exp_rd_data_i),
        .wr_valid_o(exp_wr_valid_o), .wr_addr_o(exp_wr_addr_o), .wr_data_o(exp_wr_data_o),
        .done_valid_o(done_valid), .done_ready_i(done_ready), .done_le_o(done_le), .done_first_o(done_first),
        .done_last_o(done_last), .start_o(stat_tile_o), .idle_o(path_idle), .empty_o(path_empty), .wait_o(stat_wait_o)
    );

    // ---- signals -----------------------------------------------------------------------------------
    // The tile whose rows are signalled. A token is asked for when the one before it has left; the first one waits for
    // the tile's results.
    logic       sig_busy_q, token_asked_q, token_here_q, in_memory;
    logic [2:0] age_q;

    assign in_memory   = age_q == '1;
    assign done_ready  = silent_q || !sig_busy_q;
    assign slist_valid = sig_busy_q && !token_asked_q && !token_here_q;
    assign sig_valid_o = token_here_q && in_memory;

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) begin
            sig_busy_q    <= 1'b0;
            token_asked_q <= 1'b0;
            token_here_q  <= 1'b0;
        end else begin
            if (!sig_busy_q) sig_busy_q <= done_valid && !silent_q;
            else if (sig_valid_o && sig_ready_i) sig_busy_q <= sig_idx_q != sig_last_q;
            if (slist_valid && !list_busy_q) token_asked_q <= 1'b1;
            else if (list_i.rvalid && list_signal_q) token_asked_q <= 1'b0;
            if (list_i.rvalid && list_signal_q) token_here_q <= 1'b1;
            else if (sig_valid_o && sig_ready_i) token_here_q <= 1'b0;
        end
        if (!sig_busy_q) begin
            sig_le_q   <= done_le;
            sig_idx_q  <= done_first;
            sig_last_q <= done_last;
            age_q      <= '0;
        end else begin
            if (sig_valid_o && sig_ready_i) sig_idx_q <= sig_idx_q + 1'b1;
            if (!in_memory) age_q <= age_q + 1'b1;
        end
        if (list_i.rvalid && list_signal_q) sig_token_o <= list_i.token;
    end

    // ---- the list: one request at a time, signals first -------------------------------------------------
    assign list_o.valid = (slist_valid || flist_valid) && !list_busy_q;
    assign list_o.le    = slist_valid ? sig_le_q : flist_le;
    assign list_o.idx   = slist_valid ? node_pkg::RowW'(sig_idx_q) : node_pkg::RowW'(flist_idx);
    assign flist_ready  = !slist_valid && !list_busy_q;

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) list_busy_q <= 1'b0;
        else if (list_o.valid) list_busy_q <= 1'b1;
        else if (list_i.rvalid) list_busy_q <= 1'b0;
        if (list_o.valid) list_signal_q <= slist_valid;
    end

    assign finished    = all_started && !tile_valid && !fetch_busy && path_empty && !sig_busy_q;
    assign stat_idle_o = run_q && path_idle;
endmodule

`default_nettype wire
