// SPDX-License-Identifier: Apache-2.0
//
// Stores to rows that the same layer loads. A load has no order with stores of other instructions
// (docs/design/architecture.md, merged loads), so such a program has no defined result. Loaded rows
// are those of all ld.cais of all GPUs: at their homes from load_base on, and at each reader from
// xd_base on. Rows that a home computes itself, and offers when they are complete, are no stores.
// These are rows of the engine, sums, and merged reds that the home counts.
#include "api/loaded_rows.h"

#include "api/stream.h"
#include "core/error.h"

#include <stdio.h>
#include <stdlib.h>

/// An ld.cais: rows with indices first .. first + rows - 1 of every home.
struct load {
    unsigned gpu;
    uint64_t first, rows;
};

/// Bytes that an instruction stores: pieces of so many bytes, 1 << row_shift apart.
struct store {
    unsigned gpu; ///< the receiver, or ANY
    bool counted; ///< reds that complete own rows
    uint64_t to, pieces, bytes;
};

/// Groups get their members before the layer begins, and routing tables their experts.
enum { ANY = MW_MAX_PORTS };

/// Loaded rows at one place: with number n at base + (n << shift), for n from `first` on.
struct rows {
    uint64_t base, first, count, bytes;
    unsigned shift;
};

// ---- bytes --------------------------------------------------------------------------------------

/// Whether bytes from, ... to - 1 are some of these rows; if so, `number` is the lowest such row.
static bool touches(const struct rows *r, uint64_t from, uint64_t to, uint64_t *number)
{
    const uint64_t begin = r->base + (r->first << r->shift);
    uint64_t n = from > begin ? (from - begin) >> r->shift : 0;
    if (from >= begin + (n << r->shift) + r->bytes) // between rows
        n++;
    *number = r->first + n;
    return from < to && n < r->count && begin + (n << r->shift) < to;
}

/// The same for all pieces of a store. Several pieces have the distance of rows. So if the last one
/// that begins before the first row touches none, and the next one neither, no other does.
static bool hits(const struct rows *r, const struct store *s, uint64_t *number)
{
    const uint64_t begin = r->base + (r->first << r->shift);
    const uint64_t first = s->pieces > 1 && begin > s->to ? (begin - s->to) >> r->shift : 0;
    for (uint64_t i = first; i < first + 2 && i < s->pieces; i++) {
        const uint64_t from = s->to + (i << r->shift);
        if (touches(r, from, from + s->bytes, number))
            return true;
    }
    return false;
}

// ---- instructions -------------------------------------------------------------------------------

/// Pieces of whole rows, `bytes` of memory with their gaps.
static struct store rows_at(const struct mw_layout *l, unsigned gpu, uint64_t to, uint64_t bytes)
{
    return (struct store){gpu, false, to, bytes >> l->row_shift, l->loaded_bytes};
}

/// Rows of a dispatch. Those with an allocator, and those of st, may land anywhere in the dispatch
/// region.
static struct store dispatched(const struct mw_layout *l, const struct mw_instr *in, unsigned gpu)
{
    const uint64_t region = l->xd_cached > l->xd_base ? l->xd_cached - l->xd_base : 0;
    const uint64_t token = (uint64_t)gpu << l->token_shift | in->a;
    if (in->op != MW_I_ST && (in->flags & MWI_ST_FLAT) == MWI_ST_FLAT)
        return rows_at(l, ANY, token << l->row_shift, (uint64_t)in->b << l->row_shift);
    return (struct store){ANY, false, l->xd_base, 1, in->b ? region : 0};
}

/// What an instruction of a GPU stores; `pieces` 0: nothing.
static struct store store_of(const struct mw_layout *l, const struct mw_instr *in, unsigned gpu)
{
    const uint64_t to = (uint64_t)in->c_high << 32 | in->c;
    const struct store whole = {ANY, false, to, 1, in->b};
    struct store s = {0};
    switch (in->op) {
    case MW_I_ST_LINEAR:
        s = whole;
        s.gpu = in->imm;
        return s;
    case MW_I_MULTIMEM_ST:
        return in->flags == MWI_COPY_ROWS ? rows_at(l, ANY, to, in->b) : whole;
    case MW_I_MULTIMEM_RED:
        s = in->flags & MWI_RED_HOMES ? rows_at(l, ANY, to, in->b) : whole;
        s.counted = in->imm & MWI_RED_MERGED && l->reds_counted;
        return s;
    case MW_I_MULTIMEM_LD_REDUCE:
        s = in->flags == MWI_REDUCE_ROWS ? rows_at(l, gpu, l->out_base + to, in->b) : whole;
        s.gpu = gpu;
        return s;
    case MW_I_ST:
    case MW_I_ST_ROWSP:
    case MW_I_DYMULTIMEM_ST:
        return dispatched(l, in, gpu);
    default:
        return s;
    }
}

