// SPDX-License-Identifier: Apache-2.0
//
// tx against random packets of its five sources, at any pace, with credits that come back at any pace: every packet leaves whole, once, in its source's
// order, in consecutive cycles and with the right class; no packet starts without credit, also when cfg lowers the credits; nothing
// starts before it is whole; a link with work has no idle cycle; CTRL goes before REQ before STORE and PART, which alternate, and at most
// 16 others pass a waiting one; the throttle slows by what it says; the stall outputs tell the truth. MW_SEED repeats a run.

#include "Vtx.h"
#include "verilated.h"

#include "hub_bench.h"

static const unsigned F = sizeof(Vtx::st_data_i);
static const unsigned HF = 16 / F;
enum { CTL, REQ, ST, SST, PART, SOURCES };
static const unsigned CLASS[SOURCES] = {MW_CLS_CTRL, MW_CLS_REQ, MW_CLS_STORE, MW_CLS_STORE,
                                        MW_CLS_PART};

struct traffic {
    unsigned packets[SOURCES]; // to send
    unsigned pace;             // percent of cycles in which a source that may pause does not
    unsigned back;             // percent of cycles in which a credit of a class comes back
    unsigned store_credits, ctrl_credits, throttle;
};

class bench {
  public:
    bench(uint64_t s, const traffic &with) : t(with), rng(s)
    {
        for (unsigned i = 0; i < SOURCES; i++) {
            for (unsigned p = 0; p < t.packets[i]; p++)
                src[i].packets.push_back(make(i));
            total += t.packets[i];
        }
        cfg.set("store_credits", t.store_credits);
        cfg.set("ctrl_credits", t.ctrl_credits);
        cfg.set("throttle", t.throttle);
        cfg.set("part_credits", rng() % 256);
        reset();
    }

    void run()
    {
        unsigned quiet = 0;
        while (done < total) {
            unsigned before = done;
            cycle();
            quiet = done == before ? quiet + 1 : 0;
            assert_true(quiet < 20000);
        }
        for (unsigned i = 0; i < 200; i++)
            cycle();
        assert_int_equal(done, total);
        assert_true(dut.idle_o && !dut.up_valid_o && dut.link_idle_o);
        assert_true(open.empty());
    }

    // Behind run(): every credit that was spent has come back once. While none comes back, as many packets leave as there are credits.
    void spend_all()
    {
        t.back = 100;
        while (used[MW_CLS_STORE] || used[MW_CLS_CTRL])
            cycle();
        t.back = 0;
        unsigned want = done + limit(MW_CLS_STORE) + limit(MW_CLS_CTRL);
        for (unsigned s : {CTL, ST}) {
            unsigned count = limit(s == CTL ? MW_CLS_CTRL : MW_CLS_STORE) + 2;
            for (unsigned p = 0; p < count; p++)
                src[s].packets.push_back(make(s));
            total += count;
        }
        for (unsigned quiet = 0, before = done; quiet < 3000; before = done) {
            cycle();
            quiet = done == before ? quiet + 1 : 0;
        }
        assert_int_equal(done, want);
        t.back = 100;
        run();
    }

    uint64_t first = 0, last = 0, flits = 0, starts = 0, store_stalls = 0;
    std::vector<unsigned> classes, sources; // of the packets, in the order of the link

  private:
    struct source {
        std::deque<bytes> packets;
        std::deque<bytes> sent; // handed over completely, not yet on the link
        size_t at = 0;          // next byte of the first packet
        bool valid = false;
    };

    unsigned below(unsigned n) { return static_cast<unsigned>(rng() % n); }
    bool percent(unsigned x) { return rng() % 100 < x; }

    bytes make(unsigned s)
    {
        static const unsigned op[SOURCES] = {MW_OP_SIGNAL, MW_OP_DYMULTIMEM_LD_REDUCE,
                                             MW_OP_DYMULTIMEM_ST, MW_OP_ST, MW_OP_PARTIAL};
        struct mw_header h = {};
        h.opcode = op[s];
        h.tag = below(256);
        h.addr = rng() & 0xffffffffffffu;
        h.dst = below(32);
        h.src = s; // tells the checker whose it is
        std::vector<uint16_t> targets(s == REQ || s == ST ? 1 + below(16) : 0);
        for (uint16_t &x : targets)
            x = static_cast<uint16_t>(rng());
        bytes payload(s == CTL || s == REQ ? 0 : s == ST && t.pace == 100 ? 128 : 1 + below(128));
        for (uint8_t &b : payload)
            b = static_cast<uint8_t>(rng());
        if (s == ST && t.pace != 100 && below(8) == 0)
            payload.clear(); // FLAG and FENCE have none
        return make_packet(F, h, targets, payload).data;
    }

    void reset()
    {
        dut.clk_i = 0;
        dut.rst_ni = 0;
        dut.go_i = 0;
        dut.crd_i = 0;
        dut.crd_part_i = 0;
        cfg.drive(dut.cfg_i);
        drive();
        edge();
        edge();
        dut.rst_ni = 1;
        dut.go_i = 1;
        edge();
        dut.go_i = 0;
    }

