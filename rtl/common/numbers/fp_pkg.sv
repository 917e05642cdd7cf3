// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Number formats of the data path: bf16 or fp16 in memory and on the wire, fp32 inside.
//
// Function: Round to nearest even everywhere. NaN results are canonical.
`default_nettype none

package fp_pkg;
    // Not every user of the package needs every constant.
    // verilator lint_off UNUSEDPARAM

    // Cycles from the operands to the result.
    localparam int unsigned FpAddLatency = 4;  // fp32_add, fp64_add
    localparam int unsigned ExpertLatency = 4;  // expert_lanes

    localparam logic [31:0] NaN32 = 32'h7fff_ffff;
    localparam logic [63:0] NaN64 = 64'h7fff_ffff_ffff_ffff;
    localparam logic [15:0] NaN16 = 16'h7fff;
    localparam logic [31:0] One32 = 32'h3f80_0000;

    // verilator lint_on UNUSEDPARAM

    // c * w, as the lanes of the expert use it (expert_factor).
    typedef struct packed {
        logic           nan;
        logic infinite;         // a factor is infinite
        logic           zero;   // a factor is zero
        logic           sign;
        logic [6:0]     frac;   // of c
        logic           high;   // x * c may overflow, else it may underflow: what is beyond limit
                                // does, or does not
        logic [7:0]     limit;  // of the exponent of x, and the carry of x * c
        logic [9:0]     exp;    // exponent of the product - that of x - 2
        logic [31:0]    mant;   // its significand, the highest bit is 1
    } factor_t;

    // Exact; a NaN keeps its payload.
    function automatic logic [31:0] bf16_to_fp32(input logic [15:0] x);
        return {x, 16'h0000};
    endfunction

    // The same of an fp16; its subnormals are normal numbers of fp32.
    function automatic logic [31:0] fp16_to_fp32(input logic [15:0] x);
        logic [9:0] frac;
        logic [7:0] exp;
        frac = x[9:0];
        exp = 8'(x[14:10]) + 8'd112;
        if (x[14:10] == '1) exp = '1;
        else if (x[14:10] == '0) begin
            exp = (frac == '0) ? '0 : 8'd113;
            for (int unsigned k = 0; k < 10; k++) begin
                // until the leading bit is the hidden one
                if (exp == 8'd113) begin
                    if (frac[9]) exp = 8'd112 - 8'(k);
                    frac = frac << 1;
                end
            end
        end
        return {x[15], exp, frac, 13'd0};
    endfunction

    // bf16 of the same value as an e4m3; its subnormals are normal numbers of bf16.
    function automatic logic [15:0] e4m3_to_bf16(input logic [7:0] x);
        logic [7:0] exp;
        logic [2:0] frac;
        exp = 8'(x[6:3]) + 8'd120;
        frac = x[2:0];
        if (x[6:0] == '1) return NaN16;
        if (x[6:3] == '0) begin
            exp = x[2] ? 8'd120 : x[1] ? 8'd119 : x[0] ? 8'd118 : '0;
            frac = x[2] ? {x[1:0], 1'b0} : x[1] ? {x[0], 2'b00} : '0;
        end
        return {x[7], exp, frac, 4'd0};
    endfunction

    // bf16 of the same value as an e5m2; its subnormals are normal numbers of bf16.
    function automatic logic [15:0] e5m2_to_bf16(input logic [7:0] x);
        if (x[6:2] == '1) return {x[7], 8'hff, x[1:0], 5'd0};
        if (x[6:2] != '0) return {x[7], 8'd112 + 8'(x[6:2]), x[1:0], 5'd0};
        if (x[1]) return {x[7], 8'd112, x[0], 6'd0};
        return {x[7], x[0] ? 8'd111 : 8'd0, 7'd0};
    endfunction

    // Number of `places` fraction bits nearest to an fp32, ties to even, whose smallest normal
    // number has the exponent `least` in fp32: what is behind the sign, with exponents that the
    // type may lack. Subnormals are made.
    function automatic logic [30:0] rne_small(input logic [31:0] x, input logic [7:0] least,
                                              input int unsigned places);
        logic [30:0] kept;
        logic [23:0] low;  // what is cut off, its highest bit is half of a place
        logic [7:0] shift;
        kept = {x[30:23] - (least - 8'd1), x[22:0]} >> (23 - places);
        low = {x[22:0], 1'b0} << places;
        if (x[30:23] < least) begin
            shift = 8'(23 - places) + least - x[30:23];
            kept = (shift > 8'd24) ? '0 : 31'({1'b1, x[22:0]} >> shift);
            low = {1'b1, x[22:0]} << (8'd24 - shift);
            if (shift > 8'd24) low = '0;
        end
        return kept + 31'(low[23] && (kept[0] || low[22:0] != '0));
    endfunction

    // e4m3 nearest to an fp32 whose NaN, if it is one, is canonical. There is no infinity: what is
    // beyond the largest number, 448, becomes that.
    function automatic logic [7:0] rne_e4m3(input logic [31:0] x);
        logic [30:0] mag;
        if (x[30:23] == 8'hff && x[22:0] != '0) return 8'h7f;
        mag = rne_small(x, 8'd121, 3);
        return {x[31], (mag > 31'h7e) ? 7'h7e : mag[6:0]};
    endfunction

    // e5m2 nearest to such an fp32; overflow to infinity.
    function automatic logic [7:0] rne_e5m2(input logic [31:0] x);
        logic [30:0] mag;
        if (x[30:23] == 8'hff && x[22:0] != '0) return 8'h7f;
        mag = rne_small(x, 8'd113, 2);
        return {x[31], (mag > 31'h7c) ? 7'h7c : mag[6:0]};
    endfunction

    // Product of an e2m1 and an e4m3, of which `s` is the bf16: 2 by 4 bits of significand, exact.
    function automatic logic [15:0] e2m1_times(input logic [3:0] x, input logic [15:0] s);
        logic [5:0] product;  // from [1, 4), with 4 fraction bits
        logic [7:0] exp;
        if (s == NaN16) return NaN16;
        if (x[2:0] == '0 || s[14:0] == '0) return {x[3] ^ s[15], 15'd0};
        product = {1'b0, 1'b1, s[6:4], 1'b0};
        // one half is a subnormal of one bit
        if (x[2:1] != '0 && x[0]) product = product + {2'b00, 1'b1, s[6:4]};
        exp = s[14:7] + ((x[2:1] == '0) ? 8'hff : 8'(x[2:1]) - 8'd1) + 8'(product[5]);
        return {x[3] ^ s[15], exp, product[5] ? {product[4:0], 2'b00} : {product[3:0], 3'b000}};
    endfunction

    // fp16 nearest to an fp32 whose NaN, if it is one, is canonical: ties to even, subnormals
    // made, overflow to infinity.
    function automatic logic [15:0] rne_fp16(input logic [31:0] x);
        logic [24:0] sig;  // with the place below the last one
        logic [23:0] low;
        logic [4:0] shift;
        logic [14:0] mag;
        if (x[30:23] == 8'hff && x[22:0] != '0) return NaN16;
        if (x[30:23] >= 8'd143) return {x[31], 15'h7c00};
        if (x[30:23] < 8'd102) return {x[31], 15'd0};
        if (x[30:23] >= 8'd113) begin
            mag = {x[27:23] - 5'd16, x[22:13]};
            return {x[31], mag + 15'(x[12] && (x[13] || x[11:0] != '0))};
        end
        shift = 5'(8'd126 - x[30:23]);  // 14 to 24
        sig = {1'b1, x[22:0], 1'b0} >> shift;
        low = {1'b1, x[22:0]} << (5'd25 - shift);
        return {x[31], 15'(sig[24:1]) + 15'(sig[0] && (sig[1] || low != '0))};
    endfunction
endpackage

`default_nettype wire
