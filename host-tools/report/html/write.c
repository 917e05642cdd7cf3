// SPDX-License-Identifier: Apache-2.0
//
// Words and figures of the page, see page.h.
#include "base/text.h"
#include "report/html/page.h"

#include <inttypes.h>
#include <string.h>

// ---- text from outside --------------------------------------------------------------------------

void mw_page_text(FILE *out, const char *text)
{
    for (const char *s = text; *s;) {
        uint32_t code;
        unsigned n = mw_text_char(s, &code);
        if (!n || !mw_text_is_plain(code))
            fputs("&#xfffd;", out);
        else if (strchr("&<>\"'", (int)code) && n == 1)
            fprintf(out, "&#%u;", (unsigned)code);
        else
            fwrite(s, 1, n, out);
        s += n ? n : 1;
    }
}

// ---- numbers ------------------------------------------------------------------------------------

static const char GROUP[] = "\xe2\x80\xaf"; // U+202F, narrow and does not break

/// Digits, in groups up to where they end.
static void group(FILE *out, const char *text)
{
    size_t n = strspn(text, "0123456789");
    for (size_t i = 0; i < n; i++) {
        if (i && (n - i) % 3 == 0)
            fputs(GROUP, out);
        fputc(text[i], out);
    }
    fputs(text + n, out);
}

void mw_page_digits(FILE *out, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    group(out, text);
}

void mw_page_decimal(FILE *out, double value, unsigned decimals)
{
    char text[400];
    snprintf(text, sizeof text, "%.*f", (int)decimals, value);
    if (text[0] == '-')
        fputs("\xe2\x88\x92", out); // U+2212
    group(out, text + (text[0] == '-'));
}

void mw_page_tick(FILE *out, double value)
{
    static const char *const unit[] = {"", " k", " M", " G", " T"};
    unsigned u = 0;
    while (value >= 10000 && u + 1 < sizeof unit / sizeof *unit) {
        value /= 1000;
        u++;
    }
    fprintf(out, "%.4g%s", value, unit[u]);
}

// ---- names --------------------------------------------------------------------------------------

void mw_page_layer(const struct mw_page *p, unsigned layer)
{
    const struct mw_layer *l = &p->w->layer[layer];
    fprintf(p->out, "layer %zu", l->number);
    if (p->w->shape.batches)
        fprintf(p->out, ", tokens from %zu on", l->first);
}
