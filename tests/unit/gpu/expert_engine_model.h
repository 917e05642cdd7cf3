// SPDX-License-Identifier: Apache-2.0
//
// The expert engine between a row tracker and a memory that refuses at random, for the tests of
// expert_engine. A row is compared when it is signalled, and the whole memory at the end.
#ifndef EXPERT_ENGINE_MODEL_H
#define EXPERT_ENGINE_MODEL_H

#include "bench/memory.h"
#include "bench/packet.h"
#include "float_ref.h"
#include "isa.h"
#include "node_cfg.h"

#include <algorithm>
#include <map>

namespace tb {
static const unsigned F = sizeof(Vexpert_engine::rd_rdata_i);
static const unsigned MEM = 1u << 18, MAX_LOCAL = 16, MAX_EXPERTS = 64, LATENCY = 3;
static const unsigned PORT = 2, N = PARAM_N;
static const bool TILES = PARAM_TileReductions;
static const bool TYPES = PARAM_RowTypes;
static const bool GRADIENTS = PARAM_GateGradients;

// The engine's product: subnormal operands and products below 2^-126 before rounding are zeros.
inline float multiply(float a, float b)
{
    auto flush = [](float v) {
        return std::fpclassify(v) == FP_SUBNORMAL ? std::copysign(0.0f, v) : v;
    };
    double exact = static_cast<double>(flush(a)) * static_cast<double>(flush(b));
    if (std::fabs(exact) < 0x1p-126)
        return std::copysign(0.0f, static_cast<float>(exact));
    return static_cast<float>(exact);
}

inline uint16_t result(uint16_t x, uint16_t c, uint32_t w)
{
    return nearest_bf16(multiply(multiply(from_bf16(x), from_bf16(c)), to_float(w)));
}

struct entry {
    unsigned row, token, pos;
};

struct signal_seen {
    uint64_t cycle;
    unsigned le, idx;
};

// Rates of the environment, in percent.
struct weather {
    unsigned memory = 100, misc = 100, signals = 100, push = 100, arrive = 100, gradients = 100;
    unsigned list_latency = 2;
    int counts_at = 0;   // cycle from which all counts are present; -1: when all rows are
    int counted_at = -1; // the same for each list by itself; -1: never
};

struct engine : model<Vexpert_engine> {
    engine() : mem(MEM, F), misc(mem, "misc", LATENCY)
    {
        rng.fill(mem.data.data(), MEM);
        cfg.set("port", PORT);
        cfg.set("k", 6);
        cfg.set("k_shift", 3);
        cfg.set("tile", 4);
        cfg.set("expert_cycles", 4);
        cfg.set("local_experts", 3);
        cfg.set("gate_shift", 5);
        set_row(64);
        set_map(6, 0x800, 0x10000, 0x20000, 0x30000);
        dut.go_i = dut.cmd_valid_i = dut.emap_we_i = 0;
        dut.rd_rvalid_i = dut.list_rvalid_i = dut.counts_all_i = 0;
        cfg.drive(dut.cfg_i);
        reset();
    }

    void set_row(unsigned size)
    {
        row_bytes = size;
        row_shift = log2_up(std::max(size, 4 * F));
        cfg.set("row_bytes", size);
        cfg.set("row_shift", row_shift);
    }

    void set_map(unsigned cap_shift, uint32_t ce, uint32_t gt, uint32_t xd, uint32_t yd)
    {
        cfg.set("cap_shift", cap_shift);
        cfg.set("ce_base", ce);
        cfg.set("gt_base", gt);
        cfg.set("xd_base", xd);
        cfg.set("yd_base", yd);
    }

    // Address of a received row's gate weight.
    uint32_t weight(unsigned r, unsigned j) const
    {
        return static_cast<uint32_t>(cfg["gt_base"] + 128 * r + (gathered ? 32 : 4) + 4 * j);
    }

