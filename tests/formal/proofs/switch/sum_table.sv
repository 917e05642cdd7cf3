// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The table of sums between an egress and a receiver. The egress sends any packets for which it has
// credits, at any time. The receiver returns credits at any time. A sum may be due at any time. The
// proof follows the sums of one address: whose reds are in it, and what leaves for it. A mark is a
// FLAG or FENCE.
`default_nettype none
`include "bundles.svh"

module prove_sum_table #(
    parameter int unsigned Ways = 2,
    parameter int unsigned Sets = 1,
    parameter int unsigned Credits = 3,
    parameter int unsigned Share = 1,
    parameter int unsigned Part = 0, // of the proof: 0 the table, 1 the stages after it, 2 that
                                     // all packets leave
    localparam int unsigned N = 3
) (
    input wire logic         clk_i, valid_i, crd_i, hold_i, quiet_i, red_i, poison_i, tagged_i,
    input wire logic         err_i,
    input wire logic [1:0]   kind_i, src_i, addr_i, one_i, size_i,
    input wire logic [N-1:0] all_i,
    input wire logic [8:0]   limit_i,
    input wire logic [15:0]  timer_i
);
    import packet_pkg::*;
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.N = N;
        c.FlitBytes = 16;
        c.RxStorePkts = Credits;
        c.SumEntries = Ways * Sets;
        c.SumWays = Ways;
        c = cfg_pkg::derived(c);
        c.MaddrW = (Sets > 1) ? 9 : 2;
        return c;
    endfunction
    localparam cfg_pkg::cfg_t Cfg = sizes();
    localparam int unsigned   Through = fp_pkg::FpAddLatency + 3; // cycles from a flit that is
                                                                  // taken to the one that leaves

    logic [3:0]          egress_q, there_q; // credits of egress, of packets that are on their way
                                            // or at the receiver
    logic                rst_n, hold, starts, crd, idle, pop;
    logic [N-1:0]        bad;
    error_pkg::err_e     bad_code;
    `MW_LINK(Cfg)        in, dn;
    header_t             head;

    // ---- what comes: reds, marks, other stores, packets of another class ----
    typedef enum logic [1:0] {Red, Mark, Store, Ctrl} what_e;
    what_e what;
    logic  inside_q;              // a header has been taken, and not all of its packet
    logic  left_q;                // another flit follows the next one
    logic  wait_q;                // what is shown was not taken
    logic [7:0] bytes;

    // one flit, or two, full or not
    assign bytes = (size_i == 2'd0) ? 8'd16 : (size_i == 2'd1) ? 8'd24 : 8'd32;
    assign what = what_e'(kind_i);
    always_comb begin
        head = '0;
        unique case (what)
            Red:     head.opcode = OP_MULTIMEM_RED;
            Mark:    head.opcode = red_i ? OP_FLAG : OP_FENCE;
            Store:   head.opcode = OP_ST;
            default: head.opcode = OP_SIGNAL;
        endcase
        head.cls = (what == Ctrl) ? CLS_CTRL : CLS_STORE;
        head.own = what == Red;
        head.src = 5'(src_i);
        head.addr = (Sets > 1) ? {39'd0, addr_i, 7'd0} : {46'd0, addr_i};
        if (what == Red || what == Store) begin
            head.len = 15'(bytes);
            head.poison = poison_i;
            head.tag = 8'(tagged_i);
            head.redop = redop_e'({2'd0, red_i});
        end
        in = '0;
        in.valid = valid_i;
        in.last = inside_q ? !left_q : head.len == '0;
        in.err = err_i && inside_q;
        in.cls = head.cls;
        if (!inside_q) in.data = Cfg.FlitW'(head);
    end

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    sum_table #(.Cfg(Cfg), .Share(Share)) i_dut (
        .clk_i, .rst_ni(rst_n), .go_i(1'b0), .enable_i(1'b1), .down_i(1'b0), .port_i('0),
        .epoch_i(2'd0), .all_i, .limit_i, .timer_i, .credits_i(Cfg.StoreW'(Credits)),
        .in_i(in), .hold_o(hold), .hold_store_o(), .hold_i,
        .starts_o(starts), .bad_o(bad),
        .bad_code_o(bad_code), .crd_o(crd), .out_o(dn), .crd_i, .count_idx_i('0), .count_o(),
        .idle_o(idle)
    );
    assign pop = i_dut.pop || i_dut.other_pop;

    logic [12:0]  shown, shown_q;
    logic [N-1:0] all_q;
    logic [8:0]   limit_q;
    logic [1:0]   one_q;
    assign shown = {kind_i, src_i, addr_i, red_i, poison_i, tagged_i, size_i, err_i};
    always_ff @(posedge clk_i) begin
        {all_q, limit_q, one_q} <= {all_i, limit_i, one_i};
        shown_q <= shown;
        wait_q  <= rst_n && valid_i && !pop;
        if (!rst_n) inside_q <= 1'b0;
        else if (pop) inside_q <= !in.last;
        if (pop) left_q <= !inside_q && bytes > 8'd16;
    end
    always_comb begin
        if (!rst_n) assume (!valid_i && !crd_i);
        if (rst_n) assume (all_i == all_q && limit_i == limit_q && one_i == one_q);
        assume (32'(src_i) < N);
        assume ((all_i & (all_i - 1'b1)) != '0); // with one source nothing is added up
        if (wait_q) assume (valid_i && shown == shown_q);
        if (inside_q) assume (valid_i && kind_i == shown_q[12:11]);
        if (what != Ctrl && !inside_q && egress_q == '0) assume (!valid_i);
        if (there_q == '0) assume (!crd_i);
    end

    // ---- what leaves: the header that enters the stages before the downlink in this cycle ----
    logic    begins, lone, goes;   // a packet is taken, a sum is made alone; a header goes out
    header_t out;
    logic    store;
    assign begins = pop && !inside_q;
    assign lone   = i_dut.alone_q && i_dut.step_q == '0;
    assign goes   = lone || (begins && (!store || i_dut.out));
    assign out    = lone ? i_dut.made : store ? i_dut.swapped : head;
    assign store  = what != Ctrl;

    // ---- (a) credits ----
    logic       lone_due_q;
    always_ff @(posedge clk_i) begin
        if (!rst_n) begin
            egress_q   <= 4'(Credits);
            there_q    <= '0;
            lone_due_q <= 1'b0;
        end else begin
            egress_q   <= egress_q + 4'(crd) - 4'(begins && store);
            there_q    <= there_q + 4'(lone || (begins && i_dut.out && store)) - 4'(crd_i);
            lone_due_q <= i_dut.evicts;
            if (Part == 0) begin
            a_credits: assert (5'(egress_q) + 5'(there_q) + 5'(i_dut.own_q) + 5'(i_dut.owed_q)
                               + 5'(lone_due_q) == 5'(Credits));
            a_lone:    assert (lone == lone_due_q);
            end
        end
    end

    // ---- (b) the sum of one address ----
    logic         mergeable, is_one, adds, dropped, ends;
    logic [N-1:0] src, in_q, sum;   // whose reds are in it, with the one that comes
    logic         red_q;
    logic [47:0]  one_addr;
    logic [7:0]   one_len_q;
    assign one_addr  = (Sets > 1) ? {39'd0, one_i, 7'd0} : {46'd0, one_i};
    assign src       = N'(1) << src_i;
    assign mergeable = what == Red && !poison_i && !tagged_i;
    assign is_one    = begins && mergeable && addr_i == one_i;
    assign dropped   = is_one && bad != '0;
    assign adds      = is_one && !dropped;
    assign sum       = in_q | (adds ? src : '0);
    assign ends      = goes && out.opcode == OP_MULTIMEM_RED && !out.poison
                       && (lone || mergeable)
                       && out.addr == one_addr;
    always_ff @(posedge clk_i) begin
        if (!rst_n) in_q <= '0;
        else if (ends) in_q <= '0;
        else in_q <= sum;
        if (adds && in_q == '0) {one_len_q, red_q} <= {bytes, red_i};
        if (rst_n && Part == 0) begin
            // a red is dropped exactly if it does not fit the sum that is there
            a_drop:  assert (!is_one || dropped == (in_q != '0 && ((in_q & src) != '0
                             || one_len_q != bytes || red_q != red_i)));
            a_bad:   assert (bad == '0 || (begins && mergeable && bad == src && !i_dut.out));
            a_side:  assert (!pop || i_dut.other_pop == !store);
            a_code:  assert (!dropped || bad_code == (((in_q & src) != '0) ? error_pkg::ERR_COUNT
                             : (one_len_q != bytes) ? error_pkg::ERR_LENGTH
                             : error_pkg::ERR_REDUCTION));
            // the tag of a sum counts all reds since the sum before, each once
            a_count: assert (!ends || (sum != '0 && out.tag == 8'($countones(sum) - 1)));
            a_like:  assert (!ends || (adds && in_q == '0)
                             || (out.len == 15'(one_len_q)
                                 && out.redop == redop_e'({2'd0, red_q}) && out.own));
            // no complete sum stays in the table
            a_full:  assert (in_q == '0 || (in_q & all_i) != all_i);
            // (c) no mark of a source passes a sum that has a red of it
            a_mark:  assert (!(begins && what == Mark) || (in_q & src) == '0);
            // (e)
            a_idle:  assert (!idle || (in_q == '0 && 32'(egress_q) + 32'(there_q) == Credits));
            c_swap:  cover (ends && !lone && addr_i != one_i);
            c_lone:  cover (ends && lone && $countones(sum) == 2);
            c_full:  cover (ends && adds && in_q != '0);
            c_mark:  cover (begins && what == Mark && wait_q);
            c_drop:  cover (dropped && bad_code == error_pkg::ERR_REDUCTION);
            c_idle:  cover (idle && there_q != '0);
        end
    end
    // the same sum in the table's registers
    localparam int unsigned UsedW = $clog2(Ways + 1);
    logic [Ways-1:0]  here;
    logic [UsedW-1:0] used, of[N];
    logic             of_differs;
    logic             lone_one; // it leaves alone in this cycle
    assign lone_one = lone && i_dut.alone_sum_q.addr == Cfg.MaddrW'(one_addr);
    for (genvar w = 0; w < Ways; w++) begin : gen_here
        assign here[w] = i_dut.valid_q[w][0] && i_dut.word[w].addr == Cfg.MaddrW'(one_addr);
        always_ff @(posedge clk_i)
            if (rst_n && Part == 0)
                a_here: assert (!here[w] || (i_dut.word[w].mask == in_q
                                             && i_dut.word[w].len == one_len_q
                                             && i_dut.word[w].red.redop[0] == red_q));
    end
    always_comb begin
        used = '0;
        of = '{default: '0};
        of_differs = 1'b0;
        for (int unsigned w = 0; w < Ways; w++) begin
            used += UsedW'(i_dut.valid_q[w][0]);
            for (int unsigned g = 0; g < N; g++)
                of[g] += UsedW'(i_dut.valid_q[w][0] && i_dut.word[w].mask[g]);
        end
        for (int unsigned g = 0; g < N; g++) of_differs |= i_dut.of_q[g] != of[g];
    end
    always_ff @(posedge clk_i) begin
        if (rst_n && Part == 0) begin
            a_there: assert ((in_q != '0) == (here != '0 || lone_one));
            a_alone: assert (!lone_one || (i_dut.alone_sum_q.mask == in_q && here == '0));
            a_used:  assert (i_dut.used_q == used);
            a_of:    assert (!of_differs);
        end
    end

    // ---- (d) packets: whole, with the length in their header, and all others as they came ----
    logic       flit, last, out_q, more_q;   // a flit goes in that will go out, its last one; ...
    logic [1:0] length;
    logic       long_q;                      // two flits are to come
    assign flit   = i_dut.alone_q || (pop && (!store || (inside_q ? out_q : i_dut.out)));
    assign last   = i_dut.alone_q ? i_dut.alone_last : in.last;
    assign length = (out.opcode == OP_MULTIMEM_RED || what == Store)
                    ? 2'((out.len + 15'd15) / 15'd16) : '0;
    always_ff @(posedge clk_i) begin
        if (begins) out_q <= i_dut.out;
        if (!rst_n) more_q <= 1'b0;
        else if (flit) more_q <= !last;
        if (rst_n) c_start: cover (valid_i);
        if (rst_n && Part == 0) begin
            a_whole:   assert (!more_q || (flit && !goes));
            a_begin:   assert (!(flit && !more_q) || goes);
            a_last:    assert (!goes || last == (length == '0));
            a_length:  assert (!(flit && more_q) || last == !long_q);
            a_other:   assert (!(begins && store && !mergeable) || (i_dut.out && out == head));
            a_apart:   assert (!(i_dut.alone_q && pop));
        end
    end
    always_ff @(posedge clk_i) begin
        if (goes) long_q <= length == 2'd2;
        else if (flit) long_q <= 1'b0;
    end

    // each flit leaves Through cycles later
    typedef struct packed {
        logic valid; logic last; logic head; logic [1:0] cls; logic [5:0] opcode; logic own;
        logic poison; logic [1:0] tag; logic [2:0] len; logic [1:0] addr;
    } leaves_t;
    leaves_t      goes_q [Through];
    header_t      dn_head;
    logic         under_way;  // a flit is on its way
    logic         differs;    // the flits on their way are not those of the table's stages
    assign dn_head = header_t'(dn.data);
    always_comb begin
        under_way = 1'b0;
        differs = goes_q[0].valid != i_dut.a_q.valid;
        for (int unsigned i = 0; i < Through; i++) under_way |= goes_q[i].valid;
        for (int unsigned i = 1; i < Through; i++)
            differs |= goes_q[i].valid != i_dut.b_q[i-1].valid;
    end
    always_ff @(posedge clk_i) begin
        goes_q[0] <= '{valid: rst_n && flit, last: last, head: goes,
                       cls: (lone || i_dut.alone_q) ? CLS_STORE : in.cls, opcode: out.opcode,
                       own: out.own, poison: out.poison, tag: out.tag[1:0], len: out.len[5:3],
                       addr: out.addr[((Sets > 1) ? 7 : 0)+:2]};
        for (int unsigned i = 1; i < Through; i++) begin
            goes_q[i] <= goes_q[i-1];
            if (!rst_n) goes_q[i].valid <= 1'b0;
        end
        if (rst_n && Part == 1) begin
            a_stage: assert (!differs);
            a_empty: assert (!idle || !under_way);
            a_out:  assert (dn.valid == goes_q[Through-1].valid);
            a_flit: assert (!dn.valid || (dn.last == goes_q[Through-1].last
                                          && dn.cls == goes_q[Through-1].cls));
            a_head: assert (!(dn.valid && goes_q[Through-1].head)
                            || (dn_head.opcode == goes_q[Through-1].opcode
                                && dn_head.own == goes_q[Through-1].own
                                && dn_head.poison == goes_q[Through-1].poison
                                && dn_head.tag[1:0] == goes_q[Through-1].tag
                                && dn_head.len[5:3] == goes_q[Through-1].len
                                && dn_head.addr[((Sets > 1) ? 7 : 0)+:2]
                                   == goes_q[Through-1].addr));
        end
    end

    // ---- a word is read after the last addition to it has been written ----
    logic pending, pending_q;
    always_comb begin
        pending = i_dut.a_q.write && {i_dut.a_q.entry, i_dut.a_q.word} == i_dut.read_addr;
        for (int unsigned i = 0; i < Through - 1; i++)
            pending |= i_dut.b_q[i].write
                       && {i_dut.b_q[i].entry, i_dut.b_q[i].word} == i_dut.read_addr;
    end
    always_ff @(posedge clk_i) begin
        pending_q <= rst_n && i_dut.re && pending;
        if (rst_n && Part == 1)
            a_settled: assert (!(pending_q && (i_dut.a_old_q || i_dut.a_q.is_sum
                                               || (i_dut.a_q.write && i_dut.a_pair_q))));
    end

    // ---- (f) if credits return within Late cycles, each flit waits for less than Bound cycles.
    // Bound cycles after the last packet all sums have left, if all are due ----
    localparam int unsigned Late = 2, Bound = 40;
    logic [1:0] late_q;
    logic [5:0] waited_q, quiet_q; // cycles
    logic       quiet;

    assign quiet = quiet_q != '0;
    if (Part == 2) begin : gen_drains
        always_comb begin
            assume (!hold_i);
            if (there_q != '0 && 32'(late_q) == Late) assume (crd_i);
            if (quiet && !wait_q && !inside_q) assume (!valid_i);
            if (quiet) assume (i_dut.due || !i_dut.valid_q[i_dut.look_way][i_dut.look_set]
                               || i_dut.mark_waits);
        end
        always_ff @(posedge clk_i) begin
            late_q   <= (there_q == '0 || crd_i) ? '0 : late_q + 1'b1;
            waited_q <= (valid_i && !pop) ? waited_q + 1'b1 : '0;
            quiet_q  <= (quiet || quiet_i) ? quiet_q + 6'(quiet_q != '1) : '0;
            if (quiet_i && !quiet) quiet_q <= 6'd1;
            if (!rst_n) {late_q, waited_q, quiet_q} <= '0;
            if (rst_n) begin
                a_wait:  assert (32'(waited_q) < Bound);
                a_quiet: assert (32'(quiet_q) < Bound || (idle && in_q == '0));
                c_wait:  cover (waited_q == 6'd16);
                c_quiet: cover (quiet_q == 6'(Bound));
            end
        end
    end else begin : gen_safe
        assign {late_q, waited_q, quiet_q} = '0;
    end

    wire unused = &{1'b0, hold, starts, quiet_i, late_q, waited_q};
endmodule

`default_nettype wire
