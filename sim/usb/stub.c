// SPDX-License-Identifier: Apache-2.0
//
// A device without a fabric: memories, and registers that only keep what was written. It serves to
// test the path to a device.
#include "device.h"
#include "registers.h"

#include <stdlib.h>
#include <string.h>

struct stub {
    unsigned flit_bytes, mem_log2;
    uint64_t mem_bytes;
    uint64_t cycles;
    struct mwd_registers registers;
    uint8_t *memory;
};

static uint32_t *state_of(struct stub *s)
{
    return mwd_register(&s->registers, offsetof(mw_fabric_t, state));
}

static int cfg(void *context, bool write, uint32_t address, uint32_t *value)
{
    struct stub *s = context;
    s->cycles += 2;
    if ((address >= MW_MAP_SOC && address < MW_MAP_NODES) ||
        mwd_access(&s->registers, write, address, value))
        return -1;
    if (write && address == offsetof(mw_fabric_t, control) && *value & MW_FABRIC__CONTROL__GO_bm)
        *state_of(s) = MW_FABRIC__STATE__DONE_bm;
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
    bool done = *state_of(s) & MW_FABRIC__STATE__DONE_bm;
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

static int reset(void *context)
{
    struct stub *s = context;
    s->cycles = 0;
    mwd_registers_reset(&s->registers, s->registers.gpus, s->flit_bytes, s->mem_log2);
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
    s->registers.gpus = gpus;
    s->flit_bytes = flit_bytes;
    s->mem_log2 = log2_of(mem_bytes);
    s->mem_bytes = mem_bytes;
    s->memory = memory;
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
