// SPDX-License-Identifier: Apache-2.0
//
// A descriptor that becomes readable when a layer ends. A simulated device gets on only while it is
// called, and none says by itself that it is done: a thread looks at it as long as a layer runs, from
// the first call of mw_event_fd on.
#include "notify.h"

#include <stdlib.h>
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

static struct mwi_notify *start(struct mw_device *d)
{
    struct mwi_notify *n = malloc(sizeof *n);
    if (!n)
        return NULL;
    n->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    d->notify = n;
    if (n->fd >= 0 && pthread_create(&n->thread, NULL, watch, d) == 0)
        return n;
    d->notify = NULL;
    if (n->fd >= 0)
        close(n->fd);
    free(n);
    return NULL;
}

int mw_event_fd(struct mw_device *device)
{
    MWI_NEED(device);
    mwi_lock(device);
    int status = mwi_check_well(device, __func__);
    if (!status && !device->notify && !start(device))
        status = mwi_fail(MW_ERR_NOMEM, "%s: no descriptor or thread", __func__);
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
