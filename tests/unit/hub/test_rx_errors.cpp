// SPDX-License-Identifier: Apache-2.0
//
// What the receive side of a hub (rx_hub) does about packets that break a rule: each wrong packet
// comes to an idle hub, alone, from the link and from the own GPU, and must be reported by the
// right unit, with the right code, in the right cycles; its credit comes back, and nothing else
// happens: memory, rows, tokens, events and answers stay as they are. Then what stands in tables
// from another epoch, or by chance, and a reset in the middle of it all.

#include "bench/errors.h"
#include "bench/values.h"
#include "event_numbers.h"
#include "rx_model.h"

#ifndef PARAM_Reds
#define PARAM_Reds 0
#endif
#ifndef PARAM_SourceLists
#define PARAM_SourceLists 1
#endif
#ifndef PARAM_TargetListCache
#define PARAM_TargetListCache 1
#endif

using namespace tb;

static const unsigned PORT = 1, OTHER = 2;
static const unsigned TOKEN_SHIFT = 3, CAP_SHIFT = 2, ROW_SHIFT = 8, ROW = 2 * 128, K = 4;
static const unsigned ST_LO = 0x18000, ST_HI = 0x1c000, TOKEN_BITS = 5 + 2;
static const unsigned ROWS_LOG2 = F == 8 ? 6 : 9;
static const bool REDS = PARAM_Reds, LISTS = PARAM_TargetListCache, TYPES = PARAM_RowTypes;
enum unit { RX, STORE, ROWS, TOKENS, SAID };

// An expert of this GPU.
static uint16_t own(unsigned le)
{
    return target(le * N + PORT);
}

struct hub : rx_bench {
    error_watch errors{"hub"};
    packet_watch requests{"requests"}, results{"results"};
    unsigned credits[4] = {}, row_events = 0, acks = 0, answers = 0, flags = 0, events = 0,
             counts = 0;
    std::vector<bool> request_err, result_bad;          // of each flit
    std::vector<std::pair<unsigned, unsigned>> counted; // {row, contributions}
    std::vector<unsigned> ready;                        // tokens
    unsigned rate = 100, result_rate = 100;
    bool all_rows = false;

    explicit hub(unsigned its_epoch = 2)
        : rx_bench({{"port", PORT},
                    {"epoch", its_epoch},
                    {"k", K},
                    {"token_shift", TOKEN_SHIFT},
                    {"row_bytes", ROW},
                    {"dispatch_bytes", TYPES ? ROW : 0},
                    {"row_shift", ROW_SHIFT},
                    {"gate_shift", 4},
                    {"cap_shift", CAP_SHIFT},
                    {"st_lo", ST_LO},
                    {"st_hi", ST_HI}})
    {
        epoch = its_epoch;
        reset();
        write_map();
        sweep();
        go();
    }

    void write_map()
    {
        for (unsigned e = 0; e < EXPERTS; e++)
            map_expert(e, e < N * LE, e % N, e / N % LE);
    }
    using rx_bench::go;
    void go() { go(epoch); }
    void next_layer()
    {
        if (epoch == 3)
            sweep();
        go((epoch + 1) % 4);
    }

    void drive() override
    {
        io->store[0].rate = io->store[1].rate = rate;
        io->table_wr.rate = io->table_rd.rate = io->red_rd.rate = rate;
        rx_bench::drive();
        dut.ack_ready_i = percent(rate);
        dut.res_ready_i = percent(result_rate);
    }

    void sample() override
    {
        for (unsigned u = 0; u < 5; u++)
            errors.see(now, dut.err_valid_o[u], dut.err_code_o[u], u);
        rx_bench::sample();
        if (dut.added_valid_o)
            counted.push_back({dut.added_row_o, dut.added_adds_o});
        if (dut.req_valid_o)
            request_err.push_back(dut.req_err_o);
        requests.see(dut.req_valid_o, true, dut.req_data_o, dut.req_last_o);
        if (dut.res_valid_o && dut.res_ready_i)
            result_bad.push_back(dut.res_bad_o);
        results.see(dut.res_valid_o, dut.res_ready_i, dut.res_data_o, dut.res_last_o);
        for (unsigned c = 0; c < 4; c++)
            credits[c] += dut.crd_o >> c & 1;
        if (dut.rdy_valid_o && dut.rdy_ready_i)
            ready.push_back(dut.rdy_token_o);
        row_events += dut.ev_row_o;
        acks += dut.ev_ack_o;
        answers += dut.ack_valid_o && dut.ack_ready_i;
        flags += dut.ev_valid_o[0];
        events += dut.ev_valid_o[1];
        counts += dut.cnt_valid_o;
        assert_true(dut.rows_here_o || !all_rows || dut.go_i); // once all are here they stay
        all_rows = dut.rows_here_o && !dut.go_i;
    }

    // ---- packets ----
    mw_header head(unsigned opcode)
    {
        mw_header h = header(opcode);
        h.src = OTHER;
        h.dst = PORT;
        h.epoch = epoch;
        return h;
    }
    packet store(unsigned addr, unsigned len)
    {
        packet p;
        p.h = head(MW_OP_ST);
        p.h.addr = addr;
        p.h.len = len;
        p.payload = rng.some(len);
        p.lane = addr % F;
        return p;
    }
    packet row(unsigned token, unsigned stage, unsigned offset, unsigned len,
               const std::vector<uint16_t> &targets = {own(0)})
    {
        packet p = store(0, len);
        p.h.opcode = MW_OP_DYMULTIMEM_ST;
        p.h.stage = stage;
        p.h.addr = static_cast<uint64_t>(token) << ROW_SHIFT | offset;
        p.set_targets(targets);
        return p;
    }
    packet words(unsigned kind, const std::vector<uint32_t> &list)
    {
        packet p;
        p.h = head(MW_OP_COUNTS);
        p.h.stage = kind;
        p.h.len = static_cast<uint32_t>(4 * list.size());
        p.payload.resize(p.h.len);
        memcpy(p.payload.data(), list.data(), p.h.len);
        return p;
    }

    // The flits of a packet of a class, in consecutive cycles; marked from flit `bad` on,
    // or as the packet says.
    void send(const packet &p, unsigned cls, size_t bad = SIZE_MAX)
    {
        const wire w = encode(p, F, &rng);
        for (size_t i = 0; i < w.flits(); i++) {
            dut.rx_valid_i = 1;
            dut.rx_cls_i = static_cast<uint8_t>(cls);
            put(dut.rx_data_i, w.at(i));
            dut.rx_last_i = w.last(i);
            dut.rx_err_i = (w.last(i) && w.err) || i >= bad;
            cycle();
        }
        dut.rx_valid_i = 0;
        dut.rx_cls_i = static_cast<uint8_t>(below(4));
        dut.rx_last_i = percent(50);
        dut.rx_err_i = percent(50);
        rng.fill(&dut.rx_data_i, F);
    }
    bool idle() { return local.empty() && control.empty() && dut.idle_o == 0x1f; }
    void settle_down()
    {
        cycle();
        until("the hub to be idle", 2000, [&] { return idle(); });
        cycles(3);
    }

