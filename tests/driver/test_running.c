// SPDX-License-Identifier: Apache-2.0
//
// What a layer writes into registers, how it is started and waited for, and every call that may
// fail. test_observed.c tests the errors that a device reports.
#include "fake_device.h"

#include <stdio.h>
#include <string.h>

// ---- registers of a layer -----------------------------------------------------------------------

static const unsigned TOKENS[4] = {5, 0, 1, 4}, EXPERTS[4] = {3, 1, 0, 2};

static int configure(const struct mw_layer_config *c)
{
    struct mw_layout l;
    int status = mw_layout_make(device, c, &l);
    return status ? status : mw_layer_configure(device, c, &l, TOKENS, EXPERTS, 0x7);
}

/// Run what is configured to its end.
static void run(void)
{
    assert_code(mw_launch(device), 0);
    assert_code(mw_wait(device, NULL, NULL), 0);
}

static void registers(void **state)
{
    (void)state;
    struct mw_layer_config c = small_config();
    struct mw_layout l;
    c.tile = 9;
    c.expert_cycles = 1234;
    c.partial_tiles = true;
    c.in_flight = 77;
    c.target_list_cache = true;
    c.store_credits = 2;
    c.part_credits = 3;
    c.ctrl_credits = 4;
    c.throttle = 5;
    c.down_store_credits = 6;
    c.down_part_credits = 3;
    c.down_throttle = 8;
    c.start_delay = 100;
    c.link_cycles = 3;
    c.launch_cycles = 4321;
    assert_code(mw_layout_make(device, &c, &l), 0);
    assert_code(mw_layer_configure(device, &c, &l, TOKENS, EXPERTS, 0x7), 0);
    for (unsigned g = 0; g < 4; g++) {
        const uint32_t expect[][2] = {
            {NODE(shape), 3 | TOKENS[g] << 16},
            {NODE(shifts), 3 | 2 << 4 | 2 << 8 | 6 << 12 | 4 << 16 | 3 << 20 | 9 << 25},
            {NODE(row), 40 | EXPERTS[g] << 16},
            {NODE(xs_base), BASE(l.xs_base)},
            {NODE(rt_base), BASE(l.rt_base)},
            {NODE(xd_base), BASE(l.xd_base)},
            {NODE(yd_base), BASE(l.yd_base)},
            {NODE(gt_base), BASE(l.gt_base)},
            {NODE(al_base), BASE(l.al_base)},
            {NODE(out_base), BASE(l.out_base)},
            {NODE(cb_base), BASE(l.cb_base)},
            {NODE(ce_base), BASE(l.ce_base)},
            {NODE(st_lo), BASE(l.st_lo)},
            {NODE(st_hi), BASE(l.st_hi)},
            {NODE(stream_base0), BASE(l.stream[0])},
            {NODE(stream_base3), BASE(l.stream[3])},
            {NODE(streams), 7 | (4321 + 100 * g) << 16},
            {NODE(expert), 9 | 1234u << 16},
            {NODE(partial), 1 | 64 << 16},
            {NODE(window), 77 | 8 << 16},
            {NODE(credits), 2 | 3 << 8 | 4 << 16 | 5u << 24},
            {NODE(uses), MW_NODE__USES__ADDER_BYPASS_bm | MW_NODE__USES__TARGET_LIST_CACHE_bm},
            {NODE(link), 2},
        };
        for (size_t i = 0; i < sizeof expect / sizeof *expect; i++)
            assert_int_equal(*fake_node(&fake, g, expect[i][0]), expect[i][1]);
    }
    assert_int_equal(*fake_fabric(&fake, FABRIC(credits)), 6 | 3 << 8 | 2 << 16 | 8u << 24);
}

