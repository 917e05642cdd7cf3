// SPDX-License-Identifier: Apache-2.0
//
// What a system is to the device: a set of instruction streams (docs/reference/isa.md,
// docs/design/systems.md). Each system has a generator of its own; run_system.c does everything
// that they have in common.
#ifndef MW_HOST_GENERATOR_H
#define MW_HOST_GENERATOR_H

#include "analysis/traffic.h"

#include "moeswitch.h"

/// Whose streams are made.
struct mw_place {
    const struct mw_system *system; ///< as the settings have it
    unsigned gpus, gpu;
    uint32_t tokens;                ///< of each GPU
    const struct mw_layout *layout; ///< of its device
    unsigned group;                 ///< static group of all GPUs, where the system is `gathered`
    uint32_t early; ///< tokens that do not wait for the order, where others do; at least 1
    bool cached;    ///< the layer has a handle: nothing is counted, and gathered entries are there
    bool gradients; ///< experts make those of gate weights
};

struct mw_generator {
    const char *name; ///< of mw_systems
    unsigned streams; ///< streams per GPU
    unsigned instrs;  ///< most instructions of a stream, the end included
    /// Fill in the streams (initialised, `streams` of them) of one GPU. Failures are kept by the
    /// streams. They are ended by the caller.
    void (*make)(struct mw_stream *s, const struct mw_place *at);
};

/// Dispatch, experts and combine side by side, token by token: `dysharp` and `moeswitch`.
void mw_make_side_by_side(struct mw_stream *s, const struct mw_place *at);

/// After each expert: it makes gradients of gate weights, in a layer that has them.
void mw_make_gradients(struct mw_stream *s, const struct mw_place *at);

/// A cost of software: so many cycles after the instruction before, if any.
void mw_charge(struct mw_stream *s, uint32_t cycles);

/// Where the rows of `st` begin at each GPU: by the counts of all GPUs, unless a handle has them.
void mw_make_bases(struct mw_stream *s, const struct mw_place *at);

/// Where a range of tokens ends: `parts` of `all` parts of them, rounded down.
uint32_t mw_range_end(unsigned parts, unsigned all, uint32_t tokens);

enum {
    MW_RANGE_PARTS = 64,     ///< of the tokens, in which these ranges end
    MW_GATHERED_RANGES = 14, ///< of others' tokens
};
/// Ends of the ranges of tokens on which experts run: of every home's tokens, and of all others'
/// gathered tokens, which begin after the own ones.
extern const unsigned mw_overlap_ends[MW_OVERLAP_RANGES];
extern const unsigned mw_gathered_ends[MW_GATHERED_RANGES];

extern const struct mw_generator mw_generate_unicast;
extern const struct mw_generator mw_generate_overlap;
extern const struct mw_generator mw_generate_nvls;
extern const struct mw_generator mw_generate_moe_hub;
extern const struct mw_generator mw_generate_flashdmoe;
extern const struct mw_generator mw_generate_dysharp_basic;
extern const struct mw_generator mw_generate_dysharp;
extern const struct mw_generator mw_generate_moeswitch;

#endif
