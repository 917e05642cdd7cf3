// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Packets have any lanes, from the first one on. No more rows are inside than grant_lanes has
// places for (Cfg.GrantRows), as grant_rows proves. Users take rows at any time. The proof follows
// one lane, which the solver chooses.
`default_nettype none

module prove_grant_lanes #(
    parameter int unsigned N        = 2,
    parameter int unsigned Most     = 3,  // places
    parameter int unsigned LutDepth = 128 // deeper queues are in block RAM
) (
    input wire logic                        clk_i, push_i, own_ready_i, far_ready_i, err_ready_i,
    input wire logic [1:0]                  watch_i,   // 3: none
    input wire packet_pkg::lane_t [2:0] lanes_i
);
    import packet_pkg::*;
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.N = N;
        c.TokensLog2 = 2;
        c.SwitchReductions = 1'b1;
        c = cfg_pkg::derived(c);
        c.GrantRows = Most;
        return c;
    endfunction
    localparam cfg_pkg::cfg_t Cfg = sizes();
    localparam int unsigned W = $clog2(Most + 4);

    logic                      rst_n, room, own_valid, far_valid, idle, pop, push, in_q;
    logic [Cfg.GpuW-1:0]       home;
    logic [Cfg.TokensLog2-1:0] index;
    bundle_pkg::error_t        err;
    node_pkg::node_cfg_t       cfg;
    logic [W-1:0]              count_q, ahead_q, come;
    lane_t                     lane_q;

    always_comb begin
        cfg             = '0;
        cfg.port        = 5'd1;
        cfg.token_shift = 4'd1;
    end

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    grant_lanes #(.Cfg(Cfg), .LutDepth(LutDepth)) i_dut (
        .clk_i, .rst_ni(rst_n), .cfg_i(cfg), .push_i(push), .room_o(room),
        .lanes_i, .own_valid_o(own_valid),
        .own_ready_i, .far_valid_o(far_valid), .far_ready_i,
        .load_valid_o(), .load_ready_i(1'b0), .push_valid_o(), .home_o(home), .index_o(index),
        .err_o(err), .err_ready_i,
        .idle_o(idle)
    );

    logic blank, blank_q; // nothing is shown while a row is inside
    assign blank = count_q != '0 && !own_valid && !far_valid && !err.valid;

    assign come = W'(lanes_i[0].valid) + W'(lanes_i[1].valid) + W'(lanes_i[2].valid);
    assign push = push_i && rst_n;
    assign pop  = (own_valid && own_ready_i) || (far_valid && far_ready_i)
                  || (err.valid && err_ready_i);

    always_comb begin
        if (push) assume (lanes_i[0].valid && (lanes_i[1].valid || !lanes_i[2].valid)
                          && count_q + come <= W'(Most));
    end

    always_ff @(posedge clk_i) begin
        if (!rst_n) begin
            count_q <= '0;
            in_q    <= 1'b0;
            blank_q <= 1'b0;
        end else begin
            blank_q <= blank;
            count_q <= count_q + (push ? come : '0) - W'(pop);
            if (!in_q && push && watch_i != '1 && lanes_i[watch_i].valid) begin
                in_q    <= 1'b1;
                ahead_q <= count_q + W'(watch_i) - W'(pop);
                lane_q  <= lanes_i[watch_i];
            end else if (in_q && pop) begin
                if (ahead_q == '0) in_q <= 1'b0;
                else               ahead_q <= ahead_q - 1'b1;
            end
            a_room: assert (!push || room);
            a_one:  assert (2'(own_valid) + 2'(far_valid) + 2'(err.valid)
                            == 2'(count_q != '0 && !blank));
            a_soon: assert (!blank || (Most > LutDepth && !blank_q));
            a_idle: assert (idle == (count_q == '0));
            a_row:  assert (!in_q || ahead_q != '0 || blank
                            || (32'(lane_q.home) >= N ? err.valid
                                && err.code == error_pkg::ERR_UNMAPPED
                                : lane_q.index > 15'd1 ? err.valid
                                && err.code == error_pkg::ERR_BOUNDS
                                : (lane_q.home == 5'd1 ? own_valid : far_valid)
                                  && 5'(home) == lane_q.home && 15'(index) == lane_q.index));
            c_full: cover (count_q == W'(Most));
            c_last: cover (in_q && ahead_q == '0 && pop && far_valid);
            c_err:  cover (in_q && ahead_q == '0 && pop && err.valid);
        end
    end
endmodule

`default_nettype wire
