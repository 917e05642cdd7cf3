// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Sends frames: the sending half of the host link.
//
// Function: A frame has a header, payload words, and a trailer with the status. The magic number
// and both CRCs are inserted here. While mute_i is high, all words are discarded.
// Ports: start_i comes with header_i. header_i.words payload words follow from the next cycle
// on, at any time. trailer_i is read with the trailer. last_o marks the last word of a frame.
// Order: One frame after the other. ready_o: the previous one has left.
// Back-pressure: A word stays in the output register until ready_i.
// Latency: One word per cycle is sustained.
`default_nettype none
`include "assert.svh"

module link_tx (
    input  wire logic clk_i,
    input  wire logic rst_ni,
    input  wire logic mute_i,

    input  wire logic                    start_i,
    output logic                         ready_o,
    input  wire host_pkg::frame_header_t header_i,
    input  wire logic                    word_valid_i,
    output logic                         word_ready_o,
    input  wire logic [63:0]             word_i,
    input  wire logic [7:0]              trailer_i,

    output logic        valid_o,
    input  wire logic   ready_i,
    output logic [63:0] data_o,
    output logic        last_o
);
    typedef enum logic [2:0] {
        Idle,
        First,
        Second,
        Third,
        Payload,
        Trailer
    } state_e;
    state_e state_q;
    logic [2:0][63:0] header_q;
    logic [15:0] left_q;
    logic [31:0] crc_q, half_crc;
    logic [63:0] word;
    logic room, go, next_last;

    assign room = !valid_o || ready_i || mute_i;
    assign ready_o = state_q == Idle;
    assign word_ready_o = state_q == Payload && room;
    assign go = room && state_q != Idle && (state_q != Payload || word_valid_i);
    assign next_last = state_q == Trailer || (state_q == Third && left_q == '0);

    // a third word and a trailer end in the CRC of what was before
    assign half_crc = ~crc_pkg::crc_4(crc_q, word[31:0]);

    always_comb begin
        unique case (state_q)
            First: word = header_q[0];
            Second: word = header_q[1];
            Third: word = header_q[2];
            Payload: word = word_i;
            default: word = {56'd0, trailer_i};
        endcase
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            state_q <= Idle;
            valid_o <= 1'b0;
        end else begin
            if (room) valid_o <= go && !mute_i;
            if (mute_i) valid_o <= 1'b0;
            unique case (state_q)
                Idle: if (start_i) state_q <= First;
                First: if (go) state_q <= Second;
                Second: if (go) state_q <= Third;
                Third: if (go) state_q <= left_q == '0 ? Idle : Payload;
                Payload: if (go && left_q == 16'd1) state_q <= Trailer;
                default: if (go) state_q <= Idle;
            endcase
        end
        if (state_q == Idle) begin
            header_q <= header_i;
            header_q[0][15:0] <= 16'(host_pkg::Magic);
            left_q <= header_i.words;
            crc_q <= crc_pkg::Start;
        end else if (go) begin
            crc_q <= state_q == Third ? crc_pkg::Start : crc_pkg::crc_8(crc_q, word);
            if (state_q == Payload) left_q <= left_q - 16'd1;
        end
        if (go) begin
            data_o <= state_q inside {Third, Trailer} ? {half_crc, word[31:0]} : word;
            last_o <= next_last;
        end
    end

    `MW_NEXT(valid_o && !mute_i && !ready_i, valid_o && $stable({last_o, data_o}),
             "a word changes before it is taken")
    `MW_CONTRACT(start_i, ready_o, "a frame begins inside a frame")
endmodule

`default_nettype wire
