// SPDX-License-Identifier: Apache-2.0
//
// The whole Verilated device with four GPUs, in the configuration that synth-check measures, at its
// endpoints. Each of its parameters reaches the fabric. Layers through frames have the golden bits,
// and the cycles and counters of the transport sim.
#include "frames.h"

#include "system/layers.h"

enum { GPUS = 4, FLIT = 8, MEMORY = 16384, LAYERS = 8 };

static struct mw_device *open_with(const struct mw_open_options *o)
{
    struct mw_device *d;
    int status = mw_open(o, &d);
    if (status)
        fail_msg("open: %s: %s", mw_strerror(status), mw_message());
    return d;
}

static void four_gpus(void **state)
{
    (void)state;
    struct mw_random r = {test_seed()};
    struct endpoints *e = endpoints_open_in("dev-n4f8-small", "mwdevice");
    struct mw_open_options sim, frames;
    struct mw_device_info a, b;
    mw_open_defaults(&sim);
    sim.gpus = GPUS;
    sim.flit_bytes = FLIT;
    sim.small = true;
    frames = sim;
    frames.custom = &endpoints_transport;
    frames.custom_context = e;
    endpoints_sync(e);
    struct mw_device *in_sim = open_with(&sim), *in_frames = open_with(&frames);
    assert_int_equal(mw_info(in_sim, &a), 0);
    assert_int_equal(mw_info(in_frames, &b), 0);
    assert_memory_equal(&a, &b, sizeof a);
    assert_int_equal(a.mem_bytes, MEMORY);
    assert_int_equal(a.window, 0);
    assert_int_equal(mw_monitor_set(in_frames, 15, 0), MW_ERR_CAPACITY);
    for (unsigned i = 0; i < LAYERS; i++) {
        struct layer l;
        struct layer_shape s = layer_any(GPUS, FLIT, MEMORY, &r);
        layer_make(&l, &s, &r);
        layer_pass(&l, in_sim, "sim");
        struct mw_counters counters = l.counters;
        assert_int_equal(layer_pass(&l, in_frames, "frames"), counters.cycles);
        assert_memory_equal(&l.counters, &counters, sizeof counters);
        layer_free(&l);
    }
    mw_close(in_sim);
    mw_close(in_frames);
    endpoints_selftest(e, GPUS);
    endpoints_close(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(four_gpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
