// SPDX-License-Identifier: Apache-2.0
//
// See hardware_command.h.
#include "hardware/hardware_command.h"

#include "cli/command_help.h"
#include "hardware/hardware.h"

struct asked {
    const struct mw_hardware *hardware; ///< NULL: list all
};

static int take_word(void *p, const char *text, struct mw_error *err)
{
    struct asked *a = p;
    if (a->hardware)
        return mw_fail(err, MW_EXIT_INPUT, "%s: one machine at a time", text);
    return mw_set_hardware(&a->hardware, "hardware", text, err);
}

static MW_TERMS(exits, {"0", "the machines are shown"}, {"2", "bad input"},
                {"4", MW_EXIT_FAILED_TEXT});
static const struct mw_section sections[] = {{"Exit status", exits}, {0}};

const struct mw_option_table mw_hardware_table = {
    .command = "hardware",
    .word = take_word,
    .words = mw_hardware_names,
    .file = "FILE",
    .summary = "show the machines of moeswitch run --hardware",
    .synopsis = "[NAME|FILE]",
    .text =
        "Lists the presets of 'moeswitch run --hardware'. With the name of a preset, or the path "
        "of a file, it checks that machine and writes it as JSON, in the format of such a file.",
    .section = sections,
};

int mw_hardware_command(int argc, char **argv, FILE *out, FILE *errors)
{
    struct mw_error err = {0};
    struct mw_options_said said;
    struct asked a = {0};
    int status = mw_options_parse(&mw_hardware_table, argc, argv, &a, &said, &err);
    if (said.help && !status)
        mw_command_help(&mw_hardware_table, out);
    else if (!status && a.hardware)
        status = mw_hardware_write(out, a.hardware, &err);
    else if (!status)
        mw_hardware_list(out);
    if (err.text[0])
        fprintf(errors, "moeswitch: %s\n", err.text);
    return status;
}
