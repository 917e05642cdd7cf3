// SPDX-License-Identifier: Apache-2.0
//
// One or two GPUs misbehave in a whole device, while blocks are stored and added up or during a
// whole MoE layer. Their ports go down in time and are reported. The data of the other GPUs are
// right and not late. After the ports are enabled again, everything is as before, to the cycle.
#include "system/bench.h"

#include "system/layers.h"
#include "moeswitch.h"

enum {
    GPUS = 4,
    BAD = 2,
    BAD_TOO = 3, ///< where two misbehave
    BLOCK = 4096,
    PERIOD_LOG2 = 8,
    PERIOD = 1 << PERIOD_LOG2,
    SPACE = (GPUS + 2) * BLOCK, ///< own values, a block from every GPU, a sum
    SUM = (GPUS + 1) * BLOCK,
};

struct device {
    struct mw_device *d;
    struct mw_layer_config config;
    struct mw_layout layout;
    struct mw_multicast *all, *two; ///< all GPUs; two that behave
    uint8_t own[GPUS][BLOCK];
    uint8_t memory[GPUS][SPACE]; ///< as read after a layer
    uint8_t right[GPUS][SPACE];  ///< after the layer in which no GPU misbehaved
    uint64_t cycles;             ///< of that
    bool sums;                   ///< GPUs 0 and 1 add blocks, of all GPUs and of each other
    unsigned bad;                ///< mask of the GPUs that misbehave
    unsigned faults_too;         ///< of BAD_TOO
};

static void open_device(struct device *t)
{
    struct mw_open_options o;
    *t = (struct device){.bad = 1u << BAD};
    mw_open_defaults(&o);
    o.gpus = GPUS;
    o.flit_bytes = 8;
    assert_int_equal(mw_open(&o, &t->d), 0);
    mw_layer_defaults(&t->config);
    t->config.k = t->config.tokens_per_gpu = t->config.experts_per_gpu = 1;
    t->config.rows_per_expert = 1;
    t->config.row_bytes = 64;
    t->config.scratch_bytes = SPACE;
    assert_int_equal(mw_layout_make(t->d, &t->config, &t->layout), 0);
    struct mw_multicast **const groups[] = {&t->all, &t->two};
    const unsigned members[] = {GPUS, 2};
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(mw_multicast_create(t->d, SPACE, groups[i]), 0);
        for (unsigned g = 0; g < members[i]; g++)
            assert_int_equal(mw_multicast_add_device(*groups[i], g), 0);
        assert_int_equal(mw_multicast_bind_addr(*groups[i], t->layout.scratch), 0);
    }
    // bf16 values of 1 to 2, so that no sum is special
    for (unsigned g = 0; g < GPUS; g++)
        for (unsigned i = 0; i < BLOCK; i += 2) {
            t->own[g][i] = (uint8_t)((i * 7 + g * 31) & 0x7f) | 0x80;
            t->own[g][i + 1] = 0x3f;
        }
    assert_int_equal(mw_port_limit(t->d, PERIOD_LOG2), 0);
}

static void close_device(struct device *t)
{
    mw_multicast_destroy(t->all);
    mw_multicast_destroy(t->two);
    mw_close(t->d);
}

/// A layer: every GPU stores its block to every other one, then two of them reduce. Returns
/// mw_wait's status.
static int layer(struct device *t, unsigned faults, uint64_t *cycles)
{
    const unsigned tokens[GPUS] = {1, 1, 1, 1};
    const struct mw_wait_options w = {
        .size = sizeof w, .quiet_cycles = 40 * PERIOD, .step_cycles = 20 * PERIOD};
    struct mw_transfer list[GPUS];
    struct mw_stream s[GPUS];
    uint32_t scratch = t->layout.scratch;
    for (unsigned g = 0; g < GPUS; g++) {
        memset(t->memory[g], 0, SPACE);
        memcpy(t->memory[g], t->own[g], BLOCK);
        list[g] = (struct mw_transfer){g, scratch, SPACE, t->memory[g]};
        mw_stream_init(&s[g]);
        for (unsigned d = 1; d < GPUS; d++)
            mw_stream_st_linear(&s[g], (g + d) % GPUS, scratch, BLOCK, scratch + (1 + g) * BLOCK);
        if (t->sums && g < 2)
            mw_stream_multimem_ld_reduce(&s[g], (unsigned)mw_multicast_group(g ? t->two : t->all),
                                         scratch, BLOCK, scratch + SUM);
        assert_int_equal(mw_stream_end(&s[g]), 0);
    }
    assert_int_equal(mw_mem_write(t->d, list, GPUS), 0);
    assert_int_equal(mw_stream_load(t->d, &t->layout, s, 1), 0);
    assert_int_equal(mw_layer_configure(t->d, &t->config, &t->layout, tokens, tokens, 1), 0);
    assert_int_equal(mw_fault_set(t->d, BAD, faults, 512), 0);
    assert_int_equal(mw_fault_set(t->d, BAD_TOO, t->faults_too, 512), 0);
    assert_int_equal(mw_launch(t->d), 0);
    return mw_wait(t->d, &w, cycles);
}

