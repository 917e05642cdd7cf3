// SPDX-License-Identifier: Apache-2.0
//
// The tables of `moeswitch run` for people, see report.h.
#include "analysis/bounds.h"
#include "analysis/costs.h"
#include "base/text.h"
#include "base/text_wrap.h"
#include "experiment/captions.h"
#include "golden/golden.h"
#include "report/report.h"
#include "systems/system_list.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

void mw_report_paragraph(FILE *out, const char *format, ...)
{
    char text[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    mw_wrap(out, text, 0, 2, MW_TABLE_WIDTH);
}

/// "layers 3,7"; of many only how many, as each has lines of its own.
static void layer_numbers(const struct mw_run_params *params, char *text, size_t size)
{
    const unsigned many = 12, count = params->layer_count;
    size_t at = count > many ? (size_t)snprintf(text, size, "%u layers", count)
                             : (size_t)snprintf(text, size, "layer%s ", count > 1 ? "s" : "");
    for (unsigned i = 0; i < count && count <= many && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%zu", i ? "," : "", params->layers[i]);
}

static void print_facts(FILE *out, const struct mw_run_params *params, const struct mw_workload *w,
                        unsigned layer)
{
    const struct mw_link_parameters link = mw_run_links(params);
    struct mw_layer_facts facts;
    struct mw_bounds bounds;
    char at[48], from[48] = "", backward[96] = "";
    mw_layer_facts(w, layer, &facts);
    if (w->shape.passes != MW_RUN_FORWARD) {
        mw_bounds_compute(w, layer + MW_PASS_BACKWARD, &mw_systems[0], &link, &bounds);
        snprintf(backward, sizeof backward, ", backward %" PRIu64 " (%s)", bounds.strict.cycles,
                 mw_bound_text(&bounds.strict, at, sizeof at));
    }
    mw_bounds_compute(w, layer, &mw_systems[0], &link, &bounds);
    if (w->shape.batches)
        snprintf(from, sizeof from, ", tokens from %zu on", w->layer[layer].first);
    mw_report_paragraph(
        out,
        "layer %zu%s: strict bound %" PRIu64 " cycles (%s)%s; %.3f remote GPUs per token, "
        "%.1f %% of tokens with an expert at home, busiest engine %u with %" PRIu64 " rows",
        w->layer[layer].number, from, bounds.strict.cycles,
        mw_bound_text(&bounds.strict, at, sizeof at), backward, facts.remote_gpus_per_token,
        100 * facts.home_share, facts.busiest, facts.rows[facts.busiest]);
}

static void print_placing(FILE *out, const struct mw_placing *how, const struct mw_workload *w)
{
    char loads[600] = "";
    if (mw_placing_plain(how))
        return;
    if (mw_placing_by_loads(how))
        snprintf(loads, sizeof loads, " of %s",
                 !how->loads                  ? "the layer itself"
                 : mw_placing_loads_file(how) ? MW_SHOWN(how->loads)
                                              : "the layer before, of layer 0 of itself");
    mw_report_paragraph(out, "placement: %s%s; %u replicas, %u places of each GPU, choice: %s",
                        how->by ? MW_SHOWN(how->by) : "contiguous", loads, w->replicas,
                        w->experts_per_gpu, mw_replica_choice_name(how->choice));
}

void mw_report_head(FILE *out, const struct mw_run_params *params, const struct mw_trace *trace,
                    const struct mw_workload *w)
{
    char layers[128], costs[256];
    static const char *const passes[] = {"", ", backward pass", ", forward and backward pass",
                                         ", stack of forward and backward passes",
                                         ", stack with forward passes computed again"};
    const bool typed = w->shape.dispatch_type != MW_ROWTYPE_BF16;
    layer_numbers(params, layers, sizeof layers);
    fprintf(out, "%s", MW_SHOWN(trace->name));
    if (trace->model[0])
        fprintf(out, " (%s)", MW_SHOWN(trace->model));
    putc('\n', out);
    if (trace->uniform)
        mw_report_paragraph(out, "the trace has no gate weights: every one is taken as 1/k");
    mw_report_paragraph(
        out,
        "%s%s: %u GPUs, %u tokens each, hidden %u%s%s, %u experts, k %u, tile %u%s, expert "
        "%" PRIu64 " cycles per row%s, flits of %u bytes, link latency %u, seed %" PRIu64
        ", costs of software: %s",
        layers, passes[w->shape.passes], w->shape.gpus, w->shape.tokens_per_gpu, w->shape.hidden,
        typed ? " sent as " : "", typed ? mw_row_type_names[w->shape.dispatch_type] : "",
        w->experts - w->replicas, w->k, params->tile, params->partial_tiles ? " or less" : "",
        params->expert_cycles,
        w->shape.passes == MW_RUN_FORWARD ? "" : " (twice in backward layers)", params->flit_bytes,
        params->link_latency, w->shape.seed,
        mw_costs_text(params->costs, &params->settings, costs, sizeof costs));
    print_placing(out, &params->placing, w);
    for (unsigned l = 0; l < w->layers; l++)
        if (w->layer[l].pass == MW_PASS_FORWARD) // the routing of all passes is the same
            print_facts(out, params, w, l);
}

void mw_report_columns(FILE *out, const char *base)
{
    fprintf(out,
            "\n%s%-14s %10s %8s %7s %7s %-13s %-19s %6s %8s\n"
            "%-14s %10s %8s %7s %7s %-13s %-9s %-9s %6s %8s%s\n",
            mw_look(out, MW_HEAD), "", "", "over", "strict", "own", "own", "use %, mean/busiest",
            "", "kcycles", "system", "cycles", base, "bound %", "bound %", "bound at", "uplinks",
            "downlinks", "#wrong", "/s", mw_look(out, MW_PLAIN));
}

static void print_pair(FILE *out, int width, double mean, double most)
{
    char text[40];
    snprintf(text, sizeof text, "%.0f/%.0f", mean, most);
    fprintf(out, " %-*s", width, text);
}

void mw_report_line(FILE *out, const struct mw_summary *s)
{
    char speedup[16] = "-";
    if (s->speedup > 0)
        snprintf(speedup, sizeof speedup, "%.3f", s->speedup);
    fprintf(out, "%-14s %10" PRIu64 " %8s %7.1f %7.1f %-13s", s->system, s->cycles, speedup,
            100 * s->strict_share, 100 * s->own_share, s->own_at);
    for (unsigned d = 0; d < MW_DIRECTIONS; d++)
        print_pair(out, 9, 100 * s->direction[d].use_mean, 100 * s->direction[d].use_max);
    fprintf(out, " %s%6" PRIu64 "%s %8.1f\n", mw_look(out, s->wrong ? MW_BAD : MW_GOOD), s->wrong,
            mw_look(out, MW_PLAIN), s->cycles_per_second / 1000);
}

void mw_report_model(FILE *out, const struct mw_summary *summaries, unsigned count)
{
    const struct mw_simulation *m = count ? &summaries[0].result->model : NULL;
    if (m && *m->backend)
        mw_report_paragraph(out, "simulated by %s, of Verilator %s and %s", MW_SHOWN(m->backend),
                            MW_SHOWN(m->verilator), MW_SHOWN(m->compiler));
}

/// What of a run with several passes was checked.
static void print_checked(FILE *out, const struct mw_workload *w,
                          const struct mw_summary *summaries, unsigned count)
{
    uint64_t made = 0, wrong = 0;
    for (unsigned i = 0; i < count; i++) {
        made += summaries[i].gradients.made;
        wrong += summaries[i].gradients.wrong;
    }
    if (!w->shape.gate_gradients)
        mw_report_paragraph(out, "Every bit of dX was checked, and every flit. Gradients of gate "
                                 "weights (dw) are left to the host.");
    else
        mw_report_paragraph(out,
                            "Every bit of dX and of %" PRIu64 " gradients of gate weights (dw) was "
                            "checked, and every flit: %" PRIu64 " dw are wrong.",
                            made, wrong);
}

/// What a pass is over the first system; "-" where there is none to compare with.
static void print_pass_speedup(FILE *out, const struct mw_summary *s, const struct mw_summary *base,
                               enum mw_pass pass)
{
    const double speedup = mw_pass_speedup(s, base, pass);
    if (speedup > 0)
        fprintf(out, " %8.3f", speedup);
    else
        fprintf(out, " %8s", "-");
}

void mw_report_passes(FILE *out, const struct mw_workload *w, const struct mw_summary *summaries,
                      unsigned count)
{
    if (w->shape.passes == MW_RUN_FORWARD || !count)
        return;
    fprintf(out,
            "\n%s%-14s %9s %11s %17s %13s %8s %6s %8s %6s\n"
            "%-14s %9s %11s %8s %8s %13s %8s %6s %8s %6s%s\n",
            mw_look(out, MW_HEAD), "", "", "backward", "times as fast", "backward", "saved by", "",
            "flits of", "", "system", "forward", "with handle", "forward", "backward",
            "counted again", "handle", "%", "dw", "%", mw_look(out, MW_PLAIN));
    for (unsigned i = 0; i < count; i++) {
        const struct mw_summary *s = &summaries[i];
        const uint64_t *pass = s->pass;
        const struct mw_summary_gradients *g = &s->gradients;
        const int64_t saved = (int64_t)pass[MW_PASS_COUNTED] - (int64_t)pass[MW_PASS_BACKWARD];
        fprintf(out, "%-14s %9" PRIu64 " %11" PRIu64, s->system, pass[MW_PASS_FORWARD],
                pass[MW_PASS_BACKWARD]);
        print_pass_speedup(out, s, &summaries[0], MW_PASS_FORWARD);
        print_pass_speedup(out, s, &summaries[0], MW_PASS_BACKWARD);
        fprintf(out, " %13" PRIu64 " %8" PRId64 " %6.2f %8" PRIu64 " %6.2f\n",
                pass[MW_PASS_COUNTED], saved,
                100 * mw_ratio((double)saved, (double)pass[MW_PASS_COUNTED]), g->flits,
                100 * mw_ratio((double)g->flits, (double)g->all));
    }
    print_checked(out, w, summaries, count);
}

/// "layer 7, backward", of which a message is.
static const char *layer_of(const struct mw_workload *w, unsigned layer,
                            char text[MW_CAPTION_BYTES])
{
    const struct mw_captions captions = {.layers = w};
    return mw_caption_layer(&captions, layer, text);
}

void mw_report_stack(FILE *out, const struct mw_workload *w, const struct mw_summary *summaries,
                     unsigned count)
{
    if (!mw_is_stack(&w->shape) || !count)
        return;
    const struct mw_stack *first = &summaries[0].result->stack;
    const unsigned pairs = w->layers / MW_PASSES;
    fputc('\n', out);
    mw_report_paragraph(out,
                        "%u layers once more through the device's queue, forward and back, each on "
                        "the results of the one before: %u of %u backward layers have the handle "
                        "of their forward layer%s",
                        first->layers, first->cached, pairs,
                        first->cached < pairs ? ", the others count again" : "");
    fprintf(out, "%s%-14s %10s %10s %8s %6s %13s %12s%s\n", mw_look(out, MW_HEAD), "system",
            "cycles", "of layers", "idle", "#wrong", "#other cycles", "other flits",
            mw_look(out, MW_PLAIN));
    for (unsigned i = 0; i < count; i++) {
        const struct mw_stack *s = &summaries[i].result->stack;
        fprintf(out, "%-14s %10" PRIu64 " %10" PRIu64 " %8" PRIu64 " %6" PRIu64 " %13u %12s\n",
                summaries[i].system, s->layer_cycles + s->idle_cycles, s->layer_cycles,
                s->idle_cycles, s->wrong, s->other_cycles, s->other_flits ? "yes" : "none");
    }
}

static void feeding_head(FILE *out, const struct mw_workload *w, const struct mw_feeding *f)
{
    fputc('\n', out);
    mw_report_paragraph(out,
                        "%u batches of %u tokens: first written, run and read one after the other; "
                        "then fed, so that the next is written and the last is read while one "
                        "runs, which costs the fabric cycles; %.3g million cycles per second",
                        w->layers, w->tokens, f->clock_hz / 1e6);
    fprintf(out, "%s%-14s %-28s %-28s %6s %13s\n%-14s %9s %8s %9s %9s %8s %9s %6s %6s %6s %6s%s\n",
            mw_look(out, MW_HEAD), "", "one after the other", "fed", "tokens", "fabric's cost",
            "system", "cycles", "idle", "tokens/s", "cycles", "idle", "tokens/s", "gain %",
            "cycles", "%", "#wrong", mw_look(out, MW_PLAIN));
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
            feeding_head(out, w, f);
        head = true;
        const struct mw_feeding_run *a = &f->apart, *b = &f->fed;
        double rate[] = {mw_tokens_per_second(w, f, a), mw_tokens_per_second(w, f, b)};
        int64_t cost = (int64_t)b->layer_cycles - (int64_t)a->layer_cycles;
        fprintf(out,
                "%-14s %9" PRIu64 " %8" PRIu64 " %9.0f %9" PRIu64 " %8" PRIu64
                " %9.0f %6.1f %6" PRId64 " %6.3f %6" PRIu64 "\n",
                summaries[i].system, a->device_cycles, a->idle_cycles, rate[0], b->device_cycles,
                b->idle_cycles, rate[1], 100 * (mw_ratio(rate[1], rate[0]) - 1), cost,
                100 * mw_ratio((double)cost, (double)a->layer_cycles), f->wrong);
    }
}

void mw_report_latency(FILE *out, const struct mw_workload *w, const struct mw_summary *summaries,
                       unsigned count)
{
    const bool passes = w && w->shape.passes != MW_RUN_FORWARD;
    const int width = passes ? 18 : 6; // of a layer's name
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
                    "(upper ends of bins)\n%-14s %*s %10s %8s %8s %8s %8s\n",
                    "system", width, "layer", "packets", "50 %", "99 %", "99.9 %", "most");
            head = true;
            struct mw_latencies all = mw_monitor_all(m);
            char number[40] = "-";
            if (w)
                snprintf(number, sizeof number, passes ? "%zu, %s" : "%zu", w->layer[l].number,
                         mw_pass_names[w->layer[l].pass]);
            fprintf(out, "%-14s %*s %10" PRIu64 " %8u %8u %8u %8u\n", summaries[i].system, width,
                    number, mw_latencies_packets(&all), mw_latencies_at(&all, 0.5),
                    mw_latencies_at(&all, 0.99), mw_latencies_at(&all, 0.999),
                    mw_latencies_at(&all, 1));
            if (m->lost)
                fprintf(out, "%-14s %*s %zu of %zu samples were lost: choose a longer --interval\n",
                        "", width, "", m->lost, m->samples);
        }
    }
}

