// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Replaces rtl/common/ram_sdp.sv. It asserts that its users do not read the address that is written
// in the same cycle. ByteEn is 0 in these proofs.
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
    logic [Width-1:0] mem [1 << AddrW];
    logic past_q = 1'b0;   // the first cycle is the reset

    always_ff @(posedge clk_i) begin
        if (re_i) rdata_o <= mem[raddr_i];
        if (we_i) mem[waddr_i] <= wdata_i;
        past_q <= 1'b1;
        a_apart: assert (!past_q || !(we_i && re_i && waddr_i == raddr_i));
    end
endmodule

`default_nettype wire
