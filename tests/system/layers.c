// SPDX-License-Identifier: Apache-2.0
//
// See layers.h.
#include "layers.h"

#include "trace/row_type.h"

enum {
    PATTERN = 0xa5,
    GROUPS_AT = 8, ///< scales of groups, after the values
};

// ---- making -------------------------------------------------------------------------------------

static void *allocate(size_t count, size_t size)
{
    void *p = calloc(count ? count : 1, size);
    assert_non_null(p);
    return p;
}

/// A list of different experts, some places empty where that is allowed.
static void make_list(uint16_t *list, const struct layer_shape *s, struct mw_random *r)
{
    for (unsigned j = 0; j < s->k; j++) {
        bool again = true;
        while (again) {
            list[j] = (uint16_t)mw_random_below(r, s->experts);
            again = false;
            for (unsigned i = 0; i < j; i++)
                again = again || list[i] == list[j];
        }
    }
    for (unsigned j = 0; s->padding && j < s->k; j++)
        if (mw_random_below(r, 4) == 0)
            list[j] = MW_NO_EXPERT;
}

struct mw_device *layer_device(unsigned gpus, unsigned flit_bytes)
{
    struct mw_open_options o;
    struct mw_device *d = NULL;
    mw_open_defaults(&o);
    o.gpus = gpus;
    o.flit_bytes = flit_bytes;
    if (mw_open(&o, &d))
        fail_msg("open: %s", mw_message());
    return d;
}

void layer_make(struct layer *l, const struct layer_shape *s, struct mw_random *r)
{
    layer_make_typed(l, s, MW_ROWTYPE_BF16, r);
}

void layer_make_typed(struct layer *l, const struct layer_shape *s, unsigned type,
                      struct mw_random *r)
{
    size_t tokens = (size_t)s->gpus * s->tokens;
    uint64_t seed = mw_random_next(r);
    *l = (struct layer){0};
    struct mw_workload *w = &l->w;
    *w = (struct mw_workload){
        .shape = {.gpus = s->gpus,
                  .tokens_per_gpu = s->tokens,
                  .hidden = s->hidden,
                  .dispatch_type = type,
                  .allow_padding = s->padding,
                  .spread = mw_random_below(r, 2) ? MW_SPREAD_FAR : MW_SPREAD_NEAR,
                  .seed = seed},
        .tokens = (unsigned)tokens,
        .k = s->k,
        .experts = s->experts,
        .experts_per_gpu = s->experts / s->gpus,
        .coefficients = allocate(s->experts, sizeof *w->coefficients),
        .layers = 1,
        .layer = allocate(1, sizeof *w->layer),
    };
    struct mw_layer *y = w->layer;
    y->ids = allocate(tokens * s->k, sizeof *y->ids);
    y->weights = allocate(tokens * s->k, sizeof *y->weights);
    y->x = allocate(tokens * s->hidden, sizeof *y->x);
    if (mw_row_type_scaled(type))
        y->scales = allocate(tokens * mw_row_type_scales(type, s->hidden), sizeof *y->scales);
    for (unsigned e = 0; e < s->experts; e++)
        w->coefficients[e] = mw_expert_coefficient(seed, e, w->shape.spread);
    for (size_t t = 0; t < tokens; t++) {
        make_list(&y->ids[t * s->k], s, r);
        for (unsigned j = 0; j < s->k; j++)
            y->weights[t * s->k + j] = (float)(1 + mw_random_below(r, 1000)) / 1024;
        for (unsigned h = 0; h < s->hidden; h++)
            mw_workload_set(w, y, (unsigned)t, h, h);
    }
    l->golden = allocate(tokens * s->hidden, sizeof *l->golden);
    l->out = allocate(tokens * s->hidden, sizeof *l->out);
    mw_golden_layer(w, 0, l->golden);
}

void layer_free(struct layer *l)
{
    mw_workload_free(&l->w);
    free(l->golden);
    free(l->out);
    *l = (struct layer){0};
}

struct layer_shape layer_any(unsigned gpus, unsigned flit_bytes, uint64_t mem_bytes,
                             struct mw_random *r)
{
    bool small = mem_bytes <= 16384;
    struct layer_shape s = {
        .gpus = gpus,
        .tokens = 1 + (unsigned)mw_random_below(r, small ? 5 : 20),
        .hidden = (1 + (unsigned)mw_random_below(r, small ? 6 : 40)) * flit_bytes / 2,
        .experts = gpus * (1 + (unsigned)mw_random_below(r, small ? 2 : 8)),
        .padding = mw_random_below(r, 3) == 0,
    };
    unsigned most = s.experts < 16 ? s.experts : 16;
    if (small && most > 2)
        most = 2;
    s.k = 1 + (unsigned)mw_random_below(r, most);
    return s;
}

// ---- running ------------------------------------------------------------------------------------

static unsigned name_of(const struct layer *l, unsigned place)
{
    return l->names ? l->names[place] : place;
}

