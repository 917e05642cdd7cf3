// SPDX-License-Identifier: Apache-2.0
//
// The processor as visible to the host over the bus: held or not, its RAM, and whether the image in
// it would run.
#include "requests.h"

#include "map.h"
#include "soc_regs.h"

#include <string.h>

enum { SOC_MINOR = 2, RAM_LOG2 = 14, BRING_UP = 1, READY = 3, ASKED = 3, VERSION = 1, WORDS = 64 };

static_assert(MWD_RAM_BYTES == 1 << RAM_LOG2, "one size");

#define SOC(reg) (MW_MAP_SOC + (uint32_t)offsetof(mw_soc_t, reg))

static struct mw_frame_image header_of(const uint32_t *words)
{
    struct mw_frame_image h;
    memcpy(&h, (const uint8_t *)words + MW_HOST_IMAGE_AT, sizeof h);
    return h;
}

static void put_header(uint32_t *words, const struct mw_frame_image *h)
{
    memcpy((uint8_t *)words + MW_HOST_IMAGE_AT, h, sizeof *h);
}

void mwd_image_seal(uint32_t *words, size_t count)
{
    struct mw_frame_image h = header_of(words);
    h.magic = MW_HOST_IMAGE_MAGIC;
    h.bytes = (uint32_t)(count * sizeof *words);
    h.ram_bytes = h.ram_bytes ? h.ram_bytes : MWD_RAM_BYTES;
    h.crc = 0;
    put_header(words, &h);
    h.crc = mwf_crc(0, words, h.bytes);
    put_header(words, &h);
}

void mwd_cpu_init(struct mwd_device *d)
{
    d->cpu = (struct mwd_cpu){.ram = {d->settings.first ? d->settings.first : MWD_RUNS}};
    put_header(d->cpu.ram, &(struct mw_frame_image){.version = VERSION, .soc = 1});
    mwd_image_seal(d->cpu.ram, WORDS);
}

uint32_t mwd_cpu_version(const struct mwd_device *d)
{
    return header_of(d->cpu.ram).version;
}

static bool is_whole(const struct mwd_device *d)
{
    uint32_t copy[MWD_RAM_BYTES / 4];
    const struct mw_frame_image h = header_of(d->cpu.ram);
    if (h.bytes % 4 || h.bytes < MW_HOST_IMAGE_AT + sizeof h || h.bytes > sizeof copy)
        return false;
    memcpy(copy, d->cpu.ram, h.bytes);
    mwd_image_seal(copy, h.bytes / 4);
    return memcmp(copy, d->cpu.ram, h.bytes) == 0;
}

static bool is_up(const struct mwd_device *d)
{
    return !d->cpu.held && d->cpu.ram[0] != MWD_LOOP && is_whole(d);
}

enum mwd_firmware mwd_cpu_firmware(const struct mwd_device *d)
{
    return !is_up(d) ? MWD_BITTEN : d->cpu.ram[0] == MWD_DEAF ? MWD_KEEPS : MWD_ANSWERS;
}

static unsigned minor_of(const struct mwd_device *d)
{
    return d->settings.soc_minor ? d->settings.soc_minor : SOC_MINOR;
}

static int hold(struct mwd_device *d, bool held)
{
    if (minor_of(d) < SOC_MINOR)
        return -1;
    d->cpu.starts += held && !d->cpu.held;
    d->cpu.held = held;
    return 0;
}

static int ram(struct mwd_device *d, bool write, uint32_t offset, uint32_t *value)
{
    if (!d->cpu.held || offset >= MWD_RAM_BYTES)
        return -1;
    uint32_t *word = &d->cpu.ram[offset / 4];
    if (write)
        *word = *value & ~(uint32_t)(offset && offset / 4 == d->settings.stuck_word);
    else
        *value = *word;
    return 0;
}

static int read_soc(const struct mwd_device *d, uint32_t address, uint32_t *value)
{
    if (address == SOC(id))
        *value = minor_of(d) | RAM_LOG2 << MW_SOC__ID__RAM_LOG2_bp;
    else if (address == SOC(firmware))
        *value = d->cpu.held ? 0 : is_up(d) ? READY : BRING_UP;
    else if (address == SOC(restart))
        *value = d->cpu.starts ? ASKED | d->cpu.starts << MW_SOC__RESTART__COUNT_bp : 0;
    else if (address == SOC(hold) && minor_of(d) >= SOC_MINOR)
        *value = d->cpu.held;
    else
        return -1;
    return 0;
}

int mwd_cpu_access(struct mwd_device *d, bool write, uint32_t address, uint32_t *value)
{
    if (address - MW_MAP_SOC_RAM < 1u << 20)
        return ram(d, write, address - MW_MAP_SOC_RAM, value);
    if (address - MW_MAP_SOC >= sizeof(mw_soc_t))
        return -2;
    if (!write)
        return read_soc(d, address, value);
    return address == SOC(hold) ? hold(d, *value & MW_SOC__HOLD__CPU_bm) : -1;
}
