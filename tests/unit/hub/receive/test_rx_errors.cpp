// SPDX-License-Identifier: Apache-2.0
//
// Packets of the classes CTRL, REQ and PART that break a rule or exceed the sender's credit. Each
// wrong packet comes to an idle hub. The right unit reports it in the right cycles, its credit
// returns, and nothing else happens.

#include "rx_errors_model.h"

using namespace tb;

// ---- CTRL ----
TEST(control_packets)
{
    hub b;
    for (unsigned op : {MW_OP_SIGNAL, MW_OP_EVENT, MW_OP_ACK, MW_OP_ERROR}) {
        packet p = b.bare(op, PORT << TOKEN_SHIFT);
        for (unsigned e = 1; e < 4; e++) {
            packet q = p;
            q.h.epoch = (b.epoch + e) % 4;
            b.fails(RX, MW_HWERR_EPOCH, q);
            q.h.len = 1; // comes first
            b.fails(RX, MW_HWERR_EPOCH, q);
        }
        for (unsigned len : {1u, 8u, 128u, 32767u}) {
            packet q = p;
            q.h.len = len;
            b.fails(RX, MW_HWERR_LENGTH, q);
        }
        for (unsigned cnt : {1u, 16u, 31u}) {
            packet q = p;
            q.h.cnt = cnt;
            b.fails(RX, MW_HWERR_LENGTH, q);
        }
        for (int cut : {-1, 1, 2, 9}) {
            packet q = p;
            q.cut = cut;
            if (cut > 0 || HF == 2)
                b.fails(RX, MW_HWERR_LENGTH, q);
        }
        for (unsigned e = 0; e < 2; e++) { // an error bit is checked before all else
            packet q = p;
            q.err = true;
            q.h.epoch = (b.epoch + e) % 4;
            b.fails(RX, MW_HWERR_LENGTH, q);
        }
    }
    for (unsigned op = 0; op < 64; op++) {
        if (op >= MW_OP_SIGNAL && op <= MW_OP_ERROR)
            continue;
        packet p = b.bare(op);
        p.h.cls = MW_CLS_CTRL;
        b.fails(RX, MW_HWERR_OPCODE, p);
    }
    // the switch's code of a rejected packet is passed on as an error
    for (unsigned code = 1; code < 256; code++) {
        packet p = b.bare(MW_OP_ERROR);
        p.h.tag = code;
        b.fails(RX, code, p);
    }
    assert_int_equal(b.credits[MW_CLS_CTRL], b.errors.seen.size());
}

TEST(signals)
{
    hub b;
    packet p = b.bare(MW_OP_SIGNAL);
    for (unsigned bit = TOKEN_BITS; bit < 48; bit++) {
        p.h.addr = 1ull << bit | PORT << TOKEN_SHIFT;
        b.fails(RX, MW_HWERR_BOUNDS, p);
    }
    for (unsigned token = 0; token < 1u << TOKEN_BITS; token++) {
        p.h.addr = token;
        b.fails(TOKENS, token >> TOKEN_SHIFT == PORT ? MW_HWERR_COUNT : MW_HWERR_BOUNDS, p);
    }
}

// A packet beyond the credits is dropped and reported in its last cycle. Packets inside stay, and
// return their credits.
TEST(control_beyond_credit)
{
    hub b;
    packet p = b.bare(MW_OP_SIGNAL, PORT << TOKEN_SHIFT); // signals wait while tokens are armed
    b.dut.arm_valid_i = 1;
    b.dut.arm_token_i = PORT << TOKEN_SHIFT;
    b.dut.arm_count_i = 16;
    for (unsigned i = 0; i < CTRL_SLOTS + 5; i++) {
        if (i >= CTRL_SLOTS)
            b.errors.expect_between(b.now + HF - 1, b.now + HF - 1, MW_HWERR_CREDIT, RX);
        b.send(p, MW_CLS_CTRL);
    }
    b.errors.done();
    assert_int_equal(b.credits[MW_CLS_CTRL], 0);
    b.dut.arm_valid_i = 0;
    b.settle_down();
    assert_int_equal(b.credits[MW_CLS_CTRL],
                     CTRL_SLOTS); // and each counted: the token was armed with as many
    b.fails(TOKENS, MW_HWERR_COUNT, p);
}

// ---- REQ and PART: what is wrong goes on, poisoned, in its place ----
static void same_but_poisoned(hub &b, const packet &sent, const bytes &got, bool poison)
{
    packet want = sent;
    want.h.poison = poison;
    wire w = encode(want, F, &b.rng);
    assert_wire(w, got, "passed on");
}

