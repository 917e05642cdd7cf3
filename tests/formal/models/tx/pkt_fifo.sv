// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Replaces rtl/common/pkt_fifo.sv, with what its proof guarantees. Packets are complete, and shown
// flit by flit without a gap. The data of a flit come one cycle later, or are 0 if a step took
// none. When a packet comes (in_valid_i), which flit is its last (in_last_i), and its data
// (in_data_i) are free choices.
`default_nettype none

module pkt_fifo #(
    parameter int unsigned FlitBytes = 8,
    parameter int unsigned Flits     = 32,
    parameter int unsigned MaxPkt    = 1
) (
    input  wire logic                         clk_i,
    input  wire logic                         rst_ni,

    input  wire logic                         in_valid_i,
    output logic                              in_ready_o,
    input  wire logic [8*FlitBytes-1:0]       in_data_i,
    input  wire logic                         in_last_i,

    output logic                              out_valid_o,
    output logic                              out_last_o,
    input  wire logic                         take_i,
    input  wire logic                         step_i,
    output logic [8*FlitBytes-1:0]            out_data_o
);
    logic past_q = 1'b0;

    assign in_ready_o = 1'b1;

    always_ff @(posedge clk_i) begin
        past_q <= 1'b1;
        if (!rst_ni) out_valid_o <= 1'b0;
        else if (!out_valid_o || (take_i && out_last_o)) out_valid_o <= in_valid_i;
        if (!out_valid_o || take_i) out_last_o <= in_last_i;
        if (step_i) out_data_o <= take_i ? in_data_i : '0;
        if (rst_ni && past_q) a_take: assert (!take_i || (out_valid_o && step_i));
    end
endmodule

`default_nettype wire
