// SPDX-License-Identifier: Apache-2.0
//
// Bytes of OUT transfers pass the link's parser, like in the hardware. Complete requests wait in a
// queue, and mwd_work executes one at a time. Replies wait as frames, each of which is one IN
// transfer. LINK_ERROR and SYNC are in the same queue, so their order is that of the link.
#include "device.h"

#include <stdlib.h>
#include <string.h>

#include "requests.h"

enum { DEFAULT_WINDOW = 16, DEFAULT_CREDIT = 1 << 20 };

struct mwd_device *mwd_create(const struct mwd_backend *backend,
                              const struct mwd_settings *settings)
{
    struct mwd_device *d = calloc(1, sizeof *d);
    if (!d)
        return NULL;
    d->backend = *backend;
    d->settings = *settings;
    if (!d->settings.major) {
        d->settings.major = MW_HOST_PROTOCOL_MAJOR;
        d->settings.minor = MW_HOST_PROTOCOL_MINOR;
    }
    if (!d->settings.window)
        d->settings.window = DEFAULT_WINDOW;
    if (!d->settings.credit)
        d->settings.credit = DEFAULT_CREDIT;
    if (!d->settings.features)
        d->settings.features = 1u << MW_FEATURE_FABRIC | 1u << MW_FEATURE_SELFTEST |
                               1u << MW_FEATURE_LOG |
                               (d->settings.minor ? 1u << MW_FEATURE_FEED : 0);
    if (!d->settings.zeros)
        d->settings.zeros = MW_HOST_SYNC_ZEROS;
    d->zeros = d->settings.zeros;
    mwd_cpu_init(d);
    mwd_log(d, MW_LOG_BOOT, 0);
    mwd_feed_init(d);
    return d;
}

static void forget(struct mwd_device *d)
{
    for (; d->request_count; d->request_count--)
        free(d->requests[d->request_first++ % MWD_REQUESTS].payload);
    for (; d->reply_count; d->reply_count--)
        free(d->replies[d->reply_first++ % MWD_REPLIES].bytes);
    free(d->payload);
    d->payload = NULL;
    free(d->late);
    d->late = NULL;
    d->have = 0;
    d->sent = 0;
    d->zero_packet = false;
    d->part = MWD_HEADER;
    d->in_step = false;
    d->guarded = false;
    d->waiting = false;
    d->zeros = d->settings.zeros;
}

void mwd_destroy(struct mwd_device *device)
{
    if (!device)
        return;
    forget(device);
    if (device->port)
        device->port->destroy(device);
    free(device);
}

void mwd_bus_reset(struct mwd_device *device)
{
    if (device->port)
        device->port->bus_reset(device);
    forget(device);
}

// ---- link: bytes to requests --------------------------------------------------------------------

static void put_request(struct mwd_device *d, const struct mw_frame_header *h, uint8_t *payload,
                        uint8_t status)
{
    d->requests[(d->request_first + d->request_count++) % MWD_REQUESTS] =
        (struct mwd_request){.header = *h, .payload = payload, .status = status};
}

static void lose_step(struct mwd_device *d, uint8_t status, uint32_t detail)
{
    d->in_step = false;
    mwd_log(d, MW_LOG_LINK, status);
    struct mw_frame_header h = {
        .type = MW_FRAME_LINK_ERROR, .sequence = d->sequence, .count = detail};
    put_request(d, &h, NULL, status);
}

/// Begins a session. Its key is a number that depends on every SYNC so far.
static void take_sync(struct mwd_device *d)
{
    struct mw_frame_header *h = &d->header;
    bool same = h->count >> 16 == d->settings.major && d->settings.major == MW_HOST_PROTOCOL_MAJOR;
    bool keys =
        same && d->settings.minor >= MW_HOST_KEY_MINOR && (h->count & 0xffff) >= MW_HOST_KEY_MINOR;
    bool foreign = h->count >> 16 != d->settings.major || (d->guarded && !keys);
    d->stir = (d->stir + h->argument + 1) * 6364136223846793005u;
    d->key = keys ? (uint32_t)(d->stir >> 32) | 1 : 0;
    d->guarded |= keys;
    d->in_step = true;
    d->sequence = h->sequence;
    put_request(d, h, NULL, foreign ? MW_STATUS_VERSION : MW_STATUS_OK);
    d->requests[(d->request_first + d->request_count - 1) % MWD_REQUESTS].key = d->key;
}

