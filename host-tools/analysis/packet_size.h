// SPDX-License-Identifier: Apache-2.0
//
// Flits of packets, from the packet format (docs/reference/packets.md). `f` is the bytes
// of a flit, 8 or 16.
#ifndef MW_HOST_PACKET_SIZE_H
#define MW_HOST_PACKET_SIZE_H

#include <stdbool.h>
#include <stdint.h>

enum { MW_PAYLOAD_BYTES = 128 }; ///< most that a packet carries

/// a / b, rounded up; b is not 0.
uint64_t mw_div_up(uint64_t a, uint64_t b);
/// Flits of a list of `targets`, the first of which rides in the header.
uint64_t mw_list_flits(unsigned targets, unsigned f);
/// Flits of the packets that carry `bytes` of payload, each with a header and a list of `targets`.
/// 0 bytes take no packet here.
uint64_t mw_packet_flits(uint64_t bytes, unsigned targets, unsigned f);
/// The same of stores of 32 bytes, the last of which may be shorter.
uint64_t mw_scattered_flits(uint64_t bytes, unsigned f);
/// The best case of a packet manager for a row: packets of lines of small stores. A piece that is
/// no whole store of 32 bytes stays alone. Short rows that fill a part of a line may share its
/// packet with others, if their addresses are complete.
uint64_t mw_merged_flits(uint64_t bytes, bool scatter, bool by_token, unsigned f);
/// A packet with nothing but a header and a target list.
uint64_t mw_bare_flits(unsigned targets, unsigned f);

#endif
