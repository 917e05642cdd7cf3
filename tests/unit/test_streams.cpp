// SPDX-License-Identifier: Apache-2.0
//
// streams with a memory that refuses at random and four units of random run time: what is issued, when it may be issued, how
// waits answer to events (each kind of counter, bursts, two packets in a cycle), which programs are errors, restart. MW_SEED repeats a run.

#include "Vstreams.h"
#include "isa.h"
#include "node_cfg.h"
#include "verilated.h"

#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <memory>
#include <random>
#include <vector>

extern "C" {
#include <cmocka.h>
}

static const unsigned F = sizeof(Vstreams::rd_rdata_i);
static const unsigned MEM = 1u << 14, LATENCY = 3, S = 4, UNITS = 5;
static const unsigned QUIET = 16; // cycles after go in which no packet of the layer arrives

static uint64_t seed;

struct instr {
    uint8_t op, flags;
    uint16_t imm;
    uint32_t a, b, c;
};

static const struct {
    uint8_t op;
    unsigned unit;
} UNIT_OPS[] = {{MW_I_COUNT, 0},
                {MW_I_PREFIX, 0},
                {MW_I_SIGNAL, 0},
                {MW_I_FLAG, 0},
                {MW_I_FENCE, 0},
                {MW_I_DYMULTIMEM_ST, 1},
                {MW_I_ST, 1},
                {MW_I_ST_LINEAR, 1},
                {MW_I_MULTIMEM_ST, 1},
                {MW_I_EXPERT, 2},
                {MW_I_EXPERT_ROWS, 2},
                {MW_I_DYMULTIMEM_LD_REDUCE, 3},
                {MW_I_MULTIMEM_LD_REDUCE, 3},
                {MW_I_SUM_ST, 4},
                {MW_I_SUM, 3},
                {MW_I_MULTIMEM_RED, 1}};
static const unsigned UNIT_OP_COUNT = sizeof UNIT_OPS / sizeof *UNIT_OPS;

static unsigned unit_of(uint8_t op)
{
    for (const auto &u : UNIT_OPS) {
        if (u.op == op)
            return u.unit;
    }
    return 99;
}

struct unit_model {
    bool busy;
    unsigned left, stream;
    uint64_t runs;
};

class bench {
  public:
    explicit bench(uint64_t s) : rng(s), mem(MEM)
    {
        for (auto &b : mem)
            b = static_cast<uint8_t>(rng());
        dut.clk_i = 0;
        dut.rst_ni = 0;
        dut.go_i = 0;
        dut.ev_valid_i[0] = dut.ev_valid_i[1] = 0;
        cfg.set("stream_enable", 0xf);
        cfg.drive(dut.cfg_i);
        edge();
        edge();
        dut.rst_ni = 1;
    }

    void load(unsigned s, const std::vector<instr> &p, uint32_t base)
    {
        static_assert(sizeof(instr) == MW_INSTR_BYTES, "an instruction has 16 bytes");
        bases[s] = base;
        program[s] = p;
        memcpy(&mem[base], p.data(), p.size() * sizeof(instr));
    }

    void go()
    {
        cfg.set("stream_base", 0);
        cfg.drive(dut.cfg_i);
        set_bases();
        dut.go_i = 1;
        now = 0;
        cycle();
        dut.go_i = 0;
        now = 0;
        for (unsigned s = 0; s < S; s++) {
            next[s] = 0;
            running[s] = false;
        }
        memset(counter, 0, sizeof counter);
        errors = 0;
    }

    void cycle()
    {
        drive();
        dut.eval();
        sample();
        edge();
        now++;
        if (event_taken)
            dut.ev_valid_i[1] = 0;
        event_taken = false;
        dut.ev_valid_i[0] = 0;
        dut.ev_counts_i = dut.ev_row_i = dut.ev_token_i = dut.ev_ack_i = 0;
    }

    void cycles(unsigned n)
    {
        while (n--)
            cycle();
    }

