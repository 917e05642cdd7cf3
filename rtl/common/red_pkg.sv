// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// What a reduction does to its elements: their type and the operator, as a request names them, and which of both a
// build has.
`default_nettype none

package red_pkg;
    // Not every user of the package needs every constant.
    // verilator lint_off UNUSEDPARAM

    // Sets of a build: bit i is the type, or the operator, with that number in packet_pkg.
    typedef logic [7:0] set_t;
    localparam set_t AllTypes = 8'h1f;
    localparam set_t AllOps   = 8'h3f;
    localparam set_t Floats   = 8'h07;
    localparam set_t Words    = 8'h1c;   // types of 32 bits
    localparam set_t Logic    = 8'h38;   // and, or, xor

    // verilator lint_on UNUSEDPARAM

    typedef struct packed {
        packet_pkg::dtype_e dtype;
        packet_pkg::redop_e redop;
    } red_t;

    // Is there such a reduction: and, or, xor are for integers alone.
    function automatic logic has(input set_t types, input set_t ops, input red_t r);
        return types[r.dtype] && ops[r.redop] && !(Floats[r.dtype] && Logic[r.redop]);
    endfunction

    // Nothing but the sum of bf16: type and operator need no wires.
    function automatic bit plain(input set_t types, input set_t ops);
        return types == 8'h01 && ops == 8'h01;
    endfunction
    // What changes nothing when it is reduced with another element of 32 bits, or with each of two of 16: -0 added, or
    // a NaN beside a number, or an integer.
    function automatic logic [31:0] neutral(input set_t types, input set_t ops, input red_t r);
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
endpackage

`default_nettype wire
