// SPDX-License-Identifier: Apache-2.0
//
// The system `moeswitch`: as in dysharp, dispatch, experts and combine run side by side. Three
// things differ. Only the first packet of a row carries its targets, members report finished rows
// to the switch, and the switch opens the reductions. So neither signals nor requests cross the
// links.
#include "systems/generator.h"

const struct mw_generator mw_generate_moeswitch = {"moeswitch", MW_STREAMS, 6,
                                                   mw_make_side_by_side};
