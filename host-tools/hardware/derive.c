// SPDX-License-Identifier: Apache-2.0
//
// See derive.h.
#include "hardware/derive.h"

#include "formats/json.h"

#include <math.h>

enum {
    PACKET_BYTES = 128, ///< of payload, and of the interleave
    VALUE_BYTES = 2,    ///< bf16
    GEMMS = 3,
};

static const double type_bytes[MW_GEMM_TYPES] = {2, 1, 0.5};

/// Seconds of one row: the operations, or the share of the weights' load, whichever takes longer.
static double row_seconds(const struct mw_hardware *h, const struct mw_expert_shape *e,
                          double *weights)
{
    const double values = (double)GEMMS * e->hidden * e->size;
    const double compute = 2 * values / (h->tflops[e->type] * 1e12);
    const double load = values * type_bytes[e->type] / (h->memory_gbytes * 1e9) / fmax(e->rows, 1);
    *weights = load / compute;
    return fmax(compute, load);
}

void mw_plane_link(struct mw_plane *plane, const struct mw_hardware *h, unsigned flit_bytes,
                   unsigned link_cycles)
{
    const double flit_ns = flit_bytes * h->planes / h->link_gbytes;
    *plane = (struct mw_plane){.flit_bytes = flit_bytes, .cycle_ns = flit_ns / link_cycles};
    plane->link_latency = (unsigned)fmax(1, round(h->link_ns / plane->cycle_ns));
}

int mw_plane_of(struct mw_plane *plane, const struct mw_hardware *h, unsigned flit_bytes,
                unsigned link_cycles, const struct mw_expert_shape *e, struct mw_error *err)
{
    mw_plane_link(plane, h, flit_bytes, link_cycles);
    if (e->hidden * VALUE_BYTES % flit_bytes)
        return mw_fail(err, MW_EXIT_INPUT, "--hidden %u: not a multiple of half of --flit-bytes %u",
                       e->hidden, flit_bytes);
    const unsigned values = e->values ? e->values : PACKET_BYTES / VALUE_BYTES;
    const unsigned packets = (e->hidden + values - 1) / values;
    const unsigned share = (packets + h->planes - 1) / h->planes * values;
    plane->row_hidden = e->hidden;
    plane->values = values;
    plane->hidden = share < e->hidden ? share : e->hidden;
    if (!e->size)
        return MW_EXIT_OK;
    if (!(h->tflops[e->type] > 0))
        return mw_fail(err, MW_EXIT_INPUT, "--hardware %s: it states no TFLOPS of %s", h->name,
                       mw_gemm_names[e->type]);
    plane->expert_cycles =
        (uint64_t)round(row_seconds(h, e, &plane->weights_share) * 1e9 / plane->cycle_ns);
    return MW_EXIT_OK;
}

unsigned mw_plane_element(const struct mw_hardware *h, const struct mw_plane *share, unsigned plane,
                          unsigned token, unsigned element)
{
    const unsigned values = share->values;
    const unsigned first = (plane + h->planes - token % h->planes) % h->planes;
    return (first + element / values * h->planes) * values + element % values;
}

void mw_plane_json(struct mw_json *j, const struct mw_hardware *h, const struct mw_plane *plane)
{
    mw_json_string(j, "name", h->name);
    mw_json_uint(j, "planes", h->planes);
    mw_json_double(j, "link_gbytes_per_s", h->link_gbytes);
    mw_json_double(j, "link_latency_ns", h->link_ns);
    mw_json_double(j, "memory_gbytes_per_s", h->memory_gbytes);
    mw_json_double(j, "cycle_ns", plane->cycle_ns);
    mw_json_string(j, "source", h->source);
}

double mw_plane_us(const struct mw_plane *plane, double cycles)
{
    return cycles * plane->cycle_ns / 1000;
}
