// SPDX-License-Identifier: Apache-2.0
//
// Instruction streams: one function per instruction of docs/reference/isa.md.
#include "api/stream.h"

#include "core/error.h"

enum { ADDRESS_BITS = 34 };

/// Flags of flag, of expert.rows, of expert, of multimem.st, of sum. Others are in stream.h.
enum {
    FLAG_ROWS = 2,
    FLAG_LISTS = 4,
    EXPERT_RANGE = 1,
    EXPERT_GATHERED = 2,
    EXPERT_REPORT = 1, // with EXPERT_HOMES
    EXPERT_HOMES = 4 | EXPERT_GATHERED,
    EXPERT_LANDED = EXPERT_RANGE | EXPERT_GATHERED,
    EXPERT_RETURN = 2,
    EXPERT_GRADIENTS = 8, // and of expert.rows
    COPY_ROUTES = 2,
    SUM_OWN_GATHERED = 5,
};
enum { MOST_SYNC = 255 }; ///< tokens of a tile of ld.cais
enum { SYNC_PUSHES = 1 }; ///< in flags of sync: a tile of pushes

void mw_stream_init(struct mw_stream *s)
{
    if (s)
        *s = (struct mw_stream){0};
}

static int add(struct mw_stream *s, struct mw_instr instr)
{
    if (!s)
        return mwi_fail(MW_ERR_INVALID, "mw_stream_*: the stream is NULL");
    if (s->count >= MW_STREAM_INSTRS) {
        if (!s->error)
            s->error =
                mwi_fail(MW_ERR_CAPACITY, "a stream has at most %d instructions", MW_STREAM_INSTRS);
        return s->error;
    }
    s->instr[s->count++] = instr;
    return 0;
}

// The first failure of a stream stays its own.
static int keep(struct mw_stream *s, int status)
{
    if (!s->error)
        s->error = status;
    return status;
}

// An operand that no instruction can hold, or that means nothing: kept as the stream's failure,
// and no instruction.
static int refuse(struct mw_stream *s, const char *what, unsigned value, unsigned limit)
{
    return keep(s, mwi_fail(MW_ERR_INVALID, "%s %d: 0 to %u", what, (int)value, limit - 1));
}

static int add_event(struct mw_stream *s, unsigned op, unsigned flags, unsigned event,
                     uint32_t threshold)
{
    unsigned low = op == MW_I_WAIT ? MW_EV_SYNCS + 1 : MW_SW_EVENTS;
    if (s && event >= low && (event < MW_EV_SW8 || event > MW_EV_SW23))
        return keep(s, mwi_fail(MW_ERR_INVALID, "event %d: 0 to %u, or %d to %d", (int)event,
                                low - 1, MW_EV_SW8, MW_EV_SW23));
    return add(
        s, (struct mw_instr){
               .op = (uint8_t)op, .flags = (uint8_t)flags, .imm = (uint16_t)event, .a = threshold});
}

/// Cycles that no stream can wait for are kept as its failure.
static bool refuse_cycles(struct mw_stream *s, uint32_t cycles)
{
    if (!s || cycles <= INT32_MAX)
        return false;
    refuse(s, "cycles", cycles, (unsigned)INT32_MAX + 1);
    return true;
}

static int add_range(struct mw_stream *s, unsigned op, unsigned flags, uint32_t first,
                     uint32_t tokens)
{
    return add(
        s, (struct mw_instr){.op = (uint8_t)op, .flags = (uint8_t)flags, .a = first, .b = tokens});
}

/// An address that 34 bits do not hold; kept as the stream's failure.
static int refuse_address(struct mw_stream *s, uint64_t address)
{
    return keep(s, mwi_fail(MW_ERR_INVALID, "address 0x%llx: below 2^%d",
                            (unsigned long long)address, ADDRESS_BITS));
}

