// SPDX-License-Identifier: Apache-2.0
//
// The event counters that packets can count, in a device with the given number of them.
#ifndef MW_UNIT_EVENT_NUMBERS_H
#define MW_UNIT_EVENT_NUMBERS_H

#include <cstdint>
#include <vector>

#include "isa.h"

static inline bool is_counted(unsigned events, uint64_t number)
{
    return number < MW_SW_EVENTS ||
           (events > MW_EV_SW8 && number >= MW_EV_SW8 && number <= MW_EV_SW23);
}

static inline std::vector<unsigned> counted_events(unsigned events)
{
    std::vector<unsigned> all;
    for (unsigned e = 0; e < MW_EVENTS; e++) {
        if (is_counted(events, e))
            all.push_back(e);
    }
    return all;
}

#endif
