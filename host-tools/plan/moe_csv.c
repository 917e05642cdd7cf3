// SPDX-License-Identifier: Apache-2.0
//
// See moe_csv.h.
#include "plan/moe_csv.h"

#include <math.h>
#include <string.h>

/// Microseconds of the block.
static double block_us(const struct mw_planner *p, const struct mw_parallel *how, unsigned tokens,
                       unsigned activated)
{
    const unsigned k = p->task.model.k < activated ? p->task.model.k : activated;
    const struct mw_layer_work work = {.tokens = tokens,
                                       .sequences = 1,
                                       .context = 1,
                                       .expert_rows = (double)tokens * k,
                                       .local_experts = activated};
    struct mw_operator op[MW_OPERATORS];
    const unsigned count = mw_layer_operators(&p->task, how, &work, op);
    double seconds = 0;
    for (unsigned i = 0; i < count; i++) {
        bool measured;
        if (op[i].kind == MW_OP_EXPERTS || op[i].kind == MW_OP_POINTWISE ||
            strcmp(op[i].name, "router") == 0)
            seconds += mw_compute_seconds(&p->compute, &p->task, &op[i], &measured);
    }
    return 1e6 * seconds;
}

void mw_moe_csv(FILE *out, const struct mw_planner *p, const struct mw_step *s, unsigned most)
{
    const unsigned local = p->task.model.experts / s->parallel.ep;
    fputs("tokens,activated_experts,time_us\n", out);
    for (unsigned tokens = 1; tokens <= most; tokens *= 2)
        for (unsigned activated = 1; activated <= local; activated *= 2)
            if (activated <= (uint64_t)tokens * p->task.model.k)
                fprintf(out, "%u,%u,%.3f\n", tokens, activated,
                        block_us(p, &s->parallel, tokens, activated));
}
