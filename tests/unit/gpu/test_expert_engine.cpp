// SPDX-License-Identifier: Apache-2.0
//
// expert_engine between a model of the row tracker and a model of memory that refuses at random.
// Every result is compared with the host's floats at the moment its row is signalled, the whole
// memory at the end; further tests hold the time of tiles, the choice of tiles, and the throughput
// against the rules. MW_SEED repeats a run.
#include "bench/memory.h"
#include "bench/packet.h"
#include "float_ref.h"
#include "isa.h"
#include "node_cfg.h"

#include <algorithm>
#include <map>

using namespace tb;

static const unsigned F = sizeof(Vexpert_engine::rd_rdata_i);
static const unsigned MEM = 1u << 18, MAX_LOCAL = 16, MAX_EXPERTS = 64, LATENCY = 3;
static const unsigned PORT = 2, N = PARAM_N;
static const bool TILES = PARAM_TileReductions;
static const bool TYPES = PARAM_RowTypes;
static const bool GRADIENTS = PARAM_GateGradients;

// The engine's product: subnormal operands and products below 2^-126 before rounding are zeros.
static float multiply(float a, float b)
{
    auto flush = [](float v) {
        return std::fpclassify(v) == FP_SUBNORMAL ? std::copysign(0.0f, v) : v;
    };
    double exact = static_cast<double>(flush(a)) * static_cast<double>(flush(b));
    if (std::fabs(exact) < 0x1p-126)
        return std::copysign(0.0f, static_cast<float>(exact));
    return static_cast<float>(exact);
}

static uint16_t result(uint16_t x, uint16_t c, uint32_t w)
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

// How the outside behaves, in percent.
struct weather {
    unsigned memory = 100, signals = 100, push = 100, arrive = 100, gradients = 100;
    unsigned list_latency = 2;
    int counts_at = 0;   // cycle from which all counts are here; -1: when all rows are
    int counted_at = -1; // and that of each list by itself; -1: never
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

    // Where a received row's gate weight is.
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
        cfg.drive(dut.cfg_i);
        dut.go_i = 1;
        now = 0;
        cycle();
        dut.go_i = 0;
        command(op);
    }

    void command(uint8_t op) { command({op, 0, 0, 0, 0, 0, 0, 0}); }

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

    // Rows of dispatch have elements of a byte or less, and scales behind them.
    void set_codes(unsigned type = MW_ROWTYPE_E4M3)
    {
        codes = true;
        fp4 = type == MW_ROWTYPE_NVFP4;
        scaled = fp4 || type == MW_ROWTYPE_E4M3_BLOCKS;
        cfg.set("dispatch_type", type);
    }

    // Where the scale of the block of an element is, or that of the row.
    uint32_t scale_at(uint32_t x, unsigned i) const
    {
        return fp4 ? x + row_bytes / 4 : x + row_bytes / 2 + 4 * (i / MW_SCALE_BLOCK);
    }

    // ... and that of its 16 elements.
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

    // Y row from x row; what it must become, not what it is.
    void compute_row(uint32_t x, uint32_t y, uint16_t c, uint32_t gate)
    {
        for (unsigned b = 0; b < row_bytes; b += 2) {
            uint16_t v = result(element(x, b / 2), c, gate_of(x, b / 2, gate));
            memcpy(&want[y + b], &v, 2);
        }
    }

    // And the gradient of the gate weight of a token's list position, of the row of x at f.
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

    // Of every class, and some next to where products leave the range of normal numbers.
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
        misc.rate = w.memory;
        misc.drive(rng, dut.rd_ready_i, dut.rd_rvalid_i, dut.rd_rdata_i);
        // the answer is there for one cycle
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
        // the same banks never in two cycles in a row
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
            assert_false(s.le == le && s.idx >= idx); // in the order of the list, each once
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
    // of st, by source: its rows, and before which one they are here, -1: it has not reported
    unsigned first_row[N] = {}, src_rows[N] = {};
    int notified[N] = {};

  private:
    // Flits of an address of the engine's port: h and h + 2 of a group of four.
    static unsigned flit(unsigned addr, unsigned h) { return (addr >> 1) * 4 + 2 * h + (addr & 1); }

    unsigned in_tile = 0; // rows notified of the tile that is
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

