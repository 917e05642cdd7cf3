// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The device below its host link: N nodes (emulated GPU and hub) around fabric_core (links, switch,
// registers behind one configuration bus).
//
// Ports: Every node has its own host stream port to its memory. The host should access memory only
// between layers, as it competes with a layer for memory and delays its end. While host_down_o is
// high, accesses to that node are discarded, and a read gets no answer. done_o: a layer has ended
// since the last go, when every node, link and the switch were idle in the same cycle.
`default_nettype none
`include "bundles.svh"

module fabric #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type group_t = `MW_GROUP(Cfg),
    parameter type access_t = `MW_ACCESS(Cfg),
    parameter type answer_t = `MW_ANSWER(Cfg),
    parameter type link_t = `MW_LINK(Cfg)
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    input  wire bundle_pkg::bus_req_t cfg_i,
    output bundle_pkg::bus_rsp_t      cfg_o,

    input  wire access_t host_i [Cfg.N],
    output logic         host_ready_o [Cfg.N],
    output answer_t      host_o [Cfg.N],
    output logic         host_down_o [Cfg.N],  // the node is being reset, with its port
                                               // (register ports)

    output logic done_o
);
    initial begin
        if (Cfg.N < 2 || Cfg.N > packet_pkg::PortsMax) $fatal(1, "fabric: N must be 2 to 72");
        if (Cfg.FlitBytes != 8 && Cfg.FlitBytes != 16)
            $fatal(1, "fabric: flits have 8 or 16 bytes");
    end

    bundle_pkg::layer_t layer;
    bundle_pkg::csr_req_t csr[Cfg.N];
    bundle_pkg::bus_rsp_t csr_back[Cfg.N];
    bundle_pkg::emap_write_t emap;
    group_t groups;
    link_t up[Cfg.N];
    bundle_pkg::credit_t up_crd[Cfg.N];
    link_t dn[Cfg.N];
    logic [3:0] dn_crd[Cfg.N];
    logic idle[Cfg.N];
    logic error[Cfg.N];
    logic sweep_busy[Cfg.N];
    logic node_reset[Cfg.N];

    assign host_down_o = node_reset;

    fabric_core #(
        .Cfg(Cfg)
    ) i_core (
        .clk_i,
        .rst_ni,
        .cfg_i,
        .cfg_o,
        .done_o,
        .layer_o(layer),
        .node_reset_o(node_reset),
        .csr_o(csr),
        .csr_i(csr_back),
        .emap_o(emap),
        .groups_o(groups),
        .up_i(up),
        .up_crd_o(up_crd),
        .dn_o(dn),
        .dn_crd_i(dn_crd),
        .idle_i(idle),
        .error_i(error),
        .sweep_busy_i(sweep_busy)
    );

    for (genvar g = 0; g < Cfg.N; g++) begin : gen_node
        node #(
            .Cfg(Cfg)
        ) i_node (
            .clk_i,
            .rst_ni(rst_ni && !node_reset[g]),
            .port_i(packet_pkg::port_t'(g)),
            .layer_i(layer),
            .csr_i(csr[g]),
            .csr_o(csr_back[g]),
            .emap_i(emap),
            .groups_i(groups),
            .up_o(up[g]),
            .up_crd_i(up_crd[g]),
            .dn_i(dn[g]),
            .dn_crd_o(dn_crd[g]),
            .idle_o(idle[g]),
            .error_o(error[g]),
            .sweep_busy_o(sweep_busy[g]),
            .host_i(host_i[g]),
            .host_ready_o(host_ready_o[g]),
            .host_o(host_o[g])
        );
    end
endmodule

`default_nettype wire
