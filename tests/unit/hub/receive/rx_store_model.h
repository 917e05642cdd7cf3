// SPDX-License-Identifier: Apache-2.0
//
// A hub in whole layers, for the tests rx_store. Memory, lists of rows, credits and errors are
// compared with a model without order. FLAG and FENCE are compared in the cycle in which they act.
#ifndef RX_STORE_MODEL_H
#define RX_STORE_MODEL_H

#include "bench/credits.h"
#include "bench/errors.h"
#include "rx_store_traffic.h"

#include <set>

namespace tb {
/// The hub under that traffic. The model checks memory and look-ups in each cycle, and the final
/// state.
struct bench : traffic {
    explicit bench(const settings &set) : traffic(set)
    {
        local.rate = control.rate = 100 - s.gap / 2;
        lists_before = lists.data;
        link.pauses = false;
        reset();
        fill_map();
    }

    void go(unsigned new_epoch)
    {
        traffic::go(new_epoch);
        expected = mem.data;
        got_errors.clear();
        late_rows.clear();
        count_words.assign(N, 0);
        row_events = hits = misses = looks = 0;
        stalled = 0;
        results_left = s.results;
    }
    void start()
    {
        sweep();
        go(1);
    }
    void layer(uint64_t limit = 400000)
    {
        make_layer();
        run(limit);
        check();
    }
    // A row in the list of an expert.
    void list(unsigned le, unsigned index)
    {
        dut.list_valid_i = 1;
        dut.list_le_i = static_cast<uint8_t>(le);
        dut.list_idx_i = index;
        cycle();
        dut.list_valid_i = 0;
        assert_true(dut.list_rvalid_o);
    }

    // ---- memory and table ----
    // Row of a token at a local expert, -1 if the table has none.
    int row_of(const key &k) const
    {
        const uint32_t e = mem.get<uint32_t>(AL + 4 * (k.le << (LOG_N + s.token_shift) | k.token));
        if (!(e >> 31) || (e >> 29 & 3) != epoch)
            return -1;
        return static_cast<int>(e & 0xfffff);
    }

    // Places of an item's bytes, by the current table. Returns false if a row is missing.
    bool places(const item &i, std::vector<unsigned> &at) const
    {
        bool all = true;
        if (!stores_row(i.p.h.opcode) || i.p.h.stage == MW_STAGE_FLAT) {
            at.push_back(static_cast<unsigned>(i.p.h.addr));
            return true;
        }
        for (auto &k : i.rows) {
            int r = row_of(k);
            if (r < 0) {
                all = false;
                continue;
            }
            unsigned row = k.le << s.cap_shift | static_cast<unsigned>(r);
            unsigned offset = static_cast<unsigned>(i.p.h.addr & ((1u << row_shift) - 1));
            at.push_back(i.p.h.stage == MW_STAGE_GATE
                             ? GT + (row << gate_shift)
                             : (i.p.h.stage == MW_STAGE_COMBINE ? YD : XD) + (row << row_shift) +
                                   offset);
        }
        return all;
    }

    void check_behind(unsigned src, size_t upto)
    {
        for (size_t n = 0; n < upto; n++) {
            const item &i = sources[src].items[n];
            std::vector<unsigned> at;
            if (!i.writes)
                continue;
            if (!places(i, at))
                assert_true(lossy);
            for (unsigned a : at)
                assert_true(mem.read(a, i.p.payload.size()) == i.p.payload);
        }
    }

    // ---- one cycle ----
    void drive() override
    {
        for (unsigned w = 0; w < 2; w++)
            io->store[w].rate = s.wr_ready[w];
        io->table_rd.rate = io->table_wr.rate = s.al_ready;
        io->lists.rate = s.list_ready;
        io->table_rd.latency = s.al_latency;
        drive_link();
        next_local();
        rx_bench::drive();
        dut.ack_ready_i = percent(70);
        dut.res_ready_i = percent(s.result_ready);
        if (!dut.req1_valid_i && !look_open && running && percent(s.look)) {
            look = {below(LE), below(N << s.token_shift)};
            dut.req1_valid_i = 1;
            dut.req1_le_i = static_cast<uint8_t>(look.le);
            dut.req1_token_i = look.token;
            look_row = row_of(look);
        }
    }

    void cycle() override
    {
        rx_bench::cycle();
        if (look_taken)
            dut.req1_valid_i = 0;
    }