/// Of a device that merges loads, the switch and the GPUs get the range of those rows.
static void loads_are_configured(void **state)
{
    (void)state;
    enum { PARTS = 1, PACKETS = 2 }; // of rows of 256 bytes; log2 of the parts
    struct mw_layer_config c = small_config();
    struct mw_layout l;
    *fake_fabric(&fake, FABRIC(load_room)) = 8u << 24 | 32u << 16 | 320;
    *fake_fabric(&fake, FABRIC(tables)) |= 4u << MW_FABRIC__TABLES__LOAD_PARTS_bp;
    fake_open_with_all();
    c.k = 1;
    c.row_bytes = 256;
    c.target_list_cache = c.switch_reductions = c.tile_reductions = c.merge_loads = true;
    c.received_rows = 32;
    c.load_first = 3;
    c.load_expert = 2;
    c.merge_entries = 300;
    c.load_bytes = 128;
    c.fetch_cycles = 77;
    c.sum_entries = 7;
    c.sum_cycles = 99;
    c.sum_gpus = 2;
    c.sum_first = 5;
    assert_code(mw_layout_make(device, &c, &l), 0);
    l.load_base = 0x1230;
    assert_code(mw_layer_configure(device, &c, &l, TOKENS, EXPERTS, 7), 0);
    for (unsigned g = 0; g < 4; g++) {
        assert_true(*fake_node(&fake, g, NODE(uses)) & MW_NODE__USES__MERGE_LOADS_bm);
        assert_int_equal(*fake_node(&fake, g, NODE(loads)), 3 | 2 << 16 | PARTS << 24);
        assert_int_equal(*fake_node(&fake, g, NODE(load_base)), BASE(l.load_base));
        assert_int_equal(*fake_node(&fake, g, NODE(red_rows)), 5 | 2 * PACKETS << 16);
    }
    assert_int_equal(*fake_fabric(&fake, FABRIC(loads)), 3 | 300u << 16 | PARTS << 25 | 1u << 31);
    assert_int_equal(*fake_fabric(&fake, FABRIC(sums)), 99 | 7u << 16 | 1u << 25);
    assert_int_equal(*fake_fabric(&fake, FABRIC(fetches)), 77);
    c.merge_loads = false;
    c.load_bytes = 0;
    assert_code(mw_layer_configure(device, &c, &l, TOKENS, EXPERTS, 7), 0);
    assert_int_equal(*fake_fabric(&fake, FABRIC(loads)) >> 31, 0);
    l.load_base = fake.gpus * (uint64_t)FAKE_MEM; // after the memory
    assert_code(mw_layer_configure(device, &c, &l, TOKENS, EXPERTS, 7), MW_ERR_INVALID);
}

/// Kept answers have MW_KEPT_STORES credits of each uplink: GPUs use the others, or fewer if so
/// configured.
static void kept_answers_have_credits(void **state)
{
    (void)state;
    struct mw_layer_config c = small_config();
    struct mw_layout l;
    const unsigned room = MW_KEPT_STORES, all = *fake_fabric(&fake, FABRIC(up_room)) & 0xffff;
    *fake_fabric(&fake, FABRIC(load_room)) = 8u << 24 | 32u << 16 | 16u << 9 | 320;
    fake_open_with_all();
    c.k = 1;
    c.target_list_cache = c.switch_reductions = c.tile_reductions = c.merge_loads = true;
    c.received_rows = 32;
    c.merge_entries = 300;
    const unsigned said[] = {0, 2, all - room, all - room + 1, all};
    for (unsigned keep = 0; keep < 2; keep++)
        for (unsigned i = 0; i < sizeof said / sizeof *said; i++) {
            c.keep_answers = keep;
            c.store_credits = said[i];
            assert_code(mw_layout_make(device, &c, &l), 0);
            assert_code(mw_layer_configure(device, &c, &l, TOKENS, EXPERTS, 7), 0);
            const unsigned most = said[i] == 2 ? 2 : all - room;
            for (unsigned g = 0; g < 4; g++)
                assert_int_equal(*fake_node(&fake, g, NODE(credits)) & 255, keep ? most : said[i]);
            assert_int_equal(*fake_fabric(&fake, FABRIC(loads)) >> 30 & 1, keep);
        }
}

