// SPDX-License-Identifier: Apache-2.0
//
// Rows that the switch opens: each error of their packets by name, and members and homes that go
// down while rows are open.

#if PARAM_SwitchReductions

#include "switch_row_bench.h"

namespace {
struct errors_of : named_errors {
    errors_of() : named_errors(asking(128)) {}
    // the packets of a row of `home` with q and the last port as members
    void row(unsigned index, bool own)
    {
        notified(MW_HWERR_NONE, home, [&] { whole_row(*b, home, index, {q, last}, own); });
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

struct falling : errors_of {
    hubs &h = *b;
    void quietly(unsigned bad, const std::function<void()> &act)
    {
        notified(MW_HWERR_NONE, bad, act);
    }
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
        h.cycles(100);
        h.finish();
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
    if (e.n < 32) // with a valid lane, which does not count then
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
        b.cycles(3);
        is(MW_HWERR_PARTITION, e.q, {{e.q, 0}, {e.home, 3}});
        b.set_partition(e.q, ~0u);
        b.cycles(3);
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
    e.lane(MW_HWERR_COUNT, e.q, e.home, 5); // no entry
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
    // reports of members do not replace the home's own report
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
    // the valid lanes of a packet count
    e.row(10, false);
    e.notified(MW_HWERR_COUNT, e.q, [&] { says(b, e.q, {{e.home, 10}, {e.home, 11}}); });
    e.lane(MW_HWERR_NONE, e.last, e.home, 10);
    assert_true(b.about(e.home, 10).notified != 0);
}

TEST(entries_that_are_wrong)
{
    errors_of e;
    hubs &b = *e.b;
    // of another GPU's token, and of one that does not exist
    packet p = gate_to(b, e.q, 2, {e.q});
    e.notified(MW_HWERR_BOUNDS, e.home, [&] { b.send(e.home, p); });
    p = gate_to(b, e.home, 2, {e.q});
    p.h.addr |= UINT64_C(1) << 47;
    e.notified(MW_HWERR_BOUNDS, e.home, [&] { b.send(e.home, p); });
    e.lane(MW_HWERR_COUNT, e.q, e.home, 2);
    // twice: before and after its opening
    e.row(4, false);
    for (unsigned k = 0; k < 2; k++) {
        e.notified(MW_HWERR_COUNT, e.home, [&] { whole_row(b, e.home, 4, {e.q}, true); });
        e.lane(MW_HWERR_NONE, k ? e.last : e.q, e.home, 4);
    }
    assert_true(b.about(e.home, 4).notified != 0);
    e.notified(MW_HWERR_COUNT, e.home, [&] { whole_row(b, e.home, 4, {e.q}, true); });
    // none without `reduce`, or of another stage
    for (unsigned k = 0; k < 2; k++) {
        p = k ? of_row(b, e.home, 12, MW_STAGE_DISPATCH) : gate(b, e.home, 12, false, 0);
        p.h.reduce = k;
        p.set_targets(targets_on(b, {e.q}));
        e.notified(MW_HWERR_NONE, e.home, [&] { b.send(e.home, p); });
    }
    e.lane(MW_HWERR_COUNT, e.q, e.home, 12);
    // no gate weights
    p = gate_to(b, e.home, 13, {e.q});
    b.fill(p, 0);
    e.notified(MW_HWERR_LENGTH, e.home,
               [&] { assert_int_equal(b.send(e.home, p), MW_HWERR_LENGTH); });
    e.lane(MW_HWERR_COUNT, e.q, e.home, 13);
}

// A row without gate weights stays open (a dymultimem.st with flags.0). The next list of its token
// replaces it as any list does. The entry then has the members of the newest list, and each of them
// reports once.
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
    e.row(1, false); // and rows of the switch continue
    e.lane(MW_HWERR_NONE, e.q, e.home, 1);
    e.lane(MW_HWERR_NONE, e.last, e.home, 1);
}

// In a layer without switch-initiated reductions, a switch that has them works like one without.
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
    request(*b, 0, 256, {expert(*b, q, 0)});
    b->finish();
    b->check_counters();
}

// ---- ports that are down ----
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
        e.row(1, true);  // the bad port reports first
        e.row(2, false); // it never does
        for (unsigned i : {0u, 1u})
            says(h, bad, {{e.home, i}});
        says(h, e.q, {{e.home, 0}});
        h.cycles(200);
        assert_int_equal(h.about(e.home, 0).notified, 1u << e.home | 1u << e.q | 1u << bad);
        e.down(bad);
        if (again)
            h.enable(bad); // it comes up when the row has ended
        h.silent = false;
        h.cycles(20000);
        assert_int_equal(h.down[bad], !again);
        h.finish();
        assert_true(h.stood_in > 0); // row 0
        const unsigned stood_in = h.stood_in;
        says(h, e.q, {{e.home, 1}, {e.home, 2}});
        says(h, e.home, {{e.home, 1}});
        h.cycles(500);
        h.finish();
        assert_int_equal(h.about(e.home, 1).notified,
                         1u << e.home | 1u << e.q); // and not the bad one
        assert_true(h.stood_in > stood_in);
        assert_int_equal(h.about(e.home, 2).notified, 0);
        if (!again)
            e.up(bad);
        // its own tokens open no row until the next go, and cause no error
        e.quietly(bad, [&] { whole_row(h, bad, 3, {e.q}, true); });
        e.quietly(bad, [&] { says(h, e.q, {{bad, 3}, {bad, 4}}); });
        e.quietly(bad, [&] { says(h, bad, {{bad, 3}, {bad, 3}, {bad, 4}}); });
        // rows of others open without it, even if it reports now
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
    h.cycles(500);
    auto open = [&] {
        return std::count_if(h.reductions.begin(), h.reductions.end(),
                             [](const asked &a) { return a.notified != 0; });
    };
    assert_int_equal(open(), h.open_rows); // the others are ready
    e.down(bad);
    h.silent = false;
    h.cycles(2000);
    h.finish(); // members have answered, and nothing more was opened
    assert_int_equal(open(), h.open_rows);
    e.quietly(bad, [&] { says(h, e.q, {{bad, rest - 2}, {bad, rest - 1}}); });
    e.up(bad);
    e.quietly(bad, [&] { says(h, e.q, {{bad, 0}, {bad, rest - 1}}); });
    e.quietly(bad, [&] { whole_row(h, bad, 12, {e.q}, true); });
    e.quietly(bad, [&] { says(h, bad, {{bad, 12}}); });
    e.quietly(bad, [&] { says(h, e.q, {{bad, 12}}); });
    // rows of others without this port as a member continue
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
    h.cycles(3);
    // rows of which it is a member, and one of its own
    h.silent = true;
    for (unsigned i = 0; i < 4; i++)
        h.send(e.home, gate_to(h, e.home, i, {e.q, bad}));
    h.send(bad, gate_to(h, bad, 0, {e.q}));
    h.cycles(300);
    for (unsigned i = 0; i < 4; i++) {
        says(h, e.q, {{e.home, i}});
        says(h, bad, {{e.home, i}});
    }
    says(h, e.q, {{bad, 0}});
    h.cycles(60); // opened, and few GRANTs have left
    e.down(bad);
    h.dut.ctl_throttle_i = 0;
    h.silent = false;
    h.cycles(3000);
    h.finish();
    assert_true(h.stood_in > 0);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(h.about(e.home, i).notified & ~(1u << bad), 1u << e.home | 1u << e.q);
    e.up(bad);
    h.faulty[bad] = false;
    h.layer(true, 64);
}

