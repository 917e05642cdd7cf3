// SPDX-License-Identifier: Apache-2.0
//
// tx with random packets of its six sources, at any rate, and credits that return at any rate.
// Checked:
// - Every packet leaves complete, once, in its source's order, in consecutive cycles and with the
//   right class.
// - No packet starts without credit, even when cfg reduces the credits.
// - No packet starts before it is complete.
// - A link with work has no idle cycle.
// - CTRL goes before REQ, and REQ before STORE and PART, which alternate. At most 16 others pass a
//   waiting packet.
// - Gradients do not wait for dispatch that is held.
// - The throttle delays as configured.
// - The stall outputs are right.
//
// MW_SEED repeats a run.
#include "bench/credits.h"
#include "bench/stream.h"
#include "node_cfg.h"

#include <algorithm>

using namespace tb;

static const unsigned F = sizeof(Vtx::st_data_i);
enum { CTL, REQ, ST, SST, PART, DW, SOURCES };
enum { SUM_PART = 1, SUM_STORE = 2 }; // bits of sum_valid_i, sum_ready_o
static const unsigned CLASS[SOURCES] = {MW_CLS_CTRL,  MW_CLS_REQ,  MW_CLS_STORE,
                                        MW_CLS_STORE, MW_CLS_PART, MW_CLS_STORE};

struct traffic {
    unsigned packets[SOURCES]; // to send
    unsigned rate;             // percent of cycles without a pause, for sources that may pause
    unsigned back;             // percent of cycles in which a credit of a class returns
    unsigned store_credits, ctrl_credits, throttle;
    // dispatch_throttle: whether it is on, its limits in rows and cycles, and the counts (tokens 0:
    // none)
    unsigned throttle_on = 0, ahead = 0, lead = 0, idle = 0, row_packets = 0, tokens = 0, rows = 0;
    bool late = false;    // packets leave before the constants are ready
    bool returns = false; // rows return to their homes
    unsigned hold =
        0; // percent of the cycles in which none may start, as a link that is slower says
};

struct uplink : model<Vtx> {
    explicit uplink(const traffic &with) : t(with)
    {
        src[PART].pauses = src[SST].pauses = src[DW].pauses = false;
        dut.ctl_valid_i = dut.req_valid_i = dut.st_valid_i = dut.sum_valid_i = dut.dw_valid_i = 0;
        dut.crd_cls_i = 0;
        dut.hold_i = 0;
        dut.share_valid_i = dut.go_i = 0;
        reset();
        begin();
    }

    // Begins a layer of this traffic. The same traffic has the same packets again.
    void begin(const traffic &with)
    {
        t = with;
        begin();
    }

  private:
    void begin()
    {
        content = dice(7);
        begun.clear();
        sources.clear();
        for (unsigned s = 0; s < SOURCES; s++)
            add(s, t.packets[s]);
        cfg.set("store_credits", t.store_credits);
        cfg.set("ctrl_credits", t.ctrl_credits);
        cfg.set("throttle", t.throttle);
        cfg.set("part_credits", below(256));
        cfg.set("dispatch_throttle", t.throttle_on);
        cfg.set("throttle_ahead", t.ahead);
        cfg.set("throttle_lead", t.lead);
        cfg.set("throttle_idle", t.idle);
        cfg.set("row_bytes", 128 * t.row_packets);
        cfg.set("row_returns", t.returns);
        cfg.drive(dut.cfg_i);
        dut.ctl_valid_i = dut.req_valid_i = dut.st_valid_i = dut.sum_valid_i = dut.dw_valid_i = 0;
        dut.crd_cls_i = 0;
        dut.hold_i = 0;
        dut.share_valid_i = 0;
        dut.go_i = 1;
        settle();
        edge();
        dut.go_i = 0;
        if (t.throttle_on && t.tokens) { // constants are ready before the first packet
            dut.share_valid_i = 1;
            dut.share_tokens_i = static_cast<uint16_t>(t.tokens);
            dut.share_rows_i = static_cast<uint16_t>(t.rows);
            settle();
            for (unsigned i = 0; i < (t.late ? 0 : 300); i++) {
                settle();
                edge();
            }
        }
        from = now;
    }