    // Rows of the experts in the order in which they become complete.
    void plan(const std::vector<unsigned> &counts)
    {
        unsigned token = 0;
        list.assign(MAX_LOCAL, {});
        complete.assign(MAX_LOCAL, 0);
        expected.assign(MAX_LOCAL, 0);
        std::vector<unsigned> tokens(4096);
        for (unsigned i = 0; i < tokens.size(); i++)
            tokens[i] = i * 37;
        rng.shuffle(tokens);
        by_token.clear();
        seen.clear();
        counts_all = false;
        for (unsigned le = 0; le < counts.size(); le++) {
            std::vector<unsigned> rows(counts[le]);
            for (unsigned i = 0; i < counts[le]; i++)
                rows[i] = i;
            rng.shuffle(rows);
            for (unsigned i = 0; i < counts[le]; i++) {
                by_token[tokens[token]] = {le, i};
                list[le].push_back({rows[i], tokens[token++], below(cfg["k"])});
            }
            expected[le] = counts[le];
        }
        total = token;
        for (unsigned le = 0; le < counts.size(); le++)
            randomize(le);
        want = mem.data;
        due.clear();
        for (unsigned le = 0; le < counts.size(); le++) {
            for (unsigned i = 0; i < counts[le]; i++)
                compute(le, list[le][i]);
        }
    }

    // One layer up to retire; the limit is in cycles.
    void run(const weather &weather_then, unsigned limit, uint8_t op = MW_I_EXPERT)
    {
        w = weather_then;
        start(op);
        until("the layer to retire", limit, [&] { return retired; });
        cycles(20);
        assert_true(mem.data == want);
        if (op == MW_I_EXPERT)
            assert_int_equal(seen.size(), total);
        assert_true(due.empty());
    }

    void start(uint8_t op)
    {
        now = 0;
        go();
        command({op, 0, 0, 0, 0, 0, 0, 0});
    }

    void go()
    {
        cfg.drive(dut.cfg_i);
        dut.go_i = 1;
        cycle();
        dut.go_i = 0;
    }

    // Up to its retirement.
    void finish(const mw_instr &in, unsigned limit)
    {
        command(in);
        until("the instruction to retire", limit, [&] { return retired; });
    }

    // After it the memory has all results, and nothing else changed.
    void completes(const mw_instr &in, unsigned limit)
    {
        finish(in, limit);
        cycles(20);
        assert_true(mem.data == want);
    }

    // It is out of bounds, and has no effect.
    void rejects(const mw_instr &in)
    {
        finish(in, 2000);
        assert_int_equal(bounds, 1);
        assert_true(pushes.empty() && mem.data == want);
    }

    void command(const mw_instr &in)
    {
        retired = false;
        mw_instr then = in;
        if (gradients)
            then.flags |= 8;
        dense = in.op == MW_I_EXPERT_ROWS && in.flags == 2;
        memcpy(&dut.cmd_i, &then, sizeof then);
        dut.cmd_valid_i = 1;
        settle();
        until("the command to be taken", 100, [&] { return dut.cmd_ready_o; });
        cycle();
        dut.cmd_valid_i = 0;
    }

    void drive() override
    {
        arrive();
        ports();
    }

    void sample() override
    {
        sample_tracker();
        sample_memory();
        sample_signals();
        sample_gradients();
        retired |= dut.retire_o;
        bounds += dut.err_valid_o;
    }

    void map_expert(unsigned id, bool valid, unsigned gpu, unsigned le)
    {
        dut.emap_we_i = 1;
        dut.emap_addr_i = static_cast<uint16_t>(id);
        dut.emap_data_i = tb::place(valid, gpu, le);
        edge();
        dut.emap_we_i = 0;
    }

    uint32_t base(const char *name) const { return static_cast<uint32_t>(cfg[name]); }

    // Rows of dispatch have elements of a byte or less, followed by scales.
    void set_codes(unsigned type = MW_ROWTYPE_E4M3)
    {
        codes = true;
        fp4 = type == MW_ROWTYPE_NVFP4;
        scaled = fp4 || type == MW_ROWTYPE_E4M3_BLOCKS;
        cfg.set("dispatch_type", type);
    }

    // Address of the scale of an element's block, or of the row's scale.
    uint32_t scale_at(uint32_t x, unsigned i) const
    {
        return fp4 ? x + row_bytes / 4 : x + row_bytes / 2 + 4 * (i / MW_SCALE_BLOCK);
    }

    // Address of the scale of a group of 16 elements.
    uint32_t group_at(uint32_t x, unsigned i) const
    {
        return scale_at(x, i) + 8 + i / MW_SCALE_GROUP;
    }

    uint32_t gate_of(uint32_t x, unsigned i, uint32_t gate) const
    {
        if (!scaled)
            return gate;
        return to_bits(multiply(to_float(gate), to_float(mem.get<uint32_t>(scale_at(x, i)))));
    }

