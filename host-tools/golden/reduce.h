// SPDX-License-Identifier: Apache-2.0
//
// Golden model of reductions: every type and operator (docs/design/architecture.md, "Numbers"), one
// element at a time. Plain C on the host's IEEE arithmetic; it shares nothing with the RTL but the
// numbers of types and operators.
#ifndef MW_HOST_REDUCE_H
#define MW_HOST_REDUCE_H

#include "packet.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MW_FP64_NAN UINT64_C(0x7fffffffffffffff)

#ifdef __cplusplus
extern "C" {
#endif

enum {
    MW_DTYPES = 10,
    MW_REDOPS = 6,
    MW_FP8_NAN = 0x7f, ///< of both types
    MW_FP16_NAN = 0x7fff,
    MW_FP32_NAN = 0x7fffffff,
};

/// Whether there is such a reduction: and, or, xor are for integers alone, and fp64 has the sum.
bool mw_reduce_exists(unsigned dtype, unsigned redop);
bool mw_reduce_is_float(unsigned dtype);
/// Bytes of an element: 1, 2, 4 or 8.
unsigned mw_reduce_bytes(unsigned dtype);
/// PTX's name of a type (bf16, fp16, fp32, u32, s32, u64, s64, e4m3, e5m2, fp64) and the operator's
/// (sum as nccl-tests calls add).
const char *mw_reduce_type_name(unsigned dtype);
const char *mw_reduce_op_name(unsigned redop);

/// fp32 value of an fp16, exact; and the way back, to nearest even, every NaN MW_FP16_NAN.
float mw_fp16_to_float(uint16_t v);
uint16_t mw_fp16_from_float(float v);

/// A running result. For floats of 8 and 16 bits, it has the bits of an fp32 value. `first` begins
/// it with a term, `next` adds a term, and `last` makes it an element.
uint64_t mw_reduce_first(unsigned dtype, uint64_t element);
uint64_t mw_reduce_next(unsigned dtype, unsigned redop, uint64_t result, uint64_t element);
uint64_t mw_reduce_last(unsigned dtype, uint64_t result);

/// Reduce `count` terms of `bytes` bytes each, in the order given, into `out`.
void mw_reduce_rows(unsigned dtype, unsigned redop, const void *const *terms, size_t count,
                    size_t bytes, void *out);

#ifdef __cplusplus
}
#endif

#endif
