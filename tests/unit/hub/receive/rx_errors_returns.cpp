// SPDX-License-Identifier: Apache-2.0
//
// Rows that return to slots of their token, and lists of sources: addresses outside, full lists,
// and FLAGs with wrong contents.

#include "rx_errors_model.h"

using namespace tb;

// ---- slots that rows return to ----
// Slots of 6 tokens with 3 places each. A quarter of all slots, each token's fourth, belongs to no
// place. The bytes of a token count once it is armed. A signal is an unknown opcode.
TEST(slots_that_rows_return_to)
{
    hub b;
    const unsigned slots = 6, places = 3, shift = 2;
    b.set({{"row_returns", 1},
           {"cb_base", ST_LO},
           {"k", places},
           {"k_shift", shift},
           {"tokens", slots}});
    auto at = [&](unsigned token, unsigned place, unsigned offset) {
        return ST_LO + ((token << shift | place) << ROW_SHIFT) + offset;
    };
    for (unsigned token = 0; token < 1u << TOKEN_SHIFT; token++) {
        for (unsigned place = 0; place < 1u << shift; place++) {
            const unsigned rows = 256; // the row fills the stride
            if (token >= slots || place >= places)
                b.rejects(MW_HWERR_BOUNDS, b.store(at(token, place, F * b.below(rows / F)), F));
            b.rejects(MW_HWERR_BOUNDS, b.store(at(token, place, rows - F), 2 * F));
        }
    }
    packet signal = b.bare(MW_OP_SIGNAL, PORT << TOKEN_SHIFT);
    b.fails(RX, MW_HWERR_OPCODE, signal);
    // Two rows in pieces in random order. The token is ready with the last byte of both, and not
    // before.
    b.arm(4, 2);
    std::vector<unsigned> pieces;
    for (unsigned i = 0; i < 2 * ROW / 32; i++)
        pieces.push_back(i);
    b.rng.shuffle(pieces);
    for (unsigned i = 0; i < pieces.size(); i++) {
        assert_true(b.ready.empty());
        const unsigned row = pieces[i] * 32 / ROW;
        b.lands(b.store(at(4, 2 * row, pieces[i] * 32 % ROW), 32));
    }
    b.cycles(20);
    assert_true(b.ready == std::vector<unsigned>{4});
    for (unsigned token : {4u, 0u}) { // finished; never armed
        const uint64_t from = b.now;
        b.errors.expect_between(from, from + 40, MW_HWERR_COUNT, TOKENS);
        b.lands(b.store(at(token, 1, 0), 32));
        b.errors.done();
    }
}

// Slots of any number, size and place. A store that starts in a slot belongs to its token and must
// stay in its row. A store that starts outside is a store like any other.
TEST(slots_of_any_size)
{
    hub b;
    for (unsigned round = 0; round < 16; round++) {
        const unsigned k = 1 + b.below(16), k_shift = log2_up(k);
        const unsigned tokens = 1 + b.below(1u << TOKEN_SHIFT), row_shift = 7 + b.below(3);
        const unsigned row = F * (1 + b.below((1u << row_shift) / F));
        const unsigned first = 0x8000 + F * b.below(0x2000 / F);
        const unsigned all = 1u << (TOKEN_SHIFT + k_shift + row_shift), armed = tokens - 1;
        b.next_layer(); // in which no token is armed
        b.set({{"row_returns", 1},
               {"st_lo", 0x7f00},
               {"st_hi", MEM},
               {"cb_base", first},
               {"k", k},
               {"k_shift", k_shift},
               {"tokens", tokens},
               {"row_bytes", row},
               {"row_shift", row_shift}});
        b.arm(armed, 31);
        for (unsigned i = 0; i < 30; i++) {
            const unsigned token = b.below(1u << TOKEN_SHIFT), place = b.below(1u << k_shift);
            const unsigned offset = F * b.below((1u << row_shift) / F), len = F * (1 + b.below(2));
            unsigned at = first + ((token << k_shift | place) << row_shift) + offset;
            const bool slot = i % 5 != 0;
            if (!slot)
                at = i % 2 ? first - F : first + all;
            const packet p = b.store(at, len);
            if (slot && (token >= tokens || place >= k || offset + len > row)) {
                b.fails(STORE, MW_HWERR_BOUNDS, p);
                continue;
            }
            if (slot && token != armed) // nothing armed it
                b.reports(MW_HWERR_COUNT, TOKENS, 0, 40, p);
            else
                b.lands(p);
            b.errors.done();
            assert_true(b.mem.read(at, len) == p.payload);
        }
    }
}

