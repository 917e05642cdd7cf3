// SPDX-License-Identifier: Apache-2.0
//
// Shared by the tests of the host tools: cmocka with its includes, a scratch folder, and .npy files
// made by hand. Also the folder with real traces, and the seed.
#ifndef MW_TEST_SUPPORT_H
#define MW_TEST_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/// Path of `name` in the scratch folder of this process. Valid for 8 calls.
const char *scratch(const char *name);
/// Make / remove the scratch folder: group setup and teardown.
int scratch_make(void **state);
int scratch_remove(void **state);

void write_file(const char *path, const void *bytes, size_t size);
/// A file of the scratch folder. Returns its path.
const char *scratch_text(const char *name, const char *text);
/// A version 1.0 file with the given header text, padded as NumPy does, and elements.
void write_npy(const char *path, const char *header, const void *elements, size_t size);
/// A folder with topk_ids.npy, topk_weights.npy and meta.json. Returns its path.
const char *write_trace(const char *name, size_t layers, size_t tokens, size_t k, unsigned experts,
                        const uint16_t *ids, const float *weights);

/// The folder of a real trace ($MW_TRACES, or ../shared/traces), or NULL, after saying SKIPPED.
const char *real_trace(const char *name);

/// Environment variable MW_SEED, or a fixed seed. Prints the seed.
uint64_t test_seed(void);

/// How many cases a test draws: `few`, and where MW_LONG is set, as `make test-all` does, `many`.
unsigned test_cases(unsigned few, unsigned many);

/// Whether a is within this share of b.
bool is_near(double a, double b, double share);

/// A whole file, or NULL. Free it by free().
char *read_file(const char *path);
/// Cell `name` of a row of a table in CSV, counted from 0 below the head. Valid until the next
/// call.
const char *cell_in(const char *table, unsigned row, const char *name);
/// How often `part` is in a text.
unsigned count_of(const char *part, const char *text);

/// The text must contain every one of the strings that follow, and be one line.
#define assert_line(text, ...) assert_line_has(text, (const char *const[]){__VA_ARGS__, NULL})
void assert_line_has(const char *text, const char *const *parts);

#endif
