// SPDX-License-Identifier: Apache-2.0
//
// One GPU, the rogue, runs any instruction any number of times during a layer of the others, under
// every system. The streams of the others end, and the rows of their tokens have the golden bits.
// The rogue executes what the others wait for (its counts, barriers and rows) in the system's own
// streams. Random instructions are inserted among these, after each of them and after all. They are
// the same instruction again, with equal or other operands, or any other one, including opcodes
// that no build has. Excluded is what a GPU may do to another. Where explicit stores may land, the
// rogue writes only in a part of its own. It adds to no event counter that the layer waits for.
// MW_SEED sets the seed, MW_CONFIG=i runs layer i alone.
#include "system/bench.h"
#include "system/layers.h"
#include "systems/job.h"
#include "systems/system_list.h"

enum {
    SPACE = 4096,     ///< where it writes at others
    MOST_BYTES = 512, ///< of a store
    MOST = MW_STREAM_INSTRS - 1,
    ROUNDS = 3, ///< layers under each system of a model
    QUIET = 8000,
};

static const struct {
    unsigned gpus, flit_bytes, tokens, hidden;
} models[] = {{2, 8, 8, 48}, {4, 8, 6, 48}, {3, 16, 6, 64}, {8, 16, 4, 32}};

struct rogue {
    struct mw_random r;
    unsigned gpus, gpu; ///< which of them it is
    struct bench b;
    struct job j;
    struct mw_error err;
    struct mw_multicast *all;
    uint32_t waited;  ///< event counters that the layer waits for
    unsigned counter; ///< one that the rogue waits for, MW_EVENTS: none is left
    bool events;      ///< there are SW8 and the others
    bool lost;        ///< it may lose its own rows: the others wait for nothing after them
    uint16_t *out;
};

static unsigned below(struct rogue *g, uint64_t end)
{
    return (unsigned)mw_random_below(&g->r, end);
}

// ---- instructions -------------------------------------------------------------------------------

/// A counter of software that no stream waits for, or one that packets do not count.
static unsigned any_counter(struct rogue *g)
{
    static const unsigned none[] = {MW_EV_COUNTS, MW_EV_ROWS_DONE, MW_EV_TOKENS,
                                    MW_EV_ACKS,   MW_EVENTS,       0x8000};
    const unsigned i = below(g, g->events ? MW_EVENTS : 16);
    const bool software = i < MW_SW_EVENTS || i >= MW_EV_SW8;
    return software && !(g->waited >> i & 1) && i != g->counter ? i
                                                                : none[below(g, sizeof none / 4)];
}

/// An address at which a store of so many bytes is harmless: in its own part, or where none may
/// land.
static uint64_t any_place(struct rogue *g, uint32_t bytes)
{
    const struct mw_layout *l = &g->j.layout;
    const unsigned flit = g->b.params.flit_bytes;
    if (below(g, 4))
        return l->scratch + below(g, (SPACE - bytes) / flit) * flit;
    if (below(g, 2) || l->st_lo < bytes)
        return l->st_hi + below(g, 64) * flit;
    return below(g, l->st_lo - bytes) / flit * flit;
}

static bool uses(const struct rogue *g, unsigned op)
{
    struct mw_stream s[MW_STREAMS];
    const struct mw_place at = {.system = g->j.system,
                                .gpus = g->gpus,
                                .gpu = g->gpu,
                                .tokens = g->b.w.shape.tokens_per_gpu,
                                .layout = &g->j.layout};
    for (unsigned i = 0; i < MW_STREAMS; i++)
        mw_stream_init(&s[i]);
    g->j.generator->make(s, &at);
    for (unsigned i = 0; i < MW_STREAMS; i++)
        for (unsigned n = 0; n < s[i].count; n++)
            if (s[i].instr[n].op == op)
                return true;
    return false;
}

