// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Replaces the lanes in a proof about packets: every result is 0.
`default_nettype none

module reduce_flit #(
    parameter int unsigned Words = 2,
    parameter red_pkg::set_t RedTypes = red_pkg::UsualTypes,
    parameter red_pkg::ops_t RedOps = red_pkg::AllOps,
    localparam int unsigned Parts = red_pkg::parts(RedTypes)
) (
    input  wire logic                              clk_i,
    input  wire logic                              take_i,
    input  wire logic                              first_i,
    input  wire logic                              pair_i,
    input  wire red_pkg::red_t                     red_i,
    input  wire logic [Words-1:0][Parts-1:0][31:0] acc_i,
    input  wire logic [Words-1:0][31:0]            a_i,
    input  wire logic [Words-1:0][31:0]            b_i,
    input  wire logic                              valid_i,
    input  wire red_pkg::red_t                     red_q_i,
    input  wire logic                              half_i,
    output logic [Words-1:0][Parts-1:0][31:0]      sum_o,
    input  wire logic                              emit_i,
    input  wire red_pkg::red_t                     red_end_i,
    output logic [Words-1:0][31:0]                 data_o
);
    assign {sum_o, data_o} = '0;

    wire unused = &{1'b0, clk_i, take_i, first_i, pair_i, red_i, acc_i, a_i, b_i, valid_i, red_q_i,
                    half_i, emit_i, red_end_i};
endmodule

`default_nettype wire
