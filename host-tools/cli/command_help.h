// SPDX-License-Identifier: Apache-2.0
//
// `moeswitch COMMAND --help`, from the command's table.
#ifndef MW_HOST_COMMAND_HELP_H
#define MW_HOST_COMMAND_HELP_H

#include "cli/option_table.h"

#include <stdio.h>

enum {
    MW_OPTION_TEXT_BYTES = 2048, ///< of an option's help text
    MW_OPTION_HEAD_BYTES = 64,   ///< of its name and value
};

void mw_command_help(const struct mw_option_table *table, FILE *out);

/// The default parameters of the command, from malloc, or NULL.
void *mw_option_defaults(const struct mw_option_table *table);
/// The text of an option, with its `{}` and `{default}` replaced. `defaults` is of the above.
void mw_option_text(const struct mw_option *option, const void *defaults,
                    char text[MW_OPTION_TEXT_BYTES]);
/// "--gpus N"
void mw_option_head(const struct mw_option *option, char head[MW_OPTION_HEAD_BYTES]);
/// The names of a list: "a, b or c".
void mw_terms_names(mw_terms *terms, char *text, size_t size);
/// Whether `name` is one of them.
bool mw_terms_have(mw_terms *terms, const char *name);

/// Options that every command has, for lists of options.
#define MW_HELP_HEAD "--help, -h"
#define MW_HELP_TEXT "this text"

#endif
