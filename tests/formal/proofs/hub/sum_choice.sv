// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The proof covers the choice of the next packet for row_sum. Any contexts have rows for either
// lane, which stay until they are served. Lanes have room at any time, and packets take any time.
// With Balance any contexts are behind at any time, in a layer that balances rows or does not.
`default_nettype none
`include "bundles.svh"

module prove_sum_choice #(
    parameter int unsigned N = 3,
    parameter int unsigned Chosen = 1,   // the context under check; the own one is 0
    parameter bit Lanes = 1'b1,
    parameter bit Balance = 1'b0,
    localparam int unsigned W = (N > 2) ? 2 : 1
) (
    input wire logic         clk_i, own_r_i, again_i, res_i, ready_i, own_out_i,
    up_out_i, up_st_i, crd_i, short_i, by_adder_i, balance_i,
                             add_room_i, copy_room_i,
    input wire logic [N-1:0] pend_i, copy_i, behind_i,
    input wire logic [W-1:0] up_dst_i, crd_port_i
);
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.N = N;
        c.FlitBytes = 8;
        c.PartPkts = 2;
        c.AdderBypass = Lanes;
        c.BalanceRows = Balance;
        return cfg_pkg::derived(c);
    endfunction
    localparam cfg_pkg::cfg_t Cfg = sizes();

    `MW_ROWS(Cfg)        rows;
    logic                rst_n, valid, own, begin_q, take;
    logic [W-1:0]        ctx;
    node_pkg::node_cfg_t cfg;
    logic                short_q;    // layer constants: rows are one short packet
    logic                by_adder_q; // own rows without an addition may use the adder
    logic                balance_q;  // contexts that are behind are served first
    logic                copy;

    always_comb begin
        cfg              = '0;
        cfg.row_bytes    = short_q ? 15'd64 : 15'd256;
        cfg.part_credits = 8'd2;
        cfg.own_by_adder = by_adder_q;
        cfg.balance_rows = balance_q;
    end
    assign rows = '{pend: pend_i, one: copy_i, own_r: own_r_i, own_again: again_i};
    f_reset i_reset (.clk_i, .rst_no(rst_n));
    sum_choice #(.Cfg(Cfg)) i_dut (
        .clk_i, .rst_ni(rst_n), .go_i(1'b0), .cfg_i(cfg), .rows_i(rows),
        .lanes_i(Lanes), .add_room_i,
        .copy_room_i, .res_free_i(res_i), .valid_o(valid), .ready_i, .ctx_o(ctx),
        .own_o(own), .copy_o(copy), .begin_i(begin_q),
        .own_out_i, .up_out_i, .up_st_i, .up_dst_i,
        .part_crd_i('{valid: crd_i, port: packet_pkg::port_t'(crd_port_i)}),
        .behind_i
    );

    // ---- row_sum: a choice begins a cycle later; packets end ----
    logic [N-1:0]      pend_q, copy_q, taken;
    logic [N-1:0][1:0] open_q;   // packets of each requester that hold a credit
    logic [5:0]        own_q, up_q;
    logic              own_r_q, res_q, again_q;
    logic              take_copy; // the chosen context has a row for the bypass
    logic              copies_q;  // its packet goes there
    logic              adds;      // some context has a row with an addition
    assign adds = (pend_i & ~copy_i) != '0;
    assign take      = valid && ready_i;
    assign take_copy = i_dut.own_first ? copy_i[0] : copy_i[i_dut.turn];
    always_comb for (int unsigned c = 0; c < N; c++) taken[c] = begin_q && ctx == W'(c);

    always_ff @(posedge clk_i) begin
        short_q <= rst_n ? short_q : short_i;
        by_adder_q <= rst_n ? by_adder_q : by_adder_i;
        balance_q <= rst_n ? balance_q : Balance && balance_i;
        copies_q <= i_dut.copies;
        begin_q <= rst_n && take;
        pend_q  <= pend_i;
        copy_q  <= copy_i;
        own_r_q <= own_r_i;
        again_q <= again_i;
        res_q   <= res_i;
        if (!rst_n) begin
            open_q <= '0;
            own_q  <= '0;
            up_q   <= '0;
        end else begin
            for (int unsigned c = 0; c < N; c++) begin
                open_q[c] <= open_q[c] + 2'(taken[c] && c != 0) - 2'(crd_i && crd_port_i == W'(c))
                             - 2'(up_out_i && up_st_i && up_dst_i == W'(c));
            end
            own_q <= own_q + 6'(taken[0]) - 6'(own_out_i);
            up_q  <= up_q + 6'(begin_q && !taken[0]) - 6'(up_out_i);
        end
    end
    always_comb begin
        if (!rst_n) assume (!ready_i && !own_out_i && !up_out_i && !crd_i);
        if (begin_q) assume (!ready_i);
        // A row and a packet of R stay until they are taken.
        for (int unsigned c = 0; c < N; c++)
            if (rst_n && pend_q[c] && !taken[c]) assume (pend_i[c] && copy_i[c] == copy_q[c]);
        if (pend_q[0] && !taken[0]) assume (own_r_i == own_r_q && again_i == again_q);
        if (res_q && !(begin_q && own)) assume (res_i);
        // A packet that ends was in progress. A partial returns its credit, or an ST packet leaves.
        if (own_q == '0) assume (!own_out_i);
        if (up_q == '0) assume (!up_out_i);
        if (crd_i) assume (32'(crd_port_i) < N && crd_port_i != '0 && open_q[crd_port_i] != '0);
        if (up_out_i && up_st_i)
            assume (32'(up_dst_i) < N && up_dst_i != '0
                    && open_q[up_dst_i] > 2'(crd_i && crd_port_i == up_dst_i));
    end

    // At most these packets pass a context that may go: one of each other context of its lane, and
    // as many own ones. One packet of the other lane may pass before each of these, and before its
    // own. While its lane has no room, none passes in its lane, and packets of the other lane do
    // not count.
    logic waits, serves, room;
    // An own row that may use the adder counts in the lane where it may go now.
    assign room   = !Lanes || (i_dut.copy_rows[Chosen] ? copy_room_i : add_room_i);
    assign waits  = i_dut.may[Chosen];
    assign serves = take && (i_dut.own_first ? Chosen == 0 : i_dut.turn == W'(Chosen));
    localparam int unsigned Turns = (Chosen == 0) ? N - 1 : 2 * (N - 1);  // of its lane
    localparam int unsigned Bound = Lanes ? 2 * Turns + 1 : Turns;

    // Where others are served first, the same holds for the own context, and for one that is
    // overdue, which it is within two periods of packets, and until it is served.
    logic late;
    f_fair #(.Bound(Bound)) i_fair (
        .clk_i, .rst_ni(rst_n), .wait_i(waits && !late), .served_i(serves),
        .other_i(take && !serves && room)
    );
    if (Balance && Chosen != 0) begin : gen_balance
        localparam int unsigned Period = 4 << W;
        logic         overdue, overdue_q;
        logic [N-1:0] lane; // contexts that may go in the lane of the turn
        assign overdue = i_dut.gen_urgent.overdue_q[Chosen];
        assign late = balance_q && !overdue;
        assign lane = i_dut.may & (!Lanes ? '1 : i_dut.copies ? i_dut.copy_rows : ~i_dut.copy_rows);
        f_fair #(.Bound(2 * Period)) i_late (
            .clk_i, .rst_ni(rst_n), .wait_i(waits && late), .served_i(serves),
            .other_i(take && !serves && room)
        );
        always_ff @(posedge clk_i) begin
            overdue_q <= rst_n && overdue && !taken[Chosen];
            if (rst_n) begin
                a_stays:  assert (!overdue_q || overdue);
                // one that is behind goes before one that is not, but for overdue and own ones
                a_first:  assert (!serves || !balance_q || overdue
                                  || behind_i[Chosen] || (lane & behind_i) == '0);
                // packets that have passed, those that have begun and one that is to begin
                l_passed: assert (!late
                                  || 32'(i_late.passed_q)
                                     <= (i_dut.gen_urgent.waits_q[Chosen] ? Period : 0)
                                        + 32'(i_dut.gen_urgent.packet_q) + 32'(begin_q));
                c_behind: cover (serves && behind_i[Chosen] && lane[N-1]);
            end
        end
    end else begin : gen_turns
        assign late = 1'b0;
    end

    always_ff @(posedge clk_i) begin
        if (rst_n) begin
            // a chosen packet waits for no other hub: it has its credit, or its packet of R
            a_credit: assert (!begin_q || own || open_q[ctx] < 2'd2);
            a_result: assert (!begin_q || !own || !own_r_q || res_q);
            a_idle:   assert (valid
                              || !(pend_i[0] && (!own_r_i || res_i) && !again_i && own_q != 6'd31
                                         && (!Lanes || (copy_i[0] ? copy_room_i : add_room_i))));
            a_lane:   assert (!Lanes || !take || (i_dut.copies ? copy_room_i : add_room_i));
            a_shown:  assert (!Lanes || !begin_q || copy == copies_q);
            a_sums:   assert (!take || !i_dut.copies || take_copy);
            a_bypass: assert (!Lanes || !take || !take_copy || i_dut.copies
                              || (by_adder_q && !adds
                                  && (i_dut.own_first || i_dut.turn == '0)));
            a_room:   assert (own_q <= 6'd31 && up_q <= 6'd15);
            c_lanes:  cover (!Lanes
                             || (take && take_copy && add_room_i && pend_i[1] && !copy_i[1]));
            l_used:   assert (6'(i_dut.inside_q) == own_q && 6'(i_dut.up_q) == up_q);
            c_all:    cover (open_q[1] == 2'd2);
            c_own:    cover (begin_q && own && own_r_q);
            c_first:  cover (take && i_dut.own_first);
            c_adder:  cover (!Lanes || (take && take_copy && !i_dut.copies));
        end
    end
    for (genvar c = 1; c < N; c++) begin : gen_used
        always_ff @(posedge clk_i) begin
            if (rst_n) begin
                l_open: assert (i_dut.used_q[c] == open_q[c] && open_q[c] <= 2'd2);
            end
        end
    end
endmodule

`default_nettype wire
