// SPDX-License-Identifier: Apache-2.0
//
// What the parts of libmoeswitch share. Names that are not public start with mwi_.
#ifndef MW_INTERNAL_H
#define MW_INTERNAL_H

#include "moeswitch.h"

#include <assert.h>
#include <pthread.h>
#include <sys/types.h>

#include "fabric_regs.h"
#include "core/lock.h"
#include "map.h"
#include "node_regs.h"
#include "soc_regs.h"
#include "core/state.h"

/// Addresses on the configuration bus.
#define MWI_FABRIC(reg) ((uint32_t)offsetof(mw_fabric_t, reg))
#define MWI_NODE(gpu, reg) \
    (MW_MAP_NODES + MW_MAP_NODE_STRIDE * (gpu) + (uint32_t)offsetof(mw_node_t, reg))
#define MWI_SOC(reg) (MW_MAP_SOC + (uint32_t)offsetof(mw_soc_t, reg))
/// An address of memory as registers hold it.
#define BASE(address) ((uint32_t)((address) / MW_BASE_UNIT))
/// Fields of a register, by the prefix that the generated headers have for them.
#define MWI_PUT(field, value) (((uint32_t)(value) << field##_bp) & field##_bm)
#define MWI_GET(field, word) (((word)&field##_bm) >> field##_bp)

enum {
    MWI_MAGIC = 0x4d57,
    MWI_MAJOR = 0, ///< of the registers
    MWI_EPOCHS = 4,
    MWI_WRITES = 64,        ///< gathered at most
    MWI_LOCAL_EXPERTS = 64, ///< that an entry of the expert map can name
};

/// The layer that the registers hold.
struct mwi_configured {
    struct mw_layer_config config; ///< k 0: none yet
    struct mw_layout layout;
    unsigned tokens[MW_MAX_PORTS];
};

struct mw_device {
    struct mwi_lock
        lock;         ///< all below but what is constant since mw_open: process, transport, info
    pid_t process;    ///< that opened it
    unsigned holders; ///< the program, until it closes the device, and objects
    struct mw_register writes[MWI_WRITES];
    unsigned write_count;
    struct mw_transport own_transport;
    const struct mw_transport *transport; ///< that
    void *context;
    struct mw_device_info info;
    struct mwi_state state;
    struct mwi_configured configured;
    struct mwi_tables *tables; ///< expert map and groups, wanted and in the device
    bool combining; ///< a mw_combine has the device, from loading to reading: nobody else's it is
    pthread_t combiner;        ///< its thread
    uint64_t handles;          ///< made so far
    uint64_t loaded;           ///< number of the handle whose data are in the memories, 0: none
    struct mwi_notify *notify; ///< NULL: nobody asked for a descriptor
    struct mwi_share *share;   ///< NULL: nobody else sees it
};

extern const struct mw_transport mwi_transport_sim, mwi_transport_usb;

// ---- errors ---------------------------------------------------------------------------------------

