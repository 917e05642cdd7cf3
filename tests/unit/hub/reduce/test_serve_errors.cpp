// SPDX-License-Identifier: Apache-2.0
//
// The response of reduce_serve to requests that break a rule. Each comes between valid ones, and
// must be reported with its code, in its cycles. A request without a valid requester or without a
// length, or beyond the window, is dropped. Any other gets a poisoned row without terms in its
// turn, with the requested number of packets. Requests of others, and later ones, stay right.

#include "Vreduce_serve.h"
#include "bench/errors.h"
#include "bench/packet.h"
#include "node_cfg.h"

#include <deque>

using namespace tb;

static const unsigned N = PARAM_N, F = PARAM_FlitBytes, PORT = 1, LE = 8, EXPERTS = 64, WINDOW = 8,
                      HF = 16 / F;
static const unsigned ROW_SHIFT = 10, ROW = 640, TOKEN_SHIFT = 5;
static const uint64_t MEM = 1ull << PARAM_MemBytesLog2;
static const unsigned STRANGER = N; // first number that is no port's

struct serve : model<Vreduce_serve> {
    node_cfg cfg;
    error_watch errors{"reduce_serve"};
    bool look_open = false, unallocated = false; // the look-up that is open; the answers to all
    unsigned miss = 0; // after this many look-ups one has no row, if not 0
    uint64_t look_due = 0;
    unsigned lookups = 0;
    bool take_dests = true;
    std::deque<unsigned> dests; // of own rows: flits, as they come

    struct answer {
        unsigned requester, packets, flits; // of the last one
        bool poison;
    };
    std::deque<answer> want[N]; // rows, by requester

    serve()
    {
        dut.go_i = dut.emap_we_i = dut.req_valid_i = dut.own_valid_i = 0;
        dut.row_pop_i = dut.row_term_i = 0;
        cfg.set("port", PORT);
        cfg.set("epoch", 2);
        cfg.set("k", 8);
        cfg.set("token_shift", TOKEN_SHIFT);
        cfg.set("n_shift", N <= 2 ? 1 : N <= 4 ? 2 : 3);
        cfg.set("local_experts", LE);
        cfg.set("row_bytes", ROW);
        cfg.set("row_shift", ROW_SHIFT);
        cfg.set("cap_shift", 4);
        cfg.set("yd_base", 0x8000);
        cfg.set("switch_reductions", 0); // where it is, addresses are tokens
        cfg.set("row_returns", 0);
        cfg.set("source_lists", 0);
        cfg.any_rest(rng);
        cfg.drive(dut.cfg_i);
        reset();
        begin();
    }

    // The writes of software after a reset. The map has no reset, and during it the bench may have
    // written any entry (a node holds such writes back).
    void begin()
    {
        for (unsigned e = 0; e < EXPERTS; e++) {
            dut.emap_we_i = 1;
            dut.emap_addr_i = static_cast<uint16_t>(e);
            dut.emap_data_i = tb::place(e < N * LE, e % N, e / N);
            cycle();
        }
        dut.emap_we_i = 0;
        dut.go_i = 1;
        cycle();
        dut.go_i = 0;
    }

    void drive() override
    {
        dut.al_req_ready_i = percent(80) && !look_open;
        dut.al_valid_i = look_open && now >= look_due;
        if (dut.al_valid_i) {
            look_open = false;
            dut.al_err_i = unallocated || (miss && lookups == miss);
        }
        dut.al_row_i = static_cast<uint32_t>(rng.bits(4));
        dut.dest_ready_i = take_dests;
    }
    void sample() override
    {
        errors.see(now, dut.err_valid_o, dut.err_code_o);
        if (dut.al_req_valid_o && dut.al_req_ready_i) {
            look_open = true;
            look_due = now + 2 + (percent(30) ? below(5) : 0);
            lookups++;
        }
        if (dut.dest_valid_o && dut.dest_ready_i)
            dests.push_back(dut.dest_addr_o);
    }

    static uint16_t own(unsigned le) { return target(le * N + PORT); }

