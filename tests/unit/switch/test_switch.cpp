// SPDX-License-Identifier: Apache-2.0
//
// switch_top between links, built in several sizes: every opcode and every reason for a rejection,
// trimming, order, reductions bit for bit, credits, progress beside a blocked output, figures of
// throughput and latency in cycles, and random mixes of all of it.

#include "switch_model.h"

static std::unique_ptr<hubs> bench(unsigned latency = 1)
{
    auto b = std::make_unique<hubs>(latency);
    b->usual_tables();
    return b;
}

static std::vector<uint16_t> shuffled(hubs &b, std::vector<uint16_t> t)
{
    std::shuffle(t.begin(), t.end(), b.rng);
    return t;
}

static unsigned full_packet(const hubs &b)
{
    return 16 / b.f + 128 / b.f;
}

// ---- every opcode ----
TEST(delivers_every_opcode)
{
    auto b = bench();
    unsigned n = b->n;
    for (unsigned s = 0; s < n; s++) {
        unsigned d = (s + 1) % n;
        for (unsigned op :
             {MW_OP_SIGNAL, MW_OP_EVENT, MW_OP_ACK, MW_OP_ERROR, MW_OP_FLAG, MW_OP_FENCE}) {
            assert_int_equal(b->send(s, b->make(op, s, d)), MW_HWERR_NONE);
        }
        for (unsigned len : {1u, 4u, 8u, 17u, 100u, 127u, 128u}) {
            assert_int_equal(b->send(s, b->store(MW_OP_ST, s, d, len)), MW_HWERR_NONE);
            assert_int_equal(b->send(s, b->store(MW_OP_COUNTS, s, d, len)), MW_HWERR_NONE);
        }
        packet odd = b->make(MW_OP_ST, s, d);
        odd.h.addr = (odd.h.addr & ~UINT64_C(15)) | 3;
        b->fill(odd, 128 - 3);
        assert_int_equal(b->send(s, odd), MW_HWERR_NONE);
        packet all = b->store(MW_OP_MULTIMEM_ST, s, 0, 128);
        all.h.target0 = 0;
        assert_int_equal(b->send(s, all), MW_HWERR_NONE);
        packet taken_in = b->store(MW_OP_MULTIMEM_RED, s, 0, 64);
        taken_in.h.target0 = 0;
        assert_int_equal(b->send(s, taken_in), MW_HWERR_NONE);
        packet dyn = b->store(MW_OP_DYMULTIMEM_ST, s, 0, 64);
        dyn.set_targets({static_cast<uint16_t>(expert(*b, d, 0) | 5)});
        assert_int_equal(b->send(s, dyn), MW_HWERR_NONE);
        packet red = b->make(MW_OP_MULTIMEM_LD_REDUCE, s, 0);
        red.h.len = 384;
        red.h.target0 = 0;
        assert_int_equal(b->send(s, red), MW_HWERR_NONE);
        packet dyn_red = b->make(MW_OP_DYMULTIMEM_LD_REDUCE, s, 0);
        dyn_red.h.len = 200;
        dyn_red.set_targets({expert(*b, d, 1)});
        assert_int_equal(b->send(s, dyn_red), MW_HWERR_NONE);
    }
    b->finish();
    b->check_counters();
}

// ---- trim ----
TEST(trims_to_the_targets_of_each_output)
{
    auto b = bench();
    unsigned n = b->n;
    for (unsigned round = 0; round < 60; round++) {
        unsigned s = static_cast<unsigned>(b->rng() % n);
        std::vector<uint16_t> all;
        for (unsigned e = 0; e < b->max_experts; e++)
            if (e % n != s)
                all.push_back(target(e));
        std::vector<uint16_t> t = shuffled(*b, all);
        t.resize(1 + b->rng() % 16);
        for (size_t i = 0; i < t.size(); i++)
            t[i] = static_cast<uint16_t>(t[i] | i);
        packet p = b->store(MW_OP_DYMULTIMEM_ST, s, 0, static_cast<unsigned>(b->rng() % 129));
        p.set_targets(t);
        assert_int_equal(b->send(s, p), MW_HWERR_NONE);
    }
    b->finish();
    b->check_counters();
}

TEST(sends_sixteen_targets_to_one_port)
{
    auto b = bench();
    unsigned n = b->n;
    for (unsigned e = 0; e < 16; e++)
        b->set_expert(e, static_cast<int>(n - 1));
    std::vector<uint16_t> t;
    for (unsigned i = 0; i < 16; i++)
        t.push_back(target(15 - i, i));
    for (unsigned k = 0; k < 20; k++) {
        packet p = b->store(MW_OP_DYMULTIMEM_ST, 0, 0, 128);
        p.set_targets(shuffled(*b, t));
        assert_int_equal(b->send(0, p), MW_HWERR_NONE);
        packet r = b->make(MW_OP_DYMULTIMEM_LD_REDUCE, 0, 0);
        r.h.len = 256;
        r.set_targets(shuffled(*b, t));
        assert_int_equal(b->send(0, r), MW_HWERR_NONE);
    }
    b->finish();
}

// ---- rows whose first packet alone has targets ----
struct rows {
    std::unique_ptr<hubs> b = bench();
    const unsigned last = b->n - 1;

    packet opener(unsigned stage = MW_STAGE_DISPATCH, unsigned src = 0)
    {
        packet p = follower(stage, src);
        p.set_targets({expert(*b, (src + 1) % b->n, 0), expert(*b, (src + last) % b->n, 1)});
        return p;
    }
    packet follower(unsigned stage = MW_STAGE_DISPATCH, unsigned src = 0)
    {
        packet p = b->store(MW_OP_DYMULTIMEM_ST, src, 0, b->rng.between(1, 128));
        p.h.stage = stage;
        return p;
    }
    void is(unsigned code, const packet &p, hubs::fault how = hubs::WHOLE, unsigned src = 0)
    {
        assert_int_equal(b->send(src, p, how), code);
    }
    void opens() { is(MW_HWERR_NONE, opener()); }
    void is_open() { is(MW_HWERR_NONE, follower()); }
    void is_closed() { is(MW_HWERR_TARGETS, follower()); }
    ~rows()
    {
        b->finish();
        b->check_counters();
    }
};

