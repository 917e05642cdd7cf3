// SPDX-License-Identifier: Apache-2.0
//
// Tensor-parallel workloads: what they compute, the systems that run them, and where rows lie
// (docs/design/tensor-parallel.md).
//
// M rows are spread over N homes, M / N each. A *logical* row is home * M / N + place. In memory a
// system orders rows by ranges that it pipelines: rows of a range of all homes are adjacent. With
// tile reductions they lie home by home, apart.
#ifndef MW_TP_H
#define MW_TP_H

#include "cli/option_table.h"
#include "moeswitch.h"

#include <stdbool.h>
#include <stdint.h>

enum mw_tp_kind {
    MW_TP_NONE, ///< MoE layers
    MW_TP_AG_GEMM,
    MW_TP_GEMM_RS,
    MW_TP_GEMM_AR,
    MW_TP_SUBLAYER, ///< GEMM-RS, LN, AG-GEMM
    MW_TP_KINDS
};

/// Parts that occupy a GPU's engine; also the experts of a GPU, in this order.
enum mw_tp_part { MW_TP_GEMM_1, MW_TP_LN, MW_TP_GEMM_2, MW_TP_PARTS };
/// What a part is called, the option of its time per row, and its key in JSON.
extern const struct mw_tp_part_names {
    const char *name, *option, *key;
} mw_tp_parts[MW_TP_PARTS];

enum {
    MW_TP_RANGES = 11,   ///< most ranges that a system pipelines
    MW_TP_SYNC_ROWS = 2, ///< of a home that are loaded together, where rows are sums
    MW_TP_MOST_ROWS = 65536,
    MW_TP_LEAST_HIDDEN = 64,
    MW_TP_MOST_HIDDEN = 4096,
    MW_TP_MOST_JITTER = 200,
    MW_TP_MOST_START = 1 << 24,
};

struct mw_tp_shape;

/// Options of `moeswitch run` that only these workloads have.
struct mw_tp_options {
    enum mw_tp_kind kind;
    unsigned rows;   ///< M, a multiple of the GPUs; 0 while parsing: not given
    unsigned jitter; ///< percent of a GEMM's time by which a range is delayed at most
    unsigned start;  ///< cycles over which the starts of the GPUs are spread
    const struct mw_tp_shape *shape; ///< of a model, or NULL
    bool given[MW_TP_PARTS];         ///< an option sets the part's time per row,
    uint64_t cycles[MW_TP_PARTS];    ///< which is this one
    // of merged loads
    unsigned merge_entries; ///< of each table that may be in use; 0: none merges
    bool entries_given;     ///< an option sets them; else as many as there are
    bool no_sync, no_merge; ///< GPUs load without waiting for each other; one fetch for each load
    bool keep;              ///< answers stay in the switch
    unsigned load_bytes;    ///< of a load: a part of a row, a power of two; 0: whole rows
};

/// One run's workload.
struct mw_tp_problem {
    struct mw_tp_options o;
    unsigned gpus, hidden, flit_bytes, link_cycles, tile;
    uint64_t seed;
    uint64_t cycles[MW_TP_PARTS]; ///< of an engine per row of each part
};

enum mw_tp_reduce {
    MW_TP_SWITCH, ///< multimem.ld_reduce over all GPUs
    MW_TP_TILES,  ///< opened by the switch when all GPUs have reported the row
    MW_TP_PUSH,   ///< multimem.red to the home, in the order of arrival
    MW_TP_SUMS,   ///< the same with merged reds: red.cais
    MW_TP_STEPS,  ///< multimem.red to the next GPU, N - 1 steps
};
enum mw_tp_gather {
    MW_TP_MULTICAST, ///< multimem.st to all GPUs
    MW_TP_LOADS,     ///< each GPU loads each row: multimem.ld_reduce over a group of one
    MW_TP_MERGED,    ///< the same, by loads that the switch merges: ld.cais
    MW_TP_FORWARD,   ///< st.linear to the next GPU, N - 1 steps
};

struct mw_tp_at;

struct mw_tp_system {
    const char *name;
    const char *text; ///< half a line
    enum mw_tp_reduce reduce;
    enum mw_tp_gather gather;
    bool barriers;      ///< between parts: bounds of phases add up
    bool overlapped;    ///< ... but each GEMM runs beside its collective
    bool unsynced;      ///< merged loads have no SYNC
    unsigned most_gpus; ///< for whose steps a stream has instructions; 0: any number
    const char *beyond; ///< why no more
    unsigned (*ranges)(const struct mw_tp_problem *p);
    /// Add the instructions of a GPU's MW_STREAMS streams.
    void (*make)(const struct mw_tp_at *at, struct mw_stream *s);
};

