// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Bench: list_keep and grant_lists connected as in hub.sv, with the memory outside.
`default_nettype none
`include "bundles.svh"

module kept_lists #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire node_pkg::node_cfg_t cfg_i,

    output logic                     room_o,
    input  wire logic                take_i,
    input  wire logic                last_i,
    input  wire logic [3:0]          idx_i,
    input  wire logic [4:0]          cnt_i,
    input  wire logic [Cfg.ExpW+4:0] tgt_i,
    input  wire logic [Cfg.GpuW-1:0] src_i,
    input  wire logic [Cfg.TokW-1:0] token_i,
    output `MW_WRITE(Cfg)            wr_o,
    input  wire logic                wr_ready_i,

    input  wire logic                      lane_valid_i,
    output logic                           lane_ready_o,
    input  wire logic [Cfg.GpuW-1:0]       home_i,
    input  wire logic [Cfg.TokensLog2-1:0] index_i,
    output `MW_READ(Cfg)                   rd_o,
    input  wire logic                      rd_ready_i,
    input  wire `MW_ANSWER(Cfg)            rd_i,
    output `MW_MARKED(Cfg)                 req_o,
    output logic [1:0]                     idle_o
);
    logic [$clog2(Cfg.Lanes+1)-1:0] level;
    logic                           done;

    list_keep #(.Cfg(Cfg)) i_keep (
        .clk_i, .rst_ni, .cfg_i, .room_o, .take_i, .last_i, .idx_i, .cnt_i,
        .tgt_i, .src_i, .token_i,
        .level_o(level), .done_o(done), .wr_o, .wr_ready_i, .idle_o(idle_o[0])
    );
    grant_lists #(.Cfg(Cfg)) i_lists (
        .clk_i, .rst_ni, .cfg_i, .lane_valid_i, .lane_ready_o, .home_i,
        .index_i, .keep_level_i(level),
        .keep_done_i(done), .rd_o, .rd_ready_i, .rd_i, .req_o, .idle_o(idle_o[1])
    );
endmodule

`default_nettype wire
