// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The whole device without its USB core: fabric, control SoC, and host link, whose endpoint streams
// are its ports. Structure only.
//
// Function: A board's top connects the USB core here. A simulation connects whatever moves bytes.
// With CycleClocks 1 every node exists, and node_clk_i is not used. With CycleClocks N one node
// serves all (fabric_threads). It runs at node_clk_i, with N clocks per clock of clk_i.
// Ports: out_*: 1 to 8 bytes per cycle from the host. in_*: words of 8 bytes to the host, and last
// ends a transfer. link_reset_i: USB reset and SET_CONFIGURATION.
`default_nettype none
`include "bundles.svh"

module device #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type user_t = `MW_USER(Cfg),
    parameter type heard_t = `MW_HEARD(Cfg),
    parameter type access_t = `MW_ACCESS(Cfg),
    parameter type answer_t = `MW_ANSWER(Cfg),
    parameter int unsigned RamLog2 = 14,
    parameter int unsigned ClockKhz = 0,  // of the nodes' clock; 0: simulated
    parameter int unsigned CycleClocks = 1,  // its clocks in a cycle of the fabric
    parameter Firmware = "build/firmware/firmware.hex"
) (
    input  wire logic clk_i,
    input  wire logic node_clk_i,
    input  wire logic rst_ni,

    input  wire logic        link_reset_i,
    input  wire logic        out_valid_i,
    output logic             out_ready_o,
    input  wire logic [63:0] out_data_i,
    input  wire logic [3:0]  out_bytes_i,
    output logic             in_valid_o,
    input  wire logic        in_ready_i,
    output logic [63:0]      in_data_o,
    output logic             in_last_o,
    output logic             active_o,  // pulse: something crosses the host link
    output logic             error_o,   // pulse: LINK_ERROR

    output logic      uart_tx_o,
    input  wire logic uart_rx_i
);
    // ---- bus of the registers: masters 0 host link, 1 CPU; slaves 0 fabric, 1 SoC ----
    bundle_pkg::bus_req_t m[2], s[2];
    bundle_pkg::bus_rsp_t m_back[2], s_back[2];
    logic s_host;

    cfg_bus i_bus (
        .clk_i,
        .rst_ni,
        .m_i(m),
        .m_o(m_back),
        .s_o(s),
        .s_host_o(s_host),
        .s_i(s_back)
    );

    // ---- host stream ports of the GPUs: users 0 DMA, 1 CPU ----
    user_t user[2];
    heard_t heard[2];
    access_t host[Cfg.N];
    answer_t host_back[Cfg.N];
    logic user_ready[2], host_ready[Cfg.N], host_down[Cfg.N], ports_hold, ports_idle;

    stream_mux #(
        .Cfg(Cfg)
    ) i_ports (
        .clk_i,
        .rst_ni,
        .hold_i(ports_hold),
        .idle_o(ports_idle),
        .user_i(user),
        .user_ready_o(user_ready),
        .user_o(heard),
        .host_o(host),
        .host_ready_i(host_ready),
        .host_i(host_back),
        .host_down_i(host_down)
    );

    // ---- host link, mailbox, SoC ----
    bundle_pkg::mail_t cmd;
    bundle_pkg::mail_t rep;
    logic give, reply_valid, taken;
    logic [63:0] cmd_rdata, rep_rdata;
    soc_pkg::message_t command, reply;
    soc_pkg::link_t link;
    logic done, link_requests, soc_requests, soc_holds, reset_done, resetting, fabric_rst_n;

    host_link #(
        .Cfg(Cfg)
    ) i_link (
        .clk_i,
        .rst_ni,
        .link_reset_i,
        .out_valid_i,
        .out_ready_o,
        .out_data_i,
        .out_bytes_i,
        .in_valid_o,
        .in_ready_i,
        .in_data_o,
        .in_last_o,
        .bus_o(m[0]),
        .bus_i(m_back[0]),
        .mem_o(user[0]),
        .mem_ready_i(user_ready[0]),
        .mem_i(heard[0]),
        .mem_idle_i(ports_idle),
        .cmd_o(cmd),
        .cmd_rdata_i(cmd_rdata),
        .give_o(give),
        .command_o(command),
        .rep_o(rep),
        .rep_rdata_i(rep_rdata),
        .reply_valid_i(reply_valid),
        .reply_i(reply),
        .taken_o(taken),
        .done_i(done),
        .reset_fabric_o(link_requests),
        .reset_done_i(reset_done),
        .in_step_o(link.in_step),
        .unheard_o(link.unheard),
        .waiting_o(link.waiting),
        .error_o(link.error),
        .error_status_o(link.status)
    );

    soc #(
        .Cfg(Cfg),
        .RamLog2(RamLog2),
        .ClockKhz(ClockKhz),
        .CycleClocks(CycleClocks),
        .Firmware(Firmware)
    ) i_soc (
        .clk_i,
        .rst_ni,
        .bus_o(m[1]),
        .bus_i(m_back[1]),
        .reg_i(s[1]),
        .reg_host_i(s_host),
        .reg_o(s_back[1]),
        .mem_o(user[1]),
        .mem_ready_i(user_ready[1]),
        .mem_i(heard[1]),
        .cmd_i(cmd),
        .cmd_rdata_o(cmd_rdata),
        .give_i(give),
        .command_i(command),
        .rep_i(rep),
        .rep_rdata_o(rep_rdata),
        .reply_valid_o(reply_valid),
        .reply_o(reply),
        .taken_i(taken),
        .link_i(link),
        .reset_fabric_o(soc_requests),
        .reset_hold_o(soc_holds),
        .reset_asked_i(link_requests),
        .resetting_i(resetting),
        .uart_tx_o,
        .uart_rx_i
    );

    assign active_o = (out_valid_i && out_ready_o) || (in_valid_o && in_ready_i);
    assign error_o = link.error;

    // ---- fabric ----
    fabric_reset i_reset (
        .clk_i,
        .rst_ni,
        .link_i(link_requests && !soc_holds),
        .soc_i(soc_requests),
        .ports_idle_i(ports_idle),
        .ports_hold_o(ports_hold),
        .busy_o(resetting),
        .fabric_rst_no(fabric_rst_n),
        .done_o(reset_done)
    );

    bundle_pkg::bus_req_t fabric_cfg;

    assign fabric_cfg = '{
            req: s[0].req && !resetting,
            we: s[0].we,
            addr: s[0].addr,
            wdata: s[0].wdata
        };

    if (CycleClocks == 1) begin : gen_side_by_side
        wire unused = &{1'b0, node_clk_i};

        fabric #(
            .Cfg(Cfg)
        ) i_fabric (
            .clk_i,
            .rst_ni(fabric_rst_n),
            .cfg_i(fabric_cfg),
            .cfg_o(s_back[0]),
            .host_i(host),
            .host_ready_o(host_ready),
            .host_o(host_back),
            .host_down_o(host_down),
            .done_o(done)
        );
    end else begin : gen_threads
        initial begin
            if (CycleClocks != Cfg.N) $fatal(1, "device: CycleClocks is 1 or N");
        end

        fabric_threads #(
            .Cfg(Cfg)
        ) i_fabric (
            .clk_i,
            .node_clk_i,
            .rst_ni(fabric_rst_n),
            .cfg_i(fabric_cfg),
            .cfg_o(s_back[0]),
            .host_i(host),
            .host_ready_o(host_ready),
            .host_o(host_back),
            .host_down_o(host_down),
            .done_o(done)
        );
    end
endmodule

`default_nettype wire
