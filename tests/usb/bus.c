// SPDX-License-Identifier: Apache-2.0
#include "bus.h"

#include <libusb-1.0/libusb.h>
#include <umockdev.h>

#include <errno.h>
#include <linux/usbdevice_fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define PRELOAD "libumockdev-preload.so.0"

enum {
    DEVICES = 8,
    IDLE_US = 20, ///< a poll that finds nothing takes so long, for umockdev cannot let libusb sleep
    SIZE_BITS = 14,
};

/// A transfer that the host has queued.
struct urb {
    UMockdevIoctlClient *client; ///< the file that it came through, and goes back by
    UMockdevIoctlData *urb, *buffer;
};

struct bus_device {
    struct bus *bus;
    unsigned number; ///< on the bus
    char *path;      ///< in sysfs
    struct mwd_backend backend;
    struct mwd_device *device;
    UMockdevIoctlBase *handler;
    UMockdevIoctlClient *claimed;
    GPtrArray *queued, *ended; ///< struct urb
    bool plugged, frozen, halted_in, halted_out;
    enum bus_fault fault;
    unsigned fault_after;
    uint64_t fault_seed;
    uint8_t *again; ///< a reply that comes twice
    int again_bytes;
    struct bus_counts counts;
};

struct bus {
    UMockdevTestbed *testbed;
    GMutex lock; ///< the handlers run in umockdev's thread
    struct bus_device *device[DEVICES];
    unsigned count;
};

void bus_prepare(char **argv)
{
    const char *preload = getenv("LD_PRELOAD");
    if (preload && strstr(preload, PRELOAD))
        return;
    setenv("LD_PRELOAD", PRELOAD, 1);
    execv("/proc/self/exe", argv);
    perror("execv");
    exit(1);
}

/// umockdev has no memory of the kernel to map; its device nodes are empty files.
unsigned char *LIBUSB_CALL libusb_dev_mem_alloc(libusb_device_handle *handle, size_t length)
{
    (void)handle;
    (void)length;
    return NULL;
}

// ---- transfers ------------------------------------------------------------------------------------------

static struct usbdevfs_urb *fields(struct urb *u)
{
    return (struct usbdevfs_urb *)(void *)u->urb->data;
}

static void end_urb(struct bus_device *d, struct urb *u, int status, int bytes)
{
    umockdev_ioctl_data_update(u->urb, G_STRUCT_OFFSET(struct usbdevfs_urb, status),
                               (guint8 *)&status, sizeof status);
    umockdev_ioctl_data_update(u->urb, G_STRUCT_OFFSET(struct usbdevfs_urb, actual_length),
                               (guint8 *)&bytes, sizeof bytes);
    g_ptr_array_remove(d->queued, u);
    g_ptr_array_add(d->ended, u);
}

static void pull_out(struct bus_device *d)
{
    d->plugged = false;
    while (d->queued->len)
        end_urb(d, d->queued->pdata[0], -ESHUTDOWN, 0);
}

/// Whether the fault strikes this transfer, of that direction.
static bool strikes(struct bus_device *d, enum bus_fault first, enum bus_fault last)
{
    if (d->fault < first || d->fault > last)
        return false;
    return d->fault_after-- == 0;
}

static enum bus_fault strike(struct bus_device *d)
{
    enum bus_fault fault = d->fault;
    d->fault = BUS_NONE;
    return fault;
}

static bool control(struct bus_device *d, struct urb *u)
{
    uint8_t data[4096];
    const guint8 *setup = u->buffer->data;
    int bytes = mwd_control(d->device, setup, data);
    if (bytes > 0)
        umockdev_ioctl_data_update(u->buffer, 8, data, (gsize)bytes);
    end_urb(d, u, bytes < 0 ? -EPIPE : 0, bytes < 0 ? 0 : bytes);
    return true;
}

