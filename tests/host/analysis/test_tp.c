// SPDX-License-Identifier: Apache-2.0
//
// Tensor-parallel workloads without a device. The golden model is compared with a second
// computation, and flits and bounds with those counted by hand. Streams stay within their limits,
// and rows lie at their places.
#include "host/support.h"

#include "golden/golden.h"
#include "packet.h"
#include "base/random.h"
#include "golden/reduce.h"
#include "tp/shapes.h"
#include "tp/streams.h"
#include "tp/tp_bounds.h"
#include "tp/tp_golden.h"

static struct mw_tp_problem problem(enum mw_tp_kind kind, unsigned gpus, unsigned rows)
{
    return (struct mw_tp_problem){
        .o = {.kind = kind, .rows = rows, .jitter = 20, .start = 100, .merge_entries = 32},
        .gpus = gpus,
        .hidden = 512,
        .flit_bytes = 16,
        .link_cycles = 1,
        .tile = 4,
        .seed = 7,
        .cycles = {32, 32, 32}};
}

// ---- numbers ------------------------------------------------------------------------------------

/// A part's element by IEEE arithmetic alone: no value here is small enough to be flushed.
static float part(const struct mw_tp_problem *p, enum mw_tp_order order, unsigned gpu,
                  enum mw_tp_part what, unsigned row, float x)
{
    const float c = mw_bf16_to_float(mw_tp_coefficient(p, order, gpu, what));
    const float y = x * c * mw_tp_weight(p, order, what, row);
    return mw_bf16_to_float(mw_bf16_from_float(y));
}

/// The output by the golden model of reductions, member by member.
static uint16_t computed(const struct mw_tp_problem *p, enum mw_tp_order order, unsigned gpu,
                         unsigned row, unsigned element)
{
    const unsigned home = row / mw_tp_own(p);
    uint16_t v = mw_tp_value(p, order, home, row, element);
    if (mw_tp_reduces(p)) {
        uint32_t s = 0;
        for (unsigned q = 1; q <= p->gpus; q++) {
            const unsigned g = (home + q) % p->gpus;
            const float x = mw_bf16_to_float(mw_tp_value(p, order, g, row, element));
            const uint16_t y = mw_bf16_from_float(part(p, order, g, MW_TP_GEMM_1, row, x));
            const bool round = order == MW_TP_ORDER_STEPS || g == home;
            if (q == 1)
                s = mw_reduce_first(MW_DTYPE_BF16, y);
            else if (round)
                s = mw_reduce_first(MW_DTYPE_BF16, mw_reduce_last(MW_DTYPE_BF16, s));
            if (q > 1)
                s = mw_reduce_next(MW_DTYPE_BF16, MW_REDOP_ADD, s, y);
        }
        v = (uint16_t)mw_reduce_last(MW_DTYPE_BF16, s);
    }
    if (p->o.kind == MW_TP_SUBLAYER)
        v = mw_bf16_from_float(part(p, order, home, MW_TP_LN, row, mw_bf16_to_float(v)));
    if (p->o.kind == MW_TP_SUBLAYER || p->o.kind == MW_TP_AG_GEMM)
        v = mw_bf16_from_float(part(p, order, gpu, MW_TP_GEMM_2, row, mw_bf16_to_float(v)));
    return v;
}

static void golden_is_what_a_second_computation_gives(void **state)
{
    (void)state;
    for (unsigned kind = MW_TP_AG_GEMM; kind < MW_TP_KINDS; kind++)
        for (unsigned order = 0; order <= MW_TP_ORDER_ANY; order++) {
            struct mw_tp_problem p = problem((enum mw_tp_kind)kind, 5, 15);
            p.hidden = 64;
            uint16_t *golden = malloc((size_t)p.o.rows * p.hidden * sizeof *golden);
            assert_non_null(golden);
            mw_tp_golden(&p, (enum mw_tp_order)order, golden);
            for (unsigned g = 0; g < p.gpus; g++)
                for (unsigned row = 0; row < p.o.rows; row++)
                    for (unsigned e = 0; e < p.hidden; e++)
                        assert_int_equal(mw_tp_golden_last(&p, (enum mw_tp_order)order, g, row,
                                                           golden[(size_t)row * p.hidden + e]),
                                         computed(&p, (enum mw_tp_order)order, g, row, e));
            free(golden);
        }
}

