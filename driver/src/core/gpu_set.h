// SPDX-License-Identifier: Apache-2.0
//
// Sets of GPUs, or of their ports, as the device's registers have them.
#ifndef MW_GPU_SET_H
#define MW_GPU_SET_H

#include "core/device.h"

enum {
    MWI_MASK_STRIDE = 16, ///< bytes of a mask in the register map, for 128 ports
    MWI_MASK_WORDS = (MW_MAX_PORTS + 31) / 32,
};

/// GPU g is bit g % 32 of word g / 32.
struct mwi_gpu_set {
    uint32_t word[MWI_MASK_WORDS];
};

static inline bool mwi_set_has(const struct mwi_gpu_set *set, unsigned gpu)
{
    return set->word[gpu / 32] >> gpu % 32 & 1;
}

static inline void mwi_set_add(struct mwi_gpu_set *set, unsigned gpu)
{
    set->word[gpu / 32] |= 1u << gpu % 32;
}

/// The lowest GPU, or MW_MAX_PORTS of an empty set.
static inline unsigned mwi_set_first(const struct mwi_gpu_set *set)
{
    unsigned gpu = 0;
    while (gpu < MW_MAX_PORTS && !mwi_set_has(set, gpu))
        gpu++;
    return gpu;
}

#endif
