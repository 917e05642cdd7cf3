// SPDX-License-Identifier: Apache-2.0
//
// expert_dot against the host's floats, added in the specified order. Rows have every length and
// elements of every kind. Steps and results come at random rates, and rows back to back. Latency
// and rate are checked. MW_SEED repeats a run.
#include "bench/stream.h"
#include "float_ref.h"

using namespace tb;

static const unsigned F = PARAM_FlitBytes, LANES = F / 2;
static const unsigned LATENCY = 45; // from a group that ends a row to its result, in an idle tree

struct rows {
    std::vector<uint16_t> a, b;
};

struct dot : model<Vexpert_dot> {
    std::deque<rows> queue; // rows that have not ended
    unsigned step_rate = 100, take_rate = 100;
    std::vector<uint64_t> ended, done; // cycles of last steps, and of results

    dot()
    {
        dut.valid_i = dut.start_i = dut.dot_ready_i = 0;
        reset();
    }

    void drive() override
    {
        dut.start_i = !open && !queue.empty() && dut.ready_o && rng.percent(step_rate);
        if (dut.start_i) {
            open = true;
            step = 0;
            want.push_back(dot_product(queue.front().a, queue.front().b));
        }
        dut.valid_i = open && now >= next && rng.percent(step_rate);
        dut.last_i = rng.one_in(2);
        dut.keep_i = static_cast<uint8_t>(rng.bits(2));
        for (unsigned h = 0; h < 2; h++) {
            put(dut.a_i[h], rng.some(16).data());
            put(dut.b_i[h], rng.some(16).data());
        }
        if (dut.valid_i)
            offer();
        dut.dot_ready_i = rng.percent(take_rate);
    }

    void sample() override
    {
        if (dut.dot_valid_o && !out.waiting())
            done.push_back(now);
        if (out.see(dut.dot_valid_o, dut.dot_ready_i, dut.dot_o)) {
            if (got == want.size() || dut.dot_o != want[got])
                fail_msg("row %zu: %08x, not %08x", got, dut.dot_o,
                         got == want.size() ? 0 : want[got]);
            got++;
        }
        assert_int_equal(dut.idle_o, idle);
        idle = got == want.size();
    }

    void finish()
    {
        until("the last result", 1000000, [&] { return queue.empty() && got == want.size(); });
        cycles(LATENCY + 10); // no other one
    }

  private:
    watch out{"result"};
    bool open = false, idle = true;
    uint64_t next = 0; // first cycle in which a step may come
    unsigned step = 0;
    std::vector<uint32_t> want;
    size_t got = 0;

    // Step 2g + o has flits 4g + o and 4g + 2 + o.
    void offer()
    {
        const rows &r = queue.front();
        const size_t flits = r.a.size() / LANES, groups = (flits + 3) / 4;
        dut.keep_i = 0;
        for (unsigned h = 0; h < 2; h++) {
            const size_t flit = 4 * (step / 2) + step % 2 + 2 * h;
            if (flit >= flits)
                continue;
            dut.keep_i |= static_cast<uint8_t>(1u << h);
            put(dut.a_i[h], &r.a[flit * LANES]);
            put(dut.b_i[h], &r.b[flit * LANES]);
        }
        dut.last_i = ++step == 2 * groups;
        next = now + (step % 2 ? 1 : 3);
        if (dut.last_i) {
            ended.push_back(now);
            queue.pop_front();
            open = false;
        }
    }
};

enum kind { WHOLE, BYTES, ANY, SMALL, LARGE, SPECIAL, CANCEL, KINDS };

