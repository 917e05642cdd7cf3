// SPDX-License-Identifier: Apache-2.0
//
// C interface of the simulated device. Each configuration (N, flit width) has its own shared
// object, build/model/<configuration>/libmwsim.so, which exports one symbol, mw_sim_get_ops. A
// program may load several of them, and make several devices from each.
//
// Time passes in whole clock cycles, and only inside run, cfg and transfer. No C++ exception
// leaves a function.
#ifndef MW_SIM_H
#define MW_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { MW_SIM_ABI = 3 };

struct mw_sim;

/// A piece of one GPU's memory through its host stream port.
struct mw_sim_transfer {
    uint32_t gpu;
    bool write;
    uint64_t flit;  ///< first flit (byte address / flit bytes)
    uint64_t flits; ///< how many
    uint8_t *data;  ///< flits * flit bytes
};

/// State of a GPU or a port of the switch, reported when it changes; `value` is:
enum mw_sim_kind {
    MW_SIM_STREAM, ///< stream, state (as rtl/gpu/streams.sv numbers them), opcode, index of the
                   ///< next instruction
    MW_SIM_TILE,   ///< a tile is in the engine, local expert, first row, last row so far
    MW_SIM_ROWS,   ///< open reductions
};
struct mw_sim_event {
    uint32_t cycle;       ///< of the layer
    uint16_t kind, place; ///< GPU or port
    uint32_t value[4];
};
typedef void (*mw_sim_event_fn)(void *context, const struct mw_sim_event *event);

struct mw_sim_ops {
    uint32_t abi;        ///< MW_SIM_ABI
    uint32_t gpus;       ///< N
    uint32_t flit_bytes; ///< 8 or 16
    bool trace;          ///< waveforms can be written

    /// Make a device and reset it; `fst` is a file for waveforms or NULL. NULL: no memory, or
    /// waveforms were requested and the model has none.
    struct mw_sim *(*create)(const char *fst);
    void (*destroy)(struct mw_sim *sim);
    /// One access of the configuration bus. 0, or -1: the device answered with an error, -2: no
    /// answer.
    int (*cfg)(struct mw_sim *sim, bool write, uint32_t address, uint32_t *value);
    /// Step until done is seen, at most `max_cycles`. Returns whether it was seen.
    bool (*run)(struct mw_sim *sim, uint64_t max_cycles);
    /// Move all pieces. The GPUs work in parallel, and the pieces of one GPU are in order. 0, or
    /// -2: a port did not move for 100 000 cycles; -3: no memory, and nothing was moved.
    int (*transfer)(struct mw_sim *sim, const struct mw_sim_transfer *list, size_t count);
    /// Cycles since creation.
    uint64_t (*cycles)(const struct mw_sim *sim);
    /// Reset it at any time, to the state after its creation. Memories keep their contents.
    void (*reset)(struct mw_sim *sim);
    /// Call `event` for each change, from inside run, cfg and transfer, in order, until the next
    /// call of watch. NULL: no calls. The device takes the same cycles. watch is NULL if the model
    /// does not report changes.
    void (*watch)(struct mw_sim *sim, mw_sim_event_fn event, void *context);
};

/// The only symbol of the shared object.
const struct mw_sim_ops *mw_sim_get_ops(void);
typedef const struct mw_sim_ops *(*mw_sim_get_ops_fn)(void);

#ifdef __cplusplus
}
#endif

#endif
