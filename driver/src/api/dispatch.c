// SPDX-License-Identifier: Apache-2.0
//
// One MoE layer in DeepEP's words: the four streams of the DySHARP system (docs/design/systems.md): row counts,
// dispatch, experts, combine.
//
// A handle keeps an image of its layer. The device has room for one: that of the handle whose layer
// begins is written unless it is the one that is there, and from then until its output has been read no
// other handle has the device.
#include "api/dymulticast.h"
#include "api/layer.h"
#include "api/memory_image.h"
#include "api/wait.h"
#include "core/registers.h"
#include "core/state.h"
#include "core/struct_size.h"
#include "core/tables.h"

#include <stdlib.h>
#include <string.h>

struct mw_handle {
    struct mw_dymulticast *object;
    uint64_t number; ///< as in mw_device.loaded
    struct mw_layer_config config;
    struct mw_layout layout;
    unsigned tokens[MW_MAX_PORTS];
    struct mwi_image image;
};

// ---- checks ---------------------------------------------------------------------------------------

/// Check the lists of one GPU and count the rows of every expert.
static int check_lists(const struct mw_dymulticast *m, unsigned gpu, const struct mw_tokens *p,
                       unsigned *rows)
{
    unsigned k = m->k;
    if (p->tokens && (!p->x || !p->topk_idx || !p->topk_weights))
        return mwi_fail(MW_ERR_INVALID, "GPU %u: %u tokens without x, topk_idx or topk_weights",
                        gpu, p->tokens);
    for (unsigned t = 0; t < p->tokens; t++) {
        const int16_t *list = &p->topk_idx[(size_t)t * k];
        for (unsigned j = 0; j < k; j++) {
            if (list[j] < -1 || list[j] >= (int)m->experts)
                return mwi_fail(MW_ERR_INVALID, "GPU %u, token %u, place %u: expert %d of %u", gpu,
                                t, j, list[j], m->experts);
            for (unsigned i = 0; i < j && list[j] >= 0; i++)
                if (list[i] == list[j])
                    return mwi_fail(MW_ERR_INVALID, "GPU %u, token %u: expert %d twice", gpu, t,
                                    list[j]);
            if (list[j] >= 0)
                rows[list[j]]++;
        }
    }
    return 0;
}

static int check_parts(const struct mw_handle *h, const struct mw_tokens *part)
{
    const struct mw_dymulticast *m = h->object;
    unsigned *rows = calloc(m->experts, sizeof *rows);
    if (!rows)
        return mwi_fail(MW_ERR_NOMEM, "no memory for row counts");
    int status = 0;
    for (unsigned g = 0; g < m->device->info.gpus && !status; g++) {
        if (part[g].tokens > h->config.tokens_per_gpu)
            status = mwi_fail(MW_ERR_CAPACITY, "GPU %u: %u tokens, bound are %u", g, part[g].tokens,
                              h->config.tokens_per_gpu);
        else
            status = check_lists(m, g, &part[g], rows);
    }
    for (unsigned e = 0; e < m->experts && !status; e++)
        if (rows[e] > h->config.rows_per_expert)
            status = mwi_fail(MW_ERR_CAPACITY,
                              "expert %u of GPU %u gets %u rows, its region holds %u: bind with "
                              "rows_per_expert %u or more",
                              e, m->places[e].gpu, rows[e], h->config.rows_per_expert, rows[e]);
    free(rows);
    return status;
}

// ---- image ----------------------------------------------------------------------------------------

static void make_streams(void *context, unsigned gpu, struct mw_stream *s)
{
    const struct mw_handle *h = context;
    const uint32_t tokens = h->tokens[gpu];
    mw_stream_count(&s[0], 0, tokens, false);
    mw_stream_dymultimem_st(&s[1], 0, tokens);
    mw_stream_expert(&s[2], 0);
    mw_stream_dymultimem_ld_reduce(&s[3], 0, tokens, true);
}

/// By GPU and index there, from `coefficient` by expert.
static int add_coefficients(struct mw_handle *h, const uint16_t *coefficient)
{
    const struct mw_dymulticast *m = h->object;
    unsigned gpus = m->device->info.gpus;
    uint16_t *sorted = calloc((size_t)gpus * m->experts_per_gpu, sizeof *sorted);
    if (!sorted)
        return mwi_fail(MW_ERR_NOMEM, "no memory for coefficients");
    for (unsigned e = 0; e < m->experts; e++) {
        const struct mw_expert_place *p = &m->places[e];
        sorted[(size_t)p->gpu * m->experts_per_gpu + p->local_expert] = coefficient[e];
    }
    int status =
        mwi_image_coefficients(&h->image, h->layout.ce_base, gpus, m->experts_per_gpu, sorted);
    free(sorted);
    return status;
}

static int make_image(struct mw_handle *h, const struct mw_tokens *part,
                      const uint16_t *coefficient)
{
    const struct mw_dymulticast *m = h->object;
    const struct mw_layout *l = &h->layout;
    unsigned gpus = m->device->info.gpus;
    int status = mwi_image_routing(&h->image, l->rt_base, gpus, m->k, part);
    if (!status)
        status = mwi_image_rows(&h->image, l->xs_base, gpus, m->block_bytes, l->row_shift, part);
    if (!status)
        status = add_coefficients(h, coefficient);
    return status ? status
                  : mwi_image_made_streams(&h->image, l, &m->device->info, MW_STREAMS, make_streams,
                                           h);
}

