// SPDX-License-Identifier: Apache-2.0
//
// test_reduce_lane.cpp with the lane that has nothing but the sum of bf16.

#include "Vreduce_lane.h"
#define DUT Vreduce_lane
#define DUT_NAME "reduce_lane_plain"
#define DUT_HAS(dtype, redop) ((dtype) == MW_DTYPE_BF16 && (redop) == MW_REDOP_ADD)
#include "test_reduce_lane.cpp"
