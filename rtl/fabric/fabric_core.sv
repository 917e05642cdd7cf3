// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The part between the nodes: a link in each direction between every node and the switch
// (node_link), the switch, and the registers of the whole fabric behind the configuration bus
// (fabric_csr). Structure only.
//
// Function: fabric_csr also reaches the nodes' registers. All inputs of nodes come from registers
// here. Every node output that depends on them passes a register here. A simulation, or a second
// board, may be cut at this boundary.
`default_nettype none
`include "bundles.svh"

module fabric_core #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type group_t = `MW_GROUP(Cfg),
    parameter type link_t = `MW_LINK(Cfg)
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    input  wire bundle_pkg::bus_req_t cfg_i,
    output bundle_pkg::bus_rsp_t      cfg_o,
    output logic                      done_o,

    // to and from the nodes
    output bundle_pkg::layer_t        layer_o,
    output logic                      node_reset_o [Cfg.N],
    output bundle_pkg::csr_req_t      csr_o [Cfg.N],
    input  wire bundle_pkg::bus_rsp_t csr_i [Cfg.N],
    output bundle_pkg::emap_write_t   emap_o,
    output group_t                    groups_o,
    input  wire link_t                up_i [Cfg.N],
    output bundle_pkg::credit_t       up_crd_o [Cfg.N],
    output link_t                     dn_o [Cfg.N],
    input  wire logic [3:0]           dn_crd_i [Cfg.N],
    input  wire logic                 idle_i [Cfg.N],
    input  wire logic                 error_i [Cfg.N],
    input  wire logic                 sweep_busy_i [Cfg.N]
);
    // ---- registers ----
    bundle_pkg::switch_ctl_t ctl;
    logic [10:0] latency;
    logic [Cfg.N-1:0][Cfg.N-1:0] partition;
    logic [31:0] cnt_data;
    logic [31:0] mon_samples, mon_data;
    logic [Cfg.N-1:0] node_idle, node_error, sweep_busy;
    bundle_pkg::error_t sw_err;
    logic switch_idle, switch_sweeps, links_idle;
    logic [Cfg.N-1:0] port_enable, port_disable, port_quiet, port_down, port_flush, node_reset;
    logic [Cfg.PortW-1:0] sw_err_port;

    for (genvar g = 0; g < Cfg.N; g++) begin : gen_node
        assign node_idle[g] = idle_i[g];
        assign node_error[g] = error_i[g];
        assign sweep_busy[g] = sweep_busy_i[g];
        assign node_reset_o[g] = node_reset[g];
    end

    assign links_idle = &port_quiet;

    fabric_csr #(
        .Cfg(Cfg)
    ) i_csr (
        .clk_i,
        .rst_ni,
        .cfg_i,
        .cfg_o,
        .ctl_o(ctl),
        .node_o(csr_o),
        .node_i(csr_i),
        .go_o(layer_o.go),
        .run_o(layer_o.run),
        .sweep_o(layer_o.sweep),
        .done_o(done_o),
        .epoch_o(layer_o.epoch),
        .latency_o(latency),
        .emap_o,
        .groups_o,
        .partition_o(partition),
        .cnt_data_i(cnt_data),
        .mon_samples_i(mon_samples),
        .mon_data_i(mon_data),
        .all_idle_i((&node_idle) && switch_idle && links_idle),
        .node_idle_i(node_idle),
        .switch_idle_i(switch_idle),
        .links_idle_i(links_idle),
        .sweep_busy_i((|sweep_busy) || switch_sweeps),
        .node_error_i(node_error),
        .node_reset_i(node_reset),
        .enable_o(port_enable),
        .disable_o(port_disable),
        .down_i(port_down),
        .sw_err_i(sw_err),
        .sw_err_port_i(sw_err_port)
    );

    // ---- the switch's ends of the links ----
    link_t up_rx[Cfg.N];
    link_t dn_tx[Cfg.N];
    bundle_pkg::credit_t up_crd_sw[Cfg.N];
    logic [3:0] dn_crd_sw[Cfg.N];

    for (genvar g = 0; g < Cfg.N; g++) begin : gen_link
        node_link #(
            .Cfg(Cfg)
        ) i_link (
            .clk_i,
            .rst_ni,
            .latency_i(latency),
            .up_i(up_i[g]),
            .up_rx_o(up_rx[g]),
            .up_rx_crd_i(up_crd_sw[g]),
            .up_crd_o(up_crd_o[g]),
            .dn_tx_i(dn_tx[g]),
            .dn_o(dn_o[g]),
            .dn_crd_i(dn_crd_i[g]),
            .dn_tx_crd_o(dn_crd_sw[g]),
            .flush_i(port_flush[g]),
            .node_reset_o(node_reset[g]),
            .quiet_o(port_quiet[g])
        );
    end

    switch_top #(
        .Cfg(Cfg)
    ) i_switch (
        .clk_i,
        .rst_ni,
        .go_i(layer_o.go),
        .run_i(layer_o.run),
        .epoch_i(layer_o.epoch),
        .up_i(up_rx),
        .up_crd_o(up_crd_sw),
        .dn_o(dn_tx),
        .dn_crd_i(dn_crd_sw),
        .emap_i(emap_o),
        .groups_i(groups_o),
        .partition_i(partition),
        .ctl_i(ctl),
        .idle_o(switch_idle),
        .sweep_i(layer_o.sweep),
        .sweep_busy_o(switch_sweeps),
        .enable_i(port_enable),
        .disable_i(port_disable),
        .quiet_i(port_quiet),
        .down_o(port_down),
        .flush_o(port_flush),
        .cnt_data_o(cnt_data),
        .mon_samples_o(mon_samples),
        .mon_data_o(mon_data),
        .err_o(sw_err),
        .err_port_o(sw_err_port)
    );
endmodule

`default_nettype wire