TEST_IF(PARAM_TargetListCache, packets_without_targets_go_where_their_row_goes)
{
    rows r;
    r.is_closed();
    r.opens();
    for (unsigned i = 0; i < 5; i++)
        r.is_open();
    r.is(MW_HWERR_NONE, r.follower(MW_STAGE_COMBINE));
    r.is(MW_HWERR_NONE, r.follower(MW_STAGE_GATE));
    r.is(MW_HWERR_TARGETS, r.follower(MW_STAGE_GATE));
    // gate weights with targets leave no row open, whatever was
    r.opens();
    r.is(MW_HWERR_NONE, r.opener(MW_STAGE_GATE));
    r.is_closed();
    // the newest list counts
    packet one = r.opener();
    one.set_targets({expert(*r.b, 1, 0)});
    r.opens();
    r.is(MW_HWERR_NONE, one);
    r.is_open();
}

TEST_IF(PARAM_TargetListCache, each_source_has_a_row)
{
    rows r;
    for (unsigned s = 0; s < r.b->n; s++)
        if (s % 2 == 0)
            r.is(MW_HWERR_NONE, r.opener(MW_STAGE_DISPATCH, s), hubs::WHOLE, s);
    for (unsigned s = 0; s < r.b->n; s++)
        r.is(s % 2 ? MW_HWERR_TARGETS : MW_HWERR_NONE, r.follower(MW_STAGE_DISPATCH, s),
             hubs::WHOLE, s);
}

TEST_IF(PARAM_TargetListCache, what_closes_a_row)
{
    rows r;
    packet p = r.opener();
    p.targets[1] = p.targets[0]; // the same expert twice
    r.opens();
    r.is(MW_HWERR_DUPLICATE, p);
    r.is_closed();
    p = r.opener();
    p.h.epoch ^= 1;
    r.opens();
    r.is(MW_HWERR_EPOCH, p);
    r.is_closed();
    for (auto how : {hubs::LINK_ERROR, hubs::SHORT_BY_ONE}) { // its header is lost
        if (how == hubs::SHORT_BY_ONE && r.b->f == 16)
            continue;
        r.opens();
        r.is(MW_HWERR_LENGTH, r.b->make(MW_OP_FLAG, 0, 1), how);
        r.is_closed();
    }
    r.opens();
    r.is(MW_HWERR_TARGETS, r.follower(MW_STAGE_FLAT));
    r.is_closed();
    for (auto how : {hubs::LINK_ERROR, hubs::SHORT_BY_ONE, hubs::LONG_BY_ONE}) {
        for (unsigned with = 0; with < 2; with++) {
            r.opens();
            p = with ? r.opener() : r.follower();
            r.b->fill(p, 128 - static_cast<unsigned>(p.h.addr % r.b->f));
            r.is(MW_HWERR_NONE, p, how);
            r.is_closed();
        }
    }
    r.opens();
    r.b->finish();
    r.b->rules.set_epoch((r.b->rules.epoch + 1) % 4);
    r.b->dut.epoch_i = static_cast<uint8_t>(r.b->rules.epoch);
    r.b->cycles(3);
    r.is_closed();
    r.opens(); // and one that is the same again is another one
    r.b->finish();
    for (unsigned e : {2u, 0u}) {
        r.b->dut.epoch_i = static_cast<uint8_t>((r.b->rules.epoch + e) % 4);
        r.b->cycles(1);
    }
    r.b->rules.row[0].open = false;
    r.is_closed();
}

TEST_IF(PARAM_TargetListCache, what_leaves_a_row_open)
{
    rows r;
    r.opens();
    r.is(MW_HWERR_NONE, r.b->store(MW_OP_ST, 0, 1, 64));
    r.is_open();
    r.is(MW_HWERR_NONE, r.b->make(MW_OP_FLAG, 0, 1));
    r.is_open();
    r.is(MW_HWERR_NONE, r.opener(MW_STAGE_FLAT));
    r.is_open();
    r.is(MW_HWERR_NONE, r.b->store(MW_OP_COUNTS, 0, 1, 16));
    r.is_open();
    // control's packets that go nowhere
    for (unsigned op : {MW_OP_FLAG, MW_OP_FENCE, MW_OP_COUNTS}) {
        const packet p = tb::has_payload(op) ? r.b->store(op, 0, 31, 16) : r.b->make(op, 0, 31);
        r.is(MW_HWERR_UNMAPPED, p);
        r.is_open();
    }
    r.is(MW_HWERR_NONE, r.b->make(MW_OP_EVENT, 0, 1));
    r.is(MW_HWERR_UNMAPPED, r.b->make(MW_OP_EVENT, 0, 31)); // of another class
    r.b->finish();
    r.is_open();
    packet request = r.b->make(MW_OP_DYMULTIMEM_LD_REDUCE, 0, 0);
    request.h.len = 64;
    r.is(MW_HWERR_TARGETS, request); // which always says what it is of
    r.b->finish();
    r.is_open();
}

// A partition that is taken away inside a row.
TEST_IF(PARAM_TargetListCache, a_row_stays_inside_its_partition)
{
    rows r;
    if (r.b->n < 3)
        return;
    r.opens();
    r.b->finish();
    r.b->set_partition(0, ~0u & ~(1u << r.last));
    r.is(MW_HWERR_PARTITION, r.follower());
    r.b->finish();
    r.b->set_partition(0, ~0u);
    r.is_closed();
}

