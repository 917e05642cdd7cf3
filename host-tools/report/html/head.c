// SPDX-License-Identifier: Apache-2.0
//
// The beginning of the page: what was run, whether it is right, and each system in one card.
#include "report/html/page.h"

#include <string.h>

static const struct mw_summary *fastest(const struct mw_page *p)
{
    const struct mw_summary *best = &p->summaries[0];
    for (unsigned i = 1; i < p->count; i++)
        best = p->summaries[i].cycles < best->cycles ? &p->summaries[i] : best;
    return best;
}

static void chip(FILE *out, const char *name, uint64_t value, const char *unit)
{
    fprintf(out, "<li>%s <b>", name);
    mw_page_digits(out, value);
    fprintf(out, "</b>%s</li>", unit);
}

/// What was run, in a line of small labels.
static void chips(struct mw_page *p)
{
    FILE *out = p->out;
    fputs("<ul class=\"chips\">", out);
    chip(out, "GPUs", p->w->shape.gpus, "");
    chip(out, "tokens per GPU", p->w->shape.tokens_per_gpu, "");
    if (p->w->shape.batches)
        chip(out, "batches", p->w->shape.batches, "");
    chip(out, "hidden", p->w->shape.hidden, " values");
    chip(out, "experts", p->w->experts, "");
    chip(out, "k", p->w->k, "");
    chip(out, "tile", p->params->tile, p->params->partial_tiles ? " rows or less" : " rows");
    chip(out, "expert", p->params->expert_cycles, " cycles per row");
    chip(out, "flit", p->params->flit_bytes, " bytes");
    chip(out, "link latency", p->params->link_latency, " cycles");
    chip(out, "seed", p->w->shape.seed, "");
    fputs("</ul>\n", out);
}

/// Whether every bit and every counter is as it must be.
static void verdict(struct mw_page *p)
{
    uint64_t wrong = 0, errors = 0, below = 0;
    for (unsigned i = 0; i < p->count; i++) {
        const struct mw_result *r = p->summaries[i].result;
        wrong += p->summaries[i].wrong + (r->has_feeding ? r->feeding.wrong : 0);
        errors += p->summaries[i].flit_errors;
        below += p->summaries[i].below_bound;
    }
    bool right = !wrong && !errors && !below;
    fprintf(p->out, "<p class=\"verdict %s\" role=\"status\">", right ? "good" : "bad");
    if (right)
        fputs("Every bit of the output equals the golden model&#8217;s, and every flit counter the "
              "analytic list.",
              p->out);
    else
        fprintf(
            p->out,
            "Wrong: %llu elements of the output differ from the golden model, %llu counters from "
            "the analytic list, %llu layers took less than their bound.",
            (unsigned long long)wrong, (unsigned long long)errors, (unsigned long long)below);
    fputs("</p>\n", p->out);
}

static void card(struct mw_page *p, const struct mw_summary *s, bool best)
{
    FILE *out = p->out;
    fprintf(out, "<li class=\"card k%u%s\"><h3>%s</h3><p class=\"big\">", mw_page_colour(s),
            best ? " best" : "", s->system);
    mw_page_digits(out, s->cycles);
    fputs(" <small>cycles</small></p><p>", out);
    if (s->over && strcmp(s->over, s->system) == 0)
        fputs("what the others are held against<br/>", out);
    else if (s->speedup > 0)
        fprintf(out, "<b>%.3f</b>&#215; as fast as %s<br/>", s->speedup, s->over);
    fprintf(out,
            "<b>%.1f %%</b> of the strict bound<br/><b>%.1f %%</b> of its own bound</p></li>\n",
            100 * s->strict_share, 100 * s->own_share);
}

void mw_page_head(struct mw_page *p)
{
    FILE *out = p->out;
    const struct mw_summary *best = fastest(p);
    fputs("<header>\n<p class=\"eyebrow\">moeswitch run</p>\n<h1>", out);
    mw_page_text(out, p->trace->model);
    fprintf(out, "<span>%s</span></h1>\n<p class=\"trace\">",
            p->trace->synthetic ? "synthetic routing"
            : p->trace->uniform ? "routing of a trace without gate weights, each taken as 1/k"
                                : "routing of a trace");
    mw_page_text(out, p->trace->name);
    fprintf(out, ", layer%s ", p->params->layer_count > 1 ? "s" : "");
    for (unsigned i = 0; i < p->params->layer_count; i++)
        fprintf(out, "%s%zu", i ? ", " : "", p->params->layers[i]);
    fputs("</p>\n", out);
    chips(p);
    verdict(p);
    fputs("</header>\n<main>\n<ul class=\"cards\">\n", out);
    for (unsigned i = 0; i < p->count; i++)
        card(p, &p->summaries[i], p->count > 1 && &p->summaries[i] == best);
    fputs("</ul>\n", out);
}
