// SPDX-License-Identifier: Apache-2.0
//
// control with random signals, ACKs and tiles at its inputs, random grants and back-pressure:
// packets bit for bit in their order. Then fences, turns of the streams, refused instructions,
// prefix sums, and the order of tokens.

#include "control_layer.h"

using namespace tb;

struct hub : control_layer {
    unsigned readys = 0;           // packets
    unsigned rested = TILE_CYCLES; // cycles since the last tile was taken
    unsigned tiles = 0;            // that have returned and are reported

    hub()
    {
        port.latency = l.latency;
        rt = 128 * below(MEM / 128 - l.tokens);
        cfg.set("port", l.port);
        cfg.set("epoch", below(4));
        cfg.set("k", l.k);
        cfg.set("tokens", l.tokens);
        cfg.set("token_shift", l.token_shift);
        cfg.set("local_experts", l.local_experts);
        cfg.set("rt_base", rt);
        cfg.set("switch_reductions", BY_SWITCH ? l.by_switch : percent(50));
        cfg.set("tile_reductions", TILES ? l.tiles : percent(50));
        cfg.set("source_lists", lists);
        for (auto &gpu : listed)
            for (uint64_t &rows : gpu)
                rows = below(1u << MW_ROW_BITS);
        cfg.drive(dut.cfg_i);
        mem.data = rng.some(MEM);
        for (unsigned i = 0; i < l.tokens; i++) {
            for (unsigned j = 0; j < l.k; j++)
                mem.set<uint16_t>(rt + 128 * i + 2 * j,
                                  static_cast<uint16_t>(
                                      rng.one_in(10)
                                          ? rng.pick({0xffffu, below(0x10000), beyond(EXPERTS, 16)})
                                          : below(EXPERTS)));
        }
        dut.go_i = dut.cmd_valid_i = dut.emap_we_i = dut.cnt_valid_i = dut.base_take_i = 0;
        dut.sig_valid_i = dut.ack_valid_i = dut.ack_rx_i = dut.rd_rvalid_i = dut.tok_valid_i = 0;
        dut.tile_valid_i = 0;
        dut.base_q_i = dut.src_i[0] = dut.src_i[1] = 0;
        dut.begin_valid_i = dut.pick_take_i = dut.cnt_last_i = dut.copies_here_i = 0;
        reset();
        write_map();
        if (percent(50)) // reset clears as much as go does
            go();
    }

    // Begins a layer, which may use the counts of the previous one.
    void go(bool cached = false)
    {
        const unsigned busy = l.busy;
        l.busy = 0;
        until("the unit to be idle", 3000,
              [&] { return dut.idle_o && signals.empty() && acks.empty() && toks.empty(); });
        cfg.set("cached", cached);
        cfg.drive(dut.cfg_i);
        dut.go_i = 1;
        if (!cached) {
            dut.copies_here_i = 0;
            memset(sums, 0, sizeof sums);
        }
        cycle();
        dut.go_i = 0;
        l.busy = busy;
        memcpy(base, sums, sizeof base);
    }

    void run(const mw_instr &in)
    {
        until("the unit to be ready", 2000, [&] { return dut.cmd_ready_o; });
        const unsigned code = refusal(in);
        if (code)
            errors.expect_between(now, now, code, in.op, in.imm);
        else
            expect(in);
        fencing = in.op == MW_I_FENCE;
        answered.clear();
        retired = own_answered = false;
        memcpy(&dut.cmd_i, &in, sizeof in);
        dut.cmd_valid_i = 1;
        cycle();
        dut.cmd_valid_i = 0;
        errors.done();
        const uint64_t waited = until("the instruction to retire", 20000, [&] { return retired; });
        if (code && in.op != MW_I_SIGNAL) // which waits for the packet on its way, whose ever it is
            assert_int_equal(waited, 1);
        assert_true(want_cst.empty() && want_clo.empty() && want_events.empty());
    }

    // Runs until all outputs requested so far have come.
    void settle_down()
    {
        l.busy = 0;
        cycles(3000);
        assert_true(want_signals.empty() && want_acks.empty() && want_own.empty());
        assert_true(want_lanes.empty() && want_ready.empty() && want_tiles.empty());
        assert_true(cst.open.empty() && clo.open.empty());
        assert_true(dut.idle_o);
        errors.done();
    }

