// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Replaces rtl/common/ram_sdp.sv, which has its own proof. Each word of 32 bits that is read is its
// position, {link's, lane, address}.
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
    for (genvar l = 0; l < Width / 32; l++) begin : gen_lane
        always_ff @(posedge clk_i) if (re_i) rdata_o[32*l +: 32] <= {2'b01, 2'(l), 28'(raddr_i)};
    end
    if (Width % 32 != 0) begin : gen_rest
        assign rdata_o[Width-1 -: Width % 32] = '0;
    end
    logic unused;
    assign unused = ^{we_i, waddr_i, wdata_i, wbe_i};
endmodule

`default_nettype wire
