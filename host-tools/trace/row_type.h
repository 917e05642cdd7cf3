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
    MW_ROW_TYPES = 2, ///< MW_ROWTYPE_ 0 to 1
    MW_BF16_NAN = 0x7fff,
};

/// Names that options and reports have.
extern const char *const mw_row_type_names[MW_ROW_TYPES];

/// Bytes of a row of `hidden` values.
uint64_t mw_row_type_bytes(unsigned type, unsigned hidden);

/// Values in 128 bytes of a row.
unsigned mw_row_type_values(unsigned type);

/// bf16 value of an e4m3 code, exact; NaN is MW_BF16_NAN.
uint16_t mw_e4m3_to_bf16(uint8_t code);
/// The code of a value that mw_e4m3_to_bf16 gives, -0 and NaN included.
uint8_t mw_e4m3_from_bf16(uint16_t value);

/// A row of bf16 values as it is sent: mw_row_type_bytes bytes to `row`.
void mw_row_type_pack(unsigned type, const uint16_t *values, unsigned hidden, void *row);

#endif