  public:
    void run()
    {
        until(
            "packets on the link", 20000, [&] { return done == total; }, [&] { return done; });
        cycles(200);
        assert_int_equal(done, total);
        assert_true(dut.idle_o && !dut.up_valid_o);
        assert_true(open.empty());
    }

    // After run(), every credit that was spent has returned once. Without returning credits, as
    // many packets leave as there are credits.
    void spend_all()
    {
        t.back = 100;
        until("credits", 1000, [&] { return !store.used() && !ctrl.used(); });
        t.back = 0;
        unsigned want = done + store.limit + ctrl.limit;
        add(CTL, ctrl.limit + 2);
        add(ST, store.limit + 2);
        for (unsigned quiet = 0, before = done; quiet < 3000; before = done) {
            cycle();
            quiet = done == before ? quiet + 1 : 0;
        }
        assert_int_equal(done, want);
        t.back = 100;
        run();
    }

    uint64_t from = 0;   // the cycle in which the layer's packets start to come
    bool steady = false; // what comes of two sources on the same wires does not depend on chance
    uint64_t first = 0, last = 0, flits = 0, starts = 0, store_stalls = 0;
    std::vector<uint64_t> begun, ended;     // when each packet was on the link first and last
    std::vector<unsigned> classes, sources; // of the packets, in the order of the link

  private:
    void add(unsigned s, unsigned count)
    {
        total += count;
        while (count--) {
            packet p = make(s);
            expect[s].push_back(encode(p, F).data);
            src[s].queue.push_back(encode(p, s == CTL ? 16 : F));
        }
    }

    packet make(unsigned s)
    {
        static const unsigned op[SOURCES] = {MW_OP_SIGNAL,        MW_OP_DYMULTIMEM_LD_REDUCE,
                                             MW_OP_DYMULTIMEM_ST, MW_OP_ST,
                                             MW_OP_PARTIAL,       MW_OP_ST};
        packet p = {header(op[s])};
        p.h.tag = content.below(256);
        p.h.addr = content.bits(48);
        p.h.dst = content.below(32);
        p.h.src = s; // shows its source to the checker
        p.targets.resize(s == REQ || s == ST ? 1 + content.below(16) : 0);
        for (uint16_t &x : p.targets)
            x = static_cast<uint16_t>(content());
        if (s != CTL && s != REQ)
            p.payload = content.some(s == DW                    ? 4
                                     : s == ST && t.rate == 100 ? 128
                                                                : 1 + content.below(128));
        if (s == ST && t.rate != 100 && content.one_in(8))
            p.payload.clear(); // FLAG and FENCE have none
        return p;
    }

    void drive() override
    {
        uint8_t none;
        for (unsigned s : {CTL, REQ, ST, SST, PART, DW})
            src[s].rate = t.rate;
        src[CTL].drive(rng, dut.ctl_valid_i, dut.ctl_header_i, none);
        src[REQ].drive(rng, dut.req_valid_i, dut.req_data_i, dut.req_last_i);
        src[ST].drive(rng, dut.st_valid_i, dut.st_data_i, dut.st_last_i);
        src[DW].drive(rng, dut.dw_valid_i, dut.dw_data_i, dut.dw_last_i);
        // two sources on the same wires
        dut.sum_valid_i = 0;
        unsigned turn =
            src[SST].busy() || (!src[PART].busy() && (steady ? (now - from) & 1 : percent(50)))
                ? SST
                : PART;
        for (unsigned s : {turn, SST + PART - turn}) {
            uint8_t valid;
            if (src[s].drive(rng, valid, dut.sum_data_i, dut.sum_last_i)) {
                dut.sum_valid_i = s == SST ? SUM_STORE : SUM_PART;
                break;
            }
        }
        held = dut.hold_i;
        // all sources have a packet before the first one starts
        dut.hold_i = steady ? now - from < 60 : percent(t.hold);
        dut.crd_cls_i = 0;
        if (ctrl.used() && percent(t.back))
            dut.crd_cls_i |= 1u << MW_CLS_CTRL;
        if (store.used() && percent(t.back))
            dut.crd_cls_i |= 1u << MW_CLS_STORE;
        if (percent(20))
            dut.crd_cls_i |= 1u << MW_CLS_PART;
        if (percent(5))
            dut.crd_cls_i |= 1u << MW_CLS_REQ; // means nothing
        dut.crd_part_i = static_cast<uint8_t>(below(32));
    }