    // Sends the packet, which is wrong, and sees that nothing comes of it but this error, n times.
    enum way { LINK, LOCAL, CONTROL };
    void fails(unit u, unsigned code, const packet &p, way where = LINK, unsigned n = 1)
    {
        const bytes before = mem.data;
        const unsigned was[] = {row_events, acks, answers, flags, events, counts};
        const unsigned given[] = {credits[0], credits[1], credits[2], credits[3]};
        const uint64_t flits = encode(p, F, &rng).flits(), last = now + flits - 1;
        // a signal takes a cycle of rx and one of the tracker; a store's header, list and target
        // one each, two a target, and a wait for a turn
        const uint64_t from = u == STORE ? last + 2 : last + 1 + (u == TOKENS),
                       more = u == STORE ? 3 + 2 * n + (where ? 3 : 0) : 0;
        for (unsigned i = 0; i < n; i++)
            errors.expect_between(from, from + more, code, u);
        if (where == LINK)
            send(p, p.h.cls);
        else
            (where == LOCAL ? local : control).queue.push_back(encode(p, F, &rng));
        settle_down();
        errors.done();
        const unsigned is[] = {row_events, acks, answers, flags, events, counts};
        for (unsigned i = 0; i < 6; i++)
            assert_int_equal(is[i], was[i]);
        for (unsigned c = 0; c < 4; c++)
            assert_int_equal(credits[c] - given[c], where == LINK && c == p.h.cls);
        assert_true(mem.data == before);
    }
    // A store does, from wherever it comes.
    void rejects(unsigned code, const packet &p, unsigned n = 1)
    {
        for (way where : {LINK, LOCAL, CONTROL})
            if (!p.err || where == LINK)
                fails(STORE, code, p, where, n);
    }

    struct looked {
        bool err;
        unsigned row;
    };
    looked look(unsigned le, unsigned token)
    {
        dut.req1_valid_i = 1;
        dut.req1_le_i = static_cast<uint8_t>(le);
        dut.req1_token_i = token;
        bool taken = false;
        until("the look-up to be taken", 50, [&] {
            settle();
            return taken || (taken = dut.req1_ready_o);
        });
        cycle();
        dut.req1_valid_i = 0;
        settle();
        until("the look-up's answer", 100, [&] { return dut.resp1_valid_o; });
        return {dut.resp1_err_o != 0, dut.resp1_row_o};
    }
    unsigned complete(unsigned le)
    {
        dut.stat_le_i = static_cast<uint8_t>(le);
        cycle();
        return dut.stat_complete_o;
    }
    unsigned expected(unsigned le)
    {
        complete(le);
        return dut.stat_expected_o;
    }
    // All of a token's row at an expert.
    void whole_row(unsigned token, unsigned le)
    {
        for (unsigned at = 0; at < ROW; at += 128)
            send(row(token, MW_STAGE_DISPATCH, at, 128, {own(le)}), MW_CLS_STORE);
        send(row(token, MW_STAGE_GATE, 0, 4 * K, {own(le)}), MW_CLS_STORE);
        settle_down();
    }
};

// ---- CTRL ----
TEST(control_packets)
{
    hub b;
    for (unsigned op : {MW_OP_SIGNAL, MW_OP_EVENT, MW_OP_ACK, MW_OP_ERROR}) {
        packet p;
        p.h = b.head(op);
        p.h.addr = PORT << TOKEN_SHIFT;
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
        for (unsigned e = 0; e < 2; e++) { // an error bit comes before all else
            packet q = p;
            q.err = true;
            q.h.epoch = (b.epoch + e) % 4;
            b.fails(RX, MW_HWERR_LENGTH, q);
        }
    }
    for (unsigned op = 0; op < 64; op++) {
        if (op >= MW_OP_SIGNAL && op <= MW_OP_ERROR)
            continue;
        packet p;
        p.h = b.head(op);
        p.h.cls = MW_CLS_CTRL;
        b.fails(RX, MW_HWERR_OPCODE, p);
    }
    // what the switch tells of a rejected packet is reported on
    for (unsigned code = 1; code < 256; code++) {
        packet p;
        p.h = b.head(MW_OP_ERROR);
        p.h.tag = code;
        b.fails(RX, code, p);
    }
    assert_int_equal(b.credits[MW_CLS_CTRL], b.errors.seen.size());
}

TEST(signals)
{
    hub b;
    packet p;
    p.h = b.head(MW_OP_SIGNAL);
    for (unsigned bit = TOKEN_BITS; bit < 48; bit++) {
        p.h.addr = 1ull << bit | PORT << TOKEN_SHIFT;
        b.fails(RX, MW_HWERR_BOUNDS, p);
    }
    for (unsigned token = 0; token < 1u << TOKEN_BITS; token++) {
        p.h.addr = token;
        b.fails(TOKENS, token >> TOKEN_SHIFT == PORT ? MW_HWERR_COUNT : MW_HWERR_BOUNDS, p);
    }
}

