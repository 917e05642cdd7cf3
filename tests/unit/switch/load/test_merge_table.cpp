// SPDX-License-Identifier: Apache-2.0
//
// merge_table against sets of readers. Loads of few rows come at any rate. A home answers FETCHs in
// any order and at any rate. Limits range from none to all entries. FETCHs wait for readers, and
// layers are aborted. Checked:
// - which loads are fetched, join an entry, or bypass the table
// - every FETCH comes once and in order, and waits no longer for readers than permitted
// - each packet of an answer goes to the right readers
// - each load ends once
// - errors by name, and the counts

#include "Vmerge_table.h"
#include "bench/packet.h"
#include "bench/stream.h"

#include "errors.h"

#include <algorithm>
#include <memory>

using namespace tb;

static const unsigned N = PARAM_N, OTHERS = N - 1, ENTRIES = PARAM_MergeEntries,
                      WAYS = PARAM_MergeWays, SETS = ENTRIES / WAYS;
static const unsigned BYPASS = 0x8000;
// Places of the queue of FETCHs, and the places that waiting FETCHs leave free.
static const unsigned FETCHES = 64, SPARE = 16;

struct merge_table : model<Vmerge_table> {
    struct fetch { // one FETCH, its readers and its answer
        unsigned index;
        uint32_t readers;
        bool alone, begun = false;
        unsigned who = 0;
        uint64_t first, last;
    };
    struct load {
        unsigned index;
        bool merge;
    };
    std::vector<source<load>> lanes{OTHERS};
    std::deque<std::shared_ptr<fetch>> to_come; // created, and not yet sent as FETCHs
    std::vector<std::shared_ptr<fetch>> open;   // not completely answered
    std::vector<std::shared_ptr<fetch>> sent;   // sent, and without an answer
    std::shared_ptr<fetch> now_answered;
    unsigned byte = 0;
    unsigned port = 1, limit = ENTRIES, row_shift = 10, row_bytes = 1024, wait = 0;
    unsigned due = 0; // cycles for which the next FETCH has been due
    uint32_t reach = (1u << OTHERS) - 1;
    bool fell = false;
    unsigned fetch_rate = 50, answer_rate = 50;
    std::vector<unsigned> ended = std::vector<unsigned>(OTHERS), taken = ended;
    uint32_t answered_next = 0, bad_next = 0;
    unsigned bad_code = 0;
    uint64_t loads = 0, fetches = 0, bypasses = 0, most = 0, sum = 0, spread = 0;
    bool accepts = false;

    merge_table()
    {
        dut.keep_i = dut.answer_kept_i = dut.flit_i = dut.kept_take_i = dut.kept_may_i = 0;
        reset();
        go();
    }

    void go()
    {
        dut.go_i = 1;
        cycle();
        dut.go_i = 0;
        due = 0;
        to_come.clear();
        open.clear();
        sent.clear();
        now_answered = nullptr;
        std::fill(ended.begin(), ended.end(), 0);
        std::fill(taken.begin(), taken.end(), 0);
        loads = fetches = bypasses = most = sum = spread = 0;
        answered_next = bad_next = 0;
    }

    void set_answer(unsigned who, uint64_t addr, unsigned len)
    {
        mw_header h{};
        h.opcode = MW_OP_LD_RESP;
        h.cls = MW_CLS_STORE;
        h.len = len;
        h.addr = addr;
        h.target0 = who;
        uint64_t w[2];
        mw_header_pack(&h, w);
        put(dut.answer_i, w);
    }

    void drive() override
    {
        dut.port_i = static_cast<uint8_t>(port);
        dut.reach_i = reach;
        dut.fell_i = fell;
        dut.limit_i = static_cast<uint16_t>(limit);
        dut.wait_i = static_cast<uint16_t>(wait);
        dut.row_bytes_i = static_cast<uint16_t>(row_bytes);
        dut.row_shift_i = static_cast<uint8_t>(row_shift);
        dut.lane_i = 0;
        for (unsigned d = 0; d < OTHERS; d++) {
            const bool there = lanes[d].offer(rng);
            dut.lane_i |= static_cast<uint32_t>(there) << d;
            dut.lane_index_i[d] = there ? lanes[d].front().index : rng.bits(6);
            if (there && lanes[d].front().merge)
                dut.lane_merge_i |= 1u << d;
            else
                dut.lane_merge_i &= ~(1u << d);
        }
        if (!now_answered && !sent.empty()) {
            const size_t i = rng.below(sent.size());
            now_answered = sent[i];
            sent.erase(sent.begin() + static_cast<long>(i));
            byte = 0;
        }
        accepts = now_answered && percent(answer_rate);
        if (now_answered)
            set_answer(now_answered->who, uint64_t{now_answered->index} << row_shift | byte,
                       std::min(128u, row_bytes - byte));
        dut.answer_accept_i = accepts;
        dut.fetch_sent_i = 0;
        settle();
        dut.fetch_sent_i = dut.fetch_valid_o && percent(fetch_rate);
    }

