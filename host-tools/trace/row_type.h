// SPDX-License-Identifier: Apache-2.0
//
// Types of rows of dispatch: their sizes, and their elements as codes and as the bf16 that experts
// read (docs/design/architecture.md, "Numbers").
#ifndef MW_HOST_ROW_TYPE_H
#define MW_HOST_ROW_TYPE_H

#include "packet.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MW_ROW_TYPES = 4, ///< MW_ROWTYPE_ 0 to 3
    MW_BF16_NAN = 0x7fff,
};

/// Names that options and reports have.
extern const char *const mw_row_type_names[MW_ROW_TYPES];

/// Bytes of a row of `hidden` values.
uint64_t mw_row_type_bytes(unsigned type, unsigned hidden);

/// Whether values have scales besides: of blocks of MW_SCALE_BLOCK, or of a row and of groups of
/// MW_SCALE_GROUP.
bool mw_row_type_scaled(unsigned type);
/// Their number in a row. Those of groups, which are e4m3, follow that of the row.
unsigned mw_row_type_scales(unsigned type, unsigned hidden);

/// Values in 128 bytes of a row.
unsigned mw_row_type_values(unsigned type);

/// bf16 value of an e4m3 code, exact; NaN is MW_BF16_NAN.
uint16_t mw_e4m3_to_bf16(uint8_t code);
/// The code of a value that mw_e4m3_to_bf16 gives, -0 and NaN included.
uint8_t mw_e4m3_from_bf16(uint16_t value);

/// The code nearest to a number, ties to even; beyond 448 that of 448, with the number's sign.
uint8_t mw_e4m3_nearest(float value);

/// Scale a block of MW_SCALE_BLOCK numbers as DeepEP does: scale = max(|x|, 10^-4) / 448. `values`
/// are the codes of x * (448 / max), as the bf16 values that they have. Returns the scale.
float mw_e4m3_scale(const float *x, uint16_t *values);

/// The e2m1 code nearest to a number that is no NaN, ties to even; beyond 6 that of 6.
uint8_t mw_e2m1_nearest(float value);

/// Quantize a group of MW_SCALE_GROUP numbers of a row whose scale is `row`, as NVFP4 does. The
/// group's scale is the e4m3 nearest to max(|x|) / 6 / row, at least 2^-9. `values` are the codes
/// of x / (row * scale), as the bf16 values that they have with the scale. Returns the scale.
float mw_nvfp4_scale(const float *x, float row, uint16_t *values);

/// A row of bf16 values as it is sent: mw_row_type_bytes bytes to `row`. `scales`, as many as
/// mw_row_type_scales returns, follow. Those of groups are part of the values.
void mw_row_type_pack(unsigned type, const uint16_t *values, const float *scales, unsigned hidden,
                      void *row);

#endif
