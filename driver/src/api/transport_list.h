// SPDX-License-Identifier: Apache-2.0
//
// The transports that options can name.
#ifndef MW_TRANSPORT_LIST_H
#define MW_TRANSPORT_LIST_H

#include "moeswitch.h"

/// The transport that the options name, or NULL; and the failure for that.
const struct mw_transport *mwi_find_transport(const struct mw_open_options *options);
int mwi_no_transport(const struct mw_open_options *options);

#endif
