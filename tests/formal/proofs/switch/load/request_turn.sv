// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// An output has GRANTs and FETCHs, which are offered and sent at any time.
`default_nettype none

module prove_request_turn (
    input wire logic        clk_i, grant_i, fetch_i, sent_i,
    input wire logic [63:0] grant_upper_i, fetch_upper_i
);
    logic        rst_n, grant_sent, fetch_sent, valid, is_fetch, sent;
    logic [63:0] upper;

    assign sent = sent_i && valid;
    f_reset i_reset (.clk_i, .rst_no(rst_n));
    request_turn i_dut (
        .clk_i, .rst_ni(rst_n), .grant_valid_i(grant_i), .grant_upper_i, .grant_sent_o(grant_sent),
        .fetch_valid_i(fetch_i), .fetch_upper_i, .fetch_sent_o(fetch_sent),
        .valid_o(valid), .fetch_o(is_fetch), .upper_o(upper), .sent_i(sent)
    );

    // What is offered stays until it is sent.
    logic        grant_q, fetch_q, valid_q, is_fetch_q;
    logic [63:0] grant_upper_q, fetch_upper_q, upper_q;
    always_ff @(posedge clk_i) begin
        grant_q       <= rst_n && grant_i && !grant_sent;
        fetch_q       <= rst_n && fetch_i && !fetch_sent;
        {grant_upper_q, fetch_upper_q} <= {grant_upper_i, fetch_upper_i};
        valid_q       <= rst_n && valid && !sent;
        {is_fetch_q, upper_q} <= {is_fetch, upper};
    end
    always_comb begin
        if (grant_q) assume (grant_i && grant_upper_i == grant_upper_q);
        if (fetch_q) assume (fetch_i && fetch_upper_i == fetch_upper_q);
        if (!rst_n) assume (!grant_i && !fetch_i);
    end

    always_ff @(posedge clk_i) if (rst_n) begin
        a_one:   assert ({grant_sent, fetch_sent} == (!sent ? 2'b00 : is_fetch ? 2'b01 : 2'b10));
        a_there: assert (!grant_sent || grant_i);
        a_it:    assert (!fetch_sent || fetch_i);
        a_upper: assert (!valid || upper == (is_fetch ? fetch_upper_i : grant_upper_i));
        a_stays: assert (!valid_q || (valid && is_fetch == is_fetch_q && upper == upper_q));
        c_turn:  cover (grant_sent && fetch_i && fetch_q);
    end

    // A GRANT waits for at most one FETCH, and a FETCH for at most one GRANT.
    f_fair #(.Bound(1)) i_grant (
        .clk_i, .rst_ni(rst_n), .wait_i(grant_i), .served_i(grant_sent), .other_i(fetch_sent)
    );
    f_fair #(.Bound(1)) i_fetch (
        .clk_i, .rst_ni(rst_n), .wait_i(fetch_i), .served_i(fetch_sent), .other_i(grant_sent)
    );
endmodule

`default_nettype wire
