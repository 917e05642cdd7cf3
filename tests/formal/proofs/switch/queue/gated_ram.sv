// SPDX-License-Identifier: CERN-OHL-P-2.0
`default_nettype none

module prove_gated_ram (
    input wire logic       clk_i, we_i, re_i,
    input wire logic [1:0] addr_i, waddr_i, raddr_i,
    input wire logic [2:0] wdata_i,
    input wire logic       lane_i
);
    logic       rst_n, zero_q, ask_q;
    logic [2:0] rdata, known, word, known_q, word_q;

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    // two lanes, of 1 bit and of the 2 others
    gated_ram #(.Width(3), .Depth(4), .LaneW(1)) i_dut (
        .clk_i, .we_i(we_i && rst_n), .lane_i({lane_i, lane_i, 1'b1}), .waddr_i,
        .wdata_i, .re_i, .raddr_i,
        .rdata_o(rdata)
    );
    f_ram #(.Width(3), .AddrW(2)) i_ram (
        .clk_i, .rst_ni(rst_n), .addr_i, .wmask_i({{2{we_i && lane_i}}, we_i}), .waddr_i,
        .wdata_i, .known_o(known),
        .word_o(word)
    );
    always_comb assume (!(we_i && re_i && waddr_i == raddr_i));
    always_ff @(posedge clk_i) begin
        if (!rst_n) begin
            ask_q  <= 1'b0;
            zero_q <= 1'b0;
        end else begin
            ask_q   <= re_i && raddr_i == addr_i;
            zero_q  <= !re_i;
            known_q <= known;
            word_q  <= word;
        end
        if (rst_n) begin
            a_word: assert (!ask_q || ((rdata ^ word_q) & known_q) == '0);
            a_zero: assert (!zero_q || rdata == '0);
        end
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
