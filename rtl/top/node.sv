// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// A node: one emulated GPU (memory, instruction streams, expert engine) and its hub (send side, receive side, reductions), with its registers.
// Structure only. Outputs depend on no input of the same cycle. Who waits for whom: docs/architecture.md, order; ports and guarantees of each part: docs/microarchitecture.md.
`default_nettype none

module node #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default
) (
    input  wire logic       clk_i,
    input  wire logic       rst_ni,
    input  wire logic       go_i,
    input  wire logic       run_i,  // a layer is not done: from the cycle behind go_i on
    input  wire logic       sweep_i,
    input  wire logic [4:0] port_i, // constant
    input  wire logic [1:0] epoch_i,

    input  wire logic        csr_req_i,
    input  wire logic        csr_we_i,
    input  wire logic [11:0] csr_addr_i,
    input  wire logic [31:0] csr_wdata_i,
    output logic             csr_ack_o,
    output logic             csr_err_o,
    output logic [31:0]      csr_rdata_o,

    input  wire logic            emap_we_i,
    input  wire logic [11:0]     emap_addr_i,
    input  wire node_pkg::emap_t emap_data_i,
    input  wire logic            group_we_i,
    input  wire logic [3:0]      group_addr_i,
    input  wire logic [31:0]     group_data_i,

    output logic                 up_valid_o,
    output logic                 up_last_o,
    output logic                 up_err_o,
    output logic [1:0]           up_cls_o,
    output logic [Cfg.FlitW-1:0] up_data_o,
    input  wire logic [3:0]      up_crd_i,
    input  wire logic [4:0]      up_crd_part_i,

    input  wire logic                 dn_valid_i,
    input  wire logic                 dn_last_i,
    input  wire logic                 dn_err_i,
    input  wire logic [1:0]           dn_cls_i,
    input  wire logic [Cfg.FlitW-1:0] dn_data_i,
    output logic [3:0]                dn_crd_o,

    input  wire logic                 host_valid_i,
    output logic                      host_ready_o,
    input  wire logic                 host_we_i,
    input  wire logic [31:0]          host_addr_i, // flit address
    input  wire logic [Cfg.FlitW-1:0] host_wdata_i,
    output logic                      host_rvalid_o,
    output logic [Cfg.FlitW-1:0]      host_rdata_o,

    output logic idle_o,
    output logic error_o,
    output logic sweep_busy_o
);
    localparam int unsigned TokenW = node_pkg::TokenW, RowW = node_pkg::RowW, ExpertW = node_pkg::ExpertW;

    node_pkg::node_cfg_t cfg;

    // ---- what comes in is registered here (the uplink's credits aside); the host's port holds one access ----
    logic             go, run, sweep, emap_we, group_we, csr_req, csr_we, host_valid, host_we, host_done;
    logic [1:0]       epoch_q;
    logic [4:0]       port_q;
    logic [11:0]      emap_addr, csr_addr;
    node_pkg::emap_t  emap_data;
    logic [3:0]       group_addr;
    logic [31:0]      group_data, csr_wdata;
    logic [Cfg.AddrW-1:0] host_addr;
    logic [Cfg.FlitW-1:0]    host_wdata, dn_data;
    logic             dn_valid, dn_last, dn_err;
    logic [3:0]       dn_crd;
    logic [1:0]       dn_cls;

    always_ff @(posedge clk_i) begin
        go         <= rst_ni && go_i;
        run        <= rst_ni && run_i;
        sweep      <= rst_ni && sweep_i;
        epoch_q    <= epoch_i;
        port_q     <= port_i;
        emap_we    <= rst_ni && emap_we_i;
        emap_addr  <= emap_addr_i;
        emap_data  <= emap_data_i;
        group_we   <= rst_ni && group_we_i;
        group_addr <= group_addr_i;
        group_data <= group_data_i;
        // the request stays until the cycle behind its answer
        csr_req    <= rst_ni && csr_req_i && !csr_ack_o;
        csr_we     <= csr_we_i;
        csr_addr   <= csr_addr_i;
        csr_wdata  <= csr_wdata_i;
        dn_valid   <= rst_ni && dn_valid_i;
        dn_last    <= dn_last_i;
        dn_err     <= dn_err_i;
        dn_cls     <= dn_cls_i;
        if (dn_valid_i) dn_data <= dn_data_i;
        if (!rst_ni) host_valid <= 1'b0;
        else if (host_ready_o) host_valid <= host_valid_i;
        if (host_ready_o) begin
            host_we    <= host_we_i;
            host_addr  <= host_addr_i[Cfg.AddrW-1:0];
            host_wdata <= host_wdata_i;
        end
    end

    assign host_ready_o = !host_valid || host_done;

    // ---- memory: read ports SEND, SUMA, SUMB, MISC; write port ST0 alone, ST1, OUT, the allocator's and the host's together; the expert engine's ----
    localparam int unsigned RdSend = 0, RdSumA = 1, RdSumB = 2, RdMisc = 3, NumRd = 4;
    localparam int unsigned WrSt = 0, WrOut = 2, WrAlloc = 3, WrHost = 4, NumWr = 5;
    logic                 rd_valid [NumRd], rd_ready [NumRd], rd_rvalid [NumRd];
    logic [Cfg.AddrW-1:0]     rd_addr [NumRd];
    logic [Cfg.FlitW-1:0]        rd_rdata [NumRd];
    logic                 wr_valid [NumWr], wr_ready [NumWr];
    logic [Cfg.AddrW-1:0]     wr_addr [NumWr];
    logic [Cfg.FlitW-1:0]        wr_data [NumWr];
    logic [Cfg.FlitBytes-1:0] wr_be [NumWr];
    logic                 exp_rd_valid, exp_rd_ready, mem_conflict;
    logic [Cfg.AddrW-2:0]     exp_rd_addr, exp_wr_addr;
    logic [1:0]           exp_wr_valid;
    logic [Cfg.FlitW-1:0]        exp_rd_data [2], exp_wr_data [2];

    gpu_mem #(.Cfg(Cfg), .NumRd(NumRd), .NumWr(NumWr)) i_mem (
        .clk_i, .rst_ni, .go_i(go),
        .rd_valid_i(rd_valid), .rd_ready_o(rd_ready), .rd_addr_i(rd_addr), .rd_rvalid_o(rd_rvalid), .rd_rdata_o(rd_rdata),
        .wr_valid_i(wr_valid), .wr_ready_o(wr_ready), .wr_addr_i(wr_addr), .wr_data_i(wr_data), .wr_be_i(wr_be),
        .exp_rd_valid_i(exp_rd_valid), .exp_rd_ready_o(exp_rd_ready), .exp_rd_addr_i(exp_rd_addr), .exp_rd_data_o(exp_rd_data), .exp_wr_valid_i(exp_wr_valid), .exp_wr_addr_i(exp_wr_addr),
        .exp_wr_data_i(exp_wr_data), .conflict_o(mem_conflict)
    );

    // clients of MISC
    localparam int unsigned CStreams = 0, CControl = 1, CAlloc = 2, CCombine = 3, CExpert = 4, CHost = 5, CRed = 6, MiscRd = Cfg.Reds ? 7 : 6;
    logic                 mrd_valid [MiscRd], mrd_ready [MiscRd], mrd_rvalid [MiscRd];
    logic [Cfg.AddrW-1:0]     mrd_addr [MiscRd];
    logic [Cfg.FlitW-1:0]        mrd_rdata;

    mem_rd_mux #(.Cfg(Cfg), .Clients(MiscRd)) i_rd_misc (
        .clk_i, .rst_ni, .go_i(go),
        .cl_valid_i(mrd_valid), .cl_ready_o(mrd_ready), .cl_addr_i(mrd_addr), .cl_rvalid_o(mrd_rvalid), .cl_rdata_o(mrd_rdata),
        .rd_valid_o(rd_valid[RdMisc]), .rd_ready_i(rd_ready[RdMisc]), .rd_addr_o(rd_addr[RdMisc]), .rd_rvalid_i(rd_rvalid[RdMisc]), .rd_rdata_i(rd_rdata[RdMisc])
    );

    assign mrd_valid[CHost] = host_valid && !host_we;
    assign mrd_addr[CHost]  = host_addr;
    assign wr_valid[WrHost] = host_valid && host_we;
    assign wr_addr[WrHost]  = host_addr;
    assign wr_data[WrHost]  = host_wdata;
    assign wr_be[WrHost]    = '1;
    assign host_done        = host_we ? wr_ready[WrHost] : mrd_ready[CHost];
    assign host_rvalid_o    = mrd_rvalid[CHost];
    assign host_rdata_o     = mrd_rdata;

    wire unused = &{1'b0, host_addr_i[31:Cfg.AddrW]};  // the host checks its addresses

    // ---- instruction streams and units ----
    localparam int unsigned UControl = 0, USend = 1, UExpert = 2, UCombine = 3, UPush = 4, Units = 5;
    logic            cmd_valid [Units], cmd_ready [Units], retire [Units];
    isa_pkg::instr_t cmd;
    logic            streams_idle;
    logic [31:0]     stream_state [4];
    logic            fev_valid, cev_valid;
    logic [3:0]      fev_idx, cev_idx;
    logic            ev_valid [2];
    logic [2:0]      ev_idx [2];
    logic            cev_ready, ev_counts, ev_row, ev_token, ev_ack, rows_done;
    logic [4:0]      ack_src;

    assign ev_valid = '{fev_valid, cev_valid};
    assign ev_idx   = '{fev_idx[2:0], cev_idx[2:0]};
    wire unused_idx = &{1'b0, fev_idx[3], cev_idx[3]};  // 0: packets with other counters are rejected

    // ---- error sources ----
    localparam int unsigned ErrStreams = 0, ErrSend = 1, ErrControl = 2, ErrRx = 3, ErrStore = 4, ErrRows = 5, ErrRed = 6, ErrTokens = 9, NumErr = 10;
    logic [NumErr-1:0]      err_valid;
    logic [NumErr-1:0][7:0] err_code;
    error_pkg::err_e        streams_err, send_err, control_err, tokens_err, rx_err, store_err, rows_err, red_err [3];

    assign err_code = {8'(tokens_err), 8'(red_err[2]), 8'(red_err[1]), 8'(red_err[0]), 8'(rows_err), 8'(store_err), 8'(rx_err), 8'(control_err), 8'(send_err), 8'(streams_err)};

    streams #(.Cfg(Cfg)) i_streams (
        .clk_i, .rst_ni, .go_i(go), .cfg_i(cfg),
        .rd_valid_o(mrd_valid[CStreams]), .rd_ready_i(mrd_ready[CStreams]), .rd_addr_o(mrd_addr[CStreams]), .rd_rvalid_i(mrd_rvalid[CStreams]), .rd_rdata_i(mrd_rdata),
        .cmd_valid_o(cmd_valid), .cmd_ready_i(cmd_ready), .cmd_o(cmd), .retire_i(retire),
        .ev_valid_i(ev_valid), .ev_idx_i(ev_idx), .ev_ready_o(cev_ready), .ev_counts_i(ev_counts), .ev_row_i(ev_row), .ev_token_i(ev_token), .ev_ack_i(ev_ack), .rows_done_i(rows_done),
        .idle_o(streams_idle), .state_o(stream_state), .err_valid_o(err_valid[ErrStreams]), .err_code_o(streams_err)
    );

    // ---- expert engine and trackers ----
    logic [ExpertW-1:0] stat_le, list_le, push_le, trk_le;
    logic [RowW-1:0]    stat_complete, stat_expected, list_idx, list_row, push_row, trk_row;
    logic [TokenW-1:0]  list_token, trk_token;
    logic [3:0]         list_pos, trk_pos;
    logic               counts_all, list_valid, list_rvalid, push_valid, push_ready, push_last, trk_valid;
    logic [7:0]         trk_bytes;
    logic [RowW-1:0]    recv_rows, own_base, src_rows;
    logic [Cfg.GpuW-1:0] row_src;
    logic               sig_valid, sig_ready, expert_idle, expert_wait, expert_tile;
    wire unused_rows = ^recv_rows[RowW-1:16];  // memory holds fewer
    logic [TokenW-1:0]  sig_token;

    expert_engine #(.Cfg(Cfg)) i_expert (
        .clk_i, .rst_ni, .go_i(go), .cfg_i(cfg),
        .cmd_valid_i(cmd_valid[UExpert]), .cmd_ready_o(cmd_ready[UExpert]), .cmd_i(cmd), .retire_o(retire[UExpert]),
        .stat_le_o(stat_le), .stat_complete_i(stat_complete), .stat_expected_i(stat_expected), .counts_all_i(counts_all),
        .list_valid_o(list_valid), .list_le_o(list_le), .list_idx_o(list_idx), .list_rvalid_i(list_rvalid), .list_row_i(list_row), .list_token_i(list_token), .list_pos_i(list_pos),
        .push_valid_o(push_valid), .push_ready_i(push_ready), .push_le_o(push_le), .push_row_o(push_row), .push_last_o(push_last), .recv_rows_i(recv_rows[15:0]),
        .rd_valid_o(mrd_valid[CExpert]), .rd_ready_i(mrd_ready[CExpert]), .rd_addr_o(mrd_addr[CExpert]), .rd_rvalid_i(mrd_rvalid[CExpert]), .rd_rdata_i(mrd_rdata),
        .exp_rd_valid_o(exp_rd_valid), .exp_rd_ready_i(exp_rd_ready), .exp_rd_addr_o(exp_rd_addr), .exp_rd_data_i(exp_rd_data),
        .exp_wr_valid_o(exp_wr_valid), .exp_wr_addr_o(exp_wr_addr), .exp_wr_data_o(exp_wr_data),
        .sig_valid_o(sig_valid), .sig_ready_i(sig_ready), .sig_token_o(sig_token),
        .emap_we_i(emap_we), .emap_addr_i(emap_addr), .emap_data_i(emap_data), .stat_idle_o(expert_idle), .stat_wait_o(expert_wait), .stat_tile_o(expert_tile)
    );

    logic        cnt_valid, cnt_kind, cnt_last;
    logic [4:0]  cnt_src, cnt_idx;
    logic [31:0] cnt_val;
    logic        alloc_sweep_busy, rows_sweep_busy, tokens_sweep_busy, rows_idle;

    row_tracker #(.Cfg(Cfg), .LeftW((Cfg.MemBytesLog2 < 16) ? Cfg.MemBytesLog2 : 16)) i_rows (
        .clk_i, .rst_ni, .go_i(go), .cfg_i(cfg), .sweep_i(sweep), .sweep_busy_o(rows_sweep_busy),
        .trk_valid_i(trk_valid), .trk_le_i(trk_le), .trk_row_i(trk_row), .trk_token_i(trk_token), .trk_pos_i(trk_pos), .trk_bytes_i(trk_bytes),
        .exp_valid_i(cnt_valid), .exp_kind_i(cnt_kind), .exp_idx_i(cnt_idx), .exp_val_i(cnt_val), .exp_last_i(cnt_last),
        .push_valid_i(push_valid), .push_ready_o(push_ready), .push_le_i(push_le), .push_row_i(push_row), .push_last_i(push_last),
        .stat_le_i(stat_le), .stat_complete_o(stat_complete), .stat_expected_o(stat_expected), .counts_all_o(counts_all), .rows_done_o(rows_done),
        .list_valid_i(list_valid), .list_le_i(list_le), .list_idx_i(list_idx),
        .list_rvalid_o(list_rvalid), .list_row_o(list_row), .list_token_o(list_token), .list_pos_o(list_pos),
        .ev_row_o(ev_row), .err_valid_o(err_valid[ErrRows]), .err_code_o(rows_err), .idle_o(rows_idle)
    );

    // ---- receive side ----
    logic              rsig_valid, rsig_ready, own_valid, own_ready, rdy_valid, rdy_ready, arm_valid, arm_ready, tok_idle;
    logic [TokenW-1:0] rsig_token, own_token, rdy_token, arm_token;
    logic [4:0]        arm_count;
    logic [Cfg.TokensLog2-1:0] rdy_index;
    logic              rxst_valid, rxst_last, rxst_err, rxst_crd, rxreq_valid, rxreq_last, rxreq_err, rxres_push, rxres_room, rxres_crd, rxres_valid, rxres_ready, rxres_last, rxres_bad, rx_idle, rxst_idle;
    logic [Cfg.FlitW-1:0]     rxst_data, rxreq_data, rxres_data, loc_data;
    logic              loc_valid, loc_ready, loc_last;
    logic              st_wr_valid [2], st_wr_ready [2];
    logic [Cfg.AddrW-1:0]  st_wr_addr [2];
    logic [Cfg.FlitW-1:0]     st_wr_data [2];
    logic [Cfg.FlitBytes-1:0] st_wr_be [2];
    logic              fack_valid, fack_ready;
    logic [4:0]        fack_dst;

    for (genvar i = 0; i < 2; i++) begin : gen_st_port
        assign wr_valid[WrSt+i] = st_wr_valid[i];
        assign wr_addr[WrSt+i]  = st_wr_addr[i];
        assign wr_data[WrSt+i]  = st_wr_data[i];
        assign wr_be[WrSt+i]    = st_wr_be[i];
        assign st_wr_ready[i]    = wr_ready[WrSt+i];
    end

    rx #(.Cfg(Cfg)) i_rx (
        .clk_i, .rst_ni, .cfg_i(cfg),
        .rx_valid_i(dn_valid), .rx_last_i(dn_last), .rx_err_i(dn_err), .rx_cls_i(dn_cls), .rx_data_i(dn_data), .crd_o(dn_crd),
        .sig_valid_o(rsig_valid), .sig_ready_i(rsig_ready), .sig_token_o(rsig_token), .ev_valid_o(cev_valid), .ev_ready_i(cev_ready), .ev_idx_o(cev_idx),
        .ev_ack_o(ev_ack), .ack_src_o(ack_src),
        .st_valid_o(rxst_valid), .st_last_o(rxst_last), .st_err_o(rxst_err), .st_data_o(rxst_data), .st_crd_i(rxst_crd),
        .req_valid_o(rxreq_valid), .req_ready_i(1'b1), .req_last_o(rxreq_last), .req_err_o(rxreq_err), .req_data_o(rxreq_data),
        .res_push_o(rxres_push), .res_room_i(rxres_room), .res_crd_i(rxres_crd),
        .err_valid_o(err_valid[ErrRx]), .err_code_o(rx_err), .idle_o(rx_idle)
    );

    // allocator clients: 0 rx_store, 1 reduce_serve
    logic               al_req_valid [2], al_req_ready [2], al_req_alloc [2], al_resp_valid [2];
    logic [ExpertW-1:0] al_req_le [2];
    logic [TokenW-1:0]  al_req_token [2];
    logic               al_start, al_retry, al_miss, al_err, al_fill, al_busy, alloc_hit, alloc_miss, alloc_idle;
    logic [RowW-1:0]    al_row;

    assign al_req_alloc[0] = 1'b1;

    allocator #(.Cfg(Cfg)) i_alloc (
        .clk_i, .rst_ni, .cfg_i(cfg), .sweep_i(sweep), .sweep_busy_o(alloc_sweep_busy),
        .req_valid_i(al_req_valid), .req_ready_o(al_req_ready), .req_le_i(al_req_le), .req_token_i(al_req_token), .req_alloc_i(al_req_alloc),
        .req_start_i(al_start), .req_retry_i(al_retry),
        .resp_valid_o(al_resp_valid), .resp_row_o(al_row), .resp_miss_o(al_miss), .resp_err_o(al_err), .fill_o(al_fill), .busy_o(al_busy),
        .alm_rd_valid_o(mrd_valid[CAlloc]), .alm_rd_ready_i(mrd_ready[CAlloc]), .alm_rd_addr_o(mrd_addr[CAlloc]), .alm_rd_rvalid_i(mrd_rvalid[CAlloc]), .alm_rd_rdata_i(mrd_rdata),
        .alm_wr_valid_o(wr_valid[WrAlloc]), .alm_wr_ready_i(wr_ready[WrAlloc]), .alm_wr_addr_o(wr_addr[WrAlloc]), .alm_wr_data_o(wr_data[WrAlloc]), .alm_wr_be_o(wr_be[WrAlloc]),
        .hit_o(alloc_hit), .miss_o(alloc_miss), .idle_o(alloc_idle)
    );

    logic             red_rd_valid, red_rd_ready, red_rd_rvalid;
    logic [Cfg.AddrW-1:0] red_rd_addr;

    if (Cfg.Reds) begin : gen_reds
        assign mrd_valid[CRed] = red_rd_valid;
        assign mrd_addr[CRed]  = red_rd_addr;
        assign red_rd_ready    = mrd_ready[CRed];
        assign red_rd_rvalid   = mrd_rvalid[CRed];
    end else begin : gen_no_reds
        assign red_rd_ready  = 1'b0;
        assign red_rd_rvalid = 1'b0;
        wire unused_red = &{1'b0, red_rd_valid, red_rd_addr};
    end

    rx_store #(.Cfg(Cfg)) i_rx_store (
        .clk_i, .rst_ni, .cfg_i(cfg), .emap_we_i(emap_we), .emap_addr_i(emap_addr), .emap_data_i(emap_data),
        .st_valid_i(rxst_valid), .st_last_i(rxst_last), .st_err_i(rxst_err), .st_data_i(rxst_data), .st_crd_o(rxst_crd),
        .res_push_i(rxres_push), .res_room_o(rxres_room), .res_crd_o(rxres_crd),
        .res_valid_o(rxres_valid), .res_ready_i(rxres_ready), .res_last_o(rxres_last), .res_bad_o(rxres_bad), .res_data_o(rxres_data),
        .loc_valid_i(loc_valid), .loc_ready_o(loc_ready), .loc_data_i(loc_data), .loc_last_i(loc_last),
        .al_req_valid_o(al_req_valid[0]), .al_req_ready_i(al_req_ready[0]), .al_req_le_o(al_req_le[0]), .al_req_token_o(al_req_token[0]),
        .al_req_start_o(al_start), .al_req_retry_o(al_retry),
        .al_resp_valid_i(al_resp_valid[0]), .al_resp_miss_i(al_miss), .al_resp_err_i(al_err), .al_resp_row_i(al_row), .al_fill_i(al_fill), .al_busy_i(al_busy),
        .rd_valid_o(red_rd_valid), .rd_ready_i(red_rd_ready), .rd_addr_o(red_rd_addr), .rd_rvalid_i(red_rd_rvalid), .rd_rdata_i(mrd_rdata),
        .wr_valid_o(st_wr_valid), .wr_ready_i(st_wr_ready), .wr_addr_o(st_wr_addr), .wr_data_o(st_wr_data), .wr_be_o(st_wr_be),
        .trk_valid_o(trk_valid), .trk_le_o(trk_le), .trk_row_o(trk_row), .trk_token_o(trk_token), .trk_pos_o(trk_pos), .trk_bytes_o(trk_bytes),
        .cnt_valid_o(cnt_valid), .cnt_kind_o(cnt_kind), .cnt_src_o(cnt_src), .cnt_idx_o(cnt_idx), .cnt_val_o(cnt_val), .cnt_last_o(cnt_last),
        .ev_valid_o(fev_valid), .ev_idx_o(fev_idx), .ack_valid_o(fack_valid), .ack_ready_i(fack_ready), .ack_dst_o(fack_dst),
        .err_valid_o(err_valid[ErrStore]), .err_code_o(store_err), .idle_o(rxst_idle)
    );

    assign ev_counts = cnt_valid && cnt_last;

    token_tracker #(.Cfg(Cfg)) i_tokens (
        .clk_i, .rst_ni, .go_i(go), .cfg_i(cfg), .sweep_i(sweep), .sweep_busy_o(tokens_sweep_busy),
        .arm_valid_i(arm_valid), .arm_ready_o(arm_ready), .arm_token_i(arm_token), .arm_count_i(arm_count),
        .sig_valid_i(rsig_valid), .sig_ready_o(rsig_ready), .sig_token_i(rsig_token),
        .own_valid_i(own_valid), .own_ready_o(own_ready), .own_token_i(own_token),
        .rdy_valid_o(rdy_valid), .rdy_ready_i(rdy_ready), .rdy_token_o(rdy_index),
        .err_valid_o(err_valid[ErrTokens]), .err_code_o(tokens_err), .idle_o(tok_idle)
    );

    assign rdy_token = TokenW'(rdy_index);

    // ---- send side ----
    logic                 copy_valid, copy_ready, copy_busy, send_retire;
    isa_pkg::instr_t      copy;
    logic [Cfg.GpuW-1:0] base_q;
    logic                 base_take, tok_done;
    logic [RowW-1:0]      base_row;
    logic                 st_valid, st_ready, st_last, clo_valid, clo_ready, cst_valid, cst_ready, cst_last;
    logic [Cfg.FlitW-1:0]        st_data, cst_data;
    logic                 ctl_valid, ctl_ready;
    packet_pkg::header_t  ctl_header;

    send #(.Cfg(Cfg)) i_send (
        .clk_i, .rst_ni, .go_i(go), .cfg_i(cfg),
        .cmd_valid_i(cmd_valid[USend] || (copy_valid && copy_ready)), .cmd_ready_o(cmd_ready[USend]), .cmd_i(cmd_valid[USend] ? cmd : copy), .retire_o(send_retire),
        .emap_we_i(emap_we), .emap_addr_i(emap_addr), .emap_data_i(emap_data), .group_we_i(group_we), .group_addr_i(group_addr), .group_data_i(group_data),
        .rd_valid_o(rd_valid[RdSend]), .rd_ready_i(rd_ready[RdSend]), .rd_addr_o(rd_addr[RdSend]), .rd_rvalid_i(rd_rvalid[RdSend]), .rd_rdata_i(rd_rdata[RdSend]),
        .arm_valid_o(arm_valid), .arm_ready_i(arm_ready), .arm_token_o(arm_token), .arm_count_o(arm_count), .tok_done_i(tok_done),
        .base_q_o(base_q), .base_row_i(base_row), .base_take_o(base_take),
        .cst_valid_i(cst_valid), .cst_ready_o(cst_ready), .clo_valid_i(clo_valid), .clo_ready_o(clo_ready), .ctl_data_i(cst_data), .ctl_last_i(cst_last),
        .st_valid_o(st_valid), .st_ready_i(st_ready), .st_data_o(st_data), .st_last_o(st_last),
        .loc_valid_o(loc_valid), .loc_ready_i(loc_ready), .loc_data_o(loc_data), .loc_last_o(loc_last),
        .err_valid_o(err_valid[ErrSend]), .err_code_o(send_err)
    );

    // Streams come first; what sum_push asks for is not theirs to retire.
    assign copy_ready    = cmd_ready[USend] && !cmd_valid[USend];
    assign retire[USend] = send_retire && !copy_busy;

    logic control_idle;
    control #(.Cfg(Cfg)) i_control (
        .clk_i, .rst_ni, .go_i(go), .cfg_i(cfg),
        .cmd_valid_i(cmd_valid[UControl]), .cmd_ready_o(cmd_ready[UControl]), .cmd_i(cmd), .retire_o(retire[UControl]),
        .emap_we_i(emap_we), .emap_addr_i(emap_addr), .emap_data_i(emap_data),
        .rd_valid_o(mrd_valid[CControl]), .rd_ready_i(mrd_ready[CControl]), .rd_addr_o(mrd_addr[CControl]), .rd_rvalid_i(mrd_rvalid[CControl]), .rd_rdata_i(mrd_rdata),
        .cnt_valid_i(cnt_valid), .cnt_kind_i(cnt_kind), .cnt_src_i(cnt_src), .cnt_idx_i(cnt_idx), .cnt_val_i(cnt_val), .cnt_last_i(cnt_last),
        .sig_valid_i(sig_valid), .sig_ready_o(sig_ready), .sig_token_i(sig_token), .own_valid_o(own_valid), .own_ready_i(own_ready), .own_token_o(own_token),
        .ack_valid_i(fack_valid), .ack_ready_o(fack_ready), .ack_dst_i(fack_dst), .ack_rx_i(ev_ack), .ack_src_i(ack_src),
        .base_q_i(base_q), .base_row_o(base_row), .base_take_i(base_take), .recv_rows_o(recv_rows), .src_i(row_src), .src_rows_o(src_rows), .own_base_o(own_base),
        .ctl_valid_o(ctl_valid), .ctl_ready_i(ctl_ready), .ctl_header_o(ctl_header),
        .cst_valid_o(cst_valid), .cst_ready_i(cst_ready), .clo_valid_o(clo_valid), .clo_ready_i(clo_ready), .st_data_o(cst_data), .st_last_o(cst_last),
        .err_valid_o(err_valid[ErrControl]), .err_code_o(control_err), .idle_o(control_idle)
    );

    // ---- reductions ----
    logic          creq_valid, creq_ready, creq_last, part_valid, part_ready, part_last, sst_valid, sst_ready, part_crd_valid, red_idle;
    logic [Cfg.FlitW-1:0] creq_data, part_data;
    logic [4:0]    part_crd_port;

    reduction #(.Cfg(Cfg)) i_reduction (
        .clk_i, .rst_ni, .go_i(go), .cfg_i(cfg), .emap_we_i(emap_we), .emap_addr_i(emap_addr), .emap_data_i(emap_data), .group_we_i(group_we), .group_addr_i(group_addr), .group_data_i(group_data),
        .cmd_valid_i(cmd_valid[UCombine]), .cmd_ready_o(cmd_ready[UCombine]), .cmd_i(cmd), .retire_o(retire[UCombine]),
        .rdy_valid_i(rdy_valid), .rdy_ready_o(rdy_ready), .rdy_token_i(rdy_token), .tok_done_o(tok_done), .own_base_i(own_base),
        .push_valid_i(cmd_valid[UPush]), .push_ready_o(cmd_ready[UPush]), .push_retire_o(retire[UPush]),
        .copy_valid_o(copy_valid), .copy_ready_i(copy_ready), .copy_o(copy), .copy_busy_o(copy_busy), .copy_retire_i(send_retire), .src_o(row_src), .src_rows_i(src_rows),
        .rd_valid_o(mrd_valid[CCombine]), .rd_ready_i(mrd_ready[CCombine]), .rd_addr_o(mrd_addr[CCombine]), .rd_rvalid_i(mrd_rvalid[CCombine]), .rd_rdata_i(mrd_rdata),
        .suma_rd_valid_o(rd_valid[RdSumA]), .suma_rd_ready_i(rd_ready[RdSumA]), .suma_rd_addr_o(rd_addr[RdSumA]), .suma_rd_rvalid_i(rd_rvalid[RdSumA]), .suma_rd_rdata_i(rd_rdata[RdSumA]),
        .sumb_rd_valid_o(rd_valid[RdSumB]), .sumb_rd_ready_i(rd_ready[RdSumB]), .sumb_rd_addr_o(rd_addr[RdSumB]), .sumb_rd_rvalid_i(rd_rvalid[RdSumB]), .sumb_rd_rdata_i(rd_rdata[RdSumB]),
        .out_wr_valid_o(wr_valid[WrOut]), .out_wr_ready_i(wr_ready[WrOut]), .out_wr_addr_o(wr_addr[WrOut]), .out_wr_data_o(wr_data[WrOut]), .out_wr_be_o(wr_be[WrOut]),
        .al_req_valid_o(al_req_valid[1]), .al_req_ready_i(al_req_ready[1]), .al_req_le_o(al_req_le[1]), .al_req_token_o(al_req_token[1]), .al_req_alloc_o(al_req_alloc[1]),
        .al_resp_valid_i(al_resp_valid[1]), .al_resp_row_i(al_row), .al_resp_new_i(1'b0), .al_resp_err_i(al_err),
        .req_valid_i(rxreq_valid), .req_data_i(rxreq_data), .req_last_i(rxreq_last), .req_err_i(rxreq_err),
        .res_valid_i(rxres_valid), .res_ready_o(rxres_ready), .res_data_i(rxres_data), .res_last_i(rxres_last), .res_bad_i(rxres_bad),
        .req_valid_o(creq_valid), .req_ready_i(creq_ready), .req_data_o(creq_data), .req_last_o(creq_last),
        .part_valid_o(part_valid), .part_ready_i(part_ready), .part_data_o(part_data), .part_last_o(part_last),
        .sst_valid_o(sst_valid), .sst_ready_i(sst_ready),
        .part_crd_valid_i(part_crd_valid), .part_crd_port_i(part_crd_port),
        .err_valid_o(err_valid[ErrRed+:3]), .err_code_o(red_err), .idle_o(red_idle)
    );

    assign ev_token = tok_done;

    // ---- uplink ----
    logic          stall_store, stall_ctrl, part_empty, link_idle, tx_idle, up_valid;
    logic [Cfg.FlitW-1:0] up_data;

    tx #(.Cfg(Cfg)) i_tx (
        .clk_i, .rst_ni, .go_i(go), .cfg_i(cfg),
        .ctl_valid_i(ctl_valid), .ctl_ready_o(ctl_ready), .ctl_header_i(ctl_header),
        .req_valid_i(creq_valid), .req_ready_o(creq_ready), .req_data_i(creq_data), .req_last_i(creq_last),
        .st_valid_i(st_valid), .st_ready_o(st_ready), .st_data_i(st_data), .st_last_i(st_last),
        .sst_valid_i(sst_valid), .sst_ready_o(sst_ready),
        .part_valid_i(part_valid), .part_ready_o(part_ready), .part_data_i(part_data), .part_last_i(part_last),
        .up_valid_o(up_valid), .up_last_o, .up_err_o, .up_cls_o, .up_data_o(up_data), .crd_i(up_crd_i), .crd_part_i(up_crd_part_i),
        .part_crd_valid_o(part_crd_valid), .part_crd_port_o(part_crd_port),
        .stall_store_o(stall_store), .stall_ctrl_o(stall_ctrl), .part_empty_o(part_empty), .link_idle_o(link_idle), .idle_o(tx_idle)
    );

    // ---- the links ----
    node_pkg::fault_t fault;

    if (Cfg.Faults) begin : gen_faults
        link_fault #(.Cfg(Cfg)) i_fault (
            .clk_i, .rst_ni, .go_i(go), .fault_i(fault),
            .up_valid_i(up_valid), .up_last_i(up_last_o), .up_cls_i(up_cls_o), .up_data_i(up_data), .crd_i(dn_crd),
            .up_valid_o, .up_data_o, .crd_o(dn_crd_o)
        );
    end else begin : gen_no_faults
        assign {up_valid_o, up_data_o, dn_crd_o} = {up_valid, up_data, dn_crd};
        wire unused_fault = ^fault;
    end

    // ---- registers ----
    logic [3:0]       unit_idle;
    logic [7:0]       hub_idle;
    logic [3:0][31:0] stream_reg;

    assign unit_idle    = {cmd_ready[4] && cmd_ready[3], cmd_ready[2], cmd_ready[1], cmd_ready[0]};
    assign hub_idle     = {tok_idle, !dn_valid && !host_valid, !up_valid, tx_idle, control_idle, red_idle, rxst_idle && alloc_idle && rows_idle && !loc_valid, rx_idle};
    assign idle_o       = streams_idle && (&unit_idle) && (&hub_idle);
    assign sweep_busy_o = alloc_sweep_busy || rows_sweep_busy || tokens_sweep_busy;

    // streams tell {state, opcode, index}; the register says waiting and ended
    for (genvar s = 0; s < 4; s++) begin : gen_stream_reg
        assign stream_reg[s] = {8'd0, stream_state[s][15:8], 2'd0, stream_state[s][5:0], 6'd0, stream_state[s][18:16] == 3'd0, stream_state[s][18:16] > 3'd1};
    end

    node_csr #(.Cfg(Cfg), .NumErr(NumErr)) i_csr (
        .clk_i, .rst_ni, .go_i(go),
        .req_i(csr_req), .we_i(csr_we), .addr_i(csr_addr), .wdata_i(csr_wdata), .ack_o(csr_ack_o), .rdata_o(csr_rdata_o), .err_o(csr_err_o),
        .port_i(port_q), .epoch_i(epoch_q), .cfg_o(cfg), .fault_o(fault),
        .state_i({8'd0, hub_idle, 6'd0, sweep_busy_o, rows_done, unit_idle, 2'd0, streams_idle, idle_o}), .stream_i(stream_reg),
        // what counts nothing happening stops with the layer
        .count_i({expert_tile, |{retire[4], retire[3], retire[2], retire[1], retire[0]}, tok_done, ev_row, alloc_miss, alloc_hit, expert_wait, expert_idle && run, mem_conflict,
                  link_idle && run, stall_ctrl, part_empty && run, stall_store}),
        .err_valid_i(err_valid), .err_code_i(err_code), .error_o
    );
endmodule

`default_nettype wire
