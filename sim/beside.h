// SPDX-License-Identifier: Apache-2.0
//
// A second thread that does one piece of work beside its caller's, again and again, microseconds each: the two meet by one
// word that both look at, and neither sleeps in between. With nothing to do for IDLE_TURNS it sleeps. begin() never waits:
// where the thread sleeps, or was late before, it says so, and the caller does that work itself. So a machine that has no
// core to spare costs some microseconds now and then.
#pragma once

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <sched.h>
#include <system_error>
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
        {
            std::lock_guard<std::mutex> lock(sleep);
            word.store(QUIT, std::memory_order_release);
        }
        wake.notify_one();
        thread.join();
    }

    // Threads that a device runs in: what MW_SIM_THREADS says, 1 or 2, else 2 where the process has two cores.
    static bool wanted()
    {
        if (const char *text = getenv("MW_SIM_THREADS"))
            return atoi(text) > 1;
        cpu_set_t cores;
        return sched_getaffinity(0, sizeof cores, &cores) == 0 && CPU_COUNT(&cores) > 1;
    }

    // Many pieces are to come: have the thread awake. Not while it works.
    void rouse()
    {
        if (!thread.joinable()) {
            start();
        } else if (word.load(std::memory_order_relaxed) == ASLEEP) {
            {
                std::lock_guard<std::mutex> lock(sleep);
                word.store(ROUSED, std::memory_order_release);
            }
            wake.notify_one();
        }
    }

    // The work begins there: end() must follow. false: it does not.
    bool begin()
    {
        if (alone > 0) {
            alone--;
            return false;
        }
        uint32_t now = IDLE;
        if (word.compare_exchange_strong(now, WORK, std::memory_order_release,
                                         std::memory_order_relaxed))
            return true;
        if (now == ASLEEP)
            rouse();
        return false;
    }
    // It has been done.
    void end()
    {
        unsigned turns = 0;
        while (word.load(std::memory_order_acquire) == WORK) {
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
    enum : uint32_t { IDLE, WORK, ASLEEP, ROUSED, QUIT };

    alignas(64) std::atomic<uint32_t> word{ASLEEP};
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

    // Signals are for the program's own threads. Without another thread everything is done by the caller.
    void start()
    {
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        try {
            word.store(ROUSED, std::memory_order_relaxed);
            thread = std::thread([this] { serve(); });
        } catch (const std::system_error &) {
            alone = UINT64_MAX;
        }
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }

    void serve()
    {
        for (unsigned turns = 0;; turns++) {
            uint32_t now = word.load(std::memory_order_acquire);
            if (now == QUIT)
                return;
            if (now == ROUSED) {
                word.compare_exchange_strong(now, IDLE);
                turns = 0;
            } else if (now == WORK) {
                work();
                word.store(IDLE, std::memory_order_release);
                turns = 0;
            } else if (turns > IDLE_TURNS) {
                rest();
                turns = 0;
            } else {
                pause();
            }
        }
    }

    void rest()
    {
        std::unique_lock<std::mutex> lock(sleep);
        uint32_t idle = IDLE;
        if (word.compare_exchange_strong(idle, ASLEEP))
            wake.wait(lock, [this] { return word.load() != ASLEEP; });
    }
};
