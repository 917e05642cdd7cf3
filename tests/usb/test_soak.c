// SPDX-License-Identifier: Apache-2.0
//
// Random calls with faults. Replies and requests are damaged, truncated and doubled, and endpoints
// halt. The device stops, loses the link's state, and is unplugged. No call hangs, every failure
// has a reason, and no acknowledged data is lost.
//
// Without arguments it is a test of 15 seconds with three devices: the stub, the Verilated fabric
// with a link in C, and the whole Verilated device. With these arguments:
//   test_soak [--fabric libmwsim.so | --whole libmwdevice.so]
//             --frames N [--disconnects N] [--seed N]
// it continues until N frames have been sent, N have been received, and the device was unplugged
// this often. Then it prints one line of results.
#include "bus.h"
#include "soak.h"

#include <getopt.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

enum {
    CHANCE = 2,    ///< one of this many calls plans the next fault after the previous one
    FARTHEST = 30, ///< transfers from the beginning of that call
    REPORT_S = 10,
    SHORT_STUB = 20000, ///< frames; with MW_LONG twice as many, as of the others
    SHORT_FABRIC = 1500,
    SHORT_WHOLE = 500,
};

static const char *const FAULT_NAMES[BUS_FAULTS] = {
    [BUS_CORRUPT_IN] = "corrupt in", [BUS_CUT_IN] = "cut in",
    [BUS_TWICE_IN] = "twice in",     [BUS_CORRUPT_OUT] = "corrupt out",
    [BUS_CUT_OUT] = "cut out",       [BUS_TWICE_OUT] = "twice out",
    [BUS_HALT_IN] = "halt in",       [BUS_HALT_OUT] = "halt out",
    [BUS_RESET] = "reset",           [BUS_PAUSE] = "pause",
    [BUS_UNPLUG] = "unplug",
};

struct run {
    struct bus_plugged what;
    unsigned long frames, disconnects; ///< requested
    uint64_t seed;
    struct soak soak;
    struct bus_device *device;
    struct mw_random random; ///< of the faults
    unsigned long faults;
    time_t begin, reported;
};

/// A device takes much less than the timeout for a piece of 64 KB and for a reset. Otherwise a call
/// that ends early would count as another failure. Each fault without an answer takes one or two
/// timeouts, which is most of the test's time.
static const struct kind {
    const char *name;
    unsigned timeout_ms, large;
} STUB = {"stub", 20, 4}, FABRIC = {"fabric", 100, 32}, WHOLE = {"whole device", 250, 32};

static const struct kind *kind_of(const struct run *r)
{
    return r->what.whole ? &WHOLE : r->what.model ? &FABRIC : &STUB;
}

/// All kinds of faults in sequence, repeatedly.
static void plan(struct run *r, const struct bus_counts *c)
{
    unsigned long struck = 0;
    for (unsigned f = BUS_CORRUPT_IN; f < BUS_FAULTS; f++)
        struck += c->struck[f];
    if (struck < r->faults || mw_random_below(&r->random, CHANCE))
        return;
    enum bus_fault fault = (enum bus_fault)(1 + r->faults++ % (BUS_FAULTS - 1));
    unsigned after = (unsigned)mw_random_below(&r->random, FARTHEST);
    uint64_t seed = mw_random_next(&r->random) >> 8;
    bus_fault(r->device, fault, after, fault == BUS_PAUSE ? seed % (2 * r->soak.timeout_ms) : seed);
}

static void report(const struct run *r, const struct bus_counts *c)
{
    const struct soak *s = &r->soak;
    printf("%s: %lu frames out, %lu in (%lu asked), %lu disconnects (%lu asked), %lu calls, %llu "
           "MB, %lu timeouts, %lu errors, %llu bytes lost, %lu wrong answers, longest call %.1f "
           "s, %ld s, seed %llu\n",
           kind_of(r)->name, c->out, c->in, r->frames, s->disconnects, r->disconnects, s->calls,
           s->bytes >> 20, s->timeouts, s->errors, s->lost, s->wrong, s->longest,
           (long)(time(NULL) - r->begin), (unsigned long long)r->seed);
    fflush(stdout);
}

static bool reached(const struct run *r, const struct bus_counts *c)
{
    return c->out >= r->frames && c->in >= r->frames && r->soak.disconnects >= r->disconnects;
}

