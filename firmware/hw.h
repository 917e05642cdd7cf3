// SPDX-License-Identifier: Apache-2.0
//
// All that the firmware uses of the hardware: its bus, the GPUs' memories, and, through the bus,
// its own registers. hw.c is the real one. The tests have one of their own (tests/firmware/fake.c).
#ifndef MW_FW_HW_H
#define MW_FW_HW_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabric_regs.h"
#include "host.h"
#include "map.h"
#include "node_regs.h"
#include "soc_regs.h"

/// Addresses on the bus, and fields by the prefix that the generated headers have for them.
#define FABRIC(reg) ((uint32_t)offsetof(mw_fabric_t, reg))
#define NODE(gpu, reg) \
    (MW_MAP_NODES + MW_MAP_NODE_STRIDE * (gpu) + (uint32_t)offsetof(mw_node_t, reg))
#define SOC(reg) (MW_MAP_SOC + (uint32_t)offsetof(mw_soc_t, reg))
#define PUT(field, value) (((uint32_t)(value) << field##_bp) & field##_bm)
#define GET(field, word) (((word)&field##_bm) >> field##_bp)

/// A register. One that is not there, or refuses, reads 0 and is kept for hw_fault.
uint32_t hw_read(uint32_t address);
void hw_write(uint32_t address, uint32_t value);

/// A word of a GPU's memory, byte address inside it, multiple of 4.
uint32_t hw_mem_read(unsigned gpu, uint32_t address);
void hw_mem_write(unsigned gpu, uint32_t address, uint32_t value);

#endif
