// SPDX-License-Identifier: CERN-OHL-P-2.0
`default_nettype none

module prove_lutram (
    input wire logic clk_i, we_i,
    input wire logic [2:0] addr_i, waddr_i,
    input wire logic [1:0] wdata_i
);
    logic rst_n;
    logic [1:0] rdata, known, word;

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    lutram #(.Width(2), .Depth(6)) i_dut (
        .clk_i, .we_i(we_i && rst_n), .waddr_i, .wdata_i, .raddr_i(addr_i), .rdata_o(rdata)
    );
    f_ram #(.Width(2), .AddrW(3)) i_ram (
        .clk_i, .rst_ni(rst_n), .addr_i, .wmask_i({2{we_i}}), .waddr_i, .wdata_i,
        .known_o(known), .word_o(word)
    );
    always_ff @(posedge clk_i) if (rst_n) a_word: assert (((rdata ^ word) & known) == '0);
endmodule

`default_nettype wire
