// SPDX-License-Identifier: Apache-2.0
#include "registers.h"

#include "mw_fabric_access.h"
#include "mw_node_access.h"
#include "mw_soc_access.h"

#include <stddef.h>
#include <string.h>

/// Consecutive words with equal properties.
struct range {
    uint32_t address, words, readable, writable, reset;
};

#define RANGE(...) {__VA_ARGS__},
static const struct range FABRIC[] = {MW_FABRIC_ACCESS(RANGE)}, NODE[] = {MW_NODE_ACCESS(RANGE)},
                          SOC[] = {MW_SOC_ACCESS(RANGE)};
#define COUNT(list) (sizeof(list) / sizeof *(list))

/// A part of the address map: its words and their ranges.
struct part {
    const struct range *range;
    size_t ranges;
    uint32_t *words;
    uint32_t offset;
};

static bool find_part(struct mwd_registers *r, uint32_t address, struct part *p)
{
    const uint32_t gpu = (address - MW_MAP_NODES) / MW_MAP_NODE_STRIDE;
    if (address < MW_MAP_SOC)
        *p = (struct part){FABRIC, COUNT(FABRIC), r->fabric, address};
    else if (address < MW_MAP_NODES)
        *p = (struct part){SOC, COUNT(SOC), r->soc, address - MW_MAP_SOC};
    else if (gpu < r->gpus)
        *p = (struct part){NODE, COUNT(NODE), r->node[gpu], address % MW_MAP_NODE_STRIDE};
    else
        return false;
    return address % 4 == 0;
}

/// The range of an address, or NULL.
static const struct range *find(struct mwd_registers *r, uint32_t address, uint32_t **word)
{
    struct part p;
    if (!find_part(r, address, &p))
        return NULL;
    uint32_t *const words = p.words;
    const struct range *const end = p.range + p.ranges;
    for (const struct range *i = p.range; i < end; i++)
        if (p.offset >= i->address && p.offset - i->address < 4 * i->words) {
            *word = words + p.offset / 4;
            return i;
        }
    return NULL;
}

uint32_t *mwd_register(struct mwd_registers *r, uint32_t address)
{
    uint32_t *word;
    return find(r, address, &word) ? word : NULL;
}

static bool locked(const struct mwd_registers *r, uint32_t address)
{
    return r->fabric[offsetof(mw_fabric_t, state) / 4] & MW_FABRIC__STATE__BUSY_bm &&
           (address == offsetof(mw_fabric_t, control) || address == offsetof(mw_fabric_t, epoch) ||
            address == offsetof(mw_fabric_t, link));
}

int mwd_access(struct mwd_registers *r, bool write, uint32_t address, uint32_t *value)
{
    uint32_t *word;
    const struct range *range = find(r, address, &word);
    if (!range || !(write ? range->writable : range->readable) || (write && locked(r, address)))
        return -1;
    if (write)
        *word = (*word & ~range->writable) | (*value & range->writable);
    else
        *value = *word & range->readable;
    return 0;
}

static void reset_part(const struct range *range, size_t ranges, uint32_t *words)
{
    for (size_t i = 0; i < ranges; i++)
        for (uint32_t w = 0; w < range[i].words; w++)
            words[range[i].address / 4 + w] = range[i].reset;
}

void mwd_registers_reset(struct mwd_registers *r, unsigned gpus, unsigned flit_bytes,
                         unsigned mem_log2)
{
#define PUT(field, value) ((uint32_t)(value) << MW_FABRIC__##field##_bp)
#define WORD(name) r->fabric[offsetof(mw_fabric_t, name) / 4]
    r->gpus = gpus;
    reset_part(FABRIC, COUNT(FABRIC), r->fabric);
    reset_part(SOC, COUNT(SOC), r->soc);
    for (unsigned g = 0; g < gpus; g++)
        reset_part(NODE, COUNT(NODE), r->node[g]);
    WORD(id) = PUT(ID__MAGIC, 0x4d57) | PUT(ID__MAJOR, 2);
    WORD(size) = PUT(SIZE__PORTS, gpus) | PUT(SIZE__FLIT_BYTES, flit_bytes) |
                 PUT(SIZE__MEM_LOG2, mem_log2) | PUT(SIZE__BANKS, 4);
    WORD(capacity) = PUT(CAPACITY__ROWS_LOG2, 10) | PUT(CAPACITY__TOKENS_LOG2, 7) |
                     PUT(CAPACITY__CACHE_LOG2, 9) | PUT(CAPACITY__LOCAL_EXPERTS, 16);
    WORD(windows) =
        PUT(WINDOWS__OPEN_ROWS, 8) | PUT(WINDOWS__PART_PKTS, 4) | PUT(WINDOWS__MAX_LATENCY, 64);
    WORD(up_room) = PUT(UP_ROOM__STORE_PKTS, 16) | PUT(UP_ROOM__CTRL_PKTS, 16);
    WORD(down_room) = PUT(DOWN_ROOM__STORE_PKTS, 16) | PUT(DOWN_ROOM__RESULT_PKTS, 4);
    WORD(tables) = PUT(TABLES__EXPERTS, 64) | PUT(TABLES__GROUPS, 16);
}
