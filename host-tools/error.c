// SPDX-License-Identifier: Apache-2.0
//
// One-line errors, see error.h.
#include "error.h"

#include <stdio.h>

int mw_fail(struct mw_error *err, int status, const char *format, ...)
{
    if (!err)
        return status;
    va_list args;
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    for (char *c = err->text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '?';
    return status;
}

int mw_fail_memory(struct mw_error *err, const char *what)
{
    return mw_fail(err, MW_EXIT_FAILED, "out of memory for %s", what);
}
