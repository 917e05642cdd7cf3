// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Bench: rx_resolve with the fields of its jobs as ports.
`default_nettype none
`include "bundles.svh"

module rx_jobs #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    localparam int unsigned SlotW = 5
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire node_pkg::node_cfg_t cfg_i,

    input  wire bundle_pkg::emap_write_t emap_i,

    input  wire logic                    pkt_valid_i,
    output logic                         pkt_ready_o,
    input  wire logic [SlotW-1:0]        pkt_slot_i,
    input  wire logic                    pkt_bad_i,
    input  wire logic [8-Cfg.FlitLog2:0] pkt_flits_i,

    output logic [SlotW-1:0]    hd_slot_o,
    output logic [3:0]          hd_tgt_o,
    input  wire `MW_ARRIVED(Cfg) hd_i,

    output logic             start_valid_o,
    input  wire logic        start_ready_i,
    output logic [SlotW-1:0] start_slot_o,
    output logic [4:0]       start_cnt_o,

    output bundle_pkg::alloc_req_t      al_req_o,
    input  wire logic                   al_req_ready_i,
    input  wire bundle_pkg::alloc_rsp_t al_i,
    input  wire logic                   al_fill_i,
    input  wire logic                   al_busy_i,

    output logic                    job_valid_o,
    input  wire logic               job_ready_i,
    output logic [4:0]              job_kind_o,   // null, counts, red, track, home
    output logic [SlotW-1:0]        job_slot_o,
    output logic [Cfg.FlitLog2-1:0] job_lane_o,
    output logic [6:0]              job_span_o,
    output logic [Cfg.AddrW-1:0]    job_addr_o,
    output logic [Cfg.LocalW-1:0]   job_le_o,
    output logic [Cfg.RowsLog2-1:0] job_row_o,
    output logic [Cfg.TokW-1:0]     job_token_o,
    output logic [3:0]              job_pos_o,
    output logic [Cfg.GpuW:0]       job_adds_o,
    input  wire logic               busy_i,

    output bundle_pkg::event_t       ev_o,
    output bundle_pkg::source_flag_t said_o,
    output bundle_pkg::port_t        ack_o,
    input  wire logic                ack_ready_i,
    output `MW_WRITE(Cfg)            keep_wr_o,
    input  wire logic                keep_wr_ready_i,
    output bundle_pkg::error_t       err_o
);
    typedef struct packed {
        logic                    null_;
        logic                    counts;
        logic                    red;
        logic                    track;
        logic                    home;
        logic [SlotW-1:0]        slot;
        logic [Cfg.FlitLog2-1:0] lane;
        logic [6:0]              span;
        logic [Cfg.AddrW-1:0]    addr;
        logic [Cfg.LocalW-1:0]   le;
        logic [Cfg.RowsLog2-1:0] row;
        logic [Cfg.TokW-1:0]     token;
        logic [3:0]              pos;
        logic [Cfg.GpuW:0]       adds;
    } job_t;

    rx_resolve #(
        .Cfg(Cfg),
        .SlotW(SlotW),
        .job_t(job_t)
    ) i_resolve (
        .clk_i, .rst_ni, .cfg_i, .emap_i,
        .pkt_valid_i, .pkt_ready_o, .pkt_slot_i, .pkt_bad_i, .pkt_flits_i,
        .hd_slot_o, .hd_tgt_o, .hd_i,
        .start_valid_o, .start_ready_i, .start_slot_o, .start_cnt_o,
        .al_req_o, .al_req_ready_i, .al_i, .al_fill_i, .al_busy_i,
        .job_valid_o, .job_ready_i,
        .job_o({job_kind_o, job_slot_o, job_lane_o, job_span_o, job_addr_o,
                job_le_o, job_row_o, job_token_o, job_pos_o, job_adds_o}),
        .busy_i, .ev_o, .said_o, .ack_o, .ack_ready_i,
        .keep_wr_o, .keep_wr_ready_i, .keep_level_o(), .keep_done_o(), .keep_idle_o(), .err_o
    );
endmodule

`default_nettype wire
