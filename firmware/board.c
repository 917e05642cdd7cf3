// SPDX-License-Identifier: Apache-2.0
#include "board.h"

enum { MAGIC = 0x4d57, MAJOR = 2, SIMULATED_KHZ = 60000, BAUD = 115200 };

/// Of the CPU, and of what counts its clocks.
static unsigned own_khz(const struct board *b)
{
    return b->khz ? b->khz / b->cycle : SIMULATED_KHZ;
}

bool board_find(struct board *b)
{
    uint32_t id = hw_read(FABRIC(id)), size = hw_read(FABRIC(size));
    b->gpus = GET(MW_FABRIC__SIZE__PORTS, size);
    b->flit_bytes = GET(MW_FABRIC__SIZE__FLIT_BYTES, size);
    b->mem_log2 = GET(MW_FABRIC__SIZE__MEM_LOG2, size);
    uint32_t clock = hw_read(SOC(clock));
    b->khz = GET(MW_SOC__CLOCK__KHZ, clock);
    b->cycle = GET(MW_SOC__CLOCK__PER_CYCLE, clock);
    if (b->khz)
        hw_write(SOC(uart), PUT(MW_SOC__UART__DIVISOR, (own_khz(b) * 1000 + BAUD / 2) / BAUD - 1));
    return GET(MW_FABRIC__ID__MAGIC, id) == MAGIC && GET(MW_FABRIC__ID__MAJOR, id) == MAJOR;
}

/// 2^20 cycles at 1 MHz are 1 + 199/4096 s to 5 parts in a million; the product must not overflow.
uint32_t board_seconds(const struct board *b)
{
    uint32_t low = hw_read(SOC(time_lo)), high = hw_read(SOC(time_hi));
    uint32_t units = high << 12 | low >> 20, khz = own_khz(b);
    uint32_t seconds = units + (units >> 12) * 199 + ((units & 4095) * 199 >> 12);
    // of 1 MHz: thousands first, so that no product is too large
    return seconds / khz * 1000 + seconds % khz * 1000 / khz;
}

void board_feed(void)
{
    hw_write(SOC(control), MW_SOC__CONTROL__FEED_bm);
}

void board_reset_fabric(void)
{
    hw_write(SOC(control), MW_SOC__CONTROL__RESET_FABRIC_bm);
    hw_read(FABRIC(id)); // answered after the reset
}
