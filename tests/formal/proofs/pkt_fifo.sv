// SPDX-License-Identifier: CERN-OHL-P-2.0
`default_nettype none

module prove_pkt_fifo #(
    parameter bit Reserve = 1'b0   // the writer reserves before every packet; else never
) (
    input wire logic clk_i, watch_i, valid_i, data_i, last_i, ready_i, reserve_i
);
    localparam int unsigned MaxPkt = 2;
    logic rst_n, ready, valid, last, room, wrote, read;
    logic [7:0] out;
    logic [2:0] packets, count, whole_q;
    logic [1:0] length_q, promised_q;   // flits of the packet being written; packets promised and not written
    logic       out_open;

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    pkt_fifo #(.FlitBytes(1), .Flits(4), .MaxPkt(MaxPkt)) i_dut (
        .clk_i, .rst_ni(rst_n), .in_valid_i(valid_i), .in_ready_o(ready), .in_data_i({7'd0, data_i}), .in_last_i(last_i),
        .out_valid_o(valid), .out_ready_i(ready_i), .out_data_o(out), .out_last_o(last),
        .reserve_i, .room_o(room), .packets_o(packets)
    );
    assign wrote = valid_i && ready;
    assign read  = valid && ready_i;

    always_ff @(posedge clk_i) begin
        length_q   <= (!rst_n || (wrote && last_i)) ? '0 : length_q + 2'(wrote);
        promised_q <= rst_n ? promised_q + 2'(reserve_i) - 2'(wrote && last_i && Reserve) : '0;
        whole_q    <= rst_n ? whole_q + 3'(wrote && last_i) - 3'(read && last) : '0;
    end
    always_comb begin
        if (!rst_n) assume (!valid_i);
        if (32'(length_q) == MaxPkt - 1) assume (last_i);
        if (!Reserve || !rst_n || !room) assume (!reserve_i);
        if (Reserve && promised_q == '0) assume (!valid_i);
    end

    f_queue #(.Width(2), .Depth(4), .Latency(0)) i_queue (
        .clk_i, .rst_ni(rst_n), .watch_i, .push_i(wrote), .in_i({last_i, data_i}), .accept_i(ready),
        .pop_i(read), .show_i(valid), .out_i({last, out[0]}), .count_o(count)
    );
    f_stream #(.Width(1), .Whole(1'b1)) i_out (
        .clk_i, .rst_ni(rst_n), .valid_i(valid), .ready_i, .data_i(out[0]), .last_i(last), .inside_o(out_open)
    );

    always_ff @(posedge clk_i) begin
        if (rst_n) begin
            a_whole:   assert (valid == (whole_q != '0) && packets == whole_q);   // only packets that are all inside
            a_promise: assert (!Reserve || ready || promised_q == '0);            // what was promised never waits
        end
    end
endmodule

`default_nettype wire
