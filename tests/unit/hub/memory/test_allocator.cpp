// SPDX-License-Identifier: Apache-2.0
//
// allocator against a model of its table, its cache and its misses, cycle by cycle. Both clients
// send random requests. It covers every size of the cache, experts that fill up, and epochs with
// and without a sweep. Layers use the handle of an earlier one, and resets come in the middle.
// MW_SEED repeats a run.
#include "bench/memory.h"
#include "node_cfg.h"

#include <deque>
#include <map>
#include <optional>

using namespace tb;

static const unsigned N = PARAM_N, F = PARAM_FlitBytes, LOCAL = log2_up(PARAM_MaxLocalExperts),
                      TOK_W = PARAM_TokensLog2 + log2_up(N), ROWS = 1u << PARAM_RowsLog2,
                      MOST = log2_up(PARAM_CacheEntries), MISSES = 4;
static const size_t MEM = size_t{1} << PARAM_MemBytesLog2;

struct alloc : model<Vallocator> {
    struct key {
        unsigned le, token;
        bool operator<(const key &o) const { return le != o.le ? le < o.le : token < o.token; }
        bool operator==(const key &o) const { return le == o.le && token == o.token; }
    };
    struct line {
        key of;
        unsigned row;
        bool full;
    };
    struct miss {
        key of;
        bool alloc, answered;
    };
    struct look {
        unsigned client;
        key of;
        bool start, retry, outside;
        std::optional<line> found;
    };
    struct answer {
        bool miss, err;
        unsigned row;
    };
    enum end { Wait, Write, Fill, Tell };

    node_cfg cfg;
    memory mem{MEM, F};
    std::optional<read_port> rd;
    std::map<key, unsigned> rows; ///< of this epoch
    bool cached = false;          ///< ... that of another layer, which this one uses
    std::vector<unsigned> given;
    std::map<unsigned, line> cache;
    std::deque<miss> misses;
    std::optional<look> looking;
    std::optional<answer> due[2], next_due[2]; ///< in this cycle, in the next one
    bool asks[2] = {}, waits[2] = {}, waits_for_miss = false;
    key wanted[2] = {}, miss_of_1{};
    end phase = Wait, phase_before = Wait; ///< of the oldest miss, in this cycle and at its start
    bool retired = false;                  ///< it is removed at the end of this cycle
    line result{};
    bool keep = false;
    size_t issued = 0;    ///< of `misses`
    unsigned missing = 0; ///< rows that a handle does not have
    unsigned epoch = 0, hits = 0, full = 0, rows_given = 0, outsides = 0, joins = 0, busy = 70;

    alloc()
    {
        dut.sweep_i = dut.req_valid_i[0] = dut.req_valid_i[1] = 0;
        dut.alm_rd_rvalid_i = 0;
        rng.fill(mem.data.data(), MEM);
    }
    unsigned get(const char *name) const { return static_cast<unsigned>(cfg[name]); }
    unsigned any(unsigned bits) { return static_cast<unsigned>(rng.bits(bits)); }
    unsigned address(const key &k) const
    {
        const unsigned shift = get("token_shift") + get("n_shift");
        return get("al_base") + 4 * (k.le << shift | k.token);
    }
    unsigned size() const
    {
        const unsigned log2 = get("cache_log2");
        return PARAM_CacheLimit && log2 >= 4 && log2 < MOST ? log2 : MOST;
    }
    /// Each bit of expert and token selects one bit of the index.
    unsigned index(const key &k) const
    {
        const unsigned bits = size();
        unsigned at = 0;
        for (unsigned b = 0; b < TOK_W; b++)
            at ^= (k.token >> b & 1) << (b < bits ? b : (b - bits + bits - 3) % bits);
        for (unsigned b = 0; b < LOCAL; b++)
            at ^= (k.le >> b & 1) << ((LOCAL - 1 - b + 3 * bits - 3 - LOCAL) % bits);
        return at;
    }
    bool outside(const key &k) const
    {
        return k.le >= get("local_experts") || k.le >> LOCAL || k.token >> TOK_W ||
               k.token >> get("token_shift") >= N;
    }

