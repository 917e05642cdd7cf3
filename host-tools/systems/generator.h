// SPDX-License-Identifier: Apache-2.0
//
// What a system is to the device: a set of instruction streams (docs/isa.md, docs/systems.md). Each
// system has a generator of its own; run_system.c does everything that they have in common.
#ifndef MW_HOST_GENERATOR_H
#define MW_HOST_GENERATOR_H

#include "moeswitch.h"

struct mw_system;

struct mw_generator {
    const char *name; ///< of mw_systems
    unsigned streams; ///< streams per GPU
    unsigned instrs;  ///< most instructions of a stream, the end included
    /// Fill in the streams (initialised, `streams` of them) of one GPU with `tokens` own tokens in a
    /// device of `gpus`, as the settings have the system. Failures are kept by the streams; they are ended by the caller.
    void (*make)(struct mw_stream *s, const struct mw_system *system, unsigned gpus,
                 uint32_t tokens);
};

/// Dispatch, experts and combine side by side, token by token: `dysharp` and `moeswitch`.
void mw_make_side_by_side(struct mw_stream *s, const struct mw_system *system, unsigned gpus,
                          uint32_t tokens);

/// Where a range of tokens ends: `parts` of `all` parts of them, rounded down.
uint32_t mw_range_end(unsigned parts, unsigned all, uint32_t tokens);

extern const struct mw_generator mw_generate_unicast;
extern const struct mw_generator mw_generate_overlap;
extern const struct mw_generator mw_generate_moe_hub;
extern const struct mw_generator mw_generate_dysharp_basic;
extern const struct mw_generator mw_generate_dysharp;
extern const struct mw_generator mw_generate_moeswitch;

#endif
