// SPDX-License-Identifier: Apache-2.0
//
// See costs.h. A time stated for a machine is scaled. Its share of a layer's strict link bound is
// the same as for the layer for which it is stated.
#include "analysis/costs.h"

#include "analysis/bounds.h"
#include "device/setting_table.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/// Picoseconds that a 16-byte flit takes at 450 GB/s, a direction of NVLink 4 of one GPU.
static const double FLIT_PS = 16e12 / 450e9;

/// The layer for which the times are stated: DySHARP's Large, DeepSeek-V3's, on 32 GPUs (arXiv
/// 2605.05607, workloads). Each GPU has as many tokens as a sequence.
static const struct {
    unsigned gpus, k, hidden, tokens;
} reference = {32, 8, 7168, 8192};

static const struct {
    const char *setting;
    size_t at;          ///< of struct mw_costs
    double nanoseconds; ///< of the preset `papers`; 0: no paper has one
    bool per_token;
} costs[] = {
    {"launch_cycles", offsetof(struct mw_costs, launch), 5000, false},
    {"exchange_cycles", offsetof(struct mw_costs, exchange), 1000, false},
    {"barrier_cycles", offsetof(struct mw_costs, barrier), 1000, false},
    {"poll_cycles", offsetof(struct mw_costs, poll), 500, false},
    {"address_cycles", offsetof(struct mw_costs, address), 14, true},
    {"order_cycles", offsetof(struct mw_costs, order), 0, true},
};

enum { COSTS = sizeof costs / sizeof *costs };

unsigned *mw_costs_place(struct mw_costs *c, const char *name)
{
    for (unsigned i = 0; i < COSTS; i++)
        if (strcmp(costs[i].setting, name) == 0)
            return (unsigned *)((char *)c + costs[i].at);
    return NULL;
}

bool mw_cost_presets(unsigned i, struct mw_term *term)
{
    static const struct mw_term presets[] = {
        [MW_COSTS_NONE] = {"none", "those alone that are set"},
        [MW_COSTS_PAPERS] = {"papers", "those of the papers' machines, scaled to the layer"}};
    if (i < sizeof presets / sizeof *presets)
        *term = presets[i];
    return i < sizeof presets / sizeof *presets;
}

int mw_set_costs(void *preset, const char *name, const char *text, struct mw_error *err)
{
    struct mw_term term;
    for (unsigned i = 0; mw_cost_presets(i, &term); i++)
        if (strcmp(term.name, text) == 0) {
            *(enum mw_cost_preset *)preset = (enum mw_cost_preset)i;
            return MW_EXIT_OK;
        }
    return mw_fail_choice(name, text, mw_cost_presets, err);
}

/// Minimum cycles of the busiest link of the reference layer, if experts are chosen evenly. It
/// carries a row up for each token, and a partial sum for each token of another GPU that has an
/// expert here.
static double reference_bound(void)
{
    double n = reference.gpus, others = (n - 1) * (1 - pow(1 - 1 / n, reference.k));
    double flits = 2.0 * reference.hidden / 16, row = flits + flits / 8,
           gate = 1 + reference.k / 4.0;
    return reference.tokens * ((1 + others) * row + gate);
}

/// A time in cycles of a layer of `w`.
static double scaled(const struct mw_link_parameters *link, const struct mw_workload *w,
                     double nanoseconds, bool per_token)
{
    double bound = 0;
    for (unsigned l = 0; l < w->layers; l++)
        bound += (double)mw_strict_link(w, l, link).cycles / w->layers;
    double share = nanoseconds * 1000 / FLIT_PS / reference_bound();
    return share * bound * (per_token ? (double)reference.tokens / w->shape.tokens_per_gpu : 1);
}

int mw_costs_fill(enum mw_cost_preset preset, struct mw_settings *settings,
                  const struct mw_link_parameters *link, const struct mw_workload *w,
                  struct mw_error *err)
{
    int status = MW_EXIT_OK;
    for (unsigned i = 0; i < COSTS && !status && preset == MW_COSTS_PAPERS; i++) {
        char text[64];
        if (costs[i].nanoseconds <= 0 ||
            mw_setting_value(settings, costs[i].setting, UINT64_MAX) != UINT64_MAX)
            continue;
        const struct mw_setting_kind *kind = mw_setting_find(costs[i].setting);
        uint64_t high = kind->high;
        double cycles = scaled(link, w, costs[i].nanoseconds, costs[i].per_token);
        if (cycles > (double)high)
            return mw_fail(err, MW_EXIT_INPUT,
                           "--costs papers: %s: %.0f in layers of this size, above %llu; say --set "
                           "%s=%llu for the most that there is",
                           costs[i].setting, cycles, (unsigned long long)high, costs[i].setting,
                           (unsigned long long)high);
        snprintf(text, sizeof text, "%s=%.0f", costs[i].setting, cycles);
        status = mw_add_run_setting(settings, "costs papers", text, err);
    }
    return status;
}

const char *mw_costs_text(enum mw_cost_preset preset, const struct mw_settings *settings,
                          char *text, size_t size)
{
    struct mw_term term;
    mw_cost_presets(preset, &term);
    size_t at = (size_t)snprintf(text, size, "%s", term.name);
    const char *before = " (", *behind = "";
    for (unsigned i = 0; i < COSTS && at < size; i++) {
        uint64_t cycles = mw_setting_value(settings, costs[i].setting, 0);
        if (!cycles)
            continue;
        at += (size_t)snprintf(text + at, size - at, "%s%s %llu", before, costs[i].setting,
                               (unsigned long long)cycles);
        before = ", ";
        behind = ")";
    }
    if (at < size)
        snprintf(text + at, size - at, "%s", behind);
    return text;
}
