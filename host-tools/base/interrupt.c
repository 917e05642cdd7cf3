// SPDX-License-Identifier: Apache-2.0
#include "base/interrupt.h"

volatile sig_atomic_t mw_interrupted;
static struct sigaction before;

static void on_interrupt(int number)
{
    (void)number;
    mw_interrupted = 1;
}

void mw_interrupt_begin(void)
{
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = SA_RESETHAND | SA_RESTART};
    mw_interrupted = 0;
    sigaction(SIGINT, &action, &before);
    if (before.sa_handler == SIG_IGN)
        sigaction(SIGINT, &before, NULL);
}

void mw_interrupt_end(void)
{
    sigaction(SIGINT, &before, NULL);
}
