// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The device below its host link: N nodes (emulated GPU and hub), a link in each direction between every node and the switch, the switch,
// and the registers of all of them behind one configuration bus (fabric_csr). Every node has a host stream port of its own to its memory;
// host accesses to memory are for idle times: they compete with the layer for memory and hold off its end.
//
// done_o: a layer has ended since the last go: every node, link and the switch was idle in the same cycle.
`default_nettype none

module fabric #(
    parameter int unsigned N               = 4,
    parameter int unsigned FlitBytes       = 8,
    parameter int unsigned MemBytesLog2    = 25,   // bytes of a GPU's memory
    parameter int unsigned RowsLog2        = 15,   // rows of all experts of a GPU
    parameter int unsigned TokensLog2      = 12,   // own tokens of a GPU
    parameter int unsigned MaxExperts      = 512,  // entries of the expert map
    parameter int unsigned MaxLocalExperts = 32,   // experts of a GPU, at most 32
    parameter int unsigned CacheEntries    = 512,  // of the allocator
    parameter int unsigned MaxLatency      = 64,   // of a link, cycles
    parameter int unsigned OpenRows        = 8,    // reduction requests outstanding per requester
    parameter int unsigned StorePkts       = 16,   // window of an input of the switch
    parameter int unsigned PartPkts        = 4,    // partials queued per {hub, requester}
    localparam int unsigned FW = 8 * FlitBytes
) (
    input  wire logic              clk_i,
    input  wire logic              rst_ni,

    input  wire logic              cfg_req_i,
    input  wire logic              cfg_we_i,
    input  wire logic [31:0]       cfg_addr_i,
    input  wire logic [31:0]       cfg_wdata_i,
    output logic                   cfg_ack_o,
    output logic [31:0]            cfg_rdata_o,
    output logic                   cfg_err_o,

    input  wire logic              host_valid_i  [N],
    output logic                   host_ready_o  [N],
    input  wire logic              host_we_i     [N],
    input  wire logic [31:0]       host_addr_i   [N],  // flit address
    input  wire logic [FW-1:0]     host_wdata_i  [N],
    output logic                   host_rvalid_o [N],
    output logic [FW-1:0]          host_rdata_o  [N],

    output logic                   done_o
);
    localparam int unsigned Groups = 16, Banks = 4;
    localparam int unsigned CtrlPkts = 16, RxCtrlPkts = 16, RxStorePkts = 16, RxResultPkts = 4;

    initial begin
        if (N < 2 || N > 32) $fatal(1, "fabric: N must be 2 to 32");
        if (FlitBytes != 8 && FlitBytes != 16) $fatal(1, "fabric: flits have 8 or 16 bytes");
    end

    // ---- registers ----
    logic [N-1:0]       node_req, node_ack, node_err;
    logic               node_we;
    logic [11:0]        node_addr;
    logic [31:0]        node_wdata;
    logic [N-1:0][31:0] node_rdata;
    logic               go, sweep;
    logic [1:0]         epoch;
    logic [7:0]         latency, store_credits, part_credits, throttle;
    logic               emap_we, group_we;
    logic [11:0]        emap_addr;
    node_pkg::emap_t    emap_data;
    logic [3:0]         group_addr;
    logic [31:0]        group_data;
    logic [N-1:0][N-1:0] partition;
    logic [4:0]         cnt_port;
    logic [3:0]         cnt_idx;
    logic [31:0]        cnt_data;
    logic [N-1:0]       node_idle, node_error, sweep_busy;
    logic [2*N-1:0]     link_busy;
    logic               switch_idle, links_idle, sw_err_valid;
    error_pkg::err_e    sw_err_code;
    logic [4:0]         sw_err_port;

    assign links_idle = link_busy == '0;

    fabric_csr #(
        .N(N), .FlitBytes(FlitBytes), .MemBytesLog2(MemBytesLog2), .Banks(Banks), .RowsLog2(RowsLog2), .TokensLog2(TokensLog2),
        .CacheEntries(CacheEntries), .MaxLocalExperts(MaxLocalExperts), .MaxExperts(MaxExperts), .Groups(Groups), .MaxLatency(MaxLatency),
        .OpenRows(OpenRows), .PartPkts(PartPkts), .StorePkts(StorePkts), .RxStorePkts(RxStorePkts)
    ) i_csr (
        .clk_i, .rst_ni,
        .cfg_req_i, .cfg_we_i, .cfg_addr_i, .cfg_wdata_i, .cfg_ack_o, .cfg_rdata_o, .cfg_err_o,
        .node_req_o(node_req), .node_we_o(node_we), .node_addr_o(node_addr), .node_wdata_o(node_wdata),
        .node_ack_i(node_ack), .node_err_i(node_err), .node_rdata_i(node_rdata),
        .go_o(go), .sweep_o(sweep), .done_o(done_o), .epoch_o(epoch), .latency_o(latency),
        .store_credits_o(store_credits), .part_credits_o(part_credits), .throttle_o(throttle),
        .emap_we_o(emap_we), .emap_addr_o(emap_addr), .emap_data_o(emap_data),
        .group_we_o(group_we), .group_addr_o(group_addr), .group_data_o(group_data), .partition_o(partition),
        .cnt_port_o(cnt_port), .cnt_idx_o(cnt_idx), .cnt_data_i(cnt_data),
        .all_idle_i((&node_idle) && switch_idle && links_idle), .node_idle_i(node_idle), .switch_idle_i(switch_idle), .links_idle_i(links_idle),
        .sweep_busy_i(|sweep_busy), .node_error_i(node_error),
        .sw_err_valid_i(sw_err_valid), .sw_err_code_i(sw_err_code), .sw_err_port_i(sw_err_port)
    );

    // ---- the ends of the links: up_tx at the node, up_rx at the switch; dn_tx at the switch, dn_rx at the node ----
    logic          up_tx_valid [N], up_tx_last [N], up_tx_err [N], up_rx_valid [N], up_rx_last [N], up_rx_err [N];
    logic          dn_tx_valid [N], dn_tx_last [N], dn_tx_err [N], dn_rx_valid [N], dn_rx_last [N], dn_rx_err [N];
    logic [1:0]    up_tx_cls [N], up_rx_cls [N], dn_tx_cls [N], dn_rx_cls [N];
    logic [FW-1:0] up_tx_data [N], up_rx_data [N], dn_tx_data [N], dn_rx_data [N];
    logic [3:0]    up_crd_sw [N], up_crd_node [N], dn_crd_node [N], dn_crd_sw [N];
    logic [4:0]    up_part_sw [N], up_part_node [N];

    for (genvar g = 0; g < N; g++) begin : gen_port
        logic [4:0] unused_part;

        node #(
            .N(N), .FlitBytes(FlitBytes), .MemBytesLog2(MemBytesLog2), .RowsLog2(RowsLog2), .TokensLog2(TokensLog2), .MaxExperts(MaxExperts),
            .MaxLocalExperts(MaxLocalExperts), .CacheEntries(CacheEntries), .Banks(Banks), .OpenRows(OpenRows), .StorePkts(StorePkts),
            .CtrlPkts(CtrlPkts), .PartPkts(PartPkts), .RxStorePkts(RxStorePkts), .RxResultPkts(RxResultPkts), .RxCtrlPkts(RxCtrlPkts)
        ) i_node (
            .clk_i, .rst_ni, .go_i(go), .sweep_i(sweep), .port_i(5'(g)), .epoch_i(epoch),
            .csr_req_i(node_req[g]), .csr_we_i(node_we), .csr_addr_i(node_addr), .csr_wdata_i(node_wdata),
            .csr_ack_o(node_ack[g]), .csr_err_o(node_err[g]), .csr_rdata_o(node_rdata[g]),
            .emap_we_i(emap_we), .emap_addr_i(emap_addr), .emap_data_i(emap_data),
            .group_we_i(group_we), .group_addr_i(group_addr), .group_data_i(group_data),
            .up_valid_o(up_tx_valid[g]), .up_last_o(up_tx_last[g]), .up_err_o(up_tx_err[g]), .up_cls_o(up_tx_cls[g]), .up_data_o(up_tx_data[g]),
            .up_crd_i(up_crd_node[g]), .up_crd_part_i(up_part_node[g]),
            .dn_valid_i(dn_rx_valid[g]), .dn_last_i(dn_rx_last[g]), .dn_err_i(dn_rx_err[g]), .dn_cls_i(dn_rx_cls[g]), .dn_data_i(dn_rx_data[g]),
            .dn_crd_o(dn_crd_node[g]),
            .host_valid_i(host_valid_i[g]), .host_ready_o(host_ready_o[g]), .host_we_i(host_we_i[g]), .host_addr_i(host_addr_i[g]),
            .host_wdata_i(host_wdata_i[g]), .host_rvalid_o(host_rvalid_o[g]), .host_rdata_o(host_rdata_o[g]),
            .idle_o(node_idle[g]), .error_o(node_error[g]), .sweep_busy_o(sweep_busy[g])
        );

        link #(.FlitBytes(FlitBytes), .MaxLatency(MaxLatency), .NumPart(N)) i_up (
            .clk_i, .rst_ni, .latency_i(latency),
            .tx_valid_i(up_tx_valid[g]), .tx_last_i(up_tx_last[g]), .tx_err_i(up_tx_err[g]), .tx_cls_i(up_tx_cls[g]), .tx_data_i(up_tx_data[g]),
            .rx_valid_o(up_rx_valid[g]), .rx_last_o(up_rx_last[g]), .rx_err_o(up_rx_err[g]), .rx_cls_o(up_rx_cls[g]), .rx_data_o(up_rx_data[g]),
            .crd_i(up_crd_sw[g]), .crd_part_i(up_part_sw[g]), .crd_o(up_crd_node[g]), .crd_part_o(up_part_node[g]), .busy_o(link_busy[2*g])
        );

        link #(.FlitBytes(FlitBytes), .MaxLatency(MaxLatency), .NumPart(1)) i_down (
            .clk_i, .rst_ni, .latency_i(latency),
            .tx_valid_i(dn_tx_valid[g]), .tx_last_i(dn_tx_last[g]), .tx_err_i(dn_tx_err[g]), .tx_cls_i(dn_tx_cls[g]), .tx_data_i(dn_tx_data[g]),
            .rx_valid_o(dn_rx_valid[g]), .rx_last_o(dn_rx_last[g]), .rx_err_o(dn_rx_err[g]), .rx_cls_o(dn_rx_cls[g]), .rx_data_o(dn_rx_data[g]),
            .crd_i(dn_crd_node[g]), .crd_part_i('0), .crd_o(dn_crd_sw[g]), .crd_part_o(unused_part), .busy_o(link_busy[2*g+1])
        );
        wire unused = &{1'b0, unused_part};
    end

    switch_top #(
        .N(N), .FlitBytes(FlitBytes), .StorePkts(StorePkts), .CtrlPkts(CtrlPkts), .OpenRows(OpenRows), .PartPkts(PartPkts), .MaxExperts(MaxExperts),
        .Groups(Groups), .RxStorePkts(RxStorePkts), .RxResultPkts(RxResultPkts), .RxCtrlPkts(RxCtrlPkts)
    ) i_switch (
        .clk_i, .rst_ni, .go_i(go), .epoch_i(epoch),
        .up_valid_i(up_rx_valid), .up_last_i(up_rx_last), .up_err_i(up_rx_err), .up_cls_i(up_rx_cls), .up_data_i(up_rx_data),
        .up_crd_o(up_crd_sw), .up_crd_part_o(up_part_sw),
        .dn_valid_o(dn_tx_valid), .dn_last_o(dn_tx_last), .dn_err_o(dn_tx_err), .dn_cls_o(dn_tx_cls), .dn_data_o(dn_tx_data), .dn_crd_i(dn_crd_sw),
        .emap_we_i(emap_we), .emap_addr_i(emap_addr), .emap_data_i(emap_data),
        .group_we_i(group_we), .group_addr_i(group_addr), .group_data_i(group_data), .partition_i(partition),
        .throttle_i(throttle), .store_credits_i(store_credits), .part_credits_i(part_credits), .idle_o(switch_idle),
        .cnt_port_i(cnt_port), .cnt_idx_i(cnt_idx), .cnt_data_o(cnt_data),
        .err_valid_o(sw_err_valid), .err_code_o(sw_err_code), .err_port_o(sw_err_port)
    );
endmodule

`default_nettype wire
