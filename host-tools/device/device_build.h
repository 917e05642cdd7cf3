// SPDX-License-Identifier: Apache-2.0
//
// Opening a device whose model may have to be built first. The library only looks for models,
// and runs no compiler.
#ifndef MW_HOST_DEVICE_BUILD_H
#define MW_HOST_DEVICE_BUILD_H

#include "base/error.h"

#include "moeswitch.h"

#include <stdbool.h>

/// As mw_open. If the simulated device has no model that can run here, `make model` builds one. The
/// sources must be around the program, or MOESWITCH_SOURCE must name them. The model goes into
/// their build folder, or into the user's cache. That is reported on standard error, to which the
/// output of `make` goes too. Of programs that need the same model at the same time one builds it.
/// Returns an exit status, with the message in `err`.
int mw_device_open_built(const struct mw_open_options *options, struct mw_device **device,
                         struct mw_error *err);
/// Whether a simulated device has no model yet. Its sizes will be those of mw_device_built. A model
/// that exists has its own, which mw_info returns.
bool mw_device_lacks_model(const struct mw_open_options *options);

#endif