static void configure_checks(void **state)
{
    (void)state;
    struct mw_layer_config c = small_config();
    struct mw_layout l;
    const unsigned many[4] = {5, 6, 1, 4};
    assert_code(mw_layout_make(device, &c, &l), 0);
    assert_code(mw_layer_configure(device, &c, &l, many, EXPERTS, 7), MW_ERR_INVALID);
    assert_message("GPU 1: 6 tokens");
    assert_code(mw_layer_configure(device, &c, &l, TOKENS, many, 7), MW_ERR_INVALID);
    assert_code(mw_layer_configure(device, &c, &l, TOKENS, EXPERTS, 16), MW_ERR_INVALID);
    c.start_delay = 30000;
    assert_code(mw_layer_configure(device, &c, &l, TOKENS, EXPERTS, 7), MW_ERR_INVALID);
    c.start_delay = 0;
    c.link_cycles = 5;
    assert_code(mw_layer_configure(device, &c, &l, TOKENS, EXPERTS, 7), MW_ERR_INVALID);
    assert_message("link_cycles: 5 is not in 0 .. 4");
    c.link_cycles = 0;
    c.tile = 256;
    assert_code(mw_layer_configure(device, &c, &l, TOKENS, EXPERTS, 7), MW_ERR_INVALID);
    assert_message("tile: 256 is not in 1 .. 255");
    assert_code(mw_launch(device), MW_ERR_STATE); // nothing was configured
    assert_message("no layer was configured");
}

static void launch_cycles_fit_their_register(void **state)
{
    (void)state;
    struct mw_layer_config c = small_config();
    struct mw_layout l;
    assert_code(mw_layout_make(device, &c, &l), 0);
    assert_code(mw_layer_set(&c, "launch_cycles", 65535), 0);
    assert_int_equal(c.launch_cycles, 65535);
    assert_code(mw_layer_set(&c, "launch_cycles", 65536), MW_ERR_INVALID);
    c.start_delay = 10000; // the fourth GPU: 30000
    c.launch_cycles = 35535;
    assert_code(mw_layer_configure(device, &c, &l, TOKENS, EXPERTS, 7), 0);
    c.launch_cycles++;
    assert_code(mw_layer_configure(device, &c, &l, TOKENS, EXPERTS, 7), MW_ERR_INVALID);
    assert_message("launch_cycles: the last GPU may start 65535 cycles late");
    c.launch_cycles = UINT32_MAX; // no sum of which is small again
    assert_code(mw_layer_configure(device, &c, &l, TOKENS, EXPERTS, 7), MW_ERR_INVALID);
}

// ---- running ------------------------------------------------------------------------------------

static void epochs(void **state)
{
    (void)state;
    struct mw_layer_config c = small_config();
    uint64_t cycles;
    assert_code(mw_wait(device, NULL, &cycles), MW_ERR_STATE);
    assert_code(configure(&c), 0);
    for (unsigned i = 0; i < 9; i++) {
        assert_code(mw_launch(device), 0);
        assert_int_equal(*fake_fabric(&fake, FABRIC(epoch)), i % 4);
        assert_int_equal(fake.sweeps, 1 + i / 4);
        assert_int_equal(fake.go, i + 1);
        assert_code(mw_launch(device), MW_ERR_STATE);
        assert_code(configure(&c), MW_ERR_STATE);
        assert_code(mw_mem_read(device, NULL, 0), MW_ERR_STATE);
        assert_code(mw_partition_set(device, 0, 1), MW_ERR_STATE);
        assert_code(mw_expert_map_set(device, NULL, 0), MW_ERR_STATE);
        cycles = 0;
        assert_code(mw_wait(device, NULL, &cycles), 0);
        assert_int_equal(cycles, 1000);
    }
    c.tokens_per_gpu = 9; // the tables move
    assert_code(configure(&c), 0);
    assert_code(mw_launch(device), 0);
    assert_int_equal(fake.sweeps, 4);
    assert_int_equal(*fake_fabric(&fake, FABRIC(epoch)), 0);
    assert_code(mw_wait(device, NULL, NULL), 0);
}

/// A layer that begins with its tables swept, or not.
static bool sweeps_for(const struct mw_layer_config *c, const struct mw_layout *l)
{
    static const unsigned none[4] = {0, 0, 0, 0};
    const unsigned sweeps = fake.sweeps;
    assert_code(mw_layer_configure(device, c, l, none, none, 1), 0);
    run();
    assert_in_range(fake.sweeps, sweeps, sweeps + 1);
    assert_int_equal(*fake_fabric(&fake, FABRIC(epoch)) == 0, fake.sweeps > sweeps);
    return fake.sweeps > sweeps;
}