// ---- rejections ----
TEST(rejects_whole_packets)
{
    auto b = bench();
    unsigned n = b->n;
    b->set_expert(3 * n + 1, -1); // not mapped
    b->set_expert(4 * n + 1, -1);
    if (n > 2)
        b->set_partition(0, ~0u & ~(1u << (n - 1)));
    for (unsigned round = 0; round < 3; round++) {
        auto check = [&](unsigned code, packet p, int cls = -1) {
            assert_int_equal(b->send(0, p, hubs::WHOLE, cls), code);
            b->finish();
        };
        for (unsigned op = 0; op < 48; op++) {
            packet p = b->make(op, 0, 1);
            p.h.len = op >= 32 ? 128 : 0;
            if (!tb::may_ask(op))
                check(MW_HWERR_OPCODE, p);
        }
        check(MW_HWERR_OPCODE, b->make(MW_OP_SIGNAL, 0, 1), MW_CLS_STORE);
        check(MW_HWERR_OPCODE, b->store(MW_OP_ST, 0, 1, 32), MW_CLS_CTRL);
        packet wrong = b->store(MW_OP_ST, 0, 1, 32);
        wrong.h.cls = MW_CLS_CTRL;
        check(MW_HWERR_OPCODE, wrong, MW_CLS_STORE);
        packet p = b->store(MW_OP_ST, 0, 1, 128);
        p.h.epoch = (p.h.epoch + 1) & 3;
        check(MW_HWERR_EPOCH, p);
        p = b->store(MW_OP_ST, 0, 1, 128);
        p.h.len = 129 + static_cast<unsigned>(b->rng() % 5000);
        check(MW_HWERR_LENGTH, p);
        p = b->make(MW_OP_ST, 0, 1);
        p.h.addr |= 1;
        b->fill(p, 128); // one flit too many
        check(MW_HWERR_LENGTH, p);
        p = b->make(MW_OP_FENCE, 0, 1);
        p.h.len = 4;
        check(MW_HWERR_LENGTH, p);
        check(MW_HWERR_PARTITION, b->store(MW_OP_ST, 0, 0, 16));
        if (n > 2)
            check(MW_HWERR_PARTITION, b->store(MW_OP_ST, 0, n - 1, 16));
        if (n < 32)
            check(MW_HWERR_UNMAPPED, b->store(MW_OP_ST, 0, 31, 16));
        p = b->store(MW_OP_MULTIMEM_ST, 0, 0, 16);
        p.h.target0 = 5; // empty
        check(MW_HWERR_UNMAPPED, p);
        p.h.target0 = 16;
        check(MW_HWERR_UNMAPPED, p);
        p.h.target0 = 0;
        if (n > 2)
            check(MW_HWERR_PARTITION, p);

        for (unsigned op : {MW_OP_DYMULTIMEM_ST, MW_OP_DYMULTIMEM_LD_REDUCE}) {
            auto with = [&](std::vector<uint16_t> t, unsigned code) {
                packet d = op == MW_OP_DYMULTIMEM_ST ? b->store(op, 0, 0, 128) : b->make(op, 0, 0);
                d.h.len = op == MW_OP_DYMULTIMEM_ST ? 128 : 300;
                d.set_targets(t);
                check(code, d);
            };
            uint16_t e1 = expert(*b, 1, 0), e2 = expert(*b, 1, 1), e3 = expert(*b, 1, 2);
            with({}, MW_HWERR_TARGETS);
            with(std::vector<uint16_t>(17, e1), MW_HWERR_TARGETS);
            with({e1, e2, static_cast<uint16_t>(e1 | 3)}, MW_HWERR_DUPLICATE);
            with({e1, e1}, MW_HWERR_DUPLICATE);
            with({e1, e2, e3}, MW_HWERR_NONE); // nothing of the lists before is remembered
            with({target(3 * n + 1)}, MW_HWERR_UNMAPPED);
            if (n < 32)
                with({e1, target(4 * n + 1)}, MW_HWERR_UNMAPPED);
            with({e1, e2, target(b->max_experts)}, MW_HWERR_UNMAPPED);
            with({e1, e2, e3, 0}, MW_HWERR_PARTITION);
            if (n > 2)
                with({target(n - 1)}, MW_HWERR_PARTITION);
            if (n > 2)
                with({e1, e2, e3, target(5 * n + 1), target(6 * n + 1), target(n - 1), e1},
                     MW_HWERR_PARTITION);
        }
        packet r = b->make(MW_OP_MULTIMEM_LD_REDUCE, 0, 0);
        r.h.len = 128;
        r.h.target0 = 1 << n >> n; // group 0 or the even ports
        r.h.dtype = MW_DTYPE_FP16;
        r.h.redop = MW_REDOP_AND; // of integers only
        check(MW_HWERR_REDUCTION, r);
        r.h.redop = 6;
        check(MW_HWERR_REDUCTION, r);
        r.h.dtype = 5;
        r.h.redop = MW_REDOP_ADD;
        check(MW_HWERR_REDUCTION, r);
        r.h.dtype = MW_DTYPE_U32;
        r.h.len = 0;
        check(MW_HWERR_LENGTH, r);
    }
    for (unsigned p = 1; p < n; p++)
        assert_int_equal(b->ports[p].errors_back, 0);
    assert_int_equal(b->reports[0], b->ports[0].rejected);
    assert_int_equal(b->ports[0].errors_back, b->ports[0].rejected);
    for (auto &c : b->reject_codes)
        assert_int_equal(c.size(), 0);
    b->check_counters();
}

