// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Computes what expert_lanes needs from a row's coefficient and gate weight: fp_pkg::factor_t.
//
// Function: bf16 times bf16 is exact in fp32. (x * c) * w therefore equals x * (c * w) if the first
// product is a normal number. The product c * w, all 32 bits, is computed here once per row. For x
// * c the lanes only need whether it left the range of normal numbers.
// Latency: c_i and w_i are stable, and factor_o is valid from 3 cycles after start_i until they
// change.
`default_nettype none

module expert_factor (
    input  wire logic        clk_i,
    input  wire logic        start_i,  // with the first cycle of c_i and w_i
    input  wire logic [15:0] c_i,
    input  wire logic [31:0] w_i,
    output fp_pkg::factor_t  factor_o
);
    // c and w; a subnormal is a zero.
    logic c_top, c_zero, c_frac, w_top, w_zero, w_frac, c_nan, c_inf, w_nan, w_inf;
    assign c_top = c_i[14:7] == '1;
    assign c_zero = c_i[14:7] == '0;
    assign c_frac = c_i[6:0] != '0;
    assign w_top = w_i[30:23] == '1;
    assign w_zero = w_i[30:23] == '0;
    assign w_frac = w_i[22:0] != '0;
    assign c_nan = c_top && c_frac;
    assign w_nan = w_top && w_frac;
    assign c_inf = c_top && !c_frac;
    assign w_inf = w_top && !w_frac;

    // The product from [1, 4) first, and once more with twice the coefficient if that was below 2.
    logic first_q, small_q;
    logic [8:0] c_sig;
    logic [31:0] mant_q, low;
    assign c_sig = (small_q && !start_i) ? {1'b1, c_i[6:0], 1'b0} : {2'b01, c_i[6:0]};
    assign low = 32'(c_sig) * 32'(w_i[5:0]);

    always_ff @(posedge clk_i) begin
        first_q <= start_i;
        if (start_i) small_q <= 1'b0;
        else if (first_q) small_q <= !mant_q[31];
        mant_q <= {26'(c_sig) * 26'({1'b1, w_i[22:6]}) + 26'(low[31:6]), low[5:0]};
    end

    // Biased exponent of x * c * w, both products below 2: that of x + exp + 2.
    logic [9:0] exp;
    logic high, unused_exp;
    assign {exp, unused_exp} = {2'b11, c_i[14:7], 1'b1} + {2'b00, w_i[30:23], !small_q};
    assign high = c_i[14:7] >= 8'd127;

    always_comb begin
        factor_o.sign = c_i[15] ^ w_i[31];
        factor_o.nan = c_nan || w_nan || (c_inf && w_zero) || (c_zero && w_inf);
        factor_o.infinite = c_inf || w_inf;
        factor_o.zero = c_zero || w_zero;
        factor_o.frac = c_i[6:0];
        factor_o.high = high;
        // 381 and 127, modulo 256
        factor_o.limit = high ? 8'd125 - c_i[14:7] : 8'd127 - c_i[14:7];
        factor_o.exp = exp;
        factor_o.mant = mant_q;
    end
endmodule

`default_nettype wire
