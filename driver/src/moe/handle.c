// SPDX-License-Identifier: Apache-2.0
//
// Handles, and the programs of their layers (docs/design/systems.md): `dysharp` as one program, and
// `dysharp-basic` cut in two after its dispatch.
//
// A handle keeps an image of its layer. The device has room for one: that of the handle whose layer
// begins is written unless it is there. The second phase runs in the epoch of the first, so that
// allocation tables and row trackers still hold its rows. If the object keeps handles, it also uses
// the counts of the first phase, as a cached layer does, and they stay. Otherwise it counts none.
#include "moe/handle.h"

#include "api/layer.h"
#include "core/registers.h"
#include "core/state.h"
#include "core/tables.h"
#include "moe/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- checks -------------------------------------------------------------------------------------

static int check_entry(const struct mw_dymulticast *m, unsigned gpu, unsigned token,
                       const int16_t *list, const float *weights, unsigned j)
{
    if (list[j] < -1 || list[j] >= (int)m->experts)
        return mwi_fail(MW_ERR_INVALID, "GPU %u, token %u, place %u: expert %d of %u", gpu, token,
                        j, list[j], m->experts);
    for (unsigned i = 0; i < j && list[j] >= 0; i++)
        if (list[i] == list[j])
            return mwi_fail(MW_ERR_INVALID, "GPU %u, token %u: expert %d twice", gpu, token,
                            list[j]);
    if (list[j] >= 0 && !isfinite(weights[j]))
        return mwi_fail(MW_ERR_INVALID,
                        "GPU %u, token %u, place %u: the weight of expert %d is %g: expected a "
                        "finite number",
                        gpu, token, j, list[j], (double)weights[j]);
    return 0;
}

/// Check the lists of one GPU and count the rows of every expert.
static int check_lists(const struct mw_dymulticast *m, unsigned gpu, const struct mw_tokens *p,
                       unsigned *rows)
{
    unsigned k = m->k;
    int status = 0;
    const bool other = m->dispatch_type != MW_ROWTYPE_BF16; // its rows are no part of `p`
    if (p->tokens && ((!p->x && !other) || !p->topk_idx || !p->topk_weights))
        return mwi_fail(MW_ERR_INVALID, "GPU %u: %u tokens without %stopk_idx or topk_weights", gpu,
                        p->tokens, other ? "" : "x, ");
    for (unsigned t = 0; t < p->tokens; t++) {
        const int16_t *list = &p->topk_idx[(size_t)t * k];
        for (unsigned j = 0; j < k && !status; j++) {
            status = check_entry(m, gpu, t, list, &p->topk_weights[(size_t)t * k], j);
            if (!status && list[j] >= 0)
                rows[list[j]]++;
        }
    }
    return status;
}

static int check_parts(const struct mw_handle *h, const struct mw_tokens *part)
{
    const struct mw_dymulticast *m = h->object;
    int status = 0;
    for (unsigned g = 0; g < m->device->info.gpus && !status; g++) {
        if (part[g].tokens > h->config.tokens_per_gpu)
            status = mwi_fail(MW_ERR_CAPACITY, "GPU %u: %u tokens, bound are %u", g, part[g].tokens,
                              h->config.tokens_per_gpu);
        else
            status = check_lists(m, g, &part[g], h->rows);
    }
    for (unsigned e = 0; e < m->experts && !status; e++)
        if (h->rows[e] > h->config.rows_per_expert)
            status =
                mwi_fail(MW_ERR_CAPACITY,
                         "expert %u of GPU %u gets %u rows, its region holds %u: bind with "
                         "rows_per_expert %u or more",
                         e, m->places[e].gpu, h->rows[e], h->config.rows_per_expert, h->rows[e]);
    return status;
}

int mwi_check_handle(const struct mw_handle *h, const char *call)
{
    int status = mwi_check_open(h->object->device, call);
    if (!status && h->object->destroyed)
        status = mwi_fail(MW_ERR_STATE, "%s: its object was destroyed", call);
    return status;
}

bool mwi_rows_held(const struct mw_handle *h)
{
    const struct mwi_state *s = &h->object->device->state;
    return h->begun && h->begun == s->begun && s->now != MW_STATE_UNKNOWN;
}

int mwi_check_held(const struct mw_handle *h, const char *call)
{
    int status = mwi_check_well(h->object->device, call);
    if (!status && !mwi_rows_held(h))
        status =
            mwi_fail(MW_ERR_STATE,
                     "%s: the device does not have the rows of this handle, or no longer: call "
                     "mw_dispatch_start",
                     call);
    return status;
}

int mwi_check_received(const struct mw_handle *h, const char *call)
{
    const struct mwi_state *s = &h->object->device->state;
    int status = mwi_check_held(h, call);
    if (!status && s->layer.runs)
        status = mwi_fail(MW_ERR_STATE, "%s: the rows are arriving: call mw_dispatch_wait", call);
    if (!status && s->layer.code)
        status = mwi_fail(s->layer.code, "%s", s->layer.message);
    return status;
}

