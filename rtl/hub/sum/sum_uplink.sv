// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Sends sums and copies to the uplink as packets: PARTIAL for their requester on part_*, or ST to
// their slot at its home on sst_*. Writes their headers.
//
// Ports: part_* and sst_* share all wires but valid and ready.
// Order: As they come. A packet leaves without gaps: its flits arrive so, and the first one waits
// during the header.
// Back-pressure: part_ready_i and sst_ready_i may stall, and then ready_o falls. That ends by
// itself, as the link takes a packet that has its credit.
// Latency: A packet of n flits takes n and the header's cycles, plus those in which the link
// refuses.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module sum_uplink #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type stream_t = `MW_STREAM(Cfg),
    parameter type up_t = logic  // see row_sum
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire node_pkg::node_cfg_t cfg_i,

    input  wire up_t up_i,
    output logic     ready_o,

    output stream_t   part_o,
    input  wire logic part_ready_i,
    output logic      sst_valid_o,
    input  wire logic sst_ready_i,

    output logic                out_o,     // a packet's last flit is taken
    output logic                out_st_o,  // of the packet at the front
    output logic [Cfg.GpuW-1:0] out_dst_o,
    output logic                st_done_o  // the last flit of an ST row is taken
);
    import packet_pkg::*;

    localparam int unsigned HBeatW = $clog2(Cfg.HeadFlits + 1);

    logic fire, payload;
    logic [HBeatW-1:0] beat_q;
    header_t header;

    assign payload = beat_q == HBeatW'(Cfg.HeadFlits);
    assign fire = up_i.valid && (up_i.tag.st ? sst_ready_i : part_ready_i);
    assign ready_o = fire && payload;
    assign out_o = ready_o && up_i.last;
    assign out_st_o = up_i.tag.st;
    assign out_dst_o = up_i.tag.dst;
    assign st_done_o = out_o && up_i.tag.st && up_i.tag.row_last;

    always_comb begin
        header = '0;
        header.opcode = up_i.tag.st ? OP_ST : OP_PARTIAL;
        header.cls = up_i.tag.st ? CLS_STORE : CLS_PART;
        {header.src_far, header.src} = cfg_i.port;
        {header.dst_far, header.dst} = port_t'(up_i.tag.dst);
        header.len = {15'(up_i.tag.count) + 15'd1} << Cfg.FlitLog2;
        header.epoch = cfg_i.epoch;
        header.stage = STAGE_COMBINE;
        header.poison = up_i.tag.poison;
        header.addr = up_i.tag.st ? 48'(up_i.tag.addr) << Cfg.FlitLog2 : '0;
    end

    if (Cfg.HeadFlits == 1) begin : gen_header1
        assign part_o.data = payload ? up_i.data : header;
    end else begin : gen_header2
        assign part_o.data = payload ? up_i.data : beat_q[0] ? header[Cfg.FlitW +: Cfg.FlitW]
                             : header[0 +: Cfg.FlitW];
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            beat_q <= '0;
        end else if (fire) begin
            beat_q <= !payload ? beat_q + 1'b1 : up_i.last ? '0 : beat_q;
        end
    end

    assign part_o.valid = up_i.valid && !up_i.tag.st;
    assign part_o.last = payload && up_i.last;
    assign sst_valid_o = up_i.valid && up_i.tag.st;

    `MW_NEXT(fire && !part_o.last, up_i.valid, "a gap inside a packet")
    `MW_CONTRACT(out_o, payload, "a packet without a payload")
endmodule

`default_nettype wire