    void sample() override
    {
        for (unsigned e = 0; e < 4; e++)
            if (dut.err_valid_o[e])
                got_errors[dut.err_code_o[e]]++;
        if (dut.resp1_valid_o)
            looked_up();
        look_taken = dut.req1_valid_i && dut.req1_ready_o;
        look_open = look_open || look_taken;
        if (dut.ev_valid_o[0])
            flagged(dut.ev_idx_o[0]);
        if (dut.ack_valid_o && dut.ack_ready_i)
            acts(dut.ack_dst_o, &sender::fences);
        if (dut.ev_row_o)
            row_events++;
        hits += dut.hit_o;
        misses += dut.miss_o;
        if (dut.cnt_valid_o)
            count_word();
        rx_bench::sample();
        link.taken(true);
        if (dut.crd_o & 1 << MW_CLS_STORE)
            store_credits.owe(now + s.credit_delay);
        result();
        assert_int_equal(dut.crd_o & ~(1 << MW_CLS_STORE | 1 << MW_CLS_PART), 0);
        store_credits.due(now);
    }

    void looked_up()
    {
        assert_true(look_open);
        look_open = false;
        looks++;
        if (look_row >= 0) {
            assert_false(dut.resp1_err_o);
            assert_int_equal(dut.resp1_row_o, look_row);
        } else if (!dut.resp1_err_o) {
            assert_true(rows.count(look));
            late_rows[look] = static_cast<int>(dut.resp1_row_o);
        }
    }

    // Results come out complete, in order, and are stable while they wait. A credit returns with
    // the last flit.
    void result()
    {
        bool gone = dut.res_valid_o && dut.res_ready_i;
        if (dut.res_valid_o) {
            assert_false(results.empty());
            assert_memory_equal(&dut.res_data_o, results.front().data.data(), F);
            assert_int_equal(dut.res_last_o, results.front().last);
            assert_int_equal(dut.res_bad_o, results.front().bad);
        } else {
            assert_false(result_waits);
        }
        assert_int_equal(dut.crd_o >> MW_CLS_PART & 1, gone && dut.res_last_o);
        result_waits = dut.res_valid_o && !gone;
        longest_gap = std::max(longest_gap, result_gap);
        result_gap = results.empty() || dut.res_valid_o ? 0 : result_gap + 1;
        if (gone) {
            if (results.front().last)
                result_credits.give_back();
            results.pop_front();
        }
    }

    void flagged(unsigned src)
    {
        assert_in_range(src, 0, N - 1);
        assert_false(sources[src].flags.empty());
        const uint64_t notified = sources[src].items[sources[src].flags.front()].p.h.addr >> 5;
        assert_int_equal(dut.flag_src_o, src);
        assert_int_equal(dut.flag_notified_o, notified != 0);
        if (notified)
            assert_int_equal(dut.flag_row_o, notified - 1);
        acts(src, &sender::flags);
    }

    // A FLAG or FENCE of a source acts: all its earlier stores are in memory.
    void acts(unsigned src, std::deque<size_t> sender::*which)
    {
        assert_in_range(src, 0, N - 1);
        std::deque<size_t> &waiting = sources[src].*which;
        assert_false(waiting.empty());
        const size_t at = waiting.front();
        assert_true(at < sources[src].sent);
        waiting.pop_front();
        check_behind(src, at);
    }

    void count_word()
    {
        unsigned src = dut.cnt_src_o;
        assert_true(src < N);
        unsigned &word = count_words[src];
        const bool split = split_counts >> src & 1 && !dut.cnt_kind_o, high = split && word >= LE;
        assert_int_equal(dut.cnt_idx_o, high ? 32 + word - LE : word);
        unsigned last = (dut.cnt_kind_o ? N : split ? 2 * LE + 1 : LE) - 1;
        assert_int_equal(dut.cnt_last_o, word == last);
        if (high) {
            assert_int_equal(dut.cnt_kind_o, 0);
        } else if (!dut.cnt_kind_o) {
            assert_int_equal(dut.cnt_val_o, count_of[src][word]);
        } else {
            bool found = false; // the copy counts are in the only packet of that kind
            for (auto &i : sources[src].items)
                if (i.p.h.opcode == MW_OP_COUNTS && i.p.h.stage == 1)
                    found = !memcmp(&i.p.payload[4 * word], &dut.cnt_val_o, 4);
            assert_true(found);
        }
        word = dut.cnt_last_o ? 0 : word + 1;
    }

    // ---- running a layer ----
    wire encoded(packet p)
    {
        p.lane = p.h.addr % F;
        return encode(p, F, &rng);
    }