/// Elements that differ between two orders of the same sums, of a thousand.
static unsigned differ(enum mw_tp_order a, enum mw_tp_order b)
{
    struct mw_tp_problem p = problem(MW_TP_GEMM_RS, 8, 8);
    static uint16_t one[8 * 512], other[8 * 512];
    unsigned n = 0;
    mw_tp_golden(&p, a, one);
    mw_tp_golden(&p, b, other);
    for (unsigned i = 0; i < 8 * 512; i++)
        n += one[i] != other[i];
    return n * 1000 / (8 * 512);
}

static void the_order_shows(void **state)
{
    (void)state;
    assert_true(differ(MW_TP_ORDER_HOME_LAST, MW_TP_ORDER_STEPS) > 10);
}

/// Sums of whole numbers are whole, and bf16 holds them.
static void sums_in_any_order_are_exact(void **state)
{
    (void)state;
    struct mw_tp_problem p = problem(MW_TP_GEMM_RS, 32, 32);
    static uint16_t out[32 * 512];
    mw_tp_golden(&p, MW_TP_ORDER_ANY, out);
    for (unsigned i = 0; i < 32 * 512; i++) {
        int sum = 0;
        for (unsigned g = 0; g < p.gpus; g++) {
            const uint16_t x = mw_tp_value(&p, MW_TP_ORDER_ANY, g, i / 512, i % 512);
            const float v = mw_bf16_to_float(x);
            assert_true(v >= -7 && v <= 7 && v == (float)(int)v);
            sum += (int)v;
        }
        assert_true(mw_bf16_to_float(out[i]) == (float)sum);
    }
}

// ---- flits --------------------------------------------------------------------------------------

/// Of each port: flits of {up, down} by class, control, store, request, partial.
static void assert_flits_of(const struct mw_tp_problem *p, const char *system,
                            const uint64_t want[MW_DIRECTIONS][MW_CLASSES])
{
    struct mw_traffic phases[MW_TP_PHASES];
    mw_tp_traffic(p, mw_tp_system_find(system), NULL, phases);
    for (unsigned g = 0; g < 8; g++)
        for (unsigned d = 0; d < MW_DIRECTIONS; d++)
            for (unsigned c = 0; c < MW_CLASSES; c++) {
                uint64_t sum = 0;
                for (unsigned i = 0; i < MW_TP_PHASES; i++)
                    sum += phases[i].flits[g][d][c];
                assert_int_equal(sum, want[d][c]);
            }
}

static void assert_flits(enum mw_tp_kind kind, const char *system,
                         const uint64_t want[MW_DIRECTIONS][MW_CLASSES])
{
    const struct mw_tp_problem p = problem(kind, 8, 352);
    assert_flits_of(&p, system, want);
}

/// 44 rows of a home and 308 others of 72 flits, 7 other GPUs.
static void flits_are_those_counted_by_hand(void **state)
{
    (void)state;
    const uint64_t own = 44 * 72, others = 308 * 72;
    assert_flits(MW_TP_SUBLAYER, "chain",
                 (const uint64_t[][MW_CLASSES]){{7 * 11, own + 7 * 11, 44, others},
                                                {7 * 11, others + 7 * 11, 308, own}});
    assert_flits(MW_TP_SUBLAYER, "nvls",
                 (const uint64_t[][MW_CLASSES]){{7 * 4, own + 7, 44, others},
                                                {7 * 4, others + 7, 308, own}});
    assert_flits(MW_TP_SUBLAYER, "nvls-tile",
                 (const uint64_t[][MW_CLASSES]){{7 * 12, own + 7 * 11, 44, others},
                                                {7 * 12, others + 7 * 11, 308, own}});
    assert_flits(MW_TP_SUBLAYER, "pull",
                 (const uint64_t[][MW_CLASSES]){{7 * 10, 0, 44 + 308, 2 * others},
                                                {7 * 10, 0, 308 + 308, own + others}});
    assert_flits(MW_TP_SUBLAYER, "t3",
                 (const uint64_t[][MW_CLASSES]){{7 * 4, others + 7 * 4, 308, others},
                                                {7 * 4, others + 7 * 4, 308, others}});
    assert_flits(MW_TP_SUBLAYER, "ring",
                 (const uint64_t[][MW_CLASSES]){{0, 2 * others + 7 * 15, 0, 0},
                                                {0, 2 * others + 7 * 15, 0, 0}});
    assert_flits(MW_TP_SUBLAYER, "tiles", // three of 352 rows to a packet
                 (const uint64_t[][MW_CLASSES]){{118, own + 7 * 10, 0, others},
                                                {0, others + 7 * 10, 118, own}});
    assert_flits(MW_TP_GEMM_RS, "tiles",
                 (const uint64_t[][MW_CLASSES]){{118, 0, 0, others}, {0, 0, 118, own}});
    assert_flits(MW_TP_AG_GEMM, "pull",
                 (const uint64_t[][MW_CLASSES]){{0, 0, 308, others}, {0, 0, 308, others}});
    assert_flits(MW_TP_GEMM_RS, "chain",
                 (const uint64_t[][MW_CLASSES]){{7 * 11, 0, 44, others}, {7 * 11, 0, 308, own}});
    assert_flits(
        MW_TP_GEMM_AR, "chain",
        (const uint64_t[][MW_CLASSES]){{7 * 11, own, 44, others}, {7 * 11, others, 308, own}});
}

