// SPDX-License-Identifier: Apache-2.0
//
// Where the regions of a layer lie, and the limits of its settings.
#include "fake_device.h"

#include <stdlib.h>
#include <string.h>

// ---- layout -------------------------------------------------------------------------------------

static void check_layout(const struct mw_layer_config *c, const struct mw_layout *l)
{
    uint64_t rows = (uint64_t)c->experts_per_gpu << l->cap_shift, tokens = c->tokens_per_gpu;
    bool unicast = c->received_rows > 0;
    uint64_t received = c->received_rows;
    assert_true(c->tokens_per_gpu <= 1u << l->token_shift);
    assert_true(c->row_bytes <= 1u << l->row_shift && 1u << l->row_shift >= 16);
    assert_true(4 * c->k <= 1u << l->gate_shift && 1u << l->gate_shift >= 16);
    assert_true(c->rows_per_expert <= 1u << l->cap_shift);
    assert_true(c->k <= 1u << l->k_shift);
    assert_int_equal(l->n_shift, 2);
    const struct {
        uint64_t base, bytes;
    } r[] = {
        {l->stream[0], 1024},
        {l->stream[1], 1024},
        {l->stream[2], 1024},
        {l->stream[3], 1024},
        {l->rt_base, 128 * tokens},
        {l->ce_base, 2 * c->experts_per_gpu},
        {l->al_base, 4 * ((uint64_t)c->experts_per_gpu << (2 + l->token_shift))},
        {l->xs_base, tokens << l->row_shift},
        {l->out_base, tokens << l->row_shift},
        {l->xd_base, (unicast ? received : rows) << l->row_shift},
        {l->yd_base, (unicast ? received << l->k_shift : rows) << l->row_shift},
        {l->gt_base, unicast ? 128 * received : rows << l->gate_shift},
        {l->cb_base, unicast ? tokens << 2 << l->row_shift : 0},
        {l->scratch, c->scratch_bytes},
    };
    size_t n = sizeof r / sizeof *r;
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(r[i].base % 16, 0);
        assert_true(r[i].base + r[i].bytes <= l->end);
        for (size_t j = 0; j < i; j++)
            assert_true(r[i].base + r[i].bytes <= r[j].base || r[j].base + r[j].bytes <= r[i].base);
        bool stored_to = i == 13 || (unicast && (i == 9 || i == 11 || i == 12));
        bool inside = r[i].base >= l->st_lo && r[i].base + r[i].bytes <= l->st_hi;
        bool outside = r[i].base + r[i].bytes <= l->st_lo || r[i].base >= l->st_hi;
        if (r[i].bytes)
            assert_true(stored_to ? inside : outside);
    }
}

static void layouts(void **state)
{
    (void)state;
    const char *text = getenv("MW_SEED");
    unsigned seed = text ? (unsigned)strtoul(text, NULL, 0) : 1;
    print_message("MW_SEED=%u\n", seed);
    srand(seed);
    unsigned fitting = 0, refused = 0;
    for (int i = 0; i < 2000; i++) {
        struct mw_layer_config c;
        struct mw_layout l;
        mw_layer_defaults(&c);
        c.k = 1 + (unsigned)rand() % 16;
        c.tokens_per_gpu = (unsigned)rand() % 129;
        c.row_bytes = 8 * (1 + (unsigned)rand() % 100);
        c.experts_per_gpu = (unsigned)rand() % 17;
        c.rows_per_expert = (unsigned)rand() % 65;
        c.received_rows = rand() % 2 ? (unsigned)rand() % 200 : 0;
        c.scratch_bytes = (uint64_t)(rand() % 5000);
        int status = mw_layout_make(device, &c, &l);
        if (status) {
            assert_code(status, MW_ERR_CAPACITY);
            assert_message("bytes of memory per GPU");
            refused++;
        } else {
            assert_true(l.end <= FAKE_MEM);
            check_layout(&c, &l);
            fitting++;
        }
    }
    assert_true(fitting > 500 && refused > 50);
}

