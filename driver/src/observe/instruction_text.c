// SPDX-License-Identifier: Apache-2.0
//
// See instruction_text.h. docs/reference/isa.md lists the operands.
#include "observe/instruction_text.h"

#include <inttypes.h>

#define NAME(value, name) [value] = name,
static const char *const instructions[] = {MW_I_LIST(NAME)};
static const char *const events[MW_EVENTS] = {MW_EV_LIST(NAME)};
#undef NAME

const char *mw_op_name(unsigned op)
{
    return op < sizeof instructions / sizeof *instructions && instructions[op] ? instructions[op]
                                                                               : "?";
}

static const char *event_name(unsigned event)
{
    return event < MW_EVENTS && events[event] ? events[event] : "?";
}

/// "tokens 2 to 5 of each home": b of them from a on.
static void print_range(FILE *out, const char *what, const char *of, const struct mw_instr *i)
{
    if (i->b)
        fprintf(out, "%s %" PRIu32 " to %" PRIu64 "%s", what, i->a, (uint64_t)i->a + i->b - 1, of);
    else
        fprintf(out, "no %s", what);
}

static void print_expert_rows(FILE *out, const struct mw_instr *i)
{
    switch (i->flags & 7) {
    case 0:
        fputs("all rows", out);
        break;
    case 2:
        print_range(out, "gathered tokens", "", i);
        break;
    case 3:
        fprintf(out, "the next %" PRIu32 " loaded rows", i->b);
        break;
    default:
        print_range(out, "tokens", " of each home", i);
    }
}

static void print_sync(FILE *out, const struct mw_instr *i)
{
    if (i->flags & 1)
        fprintf(out, "tile of GPU %u, ", i->imm);
    print_range(out, i->flags & 1 ? "rows" : "own rows", "", i);
}

static void print_load(FILE *out, const struct mw_instr *i)
{
    print_range(out, "rows", " of each home", i);
    if (i->imm)
        fprintf(out, ", SYNC tiles of %u rows", i->imm);
}

static void print_copy(FILE *out, const struct mw_instr *i)
{
    const uint64_t from = i->a | (uint64_t)i->a_high << 32, to = i->c | (uint64_t)i->c_high << 32;
    fprintf(out, "%" PRIu32 " bytes from 0x%" PRIx64 " to 0x%" PRIx64 ", %s %u", i->b, from, to,
            i->op == MW_I_ST_LINEAR ? "GPU" : "group", i->imm & 0xff);
}

void mwi_print_object(FILE *out, const struct mw_instr *i)
{
    switch (i->op) {
    case MW_I_WAIT:
        fprintf(out, "event counter %s >= %" PRIu32, event_name(i->imm), i->a);
        break;
    case MW_I_DELAY:
        fprintf(out, "%" PRIu32 " cycles", i->a);
        break;
    case MW_I_SIGNAL:
    case MW_I_FLAG:
        fprintf(out, "event counter %s", event_name(i->imm));
        break;
    case MW_I_COUNT:
    case MW_I_ORDER:
    case MW_I_DYMULTIMEM_ST:
    case MW_I_ST_ROWSP:
    case MW_I_ST:
    case MW_I_DYMULTIMEM_LD_REDUCE:
        print_range(out, "tokens", "", i);
        break;
    case MW_I_SUM_ST:
        print_range(out, "tokens", " of each home", i);
        break;
    case MW_I_SUM:
        print_range(out, i->flags & 6 ? "gathered tokens" : "tokens", "", i);
        break;
    case MW_I_SYNC:
        print_sync(out, i);
        break;
    case MW_I_LD_CAIS:
        print_load(out, i);
        break;
    case MW_I_EXPERT_ROWS:
        print_expert_rows(out, i);
        break;
    case MW_I_ST_LINEAR:
    case MW_I_MULTIMEM_ST:
    case MW_I_MULTIMEM_RED:
    case MW_I_MULTIMEM_LD_REDUCE:
        print_copy(out, i);
        break;
    case MW_I_PREFIX:
        fputs("copy counts", out);
        break;
    case MW_I_FENCE:
        fputs("stores of this GPU", out);
        break;
    case MW_I_EXPERT:
        fputs("rows as they arrive", out);
        break;
    default:
        fputs("nothing", out);
    }
}