// ---- lists of sources ----
struct listed_hub : hub {
    static const unsigned PLACES = 1 << CAP_SHIFT;

    listed_hub()
    {
        // a list of each GPU: list g has rows of GPU g
        set({{"row_returns", 1},
             {"source_lists", 1},
             {"local_experts", 1},
             {"cb_base", ST_LO},
             {"k_shift", 2},
             {"tokens", 1u << TOKEN_SHIFT}});
    }
    // A packet of the row that token `token` of OTHER becomes at place `at` of its list.
    packet chosen(unsigned token, unsigned at, unsigned stage, unsigned offset, unsigned len)
    {
        packet p = row(OTHER << TOKEN_SHIFT | token, stage, offset, len);
        p.h.opcode = stage == MW_STAGE_GATE ? MW_OP_ST_ROWSP_NOP : MW_OP_ST_ROWSP;
        p.h.addr |= uint64_t{at} << MW_ROW_BIT;
        return p;
    }
    void whole(unsigned token, unsigned at)
    {
        for (unsigned offset = 0; offset < ROW; offset += 128) {
            const packet p = chosen(token, at, MW_STAGE_DISPATCH, offset, 128);
            lands(p);
            const size_t there = XD + ((OTHER * PLACES + at) << ROW_SHIFT) + offset;
            assert_true(mem.read(static_cast<unsigned>(there), 128) == p.payload);
        }
        lands(chosen(token, at, MW_STAGE_GATE, 0, 4 * K));
    }
    packet said(unsigned kind, uint64_t addr)
    {
        packet p = bare(MW_OP_FLAG);
        p.h.stage = kind;
        p.h.addr = addr;
        return p;
    }
    // Sends a FLAG that is right or wrong about the rows. A wrong one is COUNT of that unit, some
    // cycles after its arrival.
    void tells(const packet &p, bool right, unit u)
    {
        if (right)
            lands(p);
        else
            reports(MW_HWERR_COUNT, u, 0, 12, p);
        errors.done();
    }
};

TEST(rows_of_lists_that_cannot_be)
{
    if (!PARAM_SourceLists)
        return;
    listed_hub b;
    b.rejects(MW_HWERR_BOUNDS, b.chosen(3, b.PLACES, MW_STAGE_DISPATCH, 0, 128)); // a list is full
    b.rejects(MW_HWERR_BOUNDS, b.chosen(3, b.PLACES, MW_STAGE_GATE, 0, 4 * K));
    b.rejects(MW_HWERR_BOUNDS, b.chosen(3, (1u << MW_ROW_BITS) - 1, MW_STAGE_DISPATCH, 0, 128));
    for (unsigned home = 0; home < N; home++) { // the sender need not be the home
        packet p = b.chosen(3, 0, MW_STAGE_DISPATCH, 0, 128);
        p.h.addr = static_cast<uint64_t>(home << TOKEN_SHIFT | 3) << ROW_SHIFT;
        if (home != OTHER)
            b.rejects(MW_HWERR_BOUNDS, p);
    }
    for (unsigned bit = TOKEN_BITS + ROW_SHIFT; bit < MW_ROW_BIT; bit++) {
        packet p = b.chosen(3, 1, MW_STAGE_DISPATCH, 0, 128);
        p.h.addr |= 1ull << bit;
        b.rejects(MW_HWERR_BOUNDS, p);
    }
    packet p = b.chosen(3, 0, MW_STAGE_DISPATCH, 0, 128);
    p.set_targets({own(1)}); // an expert that the map has and this layer does not
    b.rejects(MW_HWERR_BOUNDS, p);
    b.rejects(MW_HWERR_OPCODE, b.words(MW_COUNTS_ROWS, {1, 2, 3, 4}));
    b.whole(3, 2);
    assert_int_equal(b.complete(OTHER), 1);
    b.whole(5, 0); // places in any order
    assert_int_equal(b.complete(OTHER), 2);
}