void mwd_set_key(struct mwd_device *device, uint32_t key)
{
    device->key = key;
}

static void take_header(struct mwd_device *d)
{
    struct mw_frame_header *h = &d->header;
    bool sync = h->type == MW_FRAME_SYNC;
    bool ok = mwf_request_ok(h, d->key) && !(h->type & MW_FRAME_REPLY) &&
              (!sync || (!h->words && d->gap));
    d->have = 0;
    if (sync && ok) {
        take_sync(d);
    } else if (!d->in_step) {
        return; // discarded
    } else if (!ok) {
        lose_step(d, MW_STATUS_HEADER, h->magic);
    } else if (h->sequence != (uint16_t)(d->sequence + 1)) {
        lose_step(d, MW_STATUS_SEQUENCE, h->sequence);
    } else {
        d->sequence = h->sequence;
        if (h->words) {
            d->payload = mwd_allocate(8 * (size_t)h->words);
            d->part = MWD_PAYLOAD;
        } else {
            put_request(d, h, NULL, MW_STATUS_OK);
        }
    }
}

static void count_zeros(struct mwd_device *d, size_t more)
{
    size_t zeros = d->zeros + more;
    d->zeros = zeros < d->settings.zeros ? zeros : d->settings.zeros;
}

/// The next byte of a frame. Words of zeros are counted, and any other word clears the count.
static void take_frame_byte(struct mwd_device *d, uint8_t *part, uint8_t byte)
{
    part[d->have++] = byte;
    d->word = d->have % 8 == 1 ? byte : d->word | byte;
    if (d->have % 8)
        return;
    if (d->word)
        d->zeros = 0;
    else
        count_zeros(d, 8);
}

/// The next byte outside a frame, or one that is not zero. Two bytes show what it is. If they are
/// no magic, the second may begin one.
static void take_byte_between(struct mwd_device *d, uint8_t byte)
{
    uint8_t *header = (uint8_t *)&d->header;
    const uint16_t both = (uint16_t)(header[0] | byte << 8);
    if (d->have && both == MW_HOST_MAGIC) {
        d->gap = d->zeros == d->settings.zeros;
        d->have = 0;
        take_frame_byte(d, header, header[0]);
        take_frame_byte(d, header, byte);
        return;
    }
    if (d->have) {
        if (d->in_step)
            lose_step(d, MW_STATUS_HEADER, both);
        d->zeros = 0;
        d->have = 0;
    }
    if (byte)
        header[d->have++] = byte;
    else
        count_zeros(d, 1);
}

static void take_header_byte(struct mwd_device *d, uint8_t byte)
{
    if (d->have < 2) {
        take_byte_between(d, byte);
        return;
    }
    take_frame_byte(d, (uint8_t *)&d->header, byte);
    if (d->have == sizeof d->header)
        take_header(d);
}

static void take_trailer(struct mwd_device *d)
{
    size_t bytes = 8 * (size_t)d->header.words;
    uint32_t crc = mwf_crc(mwf_payload_start(&d->header, d->key), d->payload, bytes);
    bool right = mwf_trailer_behind(crc, d->trailer.status).crc == d->trailer.crc;
    put_request(d, &d->header, d->payload, right ? MW_STATUS_OK : MW_STATUS_PAYLOAD);
    d->payload = NULL;
    d->have = 0;
    d->part = MWD_HEADER;
    if (!right) // its end is unknown
        lose_step(d, MW_STATUS_PAYLOAD, 0);
}

