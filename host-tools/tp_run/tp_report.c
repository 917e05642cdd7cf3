// SPDX-License-Identifier: Apache-2.0
//
// Figures of tensor-parallel workloads: summary, the lines above the table, errors, and JSON.
#include "analysis/bounds.h"
#include "analysis/packet_size.h"
#include "golden/golden.h"
#include "report/report.h"
#include "tp/shapes.h"
#include "tp/tp_bounds.h"
#include "tp_run/tp_run.h"

#include <inttypes.h>
#include <string.h>

static struct mw_link_parameters links(const struct mw_tp_problem *p)
{
    return (struct mw_link_parameters){.flit_bytes = p->flit_bytes, .link_cycles = p->link_cycles};
}

/// Print the time per row of each part, and for which parts the engine is slower than that.
static void report_parts(FILE *out, const struct mw_tp_problem *p)
{
    const uint64_t least = mw_tp_least_cycles(p);
    char given[100] = "", short_of[60] = "";
    for (unsigned i = 0; i < MW_TP_PARTS; i++) {
        const char *name = mw_tp_parts[i].name;
        const size_t g = strlen(given), s = strlen(short_of);
        if (!mw_tp_has(p, (enum mw_tp_part)i))
            continue;
        snprintf(given + g, sizeof given - g, "%s%s %" PRIu64, g ? ", " : "", name, p->cycles[i]);
        if (p->cycles[i] < least)
            snprintf(short_of + s, sizeof short_of - s, "%s%s", s ? ", " : "", name);
    }
    mw_report_paragraph(out, "cycles per row: %s", given);
    if (*short_of)
        mw_report_paragraph(out,
                            "note: the engine takes %" PRIu64
                            " cycles to read a row, which is longer than the time of %s",
                            least, short_of);
}

static void report_shape(FILE *out, const struct mw_tp_problem *p)
{
    const struct mw_tp_shape *shape = p->o.shape;
    mw_report_paragraph(out,
                        "%s: rows of %u bytes stand for rows of %u, whose cycles per KB they have; "
                        "GPUs at 70 %% of 989 Tflop/s and %d GB/s of memory (assumed), links of %u "
                        "GB/s",
                        shape->text, mw_tp_row_bytes(p), shape->row_bytes, MW_TP_MEMORY,
                        shape->link);
}

void mw_tp_report_head(FILE *out, const struct mw_tp_problem *p)
{
    struct mw_tp_bounds b;
    char at[48];
    mw_tp_bounds(p, mw_tp_systems[0], &b);
    mw_report_paragraph(
        out,
        "%s: %u GPUs, %u rows of %u bytes, tile %u, flits of %u bytes, seed %" PRIu64
        ", jitter %u %%, starts over %u cycles",
        mw_tp_kind_names[p->o.kind], p->gpus, p->o.rows, mw_tp_row_bytes(p), p->tile, p->flit_bytes,
        p->seed, p->o.jitter, p->o.start);
    if (p->o.shape)
        report_shape(out, p);
    report_parts(out, p);
    mw_report_paragraph(out, "strict bound %" PRIu64 " cycles (%s)", b.strict.cycles,
                        mw_bound_text(&b.strict, at, sizeof at));
}

enum { RED_BYTES = MW_PAYLOAD_MAX_BYTES }; ///< of each red

// ---- merged loads -------------------------------------------------------------------------------

/// Of all ports.
struct loads {
    uint64_t loads, fetches, bypasses, evictions, kept, spread;
    uint64_t entries, longest; ///< maximum over the ports
};

static bool merges(const struct mw_tp_result *r, const struct mw_tp_problem *p)
{
    return r->system->gather == MW_TP_MERGED && mw_tp_gathers(p);
}

static struct loads loads_of(const struct mw_tp_result *r, const struct mw_tp_problem *p)
{
    struct loads sum = {0};
    for (unsigned g = 0; g < p->gpus; g++) {
        sum.loads += r->loads.port[g].loads;
        sum.fetches += r->loads.port[g].fetches;
        sum.bypasses += r->loads.port[g].bypasses;
        sum.evictions += r->loads.port[g].evictions;
        sum.kept += r->loads.kept[g];
        sum.spread += r->loads.port[g].spread;
        if (r->loads.port[g].most_entries > sum.entries)
            sum.entries = r->loads.port[g].most_entries;
        if (r->loads.port[g].longest > sum.longest)
            sum.longest = r->loads.port[g].longest;
    }
    return sum;
}

