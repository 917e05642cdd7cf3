// SPDX-License-Identifier: Apache-2.0
//
// Whether the credits of a link cover its round trip, and the rate that is left where they do not.
#ifndef MW_HOST_ROUND_TRIP_H
#define MW_HOST_ROUND_TRIP_H

#include "device/device.h"

/// The credits that limit the rate of a link most.
struct mw_round_trip {
    const char *what; ///< such as "stores on an uplink"; NULL: all cover their round trip
    unsigned credits; ///< packets of one sender
    unsigned covers;  ///< cycles that these packets take on the link
    unsigned cycles;  ///< from a packet's first flit until its credit is back, at least
    double rate;      ///< share of the link's rate, at most
};

/// Of a device of the sizes `info`, with `settings` of credits and links of `link_latency` cycles.
/// `classes` is a mask of the classes that fill links: bit MW_CLS_STORE, MW_CLS_PART or both.
void mw_round_trip_make(struct mw_round_trip *trip, const struct mw_device_info *info,
                        const struct mw_settings *settings, unsigned link_latency,
                        unsigned classes);
/// A line of warning, where the credits are too few.
void mw_round_trip_warn(FILE *out, const struct mw_round_trip *trip);

#endif
