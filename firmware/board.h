// SPDX-License-Identifier: Apache-2.0
//
// What the firmware finds at its start: the fabric's sizes, and time.
#ifndef MW_FW_BOARD_H
#define MW_FW_BOARD_H

#include "hw.h"

/// Version of the firmware, as in INFO.
enum { FW_MAJOR = 0, FW_MINOR = 1, FW_PATCH = 0 };

/// Registers of the SoC that it needs: id, spec/soc.rdl.
enum { FW_SOC_MAJOR = 0, FW_SOC_MINOR = 1 };

/// iSerialNumber's text, which the build gives to the USB core too.
#ifndef FW_SERIAL
#define FW_SERIAL "sim"
#endif

struct board {
    unsigned gpus;
    unsigned flit_bytes;
    unsigned mem_log2; ///< of the bytes of a GPU's memory
    unsigned khz;      ///< of the fabric's nodes; 0: simulated
    unsigned cycle;    ///< of these clocks in a cycle of the fabric, which is a clock of the CPU
};

/// Find the fabric. False if there is none that this firmware supports.
bool board_find(struct board *b);

/// Seconds since power-up (a simulated device counts 60 MHz).
uint32_t board_seconds(const struct board *b);

/// The watchdog starts its period again. Every loop that may take long calls it.
void board_feed(void);

/// Put the fabric into its state after power-up.
void board_reset_fabric(void);

#endif
