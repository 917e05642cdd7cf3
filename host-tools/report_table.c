// SPDX-License-Identifier: Apache-2.0
//
// The tables of `moeswitch run` for people, see report.h.
#include "golden.h"
#include "report.h"

#include <inttypes.h>

static void print_layers(FILE *out, const struct mw_run_params *params)
{
    fprintf(out, "layer%s ", params->layer_count > 1 ? "s" : "");
    for (unsigned i = 0; i < params->layer_count; i++)
        fprintf(out, "%s%zu", i ? "," : "", params->layers[i]);
}

void mw_report_head(FILE *out, const struct mw_run_params *params, const struct mw_trace *trace,
                    const struct mw_workload *w)
{
    fprintf(out, "%s (%s), ", trace->name, trace->model);
    print_layers(out, params);
    fprintf(out,
            ": %u GPUs, %u tokens each, hidden %u, %u experts, k %u, tile %u%s, expert %" PRIu64
            " cycles per row, flits of %u bytes, link latency %u, seed %" PRIu64 "\n",
            w->shape.gpus, w->shape.tokens_per_gpu, w->shape.hidden, w->experts, w->k, params->tile,
            params->partial_tiles ? " or less" : "", params->expert_cycles, params->flit_bytes,
            params->link_latency, w->shape.seed);
    const struct mw_link_parameters link = mw_run_links(params);
    for (unsigned l = 0; l < w->layers; l++) {
        struct mw_layer_facts facts;
        struct mw_bounds bounds;
        char at[48];
        mw_layer_facts(w, l, &facts);
        mw_bounds_compute(w, l, &mw_systems[0], &link, &bounds);
        fprintf(out, "layer %zu", w->layer[l].number);
        if (w->shape.batches)
            fprintf(out, ", tokens from %zu on", w->layer[l].first);
        fprintf(out,
                ": strict bound %" PRIu64 " cycles (%s); %.3f remote GPUs per token, %.1f %% "
                "of tokens with an expert at home, busiest engine %u with %" PRIu64 " rows\n",
                bounds.strict.cycles, mw_bound_text(&bounds.strict, at, sizeof at),
                facts.remote_gpus_per_token, 100 * facts.home_share, facts.busiest,
                facts.rows[facts.busiest]);
    }
    fprintf(out,
            "\n%-14s %10s %7s %8s %7s %-13s %-25s %-25s %-23s %6s %8s  %s\n"
            "%-14s %10s %7s %8s %7s %-13s %-25s %-25s %-23s %6s %8s  %s\n",
            "", "", "over", "strict", "own", "own", "payload KiB, mean/busiest",
            "wire KiB, mean/busiest", "link use %, mean/busiest", "", "kcycles", "", "system",
            "cycles", "unicast", "bound %", "bound %", "bound at", "up          down",
            "up          down", "up          down", "#wrong", "/s", "stalls");
}

static void print_pair(FILE *out, double mean, double most)
{
    char text[32];
    snprintf(text, sizeof text, "%.0f/%.0f", mean, most);
    fprintf(out, " %-12s", text);
}

void mw_report_line(FILE *out, const struct mw_summary *s)
{
    char speedup[16] = "-";
    if (s->speedup > 0)
        snprintf(speedup, sizeof speedup, "%.3f", s->speedup);
    fprintf(out, "%-14s %10" PRIu64 " %7s %8.1f %7.1f %-12s", s->system, s->cycles, speedup,
            100 * s->strict_share, 100 * s->own_share, s->own_at);
    for (unsigned d = 0; d < MW_DIRECTIONS; d++)
        print_pair(out, s->direction[d].payload_mean / 1024, s->direction[d].payload_max / 1024);
    for (unsigned d = 0; d < MW_DIRECTIONS; d++)
        print_pair(out, s->direction[d].wire_mean / 1024, s->direction[d].wire_max / 1024);
    for (unsigned d = 0; d < MW_DIRECTIONS; d++)
        print_pair(out, 100 * s->direction[d].use_mean, 100 * s->direction[d].use_max);
    fprintf(out, "%6" PRIu64 " %8.1f ", s->wrong, s->cycles_per_second / 1000);
    for (unsigned i = 0; i < s->stalls; i++)
        fprintf(out, " %s=%" PRIu64, s->stall[i].cause, s->stall[i].cycles);
    fputc('\n', out);
}

static void print_part(FILE *out, const struct mw_summary_part *part)
{
    fprintf(out, " %10" PRIu64 " %-12s", part->cycles, part->at);
}

void mw_report_resources(FILE *out, const struct mw_summary *summaries, unsigned count)
{
    if (!count)
        return;
    fprintf(
        out,
        "\nCycles that the layer takes of the busiest adder, engine and memory, and the longest of "
        "these and the own bound\n%-14s %10s %-12s %10s %-12s %10s %-12s %10s %-12s %s\n",
        "system", "adder", "", "engine", "", "banks", "", "limit", "", "limit %");
    for (unsigned i = 0; i < count; i++) {
        const struct mw_summary *s = &summaries[i];
        fprintf(out, "%-14s", s->system);
        print_part(out, &s->adder);
        print_part(out, &s->engine);
        print_part(out, &s->banks);
        print_part(out, &s->limit);
        fprintf(out, " %7.1f\n", 100 * mw_ratio((double)s->limit.cycles, (double)s->cycles));
    }
}

