// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Lanes of a reduction, as wide as a flit: a reduce_lane for each 32 bits, and a reduce_wide for
// each 64 where the build has types of that size.
//
// Function: Adds a term of a flit to the running results, see reduce_lane. If the build lacks the
// type or operator, the result is undefined.
// Order: A term accepted with take_i has its results in sum_o fp_pkg::FpAddLatency + 1 cycles
// later. valid_i, red_q_i and red_end_i are the user's record of what is inside.
// Back-pressure: None.
// Latency: One term per cycle. Lanes compute only terms of their own types, so a type that is not
// used costs a simulator nothing.
`default_nettype none

module reduce_flit #(
    parameter int unsigned Words = 2,  // of 32 bits
    parameter red_pkg::set_t RedTypes = red_pkg::UsualTypes,
    parameter red_pkg::set_t RedOps = red_pkg::AllOps
) (
    input  wire logic clk_i,

    input  wire logic                        take_i,
    input  wire logic                        first_i,
    input  wire logic                        pair_i,   // with first_i: a_i counts too
    input  wire red_pkg::red_t               red_i,
    input  wire logic [Words-1:0][1:0][31:0] acc_i,    // running results; of 32-bit elements the
                                                       // first of a word, of 64-bit ones those of
                                                       // two words, low one first
    input  wire logic [Words-1:0][31:0]      a_i,
    input  wire logic [Words-1:0][31:0]      b_i,

    input  wire logic                   valid_i,    // the term taken in the last cycle is there
    input  wire red_pkg::red_t          red_q_i,    // its type and operator
    // what was taken fp_pkg::FpAddLatency cycles ago is final, and bf16: in sum_o only its upper
    // halves count
    input  wire logic                   half_i,
    output logic [Words-1:0][1:0][31:0] sum_o,
    input  wire logic                   emit_i,     // sum_o is final: data_o in the next cycle
    input  wire red_pkg::red_t          red_end_i,  // of sum_o
    output logic [Words-1:0][31:0]      data_o
);
    import red_pkg::*;

    localparam bit HasWide = (RedTypes & Wide) != '0;

    logic [Words-1:0][1:0][31:0] sum;
    logic [Words-1:0][31:0] data;
    logic take, valid;

    for (genvar l = 0; l < Words; l++) begin : gen_lane
        reduce_lane #(
            .RedTypes(RedTypes),
            .RedOps(RedOps)
        ) i_lane (
            .clk_i,
            .take_i(take),
            .first_i,
            .pair_i,
            .red_i,
            .acc_i(acc_i[l]),
            .a_i(a_i[l]),
            .b_i(b_i[l]),
            .valid_i(valid),
            .red_q_i,
            .half_i,
            .sum_o(sum[l]),
            .emit_i,
            .red_end_i,
            .data_o(data[l])
        );
    end

    if (HasWide) begin : gen_wide
        logic wide_end, wide_out_q;
        logic [Words-1:0][31:0] result, result_q;

        if (Words % 2 != 0) begin : gen_check
            $error("reduce_flit: elements of 64 bits need flits of 8 bytes or more");
        end

        assign take = take_i && !Wide[red_i.dtype];
        assign valid = valid_i && !Wide[red_q_i.dtype];
        assign wide_end = Wide[red_end_i.dtype];

        for (genvar p = 0; p < Words / 2; p++) begin : gen_pair
            reduce_wide i_wide (
                .clk_i,
                .take_i(take_i && Wide[red_i.dtype]),
                .first_i,
                .pair_i,
                .acc_i({acc_i[2*p+1][0], acc_i[2*p][0]}),
                .a_i(a_i[2*p+:2]),
                .b_i(b_i[2*p+:2]),
                .valid_i(valid_i && Wide[red_q_i.dtype]),
                .red_q_i,
                .sum_o(result[2*p+:2])
            );
        end

        always_ff @(posedge clk_i) begin
            if (emit_i) wide_out_q <= wide_end;
            if (emit_i && wide_end) result_q <= result;
        end
        always_comb begin
            sum_o = sum;
            for (int unsigned l = 0; l < Words; l++) if (wide_end) sum_o[l][0] = result[l];
        end
        assign data_o = wide_out_q ? result_q : data;
    end else begin : gen_narrow
        assign take = take_i;
        assign valid = valid_i;
        assign sum_o = sum;
        assign data_o = data;
    end

endmodule

`default_nettype wire
