// SPDX-License-Identifier: Apache-2.0
#include "moe/turn.h"

#include "api/wait.h"
#include "core/state.h"

/// Until the dispatch of another handle is done. The options of this call do not cancel it.
static int others_step(struct mw_device *d, void *context, uint64_t cycles, bool *done)
{
    int status = mwi_turn_canceled(d, context);
    *done = !mwi_is_open(d) || !mwi_state_dispatch_runs(d);
    return status || *done || !cycles ? status : mwi_look(d);
}

static int wait_for_dispatch(struct mw_handle *h, const struct mwi_pause *pause)
{
    struct mw_device *d = h->object->device;
    struct mw_wait_options none = *pause->options;
    struct mwi_pause own = *pause;
    none.stop = NULL;
    none.progress = NULL;
    if (!mwi_rows_held(h))
        return mwi_run_to_done(d, &none, others_step, &own);
    const int status = mwi_wait(d, pause->options, h->layer, NULL);
    h->begun = status == MW_ERR_DEVICE ? 0 : h->begun;
    // when it ended another layer may have begun, which took the rows: they come once more
    return status == MW_ERR_STATE && !mwi_rows_held(h) ? 0 : status;
}

int mwi_handle_begin(struct mw_handle *h, struct mwi_pause *pause)
{
    struct mw_device *d = h->object->device;
    int status;
    for (;;) {
        status = mwi_wait_for_turn(d, pause);
        if (!status)
            status = mwi_check_handle(h, pause->call);
        if (status || !mwi_state_dispatch_runs(d))
            break;
        if ((status = wait_for_dispatch(h, pause)))
            break;
    }
    if (!status)
        status = mwi_check_idle(d, pause->call);
    if (!status) {
        pause->canceled = d->state.canceled; // what ended another call is none of this one's
        d->combining = true;
        d->combiner = pthread_self();
    }
    return status;
}

void mwi_handle_end(struct mw_handle *h)
{
    struct mw_device *d = h->object->device;
    d->combining = false;
    mwi_lock_wake(&d->lock);
}
