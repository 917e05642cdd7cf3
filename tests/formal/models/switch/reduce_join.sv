// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Replaces the join of an output of the switch in a proof without reductions: no row may be opened.
`default_nettype none
`include "bundles.svh"

module reduce_join #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type open_t = `MW_OPEN(Cfg),
    parameter type take_t = `MW_TAKE(Cfg),
    parameter type joined_t = `MW_JOINED(Cfg)
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    input  wire open_t                 open_i, // only while open_full_o is low
    output logic                       open_full_o,
    input  wire logic [Cfg.Others-1:0] away_i,

    input  wire logic [Cfg.Others-1:0] q_has_i,
    // The credit of the previous packet still waits: do not start the next packet.
    input  wire logic [Cfg.Others-1:0] q_hold_i,
    output logic [Cfg.Others-1:0]      q_want_o,
    input  wire logic [Cfg.Others-1:0] q_may_i,
    output take_t                      q_o,
    input  wire logic [Cfg.FlitW+1:0]  q_data_i, // {poison, last, flit} of the queue read, else 0

    output logic [Cfg.Others-1:0]             q_wait_o,
    output logic                              row_done_o,
    output logic [$clog2(Cfg.OpenRows+1)-1:0] level_o,

    output joined_t                       res_o,
    input  wire logic                     res_start_i,
    input  wire bundle_pkg::result_read_t res_i,
    output logic [Cfg.FlitW-1:0]          res_data_o,
    output logic                          res_err_o,

    output logic idle_o
);
    assign open_full_o = 1'b0;
    assign q_want_o    = '0;
    assign q_o         = '0;
    assign res_o       = '0;
    assign res_data_o  = '0;
    assign res_err_o   = 1'b0;
    assign idle_o      = 1'b1;
    always_ff @(posedge clk_i) a_unused: assert (!rst_ni || !open_i.valid);
endmodule

`default_nettype wire
