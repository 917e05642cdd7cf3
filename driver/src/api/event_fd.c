// SPDX-License-Identifier: Apache-2.0
//
// A descriptor that becomes readable when a layer ends. A simulated device advances only while it
// is called, and no device notifies the host of its own accord. So from the first call of
// mw_event_fd on, a thread polls the device while a layer runs.
#include "api/event_fd.h"

#include "api/wait.h"
#include "core/notify.h"
#include "core/registers.h"
#include "core/state.h"
#include "core/thread.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static void *watch(void *context)
{
    struct mw_device *d = context;
    mwi_lock(d);
    while (!d->state.closed) {
        if (d->state.now != MW_STATE_RUNNING) {
            mwi_lock_sleep(&d->lock);
        } else if (mwi_look(d)) {
            mwi_notify(d); // mw_wait or mw_query meets the same failure and tells it
            mwi_lock_sleep(&d->lock);
        } else {
            mwi_lock_yield(&d->lock);
        }
    }
    mwi_unlock(d, 0);
    return NULL;
}

static int start(struct mw_device *d, const char *call)
{
    struct mwi_notify *n = malloc(sizeof *n);
    int error = n ? 0 : ENOMEM;
    const char *what = "descriptor";
    if (n && (n->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) < 0)
        error = errno;
    if (!error) {
        what = "thread";
        d->notify = n;
        error = mwi_thread_start(&n->thread, watch, d);
        if (!error)
            return 0;
        d->notify = NULL;
        close(n->fd);
    }
    free(n);
    return mwi_fail(MW_ERR_NOMEM, "%s: no %s: %s", call, what, strerror(error));
}

int mw_event_fd(struct mw_device *device)
{
    MWI_NEED(device);
    mwi_lock(device);
    int status = mwi_check_well(device, __func__);
    if (!status && !device->notify)
        status = start(device, __func__);
    return mwi_unlock(device, status ? status : device->notify->fd);
}

void mwi_notify_stop(struct mw_device *d)
{
    struct mwi_notify *n = d->notify;
    if (!n)
        return;
    if (!mwi_inherited(d))
        pthread_join(n->thread, NULL);
    d->notify = NULL;
    close(n->fd);
    free(n);
}