    packet dynamic(unsigned from, unsigned targets)
    {
        packet p;
        p.h = header(MW_OP_DYMULTIMEM_LD_REDUCE);
        p.h.src = from;
        p.h.dst = PORT;
        p.h.epoch = 2;
        p.h.len = ROW;
        p.h.addr = static_cast<uint64_t>(below(N << TOKEN_SHIFT)) << ROW_SHIFT;
        std::vector<uint16_t> list;
        for (unsigned t = 0; t < targets; t++)
            list.push_back(own(below(LE)));
        p.set_targets(list);
        return p;
    }
    packet fixed(unsigned from, uint64_t addr, unsigned len)
    {
        packet p = dynamic(from, 0);
        p.h.opcode = MW_OP_MULTIMEM_LD_REDUCE;
        p.h.addr = addr;
        p.h.len = len;
        p.h.cnt = below(32); // ignored
        p.h.target0 = below(65536);
        return p;
    }
    packet right(unsigned from)
    {
        return percent(50) ? dynamic(from, 1 + below(16))
                           : fixed(from, F * below(1000), F * (1 + below(ROW / F)));
    }

    void send(const packet &p)
    {
        const wire w = encode(p, F, &rng);
        for (size_t i = 0; i < w.flits(); i++) {
            dut.req_valid_i = 1;
            put(dut.req_data_i, w.at(i));
            dut.req_last_i = w.last(i);
            dut.req_err_i = w.last(i) && w.err;
            cycle();
        }
        dut.req_valid_i = 0;
        dut.req_last_i = percent(50);
        dut.req_err_i = percent(50);
        rng.fill(&dut.req_data_i, F);
    }
    // An own request of a static row, as row_build makes it.
    void send_own(const packet &p)
    {
        const wire w = encode(p, F, &rng);
        dut.own_is_static_i = 1;
        for (size_t i = 0; i < w.flits(); i++) {
            dut.own_valid_i = 1;
            put(dut.own_data_i, w.at(i));
            dut.own_last_i = w.last(i);
            cycle();
        }
        dut.own_valid_i = 0;
    }
    // A request that gets its row.
    void ask(const packet &p, bool poison = false)
    {
        want[p.h.src].push_back(
            {p.h.src, (p.h.len + 127) / 128, ((p.h.len - 1) % 128) / F + 1, poison});
        send(p);
    }
    // Takes the next row of this requester when it is available.
    void take(unsigned from)
    {
        settle();
        until("the row", 3000, [&] { return dut.rows_pend_o >> from & 1; });
        dut.row_ctx_i = static_cast<uint8_t>(from);
        settle();
        const answer a = want[from].front();
        want[from].pop_front();
        assert_int_equal(dut.row_poison_o, a.poison);
        assert_int_equal(dut.row_zero_o, a.poison);
        assert_false(dut.row_st_o || dut.row_use_r_o);
        assert_int_equal(dut.row_last_pkt_o + 1, a.packets);
        assert_int_equal(dut.row_last_len_o + 1, a.flits);
        dut.row_pop_i = 1;
        cycle();
        dut.row_pop_i = 0;
        settle();
    }
    void idle()
    {
        for (unsigned q = 0; q < N; q++)
            while (!want[q].empty())
                take(q);
        until("it to be idle", 400, [&] { return dut.idle_o && dut.rows_pend_o == 0; });
        cycles(2);
        errors.done();
    }
    unsigned other() { return (PORT + 1 + below(N - 1)) % N; }

    // Sends a request that gets a poisoned row, and this error, if any, within the time of its
    // set-up.
    void poisons(unsigned code, const packet &p)
    {
        unsigned who = p.h.src;
        if (percent(50))
            ask(right(who)), idle();
        if (code != MW_HWERR_NONE)
            errors.expect_between(now + 4, now + 20 + 20 * 17 + ROW_SHIFT, code);
        ask(p, true);
        idle();
        ask(right(who));
        idle();
    }
    // Sends one that is dropped and reported in the cycle after its first flit.
    void drops(unsigned code, const packet &p)
    {
        errors.expect_between(now + 1, now + 1, code);
        send(p);
        cycles(2);
        errors.done();
    }
};

TEST(of_no_source_or_of_nothing)
{
    serve b;
    for (unsigned i = 0; i < 40; i++) {
        packet p = b.right(b.other());
        switch (i % 3) {
        case 0:
            p.h.src = PORT;
            break;
        case 1:
            p.h.src = b.rng.between(STRANGER, 31);
            break;
        default:
            p.h.len = 0;
        }
        b.drops(MW_HWERR_LENGTH, p);
        b.ask(b.right(b.other()));
        b.idle();
    }
    for (unsigned src = STRANGER; src < 32; src++) {
        packet p = b.dynamic(src, 16);
        b.drops(MW_HWERR_LENGTH, p);
    }
    b.cycles(50);
    assert_true(b.dut.idle_o && b.dut.rows_pend_o == 0);
}

