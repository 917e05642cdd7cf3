// SPDX-License-Identifier: Apache-2.0
//
// token_order against the specified rule (sums of squares, all classes, no shortcut). Lists have
// random classes. They are made before, during and after the start of the range that takes tokens,
// for this range or another one. They are made again while lists are used up, and go aborts layers.
// Checked:
// - Each token of the range comes once.
// - Tokens before the choice begins come in the order of their numbers, and later ones by the rule.
// - The choice begins within its time.
// - A token is available within the worst-case time.
#include "Vtoken_order.h"
#include "bench/stream.h"

#include <algorithm>
#include <set>

using namespace tb;

static const unsigned N = PARAM_N, HOT = PARAM_Hot, T = PARAM_TokensLog2, CLASSES = 1u << HOT;

// The rule selects the class with the least sum of squares among those with tokens. Inside a class
// tokens have the order of their numbers.
static std::vector<unsigned> by_rule(const std::vector<std::pair<unsigned, unsigned>> &tokens)
{
    const int64_t n = static_cast<int64_t>(tokens.size());
    std::vector<std::deque<unsigned>> list(CLASSES);
    std::vector<int64_t> total(HOT), acc(HOT);
    for (auto [token, places] : tokens) {
        list[places].push_back(token);
        for (unsigned i = 0; i < HOT; i++)
            total[i] += places >> i & 1;
    }
    std::vector<unsigned> order;
    while (order.size() < tokens.size()) {
        int best = -1;
        int64_t least = 0;
        for (unsigned c = 0; c < CLASSES; c++) {
            int64_t sum = 0;
            for (unsigned i = 0; i < HOT; i++) {
                const int64_t f = acc[i] - total[i] + (c >> i & 1 ? n : 0);
                sum += f * f;
            }
            if (!list[c].empty() && (best < 0 || sum < least)) {
                best = static_cast<int>(c);
                least = sum;
            }
        }
        for (unsigned i = 0; i < HOT; i++)
            acc[i] += (best >> i & 1 ? n : 0) - total[i];
        order.push_back(list[best].front());
        list[best].pop_front();
    }
    return order;
}

struct lists {
    unsigned first, stop;
    std::vector<unsigned> gpus; // of each token
    unsigned hot[HOT];
    bool certain;   // nothing prevents their completion
    uint64_t there; // cycle from which on they are complete
};

struct orders : model<Vtoken_order> {
    unsigned rate = 100, feed = 100; // percent of cycles in which a token is taken, and comes
    unsigned spread = 50;            // percent of GPUs that hold an expert of a token

    orders()
    {
        dut.go_i = dut.sort_valid_i = dut.tok_valid_i = dut.sorted_i = dut.begin_valid_i = 0;
        reset();
        go();
    }

    void go()
    {
        dut.go_i = 1;
        dut.sort_valid_i = dut.tok_valid_i = dut.sorted_i = dut.begin_valid_i = 0;
        settle();
        edge();
        dut.go_i = 0;
        sorting = feeding = false;
        first = stop = 0;
        given.clear();
        made.clear();
        quiet = 0;
    }

    bool open() const { return given.size() < stop - first; }

    // Each begins when it may, and is left out otherwise.
    void sort(unsigned a, unsigned b)
    {
        if (sorting || !dut.ready_o)
            return;
        current = {a, b, {}, {}, !open() && quiet > WORST, UINT64_MAX};
        if (open() && (a != first || b != stop) && used_up())
            current.certain = false;
        else if (open() && !possible())
            current.certain = true;
        std::set<unsigned> used;
        for (unsigned &h : current.hot) {
            do
                h = below(N);
            while (!used.insert(h).second);
        }
        for (unsigned i = 0; i < HOT; i++)
            dut.hot_i[i] = static_cast<uint8_t>(current.hot[i]);
        const unsigned fixed = rng.word();
        for (unsigned t = a; t < b; t++) {
            unsigned g = 0;
            for (unsigned q = 0; q < N; q++)
                g |= unsigned{percent(spread)} << q;
            current.gpus.push_back(spread == 101 ? fixed & (UINT32_MAX >> (32 - N)) : g);
        }
        sort_now = sorting = true;
    }

    void begin(unsigned a, unsigned b)
    {
        if (!open() && !sort_now)
            begin_now = {a, b};
        begin_set = !open() && !sort_now;
    }

    void check_all()
    {
        until("the tokens", 100000, [&] { return !open() && !begin_set; });
        until("the lists", 100000, [&] { return !sorting; });
        cycles(3);
    }

