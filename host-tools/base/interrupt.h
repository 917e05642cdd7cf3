// SPDX-License-Identifier: Apache-2.0
//
// Ctrl-C, SIGTERM and SIGHUP: remembered while a command measures, so that it ends in order.
#ifndef MW_HOST_INTERRUPT_H
#define MW_HOST_INTERRUPT_H

#include <signal.h>

/// The signal that came, or 0; the library's waits look at it (mw_wait_options.stop).
extern volatile sig_atomic_t mw_interrupted;

/// From here to mw_interrupt_end these signals only set mw_interrupted; the second one of a
/// kind ends the process. One that was ignored, as SIGINT in a command that was started in the
/// background, stays so.
void mw_interrupt_begin(void);
void mw_interrupt_end(void);
/// The exit status of a command that would end with `status`: 128 and the signal for
/// MW_EXIT_INTERRUPTED.
int mw_interrupt_status(int status);

#endif
