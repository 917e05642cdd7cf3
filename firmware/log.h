// SPDX-License-Identifier: Apache-2.0
//
// The error log: the last LOG_ENTRIES events, in memory that no start of the firmware clears. After
// a start, checks show which entries are valid. After power-up, the log is empty.
#ifndef MW_FW_LOG_H
#define MW_FW_LOG_H

#include "board.h"

enum { LOG_ENTRIES = 32 };

/// Find the log of the run before, or begin one. Returns whether there was one.
bool log_open(void);
/// Append an entry, which replaces the oldest if the log is full. `code` is one of MW_LOG_*.
void log_add(const struct board *b, uint32_t code, uint32_t detail);
/// Clear all entries. Numbers continue.
void log_clear(void);
/// Number of the oldest entry, and of the next one that will be written.
uint32_t log_first(void);
uint32_t log_next(void);
/// Entry `number`; false if it is not there.
bool log_get(uint32_t number, struct mw_frame_log *entry);

#endif