/// Set mw_message and return `code`.
int mwi_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
/// Around a call of a transport, which may set a message that says more: none yet; and one, if it has
/// not.
void mwi_say_nothing(void);
int mwi_fail_also(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/// In a public function that returns a code: this pointer is needed.
#define MWI_NEED(pointer) \
    do { \
        if (!(pointer)) \
            return mwi_fail(MW_ERR_INVALID, "%s: %s is NULL", __func__, #pointer); \
    } while (0)

// ---- device ---------------------------------------------------------------------------------------

/// The transport that the options name, or NULL; and the failure for that.
const struct mw_transport *mwi_find_transport(const struct mw_open_options *options);
int mwi_no_transport(const struct mw_open_options *options);

/// Keep the struct of a device, for an object of it; and let it go. Under the lock; mwi_put ends it.
void mwi_hold(struct mw_device *device);
void mwi_put(struct mw_device *device);

/// Write what a reset has taken from it, but for what the next layer brings.
int mwi_restore(struct mw_device *device);

/// Whether another process opened it, which this one was forked from. Its threads, and with them whoever
/// had a lock, are not here, and the device is that process's: nothing of it may be called or waited for.
bool mwi_inherited(const struct mw_device *device);
/// Lock it, for a public function. mwi_unlock hands on `status`, so that a call can end with it; the
/// outermost one carries out the writes that are left, and hands on their failure. Neither does anything
/// to a device that was inherited.
void mwi_lock(struct mw_device *device);
int mwi_unlock(struct mw_device *device, int status);

/// Registers; on failure the message names the address. Where the transport takes lists, writes are
/// gathered, and carried out in their order before anything else that reaches the device. After a
/// write that failed the device's state is unknown.
int mwi_read(struct mw_device *device, uint32_t address, uint32_t *value);
int mwi_write(struct mw_device *device, uint32_t address, uint32_t value);
/// Read many, in their order; in one go where the transport takes lists.
int mwi_read_list(struct mw_device *device, struct mw_register *list, size_t count);
/// Carry out the gathered writes.
int mwi_flush(struct mw_device *device);

/// As mw_mem_write and mw_mem_read, of pieces that were checked, under the lock.
int mwi_mem_write(struct mw_device *device, const struct mw_transfer *list, size_t count);
int mwi_mem_read(struct mw_device *device, const struct mw_transfer *list, size_t count);

// ---- tables: tables.c, known_tables.c -------------------------------------------------------------

int mwi_tables_make(struct mw_device *device);
void mwi_tables_free(struct mw_device *device);
/// The device was reset: what its tables hold is not known.
void mwi_tables_forget(struct mw_device *device);
/// Write what differs: groups that are bound, all others without members.
int mwi_groups_load(struct mw_device *device);
/// ... the map of `count` experts, or with NULL that of mw_expert_map_set. Places were checked.
int mwi_map_load(struct mw_device *device, const struct mw_expert_place *places, size_t count);
int mwi_check_places(const struct mw_device *device, const struct mw_expert_place *places,
                     size_t count);
/// Where the device's map has an expert; false: nowhere, or that is not known.
bool mwi_map_place(const struct mw_device *device, unsigned expert, struct mw_expert_place *place);
/// The same number of experts on every GPU, in their order.
void mwi_places_even(struct mw_expert_place *places, unsigned experts, unsigned gpus);
/// A free group, or MW_ERR_CAPACITY; its members, 0: none; and give it back.
int mwi_group_take(struct mw_device *device);
void mwi_group_set(struct mw_device *device, unsigned group, uint32_t members);
void mwi_group_give(struct mw_device *device, unsigned group);

// ---- layers: layer.c, wait.c ----------------------------------------------------------------------

/// Whether a token's hidden values may be so large; `what` is the field that says it.
int mwi_check_row_bytes(const struct mw_device_info *info, const char *what, unsigned bytes);
/// Sizes and settings that the device cannot do.
int mwi_check_sizes(const struct mw_device_info *info, const struct mw_layer_config *config);
/// Settings that no device can: MW_ERR_INVALID, with the range of the first one.
int mwi_check_settings(const struct mw_layer_config *config);
/// What the first instruction needs that the device was built without, and which that is; NULL: it has all.
const char *mwi_stream_lacks(const struct mw_device_info *info, const struct mw_stream *s,
                             unsigned *instr);
int mwi_check_config(const struct mw_device *device, const struct mw_layer_config *config);
/// As mw_layer_configure and mw_launch, under the lock, of what was checked.
int mwi_configure(struct mw_device *device, const struct mw_layer_config *config,
                  const struct mw_layout *layout, const unsigned *tokens, const unsigned *experts,
                  unsigned streams);
/// ... of a mw_combine, which may be ended while tables are cleared; NULL: a mw_launch.
struct mwi_pause;
int mwi_launch(struct mw_device *device, const struct mwi_pause *pause);
/// As mw_wait for the layer of that number, under the lock, which it lets go meanwhile.
int mwi_wait(struct mw_device *device, const struct mw_wait_options *options, uint64_t number,
             uint64_t *cycles);
/// Behind an error of bounds of a GPU: `text` gets ": " and which expert's region is too small for what the routing
/// tables send there, and how large it is; empty: none.
void mwi_short_region(struct mw_device *device, unsigned gpu, char *text, size_t size);
/// Let what runs get on for one slice.
int mwi_look(struct mw_device *device);
/// Own tokens that are done, of all GPUs, and cycles since go; and a number that changes whenever
/// the layer gets on. Pointers may be NULL.
int mwi_read_progress(struct mw_device *device, uint64_t *activity, uint64_t *tokens,
                      uint64_t *cycles);
/// One step of waiting: let the device run, and say whether what is waited for is there.
typedef int (*mwi_step_fn)(struct mw_device *device, void *context, uint64_t cycles, bool *done);
/// Steps until that, or until nothing has moved for too long. The lock is let go between slices of a
/// step, and while `progress` is called.
int mwi_run_to_done(struct mw_device *device, const struct mw_wait_options *options,
                    mwi_step_fn step, void *context);

// ---- a descriptor: notify.c, event_fd.c -----------------------------------------------------------

/// Under the lock: a layer has ended.
void mwi_notify(struct mw_device *device);
/// Without the lock: end its thread. Where it was inherited there is none: close the descriptor.
void mwi_notify_stop(struct mw_device *device);

/// Smallest s with 1 << s >= n (n >= 1).
unsigned mwi_log2_up(uint64_t n);
/// Lists of rows of a GPU: of each expert or, with source_lists, of each {expert, source}.
uint64_t mwi_lists_of(const struct mw_layer_config *config, unsigned n_shift);

#endif
