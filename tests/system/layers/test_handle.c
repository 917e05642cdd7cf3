// SPDX-License-Identifier: Apache-2.0
//
// Layers that use the counts and rows of an earlier one, and gradients of gate weights. Random
// configurations run every system at N = 2, 3, 4 and 8, with flits of 8 and 16 bytes. Each runs
// forward, backward with the handle, and backward counted again. All three have the golden bits and
// the analytic flit counts. Both backward layers have every bit of the gradients, and write nothing
// else. A layer that counts again takes the cycles of the forward one if its experts have equal
// work. Invalid handles of every kind are refused by the library, by name, before anything is
// written. When the library is bypassed, every GPU refuses them. MW_SEED sets the seed, MW_CONFIG=i
// runs configuration i alone.
#include "system/configuration.h"
#include "system/layers.h"
#include "systems/system_list.h"

#include "core/registers.h"

enum { FEW = 20, MANY = 200 };

static const struct configuration_model models[] = {
    {2, 8, false, 6, 16, 48, 8, false},
    {3, 16, false, 3, 12, 32, 6, false},
    {4, 8, false, 4, 12, 48, 8, false},
    {8, 16, false, 3, 8, 24, 8, false},
};

static bool run_configuration(struct configuration *c)
{
    bench_pass(&c->bench, c->system);
    return true;
}

static void random_configurations(void **state)
{
    (void)state;
    configurations_run(FEW, MANY, models, " --pass step", run_configuration, 4);
}

/// Of every system, backward layers without gradients of gate weights.
static void cycles_of(const char *expert_cycles, void (*check)(const struct mw_layer_result *pass))
{
    struct bench b;
    bench_options(&b,
                  "--gpus 2 --flit-bytes 8 --hidden 64 --tokens-per-gpu 16 --experts 8 --k 2 "
                  "--tile 4 --pass step --layers 0,1 --no-gate-gradients%s",
                  expert_cycles);
    bench_prepare(&b, NULL, NULL);
    assert_int_equal(b.w.layers, 2 * MW_PASSES);
    for (unsigned s = 0; s < MW_SYSTEMS; s++) {
        struct mw_result r;
        const int status = bench_run(&b, mw_systems[s].name, &r);
        bench_check(&b, mw_systems[s].name, &r, status);
        for (unsigned l = 0; l < r.layers; l += MW_PASSES)
            check(&r.layer[l]);
        mw_result_free(&r);
    }
    bench_free(&b);
}

static void handle_saves(const struct mw_layer_result *pass)
{
    assert_true(pass[MW_PASS_BACKWARD].cycles < pass[MW_PASS_COUNTED].cycles);
}

static void counts_as_before(const struct mw_layer_result *pass)
{
    assert_int_equal(pass[MW_PASS_COUNTED].cycles, pass[MW_PASS_FORWARD].cycles);
}

/// The saving of the handle: every cached layer is shorter than one that counts again. If experts
/// take no time, one that counts again takes as long as the forward layer, for any values.
static void cycles(void **state)
{
    (void)state;
    cycles_of("", handle_saves);
    cycles_of(" --expert-cycles 0", counts_as_before);
}

/// Cycles of a backward layer of `moeswitch` with the setting.
static unsigned long long backward_with(const char *setting)
{
    struct bench b;
    bench_options(&b, "--pass backward --system moeswitch%s", setting);
    bench_prepare(&b, NULL, NULL);
    struct mw_result r;
    const int status = bench_run(&b, "moeswitch", &r);
    bench_check(&b, "moeswitch", &r, status);
    const unsigned long long cycles = r.layer[MW_PASS_BACKWARD].cycles;
    mw_result_free(&r);
    bench_free(&b);
    return cycles;
}

/// Experts wait for gradients to leave, and the throttle waits for rows of experts. If gradients
/// waited for the throttle, the layer would take a third longer than without it.
static void gradients_pass_throttle(void **state)
{
    (void)state;
    assert_true(backward_with("") < 1.05 * backward_with(" --set dispatch_throttle=0"));
}

