// SPDX-License-Identifier: Apache-2.0
//
// Seed and random numbers. MW_SEED=n repeats a run. Each generator of each test has its own stream.
// Another test, or one more number drawn elsewhere, therefore does not change its values.
#ifndef BENCH_RANDOM_H
#define BENCH_RANDOM_H

#include "bench/check.h"

#include <ctime>
#include <initializer_list>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace tb {
using bytes = std::vector<uint8_t>;

/// MW_SEED, decimal or 0x; without it a fresh one. Printed once, at the first call.
inline uint64_t seed()
{
    static const uint64_t value = [] {
        const char *text = getenv("MW_SEED");
        char *end = nullptr;
        uint64_t s = text ? strtoull(text, &end, 0) : 0;
        if (text && (end == text || *end)) {
            fprintf(stderr, "MW_SEED=%s is no number\n", text);
            exit(1);
        }
        if (!text)
            s = std::random_device()() ^ static_cast<uint64_t>(time(nullptr));
        printf("MW_SEED=%llu\n", static_cast<unsigned long long>(s));
        fflush(stdout);
        return s;
    }();
    return value;
}

/// The number of cases that a test draws: `many` with MW_LONG, which `make test-all` sets, or
/// `few`.
inline unsigned cases(unsigned few, unsigned many)
{
    return getenv("MW_LONG") ? many : few;
}

/// The stream of the next generator. It depends on the seed, on the running test's name, and on the
/// number of generators before.
struct streams {
    static uint64_t next()
    {
        uint64_t x = (seed() ^ test) + 0x9e3779b97f4a7c15 * ++count; // splitmix64
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
        x = (x ^ x >> 27) * 0x94d049bb133111eb;
        return x ^ x >> 31;
    }
    /// The test that runs.
    static const char *name() { return of; }
    static void begin(const char *name)
    {
        count = 0;
        of = name;
        test = std::hash<std::string>()(name);
    }

  private:
    static inline const char *of = "";
    static inline uint64_t test = 0, count = 0;
};

class dice {
  public:
    dice() : dice(streams::next()) {}
    explicit dice(uint64_t stream) : engine(stream) {}

    using result_type = uint64_t;
    static constexpr uint64_t min() { return 0; }
    static constexpr uint64_t max() { return UINT64_MAX; }
    uint64_t operator()() { return engine(); }

    bool percent(unsigned p) { return engine() % 100 < p; }
    bool one_in(unsigned n) { return engine() % n == 0; }
    uint32_t below(uint64_t n) { return static_cast<uint32_t>(engine() % n); }
    /// lo and hi included
    uint32_t between(uint32_t lo, uint32_t hi) { return lo + below(uint64_t{hi} - lo + 1); }
    uint32_t word() { return static_cast<uint32_t>(engine()); }
    uint64_t bits(unsigned n) { return n ? engine() >> (64 - n) : 0; }

    template <class T> T pick(std::initializer_list<T> list)
    {
        return list.begin()[below(list.size())];
    }
    template <class List> auto &pick(List &list) { return list[below(std::size(list))]; }

    void fill(void *at, size_t size)
    {
        for (auto *p = static_cast<uint8_t *>(at); size--; p++)
            *p = static_cast<uint8_t>(engine());
    }
    bytes some(size_t size)
    {
        bytes b(size);
        fill(b.data(), size);
        return b;
    }
    template <class List> void shuffle(List &list)
    {
        for (size_t i = std::size(list); i > 1; i--)
            std::swap(list[i - 1], list[below(i)]);
    }

  private:
    std::mt19937_64 engine;
};
} // namespace tb

#endif
