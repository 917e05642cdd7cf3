// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// In place of rtl/switch/gated_ram.sv, which has a proof of its own: each word of 32 bits that is read tells where it stands, {link's, lane, address}.
`default_nettype none

module gated_ram #(
    parameter int unsigned Width = 64,
    parameter int unsigned Depth = 512,
    parameter int unsigned LaneW = Width,
    parameter bit          Lut = 1'b0,
    localparam int unsigned AddrW = (Depth > 1) ? $clog2(Depth) : 1,
    localparam int unsigned Lanes = (Width > LaneW) ? Width / LaneW : 1
) (
    input  wire logic             clk_i,
    input  wire logic             we_i,
    input  wire logic [Lanes-1:0] lane_i,
    input  wire logic [AddrW-1:0] waddr_i,
    input  wire logic [Width-1:0] wdata_i,
    input  wire logic             en_i,
    input  wire logic             re_i,
    input  wire logic [AddrW-1:0] raddr_i,
    output logic [Width-1:0]      rdata_o
);
    for (genvar l = 0; l < Width / 32; l++) begin : gen_lane
        always_ff @(posedge clk_i) if (en_i) rdata_o[32*l +: 32] <= re_i ? {2'b01, 2'(l), 28'(raddr_i)} : '0;
    end
    logic unused;
    assign unused = ^{we_i, lane_i, waddr_i, wdata_i};
endmodule

`default_nettype wire
