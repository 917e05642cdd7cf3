// SPDX-License-Identifier: Apache-2.0
//
// `--device sim[:backend] | usb[:serial]`, which every command has, and the commands about
// devices themselves.
#ifndef MW_HOST_DEVICE_H
#define MW_HOST_DEVICE_H

#include "cli/option_table.h"
#include "cli/option_value.h"
#include "trace/workload.h"

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

/// The values that there are, but the serial numbers after "usb:".
mw_terms mw_device_values;
#define MW_DEVICE_OPTION(place, function) \
    MW_CHOICE( \
        "device", place, function, mw_device_values, "DEVICE", \
        "sim, sim:lanes or sim:plain: the Verilated model in this process (default sim); usb or " \
        "usb:SERIAL: a device on USB, with the GPUs and flit bytes that it has")

/// Its value, for option_table.h. `device` is a struct mw_device_choice.
int mw_set_device(void *device, const char *name, const char *text, struct mw_error *err);
/// The library's defaults for that device; GPUs and flit width are set
/// by the caller, 0 where not `given`: as on the device.
void mw_device_options(const struct mw_device_choice *device, struct mw_open_options *options);
/// Replace `gpus` and `flit_bytes` that are 0: on USB by those of the device, otherwise by the
/// simulated device's defaults, 8 and 16.
int mw_device_sizes(const struct mw_device_choice *device, unsigned *gpus, unsigned *flit_bytes,
                    struct mw_error *err);
/// What the simulated device has that `make model` builds for `options`: GPUs, flit width, small,
/// and near or far links.
void mw_device_built(struct mw_device_info *info, const struct mw_open_options *options);
/// The exit status for a code of the library, with its message after `what`.
int mw_device_failed(struct mw_error *err, const char *what, int code);

/// Why a device cannot run a system: its text, with the name of the primitive.
#define MW_DEVICE_LACKS "the device lacks the primitive %s (moeswitch info lists its primitives)"
/// Refuse the system for this, and say which device has the primitive. MW_EXIT_INPUT.
int mw_device_lacks(struct mw_error *err, const struct mw_device_choice *device,
                    const char *primitive);

/// Parameters of a command that only needs a device.
struct mw_device_asked {
    struct mw_device_choice device;
    const char *device_text;
    unsigned gpus, flit_bytes; ///< 0: not given
    bool help;
};

/// Their options, and the one loop for them.
#define MW_DEVICE_ASKED_OPTIONS \
    MW_DEVICE_OPTION(0, mw_set_device_asked), \
        MW_UNSIGNED("gpus", offsetof(struct mw_device_asked, gpus), MW_MIN_GPUS, MW_MAX_GPUS, "N", \
                    "GPUs of the simulated device, {} (default 8)"), \
        MW_CHOICE("flit-bytes", offsetof(struct mw_device_asked, flit_bytes), mw_set_flit_bytes, \
                  mw_flit_byte_values, "F", \
                  "bytes of a flit of the simulated device, {} (default 16)")
int mw_set_device_asked(void *asked, const char *name, const char *text, struct mw_error *err);
/// Parse by the command's table. If help was requested, it is printed, and `help` is set.
int mw_device_parse(const struct mw_option_table *table, struct mw_device_asked *asked, int argc,
                    char **argv, FILE *out, struct mw_error *err);
/// Open it. `asked` gets its sizes.
int mw_device_open(struct mw_device_asked *asked, struct mw_device **device, struct mw_error *err);
/// Print the error, if there is one, and return the exit status.
int mw_device_finish(int status, const struct mw_error *err, FILE *errors);

/// The options of the commands.
extern const struct mw_option_table mw_list_table, mw_firmware_table;
/// `moeswitch list` and `firmware`: argv[0] is the name of the command.
int mw_list_command(int argc, char **argv, FILE *out, FILE *errors);
int mw_firmware_command(int argc, char **argv, FILE *out, FILE *errors);

#endif
