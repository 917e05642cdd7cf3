// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Bench: the receive side of a hub. It has rx, rx_store, allocator, row_tracker and token_tracker,
// with the connections of hub.sv, and loc_merge. Memory and every other unit are outside.
`default_nettype none
`include "bundles.svh"

module rx_hub #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter int unsigned LocPkts = 2
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire logic                go_i,
    input  wire node_pkg::node_cfg_t cfg_i,
    input  wire logic                sweep_i,
    output logic                     sweep_busy_o,

    input  wire bundle_pkg::emap_write_t emap_i,

    input  wire `MW_LINK(Cfg) rx_i,
    output logic [3:0]        crd_o,

    input  wire `MW_STREAM(Cfg) loc_i,
    output logic                loc_ready_o,
    input  wire `MW_STREAM(Cfg) clo_i,
    output logic                clo_ready_o,

    output `MW_MARKED(Cfg) req_o,
    output `MW_STREAM(Cfg) res_o,
    input  wire logic      res_ready_i,
    output logic           res_bad_o,

    output `MW_READ(Cfg)        rd_o, // of reds
    input  wire logic           rd_ready_i,
    input  wire `MW_ANSWER(Cfg) rd_i,
    output `MW_WRITE(Cfg)       wr_o [2],
    input  wire logic           wr_ready_i [2],

    // with switch-initiated reductions: lists are written, and rows granted to others' tokens
    output `MW_WRITE(Cfg)                  keep_wr_o,
    input  wire logic                      keep_wr_ready_i,
    output logic [$clog2(Cfg.Lanes+1)-1:0] keep_level_o,
    output logic                           keep_done_o,
    output logic                           lane_valid_o,
    input  wire logic                      lane_ready_i,
    output logic [Cfg.GpuW-1:0]            lane_home_o,
    output logic [Cfg.TokensLog2-1:0]      lane_index_o,

    output `MW_READ(Cfg)        alm_rd_o,
    input  wire logic           alm_rd_ready_i,
    input  wire `MW_ANSWER(Cfg) alm_rd_i,
    output `MW_WRITE(Cfg)       alm_wr_o,
    input  wire logic           alm_wr_ready_i,
    output logic                hit_o,
    output logic                miss_o,

    // allocator client 1
    input  wire logic                         req1_valid_i,
    output logic                              req1_ready_o,
    input  wire logic [node_pkg::ExpertW-1:0] req1_le_i,
    input  wire logic [node_pkg::TokenW-1:0]  req1_token_i,
    output logic                              resp1_valid_o,
    output logic [node_pkg::RowW-1:0]         resp1_row_o,
    output logic                              resp1_err_o,

    output bundle_pkg::count_t cnt_o, // of COUNTS, or of lists with source_lists,
                                      // each of a source once
    output logic               copies_here_o,
    output logic               rows_here_o,
    output logic               ev_valid_o [2], // of FLAG, of EVENT
    output logic [4:0]         ev_idx_o [2],
    output bundle_pkg::event_t flag_o,
    output logic               ev_ack_o,
    output logic               ack_valid_o,
    input  wire logic          ack_ready_i,
    output logic [6:0]         ack_dst_o,

    input  wire bundle_pkg::push_t            push_i,
    output logic                              push_ready_o,
    input  wire logic [node_pkg::ExpertW-1:0] stat_le_i,
    output bundle_pkg::stat_t                 stat_o,
    output logic                              counts_all_o,
    output logic                              rows_done_o,
    output logic                              ev_row_o,
    input  wire bundle_pkg::list_req_t        list_i,
    output bundle_pkg::list_rsp_t             list_o,

    input  wire logic                        arm_valid_i,
    output logic                             arm_ready_o,
    input  wire logic [node_pkg::TokenW-1:0] arm_token_i,
    input  wire logic [4:0]                  arm_count_i,
    input  wire logic                        arm_remote_i,
    input  wire logic                        own_valid_i,
    output logic                             own_ready_o,
    input  wire logic [node_pkg::TokenW-1:0] own_token_i,
    output logic                             rdy_valid_o,
    input  wire logic                        rdy_ready_i,
    output logic [Cfg.TokensLog2-1:0]        rdy_token_o,
    output logic                             tok_valid_o, // own experts have finished
    input  wire logic                        tok_ready_i,
    output logic [Cfg.TokensLog2-1:0]        tok_token_o,

    output bundle_pkg::added_t added_o, // contributions of reds

    output bundle_pkg::error_t err_o [5], // rx, rx_store, row tracker, token tracker,
                                          // source_flags and count_once
    output logic [4:0]         idle_o
);
    `MW_MARKED(Cfg)              st;
    logic                        st_crd, res_push, res_room, res_crd, sig_valid, sig_ready;
    logic [node_pkg::TokenW-1:0] sig_token, own_first;
    bundle_pkg::slot_bytes_t     slot; // as hub has it: where rows return
    logic                        returns, tok_sig_ready;

    assign returns   = Cfg.RowSparse && cfg_i.row_returns;
    assign sig_ready = tok_sig_ready && !returns;
    assign own_first = node_pkg::TokenW'(cfg_i.port) << cfg_i.token_shift;

    /* verilator lint_off PINCONNECTEMPTY */
    rx #(.Cfg(Cfg)) i_rx (
        .clk_i, .rst_ni, .cfg_i, .rx_i, .crd_o,
        .sig_valid_o(sig_valid), .sig_ready_i(sig_ready), .sig_token_o(sig_token),
        .ev_valid_o(ev_valid_o[1]), .ev_ready_i(1'b1), .ev_idx_o(ev_idx_o[1]), .ev_ack_o,
        .ack_src_o(),
        .st_o(st), .st_crd_i(st_crd),
        .req_o, .req_ready_i(1'b1), .lane_valid_o, .lane_ready_i, .lane_home_o, .lane_index_o,
        .tile_valid_o(), .tile_ready_i(1'b1), .push_valid_o(),
        .fetch_o(), .fetch_room_i(1'b1), .fetch_index_o(),
        .fetch_ref_o(), .res_push_o(res_push), .res_room_i(res_room), .res_crd_i(res_crd),
        .err_o(err_o[0]), .idle_o(idle_o[0])
    );
    /* verilator lint_on PINCONNECTEMPTY */

    `MW_STREAM(Cfg) loc;
    logic           loc_ready;

    loc_merge #(.Cfg(Cfg)) i_merge (
        .clk_i, .rst_ni, .go_i,
        .loc_i, .loc_ready_o, .clo_i, .clo_ready_o,
        .loc_o(loc), .loc_ready_i(loc_ready)
    );

    bundle_pkg::alloc_req_t al_req [2];
    bundle_pkg::alloc_rsp_t al_resp [2];
    logic                   al_ready [2], al_fill, al_busy;
    bundle_pkg::landed_t    trk;
    bundle_pkg::event_t     flag;
    bundle_pkg::port_t      ack;
    bundle_pkg::count_t       counts, notified;
    bundle_pkg::source_flag_t said;
    logic                     cnt_list, said_idle, store_idle;
    `MW_COUNTED(Cfg)          counted;
    bundle_pkg::error_t       said_err, twice_err;

    rx_store #(.Cfg(Cfg), .LocPkts(LocPkts)) i_store (
        .clk_i, .rst_ni, .cfg_i, .emap_i,
        .st_i(st), .st_crd_o(st_crd),
        .res_push_i(res_push), .res_room_o(res_room), .res_crd_o(res_crd), .res_o,
        .res_ready_i, .res_bad_o,
        .loc_i(loc), .loc_ready_o(loc_ready),
        .al_req_o(al_req[0]), .al_req_ready_i(al_ready[0]), .al_i(al_resp[0]),
        .al_fill_i(al_fill), .al_busy_i(al_busy),
        .rd_o, .rd_ready_i, .rd_i,
        .wr_o, .wr_ready_i,
        .trk_o(trk), .slot_o(slot), .slot_ready_i(tok_sig_ready && returns),
        .added_o, .added_ready_i(1'b1), .cnt_o(counts),
        .ev_o(flag), .said_o(said), .ack_o(ack), .ack_ready_i,
        .keep_wr_o, .keep_wr_ready_i, .keep_level_o, .keep_done_o,
        .err_o(err_o[1]), .idle_o(store_idle)
    );
    assign idle_o[1] = store_idle && said_idle;

    source_flags #(.Cfg(Cfg)) i_said (
        .clk_i, .rst_ni, .go_i, .cfg_i, .said_i(said),
        .landed_i('{valid: slot.valid && tok_sig_ready && returns, token: slot.token,
                    bytes: slot.bytes,
                    src: slot.src}),
        .cnt_i(counts), .cnt_o(notified), .cnt_list_o(cnt_list),
        .err_o(said_err), .idle_o(said_idle)
    );

    count_once #(.Cfg(Cfg)) i_once (
        .clk_i, .rst_ni, .go_i, .cfg_i, .cnt_i(notified), .cnt_list_i(cnt_list), .cnt_o,
        .counted_o(counted), .copies_here_o, .err_o(twice_err)
    );
    assign rows_here_o = counted.all;
    assign err_o[4] = said_err.valid ? said_err : twice_err;

    assign flag_o = flag;
    assign {ev_valid_o[0], ev_idx_o[0]} = {flag.valid, flag.idx};
    assign {ack_valid_o, ack_dst_o}     = ack;

    assign al_req[1]     = '{valid: req1_valid_i, le: req1_le_i, token: req1_token_i, default: '0};
    assign req1_ready_o  = al_ready[1];
    assign resp1_valid_o = al_resp[1].valid;
    assign resp1_row_o   = al_resp[1].row;
    assign resp1_err_o   = al_resp[1].err;

    logic sweep_alloc, sweep_rows, sweep_tokens;
    assign sweep_busy_o = sweep_alloc || sweep_rows || sweep_tokens;

    allocator #(.Cfg(Cfg)) i_alloc (
        .clk_i, .rst_ni, .cfg_i, .sweep_i, .sweep_busy_o(sweep_alloc),
        .req_i(al_req), .req_ready_o(al_ready), .resp_o(al_resp),
        .fill_o(al_fill), .busy_o(al_busy),
        .alm_rd_o, .alm_rd_ready_i, .alm_rd_i,
        .alm_wr_o, .alm_wr_ready_i,
        .hit_o, .miss_o, .idle_o(idle_o[2])
    );

    /* verilator lint_off PINCONNECTEMPTY */
    row_tracker #(.Cfg(Cfg)) i_rows (
        .clk_i, .rst_ni, .go_i, .cfg_i, .sweep_i, .sweep_busy_o(sweep_rows),
        .trk_i(trk),
        .cnt_i(cnt_o), .cnt_list_i(cnt_list), .counted_i(counted),
        .push_i, .push_ready_o, .stat_le_i, .stat_o,
        .rows_o({ev_row_o, counts_all_o, rows_done_o}),
        .list_i, .list_o, .loaded_o(),
        .err_o(err_o[2]), .idle_o(idle_o[3])
    );
    /* verilator lint_on PINCONNECTEMPTY */

    token_tracker #(.Cfg(Cfg)) i_tokens (
        .clk_i, .rst_ni, .go_i, .cfg_i, .sweep_i, .sweep_busy_o(sweep_tokens),
        .arm_i('{valid: arm_valid_i, token: arm_token_i, count: arm_count_i, remote: arm_remote_i}),
        .arm_ready_o, .own_i('{valid: own_valid_i, token: own_token_i}), .own_ready_o,
        .sig_i('{valid: returns ? slot.valid : sig_valid,
                 token: returns ? own_first | slot.token : sig_token}),
        .sig_ready_o(tok_sig_ready), .sig_bytes_i(slot.bytes),
        .rdy_o({rdy_valid_o, rdy_token_o}), .rdy_ready_i,
        .lane_o({tok_valid_o, tok_token_o}), .lane_ready_i(tok_ready_i),
        .err_o(err_o[3]), .idle_o(idle_o[4])
    );

endmodule

`default_nettype wire