/// Of the loads that can merge, the share that did. With two GPUs no load can merge.
static double merge_rate(const struct mw_tp_problem *p, const struct loads *sum)
{
    return mw_ratio((double)(sum->loads - sum->fetches),
                    (double)(p->gpus - 2) * p->o.rows * mw_tp_row_loads(p));
}

/// Mean cycles from the first to the last load of a table entry.
static double mean_spread(const struct loads *sum)
{
    return mw_ratio((double)sum->spread, (double)(sum->fetches - sum->bypasses));
}

void mw_tp_report_loads(FILE *out, const struct mw_tp_result *r, const struct mw_tp_problem *p)
{
    const struct loads sum = loads_of(r, p);
    char rate[48] = "none could be merged";
    if (!merges(r, p))
        return;
    if (p->gpus > 2)
        snprintf(rate, sizeof rate, "%.1f %% of the possible merges", 100 * merge_rate(p, &sum));
    mw_report_paragraph(out,
                        "%s: %" PRIu64 " loads, %s; %" PRIu64 " fetches, %" PRIu64
                        " of them bypassed the table; %" PRIu64
                        " loads answered by kept rows, %" PRIu64 " rows evicted; at most %" PRIu64
                        " entries of a port in use; %.1f cycles from first to last load of an "
                        "entry, at most %" PRIu64 " (of each modulo 65 536)",
                        r->system->name, sum.loads, rate, sum.fetches, sum.bypasses, sum.kept,
                        sum.evictions, sum.entries, mean_spread(&sum), sum.longest);
}

// ---- sums of reds -------------------------------------------------------------------------------

/// Reds of all other GPUs for a home, and those of them that can be added to another one.
static uint64_t reds_of(const struct mw_tp_problem *p)
{
    return (uint64_t)mw_tp_own(p) * (p->gpus - 1) * mw_div_up(mw_tp_row_bytes(p), RED_BYTES);
}
static uint64_t mergeable_of(const struct mw_tp_problem *p)
{
    return reds_of(p) / (p->gpus - 1) * (p->gpus - 2);
}

/// Counters of all ports together, but of the entries the maximum.
static struct mw_port_sums sums_of(const struct mw_tp_result *r, const struct mw_tp_problem *p)
{
    struct mw_port_sums sum = {0};
    for (unsigned g = 0; g < p->gpus; g++) {
        sum.reds += r->sums.port[g].reds;
        sum.sums += r->sums.port[g].sums;
        sum.parts += r->sums.port[g].parts;
        sum.saved_flits += r->sums.port[g].saved_flits;
        if (r->sums.port[g].most_entries > sum.most_entries)
            sum.most_entries = r->sums.port[g].most_entries;
    }
    return sum;
}

/// Additions that the switch made, as a share of the possible ones.
static double sum_rate(const struct mw_tp_problem *p, const struct mw_port_sums *sum)
{
    return mw_ratio((double)(sum->reds - sum->sums), (double)(p->gpus * mergeable_of(p)));
}

void mw_tp_report_sums(FILE *out, const struct mw_tp_result *r, const struct mw_tp_problem *p)
{
    const struct mw_port_sums sum = sums_of(r, p);
    char rate[48] = "none could be added up";
    if (!mw_tp_adds_up(r->system))
        return;
    if (p->gpus > 2)
        snprintf(rate, sizeof rate, "%.1f %% of the possible additions", 100 * sum_rate(p, &sum));
    mw_report_paragraph(out,
                        "%s: %" PRIu64 " reds in the switch, %s; %u sums left it, %u of them "
                        "without a red of every GPU; %u flits saved; at most %u entries of a "
                        "port in use",
                        r->system->name, p->gpus * reds_of(p), rate, sum.sums, sum.parts,
                        sum.saved_flits, sum.most_entries);
}

// ---- impossible counters ------------------------------------------------------------------------

/// A counter, and the range of its possible values.
struct counter_limit {
    const char *what;
    uint64_t counted, least, most;
};

/// Count the counters beyond their ranges. `first` receives the first of them. 0 if `before` errors
/// have been found.
static unsigned limit_errors(const struct counter_limit *limits, unsigned count, unsigned gpu,
                             unsigned before, struct mw_flit_error *first)
{
    unsigned found = 0;
    for (const struct counter_limit *l = limits; l < limits + count; l++)
        if ((l->counted < l->least || l->counted > l->most) && !before && !found++)
            *first = (struct mw_flit_error){0, gpu, "home", l->what, l->counted, l->least};
    return found;
}

