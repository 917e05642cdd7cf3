// SPDX-License-Identifier: Apache-2.0
//
// Which region is too small for its rows. A hub that has no place for a row records BOUNDS alone.
// The routing tables, which are in the memories, and the expert map show which expert's rows these
// are.
#include "observe/short_region.h"

#include "core/memory.h"
#include "core/tables.h"

#include <stdio.h>
#include <stdlib.h>

/// The regions of one GPU: one of each own expert or, with source_lists, of each {expert, source}.
struct regions {
    unsigned gpu, sources;              ///< sources: regions of an expert
    unsigned *rows;                     ///< that the tables send there
    unsigned expert[MWI_LOCAL_EXPERTS]; ///< by its index on the GPU
};

/// Rows of own tokens of `source`, whose routing table this is.
static void count_rows(const struct mw_device *d, struct regions *r, unsigned source,
                       const uint8_t *table)
{
    const struct mwi_configured *c = &d->configured;
    for (unsigned t = 0; t < c->tokens[source]; t++, table += MW_ROUTE_BYTES) {
        for (unsigned j = 0; j < c->config.k; j++) {
            const unsigned expert = table[2 * j] | (unsigned)table[2 * j + 1] << 8;
            struct mw_expert_place p;
            if (!mwi_map_place(d, expert, &p) || p.gpu != r->gpu ||
                p.local_expert >= c->config.experts_per_gpu)
                continue;
            r->expert[p.local_expert] = expert;
            r->rows[p.local_expert * r->sources + source % r->sources]++;
        }
    }
}

static int count_all(struct mw_device *d, struct regions *r)
{
    const struct mwi_configured *c = &d->configured;
    int status = 0;
    for (unsigned g = 0; g < d->info.gpus && !status; g++) {
        const size_t bytes = (size_t)c->tokens[g] * MW_ROUTE_BYTES;
        uint8_t *table = malloc(bytes ? bytes : 1);
        const struct mw_transfer piece = {g, c->layout.rt_base, bytes, table};
        status = table ? bytes ? mwi_mem_read(d, &piece, 1) : 0 : MW_ERR_NOMEM;
        if (!status)
            count_rows(d, r, g, table);
        free(table);
    }
    return status;
}

/// About the fullest of those that are too small.
static void describe(const struct mw_device *d, const struct regions *r, char *text, size_t size)
{
    const struct mwi_configured *c = &d->configured;
    const unsigned all = c->config.experts_per_gpu * r->sources, places = 1u << c->layout.cap_shift;
    const uint64_t bytes = (uint64_t)places << c->layout.row_shift;
    unsigned fullest = 0, small = 0;
    char source[24] = "", others[40] = "";
    for (unsigned i = 0; i < all; i++) {
        small += r->rows[i] > places;
        fullest = r->rows[i] > r->rows[fullest] ? i : fullest;
    }
    if (!small)
        return;
    const unsigned local = fullest / r->sources;
    // lists are numbered with room for a power of two of sources
    const uint64_t number =
        r->sources > 1 ? (uint64_t)local << c->layout.n_shift | fullest % r->sources : local;
    if (r->sources > 1)
        snprintf(source, sizeof source, " from GPU %u", fullest % r->sources);
    if (small > 1)
        snprintf(others, sizeof others, "; %u more are too small", small - 1);
    snprintf(text, size,
             ": expert %u gets %u rows%s, their region holds %u (%llu bytes, from 0x%llx on): "
             "raise rows_per_expert to %u or more%s",
             r->expert[local], r->rows[fullest], source, places, (unsigned long long)bytes,
             (unsigned long long)(c->layout.xd_base + number * bytes), r->rows[fullest], others);
}

void mwi_short_region(struct mw_device *d, unsigned gpu, char *text, size_t size)
{
    const struct mw_layer_config *c = &d->configured.config;
    struct regions r = {.gpu = gpu, .sources = c->source_lists ? d->info.gpus : 1};
    *text = 0;
    // unicast has one for all of a GPU's rows; none was configured
    if (c->received_rows || !c->k || c->experts_per_gpu > MWI_LOCAL_EXPERTS)
        return;
    r.rows = calloc((size_t)c->experts_per_gpu * r.sources + 1, sizeof *r.rows);
    if (r.rows && !count_all(d, &r))
        describe(d, &r, text, size);
    free(r.rows);
}
