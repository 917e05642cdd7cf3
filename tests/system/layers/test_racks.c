// SPDX-License-Identifier: Apache-2.0
//
// Random configurations of 40 and 72 GPUs, on links of 1 to 2 047 cycles. Port numbers need more
// than five bits, and sets of ports more than two words. Each must drain with the golden bits and
// the analytic flit counts. All static groups of such a device are tested, too. MW_SEED sets the
// seed, MW_CASES how many, MW_CONFIG=i runs configuration i alone.
#include "system/configuration.h"
#include "system/layers.h"

#include <unistd.h>

enum { FEW = 4, MANY = 24, MOST = 72, BLOCK = 256 };

static const struct configuration_model models[] = {
    {40, 8, false, 6, 3, 12, 2, true},
    {72, 16, false, 10, 3, 12, 4, true},
};

/// A folder of models in which those of long links stand in for those of short ones.
static int link_models(void **state)
{
    scratch_make(state);
    char from[200], here[150];
    assert_non_null(getcwd(here, sizeof here));
    for (unsigned i = 0; i < sizeof models / sizeof *models; i++) {
        snprintf(from, sizeof from, "%s/build/model/n%uf%u-far", here, models[i].gpus,
                 models[i].flit_bytes);
        for (unsigned far = 0; far < 2; far++) {
            char name[24];
            snprintf(name, sizeof name, "n%uf%u%s", models[i].gpus, models[i].flit_bytes,
                     far ? "-far" : "");
            assert_int_equal(symlink(from, scratch(name)), 0);
        }
    }
    return setenv("MOESWITCH_MODEL", scratch(""), 1);
}

static bool run_configuration(struct configuration *c)
{
    bench_pass(&c->bench, c->system);
    return true;
}

static void random_configurations(void **state)
{
    (void)state;
    const char *cases = getenv("MW_CASES");
    const unsigned count = cases ? (unsigned)strtoul(cases, NULL, 0) : test_cases(FEW, MANY);
    configurations_run(count, count, models, "", run_configuration, 0);
}

// ---- groups -------------------------------------------------------------------------------------

struct grouped {
    unsigned gpus;
    uint64_t from, stored, sum; ///< addresses
};

/// The two members of a group.
static void members_of(const struct grouped *t, unsigned group, unsigned member[2])
{
    member[0] = group % t->gpus;
    member[1] = (group + 1 + group / t->gpus) % t->gpus;
}

static unsigned stores_to(unsigned gpu)
{
    return MW_STATIC_GROUPS - 1 - gpu;
}

static unsigned sums_of(unsigned gpu)
{
    return 30 + gpu;
}

static void make_stream(void *context, unsigned gpu, struct mw_stream *s)
{
    const struct grouped *t = context;
    mw_stream_multimem_st(s, stores_to(gpu), t->from, BLOCK, t->stored + gpu * BLOCK);
    mw_stream_fence(s);
    mw_stream_signal(s, MW_EV_SW0);
    mw_stream_wait(s, MW_EV_SW0, t->gpus - 1);
    mw_stream_multimem_ld_reduce(s, sums_of(gpu), t->from, BLOCK, t->sum);
    mw_stream_reduction(s, MW_DTYPE_U32, MW_REDOP_ADD);
}

/// Each GPU has `blocks` blocks at an address.
static void move(struct mw_device *d, const struct grouped *t, bool write, uint64_t address,
                 unsigned blocks, uint32_t *data)
{
    struct mw_transfer list[MOST];
    for (unsigned g = 0; g < t->gpus; g++)
        list[g] = (struct mw_transfer){g, address, blocks * BLOCK,
                                       (uint8_t *)data + (size_t)g * blocks * BLOCK};
    assert_int_equal(write ? mw_mem_write(d, list, t->gpus) : mw_mem_read(d, list, t->gpus), 0);
}

/// Each GPU stores to its own group, and sums another one.
static void all_groups(void **state)
{
    (void)state;
    enum { WORDS = BLOCK / 4 };
    static uint32_t own[MOST][WORDS], old[MOST * MOST][WORDS], got[MOST * MOST][WORDS];
    static struct mw_multicast *m[MW_STATIC_GROUPS];
    struct grouped t = {.gpus = models[0].gpus};
    struct mw_device *d = layer_device(t.gpus, models[0].flit_bytes);
    struct mw_random r = {test_seed()};
    struct mw_layer_config config;
    struct mw_layout layout;
    unsigned some[MOST], member[2];
    mw_layer_defaults(&config);
    config.k = config.tokens_per_gpu = config.experts_per_gpu = 1;
    config.rows_per_expert = 1;
    config.row_bytes = 64;
    config.scratch_bytes = (t.gpus + 2) * BLOCK;
    assert_int_equal(mw_layout_make(d, &config, &layout), 0);
    t.from = layout.scratch;
    t.sum = t.from + BLOCK;
    t.stored = t.sum + BLOCK;
    for (unsigned g = 0; g < MW_STATIC_GROUPS; g++) {
        members_of(&t, g, member);
        assert_int_equal(mw_multicast_create(d, config.scratch_bytes, &m[g]), 0);
        for (unsigned i = 0; i < 2; i++)
            assert_int_equal(mw_multicast_add_device(m[g], member[i]), 0);
        assert_int_equal(mw_multicast_bind_addr(m[g], layout.scratch), 0);
        assert_int_equal(mw_multicast_group(m[g]), g);
    }
    for (unsigned g = 0; g < t.gpus; g++) {
        some[g] = 1;
        for (unsigned i = 0; i < WORDS; i++)
            own[g][i] = (uint32_t)mw_random_next(&r);
    }
    for (size_t b = 0; b < sizeof old / sizeof *old; b++)
        for (unsigned i = 0; i < WORDS; i++)
            old[b][i] = (uint32_t)mw_random_next(&r);
    move(d, &t, true, t.from, 1, own[0]);
    move(d, &t, true, t.stored, t.gpus, old[0]);
    assert_int_equal(mw_streams_load(d, &layout, 1, make_stream, &t), 0);
    assert_int_equal(mw_layer_configure(d, &config, &layout, some, some, 1), 0);
    assert_int_equal(mw_launch(d), 0);
    if (mw_wait(d, NULL, NULL))
        fail_msg("%s", mw_message());

    move(d, &t, false, t.stored, t.gpus, got[0]);
    for (unsigned from = 0; from < t.gpus; from++) {
        members_of(&t, stores_to(from), member);
        for (unsigned g = 0; g < t.gpus; g++) {
            const size_t block = (size_t)g * t.gpus + from;
            const bool reached = g == member[0] || g == member[1];
            assert_memory_equal(got[block], reached ? own[from] : old[block], BLOCK);
        }
    }
    move(d, &t, false, t.sum, 1, got[0]);
    for (unsigned g = 0; g < t.gpus; g++) {
        members_of(&t, sums_of(g), member);
        for (unsigned i = 0; i < WORDS; i++)
            assert_int_equal(got[g][i], own[member[0]][i] + own[member[1]][i]);
    }
    for (unsigned g = 0; g < MW_STATIC_GROUPS; g++)
        mw_multicast_destroy(m[g]);
    mw_close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_groups),
        cmocka_unit_test(random_configurations),
    };
    return cmocka_run_group_tests(tests, link_models, scratch_remove);
}