/// Operands at random for an instruction: tokens of which some are too many, bytes,
/// a group, a counter.
static struct mw_instr any_operands(struct rogue *g, unsigned op)
{
    const unsigned flit = g->b.params.flit_bytes;
    struct mw_instr in = {.op = (uint8_t)op, .flags = below(g, 8)};
    const uint32_t bytes = below(g, MOST_BYTES / flit + 1) * flit;
    uint64_t to = any_place(g, bytes);
    switch (op) {
    case MW_I_WAIT:
        in.imm = (uint16_t)below(g, 40);
        in.a = below(g, 4);
        break;
    case MW_I_DELAY:
        in.a = below(g, 300);
        break;
    case MW_I_SIGNAL:
    case MW_I_FLAG:
        in.imm = (uint16_t)any_counter(g);
        break;
    case MW_I_ST_LINEAR:
    case MW_I_MULTIMEM_ST:
    case MW_I_MULTIMEM_RED:
    case MW_I_MULTIMEM_LD_REDUCE:
        in.flags = 0;
        in.imm = (uint16_t)(op == MW_I_ST_LINEAR ? below(g, g->gpus + 1) : below(g, 8) ? 0 : 3);
        if (op >= MW_I_MULTIMEM_RED)
            in.imm |= (uint16_t)(below(g, 6) << 8 | below(g, 7) << 12);
        in.a = (uint32_t)(g->j.layout.rt_base + below(g, 64) * flit);
        in.b = bytes;
        if (op == MW_I_MULTIMEM_LD_REDUCE) // its own memory
            to = g->j.layout.scratch + below(g, (SPACE - MOST_BYTES) / flit) * flit;
        in.c = (uint32_t)to;
        in.c_high = to >> 32 & 3;
        break;
    default:
        in.a = below(g, g->b.w.shape.tokens_per_gpu + 1);
        in.b = below(g, 8) ? g->b.w.shape.tokens_per_gpu - in.a : below(g, UINT32_MAX);
        if (below(g, 2) && in.b)
            in.b = below(g, in.b);
        in.imm = (uint16_t)(op == MW_I_ORDER || below(g, 4) ? 0 : below(g, 0x10000));
    }
    return in;
}

/// An instruction that is allowed at any time. It retires, and does not change what the others wait
/// for. `last`: nothing that they wait for follows it, so that it may also wait for the unit that
/// adds up their rows.
static struct mw_instr any_at_once(struct rogue *g, bool last)
{
    static const unsigned ops[] = {MW_I_SIGNAL,       MW_I_FLAG,      MW_I_FENCE,
                                   MW_I_DELAY,        MW_I_ST_LINEAR, MW_I_MULTIMEM_ST,
                                   MW_I_MULTIMEM_RED, MW_I_SIGNAL,    MW_I_MULTIMEM_LD_REDUCE};
    struct mw_instr in = any_operands(g, ops[below(g, sizeof ops / sizeof *ops - !last)]);
    if (in.op == MW_I_FLAG)
        in.flags &= 1;
    if (in.op == MW_I_DELAY && !g->events)
        in.op = MW_I_FENCE;
    return in;
}

/// An instruction of any kind, after all that the others wait for. Excluded are those that may
/// write at others. Rows of st and partial sums land in regions of the others. So do rows if there
/// is no allocator, and rows of dynamic stores in layers that use these regions otherwise.
static struct mw_instr any_late(struct rogue *g)
{
    const struct mw_layout *l = &g->j.layout;
    const bool unicast = l->st_lo <= l->xd_base;
    struct mw_instr in;
    bool harm;
    do {
        in = any_operands(g, below(g, 8) ? below(g, 0x20) : below(g, 256));
        const bool rows = in.op == MW_I_DYMULTIMEM_ST || in.op == MW_I_ST_ROWSP;
        harm = (in.op == MW_I_ST && unicast) || (in.op == MW_I_SUM_ST && l->st_lo <= l->cb_base) ||
               (rows && (unicast || in.flags & 2)) ||
               (in.op == MW_I_ST_ROWSP && !uses(g, MW_I_ST_ROWSP));
    } while (harm);
    return in;
}

/// An instruction that its stream has executed and will not execute again, with its own operands or
/// others.
static bool again(struct rogue *g, const struct mw_stream *s, unsigned done, struct mw_instr *in)
{
    static const unsigned ops[] = {MW_I_COUNT,  MW_I_COUNT, MW_I_DYMULTIMEM_ST, MW_I_ST_ROWSP,
                                   MW_I_EXPERT, MW_I_FLAG,  MW_I_PREFIX};
    const unsigned op = ops[below(g, sizeof ops / sizeof *ops)];
    const struct mw_instr *found = NULL;
    for (unsigned i = 0; i < s->count; i++) {
        if (s->instr[i].op != op || (op == MW_I_FLAG && !(s->instr[i].flags & 4)))
            continue;
        if (i >= done)
            return false;
        found = &s->instr[i];
    }
    if (!found)
        return false;
    *in = *found;
    if (below(g, 2) && op != MW_I_EXPERT && op != MW_I_FLAG) {
        const unsigned flags = op == MW_I_COUNT ? in->flags ^ below(g, 2) : in->flags;
        *in = any_operands(g, op);
        in->flags = flags & 15;
    }
    return true;
}