TEST(handles_wrong_packet_lengths)
{
    auto b = bench();
    std::vector<uint16_t> t;
    for (unsigned i = 0; i < 12 && i * b->n + 1 < b->max_experts; i++)
        t.push_back(expert(*b, 1, i));
    for (unsigned round = 0; round < 4; round++) {
        for (hubs::fault how : {hubs::LINK_ERROR, hubs::SHORT_BY_ONE, hubs::LONG_BY_ONE}) {
            for (unsigned len : {0u, 8u, 40u, 128u}) {
                b->send(0, b->store(MW_OP_ST, 0, 1, len), how);
                packet d = b->store(MW_OP_DYMULTIMEM_ST, 0, 0, len);
                d.set_targets(t);
                b->send(0, d, how);
                // The code is that of the first target that is there and wrong.
                std::vector<uint16_t> wrong = t;
                wrong.back() = target(b->max_experts);
                d.set_targets(wrong);
                b->send(0, d, how);
                wrong[wrong.size() / 3] = wrong[0];
                d.set_targets(wrong);
                b->send(0, d, how);
                b->send(0, b->store(MW_OP_ST, 0, 1, 128));
            }
            b->send(0, b->make(MW_OP_EVENT, 0, 1), how);
            b->send(0, b->make(MW_OP_EVENT, 0, 1));
            if (b->f == 16 || how != hubs::SHORT_BY_ONE) {
                packet r = b->make(MW_OP_DYMULTIMEM_LD_REDUCE, 0, 0);
                r.h.len = 256;
                r.set_targets(t);
                b->send(0, r, how);
            }
        }
        b->finish();
    }
    b->check_counters();
}

// A sender that ignores credits and the window harms nobody but itself.
TEST(refuses_what_has_no_credit)
{
    auto b = bench();
    unsigned n = b->n;
    hubs::port &q = b->ports[0];
    b->sink[1] = false;
    unsigned window = b->store_pkts + b->rx_store; // packets for port 1 that find a place
    for (unsigned i = 0; i < window; i++)
        b->send(0, b->store(MW_OP_ST, 0, 1, 128));
    b->run(100 * window);
    assert_int_equal(q.store_credits, 0);
    assert_int_equal(q.queue[MW_CLS_STORE].size(), 0);
    q.store_credits = 1; // a lie
    packet p = b->store(MW_OP_ST, 0, n - 1, 128);
    q.queue[MW_CLS_STORE].push_back({tb::encode(p, b->f), MW_CLS_STORE});
    b->reject(0, MW_HWERR_CREDIT);
    b->run(100);
    assert_int_equal(q.store_credits, 0);
    b->sink[1] = true;
    b->finish();

    b->silent = true;
    std::vector<uint16_t> t = {expert(*b, 1, 0)};
    for (unsigned i = 0; i < b->open_rows; i++) {
        packet r = b->make(MW_OP_DYMULTIMEM_LD_REDUCE, 0, 0);
        r.h.len = 128;
        r.set_targets(t);
        b->send(0, r);
    }
    b->run(200);
    assert_int_equal(q.rows_open, b->open_rows);
    packet r = b->make(MW_OP_DYMULTIMEM_LD_REDUCE, 0, 0);
    r.h.len = 128;
    r.set_targets(t);
    q.queue[MW_CLS_REQ].push_back({tb::encode(r, b->f), MW_CLS_REQ});
    b->reject(0, MW_HWERR_WINDOW);
    q.rows_open--; // a lie
    b->run(100);
    assert_int_equal(q.queue[MW_CLS_REQ].size(), 0);
    b->silent = false;
    b->finish();

    // partials: one packet more than the queue holds, and for nobody
    b->silent = true;
    for (unsigned i = 0; i <= b->part_pkts; i++) {
        row w = {1, 128, 0};
        q.part_credits[1]++;
        b->queue_partial(0, 1, w);
    }
    b->reject(0, MW_HWERR_CREDIT);
    row w = {1, 128, 0};
    b->queue_partial(0, 0, w);
    b->reject(0, MW_HWERR_UNMAPPED);
    b->run(60 * (b->part_pkts + 2));
    for (auto &c : b->reject_codes)
        assert_int_equal(c.size(), 0);
}

// ---- reductions ----
static void request(hubs &b, unsigned s, unsigned len, const std::vector<uint16_t> &t)
{
    packet r = b.make(MW_OP_DYMULTIMEM_LD_REDUCE, s, 0);
    r.h.len = len;
    r.set_targets(t);
    assert_int_equal(b.send(s, r), MW_HWERR_NONE);
}

TEST(sums_rows_in_fixed_order)
{
    for (unsigned mode = 0; mode < 3; mode++) {
        auto b = bench();
        unsigned n = b->n;
        b->serve_percent = mode == 1 ? 10 : 100;
        b->credit_delay = mode == 2 ? 60 : 0;
        for (unsigned i = 0; i < 40; i++) {
            for (unsigned s = 0; s < n; s++) {
                std::vector<uint16_t> t;
                for (unsigned e = 0; e < b->max_experts; e++)
                    if (e % n != s && b->rng() % b->max_experts < 8)
                        t.push_back(target(e));
                if (t.empty())
                    t.push_back(expert(*b, (s + 1) % n, 0));
                if (t.size() > 16)
                    t.resize(16);
                request(*b, s,
                        i % 4 == 0 ? 1 + static_cast<unsigned>(b->rng() % 700)
                                   : b->f * (1 + static_cast<unsigned>(b->rng() % 40)),
                        shuffled(*b, t));
            }
        }
        b->finish();
        b->check_counters();
    }
}

// Two members that serve two requesters in opposite order, each first one row, then the other.
TEST(members_may_serve_in_opposite_order)
{
    auto b = bench();
    unsigned n = b->n;
    if (n < 4)
        SKIP("two requesters and two members take four ports");
    b->serve_order[2] = {0, 1};
    b->serve_order[3] = {1, 0};
    for (unsigned i = 0; i < 30; i++) {
        for (unsigned s = 0; s < 2; s++)
            request(*b, s, 1024, {expert(*b, 2, i % 4), expert(*b, 3, i % 4)});
    }
    b->finish();
}

