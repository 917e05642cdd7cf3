// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// A memory returns what was last written: the word at one address, chosen by the
// solver, is followed bit by bit.
`default_nettype none

module f_ram #(
    parameter int unsigned Width = 2,
    parameter int unsigned AddrW = 2
) (
    input  wire logic             clk_i,
    input  wire logic             rst_ni,
    input  wire logic [AddrW-1:0] addr_i,     // chosen: any value, the same in every cycle
    input  wire logic [Width-1:0] wmask_i,    // bits of waddr_i that are written in this cycle
    input  wire logic [AddrW-1:0] waddr_i,
    input  wire logic [Width-1:0] wdata_i,
    output logic [Width-1:0]      known_o,    // bits written since reset
    output logic [Width-1:0]      word_o      // and their value
);
    logic [AddrW-1:0] addr_q;
    logic [Width-1:0] set;

    assign set = (waddr_i == addr_i) ? wmask_i : '0;

    always_ff @(posedge clk_i) begin
        addr_q <= addr_i;
        if (!rst_ni) known_o <= '0;
        else known_o <= known_o | set;
        word_o <= (word_o & ~set) | (wdata_i & set);
    end
    always_comb if (rst_ni) assume (addr_i == addr_q);
endmodule

`default_nettype wire
