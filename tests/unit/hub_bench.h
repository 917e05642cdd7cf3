// SPDX-License-Identifier: Apache-2.0
//
// Parts that the benches of hub units share: flits and packets as bytes, a checker for valid/ready streams, a memory with random
// grants, and routing tables. F (bytes of a flit) is a template parameter or follows from the port.
#ifndef HUB_BENCH_H
#define HUB_BENCH_H

#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "node_cfg.h" // before cmocka.h, whose macro fail() hides its function

extern "C" {
#include <cmocka.h>
}

#include "verilated.h"

#include "errors.h"
#include "isa.h"
#include "packet.h"

static uint64_t seed;

static inline void seed_from_env()
{
    const char *env = getenv("MW_SEED");
    seed = env ? strtoull(env, nullptr, 0) : static_cast<uint64_t>(time(nullptr));
    printf("MW_SEED=%llu\n", static_cast<unsigned long long>(seed));
    Verilated::randReset(2); // registers and memories start with random contents
    Verilated::randSeed(static_cast<int>(seed));
}

using bytes = std::vector<uint8_t>;

// Ports of 64 bits are one word, wider ones an array of words; both are little-endian in memory.
template <class Port> void put(Port &port, const uint8_t *data)
{
    memcpy(&port, data, sizeof(Port));
}
template <class Port> bytes get(const Port &port)
{
    bytes b(sizeof(Port));
    memcpy(b.data(), &port, sizeof(Port));
    return b;
}

// A packet as it must be: bytes and which of them count (targets that are not there and payload lanes behind the end do not).
struct packet {
    bytes data;
    std::vector<bool> counts;
    struct mw_header head;

    void add(uint8_t b, bool used)
    {
        data.push_back(b);
        counts.push_back(used);
    }
};

static inline packet make_packet(unsigned flit, struct mw_header h,
                                 const std::vector<uint16_t> &targets, const bytes &payload)
{
    packet p;
    uint64_t w[2];
    h.cls = h.opcode >> 4;
    if (!targets.empty())
        h.target0 = targets[0];
    mw_header_pack(&h, w);
    p.head = h;
    for (unsigned i = 0; i < 16; i++)
        p.add(static_cast<uint8_t>(w[i / 8] >> (8 * (i % 8))), true);
    for (size_t t = 1; t < targets.size(); t++) {
        p.add(static_cast<uint8_t>(targets[t]), true);
        p.add(static_cast<uint8_t>(targets[t] >> 8), true);
    }
    while (p.data.size() % flit)
        p.add(0, false);
    for (uint8_t b : payload)
        p.add(b, true);
    while (p.data.size() % flit)
        p.add(0, false);
    return p;
}

static inline void assert_packet(const packet &want, const bytes &got, const char *where)
{
    bool same = want.data.size() == got.size();
    for (size_t i = 0; same && i < got.size(); i++)
        same = !want.counts[i] || want.data[i] == got[i];
    if (same)
        return;
    fprintf(stderr, "%s: wrong packet\nwant", where);
    for (size_t i = 0; i < want.data.size(); i++)
        want.counts[i] ? fprintf(stderr, " %02x", want.data[i]) : fprintf(stderr, " --");
    fprintf(stderr, "\ngot ");
    for (uint8_t b : got)
        fprintf(stderr, " %02x", b);
    fprintf(stderr, "\n");
    fail();
}

// Watches a stream: valid never falls before ready, data stable; cuts it into packets.
class stream_watch {
  public:
    // Call once per cycle, before the clock edge. Returns true when a flit moves.
    bool see(bool valid, bool ready, const bytes &data, bool last)
    {
        if (waiting) {
            assert_true(valid);
            assert_true(data == held && last == held_last);
        }
        waiting = valid && !ready;
        held = data;
        held_last = last;
        if (!valid || !ready)
            return false;
        open.insert(open.end(), data.begin(), data.end());
        if (last) {
            packets.push_back(open);
            open.clear();
        }
        return true;
    }

    std::deque<bytes> packets;
    bytes open;

  private:
    bool waiting = false, held_last = false;
    bytes held;
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
