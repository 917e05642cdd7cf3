// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Lane of a reduction of one element of 64 bits: adds a term of a flit to the running result.
//
// Function: Integers add modulo 2^64, FP64 as in fp64_add. A first term starts a new result: with a
// second term that is paired with it, or alone. If the build lacks the type or operator, the result
// is undefined.
// Order: A term accepted with take_i has its result in sum_o fp_pkg::FpAddLatency + 1 cycles later,
// as in reduce_lane. valid_i, red_q_i and red_end_i are the user's record of what is inside.
// Back-pressure: None.
// Latency: One term per cycle. A stage computes only after a valid, so a type that is not used
// costs a simulator nothing.
`default_nettype none

module reduce_wide #(
    parameter red_pkg::set_t RedTypes = red_pkg::Wide
) (
    input  wire logic clk_i,

    input  wire logic        take_i,
    input  wire logic        first_i,
    input  wire logic        pair_i,  // with first_i: a_i counts too
    input  wire logic [63:0] acc_i,   // running result
    input  wire logic [63:0] a_i,
    input  wire logic [63:0] b_i,

    input  wire logic          valid_i,    // the term taken in the last cycle is there
    input  wire red_pkg::red_t red_q_i,    // its type and operator
    input  wire red_pkg::red_t red_end_i,  // of sum_o
    output logic [63:0]        sum_o
);
    import packet_pkg::*;
    import red_pkg::*;

    localparam bit HasFp64 = RedTypes[DTYPE_FP64];

    // ---- operands ----
    logic [63:0] a_q, b_q;
    logic alone_q;

    always_ff @(posedge clk_i) begin
        if (take_i) begin
            a_q <= first_i ? a_i : acc_i;
            b_q <= b_i;
            alone_q <= first_i && !pair_i;
        end
    end

    // ---- integers: what is known in one step waits as long as the adder takes ----
    localparam int unsigned Stages = fp_pkg::FpAddLatency;
    logic [Stages-1:0] valid_q;
    logic [Stages-1:0][63:0] result_q;
    logic fp64;

    assign fp64 = HasFp64 && red_q_i.dtype == DTYPE_FP64;

    always_ff @(posedge clk_i) begin
        valid_q <= {valid_q[Stages-2:0], valid_i && !fp64};
        if (valid_i && !fp64) result_q[0] <= alone_q ? b_q : integer_op(red_q_i, a_q, b_q);
        for (int unsigned s = 1; s < Stages; s++) if (valid_q[s-1]) result_q[s] <= result_q[s-1];
    end

    // ---- FP64: a single term is added to -0, which changes it only if it is a NaN ----
    if (HasFp64) begin : gen_fp64
        logic [63:0] sum;

        fp64_add i_add (
            .clk_i,
            .valid_i(valid_i && fp64),
            .a_i(alone_q ? {1'b1, 63'd0} : a_q),
            .b_i(b_q),
            .res_o(sum)
        );
        assign sum_o = (red_end_i.dtype == DTYPE_FP64) ? sum : result_q[Stages-1];
    end else begin : gen_integers
        assign sum_o = result_q[Stages-1];
    end

endmodule

`default_nettype wire
