// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// FIFO in LUT RAM with reserved places, for sources that cannot wait: memory reads, an adder.
//
// Ports: promise_i (only with room_o) reserves one of Depth - 1 places. push_i fills the oldest
// reserved one. Taking the word frees the place. The pointers follow ring_pkg, one LUT each.
// Order: First in, first out.
// Back-pressure: room_o, from registers only.
// Latency: A word is visible one cycle after its push.
`default_nettype none
`include "assert.svh"

module promise_fifo #(
    parameter int unsigned Width = 8,
    parameter int unsigned Depth = 16  // 16 or 32
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    input  wire logic             promise_i,
    output logic                  room_o,
    input  wire logic             push_i,
    input  wire logic [Width-1:0] data_i,

    output logic             valid_o,
    input  wire logic        ready_i,
    output logic [Width-1:0] data_o
);
    localparam int unsigned PtrW = $clog2(Depth);

    if (Depth != 16 && Depth != 32) begin : gen_check
        $error("promise_fifo: Depth must be 16 or 32");
    end

    function automatic logic [PtrW-1:0] after(input logic [PtrW-1:0] p);
        return PtrW'(ring_pkg::next(ring_pkg::ptr_t'(p), PtrW));
    endfunction

    logic [PtrW-1:0] pptr_q, wptr_q, rptr_q;

    assign room_o = after(pptr_q) != rptr_q;
    assign valid_o = wptr_q != rptr_q;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            pptr_q <= '0;
            wptr_q <= '0;
            rptr_q <= '0;
        end else begin
            if (promise_i) pptr_q <= after(pptr_q);
            if (push_i) wptr_q <= after(wptr_q);
            if (valid_o && ready_i) rptr_q <= after(rptr_q);
        end
    end

    lutram #(
        .Width(Width),
        .Depth(Depth)
    ) i_ram (
        .clk_i,
        .we_i(push_i),
        .waddr_i(wptr_q),
        .wdata_i(data_i),
        .raddr_i(rptr_q),
        .rdata_o(data_o)
    );

    `MW_ASSERT(!promise_i || room_o, "a promise without room")
    `MW_ASSERT(!push_i || promise_i || wptr_q != pptr_q, "a word that nobody promised")
    `MW_STABLE(valid_o, ready_i, data_o, "the oldest word goes before it is taken")
endmodule

`default_nettype wire
