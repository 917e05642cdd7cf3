// SPDX-License-Identifier: Apache-2.0
//
// What the routing asks of each GPU, whatever the system.
#include "analysis/facts.h"
#include "report/html/page.h"

#include <inttypes.h>

enum { HEIGHT = 96, FOOT = 18, LABELS = 8 };

static void panel(struct mw_page *p, unsigned layer, double most)
{
    FILE *out = p->out;
    struct mw_layer_facts facts;
    unsigned gpus = p->w->shape.gpus, every = (gpus + LABELS - 1) / LABELS;
    mw_layer_facts(p->w, layer, &facts);
    fputs("<figure><figcaption>", out);
    mw_page_layer(p, layer);
    fprintf(out,
            ": %.3f remote GPUs per token, %.1f %% of tokens with an expert at "
            "home</figcaption><svg height=\"%d\" role=\"img\" aria-label=\"Rows of each expert "
            "engine, most on engine %u: %" PRIu64 "\">",
            facts.remote_gpus_per_token, 100 * facts.home_share, HEIGHT + FOOT, facts.busiest,
            facts.rows[facts.busiest]);
    for (unsigned q = 0; q < gpus; q++) {
        double h = (HEIGHT - 14) * (double)facts.rows[q] / most, x = 100.0 * (q + 0.14) / gpus;
        fprintf(out,
                "<rect class=\"%s\" x=\"%.3f%%\" y=\"%.2f\" width=\"%.3f%%\" "
                "height=\"%.2f\"><title>GPU %u: %" PRIu64 " rows, %" PRIu64
                " additions of rows in its hub</title></rect>",
                q == facts.busiest ? "accent" : "neutral", x, HEIGHT - h, 72.0 / gpus, h, q,
                facts.rows[q], facts.additions[q]);
        if (every == 1)
            fprintf(out, "<text x=\"%.3f%%\" y=\"%.2f\" text-anchor=\"middle\">%" PRIu64 "</text>",
                    100 * (q + 0.5) / gpus, HEIGHT - h - 3, facts.rows[q]);
        if (q % every == 0)
            fprintf(out, "<text x=\"%.3f%%\" y=\"%d\" text-anchor=\"middle\">%s%u</text>",
                    100 * (q + 0.5) / gpus, HEIGHT + 14, q ? "" : "GPU ", q);
    }
    fputs("</svg></figure>\n", out);
}

static void table(struct mw_page *p)
{
    mw_page_folded(p, "demand of each layer",
                   MW_HEADS("layer, GPU", "rows of its engine", "additions of rows in its hub",
                            "remote GPUs per token", "tokens with an expert at home"));
    for (unsigned l = 0; l < p->w->layers; l++) {
        struct mw_layer_facts facts;
        mw_layer_facts(p->w, l, &facts);
        for (unsigned q = 0; q < p->w->shape.gpus; q++) {
            mw_page_row(p, "%zu, GPU %u", p->w->layer[l].number, q);
            mw_page_uint(p, facts.rows[q], "/workload/%u/expert_rows/%u", l, q);
            mw_page_uint(p, facts.additions[q], "/workload/%u/hub_additions/%u", l, q);
            mw_page_real(p, facts.remote_gpus_per_token, 3, "/workload/%u/remote_gpus_per_token",
                         l);
            mw_page_percent(p, facts.home_share, "/workload/%u/home_share", l);
            mw_page_row_end(p);
        }
    }
    mw_page_table_end(p, true);
}

void mw_page_workload(struct mw_page *p)
{
    double most = 1;
    for (unsigned l = 0; l < p->w->layers; l++) {
        struct mw_layer_facts facts;
        mw_layer_facts(p->w, l, &facts);
        most = (double)facts.rows[facts.busiest] > most ? (double)facts.rows[facts.busiest] : most;
    }
    fputs("<section aria-labelledby=\"workload\"><h2 id=\"workload\">Demand of the routing</h2>\n"
          "<p>Rows (a token for an expert) of each GPU&#8217;s expert engine; the same for every "
          "system.</p>\n<div class=\"panels\">\n",
          p->out);
    for (unsigned l = 0; l < p->w->layers; l++)
        panel(p, l, most);
    fputs("</div>\n", p->out);
    table(p);
    fputs("</section>\n", p->out);
}
