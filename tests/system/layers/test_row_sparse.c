// SPDX-License-Identifier: Apache-2.0
//
// Errors in layers whose rows go to each expert separately (moe-hub, flashdmoe). They are a region
// that is too small, a wrong signal, a store of an older layer, and a bad list. Each is an error by
// its name, at its GPU. Nothing else is written. The other GPUs end with the golden bits, and the
// next layer takes its usual cycles.
#include "system/command.h"
#include "system/layers.h"
#include "systems/generator.h"
#include "systems/system_list.h"

#include <inttypes.h>

enum {
    GPUS = 4,
    FLIT = 8,
    TOKENS = 4,
    ALL = GPUS * TOKENS,
    HIDDEN = 32,
    EXPERTS = 8,
    LOCAL = EXPERTS / GPUS,
    K = 2,
    NONE = MW_NO_EXPERT,
    PLACES = 8, ///< of a region that is large enough
    PATTERN = 0xa5,
    MARGIN = 1 << 12, ///< of memory after what the layer uses
};

/// Expert 2, of GPU 1, gets 2 rows of GPU 3, 4 of GPU 0 and 1 of its own GPU. No other expert gets
/// more than 3, or more than 2 of one GPU.
static const uint16_t usual[ALL][K] = {{2, 0}, {2, 1},    {2, 0},       {2, 1},       //
                                       {2, 3}, {3, NONE}, {NONE, NONE}, {NONE, NONE}, //
                                       {4, 5}, {4, 6},    {5, 7},       {NONE, NONE}, //
                                       {2, 6}, {2, 7},    {6, 7},       {NONE, NONE}};

struct rig {
    struct mw_device *d;
    const struct mw_system *system;
    const struct mw_generator *generator;
    struct mw_layer_config config;
    struct mw_layout layout;
    struct layer l;
    struct mw_counters counters;
    uint8_t *before[GPUS], *after[GPUS]; ///< memories, `bytes` of each
    size_t bytes;
    /// Streams other than the generator's, if set.
    void (*streams)(const struct rig *t, unsigned gpu, struct mw_stream *s);
};

// ---- a layer ------------------------------------------------------------------------------------

static int open_rig(void **state)
{
    static struct rig t;
    t = (struct rig){.d = layer_device(GPUS, FLIT)};
    *state = &t;
    return 0;
}

static void make_layer(struct rig *t, const uint16_t (*lists)[K])
{
    static const struct layer_shape shape = {GPUS, TOKENS, HIDDEN, EXPERTS, K, false};
    struct mw_random r = {7};
    layer_free(&t->l);
    layer_make(&t->l, &shape, &r);
    memcpy(t->l.w.layer->ids, lists, ALL * sizeof *lists);
    mw_golden_layer(&t->l.w, 0, t->l.golden);
}

static int close_rig(void **state)
{
    struct rig *t = *state;
    layer_free(&t->l);
    for (unsigned g = 0; g < GPUS; g++) {
        free(t->before[g]);
        free(t->after[g]);
    }
    mw_close(t->d);
    return 0;
}

static void make_streams(void *context, unsigned gpu, struct mw_stream *s)
{
    const struct rig *t = context;
    const struct mw_place at = {
        .system = t->system, .gpus = GPUS, .gpu = gpu, .tokens = TOKENS, .layout = &t->layout};
    if (t->streams)
        t->streams(t, gpu, s);
    else
        t->generator->make(s, &at);
}

static void lay_out(struct rig *t, const struct mw_generator *generator, unsigned places)
{
    t->generator = generator;
    t->system = mw_system_find(generator->name);
    mw_layer_defaults(&t->config);
    t->config.k = K;
    t->config.tokens_per_gpu = TOKENS;
    t->config.row_bytes = 2 * HIDDEN;
    t->config.experts_per_gpu = LOCAL;
    t->config.rows_per_expert = places;
    t->config.row_returns = t->system->row_sparse;
    t->config.source_lists = t->system->source_lists;
    t->config.partial_tiles = t->system->partial_tiles;
    assert_int_equal(mw_layout_make(t->d, &t->config, &t->layout), 0);
}

static void move_memories(struct rig *t, bool write, uint8_t *const *data)
{
    struct mw_transfer list[GPUS];
    for (unsigned g = 0; g < GPUS; g++)
        list[g] = (struct mw_transfer){g, 0, t->bytes, data[g]};
    assert_int_equal(write ? mw_mem_write(t->d, list, GPUS) : mw_mem_read(t->d, list, GPUS), 0);
}

