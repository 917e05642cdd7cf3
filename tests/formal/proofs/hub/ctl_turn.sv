// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Unit control offers packets, unit load offers LDs, and the uplink takes them, at any time.
`default_nettype none

module prove_ctl_turn (
    input wire logic                clk_i, ctl_i, ld_i, ready_i,
    input wire packet_pkg::header_t ctl_header_i, ld_header_i
);
    logic                rst_n, ctl_ready, ld_ready;
    bundle_pkg::ctl_t    out;

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    ctl_turn i_dut (
        .clk_i, .rst_ni(rst_n),
        .ctl_i('{valid: ctl_i, header: ctl_header_i}), .ctl_ready_o(ctl_ready),
        .ld_i('{valid: ld_i, header: ld_header_i}), .ld_ready_o(ld_ready),
        .out_o(out), .ready_i
    );

    // An offered packet stays until it is taken. An LD may get more lanes meanwhile.
    logic                ctl_q, ld_q;
    packet_pkg::header_t ctl_header_q;
    always_ff @(posedge clk_i) begin
        ctl_q        <= rst_n && ctl_i && !ctl_ready;
        ld_q         <= rst_n && ld_i && !ld_ready;
        ctl_header_q <= ctl_header_i;
    end
    always_comb begin
        if (ctl_q) assume (ctl_i && ctl_header_i == ctl_header_q);
        if (ld_q) assume (ld_i);
        if (ctl_i) assume (ctl_header_i.opcode != packet_pkg::OP_LD);
        assume (ld_header_i.opcode == packet_pkg::OP_LD);
        if (!rst_n) assume (!ctl_i && !ld_i && !ready_i);
    end

    always_ff @(posedge clk_i) if (rst_n) begin
        a_valid: assert (out.valid == (ctl_i || ld_i));
        a_one:   assert (!(ctl_ready && ld_ready));
        a_ctl:   assert (!(out.valid && ctl_ready) || (ctl_i && out.header == ctl_header_i));
        a_ld:    assert (!(out.valid && ld_ready) || (ld_i && out.header == ld_header_i));
        a_taken: assert (!(out.valid && ready_i) || ctl_ready || ld_ready);
        c_turn:  cover (ctl_ready && ctl_i && ld_q);
    end

    f_fair #(.Bound(1)) i_ctl (
        .clk_i, .rst_ni(rst_n), .wait_i(ctl_i), .served_i(ctl_ready), .other_i(ld_ready && ld_i)
    );
    f_fair #(.Bound(1)) i_ld (
        .clk_i, .rst_ni(rst_n), .wait_i(ld_i), .served_i(ld_ready), .other_i(ctl_ready && ctl_i)
    );
endmodule

`default_nettype wire
