// SPDX-License-Identifier: Apache-2.0
//
// Errors of the host tools. A function that can fail takes a `struct mw_error *`. It fills it with
// one line that names the file, the place and the cause. It returns an exit status of the command,
// which its caller returns in turn.
#ifndef MW_HOST_ERROR_H
#define MW_HOST_ERROR_H

#include <stdarg.h>
#include <stdbool.h>

/// Exit status of `moeswitch`; every function of the host tools that can fail returns one.
enum mw_exit {
    MW_EXIT_OK = 0,
    MW_EXIT_MISMATCH = 1, ///< a bit, a flit count or a bound is wrong
    MW_EXIT_INPUT = 2,    ///< malformed input, or sizes that the device or the machine cannot hold
    MW_EXIT_STUCK = 3,    ///< the device stopped making progress
    MW_EXIT_FAILED = 4,   ///< the machine failed: out of memory, disk full, device lost
    MW_EXIT_BACK =
        5, ///< a firmware does not answer, or is not what was written: the one before is back
    /// By Ctrl-C, 128 + SIGINT as shells have it. The process ends with that of its
    /// signal (interrupt.h).
    MW_EXIT_INTERRUPTED = 130,
    MW_EXIT_PIPE = 141, ///< standard output has no reader: 128 + SIGPIPE; without a line
};

/// Help texts of those that mean the same everywhere.
#define MW_EXIT_FAILED_TEXT \
    "the machine failed: no memory, a lost device, or a file or standard output that cannot be " \
    "written; 141, without a message: the reader of standard output is gone"
#define MW_EXIT_INTERRUPTED_TEXT "interrupted by Ctrl-C; 143 by SIGTERM, 129 by SIGHUP"

struct mw_error {
    char text[1024]; ///< one line without a newline, empty as long as nothing failed
};

/// Fill `err` (may be NULL) with one line and return `status`. Text from outside, as a file's name,
/// is cleaned (text.h), so that the line stays one. Of a line that is too long the middle is left
/// out: its beginning names the place, its end the cause.
int mw_fail(struct mw_error *err, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/// The same, for allocations.
int mw_fail_memory(struct mw_error *err, const char *what);

#endif