    void sample() override
    {
        assert_int_equal(dut.count_part_empty_o, !(dut.sum_valid_i & SUM_PART));
        link();
        stalls();
        if (dut.crd_cls_i >> MW_CLS_CTRL & 1)
            ctrl.give_back();
        if (dut.crd_cls_i >> MW_CLS_STORE & 1)
            store.give_back();
        handed[CTL] += src[CTL].taken(dut.ctl_ready_o);
        handed[REQ] += src[REQ].taken(dut.req_ready_o);
        handed[ST] += src[ST].taken(dut.st_ready_o);
        handed[SST] += src[SST].taken(dut.sum_ready_o & SUM_STORE);
        handed[DW] += src[DW].taken(dut.dw_ready_o);
        handed[PART] += src[PART].taken(dut.sum_ready_o & SUM_PART);
    }

    static unsigned limit(unsigned want) { return want == 0 || want > 16 ? 16 : want; }

    // Checks the link, whose flit was chosen a cycle before.
    void link()
    {
        if (!dut.up_valid_o) {
            assert_true(open.empty());
            return;
        }
        assert_int_equal(dut.up_err_o, 0);
        if (open.empty())
            start();
        assert_int_equal(dut.up_cls_o, classes.back());
        bytes f = get(dut.up_data_o);
        open.insert(open.end(), f.begin(), f.end());
        flits++;
        if (!first)
            first = now;
        last = now;
        if (dut.up_last_o)
            finish();
    }

    void start()
    {
        assert_false(held);
        classes.push_back(dut.up_cls_o);
        begun.push_back(now);
        starts++;
        if (dut.up_cls_o == MW_CLS_CTRL)
            ctrl.spend();
        if (dut.up_cls_o == MW_CLS_STORE)
            store.spend();
    }

    void finish()
    {
        unsigned s = header_of(open).src;
        assert_true(s < SOURCES);
        assert_int_equal(dut.up_cls_o, CLASS[s]);
        // part and ctl pass through: their last flit is taken in the cycle before it is on the link
        assert_true(handed[s] > 0);
        handed[s]--;
        assert_true(open == expect[s].front());
        expect[s].pop_front();
        sources.push_back(s);
        ended.push_back(now);
        open.clear();
        done++;
    }

    // A stall is reported only while no credit is left. A control packet without credit is always a
    // stall, unless it is on its way. A packet that was chosen and is not on the link yet can hold
    // one credit.
    void stalls()
    {
        if (dut.count_stall_store_o)
            assert_true(store.left() <= 1);
        if (dut.count_stall_ctrl_o)
            assert_true(dut.ctl_valid_i && ctrl.left() <= 1);
        if (dut.up_valid_o && !dut.up_last_o && dut.up_cls_o == MW_CLS_STORE)
            assert_false(dut.count_stall_store_o); // on its way
        store_stalls += dut.count_stall_store_o;
    }

    node_cfg cfg;
    traffic t;
    dice content{7};
    packet_source src[SOURCES];
    std::deque<bytes> expect[SOURCES];
    unsigned handed[SOURCES] = {}; // packets handed over completely, not yet on the link
    bytes open;
    credits store{"STORE", limit(t.store_credits)}, ctrl{"CTRL", limit(t.ctrl_credits)};
    unsigned total = 0, done = 0;
    bool held = false; // in the previous cycle
};

