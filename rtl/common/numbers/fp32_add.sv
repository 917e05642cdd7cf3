// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Adder of fp32: res = a + b, or the minimum or maximum of the two (pick_i).
//
// Function: IEEE 754, round to nearest even, with subnormals, infinities and signed zeros. NaN
// results are 0x7fffffff. Minimum and maximum as in PTX: -0 lies below +0, and a number beats a
// NaN. With over_i the result register takes over_data_i instead of a result. With Narrow b is a
// bf16, whose lower half counts as 0. One comparison of 15 bits then orders the magnitudes, because
// |a| >= |b| exactly when it holds for the upper halves. a is then a bf16 or a result, so a NaN
// shows in its upper half. A normalising shift that stops at the exponent makes subnormal results
// like any other. It uses one 18x18 multiplier.
// Back-pressure: None.
// Latency: fp_pkg::FpAddLatency cycles, one operation per cycle. A stage computes only after a
// valid, so an idle adder costs a simulator nothing.
`default_nettype none

module fp32_add #(
    parameter bit Narrow = 1'b0,
    parameter bit Picks = 1'b1  // pick_i may be used
) (
    input  wire logic        clk_i,
    input  wire logic        valid_i,
    input  wire logic        pick_i,  // one of the two instead of their sum
    input  wire logic        max_i,   // the greater
    input  wire logic [31:0] a_i,
    input  wire logic [31:0] b_i,
    // what is rounded in this cycle leaves as bf16: the upper half of res, rounded once
    // more; the lower half is anything
    input  wire logic        half_i,
    input  wire logic        over_i,
    input  wire logic [31:0] over_data_i,
    output logic [31:0]      res_o
);
    typedef struct packed {
        logic        nan;
        logic        sign;    // of the larger operand, or of the one picked: big
        logic        sub;     // signs differ
        logic [7:0]  exp;     // of big, at least 1
        logic [23:0] big;     // significands
        logic [23:0] little;
        logic        tail;    // any of little's 14 lowest bits
        logic        apart;   // exponents differ by 32 or more, or little does not count:
                              // big is infinite, or picked
        logic [4:0]  shift;
    } ordered_t;

    typedef struct packed {
        logic        nan;
        logic        sign;
        logic        sub;
        logic [7:0]  exp;
        logic [27:0] sum;   // carry, 24 bits, guard, round, sticky
    } sum_t;

    typedef struct packed {
        logic        nan;
        logic        sign;
        logic        zero;
        logic [7:0]  exp;   // less the shifts; all ones for NaN
        logic        lead;  // completes the exponent of a normal number
        logic [22:0] frac;  // all ones for NaN
        logic        up;    // rounds up
    } norm_t;

    logic valid1_q, valid2_q, valid3_q;
    ordered_t ordered_q;
    sum_t sum_q;
    norm_t norm_q;

    function automatic ordered_t order(input logic pick, input logic max, input logic [31:0] a,
                                       input logic [31:0] b);
        ordered_t o;
        logic less, swap, b_below, a_norm, b_norm, a_top, b_top, a_nan, b_nan;
        logic [7:0] a_exp, b_exp, diff;
        logic [23:0] a_sig, b_sig;
        /* verilator lint_off UNUSEDSIGNAL */  // only its carry matters
        logic spare;
        /* verilator lint_on UNUSEDSIGNAL */
        a_norm = a[30:23] != '0;
        b_norm = b[30:23] != '0;
        a_top = a[30:23] == '1;
        b_top = b[30:23] == '1;
        a_nan = a_top && (Narrow ? a[22:16] != '0 : a[22:0] != '0);
        b_nan = b_top && b[22:0] != '0;
        a_exp = {a[30:24], a[23] || !a_norm};
        b_exp = {b[30:24], b[23] || !b_norm};
        a_sig = {a_norm, a[22:0]};
        b_sig = {b_norm, b[22:0]};
        less = Narrow ? a[30:16] < b[30:16] : a[30:0] < b[30:0];
        b_below = (a[31] != b[31]) ? b[31] : a[31] == less;
        swap = pick ? a_nan || (!b_nan && b_below != max) : less;
        o.exp = swap ? b_exp : a_exp;
        // a - b, or b - a = ~(a - b - 1): one subtraction, whose carry in is the order
        {diff, spare} = {a_exp, 1'b1} + {~b_exp, !less};
        diff = diff ^ {8{less}};
        o.sub = (a[31] != b[31]) && !pick;
        o.nan = pick ? a_nan && b_nan : a_nan || b_nan || (a_top && b_top && o.sub);
        o.sign = swap ? b[31] : a[31];
        o.big = swap ? b_sig : a_sig;
        o.little = swap ? a_sig : b_sig;
        o.tail = swap ? a[13:0] != '0 : b[13:0] != '0;
        o.apart = pick || a_top || b_top || diff[7:5] != '0;
        o.shift = diff[4:0];
        return o;
    endfunction

    function automatic sum_t align_add(input ordered_t o);
        sum_t s;
        logic [25:0] x;
        logic [24:0] upper;
        logic [14:0] lower;
        logic [7:0] power;
        logic sticky;
        /* verilator lint_off UNUSEDSIGNAL */  // only its carry matters
        logic spare;
        /* verilator lint_on UNUSEDSIGNAL */
        x = {o.little, 2'b00};
        sticky = 1'b0;
        // Of an operand far below only the sticky bit is left. It may be set even if
        // that operand is 0 or does not count: one unit there rounds back to the larger one.
        if (o.shift[4] || o.apart) begin
            sticky = o.tail || o.apart;
            x = o.apart ? '0 : {16'h0000, x[25:16]};
        end
        if (o.shift[3]) begin
            sticky |= x[7:0] != '0;
            x >>= 8;
        end
        // The other 7 places: the upper part in a multiplier, by a power of
        // two, which costs no LUTs.
        power = 8'h80 >> o.shift[2:0];
        upper = 25'(x[25:8]) * 25'(power);
        lower = {x[7:0], 7'd0} >> o.shift[2:0];
        sticky |= lower[6:0] != '0;
        x = {upper, 1'b0} | 26'(lower[14:7]);
        s.nan = o.nan;
        s.sign = o.sign;
        s.sub = o.sub;
        s.exp = o.exp;
        {s.sum, spare} = {1'b0, o.big, 3'b000, o.sub} + ({1'b0, x, sticky, 1'b0} ^ {29{o.sub}});
        return s;
    endfunction

    // Shift left by the number of leading zeros, or by the exponent if that is less.
    // The count's bits come out from the top as the shift proceeds; the smaller of
    // the two numbers is decided at the first bit in which they differ.
    function automatic norm_t normalise(input sum_t s);
        norm_t n;
        logic [27:0] x;
        logic [4:0] count;
        logic by_zeros, by_limit, lead;
        by_zeros = s.exp[7:5] != '0;
        by_limit = 1'b0;
        x = s.sum;
        for (int k = 4; k >= 0; k--) begin
            unique case (k)
                4:       lead = x[27:12] == '0;
                3:       lead = x[27:20] == '0;
                2:       lead = x[27:24] == '0;
                1:       lead = x[27:26] == '0;
                default: lead = !x[27];
            endcase
            count[k] = (lead || by_limit) && (s.exp[k] || by_zeros);
            by_zeros |= !by_limit && !lead && s.exp[k];
            by_limit |= !by_zeros && lead && !s.exp[k];
            if (count[k]) begin
                // Only operands with neighbouring exponents cancel so far that it takes four
                // places: the two lowest bits are 0 then.
                if (k > 1) x[27:2] = x[27:2] << (5'd1 << k);
                else x = x << (5'd1 << k);
            end
        end
        n.nan = s.nan;
        n.zero = !x[27] && !by_limit && !s.nan;
        n.sign = s.sign && !s.nan && !(s.sub && s.sum == '0);
        n.exp = s.nan ? '1 : s.exp - 8'(count);
        n.lead = x[27] && !s.nan;
        n.frac = s.nan ? '1 : x[26:4];
        n.up = x[3] && (x[4] || x[2:0] != '0) && !s.nan;
        return n;
    endfunction

    // One adder: the leading bit completes the exponent, and the last place of the word or of the
    // upper half takes the carry. If the first rounding makes or breaks a tie of the second one, it
    // is not carried out. The rest are clears of whole fields, which flip-flops do by themselves.
    function automatic logic [31:0] round(input norm_t n, input logic half);
        logic [7:0] exp;
        logic [22:0] frac;
        logic up, half_up;
        /* verilator lint_off UNUSEDSIGNAL */  // only its carry matters
        logic spare;
        /* verilator lint_on UNUSEDSIGNAL */
        half_up = n.frac[15] ? n.frac[14:0] != '0 || n.up || n.frac[16] : n.frac[14:0] == '1
                  && n.up && n.frac[16];
        half_up = half_up && half && n.exp[7:1] != '1;  // then it is a NaN, or infinite
                                                        // whatever the fraction
        up = n.up && !half;
        {exp, frac, spare} = {n.exp, n.frac, 1'b1} + {7'd0, n.lead, 6'd0, half_up, 16'd0, up};
        if (exp == '1 && !n.nan) frac = '0;
        if (n.zero) exp = '0;
        return {n.sign, exp, frac};
    endfunction

    always_ff @(posedge clk_i) begin
        valid1_q <= valid_i;
        valid2_q <= valid1_q;
        valid3_q <= valid2_q;
    end

    logic [31:0] b;
    assign b = Narrow ? {b_i[31:16], 16'h0000} : b_i;

    always_ff @(posedge clk_i) if (valid_i) ordered_q <= order(Picks && pick_i, max_i, a_i, b);
    always_ff @(posedge clk_i) if (valid1_q) sum_q <= align_add(ordered_q);
    always_ff @(posedge clk_i) if (valid2_q) norm_q <= normalise(sum_q);
    always_ff @(posedge clk_i) begin
        if (over_i) res_o <= over_data_i;
        else if (valid3_q) res_o <= round(norm_q, half_i);
    end

endmodule

`default_nettype wire
