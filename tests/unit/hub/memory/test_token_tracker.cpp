// SPDX-License-Identifier: Apache-2.0
//
// token_tracker against plain counters. Tokens are armed with 0 to 16 experts. Signals from the
// wire and of own experts come in any order and at any rate. Some are too many, and some are for
// other GPUs' tokens. Layers leave tokens unfinished, combine is slow at random, and a sweep comes
// when the epoch wraps. Tokens must be ready with their last expert, not earlier, and in that
// order. Every error must come in its cycle.
//
// With switch-initiated reductions, counts are those of own experts, and some tokens have remote
// ones. READY lanes leave at any rate, and GRANTs are valid or invalid.

#include "Vtoken_tracker.h"
#include "bench/errors.h"
#include "bench/stream.h"
#include "node_cfg.h"

#include <algorithm>

using namespace tb;

#ifndef PARAM_SwitchReductions
#define PARAM_SwitchReductions 0
#endif
#ifndef PARAM_TileReductions
#define PARAM_TileReductions 0
#endif
static const bool BY_SWITCH = PARAM_SwitchReductions, TILES = PARAM_TileReductions;
static const unsigned TOKENS = 32; // of a GPU, at most: the model's parameter

struct tracker : model<Vtoken_tracker> {
    node_cfg cfg;
    error_watch errors{"token_tracker"};
    watch out{"ready tokens"};
    unsigned first = 0, tokens = 0;
    unsigned rate = 100; // percent of the cycles in which combine takes
    uint64_t done = 0;
    std::vector<unsigned> left;
    std::vector<bool> waits; // for a GRANT, too
    bool by_switch = false, tiles = false;
    unsigned lane_rate = 100;
    uint64_t notified = 0;
    watch lanes{"lanes"};
    std::deque<unsigned> finished;          // tokens with a lane to come
    std::deque<unsigned> *grants = nullptr; // destination of the switch's answers
    std::deque<unsigned> ready;             // tokens whose last expert has signalled, oldest first
    bool went = false;

    struct arm {
        unsigned token, count;
        bool remote;
    };
    source<arm> arms;
    source<unsigned> own, sig;
    std::deque<unsigned> pieces; // bytes of each sig, where rows return
    std::vector<unsigned> bytes; // of an incomplete row

    tracker() { reset(); }
    // Sweeps the tables and begins a layer.
    tracker(unsigned port, unsigned shift, unsigned epoch) : tracker()
    {
        configure(port, shift, epoch);
        sweep();
        go();
    }

    void configure(unsigned port, unsigned shift, unsigned epoch, bool its_by_switch = false,
                   bool its_tiles = false)
    {
        by_switch = its_by_switch;
        tiles = its_tiles;
        if (BY_SWITCH)
            cfg.set("switch_reductions", by_switch);
        if (TILES)
            cfg.set("tile_reductions", tiles);
        first = port << shift;
        tokens = 1u << shift;
        cfg.set("port", port);
        cfg.set("token_shift", shift);
        cfg.set("epoch", epoch);
        cfg.drive(dut.cfg_i);
        left.assign(TOKENS, 0);
        bytes.assign(TOKENS, 0);
        waits.assign(TOKENS, false);
    }

    void go()
    {
        dut.go_i = 1;
        cycle();
        dut.go_i = 0;
        ready.clear();
        out.forget();
    }

    // One cycle for each token of the configuration, after the one that starts the sweep.
    void sweep()
    {
        dut.sweep_i = 1;
        cycle();
        dut.sweep_i = 0;
        settle();
        uint64_t n = until("the sweep", 2 * TOKENS, [&] { return !dut.sweep_busy_o; });
        assert_int_equal(n, tokens);
    }

    void drive() override
    {
        dut.arm_valid_i = arms.offer(rng);
        dut.arm_token_i = dut.arm_valid_i ? arms.front().token : rng.bits(22);
        dut.arm_count_i = static_cast<uint8_t>(dut.arm_valid_i ? arms.front().count : rng.bits(5));
        dut.arm_remote_i = dut.arm_valid_i && by_switch ? arms.front().remote : percent(50);
        dut.lane_ready_i = percent(lane_rate);
        dut.own_valid_i = own.offer(rng);
        dut.own_token_i = dut.own_valid_i ? own.front() : rng.bits(22);
        dut.sig_valid_i = sig.offer(rng);
        dut.sig_token_i = dut.sig_valid_i ? sig.front() : rng.bits(22);
        dut.sig_bytes_i =
            static_cast<uint8_t>(dut.sig_valid_i && !pieces.empty() ? pieces.front() : rng.bits(8));
        dut.rdy_ready_i = percent(rate);
    }

