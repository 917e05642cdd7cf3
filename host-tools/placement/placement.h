// SPDX-License-Identifier: Apache-2.0
//
// Which GPUs have which experts, and which of an expert's places a sender picks. A placement gives
// every GPU as many places, and an expert may have several of them, on different GPUs. It turns the
// lists of a trace, which name experts, into lists of places: place p is on GPU p / (places / N).
#ifndef MW_HOST_PLACEMENT_H
#define MW_HOST_PLACEMENT_H

#include "cli/option_table.h"
#include "trace/workload.h"

/// How a sender picks one of an expert's places for a token: from its own tokens alone, but for the
/// last one.
enum mw_replica_choice {
    MW_CHOICE_HASH,   ///< by a hash of token and expert
    MW_CHOICE_LEAST,  ///< the GPU that it has given the fewest rows so far
    MW_CHOICE_NEAR,   ///< a GPU that gets the token anyway or is its home, else as `least`
    MW_CHOICE_SHARED, ///< the GPU that all senders have given the fewest, as only a switch
                      ///< sees
};

struct mw_placing {
    const char *by; ///< NULL: contiguous; "loads", or the path of a file of places
    const char
        *loads; ///< of experts: NULL: of the layer; "earlier", or the path of a file of counts
    unsigned
        replicas; ///< extra places of all experts together; 0: none, or as the file of places has
    enum mw_replica_choice choice;
};

/// Whether lists name experts, each at the place of its number.
static inline bool mw_placing_plain(const struct mw_placing *how)
{
    return !how->by && !how->replicas;
}
/// Whether the placement depends on the experts' loads.
bool mw_placing_by_loads(const struct mw_placing *how);
/// Whether every layer has the same placement, whatever its tokens.
bool mw_placing_same(const struct mw_placing *how);
/// The paths of the files that are read, or NULL.
const char *mw_placing_file(const struct mw_placing *how);
const char *mw_placing_loads_file(const struct mw_placing *how);

/// As the option names it.
const char *mw_replica_choice_name(enum mw_replica_choice choice);

/// Values of options for option_table.h: `place` is that of the field of struct mw_placing.
int mw_set_placement(void *by, const char *name, const char *text, struct mw_error *err);
int mw_set_expert_loads(void *loads, const char *name, const char *text, struct mw_error *err);
int mw_set_replica_choice(void *choice, const char *name, const char *text, struct mw_error *err);
mw_terms mw_placement_values, mw_expert_load_values, mw_replica_choice_values;

/// Place the experts of `layers` layers (their numbers in `numbers`) of a trace, and make their
/// lists those of places. The lists are checked. MW_EXIT_INPUT: the request is no placement.
int mw_placement_apply(struct mw_trace *trace, const size_t *numbers, unsigned layers,
                       const struct mw_shape *shape, const struct mw_placing *how,
                       struct mw_error *err);

#endif
