// SPDX-License-Identifier: Apache-2.0
//
// The system `moeswitch`: as dysharp, dispatch, experts and combine side by side; but the first
// packet of a row alone carries its targets, members report finished rows to the switch, and the
// switch opens the reductions, so that neither signals nor requests cross the links.
#include "systems/generator.h"

const struct mw_generator mw_generate_moeswitch = {"moeswitch", MW_STREAMS, 5,
                                                   mw_make_side_by_side};
