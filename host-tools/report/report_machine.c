// SPDX-License-Identifier: Apache-2.0
//
// What a run is on a machine (--hardware): microseconds and GB/s, see report.h.
//
// Bandwidths as nccl-tests define them, of one GPU. The algorithm's bandwidth counts what a layer
// must move: the rows of dispatch and combine that have a remote target, in the busier direction.
// The bus bandwidth counts payload that the busiest link did carry in one direction. All planes
// together.
#include "report/report.h"

#include "analysis/facts.h"
#include "base/text.h"
#include "trace/row_type.h"

#include <inttypes.h>
#include <string.h>

/// Bytes of whole rows of a type that a GPU sends to others in dispatch, mean: each token's row to
/// each of its remote GPUs. As many partial sums come back in combine, which are bf16.
static double row_bytes(const struct mw_run_params *p, const struct mw_workload *w, unsigned type)
{
    const double row = (double)mw_row_type_bytes(type, p->plane.row_hidden);
    double bytes = 0;
    for (unsigned l = 0; l < w->layers; l++) {
        struct mw_layer_facts facts;
        mw_layer_facts(w, l, &facts);
        bytes += facts.remote_gpus_per_token * w->shape.tokens_per_gpu * row;
    }
    return bytes;
}

/// A column of the table, and a member of JSON. One of a phase is empty where phases overlap.
struct figure {
    const char *name, *head, *unit;
    bool of_phase;
    double value;
};

enum { FIGURES = 8 };

static void figures_of(struct figure figure[FIGURES], const struct mw_run_params *p,
                       const struct mw_workload *w, const struct mw_summary *s)
{
    const struct mw_phase_cycles *c = &s->phases;
    const double us = mw_plane_us(&p->plane, (double)s->cycles);
    const double dispatch = mw_plane_us(&p->plane, (double)c->dispatch);
    const double expert = mw_plane_us(&p->plane, (double)c->expert);
    const double combine = mw_plane_us(&p->plane, (double)c->combine);
    const double gbytes = p->hardware->planes / 1e3;
    const double rows = row_bytes(p, w, w->shape.dispatch_type) / 1e3;
    const double sums = row_bytes(p, w, MW_ROWTYPE_BF16) / 1e3;
    double bus = 0;
    for (unsigned d = 0; d < MW_DIRECTIONS; d++)
        bus = s->direction[d].payload_max > bus ? s->direction[d].payload_max : bus;
    const struct figure made[FIGURES] = {
        {"us", "layer", "us", false, us},
        {"dispatch_us", "dispatch", "us", true, dispatch},
        {"expert_us", "experts", "us", true, expert},
        {"combine_us", "combine", "us", true, combine},
        {"algorithm_gbytes_per_s", "algorithm", "GB/s", false, mw_ratio(rows + sums, us)},
        {"bus_gbytes_per_s", "bus", "GB/s", false, mw_ratio(bus * gbytes, us)},
        {"dispatch_gbytes_per_s", "dispatch", "GB/s", true, mw_ratio(rows, dispatch)},
        {"combine_gbytes_per_s", "combine", "GB/s", true, mw_ratio(sums, combine)},
    };
    memcpy(figure, made, sizeof made);
}

void mw_report_machine_head(FILE *out, const struct mw_run_params *p)
{
    const struct mw_hardware *h = p->hardware;
    char expert[160] = "", planes[40];
    if (!h)
        return;
    snprintf(planes, sizeof planes, p->all_planes ? "each plane of %u" : "one plane of %u",
             h->planes);
    if (p->plane.expert_cycles)
        snprintf(expert, sizeof expert,
                 "; an expert's row takes %" PRIu64 " cycles by the roofline of %s (%s)",
                 p->plane.expert_cycles, mw_gemm_names[p->gemm],
                 p->plane.weights_share > 1 ? "memory: its weights" : "FLOPS");
    mw_report_paragraph(out,
                        "%s: %s, with the largest share of a row (%u of %u values); a cycle is "
                        "%.3f ns, %g GB/s per direction and plane, link latency %g ns%s",
                        MW_SHOWN(h->name), planes, p->plane.hidden, p->plane.row_hidden,
                        p->plane.cycle_ns, h->link_gbytes / h->planes,
                        p->link_latency * p->plane.cycle_ns, expert);
}

