// SPDX-License-Identifier: Apache-2.0
//
// A test program: TEST(name) { ... } for each test. Tests run in the order of the file. main is in
// the library. A test that fails is reported with its cycle.
#ifndef BENCH_TEST_H
#define BENCH_TEST_H

#include "bench/random.h"

namespace tb {
/// Cycle of the model clocked last, for messages.
inline uint64_t last_cycle = 0;

struct test {
    test(const char *its_name, void (*its_body)(), bool wanted = true)
        : name(its_name), body(its_body)
    {
        if (wanted)
            all().push_back(this);
    }
    static std::vector<const test *> &all()
    {
        static std::vector<const test *> list;
        return list;
    }

    const char *name;
    void (*body)();
};
} // namespace tb

/// A test that is in the list only where the condition, on what the module was built with, holds.
#define TEST_IF(condition, name) \
    static void test_##name(); \
    static const tb::test listed_##name(#name, test_##name, condition); \
    static void test_##name()
#define TEST(name) TEST_IF(true, name)

#endif
