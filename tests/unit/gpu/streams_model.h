// SPDX-License-Identifier: Apache-2.0
//
// The instruction streams of a GPU, for their tests: memory that refuses at random, units of random
// run time, and the rule of each instruction. An instruction is issued in its order, after its
// waits.
#ifndef STREAMS_MODEL_H
#define STREAMS_MODEL_H

#include "bench/errors.h"
#include "bench/memory.h"
#include "event_numbers.h"
#include "isa.h"
#include "node_cfg.h"

namespace tb {
static const unsigned F = PARAM_FlitBytes, MEM = 1u << PARAM_MemBytesLog2, S = MW_STREAMS,
                      UNITS = 5;
static const unsigned COUNTERS = PARAM_Events;
static const std::vector<unsigned> SOFTWARE = counted_events(COUNTERS); // of packets
static const unsigned RESTART = 16; // cycles after go in which the counters of packets restart
static const unsigned RING = 15;    // FLAGs and COUNTS that can wait
static const uint32_t THRESHOLDS = 1u << 20, DELAYS = 1u << 31;
enum { FLAG = 16, OFF = 0 }; // a pulse besides those of mw_ev; the state of a stream that has ended

using instr = mw_instr;
static_assert(sizeof(instr) == MW_INSTR_BYTES, "as it lies in memory");

inline unsigned unit_of(unsigned op)
{
    switch (op) {
    case MW_I_COUNT:
    case MW_I_PREFIX:
    case MW_I_SIGNAL:
    case MW_I_FLAG:
    case MW_I_FENCE:
    case MW_I_ORDER:
        return 0;
    case MW_I_DYMULTIMEM_ST:
    case MW_I_ST_ROWSP:
    case MW_I_ST:
    case MW_I_ST_LINEAR:
    case MW_I_MULTIMEM_ST:
    case MW_I_MULTIMEM_RED:
        return 1;
    case MW_I_EXPERT:
    case MW_I_EXPERT_ROWS:
        return 2;
    case MW_I_DYMULTIMEM_LD_REDUCE:
    case MW_I_MULTIMEM_LD_REDUCE:
    case MW_I_SUM:
        return 3;
    case MW_I_SUM_ST:
        return 4;
    default:
        return UNITS;
    }
}

inline bool rows_return, source_lists, tiles, codes; // of the layer

// True if the instruction requires gradients.
inline bool has_gradients(const instr &i)
{
    return !(i.flags & 8) || (PARAM_GateGradients && !codes);
}

inline bool legal(const instr &i, unsigned idx)
{
    if (i.op == MW_I_END)
        return true;
    if (idx == PARAM_StreamInstrs - 1)
        return false;
    switch (i.op) {
    case MW_I_WAIT:
        return (i.imm <= MW_EV_ACKS || is_counted(COUNTERS, i.imm) ||
                (PARAM_SumEntries && i.imm == MW_EV_SYNCS)) &&
               i.a < THRESHOLDS && i.b < (PARAM_Delay ? DELAYS : 1u);
    case MW_I_DELAY:
        return PARAM_Delay && i.a < DELAYS;
    case MW_I_EXPERT:
        return has_gradients(i) && (!(i.flags & 2) || rows_return);
    case MW_I_ST_ROWSP:
        return PARAM_RowSparse && !(source_lists && i.flags & 3);
    case MW_I_FLAG:
        return !(i.flags & 4) || source_lists;
    case MW_I_SUM_ST:
        return !rows_return;
    case MW_I_EXPERT_ROWS:
        return has_gradients(i) &&
               ((i.flags & 3) == 0 || ((i.flags & 3) == 1 && PARAM_RowRanges) ||
                ((i.flags & 3) == 2 && PARAM_Gathered) || ((i.flags & 7) == 7 && tiles));
    case MW_I_MULTIMEM_ST:
        return (i.flags & 3) == 0 || ((i.flags & 3) != 3 && PARAM_Gathered);
    case MW_I_MULTIMEM_RED:
        return !(i.flags & 1) || PARAM_SumEntries;
    case MW_I_MULTIMEM_LD_REDUCE:
        return !(i.flags & 1) || PARAM_Gathered;
    case MW_I_SUM:
        return !(i.flags & 6) ||
               (PARAM_Gathered && !rows_return && (i.flags & 7) != 4 && (i.flags & 7) != 7);
    default:
        return unit_of(i.op) < UNITS;
    }
}

struct gpu : model<Vstreams> {
    node_cfg cfg;
    memory mem{MEM, F};
    read_port port{mem, "fetch"};
    error_watch errors{"streams"};
    source<unsigned> events; // EVENT packets
    std::vector<instr> program[S];
    uint32_t bases[S] = {}, counter[MW_EVENTS] = {};
    unsigned next[S] = {}, longest = 1;
    bool running[S] = {};
    struct {
        bool busy;
        unsigned left, stream, runs;
    } unit[UNITS] = {};
    uint64_t issued_at[S] = {}, retired_at[S] = {}, read_at[S] = {}, first_read = 0, event_at = 0;

