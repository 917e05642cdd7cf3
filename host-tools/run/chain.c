// SPDX-License-Identifier: Apache-2.0
//
// See chain.h.
#include "run/chain.h"

#include "golden/golden.h"

#include <stdlib.h>
#include <string.h>

int mw_run_chain(struct mw_workload *w, struct mw_error *err)
{
    const size_t values = (size_t)w->tokens * w->shape.hidden, bytes = values * sizeof(uint16_t);
    if (!mw_is_stack(&w->shape))
        return MW_EXIT_OK;
    uint16_t *out = malloc(bytes);
    if (!out)
        return mw_fail_memory(err, "the results of a layer");
    for (unsigned l = MW_PASS_FORWARD; l + MW_PASSES < w->layers; l += MW_PASSES) {
        mw_golden_layer(w, l, out);
        memcpy(w->layer[l + MW_PASSES].x, out, bytes);
    }
    for (unsigned l = w->layers - MW_PASSES; l > 0; l -= MW_PASSES) {
        mw_golden_layer(w, l + MW_PASS_BACKWARD, out);
        for (unsigned pass = MW_PASS_BACKWARD; pass < MW_PASSES; pass++)
            memcpy(w->layer[l - MW_PASSES + pass].x, out, bytes);
    }
    free(out);
    return MW_EXIT_OK;
}
