// SPDX-License-Identifier: Apache-2.0
//
// libmoeswitch over a fake device: what it writes, and every way in which a call can fail.
#include "fake.h"

#include "transport_sim/cpu.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "fabric_regs.h"
#include "node_regs.h"

#define FABRIC(reg) ((uint32_t)offsetof(mw_fabric_t, reg))
#define NODE(reg) ((uint32_t)offsetof(mw_node_t, reg))
#define BASE(address) ((uint32_t)((address) / MW_BASE_UNIT))
#define assert_code(call, code) assert_int_equal(call, code)
#define assert_message(text) assert_non_null(strstr(mw_message(), text))

static struct fake fake;
static struct mw_device *device;

static int setup(void **state)
{
    (void)state;
    fake_init(&fake, 4, 8);
    return fake_open(&fake, &device);
}

static int teardown(void **state)
{
    (void)state;
    mw_close(device);
    fake_free(&fake);
    return 0;
}

// ---- errors -------------------------------------------------------------------------------------

static void texts(void **state)
{
    (void)state;
#define CHECK(name, value, text) assert_string_equal(mw_strerror(value), text);
    MW_ERR_LIST(CHECK)
#undef CHECK
#define CHECK(name, value, text) assert_string_equal(mw_hw_strerror(value), text);
    MW_HWERR_LIST(CHECK)
#undef CHECK
    assert_string_equal(mw_strerror(1), "unknown error");
    assert_string_equal(mw_strerror(-1000), "unknown error");
    assert_string_equal(mw_hw_strerror(255), "unknown error");
}

// ---- open ---------------------------------------------------------------------------------------

static int try_open(unsigned gpus, unsigned flit, unsigned latency)
{
    struct mw_open_options o;
    struct mw_device *d = device;
    mw_open_defaults(&o);
    o.custom = &fake_transport;
    o.custom_context = &fake;
    o.gpus = gpus;
    o.flit_bytes = flit;
    o.link_latency = latency;
    int status = mw_open(&o, &d);
    if (status)
        assert_null(d);
    else
        mw_close(d);
    return status;
}

static void open_checks(void **state)
{
    (void)state;
    struct mw_device_info info;
    assert_code(mw_info(device, &info), 0);
    assert_int_equal(info.gpus, 4);
    assert_int_equal(info.flit_bytes, 8);
    assert_int_equal(info.mem_bytes, FAKE_MEM);
    assert_int_equal(info.rows, 1024);
    assert_int_equal(info.tokens, 128);
    assert_int_equal(info.local_experts, 16);
    assert_int_equal(info.experts, 64);
    assert_int_equal(info.open_rows, 8);
    assert_int_equal(info.window, 16);
    assert_true(info.adder_bypass && info.target_list_cache);
    assert_int_equal(info.link_latency, 1);

    assert_code(try_open(4, 8, 64), 0);
    assert_int_equal(*fake_fabric(&fake, FABRIC(link)), 64);
    assert_code(try_open(4, 8, 65), MW_ERR_CAPACITY);
    assert_message("at most 64");
    assert_code(try_open(4, 8, 0), MW_ERR_INVALID);
    assert_code(try_open(1, 8, 1), MW_ERR_INVALID);
    assert_code(try_open(33, 8, 1), MW_ERR_INVALID);
    assert_code(try_open(4, 12, 1), MW_ERR_INVALID);
    assert_code(try_open(8, 8, 1), MW_ERR_INVALID);
    assert_message("has 4 GPUs and 8-byte flits, requested were 8 and 8");
    assert_code(try_open(4, 16, 1), MW_ERR_INVALID);

    fake.open_status = MW_ERR_BUSY;
    assert_code(try_open(4, 8, 1), MW_ERR_BUSY);
    assert_message("the fake refuses");
    fake.open_status = 0;
    *fake_fabric(&fake, FABRIC(id)) = 0x4d570001;
    assert_code(try_open(4, 8, 1), MW_ERR_VERSION);
    *fake_fabric(&fake, FABRIC(id)) = 0x12340100;
    assert_code(try_open(4, 8, 1), MW_ERR_VERSION);
    *fake_fabric(&fake, FABRIC(id)) = 0x4d570100;
    *fake_fabric(&fake, FABRIC(size)) = 200 | 8u << 8;
    assert_code(try_open(4, 8, 1), MW_ERR_VERSION);
    assert_message("claims 200 GPUs");
}

/// A device that claims what the library cannot count with is none that it knows.
static void claims_are_checked(void **state)
{
    (void)state;
#define FIELD(name) MW_FABRIC__##name##_bm, MW_FABRIC__##name##_bp
    static const struct {
        uint32_t at, mask;
        unsigned shift;
        uint32_t wrong[3];
    } claims[] = {
        {FABRIC(size), FIELD(SIZE__PORTS), {0, 1, 33}},
        {FABRIC(size), FIELD(SIZE__FLIT_BYTES), {0, 12, 32}},
        {FABRIC(size), FIELD(SIZE__MEM_LOG2), {0, 7, 35}},
        {FABRIC(capacity), FIELD(CAPACITY__ROWS_LOG2), {21, 31, 255}},
        {FABRIC(capacity), FIELD(CAPACITY__TOKENS_LOG2), {21, 31, 255}},
        {FABRIC(capacity), FIELD(CAPACITY__LOCAL_EXPERTS), {0, 0, 0}},
        {FABRIC(tables), FIELD(TABLES__EXPERTS), {0, 4097, 65535}},
        {FABRIC(tables), FIELD(TABLES__GROUPS), {17, 64, 255}},
        {FABRIC(windows), FIELD(WINDOWS__MAX_LATENCY), {0, 0, 0}},
        {FABRIC(windows), FIELD(WINDOWS__OPEN_ROWS), {0, 0, 0}},
    };
    for (unsigned i = 0; i < sizeof claims / sizeof *claims; i++) {
        uint32_t *word = fake_fabric(&fake, claims[i].at), right = *word;
        for (unsigned j = 0; j < 3; j++) {
            *word = (right & ~claims[i].mask) | claims[i].wrong[j] << claims[i].shift;
            assert_code(try_open(4, 8, 1), MW_ERR_VERSION);
            assert_message("the device claims");
        }
        *word = right;
    }
    assert_code(try_open(4, 8, 1), 0);
}

static void open_closes_what_it_opened(void **state)
{
    (void)state;
    unsigned closed = fake.closed;
    for (long i = 0; i < 6 + 1 + 16;
         i++) { // reads; the link, and groups, of which none has members
        fake_fail_at(&fake, i);
        assert_code(try_open(4, 8, 1), MW_ERR_IO);
        assert_int_equal(fake.closed, ++closed);
    }
    fake_fail_at(&fake, FAKE_NEVER);
    assert_code(try_open(4, 8, 1), 0);
    mw_close(NULL);
}

