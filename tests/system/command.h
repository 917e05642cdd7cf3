// SPDX-License-Identifier: Apache-2.0
//
// What the tests of the command build/moeswitch share.
#ifndef MW_TEST_COMMAND_H
#define MW_TEST_COMMAND_H

#include "bench.h"

#include <cjson/cJSON.h>

/// Options of a small run on a model that may write waves.
#define WITH_WAVES \
    "--gpus 4 --flit-bytes 8 --set small=1 --tokens-per-gpu 6 --hidden 32 --tile 2 --experts 8 " \
    "--k 2 --system dysharp "

/// What the last run_command printed.
extern char *out_text, *err_text;

/// A file as JSON, which must be there; cJSON_Delete it.
cJSON *read_json(const char *path);
/// What an object has under a key, which must be there, and a number there.
const cJSON *member(const cJSON *object, const char *key);
double number(const cJSON *object, const char *key);
/// Run build/moeswitch with these words; returns its exit status.
int run_command(const char *format, ...) __attribute__((format(printf, 1, 2)));
/// The same with another standard output, which is not read: out_text stays.
int run_command_to(const char *output, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/// Run build/moeswitch with these words until the signal `number` after two seconds, and ask that
/// it ends by itself with status 128 + number within five (a second, on a machine that does nothing
/// else) and `message` alone.
void assert_interrupts(const char *words, int number, const char *message);
/// Entries of a folder of the scratch folder.
unsigned entries(const char *folder);
struct mw_option_table;
/// What was said of an option that there is not, in `words`, may stand in a message, but no
/// cure that there is not.
void assert_own_options(const struct mw_option_table *table, const char *words, const char *line);
/// A subcommand must refuse these words with status 2 and one line that has all the parts and names
/// no option that the subcommand has not, and write no file of the --json that it is given.
#define ASSERT_REFUSES(subcommand, words, ...) \
    assert_refuses(subcommand, words, (const char *const[]){__VA_ARGS__, NULL})
void assert_refuses(const char *subcommand, const char *words, const char *const *parts);

#endif
