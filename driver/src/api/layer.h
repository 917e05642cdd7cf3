// SPDX-License-Identifier: Apache-2.0
//
// A layer on the device: its registers, and go.
#ifndef MW_LAYER_H
#define MW_LAYER_H

#include "core/moves.h"

int mwi_check_config(const struct mw_device *device, const struct mw_layer_config *config);
/// A layout that mw_layout_make did not make may have addresses or shifts that registers cannot.
int mwi_check_layout(const struct mw_device *device, const struct mw_layout *layout);
/// The registers of all nodes that differ between fed layers: those of a layer at these addresses,
/// with handle, tile and expert_cycles of `config`. Returns how many.
unsigned mwi_moved_registers(const struct mw_device *device, const struct mw_layer_config *config,
                             const struct mw_layout *layout, struct mw_register list[MWI_MOVED]);
/// As mw_layer_configure and mw_launch, under the lock, of what was checked.
int mwi_configure(struct mw_device *device, const struct mw_layer_config *config,
                  const struct mw_layout *layout, const unsigned *tokens, const unsigned *experts,
                  unsigned streams);
/// ... of a handle, whose call may be ended while tables are cleared. NULL: a mw_launch. `again`:
/// in the epoch of the layer before, with all rows that it has left.
int mwi_launch(struct mw_device *device, const struct mwi_pause *pause, bool again);

#endif