    // An error comes in the next cycle.
    void wrong(unsigned code) { errors.expect_between(now + 1, now + 1, code); }

    void signal(unsigned token)
    {
        unsigned index = token - first;
        if (token < first || index >= tokens)
            return wrong(MW_HWERR_BOUNDS);
        if (left[index] == 0)
            return wrong(MW_HWERR_COUNT);
        if (--left[index] == 0)
            (waits[index] ? finished : ready).push_back(index);
    }

    // A piece of a row. Each row_bytes of a token's bytes count as a signal.
    void land(unsigned token)
    {
        const unsigned index = token - first, row = static_cast<unsigned>(cfg["row_bytes"]);
        const unsigned piece = pieces.front();
        pieces.pop_front();
        if (token < first || index >= tokens || left[index] == 0)
            return signal(token);
        bytes[index] += piece;
        if (bytes[index] >= row) {
            bytes[index] -= row;
            signal(token);
        }
    }

    void grant(unsigned token)
    {
        unsigned index = token - first;
        if (token < first || index >= tokens)
            return wrong(MW_HWERR_BOUNDS);
        if (left[index] || (!tiles && !waits[index]))
            return wrong(MW_HWERR_COUNT);
        left[index] = tiles; // it has one
        waits[index] = false;
        ready.push_back(index);
    }

    // The request that is taken in this cycle, if any.
    void taken()
    {
        assert_true((dut.arm_valid_i && dut.arm_ready_o) + (dut.own_valid_i && dut.own_ready_o) +
                        (dut.sig_valid_i && dut.sig_ready_o) <=
                    1);
        const arm a = arms.empty() ? arm() : arms.front();
        const unsigned o = own.empty() ? 0 : own.front(), s = sig.empty() ? 0 : sig.front();
        if (arms.taken(dut.arm_ready_o)) {
            if (a.token < first || a.token - first >= tokens)
                return wrong(MW_HWERR_BOUNDS);
            left[a.token - first] = a.count;
            bytes[a.token - first] = 0;
            waits[a.token - first] = by_switch && a.remote;
            if (a.count == 0 && !waits[a.token - first])
                ready.push_back(a.token - first);
        }
        if (own.taken(dut.own_ready_o))
            signal(o);
        if (sig.taken(dut.sig_ready_o)) {
            if (by_switch)
                grant(s);
            else if (cfg["row_returns"])
                land(s);
            else
                signal(s);
        }
    }

    void sample() override
    {
        errors.see(now, dut.err_valid_o, dut.err_code_o);
        if (dut.lane_valid_o)
            assert_true(!finished.empty() && dut.lane_index_o == finished.front());
        if (lanes.see(dut.lane_valid_o, dut.lane_ready_i, dut.lane_index_o)) {
            if (grants)
                grants->push_back(first + finished.front());
            finished.pop_front();
            notified++;
        }
        if (dut.rdy_valid_o)
            assert_true(!ready.empty() && dut.rdy_index_o == ready.front());
        if (out.see(dut.rdy_valid_o, dut.rdy_ready_i, dut.rdy_index_o) && !dut.go_i) {
            ready.pop_front();
            done++;
        }
        taken();
    }

    void finish()
    {
        rate = lane_rate = 100;
        until("the end", 10000, [&] {
            return arms.empty() && own.empty() && sig.empty() && ready.empty() && finished.empty();
        });
        cycles(3);
        assert_true(dut.idle_o && !dut.rdy_valid_o);
        errors.done();
    }

    // Tokens are armed in any order, and the first ones stay unfinished.
    void layer(unsigned unfinished)
    {
        rate = 10 + below(91);
        arms.rate = own.rate = sig.rate = 20 + below(81);
        std::vector<unsigned> order(tokens), events;
        for (unsigned t = 0; t < tokens; t++)
            order[t] = t;
        rng.shuffle(order);
        while (!order.empty() || !events.empty()) {
            if (!order.empty() && arms.empty()) {
                unsigned t = order.back(), count = below(17);
                order.pop_back();
                arms.queue.push_back({first + t, count, false});
                until("the token to be armed", 1000, [&] { return arms.empty(); });
                events.insert(events.end(), count - (t < unfinished && count), first + t);
            }
            for (auto *to : {&own, &sig}) {
                if (to->empty() && to == &sig &&
                    rng.one_in(20)) { // wrong: another GPU's, or any of ours
                    to->queue.push_back(below(64));
                } else if (to->empty() && !events.empty()) {
                    std::swap(rng.pick(events), events.back());
                    to->queue.push_back(events.back());
                    events.pop_back();
                }
            }
            cycle();
        }
        finish();
    }
};

