// SPDX-License-Identifier: Apache-2.0
//
// What the tests of the command build/moeswitch share.
#ifndef MW_TEST_COMMAND_H
#define MW_TEST_COMMAND_H

#include "bench.h"

/// What the last run_command printed.
extern char *out_text, *err_text;

/// A whole file, or NULL; free() it.
char *read_file(const char *path);
/// Run build/moeswitch with these words; returns its exit status.
int run_command(const char *format, ...) __attribute__((format(printf, 1, 2)));
/// Entries of a folder of the scratch folder.
unsigned entries(const char *folder);

#endif
