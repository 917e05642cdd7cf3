// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Replaces the queue of partial sums in a proof without reductions: nothing may be written to it.
`default_nettype none

module part_queue #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    localparam int unsigned Width = Cfg.FlitW + 2,
    localparam int unsigned PW = cfg_pkg::index_w(Cfg.PartPkts)
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    input  wire logic                come_i,
    input  wire logic                we_i,
    input  wire logic [Cfg.PayW-1:0] widx_i, // flit of the packet; 0 starts one
    input  wire logic [Width-1:0]    wdata_i,
    output logic                     full_o,

    output logic                     has_o,
    input  wire logic                re_i,
    input  wire logic [Cfg.PayW-1:0] ridx_i,
    input  wire logic                done_i,  // with re_i: last flit of the packet that the reader
                                              // needs
    output logic [Width-1:0]         rdata_o, // one cycle after re_i, else 0

    output logic [PW+Cfg.PayW-1:0] waddr_o,
    output logic [PW+Cfg.PayW-1:0] raddr_o
);
    assign full_o  = 1'b0;
    assign has_o   = 1'b0;
    assign rdata_o = '0;
    assign {waddr_o, raddr_o} = '0;
    always_ff @(posedge clk_i) a_unused: assert (!rst_ni || !we_i);
endmodule

`default_nettype wire
