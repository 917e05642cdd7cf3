// SPDX-License-Identifier: Apache-2.0
//
// Rows whose reduction the switch opens (docs/design/architecture.md, Switch-initiated reductions):
// random layers beside other traffic, each error by name, ports that go down with rows open. What
// the hubs do, and what must come of it, is in switch_model.h. Linked into the tests of switch_top.

#include "switch_model.h"

#if PARAM_SwitchReductions

namespace {
constexpr unsigned TOKENS = 1u << PARAM_TokensLog2;

std::unique_ptr<hubs> asking(unsigned row_bytes, unsigned latency = 1)
{
    auto b = std::make_unique<hubs>(latency);
    b->usual_tables();
    b->layer(true, row_bytes);
    return b;
}

// ---- packets of a row ----
packet of_row(hubs &b, unsigned home, unsigned index, unsigned stage)
{
    packet p = b.store(MW_OP_DYMULTIMEM_ST, home, 0, b.f * b.rng.between(1, 128 / b.f));
    p.h.stage = stage;
    p.h.addr = (uint64_t{home} << b.token_shift | index) << b.rules.row_shift;
    return p;
}
packet gate(hubs &b, unsigned home, unsigned index, bool own, unsigned reduce = 1)
{
    packet p = of_row(b, home, index, MW_STAGE_GATE);
    p.h.reduce = reduce;
    p.h.own = own;
    return p;
}
// As many experts of each port as it is named times, or as it has.
std::vector<uint16_t> targets_on(hubs &b, const std::vector<unsigned> &ports)
{
    std::vector<uint16_t> t;
    std::vector<unsigned> next(b.n);
    for (unsigned p : ports)
        if (next[p] * b.n + p < b.max_experts)
            t.push_back(static_cast<uint16_t>(expert(b, p, next[p]++) | t.size()));
    return t;
}
void open_row(hubs &b, unsigned home, unsigned index, const std::vector<unsigned> &ports)
{
    packet p = of_row(b, home, index, MW_STAGE_DISPATCH);
    p.set_targets(targets_on(b, ports));
    assert_int_equal(b.send(home, p), MW_HWERR_NONE);
}
// A row as a hub sends it.
void whole_row(hubs &b, unsigned home, unsigned index, const std::vector<unsigned> &ports, bool own)
{
    if (b.percent(20)) { // all in one packet
        packet p = gate(b, home, index, own);
        p.set_targets(targets_on(b, ports));
        assert_int_equal(b.send(home, p), MW_HWERR_NONE);
        return;
    }
    open_row(b, home, index, ports);
    for (unsigned k = b.below(3); k; k--)
        b.send(home, of_row(b, home, index, MW_STAGE_DISPATCH));
    assert_int_equal(b.send(home, gate(b, home, index, own)), MW_HWERR_NONE);
}
void says(hubs &b, unsigned src, std::vector<std::pair<unsigned, unsigned>> lanes)
{
    b.send(src, b.ready(src, lanes));
}

// What else goes on in such a layer.
void other(hubs &b, unsigned s)
{
    const unsigned d = (s + 1 + b.below(b.n - 1)) % b.n;
    const unsigned op =
        b.rng.pick({MW_OP_ST, MW_OP_ST, MW_OP_FLAG, MW_OP_FENCE, MW_OP_COUNTS, MW_OP_MULTIMEM_ST,
                    MW_OP_DYMULTIMEM_ST, MW_OP_EVENT, MW_OP_ACK, MW_OP_SIGNAL});
    packet p = tb::has_payload(op) ? b.store(op, s, d, b.below(129)) : b.make(op, s, d);
    if (op == MW_OP_MULTIMEM_ST)
        p.h.target0 = 0;
    if (op == MW_OP_DYMULTIMEM_ST) {
        p.h.stage = MW_STAGE_FLAT;
        p.set_targets(targets_on(b, {d}));
    }
    assert_int_equal(b.send(s, p), MW_HWERR_NONE);
}

// Members of a row at random: up to 16 targets on some ports.
std::vector<unsigned> some_ports(hubs &b, unsigned home)
{
    std::vector<unsigned> list;
    const unsigned spread = b.rng.between(1, b.n - 1);
    for (unsigned k = b.percent(10) ? 16 : b.rng.between(1, 6); k; k--)
        list.push_back((home + 1 + b.below(spread)) % b.n);
    return list;
}

struct rates {
    unsigned latency = 1, others = 30, row_percent = 30;
    unsigned forget = 0;
    // 1: READYs that are wrong themselves, 2: of rows that nobody wants, 3: packets of rows
    //    whose flits are wrong
    unsigned bad = 0;
    bool fall = false; // a port goes down in each layer, and is enabled again
    unsigned open = 1; // rows of one home that must have been open at once
    std::function<void(hubs &)> behave = [](hubs &) {};
};

// Something wrong of port s. Index 0 is no row's.
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
// A row with a packet that is cut or marked, or with one flit too many: the rest of it is
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

// Layers one after another on one switch, each with the tokens in an order of its own.
void layers(const rates &how, unsigned count)
{
    auto b = std::make_unique<hubs>(how.latency);
    b->usual_tables();
    b->dut.ctl_mon_classes_i = 7; // results have the stamp of their opening, which nobody sees
    unsigned ready = 0, rows = 0;
    for (unsigned l = 0; l < count; l++) {
        how.behave(*b);
        b->forget_percent = how.forget;
        b->dut.ctl_window_i = b->rng.pick({0, 0, 1, 5});
        b->layer(true, b->f * b->rng.between(1, b->percent(50) ? 4 : 40));
        if (b->percent(30)) { // from a reset of the limits on
            b->dut.ctl_store_credits_i = static_cast<uint8_t>(b->below(3));
            b->dut.ctl_part_credits_i = static_cast<uint8_t>(b->below(3));
            b->run(4);
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
                b->finish(1); // says what everybody waits for
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
            b->run(1 + b->below(20));
        }
        if (falls)
            b->disable(bad);
        if (falls || ups)
            b->run(200);
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
// Rows that are never complete leave nothing behind in the next epochs, and others go on.
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
// Whenever it goes down and comes back: nobody else is reported anything, and their
// rows are complete.
TEST(rows_beside_a_port_that_falls)
{
    rates p;
    p.fall = true;
    p.behave = [](hubs &b) { b.serve_percent = b.rng.pick({100u, 20u}); };
    layers(p, 12);
}
// Outputs that hardly send: GRANTs gather until no more rows are opened, and nothing is lost.
TEST(rows_wait_for_slow_outputs)
{
    rates p;
    p.others = 5;
    p.row_percent = 100;
    p.behave = [](hubs &b) { b.dut.ctl_throttle_i = 253; };
    layers(p, 2);
}

// ---- errors by name ----
namespace {
struct errors_of {
    std::unique_ptr<hubs> b = asking(128);
    const unsigned n = b->n, home = 0, q = 1, last = b->n - 1;

    errors_of() { b->auto_report = false; }
    // what port src is reported for what `act` sends, and nobody else anything
    void notified(unsigned code, unsigned src, const std::function<void()> &act)
    {
        const std::vector<unsigned> before = b->reports;
        act();
        b->finish();
        for (unsigned p = 0; p < n; p++) {
            assert_int_equal(b->reports[p] - before[p], p == src && code);
            assert_true(b->reject_codes[p].empty());
        }
        if (code)
            assert_int_equal(b->reported[src].back().second, code);
    }
    // a row of `home` that q and the last port are members of, as its packets say
    void row(unsigned index, bool own)
    {
        notified(MW_HWERR_NONE, home, [&] { whole_row(*b, home, index, {q, last}, own); });
    }
    void lane(unsigned code, unsigned src, unsigned of, unsigned index)
    {
        notified(code, src, [&] { says(*b, src, {{of, index}}); });
    }
    // everything still works: a row of each home opens
    ~errors_of()
    {
        for (unsigned h = 0; h < n; h++) {
            const unsigned m = (h + 1) % n, i = (1u << b->token_shift) - 1;
            notified(MW_HWERR_NONE, h, [&] { whole_row(*b, h, i, {m, m}, true); });
            lane(MW_HWERR_NONE, m, h, i);
            lane(MW_HWERR_NONE, h, h, i);
            lane(MW_HWERR_NONE, m, h, i);
            assert_int_equal(b->about(h, i).notified, 1u << h | 1u << m);
        }
        b->check_counters();
    }
};
} // namespace

TEST(ready_that_names_nothing)
{
    errors_of e;
    hubs &b = *e.b;
    e.row(3, false);
    auto is = [&](unsigned code, unsigned src, std::vector<std::pair<unsigned, unsigned>> lanes) {
        e.notified(code, src, [&] { assert_int_equal(b.send(src, b.ready(src, lanes)), code); });
    };
    is(MW_HWERR_LENGTH, e.q, {});
    if (e.n < 32) // beside a lane that is right, which does not count then
        is(MW_HWERR_UNMAPPED, e.q, {{e.home, 3}, {31, 0}});
    is(MW_HWERR_UNMAPPED, e.q, {{e.n, 0}});
    is(MW_HWERR_BOUNDS, e.q, {{e.home, 3}, {e.home, TOKENS}});
    is(MW_HWERR_BOUNDS, e.q, {{e.home, 0x4000}, {e.home, 3}, {e.home, 3}});
    packet p = b.ready(e.q, {{e.home, 3}});
    p.h.epoch ^= 1;
    e.notified(MW_HWERR_EPOCH, e.q, [&] { b.send(e.q, p); });
    p = b.ready(e.q, {{e.home, 3}});
    p.h.len = 8;
    e.notified(MW_HWERR_LENGTH, e.q, [&] { b.send(e.q, p); });
    p.h.len = 0;
    e.notified(MW_HWERR_LENGTH, e.q, [&] { b.send(e.q, p, hubs::LONG_BY_ONE); });
    e.notified(MW_HWERR_LENGTH, e.q, [&] { b.send(e.q, p, hubs::LINK_ERROR); });
    if (b.f == 8)
        e.notified(MW_HWERR_LENGTH, e.q, [&] { b.send(e.q, p, hubs::SHORT_BY_ONE); });
    p.h.cls = MW_CLS_REQ;
    e.notified(MW_HWERR_OPCODE, e.q, [&] { b.send(e.q, p, hubs::WHOLE, MW_CLS_CTRL); });
    p = b.make(MW_OP_GRANT, e.q, e.home);
    e.notified(MW_HWERR_OPCODE, e.q, [&] { b.send(e.q, p); });
    if (e.n > 2) {
        b.set_partition(e.q, ~0u & ~(1u << e.home));
        b.run(3);
        is(MW_HWERR_PARTITION, e.q, {{e.q, 0}, {e.home, 3}});
        b.set_partition(e.q, ~0u);
        b.run(3);
    }
    // none of it counted
    e.lane(MW_HWERR_NONE, e.q, e.home, 3);
    assert_int_equal(b.about(e.home, 3).notified, 0);
    e.lane(MW_HWERR_NONE, e.last, e.home, 3);
    assert_int_equal(b.about(e.home, 3).notified, 1u << e.home | 1u << e.q | 1u << e.last);
}

TEST(ready_of_what_is_not_wanted)
{
    errors_of e;
    hubs &b = *e.b;
    e.lane(MW_HWERR_COUNT, e.q, e.home, 5); // nobody wants it
    e.row(5, true);
    if (e.n > 2) {
        e.notified(MW_HWERR_NONE, e.home, [&] { whole_row(b, e.home, 6, {e.q}, false); });
        e.lane(MW_HWERR_COUNT, e.last, e.home, 6); // no member
        e.lane(MW_HWERR_NONE, e.q, e.home, 6);
        e.lane(MW_HWERR_COUNT, e.last, e.home, 6);
    }
    e.lane(MW_HWERR_NONE, e.home, e.home, 5);
    e.lane(MW_HWERR_COUNT, e.home, e.home, 5); // twice
    e.lane(MW_HWERR_NONE, e.q, e.home, 5);
    e.lane(MW_HWERR_NONE, e.last, e.home, 5);
    assert_true(b.about(e.home, 5).notified != 0);
    e.lane(MW_HWERR_COUNT, e.q, e.home, 5); // one too many
    e.lane(MW_HWERR_COUNT, e.home, e.home, 5);
    // members cannot use up what the home has to say
    e.row(7, true);
    e.lane(MW_HWERR_NONE, e.q, e.home, 7);
    e.lane(MW_HWERR_NONE, e.last, e.home, 7);
    e.lane(MW_HWERR_COUNT, e.q, e.home, 7);
    assert_int_equal(b.about(e.home, 7).notified, 0);
    e.lane(MW_HWERR_NONE, e.home, e.home, 7);
    assert_true(b.about(e.home, 7).notified != 0);
    // the own one first: once, and of a row that has own experts
    e.lane(MW_HWERR_NONE, e.home, e.home, 8);
    e.lane(MW_HWERR_COUNT, e.home, e.home, 8);
    e.lane(MW_HWERR_COUNT, e.q, e.home, 8);
    e.notified(MW_HWERR_COUNT, e.home, [&] { whole_row(b, e.home, 8, {e.q}, false); });
    e.notified(MW_HWERR_NONE, e.home, [&] { whole_row(b, e.home, 8, {e.q}, true); });
    e.lane(MW_HWERR_NONE, e.q, e.home, 8);
    assert_true(b.about(e.home, 8).notified != 0);
    e.row(9, false); // without own experts
    e.lane(MW_HWERR_COUNT, e.home, e.home, 9);
    e.lane(MW_HWERR_NONE, e.q, e.home, 9);
    e.lane(MW_HWERR_NONE, e.last, e.home, 9);
    assert_true(b.about(e.home, 9).notified != 0);
    // of one packet the lanes that are right count
    e.row(10, false);
    e.notified(MW_HWERR_COUNT, e.q, [&] { says(b, e.q, {{e.home, 10}, {e.home, 11}}); });
    e.lane(MW_HWERR_NONE, e.last, e.home, 10);
    assert_true(b.about(e.home, 10).notified != 0);
}

TEST(entries_that_are_wrong)
{
    errors_of e;
    hubs &b = *e.b;
    // of another GPU's token, and of one that is none
    e.notified(MW_HWERR_BOUNDS, e.home, [&] {
        packet p = gate(b, e.q, 2, false);
        p.set_targets(targets_on(b, {e.q}));
        b.send(e.home, p);
    });
    e.notified(MW_HWERR_BOUNDS, e.home, [&] {
        packet p = gate(b, e.home, 2, false);
        p.h.addr |= UINT64_C(1) << 47;
        p.set_targets(targets_on(b, {e.q}));
        b.send(e.home, p);
    });
    e.lane(MW_HWERR_COUNT, e.q, e.home, 2);
    // twice: before and behind its opening
    e.row(4, false);
    for (unsigned k = 0; k < 2; k++) {
        e.notified(MW_HWERR_COUNT, e.home, [&] { whole_row(b, e.home, 4, {e.q}, true); });
        e.lane(MW_HWERR_NONE, k ? e.last : e.q, e.home, 4);
    }
    assert_true(b.about(e.home, 4).notified != 0);
    e.notified(MW_HWERR_COUNT, e.home, [&] { whole_row(b, e.home, 4, {e.q}, true); });
    // none without `reduce`, or of another stage
    for (unsigned k = 0; k < 2; k++) {
        packet p = k ? of_row(b, e.home, 12, MW_STAGE_DISPATCH) : gate(b, e.home, 12, false, 0);
        p.h.reduce = k;
        p.set_targets(targets_on(b, {e.q}));
        e.notified(MW_HWERR_NONE, e.home, [&] { b.send(e.home, p); });
    }
    e.lane(MW_HWERR_COUNT, e.q, e.home, 12);
    // no gate weights
    packet p = gate(b, e.home, 13, false);
    b.fill(p, 0);
    p.set_targets(targets_on(b, {e.q}));
    e.notified(MW_HWERR_LENGTH, e.home,
               [&] { assert_int_equal(b.send(e.home, p), MW_HWERR_LENGTH); });
    e.lane(MW_HWERR_COUNT, e.q, e.home, 13);
}

// A row without gate weights stays open (a dymultimem.st with flags.0). The next list of its
// token replaces it as any list does: the entry has the members of the newest list, and each
// of them reports once.
TEST(newest_list_of_an_open_row_counts)
{
    errors_of e;
    hubs &b = *e.b;
    for (unsigned stage : {MW_STAGE_DISPATCH, MW_STAGE_GATE}) {
        for (unsigned more = 0; more < 2; more++) { // members than before, or fewer
            const unsigned index = 1 + 2 * stage + more;
            const std::vector<unsigned> few = {e.q}, many = {e.q, e.last};
            e.notified(MW_HWERR_NONE, e.home, [&] {
                open_row(b, e.home, index, more ? few : many);
                packet p = of_row(b, e.home, index, stage);
                p.h.reduce = 1;
                p.set_targets(targets_on(b, more ? many : few));
                assert_int_equal(b.send(e.home, p), MW_HWERR_NONE);
                if (stage == MW_STAGE_DISPATCH)
                    assert_int_equal(b.send(e.home, gate(b, e.home, index, false)), MW_HWERR_NONE);
            });
            e.lane(MW_HWERR_NONE, e.q, e.home, index);
            if (more) {
                assert_int_equal(b.about(e.home, index).notified, 0);
                e.lane(MW_HWERR_NONE, e.last, e.home, index);
            }
            assert_true(b.about(e.home, index).notified != 0);
            e.lane(MW_HWERR_COUNT, e.last, e.home, index);
        }
    }
}

TEST(requests_with_switch_reductions)
{
    errors_of e;
    hubs &b = *e.b;
    for (unsigned op : {MW_OP_DYMULTIMEM_LD_REDUCE, MW_OP_MULTIMEM_LD_REDUCE}) {
        for (unsigned len : {256u, 1u}) {
            packet p = b.make(op, e.home, 0);
            p.h.len = len;
            p.h.target0 = 0;
            if (op == MW_OP_DYMULTIMEM_LD_REDUCE)
                p.set_targets(targets_on(b, {e.q, e.last}));
            e.notified(MW_HWERR_WINDOW, e.home,
                       [&] { assert_int_equal(b.send(e.home, p), MW_HWERR_WINDOW); });
        }
    }
    e.row(1, false); // and rows of the switch go on
    e.lane(MW_HWERR_NONE, e.q, e.home, 1);
    e.lane(MW_HWERR_NONE, e.last, e.home, 1);
}

// In a layer in which it does not ask, a build that can is as one that cannot.
TEST(layers_without_switch_reductions)
{
    auto b = asking(64);
    b->finish();
    b->layer(false);
    const unsigned q = 1;
    packet p = b->ready(q, {{0, 3}});
    assert_int_equal(b->send(q, p), MW_HWERR_OPCODE);
    packet g = b->make(MW_OP_GRANT, q, 0);
    assert_int_equal(b->send(q, g), MW_HWERR_OPCODE);
    p = b->store(MW_OP_DYMULTIMEM_ST, 0, 0, 64);
    p.h.stage = MW_STAGE_GATE;
    p.h.reduce = p.h.own = 1;
    p.set_targets({expert(*b, q, 0)});
    assert_int_equal(b->send(0, p), MW_HWERR_NONE);
    b->fill(p, 0);
    assert_int_equal(b->send(0, p), MW_HWERR_NONE);
    p.h.stage = MW_STAGE_DISPATCH;
    for (unsigned k = 0; k < 2; k++) // a second list for the same token
        assert_int_equal(b->send(0, p), MW_HWERR_NONE);
    packet r = b->make(MW_OP_DYMULTIMEM_LD_REDUCE, 0, 0);
    r.h.len = 256;
    r.set_targets({expert(*b, q, 0)});
    assert_int_equal(b->send(0, r), MW_HWERR_NONE);
    b->finish();
    b->check_counters();
}

// ---- ports that are down ----
namespace {
struct falling : errors_of {
    hubs &h = *b;
    // waits until port p is down, and enables it again
    void down(unsigned p)
    {
        h.faulty[p] = true;
        h.disable(p);
        for (unsigned k = 0; k < 1000 && !h.down[p]; k++)
            h.cycle();
        assert_true(h.down[p]);
    }
    void up(unsigned p)
    {
        h.enable(p);
        for (unsigned k = 0; k < 20000 && h.down[p]; k++)
            h.cycle();
        assert_false(h.down[p]);
        h.run(100);
        h.finish();
    }
};
} // namespace

TEST(member_goes_down_with_rows_open)
{
    for (unsigned again = 0; again < 2; again++) {
        falling e;
        hubs &h = e.h;
        const unsigned n = e.n;
        if (n < 3)
            return;
        const unsigned bad = e.last;
        h.silent = true; // rows stay open
        e.row(0, false);
        e.row(1, true);  // the bad one reports, the others later
        e.row(2, false); // it never does
        for (unsigned i : {0u, 1u})
            says(h, bad, {{e.home, i}});
        says(h, e.q, {{e.home, 0}});
        h.run(200);
        assert_int_equal(h.about(e.home, 0).notified, 1u << e.home | 1u << e.q | 1u << bad);
        e.down(bad);
        if (again)
            h.enable(bad); // it comes up when the row is over
        h.silent = false;
        h.run(20000);
        assert_int_equal(h.down[bad], !again);
        h.finish();
        assert_true(h.stood_in > 0); // row 0
        const unsigned stood_in = h.stood_in;
        says(h, e.q, {{e.home, 1}, {e.home, 2}});
        says(h, e.home, {{e.home, 1}});
        h.run(500);
        h.finish();
        assert_int_equal(h.about(e.home, 1).notified,
                         1u << e.home | 1u << e.q); // and not the bad one
        assert_true(h.stood_in > stood_in);
        assert_int_equal(h.about(e.home, 2).notified, 0);
        if (!again)
            e.up(bad);
        // its own tokens open nothing until the next go, and say so to nobody
        auto quietly = [&](const std::function<void()> &act) {
            e.notified(MW_HWERR_NONE, bad, act);
        };
        quietly([&] { whole_row(h, bad, 3, {e.q}, true); });
        quietly([&] { says(h, e.q, {{bad, 3}, {bad, 4}}); });
        quietly([&] { says(h, bad, {{bad, 3}, {bad, 3}, {bad, 4}}); });
        // nor is it asked for rows of others, also when it reports now
        e.row(5, false);
        e.lane(MW_HWERR_NONE, bad, e.home, 5);
        e.lane(MW_HWERR_NONE, e.q, e.home, 5);
        assert_int_equal(h.about(e.home, 5).notified, 1u << e.home | 1u << e.q);
        h.faulty[bad] = false;
        h.layer(true, 200);
    }
}

TEST(home_goes_down_with_rows_open)
{
    falling e;
    hubs &h = e.h;
    const unsigned n = e.n, bad = e.home, rest = 1u << h.token_shift;
    h.silent = true;
    for (unsigned i = 0; i < h.open_rows + 3; i++)
        e.row(i, false);
    for (unsigned i = 0; i < h.open_rows + 3; i++) {
        says(h, e.q, {{bad, i}});
        says(h, e.last, {{bad, i}});
    }
    h.run(500);
    unsigned open = 0;
    for (const asked &a : h.reductions)
        open += a.notified != 0;
    assert_int_equal(open, h.open_rows); // the others are due
    e.down(bad);
    h.silent = false;
    h.run(2000);
    h.finish(); // members have answered, and nothing more was opened
    open = 0;
    for (const asked &a : h.reductions)
        open += a.notified != 0;
    assert_int_equal(open, h.open_rows);
    auto quietly = [&](const std::function<void()> &act) { e.notified(MW_HWERR_NONE, bad, act); };
    quietly([&] { says(h, e.q, {{bad, rest - 2}, {bad, rest - 1}}); });
    e.up(bad);
    quietly([&] { says(h, e.q, {{bad, 0}, {bad, rest - 1}}); });
    quietly([&] { whole_row(h, bad, 12, {e.q}, true); });
    quietly([&] { says(h, bad, {{bad, 12}}); });
    quietly([&] { says(h, e.q, {{bad, 12}}); });
    // rows of others that it is no member of go on
    if (n > 2) {
        e.notified(MW_HWERR_NONE, e.q, [&] { whole_row(h, e.q, 1, {e.last}, false); });
        e.lane(MW_HWERR_NONE, e.last, e.q, 1);
        assert_int_equal(h.about(e.q, 1).notified, 1u << e.q | 1u << e.last);
    }
    h.faulty[bad] = false;
    h.layer(true, 200);
}

TEST(goes_down_while_its_grants_wait)
{
    falling e;
    hubs &h = e.h;
    if (e.n < 3)
        return;
    const unsigned bad = e.last;
    h.dut.ctl_throttle_i = 255;
    h.run(3);
    // rows of which it is a member, and one of its own
    h.silent = true;
    for (unsigned i = 0; i < 4; i++)
        h.send(e.home, [&] {
            packet p = gate(h, e.home, i, false);
            p.set_targets(targets_on(h, {e.q, bad}));
            return p;
        }());
    h.send(bad, [&] {
        packet p = gate(h, bad, 0, false);
        p.set_targets(targets_on(h, {e.q}));
        return p;
    }());
    h.run(300);
    for (unsigned i = 0; i < 4; i++) {
        says(h, e.q, {{e.home, i}});
        says(h, bad, {{e.home, i}});
    }
    says(h, e.q, {{bad, 0}});
    h.run(60); // opened, and hardly any GRANT has left
    e.down(bad);
    h.dut.ctl_throttle_i = 0;
    h.silent = false;
    h.run(3000);
    h.finish();
    assert_true(h.stood_in > 0);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(h.about(e.home, i).notified & ~(1u << bad), 1u << e.home | 1u << e.q);
    e.up(bad);
    h.faulty[bad] = false;
    h.layer(true, 64);
}

// More rows are ready for one member than its output has places for their grants, and none of
// these leaves meanwhile.
TEST(rows_wait_until_their_grants_have_a_place)
{
    falling e;
    hubs &h = e.h;
    const unsigned rows = 6;
    h.dut.ctl_throttle_i = 255;
    h.run(3);
    h.silent = true;
    for (unsigned home = 0; home < e.n; home++)
        for (unsigned i = 0; i < rows && home != e.q; i++)
            h.send(home, [&] {
                packet p = gate(h, home, i, false);
                p.set_targets(targets_on(h, {e.q}));
                return p;
            }());
    h.run(300);
    for (unsigned i = 0; i < rows; i++)
        for (unsigned home = 0; home < e.n; home++)
            if (home != e.q)
                says(h, e.q, {{home, i}});
    h.run(200);
    h.dut.ctl_throttle_i = 0;
    h.silent = false;
    h.run(3000);
    h.finish();
    for (unsigned home = 0; home < e.n; home++)
        for (unsigned i = 0; i < rows && home != e.q; i++)
            assert_int_equal(h.about(home, i).notified, 1u << home | 1u << e.q);
}

// Requests and partials as ever of a port that was down, in a layer without
// switch-initiated reductions.
TEST(fell_means_nothing_to_requests)
{
    falling e;
    hubs &h = e.h;
    h.finish();
    h.layer(false);
    e.down(e.q);
    e.up(e.q);
    const unsigned stood_in = h.stood_in;
    for (unsigned k = 0; k < 4; k++) {
        packet r = h.make(MW_OP_DYMULTIMEM_LD_REDUCE, 0, 0);
        r.h.len = 256;
        r.set_targets(targets_on(h, {e.q}));
        assert_int_equal(h.send(0, r), MW_HWERR_NONE);
    }
    h.finish();
    assert_int_equal(h.stood_in, stood_in);
    h.faulty[e.q] = false;
    h.layer(true, 64);
}

#if PARAM_TileReductions
// ---- tile reductions: every port reports every row, and nothing is dispatched ----
namespace {
std::unique_ptr<hubs> tiles(unsigned row_bytes)
{
    auto b = std::make_unique<hubs>(1);
    b->usual_tables();
    b->layer(true, row_bytes, true);
    b->auto_report = false;
    return b;
}

// Reports of the first `rows` rows of each home, at each port in an order of its own; in order: of
// each home index by index.
void report_all(hubs &b, unsigned rows, bool in_order, unsigned others)
{
    std::vector<std::vector<std::pair<unsigned, unsigned>>> left(b.n);
    for (unsigned p = 0; p < b.n; p++) {
        for (unsigned i = 0; i < rows; i++)
            for (unsigned h = 0; h < b.n; h++)
                left[p].push_back({h, i});
        if (!in_order)
            std::shuffle(left[p].begin(), left[p].end(), b.rng);
    }
    constexpr unsigned TURNS = 200000; // many more than a port without credits ever takes
    unsigned turns = 0;
    for (size_t some = 1; some;) {
        if (++turns > TURNS)
            fail_msg("reports of %zu rows are left", some);
        some = 0;
        for (unsigned p = 0; p < b.n; p++) {
            some += left[p].size();
            if (b.percent(others) && b.ports[p].queue[MW_CLS_STORE].size() < 6)
                other(b, p);
            if (left[p].empty() || b.ports[p].queue[MW_CLS_CTRL].size() > 3 || b.percent(50))
                continue;
            const size_t now = std::min<size_t>(left[p].size(), b.rng.between(1, MW_LANES));
            says(b, p, {left[p].begin(), left[p].begin() + static_cast<long>(now)});
            left[p].erase(left[p].begin(), left[p].begin() + static_cast<long>(now));
        }
        b.run(1 + b.below(6));
    }
}

// The switch in a layer of tile reductions, and errors by name.
struct tile_errors {
    std::unique_ptr<hubs> b = tiles(64);
    const unsigned n = b->n, home = 0, q = 1, last = b->n - 1;

    // what port src is reported for what `act` sends, and nobody else anything
    void notified(unsigned code, unsigned src, const std::function<void()> &act)
    {
        const std::vector<unsigned> before = b->reports;
        act();
        b->finish();
        for (unsigned p = 0; p < n; p++)
            assert_int_equal(b->reports[p] - before[p], p == src && code);
        if (code)
            assert_int_equal(b->reported[src].back().second, code);
    }
    void lane(unsigned code, unsigned src, unsigned of, unsigned index)
    {
        notified(code, src, [&] { says(*b, src, {{of, index}}); });
    }
    // all but `but` report a row
    void rest(unsigned of, unsigned index, uint32_t but)
    {
        for (unsigned p = 0; p < n; p++)
            if (!(but >> p & 1))
                lane(MW_HWERR_NONE, p, of, index);
    }
    void opened(unsigned of, unsigned index, uint32_t ports)
    {
        assert_int_equal(b->about(of, index).notified, ports);
    }
    uint32_t all() const { return static_cast<uint32_t>((UINT64_C(1) << n) - 1); }
};
} // namespace

TEST(tiles_are_opened)
{
    auto b = std::make_unique<hubs>(1);
    b->usual_tables();
    for (unsigned l = 0; l < 6; l++) {
        b->layer(true, b->f * b->rng.between(1, 20), true);
        b->auto_report = false;
        b->serve_percent = b->rng.pick({100u, 20u});
        b->credit_delay = b->rng.pick({0u, 100u});
        const bool in_order = l % 2;
        const unsigned rows = std::min(1u << b->token_shift, 24u);
        report_all(*b, rows, in_order, 20);
        b->finish(3000000);
        for (unsigned h = 0; h < b->n; h++) {
            assert_int_equal(b->granted[h][h].size(), rows);
            for (unsigned i = 0; i < rows && in_order;
                 i++) // rows of a home open in the order of its reports
                assert_int_equal(b->reductions[b->granted[h][h][i]].index, i);
        }
        b->check_counters();
        // a layer of dispatched rows between, which is left with some of them
        b->auto_report = true;
        b->forget_percent = 20;
        b->layer(true, 128);
        for (unsigned h = 0; h < b->n; h++)
            for (unsigned i = 0; i < 8; i++)
                whole_row(*b, h, i, some_ports(*b, h), b->percent(50));
        b->finish(3000000);
        b->forget_percent = 0;
    }
}

TEST(tiles_of_a_home_are_all_ready_at_once)
{
    auto b = tiles(32);
    b->dut.ctl_throttle_i = 253;
    report_all(*b, 1u << b->token_shift, true, 0);
    b->dut.ctl_throttle_i = 0;
    b->finish(3000000);
    for (unsigned h = 0; h < b->n; h++)
        assert_int_equal(b->granted[h][h].size(), 1u << b->token_shift);
}

TEST(tiles_that_are_reported_wrongly)
{
    tile_errors e;
    hubs &b = *e.b;
    for (unsigned who : {e.q, e.home}) { // twice: before the row opens, and after it
        const unsigned index = 3 + who;
        e.lane(MW_HWERR_NONE, who, e.home, index);
        e.lane(MW_HWERR_COUNT, who, e.home, index);
        e.opened(e.home, index, 0);
        e.rest(e.home, index, 1u << who);
        e.opened(e.home, index, e.all());
        e.lane(MW_HWERR_COUNT, who, e.home, index);
    }
    // rows and homes that do not exist
    auto is = [&](unsigned code, std::vector<std::pair<unsigned, unsigned>> lanes) {
        e.notified(code, e.q, [&] { assert_int_equal(b.send(e.q, b.ready(e.q, lanes)), code); });
    };
    is(MW_HWERR_BOUNDS, {{e.home, TOKENS}});
    if (e.n < 32)
        is(MW_HWERR_UNMAPPED, {{e.n, 0}});
    packet p = b.ready(e.q, {{e.home, 9}});
    p.h.epoch ^= 1;
    e.notified(MW_HWERR_EPOCH, e.q, [&] { b.send(e.q, p); });
    e.rest(e.home, 9, 0);
    e.opened(e.home, 9, e.all());
    // rows that were dispatched, before and after they are complete
    for (unsigned index : {3u + e.q, 11u})
        e.notified(MW_HWERR_COUNT, e.home, [&] { whole_row(b, e.home, index, {e.q}, true); });
    e.rest(e.home, 11, 0);
    e.opened(e.home, 11, e.all());
    // requests from the wire
    p = b.make(MW_OP_DYMULTIMEM_LD_REDUCE, e.home, 0);
    p.h.len = 64;
    p.set_targets(targets_on(b, {e.q}));
    e.notified(MW_HWERR_WINDOW, e.home, [&] { b.send(e.home, p); });
}

TEST(tiles_of_a_partition)
{
    tile_errors e;
    hubs &b = *e.b;
    if (e.n < 3)
        return;
    const uint32_t others = e.all() & ~(1u << e.last);
    for (unsigned p = 0; p < e.n; p++)
        b.set_partition(p, p == e.last ? 1u << e.last : others);
    b.layer(true, 64, true);
    e.notified(MW_HWERR_PARTITION, e.last, [&] { b.send(e.last, b.ready(e.last, {{e.home, 1}})); });
    e.notified(MW_HWERR_PARTITION, e.home, [&] { b.send(e.home, b.ready(e.home, {{e.last, 1}})); });
    e.rest(e.home, 1, 1u << e.last);
    e.opened(e.home, 1, others);
    e.lane(MW_HWERR_COUNT, e.last, e.last, 1); // its rows have no members
    // the home alone leaves it out
    b.set_partition(e.last, ~0u);
    b.layer(true, 64, true);
    e.lane(MW_HWERR_COUNT, e.last, e.home, 1);
    e.rest(e.home, 1, 1u << e.last);
    e.opened(e.home, 1, others);
    for (unsigned p = 0; p < e.n; p++)
        b.set_partition(p, ~0u);
    b.layer(true, 64, true);
    e.rest(e.home, 1, 0);
    e.opened(e.home, 1, e.all());
}
#endif

#endif
