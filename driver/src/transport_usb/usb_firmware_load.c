// SPDX-License-Identifier: Apache-2.0
//
// Writes and reads a device's firmware by registers alone. The host link's hardware carries them
// out, so that loading firmware needs no firmware. The steps: hold the processor, access its RAM
// through the window, let the processor start. Every step may be done twice.
#include "transport_usb/usb_firmware_load.h"

#include "core/registers.h"
#include "transport_usb/usb_session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    PIECE = MW_HOST_MAX_COMMAND / sizeof(struct mw_register), ///< words of the RAM in a request
    TRIES = 3, ///< of a request that the link has lost
    POLL_MS = 10,
    SOC_MAJOR = 0, ///< of the SoC's registers, and since when they have all this
    SOC_MINOR = 2,
    STAGE_NO_FABRIC = 2, ///< from there on the firmware takes commands: soc.rdl
};

struct soc {
    struct usb *u;
    uint32_t major, minor; ///< of its registers
    size_t words;          ///< of the RAM
    bool was_held;
    bool reached; ///< the processor is not left as it was
};

// ---- registers and RAM --------------------------------------------------------------------------

/// The first `count` words at an address, at most PIECE.
static int piece(struct usb *u, bool write, uint32_t address, uint32_t *words, size_t count)
{
    struct mw_register list[PIECE];
    int status = MW_ERR_IO;
    for (unsigned i = 0; i < TRIES && status == MW_ERR_IO; i++) {
        for (size_t w = 0; w < count; w++)
            list[w] = (struct mw_register){address + 4 * (uint32_t)w, write ? words[w] : 0};
        status = mwu_registers(u, list, count, write);
    }
    for (size_t w = 0; w < count && !status && !write; w++)
        words[w] = list[w].value;
    return status;
}

static int ram_read(struct soc *s, uint32_t *words, size_t count)
{
    int status = 0;
    for (size_t at = 0; at < count && !status; at += PIECE)
        status = piece(s->u, false, MW_MAP_SOC_RAM + 4 * (uint32_t)at, &words[at],
                       count - at < PIECE ? count - at : PIECE);
    return status;
}

/// Write, read back and compare.
static int ram_write(struct soc *s, const uint32_t *words, size_t count)
{
    for (size_t at = 0, n; at < count; at += n) {
        uint32_t sent[PIECE], back[PIECE];
        const uint32_t address = MW_MAP_SOC_RAM + 4 * (uint32_t)at;
        n = count - at < PIECE ? count - at : PIECE;
        memcpy(sent, &words[at], n * sizeof *sent);
        int status = piece(s->u, true, address, sent, n);
        if (!status)
            status = piece(s->u, false, address, back, n);
        if (status)
            return status;
        for (size_t i = 0; i < n; i++)
            if (back[i] != sent[i])
                return mwi_fail(MW_ERR_FIRMWARE,
                                "%s: the RAM holds 0x%08x at byte %zu, where 0x%08x was written",
                                s->u->name, back[i], 4 * (at + i), sent[i]);
    }
    return 0;
}

static int hold(struct soc *s, bool held)
{
    uint32_t value = held ? MW_SOC__HOLD__CPU_bm : 0;
    s->reached = true;
    return piece(s->u, true, MWI_SOC(hold), &value, 1);
}

// ---- the device ---------------------------------------------------------------------------------

static int look(struct soc *s)
{
    struct mw_register id = {.address = MWI_SOC(id)};
    struct mwu_request r = {.type = MW_FRAME_REG_READ,
                            .payload = &id,
                            .payload_bytes = sizeof id,
                            .data = &id,
                            .capacity = sizeof id};
    uint32_t held = 0;
    int status = mwu_call(s->u, &r);
    if (status && r.error)
        return status;
    s->major = MWI_GET(MW_SOC__ID__MAJOR, id.value);
    s->minor = MWI_GET(MW_SOC__ID__MINOR, id.value);
    s->words = ((size_t)1 << MWI_GET(MW_SOC__ID__RAM_LOG2, id.value)) / sizeof(uint32_t);
    if (status || s->major != SOC_MAJOR || s->minor < SOC_MINOR)
        return mwi_fail(MW_ERR_VERSION,
                        "%s: the device takes no firmware over USB (registers of the SoC %u.%u, "
                        "%d.%d has that): make firmware-bitstream puts one into its bitstream",
                        s->u->name, s->major, s->minor, SOC_MAJOR, SOC_MINOR);
    status = piece(s->u, false, MWI_SOC(hold), &held, 1);
    s->was_held = held & MW_SOC__HOLD__CPU_bm;
    return status;
}

static int attach(const struct mw_open_options *o, struct soc *s)
{
    *s = (struct soc){0};
    int status = mwu_connect(o, &s->u);
    if (!status && (status = look(s)))
        mwu_disconnect(s->u);
    return status;
}