// Elements whose products are of this kind.
static rows of_kind(dice &rng, unsigned flits, unsigned kind)
{
    rows r;
    for (unsigned i = 0; i < flits * LANES; i++) {
        uint64_t x = rng();
        uint16_t a = static_cast<uint16_t>(x), b = static_cast<uint16_t>(x >> 16);
        unsigned e = rng.between(1, 253);
        switch (kind) {
        case WHOLE: // between 1 and 4
            a = static_cast<uint16_t>((a & 0x807f) | 127u << 7);
            b = static_cast<uint16_t>((b & 0x807f) | 127u << 7);
            break;
        case BYTES: // a few binades
            a = static_cast<uint16_t>((a & 0x807f) | rng.between(120, 134) << 7);
            b = static_cast<uint16_t>((b & 0x807f) | rng.between(120, 134) << 7);
            break;
        case SMALL: // around 2^-126, and sums that are subnormal
            e = rng.between(1, 126);
            a = static_cast<uint16_t>((a & 0x807f) | e << 7);
            b = static_cast<uint16_t>((b & 0x807f) | (rng.between(126, 128) - e) << 7);
            break;
        case LARGE: // around 2^128
            e = rng.between(127, 254);
            a = static_cast<uint16_t>((a & 0x807f) | e << 7);
            b = static_cast<uint16_t>((b & 0x807f) | (rng.between(379, 382) - e) << 7);
            break;
        case SPECIAL: // in one of thirty elements
            a = static_cast<uint16_t>((a & 0x807f) | 127u << 7);
            b = static_cast<uint16_t>((b & 0x807f) | 127u << 7);
            for (uint16_t *p : {&a, &b}) {
                if (rng.one_in(30))
                    *p = rng.pick<uint16_t>({0, 0x8000, 0x0001, 0x807f, 0x7f80, 0xff80});
                if (rng.one_in(300))
                    *p = rng.pick<uint16_t>({0x7f81, 0xffff});
            }
            break;
        case CANCEL: // pairs with a small sum
            a = static_cast<uint16_t>((a & 0x7f) | 127u << 7 | (i & 1) << 15);
            b = static_cast<uint16_t>((b & 0x1) | 127u << 7 | (i / 32 & 1) << 15);
            break;
        default:
            break;
        }
        r.a.push_back(a);
        r.b.push_back(b);
    }
    return r;
}

TEST(rows_of_every_length_and_kind)
{
    dot d;
    for (unsigned flits = 1; flits <= 36; flits++) {
        for (unsigned kind = 0; kind < KINDS; kind++)
            d.queue.push_back(of_kind(d.rng, flits, kind));
    }
    d.rng.shuffle(d.queue);
    d.finish();
}

TEST(random_rows_at_random_rates)
{
    dot d;
    for (unsigned i = 0; i < cases(40, 200); i++) {
        d.step_rate = d.rng.pick({5u, 50u, 100u});
        d.take_rate = d.rng.pick({2u, 50u, 100u});
        for (unsigned j = 0; j < 12; j++)
            d.queue.push_back(
                of_kind(d.rng, d.rng.between(1, d.rng.pick({4u, 40u, 200u})), d.rng.below(KINDS)));
        d.finish();
    }
}

// Results of a few elements, so that each case decides them.
TEST(special_values)
{
    static const uint16_t values[] = {0,      0x8000, 1,      0x807f, 0x0080, 0x8080, 0x3f80,
                                      0xbf80, 0x7f7f, 0xff7f, 0x7f80, 0xff80, 0x7f81, 0xffff};
    dot d;
    for (uint16_t a : values) {
        for (uint16_t b : values) {
            rows r = {std::vector<uint16_t>(LANES, 0), std::vector<uint16_t>(LANES, 0x3f80)};
            const unsigned at = d.rng.below(LANES);
            r.a[at] = a;
            r.b[at] = b;
            d.queue.push_back(r);
        }
    }
    d.finish();
}

// The largest row: 16 KiB.
TEST(longest_row)
{
    dot d;
    d.queue.push_back(of_kind(d.rng, 16384 / F, ANY));
    d.queue.push_back(of_kind(d.rng, 16384 / F, BYTES));
    d.finish();
}

TEST(a_result_comes_in_its_time)
{
    dot d;
    for (unsigned flits = 1; flits < 20; flits++) {
        d.queue.push_back(of_kind(d.rng, flits, BYTES));
        d.finish();
        assert_int_equal(d.done.back() - d.ended.back(), LATENCY);
    }
}

// A group takes four cycles, whatever the results of earlier rows.
TEST(long_rows_do_not_wait)
{
    dot d;
    const unsigned flits = 48, steps = flits / 2;
    for (unsigned i = 0; i < 20; i++)
        d.queue.push_back(of_kind(d.rng, flits, BYTES));
    d.finish();
    for (size_t i = 1; i < d.ended.size(); i++)
        assert_int_equal(d.ended[i] - d.ended[i - 1], 2 * steps);
}