static void layout_limits(void **state)
{
    (void)state;
    static const struct {
        size_t offset;
        unsigned value;
        int code;
        const char *text;
    } bad[] = {
#define BAD(field, value, code, text) {offsetof(struct mw_layer_config, field), value, code, text}
        BAD(k, 0, MW_ERR_INVALID, "k = 0"),
        BAD(k, 17, MW_ERR_INVALID, "k = 17"),
        BAD(row_bytes, 0, MW_ERR_INVALID, "flit"),
        BAD(row_bytes, 44, MW_ERR_INVALID, "bytes per row: 44 is no multiple of the 8-byte flit"),
        BAD(row_bytes, 32760, MW_ERR_CAPACITY, "bytes per row: 32760, the device holds 32752"),
        BAD(dispatch_type, 4, MW_ERR_INVALID, "dispatch_type: there is no type 4"),
        BAD(dispatch_type, 1, MW_ERR_CAPACITY, "dispatch_type: this device's rows are bf16"),
        BAD(tokens_per_gpu, 129, MW_ERR_CAPACITY, "tokens per GPU: 129, the device holds 128"),
        BAD(experts_per_gpu, 17, MW_ERR_CAPACITY, "experts per GPU: 17, the device holds 16"),
        BAD(rows_per_expert, 513, MW_ERR_CAPACITY, "rows of all experts"),
        BAD(received_rows, 300000, MW_ERR_CAPACITY, "received rows"),
        BAD(open_rows, 9, MW_ERR_CAPACITY, "open_rows: 9, the device holds 8"),
        BAD(window, 17, MW_ERR_CAPACITY, "window: 17, the device holds 16"),
        BAD(store_credits, 17, MW_ERR_CAPACITY, "store_credits: 17, the device holds 16"),
        BAD(part_credits, 5, MW_ERR_CAPACITY, "part_credits: 5, the device holds 4"),
        BAD(ctrl_credits, 17, MW_ERR_CAPACITY, "ctrl_credits: 17, the device holds 16"),
        BAD(down_store_credits, 17, MW_ERR_CAPACITY, "down_store_credits: 17, the device holds 16"),
        BAD(down_part_credits, 5, MW_ERR_CAPACITY, "down_part_credits: 5, the device holds 4"),
        BAD(stream_instrs, 65, MW_ERR_INVALID, "65 instructions"),
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct mw_layer_config c = small_config();
        struct mw_layout l;
        memcpy((char *)&c + bad[i].offset, &bad[i].value, sizeof bad[i].value);
        assert_code(mw_layout_make(device, &c, &l), bad[i].code);
        assert_message(bad[i].text);
    }
    struct mw_layer_config c = small_config();
    struct mw_layout l;
    c.scratch_bytes = UINT64_C(1) << 40;
    assert_code(mw_layout_make(device, &c, &l), MW_ERR_CAPACITY);
}

/// Open a device of other sizes in place of the one that is open.
static void open_sized(unsigned gpus, unsigned mem_log2)
{
    fake.gpus = gpus;
    *fake_fabric(&fake, FABRIC(size)) = gpus | 8u << 8 | mem_log2 << 16 | 4u << 24;
    fake_reopen();
}

