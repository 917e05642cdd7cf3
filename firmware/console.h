// SPDX-License-Identifier: Apache-2.0
//
// Text on the UART, for people: what the firmware does, and answers to single letters. Nothing
// waits for it: what does not fit the queue is lost.
#ifndef MW_FW_CONSOLE_H
#define MW_FW_CONSOLE_H

#include "board.h"

void console_text(const char *text);
void console_hex(uint32_t value);
void console_number(uint32_t value);

/// Answer what was typed: `v` version and sizes, `l` the error log, `s` state of the fabric,
/// anything else: this list.
void console_poll(const struct board *b);

#endif