/// A request on its way to the device, damaged where a fault strikes.
static bool give(struct bus_device *d, uint8_t *data, size_t bytes)
{
    bool struck = d->fault_after == 0 && d->fault >= BUS_CORRUPT_OUT && d->fault <= BUS_TWICE_OUT;
    uint64_t seed = d->fault_seed;
    if (struck && d->fault == BUS_CORRUPT_OUT)
        data[seed % bytes] ^= (uint8_t)(1 + seed / bytes % 255);
    if (struck && d->fault == BUS_CUT_OUT)
        bytes = seed % bytes;
    if (!mwd_out(d->device, data, bytes))
        return false;
    if (struck && d->fault == BUS_TWICE_OUT)
        mwd_out(d->device, data, bytes);
    return true;
}

static bool out(struct bus_device *d, struct urb *u)
{
    size_t bytes = (size_t)fields(u)->buffer_length;
    if (strikes(d, BUS_HALT_OUT, BUS_HALT_OUT))
        d->halted_out = strike(d) == BUS_HALT_OUT;
    if (d->halted_out) {
        end_urb(d, u, -EPIPE, 0);
        return true;
    }
    uint8_t *copy = g_memdup2(u->buffer->data, bytes);
    bool taken = bytes == 0 || give(d, copy, bytes);
    g_free(copy);
    if (!taken)
        return false;
    if (strikes(d, BUS_CORRUPT_OUT, BUS_TWICE_OUT))
        strike(d);
    bool zero = fields(u)->flags & USBDEVFS_URB_ZERO_PACKET;
    d->counts.wrong_zero_flag += zero != (bytes % 512 == 0);
    d->counts.out++;
    end_urb(d, u, 0, (int)bytes);
    return true;
}

/// A reply for the host, damaged where a fault strikes.
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
    if (bytes <= 0 || !strikes(d, BUS_CORRUPT_IN, BUS_TWICE_IN))
        return bytes;
    uint64_t seed = d->fault_seed, size = (uint64_t)bytes;
    switch (strike(d)) {
    case BUS_CORRUPT_IN:
        data[seed % size] ^= (uint8_t)(1 + seed / size % 255);
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
    static uint8_t data[1 << 20];
    if (strikes(d, BUS_HALT_IN, BUS_HALT_IN))
        d->halted_in = strike(d) == BUS_HALT_IN;
    if (d->halted_in) {
        end_urb(d, u, -EPIPE, 0);
        return true;
    }
    int bytes = receive(d, data, (size_t)fields(u)->buffer_length);
    if (bytes < 0)
        return false;
    if (bytes)
        umockdev_ioctl_data_update(u->buffer, 0, data, (gsize)bytes);
    d->counts.in++;
    end_urb(d, u, 0, bytes);
    return true;
}

/// The first queued transfer of an endpoint.
static struct urb *first_of(struct bus_device *d, unsigned endpoint)
{
    for (guint i = 0; i < d->queued->len; i++) {
        struct urb *u = d->queued->pdata[i];
        if (fields(u)->type == USBDEVFS_URB_TYPE_BULK && fields(u)->endpoint == endpoint)
            return u;
    }
    return NULL;
}

/// Move what can be moved.
static void run(struct bus_device *d)
{
    bool moved = true;
    while (moved && d->plugged && !d->frozen) {
        if (strikes(d, BUS_RESET, BUS_RESET) && strike(d) == BUS_RESET)
            mwd_bus_reset(d->device);
        if (strikes(d, BUS_UNPLUG, BUS_UNPLUG) && strike(d) == BUS_UNPLUG) {
            pull_out(d);
            return;
        }
        struct urb *o = first_of(d, MW_HOST_USB_OUT);
        moved = o && out(d, o);
        struct urb *i = first_of(d, MW_HOST_USB_IN);
        moved |= i && in(d, i);
        moved |= mwd_work(d->device);
    }
}

// ---- usbfs ------------------------------------------------------------------------------------------------

