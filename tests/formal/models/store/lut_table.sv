// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Replaces rtl/common/lut_table.sv, which the proof of pkt_fifo covers. Each word of 32 bits that
// is read is its position, {local stream's, lane, address}.
`default_nettype none

module lut_table #(
    parameter int unsigned Width = 16,
    parameter int unsigned Depth = 64,
    localparam int unsigned AddrW = (Depth > 1) ? $clog2(Depth) : 1
) (
    input  wire logic             clk_i,
    input  wire logic             we_i,
    input  wire logic [AddrW-1:0] waddr_i,
    input  wire logic [Width-1:0] wdata_i,
    input  wire logic             re_i,
    input  wire logic             sel_i,
    input  wire logic [AddrW-1:0] raddr_i,
    output logic [Width-1:0]      rdata_o
);
    for (genvar l = 0; l < Width / 32; l++) begin : gen_lane
        always_ff @(posedge clk_i) if (re_i)
            rdata_o[32*l +: 32] <= sel_i ? {2'b10, 2'(l), 28'(raddr_i)} : '0;
    end
    logic unused;
    assign unused = ^{we_i, waddr_i, wdata_i};
endmodule

`default_nettype wire
