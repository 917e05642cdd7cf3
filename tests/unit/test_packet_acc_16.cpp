// SPDX-License-Identifier: Apache-2.0
//
// test_packet_acc.cpp with 16-byte flits.

#include "Vpacket_acc_16.h"

#define DUT Vpacket_acc_16
#define DUT_NAME "packet_acc_16"
#include "test_packet_acc.cpp"
