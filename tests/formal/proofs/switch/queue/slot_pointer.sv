// SPDX-License-Identifier: CERN-OHL-P-2.0
`default_nettype none

module prove_slot_pointer #(
    parameter int unsigned W = 4
) (
    input wire logic clk_i, next_i,
    input wire logic [W:0] one_i   // any value
);
    logic       rst_n;
    logic [W:0] ptr, count_q, first_q, one_q;
    logic       seen_q;

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    slot_pointer #(.W(W)) i_dut (.clk_i, .rst_ni(rst_n), .next_i, .ptr_o(ptr));

    always_comb if (rst_n) assume (one_i == one_q);
    always_ff @(posedge clk_i) begin
        one_q   <= one_i;
        count_q <= rst_n ? count_q + (W+1)'(next_i) : '0;
        if (!rst_n) seen_q <= 1'b0;
        else if (ptr == one_i) begin
            seen_q  <= 1'b1;
            first_q <= count_q;
            // a value returns after exactly 2**(W+1) steps, so all values are used, each slot once
            // per round
            a_once: assert (!seen_q || first_q == count_q);
        end
        if (rst_n) begin
            a_again: assert (!seen_q || first_q != count_q || ptr == one_i);
            a_start: assert (count_q != '0 || ptr == '0);
            a_round: assert (ptr[W] == count_q[W]);
        end
    end

    // reachable under the assumptions
    always_ff @(posedge clk_i) begin
        if (rst_n) begin
            c_round: cover (seen_q && first_q == count_q && ptr == one_i);
            c_far:   cover (one_i == '1 && ptr == one_i);
        end
    end
endmodule

`default_nettype wire
