// SPDX-License-Identifier: Apache-2.0
//
// red.cais in streams of the test. Checked are sums in memory, their counts, what a FLAG finds in
// memory, reds that fit no sum, and rows with too many contributions. A wrong red records its error
// at the GPU that sent it, or at the home. Other GPUs continue, and the next layer runs.
#include "host/support.h"

#include "moeswitch.h"

#include <stdlib.h>
#include <string.h>

enum { GPUS = 3, TOKENS = 8, WORDS = 64, ROW = 4 * WORDS, PACKETS = ROW / MW_PAYLOAD_MAX_BYTES };

static struct mw_device *device;
static struct mw_layout layout;
static struct mw_layer_config config;
static unsigned group[GPUS];
static uint64_t cycles; ///< of the last layer
static struct mw_multicast *groups[GPUS];

static void set_up(void)
{
    struct mw_open_options o;
    mw_open_defaults(&o);
    o.gpus = GPUS;
    o.flit_bytes = 16;
    o.primitives = MW_PRIMITIVES_ALL;
    assert_int_equal(mw_open(&o, &device), 0);
    mw_layer_defaults(&config);
    config.k = config.experts_per_gpu = 1;
    config.tokens_per_gpu = TOKENS;
    config.received_rows = config.rows_per_expert = GPUS * TOKENS;
    config.row_bytes = ROW;
    config.sum_entries = 64;
    config.sum_gpus = GPUS - 1;
    config.scratch_bytes = TOKENS * ROW;
    assert_int_equal(mw_layout_make(device, &config, &layout), 0);
    layout.st_lo = layout.yd_base; // other GPUs may write from here on
    for (unsigned g = 0; g < GPUS; g++) {
        assert_int_equal(mw_multicast_create(device, layout.end, &groups[g]), 0);
        assert_int_equal(mw_multicast_add_device(groups[g], g), 0);
        assert_int_equal(mw_multicast_bind_addr(groups[g], 0), 0);
        group[g] = (unsigned)mw_multicast_group(groups[g]);
    }
}

static void tear_down(void)
{
    for (unsigned g = 0; g < GPUS; g++)
        mw_multicast_destroy(groups[g]);
    mw_close(device);
}

static uint64_t row(unsigned index)
{
    return layout.xd_base + (uint64_t)index * ROW;
}

/// Word i of GPU g's terms.
static uint32_t term(unsigned g, unsigned i)
{
    return 1000 * g + i;
}

/// Write terms to yd_base, and 0 to the rows to which reds add.
static void load(void)
{
    for (unsigned g = 0; g < GPUS; g++) {
        uint32_t terms[TOKENS * WORDS], zero[TOKENS * WORDS] = {0};
        for (unsigned i = 0; i < TOKENS * WORDS; i++)
            terms[i] = term(g, i % WORDS);
        struct mw_transfer t[] = {{g, layout.yd_base, sizeof terms, terms},
                                  {g, layout.xd_base, sizeof zero, zero}};
        assert_int_equal(mw_mem_write(device, t, 2), 0);
    }
}

/// GPU g adds `bytes` of its terms to those of row `index` of home 0, as u32.
static void red(struct mw_stream *s, unsigned index, uint32_t bytes, unsigned redop)
{
    mw_stream_red_cais(s, group[0], layout.yd_base, bytes, row(index));
    mw_stream_reduction(s, MW_DTYPE_U32, redop);
}

/// Run a layer of these streams. Returns the status of mw_wait.
static int run(struct mw_stream *s)
{
    const unsigned tokens[GPUS] = {0}, experts[GPUS] = {1, 1, 1};
    const struct mw_wait_options w = {.size = sizeof w, .quiet_cycles = 20000, .step_cycles = 500};
    for (unsigned g = 0; g < GPUS; g++)
        assert_int_equal(mw_stream_end(&s[g]), 0);
    assert_int_equal(mw_stream_load(device, &layout, s, 1), 0);
    assert_int_equal(mw_layer_configure(device, &config, &layout, tokens, experts, 1), 0);
    assert_int_equal(mw_launch(device), 0);
    return mw_wait(device, &w, &cycles);
}

