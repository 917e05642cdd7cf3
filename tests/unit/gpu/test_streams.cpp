// SPDX-License-Identifier: Apache-2.0
//
// streams with a memory that refuses at random and units of random run time: what is issued,
// when it may be issued, how waits answer to events (each kind of counter, bursts beyond what
// the ring holds, two packets in a cycle), which instructions are errors: code, instruction
// and cycle; restart.

#include "bench/errors.h"
#include "bench/memory.h"
#include "event_numbers.h"
#include "isa.h"
#include "node_cfg.h"

using namespace tb;

static const unsigned F = PARAM_FlitBytes, MEM = 1u << PARAM_MemBytesLog2, S = MW_STREAMS,
                      UNITS = 5;
static const unsigned COUNTERS = PARAM_Events;
static const std::vector<unsigned> SOFTWARE = counted_events(COUNTERS); // of packets
static const unsigned RESTART = 16; // cycles behind go in which the counters of packets restart
static const unsigned RING = 15;    // FLAGs and COUNTS that wait
static const uint32_t THRESHOLDS = 1u << 20, DELAYS = 1u << 31;
enum { FLAG = 16, OFF = 0 }; // a pulse beside those of mw_ev; the state of a stream that has ended

using instr = mw_instr;
static_assert(sizeof(instr) == MW_INSTR_BYTES, "as it lies in memory");

static unsigned unit_of(unsigned op)
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

static bool rows_return, source_lists, tiles, codes; // of the layer

// Gradients that an instruction asks for, if it does.
static bool has_gradients(const instr &i)
{
    return !(i.flags & 8) || (PARAM_GateGradients && !codes);
}

