// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The control SoC with its firmware and a small fabric of two GPUs. The test takes the place of the
// host link. It has master 0 of the bus, user 0 of the stream ports, and the other side of the
// mailbox.
`default_nettype none
`include "bundles.svh"

module soc_bench (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    input  wire logic                 as_cpu_i, // the accesses of this master are
                                                // taken for the CPU's
    input  wire bundle_pkg::bus_req_t m_i,
    output bundle_pkg::bus_rsp_t      m_o,

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
    output logic [31:0]      reply_count_o,
    input  wire logic        rep_re_i,
    input  wire logic [5:0]  rep_raddr_i,
    output logic [63:0]      rep_rdata_o,
    input  wire logic        taken_i,

    input  wire logic corrupt_i, // what the CPU reads is 0, which is no instruction
    output logic      can_corrupt_o,

    input  wire logic [31:0] count_i,
    input  wire logic        link_unheard_i,
    input  wire logic        link_waiting_i,
    input  wire logic        link_error_i,
    input  wire logic [7:0]  link_status_i,
    output logic             reset_hold_o,
    input  wire logic        reset_asked_i, // until reset_done_o
    output logic             resetting_o,
    output logic             reset_done_o,
    output logic             uart_tx_o,
    input  wire logic        uart_rx_i
);
    localparam cfg_pkg::cfg_t Cfg = cfg_pkg::Default;
    localparam int unsigned   N = Cfg.N;

    bundle_pkg::bus_req_t m [2], s [2];
    bundle_pkg::bus_rsp_t m_back [2], s_back [2];
    `MW_USER(Cfg)         user [2];
    `MW_HEARD(Cfg)        heard [2];
    `MW_ACCESS(Cfg)       host [N];
    `MW_ANSWER(Cfg)       host_back [N];
    logic                 s_host, user_ready [2], host_ready [N], host_down [N],
                          done, ports_hold, ports_idle, soc_requests, fabric_rst_n;
    soc_pkg::message_t    reply;
    logic [63:0]          unused_cmd;

    assign m[0]     = m_i;
    assign m_o      = m_back[0];
    assign user[0]  = '{claim: claim_i, valid: valid_i, we: we_i, gpu: gpu_i, addr: addr_i,
                        wdata: wdata_i};
    assign ready_o  = user_ready[0];
    assign rvalid_o = heard[0].rvalid;
    assign lost_o   = heard[0].lost;
    assign rdata_o  = heard[0].rdata;
    assign status_o         = reply.kind;
    assign reply_words_o    = reply.words;
    assign reply_argument_o = reply.argument;
    assign reply_count_o    = reply.count;

    cfg_bus i_bus (.clk_i, .rst_ni, .m_i(m), .m_o(m_back), .s_o(s), .s_host_o(s_host),
                   .s_i(s_back));

    stream_mux #(.Cfg(Cfg)) i_mux (
        .clk_i, .rst_ni, .hold_i(ports_hold), .idle_o(ports_idle),
        .user_i(user), .user_ready_o(user_ready),
        .user_o(heard),
        .host_o(host), .host_ready_i(host_ready), .host_i(host_back), .host_down_i(host_down)
    );

    soc #(.Cfg(Cfg), .ClockKhz(0), .PatienceLog2(12)) i_soc (
        .clk_i, .rst_ni, .bus_o(m[1]), .bus_i(m_back[1]),
        .reg_i(s[1]), .reg_host_i(s_host && !as_cpu_i), .reg_o(s_back[1]),
        .mem_o(user[1]), .mem_ready_i(user_ready[1]), .mem_i(heard[1]),
        .cmd_i('{we: cmd_we_i, waddr: cmd_waddr_i, wdata: cmd_wdata_i, re: 1'b0, raddr: '0}),
        .cmd_rdata_o(unused_cmd), .give_i,
        .command_i('{kind: kind_i, words: words_i, count: count_i, argument: argument_i}),
        .rep_i('{we: 1'b0, waddr: '0, wdata: '0, re: rep_re_i, raddr: rep_raddr_i}), .rep_rdata_o,
        .reply_valid_o, .reply_o(reply), .taken_i,
        .link_i('{unheard: link_unheard_i, in_step: 1'b1, waiting: link_waiting_i,
                  error: link_error_i,
                  status: link_status_i}),
        .reset_fabric_o(soc_requests), .reset_hold_o, .reset_asked_i, .resetting_i(resetting_o),
        .uart_tx_o, .uart_rx_i
    );

    fabric_reset i_reset (
        .clk_i, .rst_ni, .link_i(reset_asked_i && !reset_hold_o), .soc_i(soc_requests),
        .ports_idle_i(ports_idle),
        .ports_hold_o(ports_hold), .busy_o(resetting_o),
        .fabric_rst_no(fabric_rst_n), .done_o(reset_done_o)
    );

    bundle_pkg::bus_req_t fabric_cfg;

    assign fabric_cfg = '{req: s[0].req && !resetting_o, we: s[0].we, addr: s[0].addr,
                          wdata: s[0].wdata};

    fabric #(.Cfg(Cfg)) i_fabric (
        .clk_i, .rst_ni(fabric_rst_n), .cfg_i(fabric_cfg), .cfg_o(s_back[0]),
        .host_i(host), .host_ready_o(host_ready), .host_o(host_back), .host_down_o(host_down),
        .done_o(done)
    );

    // a netlist of this bench (make mutate) cannot force signals
`ifndef SYNTHESIS
    always_ff @(posedge clk_i) begin
        if (corrupt_i) force i_soc.mem_rdata = '0;
        else release i_soc.mem_rdata;
    end
    assign can_corrupt_o = 1'b1;
`else
    assign can_corrupt_o = 1'b0;
`endif

    wire unused = &{1'b0, done, unused_cmd, corrupt_i};
endmodule

`default_nettype wire
