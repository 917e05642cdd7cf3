// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Memory of a few dozen words in LUT RAM with one write port and one registered read port.
//
// Function: Each 16 words have their own output register, which is cleared when another 16 are
// read. An OR of these costs a third of a multiplexer before one register.
// Latency: rdata_o shows the word of raddr_i one cycle after re_i and sel_i, 0 after re_i without
// sel_i, and holds it while re_i is low. An OR therefore joins memories of which one is selected at
// a time. A read in the cycle of a write returns the old word.
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
    localparam int unsigned BankW = (AddrW < 4) ? AddrW : 4;
    localparam int unsigned Banks = (Depth + 15) / 16;

    logic [Width-1:0] word_q[Banks];

    for (genvar b = 0; b < Banks; b++) begin : gen_bank
        logic [Width-1:0] word;

        lutram #(
            .Width(Width),
            .Depth(2 ** BankW)
        ) i_ram (
            .clk_i,
            .we_i(we_i && (waddr_i >> BankW) == AddrW'(b)),
            .waddr_i(waddr_i[BankW-1:0]),
            .wdata_i,
            .raddr_i(raddr_i[BankW-1:0]),
            .rdata_o(word)
        );

        always_ff @(posedge clk_i) begin
            if (re_i) word_q[b] <= (sel_i && (raddr_i >> BankW) == AddrW'(b)) ? word : '0;
        end
    end

    always_comb begin
        rdata_o = word_q[0];
        for (int unsigned b = 1; b < Banks; b++) rdata_o |= word_q[b];
    end
endmodule

`default_nettype wire
