// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The whole device but its USB core: fabric, control SoC, and host link, whose endpoint streams are its ports. A board's top joins the USB core here, a
// simulation whatever moves bytes. Structure only.
//
// out_*: 1 to 8 bytes per cycle from the host; in_*: words of 8 bytes to the host, last ends a transfer. link_reset_i: USB reset and SET_CONFIGURATION.
`default_nettype none

module device #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter int unsigned RamLog2 = 14,
    parameter int unsigned ClockMhz = 0,  // 0: simulated
    parameter Firmware = "build/firmware/firmware.hex"
) (
    input  wire logic clk_i,
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

    output logic      uart_tx_o,
    input  wire logic uart_rx_i
);
    // ---- bus of the registers: masters 0 host link, 1 CPU; slaves 0 fabric, 1 SoC ----
    logic        m_req [2], m_we [2], m_ack [2], s_req [2], s_ack [2], s_err [2], s_host, s_we, m_err;
    logic [31:0] m_addr [2], m_wdata [2], s_rdata [2], s_addr, s_wdata, m_rdata;

    cfg_bus i_bus (
        .clk_i, .rst_ni, .m_req_i(m_req), .m_we_i(m_we), .m_addr_i(m_addr), .m_wdata_i(m_wdata), .m_ack_o(m_ack), .m_rdata_o(m_rdata), .m_err_o(m_err),
        .s_req_o(s_req), .s_host_o(s_host), .s_we_o(s_we), .s_addr_o(s_addr), .s_wdata_o(s_wdata), .s_ack_i(s_ack), .s_rdata_i(s_rdata), .s_err_i(s_err)
    );

    // ---- host stream ports of the GPUs: users 0 DMA, 1 CPU ----
    logic          claim [2], valid [2], ready [2], we [2], rvalid [2], lost [2];
    logic [4:0]    gpu [2];
    logic [31:0]   addr [2];
    logic [Cfg.FlitW-1:0] wdata [2], rdata;
    logic          ports_hold, ports_idle;
    logic          host_valid [Cfg.N], host_ready [Cfg.N], host_we [Cfg.N], host_rvalid [Cfg.N], host_down [Cfg.N];
    logic [31:0]   host_addr [Cfg.N];
    logic [Cfg.FlitW-1:0] host_wdata [Cfg.N], host_rdata [Cfg.N];

    stream_mux #(.Cfg(Cfg)) i_ports (
        .clk_i, .rst_ni, .hold_i(ports_hold), .idle_o(ports_idle), .claim_i(claim), .valid_i(valid), .ready_o(ready), .we_i(we), .gpu_i(gpu),
        .addr_i(addr), .wdata_i(wdata), .rvalid_o(rvalid), .rdata_o(rdata), .host_valid_o(host_valid), .host_ready_i(host_ready), .host_we_o(host_we),
        .host_addr_o(host_addr), .host_wdata_o(host_wdata), .host_rvalid_i(host_rvalid), .host_rdata_i(host_rdata), .host_down_i(host_down), .lost_o(lost)
    );

    // ---- host link, mailbox, SoC ----
    logic              cmd_we, cmd_re, give, rep_we, rep_re, reply_valid, taken, in_step, waiting, link_error;
    logic [5:0]        cmd_waddr, cmd_raddr, rep_waddr, rep_raddr;
    logic [63:0]       cmd_wdata, cmd_rdata, rep_wdata, rep_rdata;
    soc_pkg::message_t command, reply;
    logic [7:0]        link_status;
    logic              done, link_asks, soc_asks, soc_holds, reset_done, resetting, fabric_rst_n;

    host_link #(.Cfg(Cfg)) i_link (
        .clk_i, .rst_ni, .link_reset_i, .out_valid_i, .out_ready_o, .out_data_i, .out_bytes_i, .in_valid_o, .in_ready_i, .in_data_o, .in_last_o,
        .bus_req_o(m_req[0]), .bus_we_o(m_we[0]), .bus_addr_o(m_addr[0]), .bus_wdata_o(m_wdata[0]), .bus_ack_i(m_ack[0]), .bus_rdata_i(m_rdata),
        .bus_err_i(m_err), .mem_claim_o(claim[0]), .mem_valid_o(valid[0]), .mem_ready_i(ready[0]), .mem_we_o(we[0]), .mem_gpu_o(gpu[0]),
        .mem_addr_o(addr[0]), .mem_wdata_o(wdata[0]), .mem_rvalid_i(rvalid[0]), .mem_lost_i(lost[0]), .mem_rdata_i(rdata), .mem_idle_i(ports_idle),
        .cmd_we_o(cmd_we), .cmd_waddr_o(cmd_waddr), .cmd_wdata_o(cmd_wdata), .cmd_re_o(cmd_re), .cmd_raddr_o(cmd_raddr), .cmd_rdata_i(cmd_rdata),
        .give_o(give), .command_o(command), .rep_we_o(rep_we), .rep_waddr_o(rep_waddr), .rep_wdata_o(rep_wdata), .rep_re_o(rep_re),
        .rep_raddr_o(rep_raddr), .rep_rdata_i(rep_rdata), .reply_valid_i(reply_valid), .reply_i(reply), .taken_o(taken), .done_i(done),
        .reset_fabric_o(link_asks), .reset_done_i(reset_done), .in_step_o(in_step), .waiting_o(waiting), .error_o(link_error), .error_status_o(link_status)
    );

    soc #(.Cfg(Cfg), .RamLog2(RamLog2), .ClockMhz(ClockMhz), .Firmware(Firmware)) i_soc (
        .clk_i, .rst_ni, .bus_req_o(m_req[1]), .bus_we_o(m_we[1]), .bus_addr_o(m_addr[1]), .bus_wdata_o(m_wdata[1]), .bus_ack_i(m_ack[1]),
        .bus_rdata_i(m_rdata), .bus_err_i(m_err), .reg_req_i(s_req[1]), .reg_host_i(s_host), .reg_we_i(s_we), .reg_addr_i(s_addr), .reg_wdata_i(s_wdata),
        .reg_ack_o(s_ack[1]), .reg_rdata_o(s_rdata[1]), .reg_err_o(s_err[1]), .mem_claim_o(claim[1]), .mem_valid_o(valid[1]), .mem_ready_i(ready[1]),
        .mem_we_o(we[1]), .mem_gpu_o(gpu[1]), .mem_addr_o(addr[1]), .mem_wdata_o(wdata[1]), .mem_rvalid_i(rvalid[1]), .mem_lost_i(lost[1]), .mem_rdata_i(rdata),
        .cmd_we_i(cmd_we), .cmd_waddr_i(cmd_waddr), .cmd_wdata_i(cmd_wdata), .cmd_re_i(cmd_re), .cmd_raddr_i(cmd_raddr), .cmd_rdata_o(cmd_rdata),
        .give_i(give), .command_i(command), .rep_we_i(rep_we), .rep_waddr_i(rep_waddr), .rep_wdata_i(rep_wdata), .rep_re_i(rep_re),
        .rep_raddr_i(rep_raddr), .rep_rdata_o(rep_rdata), .reply_valid_o(reply_valid), .reply_o(reply), .taken_i(taken), .link_in_step_i(in_step),
        .link_waiting_i(waiting), .link_error_i(link_error), .link_status_i(link_status), .reset_fabric_o(soc_asks), .reset_hold_o(soc_holds),
        .resetting_i(resetting), .uart_tx_o, .uart_rx_i
    );

    // ---- fabric ----
    fabric_reset i_reset (
        .clk_i, .rst_ni, .link_i(link_asks && !soc_holds), .soc_i(soc_asks), .ports_idle_i(ports_idle), .ports_hold_o(ports_hold), .busy_o(resetting),
        .fabric_rst_no(fabric_rst_n), .done_o(reset_done)
    );

    fabric #(.Cfg(Cfg)) i_fabric (
        .clk_i, .rst_ni(fabric_rst_n), .cfg_req_i(s_req[0] && !resetting), .cfg_we_i(s_we), .cfg_addr_i(s_addr), .cfg_wdata_i(s_wdata),
        .cfg_ack_o(s_ack[0]), .cfg_rdata_o(s_rdata[0]), .cfg_err_o(s_err[0]), .host_valid_i(host_valid), .host_ready_o(host_ready),
        .host_we_i(host_we), .host_addr_i(host_addr), .host_wdata_i(host_wdata), .host_rvalid_o(host_rvalid), .host_rdata_o(host_rdata), .host_down_o(host_down),
        .done_o(done)
    );
endmodule

`default_nettype wire