/// 308 loads take 103 headers. 11 tiles of 8 homes are reported in 30. After 352 sums each two rows
/// are reported, in 176 together with the sums. A header for each of 44 fetches follows the grants.
static void flits_of_merged_loads_are_those_counted_by_hand(void **state)
{
    (void)state;
    const uint64_t own = 44 * 72, others = 308 * 72;
    struct mw_tp_problem p = problem(MW_TP_AG_GEMM, 8, 352);
    assert_flits_of(&p, "cais-ordered",
                    (const uint64_t[][MW_CLASSES]){{30 + 103, own, 0, 0}, {0, others, 30 + 44, 0}});
    assert_flits(
        MW_TP_SUBLAYER, "cais-ordered",
        (const uint64_t[][MW_CLASSES]){{176 + 103, own, 0, others}, {0, others, 176 + 44, own}});
    assert_flits(
        MW_TP_GEMM_AR, "cais-ordered",
        (const uint64_t[][MW_CLASSES]){{176 + 103, own, 0, others}, {0, others, 176 + 44, own}});
    // SYNC of 22 ranges before reds, in 66 headers together with that of loads, in 8 alone. A red
    // of each row and GPU
    assert_flits(MW_TP_SUBLAYER, "cais",
                 (const uint64_t[][MW_CLASSES]){{103 + 66, others + own, 0, 0},
                                                {0, own + others, 66 + 44, 0}});
    assert_flits(MW_TP_GEMM_RS, "cais",
                 (const uint64_t[][MW_CLASSES]){{8, others, 0, 0}, {0, own, 8, 0}});
    assert_flits(MW_TP_SUBLAYER, "cais-base",
                 (const uint64_t[][MW_CLASSES]){{2 * 7 + 103, others + own, 0, 0},
                                                {2 * 7, own + others, 44, 0}});
    p.tile = 5; // nine tiles, the last one smaller
    assert_flits_of(&p, "cais-ordered",
                    (const uint64_t[][MW_CLASSES]){{24 + 103, own, 0, 0}, {0, others, 24 + 44, 0}});
    p.o.no_sync = true;
    assert_flits_of(&p, "cais-ordered",
                    (const uint64_t[][MW_CLASSES]){{103, own, 0, 0}, {0, others, 44, 0}});
    p.o.merge_entries = 0; // a fetch for each load
    const uint64_t alone[][MW_CLASSES] = {{103, others, 0, 0}, {0, others, 308, 0}};
    assert_flits_of(&p, "cais-ordered", alone);
    p.o.merge_entries = 32;
    p.o.no_merge = true;
    assert_flits_of(&p, "cais-ordered", alone);
    p.o.no_merge = false;
    p.o.load_bytes = 128; // eight loads of a row, and as many fetches
    assert_flits_of(&p, "cais-ordered",
                    (const uint64_t[][MW_CLASSES]){{822, own, 0, 0}, {0, others, 8 * 44, 0}});
}

/// Memory moves the same bytes for any size of a load.
static void banks_are_as_busy_with_parts(void **state)
{
    (void)state;
    struct mw_tp_problem p = problem(MW_TP_AG_GEMM, 8, 352);
    struct mw_tp_bounds whole, parts;
    mw_tp_bounds(&p, mw_tp_system_find("cais-ordered"), &whole);
    p.o.load_bytes = 128;
    mw_tp_bounds(&p, mw_tp_system_find("cais-ordered"), &parts);
    assert_true(whole.banks.cycles > 0);
    assert_int_equal(parts.banks.cycles, whole.banks.cycles);
}

