// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Selects the class of the next token so that each class bit is spread evenly over the tokens.
//
// Function: Of n tokens, tot have bit i. After s choices, acc = n (chosen with bit i) - tot s
// states how far bit i is ahead. The choice is the non-empty class with the least sum over i of
// (acc - tot + n [bit i])^2. The part that depends on the choice is the sum of n g over the bits of
// the class, g = 2 (acc - tot) + n. It therefore takes the least sum of g, and the lower class of
// equal ones. If the class of all bits with g < 0 has a token, it is that class. Integers, exact.
// Ports: start_i delivers n and the tots, constant from then on. valid_o: class_o is the class of
// the next token. take_i continues. The user then removes a token from that class, so some_i may
// change in the next cycle, and is stable until valid_o. some_i is a combinational reply: class_o
// is non-empty. At least one class is non-empty.
// Latency: 2 M + 1 cycles to start, with M bits. From take_i to valid_o M + 2 if all bits with g <
// 0 form a class with a token, else 2^M + M + 2.
`default_nettype none
`include "assert.svh"

module order_choice #(
    parameter int unsigned TokensLog2 = 12,  // tokens, up to this power of two
    parameter int unsigned M = 5  // bits, at most 7
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,  // and whenever what is under way does not count any more

    input  wire logic                start_i,
    input  wire logic [TokensLog2:0] tokens_i,
    input  wire logic [TokensLog2:0] totals_i [M],

    output logic         valid_o,
    input  wire logic    take_i,
    output logic [M-1:0] class_o,
    input  wire logic    some_i
);
    localparam int unsigned StepW = TokensLog2 + 2;  // n - tot, -tot
    localparam int unsigned GapW = 2 * TokensLog2 + 2;  // g: at most n^2 / 2 + n either way
    localparam int unsigned SumW = GapW + 3;
    localparam int unsigned BitW = $clog2(M) > 0 ? $clog2(M) : 1;

    typedef enum logic [2:0] {
        Off,
        Fill,
        Ideal,
        Search,
        Found,
        Move
    } state_e;
    state_e state_q;
    logic [BitW-1:0] bit_q, at;
    logic high_q;  // Fill: the step of a token with the bit
    logic [M-1:0] behind_q;  // g < 0
    logic [M-1:0] class_q, best_q, count_q, count_d;
    logic any_q, better, last_bit, found;
    logic [TokensLog2:0] total;
    logic signed [StepW-1:0] step, fill;
    logic signed [GapW-1:0] gap, gap_d;
    logic signed [SumW-1:0] sum_q, least_q;

    assign last_bit = bit_q == BitW'(M - 1);
    assign valid_o = state_q == Found;
    assign class_o = (state_q == Ideal) ? behind_q : class_q;
    assign total = totals_i[bit_q];
    assign fill = high_q ? StepW'(tokens_i) - StepW'(total) : -StepW'(total);

    // ---- g of each bit, and what a choice adds to it --------------------------------------------
    // Search visits the classes in Gray's order, so that each step adds or takes one g.
    assign count_d = count_q + 1'b1;
    always_comb begin
        at = bit_q;
        if (state_q == Search) begin
            for (int i = M - 1; i >= 0; i--) begin
                if (count_d[i]) at = BitW'(i);
            end
        end
        gap_d = (state_q == Fill) ? GapW'(StepW'(tokens_i)) - (GapW'(total) <<< 1)
                : gap + (GapW'(step) <<< 1);
    end

    lutram #(
        .Width(StepW),
        .Depth(2 * 2 ** BitW)
    ) i_step (
        .clk_i,
        .we_i(state_q == Fill),
        .waddr_i({high_q, bit_q}),
        .wdata_i(fill),
        .raddr_i({class_q[bit_q], bit_q}),
        .rdata_o(step)
    );
    lutram #(
        .Width(GapW),
        .Depth(2 ** BitW)
    ) i_gap (
        .clk_i,
        .we_i(state_q inside {Fill, Move}),
        .waddr_i(bit_q),
        .wdata_i(gap_d),
        .raddr_i(at),
        .rdata_o(gap)
    );

    assign better = some_i && (!any_q || sum_q < least_q || (sum_q == least_q && class_q < best_q));
    assign found = state_q == Search && count_q == '1;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            state_q <= Off;
        end else begin
            unique case (state_q)
                Off:     if (start_i) state_q <= Fill;
                Fill:    if (last_bit && high_q) state_q <= Ideal;
                Ideal:   state_q <= some_i ? Found : Search;
                Search:  if (found) state_q <= Found;
                Found:   if (take_i) state_q <= Move;
                Move:    if (last_bit) state_q <= Ideal;
                default: state_q <= Off;
            endcase
        end
        if (state_q == Fill) high_q <= !high_q;
        else high_q <= 1'b0;
        if (state_q == Move || (state_q == Fill && high_q)) bit_q <= last_bit ? '0 : bit_q + 1'b1;
        else if (state_q != Fill) bit_q <= '0;
        if (state_q inside {Fill, Move}) behind_q[bit_q] <= gap_d < 0;
        if (state_q == Ideal) begin
            class_q <= some_i ? behind_q : '0;
            count_q <= '0;
            sum_q <= '0;
            any_q <= 1'b0;
        end else if (state_q == Search) begin
            count_q <= count_d;
            if (found) begin
                class_q <= better ? class_q : best_q;
            end else begin
                class_q[at] <= !class_q[at];
                sum_q <= class_q[at] ? sum_q - SumW'(gap) : sum_q + SumW'(gap);
            end
            if (better) begin
                any_q <= 1'b1;
                best_q <= class_q;
                least_q <= sum_q;
            end
        end
    end

    `MW_CONTRACT(take_i, valid_o, "a class is taken before it is chosen")
    `MW_CONTRACT(take_i, some_i, "a class without a token is taken")
    `MW_STABLE(valid_o, take_i, class_o, "a choice changes before it is taken")
endmodule

`default_nettype wire
