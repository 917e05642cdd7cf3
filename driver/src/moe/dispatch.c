// SPDX-License-Identifier: Apache-2.0
//
// One MoE layer in DeepEP's words: dispatch, combine, and both in one program.
//
// A call of a handle has exclusive use of the device while it moves data and waits in mw_combine
// (mw_device.combining). Between the phases no call has the device: a dispatch continues as a
// launched layer, and the next layer replaces it.
#include "api/wait.h"
#include "core/registers.h"
#include "core/state.h"
#include "core/struct_size.h"
#include "moe/gradients.h"
#include "moe/handle.h"
#include "moe/turn.h"

// ---- dispatch -----------------------------------------------------------------------------------

static int start_dispatch(struct mw_handle *h, const struct mwi_pause *pause)
{
    struct mw_device *d = h->object->device;
    int status = mwi_handle_start(h, MWI_DISPATCH, pause);
    if (status)
        return status;
    mwi_state_dispatches(d);
    h->begun = d->state.begun;
    h->layer = d->state.layer.number;
    h->outputs = false;
    for (unsigned e = 0; e < h->object->experts; e++)
        h->output[e] = false;
    return 0;
}

static int dispatch(struct mw_handle *h, const char *call, const struct mw_wait_options *options)
{
    struct mw_device *d = h->object->device;
    struct mw_wait_options o;
    int status = mwi_take_wait(&o, options);
    if (status)
        return status;
    mwi_lock(d);
    struct mwi_pause pause = mwi_pause_begin(d, call, &o, mwi_handle_tokens(h));
    if (mwi_is_open(d) && mwi_rows_held(h) && (d->state.layer.runs || !d->state.layer.code))
        status = mwi_fail(MW_ERR_STATE, "%s: its rows are %s: call mw_combine first", call,
                          d->state.layer.runs ? "arriving" : "received");
    if (!status)
        status = mwi_handle_begin(h, &pause);
    if (!status) {
        status = start_dispatch(h, &pause);
        mwi_handle_end(h);
    }
    return mwi_unlock(d, status);
}

int mw_dispatch_start(struct mw_handle *handle, const struct mw_wait_options *options)
{
    MWI_NEED(handle);
    return dispatch(handle, __func__, options);
}

/// The end of a call that has made a handle, or not.
static int dispatch_new(struct mw_handle **handle, const char *call, int status)
{
    if (!status)
        status = dispatch(*handle, call, NULL);
    if (status && handle) {
        mw_handle_destroy(*handle);
        *handle = NULL;
    }
    return status;
}

int mw_dispatch(struct mw_dymulticast *object, const struct mw_tokens *part,
                const uint16_t *coefficient, struct mw_handle **handle)
{
    return dispatch_new(handle, __func__, mw_handle_create(object, part, coefficient, handle));
}

int mw_dispatch_typed(struct mw_dymulticast *object, const struct mw_tokens *part,
                      const struct mw_typed_rows *rows, const uint16_t *coefficient,
                      struct mw_handle **handle)
{
    return dispatch_new(handle, __func__,
                        mw_handle_create_typed(object, part, rows, coefficient, handle));
}

int mw_dispatch_cached(struct mw_handle *forward, const uint16_t *const *x,
                       const uint16_t *coefficient, struct mw_handle **handle)
{
    return dispatch_new(handle, __func__, mw_handle_create_cached(forward, x, coefficient, handle));
}

int mw_dispatch_wait(struct mw_handle *handle, const struct mw_wait_options *options,
                     uint64_t *cycles)
{
    MWI_NEED(handle);
    struct mw_device *d = handle->object->device;
    struct mw_wait_options o;
    int status = mwi_take_wait(&o, options);
    if (status)
        return status;
    mwi_lock(d);
    status = mwi_check_handle(handle, __func__);
    if (!status)
        status = mwi_check_held(handle, __func__);
    if (!status)
        status = mwi_wait(d, &o, handle->layer, cycles);
    if (status == MW_ERR_DEVICE)
        handle->begun = 0;
    return mwi_unlock(d, status);
}

// ---- combine ------------------------------------------------------------------------------------

/// Read the output rows into rows of block_bytes.
static int read_out(const struct mw_handle *h, uint16_t *const *out, const struct mwi_pause *pause)
{
    const struct mw_dymulticast *m = h->object;
    const unsigned shift = h->layout.row_shift, gpus = m->device->info.gpus;
    struct mwi_image im = {0};
    uint8_t *data;
    int status = 0;
    for (unsigned g = 0; g < gpus && !status; g++)
        status = mwi_image_area(&im, g, h->layout.out_base, (size_t)h->tokens[g] << shift, &data);
    if (!status)
        status = mwi_move(m->device, false, im.list, im.count, pause);
    if (!status)
        mwi_image_take_rows(&im, gpus, m->block_bytes, shift, h->tokens, out);
    mwi_image_free(&im);
    return status;
}

