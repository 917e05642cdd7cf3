// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Queue of the partial sums of one hub for one requester: PartPkts packet slots in a RAM, one flit in and one flit out per cycle.
//
// Ordering: first in, first out. Back-pressure: credits, full_o shows one packet too many before it
// is written. A packet is visible one cycle after its first flit was written and may be read at one flit per cycle from
// then on (its flits come in consecutive cycles). A packet shorter or longer than the reader expects spoils only itself: every packet starts at its slot.
`default_nettype none

module part_queue #(
    parameter int unsigned FlitBytes = 16,
    parameter int unsigned PartPkts = 4,
    parameter bit          Lut = 1'b0,         // LUT RAM instead of block RAM
    localparam int unsigned Width = 8 * FlitBytes + 2,
    localparam int unsigned IndexW = $clog2(128 / FlitBytes)
) (
    input  wire logic              clk_i,
    input  wire logic              rst_ni,

    input  wire logic              we_i,
    input  wire logic [IndexW-1:0] widx_i,     // flit of the packet; 0 starts one
    input  wire logic [Width-1:0]  wdata_i,
    output logic                   full_o,

    output logic                   has_o,
    input  wire logic              re_i,
    input  wire logic [IndexW-1:0] ridx_i,
    input  wire logic              done_i,     // with re_i: last flit that the reader wants of the packet
    output logic [Width-1:0]       rdata_o     // one cycle after re_i, else 0
);
    localparam int unsigned PW = (PartPkts > 1) ? $clog2(PartPkts) : 1;

    logic [PW:0]   wpkt_q, rpkt_q;
    logic [PW-1:0] open_q;
    logic          start;

    assign start  = we_i && widx_i == '0;
    assign has_o  = wpkt_q != rpkt_q;
    assign full_o = wpkt_q - rpkt_q == (PW+1)'(PartPkts);

    gated_ram #(
        .Lut   (Lut),
        .Width (Width),
        .Depth (1 << (PW + IndexW))
    ) i_ram (
        .clk_i,
        .we_i    (we_i),
        .lane_i  (1'b1),
        .waddr_i ({(widx_i == '0) ? wpkt_q[PW-1:0] : open_q, widx_i}),
        .wdata_i (wdata_i),
        .re_i    (re_i),
        .raddr_i ({rpkt_q[PW-1:0], ridx_i}),
        .rdata_o (rdata_o)
    );

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            wpkt_q <= '0;
            rpkt_q <= '0;
        end else begin
            if (start) wpkt_q <= wpkt_q + 1'b1;
            if (done_i) rpkt_q <= rpkt_q + 1'b1;
        end
        if (start) open_q <= wpkt_q[PW-1:0];
    end
endmodule

`default_nettype wire
