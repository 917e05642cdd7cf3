// SPDX-License-Identifier: Apache-2.0
//
// Instructions as text, for reports.
#ifndef MW_INSTRUCTION_TEXT_H
#define MW_INSTRUCTION_TEXT_H

#include "moeswitch.h"

#include <stdio.h>

/// Write what an instruction works on or waits for, by its operands, as "tokens 0 to 5" or "event
/// counter SW3 >= 1". Addresses are written as the instruction has them.
void mwi_print_object(FILE *out, const struct mw_instr *instr);

#endif
