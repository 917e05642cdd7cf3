// SPDX-License-Identifier: Apache-2.0
#include "core/moves.h"

#include "core/memory.h"
#include "core/state.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE_FLITS = 2048 }; ///< of each GPU: as many cycles as a slice of a wait

// ---- pauses -------------------------------------------------------------------------------------

struct mwi_pause mwi_pause_begin(const struct mw_device *d, const char *call,
                                 const struct mw_wait_options *options, uint64_t tokens_total)
{
    return (struct mwi_pause){call, options, tokens_total, d->state.canceled};
}

static int tell(void *context)
{
    const struct mwi_pause *p = context;
    return p->options->progress(p->options->progress_context, 0, p->tokens_total, 0);
}

int mwi_check_ended(const struct mw_device *d, const struct mwi_pause *p)
{
    int status = mwi_check_open(d, p->call);
    if (!status && d->state.canceled != p->canceled)
        status = mwi_fail(MW_ERR_CANCELED, "the layer was canceled");
    return status;
}

int mwi_pause(struct mw_device *d, const struct mwi_pause *p)
{
    struct mwi_pause own = *p;
    bool enough = own.options->stop && *own.options->stop;
    mwi_lock_yield(&d->lock);
    if (!enough && own.options->progress && mwi_is_open(d) && d->state.canceled == own.canceled)
        enough = mwi_lock_without(&d->lock, tell, &own) != 0;
    int status = mwi_check_ended(d, &own);
    if (!status && enough)
        status = mwi_fail(MW_ERR_CANCELED, "the layer was canceled");
    return status;
}

int mwi_turn_canceled(struct mw_device *d, const struct mwi_pause *p)
{
    struct mwi_pause own = *p;
    if ((own.options->stop && *own.options->stop) ||
        (own.options->progress && mwi_lock_without(&d->lock, tell, &own)))
        return mwi_fail(MW_ERR_CANCELED, "the layer was canceled before it began");
    return 0;
}

int mwi_wait_for_turn(struct mw_device *d, const struct mwi_pause *p)
{
    enum { NAP_MS = 10 };
    int status = 0;
    if (d->combining && mwi_is_open(d) && pthread_equal(d->combiner, pthread_self()))
        return mwi_fail(MW_ERR_STATE, "%s: called from inside another call of a handle", p->call);
    while (!status && d->combining && mwi_is_open(d)) {
        mwi_lock_nap(&d->lock, NAP_MS);
        status = mwi_turn_canceled(d, p);
    }
    return status;
}

// ---- moving -------------------------------------------------------------------------------------

/// The next piece of every GPU: from the front of `left`, in its order, what fits. Returns how many
/// transfers it is, 0: all was moved.
static size_t take_piece(const struct mw_device *d, struct mw_transfer *left, size_t count,
                         struct mw_transfer *piece)
{
    size_t room[MW_MAX_PORTS], n = 0;
    for (unsigned g = 0; g < d->info.gpus; g++)
        room[g] = (size_t)PIECE_FLITS * d->info.flit_bytes;
    for (size_t i = 0; i < count; i++) {
        struct mw_transfer *t = &left[i];
        const size_t bytes = t->bytes < room[t->gpu] ? t->bytes : room[t->gpu];
        if (!bytes)
            continue;
        piece[n++] = (struct mw_transfer){t->gpu, t->address, bytes, t->data};
        room[t->gpu] -= bytes;
        t->address += bytes;
        t->data = (char *)t->data + bytes;
        t->bytes -= bytes;
    }
    return n;
}

int mwi_move(struct mw_device *d, bool write, const struct mw_transfer *list, size_t count,
             const struct mwi_pause *pause)
{
    struct mw_transfer *left = calloc(2 * count + 1, sizeof *left);
    if (!left)
        return mwi_fail(MW_ERR_NOMEM, "no memory for %zu transfers", count);
    struct mw_transfer *piece = left + count;
    if (count)
        memcpy(left, list, count * sizeof *list);
    int status = 0;
    size_t n;
    for (bool first = true; !status && (n = take_piece(d, left, count, piece)); first = false) {
        if (!first)
            status = mwi_pause(d, pause);
        if (!status)
            status = write ? mwi_mem_write(d, piece, n) : mwi_mem_read(d, piece, n);
    }
    free(left);
    return status;
}
