// SPDX-License-Identifier: Apache-2.0
//
// packet_manager with stores of every kind: their order, lines that leave full, the priority of
// entries, the timer and starvation. Then the rates of full lines and of scattered sectors.

#include "packet_manager_model.h"

using namespace tb;

static unsigned any_gpu(dice &rng)
{
    return rng.below(N);
}

// A packet of any kind, to few lines, so that several use the same one.
static packet anything(manager &m, dice &rng, unsigned lines, unsigned odd)
{
    const uint64_t line = rng.below(lines) * uint64_t{LINE};
    if (rng.percent(odd)) {
        switch (rng.below(9)) {
        case 0:
            return m.bare(rng.pick({MW_OP_FLAG, MW_OP_FENCE}), any_gpu(rng));
        case 1: {
            packet p = m.bare(MW_OP_COUNTS, any_gpu(rng));
            p.h.len = 4 * rng.between(1, 8);
            p.payload = rng.some(p.h.len);
            return p;
        }
        case 2: { // a multicast
            packet p = m.store(MW_OP_DYMULTIMEM_ST, 0, MW_STAGE_DISPATCH, line, 128);
            p.set_targets({target(0), target(1), target(2, 1)});
            return p;
        }
        case 3: {
            packet p = m.st(0, line, 64);
            p.h.opcode = rng.pick({MW_OP_MULTIMEM_ST, MW_OP_MULTIMEM_RED});
            return p;
        }
        case 4: // it crosses a line, and may be longer than permitted
            return m.st(any_gpu(rng), line + 16 * rng.between(1, 7),
                        rng.one_in(3) ? 32 * rng.between(5, 8) : 128);
        case 5: { // bytes, not sectors
            const unsigned from = rng.below(127);
            return m.st(any_gpu(rng), line + from, rng.between(1, 128 - from));
        }
        case 6: { // bits that a merged header does not have
            packet p = m.st(any_gpu(rng), line, 32);
            switch (rng.below(4)) {
            case 0:
                p.h.tag = rng.between(1, 255);
                break;
            case 1:
                p.h.addr |= uint64_t{1} << rng.between(40, 47);
                break;
            case 2:
                p.h.poison = 1;
                break;
            default:
                p.h.dtype = rng.between(1, 4);
            }
            return p;
        }
        case 7: { // an expert that is not mapped or does not exist; a packet of an open row
            packet p = m.store(MW_OP_ST_ROWSP, rng.pick({manager::UNMAPPED, 4095u}),
                               MW_STAGE_DISPATCH, line, 32);
            if (rng.one_in(2)) {
                p = m.store(MW_OP_DYMULTIMEM_ST, 0, MW_STAGE_DISPATCH, line, 64);
                p.set_targets({});
            }
            return p;
        }
        default: { // gate weights
            packet p = m.store(MW_OP_DYMULTIMEM_ST, 4, MW_STAGE_GATE, line, 24);
            p.h.reduce = rng.below(2);
            return p;
        }
        }
    }
    // of one row, whose token gives the receiver its address
    const unsigned kind = rng.below(5), first = rng.below(4),
                   end = kind < 3 && m.row_shift < 7
                             ? (first >> (m.row_shift - 5) << (m.row_shift - 5)) +
                                   (1u << (m.row_shift - 5))
                             : 4,
                   sectors = rng.between(1, end - first);
    const uint64_t addr = line + first * SECTOR;
    static const unsigned experts[] = {0, 1, 2, 4};
    const unsigned expert = rng.pick(experts);
    switch (kind) {
    case 0:
        return m.store(MW_OP_ST_ROWSP, expert, MW_STAGE_DISPATCH, addr, sectors * SECTOR);
    case 1:
        return m.store(MW_OP_ST_ROWSP_NOP, expert, MW_STAGE_DISPATCH, addr, sectors * SECTOR);
    case 2:
        return m.store(MW_OP_DYMULTIMEM_ST, expert, rng.pick({MW_STAGE_DISPATCH, MW_STAGE_FLAT}),
                       addr, sectors * SECTOR);
    default:
        return m.st(any_gpu(rng), addr, sectors * SECTOR);
    }
}

