// SPDX-License-Identifier: Apache-2.0
//
// What the routing of a run requires of the GPUs: how many rows each of them gets.
#ifndef MW_HOST_DEMAND_H
#define MW_HOST_DEMAND_H

#include "trace/workload.h"

/// Of several layers: the most that any of them requires, since all are laid out alike.
struct mw_demand {
    struct mw_shape shape;
    unsigned k, experts;
    unsigned replicas;        ///< of the experts, where lists name places
    bool given;               ///< by a trace: no option sets the number of experts
    unsigned layers;          ///< batches included
    unsigned rows_per_expert; ///< most tokens of an expert
    unsigned rows_per_list;   ///< most tokens of an expert and one home
    unsigned received_rows;   ///< most tokens with an expert at one GPU, its own included
    uint64_t rows;            ///< tokens of every expert where it has most, summed up
    uint64_t received;        ///< the same of tokens with an expert at a GPU
};

/// Count in `layers` lists of the shape's N * T tokens each; every expert in them was checked.
int mw_demand_count(struct mw_demand *demand, const struct mw_shape *shape, unsigned k,
                    unsigned experts, const uint16_t *const *ids, unsigned layers,
                    struct mw_error *err);
/// Of a workload, and of what a workload would be made of (see mw_workload_make).
int mw_demand_of_workload(struct mw_demand *demand, const struct mw_workload *w,
                          struct mw_error *err);
int mw_demand_of_trace(struct mw_demand *demand, const struct mw_trace *trace,
                       const size_t *numbers, unsigned layers, const struct mw_shape *shape,
                       struct mw_error *err);

#endif