TEST(random)
{
    dice rng;
    for (unsigned r = 0; r < 60; r++) {
        traffic t = {};
        for (unsigned &p : t.packets)
            p = rng.below(60);
        t.packets[DW] *= PARAM_GateGradients;
        t.rate = rng.pick({100, 80, 40, 10});
        t.back = rng.pick({100, 80, 40, 10});
        t.store_credits = rng.below(rng.pick({20, 256}));
        t.ctrl_credits = rng.below(rng.pick({20, 256}));
        t.throttle = rng.one_in(3) ? rng.below(250) : 0;
        t.throttle_on = rng.below(2);
        t.ahead = rng.pick({0u, 1u, 2u, 5u, 0xffffu});
        t.lead = rng.pick({0u, 1u, 3u, 0xffffu});
        t.idle = rng.pick({0u, 1u, 20u, 300u});
        t.row_packets = rng.between(1, 9);
        t.tokens = rng.below(20);
        t.rows = rng.below(20);
        t.late = rng.below(2);
        t.hold = rng.pick({0, 0, 10, 60});
        t.returns = rng.below(2);
        uplink b(t);
        b.run();
        b.spend_all();
    }
}

// All sources always have a packet, and credits return at once. No cycle is idle, and the classes
// keep their order.
TEST(saturated)
{
    traffic t = {{300, 300, 200, 100, 300}, 100, 100, 0, 0, 0};
    uplink b(t);
    b.run();
    assert_int_equal(b.last - b.first + 1, b.flits);
    unsigned high = 0, most = 0, lows = 0;
    for (size_t i = 0; i < b.classes.size() && i < 500; i++) {
        bool low = b.classes[i] == MW_CLS_STORE || b.classes[i] == MW_CLS_PART;
        high = low ? 0 : high + 1;
        most = std::max(most, high);
        lows += low;
    }
    assert_in_range(most, 16, 17); // 17 only before the first low packet was whole
    assert_in_range(lows, 500 / 18, 500 / 17);
}

// Only stores and partials alternate. Either alone has the whole link.
TEST(low_classes)
{
    traffic both = {{0, 0, 100, 0, 100}, 100, 100, 0, 0, 0};
    uplink b(both);
    b.run();
    for (size_t i = 4; i + 1 < 190; i++)
        assert_int_not_equal(b.classes[i], b.classes[i + 1]);
    assert_int_equal(b.last - b.first + 1, b.flits);
    traffic stores = {{0, 0, 100, 100, 0}, 100, 100, 0, 0, 0};
    uplink two(stores);
    two.run();
    for (size_t i = 4; i + 1 < 190; i++)
        assert_int_not_equal(two.sources[i], two.sources[i + 1]);
    // where rows return, two of them go for each of the queue
    traffic rows = {{0, 0, 60, 120, 0}, 100, 100, 0, 0, 0};
    rows.returns = true;
    uplink returned(rows);
    returned.run();
    for (size_t i = 6; i + 2 < 170; i++)
        assert_int_equal((returned.sources[i] == ST) + (returned.sources[i + 1] == ST) +
                             (returned.sources[i + 2] == ST),
                         1);
    traffic store = {{0, 0, 200, 0, 0}, 100, 100, 0, 0, 0},
            part = {{0, 0, 0, 0, 200}, 100, 100, 0, 0, 0};
    uplink s(store), p(part);
    s.run();
    assert_true(s.last - s.first + 1 <=
                s.flits + (F == 8 ? 4 : 2)); // a longer packet behind the first is whole later
    p.run();
    assert_int_equal(p.last - p.first + 1, p.flits);
}

TEST(throttle)
{
    for (unsigned throttle = 64; throttle <= 192; throttle += 64) {
        traffic t = {{0, 0, 0, 0, 2000}, 100, 100, 0, 0, throttle};
        uplink b(t);
        b.run();
        double idle =
            static_cast<double>(b.last - b.first + 1 - b.flits) / static_cast<double>(b.starts);
        double want = throttle / (256.0 - throttle);
        printf("throttle %u: %.3f cycles put off per packet, %.3f expected\n", throttle, idle,
               want);
        assert_true(idle > 0.7 * want && idle < 1.35 * want);
    }
}

