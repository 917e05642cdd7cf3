// SPDX-License-Identifier: Apache-2.0
//
// The parts of the page that `moeswitch run --html` writes . The page is HTML5 that is
// well-formed XML, too, needs no other file and no script, and is as wide as its reader's screen:
// charts are SVG whose widths are percentages.
//
// Each figure of a table names its place in the JSON of the same run: `data-json` is the JSON Pointer
// (RFC 6901); where the text is rounded, `data-value` has the figure as the JSON does. A row of a table
// with `data-json` holds the elements of an array.
#ifndef MW_HOST_PAGE_H
#define MW_HOST_PAGE_H

#include "analysis/bounds.h"
#include "experiment/result.h"

/// A run as one page that needs no other file: HTML; free() it. NULL: no memory.
char *mw_report_html(const struct mw_run_params *params, const struct mw_trace *trace,
                     const struct mw_workload *w, const struct mw_summary *summaries,
                     unsigned count, size_t *size);

struct mw_page {
    FILE *out;
    const struct mw_run_params *params;
    const struct mw_trace *trace;
    const struct mw_workload *w;
    const struct mw_summary *summaries;
    unsigned count; ///< of summaries
};

// ---- words and figures (write.c) ----------------------------------------------------------------

/// Text from outside (text.h): characters that mean something to HTML as references.
void mw_page_text(FILE *out, const char *text);
/// A number as people read it: its digits in groups of three (U+202F between them).
void mw_page_digits(FILE *out, uint64_t value);
/// The same of a real one, with so many decimals.
void mw_page_decimal(FILE *out, double value, unsigned decimals);
/// The number of a chart's axis: 20 000 is "20 k".
void mw_page_tick(FILE *out, double value);
/// "layer 7", or with batches "layer 7, tokens from 512 on"; `layer` is an index.
void mw_page_layer(const struct mw_page *p, unsigned layer);

// ---- charts (charts.c) --------------------------------------------------------------------------

/// Which of mw_systems a summary is of: its colour is that of class s0, s1, ... (areas), k0, ... (lines).
unsigned mw_page_colour(const struct mw_summary *s);
/// The systems and their colours.
void mw_page_legend(const struct mw_page *p);
/// A distance of 1, 2 or 5 times a power of ten, so that an axis from 0 to `most` has at most `ticks`.
double mw_page_step(double most, unsigned ticks);
/// An axis from 0 to `most` cycles, as wide as what it is in.
void mw_page_axis(FILE *out, double most);

// ---- tables (table.c) ---------------------------------------------------------------------------

#define MW_HEADS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define MW_POINTER(at) __attribute__((format(printf, at, at + 1)))

/// A table that is always seen, or one that opens when its caption is chosen. A head may begin with "<": text
/// goes to the left.
void mw_page_table(struct mw_page *p, const char *caption, const char *const *heads);
void mw_page_folded(struct mw_page *p, const char *caption, const char *const *heads);
void mw_page_table_end(struct mw_page *p, bool folded);
/// A row, and its name.
void mw_page_row(struct mw_page *p, const char *name, ...) MW_POINTER(2);
void mw_page_row_end(struct mw_page *p);
/// A cell with a figure, and its place in the JSON.
void mw_page_uint(struct mw_page *p, uint64_t value, const char *pointer, ...) MW_POINTER(3);
void mw_page_percent(struct mw_page *p, double share, const char *pointer, ...) MW_POINTER(3);
void mw_page_real(struct mw_page *p, double value, unsigned decimals, const char *pointer, ...)
    MW_POINTER(4);
void mw_page_string(struct mw_page *p, const char *text, const char *pointer, ...) MW_POINTER(3);
/// "cycles" and "at" of a bound, in two cells.
void mw_page_bound(struct mw_page *p, const struct mw_bound *b, const char *pointer, ...)
    MW_POINTER(3);
/// A cell without a figure.
void mw_page_none(struct mw_page *p);

// ---- the page's parts ---------------------------------------------------------------------------

extern const char *const mw_page_style; ///< the page's CSS

void mw_page_head(struct mw_page *p);   ///< what was run, and in a sentence and cards what came out
void mw_page_cycles(struct mw_page *p); ///< of each system against its bounds
void mw_page_bytes(struct mw_page *p);  ///< of each port and direction
void mw_page_links(struct mw_page *p);  ///< their use over time
void mw_page_latency(struct mw_page *p);  ///< in the switch
void mw_page_stalls(struct mw_page *p);   ///< by cause
void mw_page_feeding(struct mw_page *p);  ///< of batches; nothing without them
void mw_page_workload(struct mw_page *p); ///< what the routing asks of each GPU
void mw_page_layers(struct mw_page *p);   ///< figures of each layer
void mw_page_foot(struct mw_page *p);     ///< parameters, and what simulated it

#endif
