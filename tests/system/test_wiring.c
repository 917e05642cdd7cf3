// SPDX-License-Identifier: Apache-2.0
//
// fabric.sv itself beside the parts that sim/shim.cpp joins in its place in every other test: the same calls to both models, which must answer the same in
// the same cycle: registers, host streams, done, and at the end memories, counters and monitors. N = 3, so that a lane is left over, and 16-byte flits. Layers
// of every size with random limits, latencies and stalls; looked at, written to, taken down and up, made to misbehave and reset while they run.
#include "layers.h"

#include <dlfcn.h>

#include "fabric_regs.h"
#include "map.h"
#include "mw_sim.h"
#include "node_regs.h"

enum {
    GPUS = 3,
    FLIT = 16,
    AREA = 1 << 17,  ///< of each GPU's memory that is written at first, and compared at the end
    SPARE = 1 << 12, ///< at its end, which no layer uses
    LAYERS = 24,
    BAD_LAYERS = 24,
};

#define FABRIC(reg) ((uint32_t)offsetof(mw_fabric_t, reg))
#define NODE(gpu, reg) \
    (MW_MAP_NODES + MW_MAP_NODE_STRIDE * (gpu) + (uint32_t)offsetof(mw_node_t, reg))

// ---- both models -------------------------------------------------------------------------------------

enum { PARTS, WHOLE, BOTH };

struct pair {
    const struct mw_sim_ops *ops[BOTH];
    struct mw_sim *sim[BOTH];
    struct mw_random *random;
    bool disturb;          ///< ports go down and up, and partitions change, while a layer runs
    uint64_t looks, turns; ///< that there were
};

static void same_cycles(const struct pair *p, const char *what)
{
    uint64_t parts = p->ops[PARTS]->cycles(p->sim[PARTS]);
    uint64_t whole = p->ops[WHOLE]->cycles(p->sim[WHOLE]);
    if (parts != whole)
        fail_msg("%s ended in cycle %llu of the parts, in %llu of fabric.sv", what,
                 (unsigned long long)parts, (unsigned long long)whole);
}

static int access_register(struct pair *p, bool write, uint32_t address, uint32_t *value)
{
    int status[BOTH];
    uint32_t v[BOTH];
    for (unsigned i = 0; i < BOTH; i++) {
        v[i] = *value;
        status[i] = p->ops[i]->cfg(p->sim[i], write, address, &v[i]);
    }
    if (status[PARTS] != status[WHOLE] || v[PARTS] != v[WHOLE])
        fail_msg("register 0x%x in cycle %llu: %d, 0x%x of the parts, %d, 0x%x of fabric.sv",
                 address, (unsigned long long)p->ops[PARTS]->cycles(p->sim[PARTS]), status[PARTS],
                 v[PARTS], status[WHOLE], v[WHOLE]);
    same_cycles(p, "an access to a register");
    *value = v[PARTS];
    return status[PARTS];
}

static int move(struct pair *p, bool write, const struct mw_transfer *list, size_t count)
{
    struct mw_sim_transfer own[BOTH][3 * MW_MAX_PORTS];
    int status[BOTH];
    assert_true(count <= 3 * MW_MAX_PORTS);
    for (unsigned i = 0; i < BOTH; i++) {
        for (size_t k = 0; k < count; k++) {
            own[i][k] = (struct mw_sim_transfer){list[k].gpu, write, list[k].address / FLIT,
                                                 list[k].bytes / FLIT, list[k].data};
            if (!write && i == WHOLE) {
                own[i][k].data = malloc(list[k].bytes ? list[k].bytes : 1);
                assert_non_null(own[i][k].data);
            }
        }
        status[i] = p->ops[i]->transfer(p->sim[i], own[i], count);
    }
    assert_int_equal(status[PARTS], status[WHOLE]);
    same_cycles(p, write ? "a write to memory" : "a read of memory");
    for (size_t k = 0; !write && k < count; k++) {
        for (size_t at = 0; at < list[k].bytes; at++)
            if (own[PARTS][k].data[at] != own[WHOLE][k].data[at])
                fail_msg("GPU %u, address 0x%llx: 0x%02x of the parts, 0x%02x of fabric.sv",
                         list[k].gpu, (unsigned long long)list[k].address + at,
                         own[PARTS][k].data[at], own[WHOLE][k].data[at]);
        free(own[WHOLE][k].data);
    }
    return status[PARTS];
}

