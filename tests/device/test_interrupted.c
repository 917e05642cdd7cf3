// SPDX-License-Identifier: Apache-2.0
//
// Invalid or interrupted layers on the whole Verilated device at its endpoints: host link, soft
// CPU, firmware, fabric. For any instructions of a GPU and any time of the interruption, the device
// answers afterwards and RESET restores it. Then a layer has the golden bits and its cycles.
// MW_LAYER=i runs layer i of the seed alone.
#include "frames.h"

#include "system/layers.h"

#include "fabric_regs.h"
#include "map.h"
#include "node_regs.h"

enum {
    GPUS = 2,
    FLIT = 8,
    MEMORY = 1 << 25,
    FEW_LAYERS = 60,
    MANY_LAYERS = 200,
    FEW_RESETS = 14,
    MANY_RESETS = 40,
    ANSWER_CYCLES = 400000, ///< within which every frame is answered
    AREA = 1 << 14,         ///< that random addresses mostly point to
};

#define FABRIC(reg) ((uint32_t)offsetof(mw_fabric_t, reg))
#define NODE(gpu, reg) \
    (MW_MAP_NODES + MW_MAP_NODE_STRIDE * (gpu) + (uint32_t)offsetof(mw_node_t, reg))

static const struct layer_shape usual = {GPUS, 4, 32, 4, 2, false};

struct device {
    struct endpoints *e;
    struct mw_device *d;
    struct layer right; ///< the layer that must run well afterwards
    uint64_t cycles;    ///< of it
};

static void reset_and_open(struct device *t)
{
    struct mw_open_options o;
    mw_open_defaults(&o);
    o.gpus = GPUS;
    o.flit_bytes = FLIT;
    o.custom = &endpoints_transport;
    o.custom_context = t->e;
    int status = mw_open(&o, &t->d);
    if (status)
        fail_msg("RESET: %s: %s", mw_strerror(status), mw_message());
}

static void open_device(struct device *t, struct mw_random *r)
{
    *t = (struct device){.e = endpoints_open("mwdevice")};
    endpoints_sync(t->e);
    t->e->limit = ANSWER_CYCLES;
    reset_and_open(t);
    layer_make(&t->right, &usual, r);
    t->cycles = layer_pass(&t->right, t->d, "at first");
}

static void close_device(struct device *t)
{
    mw_close(t->d);
    layer_free(&t->right);
    endpoints_close(t->e);
}

static uint32_t read_register(struct device *t, uint32_t address)
{
    struct mw_frame_register r = {address, 0};
    assert_int_equal(endpoints_call(t->e, MW_FRAME_REG_READ, 0, 0, &r, sizeof r), MW_STATUS_OK);
    memcpy(&r, t->e->payload, sizeof r);
    return r.value;
}

static void write_register(struct device *t, uint32_t address, uint32_t value)
{
    const struct mw_frame_register r = {address, value};
    assert_int_equal(endpoints_call(t->e, MW_FRAME_REG_WRITE, 0, 0, &r, sizeof r), MW_STATUS_OK);
}

static bool wait_done(struct device *t, uint64_t cycles)
{
    assert_int_equal(endpoints_call(t->e, MW_FRAME_WAIT, cycles, 0, NULL, 0), MW_STATUS_OK);
    return t->e->reply.count;
}

/// Hardware and firmware answer.
static void answers(struct device *t)
{
    assert_int_equal(read_register(t, FABRIC(id)) >> 16, 0x4d57);
    assert_int_equal(endpoints_call(t->e, MW_FRAME_INFO, 0, 0, NULL, 0), MW_STATUS_OK);
    for (unsigned g = 0; g < GPUS; g++)
        if (!(read_register(t, FABRIC(down)) >> g & 1))
            read_register(t, NODE(g, status.state));
}

/// RESET, then a layer with the results of the first run.
static void recovers(struct device *t)
{
    mw_close(t->d);
    reset_and_open(t);
    assert_int_equal(layer_pass(&t->right, t->d, "behind RESET"), t->cycles);
}

// ---- RESET with flits in flight -----------------------------------------------------------------

static void reset_in_a_layer(void **state)
{
    (void)state;
    static const struct layer_shape shape = {GPUS, 10, 128, 8, 4, false};
    struct mw_random r = {test_seed()};
    struct device t;
    struct layer l;
    const unsigned resets = test_cases(FEW_RESETS, MANY_RESETS);
    unsigned busy = 0;
    open_device(&t, &r);
    layer_make(&l, &shape, &r);
    uint64_t cycles = layer_pass(&l, t.d, "that is not interrupted");
    for (unsigned i = 0; i < resets; i++) {
        layer_start(&l, t.d);
        // WAIT ends when RESET arrives. Its reply adds some cycles to the layer
        if (!wait_done(&t, mw_random_below(&r, cycles)))
            busy++;
        recovers(&t);
        assert_int_equal(layer_pass(&l, t.d, "that was interrupted before"), cycles);
    }
    print_message("%u of %u layers were interrupted\n", busy, resets);
    assert_true(busy > resets / 2);
    layer_free(&l);
    close_device(&t);
}

