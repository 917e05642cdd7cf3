// SPDX-License-Identifier: Apache-2.0
//
// What the tests of the hub's reductions share: GPU memory with ports that stall at random, an
// allocator, packets as lists of flits, and the sums in the host's floats in the order of
// docs/architecture.md.
#ifndef REDUCTION_MODEL_H
#define REDUCTION_MODEL_H

#include "float_ref.h"
#include "packet.h"
#include "reduce.h"

#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <random>
#include <utility>
#include <vector>

using bytes = std::vector<uint8_t>;

struct chance {
    explicit chance(uint64_t seed) : rng(seed) {}
    bool percent(unsigned p) { return rng() % 100 < p; }
    unsigned below(unsigned n) { return static_cast<unsigned>(rng() % n); }
    std::mt19937_64 rng;
};

// bf16 with all that is special about it often enough.
static inline uint16_t random_bf16(chance &c)
{
    static const uint16_t special[] = {0x0000, 0x8000, 0x0001, 0x8001, 0x007f, 0x0080, 0x8080,
                                       0x7f7f, 0xff7f, 0x7f80, 0xff80, 0x7f81, 0x7fc0, 0xffc1};
    if (c.percent(12))
        return special[c.below(sizeof special / sizeof special[0])];
    if (c.percent(30))
        return static_cast<uint16_t>(c.rng());
    // near 1, so that rounding and cancellation count
    return static_cast<uint16_t>((c.rng() & 0x8000) | (0x3e00 + c.below(0x200)));
}

static inline bytes random_row(chance &c, size_t length)
{
    bytes row(length);
    for (size_t i = 0; i < length; i += 2) {
        uint16_t h = random_bf16(c);
        memcpy(&row[i], &h, 2);
    }
    return row;
}

// Type and operator of a reduction; the sum of bf16 unless told another.
struct reduction_kind {
    unsigned dtype = MW_DTYPE_BF16, redop = MW_REDOP_ADD;
};

static inline reduction_kind random_kind(chance &c)
{
    reduction_kind k;
    do {
        k.dtype = c.below(MW_DTYPES);
        k.redop = c.below(MW_REDOPS);
    } while (!mw_reduce_exists(k.dtype, k.redop));
    return k;
}

// Rows reduced in the order given; no row gives zeros.
static inline bytes sum_rows(const std::vector<bytes> &rows, size_t length, reduction_kind kind)
{
    bytes out(length, 0);
    std::vector<const void *> terms;
    for (const bytes &r : rows)
        terms.push_back(&r[0]);
    mw_reduce_rows(kind.dtype, kind.redop, terms.data(), terms.size(), length, out.data());
    return out;
}

// Sum of rows of bf16 in the order given, in fp32, rounded at the end; no row gives zeros.
static inline bytes sum_rows(const std::vector<bytes> &rows, size_t length)
{
    bytes out(length, 0);
    for (size_t i = 0; i < length && !rows.empty(); i += 2) {
        float sum = 0;
        for (size_t r = 0; r < rows.size(); r++) {
            uint16_t h;
            memcpy(&h, &rows[r][i], 2);
            sum = r == 0 ? from_bf16(h) : sum + from_bf16(h);
        }
        uint16_t h = nearest_bf16(sum);
        memcpy(&out[i], &h, 2);
    }
    return out;
}

// Packets as flits of F bytes.
template <unsigned F> struct packets {
    struct flit {
        uint8_t b[F];
        bool last;
        bool bad; // the link's mark
    };
    using stream = std::deque<flit>;

    static void append(stream &s, const mw_header &h, const bytes &body)
    {
        uint64_t w[2];
        mw_header_pack(&h, w);
        bytes all(16 + (body.size() + F - 1) / F * F, 0);
        memcpy(&all[0], w, 16);
        if (!body.empty())
            memcpy(&all[16], &body[0], body.size());
        for (size_t i = 0; i < all.size(); i += F) {
            flit f;
            memcpy(f.b, &all[i], F);
            f.last = i + F >= all.size();
            f.bad = false;
            s.push_back(f);
        }
    }

    static mw_header header(const bytes &packet)
    {
        uint64_t w[2];
        mw_header h;
        memcpy(w, &packet[0], 16);
        mw_header_unpack(&h, w);
        return h;
    }
};

// Flit memory. A read sees every write granted in an earlier cycle.
template <unsigned F> struct flit_memory {
    explicit flit_memory(unsigned addr_width) : data(static_cast<size_t>(F) << addr_width) {}

    void put(uint64_t at, const bytes &b) { memcpy(&data.at(at), &b[0], b.size()); }
    bytes get(uint64_t at, size_t n) const
    {
        return bytes(data.begin() + static_cast<long>(at),
                     data.begin() + static_cast<long>(at + n));
    }

    bytes data;
};

// A read port: grants at random, after 5 refusals in any case, answers after a fixed time.
template <unsigned F> struct read_port {
    static const unsigned LATENCY = 3;
    unsigned ready_percent = 100;
    unsigned refused = 0;
    uint64_t reads = 0;

    // Before the edge: drives ready and the answer of this cycle.
    template <class Ready, class Valid, class Data>
    void drive(chance &c, uint64_t cycle, Ready &ready, Valid &valid, Data &data)
    {
        ready = c.percent(ready_percent) || refused == 5;
        valid = !answers.empty() && answers.front().first == cycle;
        if (valid) {
            memcpy(&data, &answers.front().second[0], F);
            answers.pop_front();
        } else {
            for (unsigned i = 0; i < F; i++)
                reinterpret_cast<uint8_t *>(&data)[i] = static_cast<uint8_t>(c.rng());
        }
    }

    // At the edge.
    void sample(uint64_t cycle, bool valid, bool ready, uint64_t addr, const flit_memory<F> &m)
    {
        refused = valid && !ready ? refused + 1 : 0;
        if (!valid || !ready)
            return;
        answers.push_back({cycle + LATENCY, m.get(addr * F, F)});
        reads++;
    }

    std::deque<std::pair<uint64_t, bytes>> answers;
};

// Looks rows up, one at a time, after 2 cycles or a miss.
struct allocator_model {
    std::map<std::pair<unsigned, unsigned>, unsigned> rows; // {local expert, token} -> row
    unsigned miss_percent = 0;
    unsigned ready_percent = 100;
    bool busy = false;
    uint64_t due = 0, lookups = 0;
    std::pair<unsigned, unsigned> key;
};

#endif