TEST(poison_stays_in_its_packet)
{
    auto b = bench();
    unsigned n = b->n;
    b->poison_percent = 10;
    b->spoil_percent = 20;
    for (unsigned i = 0; i < 40; i++) {
        for (unsigned s = 0; s < n; s++) {
            std::vector<uint16_t> t;
            for (unsigned d = 1; d < n && t.size() < 16; d++)
                if (d == 1 || b->rng() % 2)
                    t.push_back(expert(*b, (s + d) % n, 0));
            request(*b, s, b->f * (1 + static_cast<unsigned>(b->rng() % 40)), t);
        }
    }
    b->finish();
}

// ---- progress ----
TEST(blocked_output_stops_no_other)
{
    auto b = bench();
    unsigned n = b->n;
    if (n < 3)
        SKIP("it takes a third port");
    b->sink[1] = false;
    // fills the receiver and all but one place of the queue 0 -> 1
    for (unsigned i = 0; i < b->rx_store + b->store_pkts - 1; i++)
        b->send(0, b->store(MW_OP_ST, 0, 1, 128));
    b->run(80 * (b->rx_store + b->store_pkts));
    assert_int_equal(b->ports[0].queue[MW_CLS_STORE].size(), 0);
    uint64_t before = b->ports[2].rx_packets;
    for (unsigned i = 0; i < 100; i++)
        b->send(0, b->store(MW_OP_ST, 0, 2, 128));
    for (unsigned i = 0; i < 10; i++)
        request(*b, 0, 512, {expert(*b, 2, 0)});
    b->run(100 * 60);
    assert_int_equal(b->expect[2][0][MW_CLS_STORE].size(), 0);
    assert_int_equal(b->results[0].size(), 0);
    assert_in_range(b->ports[2].rx_packets - before, 110, 110);
    b->sink[1] = true;
    b->finish();
}

// Output 1 takes nothing more: the next store to it waits.
static void block_output_1(hubs &b)
{
    b.sink[1] = false;
    for (unsigned i = 0; i < b.rx_store; i++)
        b.send(2, b.store(MW_OP_ST, 2, 1, 128));
    b.run(80 * b.rx_store);
    assert_int_equal(b.ports[1].held[MW_CLS_STORE], b.rx_store);
}

TEST(a_window_lets_exactly_its_packets_pass)
{
    for (unsigned w : {1u, 2u, 4u, 7u, 16u}) {
        auto b = bench();
        if (b->n < 4 || !b->most_window)
            SKIP("it takes four ports and a window");
        if (w > b->most_window)
            break;
        b->dut.ctl_window_i = static_cast<uint8_t>(w);
        block_output_1(*b);
        b->send(0, b->store(MW_OP_ST, 0, 1, 128));
        for (unsigned i = 0; i < w + 3; i++)
            b->send(0, b->store(MW_OP_ST, 0, 2, 128));
        b->send(3, b->store(MW_OP_ST, 3, 2, 128));
        b->run(80 * (w + 3));
        assert_int_equal(b->expect[2][0][MW_CLS_STORE].size(), w + 3 - (w - 1));
        assert_int_equal(b->expect[2][3][MW_CLS_STORE].size(), 0);
        b->sink[1] = true;
        b->finish();
    }
}

TEST(other_classes_pass_a_full_window)
{
    auto b = bench();
    if (b->n < 4 || !b->most_window)
        SKIP("it takes four ports and a window");
    b->dut.ctl_window_i = 1;
    block_output_1(*b);
    for (unsigned i = 0; i < b->store_pkts; i++)
        b->send(0, b->store(MW_OP_ST, 0, 1, 128));
    b->run(80 * b->store_pkts);
    for (unsigned i = 0; i < 30; i++)
        b->send(0, b->make(MW_OP_SIGNAL, 0, 2));
    for (unsigned i = 0; i < 10; i++)
        request(*b, 0, 512, {expert(*b, 2, 0), expert(*b, 3, 0)});
    b->run(100 * 60);
    assert_int_equal(b->expect[2][0][MW_CLS_CTRL].size(), 0);
    assert_int_equal(b->results[0].size(), 0);
    b->sink[1] = true;
    b->finish();
}

TEST(no_class_waits_for_ever)
{
    auto b = bench();
    unsigned n = b->n;
    if (n < 4)
        SKIP("it takes four ports");
    unsigned gap[4] = {}, worst[4] = {}, seen[4] = {};
    b->on_packet = [&](unsigned p, const mw_header &h) {
        if (p != 0)
            return;
        for (unsigned c = 0; c < 4; c++) {
            gap[c] = c == h.cls ? 0 : gap[c] + 1;
            if (seen[c])
                worst[c] = std::max(worst[c], gap[c]);
        }
        seen[h.cls]++;
    };
    // More signals for port 0 than its downlink carries, and stores and results that always wait.
    for (unsigned i = 0; i < 3000; i++) {
        for (unsigned s = 1; s < n; s++) {
            b->send(s, b->make(MW_OP_SIGNAL, s, 0));
            if (i < 600)
                b->send(s, b->store(MW_OP_ST, s, 0, 8));
        }
    }
    for (unsigned i = 0; i < 30; i++)
        request(*b, 0, 1024, {expert(*b, 1, 0)});
    b->run(3500);
    assert_in_range(seen[MW_CLS_CTRL], b->rx_ctrl < 16 ? 200 : 500, 100000);
    assert_in_range(seen[MW_CLS_STORE], 50, 100000);
    assert_in_range(seen[MW_CLS_PART], 50, 100000);
    assert_in_range(worst[MW_CLS_STORE], 1, 16);
    if (b->part_pkts >= 4 && b->rx_result >= 4)
        assert_in_range(worst[MW_CLS_PART], 1, 32);
    b->finish();
}

