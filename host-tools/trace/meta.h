// SPDX-License-Identifier: Apache-2.0
//
// meta.json of a trace (docs/user/traces.md).
#ifndef MW_HOST_META_H
#define MW_HOST_META_H

#include "base/error.h"

#include <stddef.h>

/// What the tools need of a trace's meta.json.
struct mw_meta {
    char model[128];          ///< empty where the file has none
    unsigned experts;         ///< 1 .. 4096, a target has 12 bits for it
    unsigned hidden;          ///< of the real model, 0 where the file has none
    size_t layers, tokens, k; ///< 0 where the file has none; checked against the arrays
    char axes[32];            ///< order of the arrays' axes, as mw_axes_parse reads it, or empty
    char weights_type[32];    ///< of the weights where their array has none, or empty
};

/// Read a meta.json. Returns MW_EXIT_OK, or MW_EXIT_INPUT and a line that names file, place, cause.
int mw_meta_read(struct mw_meta *meta, const char *path, struct mw_error *err);

#endif
