// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer on the firmware's commands, over the device in memory of tests/firmware. The input has
// any commands with any arguments, and starts between them. The log begins with any content, as RAM
// does at power-up. Each command gets one reply that the protocol allows, and the log stays whole.
#include "../firmware/fake.h"

#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "console.h"
#include "log.h"
#include "watch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_log(void)
{
    uint32_t first = log_first(), next = log_next();
    struct mw_frame_log e;
    if (next - first > LOG_ENTRIES || log_get(next, &e) || log_get(first - 1, &e))
        abort();
    for (uint32_t n = first; n != next; n++)
        if (!log_get(n, &e) || e.number != n)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct board board;
    struct watch watch;
    static struct feed feed;
    fake_reset();
    fake.holes = fake.no_streams = true;
    fake.regs.soc[offsetof(mw_soc_t, id) / 4] &=
        ~MW_SOC__ID__MHZ_bm; // simulated: shorter self-tests
    log_open();
    bool found = board_find(&board);
    watch_begin(&watch);
    feed_begin(&feed);
    for (; size >= 4; data += 4, size -= 4) {
        uint64_t argument = (uint64_t)data[2] << 24 | data[3];
        fake.time += (uint64_t)data[3] << 40;
        if (data[0] & 0x80) {
            // what the hardware may report or a user may type, and a start
            fake.regs.fabric[offsetof(mw_fabric_t, state) / 4] = data[1];
            fake.regs.fabric[offsetof(mw_fabric_t, node_error) / 4] = data[2];
            fake.regs.soc[offsetof(mw_soc_t, link) / 4] = (uint32_t)data[3] << 16 | data[2] << 8;
            fake.regs.soc[offsetof(mw_soc_t, fault) / 4] = data[1] >> 7;
            fake.regs.soc[offsetof(mw_soc_t, uart_rx) / 4] = 0x100 | data[2];
            fake.room = data[3];
            if (data[3] & 1)
                fake_host_reset();
            fake.never_done = data[3] & 2;
            watch_poll(&watch, &board, feed_busy(&feed));
            feed_poll(&feed, &board);
            console_poll(&board);
            fake.printed = 0;
            if (data[0] & 0x40)
                log_open();
        } else {
            unsigned words;
            fake_command(data[0] & 15, data[1] & 1 ? argument << 32 : argument, data[1] >> 4);
            // one that waits for a layer is answered once time has passed, here at once
            fake.regs.soc[offsetof(mw_soc_t, mbox_count) / 4] = data[1] >> 2 & 3;
            do
                command_poll(&feed, &board, found && !(data[1] & 2));
            while (!fake.replied);
            unsigned status = fake_reply(&words);
            if (status > MW_STATUS_FAULT || words > MW_HOST_MAX_COMMAND / 8 || (status && words))
                abort();
        }
        check_log();
    }
    return 0;
}