    // ---- a layer ----
    void set_layer()
    {
        cfg = {};
        cfg.set("epoch", epoch);
        cfg.set("cached", 0);
        cfg.set("n_shift", log2_up(N));
        cfg.set("token_shift", below(PARAM_TokensLog2 + 1));
        cfg.set("local_experts", 1 + below(PARAM_MaxLocalExperts));
        cfg.set("cap_shift", below(PARAM_RowsLog2 + 1));
        cfg.set("cache_log2", below(16));
        cfg.set("al_base", below((MEM - (4u << (LOCAL + TOK_W))) / 16 + 1) * 16);
        cfg.any_rest(rng);
        cfg.drive(dut.cfg_i);
    }
    /// Begins the next layer, which may use the rows of `epoch`.
    void next_layer(unsigned of_layer, bool uses_handle)
    {
        cached = PARAM_CachedHandle && uses_handle;
        if (!cached) {
            epoch = of_layer;
            forget();
        }
        cfg.set("epoch", of_layer);
        cfg.set("cached", PARAM_CachedHandle ? cached : percent(50));
        cfg.set("handle_epoch", cached ? epoch : below(4));
        cfg.drive(dut.cfg_i);
    }
    void forget()
    {
        rows.clear();
        given.assign(1u << LOCAL, 0);
        cache.clear();
    }
    /// Resets, and keeps the old contents of cache and table.
    void restart()
    {
        dut.req_valid_i[0] = dut.req_valid_i[1] = dut.sweep_i = dut.alm_rd_rvalid_i = 0;
        reset();
        forget();
        misses.clear();
        looking.reset();
        for (unsigned c = 0; c < 2; c++) {
            due[c].reset();
            next_due[c].reset();
            asks[c] = waits[c] = false;
        }
        waits_for_miss = false;
        phase = phase_before = Wait;
        retired = false;
        issued = 0;
        rd.emplace(mem, "table read");
    }
    void sweep()
    {
        const bytes before = mem.data;
        set_layer();
        idle_cycle();
        dut.sweep_i = 1;
        idle_cycle();
        dut.sweep_i = 0;
        for (unsigned i = 0; i == 0 || dut.sweep_busy_o; i++) {
            if (i > 8000)
                fail_msg("the sweep does not end");
            assert_true(!dut.idle_o || !dut.sweep_busy_o);
            dut.alm_wr_ready_i = percent(80);
            settle();
            if (dut.alm_wr_valid_o && dut.alm_wr_ready_i) {
                assert_int_equal(dut.alm_wr_be_o, (1u << F) - 1);
                store();
            }
            edge();
            settle();
        }
        bytes want = before;
        const unsigned words = get("local_experts") << (get("token_shift") + get("n_shift"));
        std::fill_n(want.begin() + get("al_base"), (words * 4 + F - 1) / F * F, 0);
        assert_true(mem.data == want);
        forget();
    }
    void idle_cycle()
    {
        settle();
        edge();
    }
    void store()
    {
        const bytes data = tb::get(dut.alm_wr_data_o);
        for (unsigned i = 0; i < F; i++)
            if (dut.alm_wr_be_o >> i & 1)
                mem.set(size_t{dut.alm_wr_addr_o} * F + i, data[i]);
    }

    // ---- a cycle ----
    key some_key()
    {
        key k{below(get("local_experts")), below(N << get("token_shift"))};
        if (percent(40))
            k.token %= 4;
        if (percent(30))
            k.le = 0;
        if (percent(5))
            k = {percent(50) ? any(6) : 1u << below(6), percent(50) ? any(22) : 1u << below(22)};
        return k;
    }
    void drive() override
    {
        for (unsigned c = 0; c < 2; c++) {
            if (!asks[c] && !waits[c] && percent(busy)) {
                asks[c] = true;
                if (!percent(30))
                    wanted[c] = percent(15) ? wanted[1 - c] : some_key();
                dut.req_start_i[c] = percent(70);
                dut.req_retry_i[c] = percent(30);
            }
            dut.req_valid_i[c] = asks[c];
            dut.req_le_i[c] = static_cast<uint8_t>(wanted[c].le);
            dut.req_token_i[c] = wanted[c].token;
            dut.req_alloc_i[c] = c == 0;
        }
        dut.alm_wr_ready_i = percent(60);
        rd->rate = 60;
        rd->late = 6;
        rd->drive(rng, dut.alm_rd_ready_i, dut.alm_rd_rvalid_i, dut.alm_rd_rdata_i);
    }

