// SPDX-License-Identifier: Apache-2.0
//
// Small parts of a switch port's queues and loads. Each gets any input that its interface permits,
// and is compared with a model made from that interface. Parts that are not under test are
// inactive.

#include "Vqueue_parts.h"

#include "bench/dut.h"

#include <algorithm>
#include <array>

namespace {
constexpr unsigned OTHERS = PARAM_N - 1;

struct parts : tb::model<Vqueue_parts> {
    parts() { reset(); }
};

// ---- load_counts ----
struct counts : parts {
    std::array<uint32_t, 16> count{}; // by index; of five events, fullest table, and spreads
    bool known = false;               // cleared once

    void drive() override
    {
        dut.loads_clear_i = !known || rng.one_in(4000);
        dut.loads_events_i = static_cast<uint8_t>(percent(60) ? rng.bits(5) : 0);
        dut.loads_used_i = static_cast<uint16_t>(rng.bits(9) >> below(9));
        dut.loads_free_i = percent(50);
        dut.loads_spread_i = static_cast<uint16_t>(rng.bits(16) >> below(16));
        dut.loads_idx_i = below(16);
    }
    void sample() override
    {
        static const unsigned word[] = {0, 1, 2, 3, 7}; // of each event
        if (known)
            SAME(dut.loads_count_o, count[dut.loads_idx_i]);
        if (dut.loads_clear_i) {
            count.fill(0);
            known = true;
            return;
        }
        for (unsigned e = 0; e < 5; e++)
            count[word[e]] += dut.loads_events_i >> e & 1;
        count[4] = std::max<uint32_t>(count[4], dut.loads_used_i);
        if (dut.loads_free_i) {
            count[5] += dut.loads_spread_i;
            count[6] = std::max<uint32_t>(count[6], dut.loads_spread_i);
        }
    }
};

// ---- load_window ----
struct loads_window : parts {
    unsigned open = 0, rate = 0, most = 0, answers = 0, layers = 0;

    void drive() override
    {
        const unsigned room = dut.window_loads_o - open;
        unsigned ends = 0, answered = 0, bad = 0;
        if (rng.one_in(64))
            rate = rng.pick({0U, 10U, 40U}); // percent
        dut.window_go_i = rng.one_in(500);
        dut.window_open_i = static_cast<uint8_t>(percent(60) ? std::min(room, below(4)) : 0);
        for (unsigned d = 0; d < OTHERS; d++)
            for (unsigned *set : {&answered, &bad})
                if (ends < open && percent(rate)) {
                    *set |= 1U << d;
                    ends++;
                }
        dut.window_answered_i = static_cast<uint8_t>(answered);
        dut.window_bad_i = static_cast<uint8_t>(bad);
    }
    void sample() override
    {
        SAME(dut.window_room_o, dut.window_loads_o - open);
        const unsigned ends = static_cast<unsigned>(__builtin_popcount(dut.window_answered_i) +
                                                    __builtin_popcount(dut.window_bad_i));
        answers += ends;
        layers += dut.window_go_i;
        open = dut.window_go_i ? 0 : open + dut.window_open_i - ends;
        most = std::max(most, open);
    }
};

// ---- request_turn ----
struct turns : parts {
    struct {
        bool here;
        uint64_t upper;
    } kind[2] = {}; // GRANT, FETCH
    int offered = -1;
    bool fetch_next = false;
    unsigned sent[2] = {}, late[2] = {}; // the other kind came while one was offered

    unsigned shown() const
    {
        if (offered >= 0)
            return static_cast<unsigned>(offered);
        return kind[1].here && (!kind[0].here || fetch_next);
    }
    void drive() override
    {
        for (auto &k : kind)
            if (!k.here && percent(30))
                k = {true, rng.bits(64)};
        dut.turn_grant_i = kind[0].here;
        dut.turn_grant_upper_i = kind[0].upper;
        dut.turn_fetch_i = kind[1].here;
        dut.turn_fetch_upper_i = kind[1].upper;
        dut.turn_sent_i = (kind[0].here || kind[1].here) && percent(40);
    }
    void sample() override
    {
        const bool valid = kind[0].here || kind[1].here;
        SAME(dut.turn_valid_o, valid);
        if (!valid)
            return;
        const unsigned now = shown();
        SAME(dut.turn_fetch_o, now);
        SAME(dut.turn_upper_o, kind[now].upper);
        SAME(dut.turn_grant_sent_o, dut.turn_sent_i && !now);
        SAME(dut.turn_fetch_sent_o, dut.turn_sent_i && now);
        late[now] += offered >= 0 && kind[!now].here;
        offered = dut.turn_sent_i ? -1 : static_cast<int>(now);
        if (dut.turn_sent_i) {
            kind[now].here = false;
            fetch_next = !now;
            sent[now]++;
        }
    }
};

// ---- read_turns ----
struct claims : parts {
    // sets of inputs: claimed for the join, delayed by a claim, and read by join and egress
    unsigned claimed = 0, owed = 0, joins = 0, leaves = 0;
    unsigned want = 0, join_left = 0, egress_left = 0; // flits
    unsigned passes = 0, packets = 0, waits = 0;