/// What the processor says of itself is what the system says of it, for each name
/// that a model may need.
static void cpu(void **state)
{
    (void)state;
    static char flags[1 << 14];
    char line[400];
    unsigned names = 0;
    FILE *f = fopen("/proc/cpuinfo", "r");
    assert_non_null(f);
    while (fgets(flags, sizeof flags, f) && strncmp(flags, "flags", 5) != 0)
        ;
    fclose(f);
    flags[strcspn(flags, "\n")] = ' ';
    f = fopen("sim/made.py", "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f) && strncmp(line, "CPU = {", 7) != 0)
        ;
    while (fgets(line, sizeof line, f) && *line != '}')
        for (const char *at = strstr(line, "\": \""); at; at = strstr(at + 1, "\": \"")) {
            char name[32], word[34];
            snprintf(name, sizeof name, "%.*s", (int)strcspn(at + 4, "\""), at + 4);
            snprintf(word, sizeof word, " %s ", name);
            if (mwi_cpu_has(name) != (strstr(flags, word) != NULL))
                fail_msg("%s", name);
            names++;
        }
    fclose(f);
#ifdef __x86_64__
    assert_int_equal(names, 29);
#endif
    assert_false(mwi_cpu_has("no_such"));
    assert_false(mwi_cpu_has(""));
}

static void sim_without_model(void **state)
{
    (void)state;
    struct mw_open_options o;
    struct mw_device *d;
    mw_open_defaults(&o);
    o.transport = "carrier-pigeon";
    assert_code(mw_open(&o, &d), MW_ERR_NODEV);
    assert_message("carrier-pigeon: there is none of that name: sim and usb are");
    o.transport = "sim";
    o.gpus = 31; // which nobody builds
    assert_code(mw_open(&o, &d), MW_ERR_NODEV);
    assert_message("make model N=31 F=16 in /");
    o.model = "/nonexistent/libmwsim.so";
    assert_code(mw_open(&o, &d), MW_ERR_NODEV);
    assert_message("/nonexistent/libmwsim.so");
    o.model = "/proc/self/exe";
    assert_code(mw_open(&o, &d), MW_ERR_NODEV);
    assert_message("not a model");
    o.model = "/proc/self/cmdline";
    assert_code(mw_open(&o, &d), MW_ERR_NODEV);
    assert_message("not a model");
    o.model = NULL;
    o.backend = "fast";
    assert_code(mw_open(&o, &d), MW_ERR_INVALID);
    assert_message("lanes and plain");
    o.backend = "lanes";
    o.fst = "/nonexistent/waves.fst";
    assert_code(mw_open(&o, &d), MW_ERR_INVALID);
    assert_message("plain does");
    o.fst = NULL;
    o.backend = "plain";
    assert_code(mw_open(&o, &d), MW_ERR_NODEV);
    assert_message("make model N=31 F=16 BACKEND=plain");
}

// ---- memory -------------------------------------------------------------------------------------

static void memory(void **state)
{
    (void)state;
    uint8_t a[64], b[64] = {0};
    for (unsigned i = 0; i < sizeof a; i++)
        a[i] = (uint8_t)(3 * i + 1);
    struct mw_transfer list[2] = {{3, FAKE_MEM - 64, 64, a}, {0, 16, 32, a}};
    assert_code(mw_mem_write(device, list, 2), 0);
    assert_memory_equal(fake.mem[3] + FAKE_MEM - 64, a, 64);
    list[0].data = b;
    assert_code(mw_mem_read(device, list, 1), 0);
    assert_memory_equal(a, b, 64);
    assert_code(mw_mem_write(device, NULL, 0), 0);

    static const struct {
        unsigned gpu;
        uint64_t address;
        size_t bytes;
        int code;
    } bad[] = {
        {4, 0, 16, MW_ERR_INVALID},           {0, 8, 16, MW_ERR_INVALID},
        {0, 0, 15, MW_ERR_INVALID},           {0, FAKE_MEM - 16, 32, MW_ERR_RANGE},
        {0, FAKE_MEM + 16, 0, MW_ERR_RANGE},  {0, UINT64_MAX - 15, 32, MW_ERR_RANGE},
        {0, 16, SIZE_MAX - 15, MW_ERR_RANGE},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct mw_transfer t[2] = {{0, 0, 16, a}, {bad[i].gpu, bad[i].address, bad[i].bytes, a}};
        long calls = fake.calls;
        assert_code(mw_mem_write(device, t, 2), bad[i].code);
        assert_code(mw_mem_read(device, t, 2), bad[i].code);
        assert_message("transfer 1");
        assert_int_equal(fake.calls, calls); // nothing was moved
    }
    struct mw_transfer none = {0, 0, 16, NULL};
    assert_code(mw_mem_write(device, &none, 1), MW_ERR_INVALID);
    fake_fail_at(&fake, 0);
    assert_code(mw_mem_write(device, list, 1), MW_ERR_IO);
    fake_fail_at(&fake, 0);
    assert_code(mw_mem_read(device, list, 1), MW_ERR_IO);
    assert_int_equal(mw_total_cycles(device), 0); // the fake cannot tell
    assert_code(mw_watch(device, NULL, NULL), MW_ERR_CAPACITY);
    assert_message("only a simulated device");
    assert_string_equal(mw_op_name(MW_I_ORDER), "order");
    assert_string_equal(mw_op_name(MW_I_SUM), "sum");
    assert_string_equal(mw_op_name(255), "?");
}

// ---- tables -------------------------------------------------------------------------------------

static void expert_map(void **state)
{
    (void)state;
    const struct mw_expert_place good[2] = {{63, 3, 15}, {5, 1, 2}};
    assert_code(mw_expert_map_set(device, good, 2), 0);
    assert_int_equal(*fake_fabric(&fake, FABRIC(emap) + 4 * 63), 1 << 11 | 3 << 6 | 15);
    assert_int_equal(*fake_fabric(&fake, FABRIC(emap) + 4 * 5), 1 << 11 | 1 << 6 | 2);
    const struct mw_expert_place bad[3][2] = {
        {{0, 0, 0}, {64, 0, 0}}, {{0, 0, 0}, {0, 0, 16}}, {{0, 0, 0}, {0, 4, 0}}};
    const int codes[3] = {MW_ERR_CAPACITY, MW_ERR_CAPACITY, MW_ERR_INVALID};
    for (int i = 0; i < 3; i++) {
        assert_code(mw_expert_map_set(device, bad[i], 2), codes[i]);
        assert_int_equal(*fake_fabric(&fake, FABRIC(emap)), 0); // checked as a whole first
    }
    assert_code(mw_partition_set(device, 2, 0x5), 0);
    assert_int_equal(*fake_fabric(&fake, FABRIC(partitions) + 8), 5);
    assert_code(mw_partition_set(device, 4, 0x5), MW_ERR_INVALID);
    for (unsigned gpu = 4; gpu < 32; gpu++) // is not there
        assert_code(mw_partition_set(device, 2, 1u << gpu), MW_ERR_INVALID);
    assert_int_equal(*fake_fabric(&fake, FABRIC(partitions) + 8), 5);
    assert_code(mw_expert_map_even(device, 64), 0);
    assert_int_equal(*fake_fabric(&fake, FABRIC(emap) + 4 * 63), 1 << 11 | 3 << 6 | 15);
    assert_code(mw_expert_map_even(device, 68), MW_ERR_CAPACITY);
    struct mw_multicast *m;
    assert_code(mw_multicast_create(device, 64, &m), 0);
    for (unsigned gpu = 4; gpu--;) {
        assert_code(mw_multicast_add_device(m, gpu), 0);
        for (unsigned again = gpu; again < 4; again++)
            assert_code(mw_multicast_add_device(m, again), MW_ERR_INVALID);
    }
    mw_multicast_destroy(m);
}

static void multicast(void **state)
{
    (void)state;
    struct mw_multicast *m[17];
    for (int i = 0; i < 16; i++) {
        assert_code(mw_multicast_create(device, 4096, &m[i]), 0);
        assert_code(mw_multicast_group(m[i]), MW_ERR_STATE);
        assert_code(mw_multicast_bind_addr(m[i], 0), MW_ERR_STATE); // no member
        assert_code(mw_multicast_add_device(m[i], 3), 0);
        assert_code(mw_multicast_add_device(m[i], (unsigned)i % 3), 0);
        assert_code(mw_multicast_add_device(m[i], 4), MW_ERR_INVALID);
        assert_code(mw_multicast_bind_addr(m[i], FAKE_MEM - 4095), MW_ERR_RANGE);
        assert_code(mw_multicast_bind_addr(m[i], FAKE_MEM - 4096), 0);
        assert_int_equal(mw_multicast_group(m[i]), i);
        assert_int_equal(*fake_fabric(&fake, FABRIC(groups) + 4u * (unsigned)i), 8 | 1 << i % 3);
        assert_code(mw_multicast_add_device(m[i], 1), MW_ERR_STATE);
    }
    assert_code(mw_multicast_create(device, 4096, &m[16]), MW_ERR_CAPACITY);
    assert_null(m[16]);
    mw_multicast_destroy(m[7]);
    assert_code(mw_multicast_create(device, 4096, &m[7]), 0);
    assert_code(mw_multicast_add_device(m[7], 0), 0);
    assert_code(mw_multicast_bind_addr(m[7], 0), 0);
    assert_int_equal(mw_multicast_group(m[7]), 7);
    for (int i = 0; i < 16; i++)
        mw_multicast_destroy(m[i]);
    mw_multicast_destroy(NULL);
}

// ---- layout -------------------------------------------------------------------------------------

struct region {
    uint64_t base, bytes;
};

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
    const struct region r[] = {
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

/// The device opened anew with all that a build may have.
static void open_with_all(void)
{
    mw_close(device);
    *fake_fabric(&fake, FABRIC(primitives)) = UINT32_MAX;
    assert_code(fake_open(&fake, &device), 0);
}

/// Open a device of other sizes in place of the one that is open.
static void open_sized(unsigned gpus, unsigned mem_log2)
{
    mw_close(device);
    fake.gpus = gpus;
    *fake_fabric(&fake, FABRIC(size)) = gpus | 8u << 8 | mem_log2 << 16 | 4u << 24;
    assert_code(fake_open(&fake, &device), 0);
}

/// Every limit of a size, and one beyond it, in a layer that is small besides.
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
    open_with_all();
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
    {
        const unsigned gpus = 32;
        struct mw_layer_config c = small_config();
        struct mw_layout l;
        open_sized(gpus, 34);
        c.experts_per_gpu = 1;
        c.tokens_per_gpu = (1u << 20) / gpus;
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
    }
    // to the last byte of memory
    struct mw_layer_config c = small_config();
    struct mw_layout l;
    assert_code(mw_layout_make(device, &c, &l), 0);
    c.scratch_bytes = FAKE_MEM - l.end;
    assert_code(mw_layout_make(device, &c, &l), 0);
    assert_int_equal(l.end, FAKE_MEM);
    c.scratch_bytes++;
    assert_code(mw_layout_make(device, &c, &l), MW_ERR_CAPACITY);
}

/// What may be asked for together, and in how many lists of rows.
static void layouts_of_settings(void **state)
{
    (void)state;
    struct mw_layer_config c;
    struct mw_layout l, plain;
    open_with_all();
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
    c.switch_reductions = false;
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
        const char *name;
        unsigned low, high;
    } range[] = {{"tile", 1, 255},
                 {"expert_cycles", 0, 65535},
                 {"partial_wait", 0, 65535},
                 {"in_flight", 0, 65535},
                 {"open_rows", 0, 255},
                 {"store_credits", 0, 255},
                 {"part_credits", 0, 255},
                 {"ctrl_credits", 0, 255},
                 {"down_store_credits", 0, 255},
                 {"throttle", 0, 255},
                 {"down_throttle", 0, 255},
                 {"down_part_credits", 0, 255},
                 {"window", 0, 31},
                 {"start_delay", 0, 65535},
                 {"partial_tiles", 0, 1},
                 {"throttle_lead", 0, 65535},
                 {"throttle_ahead", 0, 65535},
                 {"throttle_idle", 0, 65535},
                 {"link_cycles", 0, 4},
                 {"launch_cycles", 0, 65535},
                 {"packet_manager", 0, 1},
                 {"rpm_timer", 0, 65535},
                 {"scatter", 0, 5},
                 {"cache_entries", 0, 65536},
                 {"adder_bypass", 0, 1},
                 {"target_list_cache", 0, 1},
                 {"switch_reductions", 0, 1},
                 {"row_returns", 0, 1},
                 {"source_lists", 0, 1},
                 {"dispatch_throttle", 0, 1}};
    for (unsigned i = 0; i < sizeof range / sizeof *range; i++) {
        struct mw_layer_config c;
        mw_layer_defaults(&c);
        assert_code(mw_layer_set(&c, range[i].name, range[i].low), 0);
        assert_code(mw_layer_set(&c, range[i].name, range[i].high), 0);
        assert_code(mw_layer_set(&c, range[i].name, range[i].high + UINT64_C(1)), MW_ERR_INVALID);
        assert_code(mw_layer_set(&c, range[i].name, UINT64_C(1) << 32 | range[i].low),
                    MW_ERR_INVALID);
        if (range[i].low)
            assert_code(mw_layer_set(&c, range[i].name, range[i].low - 1), MW_ERR_INVALID);
    }
}

/// What a layer may use is what the build has; what changes no packet is left out in silence.
static void primitives(void **state)
{
    (void)state;
    struct mw_layer_config c = small_config();
    struct mw_layout l;
    struct mw_device_info info;
    c.target_list_cache = true;
    assert_code(mw_layout_make(device, &c, &l), 0);
    mw_close(device);
    *fake_fabric(&fake, FABRIC(primitives)) = 0;
    assert_code(fake_open(&fake, &device), 0);
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

/// Regions behind 4 GiB, in memories of 16 GiB.
static void large_layouts(void **state)
{
    (void)state;
    static const unsigned tokens[4] = {8192, 1, 0, 8192}, experts[4] = {16, 1, 0, 16};
    mw_close(device);
    *fake_fabric(&fake, FABRIC(size)) = 4 | 8u << 8 | 34u << 16 | 4u << 24;
    *fake_fabric(&fake, FABRIC(capacity)) = 18 | 13u << 8 | 9u << 16 | 16u << 24;
    assert_code(fake_open(&fake, &device), 0);
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
    // what does not fit, by however much
    static const uint64_t too_much[] = {UINT64_C(9) << 30, UINT64_C(1) << 34, UINT64_C(1) << 63,
                                        UINT64_MAX, UINT64_MAX - 127};
    for (unsigned i = 0; i < sizeof too_much / sizeof *too_much; i++) {
        c.scratch_bytes = too_much[i];
        assert_code(mw_layout_make(device, &c, &l), MW_ERR_CAPACITY);
    }
    c.scratch_bytes = 0;
    c.experts_per_gpu = 0;
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
    assert_code(mw_layer_set(&c, "tile", 256), MW_ERR_INVALID);
    assert_code(mw_layer_set(&c, "partial_tiles", 1), 0);
    assert_true(c.partial_tiles);
    assert_code(mw_layer_set(&c, "partial_tiles", 2), MW_ERR_INVALID);
    assert_code(mw_layer_set(&c, "expert_cycles", 65535), 0);
    assert_int_equal(c.expert_cycles, 65535);
    assert_code(mw_layer_set(&c, "start_delay", UINT64_C(1) << 32), MW_ERR_INVALID);
    assert_code(mw_layer_set(&c, "down_throttle", 77), 0);
    assert_int_equal(c.down_throttle, 77);
    assert_code(mw_layer_set(&c, "link_cycles", 4), 0);
    assert_int_equal(c.link_cycles, 4);
    assert_code(mw_layer_set(&c, "link_cycles", 5), MW_ERR_INVALID);
    assert_code(mw_layer_set(&c, "k", 3), MW_ERR_INVALID); // a size, not a setting
    assert_code(mw_layer_set(&c, "", 3), MW_ERR_INVALID);
}

// ---- registers of a layer -----------------------------------------------------------------------

static const unsigned TOKENS[4] = {5, 0, 1, 4}, EXPERTS[4] = {3, 1, 0, 2};

static int configure(const struct mw_layer_config *c)
{
    struct mw_layout l;
    int status = mw_layout_make(device, c, &l);
    return status ? status : mw_layer_configure(device, c, &l, TOKENS, EXPERTS, 0x7);
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

// ---- streams ------------------------------------------------------------------------------------

static void stream_words(void **state)
{
    (void)state;
    struct mw_stream s;
    mw_stream_init(&s);
    mw_stream_wait(&s, MW_EV_ROWS_DONE, 1);
    mw_stream_count(&s, 2, 3, false);
    mw_stream_count(&s, 2, 3, true);
    mw_stream_prefix(&s);
    mw_stream_signal(&s, 4);
    mw_stream_flag(&s, 5, false);
    mw_stream_flag(&s, 6, true);
    mw_stream_fence(&s);
    mw_stream_dymultimem_st(&s, 6, 7);
    mw_stream_dymultimem_st_rows(&s, 6, 7, false);
    mw_stream_dymultimem_st_rows(&s, 6, 7, true);
    mw_stream_st(&s, 8, 9);
    mw_stream_st_linear(&s, 3, 0x10, 0x20, 0x30);
    mw_stream_multimem_st(&s, 11, 0x40, 0x50, 0x60);
    mw_stream_multimem_red(&s, 11, 0x40, 0x50, 0x60);
    mw_stream_reduction(&s, MW_DTYPE_FP32, MW_REDOP_MAX);
    mw_stream_expert(&s, 1);
    mw_stream_expert_rows(&s);
    mw_stream_expert_range(&s, 21, 22);
    mw_stream_delay(&s, 0x7fffffff);
    mw_stream_poll(&s, MW_EV_SW1, 25, 0x7fffffff);
    mw_stream_flag_rows(&s, MW_EV_SW8, false);
    mw_stream_flag_rows(&s, MW_EV_SW23, true);
    mw_stream_wait(&s, MW_EV_SW23, 24);
    mw_stream_dymultimem_ld_reduce(&s, 12, 13, true);
    mw_stream_multimem_ld_reduce(&s, 14, 0x70, 0x80, 0x90);
    mw_stream_dymultimem_ld_reduce(&s, 12, 13, false);
    mw_stream_reduction(&s, MW_DTYPE_S32, MW_REDOP_XOR);
    mw_stream_multimem_ld_reduce(&s, 14, 0x70, 0x80, 0x90);
    mw_stream_reduction(&s, MW_DTYPE_FP16, MW_REDOP_MIN);
    mw_stream_sum_st(&s, 17, 18);
    mw_stream_sum(&s, 15, 16, false);
    mw_stream_sum(&s, 19, 20, true);
    mw_stream_multimem_st_rows(&s, 11, 3, 4, 10, 0x100);
    mw_stream_multimem_st_routes(&s, 11, 5, 6, 0x200);
    mw_stream_expert_gathered(&s, 23, 24);
    mw_stream_expert_gathered(&s, 23, 24);
    mw_stream_expert_cycles(&s, 65535);
    mw_stream_sum_dense(&s, 25, 26, MW_DENSE_EMPTY);
    mw_stream_sum_dense(&s, 25, 26, MW_DENSE_SUMS);
    mw_stream_sum_dense(&s, 25, 26, MW_DENSE_ALL);
    mw_stream_multimem_ld_reduce_rows(&s, 14, 0x70, 7, 8, 10);
    mw_stream_sum_gathered(&s, 27, 28, 29);
    assert_code(mw_stream_end(&s), 0);
#define INSTR(o, f, i, x, y, z) \
    { \
        .op = o, .flags = f, .imm = i, .a = x, .b = y, .c = z \
    }
    const struct mw_instr expect[] = {
        INSTR(MW_I_WAIT, 0, 10, 1, 0, 0),
        INSTR(MW_I_COUNT, 0, 0, 2, 3, 0),
        INSTR(MW_I_COUNT, 1, 0, 2, 3, 0),
        INSTR(MW_I_PREFIX, 0, 0, 0, 0, 0),
        INSTR(MW_I_SIGNAL, 0, 4, 0, 0, 0),
        INSTR(MW_I_FLAG, 0, 5, 0, 0, 0),
        INSTR(MW_I_FLAG, 1, 6, 0, 0, 0),
        INSTR(MW_I_FENCE, 0, 0, 0, 0, 0),
        INSTR(MW_I_DYMULTIMEM_ST, 0, 0, 6, 7, 0),
        INSTR(MW_I_DYMULTIMEM_ST, 1, 0, 6, 7, 0),
        INSTR(MW_I_DYMULTIMEM_ST, 3, 0, 6, 7, 0),
        INSTR(MW_I_ST, 0, 0, 8, 9, 0),
        INSTR(MW_I_ST_LINEAR, 0, 3, 0x10, 0x20, 0x30),
        INSTR(MW_I_MULTIMEM_ST, 0, 11, 0x40, 0x50, 0x60),
        INSTR(MW_I_MULTIMEM_RED, 0, 0x220b, 0x40, 0x50, 0x60),
        INSTR(MW_I_EXPERT, 1, 0, 0, 0, 0),
        INSTR(MW_I_EXPERT_ROWS, 0, 0, 0, 0, 0),
        INSTR(MW_I_EXPERT_ROWS, 1, 0, 21, 22, 0),
        INSTR(MW_I_DELAY, 0, 0, 0x7fffffff, 0, 0),
        INSTR(MW_I_WAIT, 0, 1, 25, 0x7fffffff, 0),
        INSTR(MW_I_FLAG, 2, 16, 0, 0, 0),
        INSTR(MW_I_FLAG, 3, 31, 0, 0, 0),
        INSTR(MW_I_WAIT, 0, 31, 24, 0, 0),
        INSTR(MW_I_DYMULTIMEM_LD_REDUCE, 1, 0, 12, 13, 0),
        INSTR(MW_I_MULTIMEM_LD_REDUCE, 0, 14, 0x70, 0x80, 0x90),
        INSTR(MW_I_DYMULTIMEM_LD_REDUCE, 0, 0x5400, 12, 13, 0),
        INSTR(MW_I_MULTIMEM_LD_REDUCE, 0, 0x110e, 0x70, 0x80, 0x90),
        INSTR(MW_I_SUM_ST, 0, 0, 17, 18, 0),
        INSTR(MW_I_SUM, 0, 0, 15, 16, 0),
        INSTR(MW_I_SUM, 1, 0, 19, 20, 0),
        INSTR(MW_I_MULTIMEM_ST, 1, 11, 3 << 10, 4 << 10, 0x100),
        INSTR(MW_I_MULTIMEM_ST, 2, 11, 5 * 128, 6 * 128, 0x200),
        INSTR(MW_I_EXPERT_ROWS, 2, 0, 23, 24, 0),
        INSTR(MW_I_EXPERT_ROWS, 2, 65535, 23, 24, 0),
        INSTR(MW_I_SUM, 2, 0, 25, 26, 0),
        INSTR(MW_I_SUM, 3, 0, 25, 26, 0),
        INSTR(MW_I_SUM, 6, 0, 25, 26, 0),
        INSTR(MW_I_MULTIMEM_LD_REDUCE, 1, 14, 0x70, 8 << 10, 7 << 10),
        INSTR(MW_I_SUM, 5, 0, 27, 28, 29),
        INSTR(MW_I_END, 0, 0, 0, 0, 0),
    };
#undef INSTR
    assert_int_equal(s.count, sizeof expect / sizeof *expect);
    assert_memory_equal(s.instr, expect, sizeof expect);
}

static void stream_position(void **state)
{
    (void)state;
    unsigned issued = 9;
    *fake_node(&fake, 2, offsetof(mw_node_t, status.stream1)) = 7u << 8 | 1;
    assert_code(mw_stream_position(device, 2, 1, &issued), 0);
    assert_int_equal(issued, 7);
    *fake_node(&fake, 2, offsetof(mw_node_t, status.stream1)) = 7u << 8 | 2; // ended
    assert_code(mw_stream_position(device, 2, 1, &issued), 0);
    assert_int_equal(issued, MW_STREAM_INSTRS);
    assert_code(mw_stream_position(device, 2, MW_STREAMS, &issued), MW_ERR_INVALID);
    assert_code(mw_stream_position(device, MW_MAX_PORTS, 0, &issued), MW_ERR_INVALID);
    fake_fail_at(&fake, 0);
    assert_code(mw_stream_position(device, 2, 1, &issued), MW_ERR_IO);
}

static void stream_failures(void **state)
{
    (void)state;
    struct mw_stream s;
    for (unsigned event = 0; event < 40; event++) {
        mw_stream_init(&s);
        bool more = event >= MW_EV_SW8 && event <= MW_EV_SW23;
        int packets = event <= MW_EV_SW7 || more ? 0 : MW_ERR_INVALID;
        assert_code(mw_stream_signal(&s, event), packets);
        assert_code(mw_stream_flag(&s, event, false), packets);
        assert_code(mw_stream_flag(&s, event, true), packets);
        assert_code(mw_stream_flag_rows(&s, event, false), packets);
        assert_code(mw_stream_end(&s), packets);
        assert_int_equal(s.count, packets ? 1 : 5); // what is refused is no instruction
        mw_stream_init(&s);
        assert_code(mw_stream_wait(&s, event, 0), event <= MW_EV_ACKS || more ? 0 : MW_ERR_INVALID);
    }
    assert_message("event 39: 0 to 12, or 16 to 31");
    mw_stream_init(&s);
    assert_code(mw_stream_delay(&s, 1u << 31), MW_ERR_INVALID);
    assert_code(mw_stream_end(&s), MW_ERR_INVALID);
    mw_stream_init(&s);
    assert_code(mw_stream_poll(&s, MW_EV_SW0, 1, 1u << 31), MW_ERR_INVALID);
    assert_code(mw_stream_poll(&s, MW_EVENTS, 1, 1), MW_ERR_INVALID);
    assert_int_equal(s.count, 0);
    assert_code(mw_stream_end(&s), MW_ERR_INVALID);
    static int (*const to_group[])(struct mw_stream *, unsigned, uint64_t, uint32_t, uint64_t) = {
        mw_stream_multimem_st, mw_stream_multimem_red, mw_stream_multimem_ld_reduce};
    static const unsigned no_group[] = {16,    17,    255,      256,
                                        65535, 65536, 1u << 31, (unsigned)MW_ERR_STATE};
    for (unsigned i = 0; i < 3; i++) {
        mw_stream_init(&s);
        assert_code(to_group[i](&s, 15, 0, 16, 0), 0);
        assert_code(mw_stream_end(&s), 0);
        for (unsigned g = 0; g < sizeof no_group / sizeof *no_group; g++) {
            mw_stream_init(&s);
            assert_code(to_group[i](&s, no_group[g], 0, 16, 0), MW_ERR_INVALID);
            assert_int_equal(s.count, 0);
            assert_code(mw_stream_end(&s), MW_ERR_INVALID);
        }
    }
    assert_message("group -10: 0 to 15");
    static const unsigned no_gpu[] = {MW_MAX_PORTS, 65535, 65536, 65537, (unsigned)MW_ERR_STATE};
    for (unsigned g = 0; g < sizeof no_gpu / sizeof *no_gpu; g++) {
        mw_stream_init(&s);
        assert_code(mw_stream_st_linear(&s, MW_MAX_PORTS - 1, 0, 16, 0), 0);
        assert_code(mw_stream_st_linear(&s, no_gpu[g], 0, 16, 0), MW_ERR_INVALID);
        assert_code(mw_stream_end(&s), MW_ERR_INVALID);
    }
    mw_stream_init(&s);
    assert_code(mw_stream_expert(&s, 3), 0);
    assert_code(mw_stream_expert(&s, 4), MW_ERR_INVALID);
    assert_code(mw_stream_expert(&s, 256), MW_ERR_INVALID);
    // A group of an object that is not bound.
    struct mw_multicast *unbound;
    assert_code(mw_multicast_create(device, 64, &unbound), 0);
    mw_stream_init(&s);
    assert_code(mw_stream_multimem_st(&s, (unsigned)mw_multicast_group(unbound), 0, 64, 0),
                MW_ERR_INVALID);
    mw_multicast_destroy(unbound);
    mw_stream_init(&s);
    assert_code(mw_stream_wait(&s, MW_EVENTS, 0), MW_ERR_INVALID);
    assert_code(mw_stream_fence(&s), 0);
    assert_code(mw_stream_end(&s), MW_ERR_INVALID); // the first failure is kept
    mw_stream_init(&s);
    for (int i = 0; i < 63; i++)
        assert_code(mw_stream_fence(&s), 0);
    struct mw_stream full = s;
    assert_code(mw_stream_end(&s), 0);
    assert_code(mw_stream_fence(&full), 0);
    assert_code(mw_stream_end(&full), MW_ERR_CAPACITY);
    assert_int_equal(full.count, 64);
    mw_stream_init(&s);
    assert_code(mw_stream_reduction(&s, MW_DTYPE_FP16, MW_REDOP_ADD), MW_ERR_INVALID);
    mw_stream_init(&s);
    mw_stream_fence(&s);
    assert_code(mw_stream_reduction(&s, MW_DTYPE_FP16, MW_REDOP_ADD), MW_ERR_INVALID);
    assert_code(mw_stream_end(&s), MW_ERR_INVALID);
    mw_stream_init(&s);
    mw_stream_dymultimem_ld_reduce(&s, 0, 1, false);
    assert_code(mw_stream_reduction(&s, 8, MW_REDOP_ADD), MW_ERR_INVALID);
    mw_stream_init(&s);
    assert_code(mw_stream_expert_cycles(&s, 1), MW_ERR_INVALID);
    mw_stream_init(&s);
    mw_stream_expert_range(&s, 0, 1);
    assert_code(mw_stream_expert_cycles(&s, 1), MW_ERR_INVALID);
    assert_code(mw_stream_end(&s), MW_ERR_INVALID);
    mw_stream_init(&s);
    mw_stream_expert_gathered(&s, 0, 1);
    assert_code(mw_stream_expert_cycles(&s, 65536), MW_ERR_INVALID);
    assert_code(mw_stream_end(&s), MW_ERR_INVALID);
}

static void stream_load(void **state)
{
    (void)state;
    struct mw_layer_config c = small_config();
    struct mw_layout l;
    struct mw_stream s[8];
    c.stream_instrs = 16;
    assert_code(mw_layout_make(device, &c, &l), 0);
    for (unsigned i = 0; i < 8; i++) {
        mw_stream_init(&s[i]);
        mw_stream_st_linear(&s[i], 0x12, 0x389abcdef, i, 0x101020304);
        assert_code(mw_stream_end(&s[i]), 0);
    }
    assert_code(mw_stream_load(device, &l, s, 2), 0);
    const uint8_t first[16] = {
        MW_I_ST_LINEAR, 0x70, 0x12, 0, 0xef, 0xcd, 0xab, 0x89, 5, 0, 0, 0, 4, 3, 2, 1};
    const uint8_t end[16] = {MW_I_END};
    assert_memory_equal(fake.mem[2] + l.stream[1], first, 16);
    assert_memory_equal(fake.mem[2] + l.stream[1] + 16, end, 16);

    assert_code(mw_stream_load(device, &l, s, 0), MW_ERR_INVALID);
    assert_code(mw_stream_load(device, &l, s, 5), MW_ERR_INVALID);
    s[3].count = 1;
    assert_code(mw_stream_load(device, &l, s, 2), MW_ERR_STATE);
    assert_message("stream 1 of GPU 1 has no end");
    mw_stream_init(&s[3]);
    assert_code(mw_stream_load(device, &l, s, 2), MW_ERR_STATE);
    for (int i = 0; i < 16; i++)
        mw_stream_fence(&s[3]);
    mw_stream_end(&s[3]);
    assert_code(mw_stream_load(device, &l, s, 2), MW_ERR_CAPACITY);
    s[3].error = MW_ERR_INVALID;
    assert_code(mw_stream_load(device, &l, s, 2), MW_ERR_STATE);
}

static void add_delay(struct mw_stream *s)
{
    mw_stream_delay(s, 1);
}

static void add_poll(struct mw_stream *s)
{
    mw_stream_poll(s, MW_EV_SW0, 1, 1);
}

static void add_rows(struct mw_stream *s)
{
    mw_stream_flag_rows(s, 0, true);
}

static void add_range(struct mw_stream *s)
{
    mw_stream_expert_range(s, 0, 1);
}

static void add_st_rows(struct mw_stream *s)
{
    mw_stream_multimem_st_rows(s, 0, 0, 1, 10, 0);
}

static void add_st_routes(struct mw_stream *s)
{
    mw_stream_multimem_st_routes(s, 0, 0, 1, 0);
}

static void add_gathered(struct mw_stream *s)
{
    mw_stream_expert_gathered(s, 0, 1);
}

static void add_dense(struct mw_stream *s)
{
    mw_stream_sum_dense(s, 0, 1, MW_DENSE_EMPTY);
}

static void add_reduce_rows(struct mw_stream *s)
{
    mw_stream_multimem_ld_reduce_rows(s, 0, 0, 0, 1, 10);
}

static void add_sum_gathered(struct mw_stream *s)
{
    mw_stream_sum_gathered(s, 0, 1, 0);
}

static void add_wait(struct mw_stream *s)
{
    mw_stream_wait(s, MW_EV_SW8, 1);
}

static void add_rowsp(struct mw_stream *s)
{
    mw_stream_st_rowsp(s, 0, 1);
}

static void add_return(struct mw_stream *s)
{
    mw_stream_expert(s, 2);
}

static void add_signal(struct mw_stream *s)
{
    mw_stream_signal(s, MW_EV_SW23);
}

/// What a device was built without is refused with its name, and nothing is written.
static void streams_need_primitives(void **state)
{
    (void)state;
    static const struct {
        uint32_t without;
        void (*add)(struct mw_stream *s);
        const char *what;
    } needs[] = {
        {MW_FABRIC__PRIMITIVES__DELAY_bm, add_delay, "delay"},
        {MW_FABRIC__PRIMITIVES__DELAY_bm, add_poll, "delays behind a wait"},
        {MW_FABRIC__PRIMITIVES__ROW_RANGES_bm, add_rows, "flags that report rows"},
        {MW_FABRIC__PRIMITIVES__ROW_RANGES_bm, add_range, "expert.rows over ranges of tokens"},
        {MW_FABRIC__PRIMITIVES__GATHERED_bm, add_st_rows, "gathered tokens"},
        {MW_FABRIC__PRIMITIVES__GATHERED_bm, add_st_routes, "gathered tokens"},
        {MW_FABRIC__PRIMITIVES__GATHERED_bm, add_gathered, "gathered tokens"},
        {MW_FABRIC__PRIMITIVES__GATHERED_bm, add_dense, "gathered tokens"},
        {MW_FABRIC__PRIMITIVES__GATHERED_bm, add_reduce_rows, "gathered tokens"},
        {MW_FABRIC__PRIMITIVES__GATHERED_bm, add_sum_gathered, "gathered tokens"},
        {MW_FABRIC__PRIMITIVES__ROW_SPARSE_bm, add_rowsp, "st.rowsp"},
        {MW_FABRIC__PRIMITIVES__ROW_SPARSE_bm, add_return, "rows that return"},
        {MW_FABRIC__PRIMITIVES__MORE_EVENTS_bm, add_wait, "event counters from SW8 on"},
        {MW_FABRIC__PRIMITIVES__MORE_EVENTS_bm, add_signal, "event counters from SW8 on"},
    };
    struct mw_layer_config c = small_config();
    struct mw_layout l;
    uint32_t all = *fake_fabric(&fake, FABRIC(primitives)) | MW_FABRIC__PRIMITIVES__DELAY_bm |
                   MW_FABRIC__PRIMITIVES__ROW_RANGES_bm | MW_FABRIC__PRIMITIVES__MORE_EVENTS_bm |
                   MW_FABRIC__PRIMITIVES__GATHERED_bm | MW_FABRIC__PRIMITIVES__ROW_SPARSE_bm;
    for (unsigned i = 0; i < sizeof needs / sizeof *needs; i++) {
        for (unsigned without = 0; without < 2; without++) {
            struct mw_stream s[4];
            mw_close(device);
            *fake_fabric(&fake, FABRIC(primitives)) = without ? all & ~needs[i].without : all;
            assert_code(fake_open(&fake, &device), 0);
            assert_code(mw_layout_make(device, &c, &l), 0);
            for (unsigned g = 0; g < 4; g++) {
                mw_stream_init(&s[g]);
                mw_stream_fence(&s[g]);
                if (g == 2)
                    needs[i].add(&s[g]);
                mw_stream_end(&s[g]);
                memset(fake.mem[g] + l.stream[0], 0x5a, 16);
            }
            assert_code(mw_stream_load(device, &l, s, 1), without ? MW_ERR_CAPACITY : 0);
            if (!without)
                continue;
            char text[160];
            snprintf(
                text, sizeof text,
                "stream 0 of GPU 2, instruction 1: this device was built without %s: leave it out",
                needs[i].what);
            assert_message(text);
            assert_int_equal(fake.mem[0][l.stream[0]], 0x5a);
        }
    }
}

static void routes(void **state)
{
    (void)state;
    uint8_t entry[MW_ROUTE_BYTES];
    const int16_t idx[3] = {300, -1, 7};
    const float w[3] = {1.0f, 2.0f, -0.5f};
    memset(entry, 0xee, sizeof entry);
    mw_route_pack(entry, idx, w, 3);
    const uint8_t ids[8] = {300 & 255, 1, 0xff, 0xff, 7, 0, 0xff, 0xff};
    const uint8_t weights[16] = {0, 0, 0x80, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0xbf, 0, 0, 0, 0};
    assert_memory_equal(entry, ids, 8);
    assert_memory_equal(entry + 32, weights, 16);
    for (int i = 96; i < MW_ROUTE_BYTES; i++)
        assert_int_equal(entry[i], 0);
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
    assert_code(mw_launch(device), 0);
    assert_code(mw_wait(device, NULL, NULL), 0);
    assert_in_range(fake.sweeps, sweeps, sweeps + 1);
    assert_int_equal(*fake_fabric(&fake, FABRIC(epoch)) == 0, fake.sweeps > sweeps);
    return fake.sweeps > sweeps;
}

/// Each setting that places or sizes what is swept, changed alone, and back: the tables hold what
/// was there before. What does not place them costs no sweep.
static void settings_that_move_tables(void **state)
{
    (void)state;
    enum { MOVE = 7, STAY = 6 };
    *fake_fabric(&fake, FABRIC(primitives)) |= MW_FABRIC__PRIMITIVES__CACHE_LIMIT_bm |
                                               MW_FABRIC__PRIMITIVES__ROW_SPARSE_bm |
                                               MW_FABRIC__PRIMITIVES__SOURCE_LISTS_bm;
    mw_close(device);
    assert_code(fake_open(&fake, &device), 0);
    for (unsigned i = 0; i < MOVE + STAY; i++) {
        struct mw_layer_config c = small_config(), other;
        struct mw_layout l, moved;
        c.cache_entries = 64;
        c.row_returns = true;
        assert_code(mw_layout_make(device, &c, &l), 0);
        other = c;
        moved = l;
        switch (i) {
        case 0:
            moved.al_base += MW_BASE_UNIT;
            break;
        case 1:
            moved.token_shift++;
            break;
        case 2:
            moved.n_shift++;
            break;
        case 3:
            moved.cap_shift++;
            break;
        case 4:
            other.experts_per_gpu++;
            break;
        case 5:
            other.cache_entries = 32;
            break;
        case 6:
            other.source_lists = true;
            break;
        case 7:
            moved.xd_base += MW_BASE_UNIT;
            break;
        case 8:
            moved.row_shift++;
            break;
        case 9:
            other.tile++;
            break;
        case 10:
            other.in_flight = 3;
            break;
        case 11:
            other.k--;
            break;
        default:
            other.row_bytes -= 8;
        }
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

static uint32_t *moves; ///< the counter that goes on while a layer runs
static unsigned runs_left;

static void go_on(struct fake *f)
{
    ++*moves;
    runs_left -= runs_left > 0;
    f->stuck = runs_left > 0;
}

/// A layer in which anything goes on is not stuck: flits of any class of any port, tokens,
/// tiles, instructions.
static void anything_is_progress(void **state)
{
    (void)state;
    struct mw_layer_config c = small_config();
    struct mw_wait_options o = {.size = sizeof o, .step_cycles = 100, .quiet_cycles = 500};
    assert_code(configure(&c), 0);
    fake.on_run = go_on;
    for (unsigned g = 0; g < 4; g++)
        for (unsigned what = 0; what < MW_NUM_CLASSES + 3; what++) {
            static const uint32_t of_node[] = {NODE(status.tokens_done), NODE(status.expert_tiles),
                                               NODE(status.retired)};
            moves = what < 3 ? fake_node(&fake, g, of_node[what])
                             : fake_fabric(&fake, FABRIC(counters) + 4 * (16 * g + what - 3));
            runs_left = 20;
            fake.stuck = true;
            assert_code(mw_launch(device), 0);
            assert_code(mw_wait(device, &o, NULL), 0);
        }
    // what comes down is no work of a GPU
    moves = fake_fabric(&fake, FABRIC(counters) + 4 * 4);
    runs_left = 20;
    fake.stuck = true;
    assert_code(mw_launch(device), 0);
    assert_code(mw_wait(device, &o, NULL), MW_ERR_TIMEOUT);
    fake.on_run = NULL;
    fake.stuck = false;
    assert_code(mw_wait(device, NULL, NULL), 0);
}

/// Tokens are those of the layer that was configured last, however often that was.
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

/// A layer is stuck when nothing happens for as long as its streams may wait by themselves, and no
/// longer: those that were loaded last.
static void delays_are_no_standstill(void **state)
{
    (void)state;
    static const unsigned cycles[] = {0, 40000, 40000, 9000, 0};
    struct mw_layer_config c = small_config();
    struct mw_wait_options o = {.size = sizeof o, .step_cycles = 1000};
    struct mw_layout l;
    unsigned long long quiet, usual = 0;
    *fake_fabric(&fake, FABRIC(primitives)) |= MW_FABRIC__PRIMITIVES__DELAY_bm;
    mw_close(device);
    assert_code(fake_open(&fake, &device), 0);
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

/// A port that is enabled has lost its registers and half its table: a layer is configured anew,
/// and begins with a sweep, also where one was running meanwhile.
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
    assert_code(mw_launch(device), 0);
    assert_code(mw_wait(device, NULL, NULL), 0);
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

static void hardware_errors(void **state)
{
    (void)state;
    struct mw_layer_config c = small_config();
    assert_code(configure(&c), 0);
    assert_code(mw_launch(device), 0);
    *fake_fabric(&fake, FABRIC(node_error)) = 1 << 3;
    *fake_node(&fake, 3, NODE(status.error)) = MW_HWERR_BOUNDS | 12u << 16;
    assert_code(mw_wait(device, NULL, NULL), MW_ERR_DEVICE);
    assert_message("GPU 3: address, row, token or event counter outside its region (12 errors)");
    assert_code(mw_launch(device), 0); // the layer is over all the same
    *fake_fabric(&fake, FABRIC(error)) = MW_HWERR_PARTITION | 2 << 8 | 1u << 16;
    assert_code(mw_wait(device, NULL, NULL), MW_ERR_DEVICE);
    assert_message("switch, input 2: target outside the partition");
}

static void counters(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 13; i++)
        *fake_fabric(&fake, FABRIC(counters) + 4 * (16 * 2 + i)) = 100 + i;
    *fake_node(&fake, 1, NODE(status.stall_store)) = 5;
    *fake_node(&fake, 1, NODE(status.retired)) = 6;
    *fake_node(&fake, 1, NODE(status.error)) = MW_HWERR_CREDIT | 3u << 16;
    *fake_fabric(&fake, FABRIC(cycles)) = 99;
    struct mw_counters k;
    assert_code(mw_counters_read(device, &k), 0);
    assert_int_equal(k.cycles, 99);
    assert_int_equal(k.port[2].cycles, 99);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(k.port[2].up_flits[i], 100 + i);
        assert_int_equal(k.port[2].down_flits[i], 104 + i);
        assert_int_equal(k.port[1].up_flits[i], 0);
    }
    assert_int_equal(k.port[2].up_payload, 108);
    assert_int_equal(k.port[2].down_payload, 109);
    assert_int_equal(k.port[2].rejected, 110);
    assert_int_equal(k.port[2].stall_output, 111);
    assert_int_equal(k.port[2].stall_credit, 112);
    assert_int_equal(k.gpu[1].stall_store, 5);
    assert_int_equal(k.gpu[1].retired, 6);
    assert_int_equal(k.gpu[1].errors, 3);
    assert_int_equal(k.gpu[1].first_error, MW_HWERR_CREDIT);
    struct mw_port_counters one;
    for (unsigned p = 0; p < 4; p++) {
        assert_code(mw_port_counters_read(device, p, &one), 0);
        assert_memory_equal(&one, &k.port[p], sizeof one);
    }
    assert_code(mw_port_counters_read(device, 4, &one), MW_ERR_INVALID);
    assert_message("port 4 of 4");
}

/// A ring of samples that has gone round: the oldest first, and any part of them.
static void series(void **state)
{
    (void)state;
    enum { GPUS = 4, RECORDED = MW_SERIES_SAMPLES + 3 };
    struct mw_sample list[GPUS * MW_SERIES_SAMPLES];
    uint64_t first;
    size_t count;
    assert_code(mw_series_read(device, 0, list, MW_SERIES_SAMPLES, &first, &count),
                MW_ERR_CAPACITY);
    *fake_fabric(&fake, FABRIC(monitor)) = MW_FABRIC__MONITOR__PRESENT_bm;
    *fake_fabric(&fake, FABRIC(samples)) = RECORDED;
    for (unsigned n = 3; n < RECORDED; n++)
        for (unsigned p = 0; p < GPUS; p++) {
            uint32_t at = 8 * (MW_SERIES_SAMPLES * p + n % MW_SERIES_SAMPLES);
            *fake_fabric(&fake, FABRIC(series) + at) = n | (1000 + p) << 16;
            *fake_fabric(&fake, FABRIC(series) + at + 4) = (2000 + n) | (3000 + p) << 16;
        }
    for (unsigned from = 0; from < RECORDED + 2; from += 7)
        for (size_t max = 0; max <= MW_SERIES_SAMPLES; max += 32) {
            unsigned start = from < 3 ? 3 : from;
            size_t rest = start < RECORDED ? RECORDED - start : 0;
            assert_code(mw_series_read(device, from, list, max, &first, &count), 0);
            assert_int_equal(first, start);
            assert_int_equal(count, rest < max ? rest : max);
            for (unsigned i = 0; i < GPUS * count; i++) {
                assert_int_equal(list[i].up, start + i / GPUS);
                assert_int_equal(list[i].down, 1000 + i % GPUS);
                assert_int_equal(list[i].wait_credit, 2000 + start + i / GPUS);
                assert_int_equal(list[i].wait_turn, 3000 + i % GPUS);
            }
        }
}

static void monitor_limits(void **state)
{
    (void)state;
    uint32_t bins[MW_HISTOGRAM_BINS];
    *fake_fabric(&fake, FABRIC(monitor)) = MW_FABRIC__MONITOR__PRESENT_bm;
    static const struct {
        unsigned classes, interval;
        int code;
    } tried[] = {{0, 0, 0}, {15, 2, 0}, {15, 65535, 0}, {16, 2, -1}, {15, 65536, -1}, {15, 1, -1}};
    for (unsigned i = 0; i < sizeof tried / sizeof *tried; i++) {
        const int code = mw_monitor_set(device, tried[i].classes, tried[i].interval);
        assert_code(code, tried[i].code ? MW_ERR_INVALID : 0);
        if (!code)
            assert_int_equal(*fake_fabric(&fake, FABRIC(monitor)),
                             MW_FABRIC__MONITOR__PRESENT_bm |
                                 tried[i].classes << MW_FABRIC__MONITOR__CLASSES_bp |
                                 tried[i].interval << MW_FABRIC__MONITOR__INTERVAL_bp);
        *fake_fabric(&fake, FABRIC(monitor)) = MW_FABRIC__MONITOR__PRESENT_bm;
    }
    for (unsigned p = 0; p < 4; p++)
        for (unsigned b = 0; b < MW_HISTOGRAM_BINS; b++)
            *fake_fabric(&fake, FABRIC(histogram) + 4 * (MW_HISTOGRAM_BINS * p + b)) = 1000 * p + b;
    for (unsigned p = 0; p < 4; p++) {
        assert_code(mw_histogram_read(device, p, bins), 0);
        for (unsigned b = 0; b < MW_HISTOGRAM_BINS; b++)
            assert_int_equal(bins[b], 1000 * p + b);
    }
    assert_code(mw_histogram_read(device, 4, bins), MW_ERR_INVALID);
}

/// A device whose ring goes on: `ahead` samples are recorded when it is asked for its first word,
/// and behind them the next one is being written.
static struct {
    unsigned recorded, ahead;
    bool words;
} ring;

static int read_ring(void *context, uint32_t address, uint32_t *value)
{
    enum { GPUS = 4 };
    const uint32_t words = FABRIC(series), end = words + 8 * MW_SERIES_SAMPLES * GPUS;
    int status = fake_transport.cfg_read(context, address, value);
    if (address == FABRIC(samples))
        *value = ring.recorded + (ring.words ? ring.ahead : 0);
    if (address < words || address >= end)
        return status;
    ring.words = true;
    const unsigned place = (address - words) / 8 % MW_SERIES_SAMPLES,
                   now = ring.recorded + ring.ahead, // the number of that which is written
        next = now % MW_SERIES_SAMPLES;
    const bool torn = ring.ahead && place == next;
    // the last one that has this place
    const unsigned number = now - 1 - (now - 1 - place) % MW_SERIES_SAMPLES;
    *value = torn ? 0xffff : number & 0xffff;
    return status;
}

static void series_goes_on(void **state)
{
    (void)state;
    enum { GPUS = 4, KEPT = MW_SERIES_SAMPLES };
    static const unsigned recorded[] = {0,        1,        KEPT - 2, KEPT - 1,    KEPT,
                                        KEPT + 1, KEPT + 9, 2 * KEPT, 5 * KEPT - 1};
    static const unsigned ahead[] = {0, 1, 2, KEPT / 2, KEPT - 1, KEPT, KEPT + 1, 3 * KEPT};
    static struct mw_sample list[GPUS * KEPT];
    struct mw_transport moving = fake_transport;
    struct mw_device *d;
    moving.cfg_read = read_ring;
    *fake_fabric(&fake, FABRIC(monitor)) = MW_FABRIC__MONITOR__PRESENT_bm;
    assert_code(fake_open_by(&fake, &moving, &d), 0);
    for (unsigned r = 0; r < sizeof recorded / sizeof *recorded; r++)
        for (unsigned a = 0; a < sizeof ahead / sizeof *ahead; a++)
            for (unsigned from = 0; from <= recorded[r]; from++) {
                uint64_t first;
                size_t count;
                const unsigned now = recorded[r] + ahead[a],
                               oldest = recorded[r] > KEPT ? recorded[r] - KEPT : 0,
                               start = from > oldest ? from : oldest;
                // what the ring has lost meanwhile, and the place that is being written
                unsigned whole = ahead[a] && now + 1 > KEPT ? now + 1 - KEPT : 0;
                whole = start == recorded[r] ? start : whole; // nothing was asked for
                whole = whole > recorded[r] ? recorded[r] : whole > start ? whole : start;
                if (from + 3 < recorded[r] && from > oldest + 3 && from % 7 &&
                    (from + KEPT - now) % KEPT > 3)
                    continue; // far from both ends
                ring.recorded = recorded[r];
                ring.ahead = ahead[a];
                ring.words = false;
                assert_code(mw_series_read(d, from, list, KEPT, &first, &count), 0);
                assert_int_equal(first, whole);
                assert_int_equal(count, recorded[r] - whole);
                for (unsigned i = 0; i < GPUS * count; i++)
                    assert_int_equal(list[i].up, (first + i / GPUS) & 0xffff);
            }
    mw_close(d);
}

static void report(void **state)
{
    (void)state;
    *fake_node(&fake, 1, NODE(status.stream3)) = 1 | 4 << 8 | MW_I_DYMULTIMEM_LD_REDUCE << 16;
    *fake_node(&fake, 1, NODE(status.state)) = 0xf0 ^ 1 << 5;
    *fake_node(&fake, 1, NODE(status.error)) = MW_HWERR_CREDIT | 3u << 16;
    *fake_fabric(&fake, FABRIC(cycles)) = 4711;
    char *text = mw_state_report(device);
    assert_non_null(text);
    assert_non_null(strstr(text, "4711 cycles since go"));
    assert_non_null(strstr(text, "GPU 1 stream 3: instruction 4 dymultimem.ld_reduce, waiting\n"));
    assert_non_null(strstr(text, "busy: send rx "));
    assert_non_null(strstr(text, "GPU 1: 3 errors, the first: packet without credit"));
    assert_null(strstr(text, "is down"));
    assert_null(strstr(text, "discarded"));
    free(text);
    *fake_node(&fake, 2, NODE(status.stream0)) =
        2 << 8 | MW_I_END << 16 | MW_NODE__STATUS__STREAM0__ENDED_bm;
    *fake_fabric(&fake, FABRIC(down)) = 1 << 2;
    *fake_fabric(&fake, FABRIC(error)) = MW_HWERR_PARTITION | 3 << 8 | 7u << 16;
    *fake_fabric(&fake, FABRIC(counters) + 4 * (16 * 3 + 14)) = 6; // cut short or not let in
    text = mw_state_report(device);
    assert_non_null(strstr(text, "GPU 2 stream 0: instruction 2 end, ended\n"));
    assert_non_null(strstr(text, "port 2 is down\n"));
    assert_null(strstr(text, "port 0 is down"));
    assert_null(strstr(text, "port 1 is down"));
    assert_non_null(strstr(text, "switch: 7 errors, the first at input 3: "));
    assert_non_null(strstr(text, "port 3: 0 packets for it discarded, 6 of it cut short"));
    free(text);
    struct mw_counters k;
    assert_code(mw_counters_read(device, &k), 0);
    assert_int_equal(k.switch_errors, 7);
    assert_int_equal(k.switch_first_error, MW_HWERR_PARTITION);
    assert_int_equal(k.switch_error_port, 3);
    fake_fail_at(&fake, 0);
    text = mw_state_report(device);
    assert_non_null(strstr(text, "device: register 0x30 cannot be read"));
    free(text);
}

/// Rows for experts of GPU 1, by their number on it, as the tables of all GPUs say;
/// what the layer's end says.
static void rows_for(const struct mw_layout *l, unsigned k, const unsigned rows[3],
                     const unsigned numbers[3])
{
    unsigned left[3] = {rows[0], rows[1], rows[2]};
    for (unsigned g = 0; g < 4; g++)
        for (unsigned t = 0; t < 5; t++) {
            int16_t ids[3] = {-1, -1, -1};
            const float weights[3] = {1, 1, 1};
            for (unsigned e = 0; e < 3; e++)
                if (left[e]) {
                    ids[e] = (int16_t)numbers[e];
                    left[e]--;
                }
            mw_route_pack(fake.mem[g] + l->rt_base + t * MW_ROUTE_BYTES, ids, weights, k);
        }
    assert_code(mw_launch(device), 0);
    *fake_fabric(&fake, FABRIC(node_error)) = 1 << 1;
    *fake_node(&fake, 1, NODE(status.error)) = MW_HWERR_BOUNDS | 1u << 16;
    assert_code(mw_wait(device, NULL, NULL), MW_ERR_DEVICE);
}

/// A layer that fails where rows have no place says whose rows these are, and how
/// many places they need.
static void rows_without_a_place(void **state)
{
    (void)state;
    static const unsigned tokens[4] = {5, 5, 5, 5}, experts[4] = {3, 3, 3, 3},
                          numbers[3] = {7, 300, 511};
    struct mw_layer_config c = small_config();
    struct mw_layout l;
    char text[100];
    mw_close(device);
    *fake_fabric(&fake, FABRIC(tables)) = 512 | 16u << 16 | 64u << 24;
    assert_code(fake_open(&fake, &device), 0);
    for (unsigned e = 0; e < 3; e++) {
        const struct mw_expert_place place = {numbers[e], 1, e};
        assert_code(mw_expert_map_set(device, &place, 1), 0);
    }
    assert_code(mw_layout_make(device, &c, &l), 0); // 8 places
    assert_code(mw_layer_configure(device, &c, &l, tokens, experts, 1), 0);
    rows_for(&l, c.k, (const unsigned[]){8, 8, 8}, numbers);
    assert_null(strstr(mw_message(), "region holds"));
    rows_for(&l, c.k, (const unsigned[]){8, 9, 2}, numbers);
    assert_message(": expert 300 gets 9 rows, their region holds 8 (");
    assert_message("raise rows_per_expert to 9 or more");
    assert_null(strstr(mw_message(), "too small"));
    snprintf(text, sizeof text, "from 0x%llx on",
             (unsigned long long)(l.xd_base + (8u << l.row_shift)));
    assert_message(text);
    rows_for(&l, c.k, (const unsigned[]){9, 3, 12}, numbers);
    assert_message(": expert 511 gets 12 rows");
    assert_message("; 1 more are too small");
    rows_for(&l, c.k, (const unsigned[]){11, 11, 9}, numbers);
    assert_message(": expert 7 gets 11 rows");
    assert_message("; 2 more are too small");
    // of each source
    *fake_fabric(&fake, FABRIC(node_error)) = 0;
    open_with_all();
    for (unsigned e = 0; e < 3; e++) {
        const struct mw_expert_place place = {numbers[e], 1, e};
        assert_code(mw_expert_map_set(device, &place, 1), 0);
    }
    c.row_returns = c.source_lists = true;
    c.rows_per_expert = 4;
    assert_code(mw_layout_make(device, &c, &l), 0);
    assert_code(mw_layer_configure(device, &c, &l, tokens, experts, 1), 0);
    rows_for(&l, c.k, (const unsigned[]){4, 5, 4}, numbers);
    assert_message(": expert 300 gets 5 rows from GPU 0, their region holds 4 (");
    snprintf(text, sizeof text, "from 0x%llx on",
             (unsigned long long)(l.xd_base + ((1u << l.n_shift) * 4u << l.row_shift)));
    assert_message(text);
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
        mw_close(device);
        assert_code(fake_open(&fake, &device), 0);
        fake_fail_at(&fake, i);
        assert_code(whole_layer(), MW_ERR_IO);
        assert_string_not_equal(mw_message(), "");
    }
}

// ---- DeepEP's words -----------------------------------------------------------------------------

enum { K = 2, T = 3, HIDDEN = 12 };
static uint16_t x[4][T][HIDDEN], out[4][T][HIDDEN];
static int16_t idx[4][T][K];
static float weights[4][T][K];
static uint16_t coefficient[8];

static void make_parts(struct mw_tokens *part)
{
    for (unsigned g = 0; g < 4; g++) {
        for (unsigned t = 0; t < T; t++) {
            for (unsigned i = 0; i < HIDDEN; i++)
                x[g][t][i] = (uint16_t)(g * 1000 + t * 100 + i);
            idx[g][t][0] = (int16_t)((g + t) % 8);
            idx[g][t][1] = (int16_t)(t == 2 ? -1 : (int)((g + t + 3) % 8));
            weights[g][t][0] = weights[g][t][1] = 0.25f;
        }
        part[g] = (struct mw_tokens){g == 2 ? 0 : T, x[g][0], idx[g][0], weights[g][0]};
    }
    for (unsigned e = 0; e < 8; e++)
        coefficient[e] = (uint16_t)(0x3f80 + e);
}

static struct mw_dymulticast *make_object(unsigned rows)
{
    const struct mw_dymulticast_prop prop = {
        .size = sizeof prop, .block_bytes = 2 * HIDDEN, .region_sets = 2, .k = K, .experts = 8};
    struct mw_dymulticast *m;
    assert_code(mw_dymulticast_create(device, &prop, &m), 0);
    assert_code(mw_dymulticast_bind_addr(m, 4 * T - 1, rows), 0); // rounded up
    return m;
}

static void dymulticast_checks(void **state)
{
    (void)state;
    struct mw_dymulticast *m;
    struct mw_layout l;
#define PROP(b, r, kk, e) \
    { \
        .size = sizeof(struct mw_dymulticast_prop), .block_bytes = b, .region_sets = r, .k = kk, \
        .experts = e \
    }
    static const struct mw_dymulticast_prop bad[] = {
        PROP(24, 1, 2, 8),  PROP(24, 3, 2, 8), PROP(24, 2, 0, 8), PROP(24, 2, 17, 32),
        PROP(24, 2, 16, 8), PROP(24, 2, 2, 0), PROP(24, 2, 2, 10)};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_code(mw_dymulticast_create(device, &bad[i], &m), MW_ERR_INVALID);
        assert_null(m);
    }
    const struct mw_dymulticast_prop large = PROP(24, 2, 2, 68), good = PROP(24, 2, 2, 8);
#undef PROP
    assert_code(mw_dymulticast_create(device, &large, &m), MW_ERR_CAPACITY);
    assert_code(mw_dymulticast_create(device, &good, &m), 0);
    assert_code(mw_dymulticast_layout(m, &l), MW_ERR_STATE);
    struct mw_handle *h;
    struct mw_tokens part[4];
    make_parts(part);
    assert_code(mw_dispatch(m, part, coefficient, &h), MW_ERR_STATE);
    assert_null(h);
    assert_code(mw_dymulticast_bind_addr(m, 4 * 129, 4), MW_ERR_CAPACITY);
    assert_code(mw_dymulticast_layout(m, &l), MW_ERR_STATE);
    assert_code(mw_dymulticast_bind_addr(m, 12, 4), 0);
    assert_code(mw_dymulticast_layout(m, &l), 0);
    assert_int_equal(l.cap_shift, 2);
    mw_dymulticast_destroy(m);
    mw_dymulticast_destroy(NULL);
    mw_handle_destroy(NULL);
}

static void dispatch_checks(void **state)
{
    (void)state;
    struct mw_dymulticast *m = make_object(4);
    struct mw_handle *h;
    struct mw_tokens part[4];
    make_parts(part);
    idx[1][2][1] = 8;
    assert_code(mw_dispatch(m, part, coefficient, &h), MW_ERR_INVALID);
    assert_message("GPU 1, token 2, place 1: expert 8 of 8");
    idx[1][2][1] = -2;
    assert_code(mw_dispatch(m, part, coefficient, &h), MW_ERR_INVALID);
    idx[1][2][1] = idx[1][2][0];
    assert_code(mw_dispatch(m, part, coefficient, &h), MW_ERR_INVALID);
    assert_message("expert 3 twice");
    idx[1][2][1] = -1;
    static const float none[] = {NAN, INFINITY, -INFINITY};
    for (unsigned i = 0; i < 3; i++) {
        weights[1][1][1] = none[i];
        assert_code(mw_dispatch(m, part, coefficient, &h), MW_ERR_INVALID);
        assert_message("GPU 1, token 1, place 1: the weight of expert 5 is ");
        assert_null(h);
    }
    weights[1][1][1] = 0.25f;
    weights[1][2][1] = NAN; // no expert has it
    assert_code(mw_handle_create(m, part, coefficient, &h), 0);
    mw_handle_destroy(h);
    part[1].tokens = 4;
    assert_code(mw_dispatch(m, part, coefficient, &h), MW_ERR_CAPACITY);
    assert_message("GPU 1: 4 tokens");
    part[1].tokens = T;
    mw_dymulticast_bind_addr(m, 12, 1);
    assert_code(mw_dispatch(m, part, coefficient, &h), MW_ERR_CAPACITY);
    assert_message("rows, its region holds 1: bind with rows_per_expert");
    assert_null(h);
    mw_dymulticast_destroy(m);
}

static void dispatch_and_combine(void **state)
{
    (void)state;
    struct mw_dymulticast *m = make_object(4);
    struct mw_layout l;
    struct mw_handle *h;
    struct mw_tokens part[4];
    uint16_t *rows[4] = {out[0][0], out[1][0], NULL, out[3][0]};
    uint64_t cycles;
    make_parts(part);
    assert_code(mw_dymulticast_layout(m, &l), 0);
    const long calls = fake.calls;
    assert_code(mw_handle_create(m, part, coefficient, &h), 0);
    assert_int_equal(fake.calls, calls); // it only copies
    for (unsigned g = 0; g < 4; g++)
        for (unsigned t = 0; t < T; t++)
            for (unsigned i = 0; i < HIDDEN; i++) {
                uint16_t v = (uint16_t)(g + 10 * t + 100 * i);
                memcpy(fake.mem[g] + l.out_base + (t << l.row_shift) + 2 * (size_t)i, &v, 2);
            }
    assert_code(mw_handle_set(h, "tile", 3), 0);
    assert_code(mw_handle_set(h, "tiles", 3), MW_ERR_INVALID);
    assert_code(mw_layer_run(h, rows, NULL, &cycles), 0);
    assert_int_equal(cycles, 1000);
    assert_int_equal(fake.go, 1);
    assert_int_equal(*fake_fabric(&fake, FABRIC(emap) + 4 * 5), 1 << 11 | 2 << 6 | 1);
    assert_memory_equal(fake.mem[3] + l.xs_base + (2u << l.row_shift), x[3][2], 2 * HIDDEN);
    assert_memory_equal(fake.mem[3] + l.ce_base, &coefficient[6], 4);
    uint8_t entry[MW_ROUTE_BYTES];
    mw_route_pack(entry, idx[1][2], weights[1][2], K);
    assert_memory_equal(fake.mem[1] + l.rt_base + 2 * MW_ROUTE_BYTES, entry, sizeof entry);
    const uint8_t ops[4] = {MW_I_COUNT, MW_I_DYMULTIMEM_ST, MW_I_EXPERT, MW_I_DYMULTIMEM_LD_REDUCE};
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(fake.mem[1][l.stream[i]], ops[i]);
        assert_int_equal(fake.mem[1][l.stream[i] + 16], MW_I_END);
    }
    assert_int_equal(*fake_node(&fake, 2, NODE(expert)) & 0xff, 3);
    assert_int_equal(*fake_node(&fake, 2, NODE(shape)), K);
    assert_int_equal(*fake_node(&fake, 3, NODE(shape)), K | T << 16);
    for (unsigned g = 0; g < 4; g++)
        for (unsigned t = 0; t < (g == 2 ? 0 : T); t++)
            for (unsigned i = 0; i < HIDDEN; i++)
                assert_int_equal(out[g][t][i], g + 10 * t + 100 * i);
    mw_handle_destroy(h);
    mw_dymulticast_destroy(m);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(texts),
        TEST(open_checks),
        TEST(claims_are_checked),
        TEST(open_closes_what_it_opened),
        TEST(cpu),
        TEST(sim_without_model),
        TEST(memory),
        TEST(expert_map),
        TEST(multicast),
        TEST(layouts),
        TEST(layout_limits),
        TEST(primitives),
        TEST(large_layouts),
        TEST(settings),
        TEST(registers),
        TEST(configure_checks),
        TEST(launch_cycles_fit_their_register),
        TEST(stream_words),
        TEST(stream_position),
        TEST(stream_failures),
        TEST(stream_load),
        TEST(streams_need_primitives),
        TEST(routes),
        TEST(epochs),
        TEST(settings_that_move_tables),
        TEST(progress_and_timeout),
        TEST(hardware_errors),
        TEST(counters),
        TEST(series),
        TEST(series_goes_on),
        TEST(monitor_limits),
        TEST(anything_is_progress),
        TEST(rows_without_a_place),
        TEST(layouts_at_their_limits),
        TEST(layouts_of_settings),
        TEST(settings_at_their_limits),
        TEST(ports),
        TEST(progress_of_the_last_layer),
        TEST(delays_are_no_standstill),
        TEST(report),
        TEST(every_call_may_fail),
        TEST(dymulticast_checks),
        TEST(dispatch_checks),
        TEST(dispatch_and_combine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
