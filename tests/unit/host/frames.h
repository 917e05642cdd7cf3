// SPDX-License-Identifier: Apache-2.0
//
// Frames of docs/reference/host-protocol.md as a host makes and reads them, for the tests of the
// device's side.
#ifndef FRAMES_H
#define FRAMES_H

#include "bench/random.h"

#include "host.h"

using tb::bytes;

/// CRC of these bytes, after others whose CRC is `crc`.
inline uint32_t crc32(const uint8_t *data, size_t size, uint32_t crc = 0)
{
    uint32_t c = ~crc;
    for (size_t i = 0; i < size; i++) {
        c ^= data[i];
        for (int b = 0; b < 8; b++)
            c = c >> 1 ^ (c & 1 ? MW_HOST_CRC_POLYNOMIAL : 0);
    }
    return ~c;
}

/// A header alone, with its magic and CRC, for a session with this key (0: none).
inline bytes seal(mw_frame_header h, uint32_t key = 0)
{
    h.magic = MW_HOST_MAGIC;
    h.crc = crc32(reinterpret_cast<uint8_t *>(&h), sizeof h - 4) ^ key;
    bytes sealed(sizeof h);
    memcpy(sealed.data(), &h, sizeof h);
    return sealed;
}

/// A frame in its format on the wire. The function sets the header's words, magic and CRC.
inline bytes make_frame(mw_frame_header h, const bytes &payload = {}, uint32_t key = 0)
{
    h.words = static_cast<uint16_t>(payload.size() / 8);
    bytes frame = seal(h, key);
    if (payload.empty())
        return frame;
    uint32_t start = 0;
    if (key)
        memcpy(&start, &frame[sizeof h - 4], 4);
    bytes rest = payload;
    rest.resize(payload.size() + 4, 0);
    uint32_t crc = crc32(rest.data(), rest.size(), start);
    rest.resize(payload.size() + 8);
    memcpy(&rest[payload.size() + 4], &crc, 4);
    frame.insert(frame.end(), rest.begin(), rest.end());
    return frame;
}

struct frame {
    mw_frame_header header;
    bytes payload;
    uint32_t trailer = 0; ///< status
};

/// Reads a transfer as one frame. Returns false if it is no frame, or a CRC is wrong.
inline bool read_frame(const bytes &in, frame *f)
{
    if (in.size() < sizeof f->header)
        return false;
    memcpy(&f->header, in.data(), sizeof f->header);
    if (f->header.magic != MW_HOST_MAGIC || f->header.crc != crc32(in.data(), 20))
        return false;
    size_t size = 8 * static_cast<size_t>(f->header.words);
    f->payload.clear();
    f->trailer = 0;
    if (!size)
        return in.size() == sizeof f->header;
    if (in.size() != sizeof f->header + size + 8)
        return false;
    const uint8_t *p = &in[sizeof f->header];
    uint32_t crc;
    memcpy(&crc, p + size + 4, 4);
    memcpy(&f->trailer, p + size, 4);
    f->payload.assign(p, p + size);
    return crc == crc32(p, size + 4);
}

#endif
