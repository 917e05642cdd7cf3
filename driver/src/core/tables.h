// SPDX-License-Identifier: Apache-2.0
//
// Tables that every node and port has a copy of: which expert is where, and which GPUs
// are a static group.
#ifndef MW_TABLES_H
#define MW_TABLES_H

#include "core/gpu_set.h"

enum { MWI_LOCAL_EXPERTS = 64 }; ///< that an entry of the expert map can name

/// Write again what a reset has cleared, except what the next layer writes: the link latency, and
/// groups.
int mwi_restore(struct mw_device *device);

/// Write what differs: groups that are bound, all others without members.
int mwi_groups_load(struct mw_device *device);
/// ... the map of `count` experts, or with NULL that of mw_expert_map_set. Places were checked.
int mwi_map_load(struct mw_device *device, const struct mw_expert_place *places, size_t count);
int mwi_check_places(const struct mw_device *device, const struct mw_expert_place *places,
                     size_t count);
/// Where the device's map has an expert. False: nowhere, or unknown.
bool mwi_map_place(const struct mw_device *device, unsigned expert, struct mw_expert_place *place);
/// The same number of experts on every GPU, in their order.
void mwi_places_even(struct mw_expert_place *places, unsigned experts, unsigned gpus);
/// MW_ERR_CAPACITY where a mask of 32 bits does not name every GPU.
int mwi_check_mask(const struct mw_device *device, const char *call);
/// A free group, or MW_ERR_CAPACITY; its members; and release it.
int mwi_group_take(struct mw_device *device);
void mwi_group_set(struct mw_device *device, unsigned group, struct mw_gpu_set members);
void mwi_group_give(struct mw_device *device, unsigned group);

#endif
