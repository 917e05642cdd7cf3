// SPDX-License-Identifier: Apache-2.0
//
// Target lists on their way through memory, in layers of any sizes, with memory of any speed.
// list_keep takes the lists from packets, and grant_lists makes requests of them. A row is granted
// as soon as its list was taken, whether it is written or not. Each row gives one request, bit for
// bit, in the order of the grants. Nothing except the lists is written. A list that was never
// written gives a request of some length. The rate is that of rows of 64 bytes.

#include "Vkept_lists.h"
#include "bench/memory.h"
#include "node_cfg.h"

#include <map>

using namespace tb;

static const unsigned N = PARAM_N, F = PARAM_FlitBytes, LOG_TOKENS = PARAM_TokensLog2,
                      EXPERTS = PARAM_MaxExperts;

#ifndef PARAM_TileReductions
#define PARAM_TileReductions 0
#endif
static const bool TILES = PARAM_TileReductions;

struct bench : model<Vkept_lists> {
    struct list {
        unsigned home, index;
        std::vector<unsigned> experts; // EXPERTS: one that does not exist
    };
    node_cfg cfg;
    memory mem{1u << PARAM_MemBytesLog2, F};
    read_port rd{mem, "lists"};
    write_port wr{mem, "lists"};
    const unsigned k = rng.between(1, 16), shift = below(LOG_TOKENS + 1),
                   row_bytes = F * rng.between(1, 100), epoch = below(4), base;
    std::deque<list> coming; // to be kept
    source<list> grants;
    std::deque<list> asked;
    packet_watch requests{"requests"};
    unsigned at = 0, take_rate = 100;
    uint64_t served = 0, first = 0, last = 0;
    bool garbage = false;
    const bool tiles;         // tile reductions: no row has a list
    bool singly = false;      // a list comes when all earlier ones were granted
    std::deque<size_t> flits; // of each list that is not written yet
    bytes want;               // of memory

    explicit bench(bool of_tiles = false)
        : base(16 * below((mem.data.size() - (32u * N << shift)) / 16 + 1) / F * F), tiles(of_tiles)
    {
        cfg.set("k", k);
        cfg.set("port", 0);
        cfg.set("epoch", epoch);
        cfg.set("token_shift", shift);
        cfg.set("row_bytes", row_bytes);
        cfg.set("rl_base", base);
        cfg.set("tile_reductions", tiles);
        cfg.any_rest(rng);
        cfg.drive(dut.cfg_i);
        rng.fill(mem.data.data(), mem.data.size());
        want = mem.data;
        dut.take_i = dut.lane_valid_i = 0;
        reset();
    }

    list any()
    {
        list l = {rng.between(1, N - 1), below(1u << shift), {}};
        for (unsigned i = rng.between(1, k); i; i--)
            l.experts.push_back(rng.one_in(10) ? EXPERTS : below(EXPERTS));
        return l;
    }
    size_t place(const list &l) const { return base + 32 * (l.home << shift | l.index); }

    void drive() override
    {
        settle();
        dut.take_i = !coming.empty() && (at || (dut.room_o && !(singly && !grants.empty()))) &&
                     percent(take_rate);
        const list l = coming.empty() ? any() : coming.front();
        const unsigned e = at < l.experts.size() ? l.experts[at] : 0;
        dut.idx_i = at;
        dut.cnt_i = l.experts.size();
        dut.last_i = at + 1 == l.experts.size();
        dut.tgt_i = (e == EXPERTS ? EXPERTS | below(EXPERTS) : e) << 4 | below(16);
        dut.src_i = l.home;
        // whatever token the packet names, the list is for one of the source's own
        dut.token_i = (at == 0 && l.experts.size() == 1 && rng.one_in(4) ? below(N) : l.home)
                          << shift |
                      l.index;
        dut.lane_valid_i = grants.offer(rng);
        dut.home_i = dut.lane_valid_i ? grants.front().home : below(N);
        dut.index_i = dut.lane_valid_i ? grants.front().index : below(1u << LOG_TOKENS);
        wr.drive(rng, dut.wr_ready_i);
        rd.drive(rng, dut.rd_ready_i, dut.rd_rvalid_i, dut.rd_rdata_i);
    }

    void sample() override
    {
        assert_false(tiles && dut.rd_valid_o);
        rd.sample(rng, dut.rd_valid_o, dut.rd_ready_i, dut.rd_addr_o);
        const bool comes = dut.take_i && dut.last_i;
        const size_t its = comes ? (2 * coming.front().experts.size() + F - 1) / F : 0;
        const bool written = dut.wr_valid_o && dut.wr_ready_i;
        assert_true(!dut.wr_valid_o || !flits.empty());
        assert_int_equal(dut.idle_o & 1, flits.empty());
        assert_true(asked.empty() || !(dut.idle_o >> 1)); // a row waits for its request
        wr.sample(dut.wr_valid_o, dut.wr_ready_i, dut.wr_addr_o, dut.wr_data_o, dut.wr_be_o);
        if (dut.take_i && ++at == coming.front().experts.size()) {
            at = 0;
            const list &l = coming.front();
            grants.queue.push_back(l);
            coming.pop_front();
        }
        if (written && --flits.front() == 0)
            flits.pop_front();
        if (comes)
            flits.push_back(its);
        const list g = grants.empty() ? list() : grants.front();
        if (grants.taken(dut.lane_ready_o))
            asked.push_back(g);
        assert_false(dut.req_err_o);
        if (requests.see(dut.req_valid_o, true, dut.req_data_o, dut.req_last_o) && dut.req_last_o)
            request();
    }