TEST(random)
{
    dice rng;
    for (unsigned r = 0; r < (N > 8 ? 6 : 40); r++) {
        manager m(rng.pick({0u, 1u, 40u, 300u, 3000u}), true, r % 4 == 3,
                  rng.pick({5u, 6u, 7u, 15u}));
        m.in.rate = rng.pick({100u, 100u, 60u, 15u});
        m.room = rng.pick({100u, 100u, 70u, 20u});
        const unsigned lines = rng.pick({1u, 3u, 10u, 40u}), odd = rng.pick({0u, 3u, 30u});
        for (unsigned i = 0; i < 300; i++)
            m.send(anything(m, rng, lines, odd));
        m.drain();
        assert_true(m.full + m.by_timer <= m.got.size());
    }
}

TEST(off_is_a_wire)
{
    dice rng;
    manager m(20, false);
    m.in.rate = 70;
    m.room = 70;
    for (unsigned i = 0; i < 300; i++)
        m.send(anything(m, rng, 5, 20));
    m.drain();
    assert_int_equal(m.flits_in, m.flits_out);
    assert_int_equal(m.merged + m.full + m.by_timer + m.count_in, 0);
}

// Sectors of up to OPEN lines at a time for each GPU, in any order. All lines leave full.
TEST(scattered_lines_leave_full)
{
    dice rng;
    for (unsigned r = 0; r < cases(4, 10); r++) {
        manager m(60000);
        m.in.rate = rng.pick({100u, 50u});
        m.room = rng.pick({100u, 80u, 40u});
        const unsigned window = r ? rng.between(1, OPEN) : OPEN, windows = 12;
        unsigned lines = 0;
        std::vector<std::deque<packet>> of(N);
        for (unsigned g = 0; g < N; g++)
            for (unsigned w = 0; w < windows; w++) {
                std::vector<packet> part;
                for (unsigned l = 0; l < window; l++, lines++)
                    for (unsigned s = 0; s < 4; s++)
                        part.push_back(
                            m.st(g, (uint64_t{w} * window + l) * LINE + s * SECTOR, SECTOR));
                rng.shuffle(part);
                for (const packet &p : part)
                    of[g].push_back(p);
            }
        for (unsigned left = 4 * lines; left--;) {
            unsigned g;
            do {
                g = rng.below(N);
            } while (of[g].empty());
            m.send(of[g].front());
            of[g].pop_front();
        }
        m.drain();
        assert_int_equal(m.got.size(), lines);
        assert_int_equal(m.full, lines);
        assert_int_equal(m.merged, 3 * lines);
        assert_int_equal(m.by_timer, 0);
        for (const packet &p : m.got)
            assert_int_equal(p.h.len, LINE);
    }
}

TEST(full_lines_go_at_line_rate)
{
    dice rng;
    manager m(200);
    const unsigned count = 200;
    for (unsigned i = 0; i < count; i++)
        m.send(m.st(any_gpu(rng), uint64_t{i} * LINE, LINE));
    m.drain();
    assert_int_equal(m.flits_out, count * (HEAD + LINE / F));
    assert_int_equal(m.last_out - m.first_in, m.flits_out - 1 + 1 + HEAD);
    assert_int_equal(m.full, 0); // none was kept
}

