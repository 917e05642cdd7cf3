// SPDX-License-Identifier: Apache-2.0
//
// What the golden model expects of a layer: output rows and, where experts make them, gradients of
// gate weights.
#ifndef MW_HOST_EXPECTED_H
#define MW_HOST_EXPECTED_H

#include "golden/golden.h"

/// A place of a home's table of gradients that no expert writes.
enum { MW_NO_GRADIENT = 0x5a5a5a5a };

struct mw_expected {
    uint16_t *out; ///< [N * T][H]
    uint32_t *dw;  ///< [N * T][mw_gradient_places], the tables of all homes; NULL: it makes none
};

/// Room for those of a layer (an index). Tokens are then made one by one.
int mw_expected_make(struct mw_expected *e, const struct mw_workload *w, unsigned layer,
                     struct mw_error *err);
void mw_expected_token(struct mw_expected *e, const struct mw_workload *w, unsigned layer,
                       unsigned token);
void mw_expected_free(struct mw_expected *e);

/// Places of a token in these tables, of all tokens together.
static inline size_t mw_expected_places(const struct mw_workload *w)
{
    return (size_t)w->tokens * mw_gradient_places(w->k);
}

#endif