    void request()
    {
        const bytes got = requests.take();
        assert_false(asked.empty());
        const list l = asked.front();
        asked.pop_front();
        packet p;
        p.h = header(MW_OP_DYMULTIMEM_LD_REDUCE);
        p.h.src = l.home;
        p.h.len = row_bytes;
        p.h.epoch = epoch;
        p.h.stage = MW_STAGE_COMBINE;
        p.h.addr = l.home << shift | l.index;
        if (tiles) {
            p.h.cnt = 1;
            assert_wire(encode(p, F), got, "request");
        } else if (garbage) {
            const mw_header h = header_of(got);
            assert_true(h.cnt >= 1 && h.cnt <= 16 && h.opcode == p.h.opcode && h.src == l.home &&
                        h.addr == p.h.addr && h.len == row_bytes);
            assert_int_equal(got.size(), 16 + (2 * (h.cnt - 1) + F - 1) / F * F);
        } else {
            packet q = decode(got, F);
            assert_int_equal(q.targets.size(), l.experts.size());
            for (size_t t = 0; t < l.experts.size(); t++) {
                const unsigned e = q.targets[t] >> 4;
                assert_true(l.experts[t] == EXPERTS ? e >= EXPERTS : e == l.experts[t]);
            }
            p.h.cnt = q.h.cnt;
            p.h.target0 = q.h.target0;
            p.targets = q.targets;
            assert_wire(encode(p, F), got, "request");
        }
        if (!served++)
            first = now;
        last = now;
    }

    void finish()
    {
        until("the last request", 50000, [&] {
            return coming.empty() && grants.empty() && asked.empty() && !dut.req_valid_o;
        });
        cycles(3);
        assert_int_equal(dut.idle_o, 3);
    }
};

// A token comes again only when its row is closed.
TEST(each_row_has_its_list)
{
    uint64_t served = 0;
    for (unsigned r = 0; r < 150; r++) {
        bench b;
        b.rd.rate = b.rng.pick({100u, 60u, 15u});
        b.wr.rate = b.rng.pick({100u, 60u, 15u, 3u});
        b.take_rate = b.rng.pick({100u, 50u, 20u});
        b.grants.rate = b.rng.pick({100u, 50u, 10u});
        std::map<size_t, bool> named;
        for (unsigned i = 0; i < 100; i++) {
            const bench::list l = b.any();
            if (named[b.place(l)])
                continue;
            named[b.place(l)] = true;
            b.coming.push_back(l);
        }
        const auto lists = b.coming;
        b.finish();
        served += b.served;
        // the lists are written, and nothing else
        for (const auto &l : lists) {
            const size_t flits = (2 * l.experts.size() + F - 1) / F;
            memcpy(&b.want[b.place(l)], &b.mem.data[b.place(l)], F * flits);
        }
        assert_true(b.want == b.mem.data);
    }
    assert_true(served > 1500);
}

// A row is granted at once, while earlier lists are still to be written. Its list is read after its
// own last flit.
TEST(the_newest_list)
{
    for (unsigned r = 0; r < 60; r++) {
        bench b;
        b.singly = true;
        b.rd.latency = 1;
        b.wr.rate = b.rng.pick({60u, 30u, 15u});
        b.take_rate = 100;
        std::map<size_t, bool> named;
        for (unsigned i = 0; i < 100; i++) {
            const bench::list l = b.any();
            if (!named[b.place(l)])
                b.coming.push_back(l);
            named[b.place(l)] = true;
        }
        b.finish();
    }
}

TEST(lists_that_were_never_written)
{
    for (unsigned r = 0; r < 40; r++) {
        bench b;
        b.garbage = true;
        for (unsigned i = 0; i < 100; i++)
            b.grants.queue.push_back(b.any());
        b.finish();
        assert_int_equal(b.served, 100);
    }
}

// A row of 64 bytes takes its header and four flits on the link.
TEST(rate)
{
    for (unsigned r = 0; r < 20; r++) {
        bench b;
        if (b.k > 8 && F == 8)
            continue;
        b.garbage = true; // no list is written at the same time
        b.rng.fill(b.mem.data.data(), 0);
        for (auto &byte : b.mem.data)
            byte &= 0x00; // one target each
        for (unsigned i = 0; i < 100; i++)
            b.grants.queue.push_back(b.any());
        b.finish();
        assert_true(b.last - b.first <= 99 * 5);
    }
}

// With tile reductions a GRANT alone makes the request, at the rate of the link or more slowly.
TEST_IF(TILES, tiles_have_no_lists)
{
    for (unsigned r = 0; r < 40; r++) {
        bench b(true);
        b.grants.rate = b.rng.pick({100u, 50u, 10u});
        for (unsigned i = 0; i < 100; i++)
            b.grants.queue.push_back(b.any());
        b.finish();
        assert_int_equal(b.served, 100);
        assert_true(b.grants.rate < 100 || b.last - b.first <= 99 * 5);
    }
}
