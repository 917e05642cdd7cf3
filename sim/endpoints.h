// SPDX-License-Identifier: Apache-2.0
//
// State of the two endpoints in the models of mw_device.h: bytes that wait for OUT, and transfers
// received from IN.
#ifndef MW_ENDPOINTS_H
#define MW_ENDPOINTS_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <vector>

class endpoints {
  public:
    void clear() { *this = endpoints(); }

    // ---- OUT ----
    void put(const uint8_t *data, std::size_t bytes)
    {
        waiting.insert(waiting.end(), data, data + bytes);
    }
    std::size_t pending() const { return waiting.size() - taken; }
    const uint8_t *next() const { return &waiting[taken]; }
    void take(std::size_t bytes)
    {
        taken += bytes;
        if (taken == waiting.size()) {
            waiting.clear();
            taken = 0;
        }
    }

    // ---- IN ----
    bool room() const { return whole.size() < TRANSFERS; }
    void add(const uint8_t *data, std::size_t bytes)
    {
        part.insert(part.end(), data, data + bytes);
    }
    void end_transfer()
    {
        whole.push_back(std::move(part));
        part.clear();
    }
    std::size_t fetch(uint8_t *data, std::size_t most, bool *last)
    {
        *last = false;
        if (whole.empty())
            return 0;
        const auto &first = whole.front();
        std::size_t n = std::min(most, first.size() - fetched);
        if (n > 0)
            memcpy(data, &first[fetched], n);
        fetched += n;
        if (fetched == first.size()) {
            *last = true;
            fetched = 0;
            whole.pop_front();
        }
        return n;
    }

  private:
    static constexpr std::size_t TRANSFERS = 2; // complete ones that wait to be fetched
    std::vector<uint8_t> waiting;
    std::size_t taken = 0; // of these
    std::deque<std::vector<uint8_t>> whole;
    std::vector<uint8_t> part;
    std::size_t fetched = 0; // of the first complete one
};

#endif
