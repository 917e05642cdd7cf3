// SPDX-License-Identifier: Apache-2.0
//
// Random reads and writes while replies and requests are damaged, cut short and doubled, endpoints halt,
// the device forgets the link, and is unplugged: no call hangs, every failure has a reason, and nothing
// that was acknowledged is lost. MW_SOAK_SECONDS: for how long, 20 if not given; MW_SOAK_MODEL: with the
// Verilated fabric in that shared object in place of the stub.
#include "bus.h"
#include "soak.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { SECONDS = 20, TIMEOUT_MS = 200, MODEL_TIMEOUT_MS = 2000, CHANCE = 4, FARTHEST = 30 };

struct trouble {
    struct bus_device *device;
    struct mw_random random;
    unsigned long faults, planned[BUS_FAULTS];
};

/// Every few calls, one of the faults, in turn.
static void plan(void *context)
{
    struct trouble *t = context;
    if (mw_random_below(&t->random, CHANCE))
        return;
    enum bus_fault fault = (enum bus_fault)(1 + t->faults++ % (BUS_FAULTS - 1));
    t->planned[fault]++;
    bus_fault(t->device, fault, (unsigned)mw_random_below(&t->random, FARTHEST),
              mw_random_next(&t->random) >> 8);
}

static void plug_in(void *context)
{
    struct trouble *t = context;
    bus_replug(t->device);
}

static unsigned long number(const char *name, unsigned long otherwise)
{
    const char *text = getenv(name);
    return text ? strtoul(text, NULL, 0) : otherwise;
}

static void test_soak(void **state)
{
    (void)state;
    unsigned long seed = number("MW_SEED", 1);
    struct bus *bus = bus_create();
    const char *model = getenv("MW_SOAK_MODEL");
    struct trouble t = {.device = bus_plug_model(bus, &(struct mwd_settings){.serial = "A"}, model),
                        .random = {seed ^ 0x50414b}};
    struct soak s = {.serial = "A",
                     .keeps = !model,
                     .timeout_ms = model ? MODEL_TIMEOUT_MS : TIMEOUT_MS,
                     .seconds = number("MW_SOAK_SECONDS", SECONDS),
                     .random = {seed},
                     .before = plan,
                     .unplugged = plug_in,
                     .context = &t};
    int code = soak_run(&s);
    struct bus_counts counts = bus_counts(t.device);
    print_message("seed %lu: %lu calls, %llu bytes, %u frames out, %u in, %lu failures, %lu "
                  "disconnects, %llu bytes lost\n",
                  seed, s.calls, s.bytes, counts.out, counts.in, s.failures, s.seen_disconnects,
                  s.lost);
    assert_int_equal(code, 0);
    assert_int_equal(s.lost, 0);
    // it must have seen something
    assert_true(s.seen_disconnects > 0 && s.failures > s.seen_disconnects);
    for (unsigned f = BUS_CORRUPT_IN; f < BUS_FAULTS; f++)
        assert_true(t.planned[f] > 0);
    bus_destroy(bus);
}

int main(int argc, char **argv)
{
    (void)argc;
    bus_prepare(argv);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_soak)};
    return cmocka_run_group_tests_name("soak", tests, NULL, NULL);
}
