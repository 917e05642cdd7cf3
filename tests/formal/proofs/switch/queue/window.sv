// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The look-ahead window belongs to one input with two outputs, each with its queue. While the input
// holds credits, it pushes packets with a copy for one output or both, or drops them. Each output
// takes a shown copy, and finishes it, at any time or never. left_q has the unsent copies of each
// packet, by its number.
`default_nettype none
`include "bundles.svh"

module prove_window #(
    parameter int unsigned StorePkts = 2,
    localparam int unsigned SlotW = $clog2(StorePkts),
    localparam int unsigned SeqW = SlotW + 1,
    localparam int unsigned Numbers = 2 * StorePkts
) (
    input  wire logic            clk_i, arrive_i, others_i,
    input  wire logic [1:0]      copies_i, pop_i, sent_i, free_i,
    input  wire logic [SeqW-1:0] limit_i
);
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.FlitBytes = 16;
        c.OpenRows = 2;
        c.StorePkts = StorePkts;
        c.CtrlPkts = 2;
        c.Window = StorePkts;
        c.Monitor = 1'b0;
        return cfg_pkg::derived(c);
    endfunction
    localparam cfg_pkg::cfg_t Cfg = sizes();

    logic            rst_n, may, idle, issue;
    logic [1:0]      push, room, has, here, busy_q, sending_q, sent;
    logic [5:0]      unused;
    logic [SeqW-1:0] held_q, limit_q;
    `MW_WINDOW(Cfg)  win;

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    window #(.Cfg(Cfg)) i_dut (
        .clk_i, .rst_ni(rst_n), .limited_i(limit_i != '0), .push_i(arrive_i && copies_i != '0),
        .drop_i(arrive_i && copies_i == '0), .issue_i(issue), .here_i(here != '0),
        .win_o(win), .may_o(may),
        .idle_o(idle)
    );
    assign push  = arrive_i ? copies_i : '0;
    assign issue = room == '1 && may && others_i;

    for (genvar o = 0; o < 2; o++) begin : gen_queue
        voq #(.Cfg(Cfg)) i_voq (
            .clk_i, .rst_ni(rst_n),
            .put_i('{wr: 1'b0, desc: push[o], push: push[o]}),
            .wr_i('{region: packet_pkg::CLS_STORE, default: '0}), .desc_i('0),
            .scarce_i(1'b0), .limit_i, .win_i(win),
            .here_o(here[o]), .sent_i(sent[o]), .steps_i('{arrive: arrive_i, issue: issue}),
            .room_o(room[o]), .state_o({unused[o+4], unused[o], has[o], unused[o+2]}),
            .pop_i('{valid: pop_i[o], cls: packet_pkg::CLS_STORE}),
            .desc_o(), .free_i(free_i[o]), .rd_i('0), .rdata_o(),
            .shared_i('0), .shared_rdata_o()
        );
    end

    // ---- input and outputs ----
    // There are credits. An output is sending until free_i, and almost finished from sent_i on.
    assign sent = sent_i & sending_q;
    always_comb begin
        if (!rst_n) assume (!arrive_i && pop_i == '0);
        if (rst_n) assume (limit_i == limit_q);
        assume (limit_i <= SeqW'(StorePkts));
        if (held_q == '0) assume (!arrive_i);
        assume ((pop_i & ~has) == '0 && (pop_i & busy_q & ~free_i) == '0);
        assume ((free_i & ~(busy_q & ~(sending_q & ~sent))) == '0);
    end
    always_ff @(posedge clk_i) begin
        limit_q   <= limit_i;
        held_q    <= rst_n ? held_q - SeqW'(arrive_i) + SeqW'(issue) : SeqW'(StorePkts);
        busy_q    <= rst_n ? pop_i | (busy_q & ~free_i) : '0;
        sending_q <= rst_n ? pop_i | (sending_q & ~sent) : '0;
    end

    // ---- copies not sent, by number; those not taken ----
    logic [Numbers-1:0][1:0] left_q, there_q;
    logic [1:0][SeqW-1:0]    number_q, next;   // of the copy on its way; of the next copy of each
                                               // queue
    logic [1:0]              some;
    logic [SeqW-1:0]         packets;          // from the oldest on
    logic [Numbers-1:0]      outside;          // not sent, and not among these

    assign packets = win.seq - win.oldest;

    always_comb begin
        for (int unsigned i = 0; i < Numbers; i++) begin
            outside[i] = left_q[i] != '0 && SeqW'(SeqW'(i) - win.oldest) >= packets;
        end
        some = '0;
        next = '0;
        for (int unsigned o = 0; o < 2; o++) begin
            for (int unsigned i = 0; i < Numbers; i++) begin
                if (!some[o] && there_q[SeqW'(32'(win.oldest) + i)][o]) begin
                    some[o] = 1'b1;
                    next[o] = SeqW'(32'(win.oldest) + i);
                end
            end
        end
    end

    always_ff @(posedge clk_i) begin
        if (!rst_n) begin
            left_q  <= '0;
            there_q <= '0;
        end else if (limit_i != '0) begin
            if (arrive_i && copies_i != '0) begin
                left_q[win.seq]  <= copies_i;
                there_q[win.seq] <= copies_i;
            end
            for (int unsigned o = 0; o < 2; o++) begin
                if (pop_i[o]) begin
                    there_q[next[o]][o] <= 1'b0;
                    number_q[o]         <= next[o];
                end
                if (sent[o]) left_q[number_q[o]][o] <= 1'b0;
            end
        end
        if (rst_n && limit_i != '0) begin
            // Numbers of different packets differ: those not sent, and those that may still come,
            // are among StorePkts packets from the oldest on.
            a_few:    assert (packets <= SeqW'(StorePkts) && packets + held_q <= SeqW'(StorePkts));
            a_inside: assert (outside == '0);
            // an output is shown its next copy exactly if that is one of the limit_i packets from
            // the oldest on, whatever the other output does
            a_shown:  assert (has == {some[1] && SeqW'(next[1] - win.oldest) < limit_i,
                                      some[0] && SeqW'(next[0] - win.oldest) < limit_i});
            a_idle:   assert (idle == (win.seq == win.oldest));
        end
    end

    // ---- lemmas: of each queue the places in order, what is on its way, slots and promises ----
    logic [1:0][SeqW-1:0] n_q;        // as there, also without a window
    logic [1:0] in_order;
    logic [1:0][SeqW:0]  there;       // copies in each queue
    logic [Numbers-1:0][1:0] away;    // on their way

    for (genvar o = 0; o < 2; o++) begin : gen_inside
        logic [SlotW:0] at [StorePkts+1];
        logic [StorePkts-1:0] right;
        assign at[0] = gen_queue[o].i_voq.store_r_q;
        for (genvar i = 0; i < StorePkts; i++) begin : gen_place
            logic [SeqW-1:0] number;
            assign number   = SeqW'(i) + win.oldest;
            assign right[i] = !there_q[number][o]
                              || gen_queue[o].i_voq.gen_window.i_seq.mem[at[i][SlotW-1:0]]
                              == number;
            assign at[i+1]  = there_q[number][o] ? gen_queue[o].i_voq.after(at[i]) : at[i];
        end
        assign in_order[o] = right == '1;
        logic [SlotW:0] span [StorePkts+1];     // from the first place on
        assign span[0] = gen_queue[o].i_voq.store_r_q;
        for (genvar i = 0; i < StorePkts; i++) begin : gen_span
            assign span[i+1] = (SeqW'(i) < n_q[o]) ? gen_queue[o].i_voq.after(span[i]) : span[i];
        end
        always_comb begin
            there[o] = '0;
            for (int unsigned i = 0; i < Numbers; i++) begin
                there[o]  += (SeqW+1)'(there_q[i][o]);
                away[i][o] = sending_q[o] && number_q[o] == SeqW'(i);
            end
            if (rst_n) begin
                a_sending: assert (gen_queue[o].i_voq.gen_window.sending_q == sending_q[o]
                                   && (!sending_q[o] || busy_q[o]));
                a_slots:   assert (5'(gen_queue[o].i_voq.room_q) + 5'(gen_queue[o].i_voq.missed_q)
                                   + 5'(busy_q[o]) + 5'(held_q) + 5'(n_q[o]) == 5'(StorePkts));
                a_span:    assert (span[StorePkts] == gen_queue[o].i_voq.store_w_q);
                a_some:    assert (gen_queue[o].i_voq.has_q[packet_pkg::CLS_STORE]
                                   == (n_q[o] != '0));
            end
            if (rst_n && limit_i != '0) begin
                a_order:   assert (in_order[o]);
                a_there:   assert (5'(there[o]) == 5'(n_q[o]));
                a_number:  assert (!sending_q[o]
                                   || gen_queue[o].i_voq.gen_window.sending_seq_q == number_q[o]);
            end
        end
    end
    always_ff @(posedge clk_i) begin
        for (int unsigned o = 0; o < 2; o++)
            n_q[o] <= rst_n ? n_q[o] + SeqW'(push[o]) - SeqW'(pop_i[o]) : '0;
    end
    always_comb begin
        if (rst_n && limit_i != '0) begin
            a_left: assert (left_q == (there_q | away) && (there_q & away) == '0);
            a_load: assert (5'(i_dut.load_q) == 5'(packets) + 5'(held_q));
        end
    end

    // ---- the oldest packet ----
    // The oldest packet has a copy left, or the next one replaces it in the next cycle. No packet
    // with a copy left is passed over.
    logic            step_q, count_q;
    logic [SeqW-1:0] oldest_q;
    logic [1:0]      left;

    assign left = left_q[win.oldest] & ~{sent[1] && number_q[1] == win.oldest, sent[0]
                                         && number_q[0] == win.oldest};
    always_ff @(posedge clk_i) begin
        oldest_q <= win.oldest;
        step_q   <= left == '0 && win.seq != win.oldest;
        count_q  <= rst_n && limit_i != '0;
        if (count_q && rst_n) a_step: assert (win.oldest == oldest_q + SeqW'(step_q));
    end

    // reachable under the assumptions
    always_ff @(posedge clk_i) begin
        if (rst_n) begin
            c_none:    cover (limit_i == '0 && has == '1);
            c_stopped: cover (limit_i == SeqW'(1) && has == 2'b01 && some == '1);
            c_sent:    cover (sent == '1);
            c_full:    cover (held_q == '0 && some == '1);
        end
    end
endmodule

`default_nettype wire
