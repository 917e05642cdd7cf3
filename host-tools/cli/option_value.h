// SPDX-License-Identifier: Apache-2.0
//
// Values of command line options: what every subcommand reads in the same way.
#ifndef MW_HOST_OPTION_VALUE_H
#define MW_HOST_OPTION_VALUE_H

#include "cli/option_table.h"

#include <stdint.h>

/// Limits of the device that are set at run time (`--set NAME=VALUE`, once or more).
struct mw_settings {
    unsigned count;
    struct mw_setting {
        char name[32];
        uint64_t value;
    } item[32];
};

/// A decimal number (or 0x...) in low .. high; it ends at `*end`, or with the text
/// where that is NULL.
bool mw_parse_number(const char *text, char **end, uint64_t low, uint64_t high, uint64_t *value);
/// The same for option --`name`, with the message that it deserves.
int mw_set_number(const char *name, const char *text, uint64_t low, uint64_t high, uint64_t *value,
                  struct mw_error *err);
int mw_set_unsigned(const char *name, const char *text, unsigned low, unsigned high,
                    unsigned *value, struct mw_error *err);
/// A number in low .. high.
int mw_set_real(const char *name, const char *text, double low, double high, double *value,
                struct mw_error *err);
/// `--flit-bytes`: 8 or 16, an unsigned.
int mw_set_flit_bytes(void *flit_bytes, const char *name, const char *text, struct mw_error *err);
/// Fail because the value is none of a list.
int mw_fail_choice(const char *name, const char *text, mw_terms *terms, struct mw_error *err);
mw_terms mw_flit_byte_values;
/// The name of a file or folder, which is not empty.
int mw_set_path(const char *name, const char *text, const char **path, struct mw_error *err);
/// NAME=VALUE: one more of a struct mw_settings. The caller has the names that there are
/// (setting_table.h).
int mw_add_setting(void *settings, const char *name, const char *text, struct mw_error *err);

#endif
