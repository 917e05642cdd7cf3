// SPDX-License-Identifier: Apache-2.0
//
// See forecast.h.
#include "run/forecast.h"

#include "analysis/bounds.h"
#include "analysis/fit.h"
#include "analysis/resources.h"
#include "base/text.h"
#include "base/text_wrap.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    MOVES = 3,          ///< rows go in, a pattern takes the place of results, and results come out
    FEEDINGS = 2,       ///< with batches every layer runs twice more
    LEAST_HIDDEN = 512, ///< what docs/reference/scaling.md compares with larger ones
};

/// A quarter of the rows in tiles that never fill: an expert has two tiles on average.
static const double MUCH_PARTIAL = 0.25;

/// Cycles per second of one simulation: on one thread, and with a second core for the switch.
/// Measured by `bench/figures.py --speed` (docs/reference/performance.md), on which the
/// eight systems of `make run` lie from 146 to 274 thousand. For other numbers of GPUs as
/// many nodes per second. A cycle of 4 GPUs takes the time of one of 2, and a 1.85th of the
/// processor time of one of 8.
static const struct {
    unsigned gpus;
    double one, two;
} speeds[] = {
    {2, 272e3, 368e3}, {4, 272e3, 368e3}, {8, 147e3, 199e3}, {16, 69e3, 100e3}, {32, 23e3, 38e3}};

enum { SPEEDS = sizeof speeds / sizeof *speeds };

static double default_rate(unsigned gpus, unsigned jobs)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned i = 0;
    while (i + 1 < SPEEDS && speeds[i].gpus < gpus)
        i++;
    const double beside = jobs < 2 && cores > 1 ? speeds[i].two : speeds[i].one;
    const double at_once = cores > 0 && jobs > cores ? (double)cores : jobs;
    return beside * at_once * speeds[i].gpus / gpus;
}

/// Cycles in which every GPU moves all of its own rows once.
static uint64_t move_cycles(const struct mw_workload *w, unsigned flit_bytes)
{
    uint64_t stride = 1;
    while (stride < 2ull * w->shape.hidden)
        stride *= 2;
    return w->shape.tokens_per_gpu * stride / flit_bytes;
}

uint64_t mw_forecast_cycles(const struct mw_workload *w, const struct mw_run_params *params,
                            const struct mw_system *system)
{
    const struct mw_link_parameters link = mw_run_links(params);
    uint64_t cycles = 0;
    for (unsigned l = 0; l < w->layers; l++) {
        struct mw_bounds bounds;
        struct mw_resources resources;
        mw_bounds_compute(w, l, system, &link, &bounds);
        mw_resources_compute(w, l, system, link.flit_bytes, &bounds, &resources);
        cycles += resources.limit.cycles + MOVES * move_cycles(w, link.flit_bytes);
    }
    return cycles * (w->shape.batches ? 1 + FEEDINGS : 1);
}

static uint64_t all_cycles(const struct mw_workload *w, const struct mw_run_params *params,
                           const struct mw_system *systems, unsigned count)
{
    uint64_t cycles = 0;
    for (unsigned i = 0; i < count; i++)
        cycles += mw_forecast_cycles(w, params, &systems[i]);
    return cycles * mw_run_planes_of(params);
}

/// Halve the hidden size, with the same routing, until the run is short enough; then reduce the
/// tokens.
static void find_smaller(struct mw_forecast *f, const struct mw_run_params *params,
                         const struct mw_workload *w, const struct mw_system *systems)
{
    struct mw_run_params p = *params;
    struct mw_workload smaller = *w;
    while (f->smaller_seconds > MW_FORECAST_LONG && smaller.shape.hidden / 2 >= LEAST_HIDDEN) {
        smaller.shape.hidden /= 2;
        p.expert_cycles = params->expert_cycles * smaller.shape.hidden / w->shape.hidden;
        f->smaller_seconds = (double)all_cycles(&smaller, &p, systems, f->systems) / f->rate;
    }
    f->hidden = smaller.shape.hidden;
    f->expert_cycles = p.expert_cycles;
    while (f->smaller_seconds > MW_FORECAST_LONG && f->tokens_per_gpu > 1) {
        f->tokens_per_gpu /= 2;
        f->smaller_seconds /= 2;
    }
}

void mw_forecast_make(struct mw_forecast *f, const struct mw_run_params *params,
                      const struct mw_workload *w, const struct mw_system *systems, unsigned count,
                      uint64_t memory)
{
    const unsigned most = params->all_planes ? mw_run_planes_of(params) : count;
    const unsigned jobs = params->jobs < most ? params->jobs : most;
    *f = (struct mw_forecast){.systems = count,
                              .cycles = all_cycles(w, params, systems, count),
                              .memory = memory,
                              .hidden = w->shape.hidden,
                              .tokens_per_gpu = w->shape.tokens_per_gpu,
                              .expert_cycles = params->expert_cycles};
    if (params->device.usb)
        return;
    f->rate = default_rate(w->shape.gpus, jobs);
    f->seconds = f->smaller_seconds = (double)f->cycles / f->rate;
    find_smaller(f, params, w, systems);
}

