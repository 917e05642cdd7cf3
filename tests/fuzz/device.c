// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer target: the device's end of the link in sim/usb. The input is a sequence of OUT
// transfers, which are valid frames, damaged frames and garbage, of hosts with keys and without.
// After any input, a gap of zeros and a SYNC must bring the link into step, and all output must be
// frames.
#include "input.h"
#include "usb/device.h"

#include <stdlib.h>
#include <string.h>

enum {
    GPUS = 2,
    FLIT = 8,
    MEM = 1 << 12,
    TRANSFERS = 12,
    TRANSFER_BYTES = 1200,
    PACKET = 512,
    ROOM = 1 << 17,
    GAPS = 2, ///< more gaps only take time
    NUMBER = 0x5a5a,
};

static const uint8_t zeros[MW_HOST_SYNC_GAP];

/// A request, usually a valid one. `gap`: zeros precede it.
static size_t make_request(struct input *in, uint16_t *sequence, uint32_t key, bool *gap,
                           uint8_t *bytes)
{
    unsigned shape = byte(in), type = byte(in) % 13, words = shape & 4 ? byte(in) % 129 : 0;
    struct mw_frame_header h = {
        .type = (uint8_t)type,
        .sequence = shape & 8 && byte(in) % 8 == 0 ? (uint16_t)byte(in) : ++*sequence,
        .words = (uint16_t)words,
        .argument = (uint64_t)(byte(in) % 3) << MW_HOST_GPU_SHIFT | (byte(in) << 4),
        .count = (shape & 0x10 ? byte(in) << 8 : 0) + byte(in) * 16u};
    if (type == MW_FRAME_WAIT)
        h.argument = byte(in) << 8; // cycles: the stub is never done
    if (type == MW_FRAME_SYNC) {
        h.words = 0;
        h.count = (MW_HOST_PROTOCOL_MAJOR + (byte(in) % 8 == 0)) << 16;
        h.count |= shape & 0x20 ? 0 : MW_HOST_KEY_MINOR;
        *sequence = h.sequence;
    }
    *gap = type == MW_FRAME_SYNC && !(shape & 0x40);
    mwf_seal_request(&h, key);
    memcpy(bytes, &h, sizeof h);
    size_t payload = 8 * (size_t)h.words;
    for (size_t i = 0; i < payload; i++)
        bytes[sizeof h + i] = (uint8_t)byte(in);
    struct mw_frame_trailer t =
        mwf_trailer_behind(mwf_crc(mwf_payload_start(&h, key), bytes + sizeof h, payload), 0);
    memcpy(bytes + sizeof h + payload, &t, sizeof t);
    size_t count = mwf_bytes(payload);
    if (shape & 0x80) {
        unsigned how;
        count = damage(in, bytes, count, &how);
    }
    return count;
}

/// Run the device, and check all its output. `key` becomes that of the last session. Returns
/// whether the reply to the last SYNC was among it.
static bool drain(struct mwd_device *device, uint32_t *key)
{
    static uint8_t bytes[ROOM];
    bool synced = false;
    size_t have = 0;
    for (unsigned idle = 0; idle < 2;) {
        bool more = mwd_work(device);
        int count = mwd_in(device, bytes + have, PACKET);
        idle = more || count != MWD_NAK ? 0 : idle + 1;
        if (count == MWD_NAK)
            continue;
        have += (size_t)count;
        if (count == PACKET)
            continue; // the transfer continues
        struct mw_frame_header h;
        if (have < sizeof h)
            abort();
        memcpy(&h, bytes, sizeof h);
        size_t payload = 8 * (size_t)h.words;
        if (!mwf_header_ok(&h) || !(h.type & MW_FRAME_REPLY) || have != mwf_bytes(payload) ||
            (h.status && payload))
            abort();
        if (payload) {
            struct mw_frame_trailer t, right;
            memcpy(&t, bytes + sizeof h + payload, sizeof t);
            right = mwf_trailer(bytes + sizeof h, payload, t.status);
            if (right.crc != t.crc)
                abort();
        }
        bool sync = h.type == (MW_FRAME_SYNC | MW_FRAME_REPLY);
        // to a host without keys the argument is the host's, whose upper half is 0
        if (sync)
            *key = mwf_key(&h);
        synced = sync && (uint32_t)h.argument == NUMBER && !h.status;
        have = 0;
    }
    return synced;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    static struct mwd_backend backend; // what its memories hold makes no difference
    struct mwd_settings settings = {.serial = "F", .packet = PACKET};
    if (!backend.context && !mwd_stub(&backend, GPUS, FLIT, MEM))
        abort();
    struct mwd_device *device = mwd_create(&backend, &settings);
    struct mw_frame_header sync = {.type = MW_FRAME_SYNC,
                                   .sequence = 1,
                                   .argument = NUMBER,
                                   .count = MW_HOST_PROTOCOL_MAJOR << 16 | MW_HOST_KEY_MINOR};
    uint16_t sequence = 1;
    uint32_t key = 0;
    unsigned gaps = 0;
    mwf_seal(&sync);
    if (byte(&in) % 4)
        mwd_out(device, (const uint8_t *)&sync, sizeof sync);
    drain(device, &key);
    for (unsigned i = 0; i < TRANSFERS && in.left; i++) {
        uint8_t bytes[TRANSFER_BYTES];
        bool gap;
        size_t count = make_request(&in, &sequence, key, &gap, bytes);
        for (gap = gap && gaps++ < GAPS; gap && !mwd_out(device, zeros, sizeof zeros);)
            drain(device, &key);
        while (!mwd_out(device, bytes, count))
            drain(device, &key);
        if (byte(&in) % 2)
            drain(device, &key);
    }
    drain(device, &key);
    mwd_out(device, zeros, sizeof zeros);
    drain(device, &key);
    mwd_out(device, (const uint8_t *)&sync, sizeof sync);
    if (!drain(device, &key) || !key)
        abort();
    mwd_destroy(device);
    return 0;
}
