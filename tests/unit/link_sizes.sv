// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Bench for link: the same traffic through links of several greatest latencies, each with a latency of its own.
`default_nettype none

module link_sizes #(
    localparam int unsigned Count = 5,
    localparam int unsigned Longest [Count] = '{1, 2, 5, 64, 255},
    localparam int unsigned Parts [Count] = '{1, 2, 5, 32, 8}
) (
    input  wire logic        clk_i,
    input  wire logic        rst_ni,
    input  wire logic [7:0]  latency_i [Count],
    input  wire logic        tx_valid_i,
    input  wire logic        tx_last_i,
    input  wire logic        tx_err_i,
    input  wire logic [1:0]  tx_cls_i,
    input  wire logic [63:0] tx_data_i,
    input  wire logic [3:0]  crd_i,
    input  wire logic [4:0]  crd_part_i [Count],
    output logic [31:0]      longest_o [Count],
    output logic [31:0]      parts_o [Count],
    output logic             rx_valid_o [Count],
    output logic             rx_last_o [Count],
    output logic             rx_err_o [Count],
    output logic [1:0]       rx_cls_o [Count],
    output logic [63:0]      rx_data_o [Count],
    output logic [3:0]       crd_o [Count],
    output logic [4:0]       crd_part_o [Count],
    output logic             busy_o [Count]
);
    for (genvar i = 0; i < Count; i++) begin : gen_link
        assign longest_o[i] = Longest[i];
        assign parts_o[i]   = Parts[i];
        link #(.FlitBytes(8), .MaxLatency(Longest[i]), .NumPart(Parts[i])) i_dut (
            .clk_i, .rst_ni, .latency_i(latency_i[i]),
            .tx_valid_i, .tx_last_i, .tx_err_i, .tx_cls_i, .tx_data_i,
            .rx_valid_o(rx_valid_o[i]), .rx_last_o(rx_last_o[i]), .rx_err_o(rx_err_o[i]), .rx_cls_o(rx_cls_o[i]), .rx_data_o(rx_data_o[i]),
            .crd_i, .crd_part_i(crd_part_i[i]), .crd_o(crd_o[i]), .crd_part_o(crd_part_o[i]), .busy_o(busy_o[i])
        );
    end
endmodule

`default_nettype wire