    // Copy counts of every GPU, own included, in random order. Words of kind 0 and invalid ones
    // come between.
    void copies()
    {
        std::vector<unsigned> order(N);
        for (unsigned s = 0; s < N; s++)
            order[s] = s;
        rng.shuffle(order);
        if (counted)
            go();
        counted = true;
        uint32_t m[N][N], recv = 0;
        memset(base, 0, sizeof base);
        for (unsigned s : order) {
            for (unsigned g = 0; g < N; g++) {
                m[s][g] = rng.one_in(3) ? rng.pick({0u, MAX_COUNT}) : below(MAX_COUNT);
                if (percent(30))
                    count_word(0, below(32), below(32), rng.word());
                if (percent(30))
                    count_word(
                        1, s, below(N),
                        rng.pick({MAX_COUNT + 1, MAX_COUNT << 1, 1u << 31, UINT32_MAX,
                                  MAX_COUNT + 1 + below(~MAX_COUNT), beyond(MAX_COUNT + 1, 32)}));
                if (percent(30))
                    count_word(1, s, rng.between(N, 31),
                               rng.pick({0u, 1u, below(MAX_COUNT), rng.word()}));
                count_word(1, s, g, m[s][g]);
            }
        }
        run(instr(MW_I_PREFIX, 0, below(0x10000), rng.word(), rng.word(), rng.word()));
        for (unsigned s = 0; s < N; s++) {
            for (unsigned g = 0; g < N; g++)
                base[g] += s < l.port ? m[s][g] : 0;
            recv += m[s][l.port];
        }
        assert_int_equal(dut.recv_rows_o, recv);
        for (unsigned s = 0; s < N; s++) {
            const unsigned other = below(N);
            dut.src_i[0] = static_cast<uint8_t>(s);
            dut.src_i[1] = static_cast<uint8_t>(other);
            settle();
            assert_int_equal(dut.src_rows_o[0], m[s][l.port]);
            assert_int_equal(dut.src_rows_o[1], PARAM_RowRanges ? m[other][l.port] : 0);
        }
        memcpy(sums, base, sizeof base);
        take_rows(100, base[l.port], recv);
        for (unsigned i = 0; CACHED && i < 2; i++) {
            go(true);
            take_rows(40, sums[l.port], recv);
        }
    }

    // Rows of st, and FLAGs that report them.
    void take_rows(unsigned cycles_of_it, uint32_t own_base, uint32_t recv)
    {
        for (unsigned i = 0; i < cycles_of_it; i++) {
            const unsigned q = below(N);
            dut.base_q_i = static_cast<uint8_t>(q);
            dut.base_take_i = percent(50);
            settle();
            assert_int_equal(dut.base_row_o, base[q]);
            assert_int_equal(dut.own_base_o, own_base);
            base[q] += dut.base_take_i;
            cycle();
            if (i % 20 == 0) {
                dut.base_take_i = 0;
                run(instr(MW_I_FLAG, below(4), rng.pick(SOFTWARE), 0, 0, 0));
            }
        }
        dut.base_take_i = 0;
        assert_int_equal(dut.recv_rows_o, recv);
    }

    // Copy counts of all GPUs, own tokens in the order that follows from them, and the tokens as
    // they are taken.
    void ordered(unsigned charge)
    {
        if (counted)
            go();
        counted = true;
        const unsigned first = below(l.tokens), count = 1 + below(l.tokens - first);
        run(instr(MW_I_COUNT, 1, 0, first, count, 0));
        uint64_t load[N] = {}, rows = 0, remote = 0;
        assert_false(dut.share_valid_o);
        for (unsigned s = 0; s < N; s++) {
            for (unsigned g = 0; g < N; g++) {
                const uint32_t val = rng.one_in(3) ? MAX_COUNT / 2 : below(MAX_COUNT);
                count_word(1, s, g, val);
                load[g] += s == g ? 0 : val;
                rows += s != g && g == l.port ? val : 0;
            }
        }
        assert_false(dut.share_valid_o);
        dut.copies_here_i = 1;
        cycle();
        std::vector<unsigned> hot, classes;
        for (unsigned g = 0; g < N; g++)
            if (g != l.port)
                hot.push_back(g);
        std::stable_sort(hot.begin(), hot.end(),
                         [&](unsigned a, unsigned b) { return load[a] > load[b]; });
        hot.resize(std::min(N - 1, 5u));
        for (unsigned i = first; i < first + count; i++) {
            const uint32_t seen = gpus_of(i);
            unsigned c = 0;
            for (unsigned h = 0; h < hot.size(); h++)
                c |= (seen >> hot[h] & 1) << h;
            classes.push_back(c);
            remote += (seen & ~(1u << l.port)) != 0;
        }
        assert_true(dut.share_valid_o && dut.share_rows_o == rows && dut.share_tokens_o == remote);
        take_ordered(first, count, charge, classes, static_cast<unsigned>(hot.size()));
        if (CACHED) {
            go(true);
            assert_true(dut.share_valid_o && dut.share_rows_o == rows &&
                        dut.share_tokens_o == remote);
            take_ordered(first, count, charge, classes, static_cast<unsigned>(hot.size()));
        }
    }

