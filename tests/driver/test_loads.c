// SPDX-License-Identifier: Apache-2.0
//
// Stores to rows that the same layer loads with ld.cais: which are refused, to the byte.
#include "fake_device.h"

#include <stdio.h>
#include <string.h>

enum {
    GPUS = 4,
    STREAMS = 2,
    TOKENS = 8,
    TOKEN_SHIFT = 3,
    ROW = 40,     ///< bytes of a row
    STRIDE = 64,  ///< from a row to the next
    FIRST = 2,    ///< index of the first loaded row
    LOADED = 3,   ///< rows of each home
    SENDER = 1,   ///< the GPU that stores, in stream 1
    RECEIVER = 2, ///< the GPU to whose memory st.linear stores
};

static struct mw_layer_config config;
static struct mw_layout layout;
static struct mw_stream streams[GPUS * STREAMS];

/// A layer with merged loads whose rows have gaps.
static int setup(void **state)
{
    int status = fake_setup(state);
    fake_open_with_all();
    config = small_config();
    config.k = 1;
    config.tokens_per_gpu = TOKENS;
    config.row_bytes = ROW;
    config.received_rows = GPUS * TOKENS;
    config.scratch_bytes = 4096;
    config.target_list_cache = config.switch_reductions = true;
    config.tile_reductions = config.merge_loads = true;
    assert_code(mw_layout_make(device, &config, &layout), 0);
    assert_int_equal(1 << layout.row_shift, STRIDE);
    assert_int_equal(layout.token_shift, TOKEN_SHIFT);
    return status;
}

static struct mw_stream *of(unsigned gpu, unsigned stream)
{
    return &streams[gpu * STREAMS + stream];
}

/// Every GPU loads the rows of all homes, in stream 0.
static struct mw_stream *begin(void)
{
    for (unsigned g = 0; g < GPUS; g++) {
        mw_stream_init(of(g, 0));
        mw_stream_init(of(g, 1));
        mw_stream_ld_cais(of(g, 0), FIRST, LOADED, 1, 0);
    }
    mw_stream_fence(of(SENDER, 1));
    return of(SENDER, 1);
}

static int load(void)
{
    for (unsigned i = 0; i < GPUS * STREAMS; i++)
        assert_code(mw_stream_end(&streams[i]), 0);
    return mw_stream_load(device, &layout, streams, STREAMS);
}

static void allows(const char *what, uint64_t to)
{
    if (load())
        fail_msg("%s at 0x%llx: %s", what, (unsigned long long)to, mw_message());
}

static void refuses(const char *what, uint64_t to)
{
    if (load() != MW_ERR_INVALID)
        fail_msg("%s at 0x%llx is not refused", what, (unsigned long long)to);
}

static uint64_t source(unsigned index)
{
    return layout.load_base + (uint64_t)index * STRIDE;
}

static uint64_t place(unsigned home, unsigned index)
{
    return layout.xd_base + (uint64_t)(home << TOKEN_SHIFT | index) * STRIDE;
}

// ---- bytes --------------------------------------------------------------------------------------

static void st_linear(uint64_t to, uint32_t bytes, bool refused)
{
    mw_stream_st_linear(begin(), RECEIVER, layout.scratch, bytes, to);
    (refused ? refuses : allows)("st.linear", to);
}

/// Of the row at `at`, one byte at each end is enough. What is between rows may be stored to.
static void check_row(uint64_t at, bool loaded)
{
    st_linear(at - 8, 8, false);
    st_linear(at - 7, 8, loaded);
    st_linear(at, 0, false);
    st_linear(at, 1, loaded);
    st_linear(at + 8, 16, loaded);
    st_linear(at + ROW - 1, 8, loaded);
    st_linear(at + ROW, STRIDE - ROW, false);
}