    // other: a source on the same wires
    template <class Port>
    void offer(unsigned s, Port &data, uint8_t &valid, uint8_t *is_last, unsigned other = SOURCES)
    {
        source &q = src[s];
        bool may_pause = (s != PART && s != SST) || q.at == 0;
        if (!q.valid)
            q.valid = !q.packets.empty() && (!may_pause || percent(t.pace)) &&
                      (other == SOURCES || (!src[other].valid && src[other].at == 0));
        valid = q.valid && dut.rst_ni;
        if (!q.valid)
            return;
        put(data, q.packets[0].data() + q.at);
        if (is_last)
            *is_last = q.at + sizeof(Port) == q.packets[0].size();
    }

    void drive()
    {
        offer(CTL, dut.ctl_header_i, dut.ctl_valid_i, nullptr);
        offer(REQ, dut.req_data_i, dut.req_valid_i, &dut.req_last_i);
        offer(ST, dut.st_data_i, dut.st_valid_i, &dut.st_last_i);
        bool sst_first = percent(50);
        if (sst_first)
            offer(SST, dut.part_data_i, dut.sst_valid_i, &dut.part_last_i, PART);
        offer(PART, dut.part_data_i, dut.part_valid_i, &dut.part_last_i, SST);
        if (!sst_first)
            offer(SST, dut.part_data_i, dut.sst_valid_i, &dut.part_last_i, PART);
        dut.crd_i = 0;
        if (used[MW_CLS_CTRL] > 0 && percent(t.back))
            dut.crd_i |= 1u << MW_CLS_CTRL;
        if (used[MW_CLS_STORE] > 0 && percent(t.back))
            dut.crd_i |= 1u << MW_CLS_STORE;
        if (percent(20))
            dut.crd_i |= 1u << MW_CLS_PART;
        if (percent(5))
            dut.crd_i |= 1u << MW_CLS_REQ; // means nothing
        dut.crd_part_i = static_cast<uint8_t>(below(32));
    }

    void cycle()
    {
        drive();
        dut.eval();
        assert_int_equal(dut.part_crd_valid_o, dut.crd_i >> MW_CLS_PART & 1);
        if (dut.part_crd_valid_o)
            assert_int_equal(dut.part_crd_port_o, dut.crd_part_i);
        assert_int_equal(dut.part_empty_o, !dut.part_valid_i);
        assert_int_equal(dut.link_idle_o, !dut.up_valid_o);
        link();
        stalls();
        for (unsigned c = 0; c < 4; c++) {
            if (c != MW_CLS_PART && c != MW_CLS_REQ && dut.crd_i >> c & 1)
                used[c]--;
        }
        moved(CTL, dut.ctl_valid_i && dut.ctl_ready_o, 16);
        moved(REQ, dut.req_valid_i && dut.req_ready_o, F);
        moved(ST, dut.st_valid_i && dut.st_ready_o, F);
        moved(SST, dut.sst_valid_i && dut.sst_ready_o, F);
        moved(PART, dut.part_valid_i && dut.part_ready_o, F);
        edge();
        now++;
    }

    void moved(unsigned s, bool fire, size_t step)
    {
        source &q = src[s];
        if (!fire)
            return;
        q.at += step;
        q.valid = false;
        if (q.at < q.packets[0].size())
            return;
        q.sent.push_back(q.packets[0]);
        q.packets.pop_front();
        q.at = 0;
    }

    unsigned limit(unsigned cls) const
    {
        unsigned want = cls == MW_CLS_STORE ? t.store_credits : t.ctrl_credits;
        return want == 0 || want > 16 ? 16 : want;
    }

    // The link: what is there was chosen a cycle before.
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
        unsigned c = dut.up_cls_o;
        classes.push_back(c);
        starts++;
        if (c == MW_CLS_CTRL || c == MW_CLS_STORE)
            assert_true(++used[c] <= limit(c));
    }

    void finish()
    {
        struct mw_header h;
        uint64_t w[2];
        memcpy(w, open.data(), 16);
        mw_header_unpack(&h, w);
        assert_true(h.src < SOURCES);
        source &q = src[h.src];
        assert_int_equal(dut.up_cls_o, CLASS[h.src]);
        // part and ctl go through: their last flit is taken in the cycle before it is on the link
        assert_false(q.sent.empty());
        assert_true(open == q.sent.front());
        q.sent.pop_front();
        sources.push_back(h.src);
        open.clear();
        done++;
    }

    // A stall is told only while no credit is left; a control packet without credit is always a stall unless it is on its way.
    void stalls()
    {
        if (dut.stall_store_o)
            assert_true(used[MW_CLS_STORE] + pending(MW_CLS_STORE) >= limit(MW_CLS_STORE));
        if (dut.stall_ctrl_o)
            assert_true(dut.ctl_valid_i &&
                        used[MW_CLS_CTRL] + pending(MW_CLS_CTRL) >= limit(MW_CLS_CTRL));
        if (dut.up_valid_o && !dut.up_last_o && dut.up_cls_o == MW_CLS_STORE)
            assert_false(dut.stall_store_o); // on its way
        store_stalls += dut.stall_store_o;
    }

    // A packet that was chosen and is not on the link yet can hold one credit.
    unsigned pending(unsigned) const { return 1; }

    void edge()
    {
        dut.clk_i = 1;
        dut.eval();
        dut.clk_i = 0;
        dut.eval();
    }

    Vtx dut;
    node_cfg cfg;
    traffic t;
    std::mt19937_64 rng;
    source src[SOURCES];
    bytes open;
    unsigned used[4] = {}, total = 0, done = 0;
    uint64_t now = 1;
};

