// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Egress sends any packets for which it has credits, at any time. The receiver returns credits at
// any time. Packets of another class come between them. A sum may become due at any time. The proof
// follows the sums of one address: whose reds are in a sum, and what leaves for it.
`default_nettype none
`include "bundles.svh"

module prove_sum_table #(
    parameter int unsigned Ways = 2,
    parameter int unsigned Sets = 1,
    parameter int unsigned Credits = 3,
    parameter int unsigned Share = 1,
    parameter int unsigned Part = 0, // of the proof: 0: the table, 1: the path after it, 2: all
                                     // sums leave
    localparam int unsigned N = 3
) (
    input wire logic         clk_i, valid_i, other_i, long_i, crd_i, hold_i, quiet_i, red_i,
                             poison_i, tagged_i, err_i,
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
        c.MaddrW = (Sets > 1) ? 9 : 6;
        return c;
    endfunction
    localparam cfg_pkg::cfg_t Cfg = sizes();
    localparam int unsigned   Through = fp_pkg::FpAddLatency + 3; // cycles from a flit that is
                                                                  // taken to the one that leaves

    logic [3:0]          egress_q, there_q; // credits of egress; packets on their way or at the
                                            // receiver
    logic                rst_n, hold, hold_store, starts, crd, idle;
    logic [N-1:0]        bad;
    error_pkg::err_e     bad_code;
    `MW_LINK(Cfg)        in, dn;

    // ---- input: reds, marks and other stores; packets of another class ----
    typedef enum logic [1:0] {Red, Mark, Store} what_e;
    typedef struct packed {
        what_e what; logic [1:0] src; logic [1:0] addr; logic red; logic poison; logic with_tag;
        logic [7:0] bytes;
    } header_in_t;
    header_in_t new_in, kept_in_q, shown; // its header; the header in front
    header_t    head, other_head, new_head;
    logic       pop, other_pop;
    logic       wait_q, other_wait_q;     // a header came earlier, and is not taken
    logic       inside_q, other_inside_q; // a header has been taken, and not all of its packet
    logic       left_q;                   // another flit follows the next one
    logic       other_long_q, other_long, s_last, other_last;

    function automatic header_t header_of(input header_in_t x);
        header_t h;
        h = '0;
        h.opcode = (x.what == Red) ? OP_MULTIMEM_RED : (x.what == Store) ? OP_ST
                   : x.red ? OP_FLAG : OP_FENCE;
        h.cls = CLS_STORE;
        h.own = x.what == Red;
        h.src = 5'(x.src);
        h.addr = (Sets > 1) ? {39'd0, x.addr, 7'd0} : {42'd0, x.addr, 4'd0};
        if (x.what != Mark) begin
            h.len = 15'(x.bytes);
            h.poison = x.poison;
            h.tag = 8'(x.with_tag);
            h.redop = redop_e'({2'd0, x.red});
        end
        return h;
    endfunction

    // A payload has one flit or two, full or not.
    assign new_in = '{what: what_e'(kind_i), src: src_i, addr: addr_i, red: red_i, poison: poison_i,
                      with_tag: tagged_i, bytes: (size_i == 2'd0) ? 8'd16 : (size_i == 2'd1) ? 8'd24
                                               : 8'd32};
    assign shown = wait_q ? kept_in_q : new_in;
    assign head = header_of(shown);
    assign new_head = header_of(new_in);
    assign other_long = other_wait_q ? other_long_q : long_i;
    always_comb begin
        other_head = '0;
        other_head.opcode = OP_RESULT;
        other_head.cls = CLS_PART;
        other_head.len = other_long ? 15'd16 : '0;
    end
    assign s_last = inside_q ? !left_q : shown.what == Mark;
    assign other_last = other_inside_q || !other_long;
    always_comb begin
        in = '0;
        in.valid = valid_i || other_i;
        in.cls = other_i ? CLS_PART : CLS_STORE;
        if (other_i) begin
            in.last = other_inside_q || !long_i;
            if (!other_inside_q) in.data = Cfg.FlitW'(other_head);
        end else begin
            in.last = inside_q ? !left_q : new_in.what == Mark;
            in.err = err_i && inside_q;
            if (!inside_q) in.data = Cfg.FlitW'(new_head);
        end
    end

    `MW_COMMON(Cfg) common;
    always_comb begin
        common = '0;
        common.sum_entries = limit_i;
        common.sum_cycles = timer_i;
        common.store_limit = Cfg.StoreW'(Credits);
    end
    f_reset i_reset (.clk_i, .rst_no(rst_n));
    sum_table #(.Cfg(Cfg), .Share(Share)) i_dut (
        .clk_i, .rst_ni(rst_n), .go_i(1'b0), .down_i(1'b0), .port_i('0),
        .epoch_i(2'd0), .all_i, .common_i(common),
        .in_i(in), .hold_o(hold), .hold_store_o(hold_store), .hold_i,
        .starts_o(starts), .bad_o(bad),
        .bad_code_o(bad_code), .crd_o(crd), .out_o(dn), .crd_i, .count_o(),
        .idle_o(idle)
    );
    assign pop = i_dut.pop;
    assign other_pop = i_dut.other_pop;

    logic [N-1:0] all_q;
    logic [8:0]   limit_q;
    logic [1:0]   one_q;
    always_ff @(posedge clk_i) begin
        {all_q, limit_q, one_q} <= {all_i, limit_i, one_i};
        kept_in_q    <= shown;
        other_long_q <= other_long;
        if (!rst_n) {wait_q, other_wait_q, inside_q, other_inside_q} <= '0;
        else begin
            wait_q <= (wait_q || valid_i) && !pop;
            other_wait_q <= (other_wait_q || other_i) && !other_pop;
            if (pop) inside_q <= !s_last;
            if (other_pop) other_inside_q <= !other_last;
        end
        if (pop) left_q <= !inside_q && shown.bytes > 8'd16;
    end
    always_comb begin
        if (!rst_n) assume (!valid_i && !other_i && !crd_i);
        if (rst_n) assume (all_i == all_q && limit_i == limit_q && one_i == one_q);
        assume (32'(src_i) < N && kind_i != 2'd3);
        assume ((all_i & (all_i - 1'b1)) != '0); // with fewer than two members nothing is summed
        assume (!(valid_i && other_i));
        // A packet that has begun has no gap.
        if (inside_q) assume (valid_i);
        if (other_inside_q) assume (other_i);
        if (!inside_q && egress_q == '0) assume (!valid_i);
        if (there_q == '0) assume (!crd_i);
    end

    // ---- output: the header that enters now, before the delay to the downlink ----
    logic    begins, other_begins, lone, goes; // a packet is taken; a sum leaves alone; a header
                                               // leaves
    header_t out;
    assign begins = pop && !inside_q;
    assign other_begins = other_pop && !other_inside_q;
    assign lone   = i_dut.alone_q && i_dut.step_q == '0;
    assign goes   = lone || (begins && i_dut.out) || other_begins;
    assign out    = lone ? i_dut.made : begins ? i_dut.swapped : other_head;

    // ---- (a) credits ----
    logic       lone_due_q;
    always_ff @(posedge clk_i) begin
        if (!rst_n) begin
            egress_q   <= 4'(Credits);
            there_q    <= '0;
            lone_due_q <= 1'b0;
        end else begin
            egress_q   <= egress_q + 4'(crd) - 4'(begins);
            there_q    <= there_q + 4'(lone || (begins && i_dut.out)) - 4'(crd_i);
            lone_due_q <= i_dut.evicts;
            if (Part == 0) begin
                a_credits: assert (5'(egress_q) + 5'(there_q) + 5'(i_dut.own_q)
                                   + 5'(i_dut.owed_q) + 5'(lone_due_q) == 5'(Credits));
                a_lone:    assert (lone == lone_due_q);
            end
        end
    end

    // ---- (b) the sum of one address ----
    logic         mergeable, is_one, adds, dropped, ends;
    logic [N-1:0] src, in_q, sum;   // members with a red in it, without and with the current one
    logic         red_q;
    logic [47:0]  one_addr;
    logic [7:0]   one_len_q;
    assign one_addr  = (Sets > 1) ? {39'd0, one_i, 7'd0} : {42'd0, one_i, 4'd0};
    assign src       = N'(1) << shown.src;
    assign mergeable = shown.what == Red && !shown.poison && !shown.with_tag;
    assign is_one    = begins && mergeable && shown.addr == one_i;
    assign dropped   = is_one && bad != '0;
    assign adds      = is_one && !dropped;
    assign sum       = in_q | (adds ? src : '0);
    assign ends      = goes && out.opcode == OP_MULTIMEM_RED && !out.poison
                       && (lone || (begins && mergeable))
                       && out.addr == one_addr;
    always_ff @(posedge clk_i) begin
        if (!rst_n) in_q <= '0;
        else if (ends) in_q <= '0;
        else in_q <= sum;
        if (adds && in_q == '0) {one_len_q, red_q} <= {shown.bytes, shown.red};
        if (rst_n && Part == 0) begin
            // a red is dropped exactly if it does not fit the present sum
            a_drop:  assert (!is_one || dropped == (in_q != '0 && ((in_q & src) != '0
                             || one_len_q != shown.bytes || red_q != shown.red)));
            a_bad:   assert (bad == '0 || (begins && mergeable && bad == src && !i_dut.out));
            a_code:  assert (!dropped || bad_code == (((in_q & src) != '0) ? error_pkg::ERR_COUNT
                             : (one_len_q != shown.bytes) ? error_pkg::ERR_LENGTH
                             : error_pkg::ERR_REDUCTION));
            // a sum has the number of all reds that came since the last one, each once
            a_count: assert (!ends || (sum != '0 && out.tag == 8'($countones(sum) - 1)));
            a_like:  assert (!ends || (adds && in_q == '0)
                             || (out.len == 15'(one_len_q)
                                 && out.redop == redop_e'({2'd0, red_q}) && out.own));
            // a complete sum is not in the table
            a_full:  assert (in_q == '0 || (in_q & all_i) != all_i);
            // (c) no mark passes a sum that has a red of its source
            a_mark:  assert (!(begins && shown.what == Mark) || (in_q & src) == '0);
            // (e) an idle table has nothing inside
            a_idle:  assert (!idle || (in_q == '0 && 32'(egress_q) + 32'(there_q) == Credits));
            c_swap:  cover (ends && !lone && shown.addr != one_i);
            c_lone:  cover (ends && lone && $countones(sum) == 2);
            c_full:  cover (ends && adds && in_q != '0);
            c_mark:  cover (begins && shown.what == Mark && wait_q && other_wait_q);
            c_drop:  cover (dropped && bad_code == error_pkg::ERR_REDUCTION);
            c_idle:  cover (idle && there_q != '0);
        end
    end
    // State of the table.
    localparam int unsigned UsedW = $clog2(Ways + 1);
    logic [Ways-1:0]  here;
    logic [UsedW-1:0] used, of[N];
    logic             of_differs, lone_one;

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
            a_kept:  assert (wait_q == i_dut.i_in.kept_q && other_wait_q == i_dut.i_other.kept_q
                             && inside_q == i_dut.inside_q
                             && other_inside_q == i_dut.other_inside_q
                             && !(wait_q && inside_q) && !(other_wait_q && other_inside_q)
                             && !(inside_q && other_inside_q));
            a_used:  assert (i_dut.used_q == used);
            a_of:    assert (!of_differs);
        end
    end

    // ---- (d) packets leave whole, with the length in their header, and others unchanged ----
    logic       flit, last, out_q, more_q;   // a flit enters that will leave; it is the last one;
                                             // ...
    logic [1:0] length;
    logic       long_q;                      // two flits are to come
    assign flit   = i_dut.alone_q || other_pop || (pop && (inside_q ? out_q : i_dut.out));
    assign last   = i_dut.alone_q ? i_dut.alone_last : other_pop ? other_last : s_last;
    assign length = 2'((out.len + 15'd15) / 15'd16);
    always_ff @(posedge clk_i) begin
        if (begins) out_q <= i_dut.out;
        if (!rst_n) more_q <= 1'b0;
        else if (flit) more_q <= !last;
        if (rst_n) c_start: cover (valid_i || other_i);
        if (rst_n && Part == 0) begin
            a_whole:   assert (!more_q || (flit && !goes));
            a_begin:   assert (!(flit && !more_q) || goes);
            a_last:    assert (!goes || last == (length == '0));
            a_length:  assert (!(flit && more_q) || last == !long_q);
            a_pass:    assert (!(begins && !mergeable) || (i_dut.out && out == head));
            a_apart:   assert (2'(i_dut.alone_q) + 2'(pop) + 2'(other_pop) <= 2'd1);
        end
    end
    always_ff @(posedge clk_i) begin
        if (goes) long_q <= length == 2'd2;
        else if (flit) long_q <= 1'b0;
    end

    // All leave Through cycles later.
    typedef struct packed {
        logic valid; logic last; logic head; logic [1:0] cls; logic [5:0] opcode; logic own;
        logic poison; logic [1:0] tag; logic [2:0] len; logic [1:0] addr;
    } leaves_t;
    leaves_t      goes_q [Through];
    header_t      dn_head;
    logic         under_way;  // a flit is on its way
    logic         differs;    // the table has it elsewhere
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
                       cls: other_pop ? CLS_PART : CLS_STORE, opcode: out.opcode,
                       own: out.own, poison: out.poison, tag: out.tag[1:0], len: out.len[5:3],
                       addr: out.addr[((Sets > 1) ? 7 : 4)+:2]};
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
                                && dn_head.addr[((Sets > 1) ? 7 : 4)+:2]
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

    // ---- (f) time ----
    // Credits return within Late cycles. A packet in front then waits for less than Bound cycles.
    // All sums leave as soon after the last packet, if each of them is due. Other classes wait for
    // a packet of this class.
    localparam int unsigned Late = 2, Bound = 40;
    logic [1:0] late_q;
    logic [5:0] waited_q, other_waited_q, quiet_q; // cycles
    logic       quiet;

    assign quiet = quiet_q != '0;
    if (Part == 2) begin : gen_drains
        always_comb begin
            assume (!hold_i);
            if (there_q != '0 && 32'(late_q) == Late) assume (crd_i);
            if (quiet && !inside_q) assume (!valid_i);
            if (quiet && !other_inside_q) assume (!other_i);
            if (quiet) assume (i_dut.due || !i_dut.valid_q[i_dut.look_way][i_dut.look_set]
                               || i_dut.mark_waits);
        end
        always_ff @(posedge clk_i) begin
            late_q   <= (there_q == '0 || crd_i) ? '0 : late_q + 1'b1;
            waited_q <= ((valid_i || wait_q) && !pop) ? waited_q + 1'b1 : '0;
            other_waited_q <= ((other_i || other_wait_q) && !other_pop) ? other_waited_q + 1'b1
                              : '0;
            quiet_q  <= (quiet || quiet_i) ? quiet_q + 6'(quiet_q != '1) : '0;
            if (quiet_i && !quiet) quiet_q <= 6'd1;
            if (!rst_n) {late_q, waited_q, other_waited_q, quiet_q} <= '0;
            if (rst_n) begin
                a_other: assert (32'(other_waited_q) < 6);
                a_wait:  assert (32'(waited_q) < Bound);
                a_quiet: assert (32'(quiet_q) < Bound || (idle && in_q == '0));
                c_wait:  cover (waited_q == 6'd16);
                c_quiet: cover (quiet_q == 6'(Bound));
            end
        end
    end else begin : gen_safe
        assign {late_q, waited_q, other_waited_q, quiet_q} = '0;
    end

    wire unused = &{1'b0, hold, hold_store, starts, quiet_i, late_q, waited_q, other_waited_q};
endmodule

`default_nettype wire
