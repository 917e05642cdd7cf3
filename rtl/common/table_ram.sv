// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Table with one write port and one registered read port, in LUT RAM up to 64 words and in block
// RAM above.
//
// Function: The layer's tables are a few dozen words on small boards and many thousands in
// simulation. Contents are undefined until written.
// Latency: rdata_o shows the word of raddr_i one cycle after re_i and holds it while re_i is low. A
// read of the address that is written in the same cycle is undefined.
`default_nettype none

module table_ram #(
    parameter int unsigned Width = 16,
    parameter int unsigned Depth = 64,
    parameter int unsigned LutWords = 64,  // largest table in LUT RAM
    localparam int unsigned AddrW = (Depth > 1) ? $clog2(Depth) : 1
) (
    input  wire logic             clk_i,
    input  wire logic             we_i,
    input  wire logic [AddrW-1:0] waddr_i,
    input  wire logic [Width-1:0] wdata_i,
    input  wire logic             re_i,
    input  wire logic [AddrW-1:0] raddr_i,
    output logic [Width-1:0]      rdata_o
);
    if (Depth <= LutWords) begin : gen_lut
        lut_table #(
            .Width(Width),
            .Depth(Depth)
        ) i_ram (
            .clk_i,
            .we_i,
            .waddr_i,
            .wdata_i,
            .re_i,
            .sel_i(1'b1),
            .raddr_i,
            .rdata_o
        );
    end else begin : gen_block
        ram_sdp #(
            .Width(Width),
            .Depth(Depth)
        ) i_ram (
            .clk_i,
            .we_i,
            .waddr_i,
            .wdata_i,
            .wbe_i('1),
            .re_i,
            .raddr_i,
            .rdata_o
        );
    end
endmodule

`default_nettype wire
