// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The fabric with one physical node (node_threads) for all N.
//
// Function: rewrite/ makes node_threads from node. Ports and answers equal those of fabric, in the
// same cycles.
// Ports: clk_i has one rising edge per fabric cycle. node_clk_i has N edges at equal distances, the
// last together with that of clk_i. Between these edges the node is node 0, 1, ... N-1 in turn. It
// gets the inputs of that node, and its outputs are stored until the cycle ends. The last node's
// outputs come at the right time and are not stored. Inputs of the node come from registers of
// clk_i, or from outside, and are stable for the cycle.
`default_nettype none
`include "bundles.svh"

module fabric_threads #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type group_t = `MW_GROUP(Cfg),
    parameter type access_t = `MW_ACCESS(Cfg),
    parameter type answer_t = `MW_ANSWER(Cfg),
    parameter type link_t = `MW_LINK(Cfg)
) (
    input  wire logic clk_i,
    input  wire logic node_clk_i,
    input  wire logic rst_ni,  // synchronous to clk_i

    input  wire bundle_pkg::bus_req_t cfg_i,
    output bundle_pkg::bus_rsp_t      cfg_o,

    input  wire access_t host_i [Cfg.N],
    output logic         host_ready_o [Cfg.N],
    output answer_t      host_o [Cfg.N],
    output logic         host_down_o [Cfg.N],

    output logic done_o
);
    localparam int unsigned ThreadW = $clog2(Cfg.N);
    localparam logic [ThreadW-1:0] Last = ThreadW'(Cfg.N - 1);

    initial begin
        if (Cfg.N < 4 || Cfg.N > 8) $fatal(1, "fabric_threads: N must be 4 to 8");
    end

    // what a node tells, in the cycle of the fabric
    typedef struct packed {
        bundle_pkg::bus_rsp_t csr;
        link_t                up;
        logic [3:0]           dn_crd;
        logic                 idle;
        logic                 error;
        logic                 sweep_busy;
        logic                 host_ready;
        answer_t              host;
    } node_out_t;

    // ---- which thread: the edge of clk_i shows as a register that turns over ----
    logic beat_q;
    logic seen_q;
    logic [ThreadW-1:0] thread_q;

    always_ff @(posedge clk_i) beat_q <= !beat_q;

    always_ff @(posedge node_clk_i) begin
        seen_q <= beat_q;
        thread_q <= beat_q != seen_q ? ThreadW'(1) : thread_q == Last ? '0 : thread_q + 1'b1;
    end

    // ---- everything but the nodes ----
    bundle_pkg::layer_t layer;
    bundle_pkg::csr_req_t csr[Cfg.N];
    bundle_pkg::bus_rsp_t csr_back[Cfg.N];
    bundle_pkg::emap_write_t emap;
    group_t groups;
    link_t up[Cfg.N];
    bundle_pkg::credit_t up_crd[Cfg.N];
    link_t dn[Cfg.N];
    logic [3:0] dn_crd[Cfg.N];
    logic idle[Cfg.N], error[Cfg.N], sweep_busy[Cfg.N], node_reset[Cfg.N];

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

    assign host_down_o = node_reset;

    // ---- the node ----
    node_out_t now, node_out[Cfg.N];

    node_threads i_node (
        .clk_i(node_clk_i),
        .thread_i(thread_q),
        .rst_ni(rst_ni && !node_reset[thread_q]),
        .port_i(packet_pkg::port_t'(thread_q)),
        .layer_i(layer),
        .csr_i(csr[thread_q]),
        .csr_o(now.csr),
        .emap_i(emap),
        .groups_i(groups),
        .up_o(now.up),
        .up_crd_i(up_crd[thread_q]),
        .dn_i(dn[thread_q]),
        .dn_crd_o(now.dn_crd),
        .idle_o(now.idle),
        .error_o(now.error),
        .sweep_busy_o(now.sweep_busy),
        .host_i(host_i[thread_q]),
        .host_ready_o(now.host_ready),
        .host_o(now.host)
    );

    for (genvar g = 0; g < Cfg.N; g++) begin : gen_node_out
        if (g == Cfg.N - 1) begin : gen_last
            assign node_out[g] = now;
        end else begin : gen_kept
            node_out_t node_out_q;
            always_ff @(posedge node_clk_i) begin
                if (thread_q == ThreadW'(g)) node_out_q <= now;
            end
            assign node_out[g] = node_out_q;
        end

        assign csr_back[g] = node_out[g].csr;
        assign up[g] = node_out[g].up;
        assign dn_crd[g] = node_out[g].dn_crd;
        assign idle[g] = node_out[g].idle;
        assign error[g] = node_out[g].error;
        assign sweep_busy[g] = node_out[g].sweep_busy;
        assign host_ready_o[g] = node_out[g].host_ready;
        assign host_o[g] = node_out[g].host;
    end
endmodule

`default_nettype wire