/// Every limit of a size, and one beyond it, in an otherwise small layer.
static void layouts_at_their_limits(void **state)
{
    (void)state;
    static const struct {
        size_t offset;
        unsigned most, step;
        int code;
    } limit[] = {
#define MOST(field, most, step, code) {offsetof(struct mw_layer_config, field), most, step, code}
        MOST(k, 16, 1, MW_ERR_INVALID),
        MOST(row_bytes, 32752, 8, MW_ERR_CAPACITY),
        MOST(tokens_per_gpu, 128, 1, MW_ERR_CAPACITY),
        MOST(experts_per_gpu, 16, 1, MW_ERR_CAPACITY),
        MOST(rows_per_expert, 1024, 1, MW_ERR_CAPACITY),
        MOST(received_rows, 1 << 20, 1, MW_ERR_CAPACITY),
        MOST(stream_instrs, 64, 1, MW_ERR_INVALID),
        MOST(buffers, 4, 1, MW_ERR_INVALID),
        MOST(open_rows, 8, 1, MW_ERR_CAPACITY),
        MOST(window, 16, 1, MW_ERR_CAPACITY),
        MOST(cache_entries, 512, 512, MW_ERR_CAPACITY),
    };
    *fake_fabric(&fake, FABRIC(size)) = 4 | 8u << 8 | 34u << 16 | 4u << 24;
    fake_open_with_all();
    for (unsigned i = 0; i < sizeof limit / sizeof *limit; i++)
        for (unsigned beyond = 0; beyond < 2; beyond++) {
            struct mw_layer_config c;
            struct mw_layout l;
            mw_layer_defaults(&c);
            c.k = c.tokens_per_gpu = c.experts_per_gpu = c.rows_per_expert = 1;
            c.row_bytes = 8;
            const unsigned value = limit[i].most + beyond * limit[i].step;
            memcpy((char *)&c + limit[i].offset, &value, sizeof value);
            if (mw_layout_make(device, &c, &l) != (beyond ? limit[i].code : 0))
                fail_msg("limit %u, %u: %s", i, value, mw_message());
        }
    // 2^20 rows and tokens in all
    *fake_fabric(&fake, FABRIC(capacity)) = 20 | 20u << 8 | 9u << 16 | 16u << 24;
    struct mw_layer_config c = small_config();
    struct mw_layout l;
    open_sized(32, 34);
    c.experts_per_gpu = 1;
    c.tokens_per_gpu = (1u << 20) / 32;
    assert_code(mw_layout_make(device, &c, &l), 0);
    c.tokens_per_gpu++;
    assert_code(mw_layout_make(device, &c, &l), MW_ERR_CAPACITY);
    c.tokens_per_gpu = 1;
    c.k = 1;
    c.rows_per_expert = 1 << 20;
    assert_code(mw_layout_make(device, &c, &l), 0);
    c.experts_per_gpu = 2;
    assert_code(mw_layout_make(device, &c, &l), MW_ERR_CAPACITY);
    open_sized(4, 20);
    // to the last byte of memory
    c = small_config();
    assert_code(mw_layout_make(device, &c, &l), 0);
    c.scratch_bytes = FAKE_MEM - l.end;
    assert_code(mw_layout_make(device, &c, &l), 0);
    assert_int_equal(l.end, FAKE_MEM);
    c.scratch_bytes++;
    assert_code(mw_layout_make(device, &c, &l), MW_ERR_CAPACITY);
}

/// INVALID: no device can run that layer, for this cause. LACKS: this device cannot.
#define INVALID(info, c, cause) refuses(info, c, MW_ERR_INVALID, cause)
#define LACKS(info, c, cause) refuses(info, c, MW_ERR_CAPACITY, cause)
static void refuses(const struct mw_device_info *info, const struct mw_layer_config *c, int code,
                    const char *cause)
{
    struct mw_layout l;
    assert_code(mw_layout_of(info, c, &l), code);
    assert_message(cause);
}

/// The table of gradients lies where stores from the link may land, after all other regions.
static void layouts_of_gradients(struct mw_device_info *info, struct mw_layer_config c)
{
    struct mw_layout l, without;
    assert_code(mw_layout_of(info, &c, &without), 0);
    c.gate_gradients = true;
    info->gate_gradients = false;
    LACKS(info, &c, "gate_gradients: this device's experts return no gradients of gate weights");
    info->gate_gradients = info->row_types = true;
    assert_code(mw_layout_of(info, &c, &l), 0);
    assert_int_equal(l.dw_base, without.end);
    assert_true(l.end - l.dw_base >= 4 * (uint64_t)c.tokens_per_gpu << l.k_shift);
    assert_true(l.st_lo <= l.dw_base && l.st_hi == l.end);
    assert_int_equal(l.xf_base, l.xd_base);
    // after the slots of as many tokens as there are indices
    c.row_returns = info->row_sparse = true;
    c.tokens_per_gpu = 3;
    assert_code(mw_layout_of(info, &c, &l), 0);
    assert_true(l.dw_base >= l.cb_base + (UINT64_C(4) << l.k_shift << l.row_shift));
    c.row_returns = false;
    c.row_bytes = 4 * info->flit_bytes;
    c.dispatch_type = MW_ROWTYPE_E4M3;
    INVALID(info, &c, "gate_gradients: only for rows of dispatch in bf16");
}