/// Each home sends a row once for each fetch.
static void flits_follow_the_fetches(void **state)
{
    (void)state;
    const struct mw_tp_problem p = problem(MW_TP_AG_GEMM, 8, 352);
    const uint64_t fetches[8] = {44, 50, 308, 44, 44, 45, 46, 47};
    struct mw_traffic phases[MW_TP_PHASES];
    mw_tp_traffic(&p, mw_tp_system_find("cais-ordered"), fetches, phases);
    const struct mw_traffic *t = &phases[MW_TP_PHASE_GATHER];
    for (unsigned g = 0; g < 8; g++) {
        assert_int_equal(t->flits[g][MW_UP][MW_STORE], fetches[g] * 72);
        assert_int_equal(t->payload[g][MW_UP], fetches[g] * 1024);
        assert_int_equal(t->flits[g][MW_DOWN][MW_REQUEST], 30 + fetches[g]);
        assert_int_equal(t->payload[g][MW_DOWN], 308 * 1024);
        assert_int_equal(t->gathered[g][MW_UP][MW_CTRL], 308 - 103 + 88 - 30);
        assert_int_equal(t->gathered[g][MW_DOWN][MW_REQUEST], 88 - 30);
    }
}

/// Reports and grants of rows may come one by one.
static void flits_that_depend_on_time_have_a_limit(void **state)
{
    (void)state;
    struct mw_tp_problem p = problem(MW_TP_GEMM_RS, 8, 352);
    struct mw_traffic phases[MW_TP_PHASES];
    mw_tp_traffic(&p, mw_tp_system_find("tiles"), NULL, phases);
    const struct mw_traffic *t = &phases[MW_TP_PHASE_REDUCE];
    for (unsigned g = 0; g < 8; g++) {
        assert_int_equal(t->gathered[g][MW_UP][MW_CTRL], 352 - 118);
        assert_int_equal(t->gathered[g][MW_DOWN][MW_REQUEST], 352 - 118);
    }
}

static void bounds_are_those_computed_by_hand(void **state)
{
    (void)state;
    struct mw_tp_problem p = problem(MW_TP_SUBLAYER, 8, 352);
    struct mw_tp_bounds b;
    mw_tp_bounds(&p, mw_tp_system_find("chain"), &b);
    assert_int_equal(b.strict.cycles, 352 * 72); // above 352 * 32 twice and 44 * 32
    assert_int_equal(b.own.cycles, 352 * 72 + 308 + 2 * 7 * 11);
    assert_int_equal(b.engine.cycles, (2 * 352 + 44) * 32);
    p.cycles[MW_TP_GEMM_1] = p.cycles[MW_TP_LN] = p.cycles[MW_TP_GEMM_2] = 40;
    mw_tp_bounds(&p, mw_tp_system_find("chain"), &b);
    assert_int_equal(b.strict.cycles, (2 * 352 + 44) * 40);
    mw_tp_bounds(&p, mw_tp_system_find("nvls"), &b);
    assert_int_equal(b.own.cycles, 2 * 352 * 40 + 308 * 72 + 44 + 2 * 7 + 308 * 72 + 3 * 7);
    p = problem(MW_TP_AG_GEMM, 8, 352);
    mw_tp_bounds(&p, mw_tp_system_find("cais-ordered"), &b);
    assert_int_equal(b.own.cycles, 308 * 72 + 30 + 44);
    assert_int_equal(b.banks.cycles, 704 * 64 / 4); // of GEMM-2 and of what lands
    p.o.no_merge = true;                            // uplinks are as full as downlinks
    mw_tp_bounds(&p, mw_tp_system_find("cais-ordered"), &b);
    assert_int_equal(b.own.cycles, 308 * 72 + 30 + 308);
    p.link_cycles = 2;
    mw_tp_bounds(&p, mw_tp_system_find("chain"), &b);
    assert_int_equal(b.strict.cycles, 2 * 308 * 72);
}

