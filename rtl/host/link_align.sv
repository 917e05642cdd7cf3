// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Aligns a byte stream to words of 8 bytes.
//
// Function: It takes 1 to 8 bytes at a time. word_o has the 8 oldest bytes, so a word may begin
// at any byte. take_i removes all 8, and drop_i removes the first.
// Ports: valid_o: 8 bytes are there. have1_o, have2_o: one, two are. clear_i discards all.
// Order: First in, first out.
// Back-pressure: ready_o comes from a register. It falls while more than 8 bytes are stored.
// Latency: One cycle. One word per cycle is sustained.
`default_nettype none
`include "assert.svh"

module link_align (
    input  wire logic clk_i,
    input  wire logic rst_ni,
    input  wire logic clear_i,

    input  wire logic        valid_i,
    output logic             ready_o,
    input  wire logic [63:0] data_i,   // low byte first
    input  wire logic [3:0]  bytes_i,  // 1 .. 8

    output logic        valid_o,
    output logic        have1_o,
    output logic        have2_o,
    output logic [63:0] word_o,
    input  wire logic   take_i,
    input  wire logic   drop_i
);
    logic [127:0] buf_q, rest;
    logic [63:0] fresh;  // bytes_i bytes of data_i
    logic [4:0] fill_q, left;
    logic push;

    assign ready_o = fill_q <= 5'd8;
    assign valid_o = fill_q >= 5'd8;
    assign have1_o = fill_q != '0;
    assign have2_o = fill_q >= 5'd2;
    assign word_o = buf_q[63:0];
    assign push = valid_i && ready_o;
    assign fresh = data_i & ~(64'hffff_ffff_ffff_ffff << (8 * 7'(bytes_i)));

    always_comb begin
        rest = buf_q;
        left = fill_q;
        if (take_i && valid_o) begin
            rest = buf_q >> 64;
            left = fill_q - 5'd8;
        end else if (drop_i && have1_o) begin
            rest = buf_q >> 8;
            left = fill_q - 5'd1;
        end
    end

    // bytes behind the last one are 0, so that new ones are ORed in
    always_ff @(posedge clk_i) begin
        if (!rst_ni || clear_i) begin
            fill_q <= '0;
            buf_q <= '0;
        end else begin
            fill_q <= left + (push ? 5'(bytes_i) : 5'd0);
            buf_q <= rest | (push ? 128'(fresh) << (8 * 7'(left)) : '0);
        end
    end

    `MW_CONTRACT(valid_i, bytes_i != '0 && bytes_i <= 4'd8, "a word of no bytes, or of more than 8")
    `MW_CONTRACT(1'b1, fill_q <= 5'd16, "more bytes than places")
    `MW_CONTRACT(take_i || drop_i, !(take_i && drop_i), "a word and a byte are taken in one cycle")
endmodule

`default_nettype wire
