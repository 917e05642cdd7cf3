// SPDX-License-Identifier: Apache-2.0
//
// Lanes: the parts of the code that sim/lanes/lanes.py writes. A part that a model has N times is
// evaluated once for all copies. Each variable is a vector with one lane per copy, or, if it has
// one bit, a set of lanes. If copies take different branches, a mask selects the lanes of an
// assignment.
//
// Vectors are clang's ext_vector_type. A comparison gives 0 or -1 per lane, and `c ? a : b` selects
// per lane by the sign of c.
#pragma once

#ifdef __AVX2__
#include <immintrin.h>
#endif

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <sys/mman.h>

#include "verilated.h"

// A part has MW_RING copies in blocks of MW_COPIES.
#ifndef MW_RING
#define MW_RING MW_COPIES
#endif

// Parts of one model may have blocks of different sizes, so each has its own names for this.
#define MW_LANES_JOIN(a, b) a##b
#define MW_LANES_OF(copies) MW_LANES_JOIN(of_, copies)
#define MW_LANES_NAMES MW_LANES_OF(MW_COPIES)

namespace lanes {
inline namespace MW_LANES_NAMES {
constexpr unsigned up_to_power(unsigned n)
{
    unsigned p = 2;
    while (p < n)
        p *= 2;
    return p;
}
constexpr unsigned L = up_to_power(MW_COPIES); // lanes; those past MW_COPIES stay in reset

typedef uint32_t U __attribute__((ext_vector_type(L))); // up to 32 bits
typedef uint64_t Q __attribute__((ext_vector_type(L))); // up to 64 bits
typedef int32_t C __attribute__((ext_vector_type(L)));  // of a comparison: 0 or -1
typedef int64_t CQ __attribute__((ext_vector_type(L)));

// A set of lanes, a bit for each: a variable of one bit, and the condition of a branch. Most of a
// hub's logic therefore costs one instruction for all lanes, whatever vectors exist.
typedef bool B __attribute__((ext_vector_type(L)));
using in_bits = std::conditional_t<
    L <= 8, uint8_t,
    std::conditional_t<
        L <= 16, uint16_t,
        std::conditional_t<L <= 32, uint32_t,
                           std::conditional_t<L <= 64, uint64_t, unsigned __int128>>>>;
struct M {
    // Wider than necessary. If clang 19 finds vectors of bits through logic of their width, it does
    // not always terminate. Bits above L are 0. With fewer than 8 lanes, or without a wider type,
    // it must not find vectors through logic of any width (of).
    using bits = std::conditional_t<L <= 16, uint32_t,
                                    std::conditional_t<L <= 64, uint64_t, unsigned __int128>>;
    bits lanes;

    uint32_t operator[](unsigned lane) const { return static_cast<uint32_t>(lanes >> lane) & 1U; }
    void set(unsigned lane, bool to) { lanes = (lanes & ~(bits(1) << lane)) | bits(to) << lane; }
};
constexpr M ALL = {~M::bits(0) >> (8 * sizeof(M::bits) - L)};

inline M operator~(M a)
{
    return {a.lanes ^ ALL.lanes};
}
inline M operator&(M a, M b)
{
    return {a.lanes & b.lanes};
}
inline M operator|(M a, M b)
{
    return {a.lanes | b.lanes};
}
inline M operator^(M a, M b)
{
    return {a.lanes ^ b.lanes};
}
inline B of(M m)
{
#ifdef __AVX512F__
    if constexpr (L < 8 || L == 64) {
        asm("" : "+r"(m.lanes));
    } else if constexpr (L > 64) {
        auto low = static_cast<uint64_t>(m.lanes), high = static_cast<uint64_t>(m.lanes >> 64);
        asm("" : "+r"(low), "+r"(high));
        m.lanes = M::bits(high) << 64 | low;
    }
#endif
    const auto bits = static_cast<in_bits>(m.lanes);
    B b;
    memcpy(&b, &bits, sizeof b);
    return b;
}
template <typename T> inline M where(T compared)
{
    const B b = __builtin_convertvector(compared, B);
    in_bits bits;
    memcpy(&bits, &b, sizeof bits);
    return L < 8 ? M{bits} & ALL : M{bits};
}

template <std::size_t... Lane> constexpr U number_lanes(std::index_sequence<Lane...>)
{
    return U{Lane...};
}
constexpr U NUMBER = number_lanes(std::make_index_sequence<L>());

inline M nz(U x)
{
    return where(x != 0U);
}
inline M nz(Q x)
{
    return where(x != 0UL);
}
inline bool any(M m)
{
    return m.lanes != 0;
}
// bit l, lane l
inline auto set_of(M m)
{
    return std::conditional_t<L <= 32, uint32_t, M::bits>(m.lanes);
}
// the lowest lane of a set that is not empty
inline unsigned lowest(M::bits set)
{
    if constexpr (L > 64)
        return static_cast<uint64_t>(set) ? __builtin_ctzll(static_cast<uint64_t>(set))
                                          : 64 + __builtin_ctzll(static_cast<uint64_t>(set >> 64));
    return __builtin_ctzll(static_cast<uint64_t>(set));
}
// prints the text of $fatal for the copies that reach it, which never happens in a correct run
[[gnu::cold, gnu::noinline]] inline void say(const char *text, M m)
{
    uint64_t low = static_cast<uint64_t>(m.lanes), high = 0;
    if constexpr (L > 64)
        high = static_cast<uint64_t>(m.lanes >> 64);
    if (high)
        fprintf(stderr, "%s (copies %#" PRIx64 "%016" PRIx64 ")\n", text, high, low);
    else
        fprintf(stderr, "%s (copies %#" PRIx64 ")\n", text, low);
}
inline U bit(M m)
{
    return __builtin_convertvector(of(m), U);
}
inline U bit(C c)
{
    return (U)c & 1U;
}
inline U spread(M m) // all ones where it is 1
{
    return (U)(bit(m) != 0U);
}
inline M sel(M m, M a, M b)
{
    return (m & a) | (~m & b);
}
inline M sel(C c, M a, M b)
{
    return sel(where(c), a, b);
}
inline U sel(C c, U a, U b)
{
    return c ? a : b;
}
inline Q sel(C c, Q a, Q b)
{
    return __builtin_convertvector(c, CQ) ? a : b;
}
inline U sel(M m, U a, U b)
{
    return bit(m) != 0U ? a : b;
}
inline Q sel(M m, Q a, Q b)
{
    return __builtin_convertvector(of(m), Q) != 0UL ? a : b;
}
// x, computed before it is selected. Of `m ? (x & K) | (y & ~K) : x` clang makes one AVX-512
// instruction with operands in the wrong order (16, 19 and 22 do, which tests/sim/test_lanes.cpp
// would detect). The compiler must not optimize through this.
template <typename T> inline T apart(T x)
{
#ifdef __AVX512F__
    constexpr unsigned REGISTER = sizeof x < 16 ? 16 : sizeof x < 64 ? sizeof x : 64;
    typedef uint32_t R __attribute__((vector_size(REGISTER)));
    R part[(sizeof x + REGISTER - 1) / REGISTER];
    memcpy(part, &x, sizeof x);
    for (R &p : part)
        asm("" : "+v"(p));
    memcpy(&x, part, sizeof x);
#endif
    return x;
}
inline Q wide(U x)
{
    return __builtin_convertvector(x, Q);
}
inline U low(Q x)
{
    return __builtin_convertvector(x, U);
}
// shifts by any distance: bits shifted out are zero
inline U shl(U x, U by)
{
    return by < 32U ? x << (by & 31U) : (U)0U;
}
inline U shr(U x, U by)
{
    return by < 32U ? x >> (by & 31U) : (U)0U;
}
inline Q shl(Q x, U by)
{
    return sel(where(by < 64U), x << wide(by & 63U), (Q)0UL);
}
inline Q shr(Q x, U by)
{
    return sel(where(by < 64U), x >> wide(by & 63U), (Q)0UL);
}
inline U parity(U x)
{
    x ^= x >> 16U;
    x ^= x >> 8U;
    x ^= x >> 4U;
    return ((U)0x6996U >> (x & 15U)) & 1U;
}
// numbers of Bits bits with a sign, as vectors of signed numbers, and with the
// sign in all bits above
template <unsigned Bits> inline C signed_of(U x)
{
    return (C)(x << (32 - Bits)) >> (C)(int32_t)(32 - Bits);
}
template <unsigned Bits> inline CQ signed_of(Q x)
{
    return (CQ)(x << (64 - Bits)) >> (CQ)(int64_t)(64 - Bits);
}
template <unsigned Bits, typename T> inline T extend(T x)
{
    return (T)signed_of<Bits>(x);
}
// such a number shifted to the right by any distance
template <unsigned Bits> inline U shift_signed(U x, U by)
{
    return (U)(signed_of<Bits>(x) >> (C)(by < 31U ? by : (U)31U));
}
template <unsigned Bits> inline Q shift_signed(Q x, U by)
{
    return (Q)(signed_of<Bits>(x) >> (CQ)wide(by < 63U ? by : (U)63U));
}
// the number of ones
inline U ones(U x)
{
    x -= x >> 1U & 0x55555555U;
    x = (x & 0x33333333U) + (x >> 2U & 0x33333333U);
    return ((x + (x >> 4U)) & 0x0f0f0f0fU) * 0x01010101U >> 24U;
}
inline U ones(Q x)
{
    return ones(low(x)) + ones(low(x >> 32UL));
}
// division by zero gives 0, like in Verilator
template <typename T> inline T quotient(T a, T b)
{
    return sel(nz(b), a / sel(nz(b), b, (T)1U), (T)0U);
}
template <typename T> inline T remainder(T a, T b)
{
    return sel(nz(b), a % sel(nz(b), b, (T)1U), (T)0U);
}
inline U at_most(U x, uint32_t limit)
{
    return x < limit ? x : (U)limit;
}

// Word at[l] of an array for each lane l. If there is an instruction for it, it takes a fiftieth of
// the code and half the time of single loads.
inline U fetch(const uint32_t *from, U at)
{
    U r;
#if defined(__AVX512F__) && MW_COPIES > 8
    __m512i places, words;
    for (unsigned l = 0; l < L; l += 16) {
        memcpy(&places, reinterpret_cast<const char *>(&at) + l * 4, sizeof places);
        words = _mm512_i32gather_epi32(places, from, 4);
        memcpy(reinterpret_cast<char *>(&r) + l * 4, &words, sizeof words);
    }
#elif defined(__AVX2__) && MW_COPIES > 4
    __m256i places, words;
    for (unsigned l = 0; l < L; l += 8) {
        memcpy(&places, reinterpret_cast<const char *>(&at) + l * 4, sizeof places);
        words = _mm256_i32gather_epi32(reinterpret_cast<const int *>(from), places, 4);
        memcpy(reinterpret_cast<char *>(&r) + l * 4, &words, sizeof words);
    }
#else
#pragma unroll
    for (unsigned l = 0; l < L; l++)
        r[l] = from[at[l]];
#endif
    return r;
}
inline Q fetch(const uint64_t *from, U at)
{
    Q r;
#if defined(__AVX512F__) && MW_COPIES > 4
    __m256i places;
    __m512i words;
    for (unsigned l = 0; l < L; l += 8) {
        memcpy(&places, reinterpret_cast<const char *>(&at) + l * 4, sizeof places);
        words = _mm512_i32gather_epi64(places, from, 8);
        memcpy(reinterpret_cast<char *>(&r) + l * 8, &words, sizeof words);
    }
#else
#pragma unroll
    for (unsigned l = 0; l < L; l++)
        r[l] = from[at[l]];
#endif
    return r;
}

// Element `at` of each lane in a small array: `count` elements, `step` vectors apart.
template <unsigned Count, unsigned Step, typename T> inline T pick(const T *from, U at)
{
    T r = from[0];
#pragma unroll
    for (unsigned i = 1; i < Count; i++)
        r = sel(at == i, from[i * Step], r);
    return r;
}

// ... and written
template <unsigned Count, unsigned Step> inline void place(M *to, U at, M mask, M value)
{
#pragma unroll
    for (unsigned i = 0; i < Count; i++)
        to[i * Step] = sel(mask & where(at == i), value, to[i * Step]);
}

// Element `at` of each lane in a table of constants
template <typename Table> inline U lookup(const Table &table, U at)
{
    U r;
#pragma unroll
    for (unsigned l = 0; l < L; l++)
        r[l] = table[at[l]];
    return r;
}

// ... in an array of vectors of any size
template <typename T> inline T gather(const T *from, U at)
{
    return fetch(reinterpret_cast<const decltype(from[0][0] + 0) *>(from), at * L + NUMBER);
}

// Writes word i of each lane of `mask` from value i, to place(lane)[i * step].
template <typename Word, typename Place, typename... Values>
inline void put_words(M mask, unsigned step, Place place, Values... values)
{
    alignas(64) Word words[sizeof...(values)][L];
    unsigned n = 0;
    (memcpy(words[n++], &values, sizeof values), ...);
    for (auto left = set_of(mask); left; left &= left - 1) {
        unsigned l = lowest(left);
        Word *to = place(l);
        for (unsigned i = 0; i < sizeof...(values); i++)
            to[i * step] = words[i][l];
    }
}
template <typename T, typename... Values> inline void scatter(T *to, U at, M mask, Values... values)
{
    using Word = decltype(to[0][0] + 0);
    put_words<Word>(
        mask, L, [=](unsigned l) { return reinterpret_cast<Word *>(to) + at[l] * L + l; },
        values...);
}

// Words 0 to 3 at place(l) of each lane l: to[i] gets word i of each. Fetches would take longer. L
// is 8 or more.
template <typename Place> inline void turn(Place place, U *to)
{
    typedef uint32_t U4 __attribute__((ext_vector_type(4)));
    typedef uint32_t U8 __attribute__((ext_vector_type(8)));
    for (unsigned first = 0; first < L; first += 8) {
        const auto two = [&](unsigned lane) { // and the one four after it
            U4 a, b;
            memcpy(&a, place(first + lane), sizeof a);
            memcpy(&b, place(first + lane + 4), sizeof b);
            return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7);
        };
        const U8 a = two(0), b = two(1), c = two(2), d = two(3);
        const U8 ab = __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13);
        const U8 cd = __builtin_shufflevector(c, d, 0, 8, 1, 9, 4, 12, 5, 13);
        const U8 ab2 = __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15);
        const U8 cd2 = __builtin_shufflevector(c, d, 2, 10, 3, 11, 6, 14, 7, 15);
        const U8 word[4] = {__builtin_shufflevector(ab, cd, 0, 1, 8, 9, 4, 5, 12, 13),
                            __builtin_shufflevector(ab, cd, 2, 3, 10, 11, 6, 7, 14, 15),
                            __builtin_shufflevector(ab2, cd2, 0, 1, 8, 9, 4, 5, 12, 13),
                            __builtin_shufflevector(ab2, cd2, 2, 3, 10, 11, 6, 7, 14, 15)};
        for (unsigned i = 0; i < 4; i++)
            memcpy(reinterpret_cast<char *>(to + i) + first * sizeof(uint32_t), word + i,
                   sizeof word[i]);
    }
}