// ---- figures ----
TEST(unicast_fills_every_link)
{
    auto b = bench();
    unsigned n = b->n, count = 200;
    if (b->store_pkts < 4 || b->rx_store < 4)
        SKIP("a round trip of credits takes longer than a packet");
    for (unsigned i = 0; i < count; i++)
        for (unsigned s = 0; s < n; s++)
            b->send(s, b->store(MW_OP_ST, s, (s + 1) % n, 128));
    b->finish();
    for (auto &q : b->ports)
        assert_int_equal(q.last_rx - q.first_rx + 1, count * full_packet(*b));
}

TEST(short_packets_leave_no_gap)
{
    auto b = bench();
    unsigned n = b->n, count = 300;
    if (b->ctrl_pkts < 16 || b->rx_ctrl < 16)
        SKIP("a round trip of credits takes longer than a packet");
    for (unsigned i = 0; i < count; i++)
        for (unsigned s = 0; s < n; s++)
            b->send(s, b->make(MW_OP_EVENT, s, (s + 1) % n));
    b->finish();
    for (auto &q : b->ports)
        assert_int_equal(q.last_rx - q.first_rx + 1, count * 16 / b->f);
}

TEST(multicast_leaves_on_every_output_at_once)
{
    auto b = bench();
    unsigned n = b->n, count = 100;
    if (b->store_pkts < 4 || b->rx_store < 4)
        SKIP("a round trip of credits takes longer than a packet");
    for (unsigned i = 0; i < count; i++) {
        packet p = b->store(MW_OP_MULTIMEM_ST, 0, 0, 128);
        p.h.target0 = 0;
        b->send(0, p);
    }
    b->finish();
    for (unsigned p = 1; p < n; p++)
        assert_int_equal(b->ports[p].last_rx - b->ports[p].first_rx + 1, count * full_packet(*b));
}

TEST(partials_fill_the_uplink)
{
    auto b = bench();
    unsigned n = b->n, rows = 60;
    if (b->part_pkts < 4 || b->open_rows < 8 || b->rx_result < 4)
        SKIP("a round trip of credits takes longer than a packet");
    // every port asks its neighbour: each uplink has one partial per result on each downlink
    for (unsigned i = 0; i < rows; i++)
        for (unsigned s = 0; s < n; s++)
            request(*b, s, 1024, {expert(*b, (s + 1) % n, 0)});
    b->finish();
    unsigned flits = rows * (8 * full_packet(*b) + 16 / b->f);
    for (auto &q : b->ports)
        assert_in_range(q.last_rx - q.first_rx + 1, flits, flits + flits / 50);
}

TEST(join_takes_one_flit_per_cycle)
{
    auto b = bench();
    unsigned n = b->n, rows = 40;
    if (n < 3 || b->part_pkts < 4 || b->open_rows < 8)
        SKIP("it takes two members, and credits for longer than a round trip");
    std::vector<uint16_t> t;
    for (unsigned d = 1; d < n && t.size() < 16; d++)
        t.push_back(expert(*b, d, 0));
    for (unsigned i = 0; i < rows; i++)
        request(*b, 0, 1024, t);
    b->finish();
    // packets of all members, read one after the other without a gap, or of a cycle where each
    // takes turns with the output
    unsigned flits = rows * 8 * static_cast<unsigned>(t.size()) * (128 / b->f + b->part_shared_ram);
    assert_in_range(b->ports[0].last_rx - b->ports[0].first_rx, 0, flits + flits / 50);
}

TEST(first_flit_leaves_after_four_cycles)
{
    for (unsigned latency : {1u, 64u}) {
        auto b = bench(latency);
        for (unsigned op :
             {MW_OP_EVENT, MW_OP_FLAG, MW_OP_ST, MW_OP_DYMULTIMEM_ST, MW_OP_MULTIMEM_ST}) {
            packet p = b->store(op, 0, 1, op == MW_OP_EVENT || op == MW_OP_FLAG ? 0 : 128);
            if (op == MW_OP_DYMULTIMEM_ST)
                p.set_targets({expert(*b, 1, 0)});
            if (op == MW_OP_MULTIMEM_ST)
                p.h.target0 = 0;
            b->run(20);
            hubs::port &q = b->ports[1];
            q.rx_flits = 0;
            b->send(0, p);
            uint64_t start = b->now;
            b->finish();
            // one cycle to the input of the link, two links, the switch
            assert_in_range(q.first_rx - start, 2 * latency, 2 * latency + 4);
        }
    }
}

// ---- limits of credits, throttle ----
TEST(limits_hold)
{
    auto b = bench();
    unsigned n = b->n;
    b->dut.ctl_store_credits_i = 2;
    b->dut.ctl_part_credits_i = 1;
    for (unsigned p = 0; p < n; p++)
        b->sink[p] = false;
    for (unsigned i = 0; i < 6; i++)
        b->send(0, b->store(MW_OP_ST, 0, 1, 64));
    request(*b, 1, 512, {expert(*b, 0, 0)});
    b->run(600);
    assert_int_equal(b->ports[1].held[MW_CLS_STORE], std::min(2u, b->rx_store));
    assert_int_equal(b->ports[1].held[MW_CLS_PART], 1);
    for (unsigned p = 0; p < n; p++)
        b->sink[p] = true;
    b->finish();
}

