// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The proof bounds the rows whose lanes are in a hub's grant_lanes at once (GrantRows of cfg_pkg).
// The solver chooses the time of each step of a row. The counters for switch and hub have the
// limits of reduce_join (OpenRows, ResultSlots), credit_use (RxResultPkts) and sum_result
// (SumFlits).
//
// Every row is opened, then its GRANT comes, then its lane is taken. A row of another home closes
// after that, because the hub's partial sum is part of it. An own row closes at any time. Its
// result is one packet of one flit. The result waits in the ring of the switch. It then holds a
// credit until it leaves the hub's queue, and waits until the own row takes it. The own row begins
// when its lane is taken. Flits of 8 bytes wait for the own row in the queue itself.
`default_nettype none

module prove_grant_rows #(
    parameter int unsigned N         = 2,
    parameter int unsigned FlitBytes = 8,
    parameter int unsigned OpenRows  = 8
) (
    input wire logic       clk_i, far_open_i, far_close_i, far_take_i, own_open_i,
    own_close_i, own_take_i, send_i,
                           leave_i, add_i,
    input wire logic [1:0] far_grant_i, own_grant_i // lanes of a packet
);
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.N = N;
        c.FlitBytes = FlitBytes;
        c.OpenRows = OpenRows;
        c.SwitchReductions = 1'b1;
        return cfg_pkg::derived(c);
    endfunction
    localparam cfg_pkg::cfg_t Cfg = sizes();
    localparam int unsigned   Far = (Cfg.N - 1) * Cfg.OpenRows;
    localparam int unsigned   W = $clog2(2 * Cfg.GrantRows + 1);

    typedef logic [W-1:0] count_t;

    logic   rst_n, far_open, far_close, far_take, own_open, own_close, own_take, send, leave, add;
    count_t far_open_q, far_wait_q, far_in_q; // open; without their GRANT yet; with their lane in
                                              // grant_lanes
    count_t own_open_q, own_wait_q, own_in_q;
    count_t ring_q, credit_q, sum_q;          // results
    count_t own_results, far_grant, own_grant;

    f_reset i_reset (.clk_i, .rst_no(rst_n));

    assign far_open    = far_open_i && far_open_q < count_t'(Far);
    assign far_close   = far_close_i && far_open_q > far_wait_q + far_in_q;
    assign far_take    = far_take_i && far_in_q != '0;
    assign far_grant   = count_t'(far_grant_i) > far_wait_q ? far_wait_q : count_t'(far_grant_i);
    assign own_open    = own_open_i && own_open_q < count_t'(Cfg.OpenRows);
    assign own_close   = own_close_i && own_open_q != '0 && ring_q < count_t'(Cfg.ResultSlots);
    assign own_take    = own_take_i && own_in_q != '0;
    assign own_grant   = count_t'(own_grant_i) > own_wait_q ? own_wait_q : count_t'(own_grant_i);
    assign own_results = own_open_q + ring_q + credit_q + sum_q;
    assign send        = send_i && ring_q != '0 && credit_q < count_t'(Cfg.RxResultPkts);
    assign leave       = leave_i && credit_q != '0 && sum_q < count_t'(Cfg.SumFlits);
    assign add         = add_i && (Cfg.SumFlits == 0 ? credit_q : sum_q) != '0
                         && own_results > own_wait_q + own_in_q;

    always_ff @(posedge clk_i) begin
        if (!rst_n) begin
            {far_open_q, far_wait_q, far_in_q} <= '0;
            {own_open_q, own_wait_q, own_in_q} <= '0;
            {ring_q, credit_q, sum_q}          <= '0;
        end else begin
            far_open_q <= far_open_q + count_t'(far_open) - count_t'(far_close);
            far_wait_q <= far_wait_q + count_t'(far_open) - far_grant;
            far_in_q   <= far_in_q + far_grant - count_t'(far_take);
            own_open_q <= own_open_q + count_t'(own_open) - count_t'(own_close);
            own_wait_q <= own_wait_q + count_t'(own_open) - own_grant;
            own_in_q   <= own_in_q + own_grant - count_t'(own_take);
            ring_q     <= ring_q + count_t'(own_close) - count_t'(send);
            credit_q   <= credit_q + count_t'(send) - count_t'(leave)
                          - count_t'(add && Cfg.SumFlits == 0);
            sum_q      <= sum_q + count_t'(leave) - count_t'(add && Cfg.SumFlits != 0);
            a_rows: assert (far_in_q + own_in_q <= count_t'(Cfg.GrantRows));
            // invariants behind a_rows
            a_far:  assert (far_wait_q <= far_open_q && far_in_q <= far_open_q
                            && far_wait_q + far_in_q <= far_open_q && far_open_q <= count_t'(Far));
            a_own:  assert (own_wait_q <= own_results && own_in_q <= own_results
                            && own_wait_q + own_in_q <= own_results);
            a_most: assert (own_open_q <= count_t'(Cfg.OpenRows)
                            && ring_q <= count_t'(Cfg.ResultSlots)
                            && credit_q <= count_t'(Cfg.RxResultPkts)
                                           && sum_q <= count_t'(Cfg.SumFlits));
            c_full: cover (far_in_q + own_in_q == count_t'(Cfg.GrantRows));
        end
    end
endmodule

`default_nettype wire