// ---- a layer of `dysharp`, step by step ---------------------------------------------------------

enum { GPUS = 2, TOKENS = 8, EXPERTS = 4 };

struct layers {
    struct bench bench; ///< a forward layer and its gradients
    struct mw_device *d;
    struct mw_layer_config config;
    struct mw_layout layout;
    unsigned handle;
    uint16_t *out;
};

static void make_streams(void *context, unsigned gpu, struct mw_stream *s)
{
    const struct layers *t = context;
    (void)gpu;
    if (t->handle != MW_HANDLE_CACHED)
        mw_stream_count(&s[0], 0, TOKENS, false);
    mw_stream_dymultimem_st(&s[1], 0, TOKENS);
    mw_stream_expert(&s[2], 0);
    mw_stream_dymultimem_ld_reduce(&s[3], 0, TOKENS, true);
}

static void open_layers(struct layers *t)
{
    *t = (struct layers){.d = layer_device(GPUS, 8)};
    bench_options(&t->bench,
                  "--gpus %u --flit-bytes 8 --hidden 32 --tokens-per-gpu %u --experts %u "
                  "--k 2 --pass step",
                  GPUS, TOKENS, EXPERTS);
    bench_prepare(&t->bench, NULL, NULL);
    mw_layer_defaults(&t->config);
    t->config.k = 2;
    t->config.tokens_per_gpu = TOKENS;
    t->config.experts_per_gpu = EXPERTS / GPUS;
    t->config.rows_per_expert = GPUS * TOKENS;
    t->config.row_bytes = 64;
    t->config.handle = MW_HANDLE_KEEP;
    assert_int_equal(mw_layout_make(t->d, &t->config, &t->layout), 0);
    assert_int_equal(mw_expert_map_even(t->d, EXPERTS), 0);
    t->out = calloc((size_t)GPUS * TOKENS * 32, sizeof *t->out);
    assert_non_null(t->out);
}

static void close_layers(struct layers *t)
{
    mw_close(t->d);
    bench_free(&t->bench);
    free(t->out);
}

/// Registers and memory for the pass. Returns the status of mw_layer_configure.
static int configure(struct layers *t, unsigned handle, enum mw_pass pass)
{
    static const unsigned tokens[GPUS] = {TOKENS, TOKENS},
                          experts[GPUS] = {EXPERTS / GPUS, EXPERTS / GPUS};
    const struct mw_layer *l = &t->bench.w.layer[pass];
    struct mw_tokens part[GPUS], old[GPUS];
    int16_t ids[GPUS * TOKENS * 2];
    t->handle = t->config.handle = handle;
    const int status = mw_layer_configure(t->d, &t->config, &t->layout, tokens, experts, 15);
    if (status)
        return status;
    for (unsigned i = 0; i < GPUS * TOKENS * 2; i++)
        ids[i] = (int16_t)l->ids[i];
    for (unsigned i = 0; i < GPUS * TOKENS * 32; i++)
        t->out[i] = 0xdead;
    for (size_t g = 0; g < GPUS; g++) {
        part[g] = (struct mw_tokens){.tokens = TOKENS,
                                     .x = l->x + g * TOKENS * 32,
                                     .topk_idx = ids + g * TOKENS * 2,
                                     .topk_weights = l->weights + g * TOKENS * 2};
        old[g] = (struct mw_tokens){.tokens = TOKENS, .x = t->out + g * TOKENS * 32};
    }
    assert_int_equal(mw_streams_load(t->d, &t->layout, MW_STREAMS, make_streams, t), 0);
    assert_int_equal(mw_routing_load(t->d, t->layout.rt_base, 2, part), 0);
    assert_int_equal(mw_rows_load(t->d, t->layout.xs_base, 64, t->layout.row_shift, part), 0);
    assert_int_equal(mw_rows_load(t->d, t->layout.out_base, 64, t->layout.row_shift, old), 0);
    assert_int_equal(
        mw_coefficients_load(t->d, &t->layout, EXPERTS / GPUS, t->bench.w.coefficients), 0);
    return 0;
}