    // Events of the next cycle. An EVENT waits until it is taken, and no other comes meanwhile.
    void packet_event(unsigned port, unsigned idx)
    {
        if (port == 1 && dut.ev_valid_i[1])
            return;
        dut.ev_valid_i[port] = 1;
        dut.ev_idx_i[port] = static_cast<uint8_t>(idx);
        if (port == 0)
            counter[idx]++;
    }
    void event(unsigned idx)
    {
        switch (idx) {
        case MW_EV_COUNTS:
            dut.ev_counts_i = 1;
            break;
        case MW_EV_ROWS:
            dut.ev_row_i = 1;
            break;
        case MW_EV_TOKENS:
            dut.ev_token_i = 1;
            break;
        case MW_EV_ACKS:
            dut.ev_ack_i = 1;
            break;
        default:
            packet_event(1, idx);
            return;
        }
        counter[idx]++;
    }
    void rows_done(bool on)
    {
        dut.rows_done_i = on;
        counter[MW_EV_ROWS_DONE] = on;
    }

    Vstreams dut;
    node_cfg cfg;
    std::mt19937_64 rng;
    std::vector<uint8_t> mem;
    std::vector<instr> program[S];
    unsigned next[S] = {};
    bool running[S] = {};
    uint32_t counter[16] = {}, bases[S] = {};
    unit_model unit[UNITS] = {};
    unsigned memory = 100, longest = 1, errors = 0;
    uint64_t now = 0, first_read = 0, issued_at[S] = {};

  private:
    void edge()
    {
        dut.clk_i = 1;
        dut.eval();
        dut.clk_i = 0;
        dut.eval();
    }

    void set_bases()
    {
        // node_cfg sets up to 64 bits of a field, and this one has 128: its first bit is found by setting it to ones.
        node_cfg probe;
        probe.set("stream_base", ~0ull);
        uint32_t image[32] = {};
        probe.drive(image);
        unsigned at = 0;
        while (!(image[at / 32] >> (at % 32) & 1))
            at++;
        for (unsigned s = 0; s < S; s++) {
            for (unsigned b = 0; b < 32; b++) {
                if (bases[s] >> b & 1)
                    dut.cfg_i[(at + 32 * s + b) / 32] |= 1u << (at + 32 * s + b) % 32;
            }
        }
    }

    void drive()
    {
        dut.rd_ready_i = rng() % 100 < memory;
        dut.rd_rvalid_i = !reads.empty() && reads.front().first == now;
        if (dut.rd_rvalid_i) {
            memcpy(&dut.rd_rdata_i, &mem[reads.front().second * F], F);
            reads.pop_front();
        }
        for (unsigned u = 0; u < UNITS; u++) {
            dut.cmd_ready_i[u] = !unit[u].busy;
            dut.retire_i[u] = unit[u].busy && unit[u].left == 0;
        }
    }

    void sample()
    {
        if (dut.rd_valid_o && dut.rd_ready_i) {
            reads.push_back({now + LATENCY, dut.rd_addr_o});
            if (first_read == 0)
                first_read = now;
        }
        if (waits)
            assert_true(dut.rd_valid_o && dut.rd_addr_o == waits_addr);
        waits = dut.rd_valid_o && !dut.rd_ready_i;
        waits_addr = dut.rd_addr_o;
        if (dut.ev_valid_i[1] && dut.ev_ready_o) {
            counter[dut.ev_idx_i[1]]++;
            event_taken = true;
        }
        errors += dut.err_valid_o;
        if (dut.err_valid_o)
            assert_int_equal(dut.err_code_o, 14);
        for (unsigned u = 0; u < UNITS; u++) {
            if (dut.retire_i[u]) {
                unit[u].busy = false;
                running[unit[u].stream] = false;
            } else if (unit[u].busy) {
                unit[u].left--;
            }
        }
        for (unsigned u = 0; u < UNITS; u++) {
            if (dut.cmd_valid_o[u])
                issue(u);
        }
    }

