// SPDX-License-Identifier: Apache-2.0
//
// Structs of options, which start with their size, between a program and this library: the program
// may have an older header or a newer one. A size that no header has, such as one that ends inside
// a field, is MW_ERR_INVALID.
#ifndef MW_STRUCT_SIZE_H
#define MW_STRUCT_SIZE_H

#include "moeswitch.h"

/// Copy the program's struct into one of this library. What the program's does not have yet is 0.
/// MW_ERR_VERSION: a field is set that this library does not have.
int mwi_take_open(struct mw_open_options *own, const struct mw_open_options *given);
int mwi_take_layer(struct mw_layer_config *own, const struct mw_layer_config *given);
/// ... `given` may be NULL: the defaults
int mwi_take_wait(struct mw_wait_options *own, const struct mw_wait_options *given);
int mwi_take_prop(struct mw_dymulticast_prop *own, const struct mw_dymulticast_prop *given);
/// ... MW_ERR_INVALID also where a function is missing that every transport has
int mwi_take_transport(struct mw_transport *own, const struct mw_transport *given);
/// Whether a configuration may be of its size.
int mwi_check_layer_size(const struct mw_layer_config *config);

/// Write defaults into the program's struct of `size` bytes. Where no header has that size, only
/// the size is written, as 0, so that every call refuses the struct.
void mwi_give_open(struct mw_open_options *to, const struct mw_open_options *defaults, size_t size);
void mwi_give_layer(struct mw_layer_config *to, const struct mw_layer_config *defaults,
                    size_t size);

#endif
