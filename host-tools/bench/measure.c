// SPDX-License-Identifier: Apache-2.0
//
// One line of the bench: load, run, poll the counters while it runs, check, and compute the
// figures. Ports are read one after the other, and the device advances meanwhile. So each port's
// counters are stored with the cycles at which they were read.
#include "base/interrupt.h"
#include "base/random.h"
#include "bench/bench.h"

#include <stdlib.h>
#include <string.h>

enum { LOOK_CYCLES = 1000 };

/// Counters, each port's at its own time.
struct look {
    uint64_t cycles[MW_MAX_PORTS];
    uint64_t done[MW_MAX_PORTS];       ///< flits on the uplink in the pattern's classes
    uint64_t flits[2][MW_MAX_PORTS];   ///< all flits, up and down
    uint64_t payload[2][MW_MAX_PORTS]; ///< bytes
};

struct looks {
    struct mw_bench *b;
    unsigned classes;
    struct look *look;
    size_t count, room;
    int code; ///< of a look that failed
};

// ---- looking ------------------------------------------------------------------------------------

static int take_look(struct looks *l, struct look *at)
{
    *at = (struct look){.cycles = {0}};
    for (unsigned p = 0; p < l->b->info.gpus; p++) {
        struct mw_port_counters c;
        int code = mw_port_counters_read(l->b->device, p, &c);
        if (code)
            return code;
        at->cycles[p] = c.cycles;
        for (unsigned i = 0; i < MW_NUM_CLASSES; i++) {
            at->flits[0][p] += c.up_flits[i];
            at->flits[1][p] += c.down_flits[i];
            if (l->classes >> i & 1)
                at->done[p] += c.up_flits[i];
        }
        at->payload[0][p] = c.up_payload;
        at->payload[1][p] = c.down_payload;
    }
    return 0;
}

static int progress(void *context, uint64_t tokens, uint64_t total, uint64_t cycles)
{
    struct looks *l = context;
    (void)tokens, (void)total, (void)cycles;
    if (l->count == l->room) {
        size_t room = l->room ? 2 * l->room : 64;
        struct look *more = realloc(l->look, room * sizeof *more);
        if (!more) {
            l->code = MW_ERR_NOMEM;
            return 0;
        }
        l->look = more;
        l->room = room;
    }
    int code = take_look(l, &l->look[l->count++]);
    l->code = l->code ? l->code : code;
    return 0;
}

/// Run what is loaded. The last poll is at its end, when all ports are idle.
static int run(struct mw_bench *b, const char *what, struct looks *l)
{
    struct mw_wait_options o = {.size = sizeof o,
                                .step_cycles = LOOK_CYCLES,
                                .progress = progress,
                                .progress_context = l,
                                .stop = &mw_interrupted};
    unsigned experts[MW_MAX_PORTS];
    for (unsigned g = 0; g < b->info.gpus; g++)
        experts[g] = b->config.experts_per_gpu;
    l->b = b;
    l->classes = b->pattern->classes;
    l->count = 0;
    int code = mw_layer_configure(b->device, &b->config, &b->layout, b->tokens, experts,
                                  (1u << b->streams) - 1);
    if (!code)
        code = mw_launch(b->device);
    if (!code)
        code = mw_wait(b->device, &o, NULL);
    if (code == MW_ERR_TIMEOUT) {
        char *state = mw_state_report(b->device);
        fputs(state ? state : "", stderr);
        free(state);
        return mw_fail(b->err, MW_EXIT_STUCK, "%s: %s", what, mw_message());
    }
    if (!code) {
        progress(l, 0, 0, 0);
        code = l->code;
    }
    return code ? mw_bench_failed(b, what, code) : MW_EXIT_OK;
}

// ---- figures ------------------------------------------------------------------------------------

static bool sends(const struct mw_bench *b, unsigned p)
{
    return !b->params->split || p < b->info.gpus / 2;
}

/// Whether the pattern uses port p in that direction.
static bool used(const struct mw_bench *b, unsigned p, bool down)
{
    return !b->params->split || sends(b, p) != down;
}

/// Mean of the ports' rates: what a port counted, by the cycles between its two looks.
static double mean_rate(const struct mw_bench *b, const uint64_t *count, const uint64_t *cycles,
                        const uint64_t *count_before, const uint64_t *cycles_before, bool down)
{
    double sum = 0;
    unsigned ports = 0;
    for (unsigned p = 0; p < b->info.gpus; p++)
        if (used(b, p, down)) {
            sum += (double)(count[p] - count_before[p]) / (double)(cycles[p] - cycles_before[p]);
            ports++;
        }
    return sum / ports;
}

/// The interval in which every sender has something to send; false if it is too short.
static bool steady(const struct looks *l, size_t *from, size_t *to)
{
    const struct look *end = &l->look[l->count - 1];
    bool found = false;
    *from = *to = 0;
    for (size_t i = 0; i + 1 < l->count; i++) {
        bool begun = true, open = true;
        for (unsigned p = 0; p < l->b->info.gpus; p++) {
            if (!sends(l->b, p) || !end->done[p])
                continue;
            begun &= l->look[i].done[p] >= end->done[p] / 8 && l->look[i].done[p];
            open &= l->look[i].done[p] < end->done[p];
        }
        if (begun && !found) {
            found = true;
            *from = i;
        }
        if (open)
            *to = i;
    }
    return found && *to > *from;
}

