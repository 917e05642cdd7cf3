// SPDX-License-Identifier: Apache-2.0
//
// Programs of the instruction streams: the order and time of issue, invalid instructions, and units
// that several streams share. Then the cycles of an instruction.

#include "streams_model.h"

using namespace tb;

static unsigned no_event(gpu &b)
{
    unsigned e;
    do
        e = b.percent(50) ? b.rng.between(MW_EV_ACKS + 1, MW_EVENTS)
                          : b.rng.between(COUNTERS, 0xffff);
    while (legal(wait_instr(e, 0), 0));
    return e;
}

// An opcode, a counter, a threshold or a delay that does not exist, at its limit or anywhere.
static instr wrong_instr(gpu &b)
{
    instr i = wait_instr(b.rng.pick(EVENTS), b.below(THRESHOLDS));
    switch (b.below(5)) {
    case 0:
        do
            i.op = static_cast<uint8_t>(b.rng());
        while (legal(i, 0));
        break;
    case 1:
        i.imm = static_cast<uint16_t>(no_event(b));
        break;
    case 2:
        i = delay_instr(b.percent(50) ? DELAYS : b.rng.between(DELAYS, UINT32_MAX));
        break;
    case 3:
        i.b = PARAM_Delay && b.percent(50) ? DELAYS : b.rng.between(DELAYS, UINT32_MAX);
        break;
    default:
        i.a = b.percent(50) ? THRESHOLDS : b.rng.between(THRESHOLDS, UINT32_MAX);
    }
    return i;
}

TEST(random_programs)
{
    size_t wrong = 0;
    for (unsigned round = 0; round < 40; round++) {
        gpu b;
        b.port.rate = b.percent(50) ? 100 : b.rng.between(20, 99);
        b.longest = b.rng.between(1, 60);
        for (unsigned layer = 0; layer < 3; layer++) {
            const unsigned enable = b.below(16), delay = b.percent(50) ? 0 : b.below(100);
            const bool returns = b.percent(40);
            b.returns(returns, returns && b.percent(50), !returns && b.percent(50));
            b.enable(enable, delay);
            unsigned runs = 0, before = 0, after = 0;
            for (unsigned s = 0; s < S; s++) {
                std::vector<instr> p;
                const unsigned n = round % 5 == 0 ? 63 : b.below(12);
                bool ended = !(enable >> s & 1);
                for (unsigned i = 0; i < n; i++) {
                    p.push_back(b.percent(3)    ? wrong_instr(b)
                                : b.percent(20) ? wait_instr(b.rng.pick(EVENTS), b.below(40))
                                : b.percent(10) ? wait_instr(b.rng.pick(EVENTS), b.below(40),
                                                             b.below(PARAM_Delay ? 100 : 2))
                                : b.percent(10) ? delay_instr(b.below(200))
                                                : unit_instr(b, s, i));
                    ended = ended || !legal(p[i], i);
                    runs += !ended && p[i].op != MW_I_WAIT && p[i].op != MW_I_DELAY;
                }
                p.push_back(END);
                b.load(s, p, 1024 * s + 128 * b.below(8) + 4096 * (s & 1));
            }
            for (const auto &u : b.unit)
                before += u.runs;
            b.go();
            assert_int_equal(b.dut.idle_o, enable == 0);
            b.until("the end of all streams", 100000, [&] {
                for (unsigned e : EVENTS) {
                    if (b.now > RESTART && b.rng.one_in(40))
                        b.event(e);
                }
                if (b.now > RESTART && b.rng.one_in(40) && b.quiet())
                    b.flag(b.rng.pick(SOFTWARE));
                return b.dut.idle_o;
            });
            for (const auto &u : b.unit)
                after += u.runs;
            assert_int_equal(after - before, runs);
            if (b.port.rate == 100 && enable)
                assert_in_range(b.first_read, delay + 1, delay + 3);
            b.cycles(40);
            b.errors.done();
        }
        wrong += b.errors.count(MW_HWERR_INSTR);
    }
    assert_in_range(wrong, 20, 200);
}

