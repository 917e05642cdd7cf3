// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Gathers lanes of READY packets. far_*: rows of other GPUs' tokens that the expert engine has
// finished, with tile reductions also rows of own tokens. own_*: own tokens whose own experts have
// all finished, from the token tracker.
//
// Order: The order of lanes of each source.
// Back-pressure: One lane per cycle, own_ first. ready depends on registers and on own_valid_i.
// Latency: A packet is offered when it has three lanes, or when no lane came for 16 cycles. So its
// first lane waits for at most 32 cycles. Later lanes still join an offered packet, up to three.
// far_ waits for one lane of the token tracker, which has at most one in two cycles. Otherwise both
// wait only for the uplink's CTRL credit.
`default_nettype none
`include "assert.svh"

module ready_gather #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter int unsigned IndexW = Cfg.TokensLog2  // of what a lane names at its home
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire logic [Cfg.GpuW-1:0] port_i,

    input  wire logic                      far_valid_i,
    output logic                           far_ready_o,
    input  wire logic [Cfg.GpuW-1:0]       far_home_i,
    input  wire logic [IndexW-1:0]         far_index_i,

    input  wire logic                      own_valid_i,
    output logic                           own_ready_o,
    input  wire logic [IndexW-1:0]         own_index_i,

    output logic                                      pkt_valid_o,
    input  wire logic                                 pkt_take_i,
    output packet_pkg::lane_t [packet_pkg::Lanes-1:0] lanes_o,
    output logic                                      idle_o
);
    import packet_pkg::Lanes;

    localparam int unsigned LaneCntW = $clog2(Lanes + 1);

    typedef struct packed {
        logic [Cfg.GpuW-1:0] home;
        logic [IndexW-1:0]   index;
    } row_t;

    logic room, push, due_q;
    logic [LaneCntW-1:0] cnt_q, kept, cnt_d;
    logic [3:0] pause_q;  // cycles since the last lane came
    row_t row_q[Lanes], in;

    assign room = cnt_q != LaneCntW'(Lanes);
    assign own_ready_o = room;
    assign far_ready_o = room && !own_valid_i;
    assign push = room && (own_valid_i || far_valid_i);
    assign in = own_valid_i ?
        '{home: port_i, index: own_index_i}
        : '{home: far_home_i, index: far_index_i};
    assign kept = pkt_take_i ? '0 : cnt_q;
    assign cnt_d = kept + LaneCntW'(push);

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            cnt_q <= '0;
            due_q <= 1'b0;
        end else begin
            cnt_q <= cnt_d;
            due_q <= cnt_d == LaneCntW'(Lanes)
                     || (kept != '0 && (due_q || (pause_q == '1 && !push)));
        end
        if (push) pause_q <= 4'd1;
        else if (cnt_q != '0) pause_q <= pause_q + 1'b1;
        for (int unsigned l = 0; l < Lanes; l++) if (push && kept == LaneCntW'(l)) row_q[l] <= in;
    end

    always_comb begin
        for (int unsigned l = 0; l < Lanes; l++) begin
            lanes_o[l] =
                cfg_pkg::lane_of(Cfg, packet_pkg::port_t'(row_q[l].home), 15'(row_q[l].index));
            lanes_o[l].valid = LaneCntW'(l) < cnt_q;
        end
    end

    assign pkt_valid_o = due_q;
    assign idle_o = cnt_q == '0;

    `MW_CONTRACT(pkt_take_i, pkt_valid_o, "a packet is taken that is not there")
    `MW_CONTRACT(pkt_valid_o, lanes_o[0].valid, "a packet without a lane")
    `MW_NEXT(pkt_valid_o && !pkt_take_i, pkt_valid_o, "a packet goes before it is taken")
endmodule

`default_nettype wire