static size_t table_bytes(const struct mw_layout *l)
{
    return (size_t)4 * LOCAL << (l->n_shift + l->token_shift);
}

/// Memories that hold a pattern wherever the layer has nothing, but for the allocation tables:
/// these are the device's.
static void load_layer(struct rig *t)
{
    const struct mw_workload *w = &t->l.w;
    struct mw_tokens part[GPUS];
    t->bytes = (size_t)t->layout.end + MARGIN;
    for (unsigned g = 0; g < GPUS; g++) {
        part[g] = (struct mw_tokens){TOKENS, w->layer->x + g * TOKENS * HIDDEN,
                                     (const int16_t *)w->layer->ids + g * TOKENS * K,
                                     w->layer->weights + g * TOKENS * K};
        t->before[g] = realloc(t->before[g], t->bytes);
        t->after[g] = realloc(t->after[g], t->bytes);
        assert_true(t->before[g] && t->after[g]);
    }
    move_memories(t, false, t->before);
    for (unsigned g = 0; g < GPUS; g++) {
        const size_t table = (size_t)t->layout.al_base, behind = table + table_bytes(&t->layout);
        memset(t->before[g], PATTERN, table);
        memset(t->before[g] + behind, PATTERN, t->bytes - behind);
    }
    move_memories(t, true, t->before);
    assert_int_equal(mw_routing_load(t->d, t->layout.rt_base, K, part), 0);
    assert_int_equal(mw_rows_load(t->d, t->layout.xs_base, 2 * HIDDEN, t->layout.row_shift, part),
                     0);
    assert_int_equal(mw_coefficients_load(t->d, &t->layout, LOCAL, w->coefficients), 0);
    assert_int_equal(mw_expert_map_even(t->d, EXPERTS), 0);
    assert_int_equal(mw_streams_load(t->d, &t->layout, t->generator->streams, make_streams, t), 0);
}

/// Run the prepared layer. Returns mw_wait's status.
static int run(struct rig *t)
{
    static const unsigned tokens[GPUS] = {TOKENS, TOKENS, TOKENS, TOKENS},
                          experts[GPUS] = {LOCAL, LOCAL, LOCAL, LOCAL};
    const struct mw_wait_options o = {.size = sizeof o, .quiet_cycles = 8000, .step_cycles = 1000};
    load_layer(t);
    assert_int_equal(mw_layer_configure(t->d, &t->config, &t->layout, tokens, experts,
                                        (1u << t->generator->streams) - 1),
                     0);
    move_memories(t, false, t->before);
    assert_int_equal(mw_launch(t->d), 0);
    int status = mw_wait(t->d, &o, &t->l.cycles);
    if (status)
        print_message("%s: %s: %s\n", t->generator->name, mw_error_name(status), mw_message());
    assert_int_equal(mw_counters_read(t->d, &t->counters), 0);
    return status;
}

/// Run a valid layer next. Returns its cycles.
static uint64_t good_layer(struct rig *t, const struct mw_generator *generator, unsigned places)
{
    make_layer(t, usual);
    lay_out(t, generator, places);
    t->streams = NULL;
    int status = run(t);
    if (status)
        fail_msg("%s: %s", generator->name, mw_message());
    move_memories(t, false, t->after);
    for (unsigned i = 0; i < ALL; i++)
        assert_memory_equal(t->after[i / TOKENS] + t->layout.out_base +
                                ((size_t)(i % TOKENS) << t->layout.row_shift),
                            t->l.golden + i * HIDDEN, 2 * HIDDEN);
    return t->l.cycles;
}

// ---- what became of it --------------------------------------------------------------------------

static void allow(bool *may, size_t from, size_t bytes)
{
    memset(may + from, true, bytes);
}

/// Rows that GPU `gpu` may have in list `list`: as many as come, and as there are places for.
static unsigned rows_of(const struct rig *t, unsigned gpu, unsigned list)
{
    const unsigned shift = t->system->source_lists ? t->layout.n_shift : 0;
    const unsigned expert = gpu * LOCAL + (list >> shift), places = 1u << t->layout.cap_shift;
    unsigned rows = 0;
    for (unsigned i = 0; i < ALL * K; i++)
        rows += t->l.w.layer->ids[i] == expert &&
                (!shift || i / (TOKENS * K) == (list & ((1u << shift) - 1)));
    return rows < places ? rows : places;
}