static void read_back(struct device *t)
{
    struct mw_transfer list[GPUS];
    for (unsigned g = 0; g < GPUS; g++)
        list[g] = (struct mw_transfer){g, t->layout.scratch, SPACE, t->memory[g]};
    assert_int_equal(mw_mem_read(t->d, list, GPUS), 0);
}

static void good_layer(struct device *t)
{
    assert_int_equal(layer(t, 0, &t->cycles), 0);
    read_back(t);
    for (unsigned g = 0; g < GPUS; g++) {
        memcpy(t->right[g], t->memory[g], SPACE);
        for (unsigned from = 0; from < GPUS; from++)
            if (from != g)
                assert_memory_equal(&t->right[g][(1 + from) * BLOCK], t->own[from], BLOCK);
    }
}

/// The data that the other GPUs got from each other are right.
static void others_are_right(struct device *t)
{
    read_back(t);
    for (unsigned g = 0; g < GPUS; g++) {
        for (unsigned from = 0; from < GPUS; from++)
            if (!(t->bad >> g & 1) && !(t->bad >> from & 1))
                assert_memory_equal(&t->memory[g][(1 + from) * BLOCK],
                                    &t->right[g][(1 + from) * BLOCK], BLOCK);
    }
    if (t->sums)
        assert_memory_equal(&t->memory[1][SUM], &t->right[1][SUM], BLOCK);
}

static void enable(struct device *t)
{
    uint32_t down;
    for (unsigned g = 0; g < GPUS; g++)
        if (t->bad >> g & 1)
            assert_int_equal(mw_port_enable(t->d, g), 0);
    assert_int_equal(mw_ports_down(t->d, &down), 0);
    assert_int_equal(down, 0);
}

/// The device is as it was, to the cycle.
static void is_as_before(struct device *t)
{
    uint64_t cycles;
    assert_int_equal(layer(t, 0, &cycles), 0);
    read_back(t);
    assert_memory_equal(t->memory, t->right, sizeof t->right);
    assert_int_equal(cycles, t->cycles);
}

static void is_down(struct device *t, unsigned error)
{
    uint32_t down;
    struct mw_counters c;
    assert_int_equal(mw_ports_down(t->d, &down), 0);
    assert_int_equal(down, 1u << BAD);
    assert_int_equal(mw_counters_read(t->d, &c), 0);
    assert_int_equal(c.switch_error_port, BAD);
    assert_int_equal(c.switch_first_error, error);
}

/// The GPU returns no credit. The layer ends, at most a time limit late, and its stores for the
/// port are discarded.
static void takes_nothing(void **state)
{
    (void)state;
    struct device t;
    struct mw_counters c;
    uint64_t cycles;
    open_device(&t);
    good_layer(&t);
    assert_int_equal(layer(&t, MW_FAULT_ACCEPT, &cycles), MW_ERR_DEVICE);
    assert_line(mw_message(), "switch, input 2: port marked down", "accepted no waiting packet");
    is_down(&t, MW_HWERR_SINK);
    others_are_right(&t);
    assert_true(cycles <= t.cycles + 6 * PERIOD + 1000);
    assert_int_equal(mw_counters_read(t.d, &c), 0);
    assert_true(c.port[BAD].discarded > 0);
    enable(&t);
    is_as_before(&t);
    close_device(&t);
}

/// The GPU cannot end its part of the layer, and the report states the cause. The reset of the GPU
/// ends it.
static void stands_still(struct device *t, unsigned faults, unsigned error)
{
    uint64_t cycles;
    assert_int_equal(layer(t, faults, &cycles), MW_ERR_TIMEOUT);
    assert_line(mw_message(), "no progress for", "port 2 is down");
    char *report = mw_state_report(t->d);
    assert_non_null(report);
    assert_non_null(strstr(report, "port 2 is down"));
    free(report);
    is_down(t, error);
    enable(t);
    assert_int_equal(mw_wait(t->d, NULL, &cycles), MW_ERR_DEVICE);
    others_are_right(t);
}

