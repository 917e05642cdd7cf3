// SPDX-License-Identifier: Apache-2.0
//
// test_control.cpp with eight GPUs and 16-byte flits.
#define CONTROL_N 8
#include "test_control.cpp"
