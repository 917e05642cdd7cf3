// SPDX-License-Identifier: Apache-2.0
//
// Runs one MoE layer as a program does, through libmoeswitch's handles, and has the golden model's
// rows to compare. For tests that run layers of several sizes, expert maps and devices in sequence,
// over any transport.
#ifndef MW_TEST_LAYERS_H
#define MW_TEST_LAYERS_H

#include "host/support.h"

#include "base/random.h"
#include "golden/golden.h"
#include "moeswitch.h"

struct layer_shape {
    unsigned gpus, tokens; ///< of each GPU
    unsigned hidden, experts, k;
    bool padding; ///< some places of the lists are empty
};

/// A field of mw_layer_config.
struct layer_setting {
    const char *name; ///< NULL ends a list
    uint64_t value;
};

struct layer {
    struct mw_workload w;                 ///< of one layer; its experts are numbered by their place
    const struct layer_setting *settings; ///< NULL: none
    /// names[place]: the number that software uses for the expert at that place. NULL: the same
    /// number
    const uint16_t *names;
    unsigned rows; ///< places that every expert has for rows; 0: as many as the busiest needs
    bool cached, gradients; ///< of its object: cached_handles, gate_gradients
    uint16_t *golden, *out;
    uint64_t cycles; ///< of the last run
    struct mw_counters counters;
};

/// The model with so many GPUs and flits of so many bytes.
struct mw_device *layer_device(unsigned gpus, unsigned flit_bytes);
/// Random lists, weights and values, and their golden rows.
void layer_make(struct layer *l, const struct layer_shape *shape, struct mw_random *r);
/// The same with rows of a type of MW_ROWTYPE_.
void layer_make_typed(struct layer *l, const struct layer_shape *shape, unsigned type,
                      struct mw_random *r);
void layer_free(struct layer *l);

/// Of a row that is not bf16: bytes of its values, numbers of fp32 scales and of scales of groups.
struct layer_parts {
    unsigned x, scales, groups;
};
struct layer_parts layer_parts(unsigned type, unsigned hidden);
/// All rows of a workload of such a type, as the library takes them.
struct mw_typed_rows layer_typed(const struct mw_workload *w);
void layer_free_typed(const struct mw_typed_rows *rows);
/// A random shape that a device with `mem_bytes` for each GPU holds.
struct layer_shape layer_any(unsigned gpus, unsigned flit_bytes, uint64_t mem_bytes,
                             struct mw_random *r);

/// Load the layer and its expert map, with a pattern in the output rows. The caller destroys
/// `handle` and `object`.
void layer_load(const struct layer *l, struct mw_device *d, struct mw_dymulticast **object,
                struct mw_handle **handle);
/// Load, start and leave it running.
void layer_start(const struct layer *l, struct mw_device *d);
/// Run it. Returns the status of mw_layer_run. `options` may be NULL.
int layer_run(struct layer *l, struct mw_device *d, const struct mw_wait_options *options);
/// Every row must have the golden bits. If one differs, the message contains `what`.
void layer_is_right(const struct layer *l, const char *what);
/// Run it: it ends well, with the golden bits. Returns its cycles.
uint64_t layer_pass(struct layer *l, struct mw_device *d, const char *what);

#endif