/// Without the bypass the adder passes 64 flits of each row. Links take (N - 1) / N of 72.
static void few_gpus_reduce_tiles_through_the_bypass(void **state)
{
    (void)state;
    const struct mw_tp_system *tiles = mw_tp_system_find("tiles");
    struct mw_tp_bounds b;
    for (unsigned gpus = 2; gpus <= 8; gpus += 2) {
        struct mw_tp_problem p = problem(MW_TP_GEMM_RS, gpus, 240);
        p.cycles[MW_TP_GEMM_1] = 32;
        const bool few = gpus <= 4;
        assert_int_equal(mw_tp_adder_bypass(&p, tiles), few);
        assert_true(mw_tp_adder_bypass(&p, mw_tp_system_find("chain")));
        mw_tp_bounds(&p, tiles, &b);
        assert_int_equal(b.adder.cycles, (few ? 240 / gpus : 240) * 64);
        p.cycles[MW_TP_GEMM_1] = 64; // the engine takes as long as the adder
        assert_false(mw_tp_adder_bypass(&p, tiles));
        p.cycles[MW_TP_GEMM_1] = 32;
        p.link_cycles = 3;
        assert_false(mw_tp_adder_bypass(&p, tiles));
    }
    struct mw_tp_problem p = problem(MW_TP_AG_GEMM, 4, 240);
    assert_true(mw_tp_adder_bypass(&p, mw_tp_system_find("cais-ordered")));
}

/// Each part has its own time, and none is shorter than the engine needs to read its rows.
static void bounds_add_the_times_of_the_parts(void **state)
{
    (void)state;
    struct mw_tp_problem p = problem(MW_TP_SUBLAYER, 8, 352);
    struct mw_tp_bounds b;
    p.cycles[MW_TP_GEMM_1] = 43;
    p.cycles[MW_TP_LN] = 100;
    p.cycles[MW_TP_GEMM_2] = 50;
    mw_tp_bounds(&p, mw_tp_system_find("chain"), &b);
    assert_int_equal(b.strict.cycles, 352 * 43 + 44 * 100 + 352 * 50);
    assert_int_equal(b.own.cycles, b.strict.cycles);
    p.cycles[MW_TP_GEMM_1] = 11; // 64 flits take 32
    p.cycles[MW_TP_LN] = 0;
    mw_tp_bounds(&p, mw_tp_system_find("chain"), &b);
    assert_int_equal(b.strict.cycles, 352 * 72);
    assert_int_equal(b.engine.cycles, 352 * 32 + 44 * 32 + 352 * 50);
    assert_int_equal(b.own.cycles, b.engine.cycles);
    mw_tp_bounds(&p, mw_tp_system_find("nvls"), &b);
    assert_int_equal(b.own.cycles,
                     352 * 32 + 308 * 72 + 44 + 2 * 7 + (308 * 72 + 3 * 7) + 352 * 50);
    mw_tp_bounds(&p, mw_tp_system_find("nvls-tile"), &b);
    assert_int_equal(b.own.cycles, (308 * 72 + 44 + 7 * 12) + (308 * 72 + 7 * 11));
    p = problem(MW_TP_AG_GEMM, 8, 352);
    p.cycles[MW_TP_GEMM_1] = p.cycles[MW_TP_LN] = 1000; // of parts that the workload lacks
    p.cycles[MW_TP_GEMM_2] = 80;
    mw_tp_bounds(&p, mw_tp_system_find("chain"), &b);
    assert_int_equal(b.strict.cycles, 352 * 80);
    assert_int_equal(mw_tp_layer_cycles(&p), 80);
}