TEST(tokens_become_ready)
{
    tracker b;
    for (unsigned i = 0; i < 200; i++) {
        b.configure(b.below(2), 4 + b.below(2), i % 4);
        if (i % 4 == 0)
            b.sweep();
        b.go();
        b.layer(b.below(2) ? b.below(8) : 0);
    }
    assert_true(b.done > 2000);
    assert_true(b.errors.count(MW_HWERR_COUNT) > 20 && b.errors.count(MW_HWERR_BOUNDS) > 20);
}

// Where rows return, signals are pieces, each of which may hold the end of one row and the
// beginning of the next. Rows have various sizes. A signal of an own expert counts as a row. Some
// tokens stay unfinished.
TEST(rows_in_pieces)
{
    tracker b;
    unsigned layer = 0;
    for (unsigned row : {1u, 8u, 120u, 128u, 136u, 1000u, 2048u, 4104u, 8192u, 16392u, 32752u}) {
        b.configure(layer % 2, 2 + layer % 3, layer % 4);
        b.cfg.set("row_returns", 1);
        b.cfg.set("row_bytes", row);
        b.cfg.drive(b.dut.cfg_i);
        if (layer++ % 4 == 0)
            b.sweep();
        b.go();
        std::vector<std::pair<unsigned, unsigned>> order; // token, piece; 0: an own expert
        for (unsigned t = 0; t < std::min(b.tokens, 1 + 40000 / row); t++) {
            const unsigned own = b.below(2), rows = b.rng.between(1, row < 5000 ? 15 : 3);
            b.arms.queue.push_back({b.first + t, own + rows, false});
            order.insert(order.end(), own, {b.first + t, 0});
            // bytes that are left out here have no effect in the next layer
            unsigned to_come = rows * row - (t % 4 == 3 ? b.rng.between(1, row) : 0);
            while (to_come) {
                const unsigned piece = std::min(to_come, b.rng.between(1, 128));
                order.push_back({b.first + t, piece});
                to_come -= piece;
            }
        }
        order.push_back({b.first + b.tokens, 1});
        b.until("the tokens to be armed", 1000, [&] { return b.arms.empty(); });
        b.rng.shuffle(order);
        for (auto &o : order) {
            if (!o.second) {
                b.own.queue.push_back(o.first);
                continue;
            }
            b.sig.queue.push_back(o.first);
            b.pieces.push_back(o.second);
        }
        b.until("all pieces", 100000, [&] { return b.sig.empty(); });
        b.finish();
    }
    b.cfg.set("row_returns", 0);
    assert_int_equal(b.errors.count(MW_HWERR_BOUNDS), layer);
    assert_int_equal(b.errors.count(MW_HWERR_COUNT), 0);
}

// A layer is aborted while counts are open. When its epoch comes again after a sweep, the counts
// are cleared, and no token can be counted down.
TEST(a_broken_layer_leaves_nothing)
{
    for (unsigned shift = 0; shift <= 5; shift++) {
        tracker b;
        unsigned port = b.below(2);
        for (unsigned layer = 0; layer < 13; layer++) {
            b.configure(port, shift, layer % 4);
            if (layer % 4 == 0)
                b.sweep();
            b.go();
            for (unsigned t = 0; t < b.tokens; t++) {
                (b.percent(50) ? b.own : b.sig).queue.push_back(b.first + t); // not armed
                if (layer < 4 || b.percent(30))
                    b.arms.queue.push_back({b.first + t, 2 + b.below(15), false});
            }
            // first the signals: an armed one would be counted down
            b.arms.rate = 0;
            b.until("the signals", 1000, [&] { return b.own.empty() && b.sig.empty(); });
            b.arms.rate = 100;
            b.finish();
        }
    }
}

// Tables have random contents at first. After a sweep for fewer tokens the others keep theirs.
TEST(a_sweep_covers_the_tokens_there_are)
{
    tracker b;
    for (unsigned shift : {0u, 2u, 5u, 3u, 5u, 1u}) {
        b.configure(1, shift, 0);
        b.sweep();
        b.go();
        for (unsigned t = 0; t < b.tokens; t++)
            b.sig.queue.push_back(b.first + t);
        b.finish();
        b.configure(1, shift, 0);
        for (unsigned t = 0; t < b.tokens; t++)
            b.arms.queue.push_back({b.first + t, 3, false});
        b.finish();
    }
    assert_int_equal(b.errors.count(MW_HWERR_COUNT), 1 + 4 + 32 + 8 + 32 + 2);
}