    // `order` of tokens with these classes of hot GPUs, and the tokens as they are taken.
    void take_ordered(unsigned first, unsigned count, unsigned charge,
                      const std::vector<unsigned> &classes, unsigned hot)
    {
        if (percent(50)) { // the previous walk was of other tokens, or of none
            const unsigned at = below(l.tokens);
            // a second count of own tokens adds to the share
            run(instr(CACHED ? MW_I_ORDER : rng.pick({MW_I_COUNT, MW_I_ORDER}), 1, 0, at,
                      below(l.tokens - at + 1), 0));
        }
        const uint64_t from = now;
        run(instr(MW_I_ORDER, 0, charge, first, count, 0));
        assert_true(now - from >= uint64_t{charge} * count);
        dut.begin_valid_i = 1;
        dut.begin_first_i = static_cast<uint16_t>(first);
        dut.begin_stop_i = static_cast<uint16_t>(first + count);
        cycle();
        dut.begin_valid_i = 0;
        cycles(200); // nothing is taken while the lists are prepared
        std::vector<unsigned> got;
        while (got.size() < count) {
            until("a token", 200, [&] { return dut.pick_valid_o; });
            dut.pick_take_i = 1;
            settle();
            got.push_back(dut.pick_token_o);
            cycle();
            dut.pick_take_i = 0;
        }
        const std::vector<unsigned> want = by_rule(first, classes, hot);
        for (unsigned i = 0; i < count; i++)
            assert_int_equal(got[i], want[i]);
        changed += !std::is_sorted(want.begin(), want.end());
    }

    unsigned changed = 0;

  private:
    void count_word(unsigned kind, unsigned src, unsigned idx, uint32_t val)
    {
        dut.cnt_valid_i = 1;
        dut.cnt_last_i = percent(50);
        dut.cnt_kind_i = kind;
        dut.cnt_src_i = static_cast<uint8_t>(src);
        dut.cnt_idx_i = static_cast<uint8_t>(idx);
        dut.cnt_val_i = val;
        if (kind == 1 && (idx >= N || val > MAX_COUNT))
            errors.expect_between(now, now, MW_HWERR_BOUNDS, src, idx);
        cycle();
        dut.cnt_valid_i = 0;
        errors.done();
        if (percent(30))
            cycle();
    }

    // ---- pins -----------------------------------------------------------------------------------
    void write_map()
    {
        for (unsigned e = 0; e < EXPERTS; e++) {
            const unsigned le =
                below(rng.one_in(20) || !l.local_experts ? MAX_LOCAL : l.local_experts);
            map[e] = rng.one_in(12) ? below(8192) : tb::place(true, below(N), le);
            dut.emap_we_i = 1;
            dut.emap_addr_i = static_cast<uint16_t>(e);
            dut.emap_data_i = static_cast<uint16_t>(map[e]);
            settle();
            edge();
        }
        dut.emap_we_i = 0;
    }

