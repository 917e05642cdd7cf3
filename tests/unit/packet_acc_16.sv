// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Bench for packet_acc with 16-byte flits.
`default_nettype none

module packet_acc_16 (
    input  wire logic         clk_i,
    input  wire logic         rst_ni,
    input  wire logic         valid_i,
    output logic              ready_o,
    input  wire logic [2:0]   idx_i,
    input  wire logic         first_i,
    input  wire logic         pair_i,
    input  wire logic [127:0] a_i,
    input  wire logic [127:0] b_i,
    input  wire logic         last_i,
    input  wire logic [11:0]  meta_i,
    input  wire red_pkg::red_t red_i,
    output logic              valid_o,
    output logic [127:0]      data_o,
    output logic [11:0]       meta_o,
    output logic              busy_o
);
    packet_acc #(.FlitBytes(16), .MetaWidth(12)) i_dut (
        .clk_i, .rst_ni, .valid_i, .ready_o, .idx_i, .first_i, .pair_i, .a_i, .b_i, .last_i, .red_i, .meta_i,
        .valid_o, .data_o, .meta_o, .busy_o
    );
endmodule

`default_nettype wire
