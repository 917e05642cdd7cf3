// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Unit control starts reports, and the uplink takes them at any time. GRANTs of the switch come at
// any time, also without a report. The proof counts open reports.
`default_nettype none

module prove_push_sync #(
    localparam int unsigned Syncs = 3,
    localparam int unsigned TokensLog2 = 2
) (
    input wire logic                  clk_i, go_i, start_i, ready_i, granted_i,
    input wire logic                  home_i,
    input wire logic [TokensLog2-1:0] index_i
);
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.N = 2;
        c.TokensLog2 = TokensLog2;
        c.OpenSyncs = Syncs;
        return cfg_pkg::derived(c);
    endfunction
    localparam cfg_pkg::cfg_t Cfg = sizes();

    logic                  rst_n, full, valid, sync, bad, home;
    logic [TokensLog2-1:0] index;
    logic                  waits_q, home_q; // a report waits, with its values
    logic [TokensLog2-1:0] index_q;
    logic [3:0]            open_q;          // started and not granted

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    push_sync #(.Cfg(Cfg)) i_dut (
        .clk_i, .rst_ni(rst_n), .go_i, .start_i, .home_i, .index_i, .full_o(full),
        .valid_o(valid), .ready_i, .home_o(home), .index_o(index), .granted_i, .sync_o(sync),
        .bad_o(bad)
    );

    // Unit control starts a report only if there is a place and no other waits.
    always_comb assume (!start_i || (rst_n && !go_i && !full && !waits_q));

    always_ff @(posedge clk_i) begin
        waits_q <= rst_n && !go_i && (start_i || (waits_q && !ready_i));
        if (start_i) {home_q, index_q} <= {home_i, index_i};
        open_q <= (!rst_n || go_i) ? '0 : open_q + 4'(start_i) - 4'(granted_i && open_q != '0);
        if (rst_n && !go_i) begin
            a_valid: assert (valid == waits_q);
            a_same:  assert (!valid || {home, index} == {home_q, index_q});
            // each GRANT of a report is an event, any other GRANT an error
            a_event: assert (sync == (granted_i && open_q != '0));
            a_bad:   assert (bad == (granted_i && open_q == '0));
            a_full:  assert (full == (32'(open_q) == Syncs));
            c_full:  cover (full && granted_i);
            c_both:  cover (start_i && sync);
            c_bad:   cover (bad);
        end
    end
endmodule

`default_nettype wire
