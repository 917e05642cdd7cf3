// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Replaces rtl/common/fifo.sv, which has its own proof. A word from the proof is shown at once, and
// stays until it is taken. No other word comes before that. The proof thus chooses the shown words
// and their times.
`default_nettype none

module fifo #(
    parameter int unsigned Width = 8,
    parameter int unsigned Depth = 16
) (
    input  wire logic                  clk_i,
    input  wire logic                  rst_ni,
    input  wire logic                  valid_i,
    output logic                       ready_o,
    input  wire logic [Width-1:0]      data_i,
    output logic                       valid_o,
    input  wire logic                  ready_i,
    output logic [Width-1:0]           data_o,
    output logic [$clog2(Depth+1)-1:0] level_o
);
    logic             kept_q;
    logic [Width-1:0] data_q;

    assign valid_o = kept_q || valid_i;
    assign ready_o = !kept_q;
    assign data_o  = kept_q ? data_q : data_i;
    assign level_o = '0;
    always_ff @(posedge clk_i) begin
        kept_q <= rst_ni && valid_o && !ready_i;
        data_q <= !rst_ni ? '0 : data_o;
    end
    always_comb if (kept_q) assume (!valid_i);
endmodule

`default_nettype wire
