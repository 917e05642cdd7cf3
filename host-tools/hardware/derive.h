// SPDX-License-Identifier: Apache-2.0
//
// From a machine to the simulated fabric, and from cycles to time (docs/user/hardware.md).
//
// Addresses interleave over the planes every 128 bytes, which is an assumption. Packet j of token t
// uses plane (j + t) mod P. So each plane carries every token, with the whole packets of each row
// that are assigned to it. These are packets of dispatch. A plane's results are those of its
// values, which fill two or more packets where dispatch has a smaller type. The simulated plane has
// the largest share. Its header, target list and gate weights are those of every plane.
#ifndef MW_HOST_DERIVE_H
#define MW_HOST_DERIVE_H

#include "hardware/hardware.h"

#include <stdint.h>

struct mw_json;

/// What one simulated plane of a machine is.
struct mw_plane {
    unsigned flit_bytes;
    double cycle_ns;        ///< a cycle of the fabric: a flit's time on a link / its cycles there
    unsigned link_latency;  ///< cycles, at least 1
    unsigned hidden;        ///< bf16 values of the largest share of a row
    unsigned row_hidden;    ///< of the whole row
    unsigned values;        ///< of a packet of dispatch
    uint64_t expert_cycles; ///< of a row of the expert's GEMMs; 0: not known
    double
        weights_share; ///< of that time that memory needs for the weights; above 1: memory limits
};

/// An expert as three GEMMs of hidden x size each (gate, up, down). size 0: not known.
struct mw_expert_shape {
    unsigned hidden, size;
    enum mw_gemm_type type;
    unsigned values; ///< in 128 bytes of a row to it; 0: of bf16, 64
    double rows;     ///< of an expert and layer, which share one load of its weights
};

/// The link of one plane, on which a flit takes `link_cycles`: time of a cycle, and latency. The
/// rest of `plane` is 0.
void mw_plane_link(struct mw_plane *plane, const struct mw_hardware *hardware, unsigned flit_bytes,
                   unsigned link_cycles);

/// MW_EXIT_INPUT: a row has no whole number of values for that flit width, or the machine states
/// no rate for the type.
int mw_plane_of(struct mw_plane *plane, const struct mw_hardware *hardware, unsigned flit_bytes,
                unsigned link_cycles, const struct mw_expert_shape *expert, struct mw_error *err);

/// Which element of a whole row is number `element` of the share that plane number `plane` has of
/// token `token`.
/// Of tokens with fewer packets there than others, some are at or beyond the end of the row:
/// padding.
unsigned mw_plane_element(const struct mw_hardware *hardware, const struct mw_plane *share,
                          unsigned plane, unsigned token, unsigned element);

/// Members of a report's object `hardware`: the machine, and a cycle of its plane.
void mw_plane_json(struct mw_json *j, const struct mw_hardware *hardware,
                   const struct mw_plane *plane);

/// Microseconds of `cycles`.
double mw_plane_us(const struct mw_plane *plane, double cycles);

#endif
