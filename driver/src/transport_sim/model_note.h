// SPDX-License-Identifier: Apache-2.0
//
// The description that a model has of itself, read before any of its code runs (sim/made.py).
#ifndef MW_MODEL_NOTE_H
#define MW_MODEL_NOTE_H

#include "moeswitch.h"

/// A model is one of the fabric (sim/mw_sim.h), or of the whole device (sim/mw_device.h).
enum mwi_model { MWI_FABRIC, MWI_DEVICE };

/// Read the note of the model at `path`. Check that it is such a model, and that this library and
/// this processor can run it. MW_ERR_NODEV: it is no such model. MW_ERR_VERSION: it cannot run
/// here. `message` has the cause.
int mwi_model_note(const char *path, enum mwi_model of, struct mw_simulation *model, char *message,
                   size_t size);

#endif
