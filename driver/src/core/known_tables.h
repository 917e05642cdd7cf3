// SPDX-License-Identifier: Apache-2.0
//
// What the library stores of a device's tables, of which every node and port has a copy: the
// requested contents, and what the device holds. known_tables.c keeps it in memory, and tables.c
// writes it into the device.
#ifndef MW_KNOWN_TABLES_H
#define MW_KNOWN_TABLES_H

#include "core/gpu_set.h"

#include <assert.h>

enum {
    MWI_UNKNOWN = UINT32_MAX, ///< an entry of the map: which the device holds, or none was set
    MWI_GROUPS = 128,         ///< that instructions can name
};

struct mwi_tables {
    struct {
        bool taken;              ///< by an object
        struct mw_gpu_set wants; ///< members, none: unbound
        struct mw_gpu_set has;   ///< in the device, if `known`
        bool known;
    } group[MWI_GROUPS];
    uint32_t *set; ///< the map of mw_expert_map_set
    uint32_t *has; ///< ... that in the device
};

int mwi_tables_make(struct mw_device *device);
void mwi_tables_free(struct mw_device *device);
/// The device was reset: the contents of its tables are unknown.
void mwi_tables_forget(struct mw_device *device);

static_assert(MWI_GROUPS == MW_STATIC_GROUPS, "every group has its place");

#endif
