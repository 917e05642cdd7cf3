// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// One lane of the emulated expert: y = RNE16(RNE32(RNE32(x * c) * w)), x and c in
// bf16, w in fp32.
//
// Every multiplication flushes: a subnormal operand counts as a zero of its
// sign, and a product below 2^-126 before rounding becomes one. Infinities and
// NaN as in IEEE 754; NaN results are 0x7fff. The result leaves
// fp_pkg::ExpertLatency cycles after its operands, one per cycle, no
// back-pressure; a stage computes only behind a valid. Uses three 18x18 multipliers.
//
// What depends on c or w alone is registered apart from what depends on x, so
// that lanes which share them share those registers after flattening.
`default_nettype none

module expert_lane (
    input  wire logic        clk_i,
    input  wire logic        valid_i,
    input  wire logic [15:0] x_i,
    input  wire logic [15:0] c_i,
    input  wire logic [31:0] w_i,
    output logic [15:0]      y_o
);
    // A subnormal is a zero here.
    typedef struct packed {
        logic nan;
        logic inf;
        logic zero;
    } kind_t;

    function automatic kind_t kind(input logic [7:0] exp, input logic frac);
        kind = '{nan: exp == '1 && frac, inf: exp == '1 && !frac, zero: exp == '0};
    endfunction

    logic [fp_pkg::ExpertLatency-2:0] valid_q;
    always_ff @(posedge clk_i) valid_q <= {valid_q[fp_pkg::ExpertLatency-3:0], valid_i};

    // Stage 1: the first product, exact, from [1, 4) with 14 fraction bits, and its exponent + 128.
    kind_t       x_q, c_q, w_q;
    logic        xsign1_q, csign1_q, wsign1_q;
    logic [15:0] prod1_q;
    logic [8:0]  exp1_q;
    logic [7:0]  wexp_q;
    logic [22:0] wfrac_q;

    /* verilator lint_off UNUSEDSIGNAL */  // spare: the sums' bits that only carry
    always_ff @(posedge clk_i) begin
        if (valid_i) begin : stage1
            logic       spare;
            logic [8:0] exp1;
            x_q      <= kind(x_i[14:7], x_i[6:0] != '0);
            c_q      <= kind(c_i[14:7], c_i[6:0] != '0);
            w_q      <= kind(w_i[30:23], w_i[22:0] != '0);
            xsign1_q <= x_i[15];
            csign1_q <= c_i[15];
            wsign1_q <= w_i[31];
            prod1_q  <= {1'b1, x_i[6:0]} * {1'b1, c_i[6:0]};
            {exp1, spare} = {1'b0, x_i[14:7], 1'b1} + {1'b0, c_i[14:7], 1'b1};
            exp1_q   <= exp1;
            wexp_q   <= w_i[30:23];
            wfrac_q  <= w_i[22:0];
        end
    end

    // Stage 2: the second product in two parts; the exponent is that of the result + 255 before
    // the last normalisation, or out of range for infinities and NaN.
    localparam logic [9:0] ExpSpecial = 10'h300;

    logic        nan2_q, zero2_q, sign2_q;
    logic [9:0]  exp2_q;
    logic [33:0] low_q;
    logic [21:0] high_q;

    // Work of a stage is inside its clock enable, here and below: an idle lane costs a simulation nothing.
    always_ff @(posedge clk_i) begin
        if (valid_q[0]) begin : stage2
            logic        carry1, over1, under1, nan1, inf1, zero1, pnan1, pinf1, pzero1, spare;
            logic [15:0] sig1;
            logic [9:0]  exp2;
            carry1 = prod1_q[15];
            sig1   = carry1 ? prod1_q : {prod1_q[14:0], 1'b0};
            // The first product has to be a normal number on its own.
            over1  = exp1_q[8] && (exp1_q[7] || (exp1_q[6:1] == '1 && (exp1_q[0] || carry1)));
            under1 = !exp1_q[8] && (!exp1_q[7] || (exp1_q[6:0] == '0 && !carry1));
            pnan1  = x_q.nan || c_q.nan || (x_q.inf && c_q.zero) || (x_q.zero && c_q.inf);
            pinf1  = x_q.inf || c_q.inf || over1;
            pzero1 = x_q.zero || c_q.zero || under1;
            nan1   = pnan1 || w_q.nan || (pinf1 && w_q.zero) || (pzero1 && w_q.inf);
            inf1   = pinf1 || w_q.inf;
            zero1  = pzero1 || w_q.zero;
            {exp2, spare} = {1'b0, exp1_q, 1'b1} + {2'b00, wexp_q, carry1};
            nan2_q  <= nan1;
            zero2_q <= zero1 && !inf1 && !nan1;
            sign2_q <= xsign1_q ^ csign1_q ^ wsign1_q;
            exp2_q  <= (nan1 || inf1) ? ExpSpecial : exp2;
            low_q   <= sig1 * wfrac_q[17:0];
            high_q  <= sig1 * {1'b1, wfrac_q[22:18]};
        end
    end
    /* verilator lint_on UNUSEDSIGNAL */

    // Stage 3: their sum, from [1, 4) with 38 fraction bits, the lowest 14 as one sticky bit.
    logic        nan3_q, zero3_q, sign3_q, sticky3_q;
    logic        low3_q, edge3_q;  // exponents that give zero, and zero unless normalised
    logic [9:0]  exp3_q;
    logic [25:0] sig3_q;

    always_ff @(posedge clk_i) begin
        if (valid_q[1]) begin
            nan3_q    <= nan2_q;
            zero3_q   <= zero2_q;
            sign3_q   <= sign2_q && !nan2_q;
            exp3_q    <= exp2_q;
            low3_q    <= exp2_q[9:8] == '0;
            edge3_q   <= exp2_q[7:0] == '1;
            sig3_q    <= {high_q + 22'(low_q[33:18]), low_q[17:14]};
            sticky3_q <= low_q[13:0] != '0;
        end
    end

    // Stage 4: both roundings in one. The first one, to 24 bits, matters to the second
    // next to a tie of bf16 only: a value less than half of its last place above the
    // tie falls onto it, and one as close below rises onto it.
    /* verilator lint_off UNUSEDSIGNAL */  // spare: the sum's bit that only carries
    function automatic logic [15:0] round();
        logic norm, zero, over, half, guard, behind, any, all, up, spare;
        logic [6:0]  top;
        logic [9:0]  exp;
        logic [6:0]  frac;
        norm   = sig3_q[25];
        top    = norm ? sig3_q[24:18] : sig3_q[23:17];
        half   = norm ? sig3_q[17] : sig3_q[16];
        any    = sig3_q[15:2] != '0 || (norm ? sig3_q[16] : sig3_q[1]);
        all    = sig3_q[15:2] == '1 && (norm ? sig3_q[16] : sig3_q[1]);
        guard  = norm ? sig3_q[1] : sig3_q[0];
        behind = sticky3_q || (norm && sig3_q[0]);
        up     = half ? (any || (guard && behind) || top[0]) : (all && guard && top[0]);
        if (nan3_q) begin
            top = '1;
            up  = 1'b0;
        end
        {exp, frac, spare} = {exp3_q, top, 1'b1} + {8'd0, norm, !norm, 7'd0, up};
        over = exp[9] || (exp[8:0] == '1);
        zero = zero3_q || (low3_q && !(edge3_q && norm));
        if (zero) return {sign3_q, 15'd0};
        return {sign3_q, exp[7:0] | {8{over}}, frac & ~{7{over && !nan3_q}}};
    endfunction
    /* verilator lint_on UNUSEDSIGNAL */

    always_ff @(posedge clk_i) if (valid_q[2]) y_o <= round();
endmodule

`default_nettype wire
