// SPDX-License-Identifier: Apache-2.0
//
// See tp.h.
#include "tp/tp.h"

#include "cli/option_value.h"
#include "tp/shapes.h"
#include "tp/streams.h"
#include "trace/workload.h"

#include <string.h>

const char *const mw_tp_kind_names[MW_TP_KINDS] = {"moe", "ag-gemm", "gemm-rs", "gemm-ar",
                                                   "sublayer"};

const struct mw_tp_system *const mw_tp_systems[MW_TP_SYSTEMS] = {
    &mw_tp_nvls, &mw_tp_nvls_tile, &mw_tp_chain,        &mw_tp_pull, &mw_tp_t3,
    &mw_tp_ring, &mw_tp_tiles,     &mw_tp_cais_ordered, &mw_tp_cais, &mw_tp_cais_base};

const struct mw_tp_part_names mw_tp_parts[MW_TP_PARTS] = {
    {"GEMM-1", "gemm-rs-cycles", "gemm_rs_cycles"},
    {"LN", "ln-cycles", "ln_cycles"},
    {"GEMM-2", "ag-gemm-cycles", "ag_gemm_cycles"}};

bool mw_tp_kind_values(unsigned i, struct mw_term *term)
{
    static const char *const texts[MW_TP_KINDS] = {"MoE layers (default)", "all-gather, GEMM",
                                                   "GEMM, reduce-scatter", "GEMM, all-reduce",
                                                   "GEMM, reduce-scatter, LN, all-gather, GEMM"};
    if (i >= MW_TP_KINDS)
        return false;
    *term = (struct mw_term){mw_tp_kind_names[i], texts[i]};
    return true;
}

int mw_tp_set_kind(void *kind, const char *name, const char *text, struct mw_error *err)
{
    for (unsigned i = 0; i < MW_TP_KINDS; i++)
        if (strcmp(text, mw_tp_kind_names[i]) == 0) {
            *(enum mw_tp_kind *)kind = (enum mw_tp_kind)i;
            return MW_EXIT_OK;
        }
    return mw_fail_choice(name, text, mw_tp_kind_values, err);
}

const struct mw_tp_system *mw_tp_system_find(const char *name)
{
    for (unsigned i = 0; i < MW_TP_SYSTEMS; i++)
        if (strcmp(mw_tp_systems[i]->name, name) == 0)
            return mw_tp_systems[i];
    return NULL;
}

const char *mw_tp_unfit(const struct mw_tp_problem *p, const struct mw_tp_system *s)
{
    if (s->most_gpus && p->gpus > s->most_gpus)
        return s->beyond;
    if (s->overlapped && p->o.kind != MW_TP_SUBLAYER)
        return "only sublayer has an LN to wait at, else its streams are those of chain";
    if (s->reduce == MW_TP_PUSH && !mw_tp_reduces(p))
        return "the workload reduces nothing, so that its streams are those of pull";
    if (s->reduce == MW_TP_SUMS && !mw_tp_reduces(p))
        return "the workload reduces nothing, so that its streams are those of cais-ordered";
    if (s->reduce == MW_TP_SUMS && mw_tp_row_bytes(p) % MW_PAYLOAD_MAX_BYTES)
        return "the flits of its sums are listed for rows of whole packets of 128 bytes";
    if (s->gather == MW_TP_MERGED && s->reduce == MW_TP_TILES && !mw_tp_gathers(p))
        return "the workload gathers nothing, so that its streams are those of tiles";
    if (s->reduce == MW_TP_TILES && s->gather == MW_TP_MULTICAST && !mw_tp_reduces(p))
        return "the workload reduces nothing, so that its streams are those of chain";
    if (s->gather == MW_TP_LOADS && s->reduce == MW_TP_SWITCH && !mw_tp_gathers(p))
        return "the workload gathers nothing, so that its streams are those of chain";
    return NULL;
}

uint64_t mw_tp_layer_cycles(const struct mw_tp_problem *p)
{
    uint64_t least = UINT64_MAX;
    for (unsigned part = 0; part < MW_TP_PARTS; part++)
        if (mw_tp_has(p, (enum mw_tp_part)part) && p->cycles[part] < least)
            least = p->cycles[part];
    return least;
}

