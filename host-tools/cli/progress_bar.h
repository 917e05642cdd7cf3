// SPDX-License-Identifier: Apache-2.0
//
// Progress of a run: on a terminal, a line that is redrawn. Elsewhere, a line at intervals, so that
// a log shows that a long run continues.
#ifndef MW_HOST_PROGRESS_BAR_H
#define MW_HOST_PROGRESS_BAR_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { MW_BAR_PARTS = 16 };

struct mw_bar {
    FILE *out;
    bool terminal;
    double begin, last; ///< seconds, of the run and of what was shown last
    bool drawn;         ///< a line is on the terminal
    unsigned count;
    /// Parts that run side by side, or one after the other.
    struct mw_bar_part {
        const char *name;
        double weight; ///< expected duration, in any unit
        double done;   ///< 0 .. 1
        uint64_t cycles;
        bool runs;
    } part[MW_BAR_PARTS];
};

/// Empty; parts are added by the caller. `now` is in seconds, on any clock that does not go back.
void mw_bar_begin(struct mw_bar *p, FILE *out, bool terminal, double now);
/// Share of all parts together that is done.
double mw_bar_done(const struct mw_bar *p);
/// Show it if it is time: on a terminal ten times a second, else every 30 seconds.
void mw_bar_show(struct mw_bar *p, double now);
/// The same of work that is not in parts: its share that is done, and two texts about it.
void mw_bar_show_share(struct mw_bar *p, double now, double done, const char *name,
                       const char *text);
/// Take the line off the terminal, so that something else can be printed.
void mw_bar_clear(struct mw_bar *p);

#endif
