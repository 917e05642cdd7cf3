// SPDX-License-Identifier: Apache-2.0
//
// A device's thread: moves its queued transfers, damages them if a fault is due, and lets the
// device work.
#include "bus_device.h"

#include <errno.h>
#include <string.h>
#include <time.h>

enum { NS_PER_MS = 1000000 };

struct timespec bus_deadline(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += NS_PER_MS;
    t.tv_sec += t.tv_nsec / (1000 * NS_PER_MS);
    t.tv_nsec %= 1000 * NS_PER_MS;
    return t;
}

void bus_device_kick(struct bus_device *device)
{
    device->kicked = true;
    pthread_cond_signal(&device->wake);
}

void bus_device_end(struct bus_device *device, struct urb *urb, int status, int bytes)
{
    urb->fields->status = status;
    urb->fields->actual_length = bytes;
    g_ptr_array_remove(device->queue, urb);
    g_ptr_array_add(device->done, urb);
    pthread_cond_broadcast(&device->ended);
}

void bus_device_pull_out(struct bus_device *device)
{
    device->plugged = false;
    while (device->queue->len)
        bus_device_end(device, device->queue->pdata[0], -ESHUTDOWN, 0);
    pthread_cond_broadcast(&device->ended);
}

/// Waits without the lock. A kick does not end the wait.
static void pause_for(uint64_t ms)
{
    const struct timespec t = {(time_t)(ms / 1000), (long)(ms % 1000) * NS_PER_MS};
    pthread_mutex_unlock(&bus_lock);
    nanosleep(&t, NULL);
    pthread_mutex_lock(&bus_lock);
}

// ---- faults -------------------------------------------------------------------------------------

/// Whether the fault is one of these, and is due.
static bool due(const struct bus_device *d, enum bus_fault first, enum bus_fault last)
{
    return d->fault >= first && d->fault <= last && d->fault_after == 0;
}

static enum bus_fault strike(struct bus_device *d)
{
    enum bus_fault fault = d->fault;
    d->fault = BUS_NONE;
    d->counts.struck[fault]++;
    return fault;
}

/// Counts a transfer that has moved.
static void passed(struct bus_device *d, bool in)
{
    bool both = d->fault >= BUS_RESET, its = d->fault == BUS_HALT_IN || d->fault <= BUS_TWICE_IN;
    if (d->fault_after && (both || its == in))
        d->fault_after--;
}

/// Another value for one of the bytes.
static void corrupt(uint8_t *data, size_t bytes, uint64_t seed)
{
    data[seed % bytes] ^= (uint8_t)(1 + seed / bytes % 255);
}

// ---- transfers ----------------------------------------------------------------------------------

static void control(struct bus_device *d, struct urb *u)
{
    uint8_t data[4096], *buffer = u->fields->buffer;
    int bytes = mwd_control(d->device, buffer, data);
    if (bytes > 0)
        memcpy(buffer + 8, data, (size_t)bytes);
    bus_device_end(d, u, bytes < 0 ? -EPIPE : 0, bytes < 0 ? 0 : bytes);
}

/// A request on its way to the device, damaged if a fault is due. Returns false if the device does
/// not take it now.
static bool give(struct bus_device *d, const uint8_t *data, size_t bytes)
{
    if (!due(d, BUS_CORRUPT_OUT, BUS_TWICE_OUT))
        return mwd_out(d->device, data, bytes);
    uint64_t seed = d->fault_seed;
    size_t count = d->fault == BUS_CUT_OUT ? seed % bytes : bytes;
    uint8_t *copy = g_memdup2(data, bytes);
    if (d->fault == BUS_CORRUPT_OUT)
        corrupt(copy, bytes, seed);
    bool taken = mwd_out(d->device, copy, count);
    if (taken && strike(d) == BUS_TWICE_OUT)
        mwd_out(d->device, copy, count);
    g_free(copy);
    return taken;
}

static bool out(struct bus_device *d, struct urb *u)
{
    size_t bytes = (size_t)u->fields->buffer_length;
    if (due(d, BUS_HALT_OUT, BUS_HALT_OUT))
        d->halted_out = strike(d) == BUS_HALT_OUT;
    if (d->halted_out) {
        bus_device_end(d, u, -EPIPE, 0);
        return true;
    }
    if (bytes && !give(d, u->fields->buffer, bytes))
        return false;
    bool zero = u->fields->flags & USBDEVFS_URB_ZERO_PACKET;
    d->counts.wrong_zero_flag += zero != (bytes % 512 == 0);
    d->counts.out += bytes != 0;
    passed(d, false);
    bus_device_end(d, u, 0, (int)bytes);
    return true;
}