    unsigned used() const
    {
        return static_cast<unsigned>(
            std::count_if(open.begin(), open.end(), [](const auto &f) { return !f->alone; }));
    }
    unsigned used_of_set(unsigned index) const
    {
        return static_cast<unsigned>(std::count_if(open.begin(), open.end(), [&](const auto &f) {
            return !f->alone && f->index % SETS == index % SETS;
        }));
    }

    void begin(unsigned d, load l)
    {
        const uint32_t bit = 1u << d;
        auto same = std::find_if(open.begin(), open.end(), [&](const auto &f) {
            return !f->alone && f->index == l.index && !f->begun && !(accepts && f == now_answered);
        });
        const bool there = l.merge && same != open.end();
        bad_code = fell                                ? MW_HWERR_OWES
                   : !(reach & bit)                    ? MW_HWERR_PARTITION
                   : there && ((*same)->readers & bit) ? MW_HWERR_COUNT
                                                       : MW_HWERR_NONE;
        if (bad_code) {
            bad_next = bit;
            return;
        }
        loads++;
        taken[d]++;
        if (there) {
            (*same)->readers |= bit;
            (*same)->last = now;
            return;
        }
        auto f = std::make_shared<fetch>();
        f->index = l.index;
        f->readers = bit;
        f->alone = !l.merge || used() >= limit || used_of_set(l.index) >= WAYS;
        f->first = f->last = now;
        fetches++;
        bypasses += f->alone;
        to_come.push_back(f);
        open.push_back(f);
    }

    void see_answer()
    {
        assert_int_equal(dut.answer_mask_o, now_answered->readers);
        assert_int_equal(dut.answer_code_o, MW_HWERR_NONE);
        now_answered->begun = true;
        byte += std::min(128u, row_bytes - byte);
        if (byte < row_bytes)
            return;
        answered_next = now_answered->readers;
        if (!now_answered->alone) {
            const uint64_t cycles = now_answered->last - now_answered->first;
            sum += cycles;
            spread = std::max(spread, cycles);
        }
        open.erase(std::find(open.begin(), open.end(), now_answered));
        now_answered = nullptr;
    }

    // A FETCH waits until all GPUs have loaded its row, or `wait` cycles, and no longer.
    void check_wait()
    {
        if (to_come.empty())
            return;
        const fetch &f = *to_come.front();
        const bool full = (reach & ~f.readers) == 0, crowded = to_come.size() > FETCHES - SPARE;
        if (due || !wait || f.alone || full || crowded || now - f.first >= wait)
            due++;
        assert_true(due || !dut.fetch_valid_o);
        assert_true(due < 4 || dut.fetch_valid_o);
    }

    void sample() override
    {
        check_wait();
        assert_int_equal(dut.answered_o, answered_next);
        assert_int_equal(dut.bad_o, bad_next);
        if (bad_next)
            assert_int_equal(dut.bad_code_o, bad_code);
        answered_next = bad_next = 0;
        for (unsigned d = 0; d < OTHERS; d++) {
            ended[d] += dut.answered_o >> d & 1;
            assert_true(ended[d] <= taken[d]);
        }
        most = std::max<uint64_t>(most, used());
        for (unsigned d = 0; d < OTHERS; d++) {
            if (!(dut.take_o >> d & 1))
                continue;
            const load l = lanes[d].front();
            assert_true(lanes[d].taken(true));
            begin(d, l);
        }
        if (accepts)
            see_answer();
        if (dut.fetch_sent_i) {
            const auto words = get(dut.fetch_upper_o);
            uint64_t upper;
            memcpy(&upper, words.data(), sizeof upper);
            assert_false(to_come.empty());
            auto f = to_come.front();
            to_come.pop_front();
            due = 0;
            assert_int_equal(upper & 0xffffffffffff, f->index);
            f->who = static_cast<unsigned>(upper >> 48);
            assert_int_equal(f->who >> 15, f->alone);
            if (f->alone)
                assert_int_equal(f->readers, 1u << ((f->who & 0x7fff) + N - port - 1) % N);
            else
                assert_true(f->who < ENTRIES);
            for (const auto &other : sent)
                assert_true(f->alone || other->who != f->who);
            sent.push_back(f);
        }
    }