/// The launched layer has the golden rows.
static void is_right(struct layers *t, enum mw_pass pass)
{
    static const unsigned tokens[GPUS] = {TOKENS, TOKENS};
    uint16_t *const out[GPUS] = {t->out, t->out + TOKENS * 32};
    if (mw_wait(t->d, NULL, NULL))
        fail_msg("%s", mw_message());
    assert_int_equal(mw_rows_read(t->d, t->layout.out_base, 64, t->layout.row_shift, tokens, out),
                     0);
    assert_memory_equal(t->out, t->bench.expected[pass].out, sizeof *t->out * GPUS * TOKENS * 32);
}

static void pass(struct layers *t, unsigned handle, enum mw_pass pass)
{
    if (configure(t, handle, pass) || mw_launch(t->d))
        fail_msg("%s", mw_message());
    is_right(t, pass);
}

static void refused(int status, const char *why)
{
    assert_int_equal(status, MW_ERR_HANDLE);
    if (!strstr(mw_message(), why))
        fail_msg("'%s' does not say '%s'", mw_message(), why);
}

/// The rows of x that the forward layer dispatched are still there.
static void keeps_rows(struct layers *t, const uint8_t *rows, size_t bytes)
{
    uint8_t *now = malloc(bytes);
    const struct mw_transfer read = {0, t->layout.xd_base, bytes, now};
    assert_non_null(now);
    assert_int_equal(mw_mem_read(t->d, &read, 1), 0);
    assert_memory_equal(now, rows, bytes);
    free(now);
}

static void one_handle(void **state)
{
    (void)state;
    struct layers t;
    open_layers(&t);
    const size_t bytes = (size_t)EXPERTS / GPUS << t.layout.cap_shift << t.layout.row_shift;
    uint8_t *rows = malloc(bytes);
    assert_non_null(rows);
    const struct mw_transfer read = {0, t.layout.xd_base, bytes, rows};
    assert_true(t.layout.xd_cached >= t.layout.xd_base + bytes);
    refused(configure(&t, MW_HANDLE_CACHED, MW_PASS_BACKWARD), "no layer has kept one yet");
    for (unsigned round = 0; round < 3; round++) {
        pass(&t, MW_HANDLE_KEEP, MW_PASS_FORWARD);
        assert_int_equal(mw_mem_read(t.d, &read, 1), 0);
        // as many as there are epochs: the first one begins with a sweep
        for (unsigned i = 0; i < (round ? 1 : 3); i++) {
            pass(&t, MW_HANDLE_CACHED, i == 1 ? MW_PASS_FORWARD : MW_PASS_BACKWARD);
            keeps_rows(&t, rows, bytes);
        }
        if (!round) {
            refused(mw_launch(t.d), "no epoch is left");
            refused(configure(&t, MW_HANDLE_CACHED, MW_PASS_BACKWARD), "no epoch is left");
        }
    }
    // configured once, launched twice
    pass(&t, MW_HANDLE_KEEP, MW_PASS_FORWARD);
    pass(&t, MW_HANDLE_CACHED, MW_PASS_BACKWARD);
    if (mw_launch(t.d))
        fail_msg("%s", mw_message());
    is_right(&t, MW_PASS_BACKWARD);
    free(rows);
    close_layers(&t);
}