static double float_of(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return (double)f;
}

static void print_wrong_rows(FILE *err, const struct mw_result *r, const struct mw_workload *w,
                             unsigned l)
{
    const struct mw_layer_result *layer = &r->layer[l];
    char name[MW_CAPTION_BYTES];
    fprintf(err,
            "moeswitch: %s, %s: %" PRIu64 " wrong elements, first: token %u, element %u: "
            "expected 0x%04x (%g), got 0x%04x (%g)\n",
            r->system->name, layer_of(w, l, name), layer->wrong, layer->first.token,
            layer->first.element, layer->first.expected,
            (double)mw_bf16_to_float(layer->first.expected), layer->first.got,
            (double)mw_bf16_to_float(layer->first.got));
}

static void print_wrong_gradients(FILE *err, const struct mw_result *r, const struct mw_workload *w,
                                  unsigned l)
{
    const struct mw_layer_result *layer = &r->layer[l];
    const struct mw_wrong_gradient *first = &layer->first_gradient;
    char name[MW_CAPTION_BYTES];
    fprintf(err,
            "moeswitch: %s, %s: %" PRIu64
            " wrong gradients of gate weights, first: token %u, place %u of its list: "
            "expected 0x%08x (%g), got 0x%08x (%g)\n",
            r->system->name, layer_of(w, l, name), layer->wrong_gradients, first->token,
            first->place, first->expected, float_of(first->expected), first->got,
            float_of(first->got));
}

