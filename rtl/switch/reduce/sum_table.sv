// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Table of sums at the port of one home: adds up merged reds (MULTIMEM_RED with own) for the same
// address, so that one packet goes down for several.
//
// Function: A merged red without an entry of its address makes one. A later one is added to the
// sum in this entry. In both cases the table returns the red's credit, and sends nothing. The red
// that completes a sum leaves with it: then every GPU in all_i has added. If a red needs an entry,
// and its set is full or sum_entries are in use, another sum leaves in its place, with its credit.
// This is the sum of the set that changed longest ago, if it has as many flits. Otherwise the red
// passes. FLAG and FENCE wait until all sums to which their source has added have left. A sum that
// has not changed for sum_cycles also leaves. The tag of a sum is the number of its contributions,
// less 1. All other packets pass, as do reds that are poisoned or have a tag.
// Ports: Flits of in_i are those of a downlink, which egress sends with credits. crd_i are the
// receiver's credits of class STORE, crd_o those that egress gets back. starts_o: a flit leaves
// Stages cycles later.
// Order: Packets of class STORE keep their order, except reds and sums. A sum never leaves after a
// FLAG or FENCE of a source that has added to it. Other classes keep theirs, and pass STORE
// packets that wait.
// Back-pressure: hold_o: egress starts no packet. hold_store_o: it starts none of class STORE, so
// that others never wait for STORE credits. hold_i: the table starts no packet that goes out. The
// table sends with the credits of the packets that it takes. For sums that leave without a packet
// it keeps up to Share credits while it has sums, at most half of all. Hubs return credits
// whatever else waits, so sums leave.
// Latency: Stages + 2 cycles from in_i to out_o (8), for a flit that does not wait. One flit per
// cycle. A merged red begins Stages + 3 cycles after the header of the one taken before, or later.
// A sum that leaves without a packet takes one more cycle than it has flits.
// Errors: A red that does not fit the entry of its address is dropped. COUNT: its source has added
// to the sum before. LENGTH: the sum has another length. REDUCTION: it has another type or
// operator.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module sum_table #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type link_t = `MW_LINK(Cfg),
    parameter type common_t = `MW_COMMON(Cfg),
    parameter int unsigned Share = 4  // maximum of credits that it keeps
) (
    input  wire logic                  clk_i,
    input  wire logic                  rst_ni,
    input  wire logic                  go_i,      // a layer begins: nothing is inside
    input  wire logic                  down_i,    // the receiver is gone: sums are discarded
    input  wire logic [Cfg.PortW-1:0]  port_i,    // constant: the number of this port
    input  wire logic [1:0]            epoch_i,
    input  wire logic [Cfg.N-1:0]      all_i,     // whose contributions complete a sum
    input  wire common_t               common_i,  // store_limit: credits that egress and the table
                                                  // have together
    input  wire link_t in_i,
    output logic       hold_o,
    output logic       hold_store_o,
    input  wire logic  hold_i,  // of the link
    output logic       starts_o,
    output logic       crd_o,
    output link_t      out_o,
    input  wire logic  crd_i,

    output logic [Cfg.N-1:0] bad_o,       // whose red is dropped, and why
    output error_pkg::err_e  bad_code_o,

    output logic [31:0] count_o,  // see load_counters of the fabric's registers
    output logic        idle_o
);
    import packet_pkg::*;
    import error_pkg::*;

    localparam int unsigned Entries = Cfg.SumEntries;
    localparam int unsigned Ways = Cfg.SumWays;
    localparam int unsigned Sets = Entries / Ways;
    localparam int unsigned SetW = cfg_pkg::index_w(Sets);
    localparam int unsigned WayW = cfg_pkg::index_w(Ways);
    localparam int unsigned EntryW = $clog2(Entries);
    localparam int unsigned UsedW = $clog2(Entries + 1);
    localparam int unsigned Words = PayloadMaxBytes / Cfg.FlitBytes;
    localparam int unsigned WordW = $clog2(Words);
    localparam int unsigned Stages = fp_pkg::FpAddLatency + 2;  // of the lanes
    localparam int unsigned MaxPkt = Cfg.HeadFlits + Cfg.ListFlits + Cfg.PayFlits;
    localparam int unsigned Depth = 3 * MaxPkt + 8;
    localparam int unsigned CrdW = $clog2(Cfg.RxStorePkts + 1);

    if (Entries != Ways * Sets || Sets != (1 << $clog2(Sets)) || Entries > 511) begin : gen_check
        $error("sum_table: Entries is Ways times a power of two, at most 511");
    end

    // ---- flits on their way in ------------------------------------------------------------------
    link_t front;
    logic there, pop;
    logic [$clog2(Depth+1)-1:0] level;
    logic in_store;

    assign in_store = in_i.valid && in_i.cls == CLS_STORE;

    fifo #(
        .Width($bits(link_t) - 1),
        .Depth(Depth)
    ) i_in (
        .clk_i,
        .rst_ni,
        .valid_i(in_store),
        .ready_o(),
        .data_i({in_i.last, in_i.err, in_i.cls, in_i.data}),
        .valid_o(there),
        .ready_i(pop),
        .data_o({front.last, front.err, front.cls, front.data}),
        .level_o(level)
    );
    assign front.valid = there;
    // two packets that have started, and flits between egress and here
    assign hold_store_o = 32'(level) > Depth - 2 * MaxPkt - 4;

    // Flits of other classes. If both queues have packets, they send one in turn.
    link_t other;
    logic other_there, other_pop, other_inside_q, store_turn_q;
    logic store_may;  // a packet, or a sum, may begin
    logic [$clog2(Depth+1)-1:0] other_level;

    fifo #(
        .Width($bits(link_t) - 1),
        .Depth(Depth)
    ) i_other (
        .clk_i,
        .rst_ni,
        .valid_i(in_i.valid && in_i.cls != CLS_STORE),
        .ready_o(),
        .data_i({in_i.last, in_i.err, in_i.cls, in_i.data}),
        .valid_o(other_there),
        .ready_i(other_pop),
        .data_o({other.last, other.err, other.cls, other.data}),
        .level_o(other_level)
    );
    assign other.valid = other_there;
    assign hold_o = 32'(other_level) > Depth - 2 * MaxPkt - 4;

    // ---- the packet in front --------------------------------------------------------------------
    typedef enum logic [2:0] {
        Pass,     // it goes out as it is
        Drop,     // it fits no sum of its address: an error
        Make,     // it is the first of its sum
        Merge,    // it joins one
        Complete  // it joins one, which leaves with it
    } kind_e;
    typedef struct packed {
        kind_e             kind;
        logic              old;    // another sum leaves in its place
        logic [EntryW-1:0] entry;
        red_pkg::red_t     red;
    } way_t;
    localparam way_t NoWay = '{kind: Pass, old: 1'b0, entry: '0, red: '0};

    way_t way, way_q;  // of the packet in front, of the one whose payload is in front
    logic inside_q;  // the packet's header has left the queue
    logic half_q;  // the first half of a header of two flits has left it
    logic [63:0] low_q;
    header_low_t low;  // of the packet that begins
    header_t head;
    logic begins, may_begin, decide, takes, head_last;

    if (Cfg.HeadFlits == 2) begin : gen_two
        assign head = {front.data[63:0], low_q};
        assign head_last = half_q;
    end else begin : gen_one
        assign head = front.data[127:0];
        assign head_last = 1'b1;
    end
    assign low = front.data[63:0];
    assign begins = there && !inside_q && !half_q;
    assign decide = pop && !inside_q && head_last;

    // ---- entries --------------------------------------------------------------------------------
    typedef struct packed {
        logic [Cfg.MaddrW-1:0]      addr;
        logic [7:0]                 len;
        red_pkg::red_t              red;
        logic [15:0]                group;
        logic [Cfg.PortW-1:0] from;         // source that added last
        logic [Cfg.N-1:0]           mask;   // sources that have added
        logic [16:0]                last;   // cycle of the last change, modulo 2^17
    } sum_t;
    logic [Ways-1:0][Sets-1:0] valid_q;
    logic [Entries-1:0] bad_q;  // a flit of it is damaged
    logic old_bad;
    logic [UsedW-1:0] used_q;
    logic [SetW-1:0] set, look_set;
    logic [WayW-1:0] look_way;
    sum_t word[Ways], next, old;
    logic [Ways-1:0] hit, free, victim, where;
    logic [16:0] now_q;  // a bit more than sum_cycles: what is due stays due
    logic [Cfg.N-1:0] src, src_low;
    logic is_red, twice, fits, full, room, same_size, we, drops, sweeping, evicts;
    logic [EntryW-1:0] sweep_q;

    function automatic logic [Cfg.N-1:0] one(input logic [1:0] far, input logic [4:0] near);
        return Cfg.N'(1) << cfg_pkg::port_of(Cfg, far, near);
    endfunction

    assign set = (Sets > 1) ? SetW'(head.addr >> $clog2(PayloadMaxBytes)) : '0;
    assign look_set = (Sets > 1) ? SetW'(sweep_q) : '0;
    assign look_way = WayW'(sweep_q >> ((Sets > 1) ? SetW : 0));
    assign src = one(head.src_far, head.src);
    assign src_low = one(low.src_far, low.src);

    for (genvar w = 0; w < Ways; w++) begin : gen_way
        lutram #(
            .Width($bits(sum_t)),
            .Depth(Sets)
        ) i_sum (
            .clk_i,
            .we_i(we && where[w]),
            .waddr_i(set),
            .wdata_i(next),
            .raddr_i(sweeping ? look_set : set),
            .rdata_o(word[w])
        );
        assign free[w] = !valid_q[w][set];
        assign hit[w] = valid_q[w][set] && word[w].addr == Cfg.MaddrW'(head.addr);
    end

    // the way whose sum changed longest ago
    logic [Ways-1:0][16:0] age;
    always_comb begin
        for (int unsigned w = 0; w < Ways; w++) age[w] = now_q - word[w].last;
        victim = ~free;
        for (int unsigned w = 0; w < Ways; w++) begin
            for (int unsigned v = 0; v < Ways; v++)
            if (v != w && !free[v] && (age[v] > age[w] || (age[v] == age[w] && v < w)))
                victim[w] = 1'b0;
        end
        old = '0;
        for (int unsigned w = 0; w < Ways; w++) begin
            if (sweeping ? look_way == WayW'(w) : (hit != '0) ? hit[w] : victim[w]) old |= word[w];
        end
    end
    assign is_red = common_i.sum_entries != '0 && head.opcode == OP_MULTIMEM_RED && head.own
                    && !head.poison && head.tag == '0 && head.addr[Cfg.FlitLog2-1:0] == '0
                    && (head.addr >> Cfg.MaddrW) == '0
                    && (all_i & ~src) != '0 && head.len != '0 && head.len <= 15'(PayloadMaxBytes);
    assign twice = (old.mask & src) != '0;
    assign fits = old.len == head.len[7:0] && old.red == {head.dtype, head.redop};
    assign full = ((old.mask | src) & all_i) == all_i;
    assign room = 32'(used_q) < 32'(common_i.sum_entries) && free != '0;
    assign same_size = (old.len - 8'd1) >> Cfg.FlitLog2 == (head.len[7:0] - 8'd1) >> Cfg.FlitLog2;

    always_comb begin
        way = NoWay;
        way.red = {head.dtype, head.redop};
        where = '0;
        if (is_red && hit != '0) begin
            way.kind = (twice || !fits) ? Drop : full ? Complete : Merge;
            where = hit;
        end else if (is_red && (room || (victim != '0 && same_size))) begin
            way.kind = Make;
            way.old = !room;
            where = room ? free & (~free + 1'b1) : victim;
        end
        for (int unsigned w = 0; w < Ways; w++)
        if (where[w]) way.entry = EntryW'(w << ((Sets > 1) ? SetW : 0)) | EntryW'(set);
    end
    assign takes = decide && way.kind inside {Make, Merge, Complete};
    assign we = takes && way.kind != Complete;
    assign drops = decide && way.kind == Drop;
    assign bad_o = drops ? src : '0;
    assign bad_code_o = twice ? ERR_COUNT : (old.len != head.len[7:0]) ? ERR_LENGTH : ERR_REDUCTION;
    always_comb begin
        next = '{
            addr: Cfg.MaddrW'(head.addr),
            len: head.len[7:0],
            red: {head.dtype, head.redop},
            group: head.target0,
            from : Cfg.PortW'(cfg_pkg::port_of(Cfg, head.src_far, head.src)),
            mask: src,
            last: now_q
        };
        if (way.kind == Merge) next.mask = old.mask | src;
    end

    // ---- sums that leave alone: before a mark of one of their sources, and after sum_cycles -----
    logic [Cfg.N-1:0] holds, leave_mask;
    logic [UsedW-1:0] of_q[Cfg.N];  // entries with a contribution of each source
    logic
        low_mark,
        low_red,
        mark_waits,
        due,
        leaves,
        alone_q,
        alone_last,
        may_evict,
        may_pop,
        turn,
        silent;
    logic [EntryW-1:0] alone_entry_q;
    sum_t alone_sum_q;
    logic [WordW:0] step_q, alone_flits;  // number of a flit of the sum, and of its last one
    logic [CrdW-1:0] own_q, owed_q;
    logic [5:0] since_q;  // cycles since a packet was taken

    for (genvar g = 0; g < Cfg.N; g++) begin : gen_holds
        assign holds[g] = of_q[g] != '0;
    end
    assign low_mark = low.opcode inside {OP_FLAG, OP_FENCE};
    assign low_red = low.opcode == OP_MULTIMEM_RED && low.own;
    assign mark_waits = begins && low_mark && (holds & src_low) != '0;
    // no table access of a packet in this cycle
    assign sweeping = !(there && !inside_q && head_last) || mark_waits;
    assign due = valid_q[look_way][look_set]
                 && (mark_waits ? (old.mask & src_low) != '0
                     : now_q - old.last > 17'(common_i.sum_cycles));
    // the RAM has each result of the packet taken last before its word is read
    assign may_begin = since_q == '1 && !alone_q;
    assign may_evict = sweeping && due && may_begin && !hold_i && !inside_q && !half_q
                       && own_q != '0 && !(begins && !mark_waits);
    // A packet that sends nothing needs no link. With a header of two flits the first half goes out
    // before this is known.
    assign silent = Cfg.HeadFlits == 1 && way.kind inside {Drop, Make, Merge} && !way.old;
    assign may_pop = begins && !alone_q && !mark_waits && (!hold_i || silent)
                     && (may_begin || !low_red);
    assign store_may = may_evict || may_pop;
    // no packet of another class waits, or one of them left last
    assign turn = !other_inside_q && (!other_there || store_turn_q);
    assign evicts = may_evict && turn;
    assign pop = there && (inside_q || half_q || (may_pop && turn));
    assign other_pop = other_there && !inside_q && !half_q && !alone_q
                       && (other_inside_q || (!hold_i && !(store_turn_q && store_may)));
    always_ff @(posedge clk_i) begin
        if (!rst_ni) {other_inside_q, store_turn_q} <= '0;
        else if (other_pop) {other_inside_q, store_turn_q} <= {!other.last, 1'b1};
        else if (pop || evicts) store_turn_q <= 1'b0;
    end
    assign leaves = evicts || (takes && (way.kind == Complete || way.old));
    assign leave_mask = leaves ? old.mask : '0;

    assign alone_flits = (WordW+1)'(Cfg.HeadFlits)
                         + (WordW+1)'((alone_sum_q.len - 8'd1) >> Cfg.FlitLog2);
    assign alone_last = alone_q && step_q == alone_flits;

    always_ff @(posedge clk_i) begin
        now_q <= now_q + 1'b1;
        if (!rst_ni || go_i || down_i) begin
            now_q <= '0;
            valid_q <= '0;
            used_q <= '0;
            sweep_q <= '0;
            since_q <= '1;
        end else begin
            for (int unsigned w = 0; w < Ways; w++) begin
                if (takes && where[w]) valid_q[w][set] <= way.kind != Complete;
                if (evicts && look_way == WayW'(w)) valid_q[w][look_set] <= 1'b0;
            end
            used_q <= used_q + UsedW'(takes && way.kind == Make) - UsedW'(leaves);
            if (sweeping && !due && !alone_q)
                sweep_q <= (sweep_q == EntryW'(Entries - 1)) ? '0 : sweep_q + 1'b1;
            if (takes) since_q <= 6'd63 - 6'(Stages + 2);
            else if (since_q != '1) since_q <= since_q + 1'b1;
        end
        // a packet that has begun is whole, whatever becomes of the receiver
        if (!rst_ni || go_i) alone_q <= 1'b0;
        else if (evicts) alone_q <= 1'b1;
        else if (alone_last) alone_q <= 1'b0;
        for (int unsigned g = 0; g < Cfg.N; g++) begin
            if (!rst_ni || go_i || down_i) of_q[g] <= '0;
            else of_q[g] <= of_q[g] + UsedW'(we && src[g]) - UsedW'(leave_mask[g]);
        end
        if (evicts) begin
            alone_sum_q <= old;
            alone_entry_q <= sweep_q;
            step_q <= '0;
        end else if (alone_q) begin
            step_q <= step_q + 1'b1;
        end
    end

    // ---- flits of the packet: header, payload ---------------------------------------------------
    logic [WordW-1:0] word_q;
    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            inside_q <= 1'b0;
            half_q <= 1'b0;
        end else if (pop) begin
            inside_q <= !front.last && (inside_q || head_last);
            half_q <= Cfg.HeadFlits == 2 && !inside_q && !half_q && !front.last;
        end
        if (pop && !inside_q && !half_q) low_q <= front.data[63:0];
        if (decide) begin
            way_q <= way;
            word_q <= '0;
        end else if (pop && inside_q) begin
            word_q <= word_q + 1'b1;
        end
    end

    header_t made;  // of a sum that leaves alone
    always_comb begin
        made = '0;
        made.opcode = OP_MULTIMEM_RED;
        made.cls = CLS_STORE;
        {made.src_far, made.src} = port_t'(alone_sum_q.from);
        {made.dst_far, made.dst} = port_t'(port_i);
        made.len = 15'(alone_sum_q.len);
        made.epoch = epoch_i;
        {made.dtype, made.redop} = alone_sum_q.red;
        made.own = 1'b1;
        made.tag = 8'($countones(alone_sum_q.mask) - 1);
        made.addr = 48'(alone_sum_q.addr);
        made.target0 = alone_sum_q.group;
    end

    // ---- a flit between queue and downlink ------------------------------------------------------
    typedef struct packed {
        logic                 valid;   // it goes out
        logic                 last;
        logic                 err;
        logic [1:0]           cls;
        logic                 is_sum;  // with the result of the lanes as data
        logic                 write;   // the table keeps this result
        logic [EntryW-1:0]    entry;
        logic [WordW-1:0]     word;
        logic [Cfg.FlitW-1:0] data;
    } flit_t;
    flit_t a_q, a, b_q[Stages];
    logic a_take_q, a_pair_q, a_old_q, a_half_q, re, out, old_bad_q;
    red_pkg::red_t a_red_q;
    logic [Cfg.FlitW-1:0] stored, result;
    logic [EntryW+WordW-1:0] read_addr;
    header_t swapped;  // the packet's header, of the sum that leaves in its place

    assign re = (pop && inside_q && way_q.kind inside {Make, Merge, Complete})
                || (alone_q && step_q >= (WordW + 1)'(Cfg.HeadFlits));
    assign read_addr = alone_q ? {alone_entry_q, WordW'(step_q - (WordW+1)'(Cfg.HeadFlits))}
                               : {way_q.entry, word_q};
    always_comb begin
        swapped = head;
        if (way.kind == Complete) swapped.tag = 8'($countones(old.mask));
        if (way.old) begin
            swapped.len = 15'(old.len);
            {swapped.dtype, swapped.redop} = old.red;
            swapped.addr = 48'(old.addr);
            swapped.target0 = old.group;
            swapped.tag = 8'($countones(old.mask) - 1);
        end
        out = 1'b1;
        if (inside_q) out = way_q.kind inside {Pass, Complete} || way_q.old;
        else if (head_last) out = way.kind inside {Pass, Complete} || way.old;
    end
    assign old_bad = bad_q[way.entry];

    always_ff @(posedge clk_i) begin
        a_q.valid <= rst_ni && (alone_q || other_pop || (pop && out));
        a_q.last <= alone_q ? alone_last : other_pop ? other.last : front.last;
        a_q.err <= alone_q ? alone_last && bad_q[alone_entry_q] : other_pop ? other.err
                   : (!inside_q || way_q.kind == Pass) ? front.err
                   : way_q.old ? front.last && old_bad_q
                   : front.err || (front.last && old_bad_q);
        a_q.cls <= alone_q ? 2'(CLS_STORE) : other_pop ? other.cls : front.cls;
        a_q.is_sum <= !alone_q && inside_q && way_q.kind == Complete;
        a_q.write <= rst_ni && pop && inside_q && way_q.kind inside {Make, Merge};
        a_q.entry <= read_addr[WordW+:EntryW];
        a_q.word <= read_addr[WordW-1:0];
        if (alone_q) a_q.data <= Cfg.FlitW'(made >> ((Cfg.HeadFlits == 2 && step_q[0]) ? 64 : 0));
        else if (other_pop) a_q.data <= other.data;
        else if (decide) a_q.data <= Cfg.FlitW'(swapped >> ((Cfg.HeadFlits == 2) ? 64 : 0));
        else a_q.data <= front.data;
        a_take_q <= rst_ni && pop && inside_q && way_q.kind != Pass;
        a_pair_q <= way_q.kind != Make;
        a_old_q <= re && (alone_q || way_q.old);
        a_half_q <= rst_ni && pop && begins && Cfg.HeadFlits == 2;
        a_red_q <= way_q.red;
        if (decide) old_bad_q <= old_bad;
        if (takes && way.kind == Make) bad_q[way.entry] <= 1'b0;
        else if (pop && inside_q && front.err && way_q.kind inside {Make, Merge})
            bad_q[way_q.entry] <= 1'b1;
    end
    // the first half of a header is here while the second one is decided on
    always_comb begin
        a = a_q;
        if (a_half_q) begin
            a.valid = out;
            a.data = Cfg.FlitW'(swapped);
        end
        if (a_old_q) a.data = stored;
    end

    ram_sdp #(
        .Width(Cfg.FlitW),
        .Depth(Entries * Words)
    ) i_data (
        .clk_i,
        .we_i(b_q[Stages-1].write),
        .waddr_i({b_q[Stages-1].entry, b_q[Stages-1].word}),
        .wdata_i(result),
        .wbe_i('1),
        .re_i(re),
        .raddr_i(read_addr),
        .rdata_o(stored)
    );

    // ---- the lanes ------------------------------------------------------------------------------
    logic [Stages-1:0] took_q;
    red_pkg::red_t red_q[Stages];

    reduce_flit #(
        .Words(Cfg.Words),
        .RedTypes(Cfg.RedTypes),
        .RedOps(Cfg.RedOps)
    ) i_lanes (
        .clk_i,
        .take_i(a_take_q),
        .first_i(1'b1),
        .pair_i(a_pair_q),
        .red_i(a_red_q),
        .acc_i('0),
        .a_i(stored),
        .b_i(a_q.data),
        .valid_i(took_q[0]),
        .red_q_i(red_q[0]),
        .half_i(red_q[Stages-3].dtype == DTYPE_BF16),
        .sum_o(),
        .emit_i(took_q[Stages-2]),
        .red_end_i(red_q[Stages-2]),
        .data_o(result)
    );
    always_ff @(posedge clk_i) begin
        took_q <= rst_ni ? {took_q[Stages-2:0], a_take_q} : '0;
        red_q[0] <= a_red_q;
        b_q[0] <= a;
        for (int unsigned i = 1; i < Stages; i++) begin
            red_q[i] <= red_q[i-1];
            b_q[i] <= b_q[i-1];
        end
        if (!rst_ni) for (int unsigned i = 0; i < Stages; i++) {b_q[i].valid, b_q[i].write} <= '0;
    end
    assign out_o = '{
            valid: b_q[Stages-1].valid,
            last: b_q[Stages-1].last,
            err: b_q[Stages-1].err,
            cls: b_q[Stages-1].cls,
            data: b_q[Stages-1].is_sum ? result : b_q[Stages-1].data
        };

    assign starts_o = a.valid;

    // ---- counts ---------------------------------------------------------------------------------
    logic [31:0] taken_q, left_q, part_q, saved_q;
    logic [UsedW-1:0] most_q;

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) begin
            {taken_q, left_q, part_q, saved_q} <= '0;
            most_q <= '0;
        end else begin
            taken_q <= taken_q + 32'(takes);
            left_q <= left_q + 32'(leaves);
            part_q <= part_q + 32'(leaves && !(takes && way.kind == Complete));
            saved_q <= saved_q + 32'(in_i.valid) - 32'(out_o.valid);
            if (used_q > most_q) most_q <= used_q;
        end
    end
    always_comb begin
        unique case (common_i.cnt_addr)
            4'd8:    count_o = taken_q;
            4'd9:    count_o = left_q;
            4'd10:   count_o = part_q;
            4'd11:   count_o = saved_q;
            4'd12:   count_o = 32'(most_q);
            default: count_o = '0;
        endcase
    end

    // ---- credits --------------------------------------------------------------------------------
    logic keeps, gives;
    logic [CrdW-1:0] share;
    // at most half of all credits, but at least one
    assign share = (common_i.store_limit >= Cfg.StoreW'(2 * Share)) ? CrdW'(Share)
                   : (common_i.store_limit < Cfg.StoreW'(4)) ? CrdW'(1)
                   : CrdW'(common_i.store_limit >> 1);
    assign keeps = used_q != '0 && own_q < share && owed_q != '0;
    assign gives = used_q == '0 && own_q != '0 && owed_q == '0;
    assign crd_o = (owed_q != '0 && !keeps) || gives;
    always_ff @(posedge clk_i) begin
        if (!rst_ni || down_i) begin
            own_q <= '0;
            owed_q <= '0;
        end else begin
            own_q <= own_q + CrdW'(keeps) - CrdW'(gives) - CrdW'(evicts);
            owed_q <= owed_q + CrdW'(crd_i) + CrdW'((we && !way.old) || drops)
                      - CrdW'(owed_q != '0);
        end
    end

    logic busy;
    always_comb begin
        busy = a_q.valid || a_take_q || there || other_there || alone_q || in_i.valid;
        for (int unsigned i = 0; i < Stages; i++) busy |= b_q[i].valid || b_q[i].write;
    end
    assign idle_o = !busy && used_q == '0 && own_q == '0 && owed_q == '0;

    `MW_ASSERT(32'(level) < Depth || !in_store, "a flit has no place")
    `MW_ASSERT(32'(other_level) < Depth || !in_i.valid || in_store,
               "a flit of another class has no place")
    `MW_CONTRACT(other_pop, !pop && !evicts, "two packets leave at once")
    `MW_CONTRACT(1'b1, $onehot0(hit), "two sums of an address")
    `MW_CONTRACT(evicts, own_q != '0, "a sum leaves without a credit")
endmodule

`default_nettype wire
