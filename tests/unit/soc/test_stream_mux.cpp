// SPDX-License-Identifier: Apache-2.0
//
// stream_mux between two users and three nodes. The nodes accept accesses at random, answer late,
// and are reset at any time. Every access is answered in order, to its user, with the contents of
// memory. An access that a reset loses is reported, and no other is.
#include "Vstream_mux.h"
#include "bench/dut.h"

#include <deque>

using namespace tb;

namespace {
constexpr unsigned NODES = PARAM_N, WORDS = 64;

struct access {
    unsigned user, gpu;
    bool write, lost;
    uint32_t addr;
    uint64_t data, due;
};

/// One access in its register, like in node.sv. Reads are answered a few cycles after they have
/// left it.
struct node {
    uint64_t memory[WORDS] = {};
    bool held = false;
    access at = {};
    std::deque<access> reads;
    unsigned down = 0; ///< cycles of its reset to come
};

struct bench : model<Vstream_mux> {
    node nodes[NODES];
    uint64_t shadow[NODES][WORDS]; ///< contents of the memories if nothing was lost
    struct user {
        bool claim = false, lost = false, notified = false;
        unsigned to_come = 0;        ///< accesses of this claim
        std::deque<access> expected; ///< reads, in the order of access
        access next = {};
        unsigned reads = 0, writes = 0, losses = 0;
        uint32_t touched = 0; ///< nodes
    } users[2];
    unsigned reset_rate = 0, rate = 60, held_for = 0;
    bool done[NODES] = {}, quiet = false;

    bench()
    {
        for (unsigned g = 0; g < NODES; g++)
            for (uint64_t &w : nodes[g].memory)
                w = rng();
        for (unsigned g = 0; g < NODES; g++)
            memcpy(shadow[g], nodes[g].memory, sizeof shadow[g]);
        dut.hold_i = 0;
        for (unsigned u = 0; u < 2; u++)
            dut.user_claim_i[u] = dut.user_valid_i[u] = 0;
        for (unsigned g = 0; g < NODES; g++)
            dut.host_rvalid_i[g] = dut.host_down_i[g] = 0;
        reset();
    }

    void drive_node(unsigned g)
    {
        node &n = nodes[g];
        if (n.down)
            n.down--;
        else if (reset_rate && !quiet && rng.below(100000) < reset_rate)
            n.down = 1 + below(60);
        dut.host_down_i[g] = n.down > 0;
        done[g] = n.held && percent(rate);
        dut.host_ready_i[g] = !n.held || done[g];
        dut.host_rvalid_i[g] = !n.reads.empty() && n.reads.front().due <= now;
        dut.host_rdata_i[g] =
            dut.host_rvalid_i[g] ? n.reads.front().data : 0; // 0 without an answer
    }

    void drive_user(unsigned u)
    {
        user &s = users[u];
        if (!s.claim && !quiet && rng.one_in(30)) {
            s.claim = true;
            s.to_come = 1 + below(rng.one_in(4) ? 60 : 8);
            s.next = any(u, below(NODES));
        }
        dut.user_claim_i[u] = s.claim;
        dut.user_valid_i[u] = s.claim && s.to_come && percent(rate);
        dut.user_we_i[u] = s.next.write;
        dut.user_gpu_i[u] = s.next.gpu;
        dut.user_addr_i[u] = s.next.addr;
        dut.user_wdata_i[u] = s.next.data;
    }

    access any(unsigned u, unsigned gpu)
    {
        access a = {};
        a.user = u;
        a.gpu = rng.one_in(20) ? below(32) : rng.one_in(10) ? below(NODES) : gpu;
        a.write = below(2);
        a.addr = below(WORDS);
        a.data = rng();
        return a;
    }

    void drive() override
    {
        if (held_for)
            held_for--;
        else if (!quiet && rng.one_in(500))
            held_for = below(100);
        dut.hold_i = held_for > 0;
        for (unsigned u = 0; u < 2; u++)
            drive_user(u);
        for (unsigned g = 0; g < NODES; g++)
            drive_node(g);
    }

    /// Loses an access of the user with accesses in flight. The other user has none.
    void lose(const access &a)
    {
        users[a.user].lost = true;
        users[a.user].losses++;
    }

