// SPDX-License-Identifier: Apache-2.0
//
// A command of the tool, called in the process of its test.
#ifndef MW_TEST_WORDS_H
#define MW_TEST_WORDS_H

#include <stdio.h>

/// What the last call of run_words wrote; free them at the end.
extern char *out_text, *err_text;

/// Call `command` as `name` with up to 62 words, NULL behind the last; returns its exit status.
int run_words(int (*command)(int argc, char **argv, FILE *out, FILE *err), const char *name,
              const char *const *words);

#endif
