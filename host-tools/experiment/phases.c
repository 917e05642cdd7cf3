// SPDX-License-Identifier: Apache-2.0
//
// See phases.h.
#include "experiment/phases.h"

#include "device/device.h"

#include "isa.h"

static bool is_expert(const struct mw_watch_event *e)
{
    const bool issued = e->stream.state == MW_STREAM_UNIT || e->stream.state == MW_STREAM_RUN;
    return issued && (e->stream.op == MW_I_EXPERT || e->stream.op == MW_I_EXPERT_ROWS);
}

void mw_phases_take(void *phases, const struct mw_watch_event *e)
{
    struct mw_phases *p = phases;
    if (p->timeline)
        mw_timeline_take(p->timeline, e);
    if (e->kind != MW_WATCH_STREAM)
        return;
    const unsigned g = e->place;
    bool *runs = &p->runs[g][e->stream.number];
    if (is_expert(e) && !p->begun[g]) {
        p->begun[g] = true;
        p->begin[g] = e->cycle;
    }
    if (*runs && !is_expert(e))
        p->end[g] = e->cycle;
    *runs = is_expert(e);
}

int mw_phases_start(struct mw_phases *p, struct mw_device *device, unsigned gpus,
                    struct mw_timeline *timeline, struct mw_error *err)
{
    *p = (struct mw_phases){.timeline = timeline};
    int code = mw_watch(device, mw_phases_take, p);
    if (code == MW_ERR_CAPACITY)
        return MW_EXIT_OK;
    p->gpus = gpus;
    return code ? mw_device_failed(err, "phases", code) : MW_EXIT_OK;
}

void mw_phases_of(const struct mw_phases *p, uint64_t cycles, struct mw_phase_cycles *result)
{
    uint64_t begin = 0, end = 0;
    *result = (struct mw_phase_cycles){.known = p->gpus};
    for (unsigned g = 0; g < p->gpus; g++) {
        result->known &= p->begun[g] && p->end[g] > p->begin[g];
        begin = p->begin[g] > begin ? p->begin[g] : begin;
        end = p->end[g] > end ? p->end[g] : end;
    }
    result->known &= end <= cycles;
    if (!result->known)
        return;
    result->dispatch = begin;
    result->expert = end - begin;
    result->combine = cycles - end;
}

int mw_phases_stop(const struct mw_phases *p, struct mw_device *device, uint64_t cycles,
                   struct mw_phase_cycles *result, struct mw_error *err)
{
    mw_phases_of(p, cycles, result);
    int code = p->gpus ? mw_watch(device, NULL, NULL) : 0;
    return code ? mw_device_failed(err, "phases", code) : MW_EXIT_OK;
}
