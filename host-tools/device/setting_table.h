// SPDX-License-Identifier: Apache-2.0
//
// The one table of what `--set NAME=VALUE` sets, of every command that has it.
#ifndef MW_HOST_SETTING_TABLE_H
#define MW_HOST_SETTING_TABLE_H

#include "cli/option_table.h"
#include "cli/option_value.h"

struct mw_layer_config;

/// A setting: 0 to `high`.
struct mw_setting_kind {
    const char *name;
    bool layer; ///< a field of struct mw_layer_config
    bool bench; ///< `moeswitch bench` has it, too
    uint64_t high;
    const char *text;
};
/// The one of that name, or NULL.
const struct mw_setting_kind *mw_setting_find(const char *name);

/// What was set last under that name, or `otherwise`.
uint64_t mw_setting_value(const struct mw_settings *settings, const char *name, uint64_t otherwise);

/// Set the fields of a layer that are among `settings`. Others stay as they are. MW_EXIT_INPUT: the
/// library refuses one.
int mw_settings_apply(const struct mw_settings *settings, struct mw_layer_config *config,
                      struct mw_error *err);

/// Settings of `moeswitch run` and of `moeswitch bench`.
mw_terms mw_run_settings, mw_bench_settings;
/// One more of a struct mw_settings, for option_table.h: a name of the command's list, and
/// a value in its range.
mw_option_set mw_add_run_setting, mw_add_bench_setting;

#endif