static void stops_inside_a_packet(void **state)
{
    (void)state;
    struct device t;
    open_device(&t);
    good_layer(&t);
    stands_still(&t, MW_FAULT_SEND, MW_HWERR_LENGTH); // of the packet that was cut short
    is_as_before(&t);
    close_device(&t);
}

/// The GPU sends no partial sums. A sum with it is poisoned, one without it is right.
static void answers_nothing(void **state)
{
    (void)state;
    struct device t;
    struct mw_counters c;
    open_device(&t);
    t.sums = true;
    good_layer(&t);
    stands_still(&t, MW_FAULT_ANSWER, MW_HWERR_LATE);
    assert_int_equal(mw_counters_read(t.d, &c), 0);
    assert_int_equal(c.gpu[0].first_error, MW_HWERR_POISON);
    assert_int_equal(c.gpu[1].errors, 0);
    is_as_before(&t);
    close_device(&t);
}

/// The GPU sends an unknown opcode, or stores of an older layer. They are rejected and counted, and
/// the port stays up.
static void sends_what_is_rejected(void **state)
{
    (void)state;
    static const unsigned faults[] = {MW_FAULT_OPCODE, MW_FAULT_EPOCH},
                          errors[] = {MW_HWERR_OPCODE, MW_HWERR_EPOCH};
    struct device t;
    struct mw_counters c;
    uint32_t down;
    uint64_t cycles;
    open_device(&t);
    good_layer(&t);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(layer(&t, faults[i], &cycles), MW_ERR_DEVICE);
        assert_line(mw_message(), "switch, input 2: ", mw_hw_strerror(errors[i]));
        assert_int_equal(mw_ports_down(t.d, &down), 0);
        assert_int_equal(down, 0);
        others_are_right(&t);
        assert_int_equal(mw_counters_read(t.d, &c), 0);
        assert_int_equal(c.switch_first_error, errors[i]);
        assert_true(c.port[BAD].rejected > 10);
        for (unsigned g = 0; g < GPUS; g++)
            assert_true(g == BAD || c.port[g].rejected + c.gpu[g].errors == 0);
        assert_int_equal(layer(&t, 0, &cycles), 0);
        assert_int_equal(cycles, t.cycles);
    }
    close_device(&t);
}

/// Two GPUs misbehave at once, each in each way. If a GPU does not answer, send or accept, its port
/// is down. The data that the two others got from each other are right.
static void two_at_once(void **state)
{
    (void)state;
    static const unsigned faults[] = {MW_FAULT_ACCEPT, MW_FAULT_SEND, MW_FAULT_ANSWER,
                                      MW_FAULT_OPCODE, MW_FAULT_EPOCH};
    enum { FAULTS = sizeof faults / sizeof *faults };
    struct device t;
    open_device(&t);
    t.sums = true;
    t.bad = 1u << BAD | 1u << BAD_TOO;
    good_layer(&t);
    for (unsigned i = 0; i < FAULTS * FAULTS; i++) {
        unsigned one = faults[i / FAULTS], other = faults[i % FAULTS];
        uint32_t down, expected = 0;
        uint64_t cycles;
        struct mw_counters c;
        print_message("GPU %d: 0x%x, GPU %d: 0x%x\n", BAD, one, BAD_TOO, other);
        t.faults_too = other;
        int status = layer(&t, one, &cycles);
        t.faults_too = 0;
        // a partial sum or a packet is missing when its port can no longer have one on the way
        expected |= one < MW_FAULT_OPCODE ? 1u << BAD : 0;
        expected |= other < MW_FAULT_OPCODE ? 1u << BAD_TOO : 0;
        assert_int_equal(mw_ports_down(t.d, &down), 0);
        assert_int_equal(down, expected);
        assert_int_equal(mw_counters_read(t.d, &c), 0);
        assert_true(c.switch_errors > 0);
        assert_true(t.bad >> c.switch_error_port & 1);
        assert_int_equal(c.gpu[1].errors, 0);
        for (unsigned g = 0; g < GPUS; g++)
            assert_true(t.bad >> g & 1 || c.port[g].rejected == 0);
        enable(&t);
        if (status == MW_ERR_TIMEOUT)
            status = mw_wait(t.d, NULL, &cycles);
        assert_int_equal(status, MW_ERR_DEVICE);
        others_are_right(&t);
        is_as_before(&t);
    }
    close_device(&t);
}