// One beyond the credits is dropped and reported in its last cycle; those inside stay, and
// give their credits back.
TEST(control_beyond_credit)
{
    hub b;
    packet p;
    p.h = b.head(MW_OP_SIGNAL);
    p.h.addr = PORT << TOKEN_SHIFT; // signals wait while tokens are armed
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
            packet p;
            p.h = b.head(op);
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

static packet result(hub &b, unsigned len)
{
    packet p;
    p.h = b.head(MW_OP_RESULT);
    p.h.len = len;
    p.payload = b.rng.some(len);
    return p;
}

TEST(results)
{
    hub b;
    for (unsigned op :
         {MW_OP_RESULT, MW_OP_PARTIAL, MW_OP_ST, MW_OP_DYMULTIMEM_LD_REDUCE, MW_OP_ACK}) {
        for (unsigned i = 0; i < 20; i++) {
            packet p = result(b, 1 + b.below(128));
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

// Results beyond their credits are dropped whole, and reported with each flit; those that are
// here come out as they are.
TEST(results_beyond_credit)
{
    hub b;
    b.result_rate = 0;
    std::vector<packet> sent;
    for (unsigned i = 0; i < RESULTS + 3; i++) {
        sent.push_back(result(b, 128));
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

// ---- STORE ----
TEST(stores_of_another_kind)
{
    hub b;
    for (unsigned e = 1; e < 4; e++) {
        for (unsigned op : {MW_OP_ST, MW_OP_MULTIMEM_ST, MW_OP_DYMULTIMEM_ST, MW_OP_FLAG,
                            MW_OP_FENCE, MW_OP_COUNTS}) {
            packet p = op == MW_OP_DYMULTIMEM_ST
                           ? b.row(OTHER << TOKEN_SHIFT, MW_STAGE_DISPATCH, 0, 128)
                           : b.store(ST_LO, 64);
            p.h.opcode = op;
            p.h.epoch = (b.epoch + e) % 4;
            b.rejects(MW_HWERR_EPOCH, p);
            p.h.poison = 1; // the epoch comes before poison
            b.rejects(MW_HWERR_EPOCH, p);
            p.h.epoch = b.epoch;
            b.rejects(MW_HWERR_POISON, p);
        }
    }
    for (unsigned op = 0; op < 64; op++) {
        if ((op >= MW_OP_ST && op <= MW_OP_COUNTS) || (REDS && op == MW_OP_MULTIMEM_RED) ||
            is_rowsp(op))
            continue;
        packet p = b.store(ST_LO, 64);
        p.h.opcode = op;
        b.rejects(MW_HWERR_OPCODE, p);
        p.h.len = 0; // the opcode comes before the length
        p.payload.clear();
        b.rejects(MW_HWERR_OPCODE, p);
    }
}

TEST(stores_of_a_wrong_length)
{
    hub b;
    for (unsigned len : {0u, 129u, 192u, 255u, 256u, 384u, 16384u, 32767u}) {
        for (unsigned op : {MW_OP_ST, MW_OP_MULTIMEM_ST, MW_OP_DYMULTIMEM_ST, MW_OP_COUNTS}) {
            packet p = op == MW_OP_DYMULTIMEM_ST
                           ? b.row(OTHER << TOKEN_SHIFT, MW_STAGE_DISPATCH, 0, 128)
                           : b.store(ST_LO, 128);
            p.h.opcode = op;
            p.h.len = len;
            b.rejects(MW_HWERR_LENGTH, p);
        }
    }
    for (unsigned op : {MW_OP_FLAG, MW_OP_FENCE}) {
        packet p = b.store(ST_LO, 8);
        p.h.opcode = op;
        b.rejects(MW_HWERR_LENGTH, p); // they have no payload
        p.h.len = 0;
        b.rejects(MW_HWERR_LENGTH, p);
    }
    for (unsigned len : {1u, 2u, 3u, 5u, 127u}) {
        packet p = b.words(0, std::vector<uint32_t>(32, 0));
        p.h.len = len;
        p.payload.resize(len);
        b.rejects(MW_HWERR_LENGTH, p);
    }
    // flits that are missing, or too many, and the link's error bit, of packets that are else right
    const packet right[] = {
        b.store(ST_LO, 128), b.store(ST_LO + 3, 2), b.store(ST_LO + F - 1, F + 2),
        b.words(1, {1, 2, 3, 4}),
        b.row(OTHER << TOKEN_SHIFT, MW_STAGE_DISPATCH, 0, 128, {own(0), own(1), own(2), own(3)})};
    for (const packet &r : right) {
        const int flits = static_cast<int>(encode(r, F).flits());
        packet bare = r;
        bare.payload.clear();
        const int front = static_cast<int>(encode(bare, F).flits());
        for (int cut = -flits + 1; cut < 40; cut++) {
            packet p = r;
            p.cut = cut;
            p.err = cut == 0;
            // of a list that is whole each target is reported
            b.rejects(MW_HWERR_LENGTH, p, p.err || flits + cut < front || !p.h.cnt ? 1 : p.h.cnt);
        }
    }
    // more than a packet may hold, from its lane on
    packet p = b.store(ST_LO + 1, 128);
    b.rejects(MW_HWERR_LENGTH, p);
}

// Every counter that packets count, every number of a bit more, and more rows
// reported than there are.
TEST(flags_out_of_bounds)
{
    hub b;
    for (unsigned bit = 0; bit < 48; bit++) {
        for (unsigned e = 0; e < 32; e++) {
            packet p;
            p.h = b.head(MW_OP_FLAG);
            p.h.addr = e | uint64_t{bit > 4} << bit;
            // rows of all tokens, and one behind them
            const bool notified = PARAM_RowRanges && bit > 4 && bit < 5 + TOKEN_BITS + 1;
            if ((bit > 4 && !notified) || !is_counted(PARAM_Events, e)) {
                if (bit < 5 || e % 8 == 0 || bit == 5 + TOKEN_BITS + 1)
                    b.rejects(MW_HWERR_BOUNDS, p);
                continue;
            }
            const unsigned flags = b.flags;
            b.send(p, MW_CLS_STORE);
            b.settle_down();
            b.errors.done();
            assert_int_equal(b.flags, flags + 1);
        }
    }
}

TEST(stores_out_of_bounds)
{
    hub b;
    b.rejects(MW_HWERR_BOUNDS, b.store(ST_LO - 1, 1));
    b.rejects(MW_HWERR_BOUNDS, b.store(ST_LO - 1, 64));
    b.rejects(MW_HWERR_BOUNDS, b.store(ST_HI - 63, 64));
    b.rejects(MW_HWERR_BOUNDS, b.store(ST_HI, 1));
    for (unsigned op : {MW_OP_ST, MW_OP_MULTIMEM_ST, MW_OP_DYMULTIMEM_ST}) {
        for (unsigned bit = 17; bit < 48; bit++) {
            packet p = b.store(ST_LO, 16);
            p.h.opcode = op;
            p.h.addr |= 1ull << bit;
            if (op == MW_OP_DYMULTIMEM_ST) {
                p.set_targets({own(0)});
                p.h.stage = MW_STAGE_FLAT;
            }
            b.rejects(MW_HWERR_BOUNDS, p);
        }
    }
    for (unsigned at = 1; at < F; at++) { // counts begin with a flit
        packet p = b.words(0, {1, 2});
        p.h.addr = at;
        p.lane = at;
        b.rejects(MW_HWERR_BOUNDS, p);
    }
    // rows, gate weights, tokens
    const unsigned token = OTHER << TOKEN_SHIFT;
    for (unsigned stage : {MW_STAGE_DISPATCH, MW_STAGE_COMBINE}) {
        const char *size = TYPES && stage == MW_STAGE_DISPATCH ? "dispatch_bytes" : "row_bytes";
        b.set(size, 128 + F);
        b.rejects(MW_HWERR_BOUNDS, b.row(token, stage, 128, F + 1));
        b.rejects(MW_HWERR_BOUNDS, b.row(token, stage, 128 + F, 1));
        b.rejects(MW_HWERR_BOUNDS, b.row(token, stage, 255, 1));
        b.set(size, ROW);
    }
    b.rejects(MW_HWERR_BOUNDS, b.row(token, MW_STAGE_GATE, 0, 4 * K + 1));
    b.rejects(MW_HWERR_BOUNDS, b.row(token, MW_STAGE_GATE, 4 * K, 1));
    for (unsigned t : {N << TOKEN_SHIFT, (N << TOKEN_SHIFT) + 5, 127u})
        b.rejects(MW_HWERR_BOUNDS,
                  b.row(t, MW_STAGE_DISPATCH, 0, 128)); // of no GPU: the allocator's
    for (unsigned bit = TOKEN_BITS; bit + ROW_SHIFT < 48; bit++) {
        packet p = b.row(token, MW_STAGE_DISPATCH, 0, 128);
        p.h.addr |= 1ull << (bit + ROW_SHIFT);
        b.rejects(MW_HWERR_BOUNDS, p);
    }
    b.set("local_experts", 2); // an expert that the map has and this layer has not
    b.rejects(MW_HWERR_BOUNDS, b.row(token, MW_STAGE_DISPATCH, 0, 128, {own(2), own(3)}), 2);
    for (unsigned le = 0; le < LE; le++)
        assert_int_equal(b.complete(le), 0);
}

TEST(stores_with_wrong_targets)
{
    hub b;
    const unsigned token = OTHER << TOKEN_SHIFT;
    for (unsigned cnt = 0; cnt < 32; cnt++) {
        if (cnt >= 1 && cnt <= LE)
            continue;
        packet p = b.row(token, MW_STAGE_DISPATCH, 0, 128);
        p.set_targets(std::vector<uint16_t>(cnt, own(0)));
        b.rejects(MW_HWERR_TARGETS, p);
    }
    for (unsigned op : {MW_OP_ST_ROWSP, MW_OP_ST_ROWSP_NOP}) { // which have exactly one
        for (unsigned cnt : {0u, 2u, 3u, 4u, 16u}) {
            packet p = b.row(token, MW_STAGE_DISPATCH, 0, 128);
            p.h.opcode = op;
            p.set_targets(std::vector<uint16_t>(cnt, own(0)));
            b.rejects(MW_HWERR_TARGETS, p);
        }
    }
    std::vector<uint16_t> wrong;
    for (unsigned e = 0; e < 4096; e++)
        if (e >= N * LE || e % N != PORT)
            wrong.push_back(target(e, b.below(16)));
    for (unsigned i = 0; i < 200; i++) {
        std::vector<uint16_t> list(1 + b.below(LE));
        for (auto &t : list)
            t = b.rng.pick(wrong);
        b.rejects(MW_HWERR_UNMAPPED, b.row(token, MW_STAGE_COMBINE, 0, F, list),
                  static_cast<unsigned>(list.size()));
    }
}

// ---- slots that rows return to ----
// Of 6 tokens with 3 places each, a quarter of which no token has; a token's bytes count once it is
// armed, and no signal does.
TEST(slots_that_rows_return_to)
{
    hub b;
    const unsigned slots = 6, places = 3, shift = 2;
    b.cfg.set("row_returns", 1);
    b.cfg.set("cb_base", ST_LO);
    b.cfg.set("k", places);
    b.cfg.set("k_shift", shift);
    b.cfg.set("tokens", slots);
    b.cfg.drive(b.dut.cfg_i);
    auto at = [&](unsigned token, unsigned place, unsigned offset) {
        return ST_LO + ((token << shift | place) << ROW_SHIFT) + offset;
    };
    for (unsigned token = 0; token < 1u << TOKEN_SHIFT; token++) {
        for (unsigned place = 0; place < 1u << shift; place++) {
            const unsigned rows = 256; // of the stride all is row
            if (token >= slots || place >= places)
                b.rejects(MW_HWERR_BOUNDS, b.store(at(token, place, F * b.below(rows / F)), F));
            b.rejects(MW_HWERR_BOUNDS, b.store(at(token, place, rows - F), 2 * F));
        }
    }
    packet signal;
    signal.h = b.head(MW_OP_SIGNAL);
    signal.h.addr = PORT << TOKEN_SHIFT;
    b.fails(RX, MW_HWERR_OPCODE, signal);
    // Two rows in pieces of any place: the token is ready with the last byte of both,
    // and with none more.
    b.dut.arm_valid_i = 1;
    b.dut.arm_token_i = PORT << TOKEN_SHIFT | 4;
    b.dut.arm_count_i = 2;
    b.settle();
    assert_true(b.dut.arm_ready_o);
    b.cycle();
    b.dut.arm_valid_i = 0;
    std::vector<unsigned> pieces;
    for (unsigned i = 0; i < 2 * ROW / 32; i++)
        pieces.push_back(i);
    b.rng.shuffle(pieces);
    for (unsigned i = 0; i < pieces.size(); i++) {
        assert_true(b.ready.empty());
        const unsigned row = pieces[i] * 32 / ROW;
        b.send(b.store(at(4, 2 * row, pieces[i] * 32 % ROW), 32), MW_CLS_STORE);
        b.settle_down();
    }
    b.cycles(20);
    assert_true(b.ready == std::vector<unsigned>{4});
    for (unsigned token : {4u, 0u}) { // finished; never armed
        const uint64_t from = b.now;
        b.errors.expect_between(from, from + 40, MW_HWERR_COUNT, TOKENS);
        b.send(b.store(at(token, 1, 0), 32), MW_CLS_STORE);
        b.settle_down();
        b.errors.done();
    }
}

// Slots of any number, size and place: what starts in one belongs to its token and stays in its
// row, what starts beside them is a store as any other.
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
        b.cfg.set("row_returns", 1);
        b.cfg.set("st_lo", 0x7f00);
        b.cfg.set("st_hi", MEM);
        b.cfg.set("cb_base", first);
        b.cfg.set("k", k);
        b.cfg.set("k_shift", k_shift);
        b.cfg.set("tokens", tokens);
        b.cfg.set("row_bytes", row);
        b.cfg.set("row_shift", row_shift);
        b.cfg.drive(b.dut.cfg_i);
        b.dut.arm_valid_i = 1;
        b.dut.arm_token_i = PORT << TOKEN_SHIFT | armed;
        b.dut.arm_count_i = 31;
        b.cycle();
        b.dut.arm_valid_i = 0;
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
                b.errors.expect_between(b.now, b.now + 40, MW_HWERR_COUNT, TOKENS);
            b.send(p, MW_CLS_STORE);
            b.settle_down();
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
        cfg.set("row_returns", 1);
        cfg.set("source_lists", 1);
        cfg.set("local_experts", 1); // a list of each GPU: list g has rows of GPU g
        cfg.set("cb_base", ST_LO);
        cfg.set("k_shift", 2);
        cfg.set("tokens", 1u << TOKEN_SHIFT);
        cfg.drive(dut.cfg_i);
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
            send(p, MW_CLS_STORE);
            settle_down();
            const size_t there = XD + ((OTHER * PLACES + at) << ROW_SHIFT) + offset;
            assert_true(mem.read(static_cast<unsigned>(there), 128) == p.payload);
        }
        send(chosen(token, at, MW_STAGE_GATE, 0, 4 * K), MW_CLS_STORE);
        settle_down();
    }
    packet said(unsigned kind, uint64_t addr)
    {
        packet p;
        p.h = head(MW_OP_FLAG);
        p.h.stage = kind;
        p.h.addr = addr;
        return p;
    }
    // Whether a FLAG says what is there; a false one is COUNT, of that unit, some cycles
    // behind its arrival.
    void tells(const packet &p, bool right, unit u)
    {
        if (!right)
            errors.expect_between(now, now + 12, MW_HWERR_COUNT, u);
        send(p, MW_CLS_STORE);
        settle_down();
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
    for (unsigned home = 0; home < N; home++) { // who sends it is not where it returns
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
    p.set_targets({own(1)}); // an expert that the map has and this layer has not
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
    // A source that says it again stands for no other: all lists are complete when each
    // source has said so.
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
    // No row comes behind it, whatever it said: what is there counts, and what
    // comes later does not.
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
    // A tile's rows are there when its FLAG comes, others may be.
    b.dut.arm_valid_i = 1;
    b.dut.arm_token_i = PORT << TOKEN_SHIFT | 4;
    b.dut.arm_count_i = 31;
    b.settle();
    b.cycle();
    b.dut.arm_valid_i = 0;
    // Bytes of two sources come in pieces of any size, which end anywhere in front of
    // a FLAG or behind it.
    const unsigned sources[] = {OTHER, 3}, slot = ST_LO + ((4u << 2 | 1) << ROW_SHIFT);
    unsigned bytes_of[2] = {}, in_all = 0;
    auto land = [&](unsigned s, unsigned len) {
        packet p = b.store(slot + 32 * b.below((ROW - len) / 32 + 1), len);
        p.h.src = sources[s];
        b.send(p, MW_CLS_STORE);
        b.settle_down();
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
    for (unsigned s = 0; s < 2;
         s++) { // half a row is none, and becomes one behind the FLAG of the tile before
        tile(s, bytes_of[s] / ROW);
        while (bytes_of[s] % ROW != ROW / 2)
            land(s, 32);
        tile(s, 0);
        tile(s, 1);
        land(s, 128);
        tile(s, 1);
    }
    // What has landed in a layer is nothing to the next one.
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

// ---- rows whose first packet alone has the targets ----
static const unsigned ROW_TOKEN = OTHER << TOKEN_SHIFT | 3;

// A packet of a row as it follows the first one.
static packet follower(hub &b, unsigned token = ROW_TOKEN, unsigned stage = MW_STAGE_DISPATCH,
                       unsigned src = OTHER)
{
    packet p = b.row(token, stage, 0, stage == MW_STAGE_GATE ? 4 * K : 128, {});
    p.h.src = src;
    return p;
}

static void open_row(hub &b, unsigned token = ROW_TOKEN, unsigned src = OTHER,
                     const std::vector<uint16_t> &targets = {own(0)})
{
    packet p = b.row(token, MW_STAGE_COMBINE, 0, 128, targets); // which counts for no row
    p.h.src = src;
    b.send(p, MW_CLS_STORE);
    b.settle_down();
}

// The row is open: what follows has its targets, and closes it.
static void is_open(hub &b, const std::vector<unsigned> &les, unsigned token = ROW_TOKEN,
                    unsigned src = OTHER)
{
    packet p = follower(b, token, MW_STAGE_COMBINE, src);
    b.send(p, MW_CLS_STORE);
    b.settle_down();
    for (unsigned le = 0; le < LE; le++) {
        const auto l = b.look(le, token);
        const bool has = std::count(les.begin(), les.end(), le);
        if (!has)
            continue;
        assert_false(l.err);
        assert_true(b.mem.read(YD + ((le << CAP_SHIFT | l.row) << ROW_SHIFT), 128) == p.payload);
    }
    b.rejects(MW_HWERR_TARGETS, follower(b, token ^ 1, MW_STAGE_COMBINE, src));
}

TEST(no_lists_without_a_row)
{
    hub b;
    for (unsigned stage : {MW_STAGE_DISPATCH, MW_STAGE_COMBINE, MW_STAGE_GATE, MW_STAGE_FLAT})
        b.rejects(MW_HWERR_TARGETS, follower(b, ROW_TOKEN, stage));
    for (unsigned src = 0; src < 32; src++)
        b.rejects(MW_HWERR_TARGETS, follower(b, ROW_TOKEN, MW_STAGE_DISPATCH, src));
    if (LISTS)
        return;
    open_row(b);
    b.rejects(MW_HWERR_TARGETS, follower(b));
}

TEST_IF(LISTS, a_row_of_followers)
{
    hub b;
    b.send(b.row(ROW_TOKEN, MW_STAGE_DISPATCH, 0, 128, {own(2), own(0), own(3)}), MW_CLS_STORE);
    packet rest = b.row(ROW_TOKEN, MW_STAGE_DISPATCH, 128, 128, {});
    b.send(rest, MW_CLS_STORE);
    b.send(b.words(1, {1, 2, 3, 4}), MW_CLS_STORE); // control's packets come between
    b.send(follower(b, ROW_TOKEN, MW_STAGE_GATE), MW_CLS_STORE);
    b.settle_down();
    b.errors.done();
    for (unsigned le = 0; le < LE; le++) {
        assert_int_equal(b.complete(le), le != 1);
        const auto l = b.look(le, ROW_TOKEN);
        assert_int_equal(l.err, le == 1);
        if (!l.err)
            assert_true(b.mem.read(XD + ((le << CAP_SHIFT | l.row) << ROW_SHIFT) + 128, 128) ==
                        rest.payload);
    }
    // gate weights were its last, and they were the second ones
    b.rejects(MW_HWERR_TARGETS, follower(b, ROW_TOKEN, MW_STAGE_GATE));
    b.rejects(MW_HWERR_TARGETS, follower(b));
}

TEST_IF(LISTS, what_closes_a_row)
{
    hub b;
    // another token, and then its own
    open_row(b);
    b.rejects(MW_HWERR_TARGETS, follower(b, ROW_TOKEN + 1));
    b.rejects(MW_HWERR_TARGETS, follower(b));
    // an address that is beyond all tokens, though its low bits are those of one
    open_row(b);
    packet p = follower(b);
    p.h.addr |= 1ull << 40;
    b.rejects(MW_HWERR_TARGETS, p);
    b.rejects(MW_HWERR_TARGETS, follower(b));
    p = b.row(ROW_TOKEN, MW_STAGE_DISPATCH, 0, 128);
    p.h.addr |= 1ull << 40;
    open_row(b);
    b.rejects(MW_HWERR_BOUNDS, p);
    b.rejects(MW_HWERR_TARGETS, follower(b));
    // gate weights that come with targets
    open_row(b);
    b.send(b.row(ROW_TOKEN, MW_STAGE_GATE, 0, 4 * K), MW_CLS_STORE);
    b.settle_down();
    b.rejects(MW_HWERR_TARGETS, follower(b));
    // whatever is wrong with a packet of a row, with targets or without
    for (unsigned with = 0; with < 2; with++) {
        for (unsigned fault = 0; fault < 6; fault++) {
            open_row(b);
            p = with ? b.row(ROW_TOKEN, MW_STAGE_COMBINE, 0, 128) : follower(b);
            unsigned code = MW_HWERR_LENGTH;
            switch (fault) {
            case 0:
                p.h.poison = 1;
                code = MW_HWERR_POISON;
                break;
            case 1:
                p.h.epoch ^= 1;
                code = MW_HWERR_EPOCH;
                break;
            case 2:
                p.h.len = 0;
                break;
            case 3:
                p.h.len = 129;
                break;
            case 4:
                p.err = true;
                break;
            default:
                if (HF == 1)
                    continue;
                p.cut = -128;
            }
            b.fails(STORE, code, p);
            b.rejects(MW_HWERR_TARGETS, follower(b));
        }
    }
    open_row(b);
    p = b.row(ROW_TOKEN, MW_STAGE_COMBINE, 0, 128, std::vector<uint16_t>(LE + 1, own(0)));
    b.rejects(MW_HWERR_TARGETS, p);
    b.rejects(MW_HWERR_TARGETS, follower(b));
}

TEST_IF(LISTS, what_leaves_a_row_open)
{
    hub b;
    open_row(b, ROW_TOKEN, OTHER, {own(1), own(3)});
    b.rejects(MW_HWERR_BOUNDS, b.store(ST_HI, 1));
    b.rejects(MW_HWERR_LENGTH, b.store(ST_LO + 1, 128));
    packet p = b.store(ST_LO, 64);
    p.h.opcode = MW_OP_DYMULTIMEM_ST;
    p.h.stage = MW_STAGE_FLAT;
    p.set_targets({own(0)});
    b.send(p, MW_CLS_STORE);
    b.settle_down();
    is_open(b, {1, 3});
    // one that does not fit is one of the row all the same
    open_row(b);
    p = follower(b);
    p.h.addr |= ROW_SHIFT - 1;
    b.fails(STORE, MW_HWERR_LENGTH, p);
    is_open(b, {0});
}

TEST_IF(LISTS, the_newest_list_counts)
{
    hub b;
    open_row(b, ROW_TOKEN, OTHER, {own(0), own(1)});
    open_row(b, ROW_TOKEN, OTHER, {own(3)});
    is_open(b, {3});
    open_row(b, ROW_TOKEN, OTHER, {own(3)});
    open_row(b, ROW_TOKEN ^ 1, OTHER, {own(2)});
    is_open(b, {2}, ROW_TOKEN ^ 1);
}

TEST_IF(LISTS, a_row_of_each_source)
{
    hub b;
    const unsigned token[N] = {1, PORT << TOKEN_SHIFT | 2, ROW_TOKEN, 3 << TOKEN_SHIFT};
    for (unsigned src = 0; src < N; src++)
        open_row(b, token[src], src, {own((src + 1) % LE)});
    for (unsigned src = 0; src < N; src++)
        is_open(b, {(src + 1) % LE}, token[src], src);
    // of a source that there is not no row is kept, nor the one of another
    open_row(b, ROW_TOKEN, 4 + OTHER);
    b.rejects(MW_HWERR_TARGETS, follower(b, ROW_TOKEN, MW_STAGE_COMBINE, 4 + OTHER));
    open_row(b);
    b.rejects(MW_HWERR_TARGETS, follower(b, ROW_TOKEN, MW_STAGE_COMBINE, 4 + OTHER));
    is_open(b, {0});
}

TEST_IF(LISTS, rows_end_with_their_epoch)
{
    hub b(0);
    for (unsigned e = 1; e < 4; e++) {
        open_row(b);
        is_open(b, {0});
        open_row(b);
        b.go(e);
        b.rejects(MW_HWERR_TARGETS, follower(b));
        if (e == 2) { // also where the epoch is the same again
            open_row(b);
            b.go(e + 1);
            b.go(e);
            b.rejects(MW_HWERR_TARGETS, follower(b));
        }
    }
    open_row(b);
    b.reset(1);
    b.write_map();
    b.sweep();
    b.go(3);
    b.rejects(MW_HWERR_TARGETS, follower(b));
}

// Packets beyond their credit are reported with their first flit, and dropped whole; those
// that had one are written.
TEST(stores_beyond_credit)
{
    hub b;
    b.rate = 0;
    std::vector<packet> sent;
    for (unsigned i = 0; i < SLOTS + 4; i++) {
        sent.push_back(b.store(ST_LO + 128 * i, 128));
        if (i >= SLOTS)
            b.errors.expect_between(b.now, b.now, MW_HWERR_CREDIT, STORE);
        b.send(sent[i], MW_CLS_STORE);
    }
    b.errors.done();
    bytes before = b.mem.data;
    b.rate = 60;
    b.settle_down();
    for (unsigned i = 0; i < SLOTS; i++)
        std::copy(sent[i].payload.begin(), sent[i].payload.end(), before.begin() + ST_LO + 128 * i);
    assert_true(b.mem.data == before);
    assert_int_equal(b.credits[MW_CLS_STORE], SLOTS);
}

// Wrong packets from the link, without a pause and with nothing to write, hold up no row of the own
// GPU whose last packet has begun.
TEST(a_row_beside_wrong_packets)
{
    hub b;
    const unsigned token = PORT << TOKEN_SHIFT;
    auto send_own = [&](const packet &p) { b.local.queue.push_back(encode(p, F, &b.rng)); };
    send_own(b.row(token, MW_STAGE_GATE, 0, 4 * K));
    send_own(b.row(token, MW_STAGE_DISPATCH, 0, 128));
    b.settle_down();
    send_own(b.row(token, MW_STAGE_DISPATCH, 128, 128));
    b.cycles(8);
    packet wrong;
    wrong.h = b.head(MW_OP_FLAG);
    wrong.h.epoch = (b.epoch + 1) % 4;
    for (unsigned i = 0; i < 100; i++) {
        b.errors.expect_between(b.now, b.now + 20, MW_HWERR_EPOCH, STORE);
        b.send(wrong, MW_CLS_STORE);
        if (F == 16)
            b.cycle(); // as many jobs as with flits of 8 bytes
        if (i == 30)
            assert_int_equal(b.row_events, 1);
    }
    b.settle_down();
    b.errors.done();
}

// Reds of each type and operator, of which most do not exist; those that do keep
// the rules of stores.
TEST_IF(REDS, reds)
{
    hub b;
    for (unsigned dtype = 0; dtype < 16; dtype++) {
        for (unsigned redop = 0; redop < 8; redop++) {
            packet p = b.store(ST_LO + 64, 64);
            p.h.opcode = MW_OP_MULTIMEM_RED;
            p.h.dtype = dtype;
            p.h.redop = redop;
            if (!reduces(dtype, redop)) {
                b.rejects(MW_HWERR_REDUCTION, p);
                p.h.addr = ST_HI; // comes before the bounds
                b.rejects(MW_HWERR_REDUCTION, p);
                p.cut = 1; // and behind the length
                b.rejects(MW_HWERR_LENGTH, p);
                continue;
            }
            packet q = p;
            q.h.addr = ST_LO - 1;
            q.lane = (ST_LO - 1) % F;
            b.rejects(MW_HWERR_BOUNDS, q);
            q = p;
            q.h.addr = ST_HI - 48;
            b.rejects(MW_HWERR_BOUNDS, q);
            q = p;
            q.h.epoch ^= 1;
            b.rejects(MW_HWERR_EPOCH, q);
            q = p;
            q.h.poison = 1;
            b.rejects(MW_HWERR_POISON, q);
            for (int cut : {-5, -1, 1, 5}) {
                q = p;
                q.cut = cut;
                b.rejects(MW_HWERR_LENGTH, q);
            }
            // a right one changes its bytes alone
            bytes want = b.mem.data;
            const void *terms[] = {&want[ST_LO + 64], p.payload.data()};
            bytes sum(64);
            mw_reduce_rows(dtype, redop, terms, 2, 64, sum.data());
            std::copy(sum.begin(), sum.end(), want.begin() + ST_LO + 64);
            b.send(p, MW_CLS_STORE);
            b.settle_down();
            assert_true(b.mem.data == want);
        }
    }
}

// Merged reds that name counted own rows report their contributions. Others are errors.
TEST_IF(REDS, counted_reds)
{
    const unsigned first = 3, rows = 1u << TOKEN_SHIFT;
    hub b;
    b.set("st_lo", 0);
    b.set("st_hi", MEM);
    b.set("red_first", first);
    b.set("red_count", 12);
    packet p = b.store(XD + first * ROW, 128);
    p.h.opcode = MW_OP_MULTIMEM_RED;
    p.h.dtype = MW_DTYPE_U32;
    p.h.redop = MW_REDOP_ADD;
    p.h.own = 1;
    for (unsigned place : {XD, XD + first * ROW - 128, XD + rows * ROW, XD - 128, MEM - 128}) {
        packet q = p;
        q.h.addr = place;
        b.rejects(MW_HWERR_BOUNDS, q);
        q.h.own = 0; // is not counted
        b.counted.clear();
        b.send(q, MW_CLS_STORE);
        b.settle_down();
        assert_true(b.counted.empty());
    }
    packet over = p; // leaves its row
    over.h.addr += ROW - 64;
    b.rejects(MW_HWERR_BOUNDS, over);
    for (unsigned tag : {N, N + 1, 64u, 255u}) {
        packet q = p;
        q.h.tag = tag;
        b.rejects(MW_HWERR_COUNT, q);
    }
    for (unsigned row = first; row < rows; row++)
        for (unsigned tag = 0; tag < N; tag++) {
            packet q = p;
            q.h.addr = XD + row * ROW + (row % 2 ? 128 : 0);
            q.h.tag = tag;
            b.counted.clear();
            b.send(q, MW_CLS_STORE);
            b.settle_down();
            const std::vector<std::pair<unsigned, unsigned>> want = {{row, tag + 1}};
            assert_true(b.counted == want);
        }
    b.set("red_count", 0); // no row is counted
    b.counted.clear();
    p.h.addr = XD;
    b.send(p, MW_CLS_STORE);
    b.settle_down();
    assert_true(b.counted.empty());
}

// ---- allocator ----
// Rows of an expert come to an end: the next token has none, whoever asks, and those
// before keep theirs.
TEST(no_row_left)
{
    hub b;
    for (unsigned i = 0; i < 1u << CAP_SHIFT; i++)
        b.whole_row(OTHER << TOKEN_SHIFT | i, 3);
    assert_int_equal(b.complete(3), 1 << CAP_SHIFT);
    for (unsigned t = 0; t < 3; t++) { // the first one asks the table: later
        const bytes before = b.mem.data;
        b.errors.expect_between(b.now, b.now + 80, MW_HWERR_BOUNDS, STORE);
        b.send(b.row(t, MW_STAGE_DISPATCH, 0, 128, {own(3)}), MW_CLS_STORE);
        b.settle_down();
        b.errors.done();
        assert_true(b.mem.data == before);
        b.rejects(MW_HWERR_BOUNDS, b.row(t, MW_STAGE_DISPATCH, 128, 128, {own(3)}));
        assert_true(b.look(3, t).err);
    }
    for (unsigned i = 0; i < 1u << CAP_SHIFT; i++) {
        auto l = b.look(3, OTHER << TOKEN_SHIFT | i);
        assert_true(!l.err && l.row == i);
    }
    assert_int_equal(b.complete(3), 1 << CAP_SHIFT);
}

// Look-ups of what was never stored, and of what cannot be.
TEST(rows_that_are_not_there)
{
    hub b;
    b.whole_row(5, 1);
    for (unsigned le = 0; le < 64; le++)
        for (unsigned token : {0u, 5u, 31u, 32u, 127u, 128u + 5, 1u << 21 | 5})
            assert_int_equal(b.look(le, token).err, !(le == 1 && token == 5));
    b.set("local_experts", 1);
    assert_true(b.look(1, 5).err);
}

// ---- row tracker ----
TEST(bytes_beyond_a_row)
{
    hub b;
    const unsigned token = 3;
    b.whole_row(token, 2);
    assert_int_equal(b.row_events, 1);
    // a byte too many: it is in memory, reported once, and the row is not listed again
    for (unsigned i = 0; i < 3; i++) {
        b.errors.expect_between(b.now + HF, b.now + HF + 20, MW_HWERR_COUNT, ROWS);
        b.send(b.row(token, MW_STAGE_DISPATCH, 16 * i, 1, {own(2)}), MW_CLS_STORE);
        b.settle_down();
        b.errors.done();
        assert_int_equal(b.complete(2), 1);
    }
    // one that goes over its end is complete, once: an engine waits for each row that is counted
    for (unsigned at = 0; at < ROW; at += 128)
        b.send(b.row(4, MW_STAGE_DISPATCH, at, 128, {own(2)}), MW_CLS_STORE);
    for (unsigned i = 0; i < 2; i++) {
        b.errors.expect_between(b.now, b.now + 40, MW_HWERR_COUNT, ROWS);
        b.send(b.row(4, MW_STAGE_DISPATCH, 0, 4 * K + 1, {own(2)}), MW_CLS_STORE);
        b.settle_down();
        b.errors.done();
        assert_int_equal(b.complete(2), 2);
        assert_int_equal(b.row_events, 2);
    }
}

TEST(counts_that_are_too_big)
{
    hub b;
    for (unsigned bit = ROWS_LOG2 + 1; bit < 32; bit++) {
        b.errors.expect_between(b.now + HF, b.now + HF + 12, MW_HWERR_BOUNDS, ROWS);
        b.send(b.words(0, {0, 1u << bit, 0, 0}), MW_CLS_STORE);
        b.settle_down();
        b.errors.done();
        assert_int_equal(b.expected(1), 0);
        b.next_layer();
    }
    b.send(b.words(0, {0, (2u << ROWS_LOG2) - 1, 0, 0}), MW_CLS_STORE); // all that its bits hold
    b.settle_down();
    assert_int_equal(b.expected(1), (2u << ROWS_LOG2) - 1);
    b.send(b.words(1, {~0u, ~0u, ~0u, ~0u}), MW_CLS_STORE); // copy counts are not the tracker's
    b.settle_down();
    assert_int_equal(b.expected(1), (2u << ROWS_LOG2) - 1);
}

// A GPU that counts again adds nothing and stands for no other, whether its rows come whole
// or in halves: COUNT, once a packet. What an older layer counted is EPOCH. The next layer
// knows of none of them.
TEST(counts_twice)
{
    hub b;
    unsigned again = 0, complete = 0;
    for (unsigned layer = 0; layer < 40; layer++) {
        unsigned halves[N] = {}, rows[LE] = {}, copied = 0;
        b.next_layer();
        for (unsigned i = 0; i < 80; i++) {
            const unsigned src = b.below(N), kind = b.below(4);
            const bool copies = kind == MW_COUNTS_COPIES;
            const unsigned of = kind == MW_COUNTS_ROWS_LOW    ? 1
                                : kind == MW_COUNTS_ROWS_HIGH ? 2
                                                              : 3;
            const bool twice = copies ? copied >> src & 1 : (halves[src] & of) != 0;
            std::vector<uint32_t> list(1 + b.below(copies ? N : LE));
            for (uint32_t &word : list)
                word = b.below(8);
            packet p = b.words(kind, list);
            p.h.src = src;
            if (b.rng.one_in(8)) {
                p.h.epoch ^= 1 + b.below(3);
                b.rejects(MW_HWERR_EPOCH, p);
                continue;
            }
            const unsigned words_before = b.counts;
            if (twice)
                b.errors.expect_between(b.now, b.now + 60, MW_HWERR_COUNT, SAID);
            if (src == PORT)
                b.control.queue.push_back(encode(p, F, &b.rng));
            else
                b.send(p, MW_CLS_STORE);
            b.settle_down();
            b.errors.done();
            again += twice;
            assert_int_equal(b.counts - words_before, twice ? 0 : list.size());
            if (!twice && copies)
                copied |= 1u << src;
            if (!twice && !copies) {
                halves[src] |= of;
                for (unsigned le = 0; le < list.size() && of & 1; le++)
                    rows[le] += list[le];
            }
            for (unsigned le = 0; le < LE; le++)
                assert_int_equal(b.expected(le), rows[le]);
            const bool all = std::all_of(halves, halves + N, [](unsigned h) { return h == 3; });
            assert_int_equal(b.dut.counts_all_o, all);
            assert_int_equal(b.dut.copies_here_o, copied == (1u << N) - 1);
            complete += all && copied == (1u << N) - 1;
        }
    }
    assert_true(again > 300 && complete > 100);
}

// Lists that the engine makes itself are complete when it says so, whatever rows others count
// before, meanwhile and behind.
TEST(pushed_rows_whatever_is_counted)
{
    hub b;
    for (unsigned round = 0; round < 60; round++) {
        b.next_layer();
        unsigned pushed[LE] = {};
        std::vector<unsigned> sources{0, 1, 2, 3};
        b.rng.shuffle(sources);
        sources.resize(b.below(N)); // not all of them
        const unsigned rows = b.below(6);
        for (unsigned i = 0; i <= rows; i++) {
            if (!sources.empty() && b.percent(50)) {
                packet p =
                    b.words(MW_COUNTS_ROWS, {b.below(4), b.below(4), b.below(4), b.below(4)});
                p.h.src = sources.back();
                sources.pop_back();
                if (p.h.src == PORT)
                    b.control.queue.push_back(encode(p, F, &b.rng));
                else
                    b.send(p, MW_CLS_STORE);
                b.settle_down();
            }
            assert_false(b.dut.counts_all_o);
            if (i == rows)
                break;
            const unsigned le = b.below(LE);
            if (pushed[le] == 1u << CAP_SHIFT)
                continue;
            pushed[le]++;
            b.dut.push_valid_i = 1;
            b.dut.push_le_i = static_cast<uint8_t>(le);
            b.dut.push_row_i = static_cast<uint16_t>(i);
            b.settle();
            assert_true(b.dut.push_ready_o);
            b.cycle();
            b.dut.push_valid_i = 0;
        }
        b.dut.push_last_i = 1;
        b.cycles(4);
        assert_true(b.dut.counts_all_o && b.dut.rows_done_o);
        for (unsigned le = 0; le < LE; le++) {
            assert_int_equal(b.complete(le), pushed[le]);
            assert_int_equal(b.expected(le), pushed[le]);
        }
        b.dut.push_last_i = 0;
        b.cycle();
        b.errors.done();
    }
}

TEST(pushed_rows_beyond_the_capacity)
{
    hub b;
    for (unsigned i = 0; i < 3u << CAP_SHIFT; i++) {
        b.dut.push_valid_i = 1;
        b.dut.push_le_i = 1;
        b.dut.push_row_i = i;
        b.settle();
        assert_true(b.dut.push_ready_o);
        if (i >= 1u << CAP_SHIFT)
            b.errors.expect_between(b.now + 1, b.now + 1, MW_HWERR_BOUNDS, ROWS);
        b.cycle();
        b.dut.push_valid_i = 0;
        b.cycles(2);
    }
    b.errors.done();
    assert_int_equal(b.complete(1), 1 << CAP_SHIFT);
    for (unsigned le = 0; le < LE; le++)
        assert_int_equal(b.complete(le), le == 1 ? 1 << CAP_SHIFT : 0);
}

// ---- what other epochs left ----
TEST(tables_of_another_epoch_are_empty)
{
    hub b(0);
    for (unsigned e = 0; e < 9; e++) {
        if (e) {
            if (e % 4 == 0)
                b.sweep();
            b.go(e % 4);
        }
        for (unsigned le = 0; le < LE; le++) {
            assert_int_equal(b.complete(le), 0);
            assert_int_equal(b.expected(le), 0);
            for (unsigned t = 0; t < N << TOKEN_SHIFT; t++)
                assert_true(b.look(le, t).err);
        }
        // the rows are full again, some rows keep half of their bytes
        unsigned before = b.row_events;
        for (unsigned i = 0; i < 1u << CAP_SHIFT; i++) {
            unsigned token = b.below(8) << 2 | i;
            b.send(b.row(token, MW_STAGE_DISPATCH, 0, 128, {own(e % LE)}), MW_CLS_STORE);
            b.settle_down();
            auto l = b.look(e % LE, token);
            assert_true(!l.err && l.row == i);
            if (i % 2) {
                b.send(b.row(token, MW_STAGE_DISPATCH, 128, 128, {own(e % LE)}), MW_CLS_STORE);
                b.settle_down();
                assert_int_equal(b.row_events - before, i / 2);
                b.send(b.row(token, MW_STAGE_GATE, 0, 4 * K, {own(e % LE)}), MW_CLS_STORE);
                b.settle_down();
            }
            assert_int_equal(b.row_events - before, (i + 1) / 2);
        }
        b.errors.expect(MW_HWERR_BOUNDS, STORE); // and one has no row
        b.send(b.row(4 * (e % 8) + (e % 4), MW_STAGE_COMBINE, 0, F, {own((e + 1) % LE)}),
               MW_CLS_STORE);
        for (unsigned i = 0; i < 1u << CAP_SHIFT; i++)
            b.send(b.row((4 * (e % 8) + (e % 4) + 1 + i) % 32, MW_STAGE_COMBINE, 0, F,
                         {own((e + 1) % LE)}),
                   MW_CLS_STORE);
        b.send(b.words(0, {e, e + 1, e + 2, e + 3}), MW_CLS_STORE);
        b.settle_down();
        b.errors.done();
        assert_int_equal(b.expected(2), e + 2);
    }
}

// A sweep clears what the configuration uses: more rows and tokens than before, in tables
// that hold anything.
TEST(sweeps_of_new_rows)
{
    hub b(0);
    for (unsigned cap = 0; cap <= ROWS_LOG2 - 2 && cap < 5; cap++) {
        b.set("cap_shift", cap);
        b.set("token_shift", cap);
        b.sweep();
        b.go(0);
        unsigned before = b.row_events;
        for (unsigned le = 0; le < LE; le++) {
            for (unsigned i = 0; i < 1u << cap; i++)
                b.whole_row(i, le);
            assert_int_equal(b.complete(le), 1 << cap);
            for (unsigned i = 0; i < 1u << cap; i++) {
                auto l = b.look(le, i);
                assert_true(!l.err && l.row == i);
            }
        }
        assert_int_equal(b.row_events - before, LE << cap);
        packet p;
        p.h = b.head(MW_OP_SIGNAL);
        for (unsigned i = 0; i < 1u << cap; i++) {
            p.h.addr = PORT << cap | i;
            b.fails(TOKENS, MW_HWERR_COUNT, p);
        }
    }
}

// ---- reset ----
// In the middle of packets of every class, right and wrong ones: behind it nothing is left of them,
// and every credit is there.
TEST(reset_forgets)
{
    hub b;
    for (unsigned i = 0; i < 60; i++) {
        b.rate = b.percent(50) ? 0 : 30;
        b.result_rate = b.percent(50) ? 0 : 30;
        b.errors = error_watch("before the reset");
        for (unsigned n = 0; n < 3; n++)
            b.send(b.row(8 * n, MW_STAGE_COMBINE, 0, 128, {own(0), own(1)}), MW_CLS_STORE);
        b.send(b.store(ST_LO, 1 + b.below(100)), MW_CLS_STORE);
        b.send(result(b, 128), MW_CLS_PART);
        b.local.queue.push_back(encode(b.store(ST_LO + 256, 100), F, &b.rng));
        b.cycles(b.below(30));
        // the last packet stops at any flit
        packet p = i % 3 ? b.store(ST_LO, 128) : result(b, 128), signal;
        signal.h = b.head(MW_OP_SIGNAL);
        signal.h.addr = PORT << TOKEN_SHIFT;
        p.cut = -static_cast<int>(1 + b.below(8));
        if (i % 3 == 1) {
            p = signal;
            p.cut = static_cast<int>(b.below(4));
        }
        const wire w = encode(p, F, &b.rng);
        for (size_t f = 0; f < w.flits(); f++) {
            b.dut.rx_valid_i = 1;
            b.dut.rx_cls_i = static_cast<uint8_t>(p.h.cls);
            put(b.dut.rx_data_i, w.at(f));
            b.dut.rx_last_i = b.dut.rx_err_i = 0;
            b.cycle();
        }
        b.dut.rx_valid_i = 0;
        b.local.queue.clear();
        b.local = packet_source();
        b.io.emplace(b.mem, b.lists);
        b.results = packet_watch("results");
        b.requests = packet_watch("requests");
        b.reset(2 + b.below(3));
        b.errors = error_watch("behind the reset");
        b.rate = b.result_rate = 100;
        b.cycles(40);
        assert_true(b.idle());
        b.write_map(); // which has no reset; in it the bench may have written any of its entries
        b.sweep();
        b.go(i % 4);
        signal.h.epoch = b.epoch;
        b.fails(TOKENS, MW_HWERR_COUNT, signal); // nothing but that its token is not armed
        for (unsigned &c : b.credits)
            c = 0;
        for (unsigned n = 0; n < SLOTS; n++)
            b.send(b.store(ST_LO + 128 * n, 128), MW_CLS_STORE);
        b.whole_row(i % 32, i % LE);
        for (unsigned n = 0; n < RESULTS; n++)
            b.send(result(b, 128), MW_CLS_PART);
        b.settle_down();
        assert_int_equal(b.complete(i % LE), 1);
        assert_int_equal(b.credits[MW_CLS_STORE], SLOTS + 3);
        assert_int_equal(b.credits[MW_CLS_PART], RESULTS);
        b.errors.done();
    }
}