    void sample() override
    {
        settle();
        assert_int_equal(dut.fill_o, phase == Tell);
        assert_int_equal(dut.busy_o, !misses.empty());
        assert_int_equal(dut.idle_o, misses.empty() && !looking);
        answers();
        finish();
        compare();
        take();
        if (rd->sample(rng, dut.alm_rd_valid_o, dut.alm_rd_ready_i, dut.alm_rd_addr_o)) {
            assert_true(issued < misses.size());
            assert_int_equal(dut.alm_rd_addr_o, address(misses[issued].of) / F);
            issued++;
        }
        if (dut.alm_rd_rvalid_i)
            for (miss &m : misses)
                if (!m.answered) {
                    m.answered = true;
                    break;
                }
    }
    void answers()
    {
        for (unsigned c = 0; c < 2; c++) {
            assert_int_equal(dut.resp_valid_o[c], due[c].has_value());
            if (due[c]) {
                assert_int_equal(dut.resp_miss_o[c], due[c]->miss);
                if (!due[c]->miss)
                    assert_int_equal(dut.resp_err_o[c], due[c]->err);
                if (!due[c]->miss && !due[c]->err)
                    assert_int_equal(dut.resp_row_o[c], due[c]->row);
                waits[c] = false;
            }
            due[c] = next_due[c];
            next_due[c].reset();
        }
    }
    /// The end of the oldest miss.
    void finish()
    {
        switch (phase) {
        case Wait:
            if (!misses.empty() && misses.front().answered)
                decide(misses.front());
            break;
        case Write:
            assert_true(dut.alm_wr_valid_o);
            if (!dut.alm_wr_ready_i)
                break;
            assert_int_equal(dut.alm_wr_addr_o, address(result.of) / F);
            assert_int_equal(dut.alm_wr_be_o, 15u << address(result.of) % F);
            store();
            assert_int_equal(mem.get<uint32_t>(address(result.of)),
                             1u << 31 | epoch << 29 | result.row);
            phase = Fill;
            break;
        case Fill:
            if (keep)
                cache[index(result.of)] = result;
            phase = Tell;
            break;
        case Tell:
            if (waits_for_miss && miss_of_1 == result.of) {
                due[1] = answer{false, result.full, result.row};
                waits_for_miss = false;
            }
            retired = true;
            phase = Wait;
            break;
        }
    }
    void decide(const miss &m)
    {
        const auto known = rows.find(m.of);
        result = {m.of, 0, false};
        phase = Fill;
        keep = true;
        if (known != rows.end()) {
            result.row = known->second;
        } else if (!m.alloc || cached) {
            missing += m.alloc;
            result.full = true;
            keep = false;
        } else if (given[m.of.le] >= std::min(ROWS, 1u << get("cap_shift"))) {
            result.full = true;
            full++;
        } else {
            result.row = rows[m.of] = given[m.of.le]++;
            rows_given++;
            phase = Write;
        }
    }
    /// Compares the look-up that was taken in the previous cycle.
    void compare()
    {
        if (!looking) {
            assert_true(!dut.hit_o && !dut.miss_o);
        } else {
            const look l = *looking;
            const bool hit = l.found.has_value(), misses_it = !hit && !l.outside;
            assert_int_equal(dut.hit_o, hit && !l.retry && !l.outside);
            assert_int_equal(dut.miss_o, misses_it && !l.retry);
            hits += hit;
            outsides += l.outside;
            if (misses_it)
                missed(l);
            if (l.client == 0 || !misses_it)
                due[l.client] =
                    answer{misses_it, l.outside || (hit && l.found->full), hit ? l.found->row : 0};
        }
        looking.reset();
        if (retired) {
            misses.pop_front();
            issued--;
            retired = false;
        }
    }
    void missed(const look &l)
    {
        if (l.client == 1) {
            waits_for_miss = true;
            miss_of_1 = l.of;
        }
        for (miss &m : misses)
            if (m.of == l.of) {
                m.alloc |= l.client == 0;
                joins++;
                return;
            }
        if (l.start && (l.client == 1 || misses.size() < MISSES - 1))
            misses.push_back({l.of, l.client == 0, false});
    }
    void take()
    {
        const bool ready = phase_before != Fill;
        assert_int_equal(dut.req_ready_o[0], ready);
        assert_int_equal(dut.req_ready_o[1], ready && !asks[0]);
        phase_before = phase;
        if (!ready || (!asks[0] && !asks[1]))
            return;
        const unsigned c = asks[0] ? 0 : 1;
        asks[c] = false;
        waits[c] = true;
        const key k = wanted[c];
        look l{c, k, c == 1 || dut.req_start_i[0], c == 0 && dut.req_retry_i[0], outside(k), {}};
        const auto at =
            cache.find(index({k.le & ((1u << LOCAL) - 1), k.token & ((1u << TOK_W) - 1)}));
        if (!l.outside && at != cache.end() && at->second.of == k)
            l.found = at->second;
        looking = l;
    }
    bool quiet() const
    {
        return misses.empty() && !looking && !asks[0] && !asks[1] && !waits[0] && !waits[1];
    }
    void layer(unsigned length)
    {
        busy = rng.pick({20u, 60u, 95u});
        cycles(length);
        busy = 0;
        until("all answers", 2000, [&] { return quiet(); });
    }
};

TEST(rows_as_in_the_table_and_the_cache)
{
    alloc b;
    for (unsigned i = 0; i < cases(40, 400); i++) {
        b.restart();
        b.epoch = 0;
        b.cached = false;
        b.sweep();
        for (unsigned j = 0; j < 3; j++) { // later epochs without a sweep
            b.next_layer(j + 1, j > 0 && b.percent(50));
            b.layer(300 + b.below(500));
        }
        if (b.percent(30)) // ends in the middle
            b.busy = 95;
        b.cycles(50);
    }
    assert_true(b.hits > 2000 && b.full > 300 && b.rows_given > 1000 && b.outsides > 300);
    assert_true(b.joins > 100);
    assert_true(!PARAM_CachedHandle || b.missing > 300);
}