/// Row `index` of home 0 is the sum of the terms of the GPUs in `mask`.
static void assert_sum(unsigned index, unsigned mask)
{
    uint32_t got[WORDS];
    struct mw_transfer t = {0, row(index), sizeof got, got};
    assert_int_equal(mw_mem_read(device, &t, 1), 0);
    for (unsigned i = 0; i < WORDS; i++) {
        uint32_t want = 0;
        for (unsigned g = 0; g < GPUS; g++)
            want += mask >> g & 1 ? term(g, i) : 0;
        if (got[i] != want)
            fail_msg("row %u, word %u: %u, not %u", index, i, got[i], want);
    }
}

/// Only `gpu` has errors, and `code` is its first. MW_HWERR_NONE: no GPU has errors.
static void assert_error(unsigned gpu, unsigned code)
{
    struct mw_counters *k = malloc(sizeof *k);
    assert_non_null(k);
    assert_int_equal(mw_counters_read(device, k), 0);
    for (unsigned g = 0; g < GPUS; g++)
        if (k->gpu[g].first_error != (g == gpu ? code : MW_HWERR_NONE))
            fail_msg("GPU %u: error %u, not %u", g, k->gpu[g].first_error,
                     g == gpu ? code : MW_HWERR_NONE);
    free(k);
}

static void start(struct mw_stream *s)
{
    load();
    for (unsigned g = 0; g < GPUS; g++)
        mw_stream_init(&s[g]);
}

static struct mw_port_sums sums(void)
{
    struct mw_sum_counters k;
    assert_int_equal(mw_sum_counters_read(device, &k), 0);
    return k.port[0];
}

/// Both other GPUs add to one row. Two packets leave the switch, and the home counts the row.
static void both_are_added(void)
{
    struct mw_stream s[GPUS];
    start(s);
    for (unsigned g = 1; g < GPUS; g++)
        red(&s[g], 0, ROW, MW_REDOP_ADD);
    mw_stream_wait(&s[0], MW_EV_TOKENS, 1);
    assert_int_equal(run(s), 0);
    assert_error(0, MW_HWERR_NONE);
    assert_sum(0, 6);
    const struct mw_port_sums k = sums();
    assert_true(k.reds == 2 * PACKETS && k.sums == PACKETS && k.parts == 0);
    assert_true(k.saved_flits == PACKETS * (1 + MW_PAYLOAD_MAX_BYTES / 16));
}

static void sums_and_counts(void **state)
{
    (void)state;
    set_up();
    both_are_added();
    // rows are counted from sum_first on, in order, though the last one comes first
    struct mw_stream s[GPUS];
    start(s);
    config.sum_first = 2;
    for (unsigned g = 1; g < GPUS; g++)
        for (unsigned i = TOKENS; i-- > 2;)
            red(&s[g], i, ROW, MW_REDOP_ADD);
    mw_stream_wait(&s[0], MW_EV_TOKENS, TOKENS - 2);
    assert_int_equal(run(s), 0);
    assert_error(0, MW_HWERR_NONE);
    for (unsigned i = 0; i < TOKENS; i++)
        assert_sum(i, i < 2 ? 0 : 6);
    config.sum_first = 0;
    tear_down();
}

/// When a FLAG takes effect, its source's contributions are in memory, for any value of sum_cycles.
/// Sums that no red completes leave the switch after sum_cycles, and the home counts the row.
static void flags_and_times(void **state)
{
    (void)state;
    struct mw_stream s[GPUS];
    set_up();
    config.sum_cycles = UINT16_MAX;
    start(s);
    red(&s[1], 0, ROW, MW_REDOP_ADD);
    mw_stream_flag(&s[1], MW_EV_SW0, false);
    mw_stream_wait(&s[0], MW_EV_SW0, 1);
    mw_stream_multimem_st(&s[0], group[0], row(0), ROW, row(1));
    mw_stream_flag(&s[0], MW_EV_SW1, false); // only then GPU 2 adds its terms
    mw_stream_wait(&s[2], MW_EV_SW1, 1);
    red(&s[2], 0, ROW, MW_REDOP_ADD);
    mw_stream_fence(&s[2]);
    mw_stream_wait(&s[0], MW_EV_TOKENS, 1);
    assert_int_equal(run(s), 0);
    assert_error(0, MW_HWERR_NONE);
    assert_sum(0, 6);
    assert_sum(1, 2);
    assert_true(sums().sums == 2 * PACKETS && sums().parts == 2 * PACKETS);

    config.sum_cycles = 100;
    start(s);
    red(&s[1], 0, ROW, MW_REDOP_ADD);
    mw_stream_delay(&s[2], 1000);
    red(&s[2], 0, ROW, MW_REDOP_ADD);
    mw_stream_wait(&s[0], MW_EV_TOKENS, 1);
    assert_int_equal(run(s), 0);
    assert_error(0, MW_HWERR_NONE);
    assert_sum(0, 6);
    assert_int_equal(sums().parts, 2 * PACKETS);
    config.sum_cycles = 1024;
    tear_down();
}

