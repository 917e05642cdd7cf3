// SPDX-License-Identifier: Apache-2.0
//
// Self-tests of the device. Afterwards, the contents of memories and registers are arbitrary, and
// the caller resets the fabric.
#ifndef MW_FW_SELFTEST_H
#define MW_FW_SELFTEST_H

#include "board.h"

/// Maximum number of words of a GPU's memory that a test uses: all of them up to 16 KB, else
/// samples over all of it. Each is written and read twice.
enum { SELFTEST_WORDS = 4096, SELFTEST_WORDS_SIMULATED = 512, SELFTEST_WORDS_BOOT = 8 };

/// Address and inverted address into `words` words spread over the memory of `gpu`, and one
/// word per address line.
void selftest_memory(const struct board *b, unsigned gpu, unsigned words,
                     struct mw_frame_selftest *result);

/// Every GPU stores 256 bytes to every other; `result` of the receiving GPUs, one each. False:
/// the layer did not end, results count that as failed.
bool selftest_links(const struct board *b, struct mw_frame_selftest *result);

#endif
