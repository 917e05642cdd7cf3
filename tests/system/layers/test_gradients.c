// SPDX-License-Identifier: Apache-2.0
//
// Gradients of gate weights: layers of every system, in random configurations, whose experts make
// them. The first layer dispatches rows of x, the second rows of dY, to another region, with the
// same routes. It takes the same cycles, so each row has the same number, and every gradient is
// that of the golden model, bit for bit, in its place at its home; places without an expert stay as
// they are. Output rows and flits are checked, too. Then a
// backward layer with the handle of a forward one makes the same gradients. MW_SEED sets the seed,
// MW_CONFIG=i runs configuration i alone.
#include "system/configuration.h"

#include "systems/job.h"
#include "systems/layer_counters.h"

#include <inttypes.h>

enum { FEW = 24, MANY = 200 };
enum { UNTOUCHED = 0x5a5a5a5a };

static const struct configuration_model models[] = {
    {2, 8, false, 16, 16, 48, 8, .far = false},
};

struct layers {
    struct job j;
    struct bench *bench;
    struct mw_error err;
    uint16_t *x, *dy, *golden;
    uint32_t *dw, *want;
    struct mw_device_info info;
    struct mw_layout layout;
    uint64_t region[2]; ///< of rows of dispatch
    uint64_t cycles[2];
};

static void ok(const struct layers *t, int status)
{
    if (status)
        fail_msg("%s: status %d: %s", t->j.system->name, status, t->err.text);
}

static void done(const struct layers *t, int code)
{
    if (code)
        fail_msg("%s: %s", t->j.system->name, mw_message());
}

static void *of(size_t count, size_t size)
{
    void *p = calloc(count, size);
    assert_non_null(p);
    return p;
}

/// Sizes for one more region of dispatch, in the area that any GPU may store to.
static void lay_out(struct layers *t)
{
    struct mw_demand demand;
    struct mw_fit fit;
    ok(t, mw_demand_of_workload(&demand, t->j.w, &t->err));
    t->j.config.gate_gradients = true;
    ok(t, mw_job_info(&t->j, &t->info));
    ok(t, mw_job_layout(&t->j, &demand, &fit));
    t->j.config.scratch_bytes = t->j.layout.gt_base - t->j.layout.xd_base;
    t->j.config.handle = MW_HANDLE_KEEP; // for its dispatch region
    done(t, mw_layout_of(&t->info, &t->j.config, &t->layout));
    t->j.config.handle = MW_HANDLE_NONE;
    t->region[0] = t->layout.xd_base;
    t->region[1] = t->layout.scratch;
}

static void make_streams(void *context, unsigned gpu, struct mw_stream *s)
{
    const struct job *j = context;
    mw_job_streams(context, gpu, s);
    for (unsigned i = 0; i < j->generator->streams; i++) {
        const unsigned count = s[i].count;
        for (s[i].count = 1; s[i].count <= count; s[i].count++) {
            const unsigned op = s[i].instr[s[i].count - 1].op;
            if (op == MW_I_EXPERT || op == MW_I_EXPERT_ROWS)
                mw_stream_expert_gradients(&s[i]);
        }
        s[i].count = count;
    }
}

static void make_group(struct layers *t)
{
    if (!t->j.system->gathered)
        return;
    done(t, mw_multicast_create(t->j.device, t->layout.end, &t->j.all));
    for (unsigned g = 0; g < t->info.gpus; g++)
        done(t, mw_multicast_add_device(t->j.all, g));
    done(t, mw_multicast_bind_addr(t->j.all, 0));
}

