// SPDX-License-Identifier: Apache-2.0
//
// Every refusal names its remedy: who may open the device (the udev rule), who has it, how much
// usbfs memory is needed.
#include "transport_usb/usb_devices.h"

#include "core/error.h"
#include "transport_usb/usb_pipe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MB = 1 << 20, TEXT_SIZE = 512, PATH_SIZE = 64 };

static int usb_fail(const char *what, int error)
{
    int code = error == LIBUSB_ERROR_NO_MEM      ? MW_ERR_NOMEM
               : error == LIBUSB_ERROR_NO_DEVICE ? MW_ERR_NODEV
               : error == LIBUSB_ERROR_BUSY      ? MW_ERR_BUSY
                                                 : MW_ERR_IO;
    return mwi_fail(code, "%s: %s", what, libusb_strerror(error));
}

static bool is_ours(libusb_device *device)
{
    struct libusb_device_descriptor d;
    return libusb_get_device_descriptor(device, &d) == 0 && d.idVendor == MW_HOST_USB_VENDOR &&
           d.idProduct == MW_HOST_USB_PRODUCT;
}

/// The serial number, empty if it has none or does not return it.
static void read_serial(libusb_device_handle *handle, char *serial)
{
    struct libusb_device_descriptor d;
    int length = 0;
    if (libusb_get_device_descriptor(libusb_get_device(handle), &d) == 0 && d.iSerialNumber)
        length = libusb_get_string_descriptor_ascii(handle, d.iSerialNumber, (uint8_t *)serial,
                                                    MWU_SERIAL_SIZE - 1);
    serial[length > 0 ? length : 0] = 0;
}

/// Whether it is a device of this project, and of which protocol version: pid.codes gives the test
/// number to everyone.
static bool has_our_interface(libusb_device *device)
{
    struct libusb_config_descriptor *c;
    if (libusb_get_active_config_descriptor(device, &c))
        return false;
    const struct libusb_interface_descriptor *i =
        c->bNumInterfaces == 1 && c->interface[0].num_altsetting == 1 ? c->interface[0].altsetting
                                                                      : NULL;
    bool ours = i && i->bInterfaceClass == MW_HOST_USB_CLASS &&
                i->bInterfaceSubClass == MW_HOST_USB_SUBCLASS && i->bNumEndpoints == 2;
    for (unsigned e = 0; ours && e < 2; e++)
        ours =
            (i->endpoint[e].bEndpointAddress == MW_HOST_USB_OUT ||
             i->endpoint[e].bEndpointAddress == MW_HOST_USB_IN) &&
            (i->endpoint[e].bmAttributes & LIBUSB_TRANSFER_TYPE_MASK) == LIBUSB_TRANSFER_TYPE_BULK;
    libusb_free_config_descriptor(c);
    return ours;
}

static void device_path(libusb_device *device, char *path, size_t size)
{
    uint8_t port[8];
    int ports = libusb_get_port_numbers(device, port, sizeof port);
    int at = snprintf(path, size, "%u", libusb_get_bus_number(device));
    for (int i = 0; i < ports && (size_t)at < size; i++)
        at += snprintf(path + at, size - (size_t)at, "%c%u", i ? '.' : '-', port[i]);
}

static int speed_of(libusb_device *device)
{
    switch (libusb_get_device_speed(device)) {
    case LIBUSB_SPEED_FULL:
        return 12;
    case LIBUSB_SPEED_HIGH:
        return 480;
    case LIBUSB_SPEED_SUPER:
        return 5000;
    default:
        return 0;
    }
}

// ---- list ---------------------------------------------------------------------------------------

/// Whether a program could open it now.
static int try_claim(libusb_device_handle *handle)
{
    int error = libusb_claim_interface(handle, 0);
    if (error == 0)
        libusb_release_interface(handle, 0);
    return error == 0 ? 0 : error == LIBUSB_ERROR_BUSY ? MW_ERR_BUSY : MW_ERR_IO;
}

static void describe(libusb_device *device, struct mw_found *found)
{
    struct libusb_device_descriptor d;
    libusb_device_handle *handle;
    *found = (struct mw_found){.mbit_per_s = (unsigned)speed_of(device)};
    device_path(device, found->path, sizeof found->path);
    if (libusb_get_device_descriptor(device, &d) == 0)
        found->protocol = d.bcdDevice;
    int error = libusb_open(device, &handle);
    if (error) {
        found->state = MW_ERR_IO;
        return;
    }
    char serial[MWU_SERIAL_SIZE];
    read_serial(handle, serial);
    snprintf(found->serial, sizeof found->serial, "%s", serial);
    found->state = try_claim(handle);
    libusb_close(handle);
}

static int by_place(const void *a, const void *b)
{
    char x[PATH_SIZE], y[PATH_SIZE];
    device_path(*(libusb_device *const *)a, x, sizeof x);
    device_path(*(libusb_device *const *)b, y, sizeof y);
    return strcmp(x, y);
}

/// This project's devices on the bus, in the order of their places. Returns how many, or a libusb
/// error. libusb_free_device_list frees the list.
static ssize_t our_devices(libusb_context *context, libusb_device ***list)
{
    ssize_t count = libusb_get_device_list(context, list), ours = 0;
    for (ssize_t i = 0; i < count; i++) {
        libusb_device *d = (*list)[i];
        if (is_ours(d) && has_our_interface(d))
            (*list)[ours++] = d;
        else
            libusb_unref_device(d);
    }
    if (count < 0)
        return count;
    (*list)[ours] = NULL;
    qsort(*list, (size_t)ours, sizeof **list, by_place);
    return ours;
}