static void print_head(FILE *out, const struct figure figure[FIGURES])
{
    fprintf(out, "\n%-14s", "");
    for (unsigned f = 0; f < FIGURES; f++)
        fprintf(out, " %9s", figure[f].head);
    fprintf(out, "\n%-14s", "system");
    for (unsigned f = 0; f < FIGURES; f++)
        fprintf(out, " %9s", figure[f].unit);
    fputc('\n', out);
}

static void print_line(FILE *out, const struct figure figure[FIGURES], const struct mw_summary *s)
{
    fprintf(out, "%-14s", s->system);
    for (unsigned f = 0; f < FIGURES; f++)
        if (figure[f].of_phase && !s->phases.known)
            fprintf(out, " %9s", "-");
        else
            fprintf(out, " %9.*f", strcmp(figure[f].unit, "us") == 0 ? 2 : 1, figure[f].value);
    fputc('\n', out);
}

/// What the planes of a system differ by.
static void print_planes(FILE *out, const struct mw_summary *s, bool first)
{
    const struct mw_plane_results *p = &s->result->planes;
    uint64_t least = UINT64_MAX, most = 0, sum = 0;
    for (unsigned i = 0; i < p->count; i++) {
        least = p->cycles[i] < least ? p->cycles[i] : least;
        most = p->cycles[i] > most ? p->cycles[i] : most;
        sum += p->cycles[i];
    }
    if (!p->count)
        return;
    if (first)
        fprintf(out, "\n%-14s %9s %9s %12s %12s %12s %9s\n", "system", "planes", "slowest",
                "its cycles", "fastest", "mean", "drift %");
    fprintf(out, "%-14s %9u %9u %12" PRIu64 " %12" PRIu64 " %12.1f %9.2f\n", s->system, p->count,
            p->slowest, most, least, (double)sum / p->count,
            100 * mw_ratio((double)(most - least), (double)most));
}

void mw_report_machine(FILE *out, const struct mw_run_params *p, const struct mw_workload *w,
                       const struct mw_summary *summaries, unsigned count)
{
    if (!p->hardware)
        return;
    for (unsigned i = 0; i < count; i++) {
        struct figure figure[FIGURES];
        figures_of(figure, p, w, &summaries[i]);
        if (!i)
            print_head(out, figure);
        print_line(out, figure, &summaries[i]);
    }
    for (unsigned i = 0; i < count; i++)
        print_planes(out, &summaries[i], !i);
}

void mw_report_json_machine(struct mw_json *j, const struct mw_run_params *p)
{
    if (!p->hardware)
        return;
    mw_json_object(j, "hardware", false);
    mw_plane_json(j, p->hardware, &p->plane);
    mw_json_uint(j, "row_hidden", p->plane.row_hidden);
    mw_json_string(j, "gemm_type", mw_gemm_names[p->gemm]);
    mw_json_end(j);
}

void mw_report_json_times(struct mw_json *j, const struct mw_run_params *p,
                          const struct mw_workload *w, const struct mw_summary *s)
{
    if (!p->hardware)
        return;
    struct figure figure[FIGURES];
    figures_of(figure, p, w, s);
    for (unsigned f = 0; f < FIGURES; f++)
        if (figure[f].of_phase && !s->phases.known)
            mw_json_null(j, figure[f].name);
        else
            mw_json_double(j, figure[f].name, figure[f].value);
    const struct mw_plane_results *planes = &s->result->planes;
    if (!planes->count)
        return;
    mw_json_object(j, "planes", true);
    mw_json_uint(j, "slowest", planes->slowest);
    mw_json_array(j, "cycles", true);
    for (unsigned i = 0; i < planes->count; i++)
        mw_json_uint(j, NULL, planes->cycles[i]);
    mw_json_end(j);
    mw_json_end(j);
}
