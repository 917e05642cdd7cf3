// SPDX-License-Identifier: Apache-2.0
//
// Input files: those that are read more than once, or whose size is checked before
// anything is read.
#ifndef MW_HOST_INPUT_H
#define MW_HOST_INPUT_H

#include "base/error.h"

#include <stddef.h>
#include <stdio.h>

/// Open the regular file `path` for reading; `*size` are its bytes. MW_EXIT_OK, or MW_EXIT_INPUT
/// (without memory MW_EXIT_FAILED) and a line that names file and cause. It does not wait where
/// `path` is a pipe without a writer.
int mw_input_open(FILE **file, size_t *size, const char *path, struct mw_error *err);

/// The whole of the regular file `path`, at most `most` bytes, and a NUL after it; `*size` are its
/// bytes without that. `what` names such a file in the line about one that is larger. The caller
/// frees `*text`, which is NULL on failure. MW_EXIT_OK, MW_EXIT_INPUT, or MW_EXIT_FAILED where
/// reading fails or memory is short.
int mw_input_text(char **text, size_t *size, const char *path, size_t most, const char *what,
                  struct mw_error *err);

#endif
