// SPDX-License-Identifier: Apache-2.0
//
// Layers of different sizes in sequence on one device, without a reset between them. What a layer
// leaves in tables, trackers, caches and queues must not change the bits or the cycles of the next
// one. Also expert maps that software changes between layers, partitions, and limits above what the
// hardware has.
#include "system/layers.h"

enum { GPUS = 4, FLIT = 8, MEMORY = 1 << 25 };

/// The layer on a device that has run none before.
static uint64_t alone(struct layer *l, const char *what)
{
    struct mw_device *d = layer_device(GPUS, FLIT);
    uint64_t cycles = layer_pass(l, d, what);
    mw_close(d);
    return cycles;
}

/// It is right on `d`, with the cycles and counters that it has alone.
static void as_alone(struct layer *l, struct mw_device *d, const char *what)
{
    uint64_t cycles = alone(l, what);
    struct mw_counters counters = l->counters;
    assert_int_equal(layer_pass(l, d, what), cycles);
    assert_memory_equal(&l->counters, &counters, sizeof counters);
}

// ---- sizes --------------------------------------------------------------------------------------

/// Each size from its smallest to its largest and back, the others as they are.
static void smaller_and_larger(void **state)
{
    (void)state;
    static const struct layer_shape least = {GPUS, 1, 4, GPUS, 1, false},
                                    most = {GPUS, 40, 512, 16 * GPUS, 16, false};
    struct mw_random r = {test_seed()};
    struct mw_device *d = layer_device(GPUS, FLIT);
    struct layer small, large;
    layer_make(&small, &least, &r);
    layer_make(&large, &most, &r);
    as_alone(&small, d, "the smallest, first");
    as_alone(&large, d, "the largest behind the smallest");
    as_alone(&small, d, "the smallest behind the largest");
    for (unsigned which = 0; which < 5; which++) {
        static const char *const names[] = {"tokens", "hidden", "experts", "k", "padding"};
        struct layer_shape s = {GPUS, 8, 64, 4 * GPUS, 4, false};
        struct layer one;
        s.tokens = which == 0 ? most.tokens : s.tokens;
        s.hidden = which == 1 ? most.hidden : s.hidden;
        s.experts = which == 2 ? most.experts : s.experts;
        s.k = which == 3 ? most.k : s.k;
        s.padding = which == 4;
        layer_make(&one, &s, &r);
        as_alone(&one, d, names[which]);
        as_alone(&small, d, names[which]);
        as_alone(&one, d, names[which]);
        layer_free(&one);
    }
    as_alone(&large, d, "the largest, last");
    layer_free(&small);
    layer_free(&large);
    mw_close(d);
}

/// Any size after any other. Some run twice, so that epochs pass without a sweep.
static void any_sizes(void **state)
{
    (void)state;
    enum { LAYERS = 24 };
    struct mw_random r = {test_seed()};
    struct mw_device *d = layer_device(GPUS, FLIT);
    for (unsigned i = 0; i < LAYERS; i++) {
        struct layer_shape s = layer_any(GPUS, FLIT, MEMORY, &r);
        struct layer l;
        char what[96];
        snprintf(what, sizeof what, "%u: %u tokens, hidden %u, %u experts, k %u", i, s.tokens,
                 s.hidden, s.experts, s.k);
        layer_make(&l, &s, &r);
        as_alone(&l, d, what);
        for (uint64_t again = mw_random_below(&r, 3); again > 0; again--) {
            uint64_t cycles = l.cycles;
            assert_int_equal(layer_pass(&l, d, what), cycles);
        }
        layer_free(&l);
    }
    mw_close(d);
}

// ---- expert map ---------------------------------------------------------------------------------

static void shuffle(uint16_t *names, unsigned count, struct mw_random *r)
{
    for (unsigned i = 0; i < count; i++)
        names[i] = (uint16_t)i;
    for (unsigned i = count; i > 1; i--) {
        unsigned j = (unsigned)mw_random_below(r, i);
        uint16_t n = names[i - 1];
        names[i - 1] = names[j];
        names[j] = n;
    }
}