/// Where each expert is, by place.
static struct mw_expert_place *make_places(const struct layer *l)
{
    const struct mw_workload *w = &l->w;
    struct mw_expert_place *places = allocate(w->experts, sizeof *places);
    for (unsigned p = 0; p < w->experts; p++)
        places[p] =
            (struct mw_expert_place){name_of(l, p), p / w->experts_per_gpu, p % w->experts_per_gpu};
    return places;
}

static unsigned most_rows(const struct mw_workload *w)
{
    unsigned *rows = allocate(w->experts, sizeof *rows), most = 1;
    for (size_t i = 0; i < (size_t)w->tokens * w->k; i++)
        if (w->layer->ids[i] != MW_NO_EXPERT && ++rows[w->layer->ids[i]] > most)
            most = rows[w->layer->ids[i]];
    free(rows);
    return most;
}

static void fill_output(const struct layer *l, struct mw_device *d,
                        const struct mw_dymulticast *object)
{
    struct mw_layout layout;
    struct mw_transfer list[MW_MAX_PORTS];
    assert_int_equal(mw_dymulticast_layout(object, &layout), 0);
    size_t bytes = (size_t)l->w.shape.tokens_per_gpu << layout.row_shift;
    uint8_t *pattern = allocate(bytes, 1);
    memset(pattern, PATTERN, bytes);
    for (unsigned g = 0; g < l->w.shape.gpus; g++)
        list[g] = (struct mw_transfer){g, layout.out_base, bytes, pattern};
    assert_int_equal(mw_mem_write(d, list, l->w.shape.gpus), 0);
    free(pattern);
}

struct layer_parts layer_parts(unsigned type, unsigned hidden)
{
    const bool nvfp4 = type == MW_ROWTYPE_NVFP4;
    return (struct layer_parts){
        .x = nvfp4 ? hidden / 2 : hidden,
        .scales = nvfp4                            ? 1
                  : type == MW_ROWTYPE_E4M3_BLOCKS ? hidden / MW_SCALE_BLOCK
                                                   : 0,
        .groups = nvfp4 ? hidden / MW_SCALE_GROUP : 0,
    };
}

struct mw_typed_rows layer_typed(const struct mw_workload *w)
{
    const unsigned type = w->shape.dispatch_type, hidden = w->shape.hidden;
    const struct layer_parts p = layer_parts(type, hidden);
    const struct mw_typed_rows all = {.x = allocate(w->tokens, p.x),
                                      .scales = allocate(w->tokens, p.scales * sizeof(float)),
                                      .group_scales = allocate(w->tokens, p.groups)};
    const size_t scales = mw_row_type_scales(type, hidden);
    uint8_t *row = allocate(1, mw_row_type_bytes(type, hidden) + GROUPS_AT);
    for (size_t t = 0; t < w->tokens; t++) {
        const float *own = scales ? &w->layer->scales[t * scales] : NULL;
        mw_row_type_pack(type, &w->layer->x[t * hidden], own, hidden, row);
        memcpy((uint8_t *)all.x + t * p.x, row, p.x);
        memcpy(all.scales + t * p.scales, row + p.x, p.scales * sizeof(float));
        memcpy(all.group_scales + t * p.groups, row + p.x + GROUPS_AT, p.groups);
    }
    free(row);
    return all;
}

void layer_free_typed(const struct mw_typed_rows *rows)
{
    free(rows->x);
    free(rows->scales);
    free(rows->group_scales);
}

/// The handle of rows that are not bf16.
static int create_typed(const struct mw_workload *w, struct mw_dymulticast *object,
                        struct mw_tokens *part, const uint16_t *coefficients,
                        struct mw_handle **handle)
{
    const struct layer_parts p = layer_parts(w->shape.dispatch_type, w->shape.hidden);
    const struct mw_typed_rows all = layer_typed(w);
    struct mw_typed_rows rows[MW_MAX_PORTS];
    for (unsigned g = 0; g < w->shape.gpus; g++) {
        const size_t first = (size_t)g * w->shape.tokens_per_gpu;
        part[g].x = NULL;
        rows[g] =
            (struct mw_typed_rows){(uint8_t *)all.x + first * p.x, all.scales + first * p.scales,
                                   all.group_scales + first * p.groups};
    }
    const int status = mw_handle_create_typed(object, part, rows, coefficients, handle);
    layer_free_typed(&all);
    return status;
}