    void sample_node(unsigned g)
    {
        node &n = nodes[g];
        if (dut.host_rvalid_i[g])
            n.reads.pop_front();
        if (done[g]) {
            if (n.at.write)
                n.memory[n.at.addr] = n.at.data;
            else
                n.reads.push_back(n.at),
                    n.reads.back().data = n.memory[n.at.addr],
                    n.reads.back().due = now + 3 + (percent(20) ? below(8) : 0);
            n.held = false;
        }
        bool takes = dut.host_valid_o[g] && dut.host_ready_i[g];
        if (n.down) {
            // accesses that it takes or holds are lost
            assert_false(takes);
            if (n.held)
                lose(n.at);
            for (const access &a : n.reads)
                lose(a);
            n.held = false;
            n.reads.clear();
        } else if (takes) {
            n.held = true;
            n.at = access{owner,
                          g,
                          dut.host_we_o[g] != 0,
                          false,
                          dut.host_addr_o[g] % WORDS,
                          dut.host_wdata_o[g],
                          0};
        }
    }

    unsigned owner = 0;

    void sample_user(unsigned u)
    {
        user &s = users[u];
        if (dut.user_rvalid_o[u]) {
            if (s.expected.empty())
                fail_msg("an answer for user %u without a read", u);
            if (s.expected.front().gpu < NODES && !s.lost)
                assert_true(dut.user_rdata_o[u] == s.expected.front().data);
            s.expected.pop_front();
        }
        if (dut.user_lost_o[u]) {
            s.notified = true;
            assert_true(s.lost);
        }
        if (dut.user_valid_i[u] && dut.user_ready_o[u]) {
            access &a = s.next;
            owner = u;
            s.lost = s.lost || a.gpu >= NODES;
            s.touched |= 1u << a.gpu;
            if (!a.write && a.gpu < NODES)
                a.data = shadow[a.gpu][a.addr];
            if (a.write && a.gpu < NODES)
                shadow[a.gpu][a.addr] = a.data;
            if (!a.write)
                s.expected.push_back(a);
            (a.write ? s.writes : s.reads)++;
            s.to_come--;
            s.next = any(u, a.gpu % NODES);
        } else if (s.claim && !s.to_come) {
            s.claim = false;
        }
    }

    void sample() override
    {
        assert_false(dut.user_ready_o[0] && dut.user_ready_o[1]);
        for (unsigned g = 0; g < NODES; g++)
            sample_node(g);
        for (unsigned u = 0; u < 2; u++)
            sample_user(u);
        for (user &s : users) // it may be so; what a node had is counted
            for (unsigned g = 0; g < NODES; g++)
                s.lost = s.lost || (nodes[g].down && s.touched >> g & 1);
        if (dut.idle_o) {
            // every access was answered, every loss reported, and every write is in memory
            for (unsigned g = 0; g < NODES; g++)
                assert_true(!nodes[g].held && nodes[g].reads.empty());
            for (user &s : users) {
                assert_true(s.expected.empty());
                if (s.losses && !s.notified)
                    fail_msg("cycle %llu: %u accesses were lost without a report",
                             static_cast<unsigned long long>(now), s.losses);
                if (s.lost)
                    for (unsigned g = 0; g < NODES; g++)
                        memcpy(shadow[g], nodes[g].memory, sizeof shadow[g]);
                s.lost = s.notified = false;
                s.losses = s.touched = 0;
            }
            for (unsigned g = 0; g < NODES; g++)
                assert_memory_equal(shadow[g], nodes[g].memory, sizeof shadow[g]);
        }
    }
};

void run(unsigned reset_rate)
{
    bench b;
    b.reset_rate = reset_rate;
    for (unsigned round = 0; round < 40; round++) {
        b.rate = b.rng.pick({15u, 60u, 100u});
        b.cycles(5000);
        b.quiet = true;
        b.held_for = 0;
        b.until("all to end", 20000,
                [&] { return b.dut.idle_o && !b.users[0].claim && !b.users[1].claim; });
        b.quiet = false;
    }
    for (const auto &u : b.users)
        assert_true(u.reads > 1000 && u.writes > 1000);
}

TEST(two_users)
{
    run(0);
}
TEST(nodes_that_are_reset)
{
    run(300);
}

/// While hold is active no user begins. idle is reported only when all accesses have ended.
TEST(hold)
{
    bench b;
    for (unsigned i = 0; i < 200; i++) {
        b.cycles(20 + b.below(100));
        b.held_for = 3000;
        b.until("idle", 3000, [&] { return b.dut.idle_o; });
        for (unsigned n = 0; n < 20; n++) {
            b.cycle();
            assert_true(b.dut.idle_o);
        }
        b.held_for = 0;
    }
}
} // namespace
