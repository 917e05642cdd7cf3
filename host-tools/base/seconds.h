// SPDX-License-Identifier: Apache-2.0
//
// Wall-clock time.
#ifndef MW_HOST_SECONDS_H
#define MW_HOST_SECONDS_H

/// Seconds since some start, which never go back.
double mw_seconds(void);

#endif