// Every invalid instruction. It is reported as INSTR and ends its stream, and the other stream
// continues.
static std::vector<instr> all_wrong()
{
    std::vector<instr> wrong;
    for (unsigned op = 0; op < 256; op++) {
        instr i{static_cast<uint8_t>(op), 0, 0, 0, 0, 0, 0, 0};
        if (!legal(i, 0))
            wrong.push_back(i);
    }
    if (!PARAM_SumEntries)
        wrong.push_back(wait_instr(MW_EV_SYNCS, 0));
    for (unsigned e : {MW_EV_SYNCS + 1u, MW_EV_SW8 - 1u, COUNTERS, 0u + MW_EVENTS,
                       0x100u + MW_EV_ROWS, 0x100u + MW_EV_SW8, 0x8000u})
        wrong.push_back(wait_instr(e, 0));
    for (uint32_t cycles : {DELAYS, DELAYS + 1, UINT32_MAX}) {
        wrong.push_back(delay_instr(cycles));
        wrong.push_back(wait_instr(MW_EV_ROWS, 0, cycles));
    }
    if (!PARAM_Delay)
        wrong.push_back(wait_instr(MW_EV_ROWS, 0, 1));
    for (unsigned op :
         {MW_I_EXPERT_ROWS, MW_I_MULTIMEM_ST, MW_I_MULTIMEM_RED, MW_I_MULTIMEM_LD_REDUCE, MW_I_SUM,
          MW_I_EXPERT, MW_I_SUM_ST, MW_I_FLAG, MW_I_ST_ROWSP}) {
        for (unsigned flags = 1; flags < 16; flags++) {
            const instr i{static_cast<uint8_t>(op), static_cast<uint8_t>(flags), 0, 0, 0, 0, 8, 0};
            if (!legal(i, 0))
                wrong.push_back(i);
        }
    }
    for (uint32_t threshold : {THRESHOLDS, THRESHOLDS + 1, 1u << 31, UINT32_MAX})
        wrong.push_back(wait_instr(MW_EV_ROWS, threshold));
    return wrong;
}

// Layers are of five kinds: rows return, with lists of sources or without; tile reductions;
// one-byte elements; and none of these.
TEST(wrong_programs_stop)
{
    for (unsigned kind : {6u, 0u, 1u, 2u, 3u}) {
        gpu().returns(kind % 3 > 0, kind % 3 > 1, kind == 3, kind == 6);
        for (const instr &w : all_wrong()) {
            gpu b;
            b.returns(kind % 3 > 0, kind % 3 > 1, kind == 3, kind == 6);
            b.enable(3);
            b.load(0, {unit_instr(b, 0, 0, 1), w, unit_instr(b, 0, 2, 1), END}, 0);
            b.load(1, {unit_instr(b, 1, 0, 1), unit_instr(b, 1, 1, 2), END}, 1024);
            b.go();
            b.cycles(80);
            assert_true(b.dut.idle_o);
            b.errors.done();
            assert_int_equal(b.errors.count(MW_HWERR_INSTR), 1);
            assert_int_equal(b.unit[1].runs, 2);
            assert_int_equal(b.unit[2].runs, 1);
        }
    }
}

// A program of the maximum number of instructions is valid if the last one is I_END.
TEST(longest_program)
{
    const unsigned most = PARAM_StreamInstrs;
    for (unsigned n : {most - 1, most}) {
        gpu b;
        b.enable(4);
        std::vector<instr> p;
        for (unsigned i = 0; i < n; i++)
            p.push_back(unit_instr(b, 2, i, 0));
        p.push_back(END);
        b.load(2, p, 2048);
        b.go();
        b.cycles(24 * most);
        assert_true(b.dut.idle_o);
        b.errors.done();
        assert_int_equal(b.errors.count(MW_HWERR_INSTR), n == most);
        assert_int_equal(b.unit[0].runs, most - 1);
    }
}

// Several streams use one unit, and each gets it. A stream with another unit is not delayed.
TEST(busy_unit_is_shared)
{
    gpu b;
    b.longest = 200;
    for (unsigned s = 0; s < S; s++) {
        std::vector<instr> p;
        for (unsigned i = 0; i < 10; i++)
            p.push_back(unit_instr(b, s, i, s == 3 ? 3 : 1));
        p.push_back(END);
        b.load(s, p, 1024 * s);
    }
    b.go();
    uint64_t last_done = 0;
    b.until("the end of all streams", 20000, [&] {
        if (b.unit[3].runs == 10 && !last_done)
            last_done = b.now;
        return b.dut.idle_o;
    });
    assert_int_equal(b.unit[1].runs, 30);
    assert_in_range(last_done, 1, b.now * 2 / 3);
}

// Cycles of an instruction in addition to its run.
TEST(issue_is_quick)
{
    gpu b;
    b.enable(1);
    std::vector<instr> p;
    for (unsigned i = 0; i < 60; i++)
        p.push_back(unit_instr(b, 0, i, 0));
    p.push_back(END);
    b.load(0, p, 128);
    b.go();
    b.until("the end of the stream", 1000, [&] { return b.dut.idle_o; });
    const double each = static_cast<double>(b.now) / 61;
    printf("%.2f cycles per instruction that takes one cycle\n", each);
    assert_true(each <= (F == 16 ? 8.0 : 9.0));
}
