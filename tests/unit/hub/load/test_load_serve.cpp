// SPDX-License-Identifier: Apache-2.0
//
// load_serve against a model. Every FETCH has a place and becomes a transfer of its row, with its
// own ref, in order. Every own row becomes a transfer, too. Neither kind waits for more than one of
// the other. Rows and parts of rows that are not inside memory are poisoned.
#include "Vload_serve.h"
#include "bench/stream.h"
#include "hub/node_cfg.h"

using namespace tb;

static const unsigned PLACES = (PARAM_N - 1) * PARAM_OpenLoads;
static const unsigned INDICES = 1u << (PARAM_TokensLog2 + 2); // of parts
static const uint64_t QUEUE = 4; // cycles in which a FETCH passes the queue
static const uint64_t MEMORY = 1ull << PARAM_MemBytesLog2;

struct serve : model<Vload_serve> {
    struct fetch {
        unsigned index, ref;
        uint64_t since; // when it was taken
    };
    node_cfg cfg;
    watch out{"transfers"};
    source<fetch> fetches;
    source<unsigned> own;
    const unsigned parts = rng.pick({0u, 1u, 3u, 7u}); // log2 of those of a row
    const unsigned shift = 7 + below(parts == 7 ? 1 : 4),
                   bytes = parts ? 1u << shift : 16 * (1 + below((1u << shift) / 16));
    // with some bases, rows begin or end beyond memory
    const uint64_t base =
        percent(50) ? below(64) << 7
                    : MEMORY - (below(16) << shift) + (static_cast<uint64_t>(below(2)) << 35);
    std::deque<fetch> here;    // FETCHs that were taken and not yet offered
    std::deque<unsigned> mine; // and own rows
    bool last_own = false;     // kind of the last transfer
    unsigned rate = 100, places = 0, most = 0, poisoned = 0, served = 0;

    serve()
    {
        cfg.set("load_parts", parts);
        cfg.set("row_shift", shift + parts);
        cfg.set("row_bytes", parts ? 16 * (1 + below((1u << (shift + parts)) / 16 - 1)) : bytes);
        cfg.set("load_base", base);
        cfg.any_rest(rng);
        cfg.drive(dut.cfg_i);
        dut.push_i = dut.own_valid_i = dut.xfer_take_i = 0;
        reset();
    }

    void drive() override
    {
        dut.push_i = places < PLACES && fetches.offer(rng);
        dut.index_i = dut.push_i ? fetches.front().index : below(INDICES);
        dut.ref_i = dut.push_i ? fetches.front().ref : below(1u << 16);
        dut.own_valid_i = own.offer(rng);
        dut.own_index_i = dut.own_valid_i ? own.front() : below(INDICES);
        dut.xfer_take_i = 0;
        settle();
        dut.xfer_take_i = dut.xfer_valid_o && percent(rate);
    }

    void see_transfer()
    {
        unsigned index;
        const bool is_own = dut.xfer_own_o;
        if (is_own) {
            assert_false(mine.empty());
            index = mine.front();
            mine.pop_front();
        } else {
            assert_false(here.empty());
            index = here.front().index;
            assert_int_equal(dut.xfer_ref_o, here.front().ref);
            here.pop_front();
            places--;
        }
        const uint64_t row = static_cast<uint64_t>(index) << shift, first = base + row;
        const bool outside = first + bytes > MEMORY;
        assert_true(dut.xfer_addr_o == row && dut.xfer_end_o == bytes - 1);
        assert_int_equal(dut.xfer_poison_o, outside);
        if (!outside)
            assert_int_equal(dut.xfer_from_o, first / PARAM_FlitBytes);
        poisoned += outside;
        served++;
    }

    void sample() override
    {
        assert_true(!dut.push_i || dut.room_o); // a reader that keeps its window has a place
        const bool fetched = dut.xfer_valid_o && !dut.xfer_own_o; // the oldest, still queued
        last_own = last_own && !fetched;
        if (dut.own_valid_i && dut.own_ready_o) {
            const bool waits = here.size() > fetched && here[fetched].since + QUEUE < now;
            assert_false(last_own && waits);
            last_own = true;
        }
        if (out.see(dut.xfer_valid_o, dut.xfer_take_i, dut.xfer_own_o, dut.xfer_ref_o,
                    dut.xfer_addr_o))
            see_transfer();
        const fetch f = fetches.empty() ? fetch() : fetches.front();
        const unsigned o = own.empty() ? 0 : own.front();
        if (dut.push_i && fetches.taken(true)) {
            here.push_back({f.index, f.ref, now});
            most = std::max(most, ++places);
        }
        if (own.taken(dut.own_ready_o))
            mine.push_back(o);
    }
};

TEST(every_row_becomes_a_transfer)
{
    unsigned most = 0, poisoned = 0, served = 0;
    for (unsigned r = 0; r < 40; r++) {
        serve b;
        const unsigned rows = 400;
        b.rate = b.rng.pick({100u, 50u, 5u});
        b.fetches.rate = b.rng.pick({100u, 30u, 3u});
        b.own.rate = b.rng.pick({100u, 30u, 3u});
        for (unsigned i = 0; i < rows; i++)
            if (b.percent(70))
                b.fetches.queue.push_back(
                    {b.below(b.rng.pick({INDICES, INDICES / 8})), b.below(1u << 16), 0});
            else
                b.own.queue.push_back(b.below(b.rng.pick({INDICES, INDICES / 8})));
        b.until("all transfers", 100000, [&] { return b.served == rows; });
        b.cycles(3);
        assert_true(b.dut.idle_o && b.here.empty() && b.mine.empty());
        most = std::max(most, b.most);
        poisoned += b.poisoned;
        served += b.served;
    }
    assert_int_equal(most, PLACES);
    assert_true(poisoned > 500 && served - poisoned > 2000);
}
