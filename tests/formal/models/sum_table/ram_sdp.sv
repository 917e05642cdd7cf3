// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Replaces the RAM of sums in a proof about packets: every word is 0.
`default_nettype none

module ram_sdp #(
    parameter int unsigned Width  = 32,
    parameter int unsigned Depth  = 512,
    parameter int unsigned ByteEn = 0,
    localparam int unsigned AddrW = (Depth > 1) ? $clog2(Depth) : 1,
    localparam int unsigned Lanes = (Width + 7) / 8
) (
    input  wire logic             clk_i,
    input  wire logic             we_i,
    input  wire logic [AddrW-1:0] waddr_i,
    input  wire logic [Width-1:0] wdata_i,
    input  wire logic [Lanes-1:0] wbe_i,
    input  wire logic             re_i,
    input  wire logic [AddrW-1:0] raddr_i,
    output logic [Width-1:0]      rdata_o
);
    assign rdata_o = '0;
    wire unused = &{1'b0, clk_i, we_i, waddr_i, wdata_i, wbe_i, re_i, raddr_i};
endmodule

`default_nettype wire
