// SPDX-License-Identifier: Apache-2.0
//
// The transport "usb": a device on the bus.
#ifndef MW_TRANSPORT_USB_H
#define MW_TRANSPORT_USB_H

#include "moeswitch.h"

extern const struct mw_transport mwi_transport_usb;

#endif