// A memory: `Count` elements of `Words` words, an element of a lane in one piece. Pages that are
// not written stay unmapped, so it may be larger than the machine's memory. In a small one the
// lanes' elements are interleaved. In a large one each lane is contiguous, and takes from the
// system only the pages that its copy uses.
template <typename W, typename T, unsigned Count, unsigned Words> struct memory {
    static constexpr bool LARGE =
        Count >= 1U << 20; // a word of it has an index of more than 32 bits
    static constexpr std::size_t BYTES = std::size_t(Count) * L * Words * sizeof(W);
    W *const words = static_cast<W *>(mmap(nullptr, BYTES, PROT_READ | PROT_WRITE,
                                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));

    memory()
    {
        if (words == MAP_FAILED)
            throw std::bad_alloc();
    }
    memory(const memory &) = delete;
    ~memory() { munmap(words, BYTES); }

    [[gnu::always_inline]] W *place(uint32_t at, unsigned lane) const
    {
        return words +
               (LARGE ? std::size_t(lane) * Count + at : std::size_t(at) * L + lane) * Words;
    }
    // Random contents for one lane, elements of `bits` bits. Only the first START elements are set,
    // as many as a cut-down layer uses, so unused ones cost nothing. Many copies share the time.
    void start(unsigned lane, unsigned bits)
    {
        constexpr unsigned START = 1U << (MW_RING > 32 ? 12 : 15), WORD = 8 * sizeof(W);
        const unsigned high = bits - (Words - 1) * WORD;
        uint64_t x = vl_rand64() | 1;
        for (unsigned i = 0; i < (Count < START ? Count : START); i++)
            for (unsigned w = 0; w < Words; w++) {
                x ^= x << 13;
                x ^= x >> 7;
                x ^= x << 17;
                place(i, lane)[w] = static_cast<W>(x >> (64 - (w + 1 == Words ? high : WORD)));
            }
    }
    struct element {
        T word[Words];
    };
    // all words of an element, of which only the used ones are loaded
    [[gnu::always_inline]] element row(U at) const
    {
        element r;
        T *const to = r.word;
        constexpr unsigned TURNED = sizeof(W) == 4 && L >= 8 ? Words / 4 * 4 : 0;
        if constexpr (TURNED > 0)
            for (unsigned w = 0; w < TURNED; w += 4)
                turn([&](unsigned l) { return place(at[l], l) + w; }, to + w);
        for (unsigned w = TURNED; w < Words; w++)
            to[w] = get(at, w);
        return r;
    }
    T get(U at, unsigned word) const { return get(at, (U)word); }
    [[gnu::always_inline]] T get(U at, U word) const
    {
        if constexpr (!LARGE)
            return fetch(words, (at * L + NUMBER) * Words + word);
        T r;
#pragma unroll
        for (unsigned l = 0; l < L; l++)
            r[l] = place(at[l], l)[word[l]];
        return r;
    }
    template <typename... Values> void put(U at, unsigned word, M mask, Values... values)
    {
        put_words<W>(
            mask, 1, [=](unsigned l) { return place(at[l], l) + word; }, values...);
    }
};

