// SPDX-License-Identifier: Apache-2.0
//
// token_tracker against plain counters: tokens armed with 0 to 16 experts, signals from the wire and of own experts in any order
// and at any pace, combine as slow as it likes, layers that leave tokens unfinished for the next epoch, signals too many and for
// other GPUs' tokens. Checked: tokens are ready with their last expert and not before, in that order, and every error, in its cycle.
// MW_SEED repeats a run.

#include "Vtoken_tracker.h"
#include "errors.h"
#include "node_cfg.h"
#include "verilated.h"

#include <algorithm>
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <memory>
#include <random>
#include <vector>

extern "C" {
#include <cmocka.h>
}

static const unsigned TOKENS = 32; // of a GPU, at most: the model's parameter

static uint64_t seed;

class bench {
  public:
    explicit bench(uint64_t s) : rng(s)
    {
        dut.clk_i = dut.rst_ni = dut.go_i = 0;
        dut.arm_valid_i = dut.own_valid_i = dut.sig_valid_i = dut.rdy_ready_i = 0;
        edge();
        edge();
        dut.rst_ni = 1;
    }

    unsigned below(unsigned n) { return static_cast<unsigned>(rng() % n); }

    // A layer of `port` with 2^shift tokens in epoch `epoch`; the first of them are left unfinished.
    void layer(unsigned port, unsigned shift, unsigned epoch, unsigned unfinished)
    {
        first = port << shift;
        cfg.set("port", port);
        cfg.set("token_shift", shift);
        cfg.set("epoch", epoch);
        cfg.drive(dut.cfg_i);
        dut.go_i = 1;
        cycle();
        dut.go_i = 0;
        left.assign(TOKENS, 0);
        ready.clear();
        std::vector<unsigned> arms, events;
        std::vector<bool> armed(TOKENS, false);
        for (unsigned t = 0; t < 1u << shift; t++)
            arms.push_back(t);
        std::shuffle(arms.begin(), arms.end(), rng);
        unsigned load = 20 + below(81), take = 10 + below(91);
        while (!arms.empty() || !events.empty() || dut.arm_valid_i || dut.own_valid_i ||
               dut.sig_valid_i) {
            if (!dut.arm_valid_i && !arms.empty() && below(100) < load) {
                arm_token = arms.back();
                arms.pop_back();
                dut.arm_valid_i = 1;
                dut.arm_token_i = first + arm_token;
                dut.arm_count_i = static_cast<uint8_t>(below(17));
                armed[arm_token] = true;
            }
            if (!dut.own_valid_i && below(100) < load && !events.empty())
                dut.own_valid_i = 1, dut.own_token_i = pick(events);
            if (!dut.sig_valid_i && below(100) < load) {
                if (below(20) == 0) // wrong: another GPU's, or any of ours
                    dut.sig_valid_i = 1, dut.sig_token_i = below(64);
                else if (!events.empty())
                    dut.sig_valid_i = 1, dut.sig_token_i = pick(events);
            }
            dut.rdy_ready_i = below(100) < take;
            cycle();
            if (arm_taken) {
                unsigned n = dut.arm_count_i;
                if (arm_token < unfinished && n > 0)
                    n--;
                events.insert(events.end(), n, first + arm_token);
            }
        }
        dut.rdy_ready_i = 1;
        for (unsigned i = 0; i < TOKENS + 5; i++)
            cycle();
        assert_true(ready.empty());
        assert_true(dut.idle_o);
    }

    uint64_t errors = 0, done = 0;

  private:
    uint32_t pick(std::vector<unsigned> &events)
    {
        unsigned i = below(static_cast<unsigned>(events.size()));
        unsigned token = events[i];
        events.erase(events.begin() + i);
        return token;
    }

    // What a signal does; the code of its error or 0.
    unsigned signal(unsigned token)
    {
        unsigned index = token - first;
        if (token < first || index >= 1u << cfg["token_shift"])
            return MW_HWERR_BOUNDS;
        if (left[index] == 0)
            return MW_HWERR_COUNT;
        if (--left[index] == 0)
            ready.push_back(index);
        return 0;
    }

    void cycle()
    {
        dut.eval();
        arm_taken = dut.arm_valid_i && dut.arm_ready_o;
        bool own = dut.own_valid_i && dut.own_ready_o, sig = dut.sig_valid_i && dut.sig_ready_o;
        assert_true(arm_taken + own + sig <= 1);
        assert_int_equal(dut.err_valid_o, due != 0);
        if (due)
            assert_int_equal(dut.err_code_o, due);
        errors += due != 0;
        due = 0;
        if (dut.rdy_valid_o) {
            assert_false(ready.empty());
            assert_int_equal(dut.rdy_token_o, ready.front());
            if (dut.rdy_ready_i && !dut.go_i) {
                ready.pop_front();
                done++;
            }
        }
        if (arm_taken) {
            left[arm_token] = dut.arm_count_i;
            if (dut.arm_count_i == 0)
                ready.push_back(arm_token);
        }
        if (own)
            due = signal(dut.own_token_i);
        if (sig)
            due = signal(dut.sig_token_i);
        edge();
        if (arm_taken)
            dut.arm_valid_i = 0;
        if (own)
            dut.own_valid_i = 0;
        if (sig)
            dut.sig_valid_i = 0;
    }

    void edge()
    {
        dut.clk_i = 1;
        dut.eval();
        dut.clk_i = 0;
        dut.eval();
    }

    Vtoken_tracker dut;
    node_cfg cfg;
    std::mt19937_64 rng;
    unsigned first = 0, arm_token = 0, due = 0;
    bool arm_taken = false;
    std::vector<unsigned> left = std::vector<unsigned>(TOKENS, 0);
    std::deque<unsigned> ready; // tokens whose last expert has signalled, oldest first
};

static void tokens_become_ready(void **state)
{
    (void)state;
    auto b = std::make_unique<bench>(seed);
    for (unsigned i = 0; i < 200; i++)
        b->layer(b->below(2), 4 + b->below(2), i % 4, b->below(2) ? b->below(8) : 0);
    printf("%llu tokens ready, %llu errors\n", static_cast<unsigned long long>(b->done),
           static_cast<unsigned long long>(b->errors));
    assert_true(b->done > 2000);
    assert_true(b->errors > 100);
}

int main()
{
    const char *s = getenv("MW_SEED");
    seed = s ? strtoull(s, nullptr, 0) : static_cast<uint64_t>(time(nullptr));
    printf("MW_SEED=%llu\n", static_cast<unsigned long long>(seed));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_become_ready),
    };
    return cmocka_run_group_tests_name("token_tracker", tests, nullptr, nullptr);
}