/// Counts and dispatches at random before, among and after its own: of tokens that the layer's are,
/// or rows without gate weights.
static struct mw_instr any_rows(struct rogue *g)
{
    static const unsigned ops[] = {MW_I_COUNT, MW_I_DYMULTIMEM_ST, MW_I_ST_ROWSP};
    struct mw_instr in =
        any_operands(g, ops[below(g, sizeof ops / sizeof *ops - !uses(g, MW_I_ST_ROWSP))]);
    // a stream ends where a store reports the places of rows that no gate weights follow
    in.flags =
        in.op == MW_I_COUNT || (in.op == MW_I_ST_ROWSP && uses(g, MW_I_FLAG)) ? 0 : below(g, 2);
    return in;
}

static void add(struct mw_stream *s, struct mw_instr in)
{
    if (s->count < MOST)
        s->instr[s->count++] = in;
}

/// Make a stream of the rogue from that of the system.
static void spoil(struct rogue *g, struct mw_stream *s)
{
    const struct mw_stream own = *s;
    unsigned more = MOST - own.count, late = 0;
    struct mw_instr in;
    if (g->counter < MW_EVENTS && more > 3) {
        late = 1 + below(g, more - 2);
        more -= late + 2;
    } else {
        more = 0;
    }
    s->count = 0;
    for (unsigned i = 0; i <= own.count; i++) {
        for (; more && below(g, 3); more--)
            add(s, g->lost && below(g, 2)   ? any_rows(g)
                   : again(g, &own, i, &in) ? in
                                            : any_at_once(g, i == own.count));
        if (i < own.count)
            add(s, own.instr[i]);
    }
    if (!late)
        return;
    add(s, (struct mw_instr){.op = MW_I_FLAG, .flags = 1, .imm = (uint16_t)g->counter});
    add(s, (struct mw_instr){.op = MW_I_WAIT, .imm = (uint16_t)g->counter, .a = MW_STREAMS});
    for (; late; late--)
        add(s, below(g, 3) ? any_late(g) : any_at_once(g, true));
}

static void find_counters(struct rogue *g, const struct mw_stream *s)
{
    const uint32_t software = ~(UINT32_MAX << MW_SW_EVENTS) | UINT32_MAX << MW_EV_SW8;
    g->waited = 0;
    for (unsigned i = 0; i < MW_STREAMS * g->gpus; i++)
        for (unsigned n = 0; n < s[i].count; n++)
            if (s[i].instr[n].op == MW_I_WAIT)
                g->waited |= 1u << s[i].instr[n].imm;
    for (g->counter = g->events ? MW_EVENTS - 1 : MW_SW_EVENTS - 1;
         g->waited >> g->counter & 1 && g->counter; g->counter--)
        ;
    if (g->counter == 0)
        g->counter = MW_EVENTS;
    g->lost = below(g, 2) && g->j.layout.st_lo > g->j.layout.xd_base && !(g->waited & software);
}

static void load_streams(struct rogue *g)
{
    static struct mw_stream s[MW_MAX_GPUS * MW_STREAMS];
    for (unsigned gpu = 0; gpu < g->gpus; gpu++) {
        const struct mw_place at = {.system = g->j.system,
                                    .gpus = g->gpus,
                                    .gpu = gpu,
                                    .tokens = g->b.w.shape.tokens_per_gpu,
                                    .layout = &g->j.layout,
                                    .group = (unsigned)mw_multicast_group(g->all)};
        for (unsigned i = 0; i < MW_STREAMS; i++)
            mw_stream_init(&s[gpu * MW_STREAMS + i]);
        g->j.generator->make(&s[gpu * MW_STREAMS], &at);
    }
    find_counters(g, s);
    for (unsigned i = 0; i < MW_STREAMS; i++)
        spoil(g, &s[g->gpu * MW_STREAMS + i]);
    for (unsigned i = 0; i < MW_STREAMS * g->gpus; i++)
        assert_int_equal(mw_stream_end(&s[i]), 0);
    if (mw_stream_load(g->j.device, &g->j.layout, s, MW_STREAMS))
        fail_msg("%s", mw_message());
}

// ---- a layer ------------------------------------------------------------------------------------