    uint16_t element(uint32_t x, unsigned i) const
    {
        if (fp4) {
            const float code = from_e2m1(mem.data[x + i / 2] >> (i % 2 ? 4 : 0) & 15);
            const float value = code * from_e4m3(mem.data[group_at(x, i)]);
            const uint16_t v = nearest_bf16(value);
            assert_true(std::isnan(value) || from_bf16(v) == value); // exact
            return v;
        }
        return codes ? nearest_bf16(from_e4m3(mem.data[x + i])) : mem.get<uint16_t>(x + 2 * i);
    }

    // Expected Y row of an x row.
    void compute_row(uint32_t x, uint32_t y, uint16_t c, uint32_t gate)
    {
        for (unsigned b = 0; b < row_bytes; b += 2) {
            uint16_t v = result(element(x, b / 2), c, gate_of(x, b / 2, gate));
            memcpy(&want[y + b], &v, 2);
        }
    }

    // Expected gradient of the gate weight of a token's list position, from the row of x at f.
    void compute_gradient(unsigned token, unsigned pos, uint32_t dy, uint32_t f, uint16_t c)
    {
        if (!gradients)
            return;
        std::vector<uint16_t> a, u;
        for (unsigned i = 0; i < row_bytes / 2; i++) {
            a.push_back(mem.get<uint16_t>(dy + 2 * i));
            u.push_back(result(mem.get<uint16_t>(f + 2 * i), c, 0x3f800000));
        }
        due.insert({{token & 0x3fffff, pos}, dot_product(a, u)});
    }

    void special_values(uint32_t at, unsigned count)
    {
        for (unsigned i = 0; i < count; i++) {
            if (rng.one_in(8))
                mem.set(at + 2 * i,
                        rng.pick<uint16_t>({0, 0x8000, 0x7f80, 0xff80, 0x7fc1, 0x0001, 0x807f,
                                            0x0080, 0x8080, 0x7f7f, 0x3f80, 0x0040, 0x1000}));
        }
    }

    node_cfg cfg;
    weather w;
    memory mem;
    bytes want;
    std::vector<std::vector<entry>> list;
    std::vector<unsigned> complete, expected;
    std::vector<signal_seen> seen;
    std::map<unsigned, std::pair<unsigned, unsigned>> by_token;
    unsigned row_bytes = 0, row_shift = 0, total = 0;
    uint64_t idle_stalls = 0, mem_stalls = 0, tiles_started = 0, reads = 0;
    bool retired = false, counts_all = false, unicast = false, pushed_all = false;
    bool codes = false, scaled = false, fp4 = false, gradients = false;
    bool dense = false; // tokens are numbered as software gathers them
    std::multimap<std::pair<unsigned, unsigned>, uint32_t> due; // gradients by token and position
    bool gathered = false; // entries are those of the routing table, else of the meta table
    bool reports = false;  // rows of expert.rows are signalled by their numbers
    std::vector<unsigned> reported;

    bool auto_arrive = true, check_rows = true;

  private:
    uint32_t row_at(const char *region, unsigned le, unsigned row) const
    {
        return base(region) + ((le << cfg["cap_shift"] | row) << row_shift);
    }

    uint32_t gate_at(unsigned le, const entry &e) const
    {
        return base("gt_base") +
               static_cast<uint32_t>((le << cfg["cap_shift"] | e.row) << cfg["gate_shift"]) +
               4 * e.pos;
    }

    void randomize(unsigned le)
    {
        mem.set(base("ce_base") + 2 * le,
                static_cast<uint16_t>(rng.one_in(4) ? rng() : 0x3f00 + below(256)));
        for (const entry &e : list[le]) {
            const uint32_t x = row_at("xd_base", le, e.row);
            mem.set(gate_at(le, e), rng.one_in(4) ? factor() : 0x3d000000u + below(0x2000000));
            special_values(x, row_bytes / 2);
            for (unsigned i = 0; scaled && i < row_bytes / 2; i += MW_SCALE_BLOCK)
                mem.set(scale_at(x, i), rng.one_in(3) ? factor() : 0x3d000000u + below(0x2000000));
        }
    }

    // Any class of float, and some values next to the limit of normal products.
    uint32_t factor()
    {
        if (rng.one_in(2))
            return rng.word();
        return rng.pick<uint32_t>({0, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00001, 0xff800001,
                                   0x00000001, 0x807fffff, 0x00800000, 0x80800001, 0x7f7fffff,
                                   0x3f800000, 0x3f800001, 0xbf7fffff, 0x1fffffff, 0x5f800000});
    }

