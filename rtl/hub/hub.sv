// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The hub of a GPU: the receive side, which allocates rows, merges and tracks; the send side;
// reductions; uplink. Structure only.
//
// Function: docs/design/architecture.md (order) describes which part waits for which, and
// docs/design/microarchitecture/hub.md what each part guarantees.
`default_nettype none
`include "bundles.svh"

module hub #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type group_t = `MW_GROUP(Cfg),
    parameter type link_t = `MW_LINK(Cfg),
    parameter type read_t = `MW_READ(Cfg),
    parameter type answer_t = `MW_ANSWER(Cfg),
    parameter type write_t = `MW_WRITE(Cfg),
    parameter type marked_t = `MW_MARKED(Cfg),
    parameter type stream_t = `MW_STREAM(Cfg),
    parameter type share_t = `MW_SHARE(Cfg),
    parameter type range_t = `MW_RANGE(Cfg),
    parameter type pick_t = `MW_PICK(Cfg),
    parameter type back_t = `MW_BACK(Cfg),
    parameter type index_t = `MW_INDEX(Cfg),
    parameter type counted_t = `MW_COUNTED(Cfg),
    parameter type home_row_t = `MW_HOME_ROW(Cfg)
) (
    input  wire logic                     clk_i,
    input  wire logic                     rst_ni,
    input  wire logic                     go_i,
    input  wire logic                     sweep_i,
    output logic                          sweep_busy_o,
    input  wire node_pkg::node_cfg_t      cfg_i,
    input  wire bundle_pkg::emap_write_t  emap_i,
    input  wire group_t groups_i,

    // the link
    output link_t                    up_o,
    input  wire bundle_pkg::credit_t up_crd_i,
    input  wire link_t               dn_i,
    output logic [3:0]               dn_crd_o,

    // see gpu
    output read_t                             rd_o [node_pkg::HubReads],
    input  wire logic                         rd_ready_i [node_pkg::HubReads],
    input  wire answer_t                      rd_i [node_pkg::HubReads],
    output write_t                            wr_o [node_pkg::HubWrites],
    input  wire logic                         wr_ready_i [node_pkg::HubWrites],
    input  wire logic                         cmd_valid_i [node_pkg::HubUnits],
    output logic                              cmd_ready_o [node_pkg::HubUnits],
    input  wire isa_pkg::instr_t              cmd_i,
    output logic                              retire_o [node_pkg::HubUnits],
    output bundle_pkg::events_t               ev_o,
    input  wire logic                         ev_ready_i,
    input  wire logic [node_pkg::ExpertW-1:0] stat_le_i,
    output bundle_pkg::stat_t                 stat_o,
    output logic                              counts_all_o,
    input  wire bundle_pkg::list_req_t        list_i,
    output bundle_pkg::list_rsp_t             list_o,
    input  wire bundle_pkg::push_t            push_i,
    output logic                              push_ready_o,
    output logic [15:0]                       recv_rows_o,
    input  wire logic [Cfg.GpuW-1:0]          row_src_i,
    output bundle_pkg::src_rows_t             src_rows_o,  // of this GPU
    output logic [node_pkg::RowW-1:0]         own_base_o,
    input  wire bundle_pkg::finished_t        sig_i,       // a row of the expert engine
    output logic                              sig_ready_o,
    input  wire bundle_pkg::gradient_t        dw_i,        // and its gradient
    output logic                              dw_ready_o,

    output bundle_pkg::error_t      err_o [node_pkg::HubErrors],
    output logic [6:0]              idle_o,  // of its parts, see node_csr
    output bundle_pkg::hub_counts_t count_o
);
    import node_pkg::*;

    if (Cfg.SwitchReductions && !Cfg.TargetListCache) begin : gen_check
        $error("hub: SwitchReductions needs TargetListCache");
    end
    if (Cfg.TileReductions && !(Cfg.SwitchReductions && Cfg.Gathered && Cfg.RowRanges))
    begin : gen_check_tiles
        $error("hub: TileReductions needs SwitchReductions, Gathered and RowRanges");
    end
    if (Cfg.MergeLoads && !Cfg.TileReductions) begin : gen_check_loads
        $error("hub: MergeLoads needs TileReductions");
    end
    if (Cfg.SourceLists && !Cfg.RowSparse) begin : gen_check_lists
        $error("hub: SourceLists needs RowSparse");
    end

    localparam int unsigned ErrSend = 0, ErrControl = 1, ErrRx = 2,
                            ErrStore = 3, ErrRows = 4, ErrRed = 5,
                            ErrTokens = 8, ErrLoad = 9;

    // GPUs have numbers below N, and so has each valid entry of the expert map. Synthesis of a hub
    // apart has no other place to see it, and comparisons of all bits cost cells.
    node_cfg_t cfg;
    bundle_pkg::emap_write_t emap;
    always_comb begin
        cfg = cfg_i;
        cfg.port = packet_pkg::port_t'(cfg_i.port[Cfg.GpuW-1:0]);
        emap = emap_i;
        emap.data.gpu = packet_pkg::port_t'(emap_i.data.gpu[Cfg.GpuW-1:0]);
    end

    // ---- what streams wait for ----
    bundle_pkg::count_t counts, notified_counts, once;  // of COUNTS; and of lists; and each
                                                        // of a source once
    bundle_pkg::source_flag_t said;
    logic list_counts, copies_here;
    counted_t counted;
    bundle_pkg::layer_rows_t layer_rows;
    bundle_pkg::event_t flag;
    logic [4:0] event_idx;

    assign ev_o.flag_valid = flag.valid;
    assign ev_o.flag_idx = flag.idx;
    assign ev_o.event_idx = event_idx;
    assign ev_o.counts = once.valid && once.last;
    assign ev_o.row = layer_rows.row;
    assign ev_o.rows_done = layer_rows.done;
    assign counts_all_o = layer_rows.counted;

    // ---- receive side ----
    bundle_pkg::landed_t trk;
    bundle_pkg::token_t loaded;  // a row that this GPU has loaded is complete
    logic alloc_sweep_busy, rows_sweep_busy, tokens_sweep_busy, reds_sweep_busy, rows_idle;
    bundle_pkg::added_t added;
    logic added_ready;

    assign sweep_busy_o = alloc_sweep_busy || rows_sweep_busy || tokens_sweep_busy
                          || reds_sweep_busy;

    row_tracker #(
        .Cfg(Cfg),
        .LeftW((Cfg.MemBytesLog2 < 16) ? Cfg.MemBytesLog2 : 16)
    ) i_rows (
        .clk_i,
        .rst_ni,
        .go_i,
        .cfg_i(cfg),
        .sweep_i,
        .sweep_busy_o(rows_sweep_busy),
        .trk_i(trk),
        .loaded_o(loaded),
        .cnt_i(once),
        .cnt_list_i(list_counts),
        .counted_i(counted),
        .push_i,
        .push_ready_o,
        .stat_le_i,
        .stat_o,
        .rows_o(layer_rows),
        .list_i,
        .list_o,
        .err_o(err_o[ErrRows]),
        .idle_o(rows_idle)
    );

    bundle_pkg::token_t own;
    bundle_pkg::slot_bytes_t slot;  // where rows return: in place of signals
    logic returns, sig_ready;
    logic [TokenW-1:0] own_first;
    assign own_first = TokenW'(cfg.port) << cfg.token_shift;
    bundle_pkg::arm_t arm;
    bundle_pkg::token_t rsig;
    logic rsig_ready, own_ready, rdy_ready, arm_ready, tok_ready;
    index_t rdy, tok;  // own tokens: ready for combine; all own experts have finished
    logic tok_idle;
    marked_t rxst;
    marked_t rxreq;
    stream_t rxres;
    logic rxst_crd, rxres_push, rxres_room, rxres_crd, rxres_ready, rxres_bad, rx_idle, rxst_idle;
    stream_t loc;
    logic loc_ready;
    bundle_pkg::port_t fack;
    logic fack_ready;
    packet_pkg::port_t ack_src;
    // rows that are granted to other GPUs' tokens, and their lists
    localparam int unsigned KeepW = $clog2(Cfg.Lanes + 1);
    logic lane_valid, lane_ready, keep_done, lists_idle;
    logic [Cfg.GpuW-1:0] lane_home;
    logic [Cfg.TokensLog2-1:0] lane_index;
    logic [KeepW-1:0] keep_level;
    // rows that are loaded: granted tiles (lane_home, lane_index), those of this GPU
    logic tile_valid, tile_take, push_granted, fetch, fetch_room;
    logic [Cfg.LoadIndexW-1:0] fetch_index;
    logic [15:0] fetch_ref;

    rx #(
        .Cfg(Cfg)
    ) i_rx (
        .clk_i,
        .rst_ni,
        .cfg_i(cfg),
        .rx_i(dn_i),
        .crd_o(dn_crd_o),
        .sig_valid_o(rsig.valid),
        .sig_ready_i(rsig_ready),
        .sig_token_o(rsig.token),
        .ev_valid_o(ev_o.event_valid),
        .ev_ready_i,
        .ev_idx_o(event_idx),
        .ev_ack_o(ev_o.ack),
        .ack_src_o(ack_src),
        .st_o(rxst),
        .st_crd_i(rxst_crd),
        .req_o(rxreq),
        .req_ready_i(1'b1),
        .lane_valid_o(lane_valid),
        .lane_ready_i(lane_ready),
        .lane_home_o(lane_home),
        .lane_index_o(lane_index),
        .tile_valid_o(tile_valid),
        .tile_ready_i(tile_take),
        .push_valid_o(push_granted),
        .fetch_o(fetch),
        .fetch_room_i(fetch_room),
        .fetch_index_o(fetch_index),
        .fetch_ref_o(fetch_ref),
        .res_push_o(rxres_push),
        .res_room_i(rxres_room),
        .res_crd_i(rxres_crd),
        .err_o(err_o[ErrRx]),
        .idle_o(rx_idle)
    );

    // allocator clients: 0 rx_store, 1 reduce_serve
    bundle_pkg::alloc_req_t al_req[2];
    bundle_pkg::alloc_rsp_t al_resp[2];
    logic al_req_ready[2], al_fill, al_busy, alloc_idle;

    allocator #(
        .Cfg(Cfg)
    ) i_alloc (
        .clk_i,
        .rst_ni,
        .cfg_i(cfg),
        .sweep_i,
        .sweep_busy_o(alloc_sweep_busy),
        .req_i(al_req),
        .req_ready_o(al_req_ready),
        .resp_o(al_resp),
        .fill_o(al_fill),
        .busy_o(al_busy),
        .alm_rd_o(rd_o[RdAlloc]),
        .alm_rd_ready_i(rd_ready_i[RdAlloc]),
        .alm_rd_i(rd_i[RdAlloc]),
        .alm_wr_o(wr_o[WrAlloc]),
        .alm_wr_ready_i(wr_ready_i[WrAlloc]),
        .hit_o(count_o.hit),
        .miss_o(count_o.miss),
        .idle_o(alloc_idle)
    );

    rx_store #(
        .Cfg(Cfg)
    ) i_rx_store (
        .clk_i,
        .rst_ni,
        .cfg_i(cfg),
        .emap_i(emap),
        .st_i(rxst),
        .st_crd_o(rxst_crd),
        .res_push_i(rxres_push),
        .res_room_o(rxres_room),
        .res_crd_o(rxres_crd),
        .res_o(rxres),
        .res_ready_i(rxres_ready),
        .res_bad_o(rxres_bad),
        .loc_i(loc),
        .loc_ready_o(loc_ready),
        .al_req_o(al_req[0]),
        .al_req_ready_i(al_req_ready[0]),
        .al_i(al_resp[0]),
        .al_fill_i(al_fill),
        .al_busy_i(al_busy),
        .rd_o(rd_o[RdRed]),
        .rd_ready_i(rd_ready_i[RdRed]),
        .rd_i(rd_i[RdRed]),
        .wr_o(wr_o[WrSt+:2]),
        .wr_ready_i(wr_ready_i[WrSt+:2]),
        .trk_o(trk),
        .slot_o(slot),
        .slot_ready_i(sig_ready && returns),
        .added_o(added),
        .added_ready_i(added_ready),
        .cnt_o(counts),
        .ev_o(flag),
        .said_o(said),
        .ack_o(fack),
        .ack_ready_i(fack_ready),
        .keep_wr_o(wr_o[WrList]),
        .keep_wr_ready_i(wr_ready_i[WrList]),
        .keep_level_o(keep_level),
        .keep_done_o(keep_done),
        .err_o(err_o[ErrStore]),
        .idle_o(rxst_idle)
    );

    assign returns = Cfg.RowSparse && cfg.row_returns;

    // ---- own rows to which reds add ----
    bundle_pkg::error_t added_err;
    logic row_added;  // the next row in the order of indices is complete

    if (Cfg.SumEntries != 0) begin : gen_reds
        red_tracker #(
            .Cfg(Cfg)
        ) i_reds (
            .clk_i,
            .rst_ni,
            .go_i,
            .cfg_i(cfg),
            .sweep_i,
            .sweep_busy_o(reds_sweep_busy),
            .added_i(added),
            .added_ready_o(added_ready),
            .done_o(row_added),
            .err_o(added_err)
        );
    end else begin : gen_no_reds
        assign {reds_sweep_busy, added_ready, row_added, added_err} = '0;
    end

    // ---- what sources say of their rows ----
    bundle_pkg::error_t said_err, twice_err, tokens_err;
    bundle_pkg::slot_bytes_t landed;
    logic said_idle;

    always_comb begin
        landed = slot;
        landed.valid = slot.valid && sig_ready && returns;
    end

    source_flags #(
        .Cfg(Cfg)
    ) i_said (
        .clk_i,
        .rst_ni,
        .go_i,
        .cfg_i(cfg),
        .said_i(said),
        .landed_i(landed),
        .cnt_i(counts),
        .cnt_o(notified_counts),
        .cnt_list_o(list_counts),
        .err_o(said_err),
        .idle_o(said_idle)
    );

    count_once #(
        .Cfg(Cfg)
    ) i_once (
        .clk_i,
        .rst_ni,
        .go_i,
        .cfg_i(cfg),
        .cnt_i(notified_counts),
        .cnt_list_i(list_counts),
        .cnt_o(once),
        .counted_o(counted),
        .copies_here_o(copies_here),
        .err_o(twice_err)
    );

    // A tile's error comes with its FLAG, that of a list two cycles behind one: never both in one
    // cycle. Either is rare enough to take the place of the others.
    assign err_o[ErrTokens] = said_err.valid ? said_err : twice_err.valid ? twice_err
                              : added_err.valid ? added_err : tokens_err;

    assign rsig_ready = sig_ready && !returns;

    token_tracker #(
        .Cfg(Cfg)
    ) i_tokens (
        .clk_i,
        .rst_ni,
        .go_i,
        .cfg_i(cfg),
        .sweep_i,
        .sweep_busy_o(tokens_sweep_busy),
        .arm_i(arm),
        .arm_ready_o(arm_ready),
        .own_i(own),
        .own_ready_o(own_ready),
        .sig_i(
        '{
            valid: returns ? slot.valid : rsig.valid,
            token: returns ? own_first | slot.token : rsig.token
        }
        ),
        .sig_ready_o(sig_ready),
        .sig_bytes_i(slot.bytes),
        .rdy_o(rdy),
        .rdy_ready_i(rdy_ready),
        .lane_o(tok),
        .lane_ready_i(tok_ready),
        .err_o(tokens_err),
        .idle_o(tok_idle)
    );

    // ---- send side ----
    share_t share;
    range_t order_begin;
    pick_t pick;
    logic pick_take;
    logic [Cfg.GpuW-1:0] base_q, row_src[2];  // of rows: those of unit push, and those of
                                              // the expert engine
    logic base_take, tok_done;
    logic [RowW-1:0] base_row, recv_rows, own_base, src_rows[2];
    bundle_pkg::src_rows_t notified[2];
    stream_t st, up_st, cst, clo;  // up_st: as it goes on to the uplink;
                                   // cst, clo: of control
    stream_t dw_st, small_lo;  // of gradients; and with own ones
    logic dw_st_ready, small_lo_ready, gradients_idle;
    logic st_ready, up_st_ready, manager_idle, clo_ready, cst_ready;
    bundle_pkg::ctl_t ctl;
    logic ctl_ready;
    // rows that are loaded: own ones, and the reports of tiles
    logic load_own_valid, load_own_ready, answered;
    logic [Cfg.LoadIndexW-1:0] load_own_index;
    home_row_t report;
    logic report_ready;
    logic [Cfg.TokensLog2:0] offered;
    // rows of send in a list, for control's FLAGs
    logic [Cfg.GpuW-1:0] notified_gpu;
    logic [ExpertW-1:0] notified_local;
    logic [packet_pkg::RowBits-1:0] notified_rows;

    send #(
        .Cfg(Cfg)
    ) i_send (
        .clk_i,
        .rst_ni,
        .go_i,
        .cfg_i(cfg),
        .cmd_valid_i(cmd_valid_i[HubSend]),
        .cmd_ready_o(cmd_ready_o[HubSend]),
        .cmd_i,
        .retire_o(retire_o[HubSend]),
        .emap_i(emap),
        .groups_i,
        .rd_o(rd_o[RdSend]),
        .rd_ready_i(rd_ready_i[RdSend]),
        .rd_i(rd_i[RdSend]),
        .arm_o(arm),
        .arm_ready_i(arm_ready),
        .tok_done_i(tok_done),
        .base_q_o(base_q),
        .base_row_i(base_row),
        .base_take_o(base_take),
        .notified_gpu_i(notified_gpu),
        .notified_local_i(notified_local),
        .notified_rows_o(notified_rows),
        .begin_o(order_begin),
        .pick_i(pick),
        .pick_take_o(pick_take),
        .fetch_i(fetch),
        .fetch_room_o(fetch_room),
        .fetch_index_i(fetch_index),
        .fetch_ref_i(fetch_ref),
        .own_valid_i(load_own_valid),
        .own_ready_o(load_own_ready),
        .own_index_i(load_own_index),
        .answered_o(answered),
        .cst_i(cst),
        .cst_ready_o(cst_ready),
        .clo_i(small_lo),
        .clo_ready_o(small_lo_ready),
        .st_o(st),
        .st_ready_i(st_ready),
        .loc_o(loc),
        .loc_ready_i(loc_ready),
        .err_o(err_o[ErrSend])
    );

    logic control_idle;
    bundle_pkg::tile_back_t tile;
    logic tile_ready, return_idle;
    bundle_pkg::port_t back_left;

    // ---- finished rows of the expert engine ----
    bundle_pkg::token_t done;
    logic done_ready, back_done;
    back_t back;

    row_return #(
        .Cfg(Cfg)
    ) i_return (
        .clk_i,
        .rst_ni,
        .go_i,
        .cfg_i(cfg),
        .row_i(sig_i),
        .ready_o(sig_ready_o),
        .sig_o(done),
        .sig_ready_i(done_ready),
        .item_o(back),
        .item_done_i(back_done),
        .left_i(back_left),
        .tile_o(tile),
        .tile_ready_i(tile_ready),
        .idle_o(return_idle)
    );

    control #(
        .Cfg(Cfg)
    ) i_control (
        .clk_i,
        .rst_ni,
        .go_i,
        .cfg_i(cfg),
        .cmd_valid_i(cmd_valid_i[HubControl]),
        .cmd_ready_o(cmd_ready_o[HubControl]),
        .cmd_i,
        .retire_o(retire_o[HubControl]),
        .emap_i(emap),
        .cnt_i(once),
        .copies_here_i(copies_here),
        .rd_o(rd_o[RdControl]),
        .rd_ready_i(rd_ready_i[RdControl]),
        .rd_i(rd_i[RdControl]),
        .notified_gpu_o(notified_gpu),
        .notified_local_o(notified_local),
        .notified_rows_i(notified_rows),
        .tile_i(tile),
        .tile_ready_o(tile_ready),
        .sig_i(done),
        .sig_ready_o(done_ready),
        .own_o(own),
        .own_ready_i(own_ready),
        .tok_i(tok),
        .tok_ready_o(tok_ready),
        .ack_i(fack),
        .ack_ready_o(fack_ready),
        .ack_rx_i(ev_o.ack),
        .ack_src_i(ack_src),
        .base_q_i(base_q),
        .base_row_o(base_row),
        .base_take_i(base_take),
        .recv_rows_o(recv_rows),
        .src_i(row_src),
        .src_rows_o(src_rows),
        .own_base_o(own_base),
        .share_o(share),
        .begin_i(order_begin),
        .pick_o(pick),
        .pick_take_i(pick_take),
        .offered_o(offered),
        .report_i(report),
        .report_ready_o(report_ready),
        .push_granted_i(push_granted),
        .push_sync_o(ev_o.sync),
        .ctl_o(ctl),
        .ctl_ready_i(ctl_ready),
        .cst_o(cst),
        .cst_ready_i(cst_ready),
        .clo_o(clo),
        .clo_ready_i(clo_ready),
        .err_o(err_o[ErrControl]),
        .idle_o(control_idle)
    );

    // ---- gradients of gate weights ----
    if (Cfg.GateGradients) begin : gen_gradients
        gradient_send #(
            .Cfg(Cfg)
        ) i_gradients (
            .clk_i,
            .rst_ni,
            .go_i,
            .cfg_i(cfg),
            .dw_i,
            .dw_ready_o,
            .clo_i(clo),
            .clo_ready_o(clo_ready),
            .st_o(dw_st),
            .st_ready_i(dw_st_ready),
            .lo_o(small_lo),
            .lo_ready_i(small_lo_ready),
            .idle_o(gradients_idle)
        );
    end else begin : gen_no_gradients
        assign {small_lo, clo_ready} = {clo, small_lo_ready};
        assign dw_st = '0;
        assign {dw_ready_o, gradients_idle} = '1;
    end

    // ---- rows that this GPU loads ----
    bundle_pkg::ctl_t up_ctl;  // control's packets, and LDs
    logic up_ctl_ready;

    if (Cfg.MergeLoads) begin : gen_loads
        bundle_pkg::ctl_t ld;
        logic ld_ready;

        load #(
            .Cfg(Cfg)
        ) i_load (
            .clk_i,
            .rst_ni,
            .go_i,
            .cfg_i(cfg),
            .cmd_valid_i(cmd_valid_i[HubLoad]),
            .cmd_ready_o(cmd_ready_o[HubLoad]),
            .cmd_i,
            .retire_o(retire_o[HubLoad]),
            .offered_i(offered),
            .report_o(report),
            .report_ready_i(report_ready),
            .grant_i('{valid: tile_valid, home: lane_home, index: lane_index}),
            .grant_ready_o(tile_take),
            .ld_o(ld),
            .ld_ready_i(ld_ready),
            .own_valid_o(load_own_valid),
            .own_ready_i(load_own_ready),
            .own_index_o(load_own_index),
            .landed_i(loaded),
            .err_o(err_o[ErrLoad])
        );
        ctl_turn i_turn (
            .clk_i,
            .rst_ni,
            .ctl_i(ctl),
            .ctl_ready_o(ctl_ready),
            .ld_i(ld),
            .ld_ready_o(ld_ready),
            .out_o(up_ctl),
            .ready_i(up_ctl_ready)
        );
    end else begin : gen_no_loads
        assign {up_ctl, ctl_ready} = {ctl, up_ctl_ready};
        assign {cmd_ready_o[HubLoad], retire_o[HubLoad]} = 2'b10;
        assign {report, tile_take} = '0;
        assign {load_own_valid, load_own_index} = '0;
        assign err_o[ErrLoad] = '{valid: 1'b0, code: error_pkg::ERR_NONE};
    end

    notified_rows #(
        .Cfg(Cfg)
    ) i_notified (
        .clk_i,
        .rst_ni,
        .go_i,
        .ev_i(flag),
        .src_i(row_src),
        .src_rows_i(src_rows),
        .rows_o(notified)
    );
    assign row_src[1] = row_src_i;
    assign src_rows_o = notified[1];
    assign own_base_o = own_base;

    // ---- reductions ----
    marked_t req;  // from the wire, or of granted rows

    if (Cfg.SwitchReductions) begin : gen_by_switch
        marked_t granted;

        grant_lists #(
            .Cfg(Cfg)
        ) i_lists (
            .clk_i,
            .rst_ni,
            .cfg_i(cfg),
            .lane_valid_i(lane_valid),
            .lane_ready_o(lane_ready),
            .home_i(lane_home),
            .index_i(lane_index),
            .keep_level_i(keep_level),
            .keep_done_i(keep_done),
            .rd_o(rd_o[RdList]),
            .rd_ready_i(rd_ready_i[RdList]),
            .rd_i(rd_i[RdList]),
            .req_o(granted),
            .idle_o(lists_idle)
        );
        assign req = cfg.switch_reductions ? granted : rxreq;
    end else begin : gen_no_lists
        assign {lane_ready, lists_idle, rd_o[RdList]} = {2'b01, (Cfg.AddrW + 1)'(0)};
        assign req = rxreq;
    end

    stream_t creq;
    stream_t part;
    logic creq_ready, sst_valid, red_idle;
    logic [1:0] sum_ready;  // 0 partials, 1 stores

    logic [Cfg.N-1:0] behind;
    bundle_pkg::port_t row_done;

    if (Cfg.BalanceRows) begin : gen_balance
        row_balance #(
            .Cfg(Cfg)
        ) i_balance (
            .clk_i,
            .rst_ni,
            .go_i,
            .cfg_i(cfg),
            .cnt_i(once),
            .copies_here_i(copies_here),
            .done_i(row_done),
            .behind_o(behind)
        );
    end else begin : gen_turns
        assign behind = '0;
    end

    reduction #(
        .Cfg(Cfg)
    ) i_reduction (
        .clk_i,
        .rst_ni,
        .go_i,
        .cfg_i(cfg),
        .emap_i(emap),
        .groups_i,
        .cmd_valid_i(cmd_valid_i[HubCombine]),
        .cmd_ready_o(cmd_ready_o[HubCombine]),
        .cmd_i,
        .retire_o(retire_o[HubCombine]),
        .rdy_i('{valid: rdy.valid, token: TokenW'(rdy.index)}),
        .rdy_ready_o(rdy_ready),
        .tok_done_o(tok_done),
        .own_base_i(own_base),
        .push_valid_i(cmd_valid_i[HubPush]),
        .push_ready_o(cmd_ready_o[HubPush]),
        .push_retire_o(retire_o[HubPush]),
        .src_o(row_src[0]),
        .src_rows_i(notified[0]),
        .back_i(back),
        .back_done_o(back_done),
        .back_left_o(back_left),
        .rd_o(rd_o[RdCombine]),
        .rd_ready_i(rd_ready_i[RdCombine]),
        .rd_i(rd_i[RdCombine]),
        .sum_rd_o(rd_o[RdSum+:2]),
        .sum_rd_ready_i(rd_ready_i[RdSum+:2]),
        .sum_rd_i(rd_i[RdSum+:2]),
        .copy_rd_o(rd_o[RdCopy]),
        .copy_rd_ready_i(rd_ready_i[RdCopy]),
        .copy_rd_i(rd_i[RdCopy]),
        .out_wr_o(wr_o[WrOut]),
        .out_wr_ready_i(wr_ready_i[WrOut]),
        .al_req_o(al_req[1]),
        .al_req_ready_i(al_req_ready[1]),
        .al_i(al_resp[1]),
        .req_i(req),
        .res_i(rxres),
        .res_ready_o(rxres_ready),
        .res_bad_i(rxres_bad),
        .req_o(creq),
        .req_ready_i(creq_ready),
        .part_o(part),
        .part_ready_i(sum_ready[0]),
        .sst_valid_o(sst_valid),
        .sst_ready_i(sum_ready[1]),
        .part_crd_i('{valid: up_crd_i.cls[packet_pkg::CLS_PART], port: up_crd_i.part}),
        .behind_i(behind),
        .row_done_o(row_done),
        .err_o(err_o[ErrRed+:3]),
        .idle_o(red_idle)
    );

    assign ev_o.token = (Cfg.SumEntries != 0 && cfg.red_count != '0) ? row_added : tok_done;

    // ---- uplink ----
    if (Cfg.RpmEntries != 0) begin : gen_manager
        packet_manager #(
            .Cfg(Cfg)
        ) i_manager (
            .clk_i,
            .rst_ni,
            .go_i,
            .on_i(cfg.packet_manager),
            .timer_i(cfg.rpm_timer),
            .target_list_cache_i(Cfg.TargetListCache && cfg.target_list_cache),
            .row_shift_i(cfg.row_shift),
            .emap_i(emap),
            .st_i(st),
            .st_ready_o(st_ready),
            .st_o(up_st),
            .st_ready_i(up_st_ready),
            .count_o(count_o.manager),
            .idle_o(manager_idle)
        );
    end else begin : gen_no_manager
        assign {up_st, st_ready, manager_idle, count_o.manager} = {st, up_st_ready, 1'b1, 5'd0};
    end

    logic tx_idle, up_hold, up_busy;

    tx #(
        .Cfg(Cfg)
    ) i_tx (
        .clk_i,
        .rst_ni,
        .go_i,
        .cfg_i(cfg),
        .share_i(share),
        .ctl_i(up_ctl),
        .ctl_ready_o(up_ctl_ready),
        .req_i(creq),
        .req_ready_o(creq_ready),
        .st_i(up_st),
        .st_ready_o(up_st_ready),
        .sum_i('{valid: {sst_valid, part.valid}, last: part.last, data: part.data}),
        .sum_ready_o(sum_ready),
        .dw_i(dw_st),
        .dw_ready_o(dw_st_ready),
        .up_o,
        .hold_i(up_hold),
        .crd_i(up_crd_i),
        .count_o(count_o.tx),
        .idle_o(tx_idle)
    );
    assign count_o.link_idle = !up_o.valid && !up_busy;

    if (Cfg.LinkRate) begin : gen_rate
        link_rate #(
            .MaxPkt(Cfg.HeadFlits + Cfg.ListFlits + Cfg.PayFlits)
        ) i_rate (
            .clk_i,
            .rst_ni,
            .wait_i(cfg.link_wait),
            .valid_i(up_o.valid),
            .hold_o(up_hold),
            .busy_o(up_busy)
        );
    end else begin : gen_full_rate
        assign {up_hold, up_busy} = '0;
    end

    assign recv_rows_o = recv_rows[15:0];

    assign idle_o = {
        tok_idle,
        !up_o.valid && !up_busy,
        tx_idle && manager_idle && answered,
        control_idle && gradients_idle,
        red_idle && !back.valid && return_idle,
        rxst_idle && alloc_idle && rows_idle && said_idle && !loc.valid,
        rx_idle && lists_idle
    };
endmodule

`default_nettype wire