/// The operand of every expert.rows is the time of its part, and absent where the
/// layer has that time.
static void streams_have_the_times_of_the_parts(void **state)
{
    (void)state;
    const struct mw_layout layout = {.row_shift = 10};
    const unsigned one[MW_MAX_PORTS] = {0};
    struct mw_tp_problem p = problem(MW_TP_SUBLAYER, 8, 352);
    p.cycles[MW_TP_GEMM_1] = 60;
    p.cycles[MW_TP_GEMM_2] = 65535;
    for (unsigned i = 0; i < MW_TP_SYSTEMS; i++) {
        const struct mw_tp_at at = {&p, &layout, 1, mw_tp_systems[i]->ranges(&p), 0, one};
        struct mw_stream s[MW_STREAMS];
        unsigned found[MW_TP_PARTS] = {0};
        for (unsigned k = 0; k < MW_STREAMS; k++)
            mw_stream_init(&s[k]);
        mw_tp_systems[i]->make(&at, s);
        for (unsigned k = 0; k < MW_STREAMS * MW_STREAM_INSTRS; k++) {
            const struct mw_stream *stream = &s[k / MW_STREAM_INSTRS];
            const struct mw_instr *instr = &stream->instr[k % MW_STREAM_INSTRS];
            if (k % MW_STREAM_INSTRS >= stream->count || instr->op != MW_I_EXPERT_ROWS)
                continue;
            // rows of all homes are counted one by one, or by their indices
            const bool tiles =
                mw_tp_systems[i]->reduce == MW_TP_TILES || mw_tp_systems[i]->reduce == MW_TP_SUMS;
            const bool landed = instr->flags == 3; // of rows in the order in which they come
            const unsigned part =
                landed ? MW_TP_GEMM_2 : instr->a / (tiles ? mw_tp_own(&p) : p.o.rows);
            found[part] += instr->b * (instr->flags & 4 ? p.gpus : 1);
            assert_int_equal(instr->imm, part == MW_TP_LN ? 0 : p.cycles[part]);
        }
        assert_int_equal(found[MW_TP_GEMM_1], 352);
        assert_int_equal(found[MW_TP_LN], 44);
        assert_int_equal(found[MW_TP_GEMM_2], 352);
    }
}

/// A shape's times are per KB, for links of any width and rate.
static void shapes_have_times_per_row(void **state)
{
    (void)state;
    const struct mw_tp_shape *shape = NULL;
    struct mw_error err = {0};
    struct mw_tp_problem p = problem(MW_TP_GEMM_RS, 8, 352);
    assert_int_equal(mw_tp_set_shape(&shape, "shape", "mega-gpt-4b-attention", &err), 0);
    assert_int_equal(mw_tp_shape_cycles(shape, &p, MW_TP_GEMM_1), 11);
    p.hidden = 1024;
    assert_int_equal(mw_tp_shape_cycles(shape, &p, MW_TP_GEMM_1), 22);
    assert_int_equal(mw_tp_shape_cycles(shape, &p, MW_TP_LN), 34);
    assert_int_equal(mw_tp_shape_cycles(shape, &p, MW_TP_GEMM_2), 86);
    p.link_cycles = 2;
    assert_int_equal(mw_tp_shape_cycles(shape, &p, MW_TP_GEMM_2), 172);
    p.flit_bytes = 8;
    assert_int_equal(mw_tp_shape_cycles(shape, &p, MW_TP_GEMM_2), 344);
    p = problem(MW_TP_SUBLAYER, 4, 352);
    assert_int_equal(mw_tp_set_shape(&shape, "shape", "deepseek-v3-attention-200", &err), 0);
    assert_int_equal(mw_tp_shape_cycles(shape, &p, MW_TP_LN), 8);
}

// ---- streams and rows ---------------------------------------------------------------------------

static void assert_streams_fit(const struct mw_tp_problem *p)
{
    const struct mw_layout layout = {.row_shift = 10};
    const unsigned one[MW_MAX_PORTS] = {0};
    for (unsigned i = 0; i < MW_TP_SYSTEMS; i++) {
        const struct mw_tp_system *system = mw_tp_systems[i];
        if (mw_tp_unfit(p, system))
            continue;
        const struct mw_tp_at at = {p, &layout, p->gpus - 1, system->ranges(p), 0, one};
        struct mw_stream s[MW_STREAMS];
        for (unsigned k = 0; k < MW_STREAMS; k++)
            mw_stream_init(&s[k]);
        system->make(&at, s);
        for (unsigned k = 0; k < MW_STREAMS; k++)
            if (mw_stream_end(&s[k]))
                fail_msg("%s, %u rows, %u GPUs, stream %u: %s", system->name, p->o.rows, p->gpus, k,
                         mw_message());
    }
}

/// No stream has more instructions than a GPU holds, for any sizes.
static void streams_fit(void **state)
{
    (void)state;
    static const unsigned own[] = {1, 3, 20, 44, 60, 1000};
    for (unsigned kind = MW_TP_AG_GEMM; kind < MW_TP_KINDS; kind++)
        for (unsigned gpus = 2; gpus <= 32; gpus++)
            for (unsigned i = 0; i < sizeof own / sizeof *own; i++) {
                struct mw_tp_problem p = problem((enum mw_tp_kind)kind, gpus, own[i] * gpus);
                assert_streams_fit(&p);
                p.o.jitter = p.o.start = 0;
                assert_streams_fit(&p);
            }
}

