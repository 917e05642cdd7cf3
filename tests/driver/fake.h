// SPDX-License-Identifier: Apache-2.0
//
// A device that consists only of registers and memories, as a custom transport. An access that the
// register description does not allow fails the test. A test can read what the library writes, set
// what the library reads, and make any call fail.
#ifndef MW_TEST_FAKE_H
#define MW_TEST_FAKE_H

#include "moeswitch.h"
#include "transport_sim/queue.h"
#include "usb/registers.h"

enum {
    FAKE_MEM_LOG2 = 20,
    FAKE_MEM = 1 << FAKE_MEM_LOG2,
    FAKE_NEVER = -1,
};

struct fake {
    unsigned gpus, flit_bytes;
    struct mwd_registers registers;
    uint8_t *mem[MW_MAX_PORTS];
    int open_status; ///< what open returns
    long fail_at;    ///< the call that fails (counted from 0 at its setting), or FAKE_NEVER
    int fail_with;   ///< what it returns
    long lose_at;    ///< the call that changes the device and whose reply is lost, or FAKE_NEVER
    long calls;      ///< since then; cfg_*, mem_*, run_until, feed, fed and reset count
    bool lists;      ///< it takes lists of registers, as one call; before fake_open
    bool echo;       ///< output rows are the hidden values
    void (*on_run)(struct fake *f);              ///< called by run_until; may be NULL
    void (*on_sweep)(void);                      ///< ... when a sweep begins
    void (*on_move)(struct fake *f, bool write); ///< ... by mem_write and mem_read
    uint64_t layer_cycles;                       ///< from go to done
    bool stuck;                                  ///< a layer never ends
    bool moving;                                 ///< a stuck device still looks busy
    uint64_t left;                               ///< cycles to done
    bool flowing; ///< each port has a store flit both ways in every second cycle
    /// Cycles of a layer that pass while a register of the fabric or of a node is read. NULL: none.
    unsigned (*read_cycles)(struct fake *f, bool node);
    unsigned go, sweeps, closed, resets;
    uint32_t emap_at_go[64], groups_at_go[64]; ///< those tables when the last layer began
    unsigned sweep_polls; ///< reads of `state` that show a sweep as busy, FAKE_MEM: for ever
    unsigned polls;       ///< of them left
    unsigned port_polls;  ///< reads of a word of `down` before a port is down, or up
    uint32_t port_word;   ///< which word
    uint32_t ports;       ///< those that are down then
    struct mwi_queue queue;
    unsigned looks; ///< at the clock
};

extern const struct mw_transport fake_transport, fake_list_transport;

/// Registers as those of a device with N GPUs, F-byte flits and FAKE_MEM bytes each.
void fake_init(struct fake *f, unsigned gpus, unsigned flit_bytes);
void fake_free(struct fake *f);
/// Open it as a device.
int fake_open(struct fake *f, struct mw_device **device);
/// ... through a transport of the test's own, whose calls get `f`.
int fake_open_by(struct fake *f, const struct mw_transport *transport, struct mw_device **device);
/// A layer that fits.
struct mw_layer_config small_config(void);
void fake_fail_at(struct fake *f, long call);
void fake_lose_at(struct fake *f, long call);
uint32_t *fake_fabric(struct fake *f, uint32_t offset);
uint32_t *fake_node(struct fake *f, unsigned gpu, uint32_t offset);

#endif