// ---- image --------------------------------------------------------------------------------------

struct making {
    const struct mw_handle *handle;
    enum mwi_program program;
};

static unsigned streams_of(enum mwi_program program)
{
    return program == MWI_FUSED ? MW_STREAMS : program == MWI_DISPATCH ? 2 : 1;
}

static bool makes_gradients(const struct mw_handle *h)
{
    return h->config.gate_gradients && h->config.handle == MW_HANDLE_CACHED;
}

static void add_experts(const struct mw_handle *h, struct mw_stream *s, unsigned flags)
{
    mw_stream_expert(s, flags);
    if (makes_gradients(h))
        mw_stream_expert_gradients(s);
}

static void make_streams(void *context, unsigned gpu, struct mw_stream *s)
{
    enum { NO_SIGNALS = 1 }; // of the instruction `expert`
    const struct making *m = context;
    const struct mw_handle *h = m->handle;
    const uint32_t tokens = h->tokens[gpu];
    const unsigned gpus = h->object->device->info.gpus;
    const bool counts = h->config.handle != MW_HANDLE_CACHED;
    switch (m->program) {
    case MWI_FUSED:
        if (counts)
            mw_stream_count(&s[0], 0, tokens, false);
        mw_stream_dymultimem_st(&s[1], 0, tokens);
        add_experts(h, &s[2], 0);
        mw_stream_dymultimem_ld_reduce(&s[3], 0, tokens, true);
        return;
    case MWI_DISPATCH:
        if (counts)
            mw_stream_count(&s[0], 0, tokens, false);
        mw_stream_wait(&s[0], MW_EV_ROWS_DONE, 1);
        mw_stream_dymultimem_st(&s[1], 0, tokens);
        return;
    case MWI_EXPERTS:
        // The numbers of rows are still there. Counts of none report that they are complete.
        if (h->config.handle == MW_HANDLE_NONE)
            mw_stream_count(&s[0], 0, 0, false);
        add_experts(h, &s[0], NO_SIGNALS);
        mw_stream_signal(&s[0], MW_EV_SW0);
        mw_stream_wait(&s[0], MW_EV_SW0, gpus - 1);
        // fall through
    default:
        mw_stream_dymultimem_ld_reduce(&s[0], 0, tokens, false);
    }
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
        mwi_image_coefficients(&h->data, h->layout.ce_base, gpus, m->experts_per_gpu, sorted);
    free(sorted);
    return status;
}

static int make_programs(struct mw_handle *h)
{
    int status = 0;
    for (enum mwi_program p = MWI_FUSED; p < MWI_PROGRAMS && !status; p++)
        status = mwi_image_made_streams(&h->program[p], &h->layout, &h->object->device->info,
                                        streams_of(p), make_streams, &(struct making){h, p});
    return status;
}

static int make_images(struct mw_handle *h, const struct mw_tokens *part,
                       const struct mw_typed_rows *rows, const uint16_t *coefficient)
{
    const struct mw_dymulticast *m = h->object;
    const struct mw_layout *l = &h->layout;
    unsigned gpus = m->device->info.gpus;
    int status = mwi_image_routing(&h->data, l->rt_base, gpus, m->k, part);
    if (!status && rows)
        status = mwi_rows_image(&h->data, m, l, h->tokens, rows);
    else if (!status)
        status = mwi_image_rows(&h->data, l->xs_base, gpus, m->block_bytes, l->row_shift, part);
    if (!status)
        status = add_coefficients(h, coefficient);
    return status ? status : make_programs(h);
}

/// The image of another handle with other rows, in bf16, and other coefficients unless NULL.
static int make_cached_images(struct mw_handle *h, const struct mw_handle *of,
                              const uint16_t *const *x, const uint16_t *coefficient)
{
    const unsigned gpus = h->object->device->info.gpus, shift = h->layout.row_shift;
    const size_t bytes = h->object->block_bytes, coefficients = 2 * (size_t)gpus;
    const struct mwi_image kept = {of->data.list, coefficient ? coefficients : of->data.count, 0,
                                   0};
    int status = mwi_image_copy(&h->data, &kept);
    for (unsigned g = 0; g < gpus && !status; g++) { // after the routing tables
        const struct mw_transfer *rows = &h->data.list[gpus + g];
        memset(rows->data, 0, rows->bytes);
        for (size_t t = 0; t < h->tokens[g]; t++)
            memcpy((uint8_t *)rows->data + (t << shift), (const uint8_t *)x[g] + t * bytes, bytes);
    }
    if (!status && coefficient)
        status = add_coefficients(h, coefficient);
    return status ? status : make_programs(h);
}