static unsigned sum_errors(const struct mw_tp_result *r, const struct mw_tp_problem *p,
                           struct mw_flit_error *first)
{
    const uint64_t most = mergeable_of(p);
    unsigned found = 0;
    for (unsigned g = 0; g < p->gpus && mw_tp_adds_up(r->system); g++) {
        const struct mw_port_sums *c = &r->sums.port[g];
        const uint64_t flits = mw_packet_flits(RED_BYTES, 1, p->flit_bytes);
        const uint64_t saved = (uint64_t)(c->reds - c->sums) * flits;
        const struct counter_limit limits[] = {
            {"reds", c->reds, 0, p->gpus > 2 ? reds_of(p) : 0},
            {"sums", c->sums, c->reds > most ? c->reds - most : 0, c->reds},
            {"parts", c->parts, 0, c->sums},
            {"saved flits", c->saved_flits, saved, saved},
            {"entries", c->most_entries, 0, MW_BUILT_SUMS}};
        found += limit_errors(limits, sizeof limits / sizeof *limits, g, found, first);
    }
    return found;
}

static unsigned load_errors(const struct mw_tp_result *r, const struct mw_tp_problem *p,
                            struct mw_flit_error *first)
{
    const uint64_t all = (uint64_t)mw_tp_own(p) * (p->gpus - 1) * mw_tp_row_loads(p);
    const uint64_t least = mw_tp_least_fetches(p);
    const bool table = p->o.merge_entries && !p->o.no_merge;
    unsigned found = 0;
    for (unsigned g = 0; g < p->gpus && merges(r, p); g++) {
        const struct counter_limit limits[] = {
            {"loads", r->loads.port[g].loads, all, all},
            {"fetches", r->loads.port[g].fetches, least, all},
            {"bypasses", r->loads.port[g].bypasses, table ? 0 : all, all},
            {"evictions", r->loads.port[g].evictions, 0, p->o.keep ? all : 0},
            {"kept", r->loads.kept[g], 0, p->o.keep ? all : 0},
            {"entries", r->loads.port[g].most_entries, 0, table ? p->o.merge_entries : 0}};
        found += limit_errors(limits, sizeof limits / sizeof *limits, g, found, first);
    }
    return found;
}

// ---- sums and mistakes --------------------------------------------------------------------------

/// Add to the list the reds that the switch could have added to another one, and did not.
static void add_sums(const struct mw_tp_result *r, const struct mw_tp_problem *p,
                     struct mw_traffic *t)
{
    for (unsigned g = 0; g < p->gpus; g++) {
        const uint64_t saved = r->sums.port[g].reds - r->sums.port[g].sums;
        const uint64_t more = mergeable_of(p) - saved; // the list saves all
        t->flits[g][MW_DOWN][MW_STORE] += more * mw_packet_flits(RED_BYTES, 1, p->flit_bytes);
        t->payload[g][MW_DOWN] += more * RED_BYTES;
    }
}

/// Count the counters that differ from the list. `first` receives the first of them.
static unsigned flit_errors(const struct mw_tp_result *r, const struct mw_tp_problem *p,
                            struct mw_flit_error *first)
{
    struct mw_traffic want[MW_TP_PHASES];
    const struct mw_traffic *got = &r->layer.traffic;
    uint64_t fetches[MW_MAX_PORTS] = {0};
    unsigned found = load_errors(r, p, first);
    struct mw_flit_error of_sums;
    const unsigned sums = sum_errors(r, p, &of_sums);
    if (sums && !found)
        *first = of_sums;
    found += sums;
    for (unsigned g = 0; g < p->gpus; g++)
        fetches[g] = r->loads.port[g].fetches;
    mw_tp_traffic(p, r->system, fetches, want);
    for (unsigned i = 1; i < MW_TP_PHASES; i++)
        mw_traffic_add(&want[0], &want[i]);
    if (mw_tp_adds_up(r->system))
        add_sums(r, p, &want[0]);
    for (unsigned g = 0; g < p->gpus; g++)
        for (unsigned d = 0; d < MW_DIRECTIONS; d++)
            for (unsigned c = 0; c <= MW_CLASSES; c++) {
                const bool payload = c == MW_CLASSES;
                const uint64_t counted = payload ? got->payload[g][d] : got->flits[g][d][c];
                const uint64_t listed = payload ? want->payload[g][d] : want->flits[g][d][c];
                const uint64_t more = payload ? 0 : want->gathered[g][d][c];
                if ((counted < listed || counted > listed + more) && !found++)
                    *first = (struct mw_flit_error){0,
                                                    g,
                                                    mw_direction_names[d],
                                                    payload ? "payload" : mw_class_names[c],
                                                    counted,
                                                    listed};
            }
    return found;
}

static void set_part(struct mw_summary_part *part, const struct mw_bound *b)
{
    part->cycles = b->cycles;
    mw_bound_text(b, part->at, sizeof part->at);
}