static void bytes_of_rows(void **state)
{
    (void)state;
    for (unsigned i = 1; i < TOKENS - 1; i++) {
        const bool loaded = i >= FIRST && i < FIRST + LOADED;
        check_row(source(i), loaded);
        for (unsigned home = 0; home < GPUS; home++)
            check_row(place(home, i), loaded);
    }
    st_linear(layout.scratch, 4096, false);
    st_linear(source(0), FIRST * STRIDE, false);
    st_linear(source(0), FIRST * STRIDE + 1, true);
    st_linear(source(FIRST + LOADED) - STRIDE + ROW, 2 * STRIDE, false);
    st_linear(source(FIRST + LOADED) - STRIDE + ROW - 1, 2 * STRIDE, true);
    st_linear(source(0), TOKENS * STRIDE, true);
    st_linear(0, UINT32_MAX, true);
    st_linear((UINT64_C(1) << 34) - 1, UINT32_MAX, false);
}

// ---- instructions -------------------------------------------------------------------------------

static void add_st_linear(struct mw_stream *s, uint64_t to)
{
    mw_stream_st_linear(s, RECEIVER, 0, ROW, to);
}

static void add_multimem_st(struct mw_stream *s, uint64_t to)
{
    mw_stream_multimem_st(s, 0, 0, ROW, to);
}

static void add_st_rows(struct mw_stream *s, uint64_t to)
{
    mw_stream_multimem_st_rows(s, 0, 0, 1, layout.row_shift, to);
}

static void add_st_routes(struct mw_stream *s, uint64_t to)
{
    mw_stream_multimem_st_routes(s, 0, 0, 1, to - (MW_ROUTE_BYTES - ROW));
}

static void add_red(struct mw_stream *s, uint64_t to)
{
    mw_stream_multimem_red(s, 0, 0, ROW, to);
}

static void add_merged_red(struct mw_stream *s, uint64_t to)
{
    mw_stream_red_cais(s, 0, 0, ROW, to);
}

static void add_reds_of_homes(struct mw_stream *s, uint64_t to)
{
    mw_stream_red_cais_homes(s, 0, 0, STRIDE, to);
}

static void add_ld_reduce(struct mw_stream *s, uint64_t to)
{
    mw_stream_multimem_ld_reduce(s, 0, 0, ROW, to);
}

static const struct {
    const char *name;
    void (*add)(struct mw_stream *s, uint64_t to);
} stores[] = {{"st.linear", add_st_linear},    {"multimem.st", add_multimem_st},
              {"multimem.st", add_st_rows},    {"multimem.st", add_st_routes},
              {"multimem.red", add_red},       {"red.cais", add_merged_red},
              {"red.cais", add_reds_of_homes}, {"multimem.ld_reduce", add_ld_reduce}};

enum { STORES = sizeof stores / sizeof *stores };

/// Each store ends in the last byte of ROW from `to` on.
static void each_store(void **state)
{
    (void)state;
    for (unsigned i = 0; i < STORES; i++) {
        const uint64_t rows[] = {source(FIRST), place(0, FIRST), place(GPUS - 1, FIRST)};
        for (unsigned r = 0; r < 3; r++) {
            stores[i].add(begin(), rows[r] - ROW);
            allows(stores[i].name, rows[r] - ROW);
            stores[i].add(begin(), rows[r] - ROW + 1);
            refuses(stores[i].name, rows[r] - ROW + 1);
            char text[80];
            snprintf(text, sizeof text, "stream 1 of GPU %d, instruction 1: %s", SENDER,
                     stores[i].name);
            assert_message(text);
        }
    }
}

/// Rows that lie apart leave the bytes between them as they are, for any distance from loaded rows.
static void rows_apart(void **state)
{
    (void)state;
    enum { ROWS = 20 };
    for (uint64_t to = source(0) - 3 * STRIDE; to < source(FIRST) + 4 * STRIDE; to++) {
        bool hit = false;
        for (unsigned i = 0; i < 2; i++) // of a row, first and last byte
            for (unsigned n = FIRST; n < FIRST + LOADED; n++)
                for (unsigned row = 0; row < 3; row++) {
                    const uint64_t at = to + row * STRIDE + i * (ROW - 1);
                    hit = hit || (at >= source(n) && at < source(n) + ROW);
                }
        mw_stream_multimem_st_rows(begin(), 0, 0, 3, layout.row_shift, to);
        (hit ? refuses : allows)("three rows", to);
        mw_stream_red_cais_homes(begin(), 0, 0, 3 * STRIDE, to);
        (hit ? refuses : allows)("three rows of each home", to);
    }
    mw_stream_multimem_st_rows(begin(), 0, 0, ROWS, layout.row_shift, source(0) + ROW - STRIDE);
    refuses("rows with another phase", source(0) + ROW - STRIDE);
}

