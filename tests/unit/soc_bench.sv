// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The control SoC with its firmware around a small fabric of two GPUs. The test is the host link: master 0 of the bus, user 0 of the stream ports,
// the other side of the mailbox.
`default_nettype none

module soc_bench (
    input  wire logic clk_i,
    input  wire logic rst_ni,
    input  wire logic fabric_rst_ni,

    input  wire logic        as_cpu_i, // the accesses of this master are taken for the CPU's
    input  wire logic        m_req_i,
    input  wire logic        m_we_i,
    input  wire logic [31:0] m_addr_i,
    input  wire logic [31:0] m_wdata_i,
    output logic             m_ack_o,
    output logic [31:0]      m_rdata_o,
    output logic             m_err_o,

    input  wire logic        claim_i,
    input  wire logic        valid_i,
    output logic             ready_o,
    input  wire logic        we_i,
    input  wire logic [4:0]  gpu_i,
    input  wire logic [31:0] addr_i,
    input  wire logic [63:0] wdata_i,
    output logic             rvalid_o,
    output logic             lost_o,
    output logic [63:0]      rdata_o,

    input  wire logic        cmd_we_i,
    input  wire logic [5:0]  cmd_waddr_i,
    input  wire logic [63:0] cmd_wdata_i,
    input  wire logic        give_i,
    input  wire logic [7:0]  kind_i,
    input  wire logic [6:0]  words_i,
    input  wire logic [63:0] argument_i,
    output logic             reply_valid_o,
    output logic [7:0]       status_o,
    output logic [6:0]       reply_words_o,
    output logic [63:0]      reply_argument_o,
    input  wire logic        rep_re_i,
    input  wire logic [5:0]  rep_raddr_i,
    output logic [63:0]      rep_rdata_o,
    input  wire logic        taken_i,

    input  wire logic corrupt_i,     // what the CPU reads is 0, which is no instruction
    output logic      can_corrupt_o,

    input  wire logic [31:0] count_i,
    input  wire logic        link_waiting_i,
    input  wire logic        link_error_i,
    input  wire logic [7:0]  link_status_i,
    output logic             reset_fabric_o,
    output logic             reset_hold_o,
    input  wire logic        resetting_i,
    output logic             uart_tx_o,
    input  wire logic        uart_rx_i
);
    localparam cfg_pkg::cfg_t Cfg = cfg_pkg::Default;
    localparam int unsigned   N = Cfg.N, FW = Cfg.FlitW;

    logic              m_req [2], m_we [2], m_ack [2], s_req [2], s_ack [2], s_err [2], s_host, s_we;
    logic [31:0]       m_addr [2], m_wdata [2], s_rdata [2], s_addr, s_wdata;
    logic              claim [2], valid [2], ready [2], we [2], rvalid [2], lost [2];
    logic [4:0]        gpu [2];
    logic [31:0]       addr [2];
    logic [FW-1:0]     wdata [2];
    logic              host_valid [N], host_ready [N], host_we [N], host_rvalid [N], host_down [N], done;
    logic [31:0]       host_addr [N];
    logic [FW-1:0]     host_wdata [N], host_rdata [N];
    soc_pkg::message_t reply;
    logic              ports_idle;
    logic [63:0]       unused_cmd;

    assign m_req[0]   = m_req_i;
    assign m_we[0]    = m_we_i;
    assign m_addr[0]  = m_addr_i;
    assign m_wdata[0] = m_wdata_i;
    assign m_ack_o    = m_ack[0];
    assign claim[0]   = claim_i;
    assign valid[0]   = valid_i;
    assign ready_o    = ready[0];
    assign we[0]      = we_i;
    assign gpu[0]     = gpu_i;
    assign addr[0]    = addr_i;
    assign wdata[0]   = wdata_i;
    assign rvalid_o   = rvalid[0];
    assign lost_o     = lost[0];
    assign status_o         = reply.kind;
    assign reply_words_o    = reply.words;
    assign reply_argument_o = reply.argument;

    cfg_bus i_bus (
        .clk_i, .rst_ni, .m_req_i(m_req), .m_we_i(m_we), .m_addr_i(m_addr), .m_wdata_i(m_wdata), .m_ack_o(m_ack), .m_rdata_o, .m_err_o,
        .s_req_o(s_req), .s_host_o(s_host), .s_we_o(s_we), .s_addr_o(s_addr), .s_wdata_o(s_wdata), .s_ack_i(s_ack), .s_rdata_i(s_rdata), .s_err_i(s_err)
    );

    stream_mux #(.Cfg(Cfg)) i_mux (
        .clk_i, .rst_ni, .hold_i(1'b0), .idle_o(ports_idle), .claim_i(claim), .valid_i(valid), .ready_o(ready), .we_i(we), .gpu_i(gpu), .addr_i(addr), .wdata_i(wdata),
        .rvalid_o(rvalid), .rdata_o, .host_valid_o(host_valid), .host_ready_i(host_ready), .host_we_o(host_we), .host_addr_o(host_addr),
        .host_wdata_o(host_wdata), .host_rvalid_i(host_rvalid), .host_rdata_i(host_rdata), .host_down_i(host_down), .lost_o(lost)
    );

    soc #(.Cfg(Cfg), .ClockMhz(0)) i_soc (
        .clk_i, .rst_ni, .bus_req_o(m_req[1]), .bus_we_o(m_we[1]), .bus_addr_o(m_addr[1]), .bus_wdata_o(m_wdata[1]), .bus_ack_i(m_ack[1]),
        .bus_rdata_i(m_rdata_o), .bus_err_i(m_err_o), .reg_req_i(s_req[1]), .reg_host_i(s_host && !as_cpu_i), .reg_we_i(s_we), .reg_addr_i(s_addr), .reg_wdata_i(s_wdata),
        .reg_ack_o(s_ack[1]), .reg_rdata_o(s_rdata[1]), .reg_err_o(s_err[1]), .mem_claim_o(claim[1]), .mem_valid_o(valid[1]), .mem_ready_i(ready[1]),
        .mem_we_o(we[1]), .mem_gpu_o(gpu[1]), .mem_addr_o(addr[1]), .mem_wdata_o(wdata[1]), .mem_rvalid_i(rvalid[1]), .mem_lost_i(lost[1]), .mem_rdata_i(rdata_o),
        .cmd_we_i, .cmd_waddr_i, .cmd_wdata_i, .cmd_re_i(1'b0), .cmd_raddr_i('0), .cmd_rdata_o(unused_cmd), .give_i,
        .command_i('{kind: kind_i, words: words_i, count: count_i, argument: argument_i}), .rep_we_i(1'b0), .rep_waddr_i('0), .rep_wdata_i('0), .rep_re_i,
        .rep_raddr_i, .rep_rdata_o, .reply_valid_o, .reply_o(reply), .taken_i, .link_in_step_i(1'b1), .link_waiting_i, .link_error_i, .link_status_i, .reset_fabric_o,
        .reset_hold_o, .resetting_i,
        .uart_tx_o, .uart_rx_i
    );

    fabric #(.Cfg(Cfg)) i_fabric (
        .clk_i, .rst_ni(rst_ni && fabric_rst_ni), .cfg_req_i(s_req[0]), .cfg_we_i(s_we), .cfg_addr_i(s_addr), .cfg_wdata_i(s_wdata), .cfg_ack_o(s_ack[0]),
        .cfg_rdata_o(s_rdata[0]), .cfg_err_o(s_err[0]), .host_valid_i(host_valid), .host_ready_o(host_ready), .host_we_i(host_we), .host_addr_i(host_addr),
        .host_wdata_i(host_wdata), .host_rvalid_o(host_rvalid), .host_rdata_o(host_rdata), .host_down_o(host_down),
        .done_o(done)
    );

    // a netlist of this bench (make mutate) has nothing that forces
`ifndef SYNTHESIS
    always_ff @(posedge clk_i) begin
        if (corrupt_i) force i_soc.mem_rdata = '0;
        else release i_soc.mem_rdata;
    end
    assign can_corrupt_o = 1'b1;
`else
    assign can_corrupt_o = 1'b0;
`endif

    wire unused = &{1'b0, done, ports_idle, reply.count, unused_cmd, corrupt_i};
endmodule

`default_nettype wire
