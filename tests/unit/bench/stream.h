// SPDX-License-Identifier: Apache-2.0
//
// Both ends of a valid/ready stream. To drive a random ready, percent(n) is enough.
#ifndef BENCH_STREAM_H
#define BENCH_STREAM_H

#include "bench/dut.h"
#include "bench/packet.h"

#include <deque>

namespace tb {
/// Watches an output: valid never falls before ready, and what is offered is stable.
class watch {
  public:
    explicit watch(const char *its_name) : name(its_name) {}

    /// Once per cycle, before the edge. True on a transfer.
    template <class... Port> bool see(bool valid, bool ready, const Port &...port)
    {
        if (waits && !valid)
            fail_msg("%s: valid fell before ready", name);
        size_t at = 0;
        (compare(&port, sizeof port, at, valid), ...);
        waits = valid && !ready;
        return valid && ready;
    }
    bool waiting() const { return waits; }
    /// After a reset.
    void forget() { waits = false; }

  private:
    void compare(const void *port, size_t size, size_t &at, bool valid)
    {
        if (held.size() < at + size)
            held.resize(at + size);
        if (waits && memcmp(&held[at], port, size) != 0)
            fail_msg("%s: changed before ready (in the bytes from %zu on)", name, at);
        if (valid)
            memcpy(&held[at], port, size);
        at += size;
    }

    bool waits = false;
    bytes held;

  protected:
    const char *name;
};

/// The same for flits, which it cuts into packets.
class packet_watch : public watch {
  public:
    using watch::watch;

    bool gapless = false; ///< a packet that has begun is valid in every cycle up to its end

    template <class Data> bool see(bool valid, bool ready, const Data &data, bool last)
    {
        if (gapless && !open.empty() && !valid)
            fail_msg("%s: a gap in a packet", name);
        if (!watch::see(valid, ready, data, last))
            return false;
        const auto *p = reinterpret_cast<const uint8_t *>(&data);
        open.insert(open.end(), p, p + sizeof data);
        if (last) {
            packets.push_back(open);
            open.clear();
        }
        return true;
    }
    /// The oldest packet, which is removed from the queue.
    bytes take()
    {
        bytes p = std::move(packets.front());
        packets.pop_front();
        return p;
    }

    std::deque<bytes> packets; ///< whole ones
    bytes open;                ///< what came of the next
};

/// Drives an input: offers the contents of the queue, in order, at a random rate. What is offered
/// is stable until it is taken.
template <class T> class source {
  public:
    std::deque<T> queue;
    unsigned rate = 100; ///< percent of the cycles in which it starts to offer

    /// Before the outputs settle. True while front() is offered.
    bool offer(dice &rng) { return offered = offered || (!queue.empty() && rng.percent(rate)); }
    const T &front() const { return queue.front(); }
    /// Before the edge. True when front() was taken: it is removed from the queue.
    bool taken(bool ready)
    {
        if (!offered || !ready)
            return false;
        queue.pop_front();
        offered = false;
        return true;
    }
    bool empty() const { return queue.empty(); }

  private:
    bool offered = false;
};

/// The same for packets, flit by flit.
class packet_source {
  public:
    std::deque<wire> queue;
    unsigned rate = 100;
    bool pauses = true; ///< within a packet, too

    /// Before the outputs settle: drives the ports. Without a valid flit, data and last are random.
    template <class Valid, class Data, class Last>
    bool drive(dice &rng, Valid &valid, Data &data, Last &last)
    {
        offered = offered || (!queue.empty() && ((at && !pauses) || rng.percent(rate)));
        valid = offered;
        if (offered)
            put(data, front().at(at));
        else
            scramble(data, 8 * sizeof data, rng);
        last = offered ? front().last(at) : rng.percent(50);
        return offered;
    }
    const wire &front() const { return queue.front(); }
    /// The link's error bit of the flit on offer.
    bool err() const { return offered && front().marked(at); }
    /// Before the edge. True when the last flit of front() was taken: it is removed from the queue.
    bool taken(bool ready)
    {
        if (!offered || !ready)
            return false;
        offered = false;
        if (++at < front().flits())
            return false;
        at = 0;
        queue.pop_front();
        return true;
    }
    bool empty() const { return queue.empty(); }
    /// True while it offers a flit, or has begun a packet.
    bool busy() const { return offered || at > 0; }

  private:
    size_t at = 0; // flit of the first packet
    bool offered = false;
};
} // namespace tb

#endif
