// SPDX-License-Identifier: Apache-2.0
//
// Credits of one sender for one queue at the receiver's end.
#ifndef BENCH_CREDITS_H
#define BENCH_CREDITS_H

#include "bench/random.h"

#include <set>

namespace tb {
class credits {
  public:
    credits(const char *its_name, unsigned most) : limit(most), name(its_name) {}

    unsigned limit;
    unsigned used() const { return spent; }
    unsigned left() const { return spent < limit ? limit - spent : 0; }

    /// The sender began a packet.
    void spend()
    {
        if (spent >= limit)
            fail_msg("%s: a packet without credit, all %u are spent", name, limit);
        spent++;
    }
    /// A credit returned to it.
    void give_back()
    {
        if (!spent)
            fail_msg("%s: a credit that was not spent", name);
        spent--;
    }

    /// For the receiver: the packet just received returns its credit at that time.
    void owe(uint64_t when) { owed.insert(when); }
    /// True when one is due: it is returned. At most one per cycle.
    bool due(uint64_t now)
    {
        if (owed.empty() || *owed.begin() > now)
            return false;
        owed.erase(owed.begin());
        give_back();
        return true;
    }

  private:
    const char *name;
    unsigned spent = 0;
    std::multiset<uint64_t> owed;
};
} // namespace tb

#endif
