// SPDX-License-Identifier: Apache-2.0
//
// Endpoints of the switch that misbehave. They stop taking packets, pause or stop inside a packet,
// never end one, answer no request, or send invalid packets. Other ports may notice nothing for
// longer than the set time: packets are exact to the bit, throughput is full again, and rows are
// complete. If a member is gone, results are poisoned. After the port is enabled again, everything
// is as before. Linked into the tests of switch_top.

#include "switch_model.h"

static constexpr unsigned PERIOD_LOG2 = 8, PERIOD = 1u << PERIOD_LOG2;
static constexpr unsigned SLACK = 200; // cycles from an event to its effect on wires and counters

static std::unique_ptr<hubs> guarded(unsigned latency = 1)
{
    auto b = bench(latency);
    b->dut.ctl_limit_i = PERIOD_LOG2;
    return b;
}

// The ports that behave keep every uplink busy with stores to random ports. `bad` is half as often
// a destination as others, so no output has as much as it can send. (If destinations took turns,
// the losses of a port would depend on its place among them.)
struct load {
    hubs &b;
    unsigned bad;
    bool red = false;   // requests, too: every second row has `bad` as a member
    bool spare = false; // nothing for `bad` if there are others

    load(hubs &hub, unsigned bad_port) : b(hub), bad(bad_port) {}

    unsigned next(unsigned s)
    {
        unsigned d = (s + 1 + static_cast<unsigned>(b.rng() % (b.n - 1))) % b.n;
        return d == bad && b.n > 2 && (spare || b.rng() % 2) ? next(s) : d;
    }

    void fill(unsigned s)
    {
        hubs::port &q = b.ports[s];
        while (q.queue[MW_CLS_STORE].size() < 4)
            b.send(s, b.store(MW_OP_ST, s, next(s), 128));
        while (red && q.queue[MW_CLS_REQ].size() < 2) {
            packet r = b.make(MW_OP_DYMULTIMEM_LD_REDUCE, s, 0);
            r.h.len = 256;
            std::vector<uint16_t> t;
            for (unsigned d = 1; d < b.n && t.size() < 8; d++)
                if ((s + d) % b.n != bad || b.rng() % 2)
                    t.push_back(expert(b, (s + d) % b.n, 0));
            if (t.empty())
                t.push_back(expert(b, bad, 0));
            r.set_targets(t);
            b.send(s, r);
        }
    }
    void run(unsigned cycles)
    {
        while (cycles--) {
            for (unsigned s = 0; s < b.n; s++)
                if (s != bad)
                    fill(s);
            b.cycle();
        }
    }
    uint64_t sent() const
    {
        uint64_t sum = 0;
        for (unsigned s = 0; s < b.n; s++)
            for (unsigned c = 0; c < 4 && s != bad; c++)
                sum += b.ports[s].up_flits[c];
        return sum;
    }
    // Flits that the well-behaved ports send in this number of cycles.
    uint64_t rate(unsigned cycles)
    {
        uint64_t before = sent();
        run(cycles);
        return sent() - before;
    }
    unsigned until_down(unsigned most)
    {
        uint64_t start = b.now;
        while (!b.down[bad] && b.now < start + most)
            run(1);
        assert_true(b.down[bad]);
        return static_cast<unsigned>(b.now - start);
    }
    unsigned until_up(unsigned most)
    {
        uint64_t start = b.now;
        while (b.down[bad] && b.now < start + most)
            run(1);
        assert_false(b.down[bad]);
        return static_cast<unsigned>(b.now - start);
    }
};

static void only_this_port_is_down(const hubs &b, unsigned bad)
{
    assert_int_equal(b.dut.down_o, 1u << bad);
}

// hubs::counter() stops the wires.
static uint32_t counter_beside_traffic(hubs &b, unsigned p, unsigned i)
{
    b.dut.ctl_cnt_port_i = static_cast<uint8_t>(p);
    b.dut.ctl_cnt_idx_i = static_cast<uint8_t>(i);
    b.cycles(4);
    return b.dut.cnt_data_o;
}

// Rates of random traffic over RATE_CYCLES differ by one or two percent.
static constexpr unsigned RATE_CYCLES = 12000;

static void as_fast_as(uint64_t before, uint64_t now)
{
    if (now * 100 < before * 97)
        fail_msg("%llu flits before, %llu now", static_cast<unsigned long long>(before),
                 static_cast<unsigned long long>(now));
}

