// SPDX-License-Identifier: Apache-2.0
//
// Whether a run fits: how much of each GPU's memory and tables it takes, by purpose, and how much
// of this machine its simulation takes. The library lays out the memories. This file has the
// reasons for their sizes, for messages.
#ifndef MW_HOST_FIT_H
#define MW_HOST_FIT_H

#include "analysis/demand.h"

#include "moeswitch.h"

enum { MW_REGIONS = 11 };

/// A part of a GPU's memory.
struct mw_region {
    const char *name;
    uint64_t bytes;   ///< of each GPU
    uint64_t touched; ///< of all GPUs together, at most: what a simulation takes from the system
};

/// What the regions' sizes follow from.
struct mw_fit {
    struct mw_layer_config config; ///< only its sizes
    unsigned row_shift, cap_shift; ///< of a row's stride, of the rows kept for an expert
    struct mw_region region[MW_REGIONS];
    uint64_t bytes, touched; ///< sums
};

/// Sizes of a layer from its routing's demand. `multicast`: not unicast, which has rows of its own.
void mw_fit_config(struct mw_layer_config *config, const struct mw_demand *demand, bool multicast);
/// Regions for the sizes of `config`, as mw_layout_make takes them.
void mw_fit_make(struct mw_fit *fit, const struct mw_layer_config *config,
                 const struct mw_device_info *info, const struct mw_demand *demand);
/// If the device cannot hold that, MW_EXIT_INPUT, and a line: what is too large, by how much, why,
/// and which option to change.
int mw_fit_check(const struct mw_fit *fit, const struct mw_device_info *info,
                 const struct mw_demand *demand, struct mw_error *err);

/// What a run takes of this machine.
struct mw_memory {
    uint64_t
        gpus; ///< simulated memories and models, of all that run side by side; 0: none is simulated
    uint64_t host; ///< hidden values, golden and own results
    bool several;  ///< run side by side
};

/// Bytes of this program for a run of `jobs` systems side by side.
uint64_t mw_memory_host(const struct mw_demand *demand, unsigned jobs);
/// MW_EXIT_INPUT and a line if that is less than the run takes.
int mw_memory_check(const struct mw_memory *memory, uint64_t available, struct mw_error *err);

#endif