static void test_random(void **state)
{
    (void)state;
    static const unsigned paces[] = {100, 80, 40, 10};
    std::mt19937_64 rng(seed);
    for (unsigned r = 0; r < 60; r++) {
        traffic t = {};
        for (unsigned &p : t.packets)
            p = static_cast<unsigned>(rng() % 60);
        t.pace = paces[rng() % 4];
        t.back = paces[rng() % 4];
        t.store_credits =
            rng() % 2 ? static_cast<unsigned>(rng() % 20) : static_cast<unsigned>(rng() % 256);
        t.ctrl_credits =
            rng() % 2 ? static_cast<unsigned>(rng() % 20) : static_cast<unsigned>(rng() % 256);
        t.throttle = rng() % 3 ? 0 : static_cast<unsigned>(rng() % 250);
        std::unique_ptr<bench> b(new bench(rng(), t));
        b->run();
        b->spend_all();
    }
}

// All sources always have a packet and credits come back at once: no idle cycle, and the classes in their order.
static void test_saturated(void **state)
{
    (void)state;
    traffic t = {{300, 300, 200, 100, 300}, 100, 100, 0, 0, 0};
    std::unique_ptr<bench> b(new bench(seed + 1, t));
    b->run();
    assert_int_equal(b->last - b->first + 1, b->flits);
    unsigned high = 0, most = 0, lows = 0;
    for (size_t i = 0; i < b->classes.size() && i < 500; i++) {
        bool low = b->classes[i] == MW_CLS_STORE || b->classes[i] == MW_CLS_PART;
        high = low ? 0 : high + 1;
        most = std::max(most, high);
        lows += low;
    }
    assert_in_range(most, 16, 17); // 17 only before the first low packet was whole
    assert_in_range(lows, 500 / 18, 500 / 17);
}

// Stores and partials alone take turns; either alone has the whole link.
static void test_low_classes(void **state)
{
    (void)state;
    traffic both = {{0, 0, 100, 0, 100}, 100, 100, 0, 0, 0};
    std::unique_ptr<bench> b(new bench(seed + 2, both));
    b->run();
    for (size_t i = 4; i + 1 < 190; i++)
        assert_int_not_equal(b->classes[i], b->classes[i + 1]);
    assert_int_equal(b->last - b->first + 1, b->flits);
    traffic stores = {{0, 0, 100, 100, 0}, 100, 100, 0, 0, 0};
    std::unique_ptr<bench> two(new bench(seed + 5, stores));
    two->run();
    for (size_t i = 4; i + 1 < 190; i++)
        assert_int_not_equal(two->sources[i], two->sources[i + 1]);
    traffic store = {{0, 0, 200, 0, 0}, 100, 100, 0, 0, 0},
            part = {{0, 0, 0, 0, 200}, 100, 100, 0, 0, 0};
    std::unique_ptr<bench> s(new bench(seed + 3, store)), p(new bench(seed + 4, part));
    s->run();
    assert_true(s->last - s->first + 1 <=
                s->flits + (F == 8 ? 4 : 2)); // a longer packet behind the first is whole later
    p->run();
    assert_int_equal(p->last - p->first + 1, p->flits);
}

static void test_throttle(void **state)
{
    (void)state;
    for (unsigned throttle = 64; throttle <= 192; throttle += 64) {
        traffic t = {{0, 0, 0, 0, 2000}, 100, 100, 0, 0, throttle};
        std::unique_ptr<bench> b(new bench(seed + throttle, t));
        b->run();
        double idle =
            static_cast<double>(b->last - b->first + 1 - b->flits) / static_cast<double>(b->starts);
        double want = throttle / (256.0 - throttle);
        printf("throttle %u: %.3f cycles put off per packet, %.3f expected\n", throttle, idle,
               want);
        assert_true(idle > 0.7 * want && idle < 1.35 * want);
    }
}

static void test_store_stall(void **state)
{
    (void)state;
    traffic t = {{0, 0, 50, 0, 0}, 100, 2, 1, 0, 0};
    std::unique_ptr<bench> b(new bench(seed + 9, t));
    b->run();
    assert_true(b->store_stalls > 500);
}

int main(void)
{
    seed_from_env();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),      cmocka_unit_test(test_saturated),
        cmocka_unit_test(test_low_classes), cmocka_unit_test(test_throttle),
        cmocka_unit_test(test_store_stall),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