/// No token of the others has an expert of the rogue's.
static void spare_the_others(struct bench *b, void *context)
{
    struct rogue *g = context;
    const unsigned own = b->trace.experts / g->gpus, t = b->params.shape.tokens_per_gpu;
    for (size_t i = 0; i < b->trace.tokens; i++)
        for (unsigned j = 0; i / t != g->gpu && j < b->trace.k; j++) {
            uint16_t *id = bench_id(b, 0, i, j);
            bool again_one = true;
            while (again_one) {
                *id = (uint16_t)below(g, b->trace.experts);
                again_one = *id / own == g->gpu;
                for (unsigned k = 0; k < j; k++)
                    again_one = again_one || bench_id(b, 0, i, k)[0] == *id;
            }
        }
}

static void load_layer(struct rogue *g)
{
    struct job *j = &g->j;
    const size_t values = (size_t)j->w->tokens * j->w->shape.hidden;
    unsigned tokens[MW_MAX_GPUS], experts[MW_MAX_GPUS];
    for (unsigned i = 0; i < g->gpus; i++) {
        tokens[i] = j->w->shape.tokens_per_gpu;
        experts[i] = j->w->experts_per_gpu;
    }
    for (size_t i = 0; i < values; i++)
        g->out[i] = 0xdead;
    assert_int_equal(mw_expert_map_even(j->device, j->w->experts), 0);
    assert_int_equal(mw_job_load_routing(j, 0, j->layout.rt_base), 0);
    assert_int_equal(mw_job_load_rows(j, j->layout.xs_base, j->w->layer[0].x, "hidden values"), 0);
    assert_int_equal(mw_job_load_rows(j, j->layout.out_base, g->out, "output rows"), 0);
    assert_int_equal(
        mw_coefficients_load(j->device, &j->layout, j->w->experts_per_gpu, j->w->coefficients), 0);
    if (mw_layer_configure(j->device, &j->config, &j->layout, tokens, experts,
                           (1u << MW_STREAMS) - 1))
        fail_msg("%s", mw_message());
}

/// Every stream of the others has ended, for any state of the rogue's.
static void others_have_ended(const struct rogue *g)
{
    for (unsigned i = 0; i < MW_STREAMS * g->gpus; i++) {
        const unsigned gpu = i / MW_STREAMS;
        unsigned issued;
        assert_int_equal(mw_stream_position(g->j.device, gpu, i % MW_STREAMS, &issued), 0);
        if (gpu != g->gpu && issued != MW_STREAM_INSTRS) {
            print_error("%s\n", mw_state_report(g->j.device)); // too long for fail_msg
            fail_msg("GPU %u, stream %u has not ended", gpu, i % MW_STREAMS);
        }
    }
}

static void rows_are_right(const struct rogue *g, uint64_t address, const uint16_t *right,
                           const char *what)
{
    const struct mw_workload *w = g->j.w;
    const unsigned hidden = w->shape.hidden;
    assert_int_equal(mw_job_read_rows((struct job *)&g->j, address, g->out, what), 0);
    for (size_t i = 0; i < (size_t)w->tokens * hidden; i++)
        if (i / hidden / w->shape.tokens_per_gpu != g->gpu && g->out[i] != right[i])
            fail_msg("%s: token %zu, element %zu: expected 0x%04x, got 0x%04x", what, i / hidden,
                     i % hidden, right[i], g->out[i]);
}

static void open_job(struct rogue *g, const struct mw_system *system, struct mw_device *d)
{
    struct mw_demand demand;
    struct mw_fit fit;
    struct job *j = &g->j;
    *j = (struct job){.params = &g->b.params,
                      .w = &g->b.w,
                      .experts = g->b.w.experts,
                      .err = &g->err,
                      .device = d};
    assert_int_equal(mw_demand_of_workload(&demand, &g->b.w, &g->err), 0);
    if (mw_job_begin(j, system) || mw_job_settings(j) || mw_job_layout(j, &demand, &fit))
        fail_msg("%s: %s", system->name, g->err.text);
    j->config.scratch_bytes = SPACE;
    j->config.stream_instrs = MW_STREAM_INSTRS;
    assert_int_equal(mw_layout_make(d, &j->config, &j->layout), 0);
    assert_int_equal(mw_multicast_create(d, j->layout.end, &g->all), 0);
    for (unsigned i = 0; i < g->gpus; i++)
        assert_int_equal(mw_multicast_add_device(g->all, i), 0);
    assert_int_equal(mw_multicast_bind_addr(g->all, 0), 0);
    g->out = calloc((size_t)g->b.w.tokens * g->b.w.shape.hidden, sizeof *g->out);
    assert_non_null(g->out);
}

