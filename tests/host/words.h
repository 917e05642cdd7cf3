// SPDX-License-Identifier: Apache-2.0
//
// A command of the tool, called in the process of its test.
#ifndef MW_TEST_WORDS_H
#define MW_TEST_WORDS_H

#include <stdio.h>

/// What the last call of run_words wrote. finish_words frees them.
extern char *out_text, *err_text;

/// Call `command` as `name` with up to 62 words and then NULL. Returns its exit status.
int run_words(int (*command)(int argc, char **argv, FILE *out, FILE *err), const char *name,
              const char *const *words);
/// The same must be refused: status MW_EXIT_INPUT, nothing on its output, and one line with `part`.
void refuse_words(int (*command)(int argc, char **argv, FILE *out, FILE *err), const char *name,
                  const char *const *words, const char *part);
/// Teardown of a group: frees both texts and removes the scratch folder.
int finish_words(void **state);

#endif