// `bits` bits of `value` at bit `lsb` of a wide variable
template <unsigned Words> inline void assign_sel(U *to, unsigned bits, U lsb, U value, M mask)
{
    U ones = (U)(bits < 32 ? (1U << bits) - 1 : ~0U);
#pragma unroll
    for (unsigned w = 0; w < Words; w++) {
        const C above = lsb >= 32U * w;
        U up = lsb - 32U * w, down = 32U * w - lsb;
        U m = sel(above, shl(ones, up), shr(ones, down));
        U v = sel(above, shl(value & ones, up), shr(value & ones, down));
        to[w] = sel(mask, (to[w] & ~m) | v, to[w]);
    }
}

// Wide variables added and subtracted
template <unsigned Words>
inline void add(U *to, const U (&a)[Words], const U (&b)[Words], M mask, U carry = 0U)
{
#pragma unroll
    for (unsigned w = 0; w < Words; w++) {
        const U sum = a[w] + b[w], all = sum + carry;
        carry = bit(sum < a[w] | all < sum);
        to[w] = sel(mask, all, to[w]);
    }
}
template <unsigned Words>
inline void subtract(U *to, const U (&a)[Words], const U (&b)[Words], M mask)
{
    U inverse[Words];
#pragma unroll
    for (unsigned w = 0; w < Words; w++)
        inverse[w] = ~b[w];
    add(to, a, inverse, mask, (U)1U);
}

