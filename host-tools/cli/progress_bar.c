// SPDX-License-Identifier: Apache-2.0
//
// See progress_bar.h.
#include "cli/progress_bar.h"

#include <inttypes.h>
#include <string.h>

enum {
    BAR = 20,
    COLUMNS = 79, ///< of the line, which must not wrap
    DUE = 30,     ///< seconds between two lines where there is no terminal
};

/// A shorter time, or a smaller share, is too little to estimate the rest.
static const double TELLING_SECONDS = 1, TELLING_SHARE = 0.005, FRAME = 0.1;

void mw_bar_begin(struct mw_bar *p, FILE *out, bool terminal, double now)
{
    *p = (struct mw_bar){.out = out, .terminal = terminal, .begin = now, .last = now};
}

double mw_bar_done(const struct mw_bar *p)
{
    double done = 0, all = 0;
    for (unsigned i = 0; i < p->count; i++) {
        double share = p->part[i].done;
        done += p->part[i].weight * (share < 0 ? 0 : share > 1 ? 1 : share);
        all += p->part[i].weight;
    }
    return all > 0 ? done / all : 0;
}

static void time_left(const struct mw_bar *p, double done, double now, char *text, size_t size)
{
    double elapsed = now - p->begin;
    *text = 0;
    if (elapsed < TELLING_SECONDS || done < TELLING_SHARE)
        return;
    double seconds = elapsed * (1 - done) / done;
    unsigned s = seconds < 1e6 ? (unsigned)(seconds + 0.5) : 1000000;
    const char *left = p->count > 1 ? "for all" : "left"; // the name beside it is of one
    if (s < 60)
        snprintf(text, size, "%u s %s", s, left);
    else if (s < 3600)
        snprintf(text, size, "%u min %02u s %s", s / 60, s % 60, left);
    else
        snprintf(text, size, "%u h %02u min %s", s / 3600, s / 60 % 60, left);
}

/// What runs, and its cycles.
static uint64_t what_runs(const struct mw_bar *p, char *text, size_t size)
{
    unsigned running = 0;
    uint64_t cycles = 0;
    *text = 0;
    for (unsigned i = 0; i < p->count; i++) {
        if (!p->part[i].runs)
            continue;
        running++;
        cycles += p->part[i].cycles;
        snprintf(text, size, "%s", p->part[i].name);
    }
    if (running > 1)
        snprintf(text, size, "%u systems", running);
    return cycles;
}

static bool is_due(const struct mw_bar *p, double now)
{
    return now - p->last >= (p->terminal ? FRAME : DUE);
}

void mw_bar_show_share(struct mw_bar *p, double now, double done, const char *name,
                       const char *text)
{
    char left[32], bar[BAR + 1], line[160];
    if (!is_due(p, now))
        return;
    p->last = now;
    time_left(p, done, now, left, sizeof left);
    if (!p->terminal) {
        fprintf(p->out, "moeswitch: %s: %.0f %%, %s%s%s\n", name, 100 * done, text,
                *left ? ", " : "", left);
        fflush(p->out);
        return;
    }
    memset(bar, '.', BAR);
    memset(bar, '#', (size_t)(done * BAR));
    bar[BAR] = 0;
    snprintf(line, sizeof line, "%-13s [%s] %3.0f %%  %s  %s", name, bar, 100 * done, text, left);
    fprintf(p->out, "\r%-*.*s", COLUMNS, COLUMNS, line);
    fflush(p->out);
    p->drawn = true;
}

void mw_bar_show(struct mw_bar *p, double now)
{
    char name[32], clock[32] = "loading";
    if (!is_due(p, now))
        return;
    uint64_t cycles = what_runs(p, name, sizeof name);
    if (cycles)
        snprintf(clock, sizeof clock, "%" PRIu64 " cycles", cycles);
    mw_bar_show_share(p, now, mw_bar_done(p), name, clock);
}

void mw_bar_clear(struct mw_bar *p)
{
    if (p->drawn)
        fprintf(p->out, "\r%*s\r", COLUMNS, "");
    fflush(p->out);
    p->drawn = false;
}
