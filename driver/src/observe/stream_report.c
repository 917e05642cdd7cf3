// SPDX-License-Identifier: Apache-2.0
//
// See stream_report.h. A stream's register has the opcode of the instruction that it waits for, and
// the index of the next one to issue. The operands are in GPU memory. A wait, and an instruction
// that its unit runs, have been issued, so each is one place before that index. An instruction that
// waits for its unit is at that index.
#include "observe/stream_report.h"

#include "core/memory.h"
#include "core/registers.h"
#include "observe/instruction_text.h"

/// An instruction that a stream waits for.
struct waited {
    struct mw_instr instr;
    unsigned index;
    bool or_next; ///< or for the next one, which has the same opcode
};

/// The value of a layer register that is the same at every GPU, of the layer configured or fed
/// last. 0: there is none.
static uint32_t moved_register(const struct mw_device *d, size_t offset)
{
    for (unsigned i = 0; i < MWI_MOVED; i++)
        if (d->configured.moved[i].address == MW_MAP_NODES_ALL + offset)
            return d->configured.moved[i].value;
    return 0;
}

/// False: the instruction in memory is not that of the register.
static bool find(struct mw_device *d, unsigned gpu, unsigned stream, uint32_t word,
                 struct waited *w)
{
    const unsigned index = MWI_GET(MW_NODE__STATUS__STREAM0__INDEX, word),
                   op = MWI_GET(MW_NODE__STATUS__STREAM0__OP, word), first = index ? index - 1 : 0;
    const uint64_t base =
        (uint64_t)moved_register(d, offsetof(mw_node_t, stream_base0) + 4 * stream) * MW_BASE_UNIT;
    struct mw_instr instr[2] = {{0}};
    const struct mw_transfer t = {.gpu = gpu,
                                  .address = base + (uint64_t)first * sizeof *instr,
                                  .data = instr,
                                  .bytes = sizeof instr};
    if (t.address > d->info.mem_bytes - t.bytes || mwi_mem_read(d, &t, 1))
        return false;
    const bool polls = op == MW_I_WAIT || op == MW_I_DELAY, issued = index && instr[0].op == op,
               next = !polls && instr[index - first].op == op;
    *w = (struct waited){.instr = instr[issued ? 0 : index - first],
                         .index = issued ? first : index,
                         .or_next = issued && next};
    return issued || next;
}

/// What the GPU has reached of what the instruction waits for.
static void print_reached(FILE *out, const struct mw_device *d, const struct mw_instr *i,
                          const struct mwi_reached *r)
{
    const unsigned expert = moved_register(d, offsetof(mw_node_t, expert)),
                   in_flight = d->configured.config.in_flight;
    switch (i->op) {
    case MW_I_WAIT:
        if (i->imm == MW_EV_ROWS || i->imm == MW_EV_TOKENS)
            fprintf(out, ", which is %u", i->imm == MW_EV_ROWS ? r->rows : r->tokens);
        else if (i->imm == MW_EV_ROWS_DONE)
            fprintf(out, ", which is %d", r->rows_done);
        else
            fputs(", which no register shows", out);
        if (i->b)
            fprintf(out, "; then %u cycles", i->b);
        break;
    case MW_I_DYMULTIMEM_ST:
    case MW_I_ST_ROWSP:
    case MW_I_ST:
        if (in_flight)
            fprintf(out, "; at most %u in flight, %u finished", in_flight, r->tokens);
        break;
    case MW_I_DYMULTIMEM_LD_REDUCE:
        fprintf(out, "; %u finished", r->tokens);
        break;
    case MW_I_EXPERT:
    case MW_I_EXPERT_ROWS:
        fprintf(out, "; tiles of %u rows, %u started; %u rows complete",
                MWI_GET(MW_NODE__EXPERT__TILE, expert), r->tiles, r->rows);
        break;
    default:
        break;
    }
}

static void report_waiting(FILE *out, const struct mw_device *d, const struct waited *w,
                           const struct mwi_reached *r)
{
    fprintf(out, "instruction %u", w->index);
    if (w->or_next)
        fprintf(out, " (or %u)", w->index + 1);
    fprintf(out, " %s, waiting: ", mw_op_name(w->instr.op));
    mwi_print_object(out, &w->instr);
    print_reached(out, d, &w->instr, r);
    fputc('\n', out);
}

void mwi_report_streams(FILE *out, struct mw_device *d, unsigned gpu, bool memory,
                        const struct mwi_reached *r)
{
    for (unsigned i = 0; i < MW_STREAMS; i++) {
        struct waited w;
        uint32_t word;
        if (mwi_read(d, MWI_NODE(gpu, status.stream0) + 4 * i, &word))
            continue;
        fprintf(out, "GPU %u stream %u: ", gpu, i);
        const bool waiting = word & MW_NODE__STATUS__STREAM0__WAITING_bm;
        if (waiting && memory && find(d, gpu, i, word, &w))
            report_waiting(out, d, &w, r);
        else
            fprintf(out, "instruction %u %s%s\n", MWI_GET(MW_NODE__STATUS__STREAM0__INDEX, word),
                    mw_op_name(MWI_GET(MW_NODE__STATUS__STREAM0__OP, word)),
                    word & MW_NODE__STATUS__STREAM0__ENDED_bm ? ", ended"
                    : waiting                                 ? ", waiting"
                                                              : "");
    }
}
