// SPDX-License-Identifier: Apache-2.0
//
// Dynamic multicast objects, and one MoE layer through them in DeepEP's words. A layer is the four
// streams of the DySHARP system (docs/systems.md): row counts, dispatch, experts, combine.
#include "internal.h"

#include <stdlib.h>
#include <string.h>

struct mw_dymulticast {
    struct mw_device *device;
    struct mw_dymulticast_prop prop;
    unsigned experts_per_gpu;
    bool bound;
    struct mw_layer_config config;
    struct mw_layout layout;
};

struct mw_handle {
    struct mw_dymulticast *object;
    struct mw_layer_config config;
    unsigned tokens[MW_MAX_PORTS];
};

// ---- objects ------------------------------------------------------------------------------------------------

static int write_map(struct mw_device *d, unsigned experts, unsigned per_gpu)
{
    struct mw_expert_place *places = calloc(experts, sizeof *places);
    if (!places)
        return mwi_fail(MW_ERR_NOMEM, "no memory for the expert map");
    for (unsigned e = 0; e < experts; e++)
        places[e] = (struct mw_expert_place){e, e / per_gpu, e % per_gpu};
    int status = mw_expert_map_set(d, places, experts);
    free(places);
    return status;
}

int mw_dymulticast_create(struct mw_device *device, const struct mw_dymulticast_prop *prop,
                          struct mw_dymulticast **object)
{
    *object = NULL;
    unsigned gpus = device->info.gpus;
    if (prop->region_sets != 2)
        return mwi_fail(MW_ERR_INVALID, "%u region sets: dispatch and combine are 2",
                        prop->region_sets);
    if (prop->k < 1 || prop->k > MW_MAX_TARGETS)
        return mwi_fail(MW_ERR_INVALID, "k = %u: 1 to %d", prop->k, MW_MAX_TARGETS);
    if (prop->experts < gpus || prop->experts % gpus)
        return mwi_fail(MW_ERR_INVALID, "%u experts are not divisible over %u GPUs", prop->experts,
                        gpus);
    struct mw_dymulticast *m = calloc(1, sizeof *m);
    if (!m)
        return mwi_fail(MW_ERR_NOMEM, "no memory for a dynamic multicast object");
    *m = (struct mw_dymulticast){
        .device = device, .prop = *prop, .experts_per_gpu = prop->experts / gpus};
    int status = write_map(device, prop->experts, m->experts_per_gpu);
    if (status) {
        free(m);
        return status;
    }
    *object = m;
    return 0;
}

int mw_dymulticast_bind_addr(struct mw_dymulticast *object, unsigned tokens,
                             unsigned rows_per_expert)
{
    unsigned gpus = object->device->info.gpus;
    struct mw_layer_config c;
    mw_layer_defaults(&c);
    c.k = object->prop.k;
    c.tokens_per_gpu = tokens / gpus + (tokens % gpus > 0);
    c.row_bytes = object->prop.block_bytes;
    c.experts_per_gpu = object->experts_per_gpu;
    c.rows_per_expert = rows_per_expert;
    c.stream_instrs = 4; // of each of the streams below
    int status = mw_layout_make(object->device, &c, &object->layout);
    object->bound = !status;
    object->config = c;
    return status;
}

int mw_dymulticast_layout(const struct mw_dymulticast *object, struct mw_layout *layout)
{
    if (!object->bound)
        return mwi_fail(MW_ERR_STATE, "mw_dymulticast_layout: the object is not bound");
    *layout = object->layout;
    return 0;
}

void mw_dymulticast_destroy(struct mw_dymulticast *object)
{
    free(object);
}

// ---- dispatch ---------------------------------------------------------------------------------------------------

