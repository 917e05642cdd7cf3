// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Lists have any experts. The proof follows one expert.
`default_nettype none

module prove_seen_table #(
    parameter int unsigned MaxExperts = 16,
    localparam int unsigned EW = $clog2(MaxExperts)
) (
    input  wire logic          clk_i, clear_i, mark_i,
    input  wire logic [EW-1:0] expert_i,       one_i
);
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.MaxExperts = MaxExperts;
        return cfg_pkg::derived(c);
    endfunction
    localparam cfg_pkg::cfg_t Cfg = sizes();

    logic rst_n, clearing, seen;
    logic marked_q;                 // the followed expert is marked, in this list
    logic [EW-1:0] one_q;
    logic [3:0] left_q;             // cycles of clearing

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    seen_table #(.Cfg(Cfg)) i_dut (
        .clk_i, .rst_ni(rst_n), .clear_i, .clearing_o(clearing), .expert_i, .mark_i, .seen_o(seen)
    );

    always_comb begin
        if (!rst_n || clearing) assume (!clear_i && !mark_i);
        if (rst_n) assume (one_i == one_q);
    end

    always_ff @(posedge clk_i) begin
        one_q <= one_i;
        if (!rst_n) begin
            marked_q <= 1'b0;
            left_q   <= 4'd8;
        end else begin
            if (clear_i) marked_q <= 1'b0;
            else if (mark_i && expert_i == one_i) marked_q <= 1'b1;
            if (clear_i) left_q <= 4'd8;
            else if (left_q != '0) left_q <= left_q - 4'd1;

            a_seen:     assert (clearing || expert_i != one_i || seen == marked_q);
            a_clearing: assert (clearing == (left_q != '0));
        end
    end

    // reachable under the assumptions
    always_ff @(posedge clk_i) begin
        if (rst_n) begin
            c_seen:  cover (seen && marked_q && !clearing);
            c_again: cover (clear_i && marked_q);
            c_empty: cover (!clearing && expert_i == one_i && !seen);
        end
    end
endmodule

`default_nettype wire