    void finish()
    {
        until("all answers", 200000, [&] {
            for (const auto &l : lanes)
                if (!l.queue.empty())
                    return false;
            return open.empty() && !dut.answered_o && dut.idle_o;
        });
        for (unsigned d = 0; d < OTHERS; d++)
            assert_int_equal(ended[d], taken[d]);
    }

    uint32_t count(unsigned i)
    {
        dut.count_idx_i = static_cast<uint8_t>(i);
        settle();
        return dut.count_o;
    }
    void check_counts()
    {
        const uint64_t all[] = {loads, fetches, bypasses, 0, most, sum, spread, 0};
        for (unsigned i = 0; i < 8; i++)
            assert_int_equal(count(i), all[i]);
    }

    unsigned open_of(unsigned d) const { return taken[d] - ended[d]; }
    size_t unanswered() const { return sent.size() + !!now_answered; } // FETCHs

    // The home, which has not answered yet, answers all loads.
    void answer_all()
    {
        answer_rate = 50;
        finish();
        check_counts();
    }
};

// Loads of a few rows at a time. A reader loads no row again while it waits for it.
static void load_rows(merge_table &b, unsigned rows, unsigned merged)
{
    std::vector<std::vector<unsigned>> order(OTHERS);
    for (auto &o : order) {
        for (unsigned i = 0; i < rows; i++)
            o.push_back(i);
        // roughly in order, as tiles are
        for (unsigned i = 0; i + 4 < rows; i++)
            std::swap(o[i], o[i + b.rng.below(4)]);
    }
    for (bool more = true; more;) {
        more = false;
        for (unsigned d = 0; d < OTHERS; d++) {
            more |= !order[d].empty();
            if (order[d].empty() || b.percent(60) ||
                b.lanes[d].queue.size() + b.open_of(d) >= PARAM_OpenLoads)
                continue;
            b.lanes[d].queue.push_back({order[d].front(), b.percent(merged)});
            order[d].erase(order[d].begin());
        }
        b.cycle();
    }
    b.finish();
}

TEST(loads_are_merged_and_end_once)
{
    merge_table b;
    for (unsigned limit : {ENTRIES, 3u, 1u, 0u, 511u}) {
        for (unsigned rate : {5u, 60u}) {
            b.limit = limit;
            b.row_bytes = b.rng.pick({64u, 128u, 200u, 1024u});
            b.fetch_rate = b.rng.pick({100u, 10u});
            b.answer_rate = rate;
            b.wait = b.rng.pick({0u, 7u, 500u});
            load_rows(b, 60, b.rng.pick({100u, 90u}));
            b.check_counts();
            if (limit == 0)
                assert_int_equal(b.bypasses, b.loads);
            b.go();
        }
    }
}

TEST(all_readers_share_one_fetch)
{
    merge_table b;
    b.answer_rate = 0;
    for (auto &l : b.lanes)
        l.queue.push_back({5, true});
    for (unsigned i = 0; i < 100; i++)
        b.cycle();
    assert_int_equal(b.fetches, 1);
    assert_int_equal(b.loads, OTHERS);
    b.answer_all();
}

// Readers come one after another. The FETCH waits for the last one, but no longer than `wait`.
TEST(a_fetch_waits_for_all_readers)
{
    merge_table b;
    b.fetch_rate = 100;
    for (unsigned wait : {1000u, 40u}) {
        b.go();
        b.wait = wait;
        b.answer_rate = 0;
        for (unsigned d = 0; d < OTHERS; d++) {
            assert_int_equal(b.unanswered(), 0);
            b.lanes[d].queue.push_back({5, true});
            b.cycles(d + 1 < OTHERS ? 8 : 20);
        }
        assert_int_equal(b.fetches, 1);
        assert_int_equal(b.unanswered(), 1);
        b.lanes[0].queue.push_back({6, true}); // no other reader loads it
        b.cycles(wait - 20);
        assert_int_equal(b.unanswered(), OTHERS > 1 ? 1 : 2);
        b.cycles(40);
        assert_int_equal(b.unanswered(), 2);
        b.answer_all();
    }
}

// FETCHs with the longest wait leave one after another, although the home is slow to take them.
TEST(fetches_wait_once)
{
    merge_table b;
    b.fetch_rate = 5;
    b.answer_rate = 0;
    b.wait = 65535;
    for (unsigned i = 0; i < 8; i++)
        b.lanes[0].queue.push_back({i, true});
    b.cycles(b.wait + 800);
    b.answer_all();
}