// More rows are ready for one member than its output has places for grants. None of the grants
// leaves meanwhile.
TEST(rows_wait_until_their_grants_have_a_place)
{
    falling e;
    hubs &h = e.h;
    const unsigned rows = 6;
    h.dut.ctl_throttle_i = 255;
    h.cycles(3);
    h.silent = true;
    for (unsigned home = 0; home < e.n; home++)
        for (unsigned i = 0; i < rows && home != e.q; i++)
            h.send(home, gate_to(h, home, i, {e.q}));
    h.cycles(300);
    for (unsigned i = 0; i < rows; i++)
        for (unsigned home = 0; home < e.n; home++)
            if (home != e.q)
                says(h, e.q, {{home, i}});
    h.cycles(200);
    h.dut.ctl_throttle_i = 0;
    h.silent = false;
    h.cycles(3000);
    h.finish();
    for (unsigned home = 0; home < e.n; home++)
        for (unsigned i = 0; i < rows && home != e.q; i++)
            assert_int_equal(h.about(home, i).notified, 1u << home | 1u << e.q);
}

// A port that was down sends requests and partials as usual in a layer without switch-initiated
// reductions.
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
        request(h, 0, 256, targets_on(h, {e.q}));
    }
    h.finish();
    assert_int_equal(h.stood_in, stood_in);
    h.faulty[e.q] = false;
    h.layer(true, 64);
}

#endif