static const char *name_of(const struct mw_instr *in)
{
    return in->op == MW_I_MULTIMEM_RED && in->imm & MWI_RED_MERGED ? "red.cais"
                                                                   : mw_op_name(in->op);
}

// ---- loads --------------------------------------------------------------------------------------

/// The loads of all streams; NULL of a count above 0: no memory. A range beyond the tokens, which
/// the GPU refuses, loads nothing.
static struct load *find_loads(const struct mw_layout *l, const struct mw_stream *s, unsigned gpus,
                               unsigned streams, size_t *count)
{
    struct load *list = NULL;
    for (unsigned pass = 0; pass < 2; pass++) {
        *count = 0;
        for (unsigned i = 0; i < gpus * streams; i++)
            for (unsigned n = 0; n < s[i].count; n++) {
                const struct mw_instr *in = &s[i].instr[n];
                const struct load load = {i / streams, in->a, in->b};
                if (in->op != MW_I_LD_CAIS || load.first + load.rows > UINT64_C(1)
                                                                           << l->token_shift)
                    continue;
                if (pass)
                    list[*count] = load;
                ++*count;
            }
        if (!pass && *count && !(list = calloc(*count, sizeof *list)))
            break;
    }
    return list;
}

/// Whether a store goes to a row of the load. `what` names the row then.
static bool collides(const struct mw_layout *l, const struct load *load, const struct store *s,
                     unsigned gpus, char *what, size_t size)
{
    struct rows r = {l->load_base, load->first, load->rows, l->loaded_bytes, l->row_shift};
    uint64_t number;
    if (s->gpu >= gpus && s->gpu != ANY)
        return false;
    if (!s->counted && hits(&r, s, &number)) {
        const int n = snprintf(what, size, "row %u of ", (unsigned)number);
        snprintf(what + n, size - (size_t)n, s->gpu == ANY ? "each GPU" : "GPU %u", s->gpu);
        return true;
    }
    r.base = l->xd_base;
    for (unsigned home = 0; home < gpus && (s->gpu == load->gpu || s->gpu == ANY); home++) {
        r.first = (uint64_t)home << l->token_shift | load->first;
        if (!hits(&r, s, &number))
            continue;
        snprintf(what, size, "the place of row %u of GPU %u",
                 (unsigned)(number - ((uint64_t)home << l->token_shift)), home);
        return true;
    }
    return false;
}

/// The first of the loads of a row to which the store goes, or NULL.
static const struct load *find_collision(const struct mw_layout *l, const struct load *loads,
                                         size_t count, const struct store *s, unsigned gpus,
                                         char *what, size_t size)
{
    for (size_t i = 0; i < count; i++)
        if (collides(l, &loads[i], s, gpus, what, size))
            return &loads[i];
    return NULL;
}

int mwi_check_loaded_rows(const struct mw_layout *l, const struct mw_stream *s,
                          const struct mw_device_info *info, unsigned streams)
{
    enum { MOST_SHIFT = 15 }; // mw_layer_configure refuses others
    const bool checked =
        l->loaded_bytes && l->row_shift <= MOST_SHIFT && l->token_shift <= MOST_SHIFT;
    size_t count = 0;
    struct load *loads = checked ? find_loads(l, s, info->gpus, streams, &count) : NULL;
    if (count && !loads)
        return mwi_fail(MW_ERR_NOMEM, "no memory for the loads of %u GPUs", info->gpus);
    int status = 0;
    for (unsigned i = 0; i < info->gpus * streams && count && !status; i++)
        for (unsigned n = 0; n < s[i].count && !status; n++) {
            const struct mw_instr *in = &s[i].instr[n];
            const struct store store = store_of(l, in, i / streams);
            char what[64];
            const struct load *load =
                find_collision(l, loads, count, &store, info->gpus, what, sizeof what);
            if (load)
                status =
                    mwi_fail(MW_ERR_INVALID,
                             "stream %u of GPU %u, instruction %u: %s writes to %s, which GPU "
                             "%u loads with ld.cais in the same layer, and loads have no order "
                             "with stores: store to other bytes, or load in a later layer",
                             i % streams, i / streams, n, name_of(in), what, load->gpu);
        }
    free(loads);
    return status;
}
