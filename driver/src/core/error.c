// SPDX-License-Identifier: Apache-2.0
//
// Error codes and their texts, from spec/errors.toml, and the message of the last failure.
#include "core/error.h"

#include <stdarg.h>
#include <stdio.h>

static _Thread_local char message[MWI_MESSAGE]; // of the last failure, whatever has succeeded since
static _Thread_local bool said;                 // since mwi_say_nothing

const char *mw_version(void)
{
    return MW_VERSION;
}

const char *mw_strerror(int code)
{
    switch (code) {
#define CASE(name, value, text) \
    case value: \
        return text;
        MW_ERR_LIST(CASE)
    default:
        return "unknown error";
    }
}

const char *mw_error_name(int code)
{
    switch (code) {
#define NAME(name, value, text) \
    case value: \
        return "MW_ERR_" #name;
        MW_ERR_LIST(NAME)
    default:
        return "unknown";
    }
}

const char *mw_hw_strerror(unsigned code)
{
    switch (code) {
        MW_HWERR_LIST(CASE)
    default:
        return "unknown error";
    }
}

const char *mw_message(void)
{
    return message;
}

void mwi_say_nothing(void)
{
    said = false;
}

int mwi_fail_also(int code, const char *format, ...)
{
    if (said)
        return code;
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    said = true;
    return code;
}

int mwi_fail(int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    said = true;
    return code;
}
