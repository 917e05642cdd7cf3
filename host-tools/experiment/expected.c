// SPDX-License-Identifier: Apache-2.0
//
// See expected.h.
#include "experiment/expected.h"

#include <stdlib.h>

int mw_expected_make(struct mw_expected *e, const struct mw_workload *w, unsigned layer,
                     struct mw_error *err)
{
    const bool gradients = mw_makes_gradients(w, layer);
    e->out = malloc((size_t)w->tokens * w->shape.hidden * sizeof *e->out);
    e->dw = gradients ? malloc(mw_expected_places(w) * sizeof *e->dw) : NULL;
    if (e->out && !(gradients && !e->dw))
        return MW_EXIT_OK;
    mw_expected_free(e);
    return mw_fail_memory(err, "the golden result");
}

void mw_expected_token(struct mw_expected *e, const struct mw_workload *w, unsigned layer,
                       unsigned token)
{
    const unsigned places = mw_gradient_places(w->k);
    const size_t row = (size_t)token * w->shape.hidden;
    mw_golden_row(w, layer, token, MW_ORDER_SPEC, e->out + row);
    if (!e->dw)
        return;
    uint32_t *dw = e->dw + (size_t)token * places;
    for (unsigned p = 0; p < places; p++)
        dw[p] = MW_NO_GRADIENT;
    mw_golden_gradients(w, layer, token, w->layer[mw_layer_of_x(w, layer)].x + row,
                        w->layer[layer].x + row, dw);
}

void mw_expected_free(struct mw_expected *e)
{
    free(e->out);
    free(e->dw);
    *e = (struct mw_expected){0};
}
