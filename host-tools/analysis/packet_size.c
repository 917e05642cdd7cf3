// SPDX-License-Identifier: Apache-2.0
//
// See packet_size.h.
#include "analysis/packet_size.h"

enum {
    SECTOR_BYTES = 32, ///< what a scattered store does
    HEADER_BYTES = 16,
    TARGET_BYTES = 2,
};

uint64_t mw_div_up(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}

uint64_t mw_list_flits(unsigned targets, unsigned f)
{
    return targets > 1 ? mw_div_up((uint64_t)(targets - 1) * TARGET_BYTES, f) : 0;
}

uint64_t mw_packet_flits(uint64_t bytes, unsigned targets, unsigned f)
{
    uint64_t full = bytes / MW_PAYLOAD_BYTES, rest = bytes % MW_PAYLOAD_BYTES;
    uint64_t packets = full + (rest != 0);
    return packets * (HEADER_BYTES / f + mw_list_flits(targets, f)) +
           full * (MW_PAYLOAD_BYTES / f) + mw_div_up(rest, f);
}

uint64_t mw_scattered_flits(uint64_t bytes, unsigned f)
{
    uint64_t full = bytes / SECTOR_BYTES, rest = bytes % SECTOR_BYTES;
    return full * mw_packet_flits(SECTOR_BYTES, 0, f) + mw_packet_flits(rest, 0, f);
}

uint64_t mw_merged_flits(uint64_t bytes, bool scatter, bool by_token, unsigned f)
{
    uint64_t rest = scatter ? bytes % SECTOR_BYTES : 0;
    if (!by_token && (bytes == SECTOR_BYTES || bytes == 2 * SECTOR_BYTES))
        return bytes / f;
    return mw_packet_flits(bytes - rest, 0, f) + mw_packet_flits(rest, 0, f);
}

uint64_t mw_bare_flits(unsigned targets, unsigned f)
{
    return HEADER_BYTES / f + mw_list_flits(targets, f);
}