// ---- making -------------------------------------------------------------------------------------

static void free_handle(struct mw_handle *h)
{
    mwi_image_free(&h->data);
    for (unsigned p = 0; p < MWI_PROGRAMS; p++)
        mwi_image_free(&h->program[p]);
    free(h->rows);
    free(h->output);
    free(h->dw);
    free(h);
}

/// A new handle, which holds the object. Its images are empty.
static int begin(struct mw_dymulticast *m, const char *call, struct mw_handle **handle)
{
    struct mw_device *d = m->device;
    struct mw_handle *h = calloc(1, sizeof *h);
    if (h) {
        h->rows = calloc(m->experts, sizeof *h->rows);
        h->output = calloc(m->experts, sizeof *h->output);
    }
    if (!h || !h->rows || !h->output) {
        if (h)
            free_handle(h);
        return mwi_fail(MW_ERR_NOMEM, "no memory for a handle");
    }
    mwi_lock(d);
    int status = mwi_check_well(d, call);
    if (!status && (m->destroyed || !m->bound))
        status = mwi_fail(MW_ERR_STATE, "%s: the object %s", call,
                          m->destroyed ? "was destroyed" : "is not bound");
    if (status) {
        free_handle(h);
        return mwi_unlock(d, status);
    }
    h->object = m;
    h->number = h->routes = ++d->handles;
    h->config = m->config;
    h->layout = m->layout;
    m->holders++;
    *handle = h;
    return mwi_unlock(d, 0);
}

/// `rows` is NULL where they are bf16, which `part` has.
static int create(struct mw_dymulticast *object, const char *call, const struct mw_tokens *part,
                  const struct mw_typed_rows *rows, const uint16_t *coefficient,
                  struct mw_handle **handle)
{
    struct mw_handle *h = NULL;
    int status = begin(object, call, &h);
    if (status)
        return status;
    for (unsigned g = 0; g < object->device->info.gpus; g++)
        h->tokens[g] = part[g].tokens;
    status = check_parts(h, part);
    if (!status)
        status = mwi_check_rows(object, h->tokens, call, rows);
    if (!status)
        status = make_images(h, part, rows, coefficient);
    if (status) {
        mw_handle_destroy(h);
        return status;
    }
    *handle = h;
    return 0;
}

int mw_handle_create(struct mw_dymulticast *object, const struct mw_tokens *part,
                     const uint16_t *coefficient, struct mw_handle **handle)
{
    MWI_NEED(handle);
    *handle = NULL;
    MWI_NEED(object);
    MWI_NEED(part);
    MWI_NEED(coefficient);
    return create(object, __func__, part, NULL, coefficient, handle);
}

int mw_handle_create_typed(struct mw_dymulticast *object, const struct mw_tokens *part,
                           const struct mw_typed_rows *rows, const uint16_t *coefficient,
                           struct mw_handle **handle)
{
    MWI_NEED(handle);
    *handle = NULL;
    MWI_NEED(object);
    MWI_NEED(part);
    MWI_NEED(rows);
    MWI_NEED(coefficient);
    return create(object, __func__, part, rows, coefficient, handle);
}

/// Take the routes of another handle, under the lock.
static int take_routes(struct mw_handle *h, const struct mw_handle *of, const char *call)
{
    const struct mw_device_info *info = &h->object->device->info;
    if (of->config.handle == MW_HANDLE_NONE)
        return mwi_fail(MW_ERR_INVALID,
                        "%s: the object of this handle keeps none: set cached_handles in "
                        "mw_dymulticast_prop",
                        call);
    h->routes = of->routes;
    h->config = of->config;
    h->config.handle = MW_HANDLE_CACHED;
    h->config.dispatch_type = MW_ROWTYPE_BF16;
    h->layout = of->layout;
    memcpy(h->tokens, of->tokens, info->gpus * sizeof *h->tokens);
    memcpy(h->rows, of->rows, h->object->experts * sizeof *h->rows);
    if (!makes_gradients(h))
        return 0;
    h->dw = calloc(mwi_handle_tokens(h) * h->object->k + 1, sizeof *h->dw);
    return h->dw ? 0 : mwi_fail(MW_ERR_NOMEM, "no memory for gradients");
}

int mw_handle_create_cached(struct mw_handle *forward, const uint16_t *const *x,
                            const uint16_t *coefficient, struct mw_handle **handle)
{
    MWI_NEED(handle);
    *handle = NULL;
    MWI_NEED(forward);
    MWI_NEED(x);
    struct mw_dymulticast *m = forward->object;
    for (unsigned g = 0; g < m->device->info.gpus; g++)
        if (forward->tokens[g] && !x[g])
            return mwi_fail(MW_ERR_INVALID, "GPU %u: %u tokens without x", g, forward->tokens[g]);
    struct mw_handle *h = NULL;
    int status = begin(m, __func__, &h);
    if (status)
        return status;
    mwi_lock(m->device);
    status = mwi_unlock(m->device, take_routes(h, forward, __func__));
    if (!status)
        status = make_cached_images(h, forward, x, coefficient);
    if (status) {
        mw_handle_destroy(h);
        return status;
    }
    *handle = h;
    return 0;
}