    void drive() override
    {
        port.rate = l.ready;
        port.drive(rng, dut.rd_ready_i, dut.rd_rvalid_i, dut.rd_rdata_i);
        dut.ctl_ready_i = percent(l.ready);
        dut.cst_ready_i = percent(l.ready);
        dut.clo_ready_i = percent(l.ready);
        dut.own_ready_i = percent(l.ready);
        dut.push_granted_i = 0;
        if (!dut.cmd_valid_i)
            scramble(dut.cmd_i, 128, rng);
        drive_answers();
        if (signals.empty() && percent(l.busy))
            new_signal();
        if (acks.empty() && own_fences > 0 && percent(10))
            new_ack(l.port);
        else if (acks.empty() && percent(l.busy))
            new_ack((l.port + 1 + below(N - 1)) % N);
        if (tile_taken)
            dut.tile_valid_i = tile_taken = false;
        if (lists && !dut.cmd_valid_i && !dut.tile_valid_i && percent(l.busy ? 20 : 0)) {
            dut.tile_valid_i = 1;
            dut.tile_home_i = static_cast<uint8_t>((l.port + 1 + below(N - 1)) % N);
            dut.tile_rows_i = static_cast<uint8_t>(rng.between(1, 255));
        }
        dut.sig_valid_i = signals.offer(rng);
        dut.sig_token_i = dut.sig_valid_i ? signals.front() : below(1u << 22);
        if (l.by_switch && !l.tiles && toks.empty() && percent(l.busy))
            toks.queue.push_back(below(1u << l.token_shift));
        dut.tok_valid_i = toks.offer(rng);
        dut.tok_index_i = dut.tok_valid_i ? toks.front() : below(1u << PARAM_TokensLog2);
        dut.ack_valid_i = acks.offer(rng);
        dut.ack_port_i = static_cast<uint8_t>(dut.ack_valid_i ? acks.front() : below(N));
    }

    // Answers come in any order. A GPU that has answered does so again, which must not count.
    void drive_answers()
    {
        dut.ack_rx_i = 0;
        dut.ack_src_i = static_cast<uint8_t>(below(N));
        if (!asked.empty() && percent(10)) {
            auto who = asked.begin() + below(asked.size());
            dut.ack_rx_i = 1;
            dut.ack_src_i = static_cast<uint8_t>(*who);
            answered.push_back(*who);
            asked.erase(who);
        } else if (!answered.empty() && percent(10)) {
            dut.ack_rx_i = 1;
            dut.ack_src_i = static_cast<uint8_t>(rng.pick(answered));
        }
    }

    void new_signal()
    {
        const uint32_t token = below(N << l.token_shift);
        const unsigned home = token >> l.token_shift;
        signals.queue.push_back(token);
        if (home == l.port && !l.tiles)
            return want_own.push_back(token);
        if (l.by_switch)
            return;
        mw_header h = head(MW_OP_SIGNAL, home);
        h.addr = token;
        want_signals.emplace_back(h);
        sig_passed = 0;
    }

    void new_ack(unsigned dst)
    {
        acks.queue.push_back(dst);
        if (dst == l.port)
            own_fences--;
        else
            want_acks.emplace_back(head(MW_OP_ACK, dst));
        ack_passed = 0;
    }