// Two rows are set up ahead and the window is queued. One more is dropped, whatever other
// requesters have.
TEST(beyond_the_window)
{
    serve b;
    const unsigned full = b.other();
    for (unsigned i = 0; i < 2 + WINDOW; i++) {
        b.ask(b.right(full));
        b.cycles(400);
    }
    for (unsigned i = 0; i < 5; i++) {
        b.drops(MW_HWERR_WINDOW, b.right(full));
        packet p = b.right(full); // no requester or no length is checked first
        p.h.len = 0;
        b.drops(MW_HWERR_LENGTH, p);
    }
    for (unsigned q = 0; q < N; q++)
        for (unsigned i = 0; i < WINDOW && q != full && q != PORT; i++)
            b.ask(b.right(q));
    b.take(full); // one more place, once the others' rows before its next one are set up
    b.cycles(2000);
    b.ask(b.right(full));
    b.cycles(400);
    b.drops(MW_HWERR_WINDOW, b.right(full));
    b.idle();
}

TEST(lengths_types_and_counts)
{
    serve b;
    for (unsigned len : {1u, F - 1, F + 1, ROW - 1, ROW + 1, ROW + F, 4096u, 32752u, 32767u}) {
        for (unsigned kind = 0; kind < 2; kind++) {
            packet p = kind ? b.dynamic(b.other(), 3) : b.fixed(b.other(), 0, ROW);
            p.h.len = len;
            b.poisons(MW_HWERR_BOUNDS, p);
        }
    }
    for (unsigned dtype = 0; dtype < 16; dtype++) {
        for (unsigned redop = 0; redop < 8; redop++) {
            packet p = b.right(b.other());
            p.h.dtype = dtype;
            p.h.redop = redop;
            bool exists = dtype < 5 && redop < (dtype < 3 ? 3 : 6);
            if (exists)
                b.ask(p), b.idle();
            else
                b.poisons(MW_HWERR_BOUNDS, p);
        }
    }
    for (unsigned cnt = 0; cnt < 32; cnt++) {
        packet p = b.dynamic(b.other(), 16);
        p.h.cnt = cnt;
        if (cnt == 0 || cnt > 16)
            b.poisons(MW_HWERR_BOUNDS, p);
    }
}

TEST(addresses)
{
    serve b;
    for (unsigned bit = 0; bit < 48; bit++) {
        packet p = b.fixed(b.other(), 0, ROW);
        p.h.addr |= 1ull << bit;
        if (1ull << bit >= F && 1ull << bit < MEM)
            b.ask(p), b.idle();
        else
            b.poisons(MW_HWERR_BOUNDS, p);
    }
    // up to the end of memory, not a flit more
    for (unsigned len = F; len <= ROW; len += F) {
        b.ask(b.fixed(b.other(), MEM - len, len));
        b.idle();
        b.poisons(MW_HWERR_BOUNDS, b.fixed(b.other(), MEM - len + F, len));
    }
    // only the address of a token's first byte is valid
    for (unsigned bit = 0; bit < ROW_SHIFT; bit++) {
        packet p = b.dynamic(b.other(), 1 + b.below(16));
        p.h.addr |= 1ull << bit;
        b.poisons(MW_HWERR_BOUNDS, p);
    }
}

TEST(targets)
{
    serve b;
    for (unsigned n = 1; n <= 16; n++) {
        for (unsigned at = 0; at < n; at++) {
            packet p = b.dynamic(b.other(), n);
            unsigned wrong[] = {N * LE + b.below(EXPERTS - N * LE), PORT + 1 + N * b.below(LE - 1),
                                EXPERTS + PORT, EXPERTS << b.below(6) | PORT, 4095};
            p.targets[at] = target(b.rng.pick(wrong));
            p.set_targets(p.targets);
            b.poisons(MW_HWERR_UNMAPPED, p);
            p = b.dynamic(b.other(), n);
            b.ask(b.right(p.h.src));
            b.idle();
            b.errors.expect_between(b.now + 4, b.now + 20 + 20 * 17 + ROW_SHIFT,
                                    MW_HWERR_UNALLOCATED);
            b.lookups = 0;
            b.miss = at + 1;
            b.ask(p, true);
            b.idle();
            b.miss = 0;
            assert_int_equal(b.lookups, at + 1); // none after it
        }
    }
}