static void random_layer(engine &b, dice &rng)
{
    unsigned experts = 1 + rng.below(8);
    if (b.scaled)
        b.set_row(2 * MW_SCALE_BLOCK * rng.pick({1, 2, 3, 4, 5, 9}));
    else
        b.set_row((b.codes ? 2 * F : F) * rng.pick({1, 2, 3, 4, 5, 8, 15, 16, 33}));
    unsigned cap = 0;
    while (cap < 6 && (experts << (cap + 1)) * (1u << b.row_shift) <= 0xfc00)
        cap++;
    b.set_map(cap, 0x80 * rng.below(8), 0x10000, 0x20000 + 0x80 * rng.below(4), 0x30000 - 0x80);
    b.gradients = GRADIENTS && !b.codes && rng.percent(70);
    b.cfg.set("xf_base", 0x1c000 + 0x80 * rng.below(8)); // those of dY at other numbers
    b.cfg.set("local_experts", experts);
    b.cfg.set("tile", 1 + rng() % (rng.percent(50) ? 6 : 40));
    b.cfg.set("expert_cycles", rng() % (rng.percent(50) ? 4 : 50));
    b.cfg.set("partial_tiles", rng() % 2);
    b.cfg.set("partial_wait", rng() % 60);
    std::vector<unsigned> counts(experts);
    for (auto &c : counts)
        c = !rng.one_in(4) ? rng.below((1u << cap) + 1) : 0;
    b.plan(counts);
    weather w;
    w.memory = rng.percent(50) ? 100 : 20 + rng.below(80);
    w.signals = rng.percent(50) ? 100 : 3 + rng.below(90);
    w.arrive = rng.percent(50) ? 100 : 1 + rng.below(20);
    w.gradients = rng.percent(50) ? 100 : 1 + rng.below(90);
    w.list_latency = 1 + rng.below(4);
    w.counts_at = static_cast<int>(rng() % 2000) - 1000 < 0 ? -1 : static_cast<int>(rng() % 2000);
    b.run(w, 400000);
    b.command(MW_I_EXPERT); // nothing is left: ends at once
    b.until("an empty layer to retire", 200, [&] { return b.retired; });
}

TEST(random_layers)
{
    dice rng;
    for (unsigned round = 0; round < 60; round++) {
        engine b;
        if (TYPES && rng.percent(60))
            b.set_codes(rng.pick({MW_ROWTYPE_E4M3, MW_ROWTYPE_E4M3_BLOCKS, MW_ROWTYPE_NVFP4}));
        random_layer(b, rng);
        if (rng.percent(50))
            random_layer(b, rng); // nothing of the first one is left
    }
}

// The longest row, and some with bits of their own in the number of groups.
TEST(long_rows)
{
    for (unsigned bytes : {33 * 4 * F, 0x4000 + 3 * F, 32752u}) {
        engine b;
        b.set_row(bytes);
        b.set_map(1, 0x800, 0x10000, 0x20000, 0x30000);
        b.cfg.set("local_experts", 1);
        b.gradients = GRADIENTS;
        b.cfg.set("xf_base", 0x18000);
        b.plan({2});
        b.run({}, 100000);
    }
}

// The longest rows of one-byte elements, and every code of them.
TEST(codes)
{
    if (!TYPES)
        return;
    for (unsigned bytes : {512u, 0x4000 + 2 * F, 32752 / (2 * F) * (2 * F)}) {
        engine b;
        b.set_codes();
        b.set_row(bytes);
        b.set_map(0, 0x800, 0x10000, 0x20000, 0x30000);
        b.cfg.set("local_experts", 1);
        b.plan({1});
        for (unsigned i = 0; i < bytes / 2; i++)
            b.mem.set(0x20000 + i, static_cast<uint8_t>(i));
        b.mem.set<uint16_t>(0x800, 0x3f80); // of 1.0
        b.mem.set<uint32_t>(0x10000 + 4 * b.list[0][0].pos, 0x3f800000);
        b.want = b.mem.data;
        for (unsigned i = 0; i < bytes / 2; i++) {
            const uint16_t v = nearest_bf16(from_e4m3(static_cast<uint8_t>(i)));
            memcpy(&b.want[0x30000 + 2 * i], &v, 2);
        }
        b.run({}, 100000);
    }
}

// The longest row of blocks, in which every code meets every scale's class.
TEST(blocks)
{
    if (!TYPES)
        return;
    for (unsigned bytes : {2 * MW_SCALE_BLOCK, 32752 / (2 * MW_SCALE_BLOCK) * 2 * MW_SCALE_BLOCK}) {
        engine b;
        b.set_codes(MW_ROWTYPE_E4M3_BLOCKS);
        b.set_row(bytes);
        b.set_map(0, 0x800, 0x10000, 0x20000, 0x30000);
        b.cfg.set("local_experts", 1);
        b.plan({1});
        b.mem.set<uint16_t>(0x800, 0x3f80); // of 1.0
        // 9/8 times 1871417 * 2^-21 is 1 + 2^-8 + 2^-24, whose nearest fp32 are as near. The even
        // one is a tie of bf16, too.
        const uint32_t weight = 0x3f900000;
        b.mem.set(0x10000 + 4 * b.list[0][0].pos, weight);
        for (unsigned i = 0; i < bytes / 2; i++)
            b.mem.set(0x20000 + i, static_cast<uint8_t>(i ^ i >> 8));
        b.mem.set<uint32_t>(b.scale_at(0x20000, 0), 0x3f6471c8);
        b.want = b.mem.data;
        b.compute_row(0x20000, 0x30000, 0x3f80, weight);
        b.run({}, 100000);
    }
}

