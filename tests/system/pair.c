// SPDX-License-Identifier: Apache-2.0
//
// See pair.h.
#include "pair.h"

#include <dlfcn.h>

#include "fabric_regs.h"
#include "map.h"
#include "mw_sim.h"
#include "node_regs.h"

enum {
    SPARE = 1 << 12
}; ///< at the end of what is compared, which no layer uses where memories are large

#define FABRIC(reg) ((uint32_t)offsetof(mw_fabric_t, reg))
#define NODE(gpu, reg) \
    (MW_MAP_NODES + MW_MAP_NODE_STRIDE * (gpu) + (uint32_t)offsetof(mw_node_t, reg))

// ---- the models ---------------------------------------------------------------------------------

enum { MOST = 2 };

struct pair {
    const struct pair_models *models;
    unsigned count, last; ///< how many, and the number of the last one
    const struct mw_sim_ops *ops[MOST];
    struct mw_sim *sim[MOST];
    struct mw_random *random;
    bool disturb;          ///< ports go down and up, and partitions change, while a layer runs
    uint64_t looks, turns; ///< that there were
};

static void same_cycles(const struct pair *p, const char *what)
{
    uint64_t first = p->ops[0]->cycles(p->sim[0]);
    uint64_t last = p->ops[p->last]->cycles(p->sim[p->last]);
    if (first != last)
        fail_msg("%s ended in cycle %llu of %s, in %llu of %s", what, (unsigned long long)first,
                 p->models->name[0], (unsigned long long)last, p->models->name[p->last]);
}

static int access_register(struct pair *p, bool write, uint32_t address, uint32_t *value)
{
    int status[MOST] = {0};
    uint32_t v[MOST] = {0};
    for (unsigned i = 0; i < p->count; i++) {
        v[i] = *value;
        status[i] = p->ops[i]->cfg(p->sim[i], write, address, &v[i]);
    }
    if (status[0] != status[p->last] || v[0] != v[p->last])
        fail_msg("register 0x%x in cycle %llu: %d, 0x%x of %s, %d, 0x%x of %s", address,
                 (unsigned long long)p->ops[0]->cycles(p->sim[0]), status[0], v[0],
                 p->models->name[0], status[p->last], v[p->last], p->models->name[p->last]);
    same_cycles(p, "an access to a register");
    *value = v[0];
    return status[0];
}

static int move(struct pair *p, bool write, const struct mw_transfer *list, size_t count)
{
    struct mw_sim_transfer own[MOST][3 * MW_MAX_PORTS];
    int status[MOST] = {0};
    assert_true(count <= 3 * MW_MAX_PORTS);
    for (unsigned i = 0; i < p->count; i++) {
        for (size_t k = 0; k < count; k++) {
            own[i][k] = (struct mw_sim_transfer){
                list[k].gpu, write, list[k].address / p->models->flit_bytes,
                list[k].bytes / p->models->flit_bytes, list[k].data};
            if (!write && i) {
                own[i][k].data = malloc(list[k].bytes ? list[k].bytes : 1);
                assert_non_null(own[i][k].data);
            }
        }
        status[i] = p->ops[i]->transfer(p->sim[i], own[i], count);
    }
    assert_int_equal(status[0], status[p->last]);
    same_cycles(p, write ? "a write to memory" : "a read of memory");
    for (size_t k = 0; !write && k < count; k++) {
        for (size_t at = 0; at < list[k].bytes; at++)
            if (own[0][k].data[at] != own[p->last][k].data[at])
                fail_msg("GPU %u, address 0x%llx: 0x%02x of %s, 0x%02x of %s", list[k].gpu,
                         (unsigned long long)list[k].address + at, own[0][k].data[at],
                         p->models->name[0], own[p->last][k].data[at], p->models->name[p->last]);
        if (p->last)
            free(own[p->last][k].data);
    }
    return status[0];
}

static bool step(struct pair *p, uint64_t cycles)
{
    bool done[MOST] = {false};
    for (unsigned i = 0; i < p->count; i++)
        done[i] = p->ops[i]->run(p->sim[i], cycles);
    assert_int_equal(done[0], done[p->last]);
    same_cycles(p, "a step");
    p->turns++;
    return done[0];
}

// ---- while a layer runs -------------------------------------------------------------------------

static void look(struct pair *p)
{
    uint32_t value = 0, address;
    switch (mw_random_below(p->random, 4)) {
    case 0:
        address = (uint32_t)(4 * mw_random_below(p->random, 0x60 / 4));
        break;
    case 1:
        address =
            FABRIC(counters) + (uint32_t)(4 * mw_random_below(p->random, 16 * p->models->gpus + 8));
        break;
    default:
        address = NODE(mw_random_below(p->random, p->models->gpus + 1), status.state) +
                  (uint32_t)(4 * mw_random_below(p->random, 0x60 / 4));
    }
    access_register(p, false, address, &value);
    p->looks++;
}

