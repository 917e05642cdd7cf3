// SPDX-License-Identifier: Apache-2.0
//
// What a layer may be, by its sizes and settings.
#ifndef MW_LAYOUT_H
#define MW_LAYOUT_H

#include "moeswitch.h"

/// Whether a token's hidden values may be so large. `what` is the field of the size.
int mwi_check_row_bytes(const struct mw_device_info *info, const char *what, unsigned bytes);
/// Whether rows of dispatch may have this type; `bytes` and `what` are those of their bf16 values.
int mwi_check_row_type(const struct mw_device_info *info, unsigned type, const char *what,
                       unsigned bytes);
/// Whether experts may make gradients of gate weights from rows of this type.
int mwi_check_gradients(const struct mw_device_info *info, unsigned type);
/// Whether layers may use the counts and rows of others. `what` is the field of this setting.
int mwi_check_cached(const struct mw_device_info *info, const char *what);
/// Sizes and settings that the device cannot do.
int mwi_check_sizes(const struct mw_device_info *info, const struct mw_layer_config *config);
/// Settings that no device can: MW_ERR_INVALID, with the range of the first one.
int mwi_check_settings(const struct mw_layer_config *config);

#endif