static bool enough(void *context)
{
    struct run *r = context;
    time_t time_now = time(NULL);
    struct bus_counts c = bus_counts(r->device);
    if (reached(r, &c))
        return true;
    if (time_now - r->reported >= REPORT_S) {
        report(r, &c);
        r->reported = time_now;
    }
    plan(r, &c);
    return false;
}

static void plug_in(void *context)
{
    struct run *r = context;
    bus_replug(r->device);
}

/// Whether everything was as required.
static bool run(struct run *r)
{
    struct bus *bus = bus_create();
    r->what.settings.serial = "A";
    r->device = bus_plug_in(bus, &r->what);
    r->random.state = r->seed ^ 0x50414b;
    r->begin = r->reported = time(NULL);
    r->soak = (struct soak){.serial = "A",
                            .keeps = !r->what.model && !r->what.whole,
                            .timeout_ms = kind_of(r)->timeout_ms,
                            .large = kind_of(r)->large,
                            .random = {r->seed},
                            .enough = enough,
                            .unplugged = plug_in,
                            .context = r};
    printf("%s: seed %llu\n", kind_of(r)->name, (unsigned long long)r->seed);
    int code = soak_run(&r->soak);
    struct bus_counts c = bus_counts(r->device);
    bus_destroy(bus);
    report(r, &c);
    printf("%s: faults that struck:", kind_of(r)->name);
    bool all = true;
    for (unsigned f = BUS_CORRUPT_IN; f < BUS_FAULTS; f++) {
        printf(" %s %lu%s", FAULT_NAMES[f], c.struck[f], f + 1 < BUS_FAULTS ? "," : "\n");
        all &= c.struck[f] > 0;
    }
    bool good = !code && !r->soak.lost && !r->soak.wrong && all && reached(r, &c) &&
                r->soak.timeouts && r->soak.errors && r->soak.disconnects && !c.wrong_zero_flag;
    if (!good)
        printf("%s: FAILED\n", kind_of(r)->name);
    return good;
}

static uint64_t default_seed(void)
{
    const char *text = getenv("MW_SEED");
    return text ? strtoull(text, NULL, 0) : 1;
}

static unsigned long frames_of(unsigned long frames)
{
    return getenv("MW_LONG") ? 2 * frames : frames;
}

static void test_stub(void **state)
{
    (void)state;
    assert_true(run(&(struct run){.frames = frames_of(SHORT_STUB), .seed = default_seed()}));
}

static void test_fabric(void **state)
{
    (void)state;
    assert_true(run(&(struct run){.what.model = "build/model/n2f8/libmwsim.so",
                                  .frames = frames_of(SHORT_FABRIC),
                                  .seed = default_seed()}));
}

static void test_whole(void **state)
{
    (void)state;
    assert_true(run(&(struct run){.what.whole = "build/model/dev-n2f8/libmwdevice.so",
                                  .frames = frames_of(SHORT_WHOLE),
                                  .seed = default_seed()}));
}

/// Returns false for an invalid command line.
static bool parse(struct run *r, int argc, char **argv)
{
    static const struct option options[] = {
        {"fabric", required_argument, NULL, 'm'}, {"whole", required_argument, NULL, 'w'},
        {"frames", required_argument, NULL, 'f'}, {"disconnects", required_argument, NULL, 'd'},
        {"seed", required_argument, NULL, 'r'},   {NULL, 0, NULL, 0}};
    *r = (struct run){.seed = default_seed()};
    for (int id; (id = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (id == 'm')
            r->what.model = optarg;
        else if (id == 'w')
            r->what.whole = optarg;
        else if (id == 'f')
            r->frames = strtoul(optarg, NULL, 0);
        else if (id == 'd')
            r->disconnects = strtoul(optarg, NULL, 0);
        else if (id == 'r')
            r->seed = strtoull(optarg, NULL, 0);
        else
            return false;
    }
    return r->frames && optind == argc;
}

int main(int argc, char **argv)
{
    bus_prepare(argv);
    if (argc > 1) {
        struct run r;
        return !parse(&r, argc, argv) ? 2 : !run(&r);
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_stub), cmocka_unit_test(test_fabric),
                                       cmocka_unit_test(test_whole)};
    return cmocka_run_group_tests_name("soak", tests, NULL, NULL);
}