/// Rows that are loaded in parts, whose numbers and windows are the device's.
static void layouts_of_parts(const struct mw_device_info *with, struct mw_layer_config c)
{
    struct mw_device_info info = *with;
    struct mw_layout l;
    info.mem_bytes = 1 << 20;
    c.tokens_per_gpu = 8;
    static const struct {
        unsigned row_bytes, load_bytes, load_parts, open_loads;
        int code;
        const char *message;
    } cases[] = {
        {512, 128, 32, 4, 0, NULL},
        {384, 128, 32, 3, 0, NULL},
        {512, 512, 8, 1, 0, NULL},
        {512, 0, 0, 0, 0, NULL},
        {512, 64, 32, 8, MW_ERR_INVALID, "load_bytes 64: a power of two from 128 on, or 0"},
        {512, 192, 32, 4, MW_ERR_INVALID, "load_bytes 192: a power of two from 128 on, or 0"},
        {384, 256, 32, 4, MW_ERR_INVALID, "load_bytes 256: rows have 384 bytes, no multiple"},
        {512, 1024, 32, 4, MW_ERR_INVALID, "load_bytes 1024: rows have 512 bytes, no multiple"},
        {512, 128, 0, 4, MW_ERR_CAPACITY,
         "load_bytes: this device loads whole rows alone: leave it out"},
        {512, 128, 31, 4, MW_ERR_CAPACITY, "parts of a GPU's rows: 32, the device holds 31"},
        {384, 128, 31, 4, MW_ERR_CAPACITY, "parts of a GPU's rows: 32, the device holds 31"},
        {512, 128, 32, 3, MW_ERR_CAPACITY, "parts of a row that is loaded: 4, the device holds 3"}};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        c.row_bytes = cases[i].row_bytes;
        c.load_bytes = cases[i].load_bytes;
        info.load_parts = cases[i].load_parts;
        info.open_loads = cases[i].open_loads;
        assert_code(mw_layout_of(&info, &c, &l), cases[i].code);
        if (cases[i].message)
            assert_message(cases[i].message);
    }
    c.merge_loads = false;
    INVALID(&info, &c, "load_bytes: only with merge_loads");
}

