// SPDX-License-Identifier: Apache-2.0
//
// test_tx.cpp with 16-byte flits.
#include "test_tx.cpp"