TEST(flags_that_say_what_is_not)
{
    if (!PARAM_SourceLists)
        return;
    listed_hub b;
    b.rejects(MW_HWERR_BOUNDS, b.said(3, 0)); // no kind
    b.rejects(MW_HWERR_BOUNDS, b.said(MW_FLAG_LIST, 2 << 7 | 1));
    for (unsigned bit = 23; bit < 48; bit++)
        b.rejects(MW_HWERR_BOUNDS, b.said(MW_FLAG_LIST, 1ull << bit));
    for (unsigned bit = 8; bit < 48; bit++)
        b.rejects(MW_HWERR_BOUNDS, b.said(MW_FLAG_TILE, 1ull << bit | 1));
    for (unsigned e = 1; e < 4; e++) {
        for (unsigned kind : {MW_FLAG_LIST, MW_FLAG_TILE}) { // of an older layer
            packet p = b.said(kind, 0);
            p.h.epoch = (b.epoch + e) % 4;
            b.rejects(MW_HWERR_EPOCH, p);
        }
    }
    // A list is complete when its FLAG comes.
    for (unsigned have = 0; have < 3; have++) {
        for (unsigned rows : {have + 1, have ? have - 1 : have + 2, 300u}) {
            listed_hub c;
            for (unsigned i = 0; i < have; i++)
                c.whole(i, i);
            c.tells(c.said(MW_FLAG_LIST, rows << 7), false, ROWS);
        }
        listed_hub c;
        for (unsigned i = 0; i < have; i++)
            c.whole(i, i);
        c.tells(c.said(MW_FLAG_LIST, have << 7), true, ROWS);
        assert_int_equal(c.expected(OTHER), have);
        assert_false(c.dut.counts_all_o);
        c.tells(c.said(MW_FLAG_LIST, have << 7), false, SAID); // again
        assert_int_equal(c.expected(OTHER), have);
    }
    // A source that repeats its FLAG does not replace another one. All lists are complete when each
    // source has sent its own.
    for (unsigned last = 0; last < N; last++) {
        listed_hub c;
        for (unsigned i = 0; i < 2 * N; i++) {
            const unsigned src = i / 2;
            packet p = c.said(MW_FLAG_LIST, 0);
            p.h.src = src;
            if (src != last)
                c.tells(p, i % 2 == 0, SAID);
        }
        assert_int_equal(c.counts, N - 1);
        assert_false(c.dut.counts_all_o);
        packet p = c.said(MW_FLAG_LIST, 0);
        p.h.src = last;
        c.tells(p, true, SAID);
        assert_true(c.dut.counts_all_o);
    }
    // The FLAG ends the list, whatever its number. Rows that are present count, and later ones are
    // COUNT.
    for (unsigned have = 0; have < 3; have++) {
        for (unsigned said = 0; said < 4; said++) {
            listed_hub c;
            for (unsigned i = 0; i < have; i++)
                c.whole(i, i);
            c.tells(c.said(MW_FLAG_LIST, said << 7), said == have, ROWS);
            assert_int_equal(c.expected(OTHER), have);
            for (unsigned i = have; i < 4; i++) {
                c.errors.expect_between(c.now, c.now + 200, MW_HWERR_COUNT, ROWS);
                c.whole(i, i);
                c.errors.done();
                assert_int_equal(c.complete(OTHER), have);
            }
            assert_int_equal(c.row_events, have);
        }
    }
    // The rows of a tile are present when its FLAG comes. Others may be, too.
    b.arm(4, 31);
    // Bytes of two sources come in pieces of any size, before or after a FLAG.
    const unsigned sources[] = {OTHER, 3}, slot = ST_LO + ((4u << 2 | 1) << ROW_SHIFT);
    unsigned bytes_of[2] = {}, in_all = 0;
    auto land = [&](unsigned s, unsigned len) {
        packet p = b.store(slot + 32 * b.below((ROW - len) / 32 + 1), len);
        p.h.src = sources[s];
        b.lands(p);
        bytes_of[s] += len;
        in_all += len;
    };
    auto tile = [&](unsigned s, unsigned rows) {
        packet p = b.said(MW_FLAG_TILE, rows);
        p.h.src = sources[s];
        const bool right = rows <= bytes_of[s] / ROW;
        b.tells(p, right, SAID);
        bytes_of[s] = right ? bytes_of[s] - rows * ROW : bytes_of[s] % ROW;
    };
    for (unsigned i = 0; i < 200; i++) {
        const unsigned s = b.below(2);
        if (in_all < 20 * ROW && b.percent(70))
            land(s, 32 * b.rng.between(1, 4));
        else
            tile(s, b.percent(50) ? bytes_of[s] / ROW : b.below(3));
    }
    for (unsigned s = 0; s < 2; s++) { // half a row does not count, and is completed after the FLAG
        tile(s, bytes_of[s] / ROW);
        while (bytes_of[s] % ROW != ROW / 2)
            land(s, 32);
        tile(s, 0);
        tile(s, 1);
        land(s, 128);
        tile(s, 1);
    }
    // Bytes that have landed in a layer do not count in the next one.
    land(0, 128);
    land(0, 128);
    land(1, 96);
    b.go();
    bytes_of[0] = bytes_of[1] = 0;
    tile(0, 1);
    land(1, 128);
    tile(1, 1);
    land(1, 128);
    tile(1, 1);
    tile(1, 0);
}