/// Between layers, software moves the experts to other GPUs and other places there. The layer's
/// packets depend on the places of the experts, not on their numbers. Each map takes the cycles of
/// the first.
static void experts_that_move(void **state)
{
    (void)state;
    enum { MAPS = 6, EXPERTS = 6 * GPUS };
    static const struct layer_shape s = {GPUS, 12, 64, EXPERTS, 5, true};
    struct mw_random r = {test_seed()};
    struct mw_device *d = layer_device(GPUS, FLIT);
    struct layer l;
    uint16_t names[EXPERTS];
    layer_make(&l, &s, &r);
    uint64_t cycles = layer_pass(&l, d, "every expert at its own number");
    l.names = names;
    for (unsigned i = 0; i < MAPS; i++) {
        shuffle(names, EXPERTS, &r);
        assert_int_equal(layer_pass(&l, d, "experts at other places"), cycles);
    }
    l.names = NULL;
    assert_int_equal(layer_pass(&l, d, "and back"), cycles);
    layer_free(&l);
    mw_close(d);
}

// ---- limits -------------------------------------------------------------------------------------

/// A limit equal to the hardware's has no effect, and one above it is refused.
static void credits_of_the_hardware(void **state)
{
    (void)state;
    static const char *const names[] = {"down_part_credits", "down_store_credits", "store_credits",
                                        "part_credits", "ctrl_credits"};
    static const unsigned has[] = {4, 32, 32, 4, 16};
    static const struct layer_shape s = {GPUS, 24, 256, 4 * GPUS, 6, false};
    struct mw_random r = {test_seed()};
    struct mw_device *d = layer_device(GPUS, FLIT);
    struct mw_dymulticast *object;
    struct mw_handle *handle;
    struct layer l;
    layer_make(&l, &s, &r);
    uint64_t cycles = layer_pass(&l, d, "no limit");
    layer_load(&l, d, &object, &handle);
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        const struct layer_setting set[] = {{names[i], has[i]}, {NULL, 0}};
        l.settings = set;
        assert_int_equal(layer_pass(&l, d, names[i]), cycles);
        const unsigned more[] = {has[i] + 1, 2 * has[i], 255};
        for (unsigned m = 0; m < sizeof more / sizeof *more; m++)
            assert_int_equal(mw_handle_set(handle, names[i], more[m]), MW_ERR_CAPACITY);
    }
    mw_handle_destroy(handle);
    mw_dymulticast_destroy(object);
    layer_free(&l);
    mw_close(d);
}

// ---- partitions ---------------------------------------------------------------------------------

enum {
    BLOCK = 1024,
    FROM_EACH = 2 * BLOCK, ///< a block of its own, and one of the group
    SPACE = BLOCK + GPUS * FROM_EACH,
    PACKETS = BLOCK / 128,
};

struct parts {
    struct mw_device *d;
    struct mw_layer_config config;
    struct mw_layout layout;
    struct mw_multicast *pair, *all; ///< GPUs 0 and 1, all GPUs
    uint32_t reach[GPUS];
    uint8_t memory[GPUS][SPACE];
};

/// Every GPU stores to every other one, and to a group.
static void store_everywhere(struct parts *t)
{
    const unsigned tokens[GPUS] = {1, 1, 1, 1};
    struct mw_transfer list[GPUS];
    struct mw_stream s[GPUS];
    uint32_t scratch = t->layout.scratch;
    uint64_t cycles;
    for (unsigned g = 0; g < GPUS; g++) {
        memset(t->memory[g], 0, SPACE);
        for (unsigned i = 0; i < BLOCK; i++)
            t->memory[g][i] = (uint8_t)(1 + g * 50 + i % 50);
        list[g] = (struct mw_transfer){g, scratch, SPACE, t->memory[g]};
        mw_stream_init(&s[g]);
        uint32_t place = scratch + BLOCK + g * FROM_EACH;
        for (unsigned other = 1; other < GPUS; other++)
            mw_stream_st_linear(&s[g], (g + other) % GPUS, scratch, BLOCK, place);
        mw_stream_multimem_st(&s[g], (unsigned)mw_multicast_group(g < 2 ? t->pair : t->all),
                              scratch, BLOCK, place + BLOCK);
        assert_int_equal(mw_stream_end(&s[g]), 0);
    }
    assert_int_equal(mw_mem_write(t->d, list, GPUS), 0);
    assert_int_equal(mw_stream_load(t->d, &t->layout, s, 1), 0);
    assert_int_equal(mw_layer_configure(t->d, &t->config, &t->layout, tokens, tokens, 1), 0);
    assert_int_equal(mw_launch(t->d), 0);
    int status = mw_wait(t->d, NULL, &cycles);
    assert_true(status == 0 || status == MW_ERR_DEVICE);
    assert_int_equal(mw_mem_read(t->d, list, GPUS), 0);
}

