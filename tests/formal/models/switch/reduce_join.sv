// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Replaces the join of an output of the switch in a proof without reductions: no row may be opened.
`default_nettype none

module reduce_join #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    input  wire logic                  open_valid_i, // only while open_full_o is low
    input  wire logic [Cfg.Others-1:0] open_mask_i,
    input  wire logic [14:0]           open_bytes_i, // of the row, less 1
    input  wire red_pkg::red_t         open_red_i,
    input  wire logic [Cfg.StampB-1:0] open_stamp_i,
    output logic                       open_full_o,
    input  wire logic [Cfg.Others-1:0] away_i,

    input  wire logic [Cfg.Others-1:0] q_has_i,
    // The credit of the previous packet still waits: do not start the next packet.
    input  wire logic [Cfg.Others-1:0] q_hold_i,
    output logic [Cfg.Others-1:0]      q_want_o,
    input  wire logic [Cfg.Others-1:0] q_may_i,
    output logic [Cfg.Others-1:0]      q_re_o,
    output logic [Cfg.PayW-1:0]        q_idx_o,
    output logic [Cfg.Others-1:0]      q_done_o,
    input  wire logic [Cfg.FlitW+1:0]  q_data_i, // {poison, last, flit} of the queue read, else 0

    output logic [Cfg.Others-1:0]             q_wait_o,
    output logic                              row_done_o,
    output logic [$clog2(Cfg.OpenRows+1)-1:0] level_o,

    output logic                  res_valid_o,
    output logic [6:0]            res_len_o,   // bytes, less 1
    output logic                  res_poison_o,
    output logic [Cfg.StampB-1:0] res_stamp_o,
    input  wire logic             res_start_i, // takes the description
    input  wire logic             res_read_i,  // takes a flit
    input  wire logic             res_first_i, // with res_read_i: the first flit of the packet
    input  wire logic             res_last_i,  // with res_read_i: the last
    output logic [Cfg.FlitW-1:0]  res_data_o,
    output logic                  res_err_o,

    output logic idle_o
);
    assign open_full_o  = 1'b0;
    assign q_want_o     = '0;
    assign q_re_o       = '0;
    assign q_idx_o      = '0;
    assign q_done_o     = '0;
    assign res_valid_o  = 1'b0;
    assign res_len_o    = '0;
    assign res_poison_o = 1'b0;
    assign res_stamp_o  = '0;
    assign res_data_o   = '0;
    assign res_err_o    = 1'b0;
    assign idle_o       = 1'b1;
    always_ff @(posedge clk_i) a_unused: assert (!rst_ni || !open_valid_i);
endmodule

`default_nettype wire
