// SPDX-License-Identifier: Apache-2.0
//
// test_reduction.cpp with eight GPUs and 16-byte flits.
#define PORTS 8
#include "test_reduction.cpp"
