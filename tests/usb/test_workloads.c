// SPDX-License-Identifier: Apache-2.0
//
// Tensor-parallel workloads through libusb, as `moeswitch run --workload NAME --device usb` runs
// them. Every system has the right bits, and the same cycles and counters as the transport sim. The
// device is a Verilated fabric with a link and firmware in C, or the whole Verilated device.
#include "bus.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "run/run.h"
#include "system/workloads.h"

#define SERIAL "WORK"
#define SIZES "--rows 10 --hidden 64 --tile 3 --jitter 30 --start-spread 200 --workload "
#define SUBLAYER SIZES "sublayer --gemm-rs-cycles 35 --ln-cycles 0 --ag-gemm-cycles 21"

static struct bus *plug(const char *model, const char *whole)
{
    struct bus *bus = bus_create();
    const struct bus_plugged what = {
        .settings = {.serial = SERIAL}, .model = model, .whole = whole};
    assert_non_null(bus_plug_in(bus, &what));
    return bus;
}

/// Sizes of the fabric come from the device: no option sets them.
static void compare(const char *words, const char *system)
{
    static struct workload w;
    workload_make(&w, words);
    assert_int_equal(w.problem.gpus, 2);
    assert_int_equal(w.problem.flit_bytes, 8);
    workload_compare(&w, system ? mw_tp_system_find(system) : NULL, w.params.device);
}

static void fabric_runs_every_workload(void **state)
{
    (void)state;
    struct bus *bus = plug("build/model/n2f8/libmwsim.so", NULL);
    compare("--device usb:" SERIAL " " SIZES "ag-gemm --ag-gemm-cycles 21", NULL);
    compare("--device usb:" SERIAL " " SIZES "gemm-rs --gemm-rs-cycles 35", NULL);
    compare("--device usb:" SERIAL " " SIZES "gemm-ar", NULL);
    compare("--device usb:" SERIAL " " SUBLAYER, NULL);
    bus_destroy(bus);
}

static void whole_device_runs_a_sublayer(void **state)
{
    (void)state;
    struct bus *bus = plug(NULL, "build/model/dev-n2f8/libmwdevice.so");
    compare("--device usb:" SERIAL " " SUBLAYER, NULL);
    bus_destroy(bus);
}

/// Returns the exit status of the command, and its output.
static int command(char *text, char *out, size_t size)
{
    enum { WORDS = 40 };
    char *argv[WORDS];
    int argc = 0;
    FILE *stream = fmemopen(out, size, "w");
    assert_non_null(stream);
    while ((argv[argc] = strsep(&text, " ")))
        argc++;
    int status = mw_run_command(argc, argv, stream, stream);
    fclose(stream);
    return status;
}

/// The output of the command on such a device, and the options that it refuses.
static void command_runs(void **state)
{
    (void)state;
    static char out[16384];
    struct bus *bus = plug("build/model/n2f8/libmwsim.so", NULL);
    char run[] = "run --device usb:" SERIAL " " SIZES "gemm-rs";
    assert_int_equal(command(run, out, sizeof out), 0);
    assert_non_null(strstr(out, "gemm-rs: 2 GPUs, 10 rows of 128 bytes"));
    assert_non_null(strstr(out, "\nring "));
    char small[] = "run --device usb:" SERIAL " " SIZES "gemm-rs --set small=1";
    assert_int_equal(command(small, out, sizeof out), MW_EXIT_INPUT);
    assert_non_null(strstr(out, "--set small: only with --device sim"));
    char gpus[] =
        "run --device usb:" SERIAL " --gpus 4 --flit-bytes 8 --rows 12 --workload gemm-rs";
    assert_int_not_equal(command(gpus, out, sizeof out), 0);
    assert_non_null(strstr(out, "2 GPUs"));
    bus_destroy(bus);
}

#define LAYER \
    "run --device usb:" SERIAL " --hidden 32 --experts 4 --k 2 --tokens-per-gpu 4 --tile 1 "

/// A system that is named is refused with the primitive that the device lacks, and with what to do.
static void a_lacking_primitive_is_named(void **state)
{
    (void)state;
    static char out[16384];
    static const char *const lacks[][2] = {{"moeswitch", "target_list_cache"},
                                           {"overlap", "row_ranges"},
                                           {"nvls", "gathered"},
                                           {"flashdmoe", "row_sparse"}};
    struct bus *bus = plug(NULL, NULL);
    for (unsigned i = 0; i < sizeof lacks / sizeof *lacks; i++) {
        char run[256], says[256];
        snprintf(run, sizeof run, LAYER "--system %s", lacks[i][0]);
        snprintf(says, sizeof says,
                 "moeswitch: %s: the device lacks the primitive %s (moeswitch info lists its "
                 "primitives): load a bitstream that has it (docs/user/boards.md)\n",
                 lacks[i][0], lacks[i][1]);
        assert_int_equal(command(run, out, sizeof out), MW_EXIT_INPUT);
        assert_string_equal(out, says);
    }
    char set[] = LAYER "--system dysharp --set target_list_cache=1";
    assert_int_equal(command(set, out, sizeof out), MW_EXIT_INPUT);
    assert_non_null(strstr(out, "remember lists of targets: leave it out"));
    char named[] = "run --device usb:" SERIAL " " SIZES "gemm-ar --system ring";
    assert_int_equal(command(named, out, sizeof out), MW_EXIT_INPUT);
    assert_non_null(strstr(out, "moeswitch: ring: the device lacks the primitive gathered "
                                "(moeswitch info lists its primitives): load a bitstream"));
    bus_destroy(bus);
}

/// All systems of a workload need `gathered`. Without it each is left out, and none runs.
static void no_system_is_left(void **state)
{
    (void)state;
    static char out[16384];
    struct bus *bus = plug(NULL, NULL);
    char run[] = "run --device usb:" SERIAL " " SUBLAYER " --system all";
    assert_int_equal(command(run, out, sizeof out), MW_EXIT_INPUT);
    for (unsigned i = 0; i < MW_TP_SYSTEMS; i++) {
        char says[160];
        snprintf(says, sizeof says, "%s is left out: the device lacks the primitive gathered (",
                 mw_tp_systems[i]->name);
        if (!strstr(out, says))
            fail_msg("\"%s\" is not in \"%s\"", says, out);
    }
    assert_non_null(strstr(out, "moeswitch: --workload sublayer: no system is left that fits it "
                                "and that the device has the primitives of\n"));
    bus_destroy(bus);
}

int main(int argc, char **argv)
{
    (void)argc;
    bus_prepare(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lacking_primitive_is_named),
        cmocka_unit_test(no_system_is_left),
        cmocka_unit_test(fabric_runs_every_workload),
        cmocka_unit_test(whole_device_runs_a_sublayer),
        cmocka_unit_test(command_runs),
    };
    return cmocka_run_group_tests_name("workloads through USB", tests, NULL, NULL);
}
