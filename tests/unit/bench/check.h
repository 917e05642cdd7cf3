// SPDX-License-Identifier: Apache-2.0
//
// cmocka, after the headers that it requires, and a skip that prints its reason.
#ifndef BENCH_CHECK_H
#define BENCH_CHECK_H

#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" {
#include <cmocka.h>
}

// Standard headers have functions of these names.
#undef fail
#undef skip
#undef fail_msg
#define fail_msg(...) \
    (print_error("ERROR: " __VA_ARGS__), print_error("\n"), _fail(__FILE__, __LINE__))

/// Compares a port with its required value. A difference is reported with the function, which is
/// the check of a module.
#define SAME(is, must) \
    do { \
        const auto same_is = static_cast<unsigned long long>(is); \
        const auto same_must = static_cast<unsigned long long>(must); \
        if (same_is != same_must) \
            fail_msg("%s: %s is %llx, must be %llx", __func__, #is, same_is, same_must); \
    } while (0)

/// Ends a test that this configuration cannot run; it is reported as skipped, with the reason.
#define SKIP(...) \
    (print_message("skipped: " __VA_ARGS__), print_message("\n"), _skip(__FILE__, __LINE__))

#endif
