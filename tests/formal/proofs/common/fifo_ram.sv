// SPDX-License-Identifier: CERN-OHL-P-2.0
`default_nettype none

module prove_fifo_ram #(
    parameter int unsigned Depth = 4
) (
    input wire logic clk_i, watch_i, valid_i, ready_i, data_i
);
    logic rst_n, ready, valid, data;
    logic [$clog2(Depth+1)-1:0] level, count;

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    fifo_ram #(.Width(1), .Depth(Depth)) i_dut (
        .clk_i, .rst_ni(rst_n), .valid_i, .ready_o(ready), .data_i,
        .valid_o(valid), .ready_i, .data_o(data),
        .level_o(level)
    );
    f_queue #(.Depth(Depth), .Latency(2)) i_queue (
        .clk_i, .rst_ni(rst_n), .watch_i, .push_i(valid_i && ready),
        .in_i(data_i), .accept_i(ready),
        .pop_i(valid && ready_i), .show_i(valid), .out_i(data), .count_o(count)
    );
    f_stream i_out (.clk_i, .rst_ni(rst_n), .valid_i(valid), .ready_i, .data_i(data), .last_i(1'b1),
                    .inside_o());

    always_ff @(posedge clk_i) if (rst_n) a_level: assert (level == count);
endmodule

`default_nettype wire
