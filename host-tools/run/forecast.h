// SPDX-License-Identifier: Apache-2.0
//
// What a run will take, before it begins: cycles by the bounds, time of all systems, memory of this
// machine. Where that is long: a smaller layer of about the same shares. And whether a layer is
// too small for its tile.
#ifndef MW_HOST_FORECAST_H
#define MW_HOST_FORECAST_H

#include "run/run.h"

/// Above this a smaller layer is suggested.
enum { MW_FORECAST_LONG = 600 }; ///< seconds

struct mw_forecast {
    unsigned systems;
    uint64_t cycles; ///< of all systems, layers and batches: the limits, and moving the rows
    double rate;     ///< expected cycles per second; 0: no default for a device on USB
    double seconds;  ///< for all systems, without building a model
    uint64_t memory; ///< bytes of this machine, 0: not known
    /// The largest hidden size that stays within MW_FORECAST_LONG with the same routing. If the
    /// smallest does not, also the tokens of a GPU that do. Equal to those of the run if it stays
    /// within that time.
    unsigned hidden, tokens_per_gpu;
    uint64_t expert_cycles;
    double smaller_seconds;
};

/// What a system takes of a workload at least.
uint64_t mw_forecast_cycles(const struct mw_workload *w, const struct mw_run_params *params,
                            const struct mw_system *system);
/// Fill it in for these systems; `memory` as mw_memory_check has it.
void mw_forecast_make(struct mw_forecast *f, const struct mw_run_params *params,
                      const struct mw_workload *w, const struct mw_system *systems, unsigned count,
                      uint64_t memory);
/// The lines for people.
void mw_forecast_print(FILE *out, const struct mw_forecast *f, const struct mw_run_params *params);

/// How the rows of a workload fill tiles.
struct mw_tile_fill {
    double rows_per_expert; ///< mean over experts and layers
    double partial;         ///< share of all rows that are in the last tile of an expert, not full
};
void mw_tile_fill(const struct mw_workload *w, unsigned tile, struct mw_tile_fill *fill);
/// A line where a layer is too small for its tile.
void mw_forecast_print_tile(FILE *out, const struct mw_workload *w, unsigned tile);

#endif
