// SPDX-License-Identifier: Apache-2.0
//
// Valid and invalid GRANTs at a hub (switch-initiated reductions), at the full rate of the link.
// Token tracker and grant_lists delay their rows at random. Each row comes out once, in the order
// of the lanes, own rows separately. Invalid GRANTs are errors by name, and no row comes of them.
// As many rows may wait as can be granted. In these layers requests and SIGNALs are unknown
// opcodes. In a layer without switch-initiated reductions, GRANTs are.
//
// In layers with merged loads, rows from load_first on are tiles for unit load. FETCHs go to
// load_serve in the cycle of their last flit. In layers that count reds, all other rows are tiles
// of pushes, which wait for nothing.

#include "bench/errors.h"
#include "bench/stream.h"
#include "node_cfg.h"

using namespace tb;

static const unsigned N = PARAM_N, F = PARAM_FlitBytes, HF = MW_HEADER_BYTES / F;
// Open rows of every home, and results of own rows that have closed. The results are in the hub's
// queue, at the switch, and after that queue.
static const unsigned PLACES = N * PARAM_OpenRows + PARAM_RxResultPkts + (F == 8 ? 1 : 2) +
                               (F == 8 ? 0 : 15) + PARAM_MergeLoads * PARAM_OpenSyncs +
                               (PARAM_SumEntries ? PARAM_OpenSyncs : 0);

// numbers of parts of rows
static const unsigned NUMBER_BITS = std::min(PARAM_TokensLog2 + 2, 15);

struct hub : model<Vrx> {
    struct row {
        unsigned home, index;
    };
    const unsigned epoch = rng.below(4), port = rng.below(N), shift;
    const bool merges = PARAM_MergeLoads && percent(70);
    const bool counts_reds, tile_reductions;
    const unsigned load_first = below((1u << shift) + 1);
    const unsigned parts = rng.pick({0u, 0u, 1u, 2u});        // log2 of those of a row
    unsigned own_rate = 100, far_rate = 100, tile_rate = 100; // percent
    packet_source link;
    std::deque<row> rows; // that are inside, or wrong ones among them
    std::deque<packet> coming;
    error_watch errors{"rx"};
    watch own{"own rows"}, far{"other rows"}, tile{"tiles"};
    uint64_t granted = 0, tiles = 0, pushes = 0, fetched = 0;
    unsigned places = PLACES;
    bool by_switch = true;

    explicit hub(bool its_by_switch = true, bool pushed = false)
        : shift(below(PARAM_TokensLog2 + 1)), counts_reds(PARAM_SumEntries && pushed),
          tile_reductions(merges || percent(50)), by_switch(its_by_switch)
    {
        node_cfg cfg;
        cfg.set("epoch", epoch);
        cfg.set("port", port);
        cfg.set("token_shift", shift);
        cfg.set("switch_reductions", by_switch);
        cfg.set("tile_reductions", tile_reductions);
        cfg.set("merge_loads", merges);
        cfg.set("load_first", load_first);
        cfg.set("load_parts", parts);
        cfg.set("red_count", counts_reds ? rng.between(1, 0xffff) : 0);
        cfg.drive(dut.cfg_i);
        link.pauses = false;
        dut.rx_valid_i = dut.st_crd_i = dut.res_crd_i = 0;
        dut.req_ready_i = dut.res_room_i = dut.ev_ready_i = 1;
        reset();
    }

    // Sets a lane. Lane 0 begins at bit 64 of the header.
    static void set_lane(mw_header &h, unsigned lane, bool valid, unsigned home, unsigned index)
    {
        uint64_t head[2];
        mw_header_pack(&h, head);
        head[1] &= ~(mw_lane_pack(~0u, ~0u, 1) << MW_LANE_BITS * lane);
        head[1] |= mw_lane_pack(index, home, valid) << MW_LANE_BITS * lane;
        mw_header_unpack(&h, head);
    }
    static row lane(const mw_header &h, unsigned l, bool &valid)
    {
        uint64_t head[2];
        mw_header_pack(&h, head);
        const uint64_t bits = head[1] >> MW_LANE_BITS * l;
        valid = bits >> 20 & 1;
        return {static_cast<unsigned>(bits >> 15 & 31), static_cast<unsigned>(bits & 0x7fff)};
    }

    packet grant(unsigned lanes, bool wrong)
    {
        packet p;
        p.h = header(MW_OP_GRANT);
        p.h.epoch = epoch;
        p.h.src = below(32);
        p.h.dst = below(32);
        for (unsigned l = 0; l < 3; l++) {
            unsigned home = below(N), index = below(1u << shift);
            if (wrong && rng.one_in(3))
                (percent(50) ? home : index) |= 1u << below(5);
            if (wrong && rng.one_in(6))
                index =
                    rng.pick({1u << shift, 0x7fffu, 1u << rng.between(std::min(shift, 14u), 14)}) &
                    0x7fff;
            set_lane(p.h, l, l < lanes, home, index);
        }
        return p;
    }

