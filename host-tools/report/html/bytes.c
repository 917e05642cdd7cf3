// SPDX-License-Identifier: Apache-2.0
//
// Bytes that crossed each port's links: a column a port, up above the line and down below it, a colour
// a class.
#include "report/html/page.h"

#include <inttypes.h>

enum { HALF = 104, MIDDLE = HALF + 8, HEIGHT = 2 * MIDDLE + 16, TICKS = 3, LABELS = 8 };

static const char *const class_words[MW_CLASSES] = {"control", "stores", "reduction requests",
                                                    "partial sums and results"};

/// From the line on.
static const enum mw_class order[MW_CLASSES] = {MW_STORE, MW_PARTIAL, MW_REQUEST, MW_CTRL};

static double wire(const struct mw_page *p, const struct mw_summary *s, unsigned port,
                   unsigned direction)
{
    return (double)mw_traffic_flits(&s->traffic, port, (enum mw_direction)direction) *
           p->params->flit_bytes;
}

/// One direction of one port, classes from the line on, and where its payload would end.
static void column(struct mw_page *p, const struct mw_summary *s, unsigned port, unsigned d,
                   double most)
{
    FILE *out = p->out;
    double width = 100.0 / p->w->shape.gpus, x = width * (port + 0.14), scale = HALF / most, at = 0;
    for (unsigned i = 0; i < MW_CLASSES; i++) {
        uint64_t flits = s->traffic.flits[port][d][order[i]];
        double h = scale * (double)flits * p->params->flit_bytes;
        if (!flits)
            continue;
        fprintf(out,
                "<rect class=\"c%u\" x=\"%.3f%%\" y=\"%.2f\" width=\"%.3f%%\" height=\"%.2f\">"
                "<title>port %u %s, %s: %" PRIu64 " flits, %" PRIu64 " bytes</title></rect>",
                (unsigned)order[i], x, d == MW_UP ? MIDDLE - at - h : MIDDLE + at, width * 0.72, h,
                port, mw_direction_names[d], class_words[order[i]], flits,
                flits * p->params->flit_bytes);
        at += h;
    }
    double payload = scale * (double)s->traffic.payload[port][d],
           y = d == MW_UP ? MIDDLE - payload : MIDDLE + payload;
    fprintf(out,
            "<line class=\"payload\" x1=\"%.3f%%\" x2=\"%.3f%%\" y1=\"%.2f\" "
            "y2=\"%.2f\"><title>port %u %s: %" PRIu64 " bytes of payload</title></line>\n",
            x - width * 0.05, x + width * 0.77, y, y, port, mw_direction_names[d],
            s->traffic.payload[port][d]);
}

static void grid(struct mw_page *p, double most)
{
    double step = mw_page_step(most / 1024, TICKS) * 1024;
    for (int i = 1; i * step <= most; i++) {
        for (int side = -1; side <= 1; side += 2) {
            double y = MIDDLE + side * HALF * i * step / most;
            fprintf(p->out, "<line class=\"g\" x1=\"0\" x2=\"100%%\" y1=\"%.2f\" y2=\"%.2f\"/>", y,
                    y);
        }
    }
}

/// What stands beside the grid, in KiB.
static void scale(struct mw_page *p, double most)
{
    double step = mw_page_step(most / 1024, TICKS) * 1024;
    fprintf(p->out, "<svg height=\"%d\" aria-hidden=\"true\">", HEIGHT);
    for (int i = 0; i * step <= most; i++) {
        for (int side = -1; side <= (i ? 1 : -1); side += 2) {
            fprintf(p->out, "<text x=\"100%%\" y=\"%.2f\" text-anchor=\"end\">",
                    MIDDLE + side * HALF * i * step / most + 4);
            mw_page_tick(p->out, i * step / 1024);
            fprintf(p->out, "%s</text>", i ? " KiB" : "");
        }
    }
    fputs("</svg>\n", p->out);
}

