// SPDX-License-Identifier: Apache-2.0
//
// The lock of a device and the registers that it protects.
#ifndef MW_REGISTERS_H
#define MW_REGISTERS_H

#include "core/gpu_set.h"
#include "fabric_regs.h"
#include "map.h"
#include "node_regs.h"
#include "soc_regs.h"

/// Addresses on the configuration bus.
#define MWI_FABRIC(reg) ((uint32_t)offsetof(mw_fabric_t, reg))
#define MWI_NODE(gpu, reg) \
    (MW_MAP_NODES + MW_MAP_NODE_STRIDE * (gpu) + (uint32_t)offsetof(mw_node_t, reg))
#define MWI_SOC(reg) (MW_MAP_SOC + (uint32_t)offsetof(mw_soc_t, reg))
/// Words per port in the windows of the switch's counters.
enum { MWI_PORT_WORDS = 16 };
/// An address of memory as registers hold it.
#define MWI_BASE(address) ((uint32_t)((address) / MW_BASE_UNIT))
/// Fields of a register, by the prefix that the generated headers have for them.
#define MWI_PUT(field, value) (((uint32_t)(value) << field##_bp) & field##_bm)
#define MWI_GET(field, word) (((word)&field##_bm) >> field##_bp)

/// Lock it, for a public function. mwi_unlock returns `status`, so that a call can end with it. The
/// outermost one carries out the writes that are left, and returns their failure. Neither affects
/// an inherited device.
void mwi_lock(struct mw_device *device);
int mwi_unlock(struct mw_device *device, int status);

/// Hold the struct of a device for one of its objects, and release it. Called under the lock, which
/// mwi_put releases.
void mwi_hold(struct mw_device *device);
void mwi_put(struct mw_device *device);

/// Registers. On failure the message names the address. Where the transport takes lists, writes are
/// gathered, and carried out in their order before anything else that reaches the device. After a
/// write that failed the device's state is unknown.
int mwi_read(struct mw_device *device, uint32_t address, uint32_t *value);
int mwi_write(struct mw_device *device, uint32_t address, uint32_t value);
/// Read many, in their order; in one go where the transport takes lists.
int mwi_read_list(struct mw_device *device, struct mw_register *list, size_t count);
/// Carry out the gathered writes.
int mwi_flush(struct mw_device *device);

/// Read a mask; the words that this device has no ports for are 0.
int mwi_set_read(struct mw_device *device, uint32_t address, struct mw_gpu_set *set);
/// Write a mask. Its lowest word is last, with which the mask of a group takes effect.
int mwi_set_write(struct mw_device *device, uint32_t address, const struct mw_gpu_set *set);

#endif