// Rows of half bytes in which every element meets every scale of its 16.
TEST(half_bytes)
{
    if (!TYPES)
        return;
    for (unsigned blocks : {1u, 32u, 63u}) {
        const unsigned bytes = 2 * MW_SCALE_BLOCK * blocks;
        engine b;
        b.set_codes(MW_ROWTYPE_NVFP4);
        b.set_row(bytes);
        b.set_map(0, 0x800, 0x10000, 0x20000, 0x30000);
        b.cfg.set("local_experts", 1);
        b.plan({1});
        const uint32_t weight = 0x3f900000; // as in `blocks`
        b.mem.set<uint16_t>(0x800, 0x3f80);
        b.mem.set(0x10000 + 4 * b.list[0][0].pos, weight);
        b.mem.set<uint32_t>(b.scale_at(0x20000, 0), blocks > 1 ? 0x3f6471c8 : 0x3f800000);
        for (unsigned i = 0; i < bytes / 2; i += 2)
            b.mem.set(0x20000 + i / 2, static_cast<uint8_t>((i & 15) | ((i + 1) & 15) << 4));
        for (unsigned i = 0; i < bytes / 2; i += MW_SCALE_GROUP)
            b.mem.set(b.group_at(0x20000, i), static_cast<uint8_t>(i / MW_SCALE_GROUP));
        b.want = b.mem.data;
        b.compute_row(0x20000, 0x30000, 0x3f80, weight);
        b.run({}, 100000);
    }
}

// With everything at hand a tile ends exactly tile * expert_cycles cycles after the one
// before, full or not.
TEST(tiles_take_their_time)
{
    for (unsigned tile : {1u, 3u, 8u}) {
        for (unsigned cycles : {20u, 33u}) {
            engine b;
            b.set_row(8 * F);
            b.cfg.set("tile", tile);
            b.cfg.set("expert_cycles", cycles);
            b.cfg.set("local_experts", 2);
            b.plan({2 * tile + (tile > 1), 3 * tile});
            b.run({}, 100000);
            std::vector<uint64_t> ends;
            for (const auto &s : b.seen) {
                if (s.idx % tile == 0)
                    ends.push_back(s.cycle);
            }
            assert_int_equal(ends.size(), 5 + (tile > 1));
            assert_int_equal(b.tiles_started, 5 + (tile > 1));
            // The first one starts some cycles after the command (clearing, scan) and has
            // its data to wait for.
            assert_in_range(ends[0], tile * cycles + 1, tile * cycles + MAX_LOCAL + 30);
            for (size_t i = 2; i < ends.size(); i++)
                assert_int_equal(ends[i] - ends[i - 1], tile * cycles);
        }
    }
}

// A tile that memory holds up takes longer, and the next one starts behind it: no less than tile *
// expert_cycles between ends of a tile that was held up and the tile behind it that was not.
TEST(slow_memory_makes_tiles_longer)
{
    engine b;
    b.set_row(32 * F);
    b.cfg.set("tile", 2);
    b.cfg.set("expert_cycles", 17);
    b.cfg.set("local_experts", 1);
    b.plan({32});
    weather w;
    w.memory = 50;
    b.run(w, 100000);
    uint64_t took = b.seen.back().cycle - b.seen.front().cycle;
    assert_in_range(took, 15 * 2 * 25, 15 * 2 * 60);
    assert_true(b.mem_stalls > 300);
}

static double cycles_per_row(unsigned experts, unsigned rows, unsigned tile, unsigned bytes,
                             unsigned type = MW_ROWTYPE_BF16, bool gradients = false)
{
    engine b;
    if (type)
        b.set_codes(type);
    b.gradients = gradients;
    b.cfg.set("xf_base", 0x4000);
    b.set_row(bytes);
    b.set_map(6, 0x100, 0x800, 0x10000, 0x28000);
    if (experts > 1)
        b.set_map(5, 0x100, 0x800, 0x10000, 0x28000);
    b.cfg.set("tile", tile);
    b.cfg.set("expert_cycles", 1);
    b.cfg.set("local_experts", experts);
    b.plan(std::vector<unsigned>(experts, rows));
    b.run({}, 100000);
    return static_cast<double>(b.seen.back().cycle - b.seen.front().cycle) /
           (experts * rows - tile);
}

// 64 rows of 64 flits: 32 cycles per row is the rate of the data path; two cycles more are allowed.
TEST(data_path_is_full)
{
    double one = cycles_per_row(1, 64, 1, 64 * F), two = cycles_per_row(2, 32, 1, 64 * F),
           big = cycles_per_row(2, 32, 8, 64 * F);
    double shorter = cycles_per_row(2, 32, 8, 16 * F), odd = cycles_per_row(1, 64, 4, 31 * F),
           tiny = cycles_per_row(1, 64, 16, F);
    printf("cycles per row of 64 flits: %.2f, two experts %.2f, tile 8 %.2f; 31 flits %.2f, 16 "
           "flits %.2f, 1 flit %.2f\n",
           one, two, big, odd, shorter, tiny);
    assert_true(one <= 34 && two <= 34 && big <= 32.5 && odd <= 16.5 && shorter <= 8.5 &&
                tiny <= 7.5);
    // twice as many flits are read, and a dot product keeps up
    if (GRADIENTS)
        assert_true(cycles_per_row(2, 32, 8, 64 * F, MW_ROWTYPE_BF16, true) <= 64.5);
    if (!TYPES)
        return;
    assert_true(cycles_per_row(2, 32, 8, 64 * F, MW_ROWTYPE_E4M3) <= 33.5);
    // 1024 / F flits, without a gap between blocks
    const double e4m3 = cycles_per_row(2, 32, 8, 1024, MW_ROWTYPE_E4M3_BLOCKS),
                 nvfp4 = cycles_per_row(2, 32, 8, 1024, MW_ROWTYPE_NVFP4);
    printf("cycles per row of 4 blocks: e4m3 %.2f, nvfp4 %.2f\n", e4m3, nvfp4);
    assert_true(e4m3 <= 512.0 / F + 2 && nvfp4 <= 512.0 / F + 3);
}

