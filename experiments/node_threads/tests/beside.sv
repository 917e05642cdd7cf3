// SPDX-License-Identifier: Apache-2.0
//
// fabric and fabric_threads beside each other, for the same calls: what every node tells, in every
// cycle, and what the whole answers, has to be the same, or the simulation ends. Ports are those of
// fabric_threads, answers those of it.
`default_nettype none
`include "bundles.svh"

module beside #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default
) (
    input  wire logic clk_i,
    input  wire logic node_clk_i,
    input  wire logic rst_ni,

    input  wire bundle_pkg::bus_req_t cfg_i,
    output bundle_pkg::bus_rsp_t      cfg_o,

    input  wire `MW_ACCESS(Cfg) host_i [Cfg.N],
    output logic                host_ready_o [Cfg.N],
    output `MW_ANSWER(Cfg)      host_o [Cfg.N],
    output logic                host_down_o [Cfg.N],

    output logic done_o
);
    bundle_pkg::bus_rsp_t cfg_back;
    logic                 host_ready [Cfg.N];
    `MW_ANSWER(Cfg)       host_back [Cfg.N];
    logic                 host_down [Cfg.N], done;

    fabric #(.Cfg(Cfg)) i_spatial (
        .clk_i, .rst_ni, .cfg_i, .cfg_o(cfg_back),
        .host_i, .host_ready_o(host_ready), .host_o(host_back),
        .host_down_o(host_down), .done_o(done)
    );

    fabric_threads #(.Cfg(Cfg)) i_threads (
        .clk_i, .node_clk_i, .rst_ni, .cfg_i, .cfg_o,
        .host_i, .host_ready_o, .host_o, .host_down_o, .done_o
    );

    // ---- what both have ----
    longint unsigned cycle_q = 0, compared_q = 0;

    task automatic differ(input string what, input int unsigned node, input logic [255:0] spatial,
                          input logic [255:0] threaded);
        $display("beside: cycle %0d: %s of node %0d is %h, with threads %h", cycle_q, what, node,
                 spatial, threaded);
        $fatal(1, "beside: not the same");
    endtask

    always_ff @(posedge clk_i) begin
        cycle_q <= cycle_q + 1;
        if (rst_ni) compared_q <= compared_q + 1;
        for (int unsigned g = 0; g < Cfg.N; g++) begin
            if (i_spatial.up[g] != i_threads.up[g])
                differ("up", g, 256'(i_spatial.up[g]), 256'(i_threads.up[g]));
            if (i_spatial.dn_crd[g] != i_threads.dn_crd[g])
                differ("dn_crd", g, 256'(i_spatial.dn_crd[g]), 256'(i_threads.dn_crd[g]));
            if (i_spatial.csr_back[g] != i_threads.csr_back[g])
                differ("csr", g, 256'(i_spatial.csr_back[g]), 256'(i_threads.csr_back[g]));
            if (i_spatial.idle[g] != i_threads.idle[g])
                differ("idle", g, 256'(i_spatial.idle[g]), 256'(i_threads.idle[g]));
            if (i_spatial.error[g] != i_threads.error[g])
                differ("error", g, 256'(i_spatial.error[g]), 256'(i_threads.error[g]));
            if (i_spatial.sweep_busy[g] != i_threads.sweep_busy[g])
                differ("sweep_busy", g, 256'(i_spatial.sweep_busy[g]),
                       256'(i_threads.sweep_busy[g]));
            if (host_ready[g] != host_ready_o[g])
                differ("host_ready", g, 256'(host_ready[g]), 256'(host_ready_o[g]));
            // Data without rvalid is another client's of the port, such as the allocator's,
            // which reads a flit while it writes another entry of it: those bytes are undefined
            // (gpu_mem), and here old in one, new in the other.
            if (host_back[g].rvalid != host_o[g].rvalid
                || (host_o[g].rvalid && host_back[g] != host_o[g]))
                differ("host", g, 256'(host_back[g]), 256'(host_o[g]));
            if (host_down[g] != host_down_o[g])
                differ("host_down", g, 256'(host_down[g]), 256'(host_down_o[g]));
        end
        if (cfg_back != cfg_o) differ("cfg", 0, 256'(cfg_back), 256'(cfg_o));
        if (done != done_o) differ("done", 0, 256'(done), 256'(done_o));
    end

    final $display("beside: %0d cycles, the same in all", compared_q);
endmodule

`default_nettype wire
