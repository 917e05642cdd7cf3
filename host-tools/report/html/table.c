// SPDX-License-Identifier: Apache-2.0
//
// Tables of the page, see page.h.
#include "analysis/bounds.h"
#include "report/html/page.h"

#include <stdarg.h>

static void begin(struct mw_page *p, const char *caption, const char *const *heads)
{
    fprintf(p->out,
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"%s\"><table>\n",
            caption);
    fprintf(p->out, "<caption>%s</caption>\n<thead><tr>", caption);
    for (unsigned i = 0; heads[i]; i++) {
        bool left = heads[i][0] == '<';
        fprintf(p->out, "<th scope=\"col\"%s>%s</th>", left || !i ? " class=\"l\"" : "",
                heads[i] + left);
    }
    fputs("</tr></thead>\n<tbody>\n", p->out);
}

void mw_page_table(struct mw_page *p, const char *caption, const char *const *heads)
{
    begin(p, caption, heads);
}

void mw_page_folded(struct mw_page *p, const char *caption, const char *const *heads)
{
    fprintf(p->out, "<details><summary>Figures: %s</summary>\n", caption);
    begin(p, caption, heads);
}

void mw_page_table_end(struct mw_page *p, bool folded)
{
    fprintf(p->out, "</tbody></table></div>%s\n", folded ? "</details>" : "");
}

void mw_page_row(struct mw_page *p, const char *name, ...)
{
    va_list args;
    va_start(args, name);
    fputs("<tr><th scope=\"row\">", p->out);
    vfprintf(p->out, name, args);
    fputs("</th>", p->out);
    va_end(args);
}

void mw_page_row_end(struct mw_page *p)
{
    fputs("</tr>\n", p->out);
}

/// A cell up to its attributes' end.
static void open_cell(struct mw_page *p, const char *class, const char *pointer, va_list args)
{
    fprintf(p->out, "<td%s data-json=\"", class);
    vfprintf(p->out, pointer, args);
    fputc('"', p->out);
}

static void exact(FILE *out, double value)
{
    char text[MW_JSON_NUMBER_BYTES];
    fprintf(out, " data-value=\"%s\">", mw_json_number(text, value));
}

void mw_page_uint(struct mw_page *p, uint64_t value, const char *pointer, ...)
{
    va_list args;
    va_start(args, pointer);
    open_cell(p, "", pointer, args);
    va_end(args);
    fputc('>', p->out);
    mw_page_digits(p->out, value);
    fputs("</td>", p->out);
}

void mw_page_percent(struct mw_page *p, double share, const char *pointer, ...)
{
    va_list args;
    va_start(args, pointer);
    open_cell(p, "", pointer, args);
    va_end(args);
    exact(p->out, share);
    fprintf(p->out, "%.1f %%</td>", 100 * share);
}

void mw_page_real(struct mw_page *p, double value, unsigned decimals, const char *pointer, ...)
{
    va_list args;
    va_start(args, pointer);
    open_cell(p, "", pointer, args);
    va_end(args);
    exact(p->out, value);
    mw_page_decimal(p->out, value, decimals);
    fputs("</td>", p->out);
}

void mw_page_string(struct mw_page *p, const char *text, const char *pointer, ...)
{
    va_list args;
    va_start(args, pointer);
    open_cell(p, " class=\"l\"", pointer, args);
    va_end(args);
    fputc('>', p->out);
    mw_page_text(p->out, text);
    fputs("</td>", p->out);
}

void mw_page_bound(struct mw_page *p, const struct mw_bound *b, const char *pointer, ...)
{
    char at[48], place[128];
    va_list args;
    va_start(args, pointer);
    vsnprintf(place, sizeof place, pointer, args);
    va_end(args);
    mw_page_uint(p, b->cycles, "%s/cycles", place);
    mw_page_string(p, mw_bound_text(b, at, sizeof at), "%s/at", place);
}

void mw_page_none(struct mw_page *p)
{
    fputs("<td>-</td>", p->out);
}