static void panel(struct mw_page *p, const struct mw_summary *s, double most)
{
    FILE *out = p->out;
    unsigned gpus = p->w->shape.gpus, every = (gpus + LABELS - 1) / LABELS;
    fprintf(out, "<figure><figcaption><i class=\"s%u\"></i>%s</figcaption><div class=\"scaled\">",
            mw_page_colour(s), s->system);
    scale(p, most);
    fprintf(out, "<svg height=\"%d\" role=\"img\" aria-label=\"%s: KiB on each port", HEIGHT,
            s->system);
    for (unsigned d = 0; d < MW_DIRECTIONS; d++)
        fprintf(out, ", %s mean %.0f busiest %.0f", mw_direction_names[d],
                s->direction[d].wire_mean / 1024, s->direction[d].wire_max / 1024);
    fputs("\">\n", out);
    grid(p, most);
    for (unsigned port = 0; port < gpus; port++) {
        for (unsigned d = 0; d < MW_DIRECTIONS; d++)
            column(p, s, port, d, most);
        if (port % every == 0)
            fprintf(out, "<text x=\"%.3f%%\" y=\"%d\" text-anchor=\"middle\">%s%u</text>",
                    100 * (port + 0.5) / gpus, HEIGHT - 4, port ? "" : "port ", port);
    }
    fprintf(out, "<line class=\"zero\" x1=\"0\" x2=\"100%%\" y1=\"%d\" y2=\"%d\"/>", MIDDLE,
            MIDDLE);
    fputs("</svg></div></figure>\n", out);
}

static void means(struct mw_page *p)
{
    mw_page_folded(p, "bytes and use of the links, mean and busiest port",
                   MW_HEADS("system and direction", "payload, mean bytes", "busiest",
                            "on the wire, mean bytes", "busiest", "use, mean", "busiest"));
    for (unsigned i = 0; i < p->count; i++) {
        for (unsigned d = 0; d < MW_DIRECTIONS; d++) {
            const struct mw_summary *s = &p->summaries[i];
            const char *name = mw_direction_names[d];
            mw_page_row(p, "%s %s", s->system, name);
            mw_page_real(p, s->direction[d].payload_mean, 0, "/systems/%u/%s/payload_bytes_mean", i,
                         name);
            mw_page_uint(p, (uint64_t)s->direction[d].payload_max,
                         "/systems/%u/%s/payload_bytes_max", i, name);
            mw_page_real(p, s->direction[d].wire_mean, 0, "/systems/%u/%s/wire_bytes_mean", i,
                         name);
            mw_page_uint(p, (uint64_t)s->direction[d].wire_max, "/systems/%u/%s/wire_bytes_max", i,
                         name);
            mw_page_percent(p, s->direction[d].use_mean, "/systems/%u/%s/use_mean", i, name);
            mw_page_percent(p, s->direction[d].use_max, "/systems/%u/%s/use_max", i, name);
            mw_page_row_end(p);
        }
    }
    mw_page_table_end(p, true);
}

static void ports(struct mw_page *p)
{
    mw_page_folded(p, "flits by class and payload of each port",
                   MW_HEADS("system, port, direction", "control, flits", "stores, flits",
                            "requests, flits", "partial sums, flits", "payload, bytes"));
    for (unsigned i = 0; i < p->count; i++) {
        for (unsigned port = 0; port < p->w->shape.gpus; port++) {
            for (unsigned d = 0; d < MW_DIRECTIONS; d++) {
                const struct mw_traffic *t = &p->summaries[i].traffic;
                const char *name = mw_direction_names[d];
                mw_page_row(p, "%s, port %u %s", p->summaries[i].system, port, name);
                for (unsigned c = 0; c < MW_CLASSES; c++)
                    mw_page_uint(p, t->flits[port][d][c], "/systems/%u/ports/%u/%s/%s", i, port,
                                 name, mw_class_names[c]);
                mw_page_uint(p, t->payload[port][d], "/systems/%u/ports/%u/%s/payload_bytes", i,
                             port, name);
                mw_page_row_end(p);
            }
        }
    }
    mw_page_table_end(p, true);
}

void mw_page_bytes(struct mw_page *p)
{
    double most = 1;
    for (unsigned i = 0; i < p->count; i++)
        for (unsigned port = 0; port < p->w->shape.gpus; port++)
            for (unsigned d = 0; d < MW_DIRECTIONS; d++) {
                double bytes = wire(p, &p->summaries[i], port, d);
                most = bytes > most ? bytes : most;
            }
    fputs("<section aria-labelledby=\"bytes\"><h2 id=\"bytes\">Bytes per port and direction</h2>\n"
          "<p>What crossed each port&#8217;s links, headers and target lists included: GPU to "
          "switch (<b>up</b>) above the line, switch to GPU (<b>down</b>) below it. "
          "The stroke is where the payload alone would end.</p>\n<ul class=\"legend\">",
          p->out);
    for (unsigned c = 0; c < MW_CLASSES; c++)
        fprintf(p->out, "<li><i class=\"c%u\"></i>%s</li>", (unsigned)order[c],
                class_words[order[c]]);
    fputs("</ul>\n<div class=\"panels\">\n", p->out);
    for (unsigned i = 0; i < p->count; i++)
        panel(p, &p->summaries[i], most);
    fputs("</div>\n", p->out);
    means(p);
    ports(p);
    fputs("</section>\n", p->out);
}
