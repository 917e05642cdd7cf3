// SPDX-License-Identifier: Apache-2.0
//
// What several charts of the page have, see page.h.
#include "report/html/page.h"
#include "systems/system_list.h"

#include <math.h>
#include <string.h>

enum { TICKS = 5 };

unsigned mw_page_colour(const struct mw_summary *s)
{
    unsigned i = 0;
    while (i + 1 < MW_SYSTEMS && strcmp(mw_systems[i].name, s->system) != 0)
        i++;
    return i;
}

void mw_page_legend(const struct mw_page *p)
{
    fputs("<ul class=\"legend\">", p->out);
    for (unsigned i = 0; i < p->count; i++)
        fprintf(p->out, "<li><i class=\"s%u\"></i>%s</li>", mw_page_colour(&p->summaries[i]),
                p->summaries[i].system);
    fputs("</ul>\n", p->out);
}

double mw_page_step(double most, unsigned ticks)
{
    static const double part[] = {1, 2, 5, 10};
    double least = most / ticks, power = pow(10, floor(log10(least > 0 ? least : 1)));
    for (unsigned i = 0; i < 3; i++)
        if (part[i] * power >= least)
            return part[i] * power;
    return 10 * power;
}

void mw_page_axis(FILE *out, double most)
{
    double step = mw_page_step(most, TICKS);
    fputs("<svg height=\"20\" aria-hidden=\"true\">", out);
    for (unsigned i = 0; i * step <= most * 0.97; i++) {
        double x = 100 * i * step / most;
        fprintf(out,
                "<line class=\"g\" x1=\"%.3f%%\" x2=\"%.3f%%\" y1=\"0\" y2=\"5\"/>"
                "<text x=\"%.3f%%\" y=\"16\"%s>",
                x, x, x, i ? " text-anchor=\"middle\"" : "");
        mw_page_tick(out, i * step);
        fprintf(out, "%s</text>", i ? "" : " cycles");
    }
    fputs("</svg>", out);
}