// Everything works again, including the port that misbehaved.
static void works_again(hubs &b, load &l)
{
    unsigned bad = l.bad;
    b.refuse[bad] = 0;
    b.mute[bad] = false;
    b.enable(bad);
    l.until_up(20000);
    for (unsigned i = 0; i < 30; i++) {
        for (unsigned s = 0; s < b.n; s++) {
            packet m = b.store(MW_OP_MULTIMEM_ST, s, 0, 128);
            m.h.target0 = 0;
            b.send(s, m);
            packet r = b.make(MW_OP_MULTIMEM_LD_REDUCE, s, 0);
            r.h.len = 300;
            r.h.target0 = 0;
            b.send(s, r);
            b.send(s, b.make(MW_OP_EVENT, s, (s + 1 + i % (b.n - 1)) % b.n));
        }
    }
    unsigned stood_in = b.stood_in;
    b.cycles(200);
    b.finish();
    assert_int_equal(b.dut.down_o, 0);
    // rows from before it was up may be poisoned, at most these
    assert_in_range(b.stood_in - stood_in, 0, b.n * (b.open_rows + 4) * 3);
}

// Takes nothing of one class. It is down within the time of the class, and the others have their
// throughput again.
static void takes_nothing(unsigned cls, unsigned least, unsigned most)
{
    auto b = guarded();
    unsigned n = b->n, bad = static_cast<unsigned>(b->rng() % n);
    load l(*b, bad);
    b->faulty[bad] = true;
    l.run(2000);
    uint64_t before = l.rate(RATE_CYCLES);
    b->refuse[bad] = 1u << cls;
    unsigned rows = b->open_rows;
    auto offer = [&] {
        if (cls == MW_CLS_CTRL)
            for (unsigned s = 0; s < n; s++)
                if (s != bad && b->ports[s].queue[MW_CLS_CTRL].size() < 2)
                    b->send(s, b->make(MW_OP_EVENT, s, bad));
        if (cls == MW_CLS_PART && rows && b->ports[bad].queue[MW_CLS_REQ].empty()) {
            packet r = b->reduction(bad, 1024, {expert(*b, (bad + 1) % n, 0)});
            b->send(bad, r);
            rows--;
        }
    };
    uint64_t start = b->now;
    while (!b->down[bad] && b->now < start + most * PERIOD + 3000) {
        offer();
        l.run(1);
    }
    unsigned took = static_cast<unsigned>(b->now - start);
    only_this_port_is_down(*b, bad);
    assert_in_range(took, least * PERIOD, most * PERIOD + 3000); // the credits are used up first
    assert_int_equal(b->notified[bad][MW_HWERR_SINK], 1);
    l.run(4000); // what waited for it is discarded, also its last rows' results
    uint64_t after = l.rate(RATE_CYCLES);
    as_fast_as(before, after);
    only_this_port_is_down(*b, bad);
    assert_true(counter_beside_traffic(*b, bad, 13) > 0);
    works_again(*b, l);
    assert_true(b->lost > 0);
}

TEST(sink_of_control_stops)
{
    takes_nothing(MW_CLS_CTRL, 2, 3);
}

TEST(sink_of_stores_stops)
{
    takes_nothing(MW_CLS_STORE, 4, 6);
}

TEST(sink_of_results_stops)
{
    takes_nothing(MW_CLS_PART, 8, 12);
}

// Answers no request. The others' rows are complete, and poisoned where it is a member.
TEST(answers_no_request)
{
    auto b = guarded();
    unsigned bad = static_cast<unsigned>(b->rng() % b->n);
    load l(*b, bad);
    l.red = true;
    b->faulty[bad] = true;
    l.run(2000);
    uint64_t before = l.rate(RATE_CYCLES);
    assert_int_equal(b->stood_in, 0);
    b->mute[bad] = true;
    unsigned took = l.until_down(12 * PERIOD + 3000);
    assert_true(took >= 8 * PERIOD);
    only_this_port_is_down(*b, bad);
    l.run(1000);
    assert_int_equal(b->notified[bad][MW_HWERR_LATE], 1);
    uint64_t after = l.rate(RATE_CYCLES);
    as_fast_as(before, after);
    assert_true(b->stood_in > 0);
    only_this_port_is_down(*b, bad);
    works_again(*b, l);
}

