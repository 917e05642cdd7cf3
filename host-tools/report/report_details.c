// SPDX-License-Identifier: Apache-2.0
//
// The tables of `moeswitch run --details`, see report.h.
#include "report/report.h"

#include <inttypes.h>
#include <string.h>

/// Mean and busiest port, in KiB.
static void print_bytes(FILE *out, double mean, double most)
{
    char text[48];
    snprintf(text, sizeof text, "%.0f/%.0f", mean / 1024, most / 1024);
    fprintf(out, " %-15s", text);
}

void mw_report_traffic(FILE *out, const struct mw_summary *summaries, unsigned count)
{
    if (!count)
        return;
    fprintf(out, "\n%s%-14s %-31s %s\n%-14s %-15s %-15s %-15s %s%s\n", mw_look(out, MW_HEAD), "",
            "payload KiB, mean/busiest", "wire KiB, mean/busiest", "system", "up", "down", "up",
            "down", mw_look(out, MW_PLAIN));
    for (unsigned i = 0; i < count; i++) {
        const struct mw_summary *s = &summaries[i];
        fprintf(out, "%-14s", s->system);
        for (unsigned d = 0; d < MW_DIRECTIONS; d++)
            print_bytes(out, s->direction[d].payload_mean, s->direction[d].payload_max);
        for (unsigned d = 0; d < MW_DIRECTIONS; d++)
            print_bytes(out, s->direction[d].wire_mean, s->direction[d].wire_max);
        fputc('\n', out);
    }
}

/// Cycles of a part, and the GPU that it is of: "adder 1" is reported as 1.
static void print_part(FILE *out, const struct mw_summary_part *part)
{
    const char *number = strchr(part->at, ' ');
    fprintf(out, " %9" PRIu64 " %-6s", part->cycles, number ? number + 1 : part->at);
}

void mw_report_resources(FILE *out, const struct mw_summary *summaries, unsigned count)
{
    if (!count)
        return;
    fprintf(
        out,
        "\nCycles of the busiest adder, engine and memory in the layer; the limit is the longest "
        "of\nthese and the own bound\n%s%-14s %9s %-6s %9s %-6s %9s %-6s %9s %-13s %s%s\n",
        mw_look(out, MW_HEAD), "system", "adder", "of GPU", "engine", "of GPU", "banks", "of GPU",
        "limit", "", "limit %", mw_look(out, MW_PLAIN));
    for (unsigned i = 0; i < count; i++) {
        const struct mw_summary *s = &summaries[i];
        fprintf(out, "%-14s", s->system);
        print_part(out, &s->adder);
        print_part(out, &s->engine);
        print_part(out, &s->banks);
        fprintf(out, " %9" PRIu64 " %-13s %7.1f\n", s->limit.cycles, s->limit.at,
                100 * mw_ratio((double)s->limit.cycles, (double)s->cycles));
    }
}

static const struct mw_stall *find(const struct mw_summary *s, const char *cause)
{
    for (unsigned i = 0; i < s->stalls; i++)
        if (strcmp(s->stall[i].cause, cause) == 0)
            return &s->stall[i];
    return NULL;
}

/// Those of some systems, of which each cause that one of them has is a line.
static void print_stalls(FILE *out, const struct mw_summary *summaries, unsigned count)
{
    fprintf(out, "%s%-16s", mw_look(out, MW_HEAD), "cause");
    for (unsigned i = 0; i < count; i++)
        fprintf(out, " %13s", summaries[i].system);
    fprintf(out, "%s\n", mw_look(out, MW_PLAIN));
    for (unsigned from = 0; from < count; from++)
        for (unsigned c = 0; c < summaries[from].stalls; c++) {
            const char *cause = summaries[from].stall[c].cause;
            bool reported = false;
            for (unsigned i = 0; i < from; i++)
                reported |= find(&summaries[i], cause) != NULL;
            for (unsigned i = 0; !reported && i < count; i++) {
                const struct mw_stall *stall = find(&summaries[i], cause);
                if (!i)
                    fprintf(out, "%-16s", cause);
                fprintf(out, " %13" PRIu64, stall ? stall->cycles : 0);
            }
            if (!reported)
                fputc('\n', out);
        }
}

void mw_report_stalls(FILE *out, const struct mw_summary *summaries, unsigned count)
{
    enum { BESIDE = 6 }; // of the table's width
    if (count)
        fprintf(out, "\nCycles in which a part of the device had to wait, summed over all parts\n");
    for (unsigned i = 0; i < count; i += BESIDE)
        print_stalls(out, &summaries[i], count - i < BESIDE ? count - i : BESIDE);
}