TEST(store_stall)
{
    traffic t = {{0, 0, 50, 0, 0}, 100, 2, 1, 0, 0};
    uplink b(t);
    b.run();
    assert_true(b.store_stalls > 500);
}

static long lead_of(const traffic &t, long dispatch, long partials)
{
    return dispatch * t.rows * t.row_packets - partials * t.tokens * (t.row_packets + 1);
}

// Both always have packets. Dispatch is ahead by t.lead rows, within a few packets, until one of
// them ends.
TEST(in_step)
{
    dice rng;
    for (unsigned r = 0; r < 12; r++) {
        traffic t = {{0, 0, 0, 0, 0}, 100, 100, 0, 0, 0};
        t.throttle_on = 1;
        t.idle = 256;
        t.ahead = rng.pick({0u, 4u});
        t.lead = rng.between(1, 4);
        t.row_packets = rng.between(1, 8);
        t.tokens = rng.between(10, 40);
        t.rows = rng.between(10, 40);
        t.packets[ST] = t.tokens * (t.row_packets + 1);
        t.packets[PART] = t.rows * t.row_packets;
        uplink b(t);
        b.run();
        const long row = t.lead * lead_of(t, t.row_packets + 1, 0), up = lead_of(t, 1, 0),
                   down = -lead_of(t, 0, 1);
        long dispatch = 0, partials = 0, settled = 0;
        for (unsigned s : b.sources) {
            (s == ST ? dispatch : partials)++;
            const long lead = lead_of(t, dispatch, partials);
            // Dispatch packets in the queue have any length, so the first ones are late.
            settled += lead >= row - down;
            if (settled && dispatch < t.packets[ST] && partials < t.packets[PART])
                assert_in_range(lead + 8 * row, 8 * row + row - 2 * down - up,
                                8 * row + row + 2 * up);
        }
        assert_true(settled > 0);
    }
}

// Without partial sums dispatch goes as far ahead as it may. Then a row goes whenever the link was
// idle long enough. Other stores pass it, and only what is in its queue waits.
TEST(held)
{
    dice rng;
    for (unsigned r = 0; r < 12; r++) {
        traffic t = {{0, 0, 0, 0, 0}, 100, 100, 0, 0, 0};
        t.throttle_on = 1;
        t.idle = rng.pick({5u, 40u, 256u});
        t.ahead = rng.between(1, 6);
        t.lead = rng.between(0, 7);
        t.row_packets = rng.between(1, 8);
        t.tokens = 40;
        t.rows = rng.between(1, 40);
        t.late = rng.below(2);
        const unsigned row = t.row_packets + 1;
        t.packets[ST] = row * (t.ahead + 4);
        uplink b(t);
        b.run();
        std::vector<unsigned> runs(1, 1);
        for (size_t i = 1; i < b.begun.size(); i++) {
            const uint64_t gap = b.begun[i] - b.ended[i - 1];
            if (gap > t.idle) {
                assert_true(gap <= t.idle + 30 + (t.late ? 300 : 0));
                runs.push_back(0);
            }
            runs.back()++;
        }
        if (!t.late)
            assert_in_range(runs[0], t.ahead * row + 1, t.ahead * row + 2);
        for (size_t i = 1; i + 1 < runs.size(); i++)
            assert_int_equal(runs[i], row);
        assert_true(t.late || runs.size() >= 4);
        t.packets[SST] = 30;
        uplink two(t);
        two.run();
    }
}

