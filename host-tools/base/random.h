// SPDX-License-Identifier: Apache-2.0
//
// Deterministic random numbers: the same on every machine, and addressable. The value of an element
// depends only on its place and the seed, not on earlier draws.
#ifndef MW_HOST_RANDOM_H
#define MW_HOST_RANDOM_H

#include <stdint.h>

/// The finalizer of SplitMix64: a bijection whose output bits each depend on all input bits.
static inline uint64_t mw_mix64(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/// A hash of three words, for values that are addressed by their place.
static inline uint64_t mw_hash3(uint64_t a, uint64_t b, uint64_t c)
{
    return mw_mix64(mw_mix64(mw_mix64(a) ^ b) ^ c);
}

/// A stream of random words; the state is the seed.
struct mw_random {
    uint64_t state;
};

static inline uint64_t mw_random_next(struct mw_random *r)
{
    return mw_mix64(r->state++);
}

/// Uniform in 0 .. n - 1, n from 1 to 2^32; the bias of the multiplication is below 2^-32.
static inline uint64_t mw_random_below(struct mw_random *r, uint64_t n)
{
    return ((mw_random_next(r) >> 32) * n) >> 32;
}

/// Uniform in [0, 1), a multiple of 2^-53.
static inline double mw_random_unit(struct mw_random *r)
{
    return (double)(mw_random_next(r) >> 11) * 0x1p-53;
}

#endif
