// SPDX-License-Identifier: Apache-2.0
//
// See tp_golden.h.
#include "tp/tp_golden.h"

#include "base/random.h"
#include "golden/golden.h"

enum { WHOLE = 7, ONE = 0x3f80 }; ///< of exact sums: numbers from -WHOLE to WHOLE; bf16 of 1

enum mw_tp_order mw_tp_order_of(const struct mw_tp_system *system)
{
    return mw_tp_pushes(system)            ? MW_TP_ORDER_ANY
           : system->reduce == MW_TP_STEPS ? MW_TP_ORDER_STEPS
                                           : MW_TP_ORDER_HOME_LAST;
}

uint16_t mw_tp_value(const struct mw_tp_problem *p, enum mw_tp_order order, unsigned gpu,
                     unsigned row, unsigned element)
{
    if (order != MW_TP_ORDER_ANY)
        return mw_hidden_value(p->seed, gpu, row, element);
    const uint64_t place = (uint64_t)row * p->hidden + element;
    const int number = (int)(mw_hash3(p->seed, gpu, place) % (2 * WHOLE + 1)) - WHOLE;
    return mw_bf16_from_float((float)number);
}

/// Whether the part is in front of a sum that must be exact.
static bool plain(enum mw_tp_order order, enum mw_tp_part part)
{
    return order == MW_TP_ORDER_ANY && part == MW_TP_GEMM_1;
}

uint16_t mw_tp_coefficient(const struct mw_tp_problem *p, enum mw_tp_order order, unsigned gpu,
                           enum mw_tp_part part)
{
    if (plain(order, part))
        return ONE;
    return mw_expert_coefficient(p->seed, gpu * MW_TP_PARTS + part, MW_SPREAD_NEAR);
}

float mw_tp_weight(const struct mw_tp_problem *p, enum mw_tp_order order, enum mw_tp_part part,
                   unsigned row)
{
    if (plain(order, part))
        return 1;
    return (float)(1 + mw_hash3(p->seed, 0x7765 + (uint64_t)part, row) % 1024) / 1024;
}

bool mw_tp_output_everywhere(const struct mw_tp_problem *p)
{
    return mw_tp_gathers(p);
}

static uint16_t part_of(const struct mw_tp_problem *p, enum mw_tp_order order, unsigned gpu,
                        enum mw_tp_part part, unsigned row, uint16_t x)
{
    return mw_expert_value(x, mw_tp_coefficient(p, order, gpu, part),
                           mw_tp_weight(p, order, part, row));
}

static uint16_t sum(const struct mw_tp_problem *p, enum mw_tp_order order, unsigned row,
                    unsigned element)
{
    const unsigned home = row / mw_tp_own(p);
    float s = 0;
    for (unsigned q = 1; q <= p->gpus; q++) {
        const unsigned gpu = (home + q) % p->gpus;
        const uint16_t x = mw_tp_value(p, order, gpu, row, element);
        const float y = mw_bf16_to_float(part_of(p, order, gpu, MW_TP_GEMM_1, row, x));
        if (q > 1 && (order == MW_TP_ORDER_STEPS || gpu == home))
            s = mw_bf16_to_float(mw_bf16_from_float(s));
        s = q == 1 ? y : s + y;
    }
    return mw_bf16_from_float(s);
}

static uint16_t shared(const struct mw_tp_problem *p, enum mw_tp_order order, unsigned row,
                       unsigned element)
{
    const unsigned home = row / mw_tp_own(p);
    if (!mw_tp_reduces(p))
        return mw_tp_value(p, order, home, row, element);
    const uint16_t s = sum(p, order, row, element);
    return mw_tp_has(p, MW_TP_LN) ? part_of(p, order, home, MW_TP_LN, row, s) : s;
}

void mw_tp_golden(const struct mw_tp_problem *p, enum mw_tp_order order, uint16_t *out)
{
    for (unsigned row = 0; row < p->o.rows; row++)
        for (unsigned e = 0; e < p->hidden; e++)
            out[(size_t)row * p->hidden + e] = shared(p, order, row, e);
}

uint16_t mw_tp_golden_last(const struct mw_tp_problem *p, enum mw_tp_order order, unsigned gpu,
                           unsigned row, uint16_t value)
{
    return mw_tp_has(p, MW_TP_GEMM_2) ? part_of(p, order, gpu, MW_TP_GEMM_2, row, value) : value;
}
