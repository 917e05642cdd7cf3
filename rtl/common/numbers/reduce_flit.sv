// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Lanes of a reduction, as wide as a flit: a reduce_lane for each 32 bits. Where the build has
// types of 64 bits, a reduce_wide for each 64, and where it has types of 8 bits, a second
// reduce_lane for each 32.
//
// Function: Adds a term of a flit to the running results, see reduce_lane. Elements of 8 bits are
// bf16 on their way into the lanes, which is exact, and fp32 inside, and are rounded once. If the
// build lacks the type or operator, the result is undefined.
// Order: A term accepted with take_i has its results in sum_o fp_pkg::FpAddLatency + 1 cycles
// later. valid_i, red_q_i and red_end_i are the user's record of what is inside.
// Back-pressure: None.
// Latency: One term per cycle. Lanes compute only terms of their own types, so a type that is not
// used costs a simulator nothing.
`default_nettype none

module reduce_flit #(
    parameter int unsigned Words = 2,  // of 32 bits
    parameter red_pkg::set_t RedTypes = red_pkg::UsualTypes,
    parameter red_pkg::ops_t RedOps = red_pkg::AllOps,
    localparam int unsigned Parts = red_pkg::parts(RedTypes)
) (
    input  wire logic clk_i,

    input  wire logic                              take_i,
    input  wire logic                              first_i,
    input  wire logic                              pair_i,   // with first_i: a_i counts too
    input  wire red_pkg::red_t                     red_i,
    input  wire logic [Words-1:0][Parts-1:0][31:0] acc_i,    // running results, those of a word's
                                                             // elements from part 0 on; of 64-bit
                                                             // ones part 0 of two words, low first
    input  wire logic [Words-1:0][31:0]            a_i,
    input  wire logic [Words-1:0][31:0]            b_i,

    input  wire logic                         valid_i,    // the term taken in the last cycle is
                                                          // there
    input  wire red_pkg::red_t                red_q_i,    // its type and operator
    // what was taken fp_pkg::FpAddLatency cycles ago is final, and bf16: in sum_o only its upper
    // halves count
    input  wire logic                         half_i,
    output logic [Words-1:0][Parts-1:0][31:0] sum_o,
    input  wire logic                         emit_i,     // sum_o is final: data_o in the next
                                                          // cycle
    input  wire red_pkg::red_t                red_end_i,  // of sum_o
    output logic [Words-1:0][31:0]            data_o
);
    import packet_pkg::*;
    import red_pkg::*;

    localparam bit HasWide = (RedTypes & Wide) != '0;
    localparam bit HasBytes = (RedTypes & Bytes) != '0;
    localparam set_t LaneTypes = (RedTypes & UsualTypes) | set_t'(HasBytes);  // bf16

    logic [Words-1:0][1:0][31:0] sum;
    logic [Words-1:0][31:0] term_a, term_b, data;
    logic take, valid;
    red_t red, red_q;
    logic wide_in, wide_q, bytes_in, bytes_q;

    assign wide_in = HasWide && Wide[red_i.dtype];
    assign wide_q = HasWide && Wide[red_q_i.dtype];
    assign bytes_in = HasBytes && Bytes[red_i.dtype];
    assign bytes_q = HasBytes && Bytes[red_q_i.dtype];
    assign take = take_i && !wide_in;
    assign valid = valid_i && !wide_q;

    // Two elements of 8 bits as bf16.
    function automatic logic [31:0] to_bf16(input dtype_e dtype, input logic [15:0] x);
        if (dtype == DTYPE_E4M3)
            return {fp_pkg::e4m3_to_bf16(x[15:8]), fp_pkg::e4m3_to_bf16(x[7:0])};
        return {fp_pkg::e5m2_to_bf16(x[15:8]), fp_pkg::e5m2_to_bf16(x[7:0])};
    endfunction

    always_comb begin
        red = red_i;
        red_q = red_q_i;
        term_a = a_i;
        term_b = b_i;
        if (bytes_in) begin
            red.dtype = DTYPE_BF16;
            for (int unsigned l = 0; l < Words; l++) begin
                term_a[l] = to_bf16(red_i.dtype, a_i[l][15:0]);
                term_b[l] = to_bf16(red_i.dtype, b_i[l][15:0]);
            end
        end
        if (bytes_q) red_q.dtype = DTYPE_BF16;
    end

    for (genvar l = 0; l < Words; l++) begin : gen_lane
        reduce_lane #(
            .RedTypes(LaneTypes),
            .RedOps(RedOps)
        ) i_lane (
            .clk_i,
            .take_i(take),
            .first_i,
            .pair_i,
            .red_i(red),
            .acc_i(acc_i[l][1:0]),
            .a_i(term_a[l]),
            .b_i(term_b[l]),
            .valid_i(valid),
            .red_q_i(red_q),
            .half_i,
            .sum_o(sum[l]),
            .emit_i,
            .red_end_i,
            .data_o(data[l])
        );
    end

    // ---- elements of 64 bits ----
    logic [Words-1:0][31:0] wide_sum;
    logic wide_end;

    if (HasWide) begin : gen_wide
        if (Words % 2 != 0) begin : gen_check
            $error("reduce_flit: elements of 64 bits need flits of 8 bytes or more");
        end

        assign wide_end = Wide[red_end_i.dtype];
        for (genvar p = 0; p < Words / 2; p++) begin : gen_pair
            reduce_wide #(
                .RedTypes(RedTypes)
            ) i_wide (
                .clk_i,
                .take_i(take_i && wide_in),
                .first_i,
                .pair_i,
                .acc_i({acc_i[2*p+1][0], acc_i[2*p][0]}),
                .a_i(a_i[2*p+:2]),
                .b_i(b_i[2*p+:2]),
                .valid_i(valid_i && wide_q),
                .red_q_i,
                .red_end_i,
                .sum_o(wide_sum[2*p+:2])
            );
        end
    end else begin : gen_narrow
        assign wide_end = 1'b0;
        assign wide_sum = '0;
    end

    // ---- elements of 8 bits: the upper two of each word ----
    logic [Words-1:0][31:0] bytes_data;
    logic bytes_end;

    for (genvar l = 0; l < Words; l++) begin : gen_sum
        assign sum_o[l][0] = wide_end ? wide_sum[l] : sum[l][0];
        assign sum_o[l][1] = sum[l][1];
    end

    if (HasBytes) begin : gen_bytes
        assign bytes_end = Bytes[red_end_i.dtype];
        for (genvar l = 0; l < Words; l++) begin : gen_upper
            reduce_lane #(
                .RedTypes(set_t'(1)),  // bf16
                .RedOps(RedOps)
            ) i_upper (
                .clk_i,
                .take_i(take_i && bytes_in),
                .first_i,
                .pair_i,
                .red_i(red),
                .acc_i(acc_i[l][3:2]),
                .a_i(to_bf16(red_i.dtype, a_i[l][31:16])),
                .b_i(to_bf16(red_i.dtype, b_i[l][31:16])),
                .valid_i(valid_i && bytes_q),
                .red_q_i(red_q),
                .half_i(1'b0),
                .sum_o(sum_o[l][3:2]),
                .emit_i(1'b0),
                .red_end_i('0),
                .data_o()
            );

            always_comb begin
                for (int unsigned e = 0; e < 4; e++)
                bytes_data[l][8*e+:8] = (red_end_i.dtype == DTYPE_E4M3) ?
                    fp_pkg::rne_e4m3(sum_o[l][e]) : fp_pkg::rne_e5m2(sum_o[l][e]);
            end
        end
    end else begin : gen_no_bytes
        assign bytes_end = 1'b0;
        assign bytes_data = '0;
    end

    // ---- results ----
    if (HasWide || HasBytes) begin : gen_others
        logic other_q;
        logic [Words-1:0][31:0] data_q;

        always_ff @(posedge clk_i) begin
            if (emit_i) other_q <= wide_end || bytes_end;
            if (emit_i && (wide_end || bytes_end)) data_q <= wide_end ? wide_sum : bytes_data;
        end
        assign data_o = other_q ? data_q : data;
    end else begin : gen_lanes_only
        assign data_o = data;
    end

endmodule

`default_nettype wire