/// Results of multimem.ld_reduce by rows lie at out_base, and rows at addresses of their own tokens
/// at the bytes of their numbers.
static void other_bases(void **state)
{
    (void)state;
    layout.load_base = layout.out_base;
    mw_stream_multimem_ld_reduce_rows(begin(), 0, 0, 0, FIRST, layout.row_shift);
    allows("output rows below", 0);
    mw_stream_multimem_ld_reduce_rows(begin(), 0, 0, 0, FIRST + 1, layout.row_shift);
    refuses("output rows", 0);
    mw_stream_multimem_ld_reduce_rows(begin(), 0, 0, FIRST + LOADED, 1, layout.row_shift);
    allows("output rows above", 0);
    // the sender's token 0 has number SENDER << TOKEN_SHIFT
    layout.load_base = (SENDER << TOKEN_SHIFT) * STRIDE;
    mw_stream_dymultimem_st_rows(begin(), 0, FIRST, true);
    allows("rows at their numbers below", 0);
    mw_stream_dymultimem_st_rows(begin(), FIRST, 1, true);
    refuses("rows at their numbers", 0);
}

/// Rows of a dispatch land where counts or the allocator determine, which the library cannot
/// predict.
static void dispatched_rows(void **state)
{
    (void)state;
    mw_stream_st(begin(), 0, 0);
    allows("st of no row", 0);
    mw_stream_st(begin(), 0, 1);
    refuses("st", 0);
    mw_stream_st_rowsp(begin(), 0, 1);
    refuses("st.rowsp", 0);
    mw_stream_dymultimem_st(begin(), 0, 1);
    refuses("dymultimem.st", 0);
    mw_stream_dymultimem_st_rows(begin(), 0, 1, false);
    refuses("dymultimem.st without gate weights", 0);
}

/// What a home computes it may offer for loads: the engine's rows, sums, and copies of them.
static void own_results(void **state)
{
    (void)state;
    struct mw_stream *s = begin();
    mw_stream_dymultimem_ld_reduce(s, 0, TOKENS, false);
    mw_stream_expert_homes(s, 0, TOKENS, true);
    mw_stream_expert_gathered(s, 0, GPUS * TOKENS);
    mw_stream_expert_landed(s, 3);
    mw_stream_sum(s, 0, TOKENS, true);
    mw_stream_sum_dense(s, 0, TOKENS, MW_DENSE_SUMS);
    mw_stream_sum_gathered(s, 0, TOKENS, 0);
    mw_stream_sync(s, 0, TOKENS);
    layout.load_base = layout.out_base;
    allows("results", 0);
}

// ---- layers -------------------------------------------------------------------------------------

/// Reds that complete own rows may go to rows that are loaded: their home counts them before it
/// offers the row. They may not go where loaded rows land.
static void counted_reds(void **state)
{
    (void)state;
    config.sum_gpus = GPUS - 1;
    assert_code(mw_layout_make(device, &config, &layout), 0);
    for (unsigned i = 0; i < STORES; i++) {
        const bool counted = !strcmp(stores[i].name, "red.cais");
        stores[i].add(begin(), source(FIRST));
        (counted ? allows : refuses)(stores[i].name, source(FIRST));
        stores[i].add(begin(), place(GPUS - 1, FIRST));
        refuses(stores[i].name, place(GPUS - 1, FIRST));
        stores[i].add(begin(), place(GPUS - 1, 1));
        allows(stores[i].name, place(GPUS - 1, 1));
    }
}