    void start_result()
    {
        packet p;
        p.h = header(MW_OP_RESULT);
        p.h.src = (s.port + 1) % N;
        p.h.dst = s.port;
        p.h.epoch = epoch;
        p.payload = rng.some(s.result_size ? s.result_size : 1 + below(128));
        p.h.len = static_cast<uint32_t>(p.payload.size());
        if (percent(s.result_wrong)) {
            p.h.epoch = (epoch + 1 + below(3)) % 4;
            want_errors[MW_HWERR_EPOCH]++;
        }
        wire w = encoded(p);
        if (percent(s.result_wrong)) { // from one flit on
            w.bad.assign(w.flits(), true);
            std::fill_n(w.bad.begin(), HF + below(w.flits() - HF), false);
            want_errors[MW_HWERR_LENGTH]++;
        }
        link.queue.push_back(w);
        // packets of another epoch are poisoned
        p.h.poison = p.h.epoch != epoch;
        const wire head = encode({p.h}, F);
        std::copy(head.data.begin(), head.data.end(), w.data.begin());
        expected_results.clear();
        for (size_t i = 0; i < w.flits(); i++)
            expected_results.push_back({bytes(w.at(i), w.at(i) + F), w.last(i), w.marked(i)});
        link_cls = MW_CLS_PART;
        result_credits.spend();
        results_left--;
    }

    void next_on_link()
    {
        if (results_left && result_credits.left() && percent(s.result_share)) {
            start_result();
            return;
        }
        std::vector<sender *> can;
        for (unsigned q = 0; q < N; q++)
            if (q != s.port && sources[q].sent < sources[q].items.size())
                can.push_back(&sources[q]);
        if (can.empty() || !store_credits.left() || percent(s.gap)) {
            stalled += !can.empty() && !store_credits.left();
            return;
        }
        sender &src = *rng.pick(can);
        link.queue.push_back(encoded(src.items[src.sent++].p));
        link_cls = MW_CLS_STORE;
        store_credits.spend();
    }
    void drive_link()
    {
        if (link.empty())
            next_on_link();
        const bool flit = link.drive(rng, dut.rx_valid_i, dut.rx_data_i, dut.rx_last_i);
        dut.rx_cls_i = static_cast<uint8_t>(flit ? link_cls : below(4));
        dut.rx_err_i = flit ? link.err() : percent(50);
        if (flit && link_cls == MW_CLS_PART) {
            results.push_back(expected_results.front());
            expected_results.pop_front();
        }
    }

    // Own packets come from send and, every few, from control. The streams take turns, as ordered
    // stores require.
    void next_local()
    {
        sender &src = sources[s.port];
        if (!local.empty() || !control.empty() || src.sent == src.items.size() || percent(s.gap))
            return;
        const packet &p = src.items[src.sent++].p;
        const bool ordered =
            p.h.opcode == MW_OP_COUNTS || p.h.opcode == MW_OP_FLAG || p.h.opcode == MW_OP_FENCE;
        (ordered ? control : local).queue.push_back(encoded(p));
    }

    bool finished() const
    {
        for (auto &src : sources)
            if (src.sent < src.items.size() || !src.flags.empty() || !src.fences.empty())
                return false;
        return link.empty() && local.empty() && control.empty() && store_credits.left() == SLOTS &&
               results_left == 0 && result_credits.left() == RESULTS && dut.idle_o == 0x1f;
    }

    void run(uint64_t limit)
    {
        running = true;
        cycle();
        taken = 1 + until("the layer", limit, [&] { return finished(); });
        running = false;
        until("the look-up", 1000, [&] { return !look_open && !dut.req1_valid_i; });
        cycles(10);
    }

    // ---- after a layer ----
    void check_errors()
    {
        for (unsigned code = 0; code < 32; code++)
            if (want_errors[code] != got_errors[code])
                fail_msg("error %u: %u reported, %u expected", code, got_errors[code],
                         want_errors[code]);
    }

    // Rows of an expert are dense. Each belongs to one token that was sent, and nothing else in the
    // table changed.
    void check_table()
    {
        for (unsigned le = 0; le < LE; le++) {
            std::set<int> used;
            unsigned asked = 0;
            for (unsigned token = 0; token < N << s.token_shift; token++) {
                key k{le, token};
                int r = row_of(k);
                asked += rows.count(k) != 0;
                if (r < 0)
                    continue;
                assert_true(rows.count(k));
                assert_true(used.insert(r).second);
            }
            assert_int_equal(used.size(), std::min(asked, 1u << s.cap_shift));
            if (!used.empty())
                assert_int_equal(*used.rbegin(), used.size() - 1);
        }
        for (auto &l : late_rows)
            assert_int_equal(l.second, row_of(l.first));
    }

