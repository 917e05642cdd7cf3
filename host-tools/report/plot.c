// SPDX-License-Identifier: Apache-2.0
#include "report/plot.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEFT = 60,    ///< where time begins
    TIME_W = 620, ///< pixels of the time axis, the same cycles in every panel
    HIST_X = 730,
    HIST_W = 230,
    WIDTH = 980,
    HEAD = 46,  ///< of the picture
    TITLE = 26, ///< of a panel
    HALF = 11,  ///< pixels of a link at full use
    ROW = 2 * HALF + 4,
    FOOT = 34, ///< of a panel, with its axes
};

static const char style[] =
    "<style>text{font:11px sans-serif;fill:#333}.t{font-weight:bold;font-size:13px}.u{fill:#2b6cb0}"
    ".d{fill:#dd6b20}.g{stroke:#ccc}.h{fill:#718096}.p{stroke:#c53030;stroke-dasharray:3 2}"
    "rect.b{fill:#fff}</style>\n";

/// Where a link's use is drawn: in units of the picture.
struct axis {
    double left, scale; ///< where time begins, and the width of a cycle
    double y, half;     ///< the line of no use, and the height of a use of 1 above or below it
};

/// Draw the use of one link in a layer of `cycles` cycles, as a path. Its class is `u` (uplink,
/// above the line) or `d` (downlink, below it). The height of the area is the share of each
/// sample's cycles that its flits take.
static void draw_link(FILE *out, const struct mw_monitor *m, unsigned port, bool down,
                      uint64_t cycles, const struct axis *axis)
{
    double y = axis->y;
    fprintf(out, "<path class=\"%c\" d=\"M%.1f %.1f", down ? 'd' : 'u', axis->left, y);
    for (size_t i = 0; i < m->samples; i++) {
        uint64_t from = (uint64_t)i * m->interval, to = from + m->interval;
        to = to < cycles ? to : cycles;
        const struct mw_sample *s = &m->list[i * m->ports + port];
        double taken = (double)(down ? s->down : s->up) * m->link_cycles;
        double use = to > from ? taken / (double)(to - from) : 0;
        double h = axis->half * (use < 1 ? use : 1);
        fprintf(out, "V%.1fH%.1f", down ? y + h : y - h, axis->left + axis->scale * (double)to);
    }
    fprintf(out, "V%.1fZ\"/>\n", y);
}

static void draw_series(FILE *out, const struct mw_monitor *m, uint64_t cycles, uint64_t most,
                        double top)
{
    for (unsigned p = 0; p < m->ports; p++) {
        double y = top + ROW * p + ROW / 2.0;
        const struct axis axis = {LEFT, TIME_W / (double)most, y, HALF};
        fprintf(out, "<text x=\"8\" y=\"%.1f\">port %u</text>\n", y + 4, p);
        draw_link(out, m, p, false, cycles, &axis);
        draw_link(out, m, p, true, cycles, &axis);
        fprintf(out, "<path class=\"g\" d=\"M%d %.1fh%d\"/>\n", LEFT, y, TIME_W);
    }
    double foot = top + ROW * m->ports, end = LEFT + TIME_W * (double)cycles / (double)most;
    fprintf(out,
            "<text x=\"%d\" y=\"%.1f\">0</text><text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">"
            "%" PRIu64 " cycles, %u a sample%s</text>\n",
            LEFT, foot + 12, end > LEFT + 160 ? end : LEFT + 160, foot + 12, cycles, m->interval,
            m->lost ? ", some lost" : "");
}

static double latency_x(double cycles)
{
    return HIST_X +
           HIST_W * log2(cycles < 1 ? 1 : cycles) / log2(mw_histogram_from(MW_HISTOGRAM_BINS));
}