static int submit(struct bus_device *d, UMockdevIoctlClient *client, UMockdevIoctlData *arg)
{
    if (!d->plugged)
        return ENODEV;
    struct urb *u = g_new0(struct urb, 1);
    u->client = client;
    u->urb = umockdev_ioctl_data_resolve(arg, 0, sizeof(struct usbdevfs_urb), NULL);
    if (fields(u)->buffer_length)
        u->buffer =
            umockdev_ioctl_data_resolve(u->urb, G_STRUCT_OFFSET(struct usbdevfs_urb, buffer),
                                        (gsize)fields(u)->buffer_length, NULL);
    g_ptr_array_add(d->queued, u);
    if (fields(u)->type == USBDEVFS_URB_TYPE_CONTROL)
        control(d, u);
    run(d);
    return 0;
}

static int discard(struct bus_device *d, UMockdevIoctlClient *client, UMockdevIoctlData *arg)
{
    gulong address = *(gulong *)(void *)arg->data;
    for (guint i = 0; i < d->queued->len; i++) {
        struct urb *u = d->queued->pdata[i];
        if (u->client == client && u->urb->client_addr == address) {
            d->counts.cancels++;
            end_urb(d, u, -ENOENT, 0);
            return 0;
        }
    }
    return d->plugged ? EINVAL : ENODEV;
}

static int reap(struct bus_device *d, UMockdevIoctlClient *client, UMockdevIoctlData *arg)
{
    struct urb *u = NULL;
    run(d);
    for (guint i = 0; i < d->ended->len && !u; i++) {
        struct urb *one = d->ended->pdata[i];
        u = one->client == client ? one : NULL;
    }
    if (!u)
        return d->plugged ? EAGAIN : ENODEV;
    UMockdevIoctlData *place = umockdev_ioctl_data_resolve(arg, 0, sizeof(void *), NULL);
    umockdev_ioctl_data_set_ptr(place, 0, u->urb);
    g_object_unref(place);
    g_ptr_array_remove(d->ended, u);
    if (u->buffer)
        g_object_unref(u->buffer);
    g_object_unref(u->urb);
    g_free(u);
    return 0;
}

static int clear_halt(struct bus_device *d, UMockdevIoctlData *arg)
{
    UMockdevIoctlData *endpoint = umockdev_ioctl_data_resolve(arg, 0, sizeof(int), NULL);
    int number = *(int *)(void *)endpoint->data;
    g_object_unref(endpoint);
    d->counts.clear_halts++;
    if (number == MW_HOST_USB_IN)
        d->halted_in = false;
    else
        d->halted_out = false;
    return d->plugged ? 0 : ENODEV;
}

static int capabilities(UMockdevIoctlData *arg)
{
    guint32 value = USBDEVFS_CAP_ZERO_PACKET | USBDEVFS_CAP_BULK_CONTINUATION |
                    USBDEVFS_CAP_NO_PACKET_SIZE_LIM | USBDEVFS_CAP_BULK_SCATTER_GATHER |
                    USBDEVFS_CAP_REAP_AFTER_DISCONNECT;
    UMockdevIoctlData *place = umockdev_ioctl_data_resolve(arg, 0, sizeof value, NULL);
    umockdev_ioctl_data_update(place, 0, (guint8 *)&value, sizeof value);
    g_object_unref(place);
    return 0;
}

static int claim(struct bus_device *d, UMockdevIoctlClient *client)
{
    if (!d->plugged)
        return ENODEV;
    if (d->claimed && d->claimed != client)
        return EBUSY;
    d->claimed = client;
    return 0;
}