void mw_tp_summarize(struct mw_tp_result *r, const struct mw_tp_problem *p, uint64_t base_cycles,
                     const char *over)
{
    struct mw_summary *s = &r->summary;
    const struct mw_link_parameters link = links(p);
    struct mw_tp_bounds b;
    struct mw_flit_error first;
    mw_tp_bounds(p, r->system, &b);
    *s = (struct mw_summary){.system = r->system->name,
                             .over = over,
                             .result = &r->run,
                             .cycles = r->layer.cycles,
                             .wrong = r->layer.wrong,
                             .strict = b.strict.cycles,
                             .own = b.own.cycles,
                             .own_link = b.own_link.cycles,
                             .flit_errors = flit_errors(r, p, &first),
                             .below_bound = r->layer.cycles < b.own.cycles,
                             .traffic = r->layer.traffic,
                             .stalls = r->layer.stalls};
    memcpy(s->stall, r->layer.stall, sizeof s->stall);
    set_part(&s->adder, &b.adder);
    set_part(&s->engine, &b.engine);
    set_part(&s->banks, &b.banks);
    set_part(&s->limit, &b.limit);
    mw_bound_text(&b.strict, s->strict_at, sizeof s->strict_at);
    mw_bound_text(&b.own, s->own_at, sizeof s->own_at);
    s->speedup = mw_ratio((double)base_cycles, (double)s->cycles);
    s->strict_share = mw_ratio((double)s->strict, (double)s->cycles);
    s->own_share = mw_ratio((double)s->own, (double)s->cycles);
    s->cycles_per_second = mw_ratio((double)r->run.simulated_cycles, r->run.seconds);
    mw_summarize_links(s, p->gpus, &link);
}

int mw_tp_report_differences(FILE *err, const struct mw_tp_result *r, const struct mw_tp_problem *p)
{
    const char *name = r->system->name;
    const struct mw_tp_mismatch *m = &r->first;
    struct mw_flit_error e;
    if (r->layer.wrong)
        fprintf(err,
                "moeswitch: %s: %" PRIu64
                " wrong elements, first: GPU %u, row %u, element %u: expected 0x%04x (%g), got "
                "0x%04x (%g)\n",
                name, r->layer.wrong, m->gpu, m->row, m->element, m->expected,
                (double)mw_bf16_to_float(m->expected), m->got, (double)mw_bf16_to_float(m->got));
    if (r->summary.below_bound)
        fprintf(err,
                "moeswitch: %s: took %" PRIu64 " cycles, less than its own bound of %" PRIu64 "\n",
                name, r->summary.cycles, r->summary.own);
    if (flit_errors(r, p, &e))
        fprintf(err,
                "moeswitch: %s: %u counters differ from the analytic list, first: port %u %s, %s: "
                "expected %" PRIu64 ", counted %" PRIu64 "\n",
                name, r->summary.flit_errors, e.port, e.direction, e.what, e.expected, e.counted);
    return r->layer.wrong || r->summary.below_bound || r->summary.flit_errors ? MW_EXIT_MISMATCH
                                                                              : MW_EXIT_OK;
}

// ---- JSON ---------------------------------------------------------------------------------------

static void json_params(struct mw_json *j, const struct mw_run_params *params,
                        const struct mw_tp_problem *p)
{
    mw_json_object(j, "params", false);
    mw_json_string(j, "workload", mw_tp_kind_names[p->o.kind]);
    mw_json_uint(j, "gpus", p->gpus);
    mw_json_uint(j, "rows", p->o.rows);
    mw_json_uint(j, "hidden", p->hidden);
    mw_json_uint(j, "tile", p->tile);
    if (params->expert_cycles_given)
        mw_json_uint(j, "expert_cycles", params->expert_cycles);
    else
        mw_json_null(j, "expert_cycles");
    for (unsigned i = 0; i < MW_TP_PARTS; i++)
        if (mw_tp_has(p, (enum mw_tp_part)i))
            mw_json_uint(j, mw_tp_parts[i].key, p->cycles[i]);
        else
            mw_json_null(j, mw_tp_parts[i].key);
    mw_json_string(j, "shape", p->o.shape ? p->o.shape->name : NULL);
    mw_json_uint(j, "jitter", p->o.jitter);
    mw_json_uint(j, "start_spread", p->o.start);
    mw_json_uint(j, "merge_entries", p->o.merge_entries);
    mw_json_uint(j, "load_bytes", p->o.load_bytes);
    mw_json_bool(j, "keep_answers", p->o.keep);
    mw_json_bool(j, "no_merge", p->o.no_merge);
    mw_json_bool(j, "no_sync", p->o.no_sync);
    mw_json_uint(j, "flit_bytes", p->flit_bytes);
    mw_json_uint(j, "link_latency", params->link_latency);
    mw_json_uint(j, "link_cycles", p->link_cycles);
    mw_json_uint(j, "open_rows", params->open_rows);
    mw_json_uint(j, "seed", p->seed);
    mw_json_object(j, "settings", true);
    for (unsigned i = 0; i < params->settings.count; i++)
        mw_json_uint(j, params->settings.item[i].name, params->settings.item[i].value);
    mw_json_end(j);
    mw_json_end(j);
}