/// Rows that are loaded land as gathered tokens of all GPUs, of which there are 8 each.
static void layouts_of_loads(struct mw_device_info *info, struct mw_layer_config c)
{
    struct mw_layout l;
    c.merge_loads = true;
    c.received_rows = 31;
    info->merge_loads = false;
    assert_code(mw_layout_of(info, &c, &l), MW_ERR_CAPACITY);
    info->merge_loads = true;
    INVALID(info, &c, "merge_loads: 31 received rows, the tokens of all GPUs take 32");
    c.received_rows = 32;
    assert_code(mw_layout_of(info, &c, &l), 0);
    assert_int_equal(l.load_base, l.xs_base);
    assert_int_equal(l.loaded_bytes, c.row_bytes);
    assert_false(l.reds_counted);
    c.load_expert = c.experts_per_gpu;
    assert_code(mw_layout_of(info, &c, &l), MW_ERR_INVALID);
    c.load_expert = 0;
    info->rows = 31;
    assert_code(mw_layout_of(info, &c, &l), MW_ERR_CAPACITY);
    info->rows = 32;
    assert_code(mw_layout_of(info, &c, &l), 0);
    c.keep_answers = true;
    info->kept_bytes = 0;
    LACKS(info, &c, "keep_answers: this device keeps none: leave it out");
    info->kept_bytes = 1024;
    assert_code(mw_layout_of(info, &c, &l), 0);
    c.merge_loads = false;
    INVALID(info, &c, "keep_answers: only with merge_loads");
    c.merge_loads = true;
    c.keep_answers = false;
    c.sum_entries = 1;
    info->merge_reds = false;
    LACKS(info, &c, "sum_entries: this device's switch adds up no reds: leave it out");
    info->merge_reds = true;
    assert_code(mw_layout_of(info, &c, &l), 0);
    c.down_store_credits = 1;
    assert_code(mw_layout_of(info, &c, &l), MW_ERR_INVALID);
    c.down_store_credits = 2;
    assert_code(mw_layout_of(info, &c, &l), 0);
    c.down_store_credits = 0;
    c.sum_entries = 0;
    c.sum_gpus = info->gpus;
    assert_code(mw_layout_of(info, &c, &l), 0);
    c.sum_gpus++;
    assert_code(mw_layout_of(info, &c, &l), MW_ERR_INVALID);
    info->merge_reds = false;
    LACKS(info, &c, "sum_gpus: this device's switch adds up no reds: leave it out");
    info->merge_reds = true;
    c.sum_gpus = 0;
    layouts_of_parts(info, c);
    info->row_types = true;
    c.dispatch_type = MW_ROWTYPE_E4M3;
    INVALID(info, &c, "dispatch_type: not with merge_loads");
    c.merge_loads = false;
    c.row_bytes = 4 * info->flit_bytes;
    assert_code(mw_layout_of(info, &c, &l), 0);
    c.dispatch_type = MW_ROWTYPE_E4M3_BLOCKS;
    INVALID(info, &c, "row_bytes: 32 are no multiple of 256, a block of 128 values");
    c.dispatch_type = MW_ROWTYPE_NVFP4 + 1;
    INVALID(info, &c, "dispatch_type: there is no type 4");
    c.dispatch_type = MW_ROWTYPE_E4M3;
    c.row_bytes = 3 * info->flit_bytes;
    INVALID(info, &c, "bytes per row of dispatch: 12 is no multiple of the 8-byte flit");
    c.merge_loads = true;
    c.tile_reductions = false;
    INVALID(info, &c, "merge_loads: only with tile_reductions");
}

/// A second dispatch region, only for layers with a handle.
static void layouts_of_handles(struct mw_device_info *info, struct mw_layer_config c)
{
    struct mw_layout none, kept, cached;
    c.merge_loads = c.tile_reductions = false;
    for (unsigned unicast = 0; unicast < 2; unicast++) {
        c.received_rows = unicast ? 5 : 0;
        c.handle = MW_HANDLE_NONE;
        assert_code(mw_layout_of(info, &c, &none), 0);
        c.handle = MW_HANDLE_KEEP;
        info->cached_handle = false;
        LACKS(info, &c, "handle: each layer of this device counts its own rows: leave it out");
        info->cached_handle = true;
        assert_code(mw_layout_of(info, &c, &kept), 0);
        const uint64_t region = none.gt_base - none.xd_base;
        assert_int_equal(kept.xd_cached, kept.xd_base + region);
        assert_int_equal(kept.gt_base, kept.xd_cached + region);
        assert_int_equal(kept.end, none.end + region);
        assert_true(!unicast || kept.st_lo <= kept.xd_cached);
        c.handle = MW_HANDLE_CACHED;
        assert_code(mw_layout_of(info, &c, &cached), 0);
        assert_memory_equal(&cached, &kept, sizeof kept);
    }
    c.handle++;
    INVALID(info, &c, "handle: there is no value 3");
    c.handle = MW_HANDLE_KEEP;
    c.target_list_cache = c.switch_reductions = c.tile_reductions = c.merge_loads = true;
    c.k = 1;
    c.received_rows = 32;
    INVALID(info, &c, "handle: not with merge_loads");
}

