// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Queue of the partial sums of one hub for one requester: PartPkts packet slots in a RAM.
//
// Order: First in, first out, one flit in and one flit out per cycle. Every packet starts at its
// slot, so a packet that is shorter or longer than the reader expects spoils only itself.
// Back-pressure: Credits. full_o shows one packet too many before it is written.
// Latency: A packet is visible one cycle after its first flit was written. It may then be read at
// one flit per cycle, as its flits come in consecutive cycles.
// Ports: With PartSharedRam it has no RAM. Its flits lie in the RAM of a voq, which uses the
// address from here and returns the data.
`default_nettype none
`include "assert.svh"

module part_queue #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    localparam int unsigned Width = Cfg.FlitW + 2,
    localparam int unsigned PW = cfg_pkg::index_w(Cfg.PartPkts)
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    input  wire logic                come_i,  // a packet is on its way to here: with its
                                              // first flit or before
    input  wire logic                we_i,
    input  wire logic [Cfg.PayW-1:0] widx_i,  // flit of the packet; 0 starts one
    input  wire logic [Width-1:0]    wdata_i,
    output logic                     full_o,

    output logic                     has_o,
    input  wire logic                re_i,
    input  wire logic [Cfg.PayW-1:0] ridx_i,
    input  wire logic                done_i,   // with re_i: last flit that the reader
                                               // takes of the packet
    output logic [Width-1:0]         rdata_o,  // one cycle after re_i, else 0; with
                                               // PartSharedRam always

    output logic [PW+Cfg.PayW-1:0] waddr_o,  // with we_i and re_i, for the RAM of the voq
    output logic [PW+Cfg.PayW-1:0] raddr_o
);
    logic [PW:0] come_q, wpkt_q, rpkt_q;  // packets on their way, begun, read
    logic [PW-1:0] open_q;
    logic start;

    assign start = we_i && widx_i == '0;
    assign has_o = wpkt_q != rpkt_q;
    assign full_o = (Cfg.PartSharedRam ? come_q : wpkt_q) - rpkt_q == (PW + 1)'(Cfg.PartPkts);

    assign waddr_o = {(widx_i == '0) ? wpkt_q[PW-1:0] : open_q, widx_i};
    assign raddr_o = {rpkt_q[PW-1:0], ridx_i};

    if (Cfg.PartSharedRam) begin : gen_shared_ram
        assign rdata_o = '0;
    end else begin : gen_ram
        gated_ram #(
            .Width(Width),
            .Depth(1 << (PW + Cfg.PayW))
        ) i_ram (
            .clk_i,
            .we_i(we_i),
            .lane_i(1'b1),
            .waddr_i(waddr_o),
            .wdata_i(wdata_i),
            .re_i(re_i),
            .raddr_i(raddr_o),
            .rdata_o(rdata_o)
        );
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            come_q <= '0;
            wpkt_q <= '0;
            rpkt_q <= '0;
        end else begin
            if (come_i) come_q <= come_q + 1'b1;
            if (start) wpkt_q <= wpkt_q + 1'b1;
            if (done_i) rpkt_q <= rpkt_q + 1'b1;
        end
        if (start) open_q <= wpkt_q[PW-1:0];
    end

    `MW_ASSERT(!start || wpkt_q - rpkt_q != (PW + 1)'(Cfg.PartPkts), "a packet without a place")
    `MW_ASSERT(!done_i || (re_i && has_o), "nothing to read")
    `MW_CONTRACT(re_i, has_o, "a read, and no packet")
    `MW_CONTRACT(Cfg.PartSharedRam && start, come_q != wpkt_q || come_i,
                 "a packet that was not announced")
endmodule

`default_nettype wire