    gpu()
    {
        mem.data = rng.some(MEM);
        dut.go_i = dut.ev_rows_done_i = 0;
        returns(false, false);
        enable(0xf);
        reset();
    }
    void enable(unsigned mask, unsigned start_delay = 0)
    {
        cfg.set("stream_enable", mask);
        cfg.set("start_delay", start_delay);
        cfg.drive(dut.cfg_i);
    }
    // Call it before the programs of a layer are made.
    void returns(bool on, bool lists, bool of_tiles = false, bool of_codes = false)
    {
        codes = of_codes;
        cfg.set("dispatch_type", of_codes ? MW_ROWTYPE_E4M3 : MW_ROWTYPE_BF16);
        rows_return = on && PARAM_RowSparse;
        source_lists = lists && PARAM_SourceLists;
        tiles = of_tiles && PARAM_TileReductions;
        cfg.set("tile_reductions", of_tiles);
        cfg.set("row_returns", on);
        cfg.set("source_lists", lists);
    }
    void load(unsigned s, const std::vector<instr> &p, uint32_t base)
    {
        bases[s] = base;
        program[s] = p;
        memcpy(&mem.data[base], p.data(), p.size() * sizeof(instr));
    }
    void go()
    {
        // node_cfg sets up to 64 bits of a field, and this one has more. Setting it to ones shows
        // its first bit.
        node_cfg probe;
        probe.set("stream_base", ~0ull);
        uint32_t image[32] = {};
        probe.drive(image);
        unsigned at = 0;
        while (!(image[at / 32] >> (at % 32) & 1))
            at++;
        cfg.drive(dut.cfg_i);
        constexpr unsigned BASE = 36;
        for (unsigned b = 0; b < BASE * S; b++)
            dut.cfg_i[(at + b) / 32] |=
                static_cast<uint32_t>(uint64_t(bases[b / BASE]) >> b % BASE & 1) << (at + b) % 32;
        dut.go_i = 1;
        cycle();
        dut.go_i = 0;
        now = first_read = ring = 0;
        started = true;
        for (unsigned s = 0; s < S; s++)
            next[s] = 0, retired_at[s] = read_at[s] = 0, running[s] = false;
        memset(counter, 0, sizeof counter);
    }

    // An event of the next cycle. EVENTs are queued.
    void event(unsigned e)
    {
        if (is_counted(COUNTERS, e))
            return events.queue.push_back(e);
        pulses |= 1u << e;
        counter[e]++;
    }
    void flag(unsigned idx)
    {
        pulses |= 1u << FLAG;
        flag_idx = idx;
        counter[idx]++;
    }
    bool quiet() const { return pulses == 0; }
    void rows_done(bool on) { dut.ev_rows_done_i = on; }

    void drive() override
    {
        port.drive(rng, dut.rd_ready_i, dut.rd_rvalid_i, dut.rd_rdata_i);
        for (unsigned u = 0; u < UNITS; u++) {
            dut.cmd_ready_i[u] = !unit[u].busy;
            dut.retire_i[u] = unit[u].busy && unit[u].left == 0;
        }
        auto pulse = [this](unsigned e) { return pulses >> e & 1; };
        dut.ev_flag_valid_i = pulse(FLAG);
        dut.ev_flag_idx_i = static_cast<uint8_t>(pulse(FLAG) ? flag_idx : rng.pick(SOFTWARE));
        dut.ev_event_valid_i = events.offer(rng);
        dut.ev_event_idx_i =
            static_cast<uint8_t>(dut.ev_event_valid_i ? events.front() : rng.pick(SOFTWARE));
        dut.ev_counts_i = pulse(MW_EV_COUNTS);
        dut.ev_row_i = pulse(MW_EV_ROWS);
        dut.ev_token_i = pulse(MW_EV_TOKENS);
        dut.ev_ack_i = pulse(MW_EV_ACKS);
        dut.ev_sync_i = pulse(MW_EV_SYNCS);
        pulses = 0;
    }