/// Every other byte of every memory is what it was.
static void nothing_else_changed(const struct rig *t)
{
    const struct mw_layout *l = &t->layout;
    const unsigned lists = LOCAL << (t->system->source_lists ? l->n_shift : 0);
    for (unsigned g = 0; g < GPUS; g++) {
        bool *may = calloc(t->bytes, sizeof *may);
        assert_non_null(may);
        allow(may, l->al_base, table_bytes(l));
        allow(may, l->out_base, (size_t)TOKENS << l->row_shift);
        if (t->config.row_returns)
            allow(may, l->cb_base, l->st_hi - l->cb_base);
        for (unsigned i = 0; i < lists; i++) {
            const size_t first = (size_t)i << l->cap_shift, rows = rows_of(t, g, i);
            allow(may, l->xd_base + (first << l->row_shift), rows << l->row_shift);
            allow(may, l->yd_base + (first << l->row_shift), rows << l->row_shift);
            allow(may, l->gt_base + (first << l->gate_shift), rows << l->gate_shift);
        }
        for (size_t i = 0; i < t->bytes; i++)
            if (!may[i] && t->before[g][i] != t->after[g][i])
                fail_msg("GPU %u: byte 0x%zx was 0x%02x and is 0x%02x", g, i, t->before[g][i],
                         t->after[g][i]);
        free(may);
    }
}

/// Read the results of a layer with that status. A stuck device is reset first, which keeps the
/// memories of a simulated one. Each output row is golden or was not written. Returns a mask of the
/// tokens that were not written.
static uint32_t open_tokens(struct rig *t, int status)
{
    uint32_t open = 0;
    if (status == MW_ERR_TIMEOUT)
        assert_int_equal(mw_reset(t->d), 0);
    move_memories(t, false, t->after);
    for (unsigned i = 0; i < ALL; i++) {
        const size_t at = (size_t)t->layout.out_base + ((i % TOKENS) << t->layout.row_shift);
        const uint8_t *out = t->after[i / TOKENS] + at;
        if (memcmp(out, t->l.golden + i * HIDDEN, 2 * HIDDEN) == 0)
            continue;
        assert_memory_equal(out, t->before[i / TOKENS] + at, 2 * HIDDEN);
        open |= 1u << i;
    }
    nothing_else_changed(t);
    return open;
}

/// The GPUs of a mask have ended all of their streams, those of another have not.
static void have_ended(struct rig *t, unsigned mask, unsigned not )
{
    for (unsigned g = 0; g < GPUS; g++) {
        bool ended = true;
        for (unsigned s = 0; s < t->generator->streams; s++) {
            unsigned issued;
            assert_int_equal(mw_stream_position(t->d, g, s, &issued), 0);
            ended = ended && issued == MW_STREAM_INSTRS;
        }
        if ((ended ? not : mask) >> g & 1)
            fail_msg("%s: GPU %u has%s ended its streams", t->generator->name, g,
                     ended ? "" : " not");
    }
}

/// GPU g has recorded errors[g] errors, of which the first is first[g]. No other GPU has any.
static void have_errors(const struct rig *t, const unsigned *errors, const unsigned *first)
{
    for (unsigned g = 0; g < GPUS; g++) {
        if (t->counters.gpu[g].errors != errors[g] || t->counters.gpu[g].first_error != first[g])
            fail_msg("%s: GPU %u has %u errors, first %u: expected %u, %u", t->generator->name, g,
                     t->counters.gpu[g].errors, t->counters.gpu[g].first_error, errors[g],
                     first[g]);
        assert_int_equal(t->counters.port[g].rejected, 0);
    }
    assert_int_equal(t->counters.switch_errors, 0);
}

// ---- regions ------------------------------------------------------------------------------------

/// Own rows of a list, too: of expert 3 there are 3.
static const uint16_t own[ALL][K] = {{2, 0}, {1, NONE}, {NONE, NONE}, {NONE, NONE}, //
                                     {3, 2}, {3, NONE}, {3, 4},       {NONE, NONE}, //
                                     {4, 5}, {4, 6},    {5, 7},       {NONE, NONE}, //
                                     {2, 6}, {2, 7},    {6, 7},       {NONE, NONE}};

