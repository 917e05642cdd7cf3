// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Packets for the uplink, of any length, are chosen at any time, for one of two requesters and in
// one of two lanes. Each lane may delay its oldest packet. The proof follows one packet, which the
// solver chooses (watch_i).
`default_nettype none

module prove_sum_up_join (
    input wire logic clk_i, go_i, watch_i, choose_i, ctx_i, copy_i, add_show_i, copy_show_i,
    add_last_i, copy_last_i, ready_i
);
    localparam int unsigned TurnW = 2, Inside = 3;  // maximum of packets

    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.N = 2;
        return cfg_pkg::derived(c);
    endfunction
    localparam cfg_pkg::cfg_t Cfg = sizes();

    typedef struct packed {
        logic             dst;
        logic [TurnW-1:0] turn;
        logic             watched; // for the proof only
    } tag_t;
    typedef struct packed {
        logic valid;
        tag_t tag;
        logic last;
    } up_t;

    logic             rst_n, add_ready, copy_ready, seen_q;
    logic [TurnW-1:0] turn;
    up_t              up;

    // ---- lanes: queues of what was chosen ----
    tag_t [1:0][Inside-1:0] lane_q;
    logic [1:0][1:0]        count_q;
    logic [1:0]             show, last, push, pop, shown_q;
    tag_t                   tag;
    up_t                    add, copy;

    assign tag  = '{dst: ctx_i, turn: turn, watched: watch_i && !seen_q};
    assign show = {copy_show_i && count_q[1] != '0, add_show_i && count_q[0] != '0};
    assign last = {copy_last_i, add_last_i};
    assign add  = '{valid: show[0], tag: lane_q[0][0], last: last[0]};
    assign copy = '{valid: show[1], tag: lane_q[1][0], last: last[1]};
    assign push = {choose_i && copy_i, choose_i && !copy_i};
    assign pop  = {show[1] && copy_ready && last[1], show[0] && add_ready && last[0]};

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    sum_up_join #(.Cfg(Cfg), .up_t(up_t), .TurnW(TurnW)) i_dut (
        .clk_i, .rst_ni(rst_n), .go_i, .choose_i, .ctx_i, .copy_i, .turn_o(turn),
        .add_i(add), .add_ready_o(add_ready), .copy_word_i(copy), .copy_ready_o(copy_ready),
        .up_o(up), .ready_i
    );

    for (genvar l = 0; l < 2; l++) begin : gen_lane
        always_ff @(posedge clk_i) begin
            if (!rst_n) begin
                count_q[l] <= '0;
                shown_q[l] <= 1'b0;
            end else begin
                count_q[l] <= count_q[l] + 2'(push[l]) - 2'(pop[l]);
                shown_q[l] <= show[l] && !pop[l] && !(l == 0 ? add_ready : copy_ready);
            end
            for (int unsigned i = 0; i < Inside; i++) begin
                if (push[l] && count_q[l] - 2'(pop[l]) == 2'(i)) lane_q[l][i] <= tag;
                else if (pop[l] && i + 1 < Inside)
                    lane_q[l][i] <= lane_q[l][(i + 1) % Inside];
            end
        end
    end
    logic [1:0] last_q;
    logic       open_q, open_copy_q;   // a packet has begun to leave, from the adder bypass
    always_ff @(posedge clk_i) last_q <= last;
    always_comb begin
        if (!rst_n || 3'(count_q[0]) + 3'(count_q[1]) == 3'(Inside)) assume (!choose_i);
        if (count_q != '0) assume (!go_i);  // a layer begins with nothing inside
        // A flit that is shown stays until it is taken.
        for (int unsigned l = 0; l < 2; l++)
            if (shown_q[l]) assume (show[l] && last[l] == last_q[l]);
        // After the first flit of a packet the others follow without gaps.
        for (int unsigned l = 0; l < 2; l++) if (open_q && open_copy_q == 1'(l)) assume (show[l]);
    end

    // ---- the followed packet, and the number of packets of its requester before it ----
    logic       in_q, ctx_q, copy_q, out, front, can, can_q, open_was_q;
    logic [1:0] ahead_q, same;
    logic [1:0] passed_q;

    assign out   = up.valid && ready_i && up.last;
    assign front = copy_q ? lane_q[1][0].watched : lane_q[0][0].watched;
    assign can   = in_q && front && show[copy_q] && ahead_q == '0;
    always_comb begin
        same = '0;
        for (int unsigned l = 0; l < 2; l++)
            for (int unsigned i = 0; i < Inside; i++)
                same += 2'(2'(i) < count_q[l] && lane_q[l][i].dst == ctx_i);
    end

    always_ff @(posedge clk_i) begin
        if (!rst_n) begin
            seen_q   <= 1'b0;
            in_q     <= 1'b0;
            open_q   <= 1'b0;
            passed_q <= '0;
        end else begin
            if (choose_i && watch_i && !seen_q) begin
                seen_q  <= 1'b1;
                in_q    <= 1'b1;
                ctx_q   <= ctx_i;
                copy_q  <= copy_i;
                ahead_q <= same - 2'(out && up.tag.dst == ctx_i);
            end else if (in_q && out) begin
                if (up.tag.watched) in_q <= 1'b0;
                else if (up.tag.dst == ctx_q && ahead_q != '0) ahead_q <= ahead_q - 1'b1;
            end
            if (up.valid) open_q <= !out;
            passed_q <= !can ? '0 : passed_q + 2'(out && !up.tag.watched);

            // one lane at a time, and each packet to its end
            a_one:   assert (!(add_ready && copy_ready));
            a_real:  assert (!(add_ready && !show[0]) && !(copy_ready && !show[1]));
            a_whole: assert (!open_q || (!add_ready || !open_copy_q)
                             && (!copy_ready || open_copy_q));
            a_taken: assert ((up.valid && ready_i) == (add_ready || copy_ready));
            // in order per requester
            a_order: assert (!(out && up.tag.watched) || ahead_q == '0);
            // if the followed packet may go, a packet leaves; at most one of the other lane passes
            // it, besides the one that has begun
            a_goes:  assert (!can || up.valid);
            a_soon:  assert (passed_q <= 2'd1 + 2'(open_was_q));
            c_pass:  cover (out && in_q && !up.tag.watched && up.tag.dst != ctx_q && ahead_q != '0);
            c_order: cover (out && up.tag.watched && seen_q);
            // lemma: the open packet, and its lane
            l_open:  assert (open_q == i_dut.gen_lanes.open_q
                             && (!open_q || open_copy_q == i_dut.gen_lanes.copy_q));
        end
        if (up.valid) open_copy_q <= i_dut.gen_lanes.copy;
    end

    // A packet had begun when the followed one became able to go.
    always_ff @(posedge clk_i) begin
        can_q <= rst_n && can;
        if (!rst_n) open_was_q <= 1'b0;
        else if (!can_q || !can) open_was_q <= can && open_q;
    end
    wire unused = &{1'b0, up};
endmodule

`default_nettype wire
