// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Fairness of an arbiter towards one requester, chosen by the solver: while it waits, at most Bound
// others go first. other_i counts an event, one of another requester; a bound in cycles is one
// in which other_i is always high.
`default_nettype none

module f_fair #(
    parameter int unsigned Bound = 3
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,
    input  wire logic wait_i,     // the chosen one asks
    input  wire logic served_i,   // and is served in this cycle
    input  wire logic other_i     // another one is served in this cycle
);
    localparam int unsigned W = $clog2(Bound + 2);
    logic [W-1:0] passed_q, passed;

    assign passed = passed_q + W'(wait_i && other_i && !served_i);

    always_ff @(posedge clk_i) begin
        if (!rst_ni || !wait_i || served_i) passed_q <= '0;
        else passed_q <= passed;
        if (rst_ni) begin
            a_fair:   assert (passed <= W'(Bound));
            c_served: cover (served_i && wait_i && (Bound == 0 || passed_q != '0));
        end
    end
endmodule

`default_nettype wire
