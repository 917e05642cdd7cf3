// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Packet queue in LUT RAM: a packet leaves only when it is complete, so its flits leave in
// consecutive cycles.
//
// Function: out_valid_o stays high from the first flit of a packet to its last. A packet longer
// than Flits would never leave. MaxPkt <= Flits is checked, and longer packets are a fault of the
// writer.
// Ports: take_i (only with out_valid_o) takes the flit whose out_last_o is shown. Its data comes
// one cycle later, in a register that moves with step_i and is 0 after a step without take_i. An OR
// therefore joins several sources of which one is taken at a time. take_i comes with step_i.
// Order: First in, first out.
// Back-pressure: in_ready_o falls when Flits flits are stored, and depends on registers only.
// Latency: A packet is visible one cycle after its last flit was accepted. Packets follow each
// other without a gap.
`default_nettype none
`include "assert.svh"

module pkt_fifo #(
    parameter int unsigned FlitBytes = 8,
    // storage, a power of two
    parameter int unsigned Flits = 32,
    // longest packet
    parameter int unsigned MaxPkt    = 16 / FlitBytes + (30 + FlitBytes - 1) / FlitBytes
                                       + 128 / FlitBytes
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    input  wire logic                   in_valid_i,
    output logic                        in_ready_o,
    input  wire logic [8*FlitBytes-1:0] in_data_i,
    input  wire logic                   in_last_i,

    output logic                   out_valid_o,
    output logic                   out_last_o,
    input  wire logic              take_i,
    input  wire logic              step_i,
    output logic [8*FlitBytes-1:0] out_data_o
);
    localparam int unsigned PtrW = $clog2(Flits);

    if (MaxPkt > Flits || 2 ** PtrW != Flits) begin : gen_check
        $error("pkt_fifo: a packet does not fit, or Flits is not a power of two");
    end

    // one more bit separates full from empty; whole_q: behind the last whole packet
    logic [PtrW:0] wptr_q, rptr_q, whole_q;
    logic [PtrW:0] wptr_next;
    logic push;

    assign in_ready_o = (wptr_q ^ rptr_q) != {1'b1, PtrW'(0)};
    assign push = in_valid_i && in_ready_o;
    assign out_valid_o = whole_q != rptr_q;
    assign wptr_next = wptr_q + 1'b1;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            wptr_q <= '0;
            rptr_q <= '0;
            whole_q <= '0;
        end else begin
            if (push) wptr_q <= wptr_next;
            if (push && in_last_i) whole_q <= wptr_next;
            if (take_i) rptr_q <= rptr_q + 1'b1;
        end
    end

    lut_table #(
        .Width(8 * FlitBytes),
        .Depth(Flits)
    ) i_data (
        .clk_i,
        .we_i(push),
        .waddr_i(wptr_q[PtrW-1:0]),
        .wdata_i(in_data_i),
        .re_i(step_i),
        .sel_i(take_i),
        .raddr_i(rptr_q[PtrW-1:0]),
        .rdata_o(out_data_o)
    );
    lutram #(
        .Width(1),
        .Depth(Flits)
    ) i_last (
        .clk_i,
        .we_i(push),
        .waddr_i(wptr_q[PtrW-1:0]),
        .wdata_i(in_last_i),
        .raddr_i(rptr_q[PtrW-1:0]),
        .rdata_o(out_last_o)
    );

    `MW_ASSERT(!take_i || (out_valid_o && step_i), "nothing to take")
    `MW_NEXT(out_valid_o && !take_i, out_valid_o, "a packet goes before it is taken")
    `MW_NEXT(take_i && !out_last_o, out_valid_o, "a gap inside a packet")
    `MW_NEXT(step_i && !take_i, out_data_o == '0,
             "an OR of several sources sees data that nobody took")
    `MW_NEXT(!step_i, $stable(out_data_o), "data moves without a step")
endmodule

`default_nettype wire
