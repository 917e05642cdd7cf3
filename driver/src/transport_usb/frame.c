// SPDX-License-Identifier: Apache-2.0
//
// CRC by eight tables, eight bytes at a time: with one table a bulk transfer's CRC takes
// longer than the transfer.
#include "transport_usb/frame.h"

#include <assert.h>
#include <string.h>

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "fields are used as they lie in memory");
static_assert(sizeof(struct mw_frame_header) == MW_HOST_HEADER_BYTES &&
                  sizeof(struct mw_frame_trailer) == MW_HOST_TRAILER_BYTES,
              "no padding");

enum { SLICES = 8 };

static uint32_t table[SLICES][256];

__attribute__((constructor)) static void make_tables(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? MW_HOST_CRC_POLYNOMIAL : 0);
        table[0][i] = crc;
    }
    for (int s = 1; s < SLICES; s++)
        for (uint32_t i = 0; i < 256; i++)
            table[s][i] = table[s - 1][i] >> 8 ^ table[0][table[s - 1][i] & 0xff];
}

/// Eight bytes further. `crc` is inverted.
static inline uint32_t step8(uint32_t crc, uint64_t word)
{
    uint32_t low = (uint32_t)word ^ crc, high = (uint32_t)(word >> 32);
    return table[7][low & 0xff] ^ table[6][low >> 8 & 0xff] ^ table[5][low >> 16 & 0xff] ^
           table[4][low >> 24] ^ table[3][high & 0xff] ^ table[2][high >> 8 & 0xff] ^
           table[1][high >> 16 & 0xff] ^ table[0][high >> 24];
}

static inline uint32_t step1(uint32_t crc, uint8_t byte)
{
    return crc >> 8 ^ table[0][(crc ^ byte) & 0xff];
}

uint32_t mwf_crc(uint32_t crc, const void *data, size_t bytes)
{
    const uint8_t *p = data;
    uint64_t word;
    crc = ~crc;
    for (; bytes >= SLICES; bytes -= SLICES, p += SLICES) {
        memcpy(&word, p, SLICES);
        crc = step8(crc, word);
    }
    for (; bytes; bytes--, p++)
        crc = step1(crc, *p);
    return ~crc;
}

uint32_t mwf_crc_copy(uint32_t crc, void *restrict to, const void *restrict from, size_t bytes)
{
    const uint8_t *p = from;
    uint8_t *q = to;
    uint64_t word;
    crc = ~crc;
    for (; bytes >= SLICES; bytes -= SLICES, p += SLICES, q += SLICES) {
        memcpy(&word, p, SLICES);
        memcpy(q, &word, SLICES);
        crc = step8(crc, word);
    }
    for (; bytes; bytes--, p++, q++) {
        *q = *p;
        crc = step1(crc, *p);
    }
    return ~crc;
}

void mwf_seal(struct mw_frame_header *header)
{
    header->magic = MW_HOST_MAGIC;
    header->crc = mwf_crc(0, header, offsetof(struct mw_frame_header, crc));
}

void mwf_seal_request(struct mw_frame_header *header, uint32_t key)
{
    mwf_seal(header);
    header->crc ^= header->type == MW_FRAME_SYNC ? 0 : key;
}

bool mwf_header_ok(const struct mw_frame_header *header)
{
    return header->magic == MW_HOST_MAGIC && header->words <= MW_HOST_MAX_PAYLOAD / 8 &&
           header->crc == mwf_crc(0, header, offsetof(struct mw_frame_header, crc));
}

bool mwf_request_ok(const struct mw_frame_header *header, uint32_t key)
{
    struct mw_frame_header h = *header;
    h.crc ^= h.type == MW_FRAME_SYNC ? 0 : key;
    return mwf_header_ok(&h);
}

uint32_t mwf_payload_start(const struct mw_frame_header *header, uint32_t key)
{
    return key ? header->crc : 0;
}

uint32_t mwf_key(const struct mw_frame_header *reply)
{
    bool keys = reply->count >> 16 == MW_HOST_PROTOCOL_MAJOR &&
                (reply->count & 0xffff) >= MW_HOST_KEY_MINOR && reply->status == MW_STATUS_OK;
    return keys ? (uint32_t)(reply->argument >> 32) : 0;
}

size_t mwf_bytes(size_t payload)
{
    return payload ? MW_HOST_HEADER_BYTES + payload + MW_HOST_TRAILER_BYTES : MW_HOST_HEADER_BYTES;
}

struct mw_frame_trailer mwf_trailer(const void *payload, size_t bytes, uint32_t status)
{
    return mwf_trailer_behind(mwf_crc(0, payload, bytes), status);
}

struct mw_frame_trailer mwf_trailer_behind(uint32_t crc, uint32_t status)
{
    return (struct mw_frame_trailer){.status = status, .crc = mwf_crc(crc, &status, sizeof status)};
}
