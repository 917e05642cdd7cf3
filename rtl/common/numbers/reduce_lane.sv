// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Lane of a reduction, two elements of 16 bits or one of 32 wide: adds a term of a flit to the
// running results.
//
// Function: Type and operator come with the term. Floats of 16 bits are fp32 inside. add rounds to
// nearest even at every step. min and max are PTX's (fp32_add). Integers add modulo 2^32. A first
// term starts a new result: with a second term that is paired with it, or with the operator's
// neutral element. If the build lacks the type or operator, the result is undefined.
// Order: A term accepted with take_i has its result in sum_o fp_pkg::FpAddLatency + 1 cycles later.
// valid_i, red_q_i and red_end_i are the user's record of what is inside, one for all lanes.
// Back-pressure: None.
// Latency: One term per cycle. Adders and integer unit compute only after their own valid, so a
// type that is not used costs a simulator nothing.
`default_nettype none

module reduce_lane #(
    parameter red_pkg::set_t RedTypes = red_pkg::UsualTypes,
    parameter red_pkg::ops_t RedOps = red_pkg::AllOps
) (
    input  wire logic clk_i,

    input  wire logic             take_i,
    input  wire logic             first_i,
    input  wire logic             pair_i,  // with first_i: a_i counts too
    input  wire red_pkg::red_t    red_i,
    input  wire logic [1:0][31:0] acc_i,   // running results; of 32-bit elements the first one
    input  wire logic [31:0]      a_i,
    input  wire logic [31:0]      b_i,

    input  wire logic          valid_i,    // the term taken in the last cycle is there
    input  wire red_pkg::red_t red_q_i,    // its type and operator
    // what was taken fp_pkg::FpAddLatency cycles ago is final, and bf16: in sum_o
    // only its upper halves count
    input  wire logic          half_i,
    output logic [1:0][31:0]   sum_o,
    input  wire logic          emit_i,     // sum_o is final: data_o in the next cycle
    input  wire red_pkg::red_t red_end_i,  // of sum_o
    output logic [31:0]        data_o
);
    import packet_pkg::*;
    import red_pkg::*;

    localparam bit HasFp16 = RedTypes[DTYPE_FP16];
    localparam bit HasFp32 = RedTypes[DTYPE_FP32];
    localparam bit HasInt = RedTypes[DTYPE_U32] || RedTypes[DTYPE_S32];
    localparam bit HasWords = HasFp32 || HasInt;
    localparam bit HasPick = RedOps[REDOP_MIN] || RedOps[REDOP_MAX];

    // A word whose first half is an element: as fp32, or as it is.
    function automatic logic [31:0] widen(input dtype_e dtype, input logic [31:0] x);
        if (HasWords && Words[dtype]) return x;
        if (HasFp16 && dtype == DTYPE_FP16) return fp_pkg::fp16_to_fp32(x[15:0]);
        return fp_pkg::bf16_to_fp32(x[15:0]);
    endfunction

    // ---- operands ----
    logic [1:0][31:0] a_q, b_q;
    logic words, integers;

    always_ff @(posedge clk_i) begin
        if (take_i) begin
            automatic logic [31:0] start = pair_i ? a_i : neutral(RedTypes, RedOps, red_i);
            a_q[0] <= first_i ? widen(red_i.dtype, start) : acc_i[0];
            b_q[0] <= widen(red_i.dtype, b_i);
            if (!HasWords || !Words[red_i.dtype]) begin
                a_q[1] <= first_i ? widen(red_i.dtype, 32'(start[31:16])) : acc_i[1];
                b_q[1] <= widen(red_i.dtype, 32'(b_i[31:16]));
            end
        end
    end

    assign words = HasWords && Words[red_q_i.dtype];
    assign integers = HasInt && !Floats[red_q_i.dtype];

    // ---- integers: what is known in one step waits until an adder would have finished ----
    logic over;
    logic [31:0] over_data;

    if (HasInt) begin : gen_integers
        logic [2:0] int_valid_q;
        logic [2:0][31:0] int_q;

        logic [63:0] result;

        assign result = integer_op(red_q_i, {a_q[0], 32'd0}, {b_q[0], 32'd0});

        always_ff @(posedge clk_i) begin
            int_valid_q <= {int_valid_q[1:0], valid_i && integers};
            if (valid_i && integers) int_q[0] <= result[63:32];
            if (int_valid_q[0]) int_q[1] <= int_q[0];
            if (int_valid_q[1]) int_q[2] <= int_q[1];
        end
        assign over = int_valid_q[2];
        assign over_data = int_q[2];
    end else begin : gen_floats
        assign over = 1'b0;
        assign over_data = '0;
    end

    // ---- floats ----
    logic picks;
    assign picks = HasPick && red_q_i.redop != REDOP_ADD;

    fp32_add #(
        .Narrow(!HasFp16 && !HasFp32),
        .Picks(HasPick)
    ) i_first (
        .clk_i,
        .valid_i(valid_i && !integers),
        .pick_i(picks),
        .max_i(red_q_i.redop == REDOP_MAX),
        .a_i(a_q[0]),
        .b_i(b_q[0]),
        .half_i,
        .over_i(over),
        .over_data_i(over_data),
        .res_o(sum_o[0])
    );
    fp32_add #(
        .Narrow(!HasFp16),
        .Picks(HasPick)
    ) i_second (
        .clk_i,
        .valid_i(valid_i && !words),
        .pick_i(picks),
        .max_i(red_q_i.redop == REDOP_MAX),
        .a_i(a_q[1]),
        .b_i(b_q[1]),
        .half_i,
        .over_i(1'b0),
        .over_data_i('0),
        .res_o(sum_o[1])
    );

    // ---- results ----
    always_ff @(posedge clk_i) begin
        if (emit_i) begin
            if (HasWords && Words[red_end_i.dtype]) data_o <= sum_o[0];
            else if (HasFp16 && red_end_i.dtype == DTYPE_FP16)
                data_o <= {fp_pkg::rne_fp16(sum_o[1]), fp_pkg::rne_fp16(sum_o[0])};
            else data_o <= {sum_o[1][31:16], sum_o[0][31:16]};
        end
    end

endmodule

`default_nettype wire
