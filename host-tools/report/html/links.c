// SPDX-License-Identifier: Apache-2.0
//
// Use of every port's links over time, the same cycles in every panel.
#include "report/html/page.h"
#include "report/plot.h"

#include <inttypes.h>

enum { WIDTH = 1000, HALF = 11, ROW = 2 * HALF + 2 };

static void panel(struct mw_page *p, unsigned system, unsigned layer, double most)
{
    FILE *out = p->out;
    const struct mw_summary *s = &p->summaries[system];
    const struct mw_layer_result *r = &s->result->layer[layer];
    const struct mw_monitor *m = r->monitor;
    const struct mw_plot_axis place = {0, WIDTH / most, HALF + 1, HALF};
    double end = WIDTH / most * (double)r->cycles;
    fprintf(out, "<figure><figcaption><i class=\"s%u\"></i>%s, ", mw_page_colour(s), s->system);
    mw_page_layer(p, layer);
    fputs(": ", out);
    mw_page_digits(out, r->cycles);
    fprintf(out, " cycles, %u a sample%s</figcaption>\n", m->interval,
            m->lost ? ", some samples were lost" : "");
    for (unsigned port = 0; port < m->ports; port++) {
        fprintf(out,
                "<div class=\"link\"><span>port %u</span><svg height=\"%d\" viewBox=\"0 0 %d %d\" "
                "preserveAspectRatio=\"none\" role=\"img\" aria-label=\"%s, port %u: use "
                "of uplink and downlink over %" PRIu64
                " cycles\"><title>port %u: uplink above, downlink below</title>",
                port, ROW, WIDTH, ROW, s->system, port, r->cycles, port);
        fprintf(out, "<rect class=\"run\" x=\"0\" y=\"0\" width=\"%.1f\" height=\"%d\"/>", end,
                ROW);
        mw_plot_link(out, m, port, false, r->cycles, &place);
        mw_plot_link(out, m, port, true, r->cycles, &place);
        fputs("</svg></div>\n", out);
    }
    fputs("<div class=\"link\"><span></span>", out);
    mw_page_axis(out, most);
    fputs("</div>\n", out);
    fputs("</figure>\n", out);
}

/// Of one layer and system: a row a port and figure, a column a sample.
static void table(struct mw_page *p, unsigned system, unsigned layer)
{
    static const char *const key[] = {"up", "down", "wait_credit", "wait_turn"};
    static const char *const words[] = {"up, flits", "down, flits", "waiting for credit, cycles",
                                        "waiting for their turn, cycles"};
    FILE *out = p->out;
    const struct mw_monitor *m = p->summaries[system].result->layer[layer].monitor;
    fprintf(out, "<details><summary>Figures: links of %s, ", p->summaries[system].system);
    mw_page_layer(p, layer);
    fprintf(out,
            ", every %u cycles</summary><div class=\"scroll\" tabindex=\"0\" role=\"region\" "
            "aria-label=\"samples\"><table><caption>flits, and cycles in which packets waited, in "
            "the %u cycles from the one that heads the column on</caption>\n"
            "<thead><tr><th scope=\"col\" class=\"l\">port</th>",
            m->interval, m->interval);
    for (size_t i = 0; i < m->samples; i++)
        fprintf(out, "<th scope=\"col\">%zu</th>", i * m->interval);
    fputs("</tr></thead><tbody>\n", out);
    for (unsigned port = 0; port < m->ports; port++) {
        for (unsigned k = 0; k < 4; k++) {
            fprintf(out,
                    "<tr data-json=\"/systems/%u/layers/%u/series/ports/%u/%s\"><th "
                    "scope=\"row\">%u %s</th>",
                    system, layer, port, key[k], port, words[k]);
            for (size_t i = 0; i < m->samples; i++) {
                const struct mw_sample *s = &m->list[i * m->ports + port];
                const uint16_t value[] = {s->up, s->down, s->wait_credit, s->wait_turn};
                fprintf(out, "<td>%u</td>", value[k]);
            }
            fputs("</tr>\n", out);
        }
    }
    fputs("</tbody></table></div></details>\n", out);
}

void mw_page_links(struct mw_page *p)
{
    FILE *out = p->out;
    double most = 0;
    for (unsigned i = 0; i < p->count; i++)
        for (unsigned l = 0; l < p->summaries[i].result->layers; l++) {
            const struct mw_layer_result *r = &p->summaries[i].result->layer[l];
            most = r->monitor && (double)r->cycles > most ? (double)r->cycles : most;
        }
    fputs("<section aria-labelledby=\"links\"><h2 id=\"links\">Links over time</h2>\n", out);
    if (most <= 0) {
        fputs("<p>The ports of this device record nothing.</p></section>\n", out);
        return;
    }
    fputs("<p>Share of the cycles that a link's flits take: full height is every cycle. All "
          "panels have the same time axis, in cycles since go; the ground ends where the layer "
          "does.</p>\n"
          "<ul class=\"legend\"><li><i class=\"up\"></i>uplink, above the line</li><li><i "
          "class=\"down\"></i>downlink, below it</li></ul>\n<div class=\"panels\">\n",
          out);
    for (unsigned l = 0; l < p->w->layers; l++)
        for (unsigned i = 0; i < p->count; i++)
            if (p->summaries[i].result->layer[l].monitor)
                panel(p, i, l, most);
    fputs("</div>\n", out);
    for (unsigned l = 0; l < p->w->layers; l++)
        for (unsigned i = 0; i < p->count; i++)
            if (p->summaries[i].result->layer[l].monitor)
                table(p, i, l);
    fputs("</section>\n", out);
}