static const char *time_text(double seconds, char *text, size_t size)
{
    const unsigned long s = seconds < 1e9 ? (unsigned long)(seconds + 0.5) : 1000000000;
    if (s < 60)
        snprintf(text, size, "%lu s", s);
    else if (s < 3600)
        snprintf(text, size, "%lu min %02lu s", s / 60, s % 60);
    else
        snprintf(text, size, "%lu h %02lu min", s / 3600, s / 60 % 60);
    return text;
}

/// Of a whole row, where a plane of a machine has a share of it.
static unsigned whole_hidden(const struct mw_forecast *f, const struct mw_run_params *params)
{
    return params->hardware ? f->hidden * params->plane.row_hidden / params->shape.hidden
                            : f->hidden;
}

static void print_smaller(FILE *out, const struct mw_forecast *f,
                          const struct mw_run_params *params)
{
    char text[512], expert[48] = "", tokens[48] = "", seconds[32];
    if (params->expert_cycles_given)
        snprintf(expert, sizeof expert, " --expert-cycles %" PRIu64, f->expert_cycles);
    if (f->tokens_per_gpu != params->shape.tokens_per_gpu)
        snprintf(tokens, sizeof tokens, " --tokens-per-gpu %u", f->tokens_per_gpu);
    snprintf(text, sizeof text,
             "--hidden %u%s%s takes about %s and has about the same shares and speed-ups "
             "(docs/reference/scaling.md says by how much they differ)",
             whole_hidden(f, params), expert, tokens,
             time_text(f->smaller_seconds, seconds, sizeof seconds));
    mw_wrap(out, text, 0, 2, MW_TABLE_WIDTH);
}

void mw_forecast_print(FILE *out, const struct mw_forecast *f, const struct mw_run_params *params)
{
    char text[512], memory[64] = "", seconds[96] = "", amount[32];
    if (f->memory)
        snprintf(memory, sizeof memory, ", %s of memory",
                 mw_bytes_text(f->memory, amount, sizeof amount));
    if (f->rate > 0)
        snprintf(seconds, sizeof seconds, ", about %s at %.0f kcycles/s",
                 time_text(f->seconds, amount, sizeof amount), f->rate / 1000);
    snprintf(text, sizeof text,
             "%u system%s, some %" PRIu64 " cycles to simulate (bounds, and moving data)%s%s",
             f->systems, f->systems > 1 ? "s" : "", f->cycles, seconds, memory);
    mw_wrap(out, text, 0, 2, MW_TABLE_WIDTH);
    if (f->seconds > MW_FORECAST_LONG)
        print_smaller(out, f, params);
}

// ---- tiles --------------------------------------------------------------------------------------

void mw_tile_fill(const struct mw_workload *w, unsigned tile, struct mw_tile_fill *fill)
{
    uint64_t all = 0, partial = 0;
    *fill = (struct mw_tile_fill){0};
    uint32_t *rows = malloc(w->experts * sizeof *rows);
    if (!rows) // a note less
        return;
    for (unsigned l = 0; l < w->layers; l++) {
        for (unsigned e = 0; e < w->experts; e++)
            rows[e] = 0;
        for (size_t i = 0; i < (size_t)w->tokens * w->k; i++)
            if (w->layer[l].ids[i] != MW_NO_EXPERT)
                rows[w->layer[l].ids[i]]++;
        for (unsigned e = 0; e < w->experts; e++) {
            all += rows[e];
            partial += rows[e] % tile;
        }
    }
    free(rows);
    fill->rows_per_expert = (double)all / ((double)w->layers * w->experts);
    fill->partial = all ? (double)partial / (double)all : 0;
}

static unsigned power_of_two(double least)
{
    unsigned n = 1;
    while (n < least)
        n *= 2;
    return n;
}

void mw_forecast_print_tile(FILE *out, const struct mw_workload *w, unsigned tile)
{
    enum { TILES = 4 }; // of an expert, where an eighth of the rows is in such tiles
    char text[512], smaller[48] = "";
    struct mw_tile_fill fill;
    mw_tile_fill(w, tile, &fill);
    if (fill.partial < MUCH_PARTIAL || fill.rows_per_expert <= 0)
        return;
    if (fill.rows_per_expert >= TILES)
        snprintf(smaller, sizeof smaller, ", or --tile %u",
                 power_of_two(fill.rows_per_expert / TILES / 2 + 0.5));
    const double tokens = w->shape.tokens_per_gpu * TILES * tile / fill.rows_per_expert;
    snprintf(
        text, sizeof text,
        "note: the layer is too small for its tile: experts get %.1f rows on average, "
        "a tile has %u, and %.0f %% of all rows wait in tiles that never fill, so latency decides, "
        "not the links: --tokens-per-gpu %u%s",
        fill.rows_per_expert, tile, 100 * fill.partial, power_of_two(tokens), smaller);
    mw_wrap(out, text, 0, 2, MW_TABLE_WIDTH);
}
