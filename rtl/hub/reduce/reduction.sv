// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The hub's side of reductions. Units combine and push name tokens and received rows, row_build
// requests their rows, reduce_serve queues and sets up rows, row_sum adds them.
//
// Order: See these modules.
// Back-pressure: There is no circular wait. row_build waits for the uplink's request queue and for
// own rows. Own rows wait for own memory and results. Partial sums wait for credits, which the
// switch returns as results are taken. Results wait for own rows that were requested before.
`default_nettype none
`include "bundles.svh"

module reduction #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type group_t = `MW_GROUP(Cfg),
    parameter type read_t = `MW_READ(Cfg),
    parameter type answer_t = `MW_ANSWER(Cfg),
    parameter type write_t = `MW_WRITE(Cfg),
    parameter type marked_t = `MW_MARKED(Cfg),
    parameter type stream_t = `MW_STREAM(Cfg),
    parameter type rows_t = `MW_ROWS(Cfg),
    parameter type row_t = `MW_ROW(Cfg),
    parameter type dest_t = `MW_DEST(Cfg),
    parameter type term_t = `MW_TERM(Cfg),
    parameter type item_t = `MW_ITEM(Cfg),
    parameter type items_t = `MW_ITEMS(Cfg),
    parameter type back_t = `MW_BACK(Cfg),
    parameter type route_entry_t = `MW_ROUTE_ENTRY(Cfg),
    parameter type meta_entry_t = `MW_META_ENTRY(Cfg),
    parameter type meta_t = `MW_META(Cfg)
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire logic                go_i,
    input  wire node_pkg::node_cfg_t cfg_i,

    input  wire bundle_pkg::emap_write_t  emap_i,
    input  wire group_t groups_i,

    // unit combine
    input  wire logic                        cmd_valid_i,
    output logic                             cmd_ready_o,
    input  wire isa_pkg::instr_t             cmd_i,
    output logic                             retire_o,
    input  wire bundle_pkg::token_t          rdy_i,
    output logic                             rdy_ready_o,
    output logic                             tok_done_o,
    input  wire logic [node_pkg::RowW-1:0]   own_base_i,

    // unit push
    input  wire logic                  push_valid_i,
    output logic                       push_ready_o,
    output logic                       push_retire_o,
    output logic [Cfg.GpuW-1:0]        src_o,
    input  wire bundle_pkg::src_rows_t src_rows_i,

    // a row that returns, see row_return
    input  wire back_t        back_i,
    output logic              back_done_o,
    output bundle_pkg::port_t back_left_o,  // the last flit of such a row for this home has

    // memory: a MISC client, SUMA, SUMB, another MISC client (adder bypass), OUT
    output read_t        rd_o,
    input  wire logic    rd_ready_i,
    input  wire answer_t rd_i,
    output read_t        sum_rd_o [2],
    input  wire logic    sum_rd_ready_i [2],
    input  wire answer_t sum_rd_i [2],
    output read_t        copy_rd_o,
    input  wire logic    copy_rd_ready_i,
    input  wire answer_t copy_rd_i,
    output write_t       out_wr_o,
    input  wire logic    out_wr_ready_i,

    // allocator client 1
    output bundle_pkg::alloc_req_t      al_req_o,
    input  wire logic                   al_req_ready_i,
    input  wire bundle_pkg::alloc_rsp_t al_i,

    // from rx: requests (always taken), results
    input  wire marked_t req_i,
    input  wire stream_t res_i,
    output logic         res_ready_o,
    input  wire logic    res_bad_i,

    // to tx: requests, partial sums, ST packets of sum.st (on the same wires)
    output stream_t                req_o,
    input  wire logic              req_ready_i,
    output stream_t                part_o,
    input  wire logic              part_ready_i,
    output logic                   sst_valid_o,
    input  wire logic              sst_ready_i,
    input  wire bundle_pkg::port_t part_crd_i,

    // see row_balance
    input  wire logic [Cfg.N-1:0] behind_i,
    output bundle_pkg::port_t     row_done_o,

    output bundle_pkg::error_t err_o [3],  // combine and push, reduce_serve, row_sum
    output logic               idle_o
);

    logic own_valid, own_ready, own_static;
    rows_t rows;
    row_t row;
    bundle_pkg::summed_row_t summed;
    logic row_pop;
    logic [Cfg.GpuW-1:0] row_ctx;
    logic st_done;
    logic [Cfg.GpuW-1:0] st_home;
    dest_t dest;
    bundle_pkg::term_req_t term_req;
    term_t term;
    logic dest_ready;
    logic idle_serve, idle_sum;

    // ---- units combine and push ---------------------------------------------------
    route_entry_t route_entry;
    meta_entry_t meta_entry;
    meta_t meta;
    logic route_ready, route_got, meta_ready;
    logic [Cfg.TokensLog2-1:0] push_token;
    item_t item;
    items_t items;
    back_t back;
    bundle_pkg::built_t built;
    bundle_pkg::pushed_t pushed;
    logic push_item, push_err;
    bundle_pkg::error_t combine_err;
    bundle_pkg::id_req_t id_req;
    logic [15:0] id;

    // Where rows return, unit push has them alone.
    logic returns;
    assign returns = Cfg.RowSparse && cfg_i.row_returns;
    assign back_done_o = pushed.done && returns;
    always_comb begin
        back = back_i;
        if (!returns) begin
            back.valid = push_item;
            back.home = src_o;
            back.row = meta_entry.row;
            back.token = push_token;
        end
    end
    assign back_left_o = '{valid: st_done && returns, port: packet_pkg::port_t'(st_home)};

    combine #(
        .Cfg(Cfg)
    ) i_combine (
        .clk_i,
        .rst_ni,
        .go_i,
        .cfg_i,
        .cmd_valid_i,
        .cmd_ready_o,
        .cmd_i,
        .retire_o,
        .rdy_i,
        .rdy_ready_o,
        .tok_done_o,
        .own_base_i,
        .entry_o(route_entry),
        .entry_ready_i(route_ready),
        .entry_got_i(route_got),
        .item_o(item),
        .items_o(items),
        .built_i(built),
        .row_i(summed),
        .err_o(combine_err)
    );

    row_ranges #(
        .Cfg(Cfg)
    ) i_push (
        .clk_i,
        .rst_ni,
        .go_i,
        .cfg_i,
        .cmd_valid_i(push_valid_i),
        .cmd_ready_o(push_ready_o),
        .cmd_i,
        .retire_o(push_retire_o),
        .err_valid_o(push_err),
        .src_o,
        .src_rows_i,
        .own_base_i,
        .entry_o(meta_entry),
        .entry_ready_i(meta_ready),
        .entry_i(meta),
        .item_valid_o(push_item),
        .item_token_o(push_token),
        .item_done_i(pushed.done && !returns),
        .quiet_i(pushed.quiet)
    );

    entry_reader #(
        .Cfg(Cfg)
    ) i_entries (
        .clk_i,
        .rst_ni,
        .go_i,
        .cfg_i,
        .route_i(route_entry),
        .route_ready_o(route_ready),
        .route_got_o(route_got),
        .meta_i(meta_entry),
        .meta_ready_o(meta_ready),
        .meta_o(meta),
        .rd_o,
        .rd_ready_i,
        .rd_i,
        .id_i(id_req),
        .id_slot_i(item.slot),
        .id_o(id)
    );

    row_build #(
        .Cfg(Cfg)
    ) i_build (
        .clk_i,
        .rst_ni,
        .go_i,
        .cfg_i,
        .emap_i,
        .groups_i,
        .item_i(item),
        .items_i(items),
        .built_o(built),
        .row_done_i(summed.done),
        .push_i(back),
        .pushed_o(pushed),
        .st_done_i(st_done),
        .id_o(id_req),
        .id_i(id),
        .req_o,
        .req_ready_i,
        .own_valid_o(own_valid),
        .own_ready_i(own_ready),
        .own_static_o(own_static)
    );

    // ---- rows ---------------------------------------------------------------------
    reduce_serve #(
        .Cfg(Cfg)
    ) i_serve (
        .clk_i,
        .rst_ni,
        .go_i,
        .cfg_i,
        .emap_i,
        .req_i,
        .own_i('{valid: own_valid, last: req_o.last, is_static: own_static, data: req_o.data}),
        .own_ready_o(own_ready),
        .static_delta_i(items.delta),
        .al_req_o,
        .al_req_ready_i,
        .al_i,
        .rows_o(rows),
        .row_i('{ctx: row_ctx, pop: row_pop, term: term_req}),
        .row_o(row),
        .term_o(term),
        .dest_o(dest),
        .dest_ready_i(dest_ready),
        .err_o(err_o[1]),
        .idle_o(idle_serve)
    );

    row_sum #(
        .Cfg(Cfg)
    ) i_sum (
        .clk_i,
        .rst_ni,
        .go_i,
        .cfg_i,
        .rows_i(rows),
        .row_ctx_o(row_ctx),
        .row_i(row),
        .row_pop_o(row_pop),
        .term_o(term_req),
        .term_i(term),
        .dest_i(dest),
        .dest_ready_o(dest_ready),
        .row_done_o(summed.done),
        .row_more_o(summed.more),
        .st_done_o(st_done),
        .st_home_o(st_home),
        .sum_rd_o,
        .sum_rd_ready_i,
        .sum_rd_i,
        .copy_rd_o,
        .copy_rd_ready_i,
        .copy_rd_i,
        .out_wr_o,
        .out_wr_ready_i,
        .res_i,
        .res_ready_o,
        .res_bad_i,
        .part_o,
        .part_ready_i,
        .sst_valid_o,
        .sst_ready_i,
        .part_crd_i,
        .behind_i,
        .part_done_o(row_done_o),
        .err_valid_o(err_o[2].valid),
        .idle_o(idle_sum)
    );

    // Of two errors in one cycle that of combine is reported.
    assign err_o[0].valid = combine_err.valid || push_err;
    assign err_o[0].code = combine_err.valid ? combine_err.code : error_pkg::ERR_BOUNDS;
    assign err_o[2].code = error_pkg::ERR_POISON;
    assign idle_o = cmd_ready_o && push_ready_o && pushed.quiet && idle_serve && idle_sum;
endmodule

`default_nettype wire
