// SPDX-License-Identifier: Apache-2.0
#include "base/interrupt.h"

#include "base/error.h"

volatile sig_atomic_t mw_interrupted;

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
enum { SIGNALS = sizeof signals / sizeof *signals };
static struct sigaction before[SIGNALS];

static void on_interrupt(int number)
{
    mw_interrupted = number;
}

void mw_interrupt_begin(void)
{
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = SA_RESETHAND | SA_RESTART};
    mw_interrupted = 0;
    for (unsigned i = 0; i < SIGNALS; i++) {
        sigaction(signals[i], &action, &before[i]);
        if (before[i].sa_handler == SIG_IGN)
            sigaction(signals[i], &before[i], NULL);
    }
}

void mw_interrupt_end(void)
{
    for (unsigned i = 0; i < SIGNALS; i++)
        sigaction(signals[i], &before[i], NULL);
}

int mw_interrupt_status(int status)
{
    return status == MW_EXIT_INTERRUPTED && mw_interrupted ? 128 + mw_interrupted : status;
}