    void sample() override
    {
        dut.notified_rows_i =
            static_cast<uint16_t>(listed[dut.notified_gpu_o][dut.notified_local_o]);
        settle();
        if (dut.tile_valid_i && dut.tile_ready_o) {
            mw_header h = head(MW_OP_FLAG, dut.tile_home_i);
            h.stage = MW_FLAG_TILE;
            h.addr = dut.tile_rows_i;
            want_tiles.emplace_back(h);
            tiles++;
            assert_true(rested >= TILE_CYCLES);
            rested = 0;
        }
        rested++;
        tile_taken = dut.tile_valid_i && dut.tile_ready_o;
        port.sample(rng, dut.rd_valid_o, dut.rd_ready_i, dut.rd_addr_o);
        const bool to_us = dut.ack_port_i == l.port;
        const bool sig_taken = dut.sig_valid_i && dut.sig_ready_o && !dut.own_valid_o;
        const bool ack_taken = dut.ack_valid_i && dut.ack_ready_o && !to_us;
        assert_false(!l.by_switch && sig_taken && ack_taken); // one control packet per cycle
        ack_passed += !l.by_switch && sig_taken;
        if (l.by_switch && sig_taken)
            want_lanes.push_back(lane(dut.sig_token_i >> l.token_shift,
                                      dut.sig_token_i & ((1u << l.token_shift) - 1)));
        if (dut.tok_valid_i && dut.tok_ready_o) {
            assert_true(l.by_switch && !sig_taken);
            want_lanes.push_back(lane(l.port, dut.tok_index_i));
        }
        toks.taken(dut.tok_ready_o);
        sig_passed += ack_taken;
        if (!l.by_switch && dut.sig_valid_i && !dut.own_valid_o)
            assert_true(sig_passed <= 2);
        if (dut.ack_valid_i && !to_us)
            assert_true(ack_passed <= 2);
        if (own.see(dut.own_valid_o, dut.own_ready_i, dut.own_token_o)) {
            assert_false(want_own.empty());
            assert_int_equal(dut.own_token_o, want_own.front());
            want_own.pop_front();
        }
        own_answered = own_answered || (dut.ack_valid_i && dut.ack_ready_o && to_us);
        signals.taken(dut.sig_ready_o);
        acks.taken(dut.ack_ready_o);
        if (ctl.see(dut.ctl_valid_o, dut.ctl_ready_i, dut.ctl_header_o)) {
            const bytes got = get(dut.ctl_header_o);
            const unsigned op = header_of(got).opcode;
            if (l.by_switch && op == MW_OP_READY)
                expect_ready(got);
            take(op == MW_OP_ACK      ? want_acks
                 : op == MW_OP_READY  ? want_ready
                 : op == MW_OP_SIGNAL ? want_signals
                                      : want_events,
                 got, "control");
        }
        cst.see(dut.cst_valid_o, dut.cst_ready_i, dut.cst_data_o, dut.cst_last_o);
        clo.see(dut.clo_valid_o, dut.clo_ready_i, dut.clo_data_o, dut.clo_last_o);
        if (!cst.packets.empty()) {
            const bytes got = cst.take();
            const mw_header of = header_of(got);
            const bool tile = of.opcode == MW_OP_FLAG && of.stage == MW_FLAG_TILE;
            const mw_header h = take(tile ? want_tiles : want_cst, got, "uplink");
            if (h.opcode == MW_OP_FENCE)
                asked.push_back(h.dst);
        }
        if (!clo.packets.empty())
            own_fences += take(want_clo, clo.take(), "local").opcode == MW_OP_FENCE;
        uint32_t op;
        memcpy(&op, &dut.cmd_i, sizeof op);
        if (dut.cmd_valid_i)
            errors.see(now, dut.err_valid_o, dut.err_code_o, op & 255, op >> 16);
        else
            errors.see(now, dut.err_valid_o, dut.err_code_o, dut.cnt_src_i, dut.cnt_idx_i);
        if (dut.retire_o) {
            assert_false(retired);
            retired = true;
            if (fencing)
                assert_true(own_answered && answered.size() == N - 1 && asked.empty());
        }
    }

    static uint64_t lane(unsigned home, unsigned index) { return 1u << 20 | home << 15 | index; }
    // The valid lanes are the next ones, from the first place on. The others may hold anything.
    void expect_ready(const bytes &got)
    {
        uint64_t head_words[2] = {}, lanes;
        bool last = false;
        memcpy(&lanes, &got[8], 8);
        mw_header h = head(MW_OP_READY, 0);
        mw_header_pack(&h, head_words);
        for (unsigned i = 0; i < 3; i++) {
            if (!(lanes >> (MW_LANE_BITS * i + MW_LANE_BITS - 1) & 1)) {
                head_words[1] |= lanes & 0xfffffull << MW_LANE_BITS * i;
                last = true;
                continue;
            }
            assert_false(last || want_lanes.empty());
            head_words[1] |= want_lanes.front() << MW_LANE_BITS * i;
            want_lanes.pop_front();
        }
        mw_header_unpack(&h, head_words);
        want_ready.emplace_back(h);
        readys++;
    }

    static mw_header take(std::deque<expected> &want, const bytes &got, const char *where)
    {
        assert_false(want.empty());
        assert_wire(want.front().w, got, where);
        const mw_header h = want.front().h;
        want.pop_front();
        return h;
    }

    read_port port{mem, "memory"};
    packet_watch cst{"uplink"}, clo{"local"};
    watch ctl{"control"}, own{"own signals"};
    source<uint32_t> signals;
    source<unsigned> acks, toks;
    std::deque<expected> want_tiles, want_signals, want_acks, want_ready;
    std::deque<uint64_t> want_lanes;
    bool tile_taken = false;
    std::deque<uint32_t> want_own;
    std::vector<unsigned> asked, answered; // other GPUs, of the fence
    unsigned own_fences = 0, sig_passed = 0, ack_passed = 0;
    bool retired = false, own_answered = false, fencing = false, counted = false;
};

