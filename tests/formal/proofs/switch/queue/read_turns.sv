// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// A join and an egress share three RAMs by turns. The join passes over any members, up to Pass
// flits each. Egress chooses in each cycle in which it may, round robin among inputs that are able
// and not claimed. It reads up to Packet flits. The bounds are checked for one input (one_i).
`default_nettype none

module prove_read_turns #(
    parameter int unsigned Pass = 3,
    parameter int unsigned Packet = 2,
    localparam int unsigned Inputs = 3
) (
    input  wire logic                              clk_i,
    input  wire logic                              begin_i, // the join is ready for a
                                                            // pass on next_i
    input  wire logic                              end_i,   // it ends here
    input  wire logic                              last_i,  // the packet of egress ends here
    input  wire logic [Inputs-1:0] next_i, able_i, one_i
);
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.N = Inputs + 1;
        return cfg_pkg::derived(c);
    endfunction
    localparam cfg_pkg::cfg_t Cfg = sizes();

    // The join waits for at most one choice of each input, and for its claim. An able input loses
    // at most Inputs - 1 choices to the order. It loses to a claim as many as fit in the cycles of
    // the claim.
    localparam int unsigned JoinBound   = Inputs * Packet + 2;
    localparam int unsigned EgressBound = Inputs + Pass;

    logic              rst_n, pass_q, go, done, busy_q, last, open, pop_any;
    logic [Inputs-1:0] member_q, want, read, may, grant, pop, reads_q, claimed, one_q;
    logic [1:0]        flits_q, sent_q;
    logic              want_q;

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    read_turns #(.Cfg(Cfg)) i_dut (
        .clk_i, .rst_ni(rst_n), .want_i(want), .read_i(read),
        .done_i(done ? read : '0), .may_o(may),
        .open_i(open), .able_i, .pop_i(pop), .reads_i(reads_q), .claimed_o(claimed)
    );
    rr_arb #(.N(Inputs)) i_choice (
        .clk_i, .rst_ni(rst_n), .clear_i(1'b0), .req_i(able_i & ~claimed),
        .grant_o(grant), .idx_o(),
        .advance_i(pop_any)
    );

    // ---- join ----
    assign want = (want_q && !pass_q) ? member_q : '0;
    assign go   = pass_q || (want & may) != '0;
    assign read = go ? member_q : '0;
    assign done = go && (end_i || 32'(flits_q) == Pass - 1);

    // ---- egress ----
    assign last    = busy_q && (last_i || 32'(sent_q) == Packet - 1);
    assign open    = !busy_q || last;
    assign pop     = open ? grant : '0;
    assign pop_any = pop != '0;

    always_comb begin
        if (rst_n) assume (one_i == one_q);
        assume (one_i == 3'b001 || one_i == 3'b010 || one_i == 3'b100);
        assume (next_i == 3'b001 || next_i == 3'b010 || next_i == 3'b100);
    end
    always_ff @(posedge clk_i) begin
        one_q <= one_i;
        if (!rst_n) begin
            want_q  <= 1'b0;
            pass_q  <= 1'b0;
            flits_q <= '0;
            busy_q  <= 1'b0;
            sent_q  <= '0;
            reads_q <= '0;
        end else begin
            if (!want_q || done) begin
                want_q   <= begin_i;
                member_q <= next_i;
            end
            pass_q  <= go && !done;
            flits_q <= (go && !done) ? flits_q + 2'd1 : '0;
            if (open) begin
                busy_q  <= pop_any;
                reads_q <= pop;
            end
            sent_q <= (busy_q && !last) ? sent_q + 2'd1 : '0;
            a_apart: assert ((read & reads_q) == '0);
            a_free:  assert ((pop & claimed) == '0);
            a_one:   assert ((claimed & (claimed - 1'b1)) == '0);
        end
    end

    f_fair #(.Bound(JoinBound)) i_join_waits (
        .clk_i, .rst_ni(rst_n), .wait_i(want != '0), .served_i(go), .other_i(1'b1)
    );
    f_fair #(.Bound(EgressBound)) i_egress_waits (
        .clk_i, .rst_ni(rst_n), .wait_i((able_i & one_i) != '0),
        .served_i((pop & one_i) != '0), .other_i(open)
    );

    // reachable under the assumptions
    always_ff @(posedge clk_i) begin
        if (rst_n) begin
            c_pass: cover (pass_q && done);
            c_owed: cover (want_q && (want & may) == '0);
            c_both: cover (busy_q && pass_q);
            c_able: cover (able_i == '1 && (claimed & able_i) != '0);
        end
    end
endmodule

`default_nettype wire
