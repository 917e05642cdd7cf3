// SPDX-License-Identifier: Apache-2.0
//
// A picture of a run: for each system and layer the use of every port's links over time, and the
// latencies in the switch.
#ifndef MW_HOST_PLOT_H
#define MW_HOST_PLOT_H

#include "experiment/result.h"

/// The picture as SVG; free() it. Layers without a monitor are left out. NULL: no memory.
char *mw_plot_svg(const struct mw_workload *w, const struct mw_summary *summaries, unsigned count,
                  size_t *size);

/// Where a link's use is drawn: in units of the picture.
struct mw_plot_axis {
    double left, scale; ///< where time begins, and the width of a cycle
    double y, half;     ///< the line of no use, and the height of a use of 1 above or below it
};

/// The use of one link of a layer of `cycles` cycles, as an SVG path of class `u` (uplink, above the line) or `d`
/// (downlink, below it): an area whose height is the share of each sample's cycles that its flits take.
void mw_plot_link(FILE *out, const struct mw_monitor *m, unsigned port, bool down, uint64_t cycles,
                  const struct mw_plot_axis *axis);

#endif
