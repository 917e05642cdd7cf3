// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Two ports open rows of each other. Any rows are ready to open. Joins end rows, and outputs send
// GRANTs, at any time. The proof follows two rows of port 0, which its join gets one after the
// other.
`default_nettype none
`include "bundles.svh"

module prove_row_open #(
    parameter bit Own = 1'b0,  // checks the grants of port 0 itself, else those of port 1
    localparam int unsigned N = 2,
    localparam int unsigned TokensLog2 = 2,
    localparam int unsigned OpenRows = 2
) (
    input wire logic                  clk_i,
    input wire logic [N-1:0]          ready_to_open_i, done_i, sent_i, fell_i,
    input wire logic [TokensLog2-1:0] index_i [N]
);
    import packet_pkg::*;
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.N = N;
        c.TokensLog2 = TokensLog2;
        c.OpenRows = OpenRows;
        c.SwitchReductions = 1'b1;
        return cfg_pkg::derived(c);
    endfunction
    localparam cfg_pkg::cfg_t Cfg = sizes();
    localparam int unsigned LevelW = $clog2(OpenRows + 1);

    logic                  rst_n;
    logic [4:0]            turn_q;
    logic [N-1:0]          ready_to_open_q, take, crowded, valid, idle,
                           grants_idle, came_q, full, push,
        room, fell_q;
    logic [TokensLog2-1:0] ready_index_q [N];
    `MW_OPENED(Cfg)        opened_row [N];
    logic [N-1:0]          opened;
    logic [63:0]           upper [N];
    logic [LevelW-1:0]     level_q [N]; // rows in the join, as reduce_join counts them

    f_reset i_reset (.clk_i, .rst_no(rst_n));

    for (genvar p = 0; p < N; p++) begin : gen_port
        logic [TokensLog2-1:0] other [1];
        `MW_COMMON(Cfg)        common;
        assign other[0] = opened_row[1-p].index;
        assign opened[p] = opened_row[p].valid;
        always_comb begin
            common = '0;
            common.turn = turn_q;
        end
        row_open #(.Cfg(Cfg), .Places(4)) i_dut (
            .clk_i, .rst_ni(rst_n), .port_i(5'(p)), .common_i(common),
            .row_i('{valid: ready_to_open_q[p], members: 1'b1, index: ready_index_q[p]}),
            .row_take_o(take[p]), .full_i(full[p]), .opened_o(opened_row[p]), .joins_o(),
            .opened_i(opened[1-p]), .opened_index_i(other),
            .fell_i(fell_i[p]),
            .crowded_o(crowded[p]), .crowded_i(crowded[1-p]),
            .grant_valid_o(valid[p]), .grant_upper_o(upper[p]),
            .grant_sent_i(sent_i[p] && valid[p]), .grants_idle_o(grants_idle[p]), .idle_o(idle[p])
        );
        assign push[p] = i_dut.i_grants.push_i;
        assign room[p] = i_dut.i_grants.room;
        assign full[p] = level_q[p] == LevelW'(OpenRows)
                         || (came_q[p] && level_q[p] == LevelW'(OpenRows - 1));

        always_ff @(posedge clk_i) begin
            came_q[p] <= rst_n && opened[p];
            level_q[p] <= rst_n ? level_q[p] + LevelW'(came_q[p]) - LevelW'(done_i[p]) : '0;
            ready_to_open_q[p] <= rst_n && (ready_to_open_i[p] || (ready_to_open_q[p] && !take[p]));
            if (!ready_to_open_q[p] || take[p]) ready_index_q[p] <= index_i[p];
            fell_q[p] <= rst_n && fell_i[p];
        end
        always_comb begin
            if (level_q[p] == '0) assume (!done_i[p]);
            assume (!fell_q[p] || fell_i[p]);
        end
        always_ff @(posedge clk_i) if (rst_n) begin
            a_open:  assert (32'(level_q[p]) + 32'(came_q[p]) + 32'(opened[p]) <= OpenRows);
            a_place: assert (!push[p] || room[p]);
            a_idle:  assert (idle[p] == (grants_idle[p] && !opened[p]));
        end
    end

    always_ff @(posedge clk_i) turn_q <= (!rst_n || turn_q == 5'd1) ? '0 : turn_q + 5'd1;

    // ---- two rows of port 0, with indices 1 and 2, which no other row of it has ----
    localparam int unsigned Q = Own ? 0 : 1;
    logic       one_q, two_q;         // it was opened
    logic       one_here_q, two_here_q; // it was in a GRANT
    logic       one_now, two_now;     // it is in the GRANT that leaves
    logic       order;                // the first is in a lane before the second
    logic       twice;
    logic [1:0] ready_one_q;          // rows that came: 0: neither, 1: the first, 2: both
    lane_t      lane;

    always_comb begin
        {one_now, two_now, order, twice} = '0;
        for (int unsigned i = 0; i < Lanes; i++) begin
            lane = upper[Q][LaneBits*i +: LaneBits];
            if (lane.valid && lane.home == '0 && lane.index == 15'd1) begin
                twice  |= one_now;
                one_now = 1'b1;
                order   = !two_now;
            end
            if (lane.valid && lane.home == '0 && lane.index == 15'd2) begin
                twice  |= two_now;
                two_now = 1'b1;
            end
        end
        if (!valid[Q] || !sent_i[Q]) {one_now, two_now, twice} = '0;
        if (!ready_to_open_q[0] || take[0]) begin
            assume (!(ready_to_open_i[0] && index_i[0] == 2'd1) || ready_one_q == 2'd0);
            assume (!(ready_to_open_i[0] && index_i[0] == 2'd2) || ready_one_q == 2'd1);
        end
    end

    logic       valid_q, sent_q;
    logic [63:0] upper_q;
    logic [5:0] waits_q;

    always_ff @(posedge clk_i) begin
        valid_q <= rst_n && valid[Q];
        sent_q  <= sent_i[Q];
        upper_q <= upper[Q];
        waits_q <= (!rst_n || grants_idle[Q] || valid[Q]) ? '0 : waits_q + 6'd1;
        if (!rst_n) begin
            {one_q, two_q, one_here_q, two_here_q} <= '0;
            ready_one_q <= '0;
        end else begin
            if ((!ready_to_open_q[0] || take[0]) && ready_to_open_i[0]) begin
                if (index_i[0] == 2'd1) ready_one_q <= 2'd1;
                if (index_i[0] == 2'd2) ready_one_q <= 2'd2;
            end
            one_q      <= one_q || (opened[0] && opened_row[0].index == 2'd1);
            two_q      <= two_q || (opened[0] && opened_row[0].index == 2'd2);
            one_here_q <= one_here_q || one_now;
            two_here_q <= two_here_q || two_now;

            // GRANTs have only rows that the join has, each once, in its order, and all of them
            a_one:    assert (!one_now || (one_q && !one_here_q));
            a_two:    assert (!two_now || (two_q && !two_here_q
                                           && (fell_i[Q] || one_here_q || (one_now && order))));
            a_twice:  assert (!twice);
            a_all:    assert (!idle[Q] || fell_i[Q]
                              || (one_here_q == one_q && two_here_q == two_q));
            a_stays:  assert (!(valid_q && !sent_q) || (valid[Q] && upper[Q] == upper_q));
            a_soon:   assert (waits_q < 6'd18);
            a_turns:  assert (opened != '1);
            c_start:  cover (ready_to_open_q != '0);
            c_both:   cover (one_now && two_now);
            c_apart:  cover (two_now && one_here_q);
            c_full:   cover (crowded[Q]);
            c_fell:   cover (two_now && fell_i[Q]);
        end
    end
endmodule

`default_nettype wire
