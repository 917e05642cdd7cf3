// SPDX-License-Identifier: Apache-2.0
//
// The whole Verilated device (sim/mw_device.h) instead of the link, the firmware and the fabric of
// this folder. Its own host link takes the bytes of bulk transfers and returns those of replies.
// Endpoint 0 is that of standard.c, because the model does not contain the USB core.
//
// Its time passes at the highest rate while bytes move, and slowly after a long pause.
#include "requests.h"

#include "load.h"
#include "mw_device.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    OUT_BYTES = 1 << 17,  ///< that wait for the endpoint before it answers NAK
    SLICE = 1000,         ///< cycles between two checks of the connection
    QUIET_CYCLES = 20000, ///< without a byte, after which its time passes slowly
};

struct mwd_whole {
    void *library;
    const struct mw_device_ops *ops;
    struct mw_device_model *model;
    uint64_t quiet; ///< cycles
};

static void whole_reset(struct mwd_device *d)
{
    d->whole->ops->link_reset(d->whole->model);
    d->zero_packet = false;
    d->whole->quiet = 0;
}

static bool whole_out(struct mwd_device *d, const uint8_t *data, size_t bytes)
{
    struct mwd_whole *w = d->whole;
    if (w->ops->pending(w->model) > OUT_BYTES)
        return false;
    w->ops->out(w->model, data, bytes);
    w->quiet = 0;
    return true;
}

static int whole_in(struct mwd_device *d, uint8_t *data, size_t room)
{
    struct mwd_whole *w = d->whole;
    bool last;
    if (d->zero_packet) {
        d->zero_packet = false;
        return 0;
    }
    size_t bytes = w->ops->in(w->model, data, room, &last);
    if (!bytes)
        return MWD_NAK;
    // a transfer that exactly filled the room was not ended by a short packet
    d->zero_packet = last && bytes == room;
    w->quiet = 0;
    return (int)bytes;
}

static bool whole_work(struct mwd_device *d)
{
    struct mwd_whole *w = d->whole;
    size_t pending = w->ops->pending(w->model);
    w->quiet += w->ops->run(w->model, SLICE);
    if (w->ops->pending(w->model) != pending)
        w->quiet = 0;
    return w->quiet < QUIET_CYCLES;
}

static void whole_destroy(struct mwd_device *d)
{
    struct mwd_whole *w = d->whole;
    if (w->model)
        w->ops->destroy(w->model);
    if (w->library)
        dlclose(w->library);
    free(w);
}

static const struct mwd_port PORT = {whole_reset, whole_out, whole_in, whole_work, whole_destroy};

static bool load(struct mwd_whole *w, const char *path)
{
    mw_device_get_ops_fn get_ops;
    if (!mwd_load(path, MWI_DEVICE, &w->library, &get_ops, sizeof get_ops))
        return false;
    w->ops = get_ops();
    if (w->ops->abi == MW_DEVICE_ABI && (w->model = w->ops->create()))
        return true;
    fprintf(stderr, "%s: the model cannot be made\n", path);
    return false;
}

struct mwd_device *mwd_create_whole(const char *model, const struct mwd_settings *settings)
{
    struct mwd_device *d = mwd_create(&(struct mwd_backend){.name = "moeswitch"}, settings);
    struct mwd_whole *w = calloc(1, sizeof *w);
    if (d && w) {
        d->whole = w;
        w->quiet = QUIET_CYCLES;
        d->port = &PORT;
        if (load(w, model))
            return d;
    }
    if (!d || !d->whole)
        free(w);
    mwd_destroy(d);
    return NULL;
}