TEST(counts_waiting_copies)
{
    auto b = bench();
    unsigned n = b->n;
    // alone on its way a copy waits for nothing
    b->send(0, b->store(MW_OP_ST, 0, 1, 128));
    b->finish();
    assert_int_equal(b->counter(1, 11), 0);
    assert_int_equal(b->counter(1, 12), 0);
    // without credits every cycle counts
    b->sink[1] = false;
    for (unsigned i = 0; i < b->rx_store + 1; i++)
        b->send(0, b->store(MW_OP_ST, 0, 1, 128));
    b->run(40 * (b->rx_store + 2));
    uint32_t before = b->counter(1, 12), turns = b->counter(1, 11);
    b->run(500);
    assert_int_equal(b->counter(1, 12) - before, 500 + 2 * 3); // the cycles of the reads, too
    assert_int_equal(b->counter(1, 11), turns);
    assert_int_equal(b->counter(0, 12), 0);
    b->sink[1] = true;
    b->finish();
    if (n < 3 || b->rx_store < 2)
        return; // the rest takes two senders
    // two copies at once: none starts between the first one's start and the reading
    // of its last flit
    b->go();
    b->send(0, b->store(MW_OP_ST, 0, 1, 128));
    b->send(2, b->store(MW_OP_ST, 2, 1, 128));
    b->finish();
    assert_int_equal(b->counter(1, 11), full_packet(*b) - 1);
    assert_int_equal(b->counter(1, 12), 0);
}

// A downlink rests behind each packet as long as its flits ask for, and not a cycle longer.
TEST(slower_downlinks_are_full)
{
    auto b = bench();
    unsigned n = b->n, count = 100;
    if (b->store_pkts < 4 || b->rx_store < 4)
        SKIP("a round trip of credits takes longer than a packet");
    for (unsigned wait = 0; wait < 4; wait++) {
        b->dut.ctl_link_wait_i = static_cast<uint8_t>(wait);
        for (auto &q : b->ports)
            q.rx_flits = 0;
        for (unsigned i = 0; i < count; i++)
            for (unsigned s = 0; s < n; s++)
                b->send(s, b->store(MW_OP_ST, s, (s + 1) % n, 128));
        b->finish();
        for (auto &q : b->ports)
            assert_int_equal(q.last_rx - q.first_rx + 1,
                             (count + (count - 1) * wait) * full_packet(*b));
    }
}

TEST(throttle_delays_packets)
{
    auto b = bench();
    unsigned count = 100;
    if (b->store_pkts < 4 || b->rx_store < 4)
        SKIP("a round trip of credits takes longer than a packet");
    for (unsigned t : {0u, 128u, 250u}) {
        b->dut.ctl_throttle_i = static_cast<uint8_t>(t);
        b->ports[1].rx_flits = 0;
        for (unsigned i = 0; i < count; i++)
            b->send(0, b->store(MW_OP_ST, 0, 1, 128));
        b->finish();
        uint64_t extra = b->ports[1].last_rx - b->ports[1].first_rx + 1 - count * full_packet(*b);
        // a start is put off by t / (256 - t) cycles on average
        double mean = static_cast<double>(t) / (256 - t);
        assert_in_range(extra, static_cast<unsigned>(count * mean * 0.4),
                        static_cast<unsigned>(count * mean * 2.0));
    }
}

// The same traffic takes the same cycles after each go.
TEST(repeats_after_go)
{
    auto b = bench();
    unsigned n = b->n;
    b->dut.ctl_throttle_i = 60;
    uint64_t took[3];
    for (unsigned k = 0; k < 3; k++) {
        b->run(7 + 13 * k);
        b->go();
        b->run(33); // a scan clears the counters
        b->check_counters();
        uint64_t start = b->now;
        uint64_t sum = 0;
        b->rng = tb::dice(12345);
        for (unsigned i = 0; i < 60; i++)
            for (unsigned s = 0; s < n; s++)
                b->send(s, b->store(MW_OP_ST, s, (s + 1 + i % (n - 1)) % n, 96));
        b->finish();
        for (unsigned p = 0; p < n; p++)
            sum = sum * 31 + b->ports[p].last_rx - start;
        took[k] = sum;
    }
    assert_int_equal(took[0], took[1]);
    assert_int_equal(took[1], took[2]);
}

// ---- random ----
struct mix {
    unsigned ctrl, store, req; // weights
    unsigned invalid;          // percent
};

static packet random_packet(hubs &b, unsigned s, const mix &m)
{
    unsigned n = b.n;
    unsigned d = (s + 1 + static_cast<unsigned>(b.rng() % (n - 1))) % n;
    unsigned w = static_cast<unsigned>(b.rng() % (m.ctrl + m.store + m.req));
    if (w < m.ctrl) {
        static const unsigned ops[] = {MW_OP_SIGNAL, MW_OP_EVENT, MW_OP_ACK, MW_OP_ERROR};
        return b.make(ops[b.rng() % 4], s, d);
    }
    bool req = w >= m.ctrl + m.store;
    std::vector<uint16_t> t;
    unsigned k = 1 + static_cast<unsigned>(b.rng() % 16);
    bool near = b.rng() % 4 == 0; // all on one port
    while (t.size() < k) {
        unsigned e = static_cast<unsigned>(b.rng() % b.max_experts);
        if (near && b.rules.emap[e] != static_cast<int>(d)) {
            if (b.rng() % 64 == 0)
                k = static_cast<unsigned>(std::max<size_t>(1, t.size()));
            continue;
        }
        bool old = std::any_of(t.begin(), t.end(), [&](uint16_t x) { return x >> 4 == e; });
        if (old) {
            if (b.rng() % 64 == 0)
                k = static_cast<unsigned>(t.size());
            continue;
        }
        if (b.rules.emap[e] < 0 || !(b.rules.reach(s) >> b.rules.emap[e] & 1))
            continue;
        t.push_back(target(e, static_cast<unsigned>(b.rng() & 15)));
    }
    if (req) {
        bool dyn = b.rng() % 4 != 0;
        packet p = b.make(dyn ? MW_OP_DYMULTIMEM_LD_REDUCE : MW_OP_MULTIMEM_LD_REDUCE, s, 0);
        p.h.len = b.rng() % 8 == 0 ? 1 + static_cast<unsigned>(b.rng() % 600)
                                   : b.f * (1 + static_cast<unsigned>(b.rng() % 48));
        if (dyn)
            p.set_targets(t);
        else
            p.h.target0 = 0;
        return p;
    }
    static const unsigned ops[] = {
        MW_OP_ST,          MW_OP_FLAG,          MW_OP_FENCE,         MW_OP_COUNTS,
        MW_OP_MULTIMEM_ST, MW_OP_DYMULTIMEM_ST, MW_OP_DYMULTIMEM_ST, MW_OP_MULTIMEM_RED};
    unsigned op = ops[b.rng() % 8];
    packet p = b.make(op, s, d);
    if (tb::has_payload(op)) {
        if (b.rng() % 2)
            p.h.addr &= ~static_cast<uint64_t>(b.f - 1);
        unsigned most = 128 - static_cast<unsigned>(p.h.addr % b.f);
        b.fill(p, b.rng() % 2 ? most : static_cast<unsigned>(b.rng() % (most + 1)));
    }
    if (op == MW_OP_MULTIMEM_ST || op == MW_OP_MULTIMEM_RED)
        p.h.target0 = 0;
    if (op == MW_OP_DYMULTIMEM_ST) {
        p.h.stage = static_cast<uint32_t>(b.rng() % 4);
        if (b.rng() % 2 || !b.rules.row[s].open || !b.rules.follows(p.h))
            p.set_targets(t);
    }
    return p;
}

