// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Layers of any epoch, sweeps, and a reset come at any time. The proof follows one epoch, and
// records whether the tables are those of the layer that counted in it.
`default_nettype none

module prove_cached_handle (
    input  wire logic       clk_i, go_i, sweep_i, cached_i,
    input  wire logic [1:0] epoch_i, handle_epoch_i, one_i
);
    logic                rst_n, stale, here_q, error_q, again_q, was_q;
    logic [1:0]          one_q;
    node_pkg::node_cfg_t cfg;
    bundle_pkg::error_t  err;

    always_comb begin
        cfg              = '0;
        cfg.epoch        = epoch_i;
        cfg.cached       = cached_i;
        cfg.handle_epoch = handle_epoch_i;
    end

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    cached_handle i_dut (
        .clk_i, .rst_ni(rst_n), .go_i, .sweep_i, .cfg_i(cfg), .stale_o(stale), .err_o(err)
    );

    always_comb begin
        assume (!(go_i && sweep_i));
        if (rst_n) assume (one_i == one_q);
    end

    always_ff @(posedge clk_i) begin
        one_q   <= one_i;
        error_q <= rst_n && go_i && stale;
        // was_q: the last layer that started has the followed epoch
        if (!rst_n || sweep_i) {here_q, was_q} <= '0;
        else if (go_i) begin
            was_q <= epoch_i == one_i;
            // A second layer of the epoch in a row clears the counts. A layer of another epoch
            // replaces them.
            if (!cached_i) here_q <= epoch_i == one_i && !was_q;
        end
        again_q <= rst_n && go_i && !cached_i && was_q && epoch_i == one_i;
        if (rst_n) begin
            a_here:  assert (handle_epoch_i != one_i || stale == (cached_i && !here_q));
            a_own:   assert (cached_i || !stale);
            a_error: assert (err.valid == error_q);
            a_code:  assert (err.code == error_pkg::ERR_HANDLE);
            c_used:  cover (go_i && cached_i && !stale && epoch_i != handle_epoch_i);
            c_twice: cover (again_q && cached_i && handle_epoch_i == one_i && stale);
            c_error: cover (err.valid);
        end
    end
endmodule

`default_nettype wire
