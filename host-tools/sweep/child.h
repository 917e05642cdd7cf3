// SPDX-License-Identifier: Apache-2.0
//
// Programs that a sweep starts, and their messages when they fail.
#ifndef MW_SWEEP_CHILD_H
#define MW_SWEEP_CHILD_H

#include "base/error.h"

#include <stdio.h>
#include <sys/types.h>

struct mw_child {
    pid_t pid;  ///< 0: none
    FILE *said; ///< its standard error
};

/// Start words[0], which is looked for as a shell does, in `folder` (NULL: here). Its standard
/// output is lost; it ends when this process does.
int mw_child_start(struct mw_child *child, char *const *words, const char *folder,
                   struct mw_error *err);
/// Whether it has ended, with its exit status, or 128 and the signal that ended it; does not wait.
bool mw_child_ended(struct mw_child *child, int *status);
/// The same, waiting.
int mw_child_wait(struct mw_child *child);
/// The last line of its output, which is closed; "" if there is none.
void mw_child_last_words(struct mw_child *child, char *line, size_t size);

#endif
