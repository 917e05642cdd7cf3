// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Bench for switch_top: the switch between 2 N links of settable latency. The test
// plays the hubs at their far ends. Data are arrays of 32-bit words, port by port.
`default_nettype none

module switch_bench #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    localparam int unsigned Words = Cfg.FlitBytes / 4
) (
    input  wire logic       clk_i,
    input  wire logic       rst_ni,
    input  wire logic       go_i,
    input  wire logic       run_i,
    input  wire logic [1:0] epoch_i,
    input  wire logic [7:0] latency_i,

    input  wire logic        up_valid_i [Cfg.N],
    input  wire logic        up_last_i [Cfg.N],
    input  wire logic        up_err_i [Cfg.N],
    input  wire logic [1:0]  up_cls_i [Cfg.N],
    input  wire logic [31:0] up_data_i [Cfg.N*Words],
    output logic [3:0]       up_crd_o [Cfg.N],
    output logic [4:0]       up_crd_part_o [Cfg.N],

    output logic            dn_valid_o [Cfg.N],
    output logic            dn_last_o [Cfg.N],
    output logic            dn_err_o [Cfg.N],
    output logic [1:0]      dn_cls_o [Cfg.N],
    output logic [31:0]     dn_data_o [Cfg.N*Words],
    input  wire logic [3:0] dn_crd_i [Cfg.N],

    input  wire logic        emap_we_i,
    input  wire logic [11:0] emap_addr_i,
    input  wire logic [11:0] emap_data_i,
    input  wire logic        group_we_i,
    input  wire logic [3:0]  group_addr_i,
    input  wire logic [31:0] group_data_i,
    input  wire logic [31:0] partition_i [Cfg.N],
    input  wire logic [7:0]  throttle_i,
    input  wire logic [4:0]  window_i,
    input  wire logic [7:0]  store_credits_i,
    input  wire logic [7:0]  part_credits_i,

    input  wire logic [4:0]  limit_i,
    input  wire logic [31:0] enable_i,
    input  wire logic [31:0] disable_i,
    output logic [31:0]      down_o,
    output logic [31:0]      flush_o,

    output logic             idle_o,
    output logic             links_idle_o,
    input  wire logic [4:0]  cnt_port_i,
    input  wire logic [3:0]  cnt_idx_i,
    output logic [31:0]      cnt_data_o,
    input  wire logic [15:0] mon_interval_i,
    input  wire logic [3:0]  mon_classes_i,
    output logic [31:0]      mon_samples_o,
    input  wire logic        mon_read_i,
    input  wire logic [4:0]  mon_port_i,
    input  wire logic        mon_series_i,
    input  wire logic [7:0]  mon_word_i,
    output logic [31:0]      mon_data_o,
    output logic             err_valid_o,
    output logic [7:0]       err_code_o,
    output logic [4:0]       err_port_o,

    output logic [31:0] param_o [12] // what the bench was built with
);
    assign param_o = '{Cfg.N, Cfg.FlitBytes, Cfg.StorePkts, Cfg.CtrlPkts, Cfg.OpenRows, Cfg.PartPkts, Cfg.RxStorePkts, Cfg.RxResultPkts, Cfg.RxCtrlPkts, Cfg.MaxExperts, Cfg.Window, 32'(Cfg.PartGuest)};

    logic                   up_valid [Cfg.N];
    logic                   up_last [Cfg.N];
    logic                   up_err [Cfg.N];
    logic [1:0]             up_cls [Cfg.N];
    logic [Cfg.FlitW-1:0] up_data [Cfg.N];
    logic [3:0]             up_crd [Cfg.N];
    logic [4:0]             up_crd_part [Cfg.N];
    logic                   dn_valid [Cfg.N];
    logic                   dn_last [Cfg.N];
    logic                   dn_err [Cfg.N];
    logic [1:0]             dn_cls [Cfg.N];
    logic [Cfg.FlitW-1:0] dn_data [Cfg.N];
    logic [3:0]             dn_crd [Cfg.N];
    logic [Cfg.N-1:0]           up_busy, dn_busy, down, flush;
    logic [Cfg.N-1:0][Cfg.N-1:0]    partition;
    logic [1:0]             epoch;
    logic [7:0]             latency, throttle, store_credits, part_credits;
    logic [4:0]             window, limit;
    error_pkg::err_e        err_code;

    // Settings come from registers, as in the device.
    always_ff @(posedge clk_i) begin
        epoch         <= epoch_i;
        latency       <= latency_i;
        throttle      <= throttle_i;
        window        <= window_i;
        limit         <= limit_i;
        store_credits <= store_credits_i;
        part_credits  <= part_credits_i;
        for (int unsigned p = 0; p < Cfg.N; p++) partition[p] <= partition_i[p][Cfg.N-1:0];
    end

    for (genvar p = 0; p < Cfg.N; p++) begin : gen_link
        logic [Cfg.FlitW-1:0] tx_data, rx_data;
        logic [4:0]             none;

        for (genvar w = 0; w < Words; w++) begin : gen_word
            assign tx_data[32*w +: 32] = up_data_i[Words*p + w];
            assign dn_data_o[Words*p + w] = rx_data[32*w +: 32];
        end

        link #(.FlitBytes(Cfg.FlitBytes), .MaxLatency(64), .NumPart(Cfg.N)) i_up (
            .clk_i, .rst_ni, .latency_i(latency),
            .tx_valid_i(up_valid_i[p]), .tx_last_i(up_last_i[p]), .tx_err_i(up_err_i[p]), .tx_cls_i(up_cls_i[p]), .tx_data_i(tx_data),
            .rx_valid_o(up_valid[p]), .rx_last_o(up_last[p]), .rx_err_o(up_err[p]), .rx_cls_o(up_cls[p]), .rx_data_o(up_data[p]),
            .crd_i(up_crd[p]), .crd_part_i(up_crd_part[p]), .crd_o(up_crd_o[p]), .crd_part_o(up_crd_part_o[p]), .busy_o(up_busy[p])
        );
        link #(.FlitBytes(Cfg.FlitBytes), .MaxLatency(64), .NumPart(1)) i_down (
            .clk_i, .rst_ni, .latency_i(latency),
            .tx_valid_i(dn_valid[p]), .tx_last_i(dn_last[p]), .tx_err_i(dn_err[p]), .tx_cls_i(dn_cls[p]), .tx_data_i(dn_data[p]),
            .rx_valid_o(dn_valid_o[p]), .rx_last_o(dn_last_o[p]), .rx_err_o(dn_err_o[p]), .rx_cls_o(dn_cls_o[p]), .rx_data_o(rx_data),
            .crd_i(dn_crd_i[p]), .crd_part_i('0), .crd_o(dn_crd[p]), .crd_part_o(none), .busy_o(dn_busy[p])
        );
        wire unused_none = ^none;
        if (Cfg.N < 32) begin : gen_unused
            wire unused_bits = ^partition_i[p][31:Cfg.N];
        end
    end

    switch_top #(.Cfg(Cfg)) i_switch (
        .clk_i, .rst_ni, .go_i, .run_i, .epoch_i(epoch),
        .up_valid_i(up_valid), .up_last_i(up_last), .up_err_i(up_err), .up_cls_i(up_cls), .up_data_i(up_data),
        .up_crd_o(up_crd), .up_crd_part_o(up_crd_part),
        .dn_valid_o(dn_valid), .dn_last_o(dn_last), .dn_err_o(dn_err), .dn_cls_o(dn_cls), .dn_data_o(dn_data), .dn_crd_i(dn_crd),
        .emap_we_i, .emap_addr_i, .emap_data_i, .group_we_i, .group_addr_i, .group_data_i, .partition_i(partition),
        .throttle_i(throttle), .store_credits_i(store_credits), .part_credits_i(part_credits), .window_i(window),
        .limit_i(limit), .enable_i(enable_i[Cfg.N-1:0]), .disable_i(disable_i[Cfg.N-1:0]), .quiet_i(~up_busy & ~dn_busy), .down_o(down), .flush_o(flush),
        .idle_o, .cnt_port_i, .cnt_idx_i, .cnt_data_o,
        .mon_interval_i, .mon_classes_i, .mon_samples_o, .mon_read_i, .mon_port_i, .mon_series_i, .mon_word_i, .mon_data_o, .err_valid_o, .err_code_o(err_code), .err_port_o
    );

    assign err_code_o   = err_code;
    assign down_o       = 32'(down);
    assign flush_o      = 32'(flush);
    if (Cfg.N < 32) begin : gen_unused_ports
        wire unused_ports = &{1'b0, enable_i[31:Cfg.N], disable_i[31:Cfg.N]};
    end
    assign links_idle_o = up_busy == '0 && dn_busy == '0;
endmodule

`default_nettype wire