void layer_load(const struct layer *l, struct mw_device *d, struct mw_dymulticast **object,
                struct mw_handle **handle)
{
    const struct mw_workload *w = &l->w;
    struct mw_expert_place *places = make_places(l);
    const struct mw_dymulticast_prop prop = {.size = sizeof prop,
                                             .block_bytes = 2 * w->shape.hidden,
                                             .region_sets = 2,
                                             .k = w->k,
                                             .experts = w->experts,
                                             .places = l->names ? places : NULL,
                                             .dispatch_type = w->shape.dispatch_type,
                                             .cached_handles = l->cached,
                                             .gate_gradients = l->gradients};
    size_t t = w->shape.tokens_per_gpu;
    uint16_t *coefficients = allocate(w->experts, sizeof *coefficients);
    int16_t *lists = allocate((size_t)w->tokens * w->k, sizeof *lists);
    struct mw_tokens part[MW_MAX_PORTS];
    for (size_t i = 0; i < (size_t)w->tokens * w->k; i++) {
        uint16_t place = w->layer->ids[i];
        lists[i] = (int16_t)(place != MW_NO_EXPERT ? name_of(l, place) : place);
    }
    for (unsigned g = 0; g < w->shape.gpus; g++)
        part[g] = (struct mw_tokens){(unsigned)t, &w->layer->x[g * t * w->shape.hidden],
                                     &lists[g * t * w->k], &w->layer->weights[g * t * w->k]};
    int status = mw_dymulticast_create(d, &prop, object);
    if (!status)
        status = mw_dymulticast_bind_addr(*object, w->tokens, l->rows ? l->rows : most_rows(w));
    if (status)
        fail_msg("%u tokens, hidden %u, %u experts, k %u: %s", w->tokens, w->shape.hidden,
                 w->experts, w->k, mw_message());
    for (unsigned p = 0; p < w->experts; p++)
        coefficients[name_of(l, p)] = w->coefficients[p];
    fill_output(l, d, *object);
    status = w->shape.dispatch_type ? create_typed(w, *object, part, coefficients, handle)
                                    : mw_handle_create(*object, part, coefficients, handle);
    if (status)
        fail_msg("handle: %s", mw_message());
    for (const struct layer_setting *s = l->settings; s && s->name; s++)
        if (mw_handle_set(*handle, s->name, s->value))
            fail_msg("%s", mw_message());
    free(lists);
    free(places);
    free(coefficients);
}

void layer_start(const struct layer *l, struct mw_device *d)
{
    const struct mw_workload *w = &l->w;
    struct mw_dymulticast *object;
    struct mw_handle *handle;
    struct mw_layer_config c;
    struct mw_layout layout;
    unsigned tokens[MW_MAX_PORTS], experts[MW_MAX_PORTS];
    layer_load(l, d, &object, &handle);
    assert_int_equal(mw_dymulticast_layout(object, &layout), 0);
    mw_layer_defaults(&c);
    c.k = w->k;
    c.tokens_per_gpu = w->shape.tokens_per_gpu;
    c.row_bytes = 2 * w->shape.hidden;
    c.dispatch_type = w->shape.dispatch_type;
    c.experts_per_gpu = w->experts_per_gpu;
    for (const struct layer_setting *s = l->settings; s && s->name; s++)
        assert_int_equal(mw_layer_set(&c, s->name, s->value), 0);
    for (unsigned g = 0; g < w->shape.gpus; g++) {
        tokens[g] = c.tokens_per_gpu;
        experts[g] = c.experts_per_gpu;
    }
    struct mw_expert_place *places = make_places(l);
    assert_int_equal(mw_expert_map_set(d, places, w->experts), 0);
    free(places);
    assert_int_equal(mw_layer_configure(d, &c, &layout, tokens, experts, (1u << MW_STREAMS) - 1),
                     0);
    assert_int_equal(mw_launch(d), 0);
    mw_handle_destroy(handle);
    mw_dymulticast_destroy(object);
}

int layer_run(struct layer *l, struct mw_device *d, const struct mw_wait_options *options)
{
    const struct mw_workload *w = &l->w;
    struct mw_dymulticast *object;
    struct mw_handle *handle;
    uint16_t *rows[MW_MAX_PORTS];
    for (unsigned g = 0; g < w->shape.gpus; g++)
        rows[g] = l->out + (size_t)g * w->shape.tokens_per_gpu * w->shape.hidden;
    layer_load(l, d, &object, &handle);
    int status = mw_layer_run(handle, rows, options, &l->cycles);
    if (!status)
        assert_int_equal(mw_counters_read(d, &l->counters), 0);
    mw_handle_destroy(handle);
    mw_dymulticast_destroy(object);
    return status;
}

void layer_is_right(const struct layer *l, const char *what)
{
    unsigned hidden = l->w.shape.hidden;
    for (size_t i = 0; i < (size_t)l->w.tokens * hidden; i++)
        if (l->out[i] != l->golden[i])
            fail_msg("%s: token %zu, element %zu: expected 0x%04x, got 0x%04x", what, i / hidden,
                     i % hidden, l->golden[i], l->out[i]);
}

uint64_t layer_pass(struct layer *l, struct mw_device *d, const char *what)
{
    int status = layer_run(l, d, NULL);
    if (status)
        fail_msg("%s: %s: %s", what, mw_strerror(status), mw_message());
    layer_is_right(l, what);
    return l->cycles;
}
