// SPDX-License-Identifier: Apache-2.0
//
// Where the model of a configuration is.
#ifndef MW_MODEL_FIND_H
#define MW_MODEL_FIND_H

#include "transport_sim/model_note.h"
#include "transport_sim/model_place.h"

/// `path` gets a model for these options that can run here, and `made` gets its description. The
/// first that exists of: options->model, MOESWITCH_MODEL, a build folder, the library's folder, the
/// user's cache. MW_ERR_NODEV, MW_ERR_VERSION: `message` has which, and what to do.
int mwi_model_find(const struct mw_open_options *options, char *path, struct mw_simulation *made,
                   char *message, size_t size);

#endif