static void spoil(hubs &b, packet &p)
{
    switch (b.rng() % 8) {
    case 0:
        p.h.epoch ^= 1 + static_cast<uint32_t>(b.rng() % 3);
        break;
    case 1:
        p.h.opcode = (p.h.opcode & 0x30) | 0xf;
        break;
    case 2:
        p.h.cls ^= 1;
        break;
    case 3:
        p.h.dst = static_cast<uint32_t>(b.rng() & 31);
        break;
    case 4:
        p.h.target0 = static_cast<uint32_t>(b.rng() & 0xffff);
        if (!p.targets.empty())
            p.targets[0] = static_cast<uint16_t>(p.h.target0);
        break;
    case 5:
        p.h.cnt = static_cast<uint32_t>(b.rng() & 1 ? 0 : 17 + b.rng() % 15);
        break;
    case 6:
        if (p.targets.size() > 1)
            p.targets.back() = p.targets[b.rng() % (p.targets.size() - 1)];
        break;
    default:
        if (!p.targets.empty())
            p.targets.back() = static_cast<uint16_t>(b.rng() & 0xffff);
        p.h.target0 = p.targets.empty() ? p.h.target0 : p.targets[0];
    }
}

static void random_run(unsigned latency, unsigned packets, const mix &m,
                       const std::function<void(hubs &)> &behave)
{
    auto b = bench(latency);
    unsigned n = b->n;
    // limits above what there is limit nothing
    b->dut.ctl_store_credits_i =
        static_cast<uint8_t>(b->rng.pick({0u, b->rx_store, 128 + b->below(128)}));
    b->dut.ctl_part_credits_i =
        static_cast<uint8_t>(b->rng.pick({0u, b->rx_result, 128 + b->below(128)}));
    behave(*b);
    static const uint8_t windows[] = {0, 1, 2, 5, 16};
    b->dut.ctl_window_i = windows[b->rng() % 5];
    b->dut.ctl_link_wait_i = b->rng.pick({0, 0, 1, 3});
    static const uint16_t intervals[] = {0, 1, 2, 3, 17, 250, 999};
    b->monitor(static_cast<unsigned>(b->rng() % 16), intervals[b->rng() % 7]);
    packets = tb::cases(packets * 2 / 5, packets);
    for (unsigned i = 0; i < packets; i++) {
        unsigned s = static_cast<unsigned>(b->rng() % n);
        packet p = random_packet(*b, s, m);
        unsigned cls = p.h.cls;
        bool bad = b->rng() % 100 < m.invalid;
        if (bad && b->rng() % 4 == 0) {
            auto how = static_cast<hubs::fault>(1 + b->rng() % 3);
            b->send(s, p, how);
        } else {
            if (bad)
                spoil(*b, p);
            b->send(s, p, hubs::WHOLE, static_cast<int>(cls));
        }
        if (b->rng() % 4 == 0)
            b->run(static_cast<unsigned>(b->rng() % 30));
    }
    b->finish(3000000);
    b->check_monitors();
    b->check_counters();
    b->check_rate();
}

static const mix all_classes = {2, 6, 2, 0};

TEST(random_fast)
{
    random_run(1, 3000, all_classes, [](hubs &) {});
}

TEST(random_back_pressure)
{
    random_run(1, 3000, all_classes, [](hubs &b) {
        b.credit_delay = 200;
        b.start_percent = 30;
        b.serve_percent = 20;
        b.dut.ctl_throttle_i = 100;
    });
}

TEST(random_uneven_sinks)
{
    random_run(1, 2000, all_classes, [](hubs &b) {
        b.credit_delay = 20;
        b.dut.ctl_store_credits_i = 1;
        b.dut.ctl_part_credits_i = 1;
    });
}

TEST(random_long_links)
{
    random_run(64, 1500, all_classes, [](hubs &) {});
}

TEST(random_invalid)
{
    for (unsigned latency : {1u, 5u}) {
        random_run(latency, 2500, {2, 6, 2, 30}, [](hubs &b) {
            b.credit_delay = 30;
            b.poison_percent = 3;
            b.spoil_percent = 3;
        });
    }
}

TEST(random_reductions)
{
    random_run(2, 1200, {1, 1, 8, 2}, [](hubs &b) {
        b.credit_delay = 40;
        b.poison_percent = 2;
        b.spoil_percent = 2;
    });
}

TEST(random_small_packets)
{
    random_run(1, 4000, {8, 1, 1, 5}, [](hubs &b) { b.start_percent = 90; });
}
