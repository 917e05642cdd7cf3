// SPDX-License-Identifier: Apache-2.0
//
// What options, meta.json and the arrays themselves declare of a trace that is loaded.
#ifndef MW_HOST_TRACE_DECLARED_H
#define MW_HOST_TRACE_DECLARED_H

#include "formats/npy.h"
#include "trace/meta.h"
#include "trace/trace.h"

enum { MW_TRACE_PATH = sizeof(((struct mw_trace *)0)->ids_file) };

/// What is loaded, while it is.
struct mw_trace_loading {
    struct mw_trace *trace;
    const struct mw_trace_said *said; ///< not NULL
    bool bare;                        ///< a file by itself, without a meta.json
    char archive[MW_TRACE_PATH];      ///< .npz, or empty
    char meta_file[MW_TRACE_PATH];    ///< empty if `bare`
    struct mw_meta meta;
    struct mw_npy ids, weights; ///< weights.data is NULL if there are none
};

/// Set the number of experts, the axes and the type of the weights, for all of which files are read
/// already. MW_EXIT_INPUT: something is missing, or two places contradict each other.
int mw_trace_declared(struct mw_trace_loading *loading, struct mw_error *err);
/// The lengths of the ids' array with these axes; without layers there is one.
void mw_trace_lengths(const struct mw_trace_loading *loading, const struct mw_axes *axes,
                      size_t length[MW_AXES]);

#endif
