// SPDX-License-Identifier: Apache-2.0
//
// Linux's usbfs, as far as libusb needs it: this ioctl precedes the one of the C library. Calls for
// other files are passed on. A queued transfer stays in the program's own memory, as in the kernel.
// A sanitizer therefore detects when the program frees it too early.
#include "bus_device.h"

#include <dlfcn.h>
#include <errno.h>
#include <libusb-1.0/libusb.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>

/// The nodes are empty files: no memory of the kernel can be mapped.
unsigned char *LIBUSB_CALL libusb_dev_mem_alloc(libusb_device_handle *handle, size_t length)
{
    (void)handle;
    (void)length;
    return NULL;
}

static int submit(struct bus_device *d, int file, struct usbdevfs_urb *fields)
{
    if (!d->plugged)
        return ENODEV;
    struct urb *u = g_new(struct urb, 1);
    *u = (struct urb){file, fields};
    g_ptr_array_add(d->queue, u);
    bus_device_kick(d);
    return 0;
}

static int discard(struct bus_device *d, int file, const struct usbdevfs_urb *fields)
{
    for (guint i = 0; i < d->queue->len; i++) {
        struct urb *u = d->queue->pdata[i];
        if (u->file == file && u->fields == fields) {
            d->counts.cancels++;
            bus_device_end(d, u, -ENOENT, 0);
            return 0;
        }
    }
    return d->plugged ? EINVAL : ENODEV;
}

static struct urb *ended(struct bus_device *d, int file)
{
    for (guint i = 0; i < d->done->len; i++) {
        struct urb *u = d->done->pdata[i];
        if (u->file == file)
            return u;
    }
    return NULL;
}

/// A file in place of a node is always readable, so libusb would poll without end. An answer
/// without data therefore takes a moment.
static int reap(struct bus_device *d, int file, struct usbdevfs_urb **fields)
{
    const struct timespec t = bus_deadline();
    struct urb *u;
    int late = 0;
    while (!(u = ended(d, file)) && d->plugged && !late)
        late = pthread_cond_timedwait(&d->ended, &bus_lock, &t);
    if (!u)
        return d->plugged ? EAGAIN : ENODEV;
    *fields = u->fields;
    g_ptr_array_remove(d->done, u);
    g_free(u);
    return 0;
}

static int clear_halt(struct bus_device *d, const unsigned *endpoint)
{
    d->counts.clear_halts++;
    if (*endpoint == MW_HOST_USB_IN)
        d->halted_in = false;
    else
        d->halted_out = false;
    return d->plugged ? 0 : ENODEV;
}

static int reset(struct bus_device *d)
{
    d->counts.resets++;
    d->reset = true;
    bus_device_kick(d);
    return d->plugged ? 0 : ENODEV;
}

static int claim(struct bus_device *d, int file)
{
    if (!d->plugged)
        return ENODEV;
    if (d->claimed >= 0 && d->claimed != file)
        return EBUSY;
    d->claimed = file;
    return 0;
}

static int release(struct bus_device *d, int file)
{
    if (d->claimed != file)
        return EINVAL;
    d->claimed = -1;
    return d->plugged ? 0 : ENODEV;
}

static int answer(struct bus_device *d, int file, unsigned long request, void *argument)
{
    switch (request) {
    case USBDEVFS_GET_CAPABILITIES:
        *(uint32_t *)argument = USBDEVFS_CAP_ZERO_PACKET | USBDEVFS_CAP_BULK_CONTINUATION |
                                USBDEVFS_CAP_NO_PACKET_SIZE_LIM | USBDEVFS_CAP_BULK_SCATTER_GATHER |
                                USBDEVFS_CAP_REAP_AFTER_DISCONNECT;
        return 0;
    case USBDEVFS_CLAIMINTERFACE:
        return claim(d, file);
    case USBDEVFS_RELEASEINTERFACE:
        return release(d, file);
    case USBDEVFS_CLEAR_HALT:
        return clear_halt(d, argument);
    case USBDEVFS_GETDRIVER:
    case USBDEVFS_IOCTL: // to a driver
        return ENODATA;
    case USBDEVFS_RESET:
        return reset(d);
    case USBDEVFS_SUBMITURB:
        return submit(d, file, argument);
    case USBDEVFS_DISCARDURB:
        return discard(d, file, argument);
    case USBDEVFS_REAPURB:
    case USBDEVFS_REAPURBNDELAY:
        return reap(d, file, argument);
    default:
        return ENOTTY;
    }
}

int ioctl(int file, unsigned long request, ...)
{
    static int (*next)(int, unsigned long, void *);
    va_list list;
    va_start(list, request);
    void *argument = va_arg(list, void *);
    va_end(list);
    struct bus_device *d = _IOC_TYPE(request) == 'U' ? bus_device_of(file) : NULL;
    if (!d) {
        void *symbol = next ? NULL : dlsym(RTLD_NEXT, "ioctl");
        if (symbol)
            memcpy(&next, &symbol, sizeof next);
        return next(file, request, argument);
    }
    pthread_mutex_lock(&bus_lock);
    int error = answer(d, file, request, argument);
    pthread_mutex_unlock(&bus_lock);
    errno = error;
    return error ? -1 : 0;
}
