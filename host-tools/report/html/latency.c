// SPDX-License-Identifier: Apache-2.0
//
// Latencies in the switch: of each system the share of the packets that take longer than so many
// cycles, both axes logarithmic, so that the tail shows.
#include "report/html/page.h"

#include <inttypes.h>
#include <math.h>

enum { WIDTH = 1000, HEIGHT = 240, FOOT = 20 };

/// The scales of the chart: x from one cycle to 2^doublings, y from all packets to 10^-decades of them.
struct scales {
    unsigned doublings, decades;
};

/// Of all ports and layers.
static struct mw_latencies all_of(const struct mw_summary *s)
{
    struct mw_latencies all = {{0}};
    for (unsigned l = 0; l < s->result->layers; l++) {
        if (!s->result->layer[l].monitor)
            continue;
        struct mw_latencies layer = mw_monitor_all(s->result->layer[l].monitor);
        mw_latencies_add(&all, &layer);
    }
    return all;
}

static struct scales find_scales(const struct mw_page *p)
{
    struct scales s = {1, 1};
    for (unsigned i = 0; i < p->count; i++) {
        struct mw_latencies all = all_of(&p->summaries[i]);
        while (mw_latencies_at(&all, 1) >= 1u << s.doublings)
            s.doublings++;
        while (pow(10, s.decades) < (double)mw_latencies_packets(&all))
            s.decades++;
    }
    return s;
}

static double at_x(struct scales s, double cycles, double width)
{
    return width * log2(cycles < 1 ? 1 : cycles) / s.doublings;
}

static double at_y(struct scales s, double share)
{
    return -HEIGHT * log10(share) / s.decades;
}

/// A step at the upper end of each bin.
static void curve(struct mw_page *p, const struct mw_summary *s, struct scales scales)
{
    struct mw_latencies all = all_of(s);
    uint64_t packets = mw_latencies_packets(&all), left = packets;
    if (!packets)
        return;
    fprintf(p->out, "<path class=\"line k%u\" d=\"M0 0", mw_page_colour(s));
    for (unsigned b = 0; b < MW_HISTOGRAM_BINS && left; b++) {
        left -= all.bin[b];
        double x = at_x(scales, mw_histogram_from(b + 1), WIDTH);
        if (all.bin[b] && left)
            fprintf(p->out, "H%.1fV%.1f", x, at_y(scales, (double)left / (double)packets));
        else if (all.bin[b])
            fprintf(p->out, "H%.1fV%d", x, HEIGHT);
    }
    fprintf(p->out, "\"><title>%s</title></path>\n", s->system);
}

static void grid(FILE *out, struct scales s)
{
    unsigned every = s.doublings > 9 ? 2 : 1;
    for (unsigned e = 0; e < s.doublings; e += every) {
        double x = at_x(s, 1u << e, 100);
        fprintf(out,
                "<line class=\"g\" x1=\"%.3f%%\" x2=\"%.3f%%\" y1=\"0\" y2=\"%d\"/>"
                "<text x=\"%.3f%%\" y=\"%d\"%s>%u%s</text>",
                x, x, HEIGHT, x, HEIGHT + 14, e ? " text-anchor=\"middle\"" : "", 1u << e,
                e ? "" : " cycle");
    }
    for (unsigned d = 0; d <= s.decades; d++) {
        double y = at_y(s, pow(10, -(double)d));
        fprintf(out, "<line class=\"g\" x1=\"0\" x2=\"100%%\" y1=\"%.1f\" y2=\"%.1f\"/>", y, y);
    }
}

/// What stands beside the grid.
static void shares(FILE *out, struct scales s)
{
    fprintf(out, "<svg height=\"%d\" aria-hidden=\"true\">", HEIGHT + FOOT);
    for (unsigned d = 0; d < s.decades; d++)
        fprintf(out, "<text x=\"100%%\" y=\"%.1f\" text-anchor=\"end\">%g %%</text>",
                at_y(s, pow(10, -(double)d)) + (d ? 4 : 9), 100 * pow(10, -(double)d));
    fputs("</svg>\n", out);
}

static void chart(struct mw_page *p)
{
    FILE *out = p->out;
    struct scales s = find_scales(p);
    mw_page_legend(p);
    fputs("<p class=\"axis\">share of the packets that take longer</p>\n<div class=\"scaled\">",
          out);
    shares(out, s);
    fprintf(
        out,
        "<svg height=\"%d\" role=\"img\" aria-label=\"Share of the packets that take longer than "
        "so many cycles, a line a system\">\n",
        HEIGHT + FOOT);
    grid(out, s);
    fprintf(out,
            "<svg x=\"0\" y=\"0\" width=\"100%%\" height=\"%d\" viewBox=\"0 0 %d %d\" "
            "preserveAspectRatio=\"none\">\n",
            HEIGHT, WIDTH, HEIGHT);
    for (unsigned i = 0; i < p->count; i++)
        curve(p, &p->summaries[i], s);
    fputs("</svg></svg></div>\n", out);
}

