// SPDX-License-Identifier: Apache-2.0
//
// Rows of dispatch whose type is not bf16: as a program passes them, and as a GPU's memory has
// them, with scales after values.
#ifndef MW_ROWS_H
#define MW_ROWS_H

#include "api/memory_image.h"
#include "moe/dymulticast.h"

/// Whether a call gives rows of the type that the object has (NULL: bf16), with scales that experts
/// can multiply by.
int mwi_check_rows(const struct mw_dymulticast *object, const unsigned *tokens, const char *call,
                   const struct mw_typed_rows *rows);
/// Add the rows of all GPUs, tokens[g] of each, to an image of `layout`.
int mwi_rows_image(struct mwi_image *image, const struct mw_dymulticast *object,
                   const struct mw_layout *layout, const unsigned *tokens,
                   const struct mw_typed_rows *rows);
/// Read row number `i` of `to` from the place of a row of `bytes` bf16 bytes in that type.
void mwi_row_take(unsigned type, unsigned bytes, const uint8_t *row, const struct mw_typed_rows *to,
                  size_t i);

#endif