    void issue(unsigned u)
    {
        assert_true(dut.cmd_ready_i[u]);
        instr i;
        memcpy(&i, &dut.cmd_o, sizeof i);
        unsigned s = i.c >> 28, idx = i.c & 0xff;
        assert_true(s < S && !running[s]);
        // Every instruction between the last one issued and this one is a wait that is over.
        while (next[s] < idx) {
            const instr &w = program[s][next[s]++];
            assert_int_equal(w.op, MW_I_WAIT);
            assert_true(counter[w.imm] >= w.a);
        }
        assert_int_equal(next[s], idx);
        assert_memory_equal(&i, &program[s][idx], sizeof i);
        assert_int_equal(unit_of(i.op), u);
        next[s]++;
        running[s] = true;
        issued_at[s] = now;
        unit[u] = {true, static_cast<unsigned>(rng() % longest), s, unit[u].runs + 1};
    }

    std::deque<std::pair<uint64_t, uint32_t>> reads;
    bool waits = false, event_taken = false;
    uint32_t waits_addr = 0;
};

static instr unit_instr(bench &b, unsigned s, unsigned idx, unsigned which)
{
    return {UNIT_OPS[which].op,
            static_cast<uint8_t>(b.rng()),
            static_cast<uint16_t>(b.rng()),
            static_cast<uint32_t>(b.rng()),
            static_cast<uint32_t>(b.rng()),
            s << 28 | idx};
}

static instr wait_instr(unsigned event, uint32_t threshold)
{
    return {MW_I_WAIT, 0, static_cast<uint16_t>(event), threshold, 0, 0};
}

static const instr END = {MW_I_END, 0, 0, 0, 0, 0};
static const unsigned EVENTS[] = {
    0, 1, 2, 3, 4, 5, 6, 7, MW_EV_COUNTS, MW_EV_ROWS, MW_EV_TOKENS, MW_EV_ACKS};

static void random_programs(void **state)
{
    (void)state;
    std::mt19937_64 rng(seed);
    for (unsigned round = 0; round < 40; round++) {
        auto b = std::make_unique<bench>(rng());
        b->memory = rng() % 2 ? 100 : 20 + static_cast<unsigned>(rng() % 80);
        b->longest = 1 + static_cast<unsigned>(rng() % 60);
        for (unsigned layer = 0; layer < 3; layer++) {
            unsigned enable = static_cast<unsigned>(rng() % 16);
            b->cfg.set("stream_enable", enable);
            b->cfg.set("start_delay", rng() % 2 ? 0 : rng() % 100);
            unsigned runs = 0;
            for (unsigned s = 0; s < S; s++) {
                std::vector<instr> p;
                unsigned n = round % 5 == 0 ? 63 : static_cast<unsigned>(rng() % 12);
                for (unsigned i = 0; i < n; i++) {
                    bool wait = rng() % 4 == 0;
                    runs += !wait && (enable >> s & 1);
                    p.push_back(
                        wait ? wait_instr(EVENTS[rng() % 12], static_cast<uint32_t>(rng() % 40))
                             : unit_instr(*b, s, i, static_cast<unsigned>(rng() % UNIT_OP_COUNT)));
                }
                p.push_back(END);
                b->load(s, p, 1024 * s + 128 * static_cast<uint32_t>(rng() % 8) + 4096 * (s & 1));
            }
            b->first_read = 0;
            uint64_t before = 0, after = 0;
            for (const auto &u : b->unit)
                before += u.runs;
            b->go();
            assert_int_equal(b->dut.idle_o, enable == 0);
            while (!b->dut.idle_o) {
                for (unsigned e : EVENTS) {
                    if (b->now > QUIET && rng() % 40 == 0 &&
                        !(e == MW_EV_COUNTS && b->dut.ev_valid_i[0]))
                        b->event(e);
                }
                if (b->now > QUIET && rng() % 40 == 0 && !b->dut.ev_counts_i)
                    b->packet_event(0, static_cast<unsigned>(rng() % 8));
                b->cycle();
                assert_true(b->now < 100000);
            }
            for (const auto &u : b->unit)
                after += u.runs;
            assert_int_equal(after - before, runs);
            assert_int_equal(b->errors, 0);
            if (b->memory == 100 && enable)
                assert_in_range(b->first_read, b->cfg["start_delay"] + 1,
                                b->cfg["start_delay"] + 3);
            b->cycles(20);
        }
    }
}