// Pauses inside a packet, at every flit of every kind. The packet arrives marked as bad, or not at
// all. The rest of it is dropped, and the next one is right.
TEST(pauses_inside_a_packet)
{
    auto b = guarded();
    unsigned n = b->n, bad = static_cast<unsigned>(b->rng() % n), to = (bad + 1) % n;
    load l(*b, bad);
    b->faulty[bad] = true;
    std::vector<uint16_t> t;
    for (unsigned i = 0; i < 12; i++)
        t.push_back(expert(*b, (bad + 1 + i % (n - 1)) % n, i / (n - 1)));
    unsigned count = 0;
    for (unsigned kind = 0; kind < 3; kind++) {
        for (unsigned flits = 1;; flits++) {
            packet p = kind == 0 ? b->store(MW_OP_ST, bad, to, 128)
                                 : b->store(MW_OP_DYMULTIMEM_ST, bad, 0, kind == 1 ? 128 : b->f);
            if (kind)
                p.set_targets(t);
            if (flits >= tb::encode(p, b->f).flits())
                break;
            b->send_with_gap(bad, p, flits, 1 + b->rng() % 20);
            count++;
            b->send(bad, b->store(MW_OP_ST, bad, to, 128));
            b->send(bad, b->make(MW_OP_EVENT, bad, to));
            l.run(100);
        }
    }
    b->finish();
    assert_int_equal(b->dut.down_o, 0);
    assert_int_equal(b->counter(bad, 14), count);
    assert_int_equal(b->counter(bad, 10), b->ports[bad].rejected);
    b->check_counters();
}

// A partial sum with a gap poisons its result. The next one is right.
TEST(pauses_inside_a_partial)
{
    auto b = guarded();
    unsigned n = b->n, bad = 1, r = 0;
    b->faulty[bad] = true;
    b->mute[bad] = true;
    unsigned most = 128 / b->f;
    for (unsigned flits = 16 / b->f; flits < 16 / b->f + most; flits++) {
        for (unsigned k = 0; k < 2; k++) {
            packet q = b->make(MW_OP_DYMULTIMEM_LD_REDUCE, r, 0);
            q.h.len = 128;
            std::vector<uint16_t> t = {expert(*b, bad, 0)};
            if (n > 2)
                t.push_back(expert(*b, 2, 0));
            q.set_targets(t);
            b->send(r, q);
            b->results[r].back().bad = k == 0;
            for (unsigned i = 0; i < 2000 && b->ports[bad].serve[r].empty(); i++)
                b->cycle();
            assert_false(b->ports[bad].serve[r].empty());
            row w = b->ports[bad].serve[r].front();
            b->ports[bad].serve[r].pop_front();
            b->queue_partial(bad, r, w);
            outgoing &o = b->ports[bad].part[r].back();
            if (k == 0) {
                o.stop = flits;
                o.gap = 1 + b->rng() % 5;
            }
            b->cycles(60);
        }
        b->finish();
    }
    assert_int_equal(b->dut.down_o, 0);
    assert_int_equal(b->counter(bad, 14), most);
}

// Stops inside a packet for ever, or never ends it.
TEST(never_ends_a_packet)
{
    for (bool endless : {false, true}) {
        auto b = guarded();
        unsigned n = b->n, bad = static_cast<unsigned>(b->rng() % n);
        load l(*b, bad);
        b->faulty[bad] = true;
        l.run(2000);
        uint64_t before = l.rate(RATE_CYCLES);
        packet p = b->store(MW_OP_ST, bad, (bad + 1) % n, 128);
        if (endless) {
            b->send(bad, p);
            outgoing &o = b->ports[bad].queue[MW_CLS_STORE].back();
            o.wire.data.resize(b->f * 20 * PERIOD, 0x5a);
            tb::wire &w = b->expect[(bad + 1) % n][bad][MW_CLS_STORE].back().wire;
            w.err = true;
            std::fill(w.sure.end() - b->f, w.sure.end(), false);
        } else {
            b->send_with_gap(bad, p, 16 / b->f + 3, hubs::NEVER);
        }
        unsigned took = l.until_down(3 * PERIOD + SLACK);
        assert_true(took >= 2 * PERIOD);
        l.run(SLACK);
        assert_int_equal(b->notified[bad][MW_HWERR_OPEN], 1);
        only_this_port_is_down(*b, bad);
        uint64_t after = l.rate(RATE_CYCLES);
        as_fast_as(before, after);
        works_again(*b, l);
    }
}

