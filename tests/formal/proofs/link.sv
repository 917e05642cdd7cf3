// SPDX-License-Identifier: CERN-OHL-P-2.0
`default_nettype none

module prove_link #(
    parameter int unsigned MaxLatency = 4
) (
    input wire logic       clk_i, watch_i, watch_crd_i,
    input wire logic [7:0] latency_i,
    input wire logic       tx_valid_i, tx_last_i, tx_err_i,
    input wire logic [1:0] tx_cls_i,
    input wire logic [7:0] tx_data_i,
    input wire logic [3:0] crd_i,
    input wire logic [4:0] crd_part_i
);
    logic       rst_n, rx_valid, rx_last, rx_err, busy;
    logic [1:0] rx_cls;
    logic [7:0] rx_data, latency_q;
    logic [3:0] crd;
    logic [4:0] crd_part;

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    link #(.FlitBytes(1), .MaxLatency(MaxLatency), .NumPart(4)) i_dut (
        .clk_i, .rst_ni(rst_n), .latency_i, .tx_valid_i, .tx_last_i, .tx_err_i, .tx_cls_i, .tx_data_i,
        .rx_valid_o(rx_valid), .rx_last_o(rx_last), .rx_err_o(rx_err), .rx_cls_o(rx_cls), .rx_data_o(rx_data),
        .crd_i, .crd_part_i, .crd_o(crd), .crd_part_o(crd_part), .busy_o(busy)
    );

    always_ff @(posedge clk_i) latency_q <= latency_i;
    always_comb begin
        assume (latency_i != '0 && 32'(latency_i) <= MaxLatency && crd_part_i < 5'd4);
        if (rst_n) assume (latency_i == latency_q);
        else       assume (!tx_valid_i && crd_i == '0);   // stable from a cycle before the first word enters
    end

    f_delay #(.Width(12), .MaxLatency(MaxLatency)) i_flits (
        .clk_i, .rst_ni(rst_n), .latency_i, .watch_i, .valid_i(tx_valid_i), .data_i({tx_last_i, tx_err_i, tx_cls_i, tx_data_i}),
        .out_valid_i(rx_valid), .out_data_i({rx_last, rx_err, rx_cls, rx_data}), .busy_i(busy)
    );
    f_delay #(.Width(9), .MaxLatency(MaxLatency)) i_credits (
        .clk_i, .rst_ni(rst_n), .latency_i, .watch_i(watch_crd_i), .valid_i(crd_i != '0), .data_i({crd_i, crd_part_i}),
        .out_valid_i(crd != '0), .out_data_i({crd, crd_part}), .busy_i(busy)
    );

    // what the assumptions leave
    always_ff @(posedge clk_i) begin
        if (rst_n) begin
            c_far:    cover (busy && 32'(latency_i) == MaxLatency && rx_valid);
            c_near:   cover (rx_valid && latency_i == 8'd1);
            c_credit: cover (crd == '1 && crd_part == 5'd3);
        end
    end
endmodule

`default_nettype wire