static const struct too_small {
    const struct mw_generator *generator;
    const uint16_t (*lists)[K];
    unsigned expert, from; ///< whose region, of whose rows: GPUS: of all
    unsigned rows, places;
    unsigned errors; ///< of its GPU: each row, its gate weights, and a LIST of more than there are
    unsigned ended;  ///< GPUs that wait for no such row, as a mask; of lists the home alone does
} too_small[] = {
    {&mw_generate_moe_hub, usual, 2, GPUS, 7, 4, 6, 1u << 2},
    {&mw_generate_flashdmoe, usual, 2, 0, 4, 2, 5, 1u << 1 | 1u << 2 | 1u << 3},
    {&mw_generate_flashdmoe, own, 3, 1, 3, 2, 3, 1u << 0 | 1u << 2 | 1u << 3},
    {&mw_generate_dysharp, usual, 2, GPUS, 7, 4, 6, 1u << 2},
};

/// The message names region and sizes: what comes, what there is, where, and what to do.
static void names_the_region(const struct rig *t, const struct too_small *c)
{
    char gets[80], holds[80], raise[80], finished[80], from[24] = "";
    const unsigned shift = t->system->source_lists ? t->layout.n_shift : 0;
    const unsigned list = c->expert % LOCAL << shift | (c->from < GPUS ? c->from : 0);
    const unsigned bytes = c->places << t->layout.row_shift;
    if (c->from < GPUS)
        snprintf(from, sizeof from, " from GPU %u", c->from);
    snprintf(gets, sizeof gets, "expert %u gets %u rows%s, their region holds %u", c->expert,
             c->rows, from, c->places);
    snprintf(holds, sizeof holds, "(%u bytes, from 0x%" PRIx64 " on)", bytes,
             t->layout.xd_base + (uint64_t)list * bytes);
    snprintf(raise, sizeof raise, "raise rows_per_expert to %u or more", c->rows);
    snprintf(finished, sizeof finished, "%u of 16 tokens are finished", ALL + c->places - c->rows);
    assert_line(mw_message(), "no progress for", finished,
                "GPU 1: ", mw_hw_strerror(MW_HWERR_BOUNDS), gets, holds, raise);
}

static void regions_that_are_too_small(void **state)
{
    struct rig *t = *state;
    for (unsigned i = 0; i < sizeof too_small / sizeof *too_small; i++) {
        const struct too_small *c = &too_small[i];
        const unsigned gpu = c->expert / LOCAL;
        unsigned errors[GPUS] = {0}, first[GPUS] = {0};
        const uint64_t cycles = good_layer(t, c->generator, PLACES);
        make_layer(t, c->lists);
        lay_out(t, c->generator, c->places);
        assert_int_equal(run(t), MW_ERR_TIMEOUT);
        names_the_region(t, c);
        errors[gpu] = c->errors;
        first[gpu] = MW_HWERR_BOUNDS;
        have_errors(t, errors, first);
        have_ended(t, c->ended, 1u << (c->from < GPUS ? c->from : gpu));
        const uint32_t open = open_tokens(t, MW_ERR_TIMEOUT);
        assert_int_equal(__builtin_popcount(open), c->rows - c->places);
        for (unsigned token = 0; token < ALL; token++)
            assert_true(!(open >> token & 1) || c->lists[token][0] == c->expert);
        assert_int_equal(good_layer(t, c->generator, PLACES), cycles);
    }
}

/// Slots that rows return to: those of the tokens 2 and 3 of each GPU lie after what explicit
/// stores may write. The TILEs of these rows come without them.
static void slots_that_are_too_few(void **state)
{
    struct rig *t = *state;
    static const unsigned errors[GPUS] = {4, 0, 2, 0},
                          first[GPUS] = {MW_HWERR_BOUNDS, 0, MW_HWERR_BOUNDS, 0};
    const uint64_t cycles = good_layer(t, &mw_generate_flashdmoe, PLACES);
    t->layout.st_hi = t->layout.cb_base + ((uint64_t)2 << t->layout.k_shift << t->layout.row_shift);
    assert_int_equal(run(t), MW_ERR_TIMEOUT);
    assert_line(mw_message(), "GPU 0: ", mw_hw_strerror(MW_HWERR_BOUNDS), "(4 errors)");
    have_errors(t, errors, first);
    have_ended(t, 1u << 1 | 1u << 3, 1u << 0 | 1u << 2);
    const uint32_t open = open_tokens(t, MW_ERR_TIMEOUT);
    assert_int_equal(open, 1u << 2 | 1u << 3 | 1u << 10);
    assert_int_equal(good_layer(t, &mw_generate_flashdmoe, PLACES), cycles);
}

