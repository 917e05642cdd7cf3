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

/// A row of dispatch in bytes: its values, the fp32 scales after them, the scales of groups and
/// their offset. Last is the sum, padded if there are scales.
struct mwi_row_parts {
    unsigned x, scales, groups, groups_at, bytes;
};
static inline struct mwi_row_parts mwi_row_parts(unsigned type, unsigned row_bytes)
{
    const unsigned values = row_bytes / 2;
    struct mwi_row_parts p = {.x = type == MW_ROWTYPE_BF16 ? row_bytes : values};
    if (type == MW_ROWTYPE_E4M3_BLOCKS)
        p.scales = (unsigned)sizeof(float) * (values / MW_SCALE_BLOCK);
    p.groups_at = p.x + p.scales;
    if (type == MW_ROWTYPE_NVFP4) {
        p.x = values / 2;
        p.scales = (unsigned)sizeof(float);
        p.groups = values / MW_SCALE_GROUP;
        p.groups_at = p.x + 8;
    }
    p.bytes = p.x + (p.groups_at + p.groups - p.x + 15) / 16 * 16;
    return p;
}

/// log2 of the parts of a row's stride that are loaded one by one. 0: rows are loaded whole.
static inline unsigned mwi_load_parts(const struct mw_layer_config *c)
{
    return c->load_bytes ? mwi_log2_up(c->row_bytes) - mwi_log2_up(c->load_bytes) : 0;
}

/// Contributions that complete an own row: one for each packet of each GPU that adds.
static inline unsigned mwi_row_reds(const struct mw_layer_config *c)
{
    const unsigned packets = (c->row_bytes + MW_PAYLOAD_MAX_BYTES - 1) / MW_PAYLOAD_MAX_BYTES;
    return c->sum_gpus * packets;
}

/// Bytes of a row of dispatch.
static inline unsigned mwi_dispatch_bytes(const struct mw_layer_config *c)
{
    return mwi_row_parts(c->dispatch_type, c->row_bytes).bytes;
}

/// Lists of rows of a GPU: of each expert or, with source_lists, of each {expert, source}.
static inline uint64_t mwi_lists_of(const struct mw_layer_config *c, unsigned n_shift)
{
    return (uint64_t)c->experts_per_gpu << (c->source_lists ? n_shift : 0);
}

#endif