int mw_report_differences(FILE *err, const struct mw_result *r, const struct mw_workload *w,
                          const struct mw_link_parameters *link)
{
    char name[MW_CAPTION_BYTES];
    int status = MW_EXIT_OK;
    for (unsigned l = 0; l < r->layers; l++) {
        if (r->layer[l].wrong || r->layer[l].wrong_gradients)
            status = MW_EXIT_MISMATCH;
        if (r->layer[l].wrong)
            print_wrong_rows(err, r, w, l);
        if (r->layer[l].wrong_gradients)
            print_wrong_gradients(err, r, w, l);
    }
    if (r->has_feeding && r->feeding.wrong) {
        status = MW_EXIT_MISMATCH;
        fprintf(err, "moeswitch: %s: %" PRIu64 " elements of fed layers differ\n", r->system->name,
                r->feeding.wrong);
    }
    if (r->stack.wrong || r->stack.other_cycles || r->stack.other_flits) {
        status = MW_EXIT_MISMATCH;
        fprintf(err,
                "moeswitch: %s, stack: %" PRIu64 " elements differ from those of the layers by "
                "themselves, %u layers took other cycles, and the counters of the last one %s\n",
                r->system->name, r->stack.wrong, r->stack.other_cycles,
                r->stack.other_flits ? "differ" : "are the same");
    }
    struct mw_below_bound below;
    if (mw_result_below_bound(r, w, link, &below)) {
        status = MW_EXIT_MISMATCH;
        fprintf(err,
                "moeswitch: %s, %s: took %" PRIu64 " cycles, less than its own bound of %" PRIu64
                ", which says too much: report it, or mend the system's row in mw_systems\n",
                r->system->name, layer_of(w, below.layer, name), below.cycles, below.bound);
    }
    struct mw_flit_error e;
    unsigned errors = mw_result_flit_errors(r, w, link, &e);
    if (!errors)
        return status;
    fprintf(err,
            "moeswitch: %s, %s: %u counters differ from the analytic list, first: port %u %s, "
            "%s: expected %" PRIu64 ", counted %" PRIu64 "\n",
            r->system->name, layer_of(w, e.layer, name), errors, e.port, e.direction, e.what,
            e.expected, e.counted);
    return MW_EXIT_MISMATCH;
}