/// The library detects it before it sends anything.
static void refused_before_it_begins(void **state)
{
    struct rig *t = *state;
    const struct mw_dymulticast_prop prop = {.size = sizeof prop,
                                             .block_bytes = 2 * HIDDEN,
                                             .region_sets = 2,
                                             .k = K,
                                             .experts = EXPERTS};
    struct mw_dymulticast *object;
    struct mw_handle *handle;
    struct mw_tokens part[GPUS];
    const uint64_t cycles = good_layer(t, &mw_generate_moe_hub, PLACES);
    for (unsigned g = 0; g < GPUS; g++) {
        memcpy(t->before[g], t->after[g], t->bytes);
        part[g] = (struct mw_tokens){TOKENS, t->l.w.layer->x + g * TOKENS * HIDDEN,
                                     (const int16_t *)t->l.w.layer->ids + g * TOKENS * K,
                                     t->l.w.layer->weights + g * TOKENS * K};
    }
    assert_int_equal(mw_dymulticast_create(t->d, &prop, &object), 0);
    assert_int_equal(mw_dymulticast_bind_addr(object, ALL, 6), 0);
    assert_int_equal(mw_dispatch(object, part, t->l.w.coefficients, &handle), MW_ERR_CAPACITY);
    assert_null(handle);
    assert_line(mw_message(), "expert 2 of GPU 1 gets 7 rows", "its region holds 6",
                "bind with rows_per_expert 7 or more");
    move_memories(t, false, t->after);
    for (unsigned g = 0; g < GPUS; g++)
        assert_memory_equal(t->before[g], t->after[g], t->bytes);
    assert_int_equal(good_layer(t, &mw_generate_moe_hub, PLACES), cycles);
    mw_dymulticast_destroy(object);
}

/// `moeswitch run` ends with status 3 and the same message. Without the setting the run succeeds.
static void a_run_names_the_region(void **state)
{
    (void)state;
    static const char words[] = "run --gpus 4 --flit-bytes 8 --hidden 32 --experts 8 --k 2 "
                                "--tokens-per-gpu 8 --seed 3 --set quiet_cycles=8000 --system";
    static const char *const systems[] = {"moe-hub", "flashdmoe", "dysharp", "moeswitch"};
    for (unsigned i = 0; i < sizeof systems / sizeof *systems; i++) {
        char lines[80];
        snprintf(lines, sizeof lines, "moeswitch: %s: layer 0: no progress for", systems[i]);
        assert_int_equal(run_command("%s %s --set rows_per_expert=1", words, systems[i]),
                         MW_EXIT_STUCK);
        const char *line = strstr(err_text, lines);
        assert_non_null(line);
        assert_non_null(strstr(line, mw_hw_strerror(MW_HWERR_BOUNDS)));
        assert_non_null(strstr(line, "their region holds 1 (64 bytes, from 0x"));
        assert_non_null(strstr(line, "raise rows_per_expert to "));
        assert_non_null(strstr(line, " more are too small"));
        assert_int_equal(run_command("%s %s --set rows_per_expert=64", words, systems[i]), 0);
        assert_int_equal(run_command("%s %s", words, systems[i]), 0);
    }
}

/// Layers of equal size on one device, with a list of each expert and of each {expert, source}
/// alternately. When an epoch number is used again, a layer does not read what the others left.
static void lists_of_both_kinds(void **state)
{
    struct rig *t = *state;
    enum { MANY = 64 };
    static const char all[] = "ffffmmmfmffmmmmfffmf";
    const char *turns = all + test_cases(8, 0);
    uint64_t cycles[2] = {0};
    for (unsigned i = 0; turns[i]; i++) {
        const bool f = turns[i] == 'f';
        const uint64_t now = good_layer(t, f ? &mw_generate_flashdmoe : &mw_generate_moe_hub, MANY);
        cycles[f] = cycles[f] ? cycles[f] : now;
        assert_int_equal(now, cycles[f]);
    }
}

// ---- signals ------------------------------------------------------------------------------------

/// GPU 0 flags its lists before it sends their rows: as many as in the previous layer.
static void flags_first(const struct rig *t, unsigned gpu, struct mw_stream *s)
{
    (void)t;
    if (gpu == 0)
        mw_stream_flag_lists(&s[0]);
    mw_stream_st_rowsp(&s[0], 0, TOKENS);
    if (gpu != 0)
        mw_stream_flag_lists(&s[0]);
    mw_stream_expert(&s[1], 2);
    mw_stream_sum(&s[2], 0, TOKENS, true);
}

