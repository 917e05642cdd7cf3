// SPDX-License-Identifier: Apache-2.0
//
// See text_wrap.h.
#include "base/text_wrap.h"

#include <stdbool.h>
#include <string.h>

void mw_wrap(FILE *out, const char *text, unsigned at, unsigned indent, unsigned width)
{
    static const char spaces[] = " \n";
    bool first = true; // word of a line
    text += strspn(text, spaces);
    while (*text) {
        unsigned length = (unsigned)strcspn(text, spaces);
        if (!first && at + 1 + length > width) {
            fprintf(out, "\n%*s", (int)indent, "");
            at = indent;
            first = true;
        }
        fprintf(out, "%s%.*s", first ? "" : " ", (int)length, text);
        at += length + !first;
        first = false;
        text += length;
        text += strspn(text, spaces);
    }
    fputc('\n', out);
}
