// SPDX-License-Identifier: Apache-2.0
//
// Instruction streams: one function per instruction of docs/isa.md, and the way into GPU memory.
#include "internal.h"

#include <stdlib.h>
#include <string.h>

void mw_stream_init(struct mw_stream *s)
{
    *s = (struct mw_stream){0};
}

static int add(struct mw_stream *s, struct mw_instr instr)
{
    if (s->count == MW_STREAM_INSTRS) {
        if (!s->error)
            s->error =
                mwi_fail(MW_ERR_CAPACITY, "a stream has at most %d instructions", MW_STREAM_INSTRS);
        return s->error;
    }
    s->instr[s->count++] = instr;
    return 0;
}

// An operand that no instruction can hold, or that means nothing: kept as the stream's failure, and no instruction.
static int refuse(struct mw_stream *s, const char *what, unsigned value, unsigned limit)
{
    int status = mwi_fail(MW_ERR_INVALID, "%s %d: 0 to %u", what, (int)value, limit - 1);
    if (!s->error)
        s->error = status;
    return status;
}

static int add_event(struct mw_stream *s, unsigned op, unsigned flags, unsigned event,
                     uint32_t threshold)
{
    unsigned events = op == MW_I_WAIT ? MW_EV_ACKS + 1 : MW_SW_EVENTS;
    if (event >= events)
        return refuse(s, "event", event, events);
    return add(
        s, (struct mw_instr){
               .op = (uint8_t)op, .flags = (uint8_t)flags, .imm = (uint16_t)event, .a = threshold});
}

static int add_range(struct mw_stream *s, unsigned op, unsigned flags, uint32_t first,
                     uint32_t tokens)
{
    return add(
        s, (struct mw_instr){.op = (uint8_t)op, .flags = (uint8_t)flags, .a = first, .b = tokens});
}

static int add_copy(struct mw_stream *s, unsigned op, unsigned imm, uint32_t from, uint32_t bytes,
                    uint32_t to)
{
    // Which GPUs there are the device knows: it refuses others.
    bool linear = op == MW_I_ST_LINEAR;
    unsigned limit = linear ? UINT16_MAX + 1 : MW_STATIC_GROUPS;
    if (imm >= limit)
        return refuse(s, linear ? "GPU" : "group", imm, limit);
    return add(s, (struct mw_instr){
                      .op = (uint8_t)op, .imm = (uint16_t)imm, .a = from, .b = bytes, .c = to});
}

int mw_stream_end(struct mw_stream *s)
{
    int status = add_range(s, MW_I_END, 0, 0, 0);
    return s->error ? s->error : status;
}

int mw_stream_wait(struct mw_stream *s, unsigned event, uint32_t threshold)
{
    return add_event(s, MW_I_WAIT, 0, event, threshold);
}

int mw_stream_count(struct mw_stream *s, uint32_t first, uint32_t tokens, bool per_gpu)
{
    return add_range(s, MW_I_COUNT, per_gpu, first, tokens);
}

int mw_stream_prefix(struct mw_stream *s)
{
    return add_range(s, MW_I_PREFIX, 0, 0, 0);
}

int mw_stream_signal(struct mw_stream *s, unsigned event)
{
    return add_event(s, MW_I_SIGNAL, 0, event, 0);
}

int mw_stream_flag(struct mw_stream *s, unsigned event, bool self)
{
    return add_event(s, MW_I_FLAG, self, event, 0);
}

int mw_stream_fence(struct mw_stream *s)
{
    return add_range(s, MW_I_FENCE, 0, 0, 0);
}

int mw_stream_dymultimem_st(struct mw_stream *s, uint32_t first, uint32_t tokens)
{
    return add_range(s, MW_I_DYMULTIMEM_ST, 0, first, tokens);
}

int mw_stream_dymultimem_st_rows(struct mw_stream *s, uint32_t first, uint32_t tokens, bool flat)
{
    return add_range(s, MW_I_DYMULTIMEM_ST, flat ? 3 : 1, first, tokens);
}

int mw_stream_st(struct mw_stream *s, uint32_t first, uint32_t tokens)
{
    return add_range(s, MW_I_ST, 0, first, tokens);
}

int mw_stream_st_linear(struct mw_stream *s, unsigned gpu, uint32_t from, uint32_t bytes,
                        uint32_t to)
{
    return add_copy(s, MW_I_ST_LINEAR, gpu, from, bytes, to);
}

int mw_stream_multimem_st(struct mw_stream *s, unsigned group, uint32_t from, uint32_t bytes,
                          uint32_t to)
{
    return add_copy(s, MW_I_MULTIMEM_ST, group, from, bytes, to);
}

int mw_stream_multimem_red(struct mw_stream *s, unsigned group, uint32_t from, uint32_t bytes,
                           uint32_t to)
{
    return add_copy(s, MW_I_MULTIMEM_RED, group, from, bytes, to);
}

int mw_stream_expert(struct mw_stream *s, unsigned flags)
{
    if (flags > 1)
        return refuse(s, "flags", flags, 2);
    return add_range(s, MW_I_EXPERT, flags, 0, 0);
}

