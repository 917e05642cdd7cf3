// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Credits: of Limit, every one is held by the sender (or on its way), or stands for a packet at the
// receiver. What the sender spends it must have; what comes back must have been spent.
`default_nettype none

module f_credit #(
    parameter int unsigned Limit = 4,
    localparam int unsigned W = $clog2(Limit + 2)
) (
    input  wire logic     clk_i,
    input  wire logic     rst_ni,
    input  wire logic     spend_i,    // a packet starts
    input  wire logic     back_i,     // a credit comes back
    output logic [W-1:0]  used_o      // spent and not back
);
    always_ff @(posedge clk_i) begin
        if (!rst_ni) used_o <= '0;
        else used_o <= used_o + W'(spend_i) - W'(back_i);
        if (rst_ni) begin
            a_limit: assert (used_o <= W'(Limit));
            a_spend: assert (!spend_i || back_i || used_o != W'(Limit));
            a_back:  assert (!back_i || used_o != '0);
            c_limit: cover (used_o == W'(Limit));
            c_back:  cover (back_i);
        end
    end
endmodule

`default_nettype wire
