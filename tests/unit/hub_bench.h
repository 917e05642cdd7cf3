// SPDX-License-Identifier: Apache-2.0
//
// The names that tests of hub units had before tests/unit/bench, on top of it, for those that are not written with it yet.
#ifndef HUB_BENCH_H
#define HUB_BENCH_H

#include "bench/errors.h"
#include "bench/packet.h"
#include "bench/stream.h"
#include "isa.h"
#include "node_cfg.h"

#include <memory>

#define fail() _fail(__FILE__, __LINE__)

static uint64_t seed;

static inline void seed_from_env()
{
    seed = tb::seed();
    Verilated::randReset(2); // registers and memories start with random contents
    Verilated::randSeed(static_cast<int>(seed));
}

using tb::bytes;
using tb::get;
using tb::put;

// A packet as it must be: bytes and which of them count (targets that are not there and payload lanes behind the end do not).
struct packet {
    bytes data;
    std::vector<bool> counts;
    struct mw_header head;
};

static inline packet make_packet(unsigned flit, struct mw_header h,
                                 const std::vector<uint16_t> &targets, const bytes &payload)
{
    h.cls = h.opcode >> 4;
    if (!targets.empty())
        h.target0 = targets[0];
    const tb::wire w = tb::encode({h, targets, payload}, flit);
    return {w.data, w.sure, h};
}

static inline void assert_packet(const packet &want, const bytes &got, const char *where)
{
    tb::assert_wire({0, want.data, want.counts}, got, where);
}

struct stream_watch : tb::packet_watch {
    stream_watch() : packet_watch("stream") {}
    // Call once per cycle, before the clock edge. Returns true when a flit moves.
    bool see(bool valid, bool ready, const bytes &data, bool last)
    {
        if (data.size() == 8)
            return packet_watch::see(
                valid, ready, *reinterpret_cast<const std::array<uint8_t, 8> *>(data.data()), last);
        return packet_watch::see(
            valid, ready, *reinterpret_cast<const std::array<uint8_t, 16> *>(data.data()), last);
    }
};

// GPU memory behind one read port: random grants, answers in order a fixed number of cycles later.
class read_port {
  public:
    read_port(size_t size, unsigned flit, unsigned answer_after)
        : mem(size), f(flit), pipe(answer_after - 1, -1)
    {
    }

    // Before the edge: what the client asks for in this cycle.
    void ask(bool valid, bool ready, uint64_t addr)
    {
        if (waiting)
            assert_true(valid && addr == held);
        waiting = valid && !ready;
        held = addr;
        moved = valid && ready;
        if (moved)
            assert_true((addr + 1) * f <= mem.size());
        asked = addr;
    }

    // After the edge: the answer of this cycle, or nullptr.
    const uint8_t *answer()
    {
        pipe.push_back(moved ? static_cast<int64_t>(asked * f) : -1);
        int64_t a = pipe.front();
        pipe.pop_front();
        return a < 0 ? nullptr : mem.data() + a;
    }

    void set16(size_t at, uint16_t v) { memcpy(&mem[at], &v, 2); }
    void set32(size_t at, uint32_t v) { memcpy(&mem[at], &v, 4); }
    uint16_t get16(size_t at) const
    {
        uint16_t v;
        memcpy(&v, &mem[at], 2);
        return v;
    }

    bytes mem;

  private:
    unsigned f;
    std::deque<int64_t> pipe; // one place per cycle of latency
    bool waiting = false, moved = false;
    uint64_t held = 0, asked = 0;
};

#endif
