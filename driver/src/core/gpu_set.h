// SPDX-License-Identifier: Apache-2.0
//
// Sets of GPUs, or of their ports, as the device's registers have them.
#ifndef MW_GPU_SET_H
#define MW_GPU_SET_H

#include "core/device.h"

#include <assert.h>

enum {
    MWI_MASK_STRIDE = 16, ///< bytes of a mask in the register map, for 128 ports
};
static_assert(sizeof(struct mw_gpu_set) == MWI_MASK_STRIDE, "a mask of the register map");
static_assert(8 * MWI_MASK_STRIDE >= MW_MAX_PORTS, "a bit for every port");

static inline bool mwi_set_has(const struct mw_gpu_set *set, unsigned gpu)
{
    return set->word[gpu / 32] >> gpu % 32 & 1;
}

static inline void mwi_set_add(struct mw_gpu_set *set, unsigned gpu)
{
    set->word[gpu / 32] |= 1u << gpu % 32;
}

/// The lowest GPU from `gpu` on, or MW_MAX_PORTS where there is none.
static inline unsigned mwi_set_next(const struct mw_gpu_set *set, unsigned gpu)
{
    while (gpu < MW_MAX_PORTS && !mwi_set_has(set, gpu))
        gpu++;
    return gpu;
}

static inline unsigned mwi_set_first(const struct mw_gpu_set *set)
{
    return mwi_set_next(set, 0);
}

#endif