// Full experts are served in turn.
TEST(full_experts_take_turns)
{
    engine b;
    b.cfg.set("local_experts", 5);
    b.cfg.set("tile", 2);
    b.plan({8, 8, 0, 8, 8});
    b.run({}, 10000);
    static const unsigned order[] = {0, 1, 3, 4};
    for (unsigned i = 0; i < b.seen.size(); i++) {
        assert_int_equal(b.seen[i].le, order[i / 2 % 4]);
        assert_int_equal(b.seen[i].idx, 2 * (i / 8) + i % 2);
    }
}

// Without counts the last rows wait; they start when the counts are here, not before.
TEST(last_tile_waits_for_counts)
{
    engine b;
    b.cfg.set("local_experts", 3);
    b.cfg.set("tile", 4);
    b.plan({6, 0, 3});
    weather w;
    w.counts_at = 1000;
    b.run(w, 10000);
    for (unsigned i = 0; i < 9; i++)
        assert_int_equal(b.seen[i].cycle < 1000, i < 4);
    assert_true(b.idle_stalls > 800);
}

// With the list's own count it does not wait for those of others; which lists have one of each
// source has nothing to do with it.
TEST(last_tile_waits_for_the_count_of_its_list)
{
    engine b;
    b.cfg.set("local_experts", 3);
    b.cfg.set("tile", 4);
    b.plan({6, 0, 3});
    weather w;
    w.counts_at = 2000;
    w.counted_at = 1000;
    b.run(w, 10000);
    for (unsigned i = 0; i < 9; i++) {
        assert_int_equal(b.seen[i].cycle < 1000, i < 4);
        assert_true(b.seen[i].cycle < 2000);
    }
}

// Counts that are here before the rows: a tile is full, or it is the expert's last.
TEST(tiles_wait_for_rows)
{
    engine b;
    b.cfg.set("local_experts", 3);
    b.cfg.set("tile", 4);
    b.cfg.set("expert_cycles", 1);
    b.plan({10, 0, 7});
    weather w;
    w.arrive = 3;
    b.run(w, 20000);
    assert_int_equal(b.tiles_started, 3 + 2);
}

// A tile larger than all rows, experts without rows, no expert at all.
TEST(corners)
{
    for (unsigned experts : {0u, 1u, 3u, 16u}) {
        for (unsigned rows : {0u, 1u, 2u}) {
            engine b;
            b.cfg.set("local_experts", experts);
            b.cfg.set("tile", 255);
            b.cfg.set("expert_cycles", 1);
            b.plan(std::vector<unsigned>(experts, rows));
            weather w;
            w.counts_at = 300;
            b.run(w, 10000);
            assert_true(b.now >= 300);
            assert_int_equal(b.seen.size(), experts * rows);
        }
    }
    engine b; // largest tile
    b.set_row(F);
    b.set_map(10, 0x100, 0x28000, 0x8000, 0x18000);
    b.cfg.set("local_experts", 1);
    b.cfg.set("tile", 255);
    b.cfg.set("expert_cycles", 2);
    b.plan({900});
    weather w;
    w.signals = 10;
    b.run(w, 40000);
}

// An idle engine starts the fullest expert after partial_wait cycles without work, again and again.
TEST(partial_tiles_start_the_fullest)
{
    for (unsigned on : {0u, 1u}) {
        engine b;
        const unsigned wait = 100, tile = 8, cycles = 10;
        b.cfg.set("local_experts", 4);
        b.cfg.set("tile", tile);
        b.cfg.set("expert_cycles", cycles);
        b.cfg.set("partial_tiles", on);
        b.cfg.set("partial_wait", wait);
        b.plan({3, 5, 0, 5});
        weather w;
        w.counts_at = 2000;
        b.run(w, 10000);
        std::vector<signal_seen> first;
        for (const auto &s : b.seen) {
            if (s.idx == 0)
                first.push_back(s);
        }
        assert_int_equal(first.size(), 3);
        if (!on) {
            assert_true(first[0].cycle > 2000);
            continue;
        }
        assert_int_equal(first[0].le, 1);
        assert_int_equal(first[1].le, 3);
        assert_int_equal(first[2].le, 0);
        assert_in_range(first[0].cycle, wait + tile * cycles,
                        wait + tile * cycles + MAX_LOCAL + 40);
        for (unsigned i = 1; i < 3; i++)
            assert_in_range(first[i].cycle - first[i - 1].cycle, wait + tile * cycles,
                            wait + tile * cycles + 20);
    }
}

