// SPDX-License-Identifier: Apache-2.0
//
// See hardware_options.h.
#include "run/hardware_options.h"

#include "experiment/machine.h"
#include "run/run.h"
#include "trace/row_type.h"

#include <inttypes.h>
#include <string.h>

/// The time of an expert's row, which a register of the layer must hold.
static int take_expert(struct mw_run_params *p, struct mw_error *err)
{
    if (p->expert_cycles_given || !p->plane.expert_cycles)
        return MW_EXIT_OK;
    if (p->plane.expert_cycles > MW_MAX_EXPERT_CYCLES)
        return mw_fail(err, MW_EXIT_INPUT,
                       "--hardware %s: a row of an expert takes %" PRIu64
                       " cycles, more than %d: more tokens "
                       "per expert, another --gemm-type, or --expert-cycles",
                       p->hardware->name, p->plane.expert_cycles, MW_MAX_EXPERT_CYCLES);
    p->expert_cycles = p->plane.expert_cycles;
    p->expert_cycles_given = true;
    return MW_EXIT_OK;
}

int mw_hardware_apply(struct mw_run_params *p, const struct mw_options_said *said,
                      struct mw_error *err)
{
    if (!p->hardware)
        return mw_option_given(&mw_run_table, said, "gemm-type")
                   ? mw_fail(err, MW_EXIT_INPUT, "--gemm-type: only with --hardware")
                   : MW_EXIT_OK;
    int status = mw_machine_sizes(p->hardware, &p->device, &p->shape.gpus, &p->flit_bytes, err);
    if (status)
        return status;
    const struct mw_expert_shape expert = {
        .hidden = p->shape.hidden,
        .size = p->model ? p->model->expert_size : 0,
        .type = p->gemm,
        .values = mw_row_type_values(p->shape.dispatch_type),
        .rows = (double)p->shape.gpus * p->shape.tokens_per_gpu * p->k / p->experts,
    };
    status = mw_plane_of(&p->plane, p->hardware, p->flit_bytes, p->link_cycles, &expert, err);
    if (status)
        return status;
    p->shape.hidden = p->plane.hidden;
    if (!mw_option_given(&mw_run_table, said, "link-latency"))
        p->link_latency = p->plane.link_latency;
    status = mw_machine_latency(p->hardware, &p->plane, p->link_latency, err);
    return status ? status : take_expert(p, err);
}