int mw_list(struct mw_found *list, size_t max)
{
    if (max)
        MWI_NEED(list);
    libusb_context *context;
    libusb_device **devices;
    int error = libusb_init(&context);
    if (error)
        return usb_fail("USB", error);
    ssize_t count = our_devices(context, &devices);
    if (count < 0) {
        libusb_exit(context);
        return usb_fail("list of USB devices", (int)count);
    }
    for (ssize_t i = 0; i < count && (size_t)i < max; i++)
        describe(devices[i], &list[i]);
    libusb_free_device_list(devices, 1);
    libusb_exit(context);
    return (int)count;
}

// ---- open ---------------------------------------------------------------------------------------

/// usbfs refuses transfers above a limit that all programs share.
static int check_memory(void)
{
    unsigned long limit = 0, need = (mwu_pipe_memory() + MB - 1) / MB;
    FILE *f = fopen(MWU_MEMORY_LIMIT, "re");
    if (!f)
        return 0; // no usbfs, or no limit: the transfers themselves report a lack
    bool known = fscanf(f, "%lu", &limit) == 1;
    fclose(f);
    if (!known || limit == 0 || limit >= need)
        return 0;
    return mwi_fail(MW_ERR_NOMEM, "usbfs may use %lu MB, %lu are needed: " MWU_MEMORY_REMEDY, limit,
                    need);
}

static int access_denied(libusb_device *device)
{
    return mwi_fail(MW_ERR_IO,
                    "/dev/bus/usb/%03u/%03u may not be opened: install 70-moeswitch.rules (make "
                    "install), then plug the device in again",
                    libusb_get_bus_number(device), libusb_get_device_address(device));
}

/// What was seen of the devices on the bus while looking for one.
struct search {
    const char *wanted; ///< serial number, or NULL
    libusb_device_handle *handle;
    char serial[MWU_SERIAL_SIZE];
    unsigned matches;
    char seen[TEXT_SIZE]; ///< serial numbers
    libusb_device *denied;
};

static void look_at(struct search *s, libusb_device *device)
{
    char serial[MWU_SERIAL_SIZE], path[PATH_SIZE];
    libusb_device_handle *handle;
    int error = libusb_open(device, &handle);
    if (error) {
        if (error == LIBUSB_ERROR_ACCESS)
            s->denied = device;
        return;
    }
    read_serial(handle, serial);
    device_path(device, path, sizeof path);
    size_t length = strlen(s->seen);
    snprintf(s->seen + length, sizeof s->seen - length, "%s%s", length ? ", " : "",
             *serial ? serial : path);
    if (s->wanted && strcmp(s->wanted, serial) != 0) {
        libusb_close(handle);
    } else if (s->matches++ == 0) {
        s->handle = handle;
        memcpy(s->serial, serial, sizeof serial);
    } else {
        libusb_close(handle);
    }
}

static int judge(struct search *s)
{
    if (s->matches == 1)
        return 0;
    if (s->handle)
        libusb_close(s->handle);
    if (s->matches && s->wanted)
        return mwi_fail(MW_ERR_INVALID, "%u devices have the serial number %s", s->matches,
                        s->wanted);
    if (s->matches)
        return mwi_fail(MW_ERR_INVALID, "%u devices: name one by its serial number: %s", s->matches,
                        s->seen);
    if (s->denied)
        return access_denied(s->denied);
    if (s->wanted && *s->seen)
        return mwi_fail(MW_ERR_NODEV, "no device has the serial number %s; there are: %s",
                        s->wanted, s->seen);
    return mwi_fail(MW_ERR_NODEV, "no moeswitch (%04x:%04x) is on the bus", MW_HOST_USB_VENDOR,
                    MW_HOST_USB_PRODUCT);
}

static int find(struct mwu_device *d, const char *wanted)
{
    libusb_device **devices;
    ssize_t count = our_devices(d->context, &devices);
    if (count < 0)
        return usb_fail("list of USB devices", (int)count);
    struct search s = {.wanted = wanted && *wanted ? wanted : NULL};
    for (ssize_t i = 0; i < count; i++)
        look_at(&s, devices[i]);
    int status = judge(&s);
    libusb_free_device_list(devices, 1);
    d->handle = s.handle;
    memcpy(d->serial, s.serial, sizeof d->serial);
    return status;
}

int mwu_device_open(struct mwu_device *device, const char *serial)
{
    *device = (struct mwu_device){0};
    int status = check_memory();
    if (status)
        return status;
    int error = libusb_init(&device->context);
    if (error)
        return usb_fail("USB", error);
    status = find(device, serial);
    if (status) {
        libusb_exit(device->context);
        return status;
    }
    error = libusb_claim_interface(device->handle, 0);
    if (!error)
        return 0;
    libusb_close(device->handle);
    libusb_exit(device->context);
    if (error == LIBUSB_ERROR_BUSY)
        return mwi_fail(MW_ERR_BUSY,
                        "device %s is in use by another program (fuser -v "
                        "/dev/bus/usb/*/* names it)",
                        device->serial);
    return usb_fail("claiming the interface", error);
}

void mwu_device_close(struct mwu_device *device)
{
    libusb_release_interface(device->handle, 0);
    libusb_close(device->handle);
    libusb_exit(device->context);
}
