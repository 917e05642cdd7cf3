// SPDX-License-Identifier: Apache-2.0
//
// CRC by eight tables, eight bytes at a time: with one table a bulk transfer's CRC takes longer than
// the transfer.
#include "frame.h"

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

uint32_t mwf_crc(uint32_t crc, const void *data, size_t bytes)
{
    const uint8_t *p = data;
    crc = ~crc;
    for (; bytes >= SLICES; bytes -= SLICES, p += SLICES) {
        uint32_t low, high;
        memcpy(&low, p, 4);
        memcpy(&high, p + 4, 4);
        low ^= crc;
        crc = table[7][low & 0xff] ^ table[6][low >> 8 & 0xff] ^ table[5][low >> 16 & 0xff] ^
              table[4][low >> 24] ^ table[3][high & 0xff] ^ table[2][high >> 8 & 0xff] ^
              table[1][high >> 16 & 0xff] ^ table[0][high >> 24];
    }
    for (; bytes; bytes--, p++)
        crc = crc >> 8 ^ table[0][(crc ^ *p) & 0xff];
    return ~crc;
}

void mwf_seal(struct mw_frame_header *header)
{
    header->magic = MW_HOST_MAGIC;
    header->crc = mwf_crc(0, header, offsetof(struct mw_frame_header, crc));
}

bool mwf_header_ok(const struct mw_frame_header *header)
{
    return header->magic == MW_HOST_MAGIC && header->words <= MW_HOST_MAX_PAYLOAD / 8 &&
           header->crc == mwf_crc(0, header, offsetof(struct mw_frame_header, crc));
}

size_t mwf_bytes(size_t payload)
{
    return payload ? MW_HOST_HEADER_BYTES + payload + MW_HOST_TRAILER_BYTES : MW_HOST_HEADER_BYTES;
}

struct mw_frame_trailer mwf_trailer(const void *payload, size_t bytes, uint32_t status)
{
    uint32_t crc = mwf_crc(mwf_crc(0, payload, bytes), &status, sizeof status);
    return (struct mw_frame_trailer){.status = status, .crc = crc};
}
