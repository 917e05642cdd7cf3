// SPDX-License-Identifier: Apache-2.0
//
// Cancelling and unplugging have no races for three reasons:
// - A slot counts as queued from before libusb_submit_transfer until its callback has run, however
//   the transfer ends. Only libusb accesses it meanwhile.
// - `pausing` is read under the lock under which slots are queued. Once it is set, the number of
//   queued transfers only falls.
// - Memory is freed only when that number is 0.
#include "transport_usb/usb_pipe.h"

#include "host.h"
#include "core/thread.h"

#include <stdlib.h>

size_t mwu_pipe_memory(void)
{
    return (size_t)MWU_IN_COUNT * MWU_IN_BYTES + (size_t)MWU_OUT_COUNT * MWU_OUT_BYTES;
}

static void get_worse(struct mwu_pipe *p, enum mwu_health health, const char *why)
{
    if (p->health >= health)
        return;
    p->health = health;
    p->owner->worse(p->owner->context, health, why);
}

static void note_error(struct mwu_pipe *p, int error)
{
    if (error == LIBUSB_ERROR_NO_DEVICE)
        get_worse(p, MWU_GONE, "the device was unplugged");
    else if (error == LIBUSB_ERROR_NO_MEM)
        get_worse(p, MWU_BROKEN, "no usbfs memory is left; for more: " MWU_MEMORY_REMEDY);
    else
        get_worse(p, MWU_BROKEN, libusb_strerror(error));
}

/// Hand a slot to libusb.
static bool queue(struct mwu_slot *slot)
{
    struct mwu_pipe *p = slot->pipe;
    if (p->pausing || p->health != MWU_WELL)
        return false;
    slot->queued = true;
    p->queued++;
    int error = libusb_submit_transfer(slot->transfer);
    if (!error)
        return true;
    slot->queued = false;
    p->queued--;
    note_error(p, error);
    return false;
}

static void note_status(struct mwu_pipe *p, enum libusb_transfer_status status)
{
    switch (status) {
    case LIBUSB_TRANSFER_COMPLETED:
        clock_gettime(CLOCK_MONOTONIC, &p->progress);
        break;
    case LIBUSB_TRANSFER_CANCELLED:
        if (!p->pausing)
            get_worse(p, MWU_BROKEN, "a transfer was cancelled by something else");
        break;
    case LIBUSB_TRANSFER_NO_DEVICE:
        get_worse(p, MWU_GONE, "the device was unplugged");
        break;
    case LIBUSB_TRANSFER_STALL:
        p->halted = true;
        get_worse(p, MWU_BROKEN, "an endpoint is halted");
        break;
    case LIBUSB_TRANSFER_OVERFLOW:
        get_worse(p, MWU_BROKEN, "the device sent more than a packet holds");
        break;
    case LIBUSB_TRANSFER_TIMED_OUT:
    case LIBUSB_TRANSFER_ERROR:
        get_worse(p, MWU_BROKEN, "a transfer failed");
        break;
    }
}

static void LIBUSB_CALL ended(struct libusb_transfer *t)
{
    struct mwu_slot *slot = t->user_data;
    struct mwu_pipe *p = slot->pipe;
    bool whole = t->actual_length == t->length;
    pthread_mutex_lock(&p->lock);
    slot->queued = false;
    p->queued--;
    note_status(p, t->status);
    if (t->status == LIBUSB_TRANSFER_COMPLETED && t->endpoint == MW_HOST_USB_IN) {
        p->owner->in(p->owner->context, slot->bytes, (size_t)t->actual_length, !whole);
        queue(slot);
    } else if (t->status == LIBUSB_TRANSFER_COMPLETED && !whole) {
        get_worse(p, MWU_BROKEN, "a transfer was cut short");
    }
    // a wake-up for every transfer would cost more than the transfer
    if (p->pausing || (p->buffer_wanted && t->endpoint == MW_HOST_USB_OUT))
        pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
}

void mwu_pipe_wake(struct mwu_pipe *pipe)
{
    pthread_cond_broadcast(&pipe->changed);
}

static void *handle_events(void *context)
{
    struct mwu_pipe *p = context;
    while (!__atomic_load_n(&p->stop, __ATOMIC_ACQUIRE))
        libusb_handle_events_completed(p->context, &p->stop);
    return NULL;
}

void mwu_pipe_wait(struct mwu_pipe *pipe, const struct timespec *deadline)
{
    pthread_cond_timedwait(&pipe->changed, &pipe->lock, deadline);
}

struct mwu_slot *mwu_pipe_buffer(struct mwu_pipe *pipe)
{
    pipe->buffer_wanted = false;
    for (unsigned i = 0; i < MWU_OUT_COUNT; i++)
        if (!pipe->out[i].queued)
            return &pipe->out[i];
    pipe->buffer_wanted = true;
    return NULL;
}

bool mwu_pipe_send(struct mwu_slot *slot, size_t count)
{
    struct mwu_pipe *p = slot->pipe;
    libusb_fill_bulk_transfer(slot->transfer, p->handle, MW_HOST_USB_OUT, slot->bytes, (int)count,
                              ended, slot, 0);
    slot->transfer->flags = count % p->packet ? 0 : LIBUSB_TRANSFER_ADD_ZERO_PACKET;
    return queue(slot);
}