// One event less than the threshold holds the stream, the last one lets it go within 12 cycles; 0 does not wait.
static void each_counter_counts(void **state)
{
    (void)state;
    for (unsigned e : EVENTS) {
        for (unsigned threshold : {0u, 1u, 2u, 40u, 300u}) {
            for (unsigned s = 0; s < S; s++) {
                auto b = std::make_unique<bench>(seed + e);
                b->cfg.set("stream_enable", 1u << s);
                b->load(s, {wait_instr(e, threshold), unit_instr(*b, s, 1, 0), END}, 512 * s);
                b->go();
                b->cycles(QUIET + 4);
                for (unsigned i = 0; i + 1 < threshold; i++) {
                    b->event(e);
                    b->cycle();
                }
                b->cycles(60);
                assert_int_equal(b->unit[0].runs, threshold == 0);
                if (threshold)
                    b->event(e);
                b->cycles(30);
                assert_int_equal(b->unit[0].runs, 1);
                assert_true(b->dut.idle_o);
                if (threshold > 1)
                    assert_in_range(b->issued_at[s], QUIET + 4 + threshold + 58,
                                    QUIET + 4 + threshold + 58 + 14);
            }
        }
    }
}

static void rows_done_is_a_level(void **state)
{
    (void)state;
    auto b = std::make_unique<bench>(seed);
    b->cfg.set("stream_enable", 2);
    b->load(1, {wait_instr(MW_EV_ROWS_DONE, 1), unit_instr(*b, 1, 1, 9), END}, 1024);
    b->rows_done(false);
    b->go();
    b->cycles(100);
    assert_int_equal(b->unit[2].runs, 0);
    b->rows_done(true);
    b->cycles(20);
    assert_int_equal(b->unit[2].runs, 1);
}

// A layer that waits for `threshold` of event e, or only counts, under EVENT packets, rows and tokens in every cycle, FLAG and COUNTS
// packets as many as the receiver holds, and an ACK of every GPU. Returns the bench after it.
static std::unique_ptr<bench> burst(unsigned e, uint32_t threshold)
{
    auto b = std::make_unique<bench>(seed);
    b->cfg.set("stream_enable", 1);
    b->load(0, {wait_instr(e, threshold), unit_instr(*b, 0, 1, 0), END}, 0);
    b->go();
    b->cycles(QUIET);
    for (unsigned c = 0; c < 200; c++) {
        b->event(c * 5 / 3 % 8);
        b->event(MW_EV_ROWS);
        b->event(MW_EV_TOKENS);
        if (c < 32)
            b->event(MW_EV_ACKS);
        if (c >= 40 && c < 120) { // more than the ring holds
            if (c % 2)
                b->event(MW_EV_COUNTS);
            else
                b->packet_event(0, c / 4 % 8);
        }
        b->cycle();
    }
    b->cycles(100);
    return b;
}

// Each counter has its number and no more.
static void bursts_lose_nothing(void **state)
{
    (void)state;
    for (unsigned e : EVENTS) {
        uint32_t count = burst(e, 0)->counter[e];
        assert_true(count >= 7);
        assert_int_equal(burst(e, count)->unit[0].runs, 1);
        assert_int_equal(burst(e, count + 1)->unit[0].runs, 0);
    }
}