/// The second red of row 0 comes when the first is in the table.
static void misfits(void **state)
{
    (void)state;
    static const struct {
        unsigned gpu; // that sends it
        uint32_t bytes;
        unsigned redop, code;
    } cases[] = {{1, ROW, MW_REDOP_ADD, MW_HWERR_COUNT},
                 {2, MW_PAYLOAD_MAX_BYTES / 2, MW_REDOP_ADD, MW_HWERR_LENGTH},
                 {2, ROW, MW_REDOP_MAX, MW_HWERR_REDUCTION}};
    set_up();
    config.sum_cycles = 5000;
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct mw_stream s[GPUS];
        start(s);
        red(&s[1], 0, ROW, MW_REDOP_ADD);
        mw_stream_delay(&s[cases[i].gpu], 600);
        red(&s[cases[i].gpu], 0, cases[i].bytes, cases[i].redop);
        // row 1 does not wait for row 0
        for (unsigned g = 1; g < GPUS; g++)
            red(&s[g], 1, ROW, MW_REDOP_ADD);
        assert_int_equal(run(s), MW_ERR_DEVICE); // no stream waits for row 0, which stays open
        assert_error(cases[i].gpu, cases[i].code);
        assert_sum(0, 2);
        assert_sum(1, 6);
        both_are_added();
    }
    tear_down();
}

/// The home finds too many contributions to a row, and reds to a row that is not counted.
static void counts_at_home(void **state)
{
    (void)state;
    struct mw_stream s[GPUS];
    set_up();
    config.sum_gpus = 1;
    start(s);
    for (unsigned g = 1; g < GPUS; g++)
        red(&s[g], 0, ROW, MW_REDOP_ADD);
    mw_stream_wait(&s[0], MW_EV_TOKENS, 1);
    assert_int_equal(run(s), MW_ERR_DEVICE);
    assert_error(0, MW_HWERR_COUNT);
    assert_sum(0, 6);
    config.sum_gpus = GPUS - 1;

    start(s);
    config.sum_first = 1;
    for (unsigned g = 1; g < GPUS; g++) {
        red(&s[g], 0, ROW, MW_REDOP_ADD);
        red(&s[g], 1, ROW, MW_REDOP_ADD);
    }
    mw_stream_wait(&s[0], MW_EV_TOKENS, 1);
    assert_int_equal(run(s), MW_ERR_DEVICE);
    assert_error(0, MW_HWERR_BOUNDS);
    assert_sum(0, 0);
    assert_sum(1, 6);
    config.sum_first = 0;
    both_are_added();
    tear_down();
}

static void use_sync(bool on)
{
    config.target_list_cache = config.switch_reductions = config.tile_reductions = on;
}

/// All GPUs report `rows` tiles of one row, GPU 2 late, and push when each is granted.
static void push_in_step(unsigned rows)
{
    enum { LATE = 3000 };
    struct mw_stream s[GPUS];
    start(s);
    mw_stream_delay(&s[2], LATE);
    for (unsigned i = 0; i < rows; i++)
        for (unsigned g = 0; g < GPUS; g++) {
            mw_stream_sync_pushes(&s[g], i % GPUS, i, 1);
            mw_stream_wait(&s[g], MW_EV_SYNCS, i + 1);
            if (g)
                red(&s[g], i, ROW, MW_REDOP_ADD);
        }
    mw_stream_wait(&s[0], MW_EV_TOKENS, rows);
    assert_int_equal(run(s), 0);
    assert_error(0, MW_HWERR_NONE);
    for (unsigned i = 0; i < rows; i++)
        assert_sum(i, 6);
    // without SYNC, the red of GPU 1 would leave after sum_cycles
    assert_int_equal(sums().parts, 0);
    assert_true(cycles > LATE);
}