// Gradients leave while dispatch is held for ever. Each follows at most one other store and as many
// partial sums.
TEST(gradients_pass)
{
    if (!PARAM_GateGradients)
        SKIP("it takes GateGradients");
    traffic t = {{0, 0, 30, 0, 0, 40}, 100, 100, 0, 0, 0};
    t.throttle_on = 1;
    t.idle = 0xffff;
    t.ahead = t.lead = 1;
    t.row_packets = 1;
    t.tokens = t.rows = 10;
    uplink b(t);
    b.until(
        "gradients", 2000, [&] { return std::count(b.sources.begin(), b.sources.end(), DW) == 40; },
        [&] { return b.sources.size(); });
    assert_true(std::count(b.sources.begin(), b.sources.end(), ST) < 8);
    for (bool throttled : {false, true}) {
        traffic all = {{0, 0, 100, 100, 100, 100}, 100, 100, 0, 0, 0};
        all.throttle_on = throttled;
        all.row_packets = 1;
        all.lead = 100;
        all.tokens = all.rows = 50;
        uplink full(all);
        full.run();
        unsigned between = 0, most = 0, first = 0;
        for (size_t i = 0; i < full.sources.size() && first < 100; i++) {
            between = full.sources[i] == DW ? 0 : between + 1;
            first += full.sources[i] == DW;
            most = std::max(most, between);
        }
        assert_int_equal(most, 3);
    }
}

// A gradient before each of them does not change the turns of row_sum's stores and the queue.
TEST_IF(PARAM_GateGradients, stores_take_turns_behind_gradients)
{
    for (unsigned sums : {1u, 2u}) { // for each of the queue
        traffic t = {{0, 0, 60, sums * 60, 0, 200}, 100, 100, 0, 0, 0};
        t.returns = sums == 2;
        uplink b(t);
        b.run();
        std::vector<unsigned> stores;
        for (size_t i = 0; i < b.sources.size(); i++) {
            if (b.sources[i] == DW)
                continue;
            stores.push_back(b.sources[i]);
            assert_true(i == 0 || b.sources[i - 1] == DW || stores.size() < 6 ||
                        stores.size() > 190);
        }
        for (size_t i = 6; i < 60; i++)
            assert_int_equal(std::count(stores.begin() + static_cast<long>(i),
                                        stores.begin() + static_cast<long>(i + sums + 1),
                                        unsigned{ST}),
                             1);
    }
}

// A layer takes the same cycles whatever the previous one was. Turns, throttle and dispatch
// throttle restart with each layer.
TEST(layers_begin_alike)
{
    dice rng;
    for (unsigned r = 0; r < 20; r++) {
        traffic t = {{20, 20, 40, 30, 40}, 100, 100, 0, 0, 0}, before = t;
        t.throttle = r % 3 == 2 ? 100 : 0;
        t.throttle_on = rng.below(2);
        t.ahead = rng.below(3);
        t.lead = rng.below(4);
        t.idle = 20;
        t.row_packets = rng.between(1, 4);
        t.tokens = rng.between(1, 20);
        t.rows = rng.between(1, 20);
        for (unsigned &p : before.packets)
            p = rng.below(30);
        before.packets[DW] = PARAM_GateGradients * 15; // the last one, perhaps
        t.packets[DW] = PARAM_GateGradients * 20;
        before.throttle_on = rng.below(2);
        before.row_packets = before.tokens = before.rows = 7;
        before.lead = 1;
        t.returns = rng.below(2);
        before.returns = rng.below(2);
        uplink fresh(t), used(before);
        fresh.steady = used.steady = true;
        fresh.run();
        used.run();
        used.begin(t);
        used.run();
        assert_true(fresh.sources == used.sources);
        assert_int_equal(fresh.begun.size(), used.begun.size());
        for (size_t i = 0; i < fresh.begun.size(); i++)
            assert_int_equal(fresh.begun[i] - fresh.from, used.begun[i] - used.from);
    }
}

// Before the counts are present, and without a dispatch throttle, they alternate.
TEST(not_in_step_yet)
{
    for (unsigned on : {0u, 1u}) {
        traffic t = {{0, 0, 100, 0, 100}, 100, 100, 0, 0, 0};
        t.throttle_on = on;
        t.ahead = 1;
        t.row_packets = 4;
        t.tokens = on ? 0 : 10;
        t.rows = 10;
        uplink b(t);
        b.run();
        for (size_t i = 4; i + 1 < 190; i++)
            assert_int_not_equal(b.classes[i], b.classes[i + 1]);
    }
}
