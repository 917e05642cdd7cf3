// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Number formats of the data path: bf16 in memory and on the wire, fp32 inside,
// round to nearest even everywhere. NaN results are canonical.
`default_nettype none

package fp_pkg;
    // Not every user of the package needs every constant.
    // verilator lint_off UNUSEDPARAM

    // Cycles from the operands to the result.
    localparam int unsigned FpAddLatency  = 4;  // fp32_bf16_add
    localparam int unsigned ExpertLatency = 4;  // expert_lanes

    localparam logic [31:0] NaN32 = 32'h7fff_ffff;
    localparam logic [15:0] NaN16 = 16'h7fff;

    // verilator lint_on UNUSEDPARAM

    // c * w, as the lanes of the expert use it (expert_factor).
    typedef struct packed {
        logic        nan;
        logic        inf;    // a factor is infinite
        logic        zero;   // a factor is zero
        logic        sign;
        logic [6:0]  frac;   // of c
        logic        high;   // x * c may overflow, else it may underflow: what is beyond limit does, or does not
        logic [7:0]  limit;  // of the exponent of x, and the carry of x * c
        logic [9:0]  exp;    // exponent of the product - that of x - 2
        logic [31:0] mant;   // its significand, the highest bit is 1
    } factor_t;

    // bf16 nearest to an fp32; ties to even, subnormals kept, overflow to infinity.
    function automatic logic [15:0] rne16(input logic [31:0] x);
        logic up;
        up = x[15] && (x[16] || x[14:0] != '0);
        if (x[30:23] == 8'hff && x[22:0] != '0) return NaN16;
        return x[31:16] + 16'(up);
    endfunction

    // The same for an fp32 whose NaN, if it is one, is canonical: the
    // largest exponent is never rounded up, which truncates NaN32 to NaN16.
    function automatic logic [15:0] rne16_canonical(input logic [31:0] x);
        logic up;
        up = x[15] && (x[16] || x[14:0] != '0) && x[30:23] != 8'hff;
        return x[31:16] + 16'(up);
    endfunction

    // Exact; a NaN keeps its payload.
    function automatic logic [31:0] bf16_to_fp32(input logic [15:0] x);
        return {x, 16'h0000};
    endfunction
endpackage

`default_nettype wire
