// SPDX-License-Identifier: Apache-2.0
#define FLIT_BYTES 16
#include "test_host_link.cpp"