static void plain(FILE *out, uint64_t value)
{
    fputs("<td>", out);
    mw_page_digits(out, value);
    fputs("</td>", out);
}

static void summary(struct mw_page *p)
{
    mw_page_table(
        p, "Cycles in the switch that a share of the packets does not exceed, all ports together",
        MW_HEADS("system", "packets", "50 %, cycles", "99 %, cycles", "99.9 %, cycles",
                 "all, cycles"));
    for (unsigned i = 0; i < p->count; i++) {
        static const double shares[] = {0.5, 0.99, 0.999, 1};
        struct mw_latencies all = all_of(&p->summaries[i]);
        mw_page_row(p, "%s", p->summaries[i].system);
        plain(p->out, mw_latencies_packets(&all));
        for (unsigned k = 0; k < sizeof shares / sizeof *shares; k++)
            plain(p->out, mw_latencies_at(&all, shares[k]));
        mw_page_row_end(p);
    }
    mw_page_table_end(p, false);
}

static void ports(struct mw_page *p)
{
    mw_page_folded(p, "latencies at each port",
                   MW_HEADS("system, layer, port", "packets", "50 %, cycles", "99 %, cycles",
                            "99.9 %, cycles", "all, cycles"));
    for (unsigned i = 0; i < p->count; i++) {
        const struct mw_result *r = p->summaries[i].result;
        for (unsigned l = 0; l < r->layers; l++) {
            for (unsigned port = 0; r->layer[l].monitor && port < r->layer[l].monitor->ports;
                 port++) {
                const struct mw_latencies *at = &r->layer[l].monitor->latencies[port];
                const struct {
                    const char *key;
                    double share;
                } part[] = {{"p50", 0.5}, {"p99", 0.99}, {"p99_9", 0.999}, {"max", 1}};
                mw_page_row(p, "%s, layer %zu, port %u", p->summaries[i].system,
                            p->w->layer[l].number, port);
                mw_page_uint(p, mw_latencies_packets(at),
                             "/systems/%u/layers/%u/latency/%u/packets", i, l, port);
                for (unsigned k = 0; k < 4; k++)
                    mw_page_uint(p, mw_latencies_at(at, part[k].share),
                                 "/systems/%u/layers/%u/latency/%u/%s", i, l, port, part[k].key);
                mw_page_row_end(p);
            }
        }
    }
    mw_page_table_end(p, true);
}

/// Packets by bin, of one system and layer; in the JSON a port has those bins that have any.
static void bins(struct mw_page *p, unsigned system, unsigned layer)
{
    FILE *out = p->out;
    const struct mw_monitor *m = p->summaries[system].result->layer[layer].monitor;
    struct mw_latencies all = mw_monitor_all(m);
    unsigned index[MW_MAX_PORTS] = {0};
    char caption[160], name[MW_MAX_PORTS][16];
    const char *heads[MW_MAX_PORTS + 2] = {"cycles"};
    snprintf(caption, sizeof caption, "packets by cycles in the switch, %s, layer %zu%s",
             p->summaries[system].system, p->w->layer[layer].number,
             p->w->shape.batches ? ", a batch" : "");
    for (unsigned port = 0; port < m->ports; port++) {
        snprintf(name[port], sizeof name[port], "port %u", port);
        heads[port + 1] = name[port];
    }
    mw_page_folded(p, caption, heads);
    for (unsigned b = 0; b < MW_HISTOGRAM_BINS; b++) {
        if (!all.bin[b])
            continue;
        mw_page_row(p, "%u to %u", mw_histogram_from(b), mw_histogram_from(b + 1) - 1);
        for (unsigned port = 0; port < m->ports; port++) {
            if (m->latencies[port].bin[b])
                mw_page_uint(p, m->latencies[port].bin[b],
                             "/systems/%u/layers/%u/latency/%u/bins/%u/1", system, layer, port,
                             index[port]++);
            else
                fputs("<td>0</td>", out);
        }
        mw_page_row_end(p);
    }
    mw_page_table_end(p, true);
}

void mw_page_latency(struct mw_page *p)
{
    bool any = false;
    for (unsigned i = 0; i < p->count; i++)
        for (unsigned l = 0; l < p->summaries[i].result->layers; l++)
            any |= p->summaries[i].result->layer[l].monitor != NULL;
    if (!any)
        return;
    fputs("<section aria-labelledby=\"latency\"><h2 id=\"latency\">Latencies in the switch</h2>\n"
          "<p>From a packet&#8217;s first flit at the switch to its first flit behind it, in "
          "cycles. A line shows which share of the packets takes longer: the lower, the better. "
          "Figures are upper ends of the histogram&#8217;s bins.</p>\n",
          p->out);
    chart(p);
    summary(p);
    ports(p);
    for (unsigned i = 0; i < p->count; i++)
        for (unsigned l = 0; l < p->summaries[i].result->layers; l++)
            if (p->summaries[i].result->layer[l].monitor)
                bins(p, i, l);
    fputs("</section>\n", p->out);
}
