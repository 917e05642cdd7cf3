// SPDX-License-Identifier: Apache-2.0
//
// Stalls by cause, systems below each other.
#include "report/html/page.h"

#include <inttypes.h>
#include <string.h>

enum {
    BAR = 15,
    WIDEST = 84, ///< percent of the width: what is behind a bar is its figure's
};

/// What is counted, of the causes of run_system.c.
static const struct {
    const char *cause, *words;
} meanings[] = {
    {"uplink_idle", "cycles in which a GPU&#8217;s uplink carried no flit"},
    {"store_credit", "cycles in which a store waited at a GPU for a credit of the switch"},
    {"no_partial", "cycles in which a GPU had no partial sum to send"},
    {"ctrl_credit", "cycles in which a control packet waited at a GPU for a credit of the switch"},
    {"switch_output", "cycles in which a copy waited in the switch for its output"},
    {"switch_credit", "cycles in which a copy waited in the switch for a credit of the GPU"},
    {"memory_bank", "accesses to a GPU&#8217;s memory that a busy bank put off"},
    {"engine_idle", "cycles in which an expert engine had no tile"},
    {"engine_memory", "cycles in which an expert engine waited for memory"},
};

static const char *meaning(const char *cause)
{
    for (unsigned i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (strcmp(meanings[i].cause, cause) == 0)
            return meanings[i].words;
    return "";
}

static uint64_t cycles_of(const struct mw_summary *s, const char *cause)
{
    for (unsigned k = 0; k < s->stalls; k++)
        if (strcmp(s->stall[k].cause, cause) == 0)
            return s->stall[k].cycles;
    return 0;
}

static void bars(struct mw_page *p, const char *cause, double most)
{
    FILE *out = p->out;
    fprintf(out,
            "<div class=\"stall\"><div><b>%s</b><span>%s</span></div><svg height=\"%u\" "
            "role=\"img\" aria-label=\"%s:",
            cause, meaning(cause), BAR * p->count, cause);
    for (unsigned i = 0; i < p->count; i++)
        fprintf(out, "%s %s %" PRIu64, i ? "," : "", p->summaries[i].system,
                cycles_of(&p->summaries[i], cause));
    fputs("\">", out);
    for (unsigned i = 0; i < p->count; i++) {
        uint64_t cycles = cycles_of(&p->summaries[i], cause);
        double share = WIDEST * (double)cycles / most;
        fprintf(out,
                "<rect class=\"s%u\" x=\"0\" y=\"%u\" width=\"%.3f%%\" height=\"%u\"><title>%s: "
                "%" PRIu64 "</title></rect>",
                mw_page_colour(&p->summaries[i]), BAR * i + 2, share, BAR - 4,
                p->summaries[i].system, cycles);
        fprintf(out, "<text x=\"%.3f%%\" dx=\"4\" y=\"%u\">", share, BAR * i + 11);
        mw_page_digits(out, cycles);
        fputs("</text>", out);
    }
    fputs("</svg></div>\n", out);
}

static void table(struct mw_page *p)
{
    const struct mw_summary *first = &p->summaries[0];
    const char *heads[MW_MAX_STALLS + 2] = {"system"};
    for (unsigned k = 0; k < first->stalls; k++)
        heads[k + 1] = first->stall[k].cause;
    mw_page_folded(p, "stalls, cycles summed over all GPUs and layers", heads);
    for (unsigned i = 0; i < p->count; i++) {
        const struct mw_summary *s = &p->summaries[i];
        mw_page_row(p, "%s", s->system);
        for (unsigned k = 0; k < s->stalls; k++)
            mw_page_uint(p, s->stall[k].cycles, "/systems/%u/stalls/%s", i, s->stall[k].cause);
        mw_page_row_end(p);
    }
    mw_page_table_end(p, true);
}

void mw_page_stalls(struct mw_page *p)
{
    double most = 1;
    for (unsigned i = 0; i < p->count; i++)
        for (unsigned k = 0; k < p->summaries[i].stalls; k++)
            most = (double)p->summaries[i].stall[k].cycles > most
                       ? (double)p->summaries[i].stall[k].cycles
                       : most;
    fputs("<section aria-labelledby=\"stalls\"><h2 id=\"stalls\">Stalls by cause</h2>\n"
          "<p>Summed over all GPUs and layers. A cycle may count under several causes, and an idle "
          "part is no loss where there is nothing left for it to do.</p>\n",
          p->out);
    mw_page_legend(p);
    fputs("<div class=\"chart\">\n", p->out);
    for (unsigned k = 0; k < p->summaries[0].stalls; k++)
        bars(p, p->summaries[0].stall[k].cause, most);
    fputs("</div>\n", p->out);
    table(p);
    fputs("</section>\n", p->out);
}
