// SPDX-License-Identifier: Apache-2.0
//
// What a run is on a machine (--hardware): microseconds and GB/s, see report.h.
//
// Bandwidths as nccl-tests define them, of one GPU: the algorithm's counts what a layer must move,
// the rows of dispatch and combine that have a remote target, in the busier direction. The bus
// bandwidth counts payload that the busiest link did carry in one direction. All planes together.
#include "report/report.h"

#include "analysis/facts.h"

#include <inttypes.h>

/// Bytes of rows that a GPU sends and receives, mean, in one direction, on the simulated plane:
/// each token's row to each of its remote GPUs, and a partial sum from each.
static double row_bytes(const struct mw_workload *w)
{
    double bytes = 0;
    for (unsigned l = 0; l < w->layers; l++) {
        struct mw_layer_facts facts;
        mw_layer_facts(w, l, &facts);
        bytes += 2 * facts.remote_gpus_per_token * w->shape.tokens_per_gpu * w->shape.hidden * 2;
    }
    return bytes;
}

struct rates {
    double us, algorithm, bus;
};

static struct rates rates_of(const struct mw_run_params *p, const struct mw_workload *w,
                             const struct mw_summary *s)
{
    const double us = mw_plane_us(&p->plane, (double)s->cycles), gbytes = p->hardware->planes / 1e3;
    double bus = 0;
    for (unsigned d = 0; d < MW_DIRECTIONS; d++)
        bus = s->direction[d].payload_max > bus ? s->direction[d].payload_max : bus;
    return (struct rates){us, mw_ratio(row_bytes(w) * gbytes, us), mw_ratio(bus * gbytes, us)};
}

void mw_report_machine_head(FILE *out, const struct mw_run_params *p)
{
    const struct mw_hardware *h = p->hardware;
    char expert[160] = "";
    if (!h)
        return;
    if (p->plane.expert_cycles)
        snprintf(expert, sizeof expert,
                 "; an expert's row takes %" PRIu64 " cycles by the roofline of %s (%s)",
                 p->plane.expert_cycles, mw_gemm_names[p->gemm],
                 p->plane.weights_share > 1 ? "memory: its weights" : "FLOPS");
    mw_report_paragraph(
        out,
        "%s: one plane of %u, with the largest share of a row (%u of %u values); a cycle is "
        "%.3f ns, %g GB/s per direction and plane, link latency %g ns%s",
        h->name, h->planes, p->plane.hidden, p->plane.row_hidden, p->plane.flit_ns,
        h->link_gbytes / h->planes, p->link_latency * p->plane.flit_ns, expert);
}

void mw_report_machine(FILE *out, const struct mw_run_params *p, const struct mw_workload *w,
                       const struct mw_summary *summaries, unsigned count)
{
    if (!p->hardware)
        return;
    fprintf(out, "\n%-14s %12s %16s %12s\n", "system", "us", "algorithm GB/s", "bus GB/s");
    for (unsigned i = 0; i < count; i++) {
        const struct rates r = rates_of(p, w, &summaries[i]);
        fprintf(out, "%-14s %12.2f %16.1f %12.1f\n", summaries[i].system, r.us, r.algorithm, r.bus);
    }
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
    const struct rates r = rates_of(p, w, s);
    mw_json_double(j, "us", r.us);
    mw_json_double(j, "algorithm_gbytes_per_s", r.algorithm);
    mw_json_double(j, "bus_gbytes_per_s", r.bus);
}