static void stale_handles(void **state)
{
    (void)state;
    struct layers t;
    open_layers(&t);
    pass(&t, MW_HANDLE_KEEP, MW_PASS_FORWARD);
    pass(&t, MW_HANDLE_NONE, MW_PASS_COUNTED);
    refused(configure(&t, MW_HANDLE_CACHED, MW_PASS_BACKWARD), "counted its own rows");
    pass(&t, MW_HANDLE_KEEP, MW_PASS_FORWARD);
    pass(&t, MW_HANDLE_CACHED, MW_PASS_BACKWARD);
    assert_int_equal(mw_reset(t.d), 0);
    refused(configure(&t, MW_HANDLE_CACHED, MW_PASS_BACKWARD), "the device was reset");
    assert_int_equal(mw_expert_map_even(t.d, EXPERTS), 0);
    pass(&t, MW_HANDLE_KEEP, MW_PASS_FORWARD);
    assert_int_equal(mw_port_disable(t.d, 1), 0);
    assert_int_equal(mw_port_enable(t.d, 1), 0);
    refused(configure(&t, MW_HANDLE_CACHED, MW_PASS_BACKWARD), "mw_port_enable");
    pass(&t, MW_HANDLE_KEEP, MW_PASS_FORWARD);
    t.config.cache_entries = 16;
    refused(configure(&t, MW_HANDLE_CACHED, MW_PASS_BACKWARD), "other sizes");
    t.config.cache_entries = 0;
    pass(&t, MW_HANDLE_CACHED, MW_PASS_BACKWARD);
    close_layers(&t);
}

/// Write the handle's register of each GPU, which mw_layer_configure has set to none.
static void name_handle(struct layers *t, unsigned epoch)
{
    for (unsigned g = 0; g < GPUS; g++) {
        mwi_lock(t->d);
        const int status =
            mwi_write(t->d, MWI_NODE(g, handle),
                      MWI_PUT(MW_NODE__HANDLE__EPOCH, epoch) | MWI_PUT(MW_NODE__HANDLE__CACHED, 1));
        assert_int_equal(mwi_unlock(t->d, status), 0);
    }
}

/// Around the library: no GPU starts a stream, and each records the error.
static void refused_by_gpus(struct layers *t, unsigned epoch)
{
    struct mw_counters *c = malloc(sizeof *c);
    uint64_t took = 0;
    assert_non_null(c);
    if (configure(t, MW_HANDLE_NONE, MW_PASS_BACKWARD))
        fail_msg("%s", mw_message());
    name_handle(t, epoch);
    assert_int_equal(mw_launch(t->d), 0);
    assert_int_equal(mw_wait(t->d, NULL, &took), MW_ERR_DEVICE);
    if (!strstr(mw_message(), mw_hw_strerror(MW_HWERR_HANDLE)))
        fail_msg("'%s'", mw_message());
    assert_true(took < 20);
    assert_int_equal(mw_counters_read(t->d, c), 0);
    for (unsigned g = 0; g < GPUS; g++) {
        assert_int_equal(c->gpu[g].first_error, MW_HWERR_HANDLE);
        assert_int_equal(c->gpu[g].errors, 1);
        assert_int_equal(c->gpu[g].retired, 0);
    }
    free(c);
}

static void refused_by_the_device(void **state)
{
    (void)state;
    struct layers t;
    open_layers(&t);
    pass(&t, MW_HANDLE_KEEP, MW_PASS_FORWARD); // epoch 0
    refused_by_gpus(&t, 1);
    pass(&t, MW_HANDLE_NONE, MW_PASS_FORWARD); // epoch 2
    refused_by_gpus(&t, 0);                    // 3: another layer has counted
    pass(&t, MW_HANDLE_NONE, MW_PASS_FORWARD); // epoch 0, after a sweep
    refused_by_gpus(&t, 2);
    assert_int_equal(mw_reset(t.d), 0);
    assert_int_equal(mw_expert_map_even(t.d, EXPERTS), 0);
    for (unsigned epoch = 0; epoch < 4; epoch++) // nothing has counted since the reset
        refused_by_gpus(&t, epoch);
    pass(&t, MW_HANDLE_KEEP, MW_PASS_FORWARD); // all is well after them
    pass(&t, MW_HANDLE_CACHED, MW_PASS_BACKWARD);
    close_layers(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cycles),
        cmocka_unit_test(gradients_pass_throttle),
        cmocka_unit_test(one_handle),
        cmocka_unit_test(stale_handles),
        cmocka_unit_test(refused_by_the_device),
        cmocka_unit_test(random_configurations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