/// Reports of tiles that are refused, and second ones. Nothing else is wrong in these layers.
static void sync_of_pushes(void **state)
{
    (void)state;
    static const struct {
        unsigned home, first, rows, turns; // turns: of this report, with another `first` each
        bool same;                         // with the same `first`
        unsigned code;
    } cases[] = {
        {GPUS, 0, 1, 1, false, MW_HWERR_UNMAPPED}, {0, 0, 0, 1, false, MW_HWERR_BOUNDS},
        {0, TOKENS, 1, 1, false, MW_HWERR_BOUNDS}, {1, TOKENS - 1, 2, 1, false, MW_HWERR_BOUNDS},
        {1, 3, 1, 2, true, MW_HWERR_COUNT},        {1, 0, 1, TOKENS + 1, false, MW_HWERR_WINDOW}};
    set_up();
    use_sync(true);
    config.sum_cycles = 100;
    push_in_step(TOKENS);
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct mw_stream s[GPUS];
        start(s);
        for (unsigned t = 0; t < cases[i].turns; t++)
            mw_stream_sync_pushes(&s[2], cases[i].home,
                                  cases[i].first + (cases[i].same ? 0 : t % TOKENS), cases[i].rows);
        assert_int_equal(run(s), MW_ERR_DEVICE);
        assert_error(2, cases[i].code);
        push_in_step(1);
    }
    for (unsigned tiles = 0; tiles < 2; tiles++) { // rows that are not counted, tiles not reported
        struct mw_stream s[GPUS];
        start(s);
        use_sync(tiles);
        config.sum_gpus = tiles ? 0 : GPUS - 1;
        mw_stream_sync_pushes(&s[2], 0, 0, 1);
        assert_int_equal(run(s), MW_ERR_DEVICE);
        assert_error(2, MW_HWERR_INSTR);
    }
    use_sync(true);
    config.sum_gpus = GPUS - 1;
    push_in_step(2);
    use_sync(false);
    config.sum_cycles = 1024;
    both_are_added();
    tear_down();
}

/// Layers in which the switch opens reductions of dispatched rows have none of SYNC's reports. They
/// run as usual if reds are counted.
static void dispatch_beside_counts(void **state)
{
    (void)state;
    enum { VALUES = ROW / 2, ONE = 0x3f80 }; // bf16
    static uint16_t x[TOKENS * VALUES], out[GPUS][TOKENS * VALUES];
    uint16_t *const got[GPUS] = {out[0], out[1], out[2]};
    const uint16_t coefficients[GPUS] = {ONE, ONE, ONE};
    int16_t expert[GPUS][TOKENS];
    float gate[TOKENS];
    struct mw_tokens part[GPUS];
    struct mw_stream s[GPUS * MW_STREAMS];
    const unsigned tokens[GPUS] = {TOKENS, TOKENS, TOKENS}, experts[GPUS] = {1, 1, 1};
    set_up();
    config.target_list_cache = config.switch_reductions = true;
    config.received_rows = 0;
    assert_int_equal(mw_layout_make(device, &config, &layout), 0);
    for (unsigned i = 0; i < TOKENS * VALUES; i++)
        x[i] = (uint16_t)(ONE + i % 64);
    for (unsigned g = 0; g < GPUS; g++) {
        for (unsigned t = 0; t < TOKENS; t++) {
            expert[g][t] = (int16_t)((g + t) % GPUS);
            gate[t] = 1;
        }
        part[g] = (struct mw_tokens){TOKENS, x, expert[g], gate};
        struct mw_stream *own = &s[g * MW_STREAMS];
        for (unsigned i = 0; i < MW_STREAMS; i++)
            mw_stream_init(&own[i]);
        mw_stream_count(&own[0], 0, TOKENS, false);
        mw_stream_dymultimem_st(&own[1], 0, TOKENS);
        mw_stream_expert(&own[2], 0);
        mw_stream_dymultimem_ld_reduce(&own[3], 0, TOKENS, true);
        for (unsigned i = 0; i < MW_STREAMS; i++)
            assert_int_equal(mw_stream_end(&own[i]), 0);
    }
    assert_int_equal(mw_expert_map_even(device, GPUS), 0);
    assert_int_equal(mw_coefficients_load(device, &layout, 1, coefficients), 0);
    assert_int_equal(mw_routing_load(device, layout.rt_base, 1, part), 0);
    assert_int_equal(mw_rows_load(device, layout.xs_base, ROW, layout.row_shift, part), 0);
    assert_int_equal(mw_stream_load(device, &layout, s, MW_STREAMS), 0);
    assert_int_equal(mw_layer_configure(device, &config, &layout, tokens, experts, 15), 0);
    assert_int_equal(mw_launch(device), 0);
    if (mw_wait(device, NULL, &cycles))
        fail_msg("%s", mw_message());
    assert_error(0, MW_HWERR_NONE);
    assert_int_equal(mw_rows_read(device, layout.out_base, ROW, layout.row_shift, tokens, got), 0);
    for (unsigned g = 0; g < GPUS; g++)
        assert_memory_equal(out[g], x, sizeof x);
    tear_down();
}

