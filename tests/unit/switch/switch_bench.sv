// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Bench for switch_top: the switch between 2 N links of settable latency. The test takes the place
// of the hubs at their far ends.
`default_nettype none
`include "bundles.svh"

module switch_bench #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type group_t = `MW_GROUP(Cfg)
) (
    input  wire logic       clk_i,
    input  wire logic       rst_ni,
    input  wire logic       go_i,
    input  wire logic       run_i,
    input  wire logic [1:0] epoch_i,
    input  wire logic [10:0] latency_i,

    input  wire `MW_LINK(Cfg)   up_i [Cfg.N],
    output bundle_pkg::credit_t up_crd_o [Cfg.N],

    output `MW_LINK(Cfg)    dn_o [Cfg.N],
    input  wire logic [3:0] dn_crd_i [Cfg.N],

    input  wire bundle_pkg::emap_write_t  emap_i,
    input  wire group_t groups_i,
    input  wire logic [31:0]              partition_i [Cfg.N],
    input  wire bundle_pkg::switch_ctl_t  ctl_i,

    input  wire logic [31:0] enable_i,
    input  wire logic [31:0] disable_i,
    output logic [31:0]      down_o,
    output logic [31:0]      flush_o,

    input  wire logic          sweep_i,
    output logic               sweep_busy_o,
    output logic               idle_o,
    output logic               links_idle_o,
    output logic [31:0]        cnt_data_o,
    output logic [31:0]        mon_samples_o,
    output logic [31:0]        mon_data_o,
    output bundle_pkg::error_t err_o,
    output logic [4:0]         err_port_o,

    output logic [31:0] param_o [12] // what the bench was built with
);
    assign param_o = '{Cfg.N, Cfg.FlitBytes, Cfg.StorePkts, Cfg.CtrlPkts, Cfg.OpenRows,
                       Cfg.PartPkts, Cfg.RxStorePkts,
                       Cfg.RxResultPkts, Cfg.RxCtrlPkts, Cfg.MaxExperts,
                       Cfg.Window, 32'(Cfg.PartSharedRam)};

    `MW_LINK(Cfg)                up [Cfg.N], dn [Cfg.N];
    bundle_pkg::credit_t         up_crd [Cfg.N];
    logic [3:0]                  dn_crd [Cfg.N];
    logic [Cfg.N-1:0]            up_busy, dn_busy, down, flush;
    logic [Cfg.N-1:0][Cfg.N-1:0] partition;
    logic [1:0]                  epoch;
    logic [10:0]                 latency;
    bundle_pkg::switch_ctl_t     settings, ctl;

    // Settings come from registers, like in the device, except those that select what is read.
    always_ff @(posedge clk_i) begin
        epoch    <= epoch_i;
        latency  <= latency_i;
        settings <= ctl_i;
        for (int unsigned p = 0; p < Cfg.N; p++) partition[p] <= partition_i[p][Cfg.N-1:0];
    end
    always_comb begin
        ctl               = ctl_i;
        ctl.throttle      = settings.throttle;
        ctl.link_wait     = settings.link_wait;
        ctl.store_credits = settings.store_credits;
        ctl.part_credits  = settings.part_credits;
        ctl.window        = settings.window;
        ctl.limit         = settings.limit;
        ctl.switch_reductions = settings.switch_reductions;
        ctl.tile_reductions = settings.tile_reductions;
        ctl.merge_loads   = settings.merge_loads;
        ctl.load_first    = settings.load_first;
        ctl.load_entries  = settings.load_entries;
        ctl.load_keep     = settings.load_keep;
        ctl.load_parts    = settings.load_parts;
        ctl.fetch_cycles  = settings.fetch_cycles;
        ctl.sum_entries   = settings.sum_entries;
        ctl.sum_cycles    = settings.sum_cycles;
        ctl.push_sync     = settings.push_sync;
        ctl.row_bytes     = settings.row_bytes;
        ctl.row_shift     = settings.row_shift;
        ctl.token_shift   = settings.token_shift;
    end

    for (genvar p = 0; p < Cfg.N; p++) begin : gen_link
        bundle_pkg::credit_t dn_back;

        link #(.Cfg(Cfg), .NumPart(Cfg.N)) i_up (
            .clk_i, .rst_ni, .latency_i(latency), .tx_i(up_i[p]), .rx_o(up[p]),
            .crd_i(up_crd[p]), .crd_o(up_crd_o[p]), .busy_o(up_busy[p])
        );
        link #(.Cfg(Cfg), .NumPart(1)) i_down (
            .clk_i, .rst_ni, .latency_i(latency), .tx_i(dn[p]), .rx_o(dn_o[p]),
            .crd_i('{cls: dn_crd_i[p], part: '0}), .crd_o(dn_back), .busy_o(dn_busy[p])
        );
        assign dn_crd[p] = dn_back.cls;
        wire unused_part = ^dn_back.part;
        if (Cfg.N < 32) begin : gen_unused
            wire unused_bits = ^partition_i[p][31:Cfg.N];
        end
    end

    switch_top #(.Cfg(Cfg)) i_switch (
        .clk_i, .rst_ni, .go_i, .run_i, .epoch_i(epoch),
        .up_i(up), .up_crd_o(up_crd), .dn_o(dn), .dn_crd_i(dn_crd),
        .emap_i, .groups_i, .partition_i(partition), .ctl_i(ctl),
        .enable_i(enable_i[Cfg.N-1:0]), .disable_i(disable_i[Cfg.N-1:0]),
        .quiet_i(~up_busy & ~dn_busy),
        .down_o(down), .flush_o(flush),
        .sweep_i, .sweep_busy_o, .idle_o, .cnt_data_o,
        .mon_samples_o, .mon_data_o, .err_o, .err_port_o
    );

    assign down_o       = 32'(down);
    assign flush_o      = 32'(flush);
    assign links_idle_o = up_busy == '0 && dn_busy == '0;
    wire unused_settings = ^settings;
    if (Cfg.N < 32) begin : gen_unused_ports
        wire unused_ports = &{1'b0, enable_i[31:Cfg.N], disable_i[31:Cfg.N]};
    end
endmodule

`default_nettype wire