static bool legal(const instr &i, unsigned idx)
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
    // Before the programs of a layer are made.
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
        // node_cfg sets up to 64 bits of a field, and this one has more: its first bit is found
        // by setting it to ones.
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

    // Of the next cycle; EVENTs queue up.
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
        if (dut.err_valid_o) { // the stream has ended there
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
    // Flits of an instruction in order, of an instruction that there is.
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

    // An EVENT waits while the counters restart and while the ring is full, and at no other time.
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
        // Every instruction between the last one issued and this one is a wait or a
        // delay that is over.
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

static instr unit_instr(gpu &b, unsigned s, unsigned idx, unsigned unit = UNITS)
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

static instr wait_instr(unsigned event, uint32_t threshold)
{
    return {MW_I_WAIT, 0, 0, 0, static_cast<uint16_t>(event), threshold, 0, 0};
}

// As software that polls.
static instr poll_instr(unsigned event, uint32_t threshold, uint32_t cycles)
{
    return {MW_I_WAIT, 0, 0, 0, static_cast<uint16_t>(event), threshold, cycles, 0};
}

static instr delay_instr(uint32_t cycles)
{
    return {MW_I_DELAY, 0, 0, 0, 0, cycles, 0, 0};
}

static const instr END = {MW_I_END, 0, 0, 0, 0, 0, 0, 0};
static std::vector<unsigned> all_events()
{
    std::vector<unsigned> all = SOFTWARE;
    for (unsigned e : {MW_EV_COUNTS, MW_EV_ROWS, MW_EV_TOKENS, MW_EV_ACKS})
        all.push_back(e);
    if (PARAM_SumEntries)
        all.push_back(MW_EV_SYNCS);
    return all;
}
static const std::vector<unsigned> EVENTS = all_events();

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
                                : b.percent(10) ? poll_instr(b.rng.pick(EVENTS), b.below(40),
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

// One event less than the threshold holds the stream, the last one lets it go within 14
// cycles; 0 does not wait.
TEST(each_counter_counts)
{
    for (unsigned e : EVENTS) {
        for (unsigned threshold : {0u, 1u, 2u, 40u, 300u}) {
            for (unsigned s = 0; s < S; s++) {
                gpu b;
                b.enable(1u << s);
                b.load(s, {wait_instr(e, threshold), unit_instr(b, s, 1, 0), END}, 512 * s);
                b.go();
                b.cycles(RESTART + 4);
                for (unsigned i = 0; i + 1 < threshold; i++) {
                    b.event(e);
                    b.cycle();
                }
                b.cycles(60);
                assert_int_equal(b.unit[0].runs, threshold == 0);
                if (threshold)
                    b.event(e);
                b.cycles(30);
                assert_int_equal(b.unit[0].runs, 1);
                assert_true(b.dut.idle_o);
                if (threshold > 1)
                    assert_in_range(b.issued_at[s], RESTART + 4 + threshold + 58,
                                    RESTART + 4 + threshold + 58 + 14);
            }
        }
    }
}

TEST(rows_done_is_a_level)
{
    gpu b;
    b.enable(2);
    b.load(1, {wait_instr(MW_EV_ROWS_DONE, 1), unit_instr(b, 1, 1, 2), END}, 1024);
    b.rows_done(false);
    b.go();
    b.cycles(100);
    assert_int_equal(b.unit[2].runs, 0);
    b.rows_done(true);
    b.cycles(20);
    assert_int_equal(b.unit[2].runs, 1);
}

// A layer that waits for `threshold` of event e, or only counts, while EVENTs, rows and tokens come
// in every cycle, FLAGs and COUNTS in every cycle for several times what the ring holds, and an ACK
// of every GPU. Says whether the wait is over behind it, and how many there were of e.
static bool burst(unsigned e, uint32_t threshold, uint32_t *count)
{
    gpu b;
    b.enable(1);
    b.load(0, {wait_instr(e, threshold), unit_instr(b, 0, 1, 0), END}, 0);
    b.go();
    b.cycles(RESTART);
    unsigned sent = 0;
    for (unsigned c = 0; c < 240; c++) {
        if (b.events.empty())
            b.event(SOFTWARE[sent++ * 5 / 3 % SOFTWARE.size()]);
        b.event(MW_EV_ROWS);
        b.event(MW_EV_TOKENS);
        b.event(MW_EV_SYNCS);
        if (c < 32)
            b.event(MW_EV_ACKS);
        if (c >= 40 && c < 40 + 6 * RING) {
            if (c % 2)
                b.event(MW_EV_COUNTS);
            else
                b.flag(SOFTWARE[c / 4 % SOFTWARE.size()]);
        }
        b.cycle();
    }
    assert_in_range(sent, 240 - 6 * RING, 240 - 3 * RING); // they had to wait
    b.cycles(100);
    assert_true(b.events.empty());
    *count = b.counter[e];
    return b.unit[0].runs;
}

// Each counter has its number and no more.
TEST(bursts_lose_nothing)
{
    for (unsigned e : EVENTS) {
        uint32_t count, again;
        burst(e, 0, &count);
        assert_in_range(count, 3, 1000);
        assert_true(burst(e, count, &again));
        assert_int_equal(again, count);
        assert_false(burst(e, count + 1, &again));
        assert_int_equal(again, count);
    }
}

// EVENTs of a GPU that does not wait for the layer to begin are counted behind the restart, not
// lost, and FLAGs, too.
TEST(events_wait_for_the_restart)
{
    for (unsigned e : SOFTWARE) {
        for (unsigned threshold = 3; threshold < 5; threshold++) {
            gpu b;
            b.enable(1);
            b.load(0, {wait_instr(e, threshold), unit_instr(b, 0, 1, 0), END}, 0);
            b.go();
            b.event(e);
            b.event(e);
            b.cycles(b.below(RESTART));
            b.flag(e);
            b.cycles(RESTART + 2 - b.now);
            assert_int_equal(b.event_at, RESTART + 1);
            b.cycles(50);
            assert_int_equal(b.unit[0].runs, threshold == 3);
        }
    }
}

// Every instruction that is none: INSTR, its stream has ended, the other goes on ...
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
    for (uint32_t cycles : {DELAYS, DELAYS + 1, UINT32_MAX})
        wrong.push_back(delay_instr(cycles));
    for (uint32_t cycles : {DELAYS, DELAYS + 1, UINT32_MAX})
        wrong.push_back(poll_instr(MW_EV_ROWS, 0, cycles));
    if (!PARAM_Delay)
        wrong.push_back(poll_instr(MW_EV_ROWS, 0, 1));
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

// ... in layers in which rows return, from lists of sources or not, in those of tile reductions,
// in those of one-byte elements, and in others.
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

// The largest threshold is one: no error, and the stream waits.
TEST(largest_threshold)
{
    gpu b;
    b.enable(1);
    b.load(0, {wait_instr(MW_EV_ROWS, THRESHOLDS - 1), unit_instr(b, 0, 1, 0), END}, 0);
    b.go();
    for (uint32_t i = 0; i < THRESHOLDS - 2; i++) {
        b.event(MW_EV_ROWS);
        b.cycle();
    }
    b.cycles(30);
    assert_int_equal(b.unit[0].runs, 0);
    b.event(MW_EV_ROWS);
    b.cycles(30);
    assert_int_equal(b.unit[0].runs, 1);
    b.errors.done();
}

// A delay holds its stream for as many cycles, and up to seven more besides those that instructions
// cost, in whatever cycle it begins; the other streams go on.
TEST(delays_take_their_time)
{
    for (unsigned round = 0; round < 60 && PARAM_Delay; round++) {
        gpu b;
        const uint32_t cycles = b.rng.pick({0u, 1u, 2u, 3u, 4u, 5u, 100u, 5000u, b.below(3000)});
        const unsigned start = b.below(9), s = b.below(4), other = (s + 1) % S;
        b.enable(1u << s | 1u << other, start);
        b.load(s, {delay_instr(cycles), unit_instr(b, s, 1, 0), END}, 512 * s);
        b.load(other, {wait_instr(MW_EV_ROWS, 3), unit_instr(b, other, 1, 2), END}, 512 * other);
        b.go();
        b.until("the delay to be read", 100, [&] { return b.read_at[s] != 0; });
        const uint64_t begun = b.read_at[s] + 1;
        b.cycles(100);
        for (unsigned i = 0; i < 3; i++) {
            b.event(MW_EV_ROWS);
            b.cycle();
        }
        b.cycles(30);
        assert_int_equal(b.unit[2].runs, 1);
        if (cycles > 200)
            assert_int_equal(b.unit[0].runs, 0);
        b.cycles(cycles + 60);
        assert_int_equal(b.unit[0].runs, 1);
        // as every wait not before the counters have restarted; the next instruction
        // costs what each does
        assert_in_range(b.issued_at[s], begun + cycles + 6,
                        std::max<uint64_t>(begun + cycles, RESTART) + 7 + 24);
        b.errors.done();
    }
}

// A wait that has a delay behind it: as many cycles behind the event that ends it, and up to 15
// more besides those that instructions cost, whatever the other streams begin meanwhile; an event
// that has come before holds it as long.
TEST(polls_come_late)
{
    for (unsigned round = 0; round < 100 && PARAM_Delay; round++) {
        gpu b;
        const uint32_t cycles =
            round < 2 ? 20000 : b.rng.pick({1u, 2u, 3u, 4u, 5u, 100u, 1 + b.below(3000)});
        const bool before = round & 1, alone = round & 2;
        const unsigned s = alone ? b.below(4) : 0, event = b.rng.pick(EVENTS);
        b.enable(alone ? 1u << s : 0xf);
        b.load(s, {poll_instr(event, 2, cycles), unit_instr(b, s, 1, 1), END}, 1024 * s);
        for (unsigned o = 0; o < S;
             o++) { // the others begin delays all the time, and are fetched last
            std::vector<instr> p;
            for (unsigned i = 0; i < 60; i++)
                p.push_back(delay_instr(b.below(9)));
            p.push_back(END);
            if (o != s)
                b.load(o, p, 1024 * o);
        }
        b.go();
        b.cycles(RESTART + 4);
        b.event(event);
        b.cycle();
        if (!before) {
            b.cycles(b.below(200));
            assert_int_equal(b.unit[1].runs, 0);
        }
        b.event(event);
        b.cycle();
        const uint64_t met = std::max(b.now, b.read_at[s]);
        b.cycles(cycles + 60);
        assert_int_equal(b.unit[1].runs, 1);
        assert_in_range(b.issued_at[s], met + cycles, met + cycles + 15 + (alone ? 24 : 48));
        b.errors.done();
    }
}

// Every bit of a delay, alone or behind a wait, holds its stream.
TEST_IF(PARAM_Delay, each_bit_delays)
{
    for (unsigned bit = 9; bit < 31; bit++) {
        gpu b;
        b.enable(3);
        b.load(0, {poll_instr(MW_EV_ROWS, 1, 1u << bit), unit_instr(b, 0, 1, 1), END}, 0);
        b.load(1, {delay_instr(1u << bit), unit_instr(b, 1, 1, 2), END}, 512);
        b.go();
        b.cycles(RESTART + 4);
        b.event(MW_EV_ROWS);
        b.cycles(400);
        assert_int_equal(b.unit[1].runs + b.unit[2].runs, 0);
    }
}

// Delays that begin late: when the last one does, all low bits of the time are or were ones.
TEST_IF(PARAM_Delay, delays_add_up)
{
    gpu b;
    b.enable(1);
    std::vector<instr> p;
    uint32_t all = 0;
    for (unsigned bit = 8; bit < 17; bit++, all += p.back().a)
        p.push_back(delay_instr(1u << bit));
    p.push_back(unit_instr(b, 0, static_cast<unsigned>(p.size()), 1));
    p.push_back(END);
    b.load(0, p, 0);
    b.go();
    b.cycles(all + 50 * static_cast<unsigned>(p.size()));
    assert_int_equal(b.unit[1].runs, 1);
    assert_in_range(b.issued_at[0], all, all + 32 * p.size());
    b.errors.done();
}

// As many instructions as there is room for are a program if the last one is I_END.
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

// Streams that want one unit: each gets it, and a stream with another unit is not held up.
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

// Cycles that an instruction costs besides its run.
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
