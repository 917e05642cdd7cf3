// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Replaces rtl/switch/load/kept_answers.sv, which has its own proof. The user's proof chooses
// whether a load finds its row, and which row is sent when. A row goes to all loads that wait for
// it, in one packet. flit_data_i is {row, it is sent, a load finds its row}.
`default_nettype none

module kept_answers #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default
) (
    input  wire logic                      clk_i,
    input  wire logic                      rst_ni,
    input  wire logic                      go_i,
    input  wire logic                      enable_i,
    input  wire logic [1:0]                epoch_i,
    input  wire logic [14:0]               row_bytes_i,
    input  wire logic [3:0]                row_shift_i,

    input  wire logic                      look_i,
    input  wire logic [Cfg.LoadIndexW-1:0] index_i,
    input  wire logic [Cfg.Others-1:0]     from_i,
    output logic                           hit_o,
    output logic                           twice_o,

    input  wire logic                      first_i,
    input  wire logic                      next_i,
    input  wire logic                      poison_i,
    input  wire logic [Cfg.LoadIndexW-1:0] row_i,
    input  wire logic                      flit_i,
    input  wire logic                      flit_bad_i,
    input  wire logic                      flit_last_i,  // of its packet
    input  wire logic [Cfg.FlitW-1:0]      flit_data_i,

    output logic                  packet_o,
    output logic                  packet_last_o,
    output logic [Cfg.FlitW-1:0]  packet_data_o,
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

    assign row = flit_data_i[2+:Cfg.LoadIndexW];
    assign hit_o = look_i && enable_i && flit_data_i[0];
    assign twice_o = hit_o && (wait_q[index_i] & from_i) != '0;
    assign packet_o = flit_data_i[1] && wait_q[row] != '0;
    assign packet_mask_o = wait_q[row];
    assign {packet_last_o, row_end_o} = 2'b11;
    assign packet_data_o = '0;
    assign use_o = packet_o && packet_take_i;
    assign evict_o = 1'b0;
    assign idle_o = wait_q == '0;

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) wait_q <= '0;
        else begin
            if (use_o) wait_q[row] <= '0;
            if (hit_o && !twice_o) wait_q[index_i] <= (use_o && row == index_i)
                                                      ? from_i : wait_q[index_i] | from_i;
        end
    end

    wire unused = &{1'b0, epoch_i, row_bytes_i, row_shift_i, first_i, next_i, poison_i, row_i,
                    flit_i, flit_bad_i, flit_last_i, flit_data_i, may_i};
endmodule

`default_nettype wire