// A full tile that comes while the engine waits for partial_wait starts at once.
TEST(full_tile_beats_waiting)
{
    engine b;
    b.cfg.set("local_experts", 2);
    b.cfg.set("tile", 4);
    b.cfg.set("expert_cycles", 10);
    b.cfg.set("partial_tiles", 1);
    b.cfg.set("partial_wait", 200);
    b.plan({3, 4});
    b.auto_arrive = false;
    b.counts_all = false;
    b.complete = {3, 3};
    b.complete.resize(MAX_LOCAL);
    b.start(MW_I_EXPERT);
    b.cycles(150 - b.now);
    b.complete[1] = 4;
    b.cycles(500 - b.now);
    assert_int_equal(b.seen.size(), 7);
    assert_int_equal(b.seen[0].le, 1);
    assert_in_range(b.seen[0].cycle, 190, 220);
    assert_int_equal(b.seen[4].le, 0);
    assert_true(b.seen[4].cycle >= 190 + 200 + 40);
}

// An entry of an expert's list: the expert, and row and list position.
using named = std::pair<unsigned, unsigned>;

// Rows of st with random lists: which experts of this GPU each names, in order.
static std::vector<std::vector<named>> receive(engine &b, unsigned rows, unsigned k,
                                               unsigned experts)
{
    const unsigned ids = b.gathered ? 0 : 4 + 4 * k;
    b.cfg.set("local_experts", experts);
    b.cfg.set("tile", 1 + b.rng() % 20);
    b.cfg.set("expert_cycles", b.rng() % 8);
    b.unicast = true;
    b.recv_rows = rows;
    b.plan(std::vector<unsigned>(experts, 0));
    for (unsigned id = 0; id < MAX_EXPERTS; id++)
        b.map_expert(id, id % 4 != 3, id % 4 == 1 ? PORT : 1, (id / 4) % experts);
    std::vector<std::vector<named>> names(rows);
    for (unsigned r = 0; r < rows; r++) {
        uint32_t meta = b.base("gt_base") + 128 * r;
        for (unsigned j = 0; j < k; j++) {
            uint16_t id = static_cast<uint16_t>(b.rng() % 3         ? 4 * (b.rng() % 16) + 1
                                                : b.rng() % 8       ? b.rng() % 64
                                                : b.rng.percent(50) ? 0xffff
                                                                    : 64 + 1);
            b.mem.set<uint32_t>(b.weight(r, j), 0x3d000000u + b.rng.below(0x2000000));
            b.mem.set<uint16_t>(meta + ids + 2 * j, id);
            if (id < 64 && id % 4 == 1)
                names[r].push_back({(id / 4) % experts, r << b.cfg["k_shift"] | j});
        }
        b.special_values(b.base("xd_base") + (r << b.row_shift), b.row_bytes / 2);
    }
    b.want = b.mem.data;
    return names;
}

static void expect_results(engine &b, const std::vector<named> &pushes)
{
    for (const auto &p : pushes) {
        unsigned r = p.second >> b.cfg["k_shift"], j = p.second & ((1u << b.cfg["k_shift"]) - 1);
        b.compute_row(b.base("xd_base") + (r << b.row_shift),
                      b.base("yd_base") + (p.second << b.row_shift),
                      b.mem.get<uint16_t>(b.base("ce_base") + 2 * p.first),
                      b.mem.get<uint32_t>(b.weight(r, j)));
        b.compute_gradient(b.gathered ? r : b.mem.get<uint32_t>(b.base("gt_base") + 128 * r), j,
                           b.base("xd_base") + (r << b.row_shift),
                           b.base("xf_base") + (r << b.row_shift),
                           b.mem.get<uint16_t>(b.base("ce_base") + 2 * p.first));
    }
}

// Rows, places of a list and memory at random: how many rows there are room for.
static unsigned random_shape(engine &b, unsigned k)
{
    b.gradients = GRADIENTS && b.rng.percent(60);
    b.cfg.set("xf_base", 0x10000 + 0x80 * b.rng.below(0x100));
    b.set_row(F * b.rng.pick({1, 2, 3, 4, 7}));
    b.cfg.set("k", k);
    b.cfg.set("k_shift", log2_up(k));
    b.set_map(0, 0x100, 0x8000, 0x20000, 0x30000 - 0x80);
    return std::min(60u, 0x10000u >> (log2_up(k) + b.row_shift));
}

static weather random_weather(dice &rng)
{
    weather w;
    w.memory = rng.percent(50) ? 100 : 30 + rng.below(70);
    w.push = rng.percent(50) ? 100 : 20 + rng.below(80);
    w.gradients = rng.percent(50) ? 100 : 2 + rng.below(98);
    return w;
}

TEST(received_rows)
{
    for (unsigned round = 0; round < 40; round++) {
        engine b;
        const unsigned k = 1 + b.rng.below(16), room = random_shape(b, k);
        const auto names = receive(b, round == 0 ? 0 : b.rng.below(room), k, 1 + b.rng.below(6));
        std::vector<named> pushes;
        for (const auto &row : names)
            pushes.insert(pushes.end(), row.begin(), row.end());
        expect_results(b, pushes);
        b.run(random_weather(b.rng), 200000, MW_I_EXPERT_ROWS);
        assert_true(b.pushes == pushes);
        assert_true(b.pushed_all && b.seen.empty());
    }
}

