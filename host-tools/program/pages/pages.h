// SPDX-License-Identifier: Apache-2.0
//
// Manual pages and completion, generated from the table of commands when the project is built.
#ifndef MW_HOST_PAGES_H
#define MW_HOST_PAGES_H

#include "program/commands.h"

#include <stdio.h>

/// moeswitch.1: what commands there are.
void mw_page_overview(FILE *out);
/// moeswitch-COMMAND.1
void mw_page_command(FILE *out, const struct mw_option_table *table);
/// Completion for bash.
void mw_completion(FILE *out);

/// "moeswitch-bench-link": the name of a command's page.
enum { MW_PAGE_NAME_BYTES = 64 };
void mw_page_name(const struct mw_option_table *table, char name[MW_PAGE_NAME_BYTES]);

#endif
