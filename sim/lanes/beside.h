// SPDX-License-Identifier: Apache-2.0
//
// A second thread that executes pieces of work while its caller works, one after another,
// microseconds each. Two counters, which both read, synchronize them, and neither sleeps in
// between. The caller may be a piece ahead, so the thread finds the next one when it ends one.
// Without work for IDLE_TURNS it sleeps. begin() never waits: if the thread sleeps, or was late
// before, it returns false, and the caller does that work itself. A machine without a spare core
// thus loses only some microseconds now and then.
#pragma once

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <mutex>
#include <sched.h>
#include <thread>
#include <utility>

class beside {
  public:
    explicit beside(std::function<void()> piece) : work(std::move(piece)) {}
    beside(const beside &) = delete;
    beside &operator=(const beside &) = delete;
    ~beside()
    {
        if (!thread.joinable())
            return;
        end(0);
        {
            std::lock_guard<std::mutex> lock(sleep);
            given.store(QUIT, std::memory_order_release);
        }
        wake.notify_one();
        thread.join();
    }

    // Number of threads of a device: MW_SIM_THREADS, if it is 1 or 2, otherwise 2 if the process
    // has two cores.
    static bool wanted()
    {
        const char *text = getenv("MW_SIM_THREADS");
        if (text && (strcmp(text, "1") == 0 || strcmp(text, "2") == 0))
            return *text == '2';
        cpu_set_t cores;
        return sched_getaffinity(0, sizeof cores, &cores) == 0 && CPU_COUNT(&cores) > 1;
    }

    // Many pieces will follow: wakes the thread.
    void rouse()
    {
        if (!thread.joinable()) {
            start();
        } else if (given.load(std::memory_order_relaxed) & ASLEEP) {
            {
                std::lock_guard<std::mutex> lock(sleep);
                given.fetch_and(~ASLEEP, std::memory_order_release);
            }
            wake.notify_one();
        }
    }

    // Adds a piece after those that the thread has. If it returns false, the caller calls end(0)
    // and does the piece itself.
    bool begin()
    {
        if (alone > 0) {
            alone--;
            return false;
        }
        uint32_t now = given.load(std::memory_order_relaxed);
        if (!(now & ASLEEP) &&
            given.compare_exchange_strong(now, now + PIECE, std::memory_order_release,
                                          std::memory_order_relaxed))
            return true;
        rouse();
        return false;
    }
    // Waits until at most `left` pieces are not done.
    void end(uint32_t left)
    {
        unsigned turns = 0;
        const uint32_t all = given.load(std::memory_order_relaxed) & ~ASLEEP;
        while (all - done.load(std::memory_order_acquire) > left * PIECE) {
            pause();
            if (++turns > LATE_TURNS)
                sched_yield();
        }
        if (turns <= LATE_TURNS) {
            penalty -= penalty > LEAST_PENALTY && ++in_time % LEAST_PENALTY == 0 ? penalty / 2 : 0;
            return;
        }
        alone = penalty;
        penalty = penalty < MOST_PENALTY ? 2 * penalty : penalty;
    }

  private:
    // turns of waiting, a few to some dozen nanoseconds each; pieces
    static constexpr unsigned LATE_TURNS = 20000, IDLE_TURNS = 20000;
    static constexpr uint64_t LEAST_PENALTY = 256, MOST_PENALTY = 1 << 16;
    // Pieces are counted in steps of PIECE. QUIT is no count.
    static constexpr uint32_t ASLEEP = 1, PIECE = 4, QUIT = 2;

    alignas(64) std::atomic<uint32_t> given{
        ASLEEP}; // by the caller; ASLEEP: the thread waits to be woken
    alignas(64) std::atomic<uint32_t> done{0}; // by the thread
    alignas(64) std::function<void()> work;
    std::mutex sleep;
    std::condition_variable wake;
    std::thread thread;
    uint64_t alone = 0, in_time = 0, penalty = LEAST_PENALTY;

    static void pause()
    {
#ifdef __x86_64__
        __builtin_ia32_pause();
#endif
    }

    // Signals are for the program's own threads. Without a second thread the caller does
    // everything.
    void start()
    {
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        try {
            given.store(0, std::memory_order_relaxed);
            thread = std::thread([this] { serve(); });
        } catch (const std::exception &) { // no thread, or no memory for one
            alone = UINT64_MAX;
        }
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }

    void serve()
    {
        uint32_t mine = 0;
        for (unsigned turns = 0;; turns++) {
            const uint32_t now = given.load(std::memory_order_acquire);
            if (now == QUIT)
                return;
            if ((now & ~ASLEEP) != mine) {
                work();
                mine += PIECE;
                done.store(mine, std::memory_order_release);
                turns = 0;
            } else if (turns > IDLE_TURNS) {
                rest(mine);
                turns = 0;
            } else {
                pause();
            }
        }
    }

    void rest(uint32_t mine)
    {
        std::unique_lock<std::mutex> lock(sleep);
        if (given.compare_exchange_strong(mine, mine | ASLEEP))
            wake.wait(lock, [this] { return !(given.load() & ASLEEP); });
    }
};
