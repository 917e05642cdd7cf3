// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The device below its host link: N nodes (emulated GPU and hub) around fabric_core (links, switch, registers behind one configuration bus).
// Every node has a host stream port of its own to its memory; host accesses to memory are for idle times: they compete with the layer for memory
// and hold off its end. While host_down_o, what a node takes there is forgotten, a read without an answer.
//
// done_o: a layer has ended since the last go: every node, link and the switch was idle in the same cycle.
`default_nettype none

module fabric #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    input  wire logic        cfg_req_i,
    input  wire logic        cfg_we_i,
    input  wire logic [31:0] cfg_addr_i,
    input  wire logic [31:0] cfg_wdata_i,
    output logic             cfg_ack_o,
    output logic [31:0]      cfg_rdata_o,
    output logic             cfg_err_o,

    input  wire logic                 host_valid_i [Cfg.N],
    output logic                      host_ready_o [Cfg.N],
    input  wire logic                 host_we_i [Cfg.N],
    input  wire logic [31:0]          host_addr_i [Cfg.N], // flit address
    input  wire logic [Cfg.FlitW-1:0] host_wdata_i [Cfg.N],
    output logic                      host_rvalid_o [Cfg.N],
    output logic [Cfg.FlitW-1:0]      host_rdata_o [Cfg.N],
    output logic                      host_down_o [Cfg.N], // the node is being reset, with its port (register ports)

    output logic done_o
);
    initial begin
        if (Cfg.N < 2 || Cfg.N > 32) $fatal(1, "fabric: N must be 2 to 32");
        if (Cfg.FlitBytes != 8 && Cfg.FlitBytes != 16) $fatal(1, "fabric: flits have 8 or 16 bytes");
    end

    logic go;
    logic run;
    logic sweep;
    logic [1:0] epoch;
    logic csr_req [Cfg.N];
    logic csr_we;
    logic [11:0] csr_addr;
    logic [31:0] csr_wdata;
    logic csr_ack [Cfg.N];
    logic csr_err [Cfg.N];
    logic [31:0] csr_rdata [Cfg.N];
    logic emap_we;
    logic [11:0] emap_addr;
    node_pkg::emap_t emap_data;
    logic group_we;
    logic [3:0] group_addr;
    logic [31:0] group_data;
    logic up_valid [Cfg.N];
    logic up_last [Cfg.N];
    logic up_err [Cfg.N];
    logic [1:0] up_cls [Cfg.N];
    logic [Cfg.FlitW-1:0] up_data [Cfg.N];
    logic [3:0] up_crd [Cfg.N];
    logic [4:0] up_crd_part [Cfg.N];
    logic dn_valid [Cfg.N];
    logic dn_last [Cfg.N];
    logic dn_err [Cfg.N];
    logic [1:0] dn_cls [Cfg.N];
    logic [Cfg.FlitW-1:0] dn_data [Cfg.N];
    logic [3:0] dn_crd [Cfg.N];
    logic idle [Cfg.N];
    logic error [Cfg.N];
    logic sweep_busy [Cfg.N];
    logic node_reset [Cfg.N];

    assign host_down_o = node_reset;

    fabric_core #(.Cfg(Cfg)) i_core (
        .clk_i, .rst_ni, .cfg_req_i, .cfg_we_i, .cfg_addr_i, .cfg_wdata_i, .cfg_ack_o, .cfg_rdata_o, .cfg_err_o, .done_o,
        .go_o(go), .run_o(run), .sweep_o(sweep), .node_reset_o(node_reset), .epoch_o(epoch), .csr_req_o(csr_req), .csr_we_o(csr_we), .csr_addr_o(csr_addr), .csr_wdata_o(csr_wdata),
        .csr_ack_i(csr_ack), .csr_err_i(csr_err), .csr_rdata_i(csr_rdata), .emap_we_o(emap_we), .emap_addr_o(emap_addr), .emap_data_o(emap_data),
        .group_we_o(group_we), .group_addr_o(group_addr), .group_data_o(group_data), .up_valid_i(up_valid), .up_last_i(up_last), .up_err_i(up_err),
        .up_cls_i(up_cls), .up_data_i(up_data), .up_crd_o(up_crd), .up_crd_part_o(up_crd_part), .dn_valid_o(dn_valid), .dn_last_o(dn_last),
        .dn_err_o(dn_err), .dn_cls_o(dn_cls), .dn_data_o(dn_data), .dn_crd_i(dn_crd), .idle_i(idle), .error_i(error), .sweep_busy_i(sweep_busy)
    );

    for (genvar g = 0; g < Cfg.N; g++) begin : gen_node
        node #(.Cfg(Cfg)) i_node (
            .clk_i, .rst_ni(rst_ni && !node_reset[g]), .port_i(5'(g)),
            .go_i(go), .run_i(run), .sweep_i(sweep), .epoch_i(epoch), .csr_req_i(csr_req[g]), .csr_we_i(csr_we), .csr_addr_i(csr_addr), .csr_wdata_i(csr_wdata),
            .csr_ack_o(csr_ack[g]), .csr_err_o(csr_err[g]), .csr_rdata_o(csr_rdata[g]), .emap_we_i(emap_we), .emap_addr_i(emap_addr),
            .emap_data_i(emap_data), .group_we_i(group_we), .group_addr_i(group_addr), .group_data_i(group_data), .up_valid_o(up_valid[g]),
            .up_last_o(up_last[g]), .up_err_o(up_err[g]), .up_cls_o(up_cls[g]), .up_data_o(up_data[g]), .up_crd_i(up_crd[g]),
            .up_crd_part_i(up_crd_part[g]), .dn_valid_i(dn_valid[g]), .dn_last_i(dn_last[g]), .dn_err_i(dn_err[g]), .dn_cls_i(dn_cls[g]),
            .dn_data_i(dn_data[g]), .dn_crd_o(dn_crd[g]), .idle_o(idle[g]), .error_o(error[g]), .sweep_busy_o(sweep_busy[g]),
            .host_valid_i(host_valid_i[g]), .host_ready_o(host_ready_o[g]), .host_we_i(host_we_i[g]), .host_addr_i(host_addr_i[g]),
            .host_wdata_i(host_wdata_i[g]), .host_rvalid_o(host_rvalid_o[g]), .host_rdata_o(host_rdata_o[g])
        );
    end
endmodule

`default_nettype wire
