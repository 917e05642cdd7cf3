// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Unit "expert" of the emulated GPU: computes Y = (x * c) * w for rows that the row tracker
// reports, one tile at a time.
//
// Function: expert_scan selects tiles. expert_fetch turns them into rows with addresses and
// factors. expert_path moves the data and measures time. When a tile is done (time over, results in
// memory), one signal per row leaves here. The tile's list is read once more for the tokens. With
// flags.1 a signal says that the row returns to its home, and where it is. With flags.0 nothing is
// signalled. For expert.rows, expert_rows fills the tracker's lists from the meta table, and
// nothing is signalled. For a range (flags.0), and for gathered tokens (flags.1), the instruction
// retires when the rows of the range are done. A tile then holds rows of one instruction, and the
// last tile of each expert holds the rest. With gathered tokens imm replaces expert_cycles, unless
// it is 0. With flags 7 (TileReductions) a signal names each row, whose number is {home, index}.
// With flags.3 (GateGradients) the engine also reads a row of x for each row. The dot product of
// the row and the expert's value of x leaves (dw_o), with the row's token and list position. With
// flags 3 (MergeLoads) the rows are the next of those that the tracker has listed as loaded.
// Ports: Region bases must be aligned to 128 bytes, and the row stride must be four flits or more.
// The memory answers 3 cycles after the grant.
// Order: Signals in the order of the tile's rows.
// Back-pressure: Signals, and gradients, for which the second row behind waits. Up to three rows
// that have not started, and the next tile, wait for the engine. One tile may be signalled while
// another is in the engine.
// Latency: Two flits per cycle across tiles and rows of 16 flits or more. Shorter rows take 8
// cycles. Signalled tiles of one row take 12. The unit retires when every expected row has been
// started, is done, and its signal and its gradient were taken.
`default_nettype none
`include "bundles.svh"