// Consecutive invalid packets cost the other ports no cycle, and exceed no time limit. (The ERROR
// packets go only to the port itself.)
TEST(sends_what_is_wrong)
{
    auto b = guarded();
    unsigned n = b->n, bad = static_cast<unsigned>(b->rng() % n), to = (bad + 1) % n;
    load l(*b, bad);
    l.spare = true;
    b->start_percent = 40; // so that no output has as much as it can send
    b->faulty[bad] = true;
    if (n > 2)
        b->set_partition(bad, ~(1u << ((bad + 2) % n)));
    l.run(2000);
    uint64_t before = l.rate(RATE_CYCLES);
    uint64_t end = b->now + RATE_CYCLES + 4000, during = 0;
    unsigned kinds = n > 2 ? 6 : 5;
    uint64_t half = l.sent(), wrong = 0, answered = b->ports[bad].errors_back;
    for (unsigned i = 0; b->now < end; i++) {
        packet p = b->store(MW_OP_DYMULTIMEM_ST, bad, 0, 128);
        uint16_t e = expert(*b, to, 0);
        p.set_targets({e});
        unsigned kind = i % kinds;
        if (kind == 4 && b->now < end - 4000)
            kind =
                0; // these reach their target, marked as bad, and take their share of its downlink
        switch (kind) {
        case 0:
            p.h.opcode = MW_OP_ST | 0xf; // unknown
            break;
        case 1:
            p.h.len = 1000;
            break;
        case 2:
            p.set_targets({});
            break;
        case 3:
            p.set_targets({e, expert(*b, to, 1), e});
            break;
        case 4:
            p.payload.resize(b->f * 3); // shorter than its header states
            break;
        default:
            p.set_targets({e, expert(*b, (bad + 2) % n, 0)});
        }
        b->send(bad, p);
        wrong++;
        if (b->now < end - 4000)
            during = l.sent() - half;
        for (unsigned k = 0; k < 20000 && b->ports[bad].queue[MW_CLS_STORE].size() > 2; k++)
            l.run(1);
        assert_true(b->ports[bad].queue[MW_CLS_STORE].size() <= 2);
    }
    if (n == 2) // ERROR packets take their share of the only downlink
        during += (b->ports[bad].errors_back - answered) * (16 / b->f);
    as_fast_as(before, during);
    assert_true(wrong > 20);
    assert_int_equal(b->dut.down_o, 0);
    b->finish();
    for (unsigned code : {MW_HWERR_OPCODE, MW_HWERR_LENGTH, MW_HWERR_TARGETS, MW_HWERR_DUPLICATE})
        assert_true(b->notified[bad][code] > 0);
    assert_int_equal(b->notified[bad].count(MW_HWERR_PARTITION), n > 2);
    b->check_counters();
}

// A slow port that takes something within the time is not marked down. Without a limit no port is.
TEST(slow_ports_stay_up)
{
    for (unsigned k = 0; k < 2; k++) {
        auto b = guarded(k ? 1 : 20);
        load l(*b, b->n); // no port
        l.red = true;
        b->credit_delay = PERIOD; // a credit returns within 2 periods, links included
        b->serve_percent = 3;
        if (k) {
            b->dut.ctl_limit_i = 0;
            b->sink[0] = false;
        }
        for (unsigned i = 0; i < 20000; i++) {
            for (unsigned s = 0; s < b->n; s++)
                if (b->ports[s].queue[MW_CLS_STORE].size() < 4)
                    b->send(s, b->store(MW_OP_ST, s, l.next(s), 128));
            b->cycle();
        }
        assert_int_equal(b->dut.down_o, 0);
        b->sink[0] = true;
        b->finish();
    }
}

