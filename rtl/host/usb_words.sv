// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Splits words of 8 bytes into bytes for the IN endpoint.
//
// Function: The low byte leaves first. last_i of a word becomes last_o of its last byte. clear_i
// discards the word that is being sent.
// Order: First in, first out.
// Back-pressure: ready_o is high when no word is stored, or when its last byte leaves.
// Latency: One cycle. One byte per cycle is sustained.
`default_nettype none
`include "assert.svh"

module usb_words (
    input  wire logic        clk_i,
    input  wire logic        rst_ni,
    input  wire logic        clear_i,
    input  wire logic        valid_i,
    output logic             ready_o,
    input  wire logic [63:0] data_i,
    input  wire logic        last_i,
    output logic             valid_o,
    input  wire logic        ready_i,
    output logic [7:0]       data_o,
    output logic             last_o
);
    logic [63:0] word_q;
    logic [2:0] at_q;
    logic last_q, done;

    assign done = valid_o && ready_i && at_q == 3'd7;
    assign ready_o = !valid_o || done;
    assign data_o = word_q[7:0];
    assign last_o = last_q && at_q == 3'd7;

    always_ff @(posedge clk_i) begin
        if (!rst_ni || clear_i) valid_o <= 1'b0;
        else if (ready_o) valid_o <= valid_i;
        if (ready_o) begin
            word_q <= data_i;
            last_q <= last_i;
            at_q <= '0;
        end else if (ready_i) begin
            word_q <= word_q >> 8;
            at_q <= at_q + 3'd1;
        end
    end

    `MW_NEXT(valid_o && !clear_i && !ready_i, valid_o && $stable({last_o, data_o}),
             "a byte changes before it is taken")
endmodule

`default_nettype wire