module expert_engine #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type read_t = `MW_READ(Cfg),
    parameter type answer_t = `MW_ANSWER(Cfg),
    parameter type pair_t = `MW_PAIR(Cfg),
    parameter type pair_write_t = `MW_PAIR_WRITE(Cfg),
    parameter type tile_t = `MW_TILE(Cfg),
    parameter type work_t = `MW_WORK(Cfg),
    parameter type ended_t = `MW_ENDED(Cfg)
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire logic                go_i,
    input  wire node_pkg::node_cfg_t cfg_i,

    input  wire logic cmd_valid_i,
    output logic      cmd_ready_o,
    /* verilator lint_off UNUSEDSIGNAL */  // a build uses a part of the operands
    input  wire isa_pkg::instr_t cmd_i,
    /* verilator lint_on UNUSEDSIGNAL */
    output logic retire_o,

    // row tracker
    output logic [node_pkg::ExpertW-1:0]   stat_le_o,
    input  wire bundle_pkg::stat_t         stat_i,  // next cycle
    input  wire logic                      counts_all_i,
    output bundle_pkg::list_req_t          list_o,
    input  wire bundle_pkg::list_rsp_t     list_i,  // in order
    output bundle_pkg::push_t              push_o,  // last is a level
    input  wire logic                      push_ready_i,
    input  wire logic [15:0]               recv_rows_i,  // received rows of st, from control
    output logic [Cfg.GpuW-1:0]            row_src_o,  // those of this GPU
    input  wire bundle_pkg::src_rows_t     src_rows_i,
    input  wire logic [node_pkg::RowW-1:0] own_base_i,
    output logic                           err_valid_o,  // BOUNDS, a cycle behind the instruction

    // memory: MISC client, and the engine's own port
    output read_t                     rd_o,
    input  wire logic                 rd_ready_i,
    input  wire answer_t              rd_i,
    output pair_t                     exp_rd_o,
    input  wire logic                 exp_rd_ready_i,
    input  wire logic [Cfg.FlitW-1:0] exp_rd_data_i [2],
    output pair_write_t               exp_wr_o,
    output logic [Cfg.FlitW-1:0]      exp_wr_data_o [2],

    output bundle_pkg::finished_t sig_o,  // a row is finished
    input  wire logic             sig_ready_i,
    output bundle_pkg::gradient_t dw_o,
    input  wire logic             dw_ready_i,

    input  wire bundle_pkg::emap_write_t emap_i,

    output logic stat_idle_o,  // to be counted: running, but no tile in the engine
    output logic stat_wait_o,  // a tile is open, but no flits move
    output logic stat_tile_o   // a tile starts
);
    // ---- instruction ----------------------------------------------------------------
    logic gradients_q, dense_q;
    bundle_pkg::gradient_t dw;
    logic run_q, unicast_q, ranged_q, gathered, silent_q, back_q, number_q, by_number, all_started;
    logic finished;
    logic landed;  // of rows that are loaded
    assign landed = Cfg.MergeLoads && cmd_i.op == isa_pkg::I_EXPERT_ROWS
                    && cmd_i.flags[2:0] == 3'd3;
    assign by_number = Cfg.TileReductions && cmd_i.op == isa_pkg::I_EXPERT_ROWS && cmd_i.flags[1];
    assign cmd_ready_o = !run_q;
    assign retire_o = run_q && finished;
    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) begin
            run_q <= 1'b0;
        end else if (!run_q) begin
            run_q <= cmd_valid_i;
            unicast_q <= cmd_i.op == isa_pkg::I_EXPERT_ROWS;
            ranged_q <= Cfg.RowRanges && cmd_i.op == isa_pkg::I_EXPERT_ROWS && cmd_i.flags[0]
                        && !by_number;
            silent_q <= (cmd_i.op == isa_pkg::I_EXPERT_ROWS || cmd_i.flags[0])
                        && !(by_number && cmd_i.flags[0] && !landed);
            back_q <= Cfg.RowSparse && cmd_i.flags[1] && !by_number;
            number_q <= by_number;
            gradients_q <= Cfg.GateGradients && cmd_i.flags[3];
            dense_q <= Cfg.GateGradients && cmd_i.op == isa_pkg::I_EXPERT_ROWS
                       && cmd_i.flags[2:0] == 3'd2;
        end else if (finished) begin
            run_q <= 1'b0;
        end
    end

    // ---- time per row: that of the instruction, or of the layer -------------------------
    logic [15:0] row_cycles;

    if (Cfg.Gathered) begin : gen_row_cycles
        logic own;
        logic [15:0] cycles_q;

        assign own = cmd_i.op == isa_pkg::I_EXPERT_ROWS && cmd_i.flags[1] && cmd_i.imm != '0;
        assign row_cycles = cycles_q;
        always_ff @(posedge clk_i) if (!run_q) cycles_q <= own ? cmd_i.imm : cfg_i.expert_cycles;
    end else begin : gen_layer_cycles
        assign row_cycles = cfg_i.expert_cycles;
    end

    // ---- rows that are loaded -----------------------------------------------------------
    bundle_pkg::stat_t stat;
    logic landed_bad;  // more rows than there may be

    if (Cfg.MergeLoads) begin : gen_quota
        expert_quota #(
            .Cfg(Cfg)
        ) i_quota (
            .clk_i,
            .rst_ni,
            .go_i,
            .cfg_i,
            .take_i(cmd_valid_i && cmd_ready_o && landed && !landed_bad),
            .rows_i(cmd_i.b[Cfg.TokW:0]),
            .le_i(stat_le_o),
            .stat_i,
            .stat_o(stat)
        );
    end else begin : gen_no_quota
        assign stat = stat_i;
    end

    // ---- tiles --------------------------------------------------------------------------
    tile_t tile;
    bundle_pkg::path_status_t path;
    logic tile_ready, fetch_busy;

    expert_scan #(
        .Cfg(Cfg)
    ) i_scan (
        .clk_i,
        .rst_ni,
        .go_i,
        .cfg_i,
        .run_i(run_q),
        .engine_idle_i(path.idle && !fetch_busy && !tile.valid),
        .stat_le_o,
        .stat_i(stat),
        .counts_all_i,
        .tile_o(tile),
        .tile_ready_i(tile_ready),
        .all_started_o(all_started)
    );

    // ---- rows of expert.rows ------------------------------------------------------------
    read_t mux[2];
    logic mux_ready[2], mux_rvalid[2];
    logic [Cfg.FlitW-1:0] mux_rdata;

    expert_rows #(
        .Cfg(Cfg)
    ) i_rows (
        .clk_i,
        .rst_ni,
        .cfg_i,
        .go_i,
        .run_i(run_q && unicast_q),
        .ranged_i(run_q && ranged_q),
        .gathered_o(gathered),
        .cmd_i('{valid: cmd_valid_i && cmd_ready_o, landed: landed, instr: cmd_i}),
        .recv_rows_i,
        .row_src_o,
        .src_rows_i,
        .own_base_i,
        .err_valid_o,
        .outside_o(landed_bad),
        .rd_o(mux[1]),
        .rd_ready_i(mux_ready[1]),
        .rd_i('{rvalid: mux_rvalid[1], rdata: mux_rdata}),
        .push_o,
        .push_ready_i,
        .emap_i
    );

    mem_rd_mux #(
        .Cfg(Cfg),
        .Clients(2)
    ) i_rd_mux (
        .clk_i,
        .rst_ni,
        .go_i,
        .cl_i(mux),
        .cl_ready_o(mux_ready),
        .cl_rvalid_o(mux_rvalid),
        .cl_rdata_o(mux_rdata),
        .rd_o,
        .rd_ready_i,
        .rd_i
    );

    // ---- rows -------------------------------------------------------------------------------
    bundle_pkg::list_req_t flist;
    work_t row;
    ended_t done;
    logic flist_ready, row_take, done_ready, list_busy_q, list_signal_q, slist_valid;
    logic [node_pkg::ExpertW-1:0] sig_le_q;
    logic [Cfg.CountW-1:0] sig_idx_q, sig_last_q, sig_first_q;

    expert_fetch #(
        .Cfg(Cfg)
    ) i_fetch (
        .clk_i,
        .rst_ni,
        .go_i,
        .cfg_i,
        .unicast_i(unicast_q),
        .gathered_i(gathered),
        .gradients_i(gradients_q),
        .tile_i(tile),
        .tile_ready_o(tile_ready),
        .list_o(flist),
        .list_ready_i(flist_ready),
        .list_i,
        .list_mine_i(!list_signal_q),
        .rd_o(mux[0]),
        .rd_ready_i(mux_ready[0]),
        .rd_i('{rvalid: mux_rvalid[0], rdata: mux_rdata}),
        .row_o(row),
        .row_take_i(row_take),
        .busy_o(fetch_busy)
    );

    // ---- data and time --------------------------------------------------------------------------
    expert_path #(
        .Cfg(Cfg)
    ) i_path (
        .clk_i,
        .rst_ni,
        .go_i,
        .cfg_i,
        .gradients_i(gradients_q),
        .row_cycles_i(row_cycles),
        .row_i(row),
        .row_take_o(row_take),
        .rd_o(exp_rd_o),
        .rd_ready_i(exp_rd_ready_i),
        .rd_data_i(exp_rd_data_i),
        .wr_o(exp_wr_o),
        .wr_data_o(exp_wr_data_o),
        .done_o(done),
        .done_ready_i(done_ready),
        .dw_o(dw),
        .dw_ready_i,
        .status_o(path)
    );

    assign stat_tile_o = path.start;
    assign stat_wait_o = path.waits;

    always_comb begin
        dw_o = dw;
        dw_o.dense = dense_q;
    end

    // ---- signals --------------------------------------------------------------------------------
    // The tile whose rows are signalled. A token is requested when the one before it has left;
    // the first one waits for the tile's results.
    logic sig_busy_q, token_asked_q, token_here_q, in_memory;
    logic [2:0] age_q;

    assign in_memory = age_q == '1;
    assign done_ready = silent_q || !sig_busy_q;
    assign slist_valid = sig_busy_q && !token_asked_q && !token_here_q;
    assign sig_o.valid = token_here_q && in_memory;
    assign sig_o.back = back_q;
    assign sig_o.le = sig_le_q;
    assign sig_o.last = sig_idx_q == sig_last_q;
    assign sig_o.rows = Cfg.SourceLists ? 8'(sig_last_q - sig_first_q) + 8'd1 : '0;

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) begin
            sig_busy_q <= 1'b0;
            token_asked_q <= 1'b0;
            token_here_q <= 1'b0;
        end else begin
            if (!sig_busy_q) sig_busy_q <= done.valid && !silent_q;
            else if (sig_o.valid && sig_ready_i) sig_busy_q <= sig_idx_q != sig_last_q;
            if (slist_valid && !list_busy_q) token_asked_q <= 1'b1;
            else if (list_i.rvalid && list_signal_q) token_asked_q <= 1'b0;
            if (list_i.rvalid && list_signal_q) token_here_q <= 1'b1;
            else if (sig_o.valid && sig_ready_i) token_here_q <= 1'b0;
        end
        if (!sig_busy_q) begin
            sig_le_q <= done.le;
            sig_idx_q <= done.first;
            sig_first_q <= done.first;
            sig_last_q <= done.last;
            age_q <= '0;
        end else begin
            if (sig_o.valid && sig_ready_i) sig_idx_q <= sig_idx_q + 1'b1;
            if (!in_memory) age_q <= age_q + 1'b1;
        end
        if (list_i.rvalid && list_signal_q)
            {sig_o.token, sig_o.row, sig_o.pos} <= {
                number_q ? list_i.row : list_i.token, list_i.row, list_i.pos
            };
    end

    // ---- the list: one request at a time, signals first -----------------------------------------
    assign list_o.valid = (slist_valid || flist.valid) && !list_busy_q;
    assign list_o.le = slist_valid ? sig_le_q : flist.le;
    assign list_o.idx = slist_valid ? node_pkg::RowW'(sig_idx_q) : flist.idx;
    assign flist_ready = !slist_valid && !list_busy_q;

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) list_busy_q <= 1'b0;
        else if (list_o.valid) list_busy_q <= 1'b1;
        else if (list_i.rvalid) list_busy_q <= 1'b0;
        if (list_o.valid) list_signal_q <= slist_valid;
    end

    assign finished = all_started && !tile.valid && !fetch_busy && path.empty && !sig_busy_q;
    assign stat_idle_o = run_q && path.idle;
endmodule

`default_nettype wire
