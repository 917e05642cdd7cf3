// SPDX-License-Identifier: Apache-2.0
//
// A device without a fabric: memories, and registers that only remember what was written, apart from
// those that say what the device is. It shows the way to a device alone.
#include "device.h"

#include "fabric_regs.h"

#include <stdlib.h>
#include <string.h>

enum {
    BYTES = 0x10000 + 0x1000 * 32, ///< of the configuration bus
    MAGIC = 0x4d57,
};

#define REGISTER(name) ((uint32_t)offsetof(mw_fabric_t, name))

struct stub {
    unsigned gpus;
    uint64_t mem_bytes;
    uint64_t cycles;
    uint32_t reg[BYTES / 4];
    uint8_t *memory;
};

static int cfg(void *context, bool write, uint32_t address, uint32_t *value)
{
    struct stub *s = context;
    s->cycles += 2;
    if (address % 4 || address >= BYTES)
        return -1;
    if (!write) {
        *value = s->reg[address / 4];
        return 0;
    }
    if (address <= REGISTER(tables))
        return -1; // what it is cannot be written
    s->reg[address / 4] = *value;
    if (address == REGISTER(control) && *value & MW_FABRIC__CONTROL__GO_bm)
        s->reg[REGISTER(state) / 4] = MW_FABRIC__STATE__DONE_bm;
    return 0;
}

static int mem(void *context, bool write, unsigned gpu, uint64_t offset, uint8_t *data,
               size_t bytes)
{
    struct stub *s = context;
    uint8_t *place = s->memory + gpu * s->mem_bytes + offset;
    s->cycles += bytes / 8;
    if (write)
        memcpy(place, data, bytes);
    else
        memcpy(data, place, bytes);
    return 0;
}

static bool run(void *context, uint64_t cycles)
{
    struct stub *s = context;
    bool done = s->reg[REGISTER(state) / 4] & MW_FABRIC__STATE__DONE_bm;
    s->cycles += done ? 0 : cycles;
    return done;
}

static uint64_t total(void *context)
{
    struct stub *s = context;
    return s->cycles;
}

static unsigned log2_of(uint64_t n)
{
    unsigned log = 0;
    while (UINT64_C(1) << log < n)
        log++;
    return log;
}

/// The registers of a device with these sizes, and with limits like those of the fabric.
static int reset(void *context)
{
    struct stub *s = context;
    uint32_t size = s->reg[REGISTER(size) / 4];
    memset(s->reg, 0, sizeof s->reg);
    s->cycles = 0;
    s->reg[REGISTER(id) / 4] = (uint32_t)MAGIC << 16;
    s->reg[REGISTER(size) / 4] = size;
    s->reg[REGISTER(capacity) / 4] = 10 | 7u << 8 | 9u << 16 | 16u << 24;
    s->reg[REGISTER(windows) / 4] = 8 | 4u << 8 | 16u << 16 | 16u << 24;
    s->reg[REGISTER(tables) / 4] = 64 | 16u << 16 | 64u << 24;
    return 0;
}

static void close_stub(void *context)
{
    struct stub *s = context;
    free(s->memory);
    free(s);
}

bool mwd_stub(struct mwd_backend *backend, unsigned gpus, unsigned flit_bytes, uint64_t mem_bytes)
{
    struct stub *s = calloc(1, sizeof *s);
    uint8_t *memory = calloc(gpus, mem_bytes);
    if (!s || !memory) {
        free(s);
        free(memory);
        return false;
    }
    s->gpus = gpus;
    s->mem_bytes = mem_bytes;
    s->memory = memory;
    s->reg[REGISTER(size) / 4] = gpus | flit_bytes << 8 | log2_of(mem_bytes) << 16 | 4u << 24;
    reset(s);
    *backend = (struct mwd_backend){.context = s,
                                    .name = "stub",
                                    .gpus = gpus,
                                    .flit_bytes = flit_bytes,
                                    .mem_bytes = mem_bytes,
                                    .cfg = cfg,
                                    .mem = mem,
                                    .run = run,
                                    .cycles = total,
                                    .reset = reset,
                                    .close = close_stub};
    return true;
}