/// Takes words of a part of `want` bytes, as many as are present, or else a byte. Returns the
/// number of bytes.
static size_t fill(struct mwd_device *d, uint8_t *part, size_t want, const uint8_t *data,
                   size_t bytes)
{
    const size_t left = want - d->have, here = bytes < left ? bytes : left;
    const size_t used = d->have % 8 ? 0 : here / 8 * 8;
    if (!used) {
        take_frame_byte(d, part, *data);
        return 1;
    }
    memcpy(part + d->have, data, used);
    d->have += used;
    for (size_t at = 0; at < used; at += 8) {
        uint64_t word;
        memcpy(&word, data + at, sizeof word);
        if (word)
            d->zeros = 0;
        else
            count_zeros(d, sizeof word);
    }
    return used;
}

/// Takes at least a byte. Returns the number of bytes.
static size_t take(struct mwd_device *d, const uint8_t *data, size_t bytes)
{
    size_t used = 0;
    switch (d->part) {
    case MWD_HEADER:
        while (!d->have && used < bytes && !data[used]) // the gap before SYNC is long
            used++;
        count_zeros(d, used);
        if (!used)
            take_header_byte(d, data[used++]);
        break;
    case MWD_PAYLOAD:
        used = fill(d, d->payload, 8 * (size_t)d->header.words, data, bytes);
        if (d->have == 8 * (size_t)d->header.words) {
            d->part = MWD_TRAILER;
            d->have = 0;
        }
        break;
    case MWD_TRAILER:
        used = fill(d, (uint8_t *)&d->trailer, sizeof d->trailer, data, bytes);
        if (d->have == sizeof d->trailer)
            take_trailer(d);
        break;
    }
    return used;
}

/// Takes bytes of a transfer while there is room for the result of one: a request, and the
/// LINK_ERROR after it. Returns the number of bytes.
static size_t take_some(struct mwd_device *d, const uint8_t *data, size_t bytes)
{
    size_t at = 0;
    while (at < bytes && d->request_count + 2 <= MWD_REQUESTS)
        at += take(d, data + at, bytes - at);
    return at;
}

bool mwd_out(struct mwd_device *device, const uint8_t *data, size_t bytes)
{
    struct mwd_device *d = device;
    if (d->port)
        return d->port->out(d, data, bytes);
    if (d->late)
        return false;
    size_t taken = take_some(d, data, bytes);
    if (taken == bytes)
        return true;
    d->late = mwd_allocate(bytes - taken);
    d->late_bytes = bytes - taken;
    d->late_at = 0;
    memcpy(d->late, data + taken, d->late_bytes);
    return true;
}

static void take_late(struct mwd_device *d)
{
    if (!d->late)
        return;
    d->late_at += take_some(d, d->late + d->late_at, d->late_bytes - d->late_at);
    if (d->late_at < d->late_bytes)
        return;
    free(d->late);
    d->late = NULL;
}

// ---- replies to transfers -----------------------------------------------------------------------

int mwd_in(struct mwd_device *device, uint8_t *data, size_t room)
{
    struct mwd_device *d = device;
    if (d->port)
        return d->port->in(d, data, room);
    if (d->zero_packet) {
        d->zero_packet = false;
        return 0;
    }
    if (!d->reply_count)
        return MWD_NAK;
    struct mwd_reply *r = &d->replies[d->reply_first % MWD_REPLIES];
    size_t left = r->count - d->sent, bytes = left < room ? left : room;
    memcpy(data, r->bytes + d->sent, bytes);
    d->sent += bytes;
    if (d->sent == r->count) {
        // a transfer that exactly filled the room was not ended by a short packet
        d->zero_packet = bytes == room;
        free(r->bytes);
        d->reply_first++;
        d->reply_count--;
        d->sent = 0;
    }
    return (int)bytes;
}

bool mwd_work(struct mwd_device *device)
{
    struct mwd_device *d = device;
    if (d->port)
        return d->port->work(d);
    bool layers = mwd_feed_work(d);
    take_late(d);
    if (!d->request_count || d->reply_count == MWD_REPLIES)
        return layers;
    struct mwd_request *r = &d->requests[d->request_first % MWD_REQUESTS];
    if (!mwd_carry_out(d, r))
        return layers || mwd_cpu_firmware(d) != MWD_KEEPS; // not done yet
    free(r->payload);
    d->request_first++;
    d->request_count--;
    return layers || (d->request_count && d->reply_count < MWD_REPLIES);
}
