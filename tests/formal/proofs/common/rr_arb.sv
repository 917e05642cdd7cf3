// SPDX-License-Identifier: CERN-OHL-P-2.0
`default_nettype none

module prove_rr_arb #(
    parameter int unsigned N = 4,
    parameter bit Fast = 1'b0,
    localparam int unsigned W = (N > 1) ? $clog2(N) : 1
) (
    input wire logic clk_i, clear_i, advance_i,
    input wire logic [N-1:0] req_i,
    input wire logic [N-1:0] one_i     // the requester that is followed
);
    logic rst_n;
    logic [N-1:0] grant, one_q;
    logic [W-1:0] idx;

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    rr_arb #(.N(N), .Fast(Fast)) i_dut (
        .clk_i, .rst_ni(rst_n), .clear_i, .req_i, .grant_o(grant), .idx_o(idx), .advance_i
    );

    always_ff @(posedge clk_i) one_q <= one_i;
    always_comb begin
        assume (one_i != '0 && (one_i & (one_i - 1'b1)) == '0);
        if (rst_n) assume (one_i == one_q);
        if (grant == '0) assume (!advance_i);
        if (clear_i) assume (req_i == '0);   // a clear resets the order
    end

    always_ff @(posedge clk_i) begin
        if (rst_n) begin
            a_one:    assert ((grant & (grant - 1'b1)) == '0);
            a_asked:  assert ((grant & ~req_i) == '0);
            a_grant:  assert (req_i == '0 || grant != '0);
            a_index:  assert ((grant == '0) ? idx == '0 : grant == N'(1) << idx);
        end
    end

    f_fair #(.Bound(N - 1)) i_fair (
        .clk_i, .rst_ni(rst_n), .wait_i((req_i & one_i) != '0),
        .served_i(advance_i && (grant & one_i) != '0),
        .other_i(advance_i)
    );

    // reachable under the assumptions
    always_ff @(posedge clk_i) begin
        if (rst_n) begin
            c_turn:  cover (advance_i && req_i == '1);
            c_mine:  cover (advance_i && (grant & one_i) != '0);
            c_clear: cover (clear_i);
            c_held:  cover (grant != '0 && !advance_i);
        end
    end
endmodule

`default_nettype wire