// ---- random instructions ------------------------------------------------------------------------

static unsigned below(struct mw_random *r, unsigned n)
{
    return (unsigned)mw_random_below(r, n);
}

static bool chance(struct mw_random *r, unsigned one_of)
{
    return below(r, one_of) == 0;
}

/// A small value, one in the used area, or any value.
static uint32_t operand(struct mw_random *r)
{
    switch (below(r, 8)) {
    case 0:
    case 1:
    case 2:
        return below(r, 9);
    case 3:
    case 4:
        return below(r, AREA / 16) * 16;
    case 5:
        return below(r, AREA);
    case 6:
        return 1u << below(r, 32);
    default:
        return (uint32_t)mw_random_next(r);
    }
}

static struct mw_instr instruction(struct mw_random *r)
{
    static const uint8_t ops[] = {MW_I_END,
                                  MW_I_WAIT,
                                  MW_I_COUNT,
                                  MW_I_PREFIX,
                                  MW_I_SIGNAL,
                                  MW_I_FLAG,
                                  MW_I_FENCE,
                                  MW_I_DYMULTIMEM_ST,
                                  MW_I_ST,
                                  MW_I_ST_LINEAR,
                                  MW_I_MULTIMEM_ST,
                                  MW_I_MULTIMEM_RED,
                                  MW_I_EXPERT,
                                  MW_I_EXPERT_ROWS,
                                  MW_I_DYMULTIMEM_LD_REDUCE,
                                  MW_I_MULTIMEM_LD_REDUCE,
                                  MW_I_SUM_ST,
                                  MW_I_SUM};
    struct mw_instr i = {
        .op = ops[below(r, sizeof ops)], .a = operand(r), .b = operand(r), .c = operand(r)};
    if (i.op == MW_I_END && !chance(r, 4))
        i.op = MW_I_ST_LINEAR;
    if (chance(r, 12))
        i.op = (uint8_t)below(r, 256);
    i.flags = (chance(r, 8) ? below(r, 16) : below(r, 4)) & 15;
    i.a_high = (chance(r, 8) ? below(r, 4) : 0) & 3;
    i.c_high = (chance(r, 8) ? below(r, 4) : 0) & 3;
    i.imm = (uint16_t)(chance(r, 8) ? below(r, 65536) : below(r, 16));
    return i;
}

/// Random instructions replace some streams of a valid layer, and random values some of its
/// registers and tables.
static void spoil(struct device *t, const struct layer *l, struct mw_random *r)
{
    struct mw_layout layout;
    struct mw_layer_config c;
    unsigned tokens[GPUS], experts[GPUS];
    struct mw_dymulticast *object;
    struct mw_handle *handle;
    layer_load(l, t->d, &object, &handle);
    assert_int_equal(mw_dymulticast_layout(object, &layout), 0);
    mw_layer_defaults(&c);
    c.k = l->w.k;
    c.tokens_per_gpu = l->w.shape.tokens_per_gpu;
    c.row_bytes = 2 * l->w.shape.hidden;
    c.experts_per_gpu = l->w.experts_per_gpu;
    c.tile = 1 + below(r, 4);
    c.partial_tiles = chance(r, 2);
    c.in_flight = chance(r, 3) ? 1 + below(r, 3) : 0;
    c.throttle = chance(r, 3) ? below(r, 200) : 0;
    c.down_throttle = chance(r, 3) ? below(r, 200) : 0;
    c.start_delay = chance(r, 4) ? below(r, 100) : 0;
    for (unsigned g = 0; g < GPUS; g++) {
        tokens[g] = c.tokens_per_gpu;
        experts[g] = c.experts_per_gpu;
        for (unsigned s = 0; s < MW_STREAMS; s++) {
            struct mw_instr list[MW_STREAM_INSTRS];
            // one stream of the layer in four stays unchanged
            unsigned count = chance(r, 4) ? 0 : 1 + below(r, chance(r, 8) ? MW_STREAM_INSTRS : 8);
            for (unsigned i = 0; i < count; i++)
                list[i] = instruction(r);
            if (count && !chance(r, 8))
                list[count - 1] = (struct mw_instr){.op = MW_I_END};
            const struct mw_transfer w = {g, layout.stream[s], count * sizeof *list, list};
            assert_int_equal(mw_mem_write(t->d, &w, count > 0), 0);
        }
        if (chance(r, 4)) { // lists of experts
            uint8_t route[MW_ROUTE_BYTES];
            for (unsigned i = 0; i < sizeof route; i++)
                route[i] = (uint8_t)(chance(r, 2) ? below(r, 256) : below(r, 4));
            const struct mw_transfer w = {g, layout.rt_base + MW_ROUTE_BYTES * below(r, tokens[g]),
                                          sizeof route, route};
            assert_int_equal(mw_mem_write(t->d, &w, 1), 0);
        }
        if (chance(r, 6))
            assert_int_equal(mw_partition_set(t->d, g, below(r, 1 << GPUS)), 0);
        if (chance(r, 6)) {
            const struct mw_expert_place p = {below(r, l->w.experts), below(r, GPUS),
                                              below(r, c.experts_per_gpu)};
            assert_int_equal(mw_expert_map_set(t->d, &p, 1), 0);
        }
    }
    assert_int_equal(mw_layer_configure(t->d, &c, &layout, tokens, experts, (1u << MW_STREAMS) - 1),
                     0);
    for (unsigned g = 0; g < GPUS; g++) {
        if (chance(r, 3)) // a static group, which the layer has none of
            write_register(t, FABRIC(groups) + 16 * below(r, 16), below(r, 1 << GPUS));
        if (chance(r, 3)) {
            write_register(t, NODE(g, st_lo), operand(r));
            write_register(t, NODE(g, st_hi), operand(r));
        }
        if (chance(r, 5)) {
            static const uint32_t bases[] = {NODE(0, xs_base),  NODE(0, rt_base), NODE(0, xd_base),
                                             NODE(0, yd_base),  NODE(0, gt_base), NODE(0, al_base),
                                             NODE(0, out_base), NODE(0, cb_base), NODE(0, ce_base)};
            write_register(t,
                           bases[below(r, sizeof bases / sizeof *bases)] + MW_MAP_NODE_STRIDE * g,
                           below(r, AREA / 128) * 128);
        }
        if (chance(r, 5))
            write_register(t, NODE(g, fault), below(r, 16) | below(r, 8) << 16);
    }
    write_register(t, FABRIC(limit), chance(r, 3) ? 0 : 5 + below(r, 5));
    mw_handle_destroy(handle);
    mw_dymulticast_destroy(object);
}

