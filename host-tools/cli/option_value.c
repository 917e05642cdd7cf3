// SPDX-License-Identifier: Apache-2.0
//
// See option_value.h.
#include "cli/option_value.h"

#include "cli/command_help.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool mw_parse_number(const char *text, char **end, uint64_t low, uint64_t high, uint64_t *value)
{
    char *stop;
    errno = 0;
    if (!isdigit((unsigned char)*text))
        return false;
    *value =
        strtoull(text, &stop, text[0] == '0' && tolower((unsigned char)text[1]) == 'x' ? 16 : 10);
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

int mw_set_real(const char *name, const char *text, double low, double high, double *value,
                struct mw_error *err)
{
    char *stop;
    *value = strtod(text, &stop) + 0.0; // -0 becomes 0
    if (stop != text && !*stop && *value >= low && *value <= high)
        return MW_EXIT_OK;
    return mw_fail(err, MW_EXIT_INPUT, "--%s %s: expected a number from %.10g to %.10g", name, text,
                   low, high);
}

int mw_fail_choice(const char *name, const char *text, mw_terms *terms, struct mw_error *err)
{
    char names[512];
    mw_terms_names(terms, names, sizeof names);
    return mw_fail(err, MW_EXIT_INPUT, "--%s %s: expected %s", name, text, names);
}

MW_TERMS(mw_flit_byte_values, {"8", NULL}, {"16", NULL});

int mw_set_flit_bytes(void *flit_bytes, const char *name, const char *text, struct mw_error *err)
{
    if (!mw_terms_have(mw_flit_byte_values, text))
        return mw_fail_choice(name, text, mw_flit_byte_values, err);
    *(unsigned *)flit_bytes = text[0] == '8' ? 8 : 16;
    return MW_EXIT_OK;
}

int mw_set_path(const char *name, const char *text, const char **path, struct mw_error *err)
{
    if (!*text)
        return mw_fail(err, MW_EXIT_INPUT, "--%s: the name is empty", name);
    *path = text;
    return MW_EXIT_OK;
}

int mw_add_setting(void *place, const char *name, const char *text, struct mw_error *err)
{
    struct mw_settings *settings = place;
    const unsigned most = sizeof settings->item / sizeof *settings->item;
    const char *equals = strchr(text, '=');
    struct mw_setting *s = &settings->item[settings->count];
    if (settings->count == most)
        return mw_fail(err, MW_EXIT_INPUT, "--%s %s: more than %u settings", name, text, most);
    if (!equals || equals == text || (size_t)(equals - text) >= sizeof s->name ||
        !mw_parse_number(equals + 1, NULL, 0, UINT64_MAX, &s->value))
        return mw_fail(err, MW_EXIT_INPUT, "--%s %s: expected NAME=VALUE with a whole number", name,
                       text);
    memcpy(s->name, text, (size_t)(equals - text));
    s->name[equals - text] = 0;
    settings->count++;
    return MW_EXIT_OK;
}