unsigned mw_tp_place(const struct mw_tp_problem *p, unsigned ranges, unsigned home, unsigned place)
{
    unsigned r = 0;
    while (place >= mw_tp_begin(p, ranges, r + 1))
        r++;
    const unsigned begin = mw_tp_begin(p, ranges, r), end = mw_tp_begin(p, ranges, r + 1);
    return p->gpus * begin + home * (end - begin) + (place - begin);
}

unsigned mw_tp_number(const struct mw_tp_problem *p, unsigned token_shift, enum mw_tp_part part,
                      unsigned home, unsigned place)
{
    const unsigned block = part == MW_TP_LN ? 0 : home;
    return (block << token_shift) + (unsigned)part * mw_tp_own(p) + place;
}

/// Refuse sizes that no load can have, loads of rows that may not exist yet, and tables in which a
/// tile does not fit. More loads of such a tile would pass the tables than without SYNC.
static int check_loads(const struct mw_tp_problem *p, struct mw_error *err)
{
    const unsigned entries = p->o.merge_entries, sync = mw_tp_sync_loads(p);
    const unsigned bytes = p->o.load_bytes;
    if (bytes && (bytes & (bytes - 1) || bytes > mw_tp_row_bytes(p)))
        return mw_fail(err, MW_EXIT_INPUT,
                       "--load-bytes %u: expected a power of two up to the %u bytes of a row",
                       bytes, mw_tp_row_bytes(p));
    if (p->o.no_sync && mw_tp_reduces(p))
        return mw_fail(err, MW_EXIT_INPUT,
                       "--no-sync: not with --workload %s, whose rows do not exist at the start",
                       mw_tp_kind_names[p->o.kind]);
    if (mw_tp_gathers(p) && entries && entries < sync)
        return mw_fail(err, MW_EXIT_INPUT,
                       "--merge-entries %u: fewer than the %u loads that all GPUs make together: "
                       "expected as many, 0, or --no-sync",
                       entries, sync);
    return MW_EXIT_OK;
}

int mw_tp_check_entries(const struct mw_tp_problem *p, unsigned entries, struct mw_error *err)
{
    const unsigned sync = mw_tp_sync_loads(p);
    if (p->o.entries_given && p->o.merge_entries > entries)
        return mw_fail(err, MW_EXIT_INPUT,
                       "--merge-entries %u: expected at most the %u of the device's tables",
                       p->o.merge_entries, entries);
    if (p->o.merge_entries && entries < sync)
        return mw_fail(err, MW_EXIT_INPUT,
                       "--workload %s: the device's tables have %u entries, fewer than the %u "
                       "loads that all GPUs make together: expected --merge-entries 0, or "
                       "--no-sync",
                       mw_tp_kind_names[p->o.kind], entries, sync);
    return MW_EXIT_OK;
}

int mw_tp_check(const struct mw_tp_problem *p, struct mw_error *err)
{
    if (p->o.rows % p->gpus)
        return mw_fail(err, MW_EXIT_INPUT, "--rows %u: not a multiple of the %u GPUs", p->o.rows,
                       p->gpus);
    if (mw_tp_own(p) > MW_BUILT_TOKENS / MW_TP_PARTS)
        return mw_fail(err, MW_EXIT_INPUT, "--rows %u: at most %d for each of the %u GPUs",
                       p->o.rows, MW_BUILT_TOKENS / MW_TP_PARTS, p->gpus);
    if (p->hidden < MW_TP_LEAST_HIDDEN || p->hidden > MW_TP_MOST_HIDDEN ||
        (p->hidden & (p->hidden - 1)))
        return mw_fail(err, MW_EXIT_INPUT,
                       "--hidden %u: --workload %s needs a power of two from %d to %d", p->hidden,
                       mw_tp_kind_names[p->o.kind], MW_TP_LEAST_HIDDEN, MW_TP_MOST_HIDDEN);
    if (p->o.shape && p->o.shape->gpus != p->gpus)
        return mw_fail(err, MW_EXIT_INPUT, "--shape %s: its times are those of %u GPUs, not of %u",
                       p->o.shape->name, p->o.shape->gpus, p->gpus);
    return check_loads(p, err);
}