static void use_host_streams(struct pair *p)
{
    uint8_t data[MW_MAX_PORTS][256] = {{0}};
    struct mw_transfer list[MW_MAX_PORTS];
    bool write = mw_random_below(p->random, 2) && !p->models->small;
    unsigned count = 0;
    for (unsigned g = 0; g < p->models->gpus; g++)
        if (mw_random_below(p->random, 2))
            list[count++] = (struct mw_transfer){
                g, p->models->area - SPARE + 16 * mw_random_below(p->random, 200),
                16 * (1 + mw_random_below(p->random, 16)), data[g]};
    memset(data, (int)mw_random_below(p->random, 256), sizeof data);
    move(p, write, list, count);
}

static void disturb(struct pair *p)
{
    uint32_t port = (uint32_t)mw_random_below(p->random, p->models->gpus);
    uint32_t value;
    if (mw_random_below(p->random, 3)) {
        value = port | (mw_random_below(p->random, 2) ? MW_FABRIC__PORTS__UP_bm
                                                      : MW_FABRIC__PORTS__DOWN_bm);
        access_register(p, true, FABRIC(ports), &value);
    } else {
        value = (uint32_t)mw_random_below(p->random, 1 << p->models->gpus);
        access_register(p, true, FABRIC(partitions) + 16 * port, &value);
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

// ---- as a transport -----------------------------------------------------------------------------

static int pair_open(const struct mw_open_options *o, void **context, char *message, size_t size)
{
    (void)message;
    (void)size;
    *context = o->custom_context;
    struct pair *p = *context;
    for (unsigned i = 0; i < p->count; i++)
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

static void load(struct pair *p, unsigned which)
{
    const char *path = p->models->path[which];
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fail_msg("%s", dlerror());
    void *symbol = dlsym(library, "mw_sim_get_ops");
    mw_sim_get_ops_fn get_ops;
    memcpy(&get_ops, &symbol, sizeof get_ops);
    p->ops[which] = get_ops();
    assert_int_equal(p->ops[which]->abi, MW_SIM_ABI);
    assert_int_equal(p->ops[which]->gpus, p->models->gpus);
    assert_int_equal(p->ops[which]->flit_bytes, p->models->flit_bytes);
    p->sim[which] = p->ops[which]->create(NULL);
    assert_non_null(p->sim[which]);
}

/// Open the models, whose memories start with different contents, and write equal contents.
static void open_pair(struct pair *p, const struct pair_models *models, struct mw_random *r)
{
    *p = (struct pair){.models = models, .random = r, .last = models->path[1] != NULL};
    p->count = p->last + 1;
    for (unsigned i = 0; i < p->count; i++)
        load(p, i);
    uint8_t *data = malloc(models->area);
    struct mw_transfer list[MW_MAX_PORTS];
    assert_non_null(data);
    for (size_t i = 0; i < models->area; i++)
        data[i] = (uint8_t)mw_random_next(r);
    for (unsigned g = 0; g < models->gpus; g++)
        list[g] = (struct mw_transfer){g, 0, models->area, data};
    move(p, true, list, models->gpus);
    free(data);
}

static void compare_memories(struct pair *p)
{
    struct mw_transfer list[MW_MAX_PORTS];
    for (unsigned g = 0; g < p->models->gpus; g++)
        list[g] = (struct mw_transfer){g, 0, p->models->area, malloc(p->models->area)};
    assert_int_equal(move(p, false, list, p->models->gpus), 0);
    for (unsigned g = 0; g < p->models->gpus; g++)
        free(list[g].data);
}

static void close_pair(struct pair *p)
{
    compare_memories(p);
    for (unsigned i = 0; i < p->count; i++)
        p->ops[i]->destroy(p->sim[i]);
    print_message("%llu steps, %llu registers looked at between them\n",
                  (unsigned long long)p->turns, (unsigned long long)p->looks);
}

/// RESET, and a link latency.
static struct mw_device *reopen(struct pair *p, struct mw_device *d)
{
    static const unsigned latencies[] = {1, 1, 2, 5, 17, 64}, least[] = {1, 1, 2, 5, 7, 8};
    struct mw_open_options o;
    if (d)
        mw_close(d);
    mw_open_defaults(&o);
    o.gpus = p->models->gpus;
    o.flit_bytes = p->models->flit_bytes;
    o.small = p->models->small;
    o.link_latency = (p->models->small ? least : latencies)[mw_random_below(p->random, 6)];
    o.custom = &pair_transport;
    o.custom_context = p;
    int status = mw_open(&o, &d);
    if (status)
        fail_msg("%s", mw_message());
    return d;
}

// ---- layers -------------------------------------------------------------------------------------

struct any_layer {
    struct layer l;
    struct layer_setting settings[17];
};

static void make_any(struct any_layer *a, const struct pair_models *m, struct mw_random *r)
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
        if (mw_random_below(r, 3) == 0 && !(m->small && strcmp(all[i].name, "window") == 0))
            a->settings[count++] =
                (struct layer_setting){all[i].name, 1 + mw_random_below(r, all[i].most)};
    a->settings[count++] = (struct layer_setting){"partial_tiles", 1};
    if (!m->small) // which has no such primitive
        a->settings[count++] = (struct layer_setting){"target_list_cache", mw_random_below(r, 2)};
    a->settings[count] = (struct layer_setting){NULL, 0};
    struct layer_shape s = layer_any(m->gpus, m->flit_bytes, m->small ? m->area : 1 << 25, r);
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

/// Read all results of a layer. The transport compares them.
static void read_monitors(struct mw_device *d, unsigned gpus)
{
    static struct mw_sample list[MW_SERIES_SAMPLES * MW_MAX_PORTS];
    uint32_t bins[MW_HISTOGRAM_BINS];
    uint64_t first;
    size_t count;
    for (unsigned g = 0; g < gpus; g++)
        assert_int_equal(mw_histogram_read(d, g, bins), 0);
    assert_int_equal(mw_series_read(d, 0, list, MW_SERIES_SAMPLES, &first, &count), 0);
}

void pair_any_layers(const struct pair_models *models, unsigned layers)
{
    struct mw_random r = {test_seed()};
    struct pair p;
    open_pair(&p, models, &r);
    struct mw_device *d = reopen(&p, NULL);
    for (unsigned i = 0; i < layers; i++) {
        struct any_layer a;
        if (i && i % 4 == 0)
            d = reopen(&p, d);
        make_any(&a, models, &r);
        if (!models->small)
            monitor(d, &r);
        layer_pass(&a.l, d, "a layer of both");
        if (!models->small)
            read_monitors(d, models->gpus);
        layer_free(&a.l);
    }
    mw_close(d);
    close_pair(&p);
}

/// What each hub reports of itself and of the packets that the switch rejected.
static void read_nodes(struct pair *p)
{
    for (unsigned g = 0; g < p->models->gpus; g++) {
        uint32_t value = 0;
        access_register(p, false, NODE(g, status.state), &value);
        access_register(p, false, NODE(g, status.error), &value);
    }
}

void pair_what_goes_wrong(const struct pair_models *models, unsigned layers)
{
    struct mw_random r = {test_seed()};
    struct pair p;
    struct mw_device *d = NULL;
    open_pair(&p, models, &r);
    for (unsigned i = 0; i < layers; i++) {
        struct any_layer a;
        bool done = false;
        d = reopen(&p, d);
        make_any(&a, models, &r);
        assert_int_equal(
            mw_port_limit(d, mw_random_below(&r, 4) ? 5 + (unsigned)mw_random_below(&r, 5) : 0), 0);
        for (unsigned g = 0; g < models->gpus; g++)
            if (mw_random_below(&r, 2))
                assert_int_equal(mw_fault_set(d, g, (unsigned)mw_random_below(&r, MW_FAULT_ALL + 1),
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

/// Steps until a port is down, or up again.
static void wait_for_port(struct pair *p, unsigned port, bool down)
{
    for (unsigned i = 0; i < 2000; i++) {
        uint32_t mask = 0;
        access_register(p, false, FABRIC(down), &mask);
        if ((mask >> port & 1) == down)
            return;
        step(p, 1 + mw_random_below(p->random, 40));
    }
    fail_msg("port %u is still %s", port, down ? "up" : "down");
}

void pair_ports_again(const struct pair_models *models)
{
    struct mw_random r = {test_seed()};
    struct pair p;
    struct mw_device *d = NULL;
    open_pair(&p, models, &r);
    for (uint32_t port = 0; port < models->gpus; port++) {
        struct any_layer a;
        d = reopen(&p, d);
        make_any(&a, models, &r);
        layer_start(&a.l, d);
        step(&p, 150 + mw_random_below(&r, 150)); // it has begun to send
        for (unsigned again = 0; again < 2; again++) {
            uint32_t value = port | MW_FABRIC__PORTS__DOWN_bm;
            access_register(&p, true, FABRIC(ports), &value);
            wait_for_port(&p, port, true);
            value = port | MW_FABRIC__PORTS__UP_bm;
            access_register(&p, true, FABRIC(ports), &value);
            wait_for_port(&p, port, false);
            read_nodes(&p);
        }
        for (unsigned i = 0; i < 20; i++)
            step(&p, 1 + mw_random_below(&r, 100));
        d = reopen(&p, d);
        layer_pass(&a.l, d, "behind RESET");
        layer_free(&a.l);
    }
    mw_close(d);
    close_pair(&p);
}
