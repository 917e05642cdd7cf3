// SPDX-License-Identifier: Apache-2.0
#include "bus_device.h"

#include <umockdev.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PRELOAD "libumockdev-preload.so.0"

enum { DEVICES = 8 };

struct bus {
    UMockdevTestbed *testbed;
    struct bus_device *device[DEVICES];
    unsigned count;
};

pthread_mutex_t bus_lock = PTHREAD_MUTEX_INITIALIZER;
static struct bus *the_bus; ///< libusb's calls come without a context

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

// ---- plugging -----------------------------------------------------------------------------------

static void hex(GString *s, const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        g_string_append_printf(s, "%02X", bytes[i]);
}

/// The description of the device in umockdev's format.
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
    pthread_mutex_lock(&bus_lock);
    the_bus = bus;
    pthread_mutex_unlock(&bus_lock);
    return bus;
}

struct bus_device *bus_device_of(int file)
{
    struct stat s;
    struct bus_device *found = NULL;
    if (fstat(file, &s))
        return NULL;
    pthread_mutex_lock(&bus_lock);
    for (unsigned i = 0; the_bus && i < the_bus->count && !found; i++) {
        struct bus_device *d = the_bus->device[i];
        found = d->node.st_dev == s.st_dev && d->node.st_ino == s.st_ino ? d : NULL;
    }
    pthread_mutex_unlock(&bus_lock);
    return found;
}

static void make_device(struct bus_device *d, const struct bus_plugged *what)
{
    struct mwd_settings own = what->settings;
    if (!own.packet)
        own.packet = 512;
    if (what->whole) {
        d->device = mwd_create_whole(what->whole, &own);
        d->restless = true;
    } else {
        check(what->model
                  ? mwd_fabric(&d->backend, what->model)
                  : mwd_stub(&d->backend, what->gpus ? what->gpus : BUS_GPUS, BUS_FLIT, BUS_MEM),
              "backend", NULL);
        d->device = mwd_create(&d->backend, &own);
    }
    check(d->device != NULL, "device", NULL);
}

struct bus_device *bus_plug_in(struct bus *bus, const struct bus_plugged *what)
{
    GError *error = NULL;
    struct bus_device *d = g_new0(struct bus_device, 1);
    check(bus->count < DEVICES, "too many devices", NULL);
    make_device(d, what);
    d->number = bus->count + 2;
    d->plugged = true;
    d->claimed = -1;
    d->queue = g_ptr_array_new();
    d->done = g_ptr_array_new();
    pthread_cond_init(&d->wake, NULL);
    pthread_cond_init(&d->ended, NULL);
    d->path = g_strdup_printf("/sys/devices/pci0000:00/usb1/1-%u", d->number);
    GString *text = description(d);
    check(umockdev_testbed_add_from_string(bus->testbed, text->str, &error), "plug", error);
    g_string_free(text, TRUE);
    char *root = umockdev_testbed_get_root_dir(bus->testbed);
    char *node = g_strdup_printf("%s/dev/bus/usb/001/%03u", root, d->number);
    check(stat(node, &d->node) == 0, node, NULL);
    g_free(node);
    g_free(root);
    check(pthread_create(&d->thread, NULL, bus_device_live, d) == 0, "thread", NULL);
    pthread_mutex_lock(&bus_lock);
    bus->device[bus->count++] = d;
    pthread_mutex_unlock(&bus_lock);
    return d;
}

struct bus_device *bus_plug(struct bus *bus, const struct mwd_settings *settings)
{
    return bus_plug_in(bus, &(struct bus_plugged){.settings = *settings});
}

void bus_unplug(struct bus_device *device)
{
    pthread_mutex_lock(&bus_lock);
    bus_device_pull_out(device);
    pthread_mutex_unlock(&bus_lock);
    umockdev_testbed_remove_device(the_bus->testbed, device->path);
}

void bus_replug(struct bus_device *device)
{
    pthread_mutex_lock(&bus_lock);
    device->reset = device->plugged = true;
    device->halted_in = device->halted_out = false;
    bus_device_kick(device);
    pthread_mutex_unlock(&bus_lock);
}

static void free_urbs(GPtrArray *list)
{
    g_ptr_array_set_free_func(list, g_free);
    g_ptr_array_free(list, TRUE);
}

static void destroy_device(struct bus_device *d)
{
    pthread_mutex_lock(&bus_lock);
    d->stop = true;
    bus_device_kick(d);
    pthread_mutex_unlock(&bus_lock);
    pthread_join(d->thread, NULL);
    mwd_destroy(d->device);
    if (d->backend.close)
        d->backend.close(d->backend.context);
    free_urbs(d->queue);
    free_urbs(d->done);
    pthread_cond_destroy(&d->wake);
    pthread_cond_destroy(&d->ended);
    g_free(d->again);
    g_free(d->path);
    g_free(d);
}

void bus_destroy(struct bus *bus)
{
    pthread_mutex_lock(&bus_lock);
    the_bus = NULL;
    pthread_mutex_unlock(&bus_lock);
    for (unsigned i = 0; i < bus->count; i++)
        destroy_device(bus->device[i]);
    g_object_unref(bus->testbed);
    g_free(bus);
}

// ---- what a test does ---------------------------------------------------------------------------

void bus_fault(struct bus_device *device, enum bus_fault fault, unsigned after, uint64_t seed)
{
    pthread_mutex_lock(&bus_lock);
    device->fault = fault;
    device->fault_after = after;
    device->fault_seed = seed;
    pthread_mutex_unlock(&bus_lock);
}

void bus_freeze(struct bus_device *device, bool frozen)
{
    pthread_mutex_lock(&bus_lock);
    device->frozen = frozen;
    bus_device_kick(device);
    pthread_mutex_unlock(&bus_lock);
}

struct bus_counts bus_counts(struct bus_device *device)
{
    pthread_mutex_lock(&bus_lock);
    struct bus_counts counts = device->counts;
    pthread_mutex_unlock(&bus_lock);
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
