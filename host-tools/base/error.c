// SPDX-License-Identifier: Apache-2.0
//
// One-line errors, see error.h.
#include "base/error.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

enum {
    HEAD = 200, ///< bytes of a long message in front of what is left out
    TAIL = 800, ///< and after: the cause is at the end
};

static bool is_inside_character(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/// A clean text, or its ends.
static void copy_ends(struct mw_error *err, const char *clean)
{
    const size_t length = strlen(clean);
    size_t head = HEAD, tail = length - TAIL;
    if (length < sizeof err->text) {
        memcpy(err->text, clean, length + 1);
        return;
    }
    while (is_inside_character(clean[head]))
        head--;
    while (is_inside_character(clean[tail]))
        tail++;
    snprintf(err->text, sizeof err->text, "%.*s...%s", (int)head, clean, clean + tail);
}

int mw_fail(struct mw_error *err, int status, const char *format, ...)
{
    if (!err)
        return status;
    char line[sizeof err->text];
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    const int length = vsnprintf(line, sizeof line, format, args);
    const size_t most = length > 0 ? (size_t)length + 1 : 1, clean = MW_TEXT_GROWS * most;
    char *whole = clean > sizeof line ? malloc(most + clean) : NULL;
    if (whole) { // an argument may be the text of `err`
        vsnprintf(whole, most, format, again);
        copy_ends(err, mw_text_clean(whole + most, clean, whole));
    } else {
        mw_text_clean(err->text, sizeof err->text, line);
    }
    free(whole);
    va_end(again);
    va_end(args);
    return status;
}

int mw_fail_memory(struct mw_error *err, const char *what)
{
    return mw_fail(err, MW_EXIT_FAILED, "out of memory for %s", what);
}