/// A MoE layer, in which all GPUs wait for each other. It stops, and the report states the cause.
/// The ports of all GPUs that have not finished are disabled and enabled. Then the layer ends, and
/// the next one is as usual.
static void in_a_layer(void **state)
{
    (void)state;
    static const struct {
        unsigned faults;
        const char *message;
    } ways[] = {{MW_FAULT_ACCEPT, "port 2 is down"},
                {MW_FAULT_SEND, "port 2 is down"},
                {MW_FAULT_ANSWER, "port 2 is down"},
                {MW_FAULT_OPCODE, "switch, input 2: unknown"},
                {MW_FAULT_EPOCH, "switch, input 2: packet of another epoch"}};
    static const struct layer_shape shape = {GPUS, 16, 128, 4 * GPUS, 4, false};
    const struct mw_wait_options w = {
        .size = sizeof w, .quiet_cycles = 40 * PERIOD, .step_cycles = 20 * PERIOD};
    struct mw_random r = {test_seed()};
    struct device t;
    struct layer l;
    open_device(&t);
    layer_make(&l, &shape, &r);
    uint64_t cycles = layer_pass(&l, t.d, "nobody misbehaves");
    struct mw_counters counters = l.counters;
    for (unsigned i = 0; i < 3 * sizeof ways / sizeof *ways; i++) {
        unsigned faults = ways[i / 3].faults;
        unsigned after = (unsigned)(mw_random_below(&r, cycles / 2) / 64 * 64);
        struct mw_counters c;
        uint64_t ended;
        uint32_t down;
        print_message("0x%x, %u cycles behind go\n", faults, after);
        assert_int_equal(mw_fault_set(t.d, BAD, faults, after), 0);
        assert_int_equal(layer_run(&l, t.d, &w), MW_ERR_TIMEOUT);
        assert_line(mw_message(), "no progress for", ways[i / 3].message);
        assert_int_equal(mw_counters_read(t.d, &c), 0);
        assert_int_equal(c.switch_error_port, BAD);
        assert_true(c.switch_errors > 0);
        assert_int_equal(mw_ports_down(t.d, &down), 0);
        assert_int_equal(down, faults < MW_FAULT_OPCODE ? 1u << BAD : 0);
        enable(&t);
        for (unsigned g = 0; g < GPUS; g++) {
            assert_int_equal(mw_port_disable(t.d, g), 0);
            assert_int_equal(mw_port_enable(t.d, g), 0);
        }
        assert_int_equal(mw_wait(t.d, &w, &ended), MW_ERR_DEVICE);
        assert_int_equal(layer_pass(&l, t.d, "afterwards"), cycles);
        assert_memory_equal(&l.counters, &counters, sizeof counters);
    }
    layer_free(&l);
    close_device(&t);
}

/// Taken down and up by software, between layers.
static void by_software(void **state)
{
    (void)state;
    struct device t;
    uint32_t down;
    uint64_t cycles;
    open_device(&t);
    good_layer(&t);
    assert_int_equal(mw_port_disable(t.d, GPUS), MW_ERR_INVALID);
    assert_int_equal(mw_port_enable(t.d, GPUS), MW_ERR_INVALID);
    assert_int_equal(mw_port_limit(t.d, 23), MW_ERR_INVALID);
    assert_int_equal(mw_fault_set(t.d, 0, MW_FAULT_ALL + 1, 0), MW_ERR_INVALID);
    assert_int_equal(mw_port_enable(t.d, BAD), 0); // it is up
    assert_int_equal(layer(&t, 0, &cycles), 0);
    assert_int_equal(mw_port_disable(t.d, BAD), 0);
    assert_int_equal(mw_ports_down(t.d, &down), 0);
    assert_int_equal(down, 1u << BAD);
    enable(&t);
    is_as_before(&t);
    close_device(&t);
}

/// `moeswitch run` ends, and reports which port is down.
static void a_run_names_the_port(void **state)
{
    (void)state;
    struct bench b;
    struct mw_result r;
    bench_options(&b, "--gpus 4 --flit-bytes 8 --hidden 64 --experts 8 --k 2 --tokens-per-gpu 8 "
                      "--set quiet_cycles=30000 --set port_limit=9 --set fault=4 "
                      "--set fault_gpu=1 --set fault_after=256");
    bench_prepare(&b, NULL, NULL);
    assert_int_equal(bench_run(&b, "dysharp", &r), MW_EXIT_STUCK);
    assert_line(r.error.text, "layer 0: no progress for", "port 1 is down");
    assert_non_null(strstr(r.state, "port 1 is down"));
    assert_non_null(strstr(r.state, "a partial sum did not arrive"));
    mw_result_free(&r);
    bench_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_nothing),   cmocka_unit_test(stops_inside_a_packet),
        cmocka_unit_test(answers_nothing), cmocka_unit_test(sends_what_is_rejected),
        cmocka_unit_test(by_software),     cmocka_unit_test(a_run_names_the_port),
        cmocka_unit_test(two_at_once),     cmocka_unit_test(in_a_layer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