/// The end of a call: what failed on the way has left the processor held.
static int detach(struct soc *s, int status)
{
    char why[MWI_MESSAGE];
    if (status && status != MW_ERR_FIRMWARE && s->reached) {
        snprintf(why, sizeof why, "%s", mw_message());
        mwi_fail(status,
                 "%s; its processor may be held: repeat `moeswitch firmware FILE` to repair it",
                 why);
    }
    mwu_disconnect(s->u);
    return status;
}

int mwu_image_read(const struct mw_open_options *o, uint32_t *words, size_t max, size_t *count)
{
    struct soc s;
    int status = attach(o, &s);
    if (status)
        return status;
    status = hold(&s, true);
    if (!status)
        status = ram_read(&s, words, max < s.words ? max : s.words);
    if (!status && !s.was_held)
        status = hold(&s, false);
    if (!status)
        *count = s.words;
    return detach(&s, status);
}

// ---- loading ------------------------------------------------------------------------------------

static uint64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/// Let the processor start, and find out whether this library can then use the device. The
/// registers are read before the firmware is: a firmware that is not there would block the link.
static int come_up(struct soc *s)
{
    const struct timespec pause = {.tv_nsec = POLL_MS * 1000000L};
    const unsigned limit = s->u->link.timeout_ms;
    uint32_t firmware = 0;
    int status = hold(s, false);
    for (uint64_t start = now_ms(); !status;) {
        status = piece(s->u, false, MWI_SOC(firmware), &firmware, 1);
        if (status || MWI_GET(MW_SOC__FIRMWARE__STAGE, firmware) >= STAGE_NO_FABRIC)
            break;
        if (now_ms() - start > limit)
            return mwi_fail(MW_ERR_FIRMWARE, "%s: the firmware did not come up within %u ms",
                            s->u->name, limit);
        nanosleep(&pause, NULL);
    }
    if (!status && (status = mwu_greet(s->u)) == MW_ERR_IO)
        status = mwu_greet(s->u);
    return status == MW_ERR_VERSION ? MW_ERR_FIRMWARE : status;
}

/// What was there before, and why.
static int go_back(struct soc *s, const uint32_t *before)
{
    char why[MWI_MESSAGE], then[MWI_MESSAGE];
    snprintf(why, sizeof why, "%s", mw_message());
    int status = hold(s, true);
    if (!status)
        status = ram_write(s, before, s->words);
    if (!status && s->was_held)
        return mwi_fail(MW_ERR_FIRMWARE, "%s; the processor is held, as it was before", why);
    if (!status)
        status = come_up(s);
    if (!status)
        return mwi_fail(MW_ERR_FIRMWARE, "%s; the previous firmware runs again", why);
    snprintf(then, sizeof then, "%s", mw_message());
    return mwi_fail(status, "%s; and the previous firmware is not restored: %s", why, then);
}

/// As it was: nothing has been written.
static int let_go(struct soc *s)
{
    int status = s->was_held ? 0 : hold(s, false);
    s->reached = status;
    return status ? status : mwi_fail(MW_ERR_CANCELED, "%s: nothing was loaded", s->u->name);
}

static int check_fit(const struct soc *s, const struct mw_firmware_image *image)
{
    uint32_t major = image->soc >> 16, minor = image->soc & 0xffff;
    if (major != s->major || minor > s->minor)
        return mwi_fail(MW_ERR_VERSION,
                        "%s: the firmware needs registers of the SoC %u.%u, the device has %u.%u: "
                        "%s",
                        s->u->name, major, minor, s->major, s->minor,
                        major > s->major || (major == s->major && minor > s->minor)
                            ? "load a newer bitstream, or an older firmware"
                            : "load a newer firmware");
    if (image->ram_bytes > s->words * sizeof(uint32_t))
        return mwi_fail(MW_ERR_CAPACITY,
                        "%s: the firmware needs a RAM of %u bytes, the device has %zu: build it "
                        "for that",
                        s->u->name, image->ram_bytes, s->words * sizeof(uint32_t));
    return 0;
}

int mwu_image_load(const struct mw_open_options *o, const uint32_t *words,
                   const struct mw_firmware_image *image, mw_firmware_keep *keep, void *context)
{
    struct soc s;
    int status = attach(o, &s);
    if (status)
        return status;
    uint32_t *before = malloc(s.words * sizeof *before);
    status = before ? check_fit(&s, image) : mwi_fail(MW_ERR_NOMEM, "no memory for the firmware");
    if (!status)
        status = hold(&s, true);
    if (!status)
        status = ram_read(&s, before, s.words);
    if (!status && keep && keep(context, before, s.words))
        status = let_go(&s);
    if (!status)
        status = mwu_reset(s.u); // after the hold: a firmware may put it off
    if (!status) {
        status = ram_write(&s, words, image->bytes / sizeof *words);
        if (!status)
            status = come_up(&s);
        if (status == MW_ERR_FIRMWARE)
            status = go_back(&s, before);
    }
    free(before);
    return detach(&s, status);
}
