// SPDX-License-Identifier: Apache-2.0
//
// See memory_image.h.
#include "api/memory_image.h"

#include "api/loaded_rows.h"
#include "api/stream.h"
#include "core/error.h"

#include <stdlib.h>
#include <string.h>

void mwi_image_free(struct mwi_image *image)
{
    for (size_t i = 0; i < image->count; i++)
        free(image->list[i].data);
    free(image->list);
    *image = (struct mwi_image){0};
}

static size_t align_up(size_t n)
{
    return (n + MW_MEM_ALIGN - 1) / MW_MEM_ALIGN * MW_MEM_ALIGN;
}

int mwi_image_area(struct mwi_image *im, unsigned gpu, uint64_t address, size_t bytes,
                   uint8_t **data)
{
    if (im->count == im->room) {
        size_t room = im->room ? 2 * im->room : 64;
        struct mw_transfer *more = realloc(im->list, room * sizeof *more);
        if (!more)
            return mwi_fail(MW_ERR_NOMEM, "no memory for what a layer needs");
        im->list = more;
        im->room = room;
    }
    *data = calloc(1, bytes ? align_up(bytes) : 1);
    if (!*data)
        return mwi_fail(MW_ERR_NOMEM, "no memory for %zu bytes of GPU %u", bytes, gpu);
    im->list[im->count++] = (struct mw_transfer){gpu, address, align_up(bytes), *data};
    return 0;
}

int mwi_image_copy(struct mwi_image *im, const struct mwi_image *from)
{
    int status = 0;
    for (size_t i = 0; i < from->count && !status; i++) {
        const struct mw_transfer *t = &from->list[i];
        uint8_t *data;
        status = mwi_image_area(im, t->gpu, t->address, t->bytes, &data);
        if (!status)
            memcpy(data, t->data, t->bytes);
    }
    return status;
}

// ---- streams ------------------------------------------------------------------------------------

static void put32(uint8_t *at, uint32_t v)
{
    for (unsigned i = 0; i < 4; i++)
        at[i] = (uint8_t)(v >> 8 * i);
}

static void pack(uint8_t *at, const struct mw_instr *in)
{
    put32(at, in->op | (uint32_t)in->flags << 8 | (uint32_t)in->a_high << 12 |
                  (uint32_t)in->c_high << 14 | (uint32_t)in->imm << 16);
    put32(at + 4, in->a);
    put32(at + 8, in->b);
    put32(at + 12, in->c);
}

static int check_streams(const struct mw_layout *layout, const struct mw_stream *s,
                         const struct mw_device_info *info, unsigned streams)
{
    uint64_t room = (layout->stream[1] - layout->stream[0]) / MW_INSTR_BYTES;
    for (unsigned i = 0; i < info->gpus * streams; i++) {
        const char *why = s[i].error ? "kept a failure"
                          : !s[i].count || s[i].count > MW_STREAM_INSTRS ||
                                  s[i].instr[s[i].count - 1].op != MW_I_END
                              ? "has no end"
                              : NULL;
        if (why)
            return mwi_fail(MW_ERR_STATE, "stream %u of GPU %u %s", i % streams, i / streams, why);
        if (s[i].count > room)
            return mwi_fail(MW_ERR_CAPACITY,
                            "stream %u of GPU %u has %u instructions, the layout %llu", i % streams,
                            i / streams, s[i].count, (unsigned long long)room);
        unsigned instr = 0;
        const char *lacks = mwi_stream_lacks(info, &s[i], &instr);
        if (lacks)
            return mwi_fail(
                MW_ERR_CAPACITY,
                "stream %u of GPU %u, instruction %u: this device was built without %s: "
                "leave it out",
                i % streams, i / streams, instr, lacks);
    }
    return mwi_check_loaded_rows(layout, s, info, streams);
}

/// What its delays, those after its waits and the orders of tokens that it charges
/// for take together.
static uint64_t delays(const struct mw_stream *s)
{
    uint64_t cycles = 0;
    for (unsigned i = 0; i < s->count; i++)
        cycles += s->instr[i].op == MW_I_DELAY   ? s->instr[i].a
                  : s->instr[i].op == MW_I_WAIT  ? s->instr[i].b
                  : s->instr[i].op == MW_I_ORDER ? (uint64_t)s->instr[i].imm * s->instr[i].b
                                                 : 0;
    return cycles;
}

