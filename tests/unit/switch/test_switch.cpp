// SPDX-License-Identifier: Apache-2.0
//
// What becomes of a packet in switch_top: copies with the targets of each output, or a rejection
// with its error. Packets of a row whose first packet has targets go to that packet's outputs.

#include "switch_model.h"

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
        packet dyn_red = b->reduction(s, 200, {expert(*b, d, 1)});
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
        packet r = b->reduction(0, 256, shuffled(*b, t));
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
    // gate weights with targets leave no row open, whatever was open before
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
    // control packets without a destination
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
    r.is(MW_HWERR_TARGETS, request); // which needs its own targets
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
            with({e1, e2, e3}, MW_HWERR_NONE); // nothing of earlier lists is left
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
                // The code is that of the first invalid target that is present.
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
                packet r = b->reduction(0, 256, t);
                b->send(0, r, how);
            }
        }
        b->finish();
    }
    b->check_counters();
}

// A sender that ignores credits and the window affects only itself.
TEST(refuses_what_has_no_credit)
{
    auto b = bench();
    unsigned n = b->n;
    hubs::port &q = b->ports[0];
    b->sink[1] = false;
    unsigned window = b->store_pkts + b->rx_store; // packets for port 1 that find a place
    for (unsigned i = 0; i < window; i++)
        b->send(0, b->store(MW_OP_ST, 0, 1, 128));
    b->cycles(100 * window);
    assert_int_equal(q.store_credits, 0);
    assert_int_equal(q.queue[MW_CLS_STORE].size(), 0);
    q.store_credits = 1; // a lie
    packet p = b->store(MW_OP_ST, 0, n - 1, 128);
    q.queue[MW_CLS_STORE].push_back({tb::encode(p, b->f), MW_CLS_STORE});
    b->reject(0, MW_HWERR_CREDIT);
    b->cycles(100);
    assert_int_equal(q.store_credits, 0);
    b->sink[1] = true;
    b->finish();

    b->silent = true;
    std::vector<uint16_t> t = {expert(*b, 1, 0)};
    for (unsigned i = 0; i < b->open_rows; i++) {
        packet r = b->reduction(0, 128, t);
        b->send(0, r);
    }
    b->cycles(200);
    assert_int_equal(q.rows_open, b->open_rows);
    packet r = b->reduction(0, 128, t);
    q.queue[MW_CLS_REQ].push_back({tb::encode(r, b->f), MW_CLS_REQ});
    b->reject(0, MW_HWERR_WINDOW);
    q.rows_open--; // a lie
    b->cycles(100);
    assert_int_equal(q.queue[MW_CLS_REQ].size(), 0);
    b->silent = false;
    b->finish();

    // partials: one packet more than the queue holds, and without a requester
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
    b->cycles(60 * (b->part_pkts + 2));
    for (auto &c : b->reject_codes)
        assert_int_equal(c.size(), 0);
}
