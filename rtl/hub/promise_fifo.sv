// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Queue in LUT RAM whose places are promised before the words are there, for sources that cannot wait: memory reads, an adder.
//
// promise_i (only with room_o) takes a place, push_i fills the oldest promised one, taking the word out gives the place back.
// Order: first in, first out; a word is visible one cycle after its push. room_o depends on registers only.
`default_nettype none

module promise_fifo #(
    parameter int unsigned Width = 8,
    parameter int unsigned Depth = 16,   // power of two
    localparam int unsigned PtrW = $clog2(Depth)
) (
    input  wire logic             clk_i,
    input  wire logic             rst_ni,

    input  wire logic             promise_i,
    output logic                  room_o,
    input  wire logic             push_i,
    input  wire logic [Width-1:0] data_i,

    output logic                  valid_o,
    input  wire logic             ready_i,
    output logic [Width-1:0]      data_o,
    output logic [PtrW:0]         level_o   // words inside
);
    logic [PtrW:0] wptr_q, rptr_q, free_q;
    logic          pop;

    if (2**PtrW != Depth || Depth < 2) begin : gen_check
        $error("promise_fifo: Depth must be a power of two");
    end

    assign room_o  = free_q != '0;
    assign valid_o = wptr_q != rptr_q;
    assign level_o = wptr_q - rptr_q;
    assign pop     = valid_o && ready_i;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            wptr_q <= '0;
            rptr_q <= '0;
            free_q <= (PtrW+1)'(Depth);
        end else begin
            if (push_i) wptr_q <= wptr_q + 1'b1;
            if (pop)    rptr_q <= rptr_q + 1'b1;
            if (promise_i != pop) free_q <= free_q + (pop ? (PtrW+1)'(1) : '1);
        end
    end

    lutram #(
        .Width(Width),
        .Depth(Depth)
    ) i_ram (
        .clk_i,
        .we_i    (push_i),
        .waddr_i (wptr_q[PtrW-1:0]),
        .wdata_i (data_i),
        .raddr_i (rptr_q[PtrW-1:0]),
        .rdata_o (data_o)
    );
endmodule

`default_nettype wire