TEST(instructions)
{
    unsigned readys = 0, tiles = 0;
    for (unsigned r = 0; r < 80; r++) {
        hub b;
        for (unsigned i = 0; i < 8; i++) {
            const unsigned a = b.percent(60) ? 0 : b.below(b.l.tokens + 1);
            b.run(instr(b.rng.pick({MW_I_COUNT, MW_I_COUNT, MW_I_SIGNAL, MW_I_FLAG, MW_I_FENCE}),
                        b.below(256), b.rng.pick(SOFTWARE), a, b.l.tokens - a, b.rng.word()));
        }
        b.cycles(200);
        b.settle_down();
        readys += b.readys;
        tiles += b.tiles;
    }
    assert_true(!BY_SWITCH || readys > 200);
    assert_true(!PARAM_SourceLists || tiles > 60);
}

// Refused instructions between valid ones. The error comes in the cycle in which the unit takes the
// instruction. No packet follows, and no state is left.
TEST(refused)
{
    for (unsigned r = 0; r < 40; r++) {
        hub b;
        const uint32_t end = 1u << b.l.token_shift;
        const uint32_t ranges[][2] = {{0, end + 1},
                                      {end, 1},
                                      {end + 1, 0},
                                      {end - 1, 2},
                                      {2u << PARAM_TokensLog2, 1},
                                      {0, 2u << PARAM_TokensLog2},
                                      {1u << 31, 1},
                                      {0, 1u << 31},
                                      {1u << 31, 1u << 31},
                                      {UINT32_MAX, 1},
                                      {5, UINT32_MAX - 3},
                                      {UINT32_MAX, UINT32_MAX},
                                      {b.rng.word() | end << 1, b.below(end)}};
        for (const auto &range : ranges)
            b.run(instr(b.rng.pick({MW_I_COUNT, MW_I_ORDER}), b.below(256), b.below(0x10000),
                        range[0], range[1], b.rng.word()));
        for (unsigned event :
             {8u, 9u, 15u, 16u, 0x100u, 0x8000u, 0xffffu, MW_SW_EVENTS + b.below(0xfff8)}) {
            b.run(
                instr(MW_I_SIGNAL, b.below(256), event, b.rng.word(), b.rng.word(), b.rng.word()));
            b.run(instr(MW_I_FLAG, b.below(256), event, b.rng.word(), b.rng.word(), b.rng.word()));
        }
        for (unsigned op = 0; op < 256; op++) {
            const mw_instr any =
                instr(op, b.below(256), b.below(0x10000), b.rng.word(), b.rng.word(), b.rng.word());
            if (b.refusal(any) == MW_HWERR_INSTR)
                b.run(any);
        }
        b.run(instr(MW_I_COUNT, 0, 0, 1, b.l.tokens - 1, 0)); // rows of some of the tokens
        b.run(instr(MW_I_COUNT, 0, 0, 0, b.l.tokens - 1, 0));
        b.run(instr(MW_I_COUNT, 0, 0, 0, b.l.tokens + 1, 0));
        b.run(instr(MW_I_COUNT, r % 2, 0, 0, b.l.tokens, 0));
        b.run(instr(MW_I_COUNT, r % 2, 0, end, 0, 0)); // none, at the very end
        const unsigned last = SOFTWARE.back();
        b.run(instr(MW_I_SIGNAL, 0, last, 0, 0, 0));
        b.run(instr(MW_I_FLAG, r % 2, last, 0, 0, 0));
        b.run(instr(MW_I_FENCE, 0, 0, 0, 0, 0));
        b.settle_down();
        assert_int_equal(b.errors.count(MW_HWERR_INSTR), 256 - 6);
    }
}

TEST(prefix)
{
    size_t bad = 0;
    for (unsigned r = 0; r < 40; r++) {
        hub b;
        b.copies();
        b.copies();
        b.settle_down();
        bad += b.errors.count(MW_HWERR_BOUNDS);
    }
    assert_in_range(bad, 40 * N * N / 2, UINT32_MAX);
}

// Counts of copies, and the order in which own tokens are issued, with the charge for each.
TEST(order)
{
    unsigned changed = 0;
    for (unsigned r = 0; r < 40; r++) {
        hub b;
        b.ordered(b.rng.pick({0u, 1u, 5u, 40u}));
        b.ordered(b.below(30));
        b.settle_down();
        changed += b.changed;
    }
    assert_true(changed > 10);
}