static mw_instr range(uint32_t first, uint32_t count)
{
    return {MW_I_EXPERT_ROWS, 1, 0, 0, 0, first, count, 0};
}

// Ranges of tokens, each of them done when its instruction retires: a row of each source in
// turn, of the tokens below its end, from where the one before stopped, and none that its source
// has not notified of.
TEST(ranges_of_rows)
{
    for (unsigned round = 0; round < 60; round++) {
        engine b;
        const unsigned k = 1 + b.rng.below(16), room = random_shape(b, k),
                       tokens = 1u << PARAM_TokensLog2;
        b.cfg.set("token_shift", PARAM_TokensLog2);
        std::vector<unsigned> of[N];
        unsigned rows = 0;
        for (unsigned q = 0; q < N; q++) {
            b.first_row[q] = rows;
            const unsigned percent = b.rng.pick({0u, 5u, 30u});
            for (unsigned t = 0; t < tokens; t++) {
                if (rows < room && b.percent(percent)) {
                    of[q].push_back(t);
                    rows++;
                }
            }
            b.src_rows[q] = static_cast<unsigned>(of[q].size());
        }
        const auto names = receive(b, rows, k, 1 + b.rng.below(6));
        for (unsigned q = 0; q < N; q++) {
            for (unsigned i = 0; i < of[q].size(); i++)
                b.mem.set<uint32_t>(b.base("gt_base") + 128 * (b.first_row[q] + i),
                                    q << PARAM_TokensLog2 | of[q][i]);
        }
        b.want = b.mem.data;
        const bool tells = b.percent(50);
        unsigned done[N] = {}, at = 0, taken = 0;
        std::vector<named> pushes;
        b.w = random_weather(b.rng);
        b.cfg.drive(b.dut.cfg_i);
        b.dut.go_i = 1;
        b.cycle();
        b.dut.go_i = 0;
        for (unsigned r = 0; r < 5; r++) {
            const unsigned end = r == 4 ? tokens : at + b.below(tokens - at + 1);
            // what a source tells beyond its last row, or before what was done, says nothing
            for (unsigned q = 0; q < N; q++)
                b.notified[q] = !tells || b.percent(20) ? -1
                                : r == 4
                                    ? static_cast<int>(b.first_row[q] + b.src_rows[q] + b.below(3))
                                    : static_cast<int>(b.first_row[q] + b.below(b.src_rows[q] + 1));
            for (unsigned over = 0, q = PORT; over != (1u << N) - 1; q = (q + 1) % N) {
                const unsigned row = b.first_row[q] + done[q];
                if (over >> q & 1)
                    continue;
                if (done[q] == of[q].size() || of[q][done[q]] >= end ||
                    (b.notified[q] >= 0 && static_cast<int>(row) >= b.notified[q])) {
                    over |= 1u << q;
                    continue;
                }
                expect_results(b, names[row]);
                pushes.insert(pushes.end(), names[row].begin(), names[row].end());
                done[q]++;
                taken++;
            }
            b.command(range(at, end - at));
            b.until("the range to retire", 200000, [&] { return b.retired; });
            assert_true(b.pushes == pushes && b.due.empty());
            b.cycles(20);
            assert_true(b.mem.data == b.want);
            at = end;
        }
        assert_int_equal(taken, rows);
        assert_int_equal(b.bounds, 0);
    }
}

// A range with tokens that no GPU has: an error, no row of it, and the next one goes on.
TEST(ranges_beyond_the_tokens)
{
    const uint32_t tokens = 1u << PARAM_TokensLog2;
    const uint32_t wrong[][2] = {{0, tokens + 1}, {tokens, 1},     {1u << 31, 1},
                                 {0, UINT32_MAX}, {UINT32_MAX, 2}, {tokens - 1, 2}};
    for (const auto &range_then : wrong) {
        engine b;
        random_shape(b, 4);
        b.cfg.set("token_shift", PARAM_TokensLog2);
        b.src_rows[1] = 8;
        const auto names = receive(b, 8, 4, 3);
        for (unsigned i = 0; i < 8; i++)
            b.mem.set<uint32_t>(b.base("gt_base") + 128 * i, 1u << PARAM_TokensLog2 | i);
        std::fill(b.notified, b.notified + N, -1);
        b.first_row[PORT] = b.src_rows[1];
        b.want = b.mem.data;
        b.cfg.drive(b.dut.cfg_i);
        b.dut.go_i = 1;
        b.cycle();
        b.dut.go_i = 0;
        b.command(range(range_then[0], range_then[1]));
        b.until("the range to retire", 2000, [&] { return b.retired; });
        assert_int_equal(b.bounds, 1);
        assert_true(b.pushes.empty() && b.mem.data == b.want);
        for (const auto &row : names)
            expect_results(b, row);
        b.command(range(0, 8));
        b.until("the range to retire", 20000, [&] { return b.retired; });
        b.cycles(20);
        assert_int_equal(b.bounds, 1);
        assert_true(b.mem.data == b.want);
    }
}

