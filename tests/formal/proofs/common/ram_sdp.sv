// SPDX-License-Identifier: CERN-OHL-P-2.0
`default_nettype none

module prove_ram_sdp #(
    parameter int unsigned ByteEn = 1
) (
    input wire logic        clk_i, we_i, re_i,
    input wire logic [1:0]  addr_i, waddr_i, raddr_i, be_i,
    input wire logic [15:0] wdata_i
);
    logic        rst_n, ask_q;
    logic [15:0] rdata, known, word, known_q, word_q;

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    ram_sdp #(.Width(16), .Depth(4), .ByteEn(ByteEn)) i_dut (
        .clk_i, .we_i(we_i && rst_n), .waddr_i, .wdata_i, .wbe_i(be_i), .re_i,
        .raddr_i, .rdata_o(rdata)
    );
    f_ram #(.Width(16), .AddrW(2)) i_ram (
        .clk_i, .rst_ni(rst_n), .addr_i,
        .wmask_i({{8{we_i && (be_i[1] || ByteEn == 0)}}, {8{we_i && (be_i[0] || ByteEn == 0)}}}),
        .waddr_i, .wdata_i, .known_o(known), .word_o(word)
    );
    always_comb assume (!(we_i && re_i && waddr_i == raddr_i));
    always_ff @(posedge clk_i) begin
        if (!rst_n) ask_q <= 1'b0;
        else if (re_i) begin
            ask_q   <= raddr_i == addr_i;
            known_q <= known;
            word_q  <= word;
        end
        // held while re_i is low
        if (rst_n) a_word: assert (!ask_q || ((rdata ^ word_q) & known_q) == '0);
    end

    // reachable under the assumptions
    always_ff @(posedge clk_i) begin
        if (rst_n) begin
            c_known: cover (known == '1);
            c_asked: cover (ask_q && known_q == '1);
        end
    end
endmodule

`default_nettype wire