/// A reply for the host, damaged if a fault is due.
static int receive(struct bus_device *d, uint8_t *data, size_t room)
{
    if (d->again) {
        int bytes = d->again_bytes < (int)room ? d->again_bytes : (int)room;
        memcpy(data, d->again, (size_t)bytes);
        g_free(d->again);
        d->again = NULL;
        return bytes;
    }
    int bytes = mwd_in(d->device, data, room);
    if (bytes <= 0 || !due(d, BUS_CORRUPT_IN, BUS_TWICE_IN))
        return bytes;
    uint64_t seed = d->fault_seed, size = (uint64_t)bytes;
    switch (strike(d)) {
    case BUS_CORRUPT_IN:
        corrupt(data, size, seed);
        return bytes;
    case BUS_CUT_IN:
        return (int)(seed % size);
    default:
        d->again = g_memdup2(data, size);
        d->again_bytes = bytes;
        return bytes;
    }
}

static bool in(struct bus_device *d, struct urb *u)
{
    if (due(d, BUS_HALT_IN, BUS_HALT_IN))
        d->halted_in = strike(d) == BUS_HALT_IN;
    if (d->halted_in) {
        bus_device_end(d, u, -EPIPE, 0);
        return true;
    }
    int bytes = receive(d, u->fields->buffer, (size_t)u->fields->buffer_length);
    if (bytes < 0)
        return false;
    d->counts.in += bytes != 0;
    passed(d, true);
    bus_device_end(d, u, 0, bytes);
    return true;
}

/// The first queued transfer of an endpoint. 0 is the control endpoint.
static struct urb *first_of(struct bus_device *d, unsigned endpoint)
{
    for (guint i = 0; i < d->queue->len; i++) {
        struct urb *u = d->queue->pdata[i];
        bool is_control = u->fields->type == USBDEVFS_URB_TYPE_CONTROL;
        if (is_control ? endpoint == 0 : u->fields->endpoint == endpoint)
            return u;
    }
    return NULL;
}

static void reset(struct bus_device *d)
{
    d->reset = false;
    mwd_bus_reset(d->device);
    g_free(d->again);
    d->again = NULL;
}

/// Moves what can be moved now. Returns whether anything moved.
static bool move(struct bus_device *d)
{
    if (d->reset)
        reset(d);
    struct urb *c = first_of(d, 0), *o = NULL, *i = NULL;
    if (c)
        control(d, c);
    if (!d->frozen) {
        if (due(d, BUS_RESET, BUS_UNPLUG))
            switch (strike(d)) {
            case BUS_RESET:
                reset(d);
                break;
            case BUS_PAUSE:
                pause_for(d->fault_seed);
                return true; // anything may have happened meanwhile
            default:
                bus_device_pull_out(d);
                return false;
            }
        o = first_of(d, MW_HOST_USB_OUT);
        o = o && out(d, o) ? o : NULL;
        i = first_of(d, MW_HOST_USB_IN);
        i = i && in(d, i) ? i : NULL;
    }
    return c || o || i;
}

/// Sleeps until a kick, and only for a short time if time passes without transfers.
static void rest(struct bus_device *d)
{
    const struct timespec t = bus_deadline();
    if (d->restless && d->plugged)
        pthread_cond_timedwait(&d->wake, &bus_lock, &t);
    else
        pthread_cond_wait(&d->wake, &bus_lock);
}

void *bus_device_live(void *device)
{
    struct bus_device *d = device;
    pthread_mutex_lock(&bus_lock);
    while (!d->stop) {
        d->kicked = false;
        bool moved = d->plugged && move(d), works = d->plugged && !d->frozen;
        pthread_mutex_unlock(&bus_lock);
        moved |= works && mwd_work(d->device);
        pthread_mutex_lock(&bus_lock);
        if (!moved && !d->kicked && !d->stop)
            rest(d);
    }
    pthread_mutex_unlock(&bus_lock);
    return NULL;
}
