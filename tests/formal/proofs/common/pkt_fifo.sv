// SPDX-License-Identifier: CERN-OHL-P-2.0
`default_nettype none

module prove_pkt_fifo (
    input wire logic clk_i, watch_i, valid_i, data_i, last_i, ready_i, step_i
);
    localparam int unsigned MaxPkt = 2;
    logic       rst_n, ready, valid, last, wrote, read, step, took_q, stepped_q, last_q;
    logic       empty_q;                // a step took nothing
    logic [7:0] out, out_q;
    logic [2:0] count, whole_q;
    logic       length_q;               // flits of the packet being written
    logic       out_open;

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    pkt_fifo #(.FlitBytes(1), .Flits(4), .MaxPkt(MaxPkt)) i_dut (
        .clk_i, .rst_ni(rst_n),
        .in_valid_i(valid_i), .in_ready_o(ready), .in_data_i({7'd0, data_i}),
        .in_last_i(last_i), .out_valid_o(valid), .out_last_o(last), .take_i(read),
        .step_i(step), .out_data_o(out)
    );
    assign wrote = valid_i && ready;
    assign read  = valid && ready_i;
    assign step  = read || step_i;

    always_ff @(posedge clk_i) begin
        length_q  <= rst_n && (length_q ^ wrote) && !(wrote && last_i);
        whole_q   <= rst_n ? whole_q + 3'(wrote && last_i) - 3'(read && last) : '0;
        took_q    <= rst_n && read;
        empty_q   <= rst_n && step && !read;
        stepped_q <= step;
        last_q    <= last;
        out_q     <= out;
    end
    always_comb begin
        if (!rst_n) assume (!valid_i);
        if (length_q) assume (last_i);
    end

    // A flit leaves when its data is shown, one cycle after it was taken.
    f_queue #(.Width(2), .Depth(4), .Latency(0)) i_queue (
        .clk_i, .rst_ni(rst_n), .watch_i, .push_i(wrote), .in_i({last_i, data_i}), .accept_i(ready),
        .pop_i(took_q), .show_i(took_q), .out_i({last_q, out[0]}), .count_o(count)
    );
    f_stream #(.Width(1), .Whole(1'b1)) i_out (
        .clk_i, .rst_ni(rst_n), .valid_i(valid), .ready_i, .data_i(1'b0),
        .last_i(last), .inside_o(out_open)
    );

    always_ff @(posedge clk_i) begin
        if (rst_n) begin
            // a packet is shown only when all of it is inside
            a_whole: assert (valid == (whole_q != '0));
            a_zero:  assert (!empty_q || out == '0);
            a_held:  assert (stepped_q || out == out_q);
            c_full:  cover (!ready);
            c_two:   cover (valid && !last && whole_q == 3'd2);
            c_empty: cover (empty_q && count != '0);
        end
    end
endmodule

`default_nettype wire