static const char *const ways[] = {"nothing",
                                   "RESET",
                                   "a port disabled",
                                   "a port disabled and enabled",
                                   "memory read and written",
                                   "USB reset"};
enum { WAYS = sizeof ways / sizeof *ways };

/// `enabled`: a port is being enabled, and its GPU refuses requests during its reset.
static void access_memory(struct device *t, bool enabled, struct mw_random *r)
{
    uint8_t data[64] = {1};
    uint64_t place = (uint64_t)below(r, GPUS) << MW_HOST_GPU_SHIFT | (AREA + 16 * below(r, 100));
    unsigned wrote = endpoints_call(t->e, MW_FRAME_MEM_WRITE, place, 0, data, sizeof data);
    unsigned read = endpoints_call(t->e, MW_FRAME_MEM_READ, place, sizeof data, NULL, 0);
    assert_true(wrote == MW_STATUS_OK || (enabled && wrote == MW_STATUS_STATE));
    assert_true(read == MW_STATUS_OK || (enabled && read == MW_STATUS_STATE));
}

static void interrupt(struct device *t, unsigned way, struct mw_random *r)
{
    unsigned port = below(r, GPUS);
    switch (way) {
    case 2:
    case 3:
        write_register(t, FABRIC(ports), port | MW_FABRIC__PORTS__DOWN_bm);
        wait_done(t, below(r, 500));
        if (way == 3) // and its memory is accessed during the flush
            write_register(t, FABRIC(ports), port | MW_FABRIC__PORTS__UP_bm);
        access_memory(t, way == 3, r);
        break;
    case 4:
        access_memory(t, false, r);
        break;
    case 5:
        t->e->ops->link_reset(t->e->model);
        endpoints_sync(t->e);
        break;
    default:
        break;
    }
    if (way != 1) {
        wait_done(t, 2000);
        answers(t);
    }
}

static void random_instructions(void **state)
{
    (void)state;
    const char *only = getenv("MW_LAYER");
    uint64_t seed = test_seed();
    struct mw_random first = {seed};
    struct device t;
    const unsigned layers = test_cases(FEW_LAYERS, MANY_LAYERS);
    unsigned done = 0, errors = 0;
    open_device(&t, &first);
    for (unsigned i = 0; i < layers; i++) {
        if (only && strtoul(only, NULL, 0) != i)
            continue;
        struct mw_random r = {mw_hash3(seed, 0x696e74, i)};
        struct layer l;
        const struct layer_shape s = {GPUS, 1 + below(&r, 6), 4 * (1 + below(&r, 16)),
                                      4,    1 + below(&r, 4), chance(&r, 3)};
        unsigned way = below(&r, WAYS);
        print_message("%u: %s\n", i, ways[way]);
        layer_make(&l, &s, &r);
        spoil(&t, &l, &r);
        assert_int_equal(mw_launch(t.d), 0);
        wait_done(&t, below(&r, chance(&r, 2) ? 300 : 3000));
        interrupt(&t, way, &r);
        done += read_register(&t, FABRIC(state)) >> 1 & 1;
        errors += read_register(&t, FABRIC(error)) >> 16 || read_register(&t, FABRIC(node_error));
        recovers(&t);
        layer_free(&l);
    }
    print_message("%u of %u layers ended, %u with errors\n", done, layers, errors);
    close_device(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reset_in_a_layer),
        cmocka_unit_test(random_instructions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
