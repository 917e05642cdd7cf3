// SPDX-License-Identifier: Apache-2.0
//
// What a model says of itself before any of its code runs (sim/made.py).
#ifndef MW_MODEL_NOTE_H
#define MW_MODEL_NOTE_H

#include "moeswitch.h"

/// Read the note of the model at `path`, and check that this library and this processor can run it.
/// MW_ERR_NODEV: it is no model; MW_ERR_VERSION: one that cannot run here. `message` says which.
int mwi_model_note(const char *path, struct mw_simulation *model, char *message, size_t size);

#endif