    unsigned chosen = 0, natural = 0, mixed = 0;

  private:
    // The most clocks until lists serve the range in progress: two rounds, two for each token that
    // leaves them, and the first choice.
    const uint64_t WORST = 3 * CLASSES + 2 * (1u << T) + 3 * HOT + 12;

    bool possible() const
    {
        for (const lists &l : made)
            if (l.first == first && l.stop == stop)
                return true;
        return false;
    }
    bool used_up() const { return possible(); }

    void drive() override
    {
        dut.sort_valid_i = sort_now;
        dut.sort_first_i = static_cast<uint16_t>(sort_now ? current.first : below(1u << T));
        dut.sort_stop_i = static_cast<uint16_t>(sort_now ? current.stop : below(1u << T));
        if (sort_now)
            fed = 0;
        dut.begin_valid_i = begin_set;
        dut.begin_first_i = static_cast<uint16_t>(begin_set ? begin_now.first : below(1u << T));
        dut.begin_stop_i = static_cast<uint16_t>(begin_set ? begin_now.second : below(1u << T));
        dut.tok_valid_i = feeding && fed < current.gpus.size() && percent(feed);
        dut.tok_gpus_i =
            dut.tok_valid_i ? current.gpus[fed] : rng.word() & (UINT32_MAX >> (32 - N));
        dut.sorted_i = feeding && fed + dut.tok_valid_i == current.gpus.size() && percent(70);
        settle();
        dut.take_i = dut.pick_valid_o && percent(rate);
    }

    void sample() override
    {
        if (dut.take_i) {
            given.push_back(dut.pick_token_o);
            taken_at.push_back(now);
            assert_true(given.size() <= stop - first);
            if (!open())
                check();
        }
        wait = open() && !dut.pick_valid_o && !begin_set ? wait + 1 : 0;
        assert_true(wait <= WORST);
        if (given.size() > choice_from && given.size() > 1)
            assert_true(wait <= CLASSES + HOT + 5 || !settled());
        if (dut.begin_valid_i) {
            first = begin_now.first;
            stop = begin_now.second;
            begun = now;
            given.clear();
            taken_at.clear();
            begin_set = false;
        }
        if (dut.sorted_i) {
            feeding = sorting = false;
            current.there = now;
            made.push_back(current);
        } else if (sorting && !sort_now && dut.ready_o) {
            feeding = true;
        }
        if (sort_now) {
            sort_now = false;
            for (lists &l : made)
                l.certain = l.certain && used(l);
        }
        fed += dut.tok_valid_i;
        quiet = open() ? 0 : quiet + 1;
    }

    // Lists of this range are old enough that nothing is dropped any more.
    bool settled() const
    {
        for (const lists &l : made)
            if (l.first == first && l.stop == stop && now < std::max(l.there, begun) + WORST)
                return false;
        return true;
    }

    // They serve the range in progress, and can no longer be lost.
    bool used(const lists &l) const
    {
        return open() && l.first == first && l.stop == stop && now > std::max(l.there, begun) + 2;
    }

    // Checks the tokens of a range after its last one.
    void check()
    {
        const unsigned n = stop - first;
        std::vector<unsigned> sorted = given;
        std::sort(sorted.begin(), sorted.end());
        for (unsigned i = 0; i < n; i++)
            assert_int_equal(sorted[i], first + i);
        unsigned prefix = 0;
        while (prefix < n && given[prefix] == first + prefix)
            prefix++;
        const lists *of = nullptr;
        for (const lists &l : made)
            if (l.first == first && l.stop == stop && explains(l, prefix))
                of = &l;
        if (!of && prefix != n)
            fail_msg("%u tokens: no list explains the order from %u on", n, prefix);
        for (const lists &l : made) {
            if (l.first != first || l.stop != stop || !l.certain)
                continue;
            const uint64_t from = std::max(l.there, begun), until = from + WORST;
            // all that were taken later follow the choice
            unsigned late = 0;
            while (late < n && taken_at[late] <= until)
                late++;
            if (late < n && !explains(l, late))
                fail_msg("lists that were there at %llu do not count at %llu",
                         (unsigned long long)l.there, (unsigned long long)until);
        }
        chosen += prefix == 0 && n > 1;
        natural += prefix == n;
        mixed += prefix > 0 && prefix < n;
        // lists that served are used up, and others of this range that were made before the end may
        // be
        made.erase(
            std::remove_if(made.begin(), made.end(),
                           [&](const lists &l) { return l.first == first && l.stop == stop; }),
            made.end());
    }

