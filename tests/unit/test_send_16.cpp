// SPDX-License-Identifier: Apache-2.0
//
// test_send.cpp with eight GPUs and 16-byte flits.
#define SEND_N 8
#include "test_send.cpp"
