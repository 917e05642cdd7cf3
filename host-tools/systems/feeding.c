// SPDX-License-Identifier: Apache-2.0
//
// All layers of a workload run again through the device's queue of layers, twice. The first time,
// each is written, run and read before the next. The second time, there are two buffers: the host
// writes and reads one while the layer of the other runs. Both give the bits of the layers when run
// alone, and the difference of their cycles is the gain and the cost of feeding.
#include "systems/job.h"

#include <stdlib.h>
#include <string.h>

enum { CLOCK_HZ = 60000000 }; ///< of a simulated device

struct feeding {
    struct job *job;
    struct mw_feeding_run *run;
    uint16_t *out;        ///< of one layer
    uint32_t *number;     ///< of each layer
    struct mw_fed before; ///< the layer that was read last
};

static int start(struct feeding *f, unsigned layer)
{
    struct job *j = f->job;
    unsigned buffer = layer % j->layout.buffers;
    const struct mw_feed_buffer *b = &j->layout.buffer[buffer];
    int status = mw_job_load_routing(j, layer, b->rt_base);
    if (!status)
        status = mw_job_load_hidden(j, layer, b->xs_base);
    if (status)
        return status;
    int code = mw_feed(j->device, &j->layout, buffer, &f->number[layer]);
    return code ? mw_job_failed(j, "feeding", code) : MW_EXIT_OK;
}

static size_t values_of(const struct job *j)
{
    return (size_t)j->w->tokens * j->w->shape.hidden;
}

/// Invert every bit of each buffer that a layer reads as hidden values or writes as output rows. So
/// no data of an earlier run can match this one's.
static int spoil(struct feeding *f)
{
    struct job *j = f->job;
    int status = MW_EXIT_OK;
    for (unsigned b = 0; b < j->layout.buffers && b < j->w->layers && !status; b++) {
        const unsigned width[] = {mw_job_dispatch_words(j), j->w->shape.hidden};
        const uint64_t base[] = {j->layout.buffer[b].xs_base, j->layout.buffer[b].out_base};
        for (unsigned k = 0; k < 2 && !status; k++) {
            if (k)
                memcpy(f->out, j->result->layer[b].out, values_of(j) * sizeof *f->out);
            else
                mw_job_pack_hidden(j, b, f->out);
            for (size_t i = 0; i < (size_t)j->w->tokens * width[k]; i++)
                f->out[i] = (uint16_t)~f->out[i];
            status = mw_job_load_words(j, base[k], f->out, width[k], "spoilt rows");
        }
    }
    return status;
}

/// Wait for a layer, read its output and compare it. A row that was never written holds that of
/// another layer, or what spoil() left there.
static int finish(struct feeding *f, unsigned layer)
{
    struct job *j = f->job;
    struct mw_fed fed;
    int status = mw_job_wait_fed(j, f->number[layer], "fed layer", &fed);
    if (status)
        return status;
    f->run->layer_cycles += fed.cycles;
    if (layer)
        f->run->idle_cycles += fed.start - (f->before.start + f->before.cycles);
    f->before = fed;
    const struct mw_feed_buffer *b = &j->layout.buffer[layer % j->layout.buffers];
    status = mw_job_read_rows(j, b->out_base, f->out, "output rows");
    for (size_t i = 0; i < values_of(j) && !status; i++)
        j->result->feeding.wrong += f->out[i] != j->result->layer[layer].out[i];
    return status;
}

/// `ahead` layers are under way while one is written: 0 or 1.
static int run(struct feeding *f, unsigned ahead)
{
    struct job *j = f->job;
    int status = spoil(f);
    uint64_t begin = mw_total_cycles(j->device);
    for (unsigned l = 0; l < j->w->layers + ahead && !status; l++) {
        if (!mw_job_goes_on(j, 1))
            return mw_job_interrupted(j);
        if (l > ahead)
            status = finish(f, l - ahead - 1);
        if (l < j->w->layers && !status)
            status = start(f, l);
    }
    if (!status)
        status = finish(f, j->w->layers - 1);
    f->run->device_cycles = mw_total_cycles(j->device) - begin;
    return status;
}

int mw_job_feed(struct job *j)
{
    struct mw_feeding *r = &j->result->feeding;
    struct mw_firmware firmware;
    struct feeding f = {.job = j,
                        .out = malloc(values_of(j) * sizeof *f.out),
                        .number = calloc(j->w->layers, sizeof *f.number)};
    int status = f.out && f.number ? MW_EXIT_OK : mw_fail_memory(j->err, "output rows");
    bool clocked = !mw_firmware_info(j->device, &firmware) && firmware.clock_hz;
    r->clock_hz = clocked ? firmware.clock_hz / firmware.cycle_clocks : CLOCK_HZ;
    for (unsigned ahead = 0; ahead < 2 && !status; ahead++) {
        f.run = ahead ? &r->fed : &r->apart;
        status = run(&f, ahead);
    }
    j->result->has_feeding = !status;
    free(f.out);
    free(f.number);
    return status;
}