    /// A FETCH of a row that is loaded, of one near these, or of any.
    packet fetch(bool wrong)
    {
        packet p = grant(0, false);
        p.h.opcode = MW_OP_FETCH;
        p.h.target0 = static_cast<uint16_t>(rng());
        p.h.addr = (load_first << parts) + below(std::max((1u << shift) - load_first, 1u) << parts);
        if (wrong && percent(50))
            p.h.addr = rng.pick(
                {0u, (load_first << parts) - std::min(load_first, 1u), 1u << shift << parts});
        else if (wrong)
            p.h.addr |= uint64_t{1} << below(48);
        return p;
    }

    packet any()
    {
        packet p = merges && rng.one_in(3) ? fetch(rng.one_in(3))
                                           : grant(rng.between(1, 3), rng.one_in(3));
        if (!rng.one_in(5))
            return p;
        const unsigned fault = below(tb::BARE_FAULTS + 1);
        if (fault < tb::BARE_FAULTS) {
            tb::spoil_bare(
                p, fault, F, rng,
                {MW_OP_MULTIMEM_LD_REDUCE, MW_OP_DYMULTIMEM_LD_REDUCE, MW_OP_FETCH, MW_OP_READY});
        } else if (p.h.opcode == MW_OP_GRANT) { // a hole, or none
            const bool hole = percent(50);
            set_lane(p.h, 0, hole, 0, 0);
            set_lane(p.h, 1, false, 0, 0);
            set_lane(p.h, 2, hole, 0, 0);
        }
        return p;
    }

    void send(const packet &p)
    {
        packet q = p;
        if (q.h.cnt && q.h.opcode != MW_OP_GRANT && q.h.opcode != MW_OP_FETCH)
            q.targets.resize(q.h.cnt, static_cast<uint16_t>(q.h.target0));
        link.queue.push_back(encode(q, F, &rng));
        coming.push_back(q);
    }

    void drive() override
    {
        bool valid = false;
        if (link.busy() || (rows.size() + 3 <= places && percent(95)))
            link.drive(rng, valid, dut.rx_data_i, dut.rx_last_i);
        dut.rx_valid_i = valid;
        dut.rx_cls_i = valid ? static_cast<unsigned>(MW_CLS_REQ) : below(4);
        if (!valid)
            dut.rx_last_i = percent(50);
        dut.rx_err_i = valid ? link.err() : percent(50);
        dut.sig_ready_i = percent(own_rate);
        dut.lane_ready_i = percent(far_rate);
        dut.tile_ready_i = percent(tile_rate);
        dut.fetch_room_i = percent(90);
    }

    // Checks a flit of a packet. An error in the low half is reported with the first flit.
    void judge(const packet &p, size_t flits)
    {
        const bool first = flit == 0, last = flit + 1 == flits;
        const bool is_fetch = merges && p.h.opcode == MW_OP_FETCH;
        const unsigned code = p.h.epoch != epoch                       ? MW_HWERR_EPOCH
                              : p.h.opcode != MW_OP_GRANT && !is_fetch ? MW_HWERR_OPCODE
                              : p.h.len || p.h.cnt                     ? MW_HWERR_LENGTH
                                                                       : MW_HWERR_NONE;
        if (code) {
            if (first)
                errors.expect_between(now, now, code);
            return;
        }
        if (!last)
            return;
        if (is_fetch) {
            judge_fetch(p, flits == HF && !p.err);
            return;
        }
        bool valid[3];
        row list[3];
        for (unsigned l = 0; l < 3; l++)
            list[l] = lane(p.h, l, valid[l]);
        if (flits != HF || p.err || !valid[0] || (valid[2] && !valid[1])) {
            errors.expect_between(now, now, MW_HWERR_LENGTH);
            return;
        }
        for (unsigned l = 0; l < 3 && valid[l]; l++)
            arrived.push_back(list[l]);
    }

    void judge_fetch(const packet &p, bool whole)
    {
        const uint64_t row = p.h.addr >> parts;
        fetches = whole && row >= load_first && !(row >> shift) && !(p.h.addr >> NUMBER_BITS);
        if (!fetches)
            errors.expect_between(now, now, whole ? MW_HWERR_BOUNDS : MW_HWERR_LENGTH);
        else if (!dut.fetch_room_i)
            errors.expect_between(now, now, MW_HWERR_WINDOW);
        else
            fetched++;
        if (fetches)
            assert_true(dut.fetch_index_o == p.h.addr && dut.fetch_ref_o == p.h.target0);
    }