    void compute(unsigned le, const entry &e)
    {
        compute_row(row_at("xd_base", le, e.row), row_at("yd_base", le, e.row),
                    mem.get<uint16_t>(base("ce_base") + 2 * le), mem.get<uint32_t>(gate_at(le, e)));
        compute_gradient(e.token, e.pos, row_at("xd_base", le, e.row), row_at("xf_base", le, e.row),
                         mem.get<uint16_t>(base("ce_base") + 2 * le));
    }

    void arrive()
    {
        if (unicast) {
            counts_all = pushed_all;
            return;
        }
        bool all = true;
        if (auto_arrive) {
            for (unsigned le = 0; le < MAX_LOCAL; le++) {
                while (complete[le] < expected[le] && percent(w.arrive)) {
                    complete[le]++;
                    if (w.arrive < 100)
                        break;
                }
                all &= complete[le] == expected[le];
            }
            counts_all = w.counts_at < 0 ? all && percent(5) ? true : counts_all && all
                                         : now >= static_cast<uint64_t>(w.counts_at);
        }
    }

    void ports()
    {
        dut.counts_all_i = counts_all;
        bool known = stat_le < MAX_LOCAL;
        dut.stat_complete_i = known ? stat_complete : 0;
        const bool counted = w.counted_at >= 0 && now >= static_cast<uint64_t>(w.counted_at);
        dut.stat_counted_i = known && counted;
        dut.stat_expected_i = known && (counts_all || counted)
                                  ? expected[stat_le]
                                  : static_cast<uint32_t>(rng() & 0xff);
        answer_list();
        misc.rate = std::min(w.memory, w.misc);
        misc.drive(rng, dut.rd_ready_i, dut.rd_rvalid_i, dut.rd_rdata_i);
        // the answer is valid for one cycle
        dut.exp_rd_ready_i = percent(w.memory);
        bool answer = !exp.empty() && exp.front().first == now;
        for (unsigned h = 0; h < 2; h++) {
            if (answer)
                put(dut.exp_rd_data_i[h], &mem.data[flit(exp.front().second, h) * F]);
            else
                scramble(dut.exp_rd_data_i[h], 8 * F, rng);
        }
        if (answer)
            exp.pop_front();
        dut.sig_ready_i = percent(w.signals);
        dut.dw_ready_i = percent(w.gradients);
        dut.push_ready_i = percent(w.push);
        dut.recv_rows_i = static_cast<uint16_t>(recv_rows);
        settle();
        const unsigned src = dut.row_src_o; // from LUT RAM
        dut.own_base_i = first_row[PORT];
        dut.src_rows_rows_i = src_rows[src];
        dut.src_rows_notified_i = notified[src] >= 0;
        dut.src_rows_row_i =
            static_cast<uint32_t>(notified[src] >= 0 ? notified[src] : rng.bits(20));
    }

    void answer_list()
    {
        latency = w.list_latency;
        dut.list_rvalid_i = !asked.empty() && asked.front().first <= now;
        if (!dut.list_rvalid_i) {
            dut.list_row_i = static_cast<uint32_t>(rng() & 0xfffff);
            return;
        }
        entry e = asked.front().second;
        asked.pop_front();
        dut.list_row_i = e.row;
        dut.list_token_i = e.token;
        dut.list_pos_i = static_cast<uint8_t>(e.pos);
    }

    void sample_tracker()
    {
        stat_le = dut.stat_le_o;
        if (stat_le < MAX_LOCAL)
            stat_complete = complete[stat_le];
        if (dut.list_valid_o) {
            unsigned le = dut.list_le_o, idx = dut.list_idx_o;
            assert_true(le < cfg["local_experts"] && idx < complete[le]);
            asked.push_back({now + latency, list[le][idx]});
        }
        assert_false(dut.push_valid_o && dut.push_last_o);
        if (dut.push_more_o)
            pushed_all = false;
        if (push.see(dut.push_valid_o, dut.push_ready_i, dut.push_le_o, dut.push_row_o)) {
            assert_true(unicast && !pushed_all);
            unsigned le = dut.push_le_o;
            pushes.push_back({le, dut.push_row_o});
            list[le].push_back({dut.push_row_o, 0, below(16)});
            complete[le]++;
            expected[le]++;
        }
        if (dut.push_last_o) {
            assert_true(unicast);
            pushed_all = true;
        }
    }