TEST(requests)
{
    hub b;
    for (unsigned op : {MW_OP_DYMULTIMEM_LD_REDUCE, MW_OP_MULTIMEM_LD_REDUCE, MW_OP_FETCH,
                        MW_OP_SIGNAL, MW_OP_ST, MW_OP_RESULT}) {
        for (unsigned i = 0; i < 12; i++) {
            packet p = b.bare(op);
            p.h.cls = MW_CLS_REQ;
            p.h.len = ROW;
            p.h.poison = b.rng.one_in(4);
            std::vector<uint16_t> list(1 + b.below(16));
            for (auto &t : list)
                t = static_cast<uint16_t>(b.rng());
            p.set_targets(list);
            p.h.epoch = (b.epoch + (b.percent(40) ? 1 + b.below(3) : 0)) % 4;
            p.err = b.percent(30);
            const uint64_t first = b.now, last = first + encode(p, F).flits() - 1;
            const bool alien = op != MW_OP_DYMULTIMEM_LD_REDUCE && op != MW_OP_MULTIMEM_LD_REDUCE,
                       stale = p.h.epoch != b.epoch;
            if ((stale || alien) && !(p.err && first == last))
                b.errors.expect_between(first, first, stale ? MW_HWERR_EPOCH : MW_HWERR_OPCODE, RX);
            if (p.err)
                b.errors.expect_between(last, last, MW_HWERR_LENGTH, RX);
            b.request_err.clear();
            b.send(p, MW_CLS_REQ);
            b.errors.done();
            same_but_poisoned(b, p, b.requests.take(), p.h.poison || alien || stale);
            for (size_t f = 0; f < b.request_err.size(); f++)
                assert_int_equal(b.request_err[f], p.err && f + 1 == b.request_err.size());
            b.cycles(b.below(4));
        }
    }
    assert_int_equal(b.credits[MW_CLS_REQ], 0); // the window bounds them
    assert_true(b.idle());
}

TEST(results)
{
    hub b;
    for (unsigned op :
         {MW_OP_RESULT, MW_OP_PARTIAL, MW_OP_ST, MW_OP_DYMULTIMEM_LD_REDUCE, MW_OP_ACK}) {
        for (unsigned i = 0; i < 20; i++) {
            packet p = b.result(1 + b.below(128));
            p.h.opcode = op;
            p.h.poison = b.rng.one_in(4);
            p.h.epoch = (b.epoch + (b.percent(40) ? 1 + b.below(3) : 0)) % 4;
            const size_t flits = encode(p, F).flits(),
                         bad = b.percent(50) ? SIZE_MAX : HF + b.below(flits - HF);
            const bool alien = op != MW_OP_RESULT, stale = p.h.epoch != b.epoch;
            if (stale || alien)
                b.errors.expect_between(b.now, b.now, stale ? MW_HWERR_EPOCH : MW_HWERR_OPCODE, RX);
            if (bad < flits)
                b.errors.expect_between(b.now + flits - 1, b.now + flits - 1, MW_HWERR_LENGTH, RX);
            b.result_bad.clear();
            b.result_rate = 20 + b.below(81);
            b.send(p, MW_CLS_PART, bad);
            b.settle_down();
            b.errors.done();
            same_but_poisoned(b, p, b.results.take(), p.h.poison || alien || stale);
            assert_int_equal(b.result_bad.size(), flits);
            for (size_t f = 0; f < flits; f++)
                assert_int_equal(b.result_bad[f], f >= bad);
        }
    }
    assert_int_equal(b.credits[MW_CLS_PART], 100);
}

// Results beyond their credits are dropped, and each of their flits is reported. Results inside
// come out unchanged.
TEST(results_beyond_credit)
{
    hub b;
    b.result_rate = 0;
    std::vector<packet> sent;
    for (unsigned i = 0; i < RESULTS + 3; i++) {
        sent.push_back(b.result(128));
        const size_t flits = encode(sent[i], F).flits();
        for (size_t f = 0; f < flits && i >= RESULTS; f++)
            b.errors.expect_between(b.now + f, b.now + f, MW_HWERR_CREDIT, RX);
        b.send(sent[i], MW_CLS_PART);
    }
    b.errors.done();
    b.result_rate = 100;
    b.settle_down();
    assert_int_equal(b.credits[MW_CLS_PART], RESULTS);
    assert_int_equal(b.results.packets.size(), RESULTS);
    for (unsigned i = 0; i < RESULTS; i++)
        same_but_poisoned(b, sent[i], b.results.take(), false);
}