void mw_handle_destroy(struct mw_handle *handle)
{
    if (!handle)
        return;
    mwi_lock(handle->object->device);
    struct mw_dymulticast *m = handle->object;
    free_handle(handle);
    mwi_dymulticast_put(m);
}

int mw_handle_set(struct mw_handle *handle, const char *name, uint64_t value)
{
    MWI_NEED(handle);
    struct mw_device *d = handle->object->device;
    mwi_lock(d);
    struct mw_layer_config c = handle->config;
    int status = mwi_check_handle(handle, __func__);
    if (!status && handle->outputs)
        status = mwi_fail(MW_ERR_STATE, "%s: mw_expert_output has written results", __func__);
    if (!status)
        status = mw_layer_set(&c, name, value);
    if (!status && (c.tile_reductions || c.merge_loads || c.row_returns || c.source_lists))
        status = mwi_fail(MW_ERR_INVALID, "%s: the programs of a handle do not use it", name);
    if (!status)
        status = mwi_check_config(d, &c);
    if (!status) {
        handle->config = c;
        handle->begun = 0;
    }
    return mwi_unlock(d, status);
}

// ---- running ------------------------------------------------------------------------------------

uint64_t mwi_handle_tokens(const struct mw_handle *h)
{
    uint64_t tokens = 0;
    for (unsigned g = 0; g < h->object->device->info.gpus; g++)
        tokens += h->tokens[g];
    return tokens;
}

/// Write what the layer needs, unless it is there.
static int load(struct mw_handle *h, enum mwi_program program, const struct mwi_pause *pause)
{
    struct mw_device *d = h->object->device;
    const struct mwi_image *streams = &h->program[program];
    int status = mwi_map_load(d, h->object->places, h->object->experts);
    if (!status && d->loaded != h->number) {
        d->loaded = 0;
        d->program = MWI_NO_PROGRAM;
        status = mwi_move(d, true, h->data.list, h->data.count, pause);
        if (!status)
            d->loaded = h->number;
    }
    if (status || d->program == program)
        return status;
    d->program = MWI_NO_PROGRAM;
    status = mwi_move(d, true, streams->list, streams->count, pause);
    if (!status)
        d->program = program;
    return status;
}

/// Whether a program is the second phase.
static bool continues(enum mwi_program program)
{
    return program == MWI_EXPERTS || program == MWI_SUMS;
}

/// The configuration of a phase: what couples dispatch and combine has no effect
/// where they run apart. The second phase uses the counts of the first one, if the object keeps
/// them.
static struct mw_layer_config config_of(const struct mw_handle *h, enum mwi_program program)
{
    struct mw_layer_config c = h->config;
    if (continues(program) && c.handle == MW_HANDLE_KEEP)
        c.handle = MW_HANDLE_CACHED;
    if (program != MWI_FUSED) {
        c.in_flight = 0;
        c.switch_reductions = c.dispatch_throttle = false;
    }
    return c;
}

int mwi_handle_start(struct mw_handle *h, enum mwi_program program, const struct mwi_pause *pause)
{
    static const unsigned none[MW_MAX_PORTS];
    const struct mw_dymulticast *m = h->object;
    unsigned experts[MW_MAX_PORTS]; // counts of rows have as many words as the sender's number
    struct mw_device *d = m->device;
    const bool again = continues(program);
    const struct mw_layer_config c = config_of(h, program);
    struct mw_layout l = h->layout;
    int status = 0;
    if (again && h->config.handle == MW_HANDLE_KEEP)
        l.xd_cached = l.xd_base; // where the first phase has put its rows
    if (!again && c.handle == MW_HANDLE_CACHED)
        status = mwi_check_kept_for(d, pause->call, h->routes, &c, &l);
    if (!status) {
        h->dw_there = false;
        status = load(h, program, pause);
    }
    for (unsigned g = 0; g < d->info.gpus; g++)
        experts[g] = m->experts_per_gpu;
    if (!status) // a count of rows covers all own tokens, and the second phase counts none
        status = mwi_configure(d, &c, &l, again ? none : h->tokens, experts,
                               (1u << streams_of(program)) - 1);
    if (!status)
        status = mwi_launch(d, pause, again);
    if (status)
        return status;
    if (c.handle == MW_HANDLE_KEEP)
        mwi_state_keeps(d, h->routes);
    d->state.tokens_total = mwi_handle_tokens(h);
    mwi_state_unconfigured(d); // mw_launch does not start it again
    return 0;
}