/// Each setting that places or sizes swept tables is changed alone, and back. The tables then have
/// earlier contents, so both cause a sweep. Other settings cause none.
static void settings_that_move_tables(void **state)
{
    (void)state;
    enum { MOVE = 7, STAY = 6 };
    *fake_fabric(&fake, FABRIC(primitives)) |= MW_FABRIC__PRIMITIVES__CACHE_LIMIT_bm |
                                               MW_FABRIC__PRIMITIVES__ROW_SPARSE_bm |
                                               MW_FABRIC__PRIMITIVES__SOURCE_LISTS_bm;
    fake_reopen();
    for (unsigned i = 0; i < MOVE + STAY; i++) {
        struct mw_layer_config c = small_config(), other;
        struct mw_layout l, moved;
        c.cache_entries = 64;
        c.row_returns = true;
        assert_code(mw_layout_make(device, &c, &l), 0);
        other = c;
        moved = l;
        moved.al_base += i == 0 ? MW_BASE_UNIT : 0;
        moved.token_shift += i == 1;
        moved.n_shift += i == 2;
        moved.cap_shift += i == 3;
        other.experts_per_gpu += i == 4;
        other.cache_entries -= i == 5 ? 32 : 0;
        other.source_lists = i == 6;
        moved.xd_base += i == 7 ? MW_BASE_UNIT : 0;
        moved.row_shift += i == 8;
        other.tile += i == 9;
        other.in_flight += i == 10 ? 3 : 0;
        other.k -= i == 11;
        other.row_bytes -= i == 12 ? 8 : 0;
        const bool must = i < MOVE;
        assert_code(mw_reset(device), 0);
        assert_true(sweeps_for(&c, &l));
        assert_false(sweeps_for(&c, &l));
        if (sweeps_for(&other, &moved) != must)
            fail_msg("change %u: a sweep is%s needed", i, must ? "" : " not");
        assert_false(sweeps_for(&other, &moved));
        if (must) {
            assert_true(sweeps_for(&c, &l));
            assert_false(sweeps_for(&c, &l));
        }
    }
}

/// Loaded rows have the numbers of tokens. More tokens therefore use more of what is swept, even if
/// there are fewer experts with lists longer by the same factor.
static void more_tokens_are_swept(void **state)
{
    (void)state;
    struct mw_layer_config c = small_config(), other;
    struct mw_layout l, more;
    c.experts_per_gpu = 2;
    assert_code(mw_layout_make(device, &c, &l), 0);
    other = c;
    other.experts_per_gpu = 1;
    more = l;
    more.token_shift++;
    more.cap_shift++;
    assert_true(sweeps_for(&c, &l));
    assert_false(sweeps_for(&c, &l));
    assert_true(sweeps_for(&other, &more));
    assert_false(sweeps_for(&other, &more));
}

struct seen {
    unsigned calls;
    uint64_t tokens, total, cycles;
};

static int look(void *context, uint64_t tokens, uint64_t total, uint64_t cycles)
{
    *(struct seen *)context =
        (struct seen){((struct seen *)context)->calls + 1, tokens, total, cycles};
    return 0;
}

static void progress_and_timeout(void **state)
{
    (void)state;
    struct mw_layer_config c = small_config();
    struct seen seen = {0};
    struct mw_wait_options o = {.size = sizeof o,
                                .step_cycles = 100,
                                .quiet_cycles = 500,
                                .progress = look,
                                .progress_context = &seen};
    *fake_node(&fake, 2, NODE(status.tokens_done)) = 1;
    assert_code(configure(&c), 0);
    fake.moving = true;
    fake.layer_cycles = 10000;
    assert_code(mw_launch(device), 0);
    assert_code(mw_wait(device, &o, NULL), 0);
    assert_int_equal(seen.calls, 99);
    assert_int_equal(seen.tokens, 1);
    assert_int_equal(seen.total, 10);
    assert_int_equal(seen.cycles, 9900);

    fake.stuck = true;
    fake.moving = false;
    assert_code(mw_launch(device), 0);
    assert_code(mw_wait(device, &o, NULL), MW_ERR_TIMEOUT);
    assert_message("no progress for 500 cycles, 1 of 10 tokens");
    assert_code(mw_launch(device), MW_ERR_STATE); // it still runs
    fake.stuck = false;
    fake.moving = true;
    assert_code(mw_wait(device, &o, NULL), 0);
}

