// SPDX-License-Identifier: Apache-2.0
//
// The instruction `expert.rows`: received rows, ranges of tokens, gathered tokens and rows of each
// home. Checked: order, bounds and time.

#include "expert_engine_model.h"

using namespace tb;

// An entry of an expert's list: the expert, and row and list position.
using named = std::pair<unsigned, unsigned>;

// Rows of st with random lists. Returns the experts of this GPU in each, in order.
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

// Random rows, list places and memory. Returns the number of rows that fit.
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

// Ranges of tokens. Each takes one row of each source in turn: rows of tokens below the range's
// end, from where the previous instruction stopped. It takes no row that its source has not
// reported. All rows are done when the instruction retires.
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
        b.go();
        for (unsigned r = 0; r < 5; r++) {
            const unsigned end = r == 4 ? tokens : at + b.below(tokens - at + 1);
            // a report beyond a source's last row, or below the rows that are done, has no effect
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
            b.completes(range(at, end - at), 200000);
            assert_true(b.pushes == pushes && b.due.empty());
            at = end;
        }
        assert_int_equal(taken, rows);
        assert_int_equal(b.bounds, 0);
    }
}

// A range with tokens that no GPU has is an error without a row. The next range works.
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
        b.go();
        b.rejects(range(range_then[0], range_then[1]));
        for (const auto &row : names)
            expect_results(b, row);
        b.completes(range(0, 8), 20000);
        assert_int_equal(b.bounds, 1);
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
    b.recv_rows = b.rng.below(20); // of st: they have no influence
    b.w = random_weather(b.rng);
    b.go();
    return names;
}

// Gathered tokens, range by range in any order. Each is done when its instruction retires.
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
            b.completes(gathered_rows(ends[r], ends[r + 1] - ends[r]), 200000);
            assert_true(b.pushes == pushes && b.due.empty());
        }
        assert_int_equal(b.bounds, 0);
    }
}

// Rows of every home, index by index, with or without a signal for each. The signal has the row's
// number, and the result is then in memory.
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
            b.completes(homes(ends[r], ends[r + 1] - ends[r], b.reports), 200000);
            assert_true(b.pushes == pushes && b.due.empty());
        }
        assert_int_equal(b.bounds, 0);
        // each row once, those of an expert in the order of its list
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
        b.rejects(homes(w.first, w.second, true));
        assert_true(b.reported.empty());
    }
}

// Tokens beyond those of all GPUs are an error without a row. The next range works.
TEST(gathered_beyond_the_tokens)
{
    const uint32_t wrong[][3] = {{0, 33, 0},       {32, 1, 0},         {31, 2, 0},
                                 {1u << 31, 1, 0}, {0, UINT32_MAX, 0}, {UINT32_MAX, 2, 0},
                                 {0x10000, 1, 0},  {0, 0x10001, 0},    {1, 1, 1},
                                 {1, 1, 2},        {0, 0x80000000, 0}, {1u << 31, 1u << 31, 0}};
    for (const auto &w : wrong) {
        engine b;
        const auto names = gather(b, 32);
        b.rejects(gathered_rows(w[0], w[1], w[2]));
        for (const auto &row : names)
            expect_results(b, row);
        b.completes(gathered_rows(0, 32), 40000);
        assert_int_equal(b.bounds, 1);
    }
}

// Time of a row in the instruction's operand, and in the layer.
struct timed {
    uint16_t operand;
    unsigned layer;
};

// Cycles of all gathered tokens, which have one expert, in tiles of four. A previous instruction
// has another time.
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
    b.go();
    mw_instr rows = gathered_rows(0, 4);
    rows.imm = 3;
    b.finish(rows, 2000);
    const uint64_t start = b.now;
    rows = gathered_rows(0, tokens);
    rows.imm = t.operand;
    b.finish(rows, 1000000);
    assert_int_equal(b.tiles_started, 1 + tokens / 4);
    return b.now - start;
}

// The operand replaces the layer's time. 0 keeps the layer's.
TEST(gathered_tokens_take_the_time_of_their_instruction)
{
    for (unsigned cycles : {1u, 2u, 20u, 33u, 1024u, 0x5001u}) {
        const uint64_t took = cycles_of({0, cycles});
        assert_true(took >= 32 * cycles && took < 32 * cycles + 400);
        for (unsigned layer : {0u, 19u, 1024u, 65535u})
            assert_int_equal(cycles_of({static_cast<uint16_t>(cycles), layer}), took);
    }
}

// Other instructions have no such operand, and ignore the bits of imm.
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
            b.go();
            const uint64_t start = b.now;
            b.finish({MW_I_EXPERT_ROWS, flags, 0, 0, static_cast<uint16_t>(i * 200), 0, 8, 0},
                     20000);
            assert_int_equal(b.tiles_started, 2);
            took[i] = b.now - start;
        }
        assert_int_equal(took[0], took[1]);
        assert_true(took[0] >= 400);
    }
}
