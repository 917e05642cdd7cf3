// SPDX-License-Identifier: Apache-2.0
//
// Text in lines of a width.
#ifndef MW_HOST_TEXT_WRAP_H
#define MW_HOST_TEXT_WRAP_H

#include <stdio.h>

/// Write `text`, whose spaces and newlines both end words, in lines of at most `width` columns. A
/// longer word has a line of its own. The first begins at column `at`, where the caller is; those
/// after it are indented by `indent`. Ends with a newline.
void mw_wrap(FILE *out, const char *text, unsigned at, unsigned indent, unsigned width);

#endif