static bool holds(const struct parts *t, unsigned gpu, unsigned from, unsigned block)
{
    const uint8_t *at = &t->memory[gpu][BLOCK + from * FROM_EACH + block * BLOCK];
    static const uint8_t nothing[BLOCK];
    bool there = memcmp(at, t->memory[from], BLOCK) == 0;
    assert_true(there || memcmp(at, nothing, BLOCK) == 0);
    return there;
}

/// Packets to reachable GPUs have arrived, and no others. Every rejected packet is counted at its
/// input.
static void check_parts(const struct parts *t)
{
    struct mw_counters c;
    unsigned errors = 0;
    assert_int_equal(mw_counters_read(t->d, &c), 0);
    for (unsigned g = 0; g < GPUS; g++) {
        uint32_t members = (g < 2 ? 3u : 15u), others = members & ~(1u << g);
        bool group = (others & ~t->reach[g]) == 0;
        unsigned rejected = group ? 0 : PACKETS;
        for (unsigned to = 0; to < GPUS; to++) {
            bool may = t->reach[g] >> to & 1;
            if (to == g) { // its own copy does not go through the switch
                assert_int_equal(holds(t, to, g, 1), members >> g & 1);
                continue;
            }
            assert_int_equal(holds(t, to, g, 0), may);
            assert_int_equal(holds(t, to, g, 1), (members >> to & 1) && group);
            rejected += may ? 0 : PACKETS;
        }
        assert_int_equal(c.port[g].rejected, rejected);
        // The first error is reported. The next one can follow after the ERROR packet has left.
        assert_int_equal(c.gpu[g].errors > 0, rejected > 0);
        assert_true(c.gpu[g].errors <= rejected);
        assert_int_equal(c.gpu[g].first_error, rejected ? MW_HWERR_PARTITION : MW_HWERR_NONE);
        errors += rejected;
    }
    assert_int_equal(c.switch_errors, errors);
    if (errors) {
        assert_int_equal(c.switch_first_error, MW_HWERR_PARTITION);
        assert_true(c.port[c.switch_error_port].rejected > 0);
    }
}

static void partitions(void **state)
{
    (void)state;
    enum { RANDOM = 12 };
    static const uint32_t fixed[][GPUS] = {
        {15, 15, 15, 15}, {3, 3, 12, 12}, {1, 2, 4, 8}, {15, 3, 12, 14}, {0, 0, 0, 0}};
    struct mw_random r = {test_seed()};
    struct parts t = {.d = layer_device(GPUS, FLIT)};
    mw_layer_defaults(&t.config);
    t.config.k = t.config.tokens_per_gpu = t.config.experts_per_gpu = 1;
    t.config.rows_per_expert = 1;
    t.config.row_bytes = 64;
    t.config.scratch_bytes = SPACE;
    assert_int_equal(mw_layout_make(t.d, &t.config, &t.layout), 0);
    struct mw_multicast **const groups[] = {&t.pair, &t.all};
    const unsigned members[] = {2, GPUS};
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(mw_multicast_create(t.d, SPACE, groups[i]), 0);
        for (unsigned g = 0; g < members[i]; g++)
            assert_int_equal(mw_multicast_add_device(*groups[i], g), 0);
        assert_int_equal(mw_multicast_bind_addr(*groups[i], t.layout.scratch), 0);
    }
    const unsigned cases = sizeof fixed / sizeof *fixed + RANDOM;
    for (unsigned i = 0; i <= cases; i++) { // and at the end all, as at first
        for (unsigned g = 0; g < GPUS; g++) {
            t.reach[g] =
                i < sizeof fixed / sizeof *fixed ? fixed[i][g] : (uint32_t)mw_random_below(&r, 16);
            if (i == cases)
                t.reach[g] = 15;
            assert_int_equal(mw_partition_set(t.d, g, t.reach[g]), 0);
        }
        store_everywhere(&t);
        check_parts(&t);
    }
    mw_multicast_destroy(t.pair);
    mw_multicast_destroy(t.all);
    mw_close(t.d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(smaller_and_larger), cmocka_unit_test(any_sizes),
        cmocka_unit_test(experts_that_move),  cmocka_unit_test(credits_of_the_hardware),
        cmocka_unit_test(partitions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