/// Which requests may be combined, and in how many lists of rows.
static void layouts_of_settings(void **state)
{
    (void)state;
    struct mw_layer_config c;
    struct mw_layout l, plain;
    fake_open_with_all();
    for (unsigned entries = 1; entries <= 1024; entries++) {
        c = small_config();
        c.cache_entries = entries;
        const bool power = (entries & (entries - 1)) == 0;
        assert_code(mw_layout_make(device, &c, &l), entries > 512            ? MW_ERR_CAPACITY
                                                    : entries >= 16 && power ? 0
                                                                             : MW_ERR_INVALID);
    }
    c = small_config();
    assert_code(mw_layout_make(device, &c, &plain), 0);
    assert_int_equal(plain.st_lo, plain.scratch);
    assert_int_equal(plain.rl_base, plain.scratch);
    c.target_list_cache = c.switch_reductions = true; // a list for each token of all GPUs
    assert_code(mw_layout_make(device, &c, &l), 0);
    assert_true(l.scratch - l.rl_base >= (uint64_t)32 << (l.n_shift + l.token_shift));
    assert_int_equal(l.end - plain.end, l.scratch - l.rl_base);
    c.target_list_cache = false;
    assert_code(mw_layout_make(device, &c, &l), MW_ERR_INVALID);
    c.target_list_cache = c.tile_reductions = true; // of one row to a token, with switch_reductions
    struct mw_device_info info;
    assert_code(mw_info(device, &info), 0);
    info.tile_reductions = false;
    assert_code(mw_layout_of(&info, &c, &l), MW_ERR_CAPACITY);
    info.tile_reductions = true;
    c.k = 1;
    assert_code(mw_layout_of(&info, &c, &l), 0);
    c.balance_rows = true;
    info.balance_rows = false;
    assert_code(mw_layout_of(&info, &c, &l), MW_ERR_CAPACITY);
    info.balance_rows = true;
    assert_code(mw_layout_of(&info, &c, &l), 0);
    c.k = 2;
    assert_code(mw_layout_of(&info, &c, &l), MW_ERR_INVALID);
    c.k = 1;
    c.switch_reductions = false;
    assert_code(mw_layout_of(&info, &c, &l), MW_ERR_INVALID);
    c.switch_reductions = true;
    layouts_of_loads(&info, c);
    layouts_of_gradients(&info, small_config());
    layouts_of_handles(&info, c);
    c = small_config();
    c.row_returns = true; // slots of as many places as k, rounded up, where stores land
    assert_code(mw_layout_make(device, &c, &l), 0);
    assert_int_equal(l.st_lo, l.cb_base);
    assert_true(l.rl_base - l.cb_base >= (uint64_t)c.tokens_per_gpu << (l.k_shift + l.row_shift));
    c.received_rows = 1;
    assert_code(mw_layout_make(device, &c, &l), MW_ERR_INVALID);
    c.received_rows = 0;
    c.target_list_cache = c.switch_reductions = true;
    assert_code(mw_layout_make(device, &c, &l), MW_ERR_INVALID);
    c.switch_reductions = false;
    c.source_lists = true; // of 16 lists each GPU has four
    c.experts_per_gpu = 4;
    assert_code(mw_layout_make(device, &c, &l), 0);
    c.experts_per_gpu = 5;
    assert_code(mw_layout_make(device, &c, &l), MW_ERR_CAPACITY);
    c.row_returns = false;
    c.experts_per_gpu = 4;
    assert_code(mw_layout_make(device, &c, &l), MW_ERR_INVALID);
    for (unsigned gpus = 3; gpus <= 5; gpus++) { // rounded up to a power of two
        c.row_returns = true;
        open_sized(gpus, 20);
        c.experts_per_gpu = gpus < 5 ? 4 : 2;
        assert_code(mw_layout_make(device, &c, &l), 0);
        c.experts_per_gpu++;
        assert_code(mw_layout_make(device, &c, &l), MW_ERR_CAPACITY);
    }
    open_sized(4, 20);
}

