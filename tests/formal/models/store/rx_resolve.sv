// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Replaces rtl/hub/receive/rx_resolve.sv, with what its proof guarantees. Each packet has one job
// per target, the last one after the packet has left pkt_*. Jobs of different packets come in any
// order. A job stays until it is taken. Jobs and times are free choices (cfg_i).
`default_nettype none
`include "bundles.svh"

module rx_resolve #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter int unsigned SlotW = 5,
    parameter type job_t = logic,
    localparam int unsigned FlitsW = 9 - Cfg.FlitLog2,
    localparam int unsigned KeepW = $clog2(Cfg.Lanes + 1)
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire node_pkg::node_cfg_t cfg_i,

    input  wire bundle_pkg::emap_write_t emap_i,

    input  wire logic              pkt_valid_i,
    output logic                   pkt_ready_o,
    input  wire logic [SlotW-1:0]  pkt_slot_i,
    input  wire logic              pkt_bad_i,
    input  wire logic [FlitsW-1:0] pkt_flits_i,

    output logic [SlotW-1:0]     hd_slot_o,
    output logic [3:0]           hd_tgt_o,
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

    output logic      job_valid_o,
    input  wire logic job_ready_i,
    output job_t      job_o,
    input  wire logic busy_i,

    output bundle_pkg::event_t ev_o,
    output bundle_pkg::source_flag_t said_o,
    output bundle_pkg::port_t  ack_o,
    input  wire logic          ack_ready_i,

    output `MW_WRITE(Cfg)     keep_wr_o,
    input  wire logic         keep_wr_ready_i,
    output logic [KeepW-1:0]  keep_level_o,
    output logic              keep_done_o,
    output logic              keep_idle_o,

    output bundle_pkg::error_t err_o
);
    assign {keep_wr_o, keep_level_o, keep_done_o} = '0;
    assign keep_idle_o = 1'b1;

    localparam int unsigned JobW = $bits(job_t);

    logic [4:0]       left_q [2**SlotW];  // targets of each slot whose jobs have not been shown
    logic             begun_q, valid_q, show, start, leave;
    logic [SlotW-1:0] slot;
    job_t             in;

    always_comb begin
        in      = job_t'(cfg_i[JobW+7:8]);
        slot    = in.slot;
        if (in.null_) {in.track, in.home} = '0;
        if (in.counts) begin              // whole words, from the first of a flit on
            in.lane      = '0;
            in.span[1:0] = '1;
            in.track     = 1'b0;
            in.home      = 1'b0;
        end else begin
            in.red       = 1'b0;          // no reds
        end
        if (in.span < 7'(in.lane)) in.span = 7'(in.lane);
    end

    assign start_valid_o = pkt_valid_i && !begun_q && cfg_i[0];
    assign start_slot_o  = pkt_slot_i;
    assign start_cnt_o   = hd_i.cnt;
    assign start         = start_valid_o && start_ready_i;
    assign leave         = begun_q && cfg_i[1];       // after the start: its targets are fetched
                                                      // one by one
    assign pkt_ready_o   = leave;
    assign show          = cfg_i[2] && (!valid_q || job_ready_i) && left_q[slot] != '0
                           && !(left_q[slot] == 5'd1 && begun_q && pkt_slot_i == slot);

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            for (int unsigned s = 0; s < 2**SlotW; s++) left_q[s] <= '0;
            begun_q <= 1'b0;
            valid_q <= 1'b0;
        end else begin
            begun_q <= start || (begun_q && !leave);
            valid_q <= show || (valid_q && !job_ready_i);
            if (show) left_q[slot] <= left_q[slot] - 5'd1;
            if (start) left_q[start_slot_o] <= start_cnt_o;
        end
        if (show) job_o <= in;
    end
    always_comb if (rst_ni) a_begun: assert (!begun_q || (pkt_valid_i && left_q[pkt_slot_i] != '0));
    assign job_valid_o = valid_q;

    assign {hd_slot_o, hd_tgt_o, al_req_o, ev_o, said_o, ack_o} = '0;
    assign err_o = '{valid: 1'b0, code: error_pkg::ERR_NONE};

    logic unused;
    assign unused = ^{cfg_i, emap_i, pkt_bad_i, pkt_flits_i, hd_i, al_req_ready_i, al_i, al_fill_i,
                      al_busy_i, busy_i, ack_ready_i};
endmodule

`default_nettype wire
