// SPDX-License-Identifier: Apache-2.0
//
// See usb_transfer.h.
#include "usb_transfer.h"

#include <string.h>

enum {
    TRIES = 3,         // 10.2.6: of a transaction without an answer
    NAK_LIMIT = 20000, // transactions
    CONTROL_PACKET = 64,
    DESCRIPTOR = 6,
    SET_ADDRESS = 5,
    SET_CONFIGURATION = 9,
    ENDPOINT = 5, // descriptor type
};

/// Repeat an OUT or SETUP until it is acknowledged.
static int out_packet(struct usb_host *h, unsigned pid, unsigned endpoint, unsigned toggle,
                      const uint8_t *data, size_t size, struct usb_pipe *pipe)
{
    unsigned silent = 0;
    for (unsigned naks = 0; naks < NAK_LIMIT;) {
        int result = usb_host_out(h, pid, endpoint, toggle, data, size, 0);
        if (result == USB_PID_ACK)
            return 0;
        if (result == USB_PID_STALL)
            return USB_STALLED;
        if (result == USB_PID_NAK) {
            pipe->naks++;
            // high speed: send PING until there is room (8.5.1)
            while (ulpi_phy_high_speed(&h->phy) && naks++ < NAK_LIMIT) {
                pipe->pings++;
                if (usb_host_ping(h, endpoint) == USB_PID_ACK)
                    break;
            }
            naks++;
            continue;
        }
        pipe->retries++;
        if (++silent == TRIES)
            return USB_LOST;
    }
    return USB_LOST;
}

/// Repeat an IN until data with the right toggle comes. Returns its size.
static long in_packet(struct usb_host *h, unsigned endpoint, unsigned *toggle, uint8_t *data,
                      struct usb_pipe *pipe)
{
    unsigned silent = 0;
    size_t size = 0;
    for (unsigned naks = 0; naks < NAK_LIMIT;) {
        int result = usb_host_in(h, endpoint, data, &size, 0);
        if (result == (*toggle ? USB_PID_DATA1 : USB_PID_DATA0)) {
            *toggle ^= 1;
            return (long)size;
        }
        if (result == USB_PID_STALL)
            return USB_STALLED;
        if (result == USB_PID_NAK) {
            pipe->naks++;
            naks++;
        } else if (result != USB_PID_DATA0 && result != USB_PID_DATA1) {
            pipe->retries++;
            if (++silent == TRIES)
                return USB_LOST;
        }
    }
    return USB_LOST;
}

int usb_control(struct usb_host *h, const struct usb_setup *s, uint8_t *data)
{
    const uint8_t request[8] = {s->type,
                                s->request,
                                (uint8_t)s->value,
                                (uint8_t)(s->value >> 8),
                                (uint8_t)s->index,
                                (uint8_t)(s->index >> 8),
                                (uint8_t)s->length,
                                (uint8_t)(s->length >> 8)};
    struct usb_pipe pipe = {0};
    unsigned toggle = 1;
    bool in = s->type & 0x80;
    uint8_t packet[USB_MAX_DATA];
    int moved = 0, status;
    if ((status = out_packet(h, USB_PID_SETUP, 0, 0, request, sizeof request, &pipe)))
        return status;
    while (in && moved < s->length) {
        long size = in_packet(h, 0, &toggle, packet, &pipe);
        if (size < 0)
            return (int)size;
        if (size > s->length - moved)
            return USB_BROKEN;
        memcpy(data + moved, packet, (size_t)size);
        moved += (int)size;
        if (size < CONTROL_PACKET)
            break;
    }
    while (!in && moved < s->length) {
        int size = s->length - moved < CONTROL_PACKET ? s->length - moved : CONTROL_PACKET;
        if ((status = out_packet(h, USB_PID_OUT, 0, toggle, data + moved, (size_t)size, &pipe)))
            return status;
        toggle ^= 1;
        moved += size;
    }
    // status stage: the other direction, DATA1, empty
    toggle = 1;
    if (in && s->length)
        return (status = out_packet(h, USB_PID_OUT, 0, 1, NULL, 0, &pipe)) ? status : moved;
    long size = in_packet(h, 0, &toggle, packet, &pipe);
    usb_host_wait(h, USB_CLOCKS_PER_US); // the device acts when it has seen the acknowledgement
    return size < 0 ? (int)size : size ? USB_BROKEN : moved;
}

int usb_bulk_out(struct usb_host *h, struct usb_pipe *pipe, const uint8_t *data, size_t size,
                 bool zero_packet)
{
    size_t at = 0;
    bool more = size || zero_packet;
    while (more) {
        size_t n = size - at < pipe->packet ? size - at : pipe->packet;
        int status = out_packet(h, USB_PID_OUT, pipe->out, pipe->out_toggle, data + at, n, pipe);
        if (status)
            return status;
        pipe->out_toggle ^= 1;
        at += n;
        more = at < size || (zero_packet && n == pipe->packet);
    }
    return 0;
}

long usb_bulk_in(struct usb_host *h, struct usb_pipe *pipe, uint8_t *data, size_t size)
{
    uint8_t packet[USB_MAX_DATA];
    size_t at = 0;
    while (at < size) {
        long n = in_packet(h, pipe->in, &pipe->in_toggle, packet, pipe);
        if (n < 0)
            return n;
        if ((size_t)n > pipe->packet || (size_t)n > size - at)
            return USB_BROKEN;
        memcpy(data + at, packet, (size_t)n);
        at += (size_t)n;
        if ((size_t)n < pipe->packet)
            break;
    }
    return (long)at;
}

static int get_descriptor(struct usb_host *h, unsigned type, uint8_t *data, size_t size)
{
    struct usb_setup s = {0x80, DESCRIPTOR, (uint16_t)(type << 8), 0, (uint16_t)size};
    return usb_control(h, &s, data);
}

/// Bulk endpoints of the first interface.
static void find_pipe(struct usb_pipe *pipe, const uint8_t *configuration, size_t size)
{
    *pipe = (struct usb_pipe){0};
    for (size_t at = 0; at + 7 <= size && configuration[at]; at += configuration[at]) {
        const uint8_t *d = configuration + at;
        if (d[1] != ENDPOINT || (d[3] & 3) != 2)
            continue;
        *(d[2] & 0x80 ? &pipe->in : &pipe->out) = d[2] & 0xf;
        pipe->packet = d[4] | (unsigned)d[5] << 8;
    }
}

int usb_enumerate(struct usb_host *h, struct usb_pipe *pipe, uint8_t *configuration, size_t size)
{
    const unsigned address = 5;
    const struct usb_setup set_address = {0, SET_ADDRESS, address, 0, 0};
    const struct usb_setup set_configuration = {0, SET_CONFIGURATION, 1, 0, 0};
    uint8_t device[18];
    int status;
    if (!usb_host_reset(h))
        return USB_LOST;
    if ((status = get_descriptor(h, 1, device, 8)) < 0)
        return status;
    if ((status = usb_control(h, &set_address, NULL)) < 0)
        return status;
    usb_host_wait(h, 2 * USB_CLOCKS_PER_MS); // 9.2.6.3
    h->address = address;
    if ((status = get_descriptor(h, 1, device, sizeof device)) < 0)
        return status;
    int length = get_descriptor(h, 2, configuration, size);
    if (length < 0)
        return length;
    if ((status = usb_control(h, &set_configuration, NULL)) < 0)
        return status;
    find_pipe(pipe, configuration, (size_t)length);
    return 0;
}
