// SPDX-License-Identifier: Apache-2.0
//
// Rows that the switch keeps for later loads. A kept row needs no second FETCH and ends with its
// layer. Rows that arrive poisoned or truncated are not kept.

#ifdef PARAM_MergeKeep

#include "switch_load_bench.h"

namespace {
/// Loads of single rows of one home, whose answers are kept.
struct kept_loads : loads {
    static constexpr unsigned HOME = 0;
    const unsigned places =
        std::min(unsigned{PARAM_MergeKeep} >> 10, unsigned{PARAM_KeepRows}); // rows 1 KB apart

    kept_loads() { keep = true; }
    wanted &at(unsigned reader, unsigned row) { return gpus[reader].row[{HOME, first + row}]; }
    void ask_for(unsigned reader, unsigned row)
    {
        at(reader, row) = {};
        at(reader, row).open = true;
        gpus[reader].open++;
        raw(reader, ld(reader, {{HOME, first + row}}));
    }
    void wait_for(unsigned reader)
    {
        for (unsigned i = 0; i < 4000 && gpus[reader].open; i++)
            b->cycle(), serve_fetches(HOME);
        assert_int_equal(gpus[reader].open, 0);
    }
    /// Number of FETCHs of a load.
    unsigned load(unsigned reader, unsigned row)
    {
        const unsigned before = gpus[HOME].fetched;
        ask_for(reader, row);
        wait_for(reader);
        return gpus[HOME].fetched - before;
    }
    uint32_t kept() { return count(HOME, 7); }
    uint32_t evicted() { return count(HOME, 3); }
};
} // namespace

// Later loads get a kept row without a FETCH. The least recently used rows make room.
TEST(late_loads_get_kept_rows)
{
    kept_loads l;
    for (unsigned layer = 0; layer < 2; layer++) {
        l.layer(l.b->f * 9);
        assert_in_range(l.places, 2, l.rows - 1);
        for (unsigned row = 0; row < l.places; row++)
            assert_int_equal(l.load(1, row), 1);
        assert_int_equal(l.load(2, 0), 0);
        assert_int_equal(l.load(1, l.places), 1); // in the place of row 1, not of row 0
        assert_int_equal(l.load(3, 0), 0);
        assert_int_equal(l.load(2, 1), 1);
        l.b->finish();
        assert_int_equal(l.kept(), 2);
        assert_int_equal(l.evicted(), 2);
    }
}

// Rows of one layer are not returned to loads of the next one, whose rows have the same numbers.
TEST(kept_rows_end_with_their_layer)
{
    kept_loads l;
    l.layer(256);
    const unsigned index = l.first;
    for (unsigned layer = 0; layer < 5; layer++) { // all epochs
        assert_int_equal(l.load(1, index - l.first), 1);
        assert_int_equal(l.load(2, index - l.first), 0);
        l.b->finish();
        assert_int_equal(l.kept(), 1);
        do
            l.layer(256);
        while (l.first > index);
    }
}

// A row with a poisoned or truncated packet is not kept. The load that waits for its end gets it
// with the mark of poison, once.
TEST(spoilt_rows_are_not_kept)
{
    kept_loads l;
    hubs &b = *l.b;
    l.spoils = true;
    for (unsigned k = 0; k < 12; k++) {
        const unsigned packets = 3, at = k % packets;
        const bool cut = k / packets % 2, waits = k / packets / 2;
        l.layer(128 * packets - b.f * b.rng.below(8));
        l.silent = true;
        l.ask_for(1, 0);
        b.cycles(100);
        assert_int_equal(l.gpus[l.HOME].fetches.size(), 1);
        loads::fetch f = l.gpus[l.HOME].fetches.front();
        l.gpus[l.HOME].fetches.clear();
        for (unsigned i = 0; i < packets; i++, f.byte += 128) {
            packet p = l.answer(l.HOME, f, l.packet_bytes(f));
            p.h.poison = i == at && !cut;
            p.err = i == at && cut;
            l.raw(l.HOME, p);
            b.cycles(100);
            if (waits && i == 0 && at != 0) {
                l.ask_for(2, 0);
                b.cycles(100);
                l.wrong(MW_HWERR_COUNT, 2, l.ld(2, {{l.HOME, l.first}})); // it waits already
            }
            b.cycles(100);
        }
        l.silent = false;
        l.wait_for(1);
        assert_int_equal(l.at(1, 0).spoilt, 1);
        if (waits && at != 0) {
            l.wait_for(2);
            assert_int_equal(l.at(2, 0).spoilt, packets);
            assert_int_equal(l.kept(), 1);
            assert_int_equal(l.gpus[l.HOME].fetched, 1);
        }
        assert_int_equal(l.load(3, 0), 1);
        assert_int_equal(l.at(3, 0).spoilt, 0);
        assert_int_equal(l.load(4, 0), 0); // this one is
        assert_int_equal(l.at(4, 0).spoilt, 0);
        for (unsigned row = 1; row < l.places; row++) // one in the place of the bad row
            assert_int_equal(l.load(1, row), 1);
        b.finish();
        assert_int_equal(l.evicted(), 0);
    }
}

// A home goes down and comes back while its rows are sent to others. They arrive complete.
TEST(kept_rows_of_a_home_that_goes_down)
{
    kept_loads l;
    hubs &b = *l.b;
    for (unsigned at = 0; at < 130; at++) {
        l.layer(1024);
        assert_int_equal(l.load(1, 0), 1);
        b.faulty[l.HOME] = b.faulty[2] = true;
        l.ask_for(2, 0);
        b.cycles(at);
        b.disable(l.HOME);
        b.cycles(4);
        b.enable(l.HOME);
        b.cycles(600);
        const bool came = !l.gpus[2].open;
        assert_true(came || b.notified[2][MW_HWERR_OWES]);
        b.faulty[l.HOME] = b.faulty[2] = false;
        b.finish();
    }
    l.layer(256);
    l.load_all();
}
#endif
