// SPDX-License-Identifier: Apache-2.0
//
// See machine.h.
#include "experiment/machine.h"

#include "far_links.h"
#include "trace/workload.h"

enum { FLIT_BYTES = 16 };

int mw_machine_sizes(const struct mw_hardware *h, const struct mw_device_choice *device,
                     unsigned *gpus, unsigned *flit_bytes, struct mw_error *err)
{
    if (device->usb)
        return mw_fail(err, MW_EXIT_INPUT, "--hardware: only with --device sim");
    if (*gpus > h->gpus)
        return mw_fail(err, MW_EXIT_INPUT, "--gpus %u: %s has %u", *gpus, h->name, h->gpus);
    *gpus = *gpus ? *gpus : h->gpus;
    *flit_bytes = *flit_bytes ? *flit_bytes : FLIT_BYTES;
    if (*gpus > MW_MAX_GPUS)
        return mw_fail(
            err, MW_EXIT_INPUT,
            "--hardware %s: it has %u GPUs, the fabric at most %d: --gpus %d runs a part of it",
            h->name, h->gpus, MW_MAX_GPUS, MW_MAX_GPUS);
    return MW_EXIT_OK;
}

int mw_machine_latency(const struct mw_hardware *h, const struct mw_plane *plane,
                       unsigned link_latency, struct mw_error *err)
{
    if (link_latency <= MW_FAR_MAX_LATENCY)
        return MW_EXIT_OK;
    // a flit of twice the bytes takes twice the time, where there is one
    const bool wider = plane->flit_bytes < FLIT_BYTES && link_latency / 2 <= MW_FAR_MAX_LATENCY;
    return mw_fail(err, MW_EXIT_INPUT,
                   "--hardware %s: %g ns are %u cycles of %.3f ns, links have at most %d: "
                   "%sa shorter --link-latency",
                   h->name, h->link_ns, link_latency, plane->cycle_ns, MW_FAR_MAX_LATENCY,
                   wider ? "--flit-bytes 16, or " : "take ");
}