    void drive() override
    {
        if (!joins && (!want || rng.one_in(32)))
            want = percent(70) ? 1U << below(OTHERS) : 0;
        if (!joins && (claimed & ~leaves & want) && percent(80)) {
            joins = want;
            join_left = 1 + below(4);
            passes++;
        }
        dut.claim_want_i = static_cast<uint8_t>(want);
        dut.claim_read_i = static_cast<uint8_t>(joins);
        dut.claim_done_i = static_cast<uint8_t>(join_left == 1 ? joins : 0);
        dut.claim_reads_i = static_cast<uint8_t>(leaves);
        dut.claim_open_i = egress_left <= 1 && percent(70);
        dut.claim_able_i = static_cast<uint8_t>(rng.bits(OTHERS) | rng.bits(OTHERS));
        const unsigned free = dut.claim_able_i & ~claimed;
        dut.claim_pop_i = static_cast<uint8_t>(dut.claim_open_i && percent(80) ? free & -free : 0);
    }
    void sample() override
    {
        SAME(dut.claimed_o, claimed);
        SAME(dut.claim_may_o, claimed & ~leaves);
        unsigned next = 0, still = 0;
        for (unsigned m = 0; m < OTHERS; m++) {
            const unsigned bit = 1U << m;
            if (joins & bit ? join_left > 1 : want & ~owed & bit)
                next |= bit;
            if (dut.claim_able_i & ~dut.claim_pop_i & bit &&
                ((owed & bit) || (dut.claim_open_i && claimed & bit)))
                still |= bit;
        }
        waits += (want & owed) != 0;
        claimed = next;
        owed = still;
        if (joins) {
            want = 0; // none within a pass
            if (--join_left == 0)
                joins = 0;
        }
        if (egress_left && --egress_left == 0)
            leaves = 0;
        if (dut.claim_pop_i) {
            leaves = dut.claim_pop_i;
            egress_left = 1 + below(4);
            packets++;
        }
    }
};

// ---- gated_ram ----
struct lanes_ram : parts {
    static constexpr unsigned LANE = 4, LANES = 4, WIDTH = 18;
    std::array<uint32_t, 8> word{}, known{}; // known: bits that were written
    uint32_t read = 0, read_known = ~0U;     // visible after this cycle
    bool first = true;

    void drive() override
    {
        dut.ram_we_i = percent(70);
        dut.ram_lane_i = static_cast<uint8_t>(rng.bits(LANES));
        dut.ram_waddr_i = below(8);
        dut.ram_wdata_i = static_cast<uint32_t>(rng.bits(WIDTH));
        dut.ram_re_i = percent(70);
        dut.ram_raddr_i = below(8);
    }
    void sample() override
    {
        if (!first)
            SAME(dut.ram_rdata_o & read_known, read & read_known);
        first = false;
        uint32_t mask = 0; // of what is written; the top bits belong to the last lane
        for (unsigned l = 0; l < LANES; l++)
            if (dut.ram_lane_i >> l & 1)
                mask |= ((l + 1 == LANES ? 1U << (WIDTH - LANE * l) : 1U << LANE) - 1) << LANE * l;
        read = dut.ram_re_i ? word[dut.ram_raddr_i] : 0;
        read_known = !dut.ram_re_i                                        ? ~0U
                     : dut.ram_we_i && dut.ram_raddr_i == dut.ram_waddr_i ? 0
                                                                          : known[dut.ram_raddr_i];
        if (dut.ram_we_i) {
            auto &w = word[dut.ram_waddr_i];
            w = (w & ~mask) | (dut.ram_wdata_i & mask);
            known[dut.ram_waddr_i] |= mask;
        }
    }
};
} // namespace

TEST(load_counts)
{
    counts b;
    b.cycles(40000);
}

/// From reset on, also before the first layer.
TEST(load_window)
{
    loads_window b;
    b.cycles(20000);
    assert_true(b.most == b.dut.window_loads_o && b.answers > 1000 && b.layers > 10);
}

TEST(request_turn)
{
    turns b;
    b.cycles(20000);
    for (unsigned k = 0; k < 2; k++)
        assert_true(b.sent[k] > 1000 && b.late[k] > 300);
}

TEST(read_turns)
{
    claims b;
    b.cycles(20000);
    assert_true(b.passes > 1000 && b.packets > 1000 && b.waits > 300);
}

TEST(gated_ram)
{
    lanes_ram b;
    b.cycles(20000);
}
