// SPDX-License-Identifier: Apache-2.0
//
// See commands.h.
#include "program/commands.h"

#include "bench/bench.h"
#include "device/device.h"
#include "device/top.h"
#include "hardware/hardware_command.h"
#include "calibrate/calibrate.h"
#include "plan/plan.h"
#include "run/info.h"
#include "run/run.h"
#include "run/selftest.h"
#include "sweep/sweep.h"
#include "trace/gen.h"
#include "trace/trace_info.h"

#include <string.h>

const struct mw_command mw_commands[] = {
    {&mw_run_table, mw_run_command},           {&mw_trace_table, mw_trace_command},
    {&mw_gen_table, mw_gen_command},           {&mw_sweep_table, mw_sweep_command},
    {&mw_bench_table, mw_bench_command},       {&mw_bench_link_table, mw_bench_link_command},
    {&mw_top_table, mw_top_command},           {&mw_list_table, mw_list_command},
    {&mw_info_table, mw_info_command},         {&mw_selftest_table, mw_selftest_command},
    {&mw_firmware_table, mw_firmware_command}, {&mw_hardware_table, mw_hardware_command},
    {&mw_plan_table, mw_plan_command},         {&mw_calibrate_table, mw_calibrate_command},
};
const unsigned mw_command_count = sizeof mw_commands / sizeof *mw_commands;

/// How many of the words are the name, one after the other. 0: they are not.
static int matches(const char *name, int argc, char *const *argv)
{
    int words = 0;
    for (; *name; words++) {
        size_t length = strcspn(name, " ");
        if (words == argc || strlen(argv[words]) != length ||
            memcmp(argv[words], name, length) != 0)
            return 0;
        name += length;
        name += strspn(name, " ");
    }
    return words;
}

const struct mw_command *mw_command_find(int argc, char *const *argv, int *words)
{
    const struct mw_command *found = NULL;
    *words = 0;
    for (unsigned i = 0; i < mw_command_count; i++) {
        int n = matches(mw_commands[i].table->command, argc, argv);
        if (n > *words) {
            *words = n;
            found = &mw_commands[i];
        }
    }
    return found;
}