/// Delays of all streams of a system: how many, their sum, and a hash.
struct delays {
    unsigned count;
    uint64_t cycles, hash;
};

static struct delays delays_of(const struct mw_tp_problem *p, unsigned gpu)
{
    const struct mw_layout layout = {.row_shift = 10};
    const unsigned one[MW_MAX_PORTS] = {0};
    const struct mw_tp_system *system = mw_tp_system_find("chain");
    const struct mw_tp_at at = {p, &layout, gpu, system->ranges(p), 0, one};
    struct mw_stream s[MW_STREAMS];
    struct delays d = {0};
    for (unsigned k = 0; k < MW_STREAMS; k++)
        mw_stream_init(&s[k]);
    system->make(&at, s);
    for (unsigned k = 0; k < MW_STREAMS; k++)
        for (unsigned i = 0; i < s[k].count; i++)
            if (s[k].instr[i].op == MW_I_DELAY) {
                d.count++;
                d.cycles += s[k].instr[i].a;
                d.hash = mw_mix64(d.hash ^ s[k].instr[i].a);
            }
    return d;
}

/// Delays follow from the seed and the GPU, and are none without jitter and spread.
static void delays_follow_the_seed(void **state)
{
    (void)state;
    struct mw_tp_problem p = problem(MW_TP_SUBLAYER, 8, 352);
    const struct delays first = delays_of(&p, 1), again = delays_of(&p, 1);
    assert_true(first.count > 33 && first.hash == again.hash);
    assert_true(delays_of(&p, 2).hash != first.hash);
    p.seed = 8;
    assert_true(delays_of(&p, 1).hash != first.hash);
    p.o.jitter = 0;
    const struct delays starts = delays_of(&p, 1);
    assert_true(starts.count <= MW_STREAMS && starts.cycles <= MW_STREAMS * 100);
    assert_int_equal(starts.cycles % MW_STREAMS, 0); // all streams of a GPU start together
    p.o.start = 0;
    assert_int_equal(delays_of(&p, 1).count, 0);
    // a part's delay is a share of its own time
    p.o.jitter = 20;
    p.cycles[MW_TP_GEMM_1] = p.cycles[MW_TP_LN] = 0;
    assert_true(delays_of(&p, 1).cycles <= 352 * 32 / 5);
    p.cycles[MW_TP_GEMM_2] = 0;
    assert_int_equal(delays_of(&p, 1).count, 0);
}

/// Every row has one place, and ranges of homes are adjacent.
static void rows_have_one_place(void **state)
{
    (void)state;
    const struct mw_tp_problem p = problem(MW_TP_SUBLAYER, 3, 51);
    for (unsigned ranges = 1; ranges <= 11; ranges++) {
        bool seen[51] = {false};
        for (unsigned row = 0; row < 51; row++) {
            const unsigned place = mw_tp_place(&p, ranges, row / 17, row % 17);
            assert_true(place < 51 && !seen[place]);
            seen[place] = true;
        }
    }
    assert_int_equal(mw_tp_place(&p, 1, 1, 2), 19);
    assert_int_equal(mw_tp_place(&p, 2, 1, 2), 8 + 2);
    assert_int_equal(mw_tp_place(&p, 2, 1, 8), 24 + 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_is_what_a_second_computation_gives),
        cmocka_unit_test(the_order_shows),
        cmocka_unit_test(sums_in_any_order_are_exact),
        cmocka_unit_test(flits_are_those_counted_by_hand),
        cmocka_unit_test(flits_of_merged_loads_are_those_counted_by_hand),
        cmocka_unit_test(banks_are_as_busy_with_parts),
        cmocka_unit_test(flits_follow_the_fetches),
        cmocka_unit_test(flits_that_depend_on_time_have_a_limit),
        cmocka_unit_test(bounds_are_those_computed_by_hand),
        cmocka_unit_test(few_gpus_reduce_tiles_through_the_bypass),
        cmocka_unit_test(bounds_add_the_times_of_the_parts),
        cmocka_unit_test(streams_have_the_times_of_the_parts),
        cmocka_unit_test(shapes_have_times_per_row),
        cmocka_unit_test(streams_fit),
        cmocka_unit_test(delays_follow_the_seed),
        cmocka_unit_test(rows_have_one_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