/// Add one iteration to the line. `before` is the end of the run without the phase that counts.
static void add(struct mw_bench_row *row, const struct mw_bench *b, const struct looks *l,
                const struct look *before)
{
    const struct look *end = &l->look[l->count - 1];
    double cycles = (double)(end->cycles[0] - before->cycles[0]);
    double n = b->params->iterations;
    size_t from, to;
    row->up_flits = row->down_flits = 0;
    for (unsigned p = 0; p < b->info.gpus; p++) {
        row->up_flits += end->flits[0][p] - before->flits[0][p];
        row->down_flits += end->flits[1][p] - before->flits[1][p];
    }
    row->down = row->down_flits >= row->up_flits;
    if (!b->params->split && row->down_flits == row->up_flits)
        row->down = true;
    bool is_steady = steady(l, &from, &to);
    double busiest = 0;
    for (unsigned p = 0; p < b->info.gpus; p++)
        for (unsigned d = 0; d < 2; d++) {
            double flits = (double)(end->flits[d][p] - before->flits[d][p]);
            busiest = flits > busiest ? flits : busiest;
        }
    const struct look *first = is_steady ? &l->look[from] : before;
    const struct look *last = is_steady ? &l->look[to] : end;
    row->steady = is_steady;
    row->cycles += cycles / n;
    row->busiest += busiest / cycles / n;
    row->share += mean_rate(b, last->flits[row->down], last->cycles, first->flits[row->down],
                            first->cycles, row->down) /
                  n;
    double gpus = b->info.gpus, algbw = (double)b->size / cycles;
    row->algbw += algbw / n;
    row->busbw +=
        (b->pattern->bus_times ? algbw * b->pattern->bus_times * (gpus - 1) / gpus
                               : mean_rate(b, end->payload[row->down], end->cycles,
                                           before->payload[row->down], before->cycles, row->down)) /
        n;
}

// ---- the line -----------------------------------------------------------------------------------

static int iterate(struct mw_bench *b, struct mw_bench_row *row, struct looks *l)
{
    static const struct look none;
    struct look before = none;
    int status = b->pattern->prepare(b);
    if (!status)
        status = b->pattern->load(b);
    if (!status && b->pattern->make_before) {
        status = mw_bench_load_streams(b, b->pattern->make_before);
        if (!status)
            status = run(b, b->pattern->name, l);
        if (!status)
            before = l->look[l->count - 1];
    }
    if (!status)
        status = mw_bench_load_streams(b, b->pattern->make);
    if (!status)
        status = run(b, b->pattern->name, l);
    if (!status)
        add(row, b, l, &before);
    for (unsigned p = 0; p < b->info.gpus && row->has_latencies && !status; p++) {
        int code = mw_latencies_read(&row->latencies, b->device, p);
        status = code ? mw_bench_failed(b, b->pattern->name, code) : MW_EXIT_OK;
    }
    return status ? status : b->pattern->check(b, &row->wrong);
}

static void take_size(struct mw_bench *b, const struct mw_pattern *pattern, uint64_t size)
{
    b->pattern = pattern;
    b->row = b->params->row ? b->params->row : pattern->row;
    uint64_t step = pattern->fewest ? (uint64_t)pattern->fewest * b->info.gpus : b->row;
    b->size = size < step ? step : size / step * step;
}

int mw_bench_fits(struct mw_bench *b, const struct mw_pattern *pattern, uint64_t size)
{
    take_size(b, pattern, size);
    b->seed = mw_hash3(b->params->seed, b->size, 0);
    int status = pattern->prepare(b);
    mw_bench_release(b);
    return status;
}

int mw_bench_measure(struct mw_bench *b, const struct mw_pattern *pattern, uint64_t size,
                     struct mw_bench_row *row)
{
    struct looks l = {0};
    int status = MW_EXIT_OK;
    take_size(b, pattern, size);
    *row = (struct mw_bench_row){
        .pattern = pattern,
        .type = pattern->reduces ? mw_reduce_type_name(b->dtype) : pattern->type,
        .redop = pattern->reduces ? mw_reduce_op_name(b->redop) : "none",
        .element = mw_bench_element(b),
        .size = b->size,
        .row = b->row,
        .has_latencies = b->params->distribution,
    };
    int code = row->has_latencies ? mw_monitor_set(b->device, pattern->classes, 0) : 0;
    if (code)
        return mw_bench_failed(b, "--distribution", code);
    for (unsigned i = 0; i < b->params->iterations && !status; i++) {
        b->seed = mw_hash3(b->params->seed, b->size, i);
        status = iterate(b, row, &l);
        mw_bench_release(b);
    }
    free(l.look);
    return status;
}
