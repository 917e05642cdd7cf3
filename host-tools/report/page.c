// SPDX-License-Identifier: Apache-2.0
#include "report/page.h"

#include <stdbool.h>
#include <stdlib.h>

/// What comes before the JSON and after it.
static const char *const run_template[] = {
#include "page_template.h"
};
static const char *const plan_template[] = {
#include "plan_template.h"
};

/// JSON as one line. White space is data only inside strings, and "<" is found nowhere else.
static void write_json(FILE *out, const char *text)
{
    bool inside = false;
    for (const char *s = text; *s; s++) {
        if (!inside && (*s == ' ' || *s == '\n'))
            continue;
        if (*s == '<')
            fputs("\\u003c", out);
        else
            fputc(*s, out);
        if (inside && *s == '\\')
            fputc(*++s, out);
        else if (*s == '"')
            inside = !inside;
    }
}

char *mw_page_html(enum mw_page page, const struct mw_json *json, size_t *size)
{
    const char *const *template = page == MW_PAGE_PLAN ? plan_template : run_template;
    char *text = NULL;
    FILE *out = open_memstream(&text, size);
    if (!out)
        return NULL;
    fputs(template[0], out);
    write_json(out, json->text);
    fputs(template[1], out);
    bool failed = ferror(out);
    if (fclose(out) || failed) {
        free(text);
        return NULL;
    }
    return text;
}