    unsigned wrong(const row &r) const
    {
        return r.home >= N ? MW_HWERR_UNMAPPED : r.index >> shift ? MW_HWERR_BOUNDS : MW_HWERR_NONE;
    }

    void sample() override
    {
        assert_false(dut.st_valid_o || dut.req_valid_o || dut.res_push_o || dut.crd_o);
        fetches = false;
        const bool at_end = dut.rx_valid_i && dut.rx_last_i;
        if (dut.rx_valid_i)
            judge(coming.front(), link.front().flits());
        assert_int_equal(dut.fetch_o, fetches);
        flit = dut.rx_valid_i && !at_end ? flit + 1 : 0;
        if (at_end)
            coming.pop_front();
        // of two errors in a cycle the one of the link comes first
        if (!rows.empty() && wrong(rows.front())) {
            assert_false(shows_row());
            if (dut.err_valid_o && errors.missing() == 0) {
                errors.expect_between(now, now, wrong(rows.front()));
                rows.pop_front();
            }
        } else if (shows_row()) {
            assert_true(!rows.empty());
            const row r = rows.front();
            const bool is_tile = merges && r.index >= load_first;
            assert_int_equal(dut.tile_valid_o, is_tile);
            const bool is_push = counts_reds && tile_reductions && !is_tile;
            assert_int_equal(dut.push_valid_o, is_push);
            assert_int_equal(dut.sig_valid_o, !is_tile && !is_push && r.home == port);
            assert_int_equal(dut.lane_valid_o, !is_tile && !is_push && r.home != port);
            if (dut.sig_valid_o)
                assert_int_equal(dut.sig_token_o, port << shift | r.index);
            else
                assert_true(dut.lane_home_o == r.home && dut.lane_index_o == r.index);
        }
        errors.see(now, dut.err_valid_o, dut.err_code_o);
        bool taken = own.see(dut.sig_valid_o, dut.sig_ready_i, dut.sig_token_o);
        taken |= far.see(dut.lane_valid_o, dut.lane_ready_i, dut.lane_home_o, dut.lane_index_o);
        taken |= tile.see(dut.tile_valid_o, dut.tile_ready_i, dut.lane_home_o, dut.lane_index_o);
        taken |= dut.push_valid_o;
        if (taken) {
            rows.pop_front();
            granted++;
            tiles += dut.tile_valid_o;
            pushes += dut.push_valid_o;
        }
        if (dut.rx_valid_i)
            link.taken(true);
        for (const row &r : arrived)
            rows.push_back(r);
        arrived.clear();
        silent = rows.empty() || shows_row() || dut.err_valid_o ? 0 : silent + 1;
        assert_true(silent < 4); // the oldest row shows
    }

    bool shows_row() const
    {
        return dut.sig_valid_o || dut.lane_valid_o || dut.tile_valid_o || dut.push_valid_o;
    }

    void finish()
    {
        own_rate = far_rate = tile_rate = 100;
        until("the last row", 20000, [&] { return link.empty() && rows.empty(); });
        cycles(4);
        errors.done();
        assert_true(dut.idle_o);
    }

    std::vector<row> arrived;
    size_t flit = 0;
    unsigned silent = 0;
    bool fetches = false; ///< a FETCH is passed on in this cycle
};

TEST(rows_in_their_order)
{
    uint64_t granted = 0, tiles = 0, pushes = 0, fetched = 0;
    unsigned errors[256] = {};
    for (unsigned r = 0; r < 40; r++) {
        hub b(true, r % 2);
        for (unsigned round = 0; round < 3; round++) {
            b.own_rate = b.rng.pick({100u, 50u, 10u});
            b.far_rate = b.rng.pick({100u, 50u, 10u});
            b.tile_rate = b.rng.pick({100u, 50u, 10u});
            b.link.rate = b.rng.pick({100u, 50u, 10u});
            for (unsigned i = 0; i < 100; i++)
                b.send(b.any());
            b.until("the last packet", 20000, [&] { return b.link.empty(); });
            b.finish();
        }
        granted += b.granted;
        tiles += b.tiles;
        pushes += b.pushes;
        fetched += b.fetched;
        for (const auto &e : b.errors.seen)
            errors[e.code]++;
    }
    assert_true(granted > 5000 && (!PARAM_MergeLoads || (tiles > 1000 && fetched > 500)));
    assert_true(!PARAM_SumEntries || pushes > 500);
    assert_true(!PARAM_MergeLoads || errors[MW_HWERR_WINDOW] > 30);
    for (unsigned code :
         {MW_HWERR_OPCODE, MW_HWERR_LENGTH, MW_HWERR_EPOCH, MW_HWERR_BOUNDS, MW_HWERR_UNMAPPED})
        if (code != MW_HWERR_UNMAPPED || N < 32)
            assert_true(errors[code] > 30);
}