// Many waiting FETCHs leave room in the queue, so the lanes of other readers are taken.
TEST(fetches_that_wait_leave_room)
{
    merge_table b;
    b.fetch_rate = 100;
    b.answer_rate = 30;
    b.wait = 60000;
    b.limit = 511;
    for (unsigned i = 0; i < PARAM_OpenLoads; i++)
        b.lanes[0].queue.push_back({i, false});
    b.cycles(20 * PARAM_OpenLoads);
    load_rows(b, 40, 100);
    b.check_counts();
}

TEST(lanes_wait_for_room_of_fetches)
{
    merge_table b;
    b.fetch_rate = 0;
    for (auto &l : b.lanes)
        for (unsigned i = 0; i < PARAM_OpenLoads; i++)
            l.queue.push_back({i, false});
    for (unsigned i = 0; i < 200; i++)
        b.cycle();
    assert_int_equal(b.fetches, std::min(FETCHES, PARAM_OpenLoads * OTHERS));
    b.fetch_rate = 100;
    b.finish();
}

TEST(a_layer_that_is_broken_off_leaves_nothing)
{
    merge_table b;
    for (unsigned i = 0; i < 20; i++) {
        b.fetch_rate = b.rng.pick({0u, 50u});
        b.answer_rate = b.rng.pick({0u, 20u});
        for (auto &l : b.lanes)
            for (unsigned j = b.below(4); j--;)
                l.queue.push_back({b.below(8) * 8 + j, b.percent(50)});
        b.until("all loads", 1000, [&] {
            return std::all_of(b.lanes.begin(), b.lanes.end(),
                               [](const auto &l) { return l.queue.empty(); });
        });
        b.cycles(b.below(20));
        b.go();
        b.settle();
        assert_true(b.dut.idle_o);
        b.fetch_rate = b.answer_rate = 60;
        load_rows(b, 10, 70);
        b.check_counts();
        b.go();
    }
}

TEST(errors_of_readers)
{
    merge_table b;
    b.answer_rate = 0;
    auto loads = [&](unsigned d, unsigned index) {
        b.lanes[d].queue.push_back({index, true});
        for (unsigned i = 0; i < 20; i++)
            b.cycle();
    };
    loads(0, 3);
    loads(0, 3); // COUNT: begin() expects it
    assert_int_equal(b.loads, 1);
    b.reach &= ~1u;
    loads(0, 4);
    b.reach |= 1u;
    b.fell = true;
    loads(0, 4);
    b.fell = false;
    assert_int_equal(b.loads, 1);
    b.answer_rate = 100;
    b.finish();
}

TEST(errors_of_a_home)
{
    merge_table b;
    b.answer_rate = 0;
    b.limit = 1;
    b.lanes[0].queue.push_back({3, true});
    for (unsigned i = 0; i < 30; i++)
        b.cycle();
    b.lanes[0].queue.push_back({4, true}); // past the table
    for (unsigned i = 0; i < 30; i++)
        b.cycle();
    b.now_answered = nullptr;
    b.sent.clear();
    const unsigned entry = b.open[0]->who, reader = (b.port + 1) % N;
    const unsigned other = (b.port + 2) % N;
    auto is = [&](unsigned code, unsigned who, uint64_t addr, unsigned len) {
        b.set_answer(who, addr, len);
        b.settle();
        assert_int_equal(b.dut.answer_code_o, code);
    };
    const uint64_t at = 3 << b.row_shift, past = 4 << b.row_shift;
    is(MW_HWERR_NONE, entry, at, 128);
    is(MW_HWERR_NONE, BYPASS | reader, past, 128);
    is(MW_HWERR_TARGETS, entry, at + (1 << b.row_shift), 128);
    is(MW_HWERR_TARGETS, entry, at | UINT64_C(1) << 47, 128);
    is(MW_HWERR_TARGETS, entry ^ 1, at, 128);
    is(MW_HWERR_TARGETS, 0x4000 | entry, at, 128);
    is(MW_HWERR_TARGETS, ENTRIES, at, 128);
    is(MW_HWERR_TARGETS, BYPASS | b.port, past, 128);
    is(MW_HWERR_TARGETS, BYPASS | N, past, 128);
    if (N > 2)
        is(MW_HWERR_TARGETS, BYPASS | other, past, 128);
    is(MW_HWERR_TARGETS, BYPASS | 0x100 | reader, past, 128);
    is(MW_HWERR_LENGTH, entry, at + 64, 128);
    is(MW_HWERR_LENGTH, entry, at, 64);
    is(MW_HWERR_LENGTH, BYPASS | reader, past + 1024 - 128, 64);
    is(MW_HWERR_NONE, entry, at + 1024 - 128, 128);
}
