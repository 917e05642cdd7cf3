// SPDX-License-Identifier: Apache-2.0
//
// Endpoint 0: descriptors and standard requests, as in chapter 9 of the USB 2.0 specification.
#include "requests.h"

#include <string.h>

enum {
    GET_STATUS = 0,
    CLEAR_FEATURE = 1,
    SET_FEATURE = 3,
    SET_ADDRESS = 5,
    GET_DESCRIPTOR = 6,
    GET_CONFIGURATION = 8,
    SET_CONFIGURATION = 9,
    GET_INTERFACE = 10,
    SET_INTERFACE = 11,

    DEVICE = 1,
    CONFIGURATION = 2,
    STRING = 3,
    INTERFACE = 4,
    ENDPOINT = 5,

    TYPE_MASK = 0x60, ///< of bmRequestType
    BULK = 2,
    BUS_POWERED = 0x80,
    CURRENT = 50, ///< 100 mA
    ENGLISH = 0x0409,
};

static size_t device_descriptor(const struct mwd_device *d, uint8_t *p)
{
    const uint8_t bytes[] = {18,
                             DEVICE,
                             0x00,
                             0x02, // USB 2.0
                             MW_HOST_USB_CLASS,
                             0,
                             0,
                             64,
                             MW_HOST_USB_VENDOR & 0xff,
                             MW_HOST_USB_VENDOR >> 8,
                             MW_HOST_USB_PRODUCT & 0xff,
                             MW_HOST_USB_PRODUCT >> 8,
                             (uint8_t)d->settings.minor,
                             (uint8_t)d->settings.major,
                             1,
                             2,
                             3,
                             1};
    memcpy(p, bytes, sizeof bytes);
    return sizeof bytes;
}

static size_t configuration_descriptor(const struct mwd_device *d, uint8_t *p)
{
    const uint8_t low = d->settings.packet & 0xff, high = (uint8_t)(d->settings.packet >> 8);
    const uint8_t bytes[] = {
        9,
        CONFIGURATION,
        32,
        0,
        1,
        1,
        0,
        BUS_POWERED,
        CURRENT, //
        9,
        INTERFACE,
        0,
        0,
        2,
        MW_HOST_USB_CLASS,
        MW_HOST_USB_SUBCLASS,
        0,
        0, //
        7,
        ENDPOINT,
        MW_HOST_USB_OUT,
        BULK,
        low,
        high,
        0, //
        7,
        ENDPOINT,
        MW_HOST_USB_IN,
        BULK,
        low,
        high,
        0, //
    };
    memcpy(p, bytes, sizeof bytes);
    return sizeof bytes;
}

static size_t string_descriptor(const struct mwd_device *d, unsigned index, uint8_t *p)
{
    const char *const texts[] = {NULL, "moeswitch", d->backend.name, d->settings.serial};
    size_t n = 2;
    if (index == 0) {
        p[n++] = ENGLISH & 0xff;
        p[n++] = ENGLISH >> 8;
    } else if (index < sizeof texts / sizeof *texts) {
        for (const char *c = texts[index]; *c && n < 254; c++) {
            p[n++] = (uint8_t)*c;
            p[n++] = 0;
        }
    } else {
        return 0;
    }
    p[0] = (uint8_t)n;
    p[1] = STRING;
    return n;
}

size_t mwd_descriptor(const struct mwd_device *device, unsigned type, unsigned index,
                      uint8_t data[256])
{
    switch (type) {
    case DEVICE:
        return device_descriptor(device, data);
    case CONFIGURATION:
        return index == 0 ? configuration_descriptor(device, data) : 0;
    case STRING:
        return string_descriptor(device, index, data);
    default:
        return 0; // a device with high speed only has no qualifier
    }
}

int mwd_control(struct mwd_device *device, const uint8_t setup[8], uint8_t *data)
{
    struct mwd_device *d = device;
    uint8_t bytes[256] = {0};
    size_t length = setup[6] | (size_t)setup[7] << 8, have = 0;
    if (setup[0] & TYPE_MASK)
        return MWD_STALL; // there are no vendor requests
    switch (setup[1]) {
    case GET_DESCRIPTOR:
        have = mwd_descriptor(d, setup[3], setup[2], bytes);
        if (!have)
            return MWD_STALL;
        break;
    case GET_STATUS:
        have = 2;
        break;
    case GET_CONFIGURATION:
        have = 1;
        bytes[0] = d->configuration;
        break;
    case GET_INTERFACE:
        have = 1;
        break;
    case SET_CONFIGURATION:
        if (setup[2] > 1)
            return MWD_STALL;
        d->configuration = setup[2];
        mwd_bus_reset(d);
        return 0;
    case SET_INTERFACE:
        return setup[2] || setup[4] ? MWD_STALL : 0;
    case CLEAR_FEATURE:
    case SET_FEATURE:
    case SET_ADDRESS:
        return 0;
    default:
        return MWD_STALL;
    }
    have = have < length ? have : length;
    memcpy(data, bytes, have);
    return (int)have;
}