/// Check the lists of one GPU and count the rows of every expert.
static int check_lists(const struct mw_dymulticast *m, unsigned gpu, const struct mw_tokens *p,
                       unsigned *rows)
{
    unsigned k = m->prop.k;
    for (unsigned t = 0; t < p->tokens; t++) {
        const int16_t *list = &p->topk_idx[(size_t)t * k];
        for (unsigned j = 0; j < k; j++) {
            if (list[j] < -1 || list[j] >= (int)m->prop.experts)
                return mwi_fail(MW_ERR_INVALID, "GPU %u, token %u, place %u: expert %d of %u", gpu,
                                t, j, list[j], m->prop.experts);
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

static int check_parts(const struct mw_dymulticast *m, const struct mw_tokens *part)
{
    unsigned *rows = calloc(m->prop.experts, sizeof *rows);
    if (!rows)
        return mwi_fail(MW_ERR_NOMEM, "no memory for row counts");
    int status = 0;
    for (unsigned g = 0; g < m->device->info.gpus && !status; g++) {
        if (part[g].tokens > m->config.tokens_per_gpu)
            status = mwi_fail(MW_ERR_CAPACITY, "GPU %u: %u tokens, bound are %u", g, part[g].tokens,
                              m->config.tokens_per_gpu);
        else
            status = check_lists(m, g, &part[g], rows);
    }
    unsigned most = 1u << m->layout.cap_shift;
    for (unsigned e = 0; e < m->prop.experts && !status; e++)
        if (rows[e] > most)
            status =
                mwi_fail(MW_ERR_CAPACITY, "expert %u gets %u rows, bound are %u", e, rows[e], most);
    free(rows);
    return status;
}

static size_t align_up(size_t n)
{
    return (n + MW_MEM_ALIGN - 1) / MW_MEM_ALIGN * MW_MEM_ALIGN;
}

/// What is written into one GPU's memory before a layer; buffers belong to it.
struct image {
    uint8_t *route, *rows, *coefficients;
};

static void free_images(struct image *images, unsigned count)
{
    for (unsigned g = 0; images && g < count; g++) {
        free(images[g].route);
        free(images[g].rows);
        free(images[g].coefficients);
    }
    free(images);
}

/// Make the image of one GPU and its three transfers.
static int make_image(const struct mw_dymulticast *m, unsigned gpu, const struct mw_tokens *p,
                      const uint16_t *coefficient, struct image *im, struct mw_transfer *list)
{
    size_t stride = (size_t)1 << m->layout.row_shift, tokens = p->tokens, k = m->prop.k;
    size_t own = m->experts_per_gpu;
    im->route = calloc(tokens ? tokens : 1, MW_ROUTE_BYTES);
    im->rows = calloc(tokens ? tokens : 1, stride);
    im->coefficients = calloc(1, align_up(2 * own));
    if (!im->route || !im->rows || !im->coefficients)
        return mwi_fail(MW_ERR_NOMEM, "no memory for the tokens of GPU %u", gpu);
    for (size_t t = 0; t < tokens; t++) {
        mw_route_pack(im->route + t * MW_ROUTE_BYTES, &p->topk_idx[t * k], &p->topk_weights[t * k],
                      m->prop.k);
        memcpy(im->rows + t * stride, (const uint8_t *)p->x + t * m->prop.block_bytes,
               m->prop.block_bytes);
    }
    memcpy(im->coefficients, &coefficient[gpu * own], 2 * own);
    list[0] = (struct mw_transfer){gpu, m->layout.rt_base, tokens * MW_ROUTE_BYTES, im->route};
    list[1] = (struct mw_transfer){gpu, m->layout.xs_base, tokens * stride, im->rows};
    list[2] = (struct mw_transfer){gpu, m->layout.ce_base, align_up(2 * own), im->coefficients};
    return 0;
}

static int load_images(const struct mw_dymulticast *m, const struct mw_tokens *part,
                       const uint16_t *coefficient)
{
    unsigned gpus = m->device->info.gpus;
    struct image *images = calloc(gpus, sizeof *images);
    struct mw_transfer list[3 * MW_MAX_PORTS];
    int status = images ? 0 : mwi_fail(MW_ERR_NOMEM, "no memory for the tokens");
    for (unsigned g = 0; g < gpus && !status; g++)
        status = make_image(m, g, &part[g], coefficient, &images[g], &list[(size_t)3 * g]);
    if (!status)
        status = mw_mem_write(m->device, list, (size_t)3 * gpus);
    free_images(images, gpus);
    return status;
}

static int load_streams(const struct mw_dymulticast *m, const struct mw_tokens *part)
{
    unsigned gpus = m->device->info.gpus;
    struct mw_stream *s = calloc((size_t)gpus * MW_STREAMS, sizeof *s);
    if (!s)
        return mwi_fail(MW_ERR_NOMEM, "no memory for streams");
    int status = 0;
    for (unsigned g = 0; g < gpus && !status; g++) {
        struct mw_stream *own = &s[(size_t)g * MW_STREAMS];
        uint32_t tokens = part[g].tokens;
        mw_stream_count(&own[0], 0, tokens, false);
        mw_stream_dymultimem_st(&own[1], 0, tokens);
        mw_stream_expert(&own[2], 0);
        mw_stream_dymultimem_ld_reduce(&own[3], 0, tokens, true);
        for (unsigned i = 0; i < MW_STREAMS && !status; i++)
            status = mw_stream_end(&own[i]);
    }
    if (!status)
        status = mw_stream_load(m->device, &m->layout, s, MW_STREAMS);
    free(s);
    return status;
}

int mw_dispatch(struct mw_dymulticast *object, const struct mw_tokens *part,
                const uint16_t *coefficient, struct mw_handle **handle)
{
    *handle = NULL;
    if (!object->bound)
        return mwi_fail(MW_ERR_STATE, "mw_dispatch: the object is not bound");
    int status = check_parts(object, part);
    if (!status)
        status = load_images(object, part, coefficient);
    if (!status)
        status = load_streams(object, part);
    if (status)
        return status;
    struct mw_handle *h = calloc(1, sizeof *h);
    if (!h)
        return mwi_fail(MW_ERR_NOMEM, "no memory for a handle");
    h->object = object;
    h->config = object->config;
    for (unsigned g = 0; g < object->device->info.gpus; g++)
        h->tokens[g] = part[g].tokens;
    *handle = h;
    return 0;
}

int mw_handle_set(struct mw_handle *handle, const char *name, uint64_t value)
{
    return mw_layer_set(&handle->config, name, value);
}

// ---- combine -------------------------------------------------------------------------------------------------------

/// Read the output rows into rows of block_bytes.
static int read_out(const struct mw_handle *h, uint16_t *const *out)
{
    const struct mw_dymulticast *m = h->object;
    size_t stride = (size_t)1 << m->layout.row_shift, block = m->prop.block_bytes;
    struct mw_transfer list[MW_MAX_PORTS] = {0};
    unsigned gpus = m->device->info.gpus;
    int status = 0;
    for (unsigned g = 0; g < gpus && !status; g++) {
        size_t bytes = h->tokens[g] * stride;
        list[g] = (struct mw_transfer){g, m->layout.out_base, bytes, malloc(bytes ? bytes : 1)};
        if (!list[g].data)
            status = mwi_fail(MW_ERR_NOMEM, "no memory for the output of GPU %u", g);
    }
    if (!status)
        status = mw_mem_read(m->device, list, gpus);
    for (unsigned g = 0; g < gpus; g++) {
        for (unsigned t = 0; t < h->tokens[g] && !status; t++)
            memcpy((uint8_t *)out[g] + t * block, (uint8_t *)list[g].data + t * stride, block);
        free(list[g].data);
    }
    return status;
}

int mw_combine(struct mw_handle *handle, uint16_t *const *out,
               const struct mw_wait_options *options, uint64_t *cycles)
{
    struct mw_dymulticast *m = handle->object;
    unsigned experts[MW_MAX_PORTS];
    for (unsigned g = 0; g < m->device->info.gpus; g++)
        experts[g] = m->experts_per_gpu;
    int status = mw_layer_configure(m->device, &handle->config, &m->layout, handle->tokens, experts,
                                    (1u << MW_STREAMS) - 1);
    if (!status)
        status = mw_launch(m->device);
    if (!status)
        status = mw_wait(m->device, options, cycles);
    if (!status)
        status = read_out(handle, out);
    return status;
}

void mw_handle_destroy(struct mw_handle *handle)
{
    free(handle);
}