// Poison, and a link error in the header's first flit, have been reported elsewhere and are not
// reported again.
TEST(notified_before)
{
    serve b;
    for (unsigned i = 0; i < 20; i++) {
        packet p = b.right(b.other());
        p.h.poison = 1;
        if (i % 2)
            p.h.len = ROW + F;
        b.poisons(MW_HWERR_NONE, p);
        if (HF == 1) {
            p = b.percent(50) ? b.dynamic(b.other(), 1) : b.fixed(b.other(), 0, ROW);
            p.err = true;
            b.poisons(MW_HWERR_NONE, p);
        }
    }
    // with an error in a later flit, the targets or the address in it count as invalid
    for (unsigned n = HF == 1 ? 2 : 1; n <= 16; n++) {
        packet p = b.dynamic(b.other(), n);
        p.err = true;
        b.poisons(n == 1 ? MW_HWERR_BOUNDS : MW_HWERR_UNMAPPED, p);
        if (encode(p, F).flits() > HF + 1) { // cut, and followed by words of an earlier one
            p = b.dynamic(p.h.src, n);
            p.err = true;
            p.cut = -1;
            b.poisons(MW_HWERR_UNMAPPED, p);
        }
    }
}

// An error of a set-up and one of an arriving request are both reported, whatever their distance.
TEST(two_errors_at_once)
{
    serve b;
    for (unsigned gap = 0; gap < 60; gap++) {
        packet p = b.dynamic(2 % N, 1), q = b.right(b.other());
        p.h.len = ROW + F;
        q.h.src = PORT;
        b.errors.expect_between(b.now, b.now + 60, MW_HWERR_BOUNDS);
        if (p.h.src == PORT)
            p.h.src = b.other();
        b.ask(p, true);
        b.cycles(gap);
        b.errors.expect_between(b.now + 1, b.now + 1, MW_HWERR_LENGTH);
        b.send(q);
        b.idle();
    }
}

// An own row is set up when there is a place for its destination, at any port. No destination is
// lost while none is taken.
TEST(destinations_wait)
{
    for (unsigned port : {0u, PORT, N - 1}) {
        serve b;
        b.cfg.set("port", port);
        b.cfg.drive(b.dut.cfg_i);
        b.reset();
        b.begin();
        b.take_dests = false;
        b.dut.row_ctx_i = static_cast<uint8_t>(port);
        std::vector<unsigned> want;
        unsigned popped = 0;
        for (unsigned cycle = 0; cycle < 3000; cycle++) {
            b.take_dests = cycle > 1500;
            if (want.size() < 40 && want.size() - popped < WINDOW) {
                const unsigned flit = b.below(1000);
                packet p = b.fixed(port, uint64_t{flit} * F, F);
                p.h.dst = port;
                p.h.tag = 0;
                p.h.cnt = 1;
                want.push_back((flit + b.dut.static_delta_i) % (MEM / F));
                b.send_own(p);
            }
            b.settle();
            b.dut.row_pop_i = b.dut.rows_pend_o >> port & 1;
            popped += b.dut.row_pop_i;
            b.cycle();
            b.dut.row_pop_i = 0;
            if (cycle == 1500)
                assert_in_range(popped, 8, 16);
        }
        assert_int_equal(popped, want.size());
        assert_true(std::vector<unsigned>(b.dests.begin(), b.dests.end()) == want);
    }
}

// A reset clears the queues, and an error that was due.
TEST(reset_forgets)
{
    serve b;
    for (unsigned i = 0; i < 40; i++) {
        b.errors = error_watch("before the reset");
        for (unsigned n = 0; n < 6; n++)
            b.send(b.right(b.other()));
        packet p = b.right(b.other());
        p.cut = -static_cast<int>(b.below(3)); // it stops inside
        const wire w = encode(p, F, &b.rng);
        for (size_t f = 0; f < w.flits(); f++) {
            b.dut.req_valid_i = 1;
            put(b.dut.req_data_i, w.at(f));
            b.dut.req_last_i = b.dut.req_err_i = 0;
            b.cycle();
        }
        b.dut.req_valid_i = 0;
        b.cycles(b.below(40));
        b.reset();
        b.errors = error_watch("behind the reset");
        b.look_open = false;
        b.begin();
        assert_int_equal(b.dut.rows_pend_o, 0);
        b.cycles(60);
        assert_true(b.dut.idle_o && b.dut.rows_pend_o == 0);
        for (unsigned q = 0; q < N; q++)
            for (unsigned n = 0; n < WINDOW && q != PORT; n++)
                b.ask(b.right(q));
        b.idle();
    }
}
