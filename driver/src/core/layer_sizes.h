// SPDX-License-Identifier: Apache-2.0
//
// Sizes that follow from those of a layer.
#ifndef MW_LAYER_SIZES_H
#define MW_LAYER_SIZES_H

#include "moeswitch.h"

/// Smallest s with 1 << s >= n (n >= 1).
static inline unsigned mwi_log2_up(uint64_t n)
{
    unsigned s = 0;
    while ((UINT64_C(1) << s) < n)
        s++;
    return s;
}

/// Bytes of a row of dispatch.
static inline unsigned mwi_dispatch_bytes(const struct mw_layer_config *c)
{
    const unsigned elements = c->row_bytes / 2;
    if (c->dispatch_type == MW_ROWTYPE_E4M3)
        return elements;
    if (c->dispatch_type == MW_ROWTYPE_E4M3_BLOCKS) // 4 bytes for each block, filled up to 16
        return elements + (4 * elements / MW_SCALE_BLOCK + 15) / 16 * 16;
    return c->row_bytes;
}

/// Lists of rows of a GPU: of each expert or, with source_lists, of each {expert, source}.
static inline uint64_t mwi_lists_of(const struct mw_layer_config *c, unsigned n_shift)
{
    return (uint64_t)c->experts_per_gpu << (c->source_lists ? n_shift : 0);
}

#endif
