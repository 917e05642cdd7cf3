// SPDX-License-Identifier: Apache-2.0
//
// sim/lanes/beside.h: one of the two threads executes each piece of work once, in order. Its
// results are visible, with the caller a piece ahead or not. The other thread sleeps, is woken, is
// late and is used again. ThreadSanitizer checks the run.
#include "beside.h"

#include <chrono>
#include <cstddef>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

extern "C" {
#include <cmocka.h>
}

namespace {
using std::chrono::milliseconds;

struct counter {
    uint64_t given = 0, done = 0;
    uint64_t seen[64] = {};
    unsigned slow_ms = 0;
    std::thread::id own = std::this_thread::get_id(), by;
    beside other{[this] { piece(); }};

    void piece()
    {
        by = std::this_thread::get_id();
        for (uint64_t &s : seen)
            s += given;
        done++;
        if (slow_ms && by != own)
            std::this_thread::sleep_for(milliseconds(slow_ms));
    }
    // One piece, by either thread: true if that was the other thread.
    bool step()
    {
        const uint64_t before = seen[63];
        given++;
        const bool two = other.begin();
        other.end(0);
        if (!two)
            piece();
        assert_int_equal(done, given);
        for (uint64_t s : seen)
            assert_int_equal(s, before + given);
        assert_int_equal(by != std::this_thread::get_id(), two);
        return two;
    }
    // Step without a pause in which the other thread might sleep, until it executes a piece.
    void until_two()
    {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (!step())
            assert_true(std::chrono::steady_clock::now() < end);
    }
};

void each_piece_is_done_once(void **)
{
    counter c;
    assert_false(c.step()); // it does not run yet; that rouses it
    c.until_two();
    for (unsigned i = 0; i < 20000; i++)
        c.step();
    c.until_two();
}

// The results of each piece are read during the next one, as they alternate between two places.
struct pair {
    unsigned at = 0, own = 0, theirs = 0;
    uint64_t left[2][16] = {}, given[2] = {};
    beside other{[this] { piece(); }};

    void piece()
    {
        for (uint64_t &l : left[at % 2])
            l = 3 * given[at % 2] + at;
        at++;
    }
    void step(unsigned t)
    {
        given[t % 2] = 7 * t;
        if (other.begin()) {
            theirs++;
            other.end(1);
        } else {
            own++;
            other.end(0);
            piece();
        }
        if (t > 0)
            for (uint64_t l : left[(t - 1) % 2])
                assert_int_equal(l, 22 * (t - 1));
    }
};

void the_caller_may_be_a_piece_ahead(void **)
{
    pair p;
    unsigned t = 0;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    p.other.rouse();
    while (t < 20000 || p.theirs == 0 || p.own == 0) {
        p.step(t++);
        if (t % 4096 == 0) { // and now and then it sleeps in between
            p.other.end(0);
            assert_int_equal(p.at, t);
            std::this_thread::sleep_for(milliseconds(100));
        }
        assert_true(std::chrono::steady_clock::now() < end);
    }
    p.other.end(0);
    assert_int_equal(p.at, t);
}

void it_sleeps_and_is_roused(void **)
{
    counter c;
    c.other.rouse();
    c.until_two();
    for (unsigned k = 0; k < 5; k++) {
        unsigned looks = 0;
        // far longer than its wait, if the machine is idle. Then it sleeps, and the step wakes it
        do
            std::this_thread::sleep_for(milliseconds(200));
        while (c.step() && ++looks < 100);
        assert_true(looks < 100);
        c.until_two();
    }
    c.other.rouse(); // awake already
    c.until_two();
}

void who_is_late_is_left_alone_for_a_while(void **)
{
    counter c;
    c.other.rouse();
    c.until_two();
    c.slow_ms = 300;
    c.until_two(); // this one takes far too long
    c.slow_ms = 0;
    for (unsigned i = 0; i < 256; i++)
        assert_false(c.step());
    c.until_two();
}

void it_ends_whatever_it_does(void **)
{
    {
        counter never_roused;
    }
    for (unsigned wait : {0u, 1u, 200u}) {
        counter c;
        c.other.rouse();
        std::this_thread::sleep_for(milliseconds(wait));
    }
    counter c;
    c.other.rouse();
    c.until_two();
}

void the_environment_says_how_many(void **)
{
    setenv("MW_SIM_THREADS", "1", 1);
    assert_false(beside::wanted());
    setenv("MW_SIM_THREADS", "2", 1);
    assert_true(beside::wanted());
    unsetenv("MW_SIM_THREADS");
    cpu_set_t before, one;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    assert_int_equal(beside::wanted(), CPU_COUNT(&before) > 1);
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &before) && CPU_COUNT(&one) == 0)
            CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_false(beside::wanted());
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}
} // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(each_piece_is_done_once),
        cmocka_unit_test(the_caller_may_be_a_piece_ahead),
        cmocka_unit_test(it_sleeps_and_is_roused),
        cmocka_unit_test(who_is_late_is_left_alone_for_a_while),
        cmocka_unit_test(it_ends_whatever_it_does),
        cmocka_unit_test(the_environment_says_how_many),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