static int answer(struct bus_device *d, UMockdevIoctlClient *client, gulong request)
{
    UMockdevIoctlData *arg = umockdev_ioctl_client_get_arg(client);
    switch (request) {
    case USBDEVFS_GET_CAPABILITIES:
        return capabilities(arg);
    case USBDEVFS_CLAIMINTERFACE:
        return claim(d, client);
    case USBDEVFS_RELEASEINTERFACE:
        d->claimed = NULL;
        return d->plugged ? 0 : ENODEV;
    case USBDEVFS_CLEAR_HALT:
        return clear_halt(d, arg);
    case USBDEVFS_SUBMITURB:
        return submit(d, client, arg);
    case USBDEVFS_DISCARDURB:
        return discard(d, client, arg);
    case USBDEVFS_REAPURB:
    case USBDEVFS_REAPURBNDELAY:
        return reap(d, client, arg);
    default:
        return ENOTTY;
    }
}

static gboolean on_ioctl(UMockdevIoctlBase *handler, UMockdevIoctlClient *client, gpointer context)
{
    (void)handler;
    struct bus_device *d = context;
    g_mutex_lock(&d->bus->lock);
    int error = answer(d, client, umockdev_ioctl_client_get_request(client));
    g_mutex_unlock(&d->bus->lock);
    if (error == EAGAIN)
        g_usleep(IDLE_US);
    umockdev_ioctl_client_complete(client, error ? -1 : 0, error);
    return TRUE;
}

static void on_vanished(UMockdevIoctlBase *handler, UMockdevIoctlClient *client, gpointer context)
{
    (void)handler;
    struct bus_device *d = context;
    g_mutex_lock(&d->bus->lock);
    if (d->claimed == client)
        d->claimed = NULL;
    g_mutex_unlock(&d->bus->lock);
}

// ---- plugging ---------------------------------------------------------------------------------------------

static void hex(GString *s, const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        g_string_append_printf(s, "%02X", bytes[i]);
}

/// The device as umockdev describes devices.
static GString *description(struct bus_device *d)
{
    uint8_t bytes[256];
    GString *s = g_string_new(NULL), *descriptors = g_string_new(NULL);
    hex(descriptors, bytes, mwd_descriptor(d->device, 1, 0, bytes));
    hex(descriptors, bytes, mwd_descriptor(d->device, 2, 0, bytes));
    g_string_append_printf(s,
                           "P: /devices/pci0000:00/usb1/1-%u\nN: bus/usb/001/%03u=%s\n"
                           "E: DEVNAME=/dev/bus/usb/001/%03u\nE: DEVTYPE=usb_device\n"
                           "E: MAJOR=189\nE: MINOR=%u\nE: SUBSYSTEM=usb\nE: BUSNUM=001\n"
                           "E: DEVNUM=%03u\nA: busnum=1\\n\nA: devnum=%u\\n\nA: speed=480\\n\n"
                           "A: bConfigurationValue=1\\n\nA: bNumConfigurations=1\\n\n"
                           "A: idVendor=%04x\\n\nA: idProduct=%04x\\n\nH: descriptors=%s\n",
                           d->number, d->number, descriptors->str, d->number, d->number - 1,
                           d->number, d->number, MW_HOST_USB_VENDOR, MW_HOST_USB_PRODUCT,
                           descriptors->str);
    g_string_free(descriptors, TRUE);
    return s;
}

static void check(bool ok, const char *what, GError *error)
{
    if (ok)
        return;
    fprintf(stderr, "%s: %s\n", what, error ? error->message : "failed");
    abort();
}

struct bus *bus_create(void)
{
    struct bus *bus = g_new0(struct bus, 1);
    bus->testbed = umockdev_testbed_new();
    g_mutex_init(&bus->lock);
    return bus;
}

struct bus_device *bus_plug(struct bus *bus, const struct mwd_settings *settings)
{
    return bus_plug_model(bus, settings, NULL);
}