// All rows that can be granted wait, in any packets, without a pause between them.
TEST(a_place_for_each)
{
    for (unsigned r = 0; r < 12; r++) {
        hub b;
        b.own_rate = b.far_rate = b.tile_rate = 0;
        unsigned rows = 0;
        while (rows < PLACES) {
            unsigned lanes = r < 3 ? r + 1 : b.rng.between(1, 3);
            lanes = std::min(lanes, PLACES - rows);
            b.send(b.grant(lanes, false));
            rows += lanes;
        }
        b.places = PLACES + 3; // the packets are the limit
        b.until("the last packet", 2000, [&] { return b.link.empty(); });
        b.cycles(5);
        assert_int_equal(b.rows.size(), PLACES);
        assert_false(b.dut.idle_o);
        if (r == 0) { // one more is dropped, and reported
            const wire w = encode(b.grant(1, false), F);
            for (size_t i = 0; i < w.flits(); i++) {
                b.dut.rx_valid_i = 1;
                b.dut.rx_cls_i = MW_CLS_REQ;
                b.dut.rx_err_i = 0;
                b.dut.rx_last_i = w.last(i);
                put(b.dut.rx_data_i, w.at(i));
                b.settle();
                assert_int_equal(b.dut.err_valid_o, w.last(i));
                assert_true(!w.last(i) || b.dut.err_code_o == MW_HWERR_WINDOW);
                b.edge();
            }
        }
        b.finish();
        assert_int_equal(b.granted, PLACES);
    }
}

// The oldest packet has only its last lane left, and as many last lanes as possible wait. Packets
// of one lane still have their places.
TEST(a_place_beside_full_last_lanes)
{
    hub b;
    const unsigned packets = (PLACES + 2) / 3;
    b.places = PLACES + 3;
    b.send(b.grant(3, false));
    b.until("two lanes", 100, [&] { return b.granted == 2; });
    b.own_rate = b.far_rate = b.tile_rate = 0;
    for (unsigned i = 1; i < packets; i++)
        b.send(b.grant(3, false));
    for (unsigned rows = 3 * packets - 2; rows < PLACES; rows++)
        b.send(b.grant(1, false));
    b.until("the last packet", 2000, [&] { return b.link.empty(); });
    b.cycles(5);
    assert_int_equal(b.rows.size(), PLACES);
    b.finish();
    assert_int_equal(b.granted, PLACES + 2);
}

// A CTRL packet while GRANTs wait: a SIGNAL is an unknown opcode, and an EVENT is passed on.
TEST(signals_are_unknown)
{
    hub b;
    packet p;
    p.h = header(MW_OP_SIGNAL);
    p.h.epoch = b.epoch;
    const wire w = encode(p, F);
    for (size_t i = 0; i < w.flits(); i++) {
        b.dut.rx_valid_i = 1;
        b.dut.rx_cls_i = MW_CLS_CTRL;
        b.dut.rx_err_i = 0;
        b.dut.rx_last_i = w.last(i);
        put(b.dut.rx_data_i, w.at(i));
        b.settle();
        b.edge();
    }
    b.dut.rx_valid_i = 0;
    b.settle();
    assert_true(b.dut.err_valid_o && b.dut.err_code_o == MW_HWERR_OPCODE && !b.dut.sig_valid_o);
    assert_int_equal(b.dut.crd_o, 1 << MW_CLS_CTRL);
}

// In other layers a GRANT is an unknown opcode, like any that is not of its class. It passes as a
// poisoned packet, because no unit has a length for it.
TEST(unknown_in_other_layers)
{
    hub b(false);
    const wire w = encode(b.grant(3, false), F);
    for (size_t i = 0; i < w.flits(); i++) {
        b.dut.rx_valid_i = 1;
        b.dut.rx_cls_i = MW_CLS_REQ;
        b.dut.rx_err_i = 0;
        b.dut.rx_last_i = w.last(i);
        put(b.dut.rx_data_i, w.at(i));
        b.settle();
        assert_true(b.dut.req_valid_o);
        assert_int_equal(b.dut.err_valid_o, i == 0);
        assert_true(i > 0 || b.dut.err_code_o == MW_HWERR_OPCODE);
        b.edge();
    }
    b.dut.rx_valid_i = 0;
    for (unsigned i = 0; i < 10; i++) {
        b.settle();
        assert_false(b.dut.sig_valid_o || b.dut.lane_valid_o || b.dut.tile_valid_o ||
                     b.dut.err_valid_o);
        b.edge();
    }
}