static mw_instr gathered_rows(uint32_t first, uint32_t count, unsigned high = 0)
{
    return {MW_I_EXPERT_ROWS, 2, static_cast<uint8_t>(high), 0, 0, first, count, 0};
}

static mw_instr homes(uint32_t first, uint32_t count, bool report)
{
    return {MW_I_EXPERT_ROWS, static_cast<uint8_t>(report ? 7 : 6), 0, 0, 0, first, count, 0};
}

// As many gathered tokens as all GPUs have, in entries of the routing table.
static std::vector<std::vector<named>> gather(engine &b, unsigned tokens, unsigned most_k = 16)
{
    const unsigned k = 1 + b.rng.below(most_k);
    b.gathered = true;
    random_shape(b, k);
    b.set_row(F * b.rng.pick({1, 2, 3, 4}));
    b.cfg.set("k_shift", log2_up(k));
    b.set_map(0, 0x100, 0x8000, 0x10000, 0x20000 - 0x80);
    b.cfg.set("n_shift", 2);
    b.cfg.set("token_shift", log2_up(tokens) - 2);
    const auto names = receive(b, tokens, k, 1 + b.rng.below(6));
    b.recv_rows = b.rng.below(20); // of st: those have no say
    b.w = random_weather(b.rng);
    b.cfg.drive(b.dut.cfg_i);
    b.dut.go_i = 1;
    b.cycle();
    b.dut.go_i = 0;
    return names;
}

// Gathered tokens, range by range in any order: each of them done when its instruction retires.
TEST(gathered_tokens)
{
    for (unsigned round = 0; round < 60; round++) {
        engine b;
        const unsigned tokens = 32, ends[] = {0, b.below(9), 9 + b.below(8), 17 + b.below(15), 32};
        const auto names = gather(b, tokens);
        std::vector<unsigned> order = {0, 1, 2, 3};
        b.rng.shuffle(order);
        std::vector<named> pushes;
        for (unsigned r : order) {
            for (unsigned t = ends[r]; t < ends[r + 1]; t++) {
                expect_results(b, names[t]);
                pushes.insert(pushes.end(), names[t].begin(), names[t].end());
            }
            b.command(gathered_rows(ends[r], ends[r + 1] - ends[r]));
            b.until("the tokens to retire", 200000, [&] { return b.retired; });
            assert_true(b.pushes == pushes && b.due.empty());
            b.cycles(20);
            assert_true(b.mem.data == b.want);
        }
        assert_int_equal(b.bounds, 0);
    }
}

// Rows of every home, index by index, with or without a signal for each: it names the row, whose
// result is in memory.
TEST_IF(TILES, rows_of_every_home)
{
    for (unsigned round = 0; round < 60; round++) {
        engine b;
        b.reports = round % 2;
        const unsigned shift = 3, ends[] = {0, b.below(4), 4 + b.below(4), 8};
        const auto names = gather(b, N << shift, b.reports ? 1 : 16);
        std::vector<unsigned> order = {0, 1, 2};
        b.rng.shuffle(order);
        std::vector<named> pushes;
        for (unsigned r : order) {
            for (unsigned i = ends[r]; i < ends[r + 1]; i++)
                for (unsigned h = 0; h < N; h++) {
                    const auto &row = names[h << shift | i];
                    expect_results(b, row);
                    pushes.insert(pushes.end(), row.begin(), row.end());
                }
            b.w.signals = b.rng.pick({100u, 30u, 5u});
            b.command(homes(ends[r], ends[r + 1] - ends[r], b.reports));
            b.until("the rows to retire", 200000, [&] { return b.retired; });
            assert_true(b.pushes == pushes && b.due.empty());
            b.cycles(20);
            assert_true(b.mem.data == b.want);
        }
        assert_int_equal(b.bounds, 0);
        // each row once; of an expert in the order of its list
        assert_int_equal(b.reported.size(), b.reports ? pushes.size() : 0);
        std::map<unsigned, std::vector<unsigned>> of_expert, seen;
        std::map<unsigned, unsigned> expert;
        for (const named &p : pushes) {
            of_expert[p.first].push_back(p.second);
            expert[p.second] = p.first;
        }
        for (unsigned row : b.reported)
            seen[expert[row]].push_back(row);
        assert_true(!b.reports || seen == of_expert);
    }
}

TEST_IF(TILES, homes_have_no_such_index)
{
    for (const auto &w :
         {std::pair<uint32_t, uint32_t>{0, 9}, {8, 1}, {7, 2}, {1u << 31, 1}, {32, 0}}) {
        engine b;
        const auto names = gather(b, 32, 1);
        b.reports = true;
        b.command(homes(w.first, w.second, true));
        b.until("the rows to retire", 2000, [&] { return b.retired; });
        assert_int_equal(b.bounds, 1);
        assert_true(b.pushes.empty() && b.reported.empty() && b.mem.data == b.want);
    }
}