static int add_copy(struct mw_stream *s, unsigned op, unsigned imm, uint64_t from, uint32_t bytes,
                    uint64_t to)
{
    // The device checks which of these GPUs and groups exist, and refuses others.
    bool linear = op == MW_I_ST_LINEAR;
    unsigned limit = linear ? MW_MAX_PORTS : MW_STATIC_GROUPS;
    if (s && imm >= limit)
        return refuse(s, linear ? "GPU" : "group", imm, limit);
    if (s && (from | to) >> ADDRESS_BITS)
        return refuse_address(s, from >> ADDRESS_BITS ? from : to);
    return add(s, (struct mw_instr){.op = (uint8_t)op,
                                    .a_high = from >> 32 & 3,
                                    .c_high = to >> 32 & 3,
                                    .imm = (uint16_t)imm,
                                    .a = (uint32_t)from,
                                    .b = bytes,
                                    .c = (uint32_t)to});
}

int mw_stream_end(struct mw_stream *s)
{
    int status = add_range(s, MW_I_END, 0, 0, 0);
    return s && s->error ? s->error : status;
}

int mw_stream_wait(struct mw_stream *s, unsigned event, uint32_t threshold)
{
    return add_event(s, MW_I_WAIT, 0, event, threshold);
}

int mw_stream_poll(struct mw_stream *s, unsigned event, uint32_t threshold, uint32_t cycles)
{
    if (refuse_cycles(s, cycles))
        return s->error;
    int status = mw_stream_wait(s, event, threshold);
    if (!status)
        s->instr[s->count - 1].b = cycles;
    return status;
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

int mw_stream_flag_rows(struct mw_stream *s, unsigned event, bool self)
{
    return add_event(s, MW_I_FLAG, FLAG_ROWS | self, event, 0);
}

int mw_stream_flag_lists(struct mw_stream *s)
{
    return add_range(s, MW_I_FLAG, FLAG_LISTS, 0, 0);
}

int mw_stream_delay(struct mw_stream *s, uint32_t cycles)
{
    if (refuse_cycles(s, cycles))
        return s->error;
    return add_range(s, MW_I_DELAY, 0, cycles, 0);
}

int mw_stream_fence(struct mw_stream *s)
{
    return add_range(s, MW_I_FENCE, 0, 0, 0);
}

int mw_stream_dymultimem_st(struct mw_stream *s, uint32_t first, uint32_t tokens)
{
    return add_range(s, MW_I_DYMULTIMEM_ST, 0, first, tokens);
}

int mw_stream_order(struct mw_stream *s, uint32_t first, uint32_t tokens, unsigned cycles)
{
    if (s && cycles > UINT16_MAX)
        return refuse(s, "cycles", cycles, UINT16_MAX + 1);
    return add(
        s, (struct mw_instr){.op = MW_I_ORDER, .imm = (uint16_t)cycles, .a = first, .b = tokens});
}

int mw_stream_dymultimem_st_ordered(struct mw_stream *s, uint32_t first, uint32_t tokens)
{
    return add_range(s, MW_I_DYMULTIMEM_ST, 4, first, tokens);
}

int mw_stream_st_rowsp(struct mw_stream *s, uint32_t first, uint32_t tokens)
{
    return add_range(s, MW_I_ST_ROWSP, 0, first, tokens);
}

int mw_stream_dymultimem_st_rows(struct mw_stream *s, uint32_t first, uint32_t tokens, bool flat)
{
    return add_range(s, MW_I_DYMULTIMEM_ST, flat ? MWI_ST_FLAT : 1, first, tokens);
}

int mw_stream_st(struct mw_stream *s, uint32_t first, uint32_t tokens)
{
    return add_range(s, MW_I_ST, 0, first, tokens);
}

int mw_stream_st_linear(struct mw_stream *s, unsigned gpu, uint64_t from, uint32_t bytes,
                        uint64_t to)
{
    return add_copy(s, MW_I_ST_LINEAR, gpu, from, bytes, to);
}

int mw_stream_multimem_st(struct mw_stream *s, unsigned group, uint64_t from, uint32_t bytes,
                          uint64_t to)
{
    return add_copy(s, MW_I_MULTIMEM_ST, group, from, bytes, to);
}

int mw_stream_multimem_red(struct mw_stream *s, unsigned group, uint64_t from, uint32_t bytes,
                           uint64_t to)
{
    return add_copy(s, MW_I_MULTIMEM_RED, group, from, bytes, to);
}

int mw_stream_red_cais(struct mw_stream *s, unsigned group, uint64_t from, uint32_t bytes,
                       uint64_t to)
{
    int status = mw_stream_multimem_red(s, group, from, bytes, to);
    if (!status)
        s->instr[s->count - 1].imm |= MWI_RED_MERGED;
    return status;
}

int mw_stream_red_cais_homes(struct mw_stream *s, unsigned group, uint64_t from, uint32_t bytes,
                             uint64_t to)
{
    int status = mw_stream_red_cais(s, group, from, bytes, to);
    if (!status)
        s->instr[s->count - 1].flags |= MWI_RED_HOMES;
    return status;
}

int mw_stream_expert(struct mw_stream *s, unsigned flags)
{
    if (s && flags > (EXPERT_RETURN | 1))
        return refuse(s, "flags", flags, (EXPERT_RETURN | 1) + 1);
    return add_range(s, MW_I_EXPERT, flags, 0, 0);
}

int mw_stream_expert_rows(struct mw_stream *s)
{
    return add_range(s, MW_I_EXPERT_ROWS, 0, 0, 0);
}

int mw_stream_expert_range(struct mw_stream *s, uint32_t first, uint32_t tokens)
{
    return add_range(s, MW_I_EXPERT_ROWS, EXPERT_RANGE, first, tokens);
}

int mw_stream_dymultimem_ld_reduce(struct mw_stream *s, uint32_t first, uint32_t tokens,
                                   bool as_completed)
{
    return add_range(s, MW_I_DYMULTIMEM_LD_REDUCE, as_completed, first, tokens);
}

int mw_stream_multimem_ld_reduce(struct mw_stream *s, unsigned group, uint64_t from, uint32_t bytes,
                                 uint64_t to)
{
    return add_copy(s, MW_I_MULTIMEM_LD_REDUCE, group, from, bytes, to);
}

int mw_stream_reduction(struct mw_stream *s, unsigned dtype, unsigned redop)
{
    MWI_NEED(s);
    if (s->error)
        return s->error;
    struct mw_instr *last = s->count ? &s->instr[s->count - 1] : NULL;
    bool reduces = last && (last->op == MW_I_DYMULTIMEM_LD_REDUCE ||
                            last->op == MW_I_MULTIMEM_LD_REDUCE || last->op == MW_I_MULTIMEM_RED);
    if (!reduces || dtype > 15 || redop > 7) {
        s->error =
            mwi_fail(MW_ERR_INVALID, "type %u, operator %u: %s", dtype, redop,
                     reduces ? "types have 4 bits, operators 3" : "not after an ld_reduce or red");
        return s->error;
    }
    const unsigned kept = last->op == MW_I_MULTIMEM_RED ? 0xff | MWI_RED_MERGED : 0xff;
    last->imm = (uint16_t)((last->imm & kept) | dtype << 8 | redop << 12);
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

/// Rows or entries of own tokens by a static group; 32 bits hold their bytes.
static int add_tokens(struct mw_stream *s, unsigned op, unsigned flags, unsigned group,
                      uint64_t from, uint64_t bytes, uint64_t to)
{
    if (s && (from | bytes) >> 32)
        return refuse_address(s, from | bytes);
    int status = add_copy(s, op, group, from, (uint32_t)bytes, to);
    if (!status)
        s->instr[s->count - 1].flags = (uint8_t)flags;
    return status;
}

int mw_stream_multimem_st_rows(struct mw_stream *s, unsigned group, uint32_t first, uint32_t tokens,
                               unsigned row_shift, uint64_t to)
{
    return add_tokens(s, MW_I_MULTIMEM_ST, MWI_COPY_ROWS, group, (uint64_t)first << row_shift,
                      (uint64_t)tokens << row_shift, to);
}

int mw_stream_multimem_st_routes(struct mw_stream *s, unsigned group, uint32_t first,
                                 uint32_t tokens, uint64_t to)
{
    return add_tokens(s, MW_I_MULTIMEM_ST, COPY_ROUTES, group, (uint64_t)first * MW_ROUTE_BYTES,
                      (uint64_t)tokens * MW_ROUTE_BYTES, to);
}

int mw_stream_multimem_ld_reduce_rows(struct mw_stream *s, unsigned group, uint64_t from,
                                      uint32_t first, uint32_t tokens, unsigned row_shift)
{
    return add_tokens(s, MW_I_MULTIMEM_LD_REDUCE, MWI_REDUCE_ROWS, group, from,
                      (uint64_t)tokens << row_shift, (uint64_t)first << row_shift);
}

int mw_stream_expert_gathered(struct mw_stream *s, uint32_t first, uint32_t tokens)
{
    return add_range(s, MW_I_EXPERT_ROWS, EXPERT_GATHERED, first, tokens);
}

int mw_stream_expert_homes(struct mw_stream *s, uint32_t first, uint32_t tokens, bool report)
{
    return add_range(s, MW_I_EXPERT_ROWS, EXPERT_HOMES | (report ? EXPERT_REPORT : 0), first,
                     tokens);
}

int mw_stream_expert_landed(struct mw_stream *s, uint32_t rows)
{
    return add_range(s, MW_I_EXPERT_ROWS, EXPERT_LANDED, 0, rows);
}

int mw_stream_ld_cais(struct mw_stream *s, uint32_t first, uint32_t tokens, unsigned tile,
                      unsigned flags)
{
    if (s && tile > MOST_SYNC)
        return refuse(s, "tokens of a tile", tile, MOST_SYNC + 1);
    if (s && flags > (MW_LOAD_ALONE | MW_LOAD_BESIDE))
        return refuse(s, "flags", flags, (MW_LOAD_ALONE | MW_LOAD_BESIDE) + 1);
    return add(s, (struct mw_instr){.op = MW_I_LD_CAIS,
                                    .flags = (uint8_t)flags,
                                    .imm = (uint16_t)tile,
                                    .a = first,
                                    .b = tokens});
}

int mw_stream_sync(struct mw_stream *s, uint32_t first, uint32_t tokens)
{
    return add_range(s, MW_I_SYNC, 0, first, tokens);
}

int mw_stream_sync_pushes(struct mw_stream *s, unsigned home, uint32_t first, uint32_t rows)
{
    if (s && home >= MW_MAX_PORTS)
        return refuse(s, "GPU", home, MW_MAX_PORTS);
    return add(
        s,
        (struct mw_instr){
            .op = MW_I_SYNC, .flags = SYNC_PUSHES, .imm = (uint16_t)home, .a = first, .b = rows});
}

int mw_stream_expert_cycles(struct mw_stream *s, unsigned cycles)
{
    MWI_NEED(s);
    if (s->error)
        return s->error;
    struct mw_instr *last = s->count ? &s->instr[s->count - 1] : NULL;
    if (!last || last->op != MW_I_EXPERT_ROWS || !(last->flags & EXPERT_GATHERED))
        return keep(s, mwi_fail(MW_ERR_INVALID, "cycles per row: not after an expert_gathered"));
    if (cycles > UINT16_MAX)
        return refuse(s, "cycles per row", cycles, UINT16_MAX + 1);
    last->imm = (uint16_t)cycles;
    return 0;
}

int mw_stream_expert_gradients(struct mw_stream *s)
{
    MWI_NEED(s);
    if (s->error)
        return s->error;
    struct mw_instr *last = s->count ? &s->instr[s->count - 1] : NULL;
    if (!last || (last->op != MW_I_EXPERT && last->op != MW_I_EXPERT_ROWS))
        return keep(s, mwi_fail(MW_ERR_INVALID, "gradients: not after an expert"));
    last->flags |= EXPERT_GRADIENTS;
    return 0;
}

int mw_stream_sum_dense(struct mw_stream *s, uint32_t first, uint32_t tokens, enum mw_dense which)
{
    if (s && which != MW_DENSE_EMPTY && which != MW_DENSE_SUMS && which != MW_DENSE_ALL)
        return keep(s, mwi_fail(MW_ERR_INVALID, "dense rows %d: %d, %d or %d", (int)which,
                                MW_DENSE_EMPTY, MW_DENSE_SUMS, MW_DENSE_ALL));
    return add_range(s, MW_I_SUM, which, first, tokens);
}

int mw_stream_sum_gathered(struct mw_stream *s, uint32_t first, uint32_t tokens, uint32_t gathered)
{
    return add(
        s, (struct mw_instr){
               .op = MW_I_SUM, .flags = SUM_OWN_GATHERED, .a = first, .b = tokens, .c = gathered});
}

/// What a device lacks that has no reductions of this type. NULL: it has them, or there is no such
/// type, which the device reports.
static const char *lacks_type(const struct mw_device_info *info, unsigned dtype)
{
    static const char *const reductions[] = {MW_DTYPE_NAMES("reductions of ")};
    if (dtype >= sizeof reductions / sizeof *reductions || info->red_types >> dtype & 1)
        return NULL;
    return reductions[dtype];
}

/// What an instruction needs that the device was built without, NULL: nothing.
static const char *lacks(const struct mw_device_info *info, const struct mw_instr *in)
{
    static const char GATHERED[] = "gathered tokens", LOADS[] = "merged loads",
                      PUSHES[] = "SYNC of pushes";
    const unsigned rows = in->flags & ~EXPERT_GRADIENTS; // of expert.rows
    if ((in->op == MW_I_EXPERT || in->op == MW_I_EXPERT_ROWS) && in->flags & EXPERT_GRADIENTS &&
        !info->gate_gradients)
        return "gradients of gate weights";
    switch (in->op) {
    case MW_I_SYNC:
        if (in->flags & SYNC_PUSHES)
            return info->merge_reds ? NULL : PUSHES;
        // fall through
    case MW_I_LD_CAIS:
        return info->merge_loads ? NULL : LOADS;
    case MW_I_DELAY:
        return info->delay ? NULL : "delay";
    case MW_I_ST_ROWSP:
        return info->row_sparse ? NULL : "st.rowsp";
    case MW_I_EXPERT:
        return in->flags & EXPERT_RETURN && !info->row_sparse ? "rows that return" : NULL;
    case MW_I_EXPERT_ROWS:
        if (in->flags & EXPERT_GATHERED && !info->gathered)
            return GATHERED;
        if (rows == EXPERT_LANDED)
            return info->merge_loads ? NULL : LOADS;
        if (in->flags & EXPERT_GATHERED)
            return (in->flags & EXPERT_HOMES) == EXPERT_HOMES && !info->tile_reductions
                       ? "rows of every home in turn"
                       : NULL;
        return in->flags & EXPERT_RANGE && !info->row_ranges ? "expert.rows over ranges of tokens"
                                                             : NULL;
    case MW_I_SUM:
        return in->flags & ~1u && !info->gathered ? GATHERED : NULL;
    case MW_I_MULTIMEM_ST:
        return in->flags && !info->gathered ? GATHERED : NULL;
    case MW_I_MULTIMEM_LD_REDUCE:
        return in->flags && !info->gathered ? GATHERED : lacks_type(info, in->imm >> 8 & 15);
    case MW_I_DYMULTIMEM_LD_REDUCE:
        return lacks_type(info, in->imm >> 8 & 15);
    case MW_I_MULTIMEM_RED:
        if ((in->imm & MWI_RED_MERGED || in->flags & MWI_RED_HOMES) && !info->merge_reds)
            return "red.cais";
        return info->multimem_red ? lacks_type(info, in->imm >> 8 & 15) : "multimem.red";
    case MW_I_FLAG:
        if (in->flags & FLAG_ROWS && !info->row_ranges)
            return "flags that report rows";
        if (in->flags & FLAG_LISTS)
            return info->source_lists ? NULL : "lists of rows of each source";
        // fall through
    case MW_I_WAIT:
        if (in->op == MW_I_WAIT && in->b && !info->delay)
            return "delays behind a wait";
        if (in->op == MW_I_WAIT && in->imm == MW_EV_SYNCS)
            return info->merge_reds ? NULL : PUSHES;
        // fall through
    case MW_I_SIGNAL:
        return in->imm >= MW_EV_SW8 && !info->more_events ? "event counters from SW8 on" : NULL;
    default:
        return NULL;
    }
}

const char *mwi_stream_lacks(const struct mw_device_info *info, const struct mw_stream *s,
                             unsigned *instr)
{
    const char *what = NULL;
    for (unsigned i = 0; i < s->count && !what; i++) {
        what = lacks(info, &s->instr[i]);
        *instr = i;
    }
    return what;
}
