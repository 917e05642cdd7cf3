// SPDX-License-Identifier: Apache-2.0
//
// The order of a trace's dimensions as text, see trace.h.
#include "trace/trace.h"

#include <stdio.h>
#include <string.h>

static const char *const names[MW_AXES] = {
    [MW_AXIS_LAYERS] = "layers", [MW_AXIS_TOKENS] = "tokens", [MW_AXIS_K] = "k"};

bool mw_axes_parse(struct mw_axes *axes, const char *text)
{
    unsigned seen = 0;
    *axes = (struct mw_axes){0};
    for (;;) {
        size_t length = strcspn(text, ",");
        unsigned a = 0;
        while (a < MW_AXES && (strlen(names[a]) != length || memcmp(names[a], text, length) != 0))
            a++;
        if (a == MW_AXES || seen >> a & 1)
            return false;
        seen |= 1u << a;
        axes->axis[axes->count++] = (enum mw_dimension)a;
        if (!text[length])
            break;
        text += length + 1;
    }
    return seen >> MW_AXIS_TOKENS & 1 && seen >> MW_AXIS_K & 1;
}

const char *mw_axes_text(const struct mw_axes *axes, char text[MW_AXES_BYTES])
{
    size_t at = 0;
    *text = 0;
    for (unsigned i = 0; i < axes->count; i++)
        at += (size_t)snprintf(text + at, MW_AXES_BYTES - at, "%s%s", i ? "," : "",
                               names[axes->axis[i]]);
    return text;
}
