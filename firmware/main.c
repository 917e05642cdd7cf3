// SPDX-License-Identifier: Apache-2.0
//
// Bring-up, and the loop that runs until the watchdog or the power ends it: commands, console, and
// what the hardware reports.
#include "command.h"
#include "console.h"
#include "log.h"
#include "selftest.h"
#include "watch.h"

enum {
    BRING_UP = 1,
    NO_FABRIC = 2,
    READY = 3,
    POWER_UP = 0, ///< cause of the last start, spec/soc.rdl
    TRAP = 2,
};

int main(void);

/// After power-up a few words of every memory; later starts leave the memories to the host,
/// whose data is in them.
static bool bring_up(struct board *b)
{
    uint32_t cause = GET(MW_SOC__RESTART__CAUSE, hw_read(SOC(restart)));
    bool kept = log_open();
    bool found = board_find(b);
    log_add(b, cause == TRAP ? MW_LOG_TRAP : MW_LOG_BOOT,
            cause == TRAP ? GET(MW_SOC__RESTART__COUNT, hw_read(SOC(restart))) : cause);
    for (unsigned g = 0; found && cause == POWER_UP && g < b->gpus; g++) {
        struct mw_frame_selftest result;
        selftest_memory(b, g, SELFTEST_WORDS_BOOT, &result);
        if (result.failed)
            log_add(b, MW_LOG_SELFTEST, result.test << 16 | g);
    }
    console_text("moeswitch: start ");
    console_number(cause);
    console_text(kept ? ", log kept, GPUs " : ", GPUs ");
    console_number(b->gpus);
    console_text(found ? "\n" : ", no fabric\n");
    return found;
}

int main(void)
{
    struct board b;
    struct watch w;
    static struct feed f;
    hw_write(SOC(firmware), PUT(MW_SOC__FIRMWARE__STAGE, BRING_UP));
    bool found = bring_up(&b);
    uint32_t stage = PUT(MW_SOC__FIRMWARE__STAGE, found ? READY : NO_FABRIC);
    watch_begin(&w);
    feed_begin(&f);
    for (uint32_t beat = 0;; beat++) {
        hw_write(SOC(firmware), stage | PUT(MW_SOC__FIRMWARE__BEAT, beat));
        board_feed();
        command_poll(&f, &b, found);
        feed_poll(&f, &b); // often: the fabric is idle between a layer and the next
        console_poll(&b);
        feed_poll(&f, &b);
        watch_poll(&w, &b, feed_busy(&f));
        feed_poll(&f, &b);
    }
}
