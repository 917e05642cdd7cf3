// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// What every queue promises: each word comes out once, as it went in, in its order;
// none appears from nowhere.
//
// One word, chosen by the solver (watch_i, a free input), is followed: its value, and how many
// words are ahead of it. As any word may be the chosen one, the proof holds for all. accept_i is
// high where the queue must take a word; the number of words inside never exceeds Depth, and a
// queue with words shows one after Latency cycles at the latest.
`default_nettype none

module f_queue #(
    parameter int unsigned Width = 1,
    parameter int unsigned Depth = 4,
    parameter int unsigned Latency = 1,    // cycles from a word's acceptance to its being
                                           // shown, 0: not checked
    localparam int unsigned W = $clog2(Depth + 1)
) (
    input  wire logic             clk_i,
    input  wire logic             rst_ni,
    input  wire logic             watch_i,
    input  wire logic             push_i,   // a word goes in
    input  wire logic [Width-1:0] in_i,
    input  wire logic             accept_i, // the queue would take a word
    input  wire logic             pop_i,    // a word goes out
    input  wire logic             show_i,   // a word is shown
    input  wire logic [Width-1:0] out_i,
    output logic [W-1:0]          count_o   // words inside
);
    logic [W-1:0]     count_q, ahead_q;
    logic             in_q;
    logic [Width-1:0] word_q;
    logic [7:0]       hidden_q;

    assign count_o = count_q;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            count_q  <= '0;
            in_q     <= 1'b0;
            hidden_q <= '0;
        end else begin
            count_q  <= count_q + W'(push_i) - W'(pop_i);
            hidden_q <= (count_q == '0 || show_i || Latency == 0) ? '0 : hidden_q + 8'd1;
            if (!in_q && push_i && watch_i) begin
                in_q    <= 1'b1;
                word_q  <= in_i;
                ahead_q <= count_q - W'(pop_i);
            end else if (in_q && pop_i) begin
                if (ahead_q == '0) in_q <= 1'b0;
                else ahead_q <= ahead_q - W'(1);
            end
            a_room:   assert (count_q <= W'(Depth) && !(push_i && !pop_i && count_q == W'(Depth)));
            a_accept: assert (accept_i || count_q == W'(Depth));
            a_shown:  assert (!show_i || count_q != '0);
            a_taken:  assert (!pop_i || show_i);
            a_soon:   assert (hidden_q < 8'(Latency) || Latency == 0);
            a_word:   assert (!(in_q && ahead_q == '0 && show_i) || out_i == word_q);
            c_behind: cover (Depth == 1 || (in_q && ahead_q != '0 && pop_i));
            c_word:   cover (in_q && ahead_q == '0 && pop_i);
        end
    end
endmodule

`default_nettype wire
