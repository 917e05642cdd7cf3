// SPDX-License-Identifier: Apache-2.0
//
// `moeswitch run` on the netlist of a board behind a ULPI PHY: the command as it is, but that a device is opened at the pins of the Verilated netlist
// (build/model/gate-n2f8-small) in place of the one that is asked for. With --rtl, on the RTL's (build/model/dev-n2f8-small).
#include "device/frames.h"

#include "run.h"

#include <string.h>

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
    bool rtl = argc > 1 && strcmp(argv[1], "--rtl") == 0;
    pins = endpoints_open_in(rtl ? "dev-n2f8-small" : "gate-n2f8-small", "mwdevice_usb");
    endpoints_sync(pins);
    argv += rtl;
    argv[0] = "run";
    int status = mw_run_command(argc - rtl, argv, stdout, stderr);
    printf("%llu clocks of the PHY\n", (unsigned long long)pins->cycles);
    endpoints_close(pins);
    return status;
}