int mw_stream_expert_rows(struct mw_stream *s)
{
    return add_range(s, MW_I_EXPERT_ROWS, 0, 0, 0);
}

int mw_stream_dymultimem_ld_reduce(struct mw_stream *s, uint32_t first, uint32_t tokens,
                                   bool as_completed)
{
    return add_range(s, MW_I_DYMULTIMEM_LD_REDUCE, as_completed, first, tokens);
}

int mw_stream_multimem_ld_reduce(struct mw_stream *s, unsigned group, uint32_t from, uint32_t bytes,
                                 uint32_t to)
{
    return add_copy(s, MW_I_MULTIMEM_LD_REDUCE, group, from, bytes, to);
}

int mw_stream_reduction(struct mw_stream *s, unsigned dtype, unsigned redop)
{
    if (s->error)
        return s->error;
    struct mw_instr *last = s->count ? &s->instr[s->count - 1] : NULL;
    bool reduces = last && (last->op == MW_I_DYMULTIMEM_LD_REDUCE ||
                            last->op == MW_I_MULTIMEM_LD_REDUCE || last->op == MW_I_MULTIMEM_RED);
    if (!reduces || dtype > 7 || redop > 7) {
        s->error = mwi_fail(MW_ERR_INVALID, "type %u, operator %u: %s", dtype, redop,
                            reduces ? "numbers have 3 bits" : "not behind an ld_reduce or red");
        return s->error;
    }
    last->imm = (uint16_t)((last->imm & 0xff) | dtype << 8 | redop << 12);
    return 0;
}

int mw_stream_sum_st(struct mw_stream *s, uint32_t first, uint32_t tokens)
{
    return add_range(s, MW_I_SUM_ST, 0, first, tokens);
}

int mw_stream_sum(struct mw_stream *s, uint32_t first, uint32_t tokens, bool own)
{
    return add_range(s, MW_I_SUM, own, first, tokens);
}

// ---- loading ------------------------------------------------------------------------------------------

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

static int check_streams(const struct mw_layout *layout, const struct mw_stream *s, unsigned gpus,
                         unsigned streams)
{
    uint32_t room = (layout->stream[1] - layout->stream[0]) / MW_INSTR_BYTES;
    for (unsigned i = 0; i < gpus * streams; i++) {
        const char *why = s[i].error ? "kept a failure"
                          : !s[i].count || s[i].instr[s[i].count - 1].op != MW_I_END ? "has no end"
                                                                                     : NULL;
        if (why)
            return mwi_fail(MW_ERR_STATE, "stream %u of GPU %u %s", i % streams, i / streams, why);
        if (s[i].count > room)
            return mwi_fail(MW_ERR_CAPACITY,
                            "stream %u of GPU %u has %u instructions, the layout %u", i % streams,
                            i / streams, s[i].count, room);
    }
    return 0;
}

int mw_stream_load(struct mw_device *device, const struct mw_layout *layout,
                   const struct mw_stream *s, unsigned streams)
{
    unsigned gpus = device->info.gpus;
    if (streams < 1 || streams > MW_STREAMS)
        return mwi_fail(MW_ERR_INVALID, "%u streams: 1 to %d", streams, MW_STREAMS);
    int status = check_streams(layout, s, gpus, streams);
    if (status)
        return status;
    enum { BYTES = MW_STREAM_INSTRS * MW_INSTR_BYTES };
    unsigned count = gpus * streams;
    uint8_t *data = malloc((size_t)count * BYTES);
    struct mw_transfer *list = calloc(count, sizeof *list);
    if (!data || !list)
        status = mwi_fail(MW_ERR_NOMEM, "no memory for streams");
    for (unsigned i = 0; i < count && !status; i++) {
        for (unsigned j = 0; j < s[i].count; j++)
            pack(data + (size_t)i * BYTES + (size_t)j * MW_INSTR_BYTES, &s[i].instr[j]);
        list[i] = (struct mw_transfer){.gpu = i / streams,
                                       .address = layout->stream[i % streams],
                                       .bytes = (size_t)s[i].count * MW_INSTR_BYTES,
                                       .data = data + (size_t)i * BYTES};
    }
    if (!status)
        status = mw_mem_write(device, list, count);
    free(data);
    free(list);
    return status;
}

void mw_route_pack(uint8_t *entry, const int16_t *topk_idx, const float *topk_weights, unsigned k)
{
    memset(entry, 0, MW_ROUTE_BYTES);
    for (unsigned j = 0; j < MW_MAX_TARGETS; j++) {
        bool used = j < k && topk_idx[j] >= 0;
        uint16_t id = used ? (uint16_t)topk_idx[j] : 0xffff;
        entry[2 * j] = (uint8_t)id;
        entry[2 * j + 1] = (uint8_t)(id >> 8);
        uint32_t bits = 0;
        if (used)
            memcpy(&bits, &topk_weights[j], sizeof bits);
        put32(entry + 32 + 4 * j, bits);
    }
}
