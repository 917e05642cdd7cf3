// SPDX-License-Identifier: Apache-2.0
//
// See demand.h.
#include "analysis/demand.h"

#include <stdlib.h>
#include <string.h>

struct counts {
    unsigned *rows, *most_rows;    ///< of each expert: of one layer, most of all
    unsigned *listed, most_listed; ///< of each expert: of one home, most of all of any
    unsigned received[MW_MAX_GPUS], most_received[MW_MAX_GPUS];
};

static void count_layer(const struct mw_demand *d, const uint16_t *ids, struct counts *c)
{
    size_t tokens = (size_t)d->shape.gpus * d->shape.tokens_per_gpu;
    unsigned per_gpu = d->experts / d->shape.gpus;
    memset(c->rows, 0, d->experts * sizeof *c->rows);
    memset(c->received, 0, sizeof c->received);
    for (size_t t = 0; t < tokens; t++) {
        bool on[MW_MAX_GPUS] = {false}; // GPUs that have an expert of it
        if (t % d->shape.tokens_per_gpu == 0)
            memset(c->listed, 0, d->experts * sizeof *c->listed);
        for (unsigned i = 0; i < d->k; i++) {
            uint16_t e = ids[t * d->k + i];
            if (e == MW_NO_EXPERT)
                continue;
            c->rows[e]++;
            if (++c->listed[e] > c->most_listed)
                c->most_listed = c->listed[e];
            c->received[e / per_gpu] += !on[e / per_gpu];
            on[e / per_gpu] = true;
        }
    }
}

static void take_most(unsigned *most, const unsigned *now, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        most[i] = now[i] > most[i] ? now[i] : most[i];
}

static unsigned sum_up(const unsigned *list, unsigned count, uint64_t *sum)
{
    unsigned most = 0;
    for (unsigned i = 0; i < count; i++) {
        *sum += list[i];
        most = list[i] > most ? list[i] : most;
    }
    return most;
}

int mw_demand_count(struct mw_demand *d, const struct mw_shape *shape, unsigned k, unsigned experts,
                    const uint16_t *const *ids, unsigned layers, struct mw_error *err)
{
    struct counts c = {.rows = calloc(experts, sizeof *c.rows),
                       .most_rows = calloc(experts, sizeof *c.most_rows),
                       .listed = calloc(experts, sizeof *c.listed)};
    *d = (struct mw_demand){.shape = *shape, .k = k, .experts = experts, .layers = layers};
    bool ok = c.rows && c.most_rows && c.listed;
    for (unsigned l = 0; ok && l < layers; l++) {
        count_layer(d, ids[l], &c);
        take_most(c.most_rows, c.rows, experts);
        take_most(c.most_received, c.received, shape->gpus);
    }
    if (ok) {
        d->rows_per_expert = sum_up(c.most_rows, experts, &d->rows);
        d->rows_per_list = c.most_listed;
        d->received_rows = sum_up(c.most_received, shape->gpus, &d->received);
    }
    free(c.rows);
    free(c.most_rows);
    free(c.listed);
    return ok ? MW_EXIT_OK : mw_fail_memory(err, "row counts");
}

int mw_demand_of_workload(struct mw_demand *d, const struct mw_workload *w, struct mw_error *err)
{
    const uint16_t **ids = calloc(w->layers, sizeof *ids);
    if (!ids)
        return mw_fail_memory(err, "row counts");
    for (unsigned l = 0; l < w->layers; l++)
        ids[l] = w->layer[l].ids;
    int status = mw_demand_count(d, &w->shape, w->k, w->experts, ids, w->layers, err);
    d->replicas = w->replicas;
    free(ids);
    return status;
}

int mw_demand_of_trace(struct mw_demand *d, const struct mw_trace *trace, const size_t *numbers,
                       unsigned layers, const struct mw_shape *shape, struct mw_error *err)
{
    size_t tokens = (size_t)shape->gpus * shape->tokens_per_gpu;
    unsigned batches = shape->batches ? shape->batches : 1;
    const uint16_t **ids = calloc((size_t)layers * batches, sizeof *ids);
    if (!ids)
        return mw_fail_memory(err, "row counts");
    for (unsigned l = 0; l < layers * batches; l++)
        ids[l] = trace->ids + mw_trace_at(trace, numbers[l / batches], l % batches * tokens);
    int status = mw_demand_count(d, shape, trace->k, trace->experts, ids, layers * batches, err);
    d->layers *= mw_passes_of(shape);
    d->given = !trace->synthetic;
    d->replicas = trace->replicas;
    free(ids);
    return status;
}
