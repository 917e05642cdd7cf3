// SPDX-License-Identifier: Apache-2.0
//
// One-line errors, see error.h.
#include "base/error.h"

#include "base/text.h"

int mw_fail(struct mw_error *err, int status, const char *format, ...)
{
    if (!err)
        return status;
    char line[sizeof err->text];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    mw_text_clean(err->text, sizeof err->text, line);
    return status;
}

int mw_fail_memory(struct mw_error *err, const char *what)
{
    return mw_fail(err, MW_EXIT_FAILED, "out of memory for %s", what);
}