struct bus_device *bus_plug_model(struct bus *bus, const struct mwd_settings *settings,
                                  const char *model)
{
    GError *error = NULL;
    struct mwd_settings own = *settings;
    if (!own.packet)
        own.packet = 512;
    struct bus_device *d = g_new0(struct bus_device, 1);
    check(bus->count < DEVICES, "too many devices", NULL);
    check(model ? mwd_fabric(&d->backend, model)
                : mwd_stub(&d->backend, BUS_GPUS, BUS_FLIT, BUS_MEM),
          "backend", NULL);
    d->bus = bus;
    d->number = bus->count + 2;
    d->device = mwd_create(&d->backend, &own);
    d->plugged = true;
    d->queued = g_ptr_array_new();
    d->ended = g_ptr_array_new();
    d->path = g_strdup_printf("/sys/devices/pci0000:00/usb1/1-%u", d->number);
    GString *text = description(d);
    check(umockdev_testbed_add_from_string(bus->testbed, text->str, &error), "plug", error);
    g_string_free(text, TRUE);
    d->handler = umockdev_ioctl_base_new();
    g_signal_connect(d->handler, "handle-ioctl", G_CALLBACK(on_ioctl), d);
    g_signal_connect(d->handler, "client-vanished", G_CALLBACK(on_vanished), d);
    char *node = g_strdup_printf("/dev/bus/usb/001/%03u", d->number);
    check(umockdev_testbed_attach_ioctl(bus->testbed, node, d->handler, &error), "attach", error);
    g_free(node);
    bus->device[bus->count++] = d;
    return d;
}

void bus_unplug(struct bus_device *device)
{
    g_mutex_lock(&device->bus->lock);
    pull_out(device);
    g_mutex_unlock(&device->bus->lock);
    umockdev_testbed_remove_device(device->bus->testbed, device->path);
}

void bus_replug(struct bus_device *device)
{
    g_mutex_lock(&device->bus->lock);
    mwd_bus_reset(device->device);
    device->halted_in = device->halted_out = false;
    device->plugged = true;
    g_mutex_unlock(&device->bus->lock);
}

static void free_urbs(GPtrArray *list)
{
    for (guint i = 0; i < list->len; i++)
        g_free(list->pdata[i]);
    g_ptr_array_free(list, TRUE);
}

void bus_destroy(struct bus *bus)
{
    for (unsigned i = 0; i < bus->count; i++) {
        struct bus_device *d = bus->device[i];
        g_signal_handlers_disconnect_by_data(d->handler, d);
        g_object_unref(d->handler);
        mwd_destroy(d->device);
        d->backend.close(d->backend.context);
        free_urbs(d->queued);
        free_urbs(d->ended);
        g_free(d->again);
        g_free(d->path);
        g_free(d);
    }
    g_object_unref(bus->testbed);
    g_mutex_clear(&bus->lock);
    g_free(bus);
}

// ---- what a test does -----------------------------------------------------------------------------------------

void bus_fault(struct bus_device *device, enum bus_fault fault, unsigned after, uint64_t seed)
{
    g_mutex_lock(&device->bus->lock);
    device->fault = fault;
    device->fault_after = after;
    device->fault_seed = seed;
    g_mutex_unlock(&device->bus->lock);
}

void bus_freeze(struct bus_device *device, bool frozen)
{
    g_mutex_lock(&device->bus->lock);
    device->frozen = frozen;
    g_mutex_unlock(&device->bus->lock);
}

struct bus_counts bus_counts(struct bus_device *device)
{
    g_mutex_lock(&device->bus->lock);
    struct bus_counts counts = device->counts;
    g_mutex_unlock(&device->bus->lock);
    return counts;
}

void bus_memory_limit(struct bus *bus, const char *megabytes)
{
    char *folder = umockdev_testbed_get_sys_dir(bus->testbed);
    char *place = g_strdup_printf("%s/module/usbcore/parameters", folder);
    char *file = g_strdup_printf("%s/usbfs_memory_mb", place);
    check(g_mkdir_with_parents(place, 0700) == 0 && g_file_set_contents(file, megabytes, -1, NULL),
          "usbfs_memory_mb", NULL);
    g_free(folder);
    g_free(place);
    g_free(file);
}