static void flags_twice(const struct rig *t, unsigned gpu, struct mw_stream *s)
{
    (void)t;
    mw_stream_st_rowsp(&s[0], 0, TOKENS);
    mw_stream_flag_lists(&s[0]);
    if (gpu == 0)
        mw_stream_flag_lists(&s[0]);
    mw_stream_expert(&s[1], 2);
    mw_stream_sum(&s[2], 0, TOKENS, true);
}

/// A LIST reports rows that have not arrived, or fewer than arrive. The error is COUNT at each GPU
/// that the LIST is for, and once more for each row that arrives later. These rows are lost, and
/// only their home waits for them. A second LIST is COUNT, too, and changes nothing.
static void signals_before_their_rows(void **state)
{
    struct rig *t = *state;
    // GPU 0 has 2 rows for each of its experts and 4 for one of GPU 1. Each such LIST is an error,
    // and each row
    static const unsigned early[GPUS] = {6, 5, 0, 0}, twice[GPUS] = {LOCAL, LOCAL, LOCAL, LOCAL},
                          rows[GPUS] = {4, 4, 0, 0},
                          first[GPUS] = {MW_HWERR_COUNT, MW_HWERR_COUNT, 0, 0},
                          all[GPUS] = {MW_HWERR_COUNT, MW_HWERR_COUNT, MW_HWERR_COUNT,
                                       MW_HWERR_COUNT};
    const uint64_t cycles = good_layer(t, &mw_generate_flashdmoe, PLACES);
    t->streams = flags_twice;
    assert_int_equal(run(t), MW_ERR_DEVICE);
    assert_line(mw_message(), "GPU 0: ", mw_hw_strerror(MW_HWERR_COUNT));
    have_errors(t, twice, all);
    assert_int_equal(open_tokens(t, MW_ERR_DEVICE), 0);
    assert_int_equal(good_layer(t, &mw_generate_flashdmoe, PLACES), cycles);
    for (unsigned i = 0; i < 2; i++) {
        // after a reset there is no earlier layer: the LIST reports no rows
        if (i)
            assert_int_equal(mw_reset(t->d), 0);
        t->streams = flags_first;
        assert_int_equal(run(t), MW_ERR_TIMEOUT);
        assert_line(mw_message(), "no progress for", "12 of 16 tokens are finished",
                    "GPU 0: ", mw_hw_strerror(MW_HWERR_COUNT));
        have_errors(t, i ? rows : early, first);
        have_ended(t, 1u << 1 | 1u << 2 | 1u << 3, 1u << 0);
        const uint32_t open = open_tokens(t, MW_ERR_TIMEOUT);
        assert_int_equal(open, (1u << TOKENS) - 1); // GPU 0's
        assert_int_equal(good_layer(t, &mw_generate_flashdmoe, PLACES), cycles);
    }
}

/// Rows and flags that GPU 0 sends with the epoch of the layer before: EPOCH at the switch, and no
/// GPU receives them.
static void stores_of_an_older_layer(void **state)
{
    struct rig *t = *state;
    enum { FIRST = 256 }; // cycles after go, in which GPU 0 sends rows and, at last, flags
    unsigned rejected = UINT32_MAX;
    const uint64_t cycles = good_layer(t, &mw_generate_flashdmoe, PLACES);
    for (unsigned after = 0; after < FIRST; after += 64) {
        t->streams = NULL;
        assert_int_equal(mw_fault_set(t->d, 0, MW_FAULT_EPOCH, after), 0);
        assert_int_equal(run(t), MW_ERR_TIMEOUT);
        assert_line(mw_message(), "no progress for",
                    "switch, input 0: ", mw_hw_strerror(MW_HWERR_EPOCH));
        assert_int_equal(t->counters.switch_error_port, 0);
        assert_int_equal(t->counters.switch_first_error, MW_HWERR_EPOCH);
        assert_int_equal(t->counters.switch_errors, t->counters.port[0].rejected);
        assert_in_range(t->counters.port[0].rejected, 1, rejected);
        rejected = t->counters.port[0].rejected;
        assert_int_equal(t->counters.gpu[0].first_error, MW_HWERR_EPOCH); // it is reported
        for (unsigned g = 1; g < GPUS; g++)
            assert_int_equal(t->counters.gpu[g].errors, 0);
        const uint32_t open = open_tokens(t, MW_ERR_TIMEOUT);
        assert_true(open < 1u << TOKENS); // GPU 0's alone
        assert_true(after || open == (1u << TOKENS) - 1);
        assert_int_equal(good_layer(t, &mw_generate_flashdmoe, PLACES), cycles);
    }
}