/// End all transfers. Afterwards libusb has none.
static void pause_all(struct mwu_pipe *p)
{
    p->pausing = true;
    for (unsigned i = 0; i < MWU_IN_COUNT; i++)
        if (p->in[i].queued)
            libusb_cancel_transfer(p->in[i].transfer);
    for (unsigned i = 0; i < MWU_OUT_COUNT; i++)
        if (p->out[i].queued)
            libusb_cancel_transfer(p->out[i].transfer);
    while (p->queued)
        pthread_cond_wait(&p->changed, &p->lock);
    p->pausing = false;
}

static bool queue_in(struct mwu_pipe *p)
{
    for (unsigned i = 0; i < MWU_IN_COUNT; i++)
        if (!queue(&p->in[i]))
            return false;
    return true;
}

/// The lock is not needed, as nothing is queued. This call waits for the device, so the lock is
/// released. libusb releases the interface for the reset and does not claim it again if the reset
/// fails. A second claim is harmless.
static bool reset_device(struct mwu_pipe *p)
{
    pthread_mutex_unlock(&p->lock);
    libusb_reset_device(p->handle);
    bool ours = !libusb_claim_interface(p->handle, 0);
    pthread_mutex_lock(&p->lock);
    if (!ours)
        note_error(p, LIBUSB_ERROR_NO_DEVICE);
    return ours;
}

bool mwu_pipe_restart(struct mwu_pipe *pipe, bool reset)
{
    pause_all(pipe);
    if (pipe->health == MWU_GONE)
        return false;
    pipe->health = MWU_WELL;
    if (reset && !reset_device(pipe))
        return false;
    if (pipe->halted) {
        pipe->halted = false;
        // The lock is not needed, as nothing is queued. These calls wait for the device, so it is
        // released.
        pthread_mutex_unlock(&pipe->lock);
        int in = libusb_clear_halt(pipe->handle, MW_HOST_USB_IN);
        int out = libusb_clear_halt(pipe->handle, MW_HOST_USB_OUT);
        pthread_mutex_lock(&pipe->lock);
        if (in || out) {
            note_error(pipe, in ? in : out);
            return false;
        }
    }
    return queue_in(pipe);
}

static void free_slot(struct mwu_slot *slot, size_t bytes)
{
    libusb_free_transfer(slot->transfer);
    if (slot->mapped)
        libusb_dev_mem_free(slot->pipe->handle, slot->bytes, bytes);
    else
        free(slot->bytes);
}

static void free_slots(struct mwu_pipe *p)
{
    for (unsigned i = 0; i < MWU_IN_COUNT; i++)
        free_slot(&p->in[i], MWU_IN_BYTES);
    for (unsigned i = 0; i < MWU_OUT_COUNT; i++)
        free_slot(&p->out[i], MWU_OUT_BYTES);
}

/// The kernel's own memory where it gives any: otherwise it takes fresh memory for every transfer.
static bool make_slot(struct mwu_pipe *p, struct mwu_slot *slot, size_t bytes)
{
    slot->pipe = p;
    slot->transfer = libusb_alloc_transfer(0);
    slot->bytes = libusb_dev_mem_alloc(p->handle, bytes);
    slot->mapped = slot->bytes != NULL;
    if (!slot->mapped)
        slot->bytes = malloc(bytes);
    return slot->transfer && slot->bytes;
}

static bool make_slots(struct mwu_pipe *p)
{
    bool ok = true;
    for (unsigned i = 0; i < MWU_OUT_COUNT; i++)
        ok &= make_slot(p, &p->out[i], MWU_OUT_BYTES);
    for (unsigned i = 0; i < MWU_IN_COUNT; i++) {
        struct mwu_slot *slot = &p->in[i];
        ok &= make_slot(p, slot, MWU_IN_BYTES);
        if (ok)
            libusb_fill_bulk_transfer(slot->transfer, p->handle, MW_HOST_USB_IN, slot->bytes,
                                      MWU_IN_BYTES, ended, slot, 0);
    }
    return ok;
}

static void make_lock(struct mwu_pipe *p)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&p->changed, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_init(&p->lock, NULL);
}

int mwu_pipe_start(struct mwu_pipe *pipe, const struct mwu_pipe_owner *owner,
                   libusb_context *context, libusb_device_handle *handle)
{
    *pipe = (struct mwu_pipe){.context = context, .handle = handle, .owner = owner};
    int packet = libusb_get_max_packet_size(libusb_get_device(handle), MW_HOST_USB_OUT);
    if (packet <= 0)
        return LIBUSB_ERROR_NOT_SUPPORTED;
    pipe->packet = (unsigned)packet;
    make_lock(pipe);
    if (!make_slots(pipe) || mwi_thread_start(&pipe->thread, handle_events, pipe)) {
        free_slots(pipe);
        pthread_cond_destroy(&pipe->changed);
        pthread_mutex_destroy(&pipe->lock);
        return LIBUSB_ERROR_NO_MEM;
    }
    return 0;
}

void mwu_pipe_stop(struct mwu_pipe *pipe)
{
    pthread_mutex_lock(&pipe->lock);
    pause_all(pipe);
    pthread_mutex_unlock(&pipe->lock);
    __atomic_store_n(&pipe->stop, 1, __ATOMIC_RELEASE);
    libusb_interrupt_event_handler(pipe->context);
    pthread_join(pipe->thread, NULL);
    free_slots(pipe);
    pthread_cond_destroy(&pipe->changed);
    pthread_mutex_destroy(&pipe->lock);
}
