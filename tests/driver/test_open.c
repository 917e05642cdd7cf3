// SPDX-License-Identifier: Apache-2.0
//
// What opening a device checks and closes, its memory, and the tables of experts and groups.
#include "fake_device.h"

#include "transport_sim/cpu.h"

#include <stdio.h>
#include <string.h>

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
    *fake_fabric(&fake, FABRIC(id)) = 0x4d570102; // an older map
    assert_code(try_open(4, 8, 1), MW_ERR_VERSION);
    assert_message("registers of version 1, the library 2");
    *fake_fabric(&fake, FABRIC(id)) = 0x12340100;
    assert_code(try_open(4, 8, 1), MW_ERR_VERSION);
    *fake_fabric(&fake, FABRIC(id)) = 0x4d570200;
    *fake_fabric(&fake, FABRIC(size)) = 200 | 8u << 8;
    assert_code(try_open(4, 8, 1), MW_ERR_VERSION);
    assert_message("claims 200 GPUs");
}

/// The library refuses a device whose figures exceed its ranges.
static void claims_are_checked(void **state)
{
    (void)state;
#define FIELD(name) MW_FABRIC__##name##_bm, MW_FABRIC__##name##_bp
    static const struct {
        uint32_t at, mask;
        unsigned shift;
        uint32_t wrong[3];
    } claims[] = {
        {FABRIC(size), FIELD(SIZE__PORTS), {0, 1, 73}},
        {FABRIC(size), FIELD(SIZE__FLIT_BYTES), {0, 12, 32}},
        {FABRIC(size), FIELD(SIZE__MEM_LOG2), {0, 7, 35}},
        {FABRIC(capacity), FIELD(CAPACITY__ROWS_LOG2), {21, 31, 255}},
        {FABRIC(capacity), FIELD(CAPACITY__TOKENS_LOG2), {21, 31, 255}},
        {FABRIC(capacity), FIELD(CAPACITY__LOCAL_EXPERTS), {0, 0, 0}},
        {FABRIC(tables), FIELD(TABLES__EXPERTS), {0, 4097, 65535}},
        {FABRIC(tables), FIELD(TABLES__GROUPS), {129, 200, 255}},
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

/// The features of the processor are those that the operating system lists, for each name that a
/// model may need.
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
    o.gpus = 31; // which no build has
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
    assert_int_equal(mw_total_cycles(device), 0); // the fake has no such counter
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
    assert_int_equal(*fake_fabric(&fake, FABRIC(emap) + 4 * 63), 1 << 13 | 3 << 6 | 15);
    assert_int_equal(*fake_fabric(&fake, FABRIC(emap) + 4 * 5), 1 << 13 | 1 << 6 | 2);
    const struct mw_expert_place bad[3][2] = {
        {{0, 0, 0}, {64, 0, 0}}, {{0, 0, 0}, {0, 0, 16}}, {{0, 0, 0}, {0, 4, 0}}};
    const int codes[3] = {MW_ERR_CAPACITY, MW_ERR_CAPACITY, MW_ERR_INVALID};
    for (int i = 0; i < 3; i++) {
        assert_code(mw_expert_map_set(device, bad[i], 2), codes[i]);
        assert_int_equal(*fake_fabric(&fake, FABRIC(emap)), 0); // checked as a whole first
    }
    assert_code(mw_partition_set(device, 2, 0x5), 0);
    assert_int_equal(*fake_fabric(&fake, FABRIC(partitions) + 32), 5);
    assert_code(mw_partition_set(device, 4, 0x5), MW_ERR_INVALID);
    for (unsigned gpu = 4; gpu < 32; gpu++) // is not there
        assert_code(mw_partition_set(device, 2, 1u << gpu), MW_ERR_INVALID);
    assert_int_equal(*fake_fabric(&fake, FABRIC(partitions) + 32), 5);
    assert_code(mw_expert_map_even(device, 64), 0);
    assert_int_equal(*fake_fabric(&fake, FABRIC(emap) + 4 * 63), 1 << 13 | 3 << 6 | 15);
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
        assert_int_equal(*fake_fabric(&fake, FABRIC(groups) + 16u * (unsigned)i), 8 | 1 << i % 3);
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

static bool is_set(const struct mw_gpu_set *set, unsigned gpu)
{
    return set->word[gpu / 32] >> gpu % 32 & 1;
}

/// The most GPUs and groups: masks of 128 bits, and calls with masks of 32 bits that refuse them.
static void most_gpus(void **state)
{
    (void)state;
    enum { ALL = MW_MAX_PORTS, GROUPS = MW_STATIC_GROUPS };
    static struct fake large;
    static struct mw_multicast *m[GROUPS + 1];
    struct mw_device *d;
    struct mw_gpu_set set = {{0}};
    uint32_t mask = 17;
    fake_init(&large, ALL, 16);
    *fake_fabric(&large, FABRIC(tables)) = 64 | GROUPS << 16;
    assert_code(fake_open(&large, &d), 0);

    for (unsigned g = 0; g < GROUPS; g++) {
        assert_code(mw_multicast_create(d, 64, &m[g]), 0);
        assert_code(mw_multicast_add_device(m[g], g % ALL), 0);
        assert_code(mw_multicast_add_device(m[g], ALL), MW_ERR_INVALID);
        assert_code(mw_multicast_bind_addr(m[g], 0), 0);
        assert_int_equal(mw_multicast_group(m[g]), g);
        for (unsigned w = 0; w < 3; w++)
            assert_int_equal(*fake_fabric(&large, FABRIC(groups) + 16 * g + 4 * w),
                             g % ALL / 32 == w ? 1u << g % ALL % 32 : 0);
    }
    assert_code(mw_multicast_create(d, 64, &m[GROUPS]), MW_ERR_CAPACITY);
    assert_message("the device has 128 groups");
    for (unsigned g = 0; g < GROUPS; g++)
        mw_multicast_destroy(m[g]);

    set.word[0] = 5;
    set.word[2] = 1u << (ALL - 1) % 32;
    assert_code(mw_partition_set_wide(d, ALL - 1, &set), 0);
    for (unsigned w = 0; w < 3; w++)
        assert_int_equal(*fake_fabric(&large, FABRIC(partitions) + 16 * (ALL - 1) + 4 * w),
                         set.word[w]);
    assert_code(mw_partition_set_wide(d, ALL, &set), MW_ERR_INVALID);
    set.word[3] = 1;
    assert_code(mw_partition_set_wide(d, 2, &set), MW_ERR_INVALID);
    assert_message("partition of GPU 2: GPU 96 of 72");
    set.word[3] = 0;
    set.word[2] |= 1u << ALL % 32;
    assert_code(mw_partition_set_wide(d, 2, &set), MW_ERR_INVALID);
    assert_message("partition of GPU 2: GPU 72 of 72");
    assert_code(mw_partition_set(d, 2, 1), MW_ERR_CAPACITY);
    assert_message("a mask of 32 bits, of a device with 72 GPUs: see mw_partition_set_wide");

    assert_code(mw_port_disable(d, 40), 0);
    assert_code(mw_port_disable(d, ALL - 1), 0);
    assert_code(mw_ports_down_wide(d, &set), 0);
    for (unsigned g = 0; g < 8 * sizeof set; g++)
        assert_int_equal(is_set(&set, g), g == 40 || g == ALL - 1);
    assert_code(mw_ports_down(d, &mask), MW_ERR_CAPACITY);
    assert_message("see mw_ports_down_wide");
    assert_int_equal(mask, 17);
    assert_code(mw_port_enable(d, 40), 0);
    assert_code(mw_ports_down_wide(d, &set), 0);
    assert_false(is_set(&set, 40));
    mw_close(d);
    fake_free(&large);
}

/// For a small device, both kinds of masks are equal.
static void masks_of_few_gpus(void **state)
{
    (void)state;
    struct mw_gpu_set set = {{0x5}};
    uint32_t mask;
    assert_code(mw_partition_set_wide(device, 2, &set), 0);
    assert_int_equal(*fake_fabric(&fake, FABRIC(partitions) + 32), 5);
    set.word[0] = 1u << 4;
    assert_code(mw_partition_set_wide(device, 2, &set), MW_ERR_INVALID);
    assert_message("partition of GPU 2: GPU 4 of 4");
    assert_int_equal(*fake_fabric(&fake, FABRIC(partitions) + 32), 5);
    memset(&set, 0xee, sizeof set);
    assert_code(mw_port_disable(device, 3), 0);
    assert_code(mw_ports_down_wide(device, &set), 0);
    assert_code(mw_ports_down(device, &mask), 0);
    assert_int_equal(mask, 1 << 3);
    const struct mw_gpu_set third = {{1 << 3}};
    assert_memory_equal(&set, &third, sizeof set);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fake_setup, fake_teardown)
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
        TEST(most_gpus),
        TEST(masks_of_few_gpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
