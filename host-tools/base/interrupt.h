// SPDX-License-Identifier: Apache-2.0
//
// Ctrl-C: remembered while a command measures, so that it ends in order.
#ifndef MW_HOST_INTERRUPT_H
#define MW_HOST_INTERRUPT_H

#include <signal.h>

/// Not 0 after SIGINT; the library's waits look at it (mw_wait_options.stop).
extern volatile sig_atomic_t mw_interrupted;

/// From here to mw_interrupt_end SIGINT only sets mw_interrupted; a second one ends the process. Where
/// it was ignored, in a command that was started in the background, it stays so.
void mw_interrupt_begin(void);
void mw_interrupt_end(void);

#endif