// The input runs at full rate: four packets in for one out.
TEST(scattered_sectors_go_in_at_line_rate)
{
    manager m(60000);
    const unsigned windows = 30;
    for (unsigned w = 0; w < windows; w++)
        for (unsigned s = 0; s < 4; s++)
            for (unsigned l = 0; l < OPEN; l++)
                m.send(m.st(w % N, (uint64_t{w} * OPEN + l) * LINE + s * SECTOR, SECTOR));
    const unsigned lines = windows * OPEN;
    m.drain();
    assert_int_equal(m.got.size(), lines);
    assert_int_equal(m.flits_in, lines * 4 * (HEAD + SECTOR / F));
    assert_int_equal(m.flits_out, lines * (HEAD + LINE / F));
    // with one place in a partition a line waits until the previous one has left
    const uint64_t end = m.arrived.back() - m.first_in + 1;
    if (E > 2 || N > 2)
        assert_true(end <= m.flits_in + 2 * OPEN * (HEAD + LINE / F));
}

// Sectors of different lines: nothing can be merged, and the rate falls by half at most.
TEST_IF(E > 2, lonely_sectors_keep_half_of_the_rate)
{
    dice rng;
    manager m(60000);
    const unsigned count = 300;
    for (unsigned i = 0; i < count; i++)
        m.send(m.st(0, rng.below(60) * uint64_t{LINE} * 64 + uint64_t{i % 64} * LINE, SECTOR));
    m.until("the last one", 60000, [&] { return m.in.empty(); });
    assert_true(m.arrived.back() - m.first_in <= 2 * m.flits_in);
    m.send(m.bare(MW_OP_FENCE, 0));
    m.drain();
}

TEST_IF(E > 4, order_of_leaving)
{
    dice rng;
    for (unsigned r = 0; r < 30; r++) {
        manager m(60000);
        // no entry must make room: normal ones and .nop in any order of lines
        std::vector<std::pair<bool, unsigned>> want;
        std::vector<unsigned> lines;
        for (unsigned i = 0; i < 40; i++)
            lines.push_back(i);
        rng.shuffle(lines);
        for (unsigned i = 0; i < OPEN; i++) {
            const bool nop = rng.one_in(2);
            want.push_back({nop, lines[i]});
            m.send(m.store(nop ? MW_OP_ST_ROWSP_NOP : MW_OP_ST_ROWSP, 0, MW_STAGE_DISPATCH,
                           uint64_t{lines[i]} * LINE, SECTOR));
        }
        m.send(m.bare(MW_OP_FLAG, m.gpu_of[0]));
        m.drain(3000);
        std::sort(want.begin(), want.end());
        assert_int_equal(m.got.size(), OPEN + 1);
        for (unsigned i = 0; i < OPEN; i++) {
            assert_int_equal(m.got[i].h.opcode == MW_OP_ST_ROWSP_NOP, want[i].first);
            assert_int_equal(m.got[i].h.addr / LINE, want[i].second);
        }
        assert_int_equal(m.got[OPEN].h.opcode, MW_OP_FLAG);
    }
}

// An entry that has become full leaves while others, of smaller rows, stay.
TEST_IF(E > 4, full_ones_first)
{
    manager m(60000);
    for (unsigned i = 0; i < OPEN; i++)
        m.send(m.st(0, uint64_t{i} * LINE, 3 * SECTOR));
    m.send(m.st(0, uint64_t{OPEN - 1} * LINE + 3 * SECTOR, SECTOR));
    m.cycles(400);
    assert_int_equal(m.got.size(), 1);
    assert_int_equal(m.got[0].h.addr / LINE, OPEN - 1);
    assert_int_equal(m.got[0].h.len, LINE);
    assert_int_equal(m.full, 1);
    m.send(m.bare(MW_OP_FENCE, 0));
    m.drain(3000);
}

// Sectors that are not contiguous leave as several packets, in ascending order.
TEST(runs)
{
    for (unsigned mask = 1; mask < 15; mask++) {
        manager m(60000);
        for (unsigned s = 4; s--;)
            if (mask >> s & 1)
                m.send(m.st(0, 5 * LINE + s * SECTOR, SECTOR));
        m.send(m.bare(MW_OP_FLAG, 0));
        m.drain(3000);
        std::vector<std::pair<unsigned, unsigned>> want;
        for (unsigned s = 0; s < 4; s++)
            if (mask >> s & 1) {
                if (s && mask >> (s - 1) & 1)
                    want.back().second++;
                else
                    want.push_back({s, 1});
            }
        assert_int_equal(m.got.size(), want.size() + 1);
        for (size_t i = 0; i < want.size(); i++) {
            assert_int_equal(m.got[i].h.addr % LINE, want[i].first * SECTOR);
            assert_int_equal(m.got[i].h.len, want[i].second * SECTOR);
        }
        assert_int_equal(m.merged, static_cast<unsigned>(__builtin_popcount(mask)) - 1);
    }
}

