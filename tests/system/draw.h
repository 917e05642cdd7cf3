/* SPDX-License-Identifier: Apache-2.0 */
/// Numbers drawn at random, and options of the command line that are put together from them.
#ifndef MW_TEST_DRAW_H
#define MW_TEST_DRAW_H

#include "base/random.h"
#include "system/bench.h"

#include <stdarg.h>
#include <stdio.h>

/// low .. high
static inline unsigned pick(struct mw_random *r, unsigned low, unsigned high)
{
    return low + (unsigned)mw_random_below(r, high - low + 1);
}

static inline unsigned one_of(struct mw_random *r, const unsigned *list, unsigned n)
{
    return list[mw_random_below(r, n)];
}
#define ONE_OF(r, ...) \
    one_of(r, (const unsigned[]){__VA_ARGS__}, \
           sizeof((const unsigned[]){__VA_ARGS__}) / sizeof(unsigned))

/// Options as a text, which grows at its end.
struct text {
    char bytes[1000];
    size_t length;
};

static inline void add(struct text *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static inline void add(struct text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    t->length += (size_t)vsnprintf(t->bytes + t->length, sizeof t->bytes - t->length, format, args);
    va_end(args);
    assert_true(t->length < sizeof t->bytes);
}

#endif