static uint32_t *moves; ///< the counter that advances while a layer runs
static unsigned runs_left;

static void go_on(struct fake *f)
{
    ++*moves;
    runs_left -= runs_left > 0;
    f->stuck = runs_left > 0;
}

/// A layer in which anything advances is not stuck: flits of any class of any port, up or down,
/// tokens, tiles, instructions.
static void anything_is_progress(void **state)
{
    (void)state;
    enum { WAITS = 11 }; // word of a port that counts cycles of waiting copies
    struct mw_layer_config c = small_config();
    struct mw_wait_options o = {.size = sizeof o, .step_cycles = 100, .quiet_cycles = 500};
    assert_code(configure(&c), 0);
    fake.on_run = go_on;
    for (unsigned g = 0; g < 4; g++)
        for (unsigned what = 0; what < 2 * MW_NUM_CLASSES + 3; what++) {
            static const uint32_t of_node[] = {NODE(status.tokens_done), NODE(status.expert_tiles),
                                               NODE(status.retired)};
            moves = what < 3 ? fake_node(&fake, g, of_node[what])
                             : fake_fabric(&fake, FABRIC(counters) + 4 * (16 * g + what - 3));
            runs_left = 20;
            fake.stuck = true;
            assert_code(mw_launch(device), 0);
            assert_code(mw_wait(device, &o, NULL), 0);
        }
    // waiting copies are no progress
    moves = fake_fabric(&fake, FABRIC(counters) + 4 * WAITS);
    runs_left = 20;
    fake.stuck = true;
    assert_code(mw_launch(device), 0);
    assert_code(mw_wait(device, &o, NULL), MW_ERR_TIMEOUT);
    fake.on_run = NULL;
    fake.stuck = false;
    assert_code(mw_wait(device, NULL, NULL), 0);
}

/// Tokens are those of the layer that was configured last, for any number of configurations.
static void progress_of_the_last_layer(void **state)
{
    (void)state;
    struct mw_layer_config c = small_config();
    struct mw_progress p;
    for (unsigned i = 0; i < 3; i++) {
        assert_code(configure(&c), 0);
        assert_code(mw_query(device, &p), 0);
        assert_int_equal(p.tokens_total, 10);
    }
}

static void make_delay(void *context, unsigned gpu, struct mw_stream *streams)
{
    const unsigned *cycles = context;
    if (gpu == 1 && *cycles)
        mw_stream_delay(streams, *cycles);
}

/// A layer is stuck if nothing happens for as long as its streams may wait by themselves, and no
/// longer. The streams that were loaded last count.
static void delays_are_no_standstill(void **state)
{
    (void)state;
    static const unsigned cycles[] = {0, 40000, 40000, 9000, 0};
    struct mw_layer_config c = small_config();
    struct mw_wait_options o = {.size = sizeof o, .step_cycles = 1000};
    struct mw_layout l;
    unsigned long long quiet, usual = 0;
    *fake_fabric(&fake, FABRIC(primitives)) |= MW_FABRIC__PRIMITIVES__DELAY_bm;
    fake_reopen();
    assert_code(mw_layout_make(device, &c, &l), 0);
    for (unsigned i = 0; i < sizeof cycles / sizeof *cycles; i++) {
        unsigned now = cycles[i];
        assert_code(mw_reset(device), 0);
        assert_code(mw_streams_load(device, &l, 1, make_delay, &now), 0);
        assert_code(configure(&c), 0);
        fake.stuck = true;
        assert_code(mw_launch(device), 0);
        assert_code(mw_wait(device, &o, NULL), MW_ERR_TIMEOUT);
        assert_int_equal(sscanf(mw_message(), "no progress for %llu", &quiet), 1);
        usual = i ? usual : quiet;
        assert_int_equal(quiet, usual + now);
        fake.stuck = false;
    }
}

