// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Replaces rtl/common/ram_sdp.sv in the switch, where only the flit queue of an input uses it. It
// has 8 words, the most that the proof allows at a time.
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
    logic [Width-1:0] mem [8];

    always_ff @(posedge clk_i) begin
        if (re_i) rdata_o <= mem[raddr_i[2:0]];
        if (we_i) mem[waddr_i[2:0]] <= wdata_i;
    end
    always_comb if (we_i) assume (AddrW'(waddr_i - raddr_i) < AddrW'(8));
endmodule

`default_nettype wire
