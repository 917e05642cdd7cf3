// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Unit load: loads rows of all homes through the switch (ld.cais).
//
// Function: The unit cuts the range [a, a + b) of indices of every home into tiles of imm rows. It
// processes tiles by their first index, and tiles with the same first index by home. With SYNC (imm
// is not 0) it reports each tile to the switch (report_*). The GRANT of a tile (grant_*) means that
// all GPUs have reported it. The rows of a granted tile of another home become lanes of LD packets
// (ld_*). Own rows go to load_serve of this hub (own_*), which copies them. Without SYNC, tiles
// have one row and are granted at once. An own tile waits until offered_i is beyond its rows. With
// load_parts, each part of a row has a lane of its own. A lane is open until its row is complete in
// memory (landed_i).
// Order: All GPUs report tiles in the same order, stated above. Lanes follow in the order of
// GRANTs, own rows concurrently.
// Back-pressure: At most Cfg.OpenSyncs tiles are reported and have rows left, so a GRANT always
// has a place. At most Cfg.OpenLoads lanes of other homes are open, which includes all parts of the
// oldest row. Lanes wait for a CTRL credit of the uplink, own rows for load_serve.
// Latency: Lanes are gathered like those of READYs, see ready_gather. The instruction retires when
// all its rows are in memory. With flags.1 it retires in the cycle after its start, but the unit
// accepts the next instruction only when all rows are in memory.
// Errors: BOUNDS for indices beyond 2^token_shift or below load_first, tiles of more than 255
// rows, numbers of parts beyond 2^LoadIndexW, and rows of more parts than OpenLoads. Nothing is
// then loaded. COUNT for a GRANT of a tile that is not reported or not in the range. It is ignored.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module load #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type home_row_t = `MW_HOME_ROW(Cfg)
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire logic                go_i,
    input  wire node_pkg::node_cfg_t cfg_i,

    input  wire logic            cmd_valid_i,
    output logic                 cmd_ready_o,
    input  wire isa_pkg::instr_t cmd_i,
    output logic                 retire_o,

    input  wire logic [Cfg.TokensLog2:0] offered_i, // own rows with indices below it are in memory

    output home_row_t      report_o,  // a tile
    input  wire logic      report_ready_i,
    input  wire home_row_t grant_i,
    output logic           grant_ready_o,

    output bundle_pkg::ctl_t ld_o,
    input  wire logic        ld_ready_i,

    output logic                      own_valid_o,
    input  wire logic                 own_ready_i,
    output logic [Cfg.LoadIndexW-1:0] own_index_o,  // of a part

    input  wire bundle_pkg::token_t landed_i, // the number of a row that is complete

    output bundle_pkg::error_t err_o
);
    import packet_pkg::*;

    localparam int unsigned IndexW = Cfg.TokensLog2;
    localparam int unsigned LeftW = Cfg.TokW + 1;
    localparam int unsigned SyncW = $clog2(Cfg.OpenSyncs + 1);
    localparam int unsigned SumW = ((IndexW > 8) ? IndexW : 8) + 2;  // of an index and a tile

    // ---- instruction ----------------------------------------------------------------------------
    logic run_q, refused_q, early_q, alone_q, accept, outside, finished;
    logic [7:0] tile_q;
    logic [IndexW:0] range_end, first_q, end_q;
    logic [LeftW-1:0] left_q;  // rows that are not complete
    logic no_tokens, no_parts;
    logic [3:0] shift;
    logic [6:0] last_part;  // of a row

    // Parts have 2^shift bytes.
    assign shift = bundle_pkg::load_shift(cfg_i.row_shift, cfg_i.load_parts);
    assign last_part = (cfg_i.load_parts == '0) ? '0 : 7'((cfg_i.row_bytes - 1'b1) >> shift);
    assign no_parts = 32'(last_part) >= Cfg.OpenLoads
                      || 32'(range_end) << cfg_i.load_parts > 32'd1 << Cfg.LoadIndexW;

    cmd_range #(
        .Cfg(Cfg)
    ) i_range (
        .first_i({cmd_i.a_high, cmd_i.a}),
        .count_i(cmd_i.b),
        .shift_i({1'b0, cfg_i.token_shift}),
        .end_o(range_end),
        .no_tokens_o(no_tokens),
        .no_bytes_o()
    );

    assign cmd_ready_o = !run_q && !refused_q;
    assign accept = cmd_valid_i && cmd_ready_o;
    assign outside     = no_tokens || no_parts || cmd_i.imm[15:8] != '0
                         || (cmd_i.b != '0 && cmd_i.a < 32'(cfg_i.load_first));
    assign finished = run_q && left_q == '0;

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) begin
            run_q <= 1'b0;
            refused_q <= 1'b0;
            retire_o <= 1'b0;
            early_q <= 1'b0;
        end else begin
            refused_q <= accept && outside;
            retire_o <= (accept && (outside || cmd_i.flags[1])) || (finished && !early_q);
            if (accept) run_q <= !outside;
            else if (finished) run_q <= 1'b0;
            if (accept) early_q <= cmd_i.flags[1];
        end
        if (accept) begin
            alone_q <= cmd_i.flags[0];
            tile_q <= cmd_i.imm[7:0];
            first_q <= cmd_i.a[IndexW:0];
            end_q <= range_end;
        end
        if (accept) left_q <= LeftW'(cmd_i.b[IndexW:0]) * LeftW'(Cfg.N);
        else if (landed_i.valid && left_q != '0) left_q <= left_q - 1'b1;
    end

    // ---- tiles in their order -------------------------------------------------------------------
    logic walk_q, sync, own, offered, may, next, at_end;
    logic [Cfg.GpuW-1:0] home_q;
    logic [IndexW:0] index_q, tile_end;
    logic [SyncW-1:0] used_q, reported_q;  // tiles that have a place; of them those not granted
    logic far_done, own_done, push, granted;

    // A tile may end beyond the largest index, so the sum needs more bits than an index.
    assign tile_end = (tile_q == '0) ? index_q + 1'b1
                      : (SumW'(index_q) + SumW'(tile_q) < SumW'(end_q))
                      ? index_q + (IndexW+1)'(tile_q) : end_q;
    assign sync = tile_q != '0;
    assign own = packet_pkg::port_t'(home_q) == cfg_i.port;
    assign offered = !own || offered_i >= tile_end;
    assign may = walk_q && used_q != SyncW'(Cfg.OpenSyncs) && offered;
    assign next = may && (!sync || report_ready_i);
    assign at_end = home_q == Cfg.GpuW'(Cfg.N - 1);

    assign report_o = '{valid: may && sync, home: home_q, index: index_q[IndexW-1:0]};

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) walk_q <= 1'b0;
        else if (accept) walk_q <= !outside && cmd_i.b != '0;
        else if (next && at_end && tile_end == end_q) walk_q <= 1'b0;
        if (accept) begin
            home_q <= '0;
            index_q <= cmd_i.a[IndexW:0];
        end else if (next) begin
            home_q <= at_end ? '0 : home_q + 1'b1;
            if (at_end) index_q <= tile_end;
        end
    end

    // ---- granted tiles --------------------------------------------------------------------------
    logic grant_take, far_push, own_push, push_own;
    logic [Cfg.GpuW-1:0] push_home, far_home, own_home;
    logic [IndexW-1:0] push_index;
    logic [Cfg.LoadIndexW-1:0] far_index;
    logic far_valid, far_take;

    assign grant_ready_o = !refused_q;
    assign grant_take = grant_i.valid && grant_ready_o;
    assign granted       = grant_take && reported_q != '0
                           && (IndexW+1)'(grant_i.index) >= first_q
                           && (IndexW+1)'(grant_i.index) < end_q;
    assign push = granted || (next && !sync);
    assign push_home = sync ? grant_i.home : home_q;
    assign push_index = sync ? grant_i.index : index_q[IndexW-1:0];
    assign push_own = packet_pkg::port_t'(push_home) == cfg_i.port;
    assign far_push = push && !push_own;
    assign own_push = push && push_own;

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) begin
            used_q <= '0;
            reported_q <= '0;
        end else begin
            used_q <= used_q + SyncW'(next) - SyncW'(far_done) - SyncW'(own_done);
            reported_q <= reported_q + SyncW'(next && sync) - SyncW'(granted);
        end
    end

    load_tiles #(
        .Cfg(Cfg)
    ) i_far (
        .clk_i,
        .rst_ni(rst_ni && !go_i),
        .tile_i(tile_q),
        .end_i(end_q),
        .parts_i(cfg_i.load_parts),
        .last_part_i(last_part),
        .push_i(far_push),
        .home_i(push_home),
        .index_i(push_index),
        .row_valid_o(far_valid),
        .row_take_i(far_take),
        .home_o(far_home),
        .index_o(far_index),
        .done_o(far_done)
    );
    load_tiles #(
        .Cfg(Cfg)
    ) i_own (
        .clk_i,
        .rst_ni(rst_ni && !go_i),
        .tile_i(tile_q),
        .end_i(end_q),
        .parts_i(cfg_i.load_parts),
        .last_part_i(last_part),
        .push_i(own_push),
        .home_i(push_home),
        .index_i(push_index),
        .row_valid_o(own_valid_o),
        .row_take_i(own_valid_o && own_ready_i),
        .home_o(own_home),
        .index_o(own_index_o),
        .done_o(own_done)
    );

    // ---- lanes that are open --------------------------------------------------------------------
    logic [Cfg.OpenLoadW-1:0] open_q;
    logic lane_valid, lane_ready, landed_far, ld_idle;
    lane_t [Lanes-1:0] lanes;

    assign lane_valid = far_valid && open_q != Cfg.OpenLoadW'(Cfg.OpenLoads);
    assign far_take = lane_valid && lane_ready;
    assign landed_far = landed_i.valid && open_q > Cfg.OpenLoadW'(last_part)
                        && Cfg.PortW'(landed_i.token >> cfg_i.token_shift)
                           != cfg_i.port[Cfg.PortW-1:0];

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) open_q <= '0;
        else
            open_q <= open_q + Cfg.OpenLoadW'(far_take)
                      - (landed_far ? Cfg.OpenLoadW'(last_part) + 1'b1 : '0);
    end

    ready_gather #(
        .Cfg(Cfg),
        .IndexW(Cfg.LoadIndexW)
    ) i_gather (
        .clk_i,
        .rst_ni(rst_ni && !go_i),
        .port_i(cfg_i.port[Cfg.GpuW-1:0]),
        .far_valid_i(lane_valid),
        .far_ready_o(lane_ready),
        .far_home_i(far_home),
        .far_index_i(far_index),
        .own_valid_i(1'b0),
        .own_ready_o(),
        .own_index_i('0),
        .pkt_valid_o(ld_o.valid),
        .pkt_take_i(ld_o.valid && ld_ready_i),
        .lanes_o(lanes),
        .idle_o(ld_idle)
    );

    always_comb begin
        ld_o.header = '0;
        ld_o.header.opcode = OP_LD;
        ld_o.header.cls = CLS_CTRL;
        {ld_o.header.src_far, ld_o.header.src} = cfg_i.port;
        ld_o.header.epoch = cfg_i.epoch;
        ld_o.header.own = !alone_q;
        {ld_o.header.target0, ld_o.header.addr} = 64'(lanes);
    end

    // ---- errors ---------------------------------------------------------------------------------
    assign err_o.valid = refused_q || (grant_take && !granted);
    assign err_o.code = refused_q ? error_pkg::ERR_BOUNDS : error_pkg::ERR_COUNT;


    `MW_STABLE(report_o.valid && !go_i, report_ready_i || go_i, {report_o.home, report_o.index},
               "a report changes before it is taken")
    `MW_STABLE(own_valid_o && !go_i, own_ready_i || go_i, own_index_o,
               "an own row goes before it is taken")
    `MW_CONTRACT(1'b1, reported_q <= used_q, "a tile is reported that has no place")
    `MW_CONTRACT(1'b1, used_q <= SyncW'(Cfg.OpenSyncs), "more tiles than places")
    `MW_CONTRACT(1'b1, open_q <= Cfg.OpenLoadW'(Cfg.OpenLoads), "more open rows than allowed")
    `MW_CONTRACT(finished, !walk_q && used_q == '0 && open_q == '0,
                 "all rows are here, and one was not loaded")
endmodule

`default_nettype wire
