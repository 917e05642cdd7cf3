// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Replaces rtl/common/numbers/fp32_add.sv, with its ports and latency. The lowest bit of the result
// is set if that of an operand is set. It thus shows which elements are in a sum.
`default_nettype none

module fp32_add #(
    parameter bit Narrow = 1'b0,
    parameter bit Picks  = 1'b0
) (
    input  wire logic        clk_i,
    input  wire logic        valid_i,
    input  wire logic        pick_i,
    input  wire logic        max_i,
    input  wire logic [31:0] a_i,
    input  wire logic [31:0] b_i,
    input  wire logic        half_i,
    input  wire logic        over_i,
    input  wire logic [31:0] over_data_i,
    output logic [31:0]      res_o
);
    logic [fp_pkg::FpAddLatency-1:0] marked_q;

    always_ff @(posedge clk_i)
        marked_q <= {marked_q[fp_pkg::FpAddLatency-2:0], a_i[0] || b_i[0]};
    assign res_o = {31'd0, marked_q[fp_pkg::FpAddLatency-1]};

    wire unused = &{1'b0, valid_i, a_i[31:1], b_i[31:1], pick_i, max_i, half_i, over_i,
                    over_data_i, Narrow, Picks};
endmodule

`default_nettype wire
