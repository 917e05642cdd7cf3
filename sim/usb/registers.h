// SPDX-License-Identifier: Apache-2.0
//
// The registers of a device without hardware, from the register description (spec/*.rdl): which
// exist, which bus accesses they permit, and their values after reset. The owner adds what hardware
// does itself.
#ifndef MWD_REGISTERS_H
#define MWD_REGISTERS_H

#include "fabric_regs.h"
#include "host.h"
#include "map.h"
#include "node_regs.h"
#include "soc_regs.h"

#include <stdbool.h>

enum { MWD_MAX_GPUS = 72 }; ///< as many as the fabric may have

struct mwd_registers {
    unsigned gpus;
    uint32_t fabric[MW_MAP_SOC / 4];
    uint32_t node[MWD_MAX_GPUS][MW_MAP_NODE_STRIDE / 4];
    uint32_t soc[sizeof(mw_soc_t) / 4];
};

/// Values after power-up of a fabric with these sizes and no optional primitives.
void mwd_registers_reset(struct mwd_registers *registers, unsigned gpus, unsigned flit_bytes,
                         unsigned mem_log2);
/// The word of a register, regardless of its access rights. NULL: there is none at this address.
uint32_t *mwd_register(struct mwd_registers *registers, uint32_t address);
/// An access as on the bus. Bits that cannot be read or written are 0, or keep their value.
/// -1: no register, one that cannot be accessed that way, or one that a running layer locks.
int mwd_access(struct mwd_registers *registers, bool write, uint32_t address, uint32_t *value);

#endif
