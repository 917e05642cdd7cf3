// SPDX-License-Identifier: Apache-2.0
//
// A picture of a run: for each system and layer the use of every port's links over time, and the
// latencies in the switch.
#ifndef MW_HOST_PLOT_H
#define MW_HOST_PLOT_H

#include "experiment/captions.h"
#include "experiment/result.h"

/// The picture as SVG; free() it. Layers without a monitor are left out. NULL: no memory.
char *mw_plot_svg(const struct mw_captions *captions, const struct mw_summary *summaries,
                  unsigned count, size_t *size);

#endif
