// SPDX-License-Identifier: Apache-2.0
//
// Cycles of each system, and what it could not do without: a bar, with the bounds across it.
#include "report/html/page.h"

#include <inttypes.h>

static void mark(FILE *out, const char *class, double at)
{
    fprintf(out, "<line class=\"%s\" x1=\"%.3f%%\" x2=\"%.3f%%\" y1=\"1\" y2=\"27\"/>", class, at,
            at);
}

static void bar(struct mw_page *p, const struct mw_summary *s, double most)
{
    FILE *out = p->out;
    double scale = 100 / most;
    fprintf(out,
            "<div class=\"bar\"><span class=\"name\">%s</span>"
            "<svg height=\"28\" role=\"img\" aria-label=\"%s: %" PRIu64
            " cycles; strict bound %" PRIu64 ", own bound %" PRIu64 ", limit %" PRIu64 " cycles\">"
            "<title>%s: %" PRIu64 " cycles; strict bound %" PRIu64 ", own bound %" PRIu64
            " (%s), limit %" PRIu64 " (%s)</title>",
            s->system, s->system, s->cycles, s->strict, s->own, s->limit.cycles, s->system,
            s->cycles, s->strict, s->own, s->own_at, s->limit.cycles, s->limit.at);
    fprintf(out, "<rect class=\"s%u\" x=\"0\" y=\"4\" width=\"%.3f%%\" height=\"20\" rx=\"2\"/>",
            mw_page_colour(s), scale * (double)s->cycles);
    mark(out, "strict", scale * (double)s->strict);
    mark(out, "own", scale * (double)s->own);
    if (s->limit.cycles != s->own)
        mark(out, "limit", scale * (double)s->limit.cycles);
    fputs("</svg><span class=\"value\">", out);
    mw_page_digits(out, s->cycles);
    if (s->speedup > 0)
        fprintf(out, " <small>%.3f&#215;</small>", s->speedup);
    fputs("</span></div>\n", out);
}

static void part(struct mw_page *p, const struct mw_summary_part *part)
{
    fputs("<td>", p->out);
    mw_page_digits(p->out, part->cycles);
    fprintf(p->out, "</td><td class=\"l\">%s</td>", part->at);
}

static void table(struct mw_page *p)
{
    mw_page_folded(p, "cycles and bounds of each system, all layers together",
                   MW_HEADS("system", "cycles", "times as fast", "<as", "strict bound, cycles",
                            "share of it", "<set by", "own bound, cycles", "share of it", "<set by",
                            "of links alone, cycles", "elements wrong", "counters wrong",
                            "layers below their bound"));
    for (unsigned i = 0; i < p->count; i++) {
        const struct mw_summary *s = &p->summaries[i];
        mw_page_row(p, "%s", s->system);
        mw_page_uint(p, s->cycles, "/systems/%u/cycles", i);
        if (s->speedup > 0)
            mw_page_real(p, s->speedup, 3, "/systems/%u/speedup", i);
        else
            mw_page_none(p);
        if (s->over)
            mw_page_string(p, s->over, "/systems/%u/speedup_over", i);
        else
            mw_page_none(p);
        mw_page_uint(p, s->strict, "/systems/%u/strict_bound_cycles", i);
        mw_page_percent(p, s->strict_share, "/systems/%u/strict_share", i);
        mw_page_string(p, s->strict_at, "/systems/%u/strict_bound_at", i);
        mw_page_uint(p, s->own, "/systems/%u/own_bound_cycles", i);
        mw_page_percent(p, s->own_share, "/systems/%u/own_share", i);
        mw_page_string(p, s->own_at, "/systems/%u/own_bound_at", i);
        mw_page_uint(p, s->own_link, "/systems/%u/own_link_bound_cycles", i);
        mw_page_uint(p, s->wrong, "/systems/%u/wrong", i);
        mw_page_uint(p, s->flit_errors, "/systems/%u/flit_errors", i);
        mw_page_uint(p, s->below_bound, "/systems/%u/below_bound", i);
        mw_page_row_end(p);
    }
    mw_page_table_end(p, true);
    mw_page_folded(p, "what the layers take of the busiest GPU&#8217;s own parts",
                   MW_HEADS("system", "adder, cycles", "<of", "engine, cycles", "<of",
                            "banks, cycles", "<of", "limit, cycles", "<of"));
    for (unsigned i = 0; i < p->count; i++) {
        const struct mw_summary *s = &p->summaries[i];
        mw_page_row(p, "%s", s->system);
        part(p, &s->adder);
        part(p, &s->engine);
        part(p, &s->banks);
        part(p, &s->limit);
        mw_page_row_end(p);
    }
    mw_page_table_end(p, true);
}

void mw_page_cycles(struct mw_page *p)
{
    double most = 1;
    for (unsigned i = 0; i < p->count; i++) {
        const struct mw_summary *s = &p->summaries[i];
        const uint64_t list[] = {s->cycles, s->strict, s->own, s->limit.cycles};
        for (unsigned k = 0; k < sizeof list / sizeof *list; k++)
            most = (double)list[k] > most ? (double)list[k] : most;
    }
    fputs("<section aria-labelledby=\"cycles\"><h2 id=\"cycles\">Cycles against the bounds</h2>\n"
          "<p>Clock cycles from go to done. The <b>strict bound</b> is what the busiest link or "
          "engine needs if every row crosses every "
          "link once; the <b>own bound</b> what the flits of the system itself need; the "
          "<b>limit</b> the longest of that and of what the busiest adder, "
          "engine and memory need.</p>\n"
          "<ul class=\"legend\"><li><svg width=\"12\" height=\"14\" aria-hidden=\"true\"><line "
          "class=\"strict\" x1=\"6\" x2=\"6\" y1=\"0\" y2=\"14\"/></svg>strict bound</li>"
          "<li><svg width=\"12\" height=\"14\" aria-hidden=\"true\"><line class=\"own\" x1=\"6\" "
          "x2=\"6\" y1=\"0\" y2=\"14\"/></svg>own bound</li>"
          "<li><svg width=\"12\" height=\"14\" aria-hidden=\"true\"><line class=\"limit\" x1=\"6\" "
          "x2=\"6\" y1=\"0\" y2=\"14\"/></svg>limit, where it is another</li></ul>\n<div "
          "class=\"chart\">\n",
          p->out);
    for (unsigned i = 0; i < p->count; i++)
        bar(p, &p->summaries[i], most);
    fputs("<div class=\"bar\"><span class=\"name\"></span>", p->out);
    mw_page_axis(p->out, most);
    fputs("<span class=\"value\"></span></div>\n", p->out);
    fputs("</div>\n", p->out);
    table(p);
    fputs("</section>\n", p->out);
}
