// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Bench: the receive side of a hub as node.sv wires it, rx, loc_merge, rx_store, allocator, row_tracker and token_tracker, with the memory and every
// other unit outside.
`default_nettype none

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

    input  wire logic            emap_we_i,
    input  wire logic [11:0]     emap_addr_i,
    input  wire node_pkg::emap_t emap_data_i,

    input  wire logic                 rx_valid_i,
    input  wire logic                 rx_last_i,
    input  wire logic                 rx_err_i,
    input  wire logic [1:0]           rx_cls_i,
    input  wire logic [Cfg.FlitW-1:0] rx_data_i,
    output logic [3:0]                crd_o,

    input  wire logic                 loc_valid_i,
    output logic                      loc_ready_o,
    input  wire logic [Cfg.FlitW-1:0] loc_data_i,
    input  wire logic                 loc_last_i,
    input  wire logic                 clo_valid_i,
    output logic                      clo_ready_o,
    input  wire logic [Cfg.FlitW-1:0] clo_data_i,
    input  wire logic                 clo_last_i,

    output logic                 req_valid_o,
    output logic                 req_last_o,
    output logic                 req_err_o,
    output logic [Cfg.FlitW-1:0] req_data_o,
    output logic                 res_valid_o,
    input  wire logic            res_ready_i,
    output logic                 res_last_o,
    output logic                 res_bad_o,
    output logic [Cfg.FlitW-1:0] res_data_o,

    output logic                      rd_valid_o, // of reds
    input  wire logic                 rd_ready_i,
    output logic [Cfg.AddrW-1:0]      rd_addr_o,
    input  wire logic                 rd_rvalid_i,
    input  wire logic [Cfg.FlitW-1:0] rd_rdata_i,
    output logic                      wr_valid_o [2],
    input  wire logic                 wr_ready_i [2],
    output logic [Cfg.AddrW-1:0]      wr_addr_o [2],
    output logic [Cfg.FlitW-1:0]      wr_data_o [2],
    output logic [Cfg.FlitBytes-1:0]  wr_be_o [2],

    output logic                      alm_rd_valid_o,
    input  wire logic                 alm_rd_ready_i,
    output logic [Cfg.AddrW-1:0]      alm_rd_addr_o,
    input  wire logic                 alm_rd_rvalid_i,
    input  wire logic [Cfg.FlitW-1:0] alm_rd_rdata_i,
    output logic                      alm_wr_valid_o,
    input  wire logic                 alm_wr_ready_i,
    output logic [Cfg.AddrW-1:0]      alm_wr_addr_o,
    output logic [Cfg.FlitW-1:0]      alm_wr_data_o,
    output logic [Cfg.FlitBytes-1:0]  alm_wr_be_o,
    output logic                      hit_o,
    output logic                      miss_o,

    // allocator client 1
    input  wire logic                         req1_valid_i,
    output logic                              req1_ready_o,
    input  wire logic [node_pkg::ExpertW-1:0] req1_le_i,
    input  wire logic [node_pkg::TokenW-1:0]  req1_token_i,
    output logic                              resp1_valid_o,
    output logic [node_pkg::RowW-1:0]         resp1_row_o,
    output logic                              resp1_err_o,

    output logic        cnt_valid_o,
    output logic        cnt_kind_o,
    output logic [4:0]  cnt_src_o,
    output logic [4:0]  cnt_idx_o,
    output logic [31:0] cnt_val_o,
    output logic        cnt_last_o,
    output logic        ev_valid_o [2], // of FLAG, of EVENT
    output logic [3:0]  ev_idx_o [2],
    output logic        ev_ack_o,
    output logic        ack_valid_o,
    input  wire logic   ack_ready_i,
    output logic [4:0]  ack_dst_o,

    input  wire logic                         push_valid_i,
    output logic                              push_ready_o,
    input  wire logic [node_pkg::ExpertW-1:0] push_le_i,
    input  wire logic [node_pkg::RowW-1:0]    push_row_i,
    input  wire logic                         push_last_i,
    input  wire logic [node_pkg::ExpertW-1:0] stat_le_i,
    output logic [node_pkg::RowW-1:0]         stat_complete_o,
    output logic [node_pkg::RowW-1:0]         stat_expected_o,
    output logic                              counts_all_o,
    output logic                              rows_done_o,
    output logic                              ev_row_o,
    input  wire logic                         list_valid_i,
    input  wire logic [node_pkg::ExpertW-1:0] list_le_i,
    input  wire logic [node_pkg::RowW-1:0]    list_idx_i,
    output logic                              list_rvalid_o,
    output logic [node_pkg::RowW-1:0]         list_row_o,
    output logic [node_pkg::TokenW-1:0]       list_token_o,
    output logic [3:0]                        list_pos_o,

    input  wire logic                        arm_valid_i,
    output logic                             arm_ready_o,
    input  wire logic [node_pkg::TokenW-1:0] arm_token_i,
    input  wire logic [4:0]                  arm_count_i,
    input  wire logic                        own_valid_i,
    output logic                             own_ready_o,
    input  wire logic [node_pkg::TokenW-1:0] own_token_i,
    output logic                             rdy_valid_o,
    input  wire logic                        rdy_ready_i,
    output logic [Cfg.TokensLog2-1:0]        rdy_token_o,

    output logic [3:0]      err_valid_o, // rx, rx_store, row tracker, token tracker
    output error_pkg::err_e err_code_o [4],
    output logic [4:0]      idle_o
);
    logic               st_valid, st_last, st_err, st_crd, res_push, res_room, res_crd, sig_valid, sig_ready;
    logic [Cfg.FlitW-1:0]      st_data;
    logic [node_pkg::TokenW-1:0]  sig_token;

    /* verilator lint_off PINCONNECTEMPTY */
    rx #(.Cfg(Cfg)) i_rx (
        .clk_i, .rst_ni, .cfg_i, .rx_valid_i, .rx_last_i, .rx_err_i, .rx_cls_i, .rx_data_i, .crd_o,
        .sig_valid_o(sig_valid), .sig_ready_i(sig_ready), .sig_token_o(sig_token), .ev_valid_o(ev_valid_o[1]), .ev_ready_i(1'b1), .ev_idx_o(ev_idx_o[1]), .ev_ack_o, .ack_src_o(),
        .st_valid_o(st_valid), .st_last_o(st_last), .st_err_o(st_err), .st_data_o(st_data), .st_crd_i(st_crd),
        .req_valid_o, .req_ready_i(1'b1), .req_last_o, .req_err_o, .req_data_o,
        .res_push_o(res_push), .res_room_i(res_room), .res_crd_i(res_crd),
        .err_valid_o(err_valid_o[0]), .err_code_o(err_code_o[0]), .idle_o(idle_o[0])
    );
    /* verilator lint_on PINCONNECTEMPTY */

    logic          loc_valid, loc_ready, loc_last;
    logic [Cfg.FlitW-1:0] loc_data;

    loc_merge #(.Cfg(Cfg)) i_merge (
        .clk_i, .rst_ni, .go_i,
        .loc_valid_i, .loc_ready_o, .loc_data_i, .loc_last_i, .clo_valid_i, .clo_ready_o, .clo_data_i, .clo_last_i,
        .loc_valid_o(loc_valid), .loc_ready_i(loc_ready), .loc_data_o(loc_data), .loc_last_o(loc_last)
    );

    logic               al_valid [2], al_ready [2], al_alloc [2], al_resp [2], al_start, al_retry, al_miss, al_err, al_fill, al_busy;
    logic [node_pkg::ExpertW-1:0] al_le [2];
    logic [node_pkg::TokenW-1:0]  al_token [2];
    logic [node_pkg::RowW-1:0]    al_row;
    logic               trk_valid;
    logic [node_pkg::ExpertW-1:0] trk_le;
    logic [node_pkg::RowW-1:0]    trk_row;
    logic [node_pkg::TokenW-1:0]  trk_token;
    logic [3:0]         trk_pos;
    logic [7:0]         trk_bytes;

    rx_store #(.Cfg(Cfg), .LocPkts(LocPkts)) i_store (
        .clk_i, .rst_ni, .cfg_i, .emap_we_i, .emap_addr_i, .emap_data_i,
        .st_valid_i(st_valid), .st_last_i(st_last), .st_err_i(st_err), .st_data_i(st_data), .st_crd_o(st_crd),
        .res_push_i(res_push), .res_room_o(res_room), .res_crd_o(res_crd), .res_valid_o, .res_ready_i, .res_last_o, .res_bad_o, .res_data_o,
        .loc_valid_i(loc_valid), .loc_ready_o(loc_ready), .loc_data_i(loc_data), .loc_last_i(loc_last),
        .al_req_valid_o(al_valid[0]), .al_req_ready_i(al_ready[0]), .al_req_le_o(al_le[0]), .al_req_token_o(al_token[0]),
        .al_req_start_o(al_start), .al_req_retry_o(al_retry), .al_resp_valid_i(al_resp[0]), .al_resp_miss_i(al_miss), .al_resp_err_i(al_err),
        .al_resp_row_i(al_row), .al_fill_i(al_fill), .al_busy_i(al_busy),
        .rd_valid_o, .rd_ready_i, .rd_addr_o, .rd_rvalid_i, .rd_rdata_i,
        .wr_valid_o, .wr_ready_i, .wr_addr_o, .wr_data_o, .wr_be_o,
        .trk_valid_o(trk_valid), .trk_le_o(trk_le), .trk_row_o(trk_row), .trk_token_o(trk_token), .trk_pos_o(trk_pos), .trk_bytes_o(trk_bytes),
        .cnt_valid_o, .cnt_kind_o, .cnt_src_o, .cnt_idx_o, .cnt_val_o, .cnt_last_o,
        .ev_valid_o(ev_valid_o[0]), .ev_idx_o(ev_idx_o[0]), .ack_valid_o, .ack_ready_i, .ack_dst_o,
        .err_valid_o(err_valid_o[1]), .err_code_o(err_code_o[1]), .idle_o(idle_o[1])
    );

    assign al_alloc[0]   = 1'b1;
    assign al_alloc[1]   = 1'b0;
    assign al_valid[1]   = req1_valid_i;
    assign req1_ready_o  = al_ready[1];
    assign al_le[1]      = req1_le_i;
    assign al_token[1]   = req1_token_i;
    assign resp1_valid_o = al_resp[1];
    assign resp1_row_o   = al_row;
    assign resp1_err_o   = al_err;

    logic sweep_alloc, sweep_rows, sweep_tokens;
    assign sweep_busy_o = sweep_alloc || sweep_rows || sweep_tokens;

    allocator #(.Cfg(Cfg)) i_alloc (
        .clk_i, .rst_ni, .cfg_i, .sweep_i, .sweep_busy_o(sweep_alloc),
        .req_valid_i(al_valid), .req_ready_o(al_ready), .req_le_i(al_le), .req_token_i(al_token), .req_alloc_i(al_alloc),
        .req_start_i(al_start), .req_retry_i(al_retry),
        .resp_valid_o(al_resp), .resp_row_o(al_row), .resp_miss_o(al_miss), .resp_err_o(al_err), .fill_o(al_fill), .busy_o(al_busy),
        .alm_rd_valid_o, .alm_rd_ready_i, .alm_rd_addr_o, .alm_rd_rvalid_i, .alm_rd_rdata_i,
        .alm_wr_valid_o, .alm_wr_ready_i, .alm_wr_addr_o, .alm_wr_data_o, .alm_wr_be_o,
        .hit_o, .miss_o, .idle_o(idle_o[2])
    );

    row_tracker #(.Cfg(Cfg)) i_rows (
        .clk_i, .rst_ni, .go_i, .cfg_i, .sweep_i, .sweep_busy_o(sweep_rows),
        .trk_valid_i(trk_valid), .trk_le_i(trk_le), .trk_row_i(trk_row), .trk_token_i(trk_token), .trk_pos_i(trk_pos), .trk_bytes_i(trk_bytes),
        .exp_valid_i(cnt_valid_o), .exp_kind_i(cnt_kind_o), .exp_idx_i(cnt_idx_o), .exp_val_i(cnt_val_o), .exp_last_i(cnt_last_o),
        .push_valid_i, .push_ready_o, .push_le_i, .push_row_i, .push_last_i,
        .stat_le_i, .stat_complete_o, .stat_expected_o, .counts_all_o, .rows_done_o, .ev_row_o,
        .list_valid_i, .list_le_i, .list_idx_i, .list_rvalid_o, .list_row_o, .list_token_o, .list_pos_o,
        .err_valid_o(err_valid_o[2]), .err_code_o(err_code_o[2]), .idle_o(idle_o[3])
    );

    token_tracker #(.Cfg(Cfg)) i_tokens (
        .clk_i, .rst_ni, .go_i, .cfg_i, .sweep_i, .sweep_busy_o(sweep_tokens), .arm_valid_i, .arm_ready_o, .arm_token_i, .arm_count_i,
        .own_valid_i, .own_ready_o, .own_token_i, .sig_valid_i(sig_valid), .sig_ready_o(sig_ready), .sig_token_i(sig_token),
        .rdy_valid_o, .rdy_ready_i, .rdy_token_o, .err_valid_o(err_valid_o[3]), .err_code_o(err_code_o[3]), .idle_o(idle_o[4])
    );

endmodule

`default_nettype wire
