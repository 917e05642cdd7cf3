// SPDX-License-Identifier: Apache-2.0
//
// Random layers of rows that the switch opens, with other traffic, invalid packets, slow outputs,
// and ports that go down.

#if PARAM_SwitchReductions

#include "switch_row_bench.h"

namespace {
struct rates {
    unsigned latency = 1, others = 30, row_percent = 30;
    unsigned forget = 0;
    // 1: invalid READYs, 2: READYs of rows without an entry, 3: packets of rows with invalid flits
    unsigned bad = 0;
    bool fall = false; // a port goes down in each layer, and is enabled again
    unsigned open = 1; // rows of one home that must have been open at once
    std::function<void(hubs &)> behave = [](hubs &) {};
};

// An invalid packet of port s. Index 0 belongs to no row.
void wrong(hubs &b, unsigned s, unsigned kind)
{
    const unsigned d = (s + 1 + b.below(b.n - 1)) % b.n;
    if (kind == 2) {
        std::vector<std::pair<unsigned, unsigned>> lanes(b.rng.between(1, 3), {d, 0});
        b.send(s, b.ready(s, lanes));
        return;
    }
    packet p = b.ready(s, {{d, 0}});
    switch (b.below(5)) {
    case 0:
        p = b.ready(s, {});
        break;
    case 1:
        p = b.ready(s, {{b.n + b.below(32 - b.n), 0}, {d, 0}});
        break;
    case 2:
        p = b.ready(s, {{d, 0}, {d, TOKENS + b.below(0x8000 - TOKENS)}, {s, 0}});
        break;
    case 3:
        p.h.epoch ^= b.rng.between(1, 3);
        break;
    default:
        p = b.make(b.rng.pick({MW_OP_DYMULTIMEM_LD_REDUCE, MW_OP_GRANT, MW_OP_MULTIMEM_LD_REDUCE}),
                   s, d);
        p.h.len = 128;
    }
    assert_int_not_equal(b.send(s, p), MW_HWERR_NONE);
}
// A row with a packet that is truncated or marked, or has one flit too many. The rest of it is
// rejected, or never reported.
void spoilt_row(hubs &b, unsigned home, unsigned index, const std::vector<unsigned> &ports,
                bool own)
{
    packet p = of_row(b, home, index, MW_STAGE_DISPATCH);
    p.set_targets(targets_on(b, ports));
    const unsigned which = b.below(3);
    for (unsigned k = 0; k < 3; k++) {
        b.send(home, p, k == which ? static_cast<hubs::fault>(b.rng.between(1, 3)) : hubs::WHOLE);
        p = k ? gate(b, home, index, own) : of_row(b, home, index, MW_STAGE_DISPATCH);
    }
}

// Layers one after another on one switch. Each has its tokens in a random order.
void layers(const rates &how, unsigned count)
{
    auto b = std::make_unique<hubs>(how.latency);
    b->usual_tables();
    b->dut.ctl_mon_classes_i = 7; // results have the stamp of their opening, which is not visible
    unsigned ready = 0, rows = 0;
    for (unsigned l = 0; l < count; l++) {
        how.behave(*b);
        b->forget_percent = how.forget;
        b->dut.ctl_window_i = b->rng.pick({0, 0, 1, 5});
        b->layer(true, b->f * b->rng.between(1, b->percent(50) ? 4 : 40));
        if (b->percent(30)) { // from a reset of the limits on
            b->dut.ctl_store_credits_i = static_cast<uint8_t>(b->below(3));
            b->dut.ctl_part_credits_i = static_cast<uint8_t>(b->below(3));
            b->cycles(4);
        }
        std::vector<std::vector<unsigned>> tokens(b->n);
        for (auto &t : tokens) {
            for (unsigned i = 1; i < 1u << b->token_shift; i++)
                t.push_back(i);
            std::shuffle(t.begin(), t.end(), b->rng);
            t.resize(std::min<size_t>(t.size(), b->percent(20) ? TOKENS : 20));
        }
        size_t left = b->n;
        const unsigned bad = b->below(b->n);
        unsigned falls = how.fall ? b->rng.between(1, 30) : 0, ups = 0;
        b->faulty[bad] = how.fall;
        const uint64_t end = b->now + 400000;
        while (left) {
            if (b->now > end)
                b->finish(1); // prints what is missing
            left = 0;
            for (unsigned s = 0; s < b->n; s++) {
                left += !tokens[s].empty();
                if (b->ports[s].queue[MW_CLS_STORE].size() > 6)
                    continue;
                if (b->percent(how.others))
                    other(*b, s);
                if (how.bad && how.bad < 3 && b->percent(10) &&
                    b->ports[s].queue[MW_CLS_CTRL].size() < 4)
                    wrong(*b, s, how.bad);
                if (tokens[s].empty() || !b->percent(how.row_percent))
                    continue;
                const unsigned i = tokens[s].back();
                const bool own = b->percent(50);
                tokens[s].pop_back();
                if (own && b->percent(30) && !how.forget) // the own ones have finished first
                    says(*b, s, {{s, i}});
                if (how.bad == 3 && b->percent(30))
                    spoilt_row(*b, s, i, some_ports(*b, s), own);
                else
                    whole_row(*b, s, i, some_ports(*b, s), own);
                rows++;
            }
            if (falls && !--falls) {
                b->disable(bad);
                ups = b->rng.between(1, 20);
            }
            ups -= ups > 1;
            if (ups == 1 && b->down[bad]) {
                b->enable(bad);
                ups = 0;
            }
            b->cycles(1 + b->below(20));
        }
        if (falls)
            b->disable(bad);
        if (falls || ups)
            b->cycles(200);
        if (falls || ups)
            b->enable(bad);
        if (how.fall)
            b->until("the port to be up", 100000, [&] { return !b->down[bad]; });
        b->finish(3000000);
        if (how.fall)
            assert_true(b->fell[bad]);
        else
            b->check_counters();
        b->faulty[bad] = false;
        ready += b->ready_packets;
    }
    assert_true(!how.fall || b->stood_in);
    assert_true(ready > rows / 3);
    assert_true(b->grant_lanes > b->grant_packets);
    assert_in_range(b->most_open, how.open, b->open_rows);
}
} // namespace

