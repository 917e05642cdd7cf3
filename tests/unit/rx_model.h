// SPDX-License-Identifier: Apache-2.0
//
// What the tests of the hub's receive side share: packets of every kind, right and wrong, as flits,
// and a sender that keeps the rules of the link.
#ifndef RX_MODEL_H
#define RX_MODEL_H

#include "errors.h"
#include "packet.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <random>
#include <vector>

struct chance {
    explicit chance(uint64_t seed) : rng(seed) {}
    bool percent(unsigned p) { return rng() % 100 < p; }
    unsigned below(unsigned n) { return static_cast<unsigned>(rng() % n); }
    std::mt19937_64 rng;
};

using bytes = std::vector<uint8_t>;

static inline bytes random_bytes(chance &c, size_t n)
{
    bytes b(n);
    for (auto &x : b)
        x = static_cast<uint8_t>(c.rng());
    return b;
}

struct packet {
    mw_header h = {};
    std::vector<uint16_t> more; // targets behind the first
    bytes body;
    int cut = 0;      // flits to add (> 0) or to leave out (< 0) at the end
    bool err = false; // the link's error bit with the last flit
};

template <unsigned F> using flit = std::array<uint8_t, F>;

// The body lies at its byte lanes; lanes without a byte get garbage.
template <unsigned F> static std::vector<flit<F>> flits_of(const packet &p, chance &c)
{
    std::vector<flit<F>> out;
    uint64_t w[2];
    mw_header_pack(&p.h, w);
    bytes flat(16);
    memcpy(flat.data(), w, 16);
    for (size_t t = 0; t < p.more.size(); t++) {
        flat.push_back(static_cast<uint8_t>(p.more[t]));
        flat.push_back(static_cast<uint8_t>(p.more[t] >> 8));
    }
    while (flat.size() % F)
        flat.push_back(static_cast<uint8_t>(c.rng()));
    if (!p.body.empty()) {
        for (unsigned lane = 0; lane < p.h.addr % F; lane++)
            flat.push_back(static_cast<uint8_t>(c.rng()));
        flat.insert(flat.end(), p.body.begin(), p.body.end());
        while (flat.size() % F)
            flat.push_back(static_cast<uint8_t>(c.rng()));
    }
    int n = static_cast<int>(flat.size() / F) + p.cut;
    for (int i = 0; i < (n < 1 ? 1 : n); i++) {
        flit<F> f;
        for (unsigned b = 0; b < F; b++) {
            size_t at = static_cast<size_t>(i) * F + b;
            f[b] = at < flat.size() ? flat[at] : static_cast<uint8_t>(c.rng());
        }
        out.push_back(f);
    }
    return out;
}

#endif
