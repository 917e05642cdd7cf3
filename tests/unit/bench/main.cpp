// SPDX-License-Identifier: Apache-2.0
//
// main of every unit test: prints the seed, and runs the tests in the order of their file.
#include "bench/test.h"

static bool ended;

static void run(void **state)
{
    const auto *t = static_cast<const tb::test *>(*state);
    tb::streams::begin(t->name);
    tb::last_cycle = 0;
    ended = false;
    t->body();
    ended = true;
}

// Also after a test that failed, whose message has no time.
static int tear_down(void **)
{
    if (!ended)
        print_message("ended in cycle %llu, MW_SEED=%llu\n",
                      static_cast<unsigned long long>(tb::last_cycle),
                      static_cast<unsigned long long>(tb::seed()));
    return 0;
}

int main()
{
    tb::seed();
    std::vector<CMUnitTest> tests;
    for (const tb::test *t : tb::test::all())
        tests.push_back({t->name, run, nullptr, tear_down, const_cast<tb::test *>(t)});
    return _cmocka_run_group_tests("unit", tests.data(), tests.size(), nullptr, nullptr);
}