static bool step(struct pair *p, uint64_t cycles)
{
    bool done[BOTH];
    for (unsigned i = 0; i < BOTH; i++)
        done[i] = p->ops[i]->run(p->sim[i], cycles);
    assert_int_equal(done[PARTS], done[WHOLE]);
    same_cycles(p, "a step");
    p->turns++;
    return done[PARTS];
}

// ---- while a layer runs ------------------------------------------------------------------------------

static void look(struct pair *p)
{
    uint32_t value = 0, address;
    switch (mw_random_below(p->random, 4)) {
    case 0:
        address = (uint32_t)(4 * mw_random_below(p->random, 0x60 / 4));
        break;
    case 1:
        address = FABRIC(counters) + (uint32_t)(4 * mw_random_below(p->random, 16 * GPUS + 8));
        break;
    default:
        address = NODE(mw_random_below(p->random, GPUS + 1), status.state) +
                  (uint32_t)(4 * mw_random_below(p->random, 0x60 / 4));
    }
    access_register(p, false, address, &value);
    p->looks++;
}

static void use_host_streams(struct pair *p)
{
    uint8_t data[GPUS][256] = {{0}};
    struct mw_transfer list[GPUS];
    bool write = mw_random_below(p->random, 2);
    unsigned count = 0;
    for (unsigned g = 0; g < GPUS; g++)
        if (mw_random_below(p->random, 2))
            list[count++] =
                (struct mw_transfer){g, AREA - SPARE + 16 * mw_random_below(p->random, 200),
                                     16 * (1 + mw_random_below(p->random, 16)), data[g]};
    memset(data, (int)mw_random_below(p->random, 256), sizeof data);
    move(p, write, list, count);
}

static void disturb(struct pair *p)
{
    uint32_t port = (uint32_t)mw_random_below(p->random, GPUS);
    uint32_t value;
    if (mw_random_below(p->random, 3)) {
        value = port | (mw_random_below(p->random, 2) ? MW_FABRIC__PORTS__UP_bm
                                                      : MW_FABRIC__PORTS__DOWN_bm);
        access_register(p, true, FABRIC(ports), &value);
    } else {
        value = (uint32_t)mw_random_below(p->random, 1 << GPUS);
        access_register(p, true, FABRIC(partitions) + 4 * port, &value);
    }
}

static int pair_run_until(void *context, uint64_t max_cycles, bool *done)
{
    struct pair *p = context;
    *done = false;
    for (uint64_t passed = 0; passed < max_cycles && !*done;) {
        uint64_t cycles = 1 + mw_random_below(p->random, mw_random_below(p->random, 4) ? 12 : 400);
        *done = step(p, cycles);
        passed += cycles;
        if (*done || mw_random_below(p->random, 3))
            continue;
        look(p);
        if (mw_random_below(p->random, 24) == 0 && !p->disturb)
            use_host_streams(p);
        if (mw_random_below(p->random, 24) == 0 && p->disturb)
            disturb(p);
    }
    return 0;
}

// ---- as a transport ----------------------------------------------------------------------------------

static int pair_open(const struct mw_open_options *o, void **context, char *message, size_t size)
{
    (void)message;
    (void)size;
    *context = o->custom_context;
    struct pair *p = *context;
    for (unsigned i = 0; i < BOTH; i++)
        p->ops[i]->reset(p->sim[i]);
    return 0;
}

static void pair_close(void *context)
{
    (void)context;
}

static int pair_cfg_read(void *context, uint32_t address, uint32_t *value)
{
    *value = 0;
    return access_register(context, false, address, value) ? MW_ERR_IO : 0;
}

