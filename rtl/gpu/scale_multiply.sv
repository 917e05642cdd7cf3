// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Multiplies a gate weight by a block's scale: RNE32(w * s), with the rules of expert_lanes.
//
// Function: A subnormal operand counts as a zero of its sign. A product below 2^-126 before
// rounding becomes one. Infinities and NaN as in IEEE 754, and NaN is fp_pkg::NaN32.
// Latency: p_o is valid 2 cycles after w_i and s_i, if these are stable for both, until they
// change.
`default_nettype none

module scale_multiply (
    input  wire logic        clk_i,
    input  wire logic [31:0] w_i,
    input  wire logic [31:0] s_i,
    output logic [31:0]      p_o
);
    typedef struct packed {
        logic           nan;
        logic infinite;
        logic           zero;
    } class_t;

    function automatic class_t class_of(input logic [31:0] x);
        return
        '{
            nan: x[30:23] == '1 && x[22:0] != '0,
            infinite : x[30:23] == '1 && x[22:0] == '0,
            zero: x[30:23] == '0
        }
        ;
    endfunction

    // The product from [1, 4), with 46 fraction bits; its exponent is that of the result + 127, or
    // one less than that.
    class_t w_class, s_class;
    logic [47:0] product_q;
    logic [8:0] exp_q;
    logic sign_q, nan_q, infinite_q, zero_q;

    assign w_class = class_of(w_i);
    assign s_class = class_of(s_i);

    always_ff @(posedge clk_i) begin
        product_q <= {1'b1, w_i[22:0]} * {1'b1, s_i[22:0]};
        exp_q <= 9'(w_i[30:23]) + 9'(s_i[30:23]);
        sign_q <= w_i[31] ^ s_i[31];
        nan_q <= w_class.nan || s_class.nan || (w_class.infinite && s_class.zero)
                 || (w_class.zero && s_class.infinite);
        infinite_q <= w_class.infinite || s_class.infinite;
        zero_q <= w_class.zero || s_class.zero;
    end

    // A carry of the rounding raises the exponent.
    logic norm, half, behind, under, over;
    logic [8:0] exp;
    logic [31:0] rounded;  // exponent + 127, modulo 512, and fraction

    assign norm = product_q[47];
    assign exp = exp_q + 9'(norm);
    assign half = norm ? product_q[23] : product_q[22];
    assign behind = product_q[21:0] != '0 || (norm && product_q[22]);
    assign under = !exp_q[8] && exp <= 9'd127;
    assign rounded = {exp, norm ? product_q[46:24] : product_q[45:23]}
                     + 32'(half && (behind || (norm ? product_q[24] : product_q[23])));
    assign over = rounded[31:23] >= 9'd382;

    always_ff @(posedge clk_i) begin
        if (nan_q) p_o <= fp_pkg::NaN32;
        else if (zero_q || (under && !infinite_q)) p_o <= {sign_q, 31'd0};
        else if (infinite_q || over) p_o <= {sign_q, 8'hff, 23'd0};
        else p_o <= {sign_q, 8'(rounded[31:23] - 9'd127), rounded[22:0]};
    end
endmodule

`default_nettype wire