static int check_out(const struct mw_handle *h, uint16_t *const *out)
{
    for (unsigned g = 0; g < h->object->device->info.gpus; g++)
        if (h->tokens[g] && !out[g])
            return mwi_fail(MW_ERR_INVALID, "GPU %u: out is NULL, it has %u tokens", g,
                            h->tokens[g]);
    return 0;
}

/// The layer that was just started: wait for it, and keep its result for this call. After the last
/// slice others have their turn, too: what the layer left may be gone.
static int finish(struct mw_device *d, const struct mwi_pause *pause, uint64_t *cycles)
{
    uint64_t own = 0;
    const int status = mwi_wait(d, pause->options, d->state.layer.number, &own);
    mwi_state_taken(d);
    *cycles += own;
    return status ? status : mwi_check_ended(d, pause);
}

/// Its rows come, where they are not there, and every result that the program has to write is.
static int bring_rows(struct mw_handle *h, const struct mwi_pause *pause, uint64_t *cycles)
{
    const struct mw_dymulticast *m = h->object;
    struct mw_device *d = m->device;
    int status = h->outputs ? mwi_check_held(h, pause->call) : 0;
    for (unsigned e = 0; e < m->experts && h->outputs && !status; e++)
        if (h->rows[e] && !h->output[e])
            status = mwi_fail(MW_ERR_STATE,
                              "%s: expert %u has received %u rows, and its results are missing: "
                              "call mw_expert_output for it",
                              pause->call, e, h->rows[e]);
    if (status)
        return status;
    if (!mwi_rows_held(h)) {
        status = start_dispatch(h, pause);
        return status ? status : finish(d, pause, cycles);
    }
    *cycles += d->state.layer.cycles;
    status = mwi_check_received(h, pause->call);
    h->begun = status ? 0 : h->begun;
    return status;
}

static int combine(struct mw_handle *h, const struct mwi_pause *pause, uint64_t *cycles)
{
    struct mw_device *d = h->object->device;
    int status = bring_rows(h, pause, cycles);
    if (!status)
        status = mwi_handle_start(h, h->outputs ? MWI_SUMS : MWI_EXPERTS, pause);
    return status ? status : finish(d, pause, cycles);
}

static int fused(struct mw_handle *h, const struct mwi_pause *pause, uint64_t *cycles)
{
    if (h->outputs)
        return mwi_fail(MW_ERR_STATE, "%s: mw_expert_output has written results", pause->call);
    int status = mwi_handle_start(h, MWI_FUSED, pause);
    return status ? status : finish(h->object->device, pause, cycles);
}

/// The device is this handle's until its output was read.
static int run(struct mw_handle *h, const char *call, uint16_t *const *out,
               const struct mw_wait_options *options, uint64_t *cycles,
               int (*layer)(struct mw_handle *h, const struct mwi_pause *pause, uint64_t *cycles))
{
    struct mw_device *d = h->object->device;
    struct mw_wait_options o;
    uint64_t took = 0;
    int status = mwi_take_wait(&o, options);
    if (!status)
        status = check_out(h, out);
    if (status)
        return status;
    mwi_lock(d);
    struct mwi_pause pause = mwi_pause_begin(d, call, &o, mwi_handle_tokens(h));
    status = mwi_handle_begin(h, &pause);
    if (!status) {
        status = layer(h, &pause, &took);
        if (cycles && (!status || status == MW_ERR_DEVICE))
            *cycles = took;
        if (!status)
            status = read_out(h, out, &pause);
        if (!status)
            status = mwi_gradients_read(h, &pause);
        mwi_handle_end(h);
    }
    return mwi_unlock(d, status);
}

int mw_combine(struct mw_handle *handle, uint16_t *const *out,
               const struct mw_wait_options *options, uint64_t *cycles)
{
    MWI_NEED(handle);
    MWI_NEED(out);
    return run(handle, __func__, out, options, cycles, combine);
}

int mw_layer_run(struct mw_handle *handle, uint16_t *const *out,
                 const struct mw_wait_options *options, uint64_t *cycles)
{
    MWI_NEED(handle);
    MWI_NEED(out);
    return run(handle, __func__, out, options, cycles, fused);
}
