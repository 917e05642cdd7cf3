// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The pointers of promise_fifo count in the order of a shift register, which hides their meaning
// from the solver. Lemmas state the position of each pointer, and are proved with the rest.
`default_nettype none

module prove_promise_fifo (
    input wire logic clk_i, watch_i, promise_i, push_i, ready_i, data_i
);
    logic rst_n, room, valid, data;
    logic [3:0] count, promised_q;   // promised_q: places promised and not filled

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    promise_fifo #(.Width(1), .Depth(16)) i_dut (
        .clk_i, .rst_ni(rst_n), .promise_i, .room_o(room), .push_i, .data_i,
        .valid_o(valid), .ready_i, .data_o(data)
    );

    always_ff @(posedge clk_i) promised_q <= rst_n ? promised_q + 4'(promise_i) - 4'(push_i) : '0;
    always_comb begin
        if (!room || !rst_n) assume (!promise_i);
        if (promised_q == '0 || !rst_n) assume (!push_i);
    end

    // promised and stored words together have 15 places
    f_queue #(.Depth(15)) i_queue (
        .clk_i, .rst_ni(rst_n), .watch_i, .push_i, .in_i(data_i),
        .accept_i(room || 5'(count) + 5'(promised_q) == 5'd15), .pop_i(valid && ready_i),
        .show_i(valid), .out_i(data),
        .count_o(count)
    );
    f_stream i_out (.clk_i, .rst_ni(rst_n), .valid_i(valid), .ready_i, .data_i(data), .last_i(1'b1),
                    .inside_o());

    // ---- lemmas ----
    function automatic logic [3:0] place(input logic [3:0] p);   // position of a pointer in its
                                                                 // order
        logic [3:0] s;
        s = '0;
        place = '0;
        for (int unsigned i = 0; i < 16; i++) begin
            if (s == p) place = 4'(i);
            s = {s[2:0], s[3] ^ s[2] ^ (s[2:0] == '0)};
        end
    endfunction

    logic [3:0] at_r, at_w, at_p, at_word;
    assign at_r = place(i_dut.rptr_q);
    assign at_w = place(i_dut.wptr_q);
    assign at_p = place(i_dut.pptr_q);
    assign at_word = at_r + i_queue.ahead_q;

    always_ff @(posedge clk_i) begin
        if (rst_n) begin
            a_promise: assert (5'(count) + 5'(promised_q) <= 5'd15);
            l_count:    assert (4'(at_w - at_r) == count);
            l_promised: assert (4'(at_p - at_w) == promised_q);
            l_inside:   assert (!i_queue.in_q || i_queue.ahead_q < count);
        end
    end
    for (genvar i = 0; i < 16; i++) begin : gen_word
        always_ff @(posedge clk_i) begin
            if (rst_n && i_queue.in_q && at_word == place(4'(i)))
                l_word: assert (i_dut.i_ram.mem[i] == i_queue.word_q);
        end
    end

    // reachable under the assumptions
    always_ff @(posedge clk_i) begin
        if (rst_n) begin
            c_promised: cover (promised_q == 4'd15);
            c_filled:   cover (count == 4'd15);
        end
    end
endmodule

`default_nettype wire
