// SPDX-License-Identifier: Apache-2.0
//
// Entry n is at n modulo LOG_ENTRIES, with a check of its own that is written last. So a restart in
// the middle of a write loses that entry alone. After a start, the numbers are recovered from all
// entries.
#include "log.h"

static struct {
    struct {
        struct mw_frame_log entry;
        uint32_t check;
    } slot[LOG_ENTRIES];
    uint32_t cleared, cleared_inverted; ///< entries before that number were cleared
} kept __attribute__((section(".noinit")));

static uint32_t first, next;

static_assert((LOG_ENTRIES & (LOG_ENTRIES - 1)) == 0, "numbers wrap at 2^32");

static uint32_t check_of(const struct mw_frame_log *e)
{
    const uint32_t *w = (const uint32_t *)e;
    uint32_t sum = 0x4d574c47;
    for (unsigned i = 0; i < sizeof *e / 4; i++)
        sum = ((sum << 5 | sum >> 27) ^ w[i]) + 0x9e3779b9;
    return sum;
}

static bool holds(unsigned index)
{
    const struct mw_frame_log *e = &kept.slot[index].entry;
    return e->number % LOG_ENTRIES == index && kept.slot[index].check == check_of(e);
}

/// The newest entry, and then those before it down to the first that does not hold.
bool log_open(void)
{
    bool any = false;
    next = 0;
    for (unsigned i = 0; i < LOG_ENTRIES; i++) {
        uint32_t n = kept.slot[i].entry.number;
        if (holds(i) && (!any || n - next < UINT32_C(1) << 31)) {
            next = n + 1;
            any = true;
        }
    }
    first = next;
    while (next - first < LOG_ENTRIES && holds((first - 1) % LOG_ENTRIES) &&
           kept.slot[(first - 1) % LOG_ENTRIES].entry.number == first - 1)
        first--;
    bool marked = kept.cleared == ~kept.cleared_inverted;
    if (any && marked && kept.cleared - first <= next - first)
        first = kept.cleared;
    return any;
}

void log_add(const struct board *b, uint32_t code, uint32_t detail)
{
    unsigned index = next % LOG_ENTRIES;
    volatile uint32_t *check = &kept.slot[index].check;
    *check = ~check_of(&kept.slot[index].entry);
    kept.slot[index].entry = (struct mw_frame_log){next, code, detail, board_seconds(b)};
    *check = check_of(&kept.slot[index].entry);
    next++;
    if (next - first > LOG_ENTRIES)
        first++;
}

void log_clear(void)
{
    first = next;
    kept.cleared = next;
    kept.cleared_inverted = ~next;
}

uint32_t log_first(void)
{
    return first;
}

uint32_t log_next(void)
{
    return next;
}

bool log_get(uint32_t number, struct mw_frame_log *entry)
{
    if (number - first >= next - first)
        return false;
    *entry = kept.slot[number % LOG_ENTRIES].entry;
    return true;
}