/// The table of each GPU; `write`: a pattern into it, else read into t->dw.
static void table(struct layers *t, bool write)
{
    const struct mw_workload *w = t->j.w;
    const size_t places = (size_t)w->shape.tokens_per_gpu << t->layout.k_shift;
    const size_t bytes = (4 * places + MW_MEM_ALIGN - 1) / MW_MEM_ALIGN * MW_MEM_ALIGN;
    uint32_t *all = of(bytes, 1);
    for (unsigned g = 0; g < w->shape.gpus; g++) {
        const struct mw_transfer transfer = {g, t->layout.dw_base, bytes, all};
        for (size_t i = 0; i < bytes / 4; i++)
            all[i] = UNTOUCHED;
        done(t, write ? mw_mem_write(t->j.device, &transfer, 1)
                      : mw_mem_read(t->j.device, &transfer, 1));
        for (unsigned i = 0; !write && i < w->shape.tokens_per_gpu; i++)
            for (unsigned p = 0; p < 1u << t->layout.k_shift; p++) {
                const uint32_t got = all[(i << t->layout.k_shift) + p];
                if (p < w->k)
                    t->dw[((size_t)g * w->shape.tokens_per_gpu + i) * w->k + p] = got;
                else
                    assert_int_equal(got, UNTOUCHED);
            }
    }
    free(all);
}

/// One layer, of x or of dY. Without a handle its rows land in one of two regions, beside those in
/// the other; with one the library knows where.
static void run(struct layers *t, unsigned layer)
{
    const struct mw_workload *w = t->j.w;
    unsigned tokens[MW_MAX_GPUS], experts[MW_MAX_GPUS];
    for (unsigned g = 0; g < w->shape.gpus; g++) {
        tokens[g] = w->shape.tokens_per_gpu;
        experts[g] = w->experts_per_gpu;
    }
    t->j.layout = t->layout;
    if (t->j.config.handle == MW_HANDLE_NONE) {
        t->j.layout.xd_base = t->region[layer];
        t->j.layout.xf_base = t->region[!layer];
    }
    done(t,
         mw_streams_load(t->j.device, &t->j.layout, t->j.generator->streams, make_streams, &t->j));
    done(t, mw_layer_configure(t->j.device, &t->j.config, &t->j.layout, tokens, experts,
                               (1u << t->j.generator->streams) - 1));
    ok(t, mw_job_load_experts(&t->j, 0));
    ok(t, mw_job_load_routing(&t->j, 0, t->layout.rt_base));
    w->layer[0].x = layer ? t->dy : t->x;
    ok(t, mw_job_load_hidden(&t->j, 0, t->layout.xs_base));
    mw_golden_layer(w, 0, t->golden);
    w->layer[0].x = t->x;
    table(t, true);
    done(t, mw_launch(t->j.device));
    struct mw_wait_options o = {.size = sizeof o, .quiet_cycles = t->j.quiet_cycles};
    if (mw_wait(t->j.device, &o, &t->cycles[layer]))
        fail_msg("%s, layer %u: %s", t->j.system->name, layer, mw_message());
    uint16_t *out = of((size_t)w->tokens * w->shape.hidden, sizeof *out);
    ok(t, mw_job_read_rows(&t->j, t->layout.out_base, out, "output rows"));
    assert_memory_equal(out, t->golden, (size_t)w->tokens * w->shape.hidden * sizeof *out);
    free(out);
}

/// Every flit that the system sends, and those of the gradients.
static void flits_are_right(struct layers *t)
{
    const struct mw_link_parameters link = mw_run_links(&t->bench->params);
    struct mw_traffic phases[MW_PHASES], want = {0};
    struct mw_layer_result got = {0};
    struct mw_counters *c = of(1, sizeof *c);
    mw_traffic_count(t->j.w, 0, t->j.system, &link, phases);
    for (unsigned p = 0; p < MW_PHASES; p++)
        mw_traffic_add(&want, &phases[p]);
    mw_traffic_gradients(t->j.w, 0, t->j.system, link.flit_bytes, &want);
    done(t, mw_counters_read(t->j.device, c));
    mw_layer_counters(&got, c, t->info.gpus);
    for (unsigned g = 0; g < t->info.gpus; g++)
        for (unsigned d = 0; d < MW_DIRECTIONS; d++) {
            for (unsigned i = 0; i < MW_CLASSES; i++) {
                const uint64_t flits = got.traffic.flits[g][d][i], least = want.flits[g][d][i];
                if (flits < least || flits > least + want.gathered[g][d][i])
                    fail_msg("%s: GPU %u %s, %s: %" PRIu64 " flits, not %" PRIu64 " + %" PRIu64,
                             t->j.system->name, g, mw_direction_names[d], mw_class_names[i], flits,
                             least, want.gathered[g][d][i]);
            }
            assert_int_equal(got.traffic.payload[g][d], want.payload[g][d]);
        }
    free(c);
}

