// SPDX-License-Identifier: Apache-2.0
//
// Tensor-parallel workloads on the whole Verilated device, at its endpoints and at its ULPI pins.
// Firmware, host link and fabric run every system with the right bits, and with the cycles and
// counters of the transport sim.
#include "frames.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "system/workloads.h"

/// Sizes that divide badly.
#define SIZES \
    "--gpus 2 --flit-bytes 8 --rows 10 --hidden 64 --tile 3 --jitter 30 --start-spread 200 " \
    "--workload "
#define SUBLAYER SIZES "sublayer --gemm-rs-cycles 35 --ln-cycles 0 --ag-gemm-cycles 21"

static struct workload workload;

static struct mw_device_choice through(struct endpoints *device)
{
    return (struct mw_device_choice){.custom = &endpoints_transport, .custom_context = device};
}

static void every_workload_and_system(void **state)
{
    static const char *const words[] = {SIZES "ag-gemm --ag-gemm-cycles 21",
                                        SIZES "gemm-rs --gemm-rs-cycles 35", SIZES "gemm-ar",
                                        SUBLAYER};
    struct endpoints *device = endpoints_open(*state);
    endpoints_sync(device);
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++) {
        workload_make(&workload, words[i]);
        workload_compare(&workload, NULL, through(device));
    }
    endpoints_close(device);
}

/// One run, as runs take longer there.
static void a_sublayer_at_the_pins(void **state)
{
    struct endpoints *device = endpoints_open(*state);
    endpoints_sync(device);
    workload_make(&workload, SUBLAYER);
    workload_compare(&workload, mw_tp_system_find("chain"), through(device));
    endpoints_close(device);
}

int main(void)
{
    static char ends[] = "mwdevice", usb[] = "mwdevice_usb";
    const struct CMUnitTest tests[] = {
        {"every_workload_and_system", every_workload_and_system, NULL, NULL, ends},
        {"a_sublayer_at_the_pins", a_sublayer_at_the_pins, NULL, NULL, usb},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