static int pair_cfg_write(void *context, uint32_t address, uint32_t value)
{
    return access_register(context, true, address, &value) ? MW_ERR_IO : 0;
}

static int pair_mem_write(void *context, const struct mw_transfer *list, size_t count)
{
    return move(context, true, list, count) ? MW_ERR_IO : 0;
}

static int pair_mem_read(void *context, const struct mw_transfer *list, size_t count)
{
    return move(context, false, list, count) ? MW_ERR_IO : 0;
}

static const struct mw_transport pair_transport = {
    .size = sizeof(struct mw_transport),
    .name = "pair",
    .open = pair_open,
    .close = pair_close,
    .cfg_read = pair_cfg_read,
    .cfg_write = pair_cfg_write,
    .mem_write = pair_mem_write,
    .mem_read = pair_mem_read,
    .run_until = pair_run_until,
};

static void load(struct pair *p, unsigned which, const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fail_msg("%s", dlerror());
    void *symbol = dlsym(library, "mw_sim_get_ops");
    mw_sim_get_ops_fn get_ops;
    memcpy(&get_ops, &symbol, sizeof get_ops);
    p->ops[which] = get_ops();
    assert_int_equal(p->ops[which]->abi, MW_SIM_ABI);
    assert_int_equal(p->ops[which]->gpus, GPUS);
    assert_int_equal(p->ops[which]->flit_bytes, FLIT);
    p->sim[which] = p->ops[which]->create(NULL);
    assert_non_null(p->sim[which]);
}

/// What either starts with in its memory is its own: from here on it is the same.
static void open_pair(struct pair *p, struct mw_random *r)
{
    *p = (struct pair){.random = r};
    load(p, PARTS, "build/model/n3f16/libmwsim.so");
    load(p, WHOLE, "build/model/n3f16-fst/libmwsim.so");
    uint8_t *data = malloc(AREA);
    struct mw_transfer list[GPUS];
    assert_non_null(data);
    for (unsigned i = 0; i < AREA; i++)
        data[i] = (uint8_t)mw_random_next(r);
    for (unsigned g = 0; g < GPUS; g++)
        list[g] = (struct mw_transfer){g, 0, AREA, data};
    move(p, true, list, GPUS);
    free(data);
}

static void compare_memories(struct pair *p)
{
    struct mw_transfer list[GPUS];
    for (unsigned g = 0; g < GPUS; g++)
        list[g] = (struct mw_transfer){g, 0, AREA, malloc(AREA)};
    assert_int_equal(move(p, false, list, GPUS), 0);
    for (unsigned g = 0; g < GPUS; g++)
        free(list[g].data);
}

static void close_pair(struct pair *p)
{
    compare_memories(p);
    for (unsigned i = 0; i < BOTH; i++)
        p->ops[i]->destroy(p->sim[i]);
    print_message("%llu steps, %llu registers looked at between them\n",
                  (unsigned long long)p->turns, (unsigned long long)p->looks);
}

/// RESET, and a link latency.
static struct mw_device *reopen(struct pair *p, struct mw_device *d)
{
    static const unsigned latencies[] = {1, 1, 2, 5, 17, 64};
    struct mw_open_options o;
    if (d)
        mw_close(d);
    mw_open_defaults(&o);
    o.gpus = GPUS;
    o.flit_bytes = FLIT;
    o.link_latency = latencies[mw_random_below(p->random, 6)];
    o.custom = &pair_transport;
    o.custom_context = p;
    int status = mw_open(&o, &d);
    if (status)
        fail_msg("%s", mw_message());
    return d;
}

// ---- tests -------------------------------------------------------------------------------------------

struct any_layer {
    struct layer l;
    struct layer_setting settings[16];
};