int mwi_image_streams(struct mwi_image *im, const struct mw_layout *layout,
                      const struct mw_stream *s, const struct mw_device_info *info,
                      unsigned streams)
{
    unsigned gpus = info->gpus;
    int status = check_streams(layout, s, info, streams);
    for (unsigned i = 0; i < gpus * streams && !status; i++) {
        uint8_t *data;
        status = mwi_image_area(im, i / streams, layout->stream[i % streams],
                                (size_t)s[i].count * MW_INSTR_BYTES, &data);
        if (delays(&s[i]) > im->delays)
            im->delays = delays(&s[i]);
        for (unsigned j = 0; j < s[i].count && !status; j++)
            pack(data + (size_t)j * MW_INSTR_BYTES, &s[i].instr[j]);
    }
    return status;
}

int mwi_image_made_streams(struct mwi_image *im, const struct mw_layout *layout,
                           const struct mw_device_info *info, unsigned streams,
                           mw_stream_make_fn make, void *context)
{
    unsigned gpus = info->gpus;
    struct mw_stream *s = calloc((size_t)gpus * streams, sizeof *s);
    if (!s)
        return mwi_fail(MW_ERR_NOMEM, "no memory for streams");
    int status = 0;
    for (unsigned g = 0; g < gpus && !status; g++) {
        struct mw_stream *own = &s[(size_t)g * streams];
        make(context, g, own);
        for (unsigned i = 0; i < streams && !status; i++)
            status = mw_stream_end(&own[i]);
    }
    if (!status)
        status = mwi_image_streams(im, layout, s, info, streams);
    free(s);
    return status;
}

// ---- tokens -------------------------------------------------------------------------------------

void mw_route_pack(uint8_t *entry, const int16_t *topk_idx, const float *topk_weights, unsigned k)
{
    if (!entry)
        return;
    memset(entry, 0, MW_ROUTE_BYTES);
    for (unsigned j = 0; j < MW_MAX_TARGETS; j++) {
        bool used = j < k && topk_idx && topk_idx[j] >= 0;
        uint16_t id = used ? (uint16_t)topk_idx[j] : 0xffff;
        entry[2 * j] = (uint8_t)id;
        entry[2 * j + 1] = (uint8_t)(id >> 8);
        uint32_t bits = 0;
        if (used && topk_weights)
            memcpy(&bits, &topk_weights[j], sizeof bits);
        put32(entry + 32 + 4 * j, bits);
    }
}

int mwi_image_routing(struct mwi_image *im, uint64_t address, unsigned gpus, unsigned k,
                      const struct mw_tokens *part)
{
    int status = 0;
    for (unsigned g = 0; g < gpus && !status; g++) {
        const struct mw_tokens *p = &part[g];
        uint8_t *data;
        status = mwi_image_area(im, g, address, (size_t)p->tokens * MW_ROUTE_BYTES, &data);
        for (size_t t = 0; t < p->tokens && !status; t++)
            mw_route_pack(data + t * MW_ROUTE_BYTES, &p->topk_idx[t * k], &p->topk_weights[t * k],
                          k);
    }
    return status;
}

int mwi_image_rows(struct mwi_image *im, uint64_t address, unsigned gpus, unsigned row_bytes,
                   unsigned row_shift, const struct mw_tokens *part)
{
    int status = 0;
    for (unsigned g = 0; g < gpus && !status; g++) {
        const struct mw_tokens *p = &part[g];
        uint8_t *data;
        status = mwi_image_area(im, g, address, (size_t)p->tokens << row_shift, &data);
        for (size_t t = 0; t < p->tokens && !status; t++)
            memcpy(data + (t << row_shift), (const uint8_t *)p->x + t * row_bytes, row_bytes);
    }
    return status;
}

int mwi_image_coefficients(struct mwi_image *im, uint64_t address, unsigned gpus,
                           unsigned experts_per_gpu, const uint16_t *coefficient)
{
    int status = 0;
    const size_t bytes = sizeof *coefficient * experts_per_gpu;
    for (unsigned g = 0; g < gpus && !status; g++) {
        uint8_t *data;
        status = mwi_image_area(im, g, address, bytes, &data);
        if (!status)
            memcpy(data, &coefficient[(size_t)g * experts_per_gpu], bytes);
    }
    return status;
}

void mwi_image_take_rows(const struct mwi_image *im, unsigned gpus, unsigned row_bytes,
                         unsigned row_shift, const unsigned *tokens, uint16_t *const *out)
{
    for (unsigned g = 0; g < gpus; g++)
        for (size_t t = 0; t < tokens[g]; t++)
            memcpy((uint8_t *)out[g] + t * row_bytes,
                   (const uint8_t *)im->list[g].data + (t << row_shift), row_bytes);
}