    // At most the first `most` tokens came by number, and the rest by the rule.
    bool explains(const lists &l, unsigned most) const
    {
        const unsigned n = stop - first;
        for (unsigned j = 0; j <= most && j < n; j++) {
            if (taken_at[j] < l.there)
                continue;
            std::vector<std::pair<unsigned, unsigned>> rest;
            for (unsigned t = j; t < n; t++) {
                unsigned places = 0;
                for (unsigned i = 0; i < HOT; i++)
                    places |= (l.gpus[t] >> l.hot[i] & 1) << i;
                rest.push_back({first + t, places});
            }
            const std::vector<unsigned> want = by_rule(rest);
            if (std::equal(want.begin(), want.end(), given.begin() + j))
                return true;
        }
        return false;
    }

    bool sorting = false, sort_now = false, feeding = false, begin_set = false;
    lists current = {};
    std::vector<lists> made;
    std::pair<unsigned, unsigned> begin_now;
    unsigned first = 0, stop = 0, fed = 0, choice_from = 0;
    std::vector<unsigned> given;
    std::vector<uint64_t> taken_at;
    uint64_t begun = 0, wait = 0, quiet = 1u << 20;
};

static void vary(orders &b)
{
    b.rate = b.rng.pick({100, 10, 3, 3, 1, 1});
    b.feed = b.rng.pick({100, 60, 20});
    b.spread = b.rng.pick({0, 10, 30, 50, 50, 50, 90, 100, 101});
}

// Lists are complete before the range begins, or soon after. The rule holds from the first token or
// nearly.
TEST(made_before)
{
    orders b;
    for (unsigned r = 0; r < 100; r++) {
        vary(b);
        const unsigned first = b.below(1u << T), stop = first + 1 + b.below((1u << T) - first);
        b.sort(first, stop);
        b.cycles(b.rng.pick({1u, 20u, 4000u}));
        b.begin(first, stop);
        b.check_all();
    }
    assert_true(b.chosen + b.mixed > 5);
}

// Lists are made while tokens are taken.
TEST(made_meanwhile)
{
    orders b;
    for (unsigned r = 0; r < 40; r++) {
        vary(b);
        b.rate = b.rng.pick({10, 3, 1});
        b.begin(0, 1u << T);
        b.cycles(b.below(20 << T));
        b.sort(0, 1u << T);
        b.check_all();
    }
    assert_true(b.mixed > 5);
}

// No list, one of another range, and one that has already served.
TEST(by_number)
{
    orders b;
    for (unsigned r = 0; r < 20; r++) {
        vary(b);
        const unsigned end = 1u << T;
        if (r % 4 == 1)
            b.sort(1, end);
        if (r % 4 == 2)
            b.sort(0, end - 1);
        b.check_all();
        b.begin(0, end);
        b.check_all();
    }
    assert_true(b.natural == 20);
    b.spread = 50;
    b.sort(0, 1u << T);
    b.check_all();
    for (unsigned i = 0; i < 2; i++) {
        b.begin(0, 1u << T);
        b.check_all();
    }
    assert_true(b.natural >= 21);
}

// Any operation at any time, with aborted layers.
TEST(any_time)
{
    orders b;
    const unsigned rounds = T > 6 ? 600 : 3000;
    auto all_kinds = [&] { return b.chosen + b.mixed > 3 && b.natural > 3; };
    for (unsigned r = 0; r < rounds || (r < 10 * rounds && !all_kinds()); r++) {
        if (b.rng.one_in(3))
            vary(b);
        const unsigned few = b.rng.pick({0u, 1u, 2u, 3u, 1u << T, 1u << T, 1u << T});
        const unsigned first = few == 1u << T ? 0 : b.below(3),
                       stop = std::min(first + few, 1u << T);
        switch (b.below(5)) {
        case 0:
        case 1:
            b.sort(first, stop);
            break;
        case 2:
            b.begin(first, stop);
            break;
        case 3:
            if (b.rng.one_in(4))
                b.go();
            break;
        default:
            b.check_all();
        }
        b.cycles(b.below(b.rng.pick({3u, 30u, 300u})));
    }
    b.check_all();
    assert_true(all_kinds());
}

// The worst case of a list: all tokens in one class, and none in the chosen one.
TEST(one_class)
{
    orders b;
    for (unsigned s : {0u, 100u}) {
        b.spread = s;
        b.sort(0, 1u << T);
        b.check_all();
        b.begin(0, 1u << T);
        b.check_all();
    }
}