void mw_report_model(FILE *out, const struct mw_summary *summaries, unsigned count)
{
    const struct mw_simulation *m = count ? &summaries[0].result->model : NULL;
    if (m && *m->backend)
        fprintf(out, "simulated by %s, of Verilator %s and %s\n", m->backend, m->verilator,
                m->compiler);
}

void mw_report_feeding(FILE *out, const struct mw_workload *w, const struct mw_summary *summaries,
                       unsigned count)
{
    bool head = false;
    for (unsigned i = 0; i < count; i++) {
        const struct mw_feeding *f = &summaries[i].result->feeding;
        if (!summaries[i].result->has_feeding)
            continue;
        if (!head)
            fprintf(out,
                    "\n%u batches of %u tokens, written, run and read one after the other; and the "
                    "next written and the last read while one runs, which costs the fabric cycles; "
                    "%.3g million cycles per second\n"
                    "%-14s %-32s %-32s %7s %17s\n%-14s %10s %9s %11s %10s %9s %11s %7s %8s %8s "
                    "%6s\n",
                    w->layers, w->tokens, f->clock_hz / 1e6, "", "one after the other", "fed",
                    "tokens", "cost to the fabric", "system", "cycles", "idle", "tokens/s",
                    "cycles", "idle", "tokens/s", "gain %", "cycles", "%", "#wrong");
        head = true;
        const struct mw_feeding_run *a = &f->apart, *b = &f->fed;
        double rate[] = {mw_tokens_per_second(w, f, a), mw_tokens_per_second(w, f, b)};
        int64_t cost = (int64_t)b->layer_cycles - (int64_t)a->layer_cycles;
        fprintf(out,
                "%-14s %10" PRIu64 " %9" PRIu64 " %11.0f %10" PRIu64 " %9" PRIu64
                " %11.0f %7.1f %8" PRId64 " %8.3f %6" PRIu64 "\n",
                summaries[i].system, a->device_cycles, a->idle_cycles, rate[0], b->device_cycles,
                b->idle_cycles, rate[1], 100 * (mw_ratio(rate[1], rate[0]) - 1), cost,
                100 * mw_ratio((double)cost, (double)a->layer_cycles), f->wrong);
    }
}

void mw_report_latency(FILE *out, const struct mw_workload *w, const struct mw_summary *summaries,
                       unsigned count)
{
    bool head = false;
    for (unsigned i = 0; i < count; i++) {
        for (unsigned l = 0; l < summaries[i].result->layers; l++) {
            const struct mw_monitor *m = summaries[i].result->layer[l].monitor;
            if (!m)
                continue;
            if (!head)
                fprintf(
                    out,
                    "\nCycles from a packet's first flit at the switch to its first flit behind it "
                    "(upper ends of bins)\n%-14s %6s %10s %8s %8s %8s %8s\n",
                    "system", "layer", "packets", "50 %", "99 %", "99.9 %", "most");
            head = true;
            struct mw_latencies all = mw_monitor_all(m);
            fprintf(out, "%-14s %6zu %10" PRIu64 " %8u %8u %8u %8u\n", summaries[i].system,
                    w->layer[l].number, mw_latencies_packets(&all), mw_latencies_at(&all, 0.5),
                    mw_latencies_at(&all, 0.99), mw_latencies_at(&all, 0.999),
                    mw_latencies_at(&all, 1));
            if (m->lost)
                fprintf(out, "%-14s %6s %zu of %zu samples were lost: choose a longer --interval\n",
                        "", "", m->lost, m->samples);
        }
    }
}

int mw_report_differences(FILE *err, const struct mw_result *r, const struct mw_workload *w,
                          unsigned flit_bytes)
{
    int status = MW_EXIT_OK;
    for (unsigned l = 0; l < r->layers; l++) {
        const struct mw_layer_result *layer = &r->layer[l];
        if (!layer->wrong)
            continue;
        status = MW_EXIT_MISMATCH;
        fprintf(err,
                "moeswitch: %s, layer %zu: %" PRIu64
                " wrong elements, first: token %u, element %u: "
                "expected 0x%04x (%g), got 0x%04x (%g)\n",
                r->system->name, w->layer[l].number, layer->wrong, layer->first.token,
                layer->first.element, layer->first.expected,
                (double)mw_bf16_to_float(layer->first.expected), layer->first.got,
                (double)mw_bf16_to_float(layer->first.got));
    }
    if (r->has_feeding && r->feeding.wrong) {
        status = MW_EXIT_MISMATCH;
        fprintf(err, "moeswitch: %s: %" PRIu64 " elements of fed layers differ\n", r->system->name,
                r->feeding.wrong);
    }
    struct mw_flit_error e;
    unsigned errors = mw_result_flit_errors(r, w, flit_bytes, &e);
    if (!errors)
        return status;
    fprintf(
        err,
        "moeswitch: %s, layer %zu: %u counters differ from the analytic list, first: port %u %s, "
        "%s: expected %" PRIu64 ", counted %" PRIu64 "\n",
        r->system->name, w->layer[e.layer].number, errors, e.port, e.direction, e.what, e.expected,
        e.counted);
    return MW_EXIT_MISMATCH;
}
