// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Sends the hub's packets of class CTRL: ACKs that rx_store requests, signals of the expert engine,
// and events.
//
// Function: In layers with switch-initiated reductions READYs from ready_gather replace signals.
// They report tiles of loads and of pushes, too (report_*), before finished rows. The signal of an
// own token goes to the token tracker (own_*, global index). With tile reductions the switch gets
// it like those of others.
// Order: First in, first out within each kind. The kinds alternate.
// Back-pressure: ready, which does not depend on the port's own valid.
// Latency: Two other packets pass a waiting packet at most. A signal for an own token waits for
// none.
`default_nettype none
`include "bundles.svh"

module ctrl_packets #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type index_t = `MW_INDEX(Cfg),
    parameter type home_row_t = `MW_HOME_ROW(Cfg)
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire logic                go_i,
    input  wire node_pkg::node_cfg_t cfg_i,

    input  wire bundle_pkg::port_t  ack_i,  // for another GPU
    output logic                    ack_ready_o,
    input  wire bundle_pkg::token_t sig_i,  // a row of this token is finished here
    output logic                    sig_ready_o,
    output bundle_pkg::token_t      own_o,  // it is an own token
    input  wire logic               own_ready_i,
    input  wire index_t             tok_i,  // all own experts of this token have finished
    output logic                    tok_ready_o,
    input  wire home_row_t          report_i,  // SYNC of a tile
    output logic                    report_ready_o,
    input  wire bundle_pkg::tell_t  event_i,
    output logic                    event_ready_o,

    output bundle_pkg::ctl_t ctl_o,
    input  wire logic        ctl_ready_i,
    output logic             idle_o  // besides what is offered
);
    import packet_pkg::*;
    // token or event counter; or lanes
    localparam int unsigned AddrB = Cfg.SwitchReductions ? LaneBits * Lanes
                                  : (Cfg.TokW > Cfg.EventW) ? Cfg.TokW : Cfg.EventW;

    logic [2:0] want, ready;  // 0 ACK, 1 SIGNAL, 2 EVENT; ready: no other comes first
    logic [1:0] first_q;
    logic ctl_free, sig_own, by_switch, tiles, lane_room, tell, report;  // a tile's lane goes first
    logic [AddrB-1:0] notified;
    logic [Cfg.GpuW-1:0] sig_home;
    opcode_e ctl_op_q;
    port_t ctl_dst_q;
    logic [AddrB-1:0] ctl_addr_q;

    assign sig_home = Cfg.GpuW'(sig_i.token[Cfg.TokW-1:0] >> cfg_i.token_shift);
    assign tiles = Cfg.TileReductions && cfg_i.tile_reductions;
    assign sig_own = sig_home == cfg_i.port[Cfg.GpuW-1:0] && !tiles;
    assign want = {event_i.valid, tell, ack_i.valid};
    assign ctl_free = !ctl_o.valid || ctl_ready_i;

    always_comb begin
        unique case (first_q)
            2'd0:    ready = {!want[0] && !want[1], !want[0], 1'b1};
            2'd1:    ready = {!want[1], 1'b1, !want[1] && !want[2]};
            default: ready = {1'b1, !want[2] && !want[0], !want[2]};
        endcase
        if (!ctl_free) ready = '0;
    end

    assign event_ready_o = ready[2];
    assign sig_ready_o = sig_own ? own_ready_i : by_switch ? lane_room && !report : ready[1];
    assign own_o = '{valid: sig_i.valid && sig_own, token: sig_i.token};
    assign ack_ready_o = ready[0];

    if (Cfg.SwitchReductions) begin : gen_by_switch
        logic pkt_valid;
        lane_t [Lanes-1:0] lanes;

        assign by_switch = cfg_i.switch_reductions;
        assign report = Cfg.MergeLoads && report_i.valid;
        assign report_ready_o = lane_room;
        assign tell = by_switch ? pkt_valid : sig_i.valid && !sig_own;
        assign notified = by_switch ? lanes : AddrB'(sig_i.token[Cfg.TokW-1:0]);

        ready_gather #(
            .Cfg(Cfg)
        ) i_gather (
            .clk_i,
            .rst_ni,
            .port_i(cfg_i.port[Cfg.GpuW-1:0]),
            .far_valid_i(report || (by_switch && sig_i.valid && !sig_own)),
            .far_ready_o(lane_room),
            .far_home_i(report ? report_i.home : sig_home),
            .far_index_i(report ? report_i.index : sig_i.token[Cfg.TokensLog2-1:0]
                         & ~(~Cfg.TokensLog2'(0) << cfg_i.token_shift)),
            .own_valid_i(tok_i.valid),
            .own_ready_o(tok_ready_o),
            .own_index_i(tok_i.index),
            .pkt_valid_o(pkt_valid),
            .pkt_take_i(by_switch && pkt_valid && ready[1]),
            .lanes_o(lanes),
            .idle_o
        );
    end else begin : gen_signals
        assign {by_switch, lane_room, tok_ready_o, idle_o} = 4'b0001;
        assign {report, report_ready_o} = '0;
        assign tell = sig_i.valid && !sig_own;
        assign notified = AddrB'(sig_i.token[Cfg.TokW-1:0]);
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            ctl_o.valid <= 1'b0;
            first_q <= '0;
        end else begin
            if (ctl_free) ctl_o.valid <= want != '0;
            if (go_i) first_q <= '0;
            else if (ctl_free && want != '0)
                first_q <= (want[0] && ready[0]) ? 2'd1 : (want[1] && ready[1]) ? 2'd2 : 2'd0;
        end
        if (ctl_free) begin
            ctl_op_q <= (want[0] && ready[0]) ? OP_ACK : !(want[1] && ready[1]) ? OP_EVENT
                        : by_switch ? OP_READY : OP_SIGNAL;
            ctl_dst_q <= (want[0] && ready[0]) ? ack_i.port
                         : (want[1] && ready[1]) ? (by_switch ? '0 : port_t'(sig_home))
                         : event_i.dst;
            ctl_addr_q <= (want[1] && ready[1]) ? notified : (want[0] && ready[0]) ? '0
                          : AddrB'(event_i.idx);
        end
    end

    always_comb begin
        ctl_o.header = '0;
        ctl_o.header.opcode = ctl_op_q;
        ctl_o.header.cls = CLS_CTRL;
        {ctl_o.header.src_far, ctl_o.header.src} = cfg_i.port;
        {ctl_o.header.dst_far, ctl_o.header.dst} = ctl_dst_q;
        ctl_o.header.epoch = cfg_i.epoch;
        ctl_o.header.addr = 48'(ctl_addr_q);
        if (Cfg.SwitchReductions) ctl_o.header.target0 = 16'(ctl_addr_q >> 48);
    end

endmodule

`default_nettype wire
