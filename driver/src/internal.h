// SPDX-License-Identifier: Apache-2.0
//
// What the parts of libmoeswitch share. Names that are not public start with mwi_.
#ifndef MW_INTERNAL_H
#define MW_INTERNAL_H

#include "moeswitch.h"

#include <assert.h>
#include <pthread.h>

#include "fabric_regs.h"
#include "map.h"
#include "node_regs.h"

/// Addresses on the configuration bus.
#define MWI_FABRIC(reg) ((uint32_t)offsetof(mw_fabric_t, reg))
#define MWI_NODE(gpu, reg) \
    (MW_MAP_NODES + MW_MAP_NODE_STRIDE * (gpu) + (uint32_t)offsetof(mw_node_t, reg))
/// Fields of a register, by the prefix that the generated headers have for them.
/// An address of memory as registers hold it.
#define BASE(address) ((uint32_t)((address) / MW_BASE_UNIT))
#define MWI_PUT(field, value) (((uint32_t)(value) << field##_bp) & field##_bm)
#define MWI_GET(field, word) (((word)&field##_bm) >> field##_bp)

enum {
    MWI_MAGIC = 0x4d57,
    MWI_MAJOR = 0, ///< of the registers
    MWI_EPOCHS = 4,
    MWI_WRITES = 64, ///< gathered at most
};

struct mw_device {
    pthread_mutex_t lock; ///< recursive: public calls use each other
    unsigned depth;       ///< how often it is held
    struct mw_register writes[MWI_WRITES];
    unsigned write_count;
    const struct mw_transport *transport;
    void *context;
    struct mw_device_info info;
    uint32_t groups_used; ///< mask of static groups
    bool running;
    bool configured;
    unsigned epoch;     ///< of the next layer
    bool sweep;         ///< the tables must be cleared before it
    uint64_t tables[3]; ///< where the allocation tables are, how large, and the rows, as last swept
    uint64_t tokens_total; ///< of the layer, for progress
    uint64_t quiet_cycles; ///< longest that this layer may legitimately do nothing visible
    struct {
        bool used;                        ///< since mw_layer_configure
        struct mw_layout layout;          ///< as last fed
        unsigned count;                   ///< layers that are not known to be done
        uint32_t number[MW_FEED_BUFFERS]; ///< theirs, the oldest first
        unsigned buffer[MW_FEED_BUFFERS]; ///< that they use
    } fed;
};

extern const struct mw_transport mwi_transport_sim, mwi_transport_usb;

/// Set mw_message and return `code`.
int mwi_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
/// Around a call of a transport, which may set a message that says more: none yet; and one, if it has
/// not.
void mwi_say_nothing(void);
int mwi_fail_also(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

void mwi_lock(struct mw_device *device);
/// Unlock and hand on `status`, so that a call can end with it. The outermost one of a call carries out
/// the writes that are left, and hands on their failure.
int mwi_unlock(struct mw_device *device, int status);

/// Registers; on failure the message names the address. Where the transport takes lists, writes are
/// gathered, and carried out in their order before anything else that reaches the device.
int mwi_read(struct mw_device *device, uint32_t address, uint32_t *value);
int mwi_write(struct mw_device *device, uint32_t address, uint32_t value);
/// Read many, in their order; in one go where the transport takes lists.
int mwi_read_list(struct mw_device *device, struct mw_register *list, size_t count);
/// Carry out the gathered writes.
int mwi_flush(struct mw_device *device);

/// MW_ERR_STATE if a layer runs.
int mwi_check_idle(const struct mw_device *device, const char *call);
/// A fed layer that is not known to be done uses this buffer of the layout.
bool mwi_in_use(const struct mw_device *device, unsigned buffer);
/// MW_ERR_STATE if a layer runs that may touch one of the pieces.
int mwi_check_free(const struct mw_device *device, const char *call, const struct mw_transfer *list,
                   size_t count);

/// Clear the allocation tables.
int mwi_sweep(struct mw_device *device);
/// One step of waiting: let the device run, and say whether what is waited for is there.
typedef int (*mwi_step_fn)(struct mw_device *device, void *context, uint64_t cycles, bool *done);
/// Steps until that, or until nothing has moved for too long.
int mwi_run_to_done(struct mw_device *device, const struct mw_wait_options *options,
                    mwi_step_fn step, void *context);

/// Smallest s with 1 << s >= n (n >= 1).
unsigned mwi_log2_up(uint64_t n);

#endif