/// An enabled port has lost its registers and half its table. The next layer is configured anew and
/// begins with a sweep, even if a layer was running at that time.
static void ports(void **state)
{
    (void)state;
    struct mw_layer_config c = small_config();
    uint32_t down = 0;
    for (unsigned running = 0; running < 2; running++) {
        assert_code(configure(&c), 0);
        if (running)
            assert_code(mw_launch(device), 0);
        const unsigned sweeps = fake.sweeps;
        assert_code(mw_port_disable(device, 2), 0);
        assert_code(mw_ports_down(device, &down), 0);
        assert_int_equal(down, 1 << 2);
        assert_code(mw_port_enable(device, 1), 0); // is up
        assert_code(mw_port_enable(device, 2), 0);
        assert_code(mw_ports_down(device, &down), 0);
        assert_int_equal(down, 0);
        if (running)
            assert_code(mw_wait(device, NULL, NULL), 0);
        assert_code(mw_launch(device), MW_ERR_STATE);
        assert_message("no layer was configured");
        assert_code(configure(&c), 0);
        assert_code(mw_launch(device), 0);
        assert_int_equal(fake.sweeps, sweeps + 1);
        assert_code(mw_wait(device, NULL, NULL), 0);
    }
    assert_code(configure(&c), 0);
    const unsigned before = fake.sweeps;
    assert_code(mw_port_enable(device, 1), 0); // is up: nothing is lost
    run();
    assert_int_equal(fake.sweeps, before);
    assert_code(mw_fault_set(device, 3, 0, 65535 * 64), 0);
    assert_int_equal(*fake_node(&fake, 3, NODE(fault)), 65535u << MW_NODE__FAULT__AFTER_bp);
    assert_code(mw_fault_set(device, 3, 0, 65535 * 64 + 1), MW_ERR_INVALID);
    assert_code(mw_port_enable(device, 4), MW_ERR_INVALID);
    assert_code(mw_port_disable(device, 4), MW_ERR_INVALID);
    assert_code(mw_port_limit(device, 22), 0);
    assert_int_equal(*fake_fabric(&fake, FABRIC(limit)), 22);
    assert_code(mw_port_limit(device, 23), MW_ERR_INVALID);
}

// One layer through the low-level calls, up to the first that fails.
static int whole_layer(void)
{
    struct mw_layer_config c = small_config();
    struct mw_counters k;
    const struct mw_expert_place place = {0, 0, 0};
    int status = mw_expert_map_set(device, &place, 1);
    if (!status)
        status = configure(&c);
    if (!status)
        status = mw_launch(device);
    struct mw_wait_options o = {.size = sizeof o, .step_cycles = 600};
    if (!status)
        status = mw_wait(device, &o, NULL);
    if (!status)
        status = mw_counters_read(device, &k);
    return status;
}

static void every_call_may_fail(void **state)
{
    (void)state;
    fake_fail_at(&fake, FAKE_NEVER);
    assert_code(whole_layer(), 0);
    long calls = fake.calls;
    assert_true(calls > 150);
    for (long i = 0; i < calls; i++) {
        fake_fail_at(&fake, FAKE_NEVER);
        fake_reopen();
        fake_fail_at(&fake, i);
        assert_code(whole_layer(), MW_ERR_IO);
        assert_string_not_equal(mw_message(), "");
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fake_setup, fake_teardown)
    const struct CMUnitTest tests[] = {
        TEST(registers),
        TEST(loads_are_configured),
        TEST(kept_answers_have_credits),
        TEST(configure_checks),
        TEST(launch_cycles_fit_their_register),
        TEST(epochs),
        TEST(settings_that_move_tables),
        TEST(more_tokens_are_swept),
        TEST(progress_and_timeout),
        TEST(anything_is_progress),
        TEST(ports),
        TEST(progress_of_the_last_layer),
        TEST(delays_are_no_standstill),
        TEST(every_call_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