    void sample() override
    {
        if (port.sample(rng, dut.rd_valid_o, dut.rd_ready_i, dut.rd_addr_o)) {
            if (!first_read)
                first_read = now;
            fetch(dut.rd_addr_o * F);
        }
        if (dut.rd_rvalid_i && ++got == MW_INSTR_BYTES / F) {
            got = 0;
            read_at[fetched] = now;
            if (!legal(program[fetched][fetched_idx], fetched_idx))
                errors.expect_between(now + 2, now + 2, MW_HWERR_INSTR, fetched, fetched_idx);
        }
        errors.see(now, dut.err_valid_o, dut.err_code_o, fetched, fetched_idx);
        if (dut.err_valid_o) { // the stream ends there
            assert_int_equal(dut.state_o[fetched] >> 16, OFF);
            assert_int_equal(dut.state_o[fetched] >> 8 & 255, program[fetched][fetched_idx].op);
        }
        count_packets();
        for (unsigned u = 0; u < UNITS; u++) {
            if (dut.retire_i[u]) {
                unit[u].busy = running[unit[u].stream] = false;
                retired_at[unit[u].stream] = now;
            } else if (unit[u].busy)
                unit[u].left--;
        }
        for (unsigned u = 0; u < UNITS; u++) {
            if (dut.cmd_valid_o[u])
                issue(u);
        }
    }

  private:
    // Flits of an instruction are read in order, from an address in the program.
    void fetch(uint32_t at)
    {
        assert_int_equal(at % MW_INSTR_BYTES, asked * F);
        asked = (asked + 1) % (MW_INSTR_BYTES / F);
        for (unsigned s = 0; s < S; s++) {
            if (at >= bases[s] && at < bases[s] + program[s].size() * MW_INSTR_BYTES) {
                fetched = s;
                fetched_idx = (at - bases[s]) / MW_INSTR_BYTES;
                return;
            }
        }
        fail_msg("fetch from 0x%x", at);
    }

    // An EVENT waits only while the counters restart and while the ring is full.
    void count_packets()
    {
        const bool ready = now >= RESTART;
        if (started)
            assert_int_equal(dut.ev_ready_o, ready && ring < RING);
        const bool taken = dut.ev_event_valid_i && dut.ev_ready_o;
        if (taken) {
            counter[dut.ev_event_idx_i]++;
            event_at = now;
        }
        ring += (dut.ev_flag_valid_i || dut.ev_counts_i) - (ready && !taken && ring);
        events.taken(dut.ev_ready_o);
    }

    void issue(unsigned u)
    {
        assert_true(dut.cmd_ready_i[u]);
        instr i;
        memcpy(&i, &dut.cmd_o, sizeof i);
        const unsigned s = i.c >> 28, idx = i.c & 0xff;
        assert_true(s < S && !running[s]);
        // Every instruction between the last issued one and this one is a wait or a delay that has
        // ended.
        while (next[s] < idx) {
            const instr &w = program[s][next[s]++];
            if (w.op == MW_I_DELAY) {
                assert_true(now - retired_at[s] > w.a);
                continue;
            }
            assert_int_equal(w.op, MW_I_WAIT);
            assert_true(now - retired_at[s] > w.b);
            assert_true((w.imm == MW_EV_ROWS_DONE ? dut.ev_rows_done_i : counter[w.imm]) >= w.a);
        }
        assert_int_equal(next[s], idx);
        assert_memory_equal(&i, &program[s][idx], sizeof i);
        assert_int_equal(unit_of(i.op), u);
        assert_true(legal(i, idx));
        next[s]++;
        running[s] = true;
        issued_at[s] = now;
        unit[u] = {true, below(longest), s, unit[u].runs + 1};
    }

    unsigned asked = 0, got = 0, fetched = 0, fetched_idx = 0, pulses = 0, flag_idx = 0, ring = 0;
    bool started = false;
};

inline instr unit_instr(gpu &b, unsigned s, unsigned idx, unsigned unit = UNITS)
{
    instr i{};
    i.a_high = b.below(4) & 3;
    i.c_high = b.below(4) & 3;
    i.imm = static_cast<uint16_t>(b.rng());
    i.a = b.rng.word();
    i.b = b.rng.word();
    i.c = s << 28 | idx;
    do {
        i.op = static_cast<uint8_t>(b.below(32));
        i.flags = b.below(16) & 15;
    } while (!legal(i, 0) || (unit == UNITS ? unit_of(i.op) == UNITS : unit_of(i.op) != unit));
    return i;
}

// With `cycles` the wait acts like software that polls.
inline instr wait_instr(unsigned event, uint32_t threshold, uint32_t cycles = 0)
{
    return {MW_I_WAIT, 0, 0, 0, static_cast<uint16_t>(event), threshold, cycles, 0};
}

inline instr delay_instr(uint32_t cycles)
{
    return {MW_I_DELAY, 0, 0, 0, 0, cycles, 0, 0};
}

static const instr END = {MW_I_END, 0, 0, 0, 0, 0, 0, 0};
inline std::vector<unsigned> all_events()
{
    std::vector<unsigned> all = SOFTWARE;
    for (unsigned e : {MW_EV_COUNTS, MW_EV_ROWS, MW_EV_TOKENS, MW_EV_ACKS})
        all.push_back(e);
    if (PARAM_SumEntries)
        all.push_back(MW_EV_SYNCS);
    return all;
}
static const std::vector<unsigned> EVENTS = all_events();
} // namespace tb

#endif