enum { MW_TP_SYSTEMS = 10 };
extern const struct mw_tp_system *const mw_tp_systems[MW_TP_SYSTEMS]; ///< `nvls` comes first
const struct mw_tp_system *mw_tp_system_find(const char *name);       ///< NULL if there is none
/// Why the system cannot run the workload, or would send what another one sends. NULL: it can.
const char *mw_tp_unfit(const struct mw_tp_problem *p, const struct mw_tp_system *system);

extern const char *const mw_tp_kind_names[MW_TP_KINDS]; ///< "moe", "ag-gemm", ...
mw_terms mw_tp_kind_values;
/// `--workload`: an enum mw_tp_kind.
mw_option_set mw_tp_set_kind;

static inline bool mw_tp_reduces(const struct mw_tp_problem *p)
{
    return p->o.kind != MW_TP_AG_GEMM;
}
/// The system adds in the order of arrival, so its terms are numbers whose sums are exact.
static inline bool mw_tp_pushes(const struct mw_tp_system *s)
{
    return s->reduce == MW_TP_PUSH || s->reduce == MW_TP_SUMS;
}
/// The switch adds up the reds of a row.
static inline bool mw_tp_adds_up(const struct mw_tp_system *s)
{
    return s->reduce == MW_TP_SUMS;
}
/// Rows lie home by home, apart: see mw_tp_number.
static inline bool mw_tp_by_homes(const struct mw_tp_system *s)
{
    return s->reduce == MW_TP_TILES || mw_tp_adds_up(s);
}
static inline bool mw_tp_gathers(const struct mw_tp_problem *p)
{
    return p->o.kind != MW_TP_GEMM_RS;
}
/// Whether the workload has the part.
static inline bool mw_tp_has(const struct mw_tp_problem *p, enum mw_tp_part part)
{
    return p->o.kind == MW_TP_SUBLAYER || (part == MW_TP_GEMM_1 && mw_tp_reduces(p)) ||
           (part == MW_TP_GEMM_2 && p->o.kind == MW_TP_AG_GEMM);
}
/// Rows that are loaded together when all GPUs have reported them. 0: none waits. A large tile of
/// rows after sums would wait for the last of them.
static inline unsigned mw_tp_sync_rows(const struct mw_tp_problem *p)
{
    return p->o.no_sync ? 0 : mw_tp_reduces(p) ? MW_TP_SYNC_ROWS : p->tile;
}
/// The shortest time per row of the workload's parts: that of the layer, which parts may replace.
uint64_t mw_tp_layer_cycles(const struct mw_tp_problem *p);
/// Rows of a home.
static inline unsigned mw_tp_own(const struct mw_tp_problem *p)
{
    return p->o.rows / p->gpus;
}
static inline unsigned mw_tp_row_bytes(const struct mw_tp_problem *p)
{
    return 2 * p->hidden;
}

/// Loads of a row, each of a part.
static inline unsigned mw_tp_row_loads(const struct mw_tp_problem *p)
{
    return p->o.load_bytes ? mw_tp_row_bytes(p) / p->o.load_bytes : 1;
}

/// Loads that all GPUs make together. 0: none waits for another.
static inline unsigned mw_tp_sync_loads(const struct mw_tp_problem *p)
{
    return mw_tp_sync_rows(p) * mw_tp_row_loads(p);
}

/// First of a home's rows that is in range r; that of range `ranges` is one after the last.
static inline unsigned mw_tp_begin(const struct mw_tp_problem *p, unsigned ranges, unsigned r)
{
    return (unsigned)((uint64_t)mw_tp_own(p) * r / ranges);
}
/// Place of logical row {home, place} with so many ranges.
unsigned mw_tp_place(const struct mw_tp_problem *p, unsigned ranges, unsigned home, unsigned place);

/// Number of a gathered row under tile reductions, of a part and a place at its home. LN has own
/// rows alone, at the same numbers on every GPU: those of home 0.
unsigned mw_tp_number(const struct mw_tp_problem *p, unsigned token_shift, enum mw_tp_part part,
                      unsigned home, unsigned place);

/// MW_EXIT_INPUT, and a line: sizes that do not fit together.
int mw_tp_check(const struct mw_tp_problem *p, struct mw_error *err);
/// The same for a device whose tables of loads have so many entries.
int mw_tp_check_entries(const struct mw_tp_problem *p, unsigned entries, struct mw_error *err);

#endif