// ---- lists --------------------------------------------------------------------------------------

enum { UNKNOWN = 5000 }; ///< an expert that no map can have

/// The sums wait for all tokens but token 0 of GPU 0.
static void sums_of_the_others(const struct rig *t, unsigned gpu, struct mw_stream *s)
{
    const bool lists = t->system->source_lists;
    struct mw_stream *send = &s[lists ? 0 : 1];
    if (!lists)
        mw_stream_count(&s[0], 0, TOKENS, false);
    mw_stream_st_rowsp(send, 0, TOKENS);
    if (lists)
        mw_stream_flag_lists(send);
    mw_stream_expert(&send[1], 2);
    mw_stream_sum(&send[2], gpu == 0, TOKENS - (gpu == 0), true);
}

/// A token with a bad list is left out. Its home waits for it if the token is in its sum. If rows
/// are counted, the expert of each mapped entry of the list waits for its row. If a LIST reports
/// the rows, the expert does not wait. If neither home nor expert waits, the layer ends.
static void tokens_with_bad_lists(void **state)
{
    struct rig *t = *state;
    static const struct {
        uint16_t list[K];
        unsigned error, reported; ///< rows of it that GPU 1 is notified of
    } bad[] = {{{2, 2}, MW_HWERR_DUPLICATE, 2},
               {{UNKNOWN, 2}, MW_HWERR_UNMAPPED, 1},
               {{UNKNOWN, NONE}, MW_HWERR_UNMAPPED, 0},
               {{UNKNOWN, UNKNOWN}, MW_HWERR_UNMAPPED, 0}};
    static const struct mw_generator *const generators[] = {&mw_generate_flashdmoe,
                                                            &mw_generate_moe_hub};
    for (unsigned i = 0; i < 4 * sizeof bad / sizeof *bad; i += test_cases(3, 1)) {
        const bool waits = i & 1;
        const struct mw_generator *generator = generators[i >> 1 & 1];
        const bool lists_say = generator == &mw_generate_flashdmoe,
                   counted = bad[i / 4].reported && !lists_say;
        const unsigned errors[GPUS] = {1, bad[i / 4].reported && lists_say, 0, 0};
        const unsigned first[GPUS] = {bad[i / 4].error, errors[1] ? MW_HWERR_COUNT : 0, 0, 0};
        uint16_t lists[ALL][K];
        const uint64_t cycles = good_layer(t, generator, PLACES);
        memcpy(lists, usual, sizeof lists);
        memcpy(lists[0], bad[i / 4].list, sizeof lists[0]);
        make_layer(t, usual);
        memcpy(t->l.w.layer->ids, lists, sizeof lists);
        t->streams = waits ? NULL : sums_of_the_others;
        const int status = waits || counted ? MW_ERR_TIMEOUT : MW_ERR_DEVICE;
        assert_int_equal(run(t), status);
        assert_line(mw_message(), "GPU 0: ", mw_hw_strerror(bad[i / 4].error));
        have_errors(t, errors, first);
        have_ended(t, 1u << 2 | 1u << 3 | (unsigned)!waits << 0 | (unsigned)!counted << 1,
                   (unsigned)waits << 0 | (counted ? 1u << 1 : 0));
        const uint32_t open = open_tokens(t, status);
        assert_int_equal(open, 1u << 0);
        assert_int_equal(good_layer(t, generator, PLACES), cycles);
    }
}

int main(void)
{
#define WITH_RIG(test) cmocka_unit_test_setup_teardown(test, open_rig, close_rig)
    const struct CMUnitTest tests[] = {
        WITH_RIG(regions_that_are_too_small), WITH_RIG(slots_that_are_too_few),
        WITH_RIG(refused_before_it_begins),   cmocka_unit_test(a_run_names_the_region),
        WITH_RIG(lists_of_both_kinds),        WITH_RIG(signals_before_their_rows),
        WITH_RIG(stores_of_an_older_layer),   WITH_RIG(tokens_with_bad_lists),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
