// SPDX-License-Identifier: Apache-2.0
//
// test_reduction.cpp with two GPUs and 16-byte flits.
#define PORTS 2
#include "test_reduction.cpp"