// Nothing is taken during a sweep. Requests that wait are taken after it.
TEST(a_sweep_keeps_others_waiting)
{
    tracker b(0, 5, 1);
    b.arms.queue.push_back({3, 2, false});
    b.finish();
    b.arms.queue.push_back({5, 1, false});
    b.finish();
    b.dut.sweep_i = 1;
    b.cycle();
    b.dut.sweep_i = 0;
    b.left.assign(TOKENS, 0);
    b.sig.queue = {3, 5};
    b.own.queue = {3, 5};
    b.finish();
    assert_int_equal(b.errors.count(MW_HWERR_COUNT), 4);
    assert_int_equal(b.done, 0);
}

// Each error by its name, from each side, in the next cycle.
TEST(errors)
{
    tracker b(1, 3, 2);
    for (unsigned token : {0u, 7u, 16u, 255u, 1u << 9}) {
        b.arms.queue.push_back({token, 1, false});
        b.finish();
        b.own.queue.push_back(token);
        b.finish();
        b.sig.queue.push_back(token);
        b.finish();
    }
    assert_int_equal(b.errors.count(MW_HWERR_BOUNDS), 15);
    for (unsigned t = 8; t < 16; t++) {
        b.arms.queue.push_back({t, 1, false});
        b.finish();
        b.sig.queue = {t, t, t};
        b.finish();
    }
    assert_int_equal(b.errors.count(MW_HWERR_COUNT), 16);
    assert_int_equal(b.done, 8);
    for (unsigned t = 8; t < 16; t++) // of the previous layer
        b.arms.queue.push_back({t, 5, false});
    b.finish();
    b.configure(1, 3, 3);
    b.go();
    for (unsigned t = 8; t < 16; t++)
        b.own.queue.push_back(t);
    b.finish();
    assert_int_equal(b.errors.count(MW_HWERR_COUNT), 24);
    assert_int_equal(b.done, 8);
}

// A reset clears requests that were taken, and a sweep. go clears tokens that combine has not
// taken.
TEST(reset_and_go_forget)
{
    tracker b(0, 4, 1);
    b.rate = 0;
    for (unsigned t = 0; t < 16; t++)
        b.arms.queue.push_back({t, 0, false});
    b.until("all to be ready", 100, [&] { return b.ready.size() == 16; });
    b.cycles(2);
    b.go();
    b.cycles(3);
    assert_false(b.dut.rdy_valid_o);
    for (unsigned ahead = 1; ahead < 4; ahead++) {
        b.sig.queue.push_back(999); // an error is due
        b.dut.sweep_i = ahead == 3;
        b.cycle();
        b.dut.sweep_i = 0;
        b.errors = error_watch("behind a reset");
        b.reset(ahead);
        b.sig.queue.clear();
        b.cycles(5);
        assert_true(b.dut.idle_o && !b.dut.sweep_busy_o && !b.dut.rdy_valid_o);
        b.go();
    }
}

// The switch answers each lane some time later. Tokens without own experts are granted at any time
// after they are armed. Invalid GRANTs come between.
TEST_IF(BY_SWITCH, granted_tokens_become_ready)
{
    tracker b;
    for (unsigned layer = 0; layer < 200; layer++) {
        b.configure(b.below(2), 4 + b.below(2), layer % 4, true);
        if (layer % 4 == 0)
            b.sweep();
        b.go();
        b.rate = 10 + b.below(91);
        b.lane_rate = b.rng.pick({100u, 50u, 5u});
        b.arms.rate = b.own.rate = b.sig.rate = 20 + b.below(81);
        std::vector<unsigned> order, events;
        std::deque<unsigned> grants;
        b.grants = &grants;
        for (unsigned t = 0; t < b.tokens; t++)
            order.push_back(b.first + t);
        b.rng.shuffle(order);
        while (!order.empty() || !events.empty() || !grants.empty() || !b.own.empty() ||
               !b.finished.empty()) {
            if (!order.empty() && b.arms.empty()) {
                const unsigned token = order.back(), count = b.rng.one_in(3) ? 0 : b.below(9);
                const bool remote = b.percent(70);
                order.pop_back();
                b.arms.queue.push_back({token, count, remote});
                b.until("the token to be armed", 3000, [&] { return b.arms.empty(); });
                events.insert(events.end(), count, token);
                if (count == 0 && remote)
                    grants.push_back(token);
            }
            if (b.own.empty() && !events.empty()) {
                std::swap(b.rng.pick(events), events.back());
                b.own.queue.push_back(events.back());
                events.pop_back();
            }
            if (b.sig.empty()) {
                if (b.rng.one_in(20)) {
                    // invalid: of another GPU, or of a token that does not wait
                    const unsigned token = b.below(64), index = token - b.first;
                    if (token < b.first || index >= b.tokens || !b.waits[index] ||
                        b.left[index] > 2)
                        b.sig.queue.push_back(token);
                } else if (!grants.empty() && b.rng.one_in(3)) {
                    b.sig.queue.push_back(grants.front());
                    grants.pop_front();
                    if (b.rng.one_in(10)) // granted twice
                        b.sig.queue.push_back(b.sig.queue.back());
                }
            }
            b.cycle();
        }
        b.grants = nullptr;
        b.finish();
        for (unsigned t = 0; t < b.tokens; t++)
            assert_true(!b.waits[t] && !b.left[t]);
    }
    assert_true(b.done > 2000 && b.notified > 500);
    assert_true(b.errors.count(MW_HWERR_COUNT) > 20 && b.errors.count(MW_HWERR_BOUNDS) > 20);
}

