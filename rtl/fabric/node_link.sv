// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The port between a node and the switch: the link in both directions, and the reset of the node
// when the switch requests it (flush_i).
//
// Latency: Every output comes from a register or the RAM of a link.
`default_nettype none
`include "bundles.svh"

module node_link #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type link_t = `MW_LINK(Cfg)
) (
    input  wire logic        clk_i,
    input  wire logic        rst_ni,
    input  wire logic [10:0] latency_i,

    // node to switch, credits back
    input  wire link_t               up_i,
    output link_t                    up_rx_o,
    input  wire bundle_pkg::credit_t up_rx_crd_i,
    output bundle_pkg::credit_t      up_crd_o,

    // switch to node
    input  wire link_t      dn_tx_i,
    output link_t           dn_o,
    input  wire logic [3:0] dn_crd_i,
    output logic [3:0]      dn_tx_crd_o,

    input  wire logic flush_i,
    output logic      node_reset_o,
    output logic      quiet_o  // nothing inside
);
    logic up_busy, dn_busy;
    bundle_pkg::credit_t dn_tx_crd;

    link #(
        .Cfg(Cfg),
        .NumPart(Cfg.N)
    ) i_up (
        .clk_i,
        .rst_ni,
        .latency_i,
        .tx_i(up_i),
        .rx_o(up_rx_o),
        .crd_i(up_rx_crd_i),
        .crd_o(up_crd_o),
        .busy_o(up_busy)
    );

    link #(
        .Cfg(Cfg),
        .NumPart(1)
    ) i_down (
        .clk_i,
        .rst_ni,
        .latency_i,
        .tx_i(dn_tx_i),
        .rx_o(dn_o),
        .crd_i('{cls: dn_crd_i, part: '0}),
        .crd_o(dn_tx_crd),
        .busy_o(dn_busy)
    );
    assign dn_tx_crd_o = dn_tx_crd.cls;
    assign quiet_o = !up_busy && !dn_busy;

    always_ff @(posedge clk_i) node_reset_o <= rst_ni && flush_i;
endmodule

`default_nettype wire
