// SPDX-License-Identifier: Apache-2.0
//
// Shared by the tests of the command build/moeswitch.
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

/// A file as JSON, which must exist. Free it by cJSON_Delete.
cJSON *read_json(const char *path);
/// What an object has under a key, which must exist. For number() it must be a number.
const cJSON *member(const cJSON *object, const char *key);
double number(const cJSON *object, const char *key);
/// Run build/moeswitch with these words. Returns its exit status.
int run_command(const char *format, ...) __attribute__((format(printf, 1, 2)));
/// The same with another standard output, which is not read: out_text stays.
int run_command_to(const char *output, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/// Run build/moeswitch with these words, and send the signal `number` after two seconds. It must
/// end by itself with status 128 + number and only `message`. The limit is five seconds (one on an
/// idle machine).
void assert_interrupts(const char *words, int number, const char *message);
/// Entries of a folder of the scratch folder.
unsigned entries(const char *folder);
struct mw_option_table;
/// Every option in the message `line` must be one of the table, be in `words`, or be --help.
void assert_own_options(const struct mw_option_table *table, const char *words, const char *line);
/// A subcommand must refuse these words with status 2 and one line, and must not write the file of
/// --json. The line contains all the parts, and no option that the subcommand lacks.
#define ASSERT_REFUSES(subcommand, words, ...) \
    assert_refuses(subcommand, words, (const char *const[]){__VA_ARGS__, NULL})
void assert_refuses(const char *subcommand, const char *words, const char *const *parts);

#endif