// A lane that is not taken delays own signals only.
TEST_IF(BY_SWITCH, a_lane_waits_alone)
{
    tracker b;
    b.configure(1, 4, 1, true);
    b.sweep();
    b.go();
    b.lane_rate = 0;
    for (unsigned t = 0; t < 4; t++)
        b.arms.queue.push_back({b.first + t, t & 1, true});
    b.until("the tokens to be armed", 100, [&] { return b.arms.empty(); });
    b.own.queue = {b.first + 1, b.first + 3};
    b.until("the first lane", 100, [&] { return b.finished.size() == 1; });
    b.arms.queue.push_back({b.first + 4, 0, false});
    b.sig.queue = {b.first, b.first + 2, b.first + 1};
    b.until("the GRANTs", 100, [&] { return b.arms.empty() && b.sig.empty() && b.ready.empty(); });
    b.cycles(20);
    assert_int_equal(b.own.queue.size(), 1);
    assert_int_equal(b.done, 4);
    assert_false(b.dut.idle_o);
    b.sig.queue.push_back(b.first + 3); // its own expert is not done
    b.finish();
    assert_int_equal(b.notified, 2);
    b.sig.queue.push_back(b.first + 3);
    b.finish();
    assert_int_equal(b.done, 5);
}

// A token that waits for a GRANT when a layer is aborted does not wait in the next layer of its
// epoch. Without switch_reductions no token waits.
TEST_IF(BY_SWITCH, a_sweep_forgets_who_waits)
{
    tracker b;
    for (unsigned layer = 0; layer < 9; layer++) {
        b.configure(0, 5, layer % 4, layer != 8);
        if (layer % 4 == 0)
            b.sweep();
        b.go();
        if (layer < 8)
            for (unsigned t = 0; t < 32; t++)
                b.sig.queue.push_back(t);
        b.finish();
        for (unsigned t = 0; t < 32; t++)
            b.arms.queue.push_back({t, 0, true});
        b.finish();
    }
    assert_int_equal(b.errors.count(MW_HWERR_COUNT), 8 * 32);
    assert_int_equal(b.done, 32);
}

// With tile reductions nothing is armed, and each token is ready with its first GRANT of a layer.
// Invalid GRANTs come between, for other GPUs' tokens and for tokens that have one.
TEST_IF(TILES, granted_tokens_that_nothing_armed)
{
    tracker b;
    for (unsigned layer = 0; layer < 200; layer++) {
        b.configure(b.below(2), 4 + layer / 4 % 2, layer % 4, true, layer % 5 != 4);
        if (layer % 4 == 0)
            b.sweep();
        b.go();
        b.rate = 10 + b.below(91);
        b.sig.rate = 20 + b.below(81);
        if (!b.tiles) { // a token that waits for a GRANT here does not wait in later layers
            for (unsigned t = 0; t < b.tokens; t++)
                b.arms.queue.push_back({b.first + t, b.below(2), true});
            b.finish();
            continue;
        }
        for (unsigned t = 0; t < b.tokens; t++)
            if (b.percent(90))
                b.sig.queue.push_back(b.first + t);
        for (unsigned k = 0; k < 8; k++)
            b.sig.queue.push_back(b.percent(50) ? b.below(64) : b.first + b.below(b.tokens));
        std::shuffle(b.sig.queue.begin(), b.sig.queue.end(), b.rng);
        b.finish();
    }
    assert_int_equal(b.notified, 0);
    assert_true(b.done > 2000);
    assert_true(b.errors.count(MW_HWERR_COUNT) > 100 && b.errors.count(MW_HWERR_BOUNDS) > 100);
}
