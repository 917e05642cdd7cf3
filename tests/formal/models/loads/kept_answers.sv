// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Replaces rtl/switch/load/kept_answers.sv, which has its own proof. The user's proof chooses
// whether a load finds its row, and which row is sent when. A row goes to all loads that wait for
// it, in one packet. flit_i.data is {row, it is sent, a load finds its row}.
`default_nettype none
`include "bundles.svh"

module kept_answers #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type look_t = `MW_LOOK(Cfg),
    parameter type answering_t = `MW_ANSWERING(Cfg),
    parameter type marked_t = `MW_MARKED(Cfg),
    parameter type stream_t = `MW_STREAM(Cfg)
) (
    input  wire logic                      clk_i,
    input  wire logic                      rst_ni,
    input  wire logic                      go_i,
    input  wire logic                      enable_i,
    input  wire logic [1:0]                epoch_i,
    input  wire logic [14:0]               row_bytes_i,
    input  wire logic [3:0]                row_shift_i,

    input  wire look_t      look_i,
    output logic            hit_o,
    output logic            twice_o,

    input  wire answering_t answer_i,
    input  wire marked_t    flit_i,

    output stream_t               packet_o,
    output logic [Cfg.Others-1:0] packet_mask_o,  // readers that get it
    output logic                  row_end_o,      // it is the last one of its row
    input  wire logic             packet_take_i,
    input  wire logic             may_i,
    output logic                  use_o,          // a packet begins

    output logic evict_o,  // a kept row loses its slot
    output logic idle_o
);
    localparam int unsigned Rows = 1 << Cfg.LoadIndexW;

    logic [Rows-1:0][Cfg.Others-1:0] wait_q;
    logic [Cfg.LoadIndexW-1:0] row;

    assign row = flit_i.data[2+:Cfg.LoadIndexW];
    assign hit_o = look_i.valid && enable_i && flit_i.data[0];
    assign twice_o = hit_o && (wait_q[look_i.index] & look_i.reader) != '0;
    assign packet_o.valid = flit_i.data[1] && wait_q[row] != '0;
    assign packet_mask_o = wait_q[row];
    assign {packet_o.last, row_end_o} = 2'b11;
    assign packet_o.data = '0;
    assign use_o = packet_o.valid && packet_take_i;
    assign evict_o = 1'b0;
    assign idle_o = wait_q == '0;

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) wait_q <= '0;
        else begin
            if (use_o) wait_q[row] <= '0;
            if (hit_o && !twice_o)
                wait_q[look_i.index] <= (use_o && row == look_i.index)
                                        ? look_i.reader : wait_q[look_i.index] | look_i.reader;
        end
    end

    wire unused = &{1'b0, epoch_i, row_bytes_i, row_shift_i, answer_i, flit_i, may_i};
endmodule

`default_nettype wire
