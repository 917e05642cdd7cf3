// SPDX-License-Identifier: Apache-2.0
//
// Models that are loaded into the device of this folder.
#ifndef MW_SIM_USB_LOAD_H
#define MW_SIM_USB_LOAD_H

#include "transport_sim/model_note.h"

/// The function of a model that returns its table, if its note permits it to run here. `size` is
/// that of the pointer at `function`. False, with a line on standard error.
bool mwd_load(const char *path, enum mwi_model of, void **library, void *function, size_t size);

#endif