/// Ranges of all instructions of all GPUs count. A range beyond the tokens loads nothing.
static void ranges(void **state)
{
    (void)state;
    mw_stream_ld_cais(begin(), FIRST + LOADED, 1, 0, 0);
    mw_stream_st_linear(of(0, 1), RECEIVER, 0, 8, source(FIRST + LOADED));
    refuses("the second range", 0);
    assert_message(
        "instruction 0: st.linear writes to row 5 of GPU 2, which GPU 1 loads with ld.cais");
    mw_stream_ld_cais(begin(), FIRST + LOADED, 1, 0, 0);
    mw_stream_st_linear(of(0, 1), SENDER, 0, 8, place(3, FIRST + LOADED));
    refuses("a place of the second range", 0);
    assert_message("writes to the place of row 5 of GPU 3, which GPU 1 loads with ld.cais");
    mw_stream_ld_cais(begin(), FIRST + LOADED, 1, 0, 0);
    mw_stream_st_linear(of(0, 1), RECEIVER, 0, 8, place(3, FIRST + LOADED));
    allows("a place where another GPU does not load", 0);
    mw_stream_st_linear(begin(), GPUS, 0, 8, source(FIRST));
    allows("a GPU that does not exist", 0);
    static const uint32_t beyond[][2] = {
        {5, TOKENS - 4}, {TOKENS, 1}, {5, UINT32_MAX}, {5, 0}, {UINT32_MAX, UINT32_MAX}};
    for (unsigned i = 0; i < sizeof beyond / sizeof *beyond; i++) {
        mw_stream_ld_cais(begin(), beyond[i][0], beyond[i][1], 0, 0);
        mw_stream_st_linear(of(0, 1), RECEIVER, 0, 3 * STRIDE, source(5));
        allows("a range beyond", 0);
    }
    mw_stream_ld_cais(begin(), 5, TOKENS - 5, 0, 0);
    mw_stream_st_linear(of(0, 1), RECEIVER, 0, 8, source(TOKENS - 1));
    refuses("the last row", 0);
}

/// Without loads, and in layers without merge_loads, every store is allowed.
static void other_layers(void **state)
{
    (void)state;
    for (unsigned i = 0; i < STORES; i++) {
        stores[i].add(begin(), source(FIRST));
        for (unsigned g = 0; g < GPUS; g++)
            mw_stream_init(of(g, 0));
        allows(stores[i].name, source(FIRST));
    }
    config.merge_loads = false;
    assert_code(mw_layout_make(device, &config, &layout), 0);
    for (unsigned i = 0; i < STORES; i++) {
        stores[i].add(begin(), source(FIRST));
        allows(stores[i].name, source(FIRST));
    }
}

static void make(void *context, unsigned gpu, struct mw_stream *s)
{
    (void)context;
    for (unsigned i = 0; i < STREAMS; i++)
        s[i] = *of(gpu, i);
}

/// The message is complete, nothing is written, and streams that the library has made are checked
/// too.
static void message(void **state)
{
    (void)state;
    static const char text[] =
        "stream 1 of GPU 1, instruction 1: multimem.st writes to row 2 of each GPU, which GPU 0 "
        "loads with ld.cais in the same layer, and loads have no order with stores: store to other "
        "bytes, "
        "or load in a later layer";
    mw_stream_multimem_st(begin(), 0, 0, 8, source(FIRST));
    memset(fake.mem[0] + layout.stream[0], 0x5a, 16);
    refuses("multimem.st", source(FIRST));
    assert_string_equal(mw_message(), text);
    assert_int_equal(fake.mem[0][layout.stream[0]], 0x5a);
    mw_stream_multimem_st(begin(), 0, 0, 8, source(FIRST));
    assert_code(mw_streams_load(device, &layout, STREAMS, make, NULL), MW_ERR_INVALID);
    assert_string_equal(mw_message(), text);
    assert_int_equal(fake.mem[0][layout.stream[0]], 0x5a);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, fake_teardown)
    const struct CMUnitTest tests[] = {
        TEST(bytes_of_rows),   TEST(each_store),  TEST(rows_apart),   TEST(other_bases),
        TEST(dispatched_rows), TEST(own_results), TEST(counted_reds), TEST(ranges),
        TEST(other_layers),    TEST(message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
