// SPDX-License-Identifier: Apache-2.0
//
// `--device sim[:backend] | usb[:serial]`, which every command has, and the commands about devices themselves.
#ifndef MW_HOST_DEVICE_H
#define MW_HOST_DEVICE_H

#include "error.h"

#include "moeswitch.h"

#include <stdio.h>

/// All zero: the simulated one.
struct mw_device_choice {
    bool usb;
    const char *serial;  ///< or NULL: the only one
    const char *backend; ///< of the simulated one, or NULL: the library's choice
    /// Another transport than the library's own (tests).
    const struct mw_transport *custom;
    void *custom_context;
};

#define MW_DEVICE_HELP \
    "  --device sim[:lanes|:plain]|usb[:SERIAL]  the Verilated model in this process (default), " \
    "or\n" \
    "                        a device on USB, whose size is its own\n"

/// Its value, for option_table.h; `device` is a struct mw_device_choice.
int mw_set_device(void *device, const char *name, const char *text, struct mw_error *err);
/// The library's defaults for that device, with messages to standard error; GPUs and flit width are set
/// by the caller, 0 where not `given`: as on the device.
void mw_device_options(const struct mw_device_choice *device, struct mw_open_options *options);
/// Where the device is on USB, GPUs and flit width that are 0 become those that it has; else those of a
/// simulated one that nothing was said of, 8 and 16.
int mw_device_sizes(const struct mw_device_choice *device, unsigned *gpus, unsigned *flit_bytes,
                    struct mw_error *err);
/// The exit status for a code of the library, with its message behind `what`.
int mw_device_failed(struct mw_error *err, const char *what, int code);

/// What is asked of a command that only needs a device.
struct mw_device_asked {
    struct mw_device_choice device;
    const char *device_text;
    unsigned gpus, flit_bytes; ///< 0: not said
    bool help;
};

#define MW_SIZES_HELP \
    "  --gpus N              of the simulated device, 2 to 32 (default 8)\n" \
    "  --flit-bytes F        of the simulated device, 16 or 8 (default 16)\n"

int mw_device_parse(struct mw_device_asked *asked, int argc, char **argv, struct mw_error *err);
/// Open it; `asked` gets its sizes.
int mw_device_open(struct mw_device_asked *asked, struct mw_device **device, struct mw_error *err);
/// Tell the error, if there is one, and hand on the exit status.
int mw_device_finish(int status, const struct mw_error *err, FILE *errors);

/// `moeswitch list`, `info`, `selftest` and `firmware`: argv[0] is the name of the command.
int mw_list_command(int argc, char **argv, FILE *out, FILE *errors);
int mw_info_command(int argc, char **argv, FILE *out, FILE *errors);
int mw_selftest_command(int argc, char **argv, FILE *out, FILE *errors);
int mw_firmware_command(int argc, char **argv, FILE *out, FILE *errors);

#endif