// A single sector leaves after one to two sweeps. With timer 0 it leaves at once.
TEST(timer)
{
    dice rng;
    for (unsigned t : {1u, 50u, 700u, 5000u, 65535u}) {
        manager m(t);
        m.cycles(rng.below(2 * t));
        m.send(m.st(N - 1, 3 * LINE, SECTOR));
        m.drain(4 * (t + N * E) + 100);
        assert_int_equal(m.by_timer, 1);
        const uint64_t kept = m.begun[0] - m.arrived[0];
        assert_true(kept + 12 >= t && kept <= 2 * (t + N * E) + 12);
    }
    manager m(0);
    m.send(m.st(0, 3 * LINE, SECTOR));
    m.drain(100);
    assert_true(m.begun[0] - m.arrived[0] <= 8);
}

// The entry with the lowest priority, during a stream of full lines, of smaller lines, or for other
// GPUs. It still leaves.
TEST(nothing_starves)
{
    const unsigned t = 200;
    for (unsigned what = 0; what < 3; what++) {
        manager m(t);
        m.room = what == 2 ? 50 : 100;
        m.send(m.store(MW_OP_ST_ROWSP_NOP, 0, MW_STAGE_DISPATCH, 999 * LINE, SECTOR));
        const unsigned to = m.gpu_of[0];
        for (unsigned i = 0; i < 1200; i++)
            m.send(what == 1 ? m.st(i % 2 ? to : (to + 1) % N, uint64_t{i % 90} * LINE, SECTOR)
                             : m.store(MW_OP_ST_ROWSP, 0, MW_STAGE_DISPATCH,
                                       uint64_t{i / 4 % 90} * LINE + i % 4 * SECTOR, SECTOR));
        m.until("the last one", 60000, [&] { return m.in.empty(); });
        size_t at = 0;
        while (m.got[at].h.opcode != MW_OP_ST_ROWSP_NOP)
            at++; // below m.got.size(), or the test ends here
        // each sweep may send all entries, at the uplink's rate
        assert_true(m.begun[at] - m.arrived[0] <=
                    2 * (t + 2 * N * E + (N * E) * (HEAD + LINE / F) * (what == 2 ? 3 : 1)));
        m.drain();
    }
}

// go resets turns and sweeps: the same packets take the same cycles, whatever came before.
TEST(repeats)
{
    for (unsigned n = 0; n < 6; n++) {
        std::vector<uint64_t> when[2];
        manager m(150);
        dice rng;
        std::vector<packet> list;
        for (unsigned g = 0; g < N; g++) // all partitions have an entry to send at the same time
            list.push_back(m.st(g, 5 * LINE, SECTOR));
        for (unsigned i = 0; i < 100; i++)
            list.push_back(anything(m, rng, 10, 10));
        for (unsigned r = 0; r < 2; r++) {
            for (unsigned i = rng.below(100); r && i; i--)
                m.send(anything(m, rng, 10, 10));
            m.drain();
            m.cycles(r * 37);
            m.dut.go_i = 1;
            m.cycle();
            m.dut.go_i = 0;
            const uint64_t from = m.now;
            const size_t old = m.begun.size();
            for (const packet &p : list)
                m.send(p);
            m.drain();
            for (size_t i = old; i < m.begun.size(); i++)
                when[r].push_back(m.begun[i] - from);
        }
        assert_true(when[0] == when[1]);
    }
}