/// Packets by latency, a bar a bin, on a logarithmic axis; the height is the share
/// of the largest bar.
static void draw_histogram(FILE *out, const struct mw_monitor *m, double top)
{
    static const struct {
        double share;
        const char *name;
    } marks[] = {{0.5, "50 %"}, {0.99, "99 %"}, {0.999, "99.9 %"}};
    double height = ROW * m->ports - 36.0, most = 0, foot = top + ROW * m->ports;
    struct mw_latencies all = mw_monitor_all(m);
    for (unsigned b = 0; b < MW_HISTOGRAM_BINS; b++)
        most = (double)all.bin[b] > most ? (double)all.bin[b] : most;
    for (unsigned b = 1; b < MW_HISTOGRAM_BINS && most > 0; b++) {
        double x = latency_x(mw_histogram_from(b)), w = latency_x(mw_histogram_from(b + 1)) - x;
        double h = height * (double)all.bin[b] / most;
        if (all.bin[b])
            fprintf(out,
                    "<rect class=\"h\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n", x,
                    foot - h, w, h);
    }
    for (unsigned i = 0; i < sizeof marks / sizeof *marks && most > 0; i++) {
        uint32_t latency = mw_latencies_at(&all, marks[i].share);
        double x = latency_x(latency);
        bool left = x > HIST_X + HIST_W - 70;
        fprintf(out, "<path class=\"p\" d=\"M%.1f %.1fV%.1f\"/>", x, top + 12.0 * i + 2, foot);
        fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s: %u</text>\n",
                left ? x - 3 : x + 3, top + 12.0 * i + 10, left ? "end" : "start", marks[i].name,
                latency);
    }
    fprintf(out, "<path class=\"g\" d=\"M%d %.1fh%d\"/>\n", HIST_X, foot, HIST_W);
    for (unsigned e = 0; e <= 16; e += 4)
        fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%u</text>\n",
                latency_x(1u << e), foot + 12, 1u << e);
}

static double panel_height(const struct mw_monitor *m)
{
    return TITLE + ROW * m->ports + FOOT;
}

static void draw_panel(FILE *out, const char *system, const char *layer,
                       const struct mw_layer_result *r, uint64_t most, double top)
{
    struct mw_latencies all = mw_monitor_all(r->monitor);
    fprintf(out, "<text class=\"t\" x=\"8\" y=\"%.1f\">%s, %s</text>\n", top + 16, system, layer);
    fprintf(out, "<text x=\"%d\" y=\"%.1f\">%" PRIu64 " packets by cycles in the switch</text>\n",
            HIST_X, top + 16, mw_latencies_packets(&all));
    draw_series(out, r->monitor, r->cycles, most, top + TITLE);
    draw_histogram(out, r->monitor, top + TITLE);
}

char *mw_plot_svg(const struct mw_captions *captions, const struct mw_summary *summaries,
                  unsigned count, size_t *size)
{
    uint64_t most = 1;
    double height = HEAD;
    for (unsigned i = 0; i < count; i++) {
        for (unsigned l = 0; l < summaries[i].result->layers; l++) {
            const struct mw_layer_result *r = &summaries[i].result->layer[l];
            most = r->monitor && r->cycles > most ? r->cycles : most;
            height += r->monitor ? panel_height(r->monitor) : 0;
        }
    }
    char *text = NULL;
    FILE *out = open_memstream(&text, size);
    if (!out)
        return NULL;
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\">\n%s"
            "<rect class=\"b\" width=\"%d\" height=\"%.0f\"/>\n"
            "<text x=\"8\" y=\"20\">Use of each port's links over time: <tspan class=\"t "
            "u\">uplink</tspan> "
            "above the line, <tspan class=\"t d\">downlink</tspan> below; full height is every "
            "cycle</text>\n",
            WIDTH, height, style, WIDTH, height);
    double top = HEAD;
    for (unsigned i = 0; i < count; i++) {
        for (unsigned l = 0; l < summaries[i].result->layers; l++) {
            const struct mw_layer_result *r = &summaries[i].result->layer[l];
            if (!r->monitor)
                continue;
            char name[MW_CAPTION_BYTES];
            draw_panel(out, summaries[i].system, mw_caption_layer(captions, l, name), r, most, top);
            top += panel_height(r->monitor);
        }
    }
    fputs("</svg>\n", out);
    if (fclose(out)) {
        free(text);
        return NULL;
    }
    return text;
}
