// SPDX-License-Identifier: Apache-2.0
//
// `moeswitch list`, and what the commands about devices share.
#include "base/text.h"
#include "cli/command_help.h"
#include "device/device.h"
#include "device/device_build.h"

enum {
    FOUND = 64, ///< devices that are listed
};

int mw_set_device_asked(void *p, const char *name, const char *text, struct mw_error *err)
{
    struct mw_device_asked *a = p;
    a->device_text = text;
    return mw_set_device(&a->device, name, text, err);
}

int mw_device_parse(const struct mw_option_table *table, struct mw_device_asked *a, int argc,
                    char **argv, FILE *out, struct mw_error *err)
{
    struct mw_options_said said;
    *a = (struct mw_device_asked){.device_text = "sim"};
    int status = mw_options_parse(table, argc, argv, a, &said, err);
    a->help = said.help && !status;
    if (a->help)
        mw_command_help(table, out);
    return status;
}

int mw_device_finish(int status, const struct mw_error *err, FILE *errors)
{
    if (err->text[0])
        fprintf(errors, "moeswitch: %s\n", err->text);
    return status;
}

int mw_device_open(struct mw_device_asked *a, struct mw_device **device, struct mw_error *err)
{
    struct mw_open_options o;
    int status = mw_device_sizes(&a->device, &a->gpus, &a->flit_bytes, err);
    if (status)
        return status;
    mw_device_options(&a->device, &o);
    o.gpus = a->gpus;
    o.flit_bytes = a->flit_bytes;
    return mw_device_open_built(&o, device, err);
}

// ---- list ---------------------------------------------------------------------------------------

static const char *state_text(int state)
{
    return state == 0 ? "free" : state == MW_ERR_BUSY ? "in use" : "may not be opened";
}

static MW_TERMS(list_exits, {"0", "the list is complete, or empty"}, {"2", "bad input"},
                {"4", MW_EXIT_FAILED_TEXT});
static const struct mw_section list_sections[] = {{"Exit status", list_exits}, {0}};

const struct mw_option_table mw_list_table = {
    .command = "list",
    .summary = "list the devices on USB",
    .synopsis = "[OPTION]...",
    .text =
        "Lists the devices on USB: serial number for --device usb:SERIAL, place (bus-port.port), "
        "Mbit/s, version of the host protocol, and whether the device may be opened.",
    .section = list_sections,
};

int mw_list_command(int argc, char **argv, FILE *out, FILE *errors)
{
    struct mw_error err = {0};
    struct mw_found found[FOUND];
    struct mw_device_asked a;
    int status = mw_device_parse(&mw_list_table, &a, argc, argv, out, &err);
    if (status || a.help)
        return mw_device_finish(status, &err, errors);
    int count = mw_list(found, FOUND);
    if (count < 0)
        return mw_device_finish(mw_device_failed(&err, "list", count), &err, errors);
    if (count)
        fprintf(out, "%-20s %-12s %6s %8s  %s\n", "serial", "place", "Mbit/s", "protocol", "state");
    for (int i = 0; i < count && i < FOUND; i++)
        fprintf(out, "%-20s %-12s %6u %5x.%02x  %s\n",
                *found[i].serial ? MW_SHOWN(found[i].serial) : "?", MW_SHOWN(found[i].path),
                found[i].mbit_per_s, found[i].protocol >> 8, found[i].protocol & 0xff,
                state_text(found[i].state));
    if (!count)
        fputs("no moeswitch is on USB; --device sim needs none\n", out);
    return MW_EXIT_OK;
}
