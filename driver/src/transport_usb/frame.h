// SPDX-License-Identifier: Apache-2.0
//
// What both ends of the host protocol (docs/reference/host-protocol.md) need: CRC and headers.
// Fields are used as they lie in memory, which is little-endian on every machine that this is
// built for. Requests have the key of their session in their CRCs (0: a session without one);
// SYNC and replies have none.
#ifndef MW_FRAME_H
#define MW_FRAME_H

#include "host.h"

#include <stdbool.h>
#include <stddef.h>

/// CRC-32 of IEEE 802.3 over what came before, whose CRC is `crc` (0 at the start),
/// and these bytes.
uint32_t mwf_crc(uint32_t crc, const void *data, size_t bytes);
/// The same, and copy them.
uint32_t mwf_crc_copy(uint32_t crc, void *restrict to, const void *restrict from, size_t bytes);

/// Fill in magic and CRC.
void mwf_seal(struct mw_frame_header *header);
void mwf_seal_request(struct mw_frame_header *header, uint32_t key);
/// Whether magic, CRC and length are right.
bool mwf_header_ok(const struct mw_frame_header *header);
bool mwf_request_ok(const struct mw_frame_header *header, uint32_t key);
/// The CRC of a request's payload continues from this value.
uint32_t mwf_payload_start(const struct mw_frame_header *header, uint32_t key);
/// The key in the reply to a SYNC, 0 if it has none.
uint32_t mwf_key(const struct mw_frame_header *reply);

/// Bytes of the whole frame whose payload has `payload` bytes.
size_t mwf_bytes(size_t payload);
/// The trailer of a payload.
struct mw_frame_trailer mwf_trailer(const void *payload, size_t bytes, uint32_t status);
/// The same, of a payload with that CRC.
struct mw_frame_trailer mwf_trailer_behind(uint32_t crc, uint32_t status);

#endif
