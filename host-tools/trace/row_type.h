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
    MW_ROW_TYPES = 3, ///< MW_ROWTYPE_ 0 to 2
    MW_BF16_NAN = 0x7fff,
};

/// Names that options and reports have.
extern const char *const mw_row_type_names[MW_ROW_TYPES];

/// Bytes of a row of `hidden` values.
uint64_t mw_row_type_bytes(unsigned type, unsigned hidden);

/// Whether blocks of MW_SCALE_BLOCK values have a scale each.
bool mw_row_type_scaled(unsigned type);

/// Values in 128 bytes of a row.
unsigned mw_row_type_values(unsigned type);

/// bf16 value of an e4m3 code, exact; NaN is MW_BF16_NAN.
uint16_t mw_e4m3_to_bf16(uint8_t code);
/// The code of a value that mw_e4m3_to_bf16 gives, -0 and NaN included.
uint8_t mw_e4m3_from_bf16(uint16_t value);

/// The code nearest to a number, ties to even; beyond 448 that of 448, with the number's sign.
uint8_t mw_e4m3_nearest(float value);

/// A block of MW_SCALE_BLOCK numbers as DeepEP scales it: scale = max(|x|, 10^-4) / 448, and codes
/// of x * (448 / max), as the bf16 values that they have. Returns the scale.
float mw_e4m3_scale(const float *x, uint16_t *values);

/// A row of bf16 values as it is sent: mw_row_type_bytes bytes to `row`. `scales`, of each block,
/// follow where the type has some.
void mw_row_type_pack(unsigned type, const uint16_t *values, const float *scales, unsigned hidden,
                      void *row);

#endif
