// SPDX-License-Identifier: Apache-2.0
//
// Numbers of options, see number.h.
#include "number.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

bool mw_parse_number(const char *text, char **end, uint64_t low, uint64_t high, uint64_t *value)
{
    char *stop;
    errno = 0;
    if (!isdigit((unsigned char)*text))
        return false;
    *value = strtoull(text, &stop, 0);
    if (errno || (!end && *stop) || *value < low || *value > high)
        return false;
    if (end)
        *end = stop;
    return true;
}

int mw_set_number(const char *name, const char *text, uint64_t low, uint64_t high, uint64_t *value,
                  struct mw_error *err)
{
    if (mw_parse_number(text, NULL, low, high, value))
        return MW_EXIT_OK;
    return mw_fail(err, MW_EXIT_INPUT, "--%s %s: expected a whole number from %llu to %llu", name,
                   text, (unsigned long long)low, (unsigned long long)high);
}

int mw_set_unsigned(const char *name, const char *text, unsigned low, unsigned high,
                    unsigned *value, struct mw_error *err)
{
    uint64_t wide = 0;
    int status = mw_set_number(name, text, low, high, &wide, err);
    if (!status)
        *value = (unsigned)wide;
    return status;
}
