// SPDX-License-Identifier: Apache-2.0
//
// Former names of settings of --set, which are still accepted. Help, manual and results
// show the current names.
#ifndef MW_HOST_OLD_NAMES_H
#define MW_HOST_OLD_NAMES_H

#include <stdbool.h>

/// Get pair i, a former name and the current one. Returns false if the table has no pair i.
bool mw_old_name(unsigned i, const char **old, const char **now);

/// Returns the current name of the setting with the former name `name`, else `name` itself.
const char *mw_current_name(const char *name);

#endif