/// A partition of GPUs 0 and 1 pushes in step, for any reports of GPU 2. Its report of a tile
/// outside its own partition is refused.
static void sync_of_a_partition(void **state)
{
    (void)state;
    struct mw_stream s[GPUS];
    set_up();
    use_sync(true);
    config.sum_gpus = 1;
    for (unsigned g = 0; g < GPUS; g++)
        assert_int_equal(mw_partition_set(device, g, g < 2 ? 3 : 4), 0);
    start(s);
    mw_stream_sync_pushes(&s[2], 0, 0, 1);
    mw_stream_delay(&s[1], 500);
    for (unsigned g = 0; g < 2; g++)
        mw_stream_sync_pushes(&s[g], 0, 0, 1);
    mw_stream_wait(&s[1], MW_EV_SYNCS, 1);
    red(&s[1], 0, ROW, MW_REDOP_ADD);
    mw_stream_wait(&s[0], MW_EV_TOKENS, 1);
    assert_int_equal(run(s), MW_ERR_DEVICE);
    assert_error(2, MW_HWERR_PARTITION);
    assert_sum(0, 2);
    for (unsigned g = 0; g < GPUS; g++)
        assert_int_equal(mw_partition_set(device, g, 7), 0);
    config.sum_gpus = GPUS - 1;
    push_in_step(2);
    tear_down();
}

/// GPU 2 reports the first tile alone. The others wait for the second one, and the state report
/// shows where.
static void tile_not_reported(void **state)
{
    (void)state;
    struct mw_stream s[GPUS];
    set_up();
    use_sync(true);
    start(s);
    for (unsigned g = 0; g < GPUS; g++)
        for (unsigned i = 0; i < (g == 2 ? 1 : 2); i++) {
            mw_stream_sync_pushes(&s[g], 0, i, 1);
            mw_stream_wait(&s[g], MW_EV_SYNCS, i + 1);
            if (g)
                red(&s[g], i, ROW, MW_REDOP_ADD);
        }
    assert_int_equal(run(s), MW_ERR_TIMEOUT);
    char *report = mw_state_report(device);
    assert_non_null(report);
    static const char *const parts[] = {
        "GPU 0 stream 0: instruction 3 wait, waiting: event counter SYNCS >= 2, which no register "
        "shows\n",
        "GPU 1 stream 0: instruction 4 wait, waiting: event counter SYNCS >= 2, which no register "
        "shows\n",
        "GPU 2 stream 0: instruction 4 end, ended\n"};
    for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strstr(report, parts[i]))
            fail_msg("\"%s\" does not say \"%s\"", report, parts[i]);
    assert_null(strstr(report, " errors"));
    free(report);
    assert_int_equal(mw_reset(device), 0);
    push_in_step(2);
    tear_down();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_and_counts),
        cmocka_unit_test(flags_and_times),
        cmocka_unit_test(misfits),
        cmocka_unit_test(counts_at_home),
        cmocka_unit_test(sync_of_pushes),
        cmocka_unit_test(dispatch_beside_counts),
        cmocka_unit_test(sync_of_a_partition),
        cmocka_unit_test(tile_not_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
