// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Replaces rtl/common/numbers/fp32_add.sv, with its ports and latency. The result records what was
// added, in order, with 4 bits per term (none for -0), where rounding does not change it.
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
    logic [fp_pkg::FpAddLatency-1:0][11:0] record_q;

    always_ff @(posedge clk_i) begin
        record_q <= {record_q[fp_pkg::FpAddLatency-2:0], {a_i[23:16], b_i[19:16]}};
    end
    assign res_o = {4'd0, record_q[fp_pkg::FpAddLatency-1], 16'd0};

    wire unused = &{1'b0, valid_i, a_i[31:24], a_i[15:0], b_i[31:20], b_i[15:0], pick_i, max_i,
                    half_i, over_i, over_data_i, Narrow, Picks};
endmodule

`default_nettype wire