static void run_layer(struct rogue *g, const struct mw_system *system, struct mw_device *d)
{
    const struct mw_wait_options w = {
        .size = sizeof w, .quiet_cycles = QUIET, .step_cycles = QUIET / 4};
    struct mw_device_info info;
    uint64_t cycles = 0;
    assert_int_equal(mw_info(d, &info), 0);
    g->events = info.more_events;
    open_job(g, system, d);
    load_layer(g);
    load_streams(g);
    assert_int_equal(mw_launch(d), 0);
    int status = mw_wait(d, &w, &cycles);
    if (status == MW_ERR_TIMEOUT)
        others_have_ended(g);
    else if (status && status != MW_ERR_DEVICE)
        fail_msg("%s", mw_message());
    print_message("  %s\n", status ? mw_message() : "no error");
    if (status == MW_ERR_TIMEOUT) // memories stay
        assert_int_equal(mw_reset(d), 0);
    rows_are_right(g, g->j.layout.out_base, g->b.expected[0].out, "output");
    rows_are_right(g, g->j.layout.xs_base, g->b.w.layer[0].x, "hidden values");
    mw_multicast_destroy(g->all);
    free(g->out);
}

/// Layer `i` of the seed on a model, under a system if the model has it.
static void run_random(uint64_t seed, unsigned i, unsigned model, const struct mw_system *of,
                       struct mw_device *d)
{
    struct rogue g = {.r = {mw_hash3(seed, 0x726f6775, i)}, .gpus = models[model].gpus};
    const unsigned experts = g.gpus * (2 + below(&g, 2)), k = 1 + below(&g, 2),
                   tokens = 1 + below(&g, models[model].tokens), tile = 1 + below(&g, 6),
                   delay = below(&g, 2) ? below(&g, 1500) : 0, values = below(&g, 1000000);
    char text[512];
    g.gpu = below(&g, g.gpus);
    snprintf(text, sizeof text,
             "--gpus %u --flit-bytes %u --tokens-per-gpu %u --hidden %u --experts %u --k %u "
             "--tile %u --seed %u --set start_delay=%u",
             g.gpus, models[model].flit_bytes, tokens, models[model].hidden, experts, k, tile,
             values, delay);
    bench_options(&g.b, "%s", text);
    bench_prepare(&g.b, spare_the_others, &g);
    if (bench_has(&g.b, of)) {
        print_message("%u: %s --system %s, GPU %u\n", i, text, of->name, g.gpu);
        const struct mw_system system = mw_system_as_set(of, &g.b.params.settings);
        run_layer(&g, &system, d);
    }
    bench_free(&g.b);
}

static void one_rogue(void **state)
{
    (void)state;
    enum { MODELS = sizeof models / sizeof *models };
    const uint64_t seed = test_seed();
    const char *only = getenv("MW_CONFIG");
    for (unsigned m = 0; m < MODELS; m++) {
        struct mw_device *d = NULL;
        for (unsigned n = 0; n < ROUNDS * MW_SYSTEMS; n++) {
            const unsigned i = m * ROUNDS * MW_SYSTEMS + n;
            if (only && strtoul(only, NULL, 0) != i)
                continue;
            if (!d)
                d = layer_device(models[m].gpus, models[m].flit_bytes);
            run_random(seed, i, m, &mw_systems[n % MW_SYSTEMS], d);
        }
        mw_close(d);
    }
}

/// Layers of fixed seeds. The rogue stores a row without gate weights and next the whole row of the
/// same token (4015). It orders tokens after it has counted copies of none (2047).
static void fixed_seeds(void **state)
{
    static const struct {
        uint64_t seed;
        unsigned layer, model;
        const char *system;
    } layers[] = {{4015, 15, 0, "moeswitch"}, {2047, 47, 1, "moeswitch"}};
    (void)state;
    for (unsigned i = 0; i < sizeof layers / sizeof *layers; i++) {
        const unsigned model = layers[i].model;
        struct mw_device *d = layer_device(models[model].gpus, models[model].flit_bytes);
        const struct mw_system *of = mw_system_find(layers[i].system);
        assert_non_null(of);
        run_random(layers[i].seed, layers[i].layer, model, of, d);
        mw_close(d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_rogue), cmocka_unit_test(fixed_seeds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
