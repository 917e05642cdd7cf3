// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Sums from the adder to the uplink, as packets: PARTIAL for their requester on part_*, or ST to their slot at its home
// on sst_* (the same wires but valid and ready).
// Writes their headers.
//
// Order: as they come from the adder. A packet comes without gaps: its flits do, and while the header goes the first
// ones wait here.
// Back-pressure: part_ready_i and sst_ready_i may stall; room_o is low with PktDepth - 1 flits promised or here, and
// then holds up the adder. That ends by itself: the link takes a packet that has its credit whatever happens here.
// Worst case: a packet of n flits takes n and the header's cycles, and those in which the link refuses.
`default_nettype none
`include "bundles.svh"

module sum_uplink #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type tag_t = logic  // see row_sum
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire node_pkg::node_cfg_t cfg_i,

    input  wire logic                 promise_i, // only with room_o
    output logic                      room_o,
    input  wire logic                 push_i,    // what was promised
    input  wire logic [Cfg.FlitW-1:0] data_i,
    input  wire tag_t                 tag_i,     // of its packet
    input  wire logic                 last_i,    // its last flit

    output `MW_STREAM(Cfg) part_o,
    input  wire logic      part_ready_i,
    output logic           sst_valid_o,
    input  wire logic      sst_ready_i,

    output logic                out_o,     // a packet's last flit is taken
    output logic                out_st_o,  // of the packet at the front
    output logic [Cfg.GpuW-1:0] out_dst_o,
    output logic                st_done_o, // the last flit of an ST row is taken
    output logic                busy_o     // a flit is here
);
    import packet_pkg::*;

    localparam int unsigned HBeatW   = $clog2(Cfg.HeadFlits + 1);
    localparam int unsigned PktDepth = (Cfg.FlitBytes < 16) ? 16 : 32;

    typedef struct packed {
        tag_t tag;
        logic last;
    } out_t;

    logic                 valid, fire, payload, pop;
    logic [HBeatW-1:0]    beat_q;
    logic [Cfg.FlitW-1:0] flit;
    out_t                 head; // of the packet that leaves
    header_t              header;

    promise_fifo #(
        .Width(Cfg.FlitW + $bits(out_t)),
        .Depth(PktDepth)
    ) i_flits (
        .clk_i, .rst_ni, .promise_i, .room_o, .push_i, .data_i({tag_i, last_i, data_i}),
        .valid_o(valid), .ready_i(pop), .data_o({head, flit})
    );

    assign payload   = beat_q == HBeatW'(Cfg.HeadFlits);
    assign fire      = valid && (head.tag.st ? sst_ready_i : part_ready_i);
    assign pop       = fire && payload;
    assign out_o     = pop && head.last;
    assign out_st_o  = head.tag.st;
    assign out_dst_o = head.tag.dst;
    assign st_done_o = out_o && head.tag.st && head.tag.row_last;
    assign busy_o    = valid;

    always_comb begin
        header        = '0;
        header.opcode = head.tag.st ? OP_ST : OP_PARTIAL;
        header.cls    = head.tag.st ? CLS_STORE : CLS_PART;
        header.src    = cfg_i.port;
        header.dst    = 5'(head.tag.dst);
        header.len    = {15'(head.tag.count) + 15'd1} << Cfg.FlitLog2;
        header.epoch  = cfg_i.epoch;
        header.stage  = STAGE_COMBINE;
        header.poison = head.tag.poison;
        header.addr   = head.tag.st ? 48'(head.tag.addr) << Cfg.FlitLog2 : '0;
    end

    if (Cfg.HeadFlits == 1) begin : gen_header1
        assign part_o.data = payload ? flit : header;
    end else begin : gen_header2
        assign part_o.data = payload ? flit : beat_q[0] ? header[Cfg.FlitW +: Cfg.FlitW] : header[0 +: Cfg.FlitW];
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            beat_q <= '0;
        end else if (fire) begin
            beat_q <= !payload ? beat_q + 1'b1 : head.last ? '0 : beat_q;
        end
    end

    assign part_o.valid = valid && !head.tag.st;
    assign part_o.last  = payload && head.last;
    assign sst_valid_o  = valid && head.tag.st;

    wire unused = &{1'b0, cfg_i, head.tag.own};
endmodule

`default_nettype wire
