// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// What a port has between its node and the switch: the link in both directions, and the reset of the node when the switch asks for it (flush_i). Every output
// comes from a register or the RAM of a link.
`default_nettype none

module node_link #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default
) (
    input  wire logic       clk_i,
    input  wire logic       rst_ni,
    input  wire logic [7:0] latency_i,

    // node to switch, credits back
    input  wire logic                 up_valid_i,
    input  wire logic                 up_last_i,
    input  wire logic                 up_err_i,
    input  wire logic [1:0]           up_cls_i,
    input  wire logic [Cfg.FlitW-1:0] up_data_i,
    output logic                      up_rx_valid_o,
    output logic                      up_rx_last_o,
    output logic                      up_rx_err_o,
    output logic [1:0]                up_rx_cls_o,
    output logic [Cfg.FlitW-1:0]      up_rx_data_o,
    input  wire logic [3:0]           up_rx_crd_i,
    input  wire logic [4:0]           up_rx_crd_part_i,
    output logic [3:0]                up_crd_o,
    output logic [4:0]                up_crd_part_o,

    // switch to node
    input  wire logic                 dn_tx_valid_i,
    input  wire logic                 dn_tx_last_i,
    input  wire logic                 dn_tx_err_i,
    input  wire logic [1:0]           dn_tx_cls_i,
    input  wire logic [Cfg.FlitW-1:0] dn_tx_data_i,
    output logic                      dn_valid_o,
    output logic                      dn_last_o,
    output logic                      dn_err_o,
    output logic [1:0]                dn_cls_o,
    output logic [Cfg.FlitW-1:0]      dn_data_o,
    input  wire logic [3:0]           dn_crd_i,
    output logic [3:0]                dn_tx_crd_o,

    input  wire logic flush_i,
    output logic      node_reset_o,
    output logic      quiet_o // nothing inside
);
    logic       up_busy, dn_busy;
    logic [4:0] unused_part;

    link #(.FlitBytes(Cfg.FlitBytes), .MaxLatency(Cfg.MaxLatency), .NumPart(Cfg.N)) i_up (
        .clk_i, .rst_ni, .latency_i,
        .tx_valid_i(up_valid_i), .tx_last_i(up_last_i), .tx_err_i(up_err_i), .tx_cls_i(up_cls_i), .tx_data_i(up_data_i),
        .rx_valid_o(up_rx_valid_o), .rx_last_o(up_rx_last_o), .rx_err_o(up_rx_err_o), .rx_cls_o(up_rx_cls_o), .rx_data_o(up_rx_data_o),
        .crd_i(up_rx_crd_i), .crd_part_i(up_rx_crd_part_i), .crd_o(up_crd_o), .crd_part_o(up_crd_part_o), .busy_o(up_busy)
    );

    link #(.FlitBytes(Cfg.FlitBytes), .MaxLatency(Cfg.MaxLatency), .NumPart(1)) i_down (
        .clk_i, .rst_ni, .latency_i,
        .tx_valid_i(dn_tx_valid_i), .tx_last_i(dn_tx_last_i), .tx_err_i(dn_tx_err_i), .tx_cls_i(dn_tx_cls_i), .tx_data_i(dn_tx_data_i),
        .rx_valid_o(dn_valid_o), .rx_last_o(dn_last_o), .rx_err_o(dn_err_o), .rx_cls_o(dn_cls_o), .rx_data_o(dn_data_o),
        .crd_i(dn_crd_i), .crd_part_i('0), .crd_o(dn_tx_crd_o), .crd_part_o(unused_part), .busy_o(dn_busy)
    );
    assign quiet_o = !up_busy && !dn_busy;
    wire unused = &{1'b0, unused_part};

    always_ff @(posedge clk_i) node_reset_o <= rst_ni && flush_i;
endmodule

`default_nettype wire
