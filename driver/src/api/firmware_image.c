// SPDX-License-Identifier: Apache-2.0
//
// Images of firmware: whether one is complete, and the calls that write them to a device and read
// them from it.
#include "api/transport_list.h"
#include "core/error.h"
#include "core/struct_size.h"
#include "transport_usb/frame.h"

#include <string.h>

int mw_firmware_check(const uint32_t *words, size_t count, struct mw_firmware_image *image)
{
    MWI_NEED(words);
    MWI_NEED(image);
    enum { CRC_AT = MW_HOST_IMAGE_AT + offsetof(struct mw_frame_image, crc) };
    const uint32_t no_crc = 0;
    const uint8_t *bytes = (const uint8_t *)words;
    struct mw_frame_image h = {0};
    if (count >= (MW_HOST_IMAGE_AT + sizeof h) / sizeof *words)
        memcpy(&h, bytes + MW_HOST_IMAGE_AT, sizeof h);
    if (h.magic != MW_HOST_IMAGE_MAGIC)
        return mwi_fail(MW_ERR_INVALID, "no firmware: it has no header");
    if (h.bytes % sizeof *words || h.bytes < MW_HOST_IMAGE_AT + sizeof h || h.bytes > h.ram_bytes)
        return mwi_fail(MW_ERR_INVALID,
                        "damaged firmware: its header says %u bytes, in a RAM of %u", h.bytes,
                        h.ram_bytes);
    if (h.bytes / sizeof *words > count)
        return mwi_fail(MW_ERR_INVALID, "the firmware is cut short: %zu of %u bytes",
                        count * sizeof *words, h.bytes);
    uint32_t crc = mwf_crc(0, bytes, CRC_AT);
    crc = mwf_crc(crc, &no_crc, sizeof no_crc);
    crc = mwf_crc(crc, bytes + CRC_AT + sizeof no_crc, h.bytes - CRC_AT - sizeof no_crc);
    if (crc != h.crc)
        return mwi_fail(MW_ERR_INVALID, "damaged firmware: its checksum is 0x%x, not 0x%x", crc,
                        h.crc);
    *image = (struct mw_firmware_image){h.version, h.bytes, h.ram_bytes, h.soc};
    return 0;
}

/// The options in full, and the transport that they name.
static int take(const struct mw_open_options *options, struct mw_open_options *o,
                struct mw_transport *transport)
{
    int status = mwi_take_open(o, options);
    const struct mw_transport *t = status ? NULL : mwi_find_transport(o);
    if (!status && !t)
        status = mwi_no_transport(o);
    if (!status)
        status = mwi_take_transport(transport, t);
    if (!status && (!transport->image_read || !transport->image_load))
        status =
            mwi_fail(MW_ERR_NODEV, "transport %s: there is no firmware to load", transport->name);
    mwi_say_nothing();
    return status;
}

int mw_firmware_read(const struct mw_open_options *options, uint32_t *words, size_t max,
                     size_t *count)
{
    MWI_NEED(options);
    MWI_NEED(count);
    *count = 0;
    if (max)
        MWI_NEED(words);
    struct mw_open_options o;
    struct mw_transport t;
    int status = take(options, &o, &t);
    if (status)
        return status;
    status = t.image_read(&o, words, max, count);
    return status ? mwi_fail_also(status, "the firmware cannot be read") : 0;
}

int mw_firmware_load(const struct mw_open_options *options, const uint32_t *words, size_t count,
                     mw_firmware_keep *keep, void *context)
{
    MWI_NEED(options);
    MWI_NEED(words);
    struct mw_open_options o;
    struct mw_transport t;
    struct mw_firmware_image image;
    int status = take(options, &o, &t);
    if (status || (status = mw_firmware_check(words, count, &image)))
        return status;
    mwi_say_nothing();
    status = t.image_load(&o, words, &image, keep, context);
    return status ? mwi_fail_also(status, "the firmware cannot be loaded") : 0;
}