static void gradients_are_right(struct layers *t)
{
    const unsigned k = t->j.w->k;
    table(t, false);
    for (size_t i = 0; i < (size_t)t->j.w->tokens * k; i++)
        if (t->dw[i] != t->want[i])
            fail_msg("%s, handle %u: token %zu, position %zu: 0x%08x, not 0x%08x",
                     t->j.system->name, t->j.config.handle, i / k, i % k, t->dw[i], t->want[i]);
}

static void check(struct bench *b, const char *system)
{
    struct mw_result result;
    struct layers t = {.bench = b};
    struct mw_random r = {b->w.shape.seed + 1};
    const struct mw_workload *w = &b->w;
    const size_t values = (size_t)w->tokens * w->shape.hidden, places = (size_t)w->tokens * w->k;
    const struct mw_system as_set = mw_system_as_set(mw_system_find(system), &b->params.settings);
    assert_int_equal(mw_result_make(&result, w, &as_set, NULL), 0);
    t.j = (struct job){.params = &b->params,
                       .w = w,
                       .experts = w->experts,
                       .k = w->k,
                       .every = true,
                       .result = &result,
                       .err = &t.err};
    ok(&t, mw_job_begin(&t.j, &as_set));
    ok(&t, mw_job_settings(&t.j));
    ok(&t, mw_job_open(&t.j));
    lay_out(&t);
    make_group(&t);
    t.x = w->layer[0].x;
    t.dy = of(values, sizeof *t.dy);
    t.golden = of(values, sizeof *t.golden);
    t.dw = of(places, sizeof *t.dw);
    t.want = of(places, sizeof *t.want);
    for (size_t i = 0; i < values; i++) // of eight binades, either sign
        t.dy[i] = (uint16_t)(mw_random_below(&r, 2) << 15 | (120 + mw_random_below(&r, 8)) << 7 |
                             mw_random_below(&r, 128));
    for (size_t i = 0; i < places; i++)
        t.want[i] = UNTOUCHED;
    mw_golden_gradients(w, 0, t.dy, t.want);
    run(&t, 0);
    run(&t, 1);
    assert_int_equal(t.cycles[0], t.cycles[1]);
    gradients_are_right(&t);
    flits_are_right(&t);
    t.j.config.handle = MW_HANDLE_KEEP;
    run(&t, 0);
    t.j.config.handle = MW_HANDLE_CACHED;
    run(&t, 1);
    gradients_are_right(&t);
    mw_multicast_destroy(t.j.all);
    mw_close(t.j.device);
    mw_result_free(&result);
    free(t.dy);
    free(t.golden);
    free(t.dw);
    free(t.want);
}

static void every_system(void **state)
{
    (void)state;
    struct bench b;
    bench_options(&b, "--gpus 2 --flit-bytes 8 --hidden 100 --tokens-per-gpu 24 --experts 8 --k 3 "
                      "--tile 4 --expert-cycles 10");
    bench_prepare(&b, NULL, NULL);
    for (unsigned s = 0; s < MW_SYSTEMS; s++)
        check(&b, mw_systems[s].name);
    bench_free(&b);
}

/// Rows of other types are refused with gradients.
static bool run_configuration(struct configuration *c)
{
    if (c->bench.w.shape.dispatch_type != MW_ROWTYPE_BF16)
        return false;
    check(&c->bench, c->system);
    return true;
}

static void random_configurations(void **state)
{
    (void)state;
    configurations_run(FEW, MANY, models, "", run_configuration, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_system),
        cmocka_unit_test(random_configurations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