TEST(rows_are_opened)
{
    layers({}, 6);
}
TEST(rows_under_back_pressure)
{
    rates p;
    p.behave = [](hubs &b) {
        b.credit_delay = 200;
        b.start_percent = 30;
        b.serve_percent = 20;
        b.dut.ctl_throttle_i = 100;
    };
    layers(p, 4);
}
TEST(rows_in_a_hurry)
{
    rates p;
    p.others = 0;
    p.row_percent = 100;
    p.open = PARAM_N == 2 ? 2 : 3;
    p.behave = [](hubs &b) { b.report_delay = b.below(2) * 300; };
    layers(p, 6);
}
TEST(rows_with_poison)
{
    rates p;
    p.latency = 3;
    p.behave = [](hubs &b) {
        b.poison_percent = 5;
        b.spoil_percent = 5;
    };
    layers(p, 4);
}
TEST(rows_over_long_links)
{
    rates p;
    p.latency = 40;
    layers(p, 3);
}
// Incomplete rows have no effect in the next epochs, and others continue.
TEST(rows_that_stay_open)
{
    rates p;
    p.forget = 15;
    layers(p, 10);
}
TEST(rows_beside_what_is_wrong)
{
    for (unsigned kind : {1u, 2u, 3u}) {
        rates p;
        p.bad = kind;
        p.behave = [](hubs &b) { b.credit_delay = 30; };
        layers(p, 4);
    }
}
// A port goes down and comes back at any time. Other ports get no error, and their rows are
// complete.
TEST(rows_beside_a_port_that_falls)
{
    rates p;
    p.fall = true;
    p.behave = [](hubs &b) { b.serve_percent = b.rng.pick({100u, 20u}); };
    layers(p, 12);
}
// Slow outputs: GRANTs gather until no more rows are opened, and nothing is lost.
TEST(rows_wait_for_slow_outputs)
{
    rates p;
    p.others = 5;
    p.row_percent = 100;
    p.behave = [](hubs &b) { b.dut.ctl_throttle_i = 253; };
    layers(p, 2);
}

#endif