// The port is enabled in the middle of requests for it alone, which wait for the output half of the
// time. Each is left out of its row and discarded, or delivered and answered.
TEST(comes_up_beside_requests)
{
    for (unsigned round = 0; round < 24; round++) {
        auto b = guarded(1 + round % 4);
        unsigned n = b->n, bad = static_cast<unsigned>(b->rng() % n);
        b->faulty[bad] = true;
        auto ask = [&](unsigned cycles) {
            while (cycles--) {
                for (unsigned s = 0; s < n; s++) {
                    if (s == bad || !b->percent(60 * b->f / 16 / (n - 1)))
                        continue;
                    packet r = b->reduction(s, b->f, {expert(*b, bad, 0)});
                    if (b->ports[s].queue[MW_CLS_REQ].empty())
                        b->send(s, r);
                }
                b->cycle();
            }
        };
        ask(100);
        b->disable(bad);
        ask(200 + static_cast<unsigned>(b->rng() % 32));
        only_this_port_is_down(*b, bad);
        b->enable(bad);
        for (uint64_t end = b->now + 5000; b->down[bad] && b->now < end;)
            ask(1);
        assert_int_equal(b->dut.down_o, 0);
        ask(200);
        b->finish();
        assert_true(b->lost > 0 && b->stood_in > 0);
    }
}

// The port is disabled in every phase of its partials. They share a RAM with its stores, so they
// may enter their queues late. No partial is left for the next row.
TEST(partials_come_before_the_end)
{
    auto b = guarded();
    unsigned n = b->n, bad = static_cast<unsigned>(b->rng() % n);
    b->faulty[bad] = true;
    auto some = [&](unsigned cycles, bool ask) {
        while (cycles--) {
            for (unsigned s = 0; s < n; s++) {
                hubs::port &q = b->ports[s];
                if (ask && s != bad && q.queue[MW_CLS_REQ].size() < 2) {
                    packet r = b->reduction(s, 128, {expert(*b, bad, 0)});
                    b->send(s, r);
                }
                if (s == bad && !b->down[bad] && q.queue[MW_CLS_STORE].size() < 4)
                    b->send(s,
                            b->store(MW_OP_ST, s,
                                     (s + 1 + static_cast<unsigned>(b->rng() % (n - 1))) % n, 128));
            }
            b->cycle();
        }
    };
    for (unsigned k = 0; k < 40; k++) {
        some(200 + static_cast<unsigned>(b->rng() % 64), true);
        b->disable(bad);
        some(100, true);
        only_this_port_is_down(*b, bad);
        b->enable(bad);
        for (uint64_t end = b->now + 30000; b->down[bad] && b->now < end;)
            some(1, false);
        assert_int_equal(b->dut.down_o, 0);
    }
    b->finish();
    assert_true(b->lost > 0 && b->stood_in > 0);
}

// All faults, repeatedly: one port misbehaves in some way or is disabled while traffic of all
// classes continues. It is enabled again in the middle of it.
TEST(random_faults)
{
    for (unsigned round = 0; round < 12; round++) {
        auto b = guarded(1 + tb::dice().below(30));
        unsigned n = b->n, bad = static_cast<unsigned>(b->rng() % n);
        load l(*b, bad);
        l.red = true;
        b->faulty[bad] = true;
        b->credit_delay = static_cast<unsigned>(b->rng() % 30);
        b->dut.ctl_window_i =
            static_cast<uint8_t>(b->rng() % 2 ? 0 : b->rng() % (b->most_window + 1));
        for (unsigned k = 0; k < 4; k++) {
            auto own = [&] { // the bad port's own traffic
                if (b->down[bad] || b->ports[bad].queue[MW_CLS_STORE].size() > 3)
                    return;
                l.fill(bad);
                if (b->rng() % 3 == 0)
                    b->send(bad, b->make(MW_OP_EVENT, bad, (bad + 1) % n));
            };
            auto some = [&](unsigned cycles) {
                while (cycles--) {
                    own();
                    l.run(1);
                }
            };
            some(300 + static_cast<unsigned>(b->rng() % 700));
            switch (b->rng() % 4) {
            case 0:
                b->refuse[bad] = 15;
                break;
            case 1:
                b->mute[bad] = true;
                break;
            case 2:
                b->send_with_gap(bad, b->store(MW_OP_ST, bad, (bad + 1) % n, 128),
                                 1 + static_cast<unsigned>(b->rng() % 8), hubs::NEVER);
                break;
            default:
                b->disable(bad);
            }
            uint64_t end = b->now + 12 * PERIOD + 6000;
            while (!b->down[bad] && b->now < end)
                some(1);
            only_this_port_is_down(*b, bad);
            some(static_cast<unsigned>(b->rng() % 2000));
            b->refuse[bad] = 0;
            b->mute[bad] = false;
            b->enable(bad);
            l.until_up(30000);
        }
        b->finish();
        assert_true(b->lost > 0);
    }
}
