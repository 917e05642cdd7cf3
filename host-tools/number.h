// SPDX-License-Identifier: Apache-2.0
//
// Whole numbers of command line options.
#ifndef MW_HOST_NUMBER_H
#define MW_HOST_NUMBER_H

#include "error.h"

#include <stdint.h>

/// A decimal number (or 0x...) in low .. high; it ends at `*end`, or with the text where that is NULL.
bool mw_parse_number(const char *text, char **end, uint64_t low, uint64_t high, uint64_t *value);
/// The same for option --`name`, with the message that it deserves.
int mw_set_number(const char *name, const char *text, uint64_t low, uint64_t high, uint64_t *value,
                  struct mw_error *err);
int mw_set_unsigned(const char *name, const char *text, unsigned low, unsigned high,
                    unsigned *value, struct mw_error *err);

#endif