/// Every setting at both ends, and beyond.
static void settings_at_their_limits(void **state)
{
    (void)state;
    static const struct {
        uint64_t low_high[2];
        const char *name[14]; ///< up to a NULL
    } range[] = {
        {{0, 1},
         {"partial_tiles", "packet_manager", "adder_bypass", "own_by_adder", "target_list_cache",
          "switch_reductions", "tile_reductions", "merge_loads", "keep_answers", "row_returns",
          "source_lists", "dispatch_throttle", "balance_rows"}},
        {{0, 4}, {"link_cycles"}},
        {{0, 5}, {"scatter"}},
        {{0, 31}, {"window"}},
        {{0, 63}, {"load_expert"}},
        {{0, 72}, {"sum_gpus"}},
        {{0, 255},
         {"open_rows", "store_credits", "part_credits", "ctrl_credits", "down_store_credits",
          "throttle", "down_throttle", "down_part_credits"}},
        {{0, 511}, {"merge_entries", "sum_entries"}},
        {{0, 16384}, {"load_bytes"}},
        {{0, 32767}, {"load_first", "sum_first"}},
        {{0, 65535},
         {"expert_cycles", "partial_wait", "in_flight", "start_delay", "throttle_lead",
          "throttle_ahead", "throttle_idle", "launch_cycles", "rpm_timer", "sum_cycles",
          "fetch_cycles"}},
        {{0, 65536}, {"cache_entries"}},
        {{1, 255}, {"tile"}},
    };
    for (unsigned i = 0; i < sizeof range / sizeof *range; i++)
        for (const char *const *name = range[i].name; *name; name++) {
            const uint64_t low = range[i].low_high[0], high = range[i].low_high[1];
            struct mw_layer_config c;
            mw_layer_defaults(&c);
            assert_code(mw_layer_set(&c, *name, low), 0);
            assert_code(mw_layer_set(&c, *name, high), 0);
            assert_code(mw_layer_set(&c, *name, high + 1), MW_ERR_INVALID);
            assert_code(mw_layer_set(&c, *name, UINT64_C(1) << 32 | low), MW_ERR_INVALID);
            assert_code(mw_layer_set(&c, *name, low - 1), MW_ERR_INVALID); // 2^64 - 1 below 0
        }
}

/// A layer may use only what the build has. Settings that change no packet are left out without an
/// error.
static void primitives(void **state)
{
    (void)state;
    struct mw_layer_config c = small_config();
    struct mw_layout l;
    struct mw_device_info info;
    c.target_list_cache = true;
    assert_code(mw_layout_make(device, &c, &l), 0);
    *fake_fabric(&fake, FABRIC(primitives)) = 0;
    fake_reopen();
    assert_code(mw_info(device, &info), 0);
    assert_true(!info.adder_bypass && !info.target_list_cache && !info.link_rate);
    assert_code(mw_layout_make(device, &c, &l), MW_ERR_CAPACITY);
    assert_message("target_list_cache: this device does not remember lists of targets");
    c.target_list_cache = false;
    c.link_cycles = 2;
    assert_code(mw_layout_make(device, &c, &l), MW_ERR_CAPACITY);
    assert_message("link_cycles: this device's links take a flit per cycle");
    c.link_cycles = 1;
    c.adder_bypass = true;
    assert_code(mw_layout_make(device, &c, &l), 0);
}