// Tokens beyond those of all GPUs: an error, no row, and the next ones go on.
TEST(gathered_beyond_the_tokens)
{
    const uint32_t wrong[][3] = {{0, 33, 0},       {32, 1, 0},         {31, 2, 0},
                                 {1u << 31, 1, 0}, {0, UINT32_MAX, 0}, {UINT32_MAX, 2, 0},
                                 {0x10000, 1, 0},  {0, 0x10001, 0},    {1, 1, 1},
                                 {1, 1, 2},        {0, 0x80000000, 0}, {1u << 31, 1u << 31, 0}};
    for (const auto &w : wrong) {
        engine b;
        const auto names = gather(b, 32);
        b.command(gathered_rows(w[0], w[1], w[2]));
        b.until("the tokens to retire", 2000, [&] { return b.retired; });
        assert_int_equal(b.bounds, 1);
        assert_true(b.pushes.empty() && b.mem.data == b.want);
        for (const auto &row : names)
            expect_results(b, row);
        b.command(gathered_rows(0, 32));
        b.until("the tokens to retire", 40000, [&] { return b.retired; });
        b.cycles(20);
        assert_int_equal(b.bounds, 1);
        assert_true(b.mem.data == b.want);
    }
}

// A row's time by the instruction, in an engine whose layer has another one.
struct timed {
    uint16_t operand;
    unsigned layer;
};

// Cycles of all gathered tokens, which name one expert, in tiles of four. An instruction of
// another time comes before.
static uint64_t cycles_of(const timed &t)
{
    engine b;
    const unsigned tokens = 32;
    b.unicast = b.gathered = true;
    b.cfg.set("k", 1);
    b.cfg.set("k_shift", 0);
    b.set_row(4 * F);
    b.set_map(0, 0x100, 0x8000, 0x10000, 0x20000);
    b.cfg.set("n_shift", 2);
    b.cfg.set("token_shift", 3);
    b.cfg.set("local_experts", 1);
    b.cfg.set("tile", 4);
    b.cfg.set("expert_cycles", t.layer);
    b.plan({0});
    b.map_expert(1, true, PORT, 0);
    for (unsigned r = 0; r < tokens; r++)
        b.mem.set<uint16_t>(b.base("gt_base") + 128 * r, 1);
    b.cfg.drive(b.dut.cfg_i);
    b.dut.go_i = 1;
    b.cycle();
    b.dut.go_i = 0;
    mw_instr rows = gathered_rows(0, 4);
    rows.imm = 3;
    b.command(rows);
    b.until("the tokens to retire", 2000, [&] { return b.retired; });
    const uint64_t start = b.now;
    rows = gathered_rows(0, tokens);
    rows.imm = t.operand;
    b.command(rows);
    b.until("the tokens to retire", 1000000, [&] { return b.retired; });
    assert_int_equal(b.tiles_started, 1 + tokens / 4);
    return b.now - start;
}

// The operand replaces the layer's time, in every cycle; 0 leaves it.
TEST(gathered_tokens_take_the_time_of_their_instruction)
{
    for (unsigned cycles : {1u, 2u, 20u, 33u, 1024u, 0x5001u}) {
        const uint64_t took = cycles_of({0, cycles});
        assert_true(took >= 32 * cycles && took < 32 * cycles + 400);
        for (unsigned layer : {0u, 19u, 1024u, 65535u})
            assert_int_equal(cycles_of({static_cast<uint16_t>(cycles), layer}), took);
    }
}

// Other instructions have no such operand: the bits of imm mean nothing to them.
TEST(other_rows_take_the_time_of_the_layer)
{
    for (uint8_t flags : {0, 1}) {
        uint64_t took[2];
        for (unsigned i = 0; i < 2; i++) {
            engine b;
            b.cfg.set("k", 1);
            b.cfg.set("k_shift", 0);
            b.set_row(4 * F);
            b.set_map(0, 0x100, 0x8000, 0x20000, 0x30000);
            b.cfg.set("token_shift", PARAM_TokensLog2);
            b.cfg.set("local_experts", 1);
            b.cfg.set("tile", 4);
            b.cfg.set("expert_cycles", 50);
            b.unicast = true;
            b.recv_rows = b.src_rows[1] = 8;
            b.first_row[PORT] = 8;
            std::fill(b.notified, b.notified + N, -1);
            b.plan({0});
            b.map_expert(1, true, PORT, 0);
            for (unsigned r = 0; r < 8; r++) {
                b.mem.set<uint32_t>(b.base("gt_base") + 128 * r, 1u << PARAM_TokensLog2 | r);
                b.mem.set<uint16_t>(b.base("gt_base") + 128 * r + 8, 1);
            }
            b.cfg.drive(b.dut.cfg_i);
            b.dut.go_i = 1;
            b.cycle();
            b.dut.go_i = 0;
            const uint64_t start = b.now;
            b.command({MW_I_EXPERT_ROWS, flags, 0, 0, static_cast<uint16_t>(i * 200), 0, 8, 0});
            b.until("the rows to retire", 20000, [&] { return b.retired; });
            assert_int_equal(b.tiles_started, 2);
            took[i] = b.now - start;
        }
        assert_int_equal(took[0], took[1]);
        assert_true(took[0] >= 400);
    }
}