/// Write what the layer needs, unless it is there.
static int load(struct mw_handle *h, const struct mwi_pause *pause)
{
    struct mw_device *d = h->object->device;
    int status = mwi_map_load(d, h->object->places, h->object->experts);
    if (status || d->loaded == h->number)
        return status;
    d->loaded = 0;
    status = mwi_move(d, true, h->image.list, h->image.count, pause);
    if (!status)
        d->loaded = h->number;
    return status;
}

// ---- dispatch -------------------------------------------------------------------------------------

/// A new handle, which holds the object; its image is empty.
static int begin(struct mw_dymulticast *m, const char *call, struct mw_handle **handle)
{
    struct mw_device *d = m->device;
    struct mw_handle *h = calloc(1, sizeof *h);
    if (!h)
        return mwi_fail(MW_ERR_NOMEM, "no memory for a handle");
    mwi_lock(d);
    int status = mwi_check_well(d, call);
    if (!status && (m->destroyed || !m->bound))
        status = mwi_fail(MW_ERR_STATE, "%s: the object %s", call,
                          m->destroyed ? "was destroyed" : "is not bound");
    if (status) {
        free(h);
        return mwi_unlock(d, status);
    }
    *h = (struct mw_handle){
        .object = m, .number = ++d->handles, .config = m->config, .layout = m->layout};
    m->holders++;
    *handle = h;
    return mwi_unlock(d, 0);
}

int mw_dispatch(struct mw_dymulticast *object, const struct mw_tokens *part,
                const uint16_t *coefficient, struct mw_handle **handle)
{
    MWI_NEED(handle);
    *handle = NULL;
    MWI_NEED(object);
    MWI_NEED(part);
    MWI_NEED(coefficient);
    struct mw_handle *h = NULL;
    int status = begin(object, __func__, &h);
    if (status)
        return status;
    for (unsigned g = 0; g < object->device->info.gpus; g++)
        h->tokens[g] = part[g].tokens;
    status = check_parts(h, part);
    if (!status)
        status = make_image(h, part, coefficient);
    if (status) {
        mw_handle_destroy(h);
        return status;
    }
    *handle = h;
    return 0;
}

/// The device is open, and the handle's object still there.
static int check_handle(const struct mw_handle *h, const char *call)
{
    int status = mwi_check_open(h->object->device, call);
    if (!status && h->object->destroyed)
        status = mwi_fail(MW_ERR_STATE, "%s: its object was destroyed", call);
    return status;
}

int mw_handle_set(struct mw_handle *handle, const char *name, uint64_t value)
{
    MWI_NEED(handle);
    struct mw_device *d = handle->object->device;
    mwi_lock(d);
    struct mw_layer_config c = handle->config;
    int status = check_handle(handle, __func__);
    if (!status)
        status = mw_layer_set(&c, name, value);
    if (!status)
        status = mwi_check_config(d, &c);
    if (!status)
        handle->config = c;
    return mwi_unlock(d, status);
}

// ---- combine --------------------------------------------------------------------------------------

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

static uint64_t count_tokens(const struct mw_handle *h)
{
    uint64_t tokens = 0;
    for (unsigned g = 0; g < h->object->device->info.gpus; g++)
        tokens += h->tokens[g];
    return tokens;
}

/// The device is this handle's until its output was read.
static int run(struct mw_handle *h, uint16_t *const *out, const struct mw_wait_options *options,
               uint64_t *cycles)
{
    const struct mw_dymulticast *m = h->object;
    struct mw_device *d = m->device;
    const struct mwi_pause pause = mwi_pause_begin(d, options, count_tokens(h));
    int status = load(h, &pause);
    if (!status)
        status =
            mwi_configure(d, &h->config, &h->layout, h->tokens, m->own, (1u << MW_STREAMS) - 1);
    if (!status)
        status = mwi_launch(d, &pause);
    if (status)
        return status;
    mwi_state_unconfigured(d); // mw_launch does not start it again
    uint64_t number = d->state.layer.number;
    status = mwi_wait(d, options, number, cycles);
    mwi_state_taken(d);
    return status ? status : read_out(h, out, &pause);
}

int mw_combine(struct mw_handle *handle, uint16_t *const *out,
               const struct mw_wait_options *options, uint64_t *cycles)
{
    MWI_NEED(handle);
    MWI_NEED(out);
    struct mw_dymulticast *m = handle->object;
    struct mw_device *d = m->device;
    struct mw_wait_options o;
    int status = mwi_take_wait(&o, options);
    if (!status)
        status = check_out(handle, out);
    if (status)
        return status;
    mwi_lock(d);
    const struct mwi_pause turn = mwi_pause_begin(d, &o, count_tokens(handle));
    status = mwi_wait_for_turn(d, &turn);
    if (!status)
        status = check_handle(handle, __func__);
    if (!status)
        status = mwi_check_idle(d, __func__);
    if (!status) {
        d->combining = true;
        d->combiner = pthread_self();
        status = run(handle, out, &o, cycles);
        d->combining = false;
        mwi_lock_wake(&d->lock);
    }
    return mwi_unlock(d, status);
}

void mw_handle_destroy(struct mw_handle *handle)
{
    if (!handle)
        return;
    mwi_lock(handle->object->device);
    struct mw_dymulticast *m = handle->object;
    mwi_image_free(&handle->image);
    free(handle);
    mwi_dymulticast_put(m);
}