static void wrong_programs_stop(void **state)
{
    (void)state;
    std::mt19937_64 rng(seed);
    std::vector<instr> wrong;
    for (unsigned op = 0; op < 256; op++) {
        if (op != MW_I_END && op != MW_I_WAIT && unit_of(static_cast<uint8_t>(op)) == 99)
            wrong.push_back({static_cast<uint8_t>(op), 0, 0, 0, 0, 0});
    }
    wrong.push_back(wait_instr(16, 1));
    wrong.push_back(wait_instr(0x8000, 1));
    wrong.push_back(wait_instr(0, 1u << 20));
    wrong.push_back(wait_instr(9, 0x80000000u));
    for (const instr &w : wrong) {
        auto b = std::make_unique<bench>(rng());
        b->cfg.set("stream_enable", 3);
        b->load(0, {unit_instr(*b, 0, 0, 1), w, unit_instr(*b, 0, 2, 1), END}, 0);
        b->load(1, {unit_instr(*b, 1, 0, 6), unit_instr(*b, 1, 1, 9), END}, 1024);
        b->go();
        b->cycles(80);
        assert_true(b->dut.idle_o);
        assert_int_equal(b->errors, 1);
        assert_int_equal(b->unit[0].runs, 1);
        assert_int_equal(b->unit[1].runs + b->unit[2].runs, 2);
    }
}

// 63 instructions and I_END are a program, 64 others are not.
static void longest_program(void **state)
{
    (void)state;
    for (unsigned n : {63u, 64u}) {
        auto b = std::make_unique<bench>(seed);
        b->cfg.set("stream_enable", 4);
        std::vector<instr> p;
        for (unsigned i = 0; i < n; i++)
            p.push_back(unit_instr(*b, 2, i, 0));
        p.push_back(END);
        b->load(2, p, 2048);
        b->go();
        b->cycles(1500);
        assert_true(b->dut.idle_o);
        assert_int_equal(b->errors, n == 64);
        assert_int_equal(b->unit[0].runs, 63);
    }
}

// Streams that want one unit: each gets it, and a stream with another unit is not held up.
static void busy_unit_is_shared(void **state)
{
    (void)state;
    auto b = std::make_unique<bench>(seed);
    b->longest = 200;
    for (unsigned s = 0; s < S; s++) {
        std::vector<instr> p;
        for (unsigned i = 0; i < 10; i++)
            p.push_back(unit_instr(*b, s, i, s == 3 ? 11 : 5));
        p.push_back(END);
        b->load(s, p, 1024 * s);
    }
    b->go();
    uint64_t last_done = 0;
    while (!b->dut.idle_o && b->now < 20000) {
        b->cycle();
        if (b->unit[3].runs == 10 && !last_done)
            last_done = b->now;
    }
    assert_true(b->dut.idle_o);
    assert_int_equal(b->unit[1].runs, 30);
    assert_in_range(last_done, 1, b->now * 2 / 3);
}

// Cycles that an instruction costs besides its run.
static void issue_is_quick(void **state)
{
    (void)state;
    auto b = std::make_unique<bench>(seed);
    b->cfg.set("stream_enable", 1);
    std::vector<instr> p;
    for (unsigned i = 0; i < 60; i++)
        p.push_back(unit_instr(*b, 0, i, 0));
    p.push_back(END);
    b->load(0, p, 128);
    b->go();
    while (!b->dut.idle_o)
        b->cycle();
    double each = static_cast<double>(b->now) / 61;
    printf("%.2f cycles per instruction that takes one cycle\n", each);
    assert_true(each <= (F == 16 ? 8.0 : 9.0));
}

int main()
{
    const char *s = getenv("MW_SEED");
    seed = s ? strtoull(s, nullptr, 0) : static_cast<uint64_t>(time(nullptr));
    printf("MW_SEED=%llu\n", static_cast<unsigned long long>(seed));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs),      cmocka_unit_test(each_counter_counts),
        cmocka_unit_test(rows_done_is_a_level), cmocka_unit_test(bursts_lose_nothing),
        cmocka_unit_test(wrong_programs_stop),  cmocka_unit_test(longest_program),
        cmocka_unit_test(busy_unit_is_shared),  cmocka_unit_test(issue_is_quick),
    };
    return cmocka_run_group_tests_name("streams", tests, nullptr, nullptr);
}