    void check_memory()
    {
        unsigned lost = 0;
        for (auto &src : sources) {
            for (auto &i : src.items) {
                std::vector<unsigned> at;
                if (!i.writes)
                    continue;
                places(i, at);
                if (stores_row(i.p.h.opcode) && i.p.h.stage != MW_STAGE_FLAT)
                    lost += static_cast<unsigned>(i.rows.size() - at.size());
                for (unsigned a : at)
                    std::copy(i.p.payload.begin(), i.p.payload.end(), expected.begin() + a);
            }
        }
        want_errors[MW_HWERR_BOUNDS] += lost;
        if (!lossy)
            assert_int_equal(lost, 0);
        unsigned table_end = AL + (4 * LE << (LOG_N + s.token_shift));
        std::copy(mem.data.begin() + AL, mem.data.begin() + table_end, expected.begin() + AL);
        for (unsigned a = 0; a < MEM; a++)
            if (mem.data[a] != expected[a])
                fail_msg("memory at %05x is %02x, not %02x", a, mem.data[a], expected[a]);
    }

    // Every row is in its expert's list once, with its token and list position.
    void check_lists()
    {
        unsigned total = 0;
        for (unsigned le = 0; le < LE; le++) {
            dut.stat_le_i = static_cast<uint8_t>(le);
            cycle();
            unsigned complete = dut.stat_complete_o;
            unsigned capacity = 1u << s.cap_shift;
            assert_int_equal(complete, std::min(expected_rows[le], capacity));
            if (s.counts)
                assert_int_equal(dut.stat_expected_o, expected_rows[le]);
            std::set<unsigned> seen;
            for (unsigned i = 0; i < complete; i++) {
                list(le, i);
                key k{le, dut.list_token_o};
                assert_true(rows.count(k));
                assert_int_equal(dut.list_pos_o, rows[k]);
                assert_int_equal(dut.list_row_o, row_of(k));
                assert_true(seen.insert(k.token).second);
            }
            total += complete;
        }
        assert_int_equal(row_events, total);
        assert_int_equal(dut.counts_all_o, s.counts);
        assert_int_equal(dut.rows_done_o, s.counts && !lossy);
    }

    // For each row of another GPU the last list is in memory, and nothing else. Positions in the
    // token's list are not kept.
    void check_kept()
    {
        for (const auto &k : kept) {
            const size_t flits = (2 * k.second.size() + F - 1) / F;
            for (size_t t = 0; t < k.second.size(); t++) {
                const unsigned is = lists.get<uint16_t>(k.first + 2 * t), want = k.second[t] >> 4;
                assert_int_equal(is & 15, k.second.size() - 1);
                assert_true(is >> 4 == want || (want >= EXPERTS && is >> 4 >= EXPERTS));
            }
            std::copy_n(lists.data.begin() + k.first, F * flits, lists_before.begin() + k.first);
        }
        assert_true(lists_before == lists.data);
    }

    void check_lookups()
    {
        unsigned asked = 0;
        for (auto &src : sources)
            for (auto &i : src.items)
                if (i.writes)
                    asked += static_cast<unsigned>(i.rows.size());
        assert_int_equal(hits + misses, asked + looks);
    }

    void check()
    {
        check_table();
        check_memory();
        check_errors();
        check_lists();
        check_lookups();
        check_kept();
        assert_true(count_words == std::vector<unsigned>(N, 0));
    }

    bytes expected;
    packet_source link;
    credits store_credits{"stores", SLOTS}, result_credits{"results", RESULTS};
    uint64_t taken = 0, stalled = 0, looks = 0;
    std::map<unsigned, unsigned> got_errors;
    std::map<key, int> late_rows;
    bytes lists_before;
    std::vector<unsigned> count_words; // next word of each GPU's counts
    unsigned row_events = 0, hits = 0, misses = 0;
    struct result_flit {
        bytes data;
        bool last, bad;
    };
    std::deque<result_flit> results, expected_results; // came, will come
    unsigned results_left = 0, result_gap = 0, longest_gap = 0;
    unsigned link_cls = 0;
    bool result_waits = false;
    bool look_open = false, look_taken = false, running = false;
    key look = {0, 0};
    int look_row = -1;
};
} // namespace tb

#endif