static void make_any(struct any_layer *a, struct mw_random *r)
{
    static const struct {
        const char *name;
        uint64_t most;
    } all[] = {{"store_credits", 3},     {"part_credits", 3},
               {"ctrl_credits", 3},      {"down_store_credits", 3},
               {"down_part_credits", 3}, {"throttle", 220},
               {"down_throttle", 220},   {"window", 16},
               {"start_delay", 60},      {"tile", 7},
               {"expert_cycles", 20},    {"in_flight", 6},
               {"open_rows", 8},         {"partial_wait", 60}};
    unsigned count = 0;
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        if (mw_random_below(r, 3) == 0)
            a->settings[count++] =
                (struct layer_setting){all[i].name, 1 + mw_random_below(r, all[i].most)};
    a->settings[count++] = (struct layer_setting){"partial_tiles", 1};
    a->settings[count] = (struct layer_setting){NULL, 0};
    struct layer_shape s = layer_any(GPUS, FLIT, 1 << 25, r);
    s.tokens = 1 + s.tokens / 2;
    s.hidden = 8 * (1 + s.hidden / 32);
    layer_make(&a->l, &s, r);
    a->l.settings = a->settings;
}

static void monitor(struct mw_device *d, struct mw_random *r)
{
    assert_int_equal(
        mw_monitor_set(d, (unsigned)mw_random_below(r, 16),
                       mw_random_below(r, 3) ? 2 + (unsigned)mw_random_below(r, 60) : 0),
        0);
}

/// Everything that a layer leaves to be read; the transport compares.
static void read_monitors(struct mw_device *d)
{
    struct mw_sample list[MW_SERIES_SAMPLES * GPUS];
    uint32_t bins[MW_HISTOGRAM_BINS];
    uint64_t first;
    size_t count;
    for (unsigned g = 0; g < GPUS; g++)
        assert_int_equal(mw_histogram_read(d, g, bins), 0);
    assert_int_equal(mw_series_read(d, 0, list, MW_SERIES_SAMPLES, &first, &count), 0);
}

static void any_layers(void **state)
{
    (void)state;
    struct mw_random r = {test_seed()};
    struct pair p;
    open_pair(&p, &r);
    struct mw_device *d = reopen(&p, NULL);
    for (unsigned i = 0; i < LAYERS; i++) {
        struct any_layer a;
        if (i && i % 4 == 0)
            d = reopen(&p, d);
        make_any(&a, &r);
        monitor(d, &r);
        layer_pass(&a.l, d, "a layer of both");
        read_monitors(d);
        layer_free(&a.l);
    }
    mw_close(d);
    close_pair(&p);
}

/// What each hub says of itself and of the packets that the switch rejected.
static void read_nodes(struct pair *p)
{
    for (unsigned g = 0; g < GPUS; g++) {
        uint32_t value = 0;
        access_register(p, false, NODE(g, status.state), &value);
        access_register(p, false, NODE(g, status.error), &value);
    }
}

/// GPUs misbehave, ports go down and up, partitions change in the middle; then RESET in the middle of that, and a layer which is right.
static void what_goes_wrong(void **state)
{
    (void)state;
    struct mw_random r = {test_seed()};
    struct pair p;
    struct mw_device *d = NULL;
    open_pair(&p, &r);
    for (unsigned i = 0; i < BAD_LAYERS; i++) {
        struct any_layer a;
        bool done = false;
        d = reopen(&p, d);
        make_any(&a, &r);
        assert_int_equal(
            mw_port_limit(d, mw_random_below(&r, 4) ? 5 + (unsigned)mw_random_below(&r, 5) : 0), 0);
        for (unsigned g = 0; g < GPUS; g++)
            if (mw_random_below(&r, 2))
                assert_int_equal(mw_fault_set(d, g, (unsigned)mw_random_below(&r, 16),
                                              (unsigned)mw_random_below(&r, 1000)),
                                 0);
        layer_start(&a.l, d);
        p.disturb = mw_random_below(&r, 2);
        pair_run_until(&p, 20 + mw_random_below(&r, 6000), &done);
        p.disturb = false;
        read_nodes(&p);
        d = reopen(&p, d);
        layer_pass(&a.l, d, "behind RESET");
        layer_free(&a.l);
    }
    mw_close(d);
    close_pair(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_layers),
        cmocka_unit_test(what_goes_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
