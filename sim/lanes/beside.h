// SPDX-License-Identifier: Apache-2.0
//
// A second thread that does pieces of work beside its caller's, one behind the other, microseconds
// each: the two meet by two counters that both look at, and neither sleeps in between. The caller
// may be a piece ahead, so that the thread finds the next one when it ends one. With nothing to do
// for IDLE_TURNS it sleeps. begin() never waits: where the thread sleeps, or was late before, it
// says so, and the caller does that work itself. So a machine that has no core to spare costs some
// microseconds now and then.
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

    // Threads that a device runs in: MW_SIM_THREADS, if it is 1 or 2, else 2 where the
    // process has two cores.
    static bool wanted()
    {
        const char *text = getenv("MW_SIM_THREADS");
        if (text && (strcmp(text, "1") == 0 || strcmp(text, "2") == 0))
            return *text == '2';
        cpu_set_t cores;
        return sched_getaffinity(0, sizeof cores, &cores) == 0 && CPU_COUNT(&cores) > 1;
    }

    // Many pieces are to come: have the thread awake.
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

    // One more piece begins there, behind those that it has. false: it does not; end(0),
    // and the caller does it.
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
    // At most `left` pieces are not done.
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
    // Pieces are counted in steps of PIECE; QUIT is no count.
    static constexpr uint32_t ASLEEP = 1, PIECE = 4, QUIT = 2;

    alignas(64) std::atomic<uint32_t> given{
        ASLEEP}; // by the caller; ASLEEP: the thread waits to be roused
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

    // Signals are for the program's own threads. Without another thread everything is
    // done by the caller.
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