    void sample_memory()
    {
        misc.sample(rng, dut.rd_valid_o, dut.rd_ready_i, dut.rd_addr_o);
        // a write's data come a cycle later
        for (unsigned h = 0; h < 2; h++) {
            if (wr_valid >> h & 1)
                mem.write(flit(wr_addr, h) * F, get(dut.exp_wr_data_o[h]));
        }
        // never the same banks in two consecutive cycles
        if (wr_valid && dut.exp_wr_valid_o)
            assert_true((dut.exp_wr_addr_o ^ wr_addr) & 1);
        wr_valid = dut.exp_wr_valid_o;
        wr_addr = dut.exp_wr_addr_o;
        bool read = reading.see(dut.exp_rd_valid_o, dut.exp_rd_ready_i, dut.exp_rd_addr_o);
        if (read && was_read)
            assert_true((dut.exp_rd_addr_o ^ rd_addr) & 1);
        if (read) {
            exp.push_back({now + LATENCY, dut.exp_rd_addr_o});
            reads += 2;
        }
        was_read = read;
        rd_addr = dut.exp_rd_addr_o;
        idle_stalls += dut.stat_idle_o;
        mem_stalls += dut.stat_wait_o;
        tiles_started += dut.stat_tile_o;
    }

    void sample_signals()
    {
        if (!finished.see(dut.sig_valid_o, dut.sig_ready_i, dut.sig_token_o))
            return;
        if (reports) {
            const uint32_t at = base("yd_base") + (dut.sig_token_o << row_shift);
            assert_false(dut.sig_back_o);
            assert_memory_equal(&mem.data[at], &want[at], row_bytes);
            return reported.push_back(dut.sig_token_o);
        }
        assert_false(unicast);
        auto place = by_token.find(dut.sig_token_o);
        assert_true(place != by_token.end());
        unsigned le = place->second.first, idx = place->second.second;
        for (const auto &s : seen)
            assert_false(s.le == le && s.idx >= idx); // each once, in the order of the list
        seen.push_back({now, le, idx});
        in_tile++;
        if (dut.sig_last_o) {
            if (PARAM_SourceLists)
                assert_int_equal(dut.sig_rows_o, in_tile);
            in_tile = 0;
        }
        assert_true(in_tile < cfg["tile"]);
        uint32_t y = row_at("yd_base", le, list[le][idx].row);
        if (check_rows)
            assert_memory_equal(&mem.data[y], &want[y], row_bytes);
    }

    void sample_gradients()
    {
        if (!returned.see(dut.dw_valid_o, dut.dw_ready_i, dut.dw_token_o, dut.dw_pos_o,
                          dut.dw_value_o))
            return;
        const auto range = due.equal_range({dut.dw_token_o, dut.dw_pos_o});
        const auto it = std::find_if(range.first, range.second,
                                     [&](const auto &d) { return d.second == dut.dw_value_o; });
        if (it == range.second)
            fail_msg("a gradient of token %u, position %u: %08x, not %08x", dut.dw_token_o,
                     dut.dw_pos_o, dut.dw_value_o,
                     range.first == range.second ? 0 : range.first->second);
        due.erase(it);
        assert_int_equal(dut.dw_dense_o, dense);
    }

  public:
    std::vector<std::pair<unsigned, unsigned>> pushes;
    unsigned recv_rows = 0, bounds = 0;
    // of st, by source: its rows, and the row before which they are present, -1: not reported
    unsigned first_row[N] = {}, src_rows[N] = {};
    int notified[N] = {};

  private:
    // Flits of an address of the engine's port: h and h + 2 of a group of four.
    static unsigned flit(unsigned addr, unsigned h) { return (addr >> 1) * 4 + 2 * h + (addr & 1); }

    unsigned in_tile = 0; // reported rows of the current tile
    read_port misc;
    watch reading{"expert read"}, push{"push"}, finished{"signal"};
    watch returned{"gradient"};
    std::deque<std::pair<uint64_t, uint32_t>> exp;
    std::deque<std::pair<uint64_t, entry>> asked;
    unsigned latency = 2, stat_le = 0, stat_complete = 0;
    bool was_read = false;
    uint32_t rd_addr = 0, wr_addr = 0;
    unsigned wr_valid = 0;
};
} // namespace tb

#endif
