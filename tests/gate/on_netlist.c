// SPDX-License-Identifier: Apache-2.0
//
// `moeswitch run` on the netlist of a board with a ULPI PHY. The command is unchanged, except that
// it opens a device at the pins of the Verilated netlist. This replaces the requested device, and
// the device's RTL. The first argument is the folder of that model below build/model:
// gate-n4f8-ecpix5-85f, dev-n2f8-ecpix5-85f.
#include "device/frames.h"

#include "run/run.h"

// ld --wrap=mw_open
int __real_mw_open(const struct mw_open_options *options, struct mw_device **device);
int __wrap_mw_open(const struct mw_open_options *options, struct mw_device **device);

static struct endpoints *pins;

int __wrap_mw_open(const struct mw_open_options *options, struct mw_device **device)
{
    struct mw_open_options o = *options;
    o.custom = &endpoints_transport;
    o.custom_context = pins;
    return __real_mw_open(&o, device);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fputs("usage: on_netlist MODEL OPTIONS of moeswitch run\n", stderr);
        return MW_EXIT_INPUT;
    }
    pins = endpoints_open_in(argv[1], "mwdevice_usb");
    endpoints_sync(pins);
    argv[1] = "run";
    int status = mw_run_command(argc - 1, argv + 1, stdout, stderr);
    printf("%llu clocks of the PHY\n", (unsigned long long)pins->cycles);
    endpoints_close(pins);
    return status;
}