// A wide variable shifted by any distance
template <unsigned Words> inline void shift_left(U *to, const U *from, U by, M mask)
{
    U out[Words];
#pragma unroll
    for (unsigned w = 0; w < Words; w++) {
        U r = (U)0U;
#pragma unroll
        for (unsigned k = 0; k <= w; k++) {
            U here = from[w - k] << (by & 31U);
            if (w > k)
                here |= shr(from[w - k - 1], 32U - (by & 31U));
            r = sel((by >> 5U) == k, here, r);
        }
        out[w] = r;
    }
#pragma unroll
    for (unsigned w = 0; w < Words; w++)
        to[w] = sel(mask, out[w], to[w]);
}
template <unsigned Words> inline void shift_right(U *to, const U *from, U by, M mask)
{
    U out[Words];
#pragma unroll
    for (unsigned w = 0; w < Words; w++) {
        U r = (U)0U;
#pragma unroll
        for (unsigned k = 0; w + k < Words; k++) {
            U here = from[w + k] >> (by & 31U);
            if (w + k + 1 < Words)
                here |= shl(from[w + k + 1], 32U - (by & 31U));
            r = sel((by >> 5U) == k, here, r);
        }
        out[w] = r;
    }
#pragma unroll
    for (unsigned w = 0; w < Words; w++)
        to[w] = sel(mask, out[w], to[w]);
}
} // namespace MW_LANES_NAMES
} // namespace lanes