static void json_part(struct mw_json *j, const char *key, const struct mw_summary_part *part)
{
    mw_json_object(j, key, true);
    mw_json_uint(j, "cycles", part->cycles);
    mw_json_string(j, "at", part->at);
    mw_json_end(j);
}

static void json_first(struct mw_json *j, const struct mw_tp_mismatch *m)
{
    mw_json_object(j, "first_wrong", true);
    mw_json_uint(j, "gpu", m->gpu);
    mw_json_uint(j, "row", m->row);
    mw_json_uint(j, "element", m->element);
    mw_json_uint(j, "expected", m->expected);
    mw_json_uint(j, "got", m->got);
    mw_json_end(j);
}

static void json_loads(struct mw_json *j, const struct mw_tp_result *r,
                       const struct mw_tp_problem *p)
{
    const struct loads sum = loads_of(r, p);
    mw_json_object(j, "loads", true);
    mw_json_uint(j, "loads", sum.loads);
    mw_json_uint(j, "fetches", sum.fetches);
    mw_json_uint(j, "bypasses", sum.bypasses);
    mw_json_uint(j, "evictions", sum.evictions);
    mw_json_uint(j, "kept", sum.kept);
    if (p->gpus > 2)
        mw_json_double(j, "merge_rate", merge_rate(p, &sum));
    else
        mw_json_null(j, "merge_rate");
    mw_json_uint(j, "most_entries", sum.entries);
    mw_json_double(j, "spread_mean", mean_spread(&sum));
    mw_json_uint(j, "spread_most", sum.longest);
    mw_json_end(j);
}

static void json_sums(struct mw_json *j, const struct mw_tp_result *r,
                      const struct mw_tp_problem *p)
{
    const struct mw_port_sums sum = sums_of(r, p);
    mw_json_object(j, "sums", true);
    mw_json_uint(j, "reds", p->gpus * reds_of(p));
    mw_json_uint(j, "taken", sum.reds);
    mw_json_uint(j, "sums", sum.sums);
    mw_json_uint(j, "parts", sum.parts);
    mw_json_uint(j, "saved_flits", sum.saved_flits);
    if (p->gpus > 2)
        mw_json_double(j, "merge_rate", sum_rate(p, &sum));
    else
        mw_json_null(j, "merge_rate");
    mw_json_uint(j, "most_entries", sum.most_entries);
    mw_json_end(j);
}

static void json_system(struct mw_json *j, const struct mw_tp_result *r,
                        const struct mw_tp_problem *p)
{
    const struct mw_summary *s = &r->summary;
    mw_json_object(j, NULL, false);
    mw_report_json_summary(j, s, p->gpus);
    mw_json_uint(j, "ranges", r->system->ranges(p));
    json_part(j, "adder", &s->adder);
    json_part(j, "engine", &s->engine);
    json_part(j, "banks", &s->banks);
    json_part(j, "limit", &s->limit);
    if (merges(r, p))
        json_loads(j, r, p);
    if (mw_tp_adds_up(r->system))
        json_sums(j, r, p);
    if (r->layer.wrong)
        json_first(j, &r->first);
    if (r->layer.monitor)
        mw_monitor_json(j, r->layer.monitor);
    mw_report_json_wall(j, s);
    mw_json_end(j);
}

int mw_tp_report_json(struct mw_json *j, const struct mw_run_params *params,
                      const struct mw_tp_problem *p, const struct mw_tp_result *results,
                      unsigned count, struct mw_error *err)
{
    int status = mw_json_open(j, err);
    if (status)
        return status;
    mw_json_object(j, NULL, false);
    mw_json_string(j, "tool", "moeswitch " MW_VERSION);
    json_params(j, params, p);
    mw_json_array(j, "systems", false);
    for (unsigned i = 0; i < count; i++)
        json_system(j, &results[i], p);
    mw_json_end(j);
    mw_json_end(j);
    return mw_json_close(j, err);
}
