// SPDX-License-Identifier: Apache-2.0
//
// Handles: the data of a layer, the programs that run its phases, and what the device has
// of it. Fields are covered by the device's lock, except those that are constant since
// the handle was made.
#ifndef MW_HANDLE_H
#define MW_HANDLE_H

#include "api/memory_image.h"
#include "core/moves.h"
#include "moe/dymulticast.h"

/// Instruction streams of a handle.
enum mwi_program {
    MWI_NO_PROGRAM,
    MWI_FUSED,    ///< the whole layer, token by token
    MWI_DISPATCH, ///< rows to their experts, until all have arrived
    MWI_EXPERTS,  ///< experts, then the sums
    MWI_SUMS,     ///< the sums alone, of results that the program wrote
    MWI_PROGRAMS
};

struct mw_handle {
    struct mw_dymulticast *object;
    uint64_t number; ///< as in mw_device.loaded
    uint64_t routes; ///< number of the handle whose layer counts its rows: its own, if not cached
    /// `handle` of it: NONE, KEEP, or CACHED where its rows take the routes of another handle
    struct mw_layer_config config;
    struct mw_layout layout;
    unsigned tokens[MW_MAX_PORTS];
    unsigned *rows;        ///< [experts] that each gets
    struct mwi_image data; ///< the first pieces are the routing tables, by GPU
    struct mwi_image program[MWI_PROGRAMS];
    // its dispatch: valid while mwi_state.begun is `begun`, which is 0 where there is none
    uint64_t begun, layer; ///< layer: its number in mwi_state
    bool *output;          ///< [experts] whose results were written since
    bool outputs;          ///< of any
    float *dw;             ///< [tokens of all GPUs][k] gradients, NULL: its experts make none
    bool dw_there;         ///< of its last layer
};

/// Tokens of all GPUs, for progress.
uint64_t mwi_handle_tokens(const struct mw_handle *handle);
/// The device is open, and the object of the handle still there.
int mwi_check_handle(const struct mw_handle *handle, const char *call);
/// Whether its dispatch is the layer that the device runs, or has run last.
bool mwi_rows_held(const struct mw_handle *handle);
/// MW_ERR_STATE, if not.
int mwi_check_held(const struct mw_handle *handle, const char *call);
/// ... or if it still runs, or the code with which it has ended.
int mwi_check_received(const struct mw_handle *handle, const char *call);

/// Write what the program needs and the device does not have, and start it.
/// The device is the call's.
int mwi_handle_start(struct mw_handle *handle, enum mwi_program program,
                     const struct mwi_pause *pause);

#endif
