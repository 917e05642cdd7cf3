// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Adder of fp64: res = a + b.
//
// Function: IEEE 754, round to nearest even, with subnormals, infinities and signed zeros. NaN
// results are 0x7fffffffffffffff. A normalising shift that stops at the exponent makes subnormal
// results like any other.
// Back-pressure: None.
// Latency: fp_pkg::FpAddLatency cycles, one operation per cycle. A stage computes only after a
// valid, so an idle adder costs a simulator nothing.
`default_nettype none

module fp64_add (
    input  wire logic        clk_i,
    input  wire logic        valid_i,
    input  wire logic [63:0] a_i,
    input  wire logic [63:0] b_i,
    output logic [63:0]      res_o
);
    localparam int unsigned Fraction = 52;
    localparam int unsigned SigW = Fraction + 1;
    localparam int unsigned LongW = SigW + 3;  // and the three places below
    localparam logic [10:0] ExpMost = '1;

    // What is the same in all stages: the result, if it is special, or its sign and exponent.
    typedef struct packed {
        logic           nan;
        logic infinite;
        logic           sign;
        logic [10:0]    exp;   // of the larger one, of a subnormal 1
    } head_t;

    typedef struct packed {
        head_t           head;
        logic            minus;   // the signs differ
        logic [SigW-1:0] big;
        logic [SigW-1:0] little;
        logic [10:0]     shift;
    } ordered_t;

    typedef struct packed {
        head_t          head;
        logic [LongW:0] sig;   // with a carry
    } sum_t;

    // ---- the larger one first ----
    function automatic ordered_t order(input logic [63:0] a, input logic [63:0] b);
        ordered_t o;
        logic [63:0] big, little;
        logic [10:0] little_exp;
        logic big_nan, little_nan, big_top, little_top;
        big = (a[62:0] >= b[62:0]) ? a : b;
        little = (a[62:0] >= b[62:0]) ? b : a;
        big_top = big[62:52] == ExpMost;
        little_top = little[62:52] == ExpMost;
        big_nan = big_top && big[51:0] != '0;
        little_nan = little_top && little[51:0] != '0;
        o.minus = big[63] != little[63];
        o.head.nan = big_nan || little_nan || (big_top && little_top && o.minus);
        o.head.infinite = big_top;
        o.head.sign = big[63];
        o.head.exp = (big[62:52] == '0) ? 11'd1 : big[62:52];
        little_exp = (little[62:52] == '0) ? 11'd1 : little[62:52];
        o.big = {big[62:52] != '0, big[51:0]};
        o.little = {little[62:52] != '0, little[51:0]};
        o.shift = o.head.exp - little_exp;
        return o;
    endfunction

    // ---- both at one exponent, and their sum ----
    function automatic sum_t align_add(input ordered_t o);
        sum_t s;
        logic [LongW-1:0] x, places;
        // Of places that fall out the lowest one keeps whether any of them is set.
        places = (o.shift >= 11'(LongW)) ? '1 : ~({LongW{1'b1}} << o.shift[5:0]);
        x = (o.shift >= 11'(LongW)) ? '0 : {o.little, 3'b000} >> o.shift[5:0];
        x[0] |= ({o.little, 3'b000} & places) != '0;
        s.head = o.head;
        s.sig = o.minus ? {1'b0, o.big, 3'b000} - {1'b0, x} : {1'b0, o.big, 3'b000} + {1'b0, x};
        // a difference of equal numbers is +0
        if (o.minus && o.big == o.little && o.shift == '0) s.head.sign = 1'b0;
        return s;
    endfunction

    // ---- the leading bit at its place, or as near to it as the exponent allows ----
    function automatic sum_t normalize(input sum_t s);
        sum_t n;
        logic [10:0] left;  // places that the exponent has left
        n = s;
        left = s.head.exp - 11'd1;
        if (s.sig[LongW]) begin
            n.sig = {1'b0, s.sig[LongW:2], s.sig[1] | s.sig[0]};
            n.head.exp = s.head.exp + 11'd1;
        end else begin
            for (int unsigned k = 6; k > 0; k--) begin
                automatic int unsigned by = 1 << (k - 1);
                if (n.sig[LongW-1-:32] >> (32 - by) == '0 && left >= 11'(by)) begin
                    n.sig = n.sig << by;
                    left = left - 11'(by);
                end
            end
            n.head.exp = n.sig[LongW-1] ? left + 11'd1 : '0;
        end
        return n;
    endfunction

    function automatic logic [63:0] round(input sum_t n);
        logic up;
        if (n.head.nan) return fp_pkg::NaN64;
        if (n.head.infinite || n.head.exp == ExpMost)
            return {n.head.sign, ExpMost, {Fraction{1'b0}}};
        up = n.sig[2] && (n.sig[3] || n.sig[1:0] != '0);
        return {n.head.sign, {n.head.exp, n.sig[3+:Fraction]} + 63'(up)};
    endfunction

    ordered_t ordered_q;
    sum_t sum_q, norm_q;
    logic [2:0] valid_q;

    always_ff @(posedge clk_i) begin
        valid_q <= {valid_q[1:0], valid_i};
        if (valid_i) ordered_q <= order(a_i, b_i);
        if (valid_q[0]) sum_q <= align_add(ordered_q);
        if (valid_q[1]) norm_q <= normalize(sum_q);
        if (valid_q[2]) res_o <= round(norm_q);
    end

endmodule

`default_nettype wire
