// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Lanes of the emulated expert: y = RNE16(RNE32(RNE32(x * c) * w)), x and c in bf16, w in fp32,
// with the factors of expert_factor.
//
// Function: Every multiplication flushes: a subnormal operand counts as a zero of its sign, and a
// product below 2^-126 before rounding becomes one. Infinities and NaN as in IEEE 754. NaN results
// are 0x7fff. Three 18x18 multipliers each.
// Ports: factor_i belongs to the operands of the same cycle.
// Back-pressure: None.
// Latency: fp_pkg::ExpertLatency cycles, one result per lane and cycle. A stage computes only after
// a valid.
`default_nettype none

module expert_lanes #(
    parameter int unsigned Lanes = 4
) (
    input  wire logic                clk_i,
    input  wire logic                valid_i,
    input  wire fp_pkg::factor_t     factor_i,
    input  wire logic [16*Lanes-1:0] x_i,
    output logic [16*Lanes-1:0]      y_o
);
    logic [2:0] valid_q;
    always_ff @(posedge clk_i) valid_q <= {valid_q[1:0], valid_i};

    // Stage 1: the product x * (c * w) in two parts, from [1, 4) with 38 fraction bits;
    // the carry of x * c; the exponent - 2.
    logic sign1_q[Lanes], carry1_q[Lanes], top1_q[Lanes], none1_q[Lanes], frac1_q[Lanes];
    logic [7:0] x1_q[Lanes], limit1_q;
    logic [9:0] exp1_q[Lanes];
    logic [25:0] high1_q[Lanes];
    logic [21:0] low1_q[Lanes];
    logic range1_q, nan1_q, inf1_q, zero1_q;

    /* verilator lint_off UNUSEDSIGNAL */  // product: only its carry
    always_ff @(posedge clk_i) begin
        if (valid_i) begin
            limit1_q <= factor_i.limit;
            range1_q <= factor_i.high;
            nan1_q <= factor_i.nan;
            inf1_q <= factor_i.infinite;
            zero1_q <= factor_i.zero;
            for (int unsigned i = 0; i < Lanes; i++) begin : stage1
                automatic logic [15:0] x, product;
                x = x_i[16*i+:16];
                product = {1'b1, x[6:0]} * {1'b1, factor_i.frac};
                sign1_q[i] <= x[15] ^ factor_i.sign;
                carry1_q[i] <= product[15];
                top1_q[i] <= x[14:7] == '1;
                none1_q[i] <= x[14:7] == '0;
                frac1_q[i] <= x[6:0] != '0;
                x1_q[i] <= x[14:7];
                exp1_q[i] <= 10'(x[14:7]) + factor_i.exp;
                high1_q[i] <= {1'b1, x[6:0]} * factor_i.mant[31:14];
                low1_q[i] <= {1'b1, x[6:0]} * factor_i.mant[13:0];
            end
        end
    end
    /* verilator lint_on UNUSEDSIGNAL */

    // Stage 2: their sum. Its upper part is not made: of high1_q[15:8] all that matters is whether
    // the carry from below runs through, and whether the sum is all zeros or all ones there.
    // What is wrong with x, or with x * c.
    logic sign2_q[Lanes], tiny2_q[Lanes], huge2_q[Lanes], nan2_q[Lanes], carry2_q[Lanes];
    logic behind2_q[Lanes];
    logic zeros2_q[Lanes], ones2_q[Lanes];  // of the sum: bits 15 .. 2
    logic [1:0] low2_q[Lanes];
    logic [9:0] high2_q[Lanes], exp2_q[Lanes];
    // if negative, then -2 or -1: the smallest exponents that may give a normal number
    logic edge2_q[Lanes];

    always_ff @(posedge clk_i) begin
        if (valid_q[0]) begin
            for (int unsigned i = 0; i < Lanes; i++) begin : stage2
                automatic logic [8:0] sum;
                automatic logic all, beyond, tiny, huge, nan;
                sum = 9'(high1_q[i][7:0]) + 9'(low1_q[i][21:14]);
                all = high1_q[i][15:8] == '1;
                beyond = {limit1_q, 1'b0} < {x1_q[i], carry1_q[i]};
                nan = top1_q[i] && frac1_q[i];
                tiny = none1_q[i] || (!range1_q && !beyond);
                huge = (top1_q[i] && !frac1_q[i]) || (range1_q && beyond);
                nan2_q[i] <= nan1_q || nan || (inf1_q && tiny) || (zero1_q && huge);
                tiny2_q[i] <= tiny || zero1_q;
                huge2_q[i] <= huge || inf1_q;
                sign2_q[i] <= sign1_q[i];
                carry2_q[i] <= sum[8] && all;
                zeros2_q[i] <= (sum[8] ? all : high1_q[i][15:8] == '0) && sum[7:2] == '0;
                ones2_q[i] <= (sum[8] ? high1_q[i][15:8] == 8'hfe : all) && sum[7:2] == '1;
                low2_q[i] <= sum[1:0];
                behind2_q[i] <= low1_q[i][13:0] != '0;
                high2_q[i] <= high1_q[i][25:16];
                exp2_q[i] <= exp1_q[i];
                edge2_q[i] <= exp1_q[i][8:1] == '1;
            end
        end
    end

    // Stage 3: both roundings in one. The first rounding, to 24 bits, affects the second only next
    // to a tie of bf16. A value less than half of a last place above the tie falls onto it, and one
    // as close below rises onto it.
    logic sign3_q[Lanes], huge3_q[Lanes], nan3_q[Lanes];
    logic [9:0] exp3_q[Lanes];
    logic [6:0] frac3_q[Lanes];

    /* verilator lint_off UNUSEDSIGNAL */  // spare
    always_ff @(posedge clk_i) begin
        if (valid_q[1]) begin
            for (int unsigned i = 0; i < Lanes; i++) begin : stage3
                automatic logic norm, b16, b17, carry17, carry, half, zeros, ones, guard;
                automatic logic behind, odd, up;
                logic under, spare;
                automatic logic [6:0] top, frac;
                automatic logic [9:0] exp;
                norm = high2_q[i][9];
                b16 = high2_q[i][0] ^ carry2_q[i];
                carry17 = high2_q[i][0] && carry2_q[i];
                b17 = high2_q[i][1] ^ carry17;
                carry = carry17 && (!norm || high2_q[i][1]);  // into the last bit of the result
                half = norm ? b17 : b16;
                zeros = zeros2_q[i] && !(norm ? b16 : low2_q[i][1]);
                ones = ones2_q[i] && (norm ? b16 : low2_q[i][1]);
                guard = norm ? low2_q[i][1] : low2_q[i][0];
                behind = behind2_q[i] || (norm && low2_q[i][0]);
                top = norm ? high2_q[i][8:2] : high2_q[i][7:1];
                odd = top[0];
                up = carry || (half && (!zeros || (guard && behind) || odd))
                     || (ones && guard && odd);
                under = exp2_q[i][9]
                        && !(edge2_q[i] && (exp2_q[i][0] || norm || (carry && top == '1)));
                if (nan2_q[i]) begin
                    top = '1;
                    up = 1'b0;
                end
                {exp, frac, spare} = {exp2_q[i], top, 1'b1} + {8'd0, 1'b1, norm, 7'd0, up};
                if (!nan2_q[i] && (tiny2_q[i] || (under && !huge2_q[i]))) begin
                    exp = '0;
                    frac = '0;
                end
                exp3_q[i] <= exp;
                frac3_q[i] <= frac;
                sign3_q[i] <= sign2_q[i] && !nan2_q[i];
                nan3_q[i] <= nan2_q[i];
                huge3_q[i] <= huge2_q[i];
            end
        end
    end
    /* verilator lint_on UNUSEDSIGNAL */

    // Stage 4: overflow.
    always_ff @(posedge clk_i) begin
        if (valid_q[2]) begin
            for (int unsigned i = 0; i < Lanes; i++) begin : stage4
                automatic logic over;
                over = huge3_q[i] || exp3_q[i][8] || exp3_q[i][7:0] == '1;
                y_o[16*i+15] <= sign3_q[i];
                y_o[16*i+7+:8] <= (nan3_q[i] || over) ? '1 : exp3_q[i][7:0];
                y_o[16*i+:7] <= (!nan3_q[i] && over) ? '0 : frac3_q[i];
            end
        end
    end

    logic unused;
    always_comb begin
        unused = 1'b0;
        for (int unsigned i = 0; i < Lanes; i++) unused ^= exp3_q[i][9];
    end
endmodule

`default_nettype wire
