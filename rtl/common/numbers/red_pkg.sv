// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Type and operator of a reduction, as a request names them, and the sets of both that a build
// supports.
`default_nettype none

package red_pkg;
    // Not every user of the package needs every constant.
    // verilator lint_off UNUSEDPARAM

    // Sets of a build: bit i is the type, or the operator, with that number in packet_pkg.
    typedef logic [15:0] set_t;
    typedef logic [7:0] ops_t;
    localparam set_t UsualTypes = 16'h001f;  // those of 16 and 32 bits
    localparam ops_t AllOps = 8'h3f;
    localparam set_t Floats = 16'h0387;
    localparam set_t Words = 16'h001c;  // types of 32 bits
    localparam set_t Wide = 16'h0260;  // types of 64 bits
    localparam set_t Bytes = 16'h0180;  // types of 8 bits
    localparam set_t SumOnly = 16'h0200;  // types that have no other operator
    localparam ops_t Logic = 8'h38;  // and, or, xor

    // verilator lint_on UNUSEDPARAM

    typedef struct packed {
        packet_pkg::dtype_e dtype;
        packet_pkg::redop_e redop;
    } red_t;

    // Is there such a reduction: and, or, xor are for integers alone, and FP64 has the sum.
    function automatic logic has(input set_t types, input ops_t ops, input red_t r);
        return types[r.dtype] && ops[r.redop] && !(Floats[r.dtype] && Logic[r.redop])
            && !(SumOnly[r.dtype] && r.redop != packet_pkg::REDOP_ADD);
    endfunction

    // Nothing but the sum of bf16: type and operator need no wires.
    function automatic bit plain(input set_t types, input ops_t ops);
        return types == 16'h0001 && ops == 8'h01;
    endfunction

    // Bits of red_t that count, from the lowest on: the types below number 8 have one fewer.
    function automatic int unsigned red_bits(input set_t types);
        return (types >> 8 == '0) ? $bits(red_t) - 1 : $bits(red_t);
    endfunction

    // What is kept of a reduction that the build has: only the bits that count.
    function automatic red_t kept(input set_t types, input red_t r);
        return r & red_t'((1 << red_bits(types)) - 1);
    endfunction

    // Running results in 32 bits of a flit, of 32 bits each.
    function automatic int unsigned parts(input set_t types);
        return ((types & Bytes) != '0) ? 4 : 2;
    endfunction

    // Elements in 32 bits as they leave a reduction of nothing else: NaN are canonical.
    function automatic logic [31:0] canonical(
        input set_t types, input ops_t ops, input packet_pkg::dtype_e dtype, input logic [31:0] x);
        import packet_pkg::*;
        logic [31:0] y;
        y = x;
        if (plain(types, ops) || dtype == DTYPE_BF16) begin
            for (int unsigned h = 0; h < 2; h++) if (x[16*h+:15] > 15'h7f80) y[16*h+:16] = 16'h7fff;
        end else if (dtype == DTYPE_FP16) begin
            for (int unsigned h = 0; h < 2; h++) if (x[16*h+:15] > 15'h7c00) y[16*h+:16] = 16'h7fff;
        end else if (dtype == DTYPE_FP32) begin
            if (x[30:0] > 31'h7f80_0000) y = 32'h7fff_ffff;
        end else if (types[DTYPE_E4M3] && dtype == DTYPE_E4M3) begin
            for (int unsigned b = 0; b < 4; b++) if (x[8*b+:7] == 7'h7f) y[8*b+:8] = 8'h7f;
        end else if (types[DTYPE_E5M2] && dtype == DTYPE_E5M2) begin
            for (int unsigned b = 0; b < 4; b++) if (x[8*b+:7] > 7'h7c) y[8*b+:8] = 8'h7f;
        end
        return y;
    endfunction

    // The same of 64 bits, which may be one element.
    function automatic logic [63:0] canonical_pair(
        input set_t types, input ops_t ops, input packet_pkg::dtype_e dtype, input logic [63:0] x);
        import packet_pkg::*;
        if (types[DTYPE_FP64] && dtype == DTYPE_FP64)
            return (x[62:0] > {11'h7ff, 52'd0}) ? fp_pkg::NaN64 : x;
        return {canonical(types, ops, dtype, x[63:32]), canonical(types, ops, dtype, x[31:0])};
    endfunction

    // The neutral element of a reduction, of 32 bits or twice 16 bits: -0 for sums of floats, a
    // NaN for their min and max, or an integer.
    function automatic logic [31:0] neutral(input set_t types, input ops_t ops, input red_t r);
        import packet_pkg::*;
        if (plain(types, ops) || (Floats[r.dtype] && r.redop == REDOP_ADD))
            return {16'h8000, Words[r.dtype] && !plain(types, ops) ? 16'h0000 : 16'h8000};
        if (Floats[r.dtype]) return {16'h7fff, Words[r.dtype] ? 16'hffff : 16'h7fff};
        unique case (r.redop)
            REDOP_MIN: return (r.dtype == DTYPE_S32) ? 32'h7fff_ffff : '1;
            REDOP_MAX: return (r.dtype == DTYPE_S32) ? 32'h8000_0000 : '0;
            REDOP_AND: return '1;
            default:   return '0;
        endcase
    endfunction

    // Two integers reduced to one, aligned left: of 32 bits in the upper half, with zeros below.
    function automatic logic [63:0] integer_op(input red_t r, input logic [63:0] a,
                                               input logic [63:0] b);
        import packet_pkg::*;
        logic b_below, is_signed;
        // Signed numbers are ordered as unsigned ones with the highest bit turned over.
        is_signed = r.dtype inside {DTYPE_S32, DTYPE_S64};
        b_below = {b[63] ^ is_signed, b[62:0]} < {a[63] ^ is_signed, a[62:0]};
        unique case (r.redop)
            REDOP_ADD: return a + b;
            REDOP_MIN: return b_below ? b : a;
            REDOP_MAX: return b_below ? a : b;
            REDOP_AND: return a & b;
            REDOP_OR:  return a | b;
            default:   return a ^ b;
        endcase
    endfunction
endpackage

`default_nettype wire
