// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// What lies between the nodes: a link in each direction between every node and the switch (node_link), the switch, and the registers of the whole fabric behind
// the configuration bus (fabric_csr), which reaches the nodes' registers too. Structure only.
//
// Everything that nodes get comes from registers in here, and everything of a node that depends on it passes a register there: a simulation, or a
// second board, may be cut at this boundary.
`default_nettype none

module fabric_core #(
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
    output logic             done_o,

    // to and from the nodes
    output logic                      go_o,
    output logic                      run_o,
    output logic                      sweep_o,
    output logic                      node_reset_o [Cfg.N],
    output logic [1:0]                epoch_o,
    output logic                      csr_req_o [Cfg.N],
    output logic                      csr_we_o,
    output logic [11:0]               csr_addr_o,
    output logic [31:0]               csr_wdata_o,
    input  wire logic                 csr_ack_i [Cfg.N],
    input  wire logic                 csr_err_i [Cfg.N],
    input  wire logic [31:0]          csr_rdata_i [Cfg.N],
    output logic                      emap_we_o,
    output logic [11:0]               emap_addr_o,
    output node_pkg::emap_t           emap_data_o,
    output logic                      group_we_o,
    output logic [3:0]                group_addr_o,
    output logic [31:0]               group_data_o,
    input  wire logic                 up_valid_i [Cfg.N],
    input  wire logic                 up_last_i [Cfg.N],
    input  wire logic                 up_err_i [Cfg.N],
    input  wire logic [1:0]           up_cls_i [Cfg.N],
    input  wire logic [Cfg.FlitW-1:0] up_data_i [Cfg.N],
    output logic [3:0]                up_crd_o [Cfg.N],
    output logic [4:0]                up_crd_part_o [Cfg.N],
    output logic                      dn_valid_o [Cfg.N],
    output logic                      dn_last_o [Cfg.N],
    output logic                      dn_err_o [Cfg.N],
    output logic [1:0]                dn_cls_o [Cfg.N],
    output logic [Cfg.FlitW-1:0]      dn_data_o [Cfg.N],
    input  wire logic [3:0]           dn_crd_i [Cfg.N],
    input  wire logic                 idle_i [Cfg.N],
    input  wire logic                 error_i [Cfg.N],
    input  wire logic                 sweep_busy_i [Cfg.N]
);
    // ---- registers ----
    logic [Cfg.N-1:0]       node_req, node_ack, node_err;
    logic [Cfg.N-1:0][31:0] node_rdata;
    logic [7:0]         latency, store_credits, part_credits, throttle;
    logic [4:0]         window;
    logic [Cfg.N-1:0][Cfg.N-1:0] partition;
    logic [4:0]         cnt_port;
    logic [3:0]         cnt_idx;
    logic [31:0]        cnt_data;
    logic               mon_read, mon_series;
    logic [15:0]        mon_interval;
    logic [3:0]         mon_classes;
    logic [4:0]         mon_port;
    logic [7:0]         mon_word;
    logic [31:0]        mon_samples, mon_data;
    logic [Cfg.N-1:0]       node_idle, node_error, sweep_busy;
    logic               switch_idle, links_idle, sw_err_valid;
    logic [4:0]         limit;
    logic [Cfg.N-1:0]       port_enable, port_disable, port_quiet, port_down, port_flush, node_reset;
    error_pkg::err_e    sw_err_code;
    logic [4:0]         sw_err_port;

    for (genvar g = 0; g < Cfg.N; g++) begin : gen_node
        assign csr_req_o[g]  = node_req[g];
        assign node_ack[g]   = csr_ack_i[g];
        assign node_err[g]   = csr_err_i[g];
        assign node_rdata[g] = csr_rdata_i[g];
        assign node_idle[g]  = idle_i[g];
        assign node_error[g] = error_i[g];
        assign sweep_busy[g] = sweep_busy_i[g];
        assign node_reset_o[g] = node_reset[g];
    end

    assign links_idle = &port_quiet;

    fabric_csr #(.Cfg(Cfg)) i_csr (
        .clk_i, .rst_ni,
        .cfg_req_i, .cfg_we_i, .cfg_addr_i, .cfg_wdata_i, .cfg_ack_o, .cfg_rdata_o, .cfg_err_o,
        .node_req_o(node_req), .node_we_o(csr_we_o), .node_addr_o(csr_addr_o), .node_wdata_o(csr_wdata_o),
        .node_ack_i(node_ack), .node_err_i(node_err), .node_rdata_i(node_rdata),
        .go_o, .run_o, .sweep_o, .done_o(done_o), .epoch_o, .latency_o(latency),
        .store_credits_o(store_credits), .part_credits_o(part_credits), .throttle_o(throttle), .window_o(window),
        .emap_we_o, .emap_addr_o, .emap_data_o,
        .group_we_o, .group_addr_o, .group_data_o, .partition_o(partition),
        .cnt_port_o(cnt_port), .cnt_idx_o(cnt_idx), .cnt_data_i(cnt_data),
        .mon_interval_o(mon_interval), .mon_classes_o(mon_classes), .mon_samples_i(mon_samples), .mon_read_o(mon_read), .mon_port_o(mon_port),
        .mon_series_o(mon_series), .mon_word_o(mon_word), .mon_data_i(mon_data),
        .all_idle_i((&node_idle) && switch_idle && links_idle), .node_idle_i(node_idle), .switch_idle_i(switch_idle), .links_idle_i(links_idle),
        .sweep_busy_i(|sweep_busy), .node_error_i(node_error), .node_reset_i(node_reset),
        .limit_o(limit), .enable_o(port_enable), .disable_o(port_disable), .down_i(port_down),
        .sw_err_valid_i(sw_err_valid), .sw_err_code_i(sw_err_code), .sw_err_port_i(sw_err_port)
    );

    // ---- the switch's ends of the links ----
    logic          up_rx_valid [Cfg.N], up_rx_last [Cfg.N], up_rx_err [Cfg.N], dn_tx_valid [Cfg.N], dn_tx_last [Cfg.N], dn_tx_err [Cfg.N];
    logic [1:0]    up_rx_cls [Cfg.N], dn_tx_cls [Cfg.N];
    logic [Cfg.FlitW-1:0] up_rx_data [Cfg.N], dn_tx_data [Cfg.N];
    logic [3:0]    up_crd_sw [Cfg.N], dn_crd_sw [Cfg.N];
    logic [4:0]    up_part_sw [Cfg.N];

    for (genvar g = 0; g < Cfg.N; g++) begin : gen_link
        node_link #(.Cfg(Cfg)) i_link (
            .clk_i, .rst_ni, .latency_i(latency),
            .up_valid_i(up_valid_i[g]), .up_last_i(up_last_i[g]), .up_err_i(up_err_i[g]), .up_cls_i(up_cls_i[g]), .up_data_i(up_data_i[g]),
            .up_rx_valid_o(up_rx_valid[g]), .up_rx_last_o(up_rx_last[g]), .up_rx_err_o(up_rx_err[g]), .up_rx_cls_o(up_rx_cls[g]), .up_rx_data_o(up_rx_data[g]),
            .up_rx_crd_i(up_crd_sw[g]), .up_rx_crd_part_i(up_part_sw[g]), .up_crd_o(up_crd_o[g]), .up_crd_part_o(up_crd_part_o[g]),
            .dn_tx_valid_i(dn_tx_valid[g]), .dn_tx_last_i(dn_tx_last[g]), .dn_tx_err_i(dn_tx_err[g]), .dn_tx_cls_i(dn_tx_cls[g]), .dn_tx_data_i(dn_tx_data[g]),
            .dn_valid_o(dn_valid_o[g]), .dn_last_o(dn_last_o[g]), .dn_err_o(dn_err_o[g]), .dn_cls_o(dn_cls_o[g]), .dn_data_o(dn_data_o[g]),
            .dn_crd_i(dn_crd_i[g]), .dn_tx_crd_o(dn_crd_sw[g]),
            .flush_i(port_flush[g]), .node_reset_o(node_reset[g]), .quiet_o(port_quiet[g])
        );
    end

    switch_top #(.Cfg(Cfg)) i_switch (
        .clk_i, .rst_ni, .go_i(go_o), .run_i(run_o), .epoch_i(epoch_o),
        .up_valid_i(up_rx_valid), .up_last_i(up_rx_last), .up_err_i(up_rx_err), .up_cls_i(up_rx_cls), .up_data_i(up_rx_data),
        .up_crd_o(up_crd_sw), .up_crd_part_o(up_part_sw),
        .dn_valid_o(dn_tx_valid), .dn_last_o(dn_tx_last), .dn_err_o(dn_tx_err), .dn_cls_o(dn_tx_cls), .dn_data_o(dn_tx_data), .dn_crd_i(dn_crd_sw),
        .emap_we_i(emap_we_o), .emap_addr_i(emap_addr_o), .emap_data_i(emap_data_o),
        .group_we_i(group_we_o), .group_addr_i(group_addr_o), .group_data_i(group_data_o), .partition_i(partition),
        .throttle_i(throttle), .store_credits_i(store_credits), .part_credits_i(part_credits), .window_i(window), .idle_o(switch_idle),
        .limit_i(limit), .enable_i(port_enable), .disable_i(port_disable), .quiet_i(port_quiet), .down_o(port_down), .flush_o(port_flush),
        .cnt_port_i(cnt_port), .cnt_idx_i(cnt_idx), .cnt_data_o(cnt_data),
        .mon_interval_i(mon_interval), .mon_classes_i(mon_classes), .mon_samples_o(mon_samples), .mon_read_i(mon_read), .mon_port_i(mon_port),
        .mon_series_i(mon_series), .mon_word_i(mon_word), .mon_data_o(mon_data),
        .err_valid_o(sw_err_valid), .err_code_o(sw_err_code), .err_port_o(sw_err_port)
    );
endmodule

`default_nettype wire