/// Regions beyond 4 GiB, in memories of 16 GiB.
static void large_layouts(void **state)
{
    (void)state;
    static const unsigned tokens[4] = {8192, 1, 0, 8192}, experts[4] = {16, 1, 0, 16};
    *fake_fabric(&fake, FABRIC(capacity)) = 18 | 13u << 8 | 9u << 16 | 16u << 24;
    open_sized(4, 34);
    struct mw_layer_config c = small_config();
    struct mw_layout l;
    c.k = 8;
    c.tokens_per_gpu = 8192;
    c.row_bytes = 14336;
    c.experts_per_gpu = 16;
    c.rows_per_expert = 16384; // 2^18 rows of 2^14 bytes, twice
    c.scratch_bytes = UINT64_C(5) << 30;
    assert_code(mw_layout_make(device, &c, &l), 0);
    assert_true(l.xd_base - l.yd_base >= UINT64_C(1) << 32);
    assert_true(l.gt_base - l.xd_base >= UINT64_C(1) << 32);
    assert_true(l.scratch > UINT64_C(1) << 33 && l.st_lo == l.scratch);
    assert_true(l.st_hi - l.scratch == c.scratch_bytes && l.st_hi == l.end);
    assert_code(mw_layer_configure(device, &c, &l, tokens, experts, 1), 0);
    assert_int_equal(*fake_node(&fake, 0, NODE(gt_base)), l.gt_base / 16);
    assert_int_equal(*fake_node(&fake, 0, NODE(st_hi)), l.st_hi / 16);
    struct mw_stream s;
    mw_stream_init(&s);
    assert_code(mw_stream_st_linear(&s, 1, l.scratch, 64, l.scratch + 64), 0);
    assert_int_equal(s.instr[0].a_high, l.scratch >> 32);
    assert_int_equal(s.instr[0].a, (uint32_t)l.scratch);
    assert_int_equal(s.instr[0].c_high, (l.scratch + 64) >> 32);
    assert_code(mw_stream_st_linear(&s, 1, UINT64_C(1) << 34, 64, 0), MW_ERR_INVALID);
    assert_message("address 0x400000000: below 2^34");
    assert_code(mw_stream_end(&s), MW_ERR_INVALID);
    // sizes that exceed the memory by any amount
    static const uint64_t too_much[] = {UINT64_C(9) << 30, UINT64_C(1) << 34, UINT64_C(1) << 63,
                                        UINT64_MAX, UINT64_MAX - 127};
    for (unsigned i = 0; i < sizeof too_much / sizeof *too_much; i++) {
        c.scratch_bytes = too_much[i];
        assert_code(mw_layout_make(device, &c, &l), MW_ERR_CAPACITY);
    }
    c.scratch_bytes = c.experts_per_gpu = 0;
    c.rows_per_expert = UINT32_MAX; // of no expert
    assert_code(mw_layout_make(device, &c, &l), MW_ERR_CAPACITY);
    c.rows_per_expert = 0;
    assert_code(mw_layout_make(device, &c, &l), 0);
    l.xs_base += 8;
    assert_code(mw_layer_configure(device, &c, &l, tokens, tokens, 1), MW_ERR_INVALID);
    assert_message("a multiple of 16");
}

static void settings(void **state)
{
    (void)state;
    struct mw_layer_config c;
    mw_layer_defaults(&c);
    assert_code(mw_layer_set(&c, "tile", 255), 0);
    assert_int_equal(c.tile, 255);
    assert_code(mw_layer_set(&c, "tile", 0), MW_ERR_INVALID);
    assert_message("1 .. 255");
    assert_code(mw_layer_set(&c, "partial_tiles", 1), 0);
    assert_true(c.partial_tiles);
    assert_code(mw_layer_set(&c, "expert_cycles", 65535), 0);
    assert_int_equal(c.expert_cycles, 65535);
    assert_code(mw_layer_set(&c, "down_throttle", 77), 0);
    assert_int_equal(c.down_throttle, 77);
    assert_code(mw_layer_set(&c, "link_cycles", 4), 0);
    assert_int_equal(c.link_cycles, 4);
    assert_code(mw_layer_set(&c, "k", 3), MW_ERR_INVALID); // a size, not a setting
    assert_code(mw_layer_set(&c, "", 3), MW_ERR_INVALID);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fake_setup, fake_teardown)
    const struct CMUnitTest tests[] = {TEST(layouts),
                                       TEST(layout_limits),
                                       TEST(primitives),
                                       TEST(large_layouts),
                                       TEST(settings),
                                       TEST(layouts_at_their_limits),
                                       TEST(layouts_of_settings),
                                       TEST(settings_at_their_limits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
