// SPDX-License-Identifier: Apache-2.0
//
// What generators of tensor-parallel systems share. Rows are gathered tokens: input and output of
// part i are rows from i * M on, at xd_base and yd_base. Event counters are the generator's.
#ifndef MW_TP_STREAMS_H
#define MW_TP_STREAMS_H

#include "tp/tp.h"

/// Streams of a GPU. LN comes first: of parts that wait for the engine, that of the lowest stream
/// is next.
enum { MW_TP_REDUCTION, MW_TP_GATHER, MW_TP_SECOND, MW_TP_FIRST };

/// Whose streams are made.
struct mw_tp_at {
    const struct mw_tp_problem *p;
    const struct mw_layout *layout;
    unsigned gpu, ranges;
    unsigned all;        ///< static group of all GPUs
    const unsigned *one; ///< [gpus], groups of one GPU each, where the system has use for them
};

/// Rows of range r, of all homes and of one.
struct mw_tp_span {
    unsigned first, rows;
};
struct mw_tp_span mw_tp_range(const struct mw_tp_at *at, unsigned r);
struct mw_tp_span mw_tp_share(const struct mw_tp_at *at, unsigned r, unsigned home);
uint32_t mw_tp_bytes(const struct mw_tp_at *at, struct mw_tp_span span);

/// Address of a part's input and output row.
uint64_t mw_tp_in(const struct mw_tp_at *at, enum mw_tp_part part, unsigned row);
uint64_t mw_tp_out(const struct mw_tp_at *at, enum mw_tp_part part, unsigned row);
/// Where a home has the rows that are gathered.
uint64_t mw_tp_source(const struct mw_tp_at *at, unsigned row);

/// Delay the stream by this GPU's start.
void mw_tp_start(const struct mw_tp_at *at, struct mw_stream *s);
/// The jitter of the `turn`-th run of a part on so many rows.
void mw_tp_jitter(const struct mw_tp_at *at, struct mw_stream *s, enum mw_tp_part part,
                  unsigned rows, unsigned turn);
/// The time per row of the part whose run was added last, where it is not the layer's.
void mw_tp_cycles(const struct mw_tp_at *at, struct mw_stream *s, enum mw_tp_part part);
/// Run a part on rows, after the delay of its `turn`-th run.
void mw_tp_expert(const struct mw_tp_at *at, struct mw_stream *s, enum mw_tp_part part,
                  struct mw_tp_span span, unsigned turn);
/// The i-th barrier of the layer: a signal by each GPU, on two counters in turn.
void mw_tp_barrier(const struct mw_tp_at *at, struct mw_stream *s, unsigned i);
/// LN of the own rows of a range, of workloads that have it.
void mw_tp_norm(const struct mw_tp_at *at, struct mw_stream *s, unsigned r);
/// Load the rows of range r from all homes; the own ones are copied.
void mw_tp_load(const struct mw_tp_at *at, struct mw_stream *s, unsigned r);

extern const struct mw_tp_system mw_tp_nvls, mw_tp_nvls_tile, mw_tp_chain, mw_tp_pull, mw_tp_t3,
    mw_tp_ring, mw_tp_tiles, mw_tp_cais_ordered, mw_tp_cais, mw_tp_cais_base;

#endif
