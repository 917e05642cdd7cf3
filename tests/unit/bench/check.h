// SPDX-License-Identifier: Apache-2.0
//
// cmocka with what it wants included before it, and a skip that says why.
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

/// Ends a test that this configuration cannot run; it is told as skipped, with the reason.
#define SKIP(...) \
    (print_message("skipped: " __VA_ARGS__), print_message("\n"), _skip(__FILE__, __LINE__))

#endif
