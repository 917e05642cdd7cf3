// SPDX-License-Identifier: Apache-2.0
//
// A GPU's memory at the read and write ports of a unit. A read returns what was written in earlier
// cycles, because read ports are sampled first.
#ifndef BENCH_MEMORY_H
#define BENCH_MEMORY_H

#include "bench/stream.h"

namespace tb {
struct memory {
    memory(size_t size, unsigned flit_bytes) : data(size), flit(flit_bytes) {}

    template <class T> void set(size_t at, T value)
    {
        memcpy(check(at, sizeof value), &value, sizeof value);
    }
    template <class T> T get(size_t at) const
    {
        T value;
        memcpy(&value, const_cast<memory *>(this)->check(at, sizeof value), sizeof value);
        return value;
    }
    void write(size_t at, const bytes &b) { memcpy(check(at, b.size()), b.data(), b.size()); }
    bytes read(size_t at, size_t size) const
    {
        const uint8_t *p = const_cast<memory *>(this)->check(at, size);
        return bytes(p, p + size);
    }

    bytes data;
    unsigned flit; ///< bytes of one address of a port

  private:
    uint8_t *check(size_t at, size_t size)
    {
        if (at > data.size() || size > data.size() - at)
            fail_msg("address 0x%zx lies outside of the memory of 0x%zx bytes", at, data.size());
        return data.data() + at;
    }
};

/// Grants at random, answers in order.
class read_port {
  public:
    read_port(const memory &its_memory, const char *its_name, unsigned cycles = 3)
        : latency(cycles), mem(its_memory), requests(its_name)
    {
    }

    unsigned rate = 100;     ///< percent of the cycles in which it grants
    unsigned most_waits = 0; ///< refusals in a row, 0: without a limit
    unsigned late = 0;       ///< an answer comes up to so many cycles after the latency
    unsigned latency;        ///< cycles from a grant to its answer
    uint64_t reads = 0;

    /// Before the outputs settle. Data are random in cycles without an answer.
    template <class Ready, class Valid, class Data>
    void drive(dice &rng, Ready &ready, Valid &rvalid, Data &rdata)
    {
        ready = rng.percent(rate) || (most_waits && waited == most_waits);
        rvalid = answer(rng, &rdata, sizeof rdata);
    }
    /// The answer of this cycle, if there is one; for a port whose ready the bench drives itself.
    bool answer(dice &rng, void *data, size_t size)
    {
        now++;
        if (answers.empty() || answers.front().due > now) {
            rng.fill(data, size);
            return false;
        }
        memcpy(data, answers.front().data.data(), size);
        answers.pop_front();
        return true;
    }
    /// Before the edge. True when a read was granted.
    bool sample(dice &rng, bool valid, bool ready, uint64_t addr)
    {
        waited = valid && !ready ? waited + 1 : 0;
        if (!requests.see(valid, ready, addr))
            return false;
        uint64_t due = now + latency + (late ? rng.below(late + 1) : 0);
        if (!answers.empty() && due <= answers.back().due)
            due = answers.back().due + 1;
        answers.push_back({due, mem.read(addr * mem.flit, mem.flit)});
        reads++;
        return true;
    }
    bool idle() const { return answers.empty(); }

  private:
    struct pending {
        uint64_t due;
        bytes data;
    };
    const memory &mem;
    watch requests;
    std::deque<pending> answers;
    uint64_t now = 0;
    unsigned waited = 0;
};

/// Grants at random, writes the bytes that are enabled.
class write_port {
  public:
    write_port(memory &its_memory, const char *its_name) : mem(its_memory), requests(its_name) {}

    unsigned rate = 100;     ///< percent of the cycles in which it grants
    unsigned most_waits = 0; ///< refusals in a row, 0: without a limit
    uint64_t writes = 0;

    template <class Ready> void drive(dice &rng, Ready &ready)
    {
        ready = rng.percent(rate) || (most_waits && waited == most_waits);
    }
    /// Before the edge. True when a write was granted.
    template <class Data>
    bool sample(bool valid, bool ready, uint64_t addr, const Data &data,
                uint32_t enable = UINT32_MAX)
    {
        waited = valid && !ready ? waited + 1 : 0;
        if (!requests.see(valid, ready, addr, data, enable))
            return false;
        bytes b = mem.read(addr * mem.flit, mem.flit);
        for (unsigned i = 0; i < mem.flit; i++)
            b[i] = enable >> i & 1 ? reinterpret_cast<const uint8_t *>(&data)[i] : b[i];
        mem.write(addr * mem.flit, b);
        writes++;
        return true;
    }

  private:
    memory &mem;
    watch requests;
    unsigned waited = 0;
};
} // namespace tb

#endif
