// SPDX-License-Identifier: Apache-2.0
//
// combine, sum_push, reduce_serve and row_sum together, as one hub has them, against a fake switch: it checks
// every request and answers with reduced rows made at random, sends requests of all other
// GPUs at the same time, each in an order of its own, takes partial sums and returns credits late.
// Every bit of every packet and of GPU memory is compared with sums in the host's floats. Then the
// rates that the machine's throughput rests on. MW_SEED repeats a run.

#ifndef PORTS
#define PORTS 4
#endif

#include "Vreduction.h"
#include "errors.h"
#include "isa.h"
#include "node_cfg.h"
#include "reduction_model.h"
#include "verilated.h"

#include <algorithm>
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <set>

extern "C" {
#include <cmocka.h>
}

static const unsigned N = PORTS;
static const unsigned F = sizeof(Vreduction::req_data_i);
static const unsigned PF = 128 / F;
static const unsigned ADDR_W = 16;
static const unsigned WINDOW = 8, CREDITS = 4;
static const unsigned RT = 0x1000, GT = 0x4000, OUT = 0x8000, YD = 0x20000, CB = 0x60000;
static const unsigned TOKEN_SHIFT = 5, CAP_SHIFT = 4;
static const unsigned N_SHIFT = N <= 2 ? 1 : N <= 4 ? 2 : 3;

static uint64_t seed;
using pk = packets<F>;

struct settings {
    unsigned k = 8;
    unsigned row_bytes = 512;
    unsigned local = 8;   // experts per GPU
    unsigned ready = 100; // percent, of every port
    unsigned miss = 0;    // percent of the allocator's look-ups
    unsigned faults = 0;  // percent of rows that are not allocated, or poisoned results
    unsigned credits = 0; // cfg.part_credits
    unsigned open_rows = 8;
    unsigned port = 1;
    unsigned result_gap = 0; // percent of cycles without a result though one is due
    unsigned request_gap = 0;
    unsigned credit_delay = 10;
};

struct row_wait {
    bytes data;
    bool poison;
    size_t done = 0;
};

class bench {
  public:
    bench(uint64_t s, const settings &set) : c(s), conf(set), mem(ADDR_W)
    {
        mem.data = random_row(c, mem.data.size());
        suma.ready_percent = sumb.ready_percent = misc.ready_percent = conf.ready;
        row_shift = 4;
        while ((1u << row_shift) < conf.row_bytes)
            row_shift++;
        k_shift = 0;
        while ((1u << k_shift) < conf.k)
            k_shift++;
        configure();
        for (unsigned e = 0; e < N * conf.local; e++)
            experts.push_back(e);
        std::shuffle(experts.begin(), experts.end(), c.rng);
        reset();
        for (unsigned e = 0; e < experts.size(); e++) {
            unsigned place = experts[e];
            dut.emap_we_i = 1;
            dut.emap_addr_i = static_cast<uint16_t>(e);
            dut.emap_data_i = static_cast<uint16_t>(1u << 11 | gpu(e) << 6 | place / N);
            edge();
        }
        // Experts behind them are not mapped, or to a GPU that does not exist.
        for (unsigned e = static_cast<unsigned>(experts.size()); e < 4096; e++) {
            dut.emap_addr_i = static_cast<uint16_t>(e);
            dut.emap_data_i =
                static_cast<uint16_t>(e % 2 << 11 | (N + c.below(32 - N)) << 6 | c.below(64));
            edge();
        }
        dut.emap_we_i = 0;
        for (unsigned g = 0; g < 16; g++) {
            groups.push_back(g == 3 ? 0 : static_cast<uint32_t>(c.rng()) & ((1u << N) - 1));
            dut.group_we_i = 1;
            dut.group_addr_i = static_cast<uint8_t>(g);
            dut.group_data_i = groups[g];
            edge();
        }
        dut.group_we_i = 0;
        dut.go_i = 1;
        edge();
        dut.go_i = 0;
    }

    unsigned gpu(unsigned expert) const { return experts[expert] % N; }
    unsigned local(unsigned expert) const { return experts[expert] / N; }

    uint64_t y_addr(unsigned le, unsigned row) const
    {
        return YD + ((static_cast<uint64_t>(le) << CAP_SHIFT | row) << row_shift);
    }
    uint64_t copy_addr(unsigned row, unsigned j) const
    {
        return YD + ((static_cast<uint64_t>(row) << k_shift | j) << row_shift);
    }
    uint64_t slot_addr(unsigned i, unsigned q) const
    {
        return CB + ((static_cast<uint64_t>(i) << N_SHIFT | q) << row_shift);
    }
    uint64_t out_addr(unsigned i) const { return OUT + (static_cast<uint64_t>(i) << row_shift); }

    // A list of experts: k different ones and some places empty.
    std::vector<int> random_list(unsigned empty_percent)
    {
        std::vector<unsigned> all(experts.size());
        for (unsigned e = 0; e < all.size(); e++)
            all[e] = e;
        std::shuffle(all.begin(), all.end(), c.rng);
        if (c.percent(30)) { // often many on one GPU
            unsigned g = c.percent(50) ? conf.port : c.below(N);
            std::stable_partition(all.begin(), all.end(), [&](unsigned e) { return gpu(e) == g; });
        }
        std::vector<int> list;
        for (unsigned j = 0; j < conf.k; j++)
            list.push_back(c.percent(empty_percent) ? -1 : static_cast<int>(all[j]));
        return list;
    }

    void put_route(unsigned i, const std::vector<int> &list)
    {
        bytes b(32);
        for (unsigned j = 0; j < 16; j++) {
            uint16_t id = j < list.size() ? (list[j] < 0 ? 0xffff : static_cast<uint16_t>(list[j]))
                                          : static_cast<uint16_t>(c.rng());
            memcpy(&b[2 * j], &id, 2);
        }
        mem.put(RT + 128 * i, b);
        route[i] = list;
    }

    // Rows of a token at own experts: allocated, but for faults. Returns the terms; empty and bad if one is missing.
    std::vector<bytes> own_terms(unsigned token, const std::vector<int> &list, bool &bad)
    {
        std::vector<bytes> terms;
        bad = false;
        for (int e : list) {
            if (e < 0 || gpu(static_cast<unsigned>(e)) != conf.port)
                continue;
            std::pair<unsigned, unsigned> key{local(static_cast<unsigned>(e)), token};
            auto found = alloc.rows.find(key);
            if (found == alloc.rows.end()) {
                if (missing.count(key) || c.percent(conf.faults)) {
                    missing.insert(key);
                    bad = true;
                    continue;
                }
                if (next_row[key.first] >= 1u << CAP_SHIFT)
                    next_row[key.first] = 0; // rows may be shared: nothing writes them
                found = alloc.rows.insert({key, next_row[key.first]++}).first;
            }
            terms.push_back(mem.get(y_addr(key.first, found->second), conf.row_bytes));
        }
        return terms;
    }

    // A request of GPU q for a token of its own with experts here.
    void ask(unsigned q)
    {
        std::vector<int> here;
        std::vector<unsigned> all(experts.size());
        for (unsigned e = 0; e < all.size(); e++)
            all[e] = e;
        std::shuffle(all.begin(), all.end(), c.rng);
        unsigned want = 1 + c.below(std::min(conf.k, conf.local));
        if (c.percent(50))
            want = 1 + c.below(std::min(2u, want));
        for (unsigned e : all) {
            if (gpu(e) == conf.port && here.size() < want)
                here.push_back(static_cast<int>(e));
        }
        ask_list(q, q << TOKEN_SHIFT | c.below(1u << TOKEN_SHIFT), here);
    }

    void ask_list(unsigned q, unsigned token, const std::vector<int> &here)
    {
        bool bad;
        std::vector<bytes> terms = own_terms(token, here, bad);
        reduction_kind kind = random_kind(c);
        mw_header h = request_header(q, MW_OP_DYMULTIMEM_LD_REDUCE, kind);
        h.cnt = static_cast<uint32_t>(here.size());
        h.len = conf.row_bytes;
        h.addr = static_cast<uint64_t>(token) << row_shift;
        bytes targets;
        for (size_t t = 0; t < here.size(); t++) {
            uint16_t target = static_cast<uint16_t>(here[t] << 4 | c.below(16));
            if (t == 0) {
                h.target0 = target;
            } else {
                targets.push_back(static_cast<uint8_t>(target));
                targets.push_back(static_cast<uint8_t>(target >> 8));
            }
        }
        push_request(q, h, targets, {sum_rows(terms, conf.row_bytes, kind), bad});
        if (bad)
            errors_due[MW_HWERR_UNALLOCATED]++;
    }

    // A request for one explicit row.
    void ask_static(unsigned q, uint64_t addr, unsigned length, bool bad, reduction_kind kind)
    {
        mw_header h = request_header(q, MW_OP_MULTIMEM_LD_REDUCE, kind);
        h.len = length;
        h.addr = addr;
        h.target0 = c.below(16);
        push_request(q, h, bytes(),
                     {bad ? bytes(length) : sum_rows({mem.get(addr, length)}, length, kind), bad});
        if (bad)
            errors_due[MW_HWERR_BOUNDS]++;
    }

    void command(unsigned op, unsigned flags, unsigned imm, uint32_t a, uint32_t b, uint32_t cc)
    {
        dut.cmd_valid_i = 1;
        dut.cmd_i[0] = op | flags << 8 | imm << 16 | own_kind.dtype << 24 | own_kind.redop << 28;
        dut.cmd_i[1] = a;
        dut.cmd_i[2] = b;
        dut.cmd_i[3] = cc;
        retired = false;
    }

    void cycle()
    {
        drive();
        dut.eval();
        sample();
        edge();
        if (command_taken)
            dut.cmd_valid_i = 0;
        command_taken = false;
        now++;
    }

    // sum.st of tokens below `end`; returns when it has retired. No row behind has left then.
    void push(uint32_t first, uint32_t end, unsigned limit)
    {
        dut.push_valid_i = 1;
        dut.cmd_i[0] = MW_I_SUM_ST;
        dut.cmd_i[1] = first;
        dut.cmd_i[2] = end - first;
        push_retired = false;
        for (unsigned n = 0; !push_retired; n++) {
            assert_in_range(n, 0, limit);
            cycle();
            dut.push_valid_i = 0;
        }
        for (auto &home : st_due) {
            for (const store &s : home)
                assert_true(s.index >= end);
        }
    }

    void wait_retired(unsigned limit)
    {
        for (unsigned n = 0; !retired; n++) {
            assert_in_range(n, 0, limit);
            cycle();
        }
    }

    bool requests_left() const
    {
        for (unsigned q = 0; q < N; q++) {
            if (!requests[q].empty())
                return true;
        }
        return !req_now.empty();
    }

    // Runs until all is done, and a little longer.
    void finish(unsigned limit)
    {
        unsigned quiet = 0;
        for (unsigned n = 0; quiet < 60; n++) {
            cycle();
            if (n >= limit) {
                printf("idle %d results %zu requests %d partials %d retired %d tokens %u of %u\n",
                       dut.idle_o, results.size(), requests_left(), partials_left(), retired,
                       tokens_done, tokens_due);
                fail();
            }
            quiet = dut.idle_o && results.empty() && !requests_left() && !partials_left() &&
                            (retired || !commanded)
                        ? quiet + 1
                        : 0;
        }
        for (auto &e : errors_due)
            assert_int_equal(errors[e.first], e.second);
        for (auto &e : errors)
            assert_int_equal(errors_due[e.first], e.second);
        assert_int_equal(tokens_done, tokens_due);
        for (auto &w : out_due)
            assert_memory_equal(&mem.data[w.first], &w.second[0], w.second.size());
        for (auto &home : st_due)
            assert_true(home.empty());
        assert_true(expect_req.empty());
    }

    // What the own row of token i must be, and the request that must leave for it.
    void expect_dynamic(unsigned i)
    {
        const std::vector<int> &list = route[i];
        unsigned token = conf.port << TOKEN_SHIFT | i;
        bool bad, unmapped = false;
        for (int e : list)
            unmapped |= e >= static_cast<int>(experts.size());
        tokens_due++;
        bytes before = mem.get(out_addr(i), conf.row_bytes);
        if (unmapped) {
            errors_due[MW_HWERR_UNMAPPED]++;
            out_due[out_addr(i)] = before;
            return;
        }
        std::vector<bytes> terms = own_terms(token, list, bad);
        if (bad)
            errors_due[MW_HWERR_UNALLOCATED]++;
        mw_header h = request_header(conf.port, MW_OP_DYMULTIMEM_LD_REDUCE, own_kind);
        h.len = conf.row_bytes;
        h.addr = static_cast<uint64_t>(token) << row_shift;
        bytes targets;
        for (unsigned j = 0; j < list.size(); j++) {
            if (list[j] < 0 || gpu(static_cast<unsigned>(list[j])) == conf.port)
                continue;
            uint16_t target = static_cast<uint16_t>(list[j] << 4 | static_cast<int>(j));
            if (h.cnt++ == 0) {
                h.target0 = target;
            } else {
                targets.push_back(static_cast<uint8_t>(target));
                targets.push_back(static_cast<uint8_t>(target >> 8));
            }
        }
        expect_own(out_addr(i), terms, conf.row_bytes, bad, h.cnt != 0, h, targets);
    }

    // Static rows: own memory (if a member) last, R from the others.
    void expect_static(unsigned group, uint64_t a, unsigned length, uint64_t to)
    {
        for (unsigned off = 0; off < length; off += conf.row_bytes) {
            unsigned n = std::min(conf.row_bytes, length - off);
            if (groups[group] == 0) { // nobody to ask: the row stays what it is
                errors_due[MW_HWERR_UNMAPPED]++;
                out_due[to + off] = mem.get(to + off, n);
                continue;
            }
            std::vector<bytes> terms;
            if (groups[group] >> conf.port & 1)
                terms.push_back(mem.get(a + off, n));
            mw_header h = request_header(conf.port, MW_OP_MULTIMEM_LD_REDUCE, own_kind);
            h.len = n;
            h.addr = a + off;
            h.target0 = group;
            expect_own(to + off, terms, n, false, (groups[group] & ~(1u << conf.port)) != 0, h,
                       bytes());
        }
    }

    // Unicast: remote slots in the order of R, then own copies.
    void expect_sum(unsigned i)
    {
        const std::vector<int> &list = route[i];
        std::vector<bytes> remote, own;
        for (unsigned t = 1; t < N; t++) {
            unsigned q = (conf.port + t) % N;
            for (int e : list) {
                if (e >= 0 && gpu(static_cast<unsigned>(e)) == q) {
                    remote.push_back(mem.get(slot_addr(i, q), conf.row_bytes));
                    break;
                }
            }
        }
        for (unsigned j = 0; j < list.size(); j++) {
            if (list[j] >= 0 && gpu(static_cast<unsigned>(list[j])) == conf.port)
                own.push_back(mem.get(copy_addr(own_base + copies, j), conf.row_bytes));
        }
        if (!own.empty())
            copies++;
        tokens_due++;
        if (!remote.empty())
            own.push_back(sum_rows(remote, conf.row_bytes));
        out_due[out_addr(i)] = sum_rows(own, conf.row_bytes);
    }

    // Received row r of a token of GPU home.
    void put_meta(unsigned r, unsigned home, unsigned index, const std::vector<int> &list)
    {
        bytes b(128);
        for (uint8_t &x : b)
            x = static_cast<uint8_t>(c.rng());
        uint32_t token = home << TOKEN_SHIFT | index;
        memcpy(&b[0], &token, 4);
        for (unsigned j = 0; j < conf.k; j++) {
            uint16_t id = list[j] < 0 ? 0xffff : static_cast<uint16_t>(list[j]);
            memcpy(&b[4 + 4 * conf.k + 2 * j], &id, 2);
        }
        mem.put(GT + 128 * r, b);
        if (home == conf.port)
            return;
        std::vector<bytes> terms;
        for (unsigned j = 0; j < conf.k; j++) {
            if (list[j] >= 0 && gpu(static_cast<unsigned>(list[j])) == conf.port)
                terms.push_back(mem.get(copy_addr(r, j), conf.row_bytes));
        }
        bytes row = sum_rows(terms, conf.row_bytes);
        if (terms.size() == 1) { // unit send copies it
            unsigned j = 0;
            while (list[j] < 0 || gpu(static_cast<unsigned>(list[j])) != conf.port)
                j++;
            st_due[home].push_back(
                {index, copy_addr(r, j), slot_addr(index, conf.port), mw_header(), bytes()});
            return;
        }
        for (unsigned off = 0; off < conf.row_bytes; off += 128) {
            unsigned n = std::min(128u, conf.row_bytes - off);
            mw_header h = request_header(conf.port, MW_OP_ST);
            h.cls = MW_CLS_STORE;
            h.dst = home;
            h.len = n;
            h.addr = slot_addr(index, conf.port) + off;
            st_due[home].push_back(
                {index, 0, h.addr, h, bytes(row.begin() + off, row.begin() + off + n)});
        }
    }

    Vreduction dut;
    chance c;
    settings conf;
    flit_memory<F> mem;
    allocator_model alloc;
    std::vector<unsigned> experts; // expert -> place: GPU = place % N, local expert = place / N
    std::vector<uint32_t> groups;
    std::map<unsigned, std::vector<int>> route;
    std::deque<unsigned> ready_tokens;
    std::map<unsigned, unsigned> errors, errors_due;
    struct report {
        unsigned unit; // 0 combine and push, 1 reduce_serve, 2 row_sum
        unsigned code;
        uint64_t now;
    };
    std::vector<report> reports;
    uint64_t command_at = 0; // when the unit took the last one
    std::map<uint64_t, bytes> out_due;
    struct store {
        unsigned index;    // of its token
        uint64_t from, to; // a copy of a whole row, or a packet: from 0
        mw_header h;
        bytes data;
    };
    std::deque<store> st_due[PORTS];
    uint64_t now = 0, part_packets = 0, first_part = 0, last_part = 0, out_flits = 0;
    unsigned tokens_done = 0, tokens_due = 0, own_base = 0, copies = 0, src_rows[PORTS] = {};
    unsigned max_used = 0, max_open = 0;
    bool push_retired = true, retired = false, commanded = false, command_taken = false;
    unsigned row_shift, k_shift;
    reduction_kind own_kind; // of the unit's commands

  private:
    mw_header request_header(unsigned src, unsigned op, reduction_kind kind = {}) const
    {
        mw_header h = {};
        h.dtype = kind.dtype;
        h.redop = kind.redop;
        h.opcode = op;
        h.cls = MW_CLS_REQ;
        h.src = src;
        h.epoch = 2;
        h.stage = MW_STAGE_COMBINE;
        return h;
    }

    void push_request(unsigned q, const mw_header &h, const bytes &targets, const row_wait &w)
    {
        typename pk::stream s;
        pk::append(s, h, targets);
        requests[q].push_back(s);
        waits[q].push_back(w);
    }

    void expect_own(uint64_t to, std::vector<bytes> terms, unsigned n, bool bad, bool remote,
                    const mw_header &h, const bytes &targets)
    {
        bool poison = false;
        if (remote) {
            bytes r = random_row(c, n);
            for (unsigned i = 0; i < n; i += 2) { // what the switch sends has canonical NaN
                uint16_t v;
                memcpy(&v, &r[i], 2);
                v = nearest_bf16(from_bf16(v));
                memcpy(&r[i], &v, 2);
            }
            poison = c.percent(conf.faults);
            unsigned bad_packet = c.below((n + 127) / 128);
            typename pk::stream s;
            for (unsigned off = 0; off < n; off += 128) {
                mw_header p = request_header(0, MW_OP_RESULT);
                p.cls = MW_CLS_PART;
                p.dst = conf.port;
                p.len = std::min(128u, n - off);
                p.poison = poison && off / 128 == bad_packet;
                pk::append(s, p, bytes(r.begin() + off, r.begin() + off + p.len));
                if (p.poison) {
                    errors_due[MW_HWERR_POISON]++;
                    poisoned_parts.push_back({to + off, p.len});
                }
            }
            typename pk::stream want;
            pk::append(want, h, targets);
            expect_req.push_back({want, s});
            terms.push_back(r);
        }
        bytes before = mem.get(to, n);
        bytes sum = bad ? before : sum_rows(terms, n, own_kind);
        if (poison && !bad) {
            auto p = poisoned_parts.back();
            std::copy_n(before.begin() + static_cast<long>(p.first - to), p.second,
                        sum.begin() + static_cast<long>(p.first - to));
        }
        out_due[to] = sum;
    }

    void configure()
    {
        cfg.set("port", conf.port);
        cfg.set("epoch", 2);
        cfg.set("k", conf.k);
        cfg.set("token_shift", TOKEN_SHIFT);
        cfg.set("n_shift", N_SHIFT);
        cfg.set("k_shift", k_shift);
        cfg.set("row_bytes", conf.row_bytes);
        cfg.set("row_shift", row_shift);
        cfg.set("cap_shift", CAP_SHIFT);
        cfg.set("rt_base", RT);
        cfg.set("gt_base", GT);
        cfg.set("yd_base", YD);
        cfg.set("out_base", OUT);
        cfg.set("cb_base", CB);
        cfg.set("open_rows", conf.open_rows);
        cfg.set("part_credits", conf.credits);
        cfg.drive(dut.cfg_i);
    }

    void edge()
    {
        dut.clk_i = 1;
        dut.eval();
        dut.clk_i = 0;
        dut.eval();
    }

    void reset()
    {
        dut.rst_ni = 0;
        dut.clk_i = 0;
        dut.go_i = dut.cmd_valid_i = dut.rdy_valid_i = dut.req_valid_i = dut.res_valid_i = 0;
        dut.push_valid_i = dut.copy_ready_i = dut.copy_retire_i = 0;
        dut.rd_rvalid_i = dut.suma_rd_rvalid_i = dut.sumb_rd_rvalid_i = dut.al_resp_valid_i =
            dut.part_crd_valid_i = 0;
        dut.emap_we_i = dut.group_we_i = 0;
        for (unsigned i = 0; i < 4; i++)
            edge();
        dut.rst_ni = 1;
    }

    bool partials_left() const
    {
        for (unsigned q = 0; q < N; q++) {
            if (!waits[q].empty())
                return true;
        }
        return false;
    }

    void drive()
    {
        misc.drive(c, now, dut.rd_ready_i, dut.rd_rvalid_i, dut.rd_rdata_i);
        suma.drive(c, now, dut.suma_rd_ready_i, dut.suma_rd_rvalid_i, dut.suma_rd_rdata_i);
        sumb.drive(c, now, dut.sumb_rd_ready_i, dut.sumb_rd_rvalid_i, dut.sumb_rd_rdata_i);
        dut.out_wr_ready_i = c.percent(conf.ready);
        dut.req_ready_i = c.percent(conf.ready);
        dut.part_ready_i = c.percent(conf.ready);
        dut.sst_ready_i = c.percent(conf.ready);
        dut.own_base_i = own_base;
        dut.copy_ready_i = copy_left == 0 && c.percent(conf.ready);
        dut.copy_retire_i = copy_left == 1;
        dut.rdy_valid_i = !ready_tokens.empty();
        dut.rdy_token_i =
            ready_tokens.empty() ? static_cast<uint32_t>(c.rng() & 0xfffff) : ready_tokens.front();

        dut.al_req_ready_i = !alloc.busy && c.percent(conf.ready);
        dut.al_resp_valid_i = alloc.busy && alloc.due == now;
        if (dut.al_resp_valid_i) {
            auto found = alloc.rows.find(alloc.key);
            dut.al_resp_err_i = found == alloc.rows.end();
            dut.al_resp_row_i = found == alloc.rows.end() ? static_cast<uint32_t>(c.rng() & 0xfffff)
                                                          : found->second;
            alloc.busy = false;
        }

        if (req_now.empty() && !c.percent(conf.request_gap))
            start_request();
        dut.req_valid_i = !req_now.empty() && (conf.request_gap == 0 || !c.percent(20));
        if (dut.req_valid_i) {
            memcpy(&dut.req_data_i, req_now.front().b, F);
            dut.req_last_i = req_now.front().last;
            dut.req_err_i = 0;
            req_now.pop_front();
        }

        if (!res_held)
            res_held = !results.empty() && !c.percent(conf.result_gap);
        dut.res_valid_i = res_held;
        if (res_held) {
            memcpy(&dut.res_data_i, results.front().b, F);
            dut.res_last_i = results.front().last;
        }
        dut.res_bad_i = res_held ? results.front().bad : c.percent(50);

        dut.part_crd_valid_i = !credits_back.empty() && credits_back.front().first <= now;
        if (dut.part_crd_valid_i) {
            dut.part_crd_port_i = static_cast<uint8_t>(credits_back.front().second);
            assert_true(used[credits_back.front().second]-- > 0);
            credits_back.pop_front();
        }
    }

    // The next request of some GPU whose window is open.
    void start_request()
    {
        unsigned start = c.below(N);
        for (unsigned t = 0; t < N; t++) {
            unsigned q = (start + t) % N;
            if (requests[q].empty() || open[q] >= WINDOW)
                continue;
            open[q]++;
            max_open = std::max(max_open, open[q]);
            req_now = requests[q].front();
            requests[q].pop_front();
            return;
        }
    }

    void sample()
    {
        misc.sample(now, dut.rd_valid_o, dut.rd_ready_i, dut.rd_addr_o, mem);
        dut.src_rows_i = src_rows[dut.src_o]; // from LUT RAM: looked at again before the edge
        dut.eval();
        push_retired = push_retired || dut.push_retire_o;
        assert_int_equal(dut.copy_busy_o, copy_left != 0);
        if (copy_left != 0)
            copy_left--;
        if (dut.copy_valid_o && dut.copy_ready_i) {
            assert_int_equal(dut.copy_o[0] & 0xffff, MW_I_ST_LINEAR);
            assert_int_equal(dut.copy_o[2], conf.row_bytes);
            take_due(dut.copy_o[0] >> 16, dut.copy_o[1], dut.copy_o[3]);
            copy_left = 1 + c.below(40);
        }
        suma.sample(now, dut.suma_rd_valid_o, dut.suma_rd_ready_i, dut.suma_rd_addr_o, mem);
        sumb.sample(now, dut.sumb_rd_valid_o, dut.sumb_rd_ready_i, dut.sumb_rd_addr_o, mem);
        if (dut.cmd_valid_i && dut.cmd_ready_o) {
            command_taken = commanded = true;
            command_at = now;
        } else if (dut.retire_o) {
            assert_true(commanded && !retired);
            retired = true;
        }
        if (dut.rdy_valid_i && dut.rdy_ready_o)
            ready_tokens.pop_front();
        if (dut.tok_done_o)
            tokens_done++;
        if (dut.al_req_valid_o && dut.al_req_ready_i) {
            assert_int_equal(dut.al_req_alloc_o, 0);
            alloc.busy = true;
            alloc.due = now + (c.percent(conf.miss) ? 5 + c.below(20) : 2);
            alloc.key = {dut.al_req_le_o, dut.al_req_token_o};
            alloc.lookups++;
        }
        if (dut.res_valid_i && dut.res_ready_o) {
            results.pop_front();
            res_held = false;
        }
        for (unsigned u = 0; u < 3; u++) {
            if (dut.err_valid_o >> u & 1) {
                errors[dut.err_code_o[u]]++;
                reports.push_back({u, dut.err_code_o[u], now});
            }
        }
        if (dut.out_wr_valid_o && dut.out_wr_ready_i) {
            assert_int_equal(dut.out_wr_be_o, (1u << F) - 1);
            mem.put(static_cast<uint64_t>(dut.out_wr_addr_o) * F,
                    bytes(reinterpret_cast<uint8_t *>(&dut.out_wr_data_o),
                          reinterpret_cast<uint8_t *>(&dut.out_wr_data_o) + F));
            out_flits++;
        }
        stable(0, dut.req_valid_o, dut.req_ready_i, &dut.req_data_o, dut.req_last_o);
        stable(1, dut.part_valid_o, dut.part_ready_i, &dut.part_data_o, dut.part_last_o);
        stable(2, dut.sst_valid_o, dut.sst_ready_i, &dut.part_data_o, dut.part_last_o);
        if (dut.req_valid_o && dut.req_ready_i)
            take(0, &dut.req_data_o, dut.req_last_o);
        if (dut.part_valid_o && dut.part_ready_i)
            take(1, &dut.part_data_o, dut.part_last_o);
        if (dut.sst_valid_o && dut.sst_ready_i)
            take(2, &dut.part_data_o, dut.part_last_o);
    }

    // Valid stays, data too, until ready.
    void stable(unsigned s, bool valid, bool ready, const void *data, bool last)
    {
        uint8_t flit[F + 1];
        memcpy(flit, data, F);
        flit[F] = last;
        if (offered[s]) {
            assert_true(valid);
            assert_memory_equal(flit, held[s], F + 1);
        }
        // The uplink sends the flits of a packet in consecutive cycles, and takes them from here.
        if (s != 0 && !packet[s].empty())
            assert_true(valid);
        offered[s] = valid && !ready;
        memcpy(held[s], flit, F + 1);
    }

    void take(unsigned s, const void *data, bool last)
    {
        const uint8_t *b = static_cast<const uint8_t *>(data);
        packet[s].insert(packet[s].end(), b, b + F);
        if (!last)
            return;
        if (s == 0)
            took_request(packet[s]);
        if (s == 1)
            took_partial(packet[s]);
        if (s == 2)
            took_store(packet[s]);
        packet[s].clear();
    }

    void took_request(const bytes &p)
    {
        assert_false(expect_req.empty());
        auto &want = expect_req.front();
        bytes w;
        for (auto &f : want.first)
            w.insert(w.end(), f.b, f.b + F);
        assert_int_equal(p.size(), w.size());
        if (F * 8 > 0) { // lanes behind the last target are free
            mw_header h = pk::header(p);
            size_t used_bytes = 16 + (h.cnt > 1 ? 2 * (h.cnt - 1) : 0);
            assert_memory_equal(&p[0], &w[0], used_bytes);
        }
        results.insert(results.end(), want.second.begin(), want.second.end());
        expect_req.pop_front();
    }

    void took_partial(const bytes &p)
    {
        mw_header h = pk::header(p);
        assert_int_equal(h.opcode, MW_OP_PARTIAL);
        assert_int_equal(h.cls, MW_CLS_PART);
        assert_int_equal(h.epoch, 2);
        assert_in_range(h.dst, 0, N - 1);
        assert_false(waits[h.dst].empty());
        row_wait &w = waits[h.dst].front();
        size_t n = std::min<size_t>(128, w.data.size() - w.done);
        assert_int_equal(h.len, n);
        assert_int_equal(p.size(), 16 + n);
        assert_int_equal(h.poison, w.poison);
        if (!w.poison)
            assert_memory_equal(&p[16], &w.data[w.done], n);
        w.done += n;
        if (w.done == w.data.size()) {
            waits[h.dst].pop_front();
            open[h.dst]--;
        }
        unsigned limit = conf.credits == 0 ? CREDITS : std::min(conf.credits, CREDITS);
        used[h.dst]++;
        assert_in_range(used[h.dst], 1, limit);
        max_used = std::max(max_used, used[h.dst]);
        credits_back.push_back(
            {now + 1 + (conf.credit_delay ? c.below(conf.credit_delay) : 0), h.dst});
        part_packets++;
        if (first_part == 0)
            first_part = now;
        last_part = now;
    }

    void took_store(const bytes &p)
    {
        mw_header h = pk::header(p);
        assert_in_range(h.dst, 0, N - 1);
        const store due = take_due(h.dst, 0, h.addr);
        uint64_t want[2];
        mw_header_pack(&due.h, want);
        assert_memory_equal(&p[0], want, sizeof want);
        assert_int_equal(p.size(), 16 + h.len);
        assert_memory_equal(&p[16], &due.data[0], h.len);
    }

    // Copies and sums may pass each other, no packet of a row the one before it.
    store take_due(unsigned home, uint64_t from, uint64_t to)
    {
        assert_in_range(home, 0, N - 1);
        std::deque<store> &q = st_due[home];
        auto kind = [from](const store &s) { return (s.from != 0) == (from != 0); };
        auto found = std::find_if(q.begin(), q.end(), kind);
        assert_true(found != q.end() && found->from == from && found->to == to);
        store s = *found;
        q.erase(found);
        return s;
    }

    node_cfg cfg;
    read_port<F> suma, sumb, misc;
    std::set<std::pair<unsigned, unsigned>> missing;
    std::map<unsigned, unsigned> next_row;
    std::deque<typename pk::stream> requests[PORTS];
    std::deque<row_wait> waits[PORTS];
    unsigned open[PORTS] = {}, used[PORTS] = {};
    typename pk::stream req_now, results;
    bool res_held = false;
    std::deque<std::pair<typename pk::stream, typename pk::stream>>
        expect_req; // request, its answer
    std::deque<std::pair<uint64_t, unsigned>> poisoned_parts;
    std::deque<std::pair<uint64_t, unsigned>> credits_back;
    bytes packet[3];
    unsigned copy_left = 0; // cycles until unit send has finished
    bool offered[3] = {};
    uint8_t held[3][F + 1];
};

// Own tokens and requests of everyone at once.
static std::unique_ptr<bench> combine_run(const settings &s, uint64_t sd, unsigned tokens,
                                          unsigned asks, bool by_ready, bool unmapped)
{
    auto b = std::make_unique<bench>(sd, s);
    b->own_kind = random_kind(b->c);
    unsigned first = b->c.below(4);
    std::vector<unsigned> order;
    for (unsigned i = first; i < first + tokens; i++) {
        std::vector<int> list = b->random_list(10);
        if (unmapped && b->c.percent(20))
            list[b->c.below(s.k)] = static_cast<int>(PORTS * s.local + b->c.below(100));
        b->put_route(i, list);
        order.push_back(i);
    }
    if (by_ready)
        std::shuffle(order.begin(), order.end(), b->c.rng);
    for (unsigned i : order)
        b->expect_dynamic(i);
    if (by_ready)
        b->ready_tokens.assign(order.begin(), order.end());
    for (unsigned q = 0; q < N; q++) {
        for (unsigned t = 0; t < asks && q != s.port; t++)
            b->ask(q);
    }
    if (tokens)
        b->command(MW_I_DYMULTIMEM_LD_REDUCE, by_ready, 0, first, tokens, 0);
    b->finish(100000);
    return b;
}

static void combines_and_serves(void **state)
{
    (void)state;
    static const unsigned sizes[] = {512, 128, 384 + F, 256 - F, 2 * F, F};
    unsigned most_open = 0;
    for (unsigned round = 0; round < 24; round++) {
        settings s;
        chance c(seed + round);
        s.row_bytes = sizes[round % 6];
        s.k = round % 4 == 3 ? 16 : 1 + c.below(16);
        s.local = round % 4 == 3 ? 64 / N : std::max((s.k + N - 1) / N, 1 + c.below(64 / N));
        if (s.local > 16)
            s.local = 16;
        if (s.k > s.local * N)
            s.k = s.local * N;
        s.ready = round < 6 ? 100 : 25 + c.below(75);
        s.miss = c.below(100);
        s.credits = c.below(6);
        s.open_rows = c.below(12);
        s.port = c.below(N);
        s.result_gap = c.below(70);
        s.request_gap = c.below(90);
        auto b = combine_run(s, seed + 1000 + round, 20, 20, round % 2, false);
        most_open = std::max(most_open, b->max_open);
        if (s.credits)
            assert_true(b->max_used <= s.credits);
    }
    assert_int_equal(most_open, WINDOW);
}

static void faults_poison_their_row_only(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 8; round++) {
        settings s;
        s.row_bytes = round % 2 ? 128 + F : 384;
        s.faults = 20;
        s.ready = 60;
        s.port = round % N;
        s.result_gap = 30;
        s.request_gap = 30;
        auto b = combine_run(s, seed + 2000 + round, 24, 16, round % 2, true);
        assert_true(b->errors[MW_HWERR_UNALLOCATED] > 0);
    }
}

static void static_groups(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 8; round++) {
        settings s;
        s.row_bytes = round % 3 ? 256 : 128 + F;
        s.ready = round ? 70 : 100;
        s.port = round % N;
        bench b(seed + 3000 + round, s);
        b.own_kind = random_kind(b.c);
        unsigned group = round % 16, length = 3 * s.row_bytes + F * b.c.below(12);
        uint32_t from = YD + 4096 + F * b.c.below(8);
        b.expect_static(group, from, length, OUT + F);
        for (unsigned q = 0; q < N; q++) {
            for (unsigned t = 0; t < 6 && q != s.port; t++) {
                bool bad = t == 3;
                unsigned n = F * (1 + b.c.below(s.row_bytes / F));
                uint64_t at = YD + F * b.c.below(1000) +
                              (bad ? (b.c.percent(50) ? 2 : 1ull << (ADDR_W + 4)) : 0);
                reduction_kind kind = random_kind(b.c);
                if (bad && b.c.percent(30)) { // a type or operator that does not exist
                    at = YD;
                    kind.dtype = b.c.percent(50) ? 5 + b.c.below(3) : b.c.below(3);
                    kind.redop = kind.dtype < 5 || b.c.percent(50) ? 3 + b.c.below(5) : 0;
                }
                if (t == 4) { // ends with memory, or a flit behind it
                    bad = b.c.percent(50);
                    at = (static_cast<uint64_t>(F) << ADDR_W) - n + (bad ? F : 0);
                }
                b.ask_static(q, at, n, bad, kind);
            }
        }
        b.command(MW_I_MULTIMEM_LD_REDUCE, 0, group, from, length, OUT + F);
        b.finish(100000);
    }
}

// A command that is refused: one error of unit combine in the cycle behind it, by name, and it retires; nothing is asked for, no memory changes, and the
// command behind it does what it always does.
static void refused(bench &b, unsigned code, unsigned op, unsigned imm, uint32_t at, uint32_t count,
                    uint32_t to)
{
    const bytes before = b.mem.data;
    b.own_kind = {};
    b.reports.clear();
    b.errors_due[code]++;
    b.command(op, b.c.below(2), imm, at, count, to);
    b.finish(100000);
    assert_memory_equal(b.mem.data.data(), before.data(), before.size());
    assert_int_equal(b.reports.size(), 1);
    assert_int_equal(b.reports[0].unit, 0);
    assert_int_equal(b.reports[0].code, code);
    assert_int_equal(b.reports[0].now, b.command_at + 1);
}

static void allowed(bench &b)
{
    const unsigned group = 4 + b.c.below(12); // 3 has no member
    b.own_kind = random_kind(b.c);
    b.expect_static(group, YD, b.conf.row_bytes, OUT);
    b.command(MW_I_MULTIMEM_LD_REDUCE, 0, group, YD, b.conf.row_bytes, OUT);
    b.finish(100000);
}

// Types and operators, their bits that have no wires included.
static void unknown_reductions(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 6; round++) {
        bench b(seed + 4000 + round, settings());
        for (unsigned i = 0; i < 8; i++) {
            const bool no_type = i % 2;
            unsigned dtype = no_type ? 5 + b.c.below(11) : b.c.below(3);
            unsigned redop = no_type ? b.c.below(16) : 3 + b.c.below(13);
            if (i == 7)
                dtype = 0, redop = 8; // as sum, but for the highest bit
            if (i == 6)
                dtype = 8, redop = 0;
            const bool fixed = i % 4 < 2; // also wrong in other ways, which are told after it
            refused(b, MW_HWERR_REDUCTION,
                    fixed ? MW_I_MULTIMEM_LD_REDUCE : MW_I_DYMULTIMEM_LD_REDUCE,
                    (fixed ? b.c.below(256) : 0) | dtype << 8 | redop << 12,
                    fixed ? YD + b.c.below(2) : b.c.below(100), 64, OUT);
        }
        allowed(b);
    }
}

static uint32_t any(bench &b)
{
    return static_cast<uint32_t>(b.c.rng());
}

// What another unit does, at the unit by mistake.
static void unknown_instructions(void **state)
{
    (void)state;
    bench b(seed + 4100, settings());
    for (unsigned op = 0; op < 256; op++) {
        if (op != MW_I_DYMULTIMEM_LD_REDUCE && op != MW_I_MULTIMEM_LD_REDUCE && op != MW_I_SUM)
            refused(b, MW_HWERR_INSTR, op, b.c.below(1u << 16), any(b), any(b), any(b));
    }
    allowed(b);
}

// Groups that the number in an instruction cannot mean, and one without a member.
static void unknown_groups(void **state)
{
    (void)state;
    bench b(seed + 4200, settings());
    for (unsigned group = MW_STATIC_GROUPS; group < 256; group++)
        refused(b, MW_HWERR_UNMAPPED, MW_I_MULTIMEM_LD_REDUCE, group, YD, b.conf.row_bytes, OUT);
    const bytes before = b.mem.data;
    b.expect_static(3, YD, 3 * b.conf.row_bytes, OUT); // each of its rows
    b.command(MW_I_MULTIMEM_LD_REDUCE, 0, 3, YD, 3 * b.conf.row_bytes, OUT);
    b.finish(100000);
    assert_int_equal(b.errors[MW_HWERR_UNMAPPED], 256 - MW_STATIC_GROUPS + 3);
    assert_memory_equal(b.mem.data.data(), before.data(), before.size());
    allowed(b);
}

// A static range does not begin and end at flits, or lies outside on either side, by its first byte or by its last.
static void bad_ranges(void **state)
{
    (void)state;
    const uint32_t memory = F << ADDR_W;
    for (unsigned round = 0; round < 4; round++) {
        bench b(seed + 4500 + round, settings());
        const uint32_t row = b.conf.row_bytes, far = memory << b.c.below(12);
        const uint32_t bad[][3] = {// from, bytes, to
                                   {YD + F / 2, row, OUT},
                                   {YD, row + 1, OUT},
                                   {YD, row, OUT + 1},
                                   {YD | far, row, OUT},
                                   {YD, row, OUT | 1u << 31},
                                   {memory, row, OUT},
                                   {YD, row, memory},
                                   {memory - row + F, row, OUT},
                                   {YD, row, memory - row + F},
                                   {memory - F, memory, OUT},
                                   {memory - 32 * row, 33 * row, 0},
                                   {0, 33 * row, memory - 32 * row},
                                   {0, memory + F, 0},
                                   {F, memory, 0},
                                   {0, memory, F},
                                   {YD, 0u - YD, OUT},
                                   {YD, 0u - F, OUT},
                                   {YD, 1u << 31, OUT}};
        for (const auto &r : bad)
            refused(b, MW_HWERR_BOUNDS, MW_I_MULTIMEM_LD_REDUCE, b.c.below(MW_STATIC_GROUPS), r[0],
                    r[1], r[2]);
        // The last rows of memory lie inside, on both sides; an empty range may begin where memory ends.
        b.own_kind = random_kind(b.c);
        b.expect_static(5, memory - 2 * row, 2 * row, OUT);
        b.command(MW_I_MULTIMEM_LD_REDUCE, 0, 5, memory - 2 * row, 2 * row, OUT);
        b.finish(100000);
        b.expect_static(6, YD, 2 * row, memory - 2 * row);
        b.command(MW_I_MULTIMEM_LD_REDUCE, 0, 6, YD, 2 * row, memory - 2 * row);
        b.finish(100000);
        b.command(MW_I_MULTIMEM_LD_REDUCE, 0, 6, memory, 0, memory);
        b.finish(100000);
        allowed(b);
    }
}

// Tokens from 2^token_shift on are another GPU's.
static void bad_tokens(void **state)
{
    (void)state;
    const uint32_t end = 1u << TOKEN_SHIFT;
    static const uint32_t bad[][2] = {{0, end + 1},  {end, 1},        {end - 1, 2},
                                      {1u << 12, 1}, {1u << 13, 1},   {1u << 31, 1},
                                      {0, 1u << 13}, {5, 0u - 4},     {0u - 1, 1},
                                      {0u - 1, 2},   {5, 0x1ffe},     {1u << 31, 1u << 31},
                                      {0, 1u << 31}, {0, 0xffffffffu}};
    bench b(seed + 4600, settings());
    for (const auto &r : bad) {
        refused(b, MW_HWERR_BOUNDS, MW_I_DYMULTIMEM_LD_REDUCE, 0, r[0], r[1], 0);
        refused(b, MW_HWERR_BOUNDS, MW_I_SUM, b.c.below(1u << 16), r[0], r[1], 0);
        b.reports.clear();
        b.errors_due[MW_HWERR_BOUNDS]++;
        const uint64_t start = b.now;
        b.push(r[0], r[0] + r[1], 10);
        assert_int_equal(b.reports.size(), 1);
        assert_int_equal(b.reports[0].unit, 0);
        assert_int_equal(b.reports[0].code, MW_HWERR_BOUNDS);
        assert_int_equal(b.reports[0].now, start);
        b.finish(100000);
    }
    // The last token is one.
    b.own_kind = random_kind(b.c);
    b.put_route(end - 1, b.random_list(10));
    b.expect_dynamic(end - 1);
    b.command(MW_I_DYMULTIMEM_LD_REDUCE, 0, 0, end - 1, 1, 0);
    b.finish(100000);
    b.command(MW_I_DYMULTIMEM_LD_REDUCE, 0, 0, end, 0, 0);
    b.finish(100000);
    allowed(b);
}

// Commands whose operands are anything at all: as the rules of docs/isa.md have it, and the machine is as good as new behind each.
static void any_command(void **state)
{
    (void)state;
    const uint64_t memory = F << ADDR_W;
    const uint32_t tokens = 1u << TOKEN_SHIFT;
    bench b(seed + 4700, settings());
    for (unsigned i = 0; i < tokens; i++)
        b.put_route(i, std::vector<int>(b.conf.k, -1));
    unsigned went = 0;
    for (unsigned round = 0; round < 600; round++) {
        static const unsigned ops[] = {MW_I_DYMULTIMEM_LD_REDUCE, MW_I_MULTIMEM_LD_REDUCE,
                                       MW_I_SUM};
        auto operand = [&](uint64_t limit) {
            const uint64_t near[] = {0, F, limit - F, limit, limit + F, 2 * limit};
            const uint64_t v =
                b.c.percent(60) ? near[b.c.below(6)] : b.c.rng() >> (32 + b.c.below(32));
            return static_cast<uint32_t>(b.c.percent(20) ? v + 1 : v);
        };
        const unsigned op = b.c.percent(10) ? b.c.below(256) : ops[b.c.below(3)];
        const bool fixed = op == MW_I_MULTIMEM_LD_REDUCE;
        const uint64_t limit = fixed ? memory : tokens;
        const uint32_t at = operand(limit), count = operand(limit), to = operand(memory);
        const unsigned imm = b.c.percent(50) ? b.c.below(20) : b.c.below(1u << 16);
        const unsigned dtype = imm >> 8 & 15, redop = imm >> 12;
        unsigned code = 0;
        if (op != ops[0] && op != ops[1] && op != ops[2])
            code = MW_HWERR_INSTR;
        else if (op != MW_I_SUM && (dtype > 7 || redop > 7 || !mw_reduce_exists(dtype, redop)))
            code = MW_HWERR_REDUCTION;
        else if (fixed && (imm & 255) >= MW_STATIC_GROUPS)
            code = MW_HWERR_UNMAPPED;
        else if (uint64_t{at} + count > limit ||
                 (fixed && (at % F || count % F || to % F || uint64_t{to} + count > memory)))
            code = MW_HWERR_BOUNDS;
        if (code) {
            refused(b, code, op, imm, at, count, to);
        } else if (!fixed && count == 0) {
            b.command(op, 0, imm, at, count, to);
            b.finish(100000);
            went++;
        }
    }
    assert_true(went > 0);
    allowed(b);
}

static void unicast_sums(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 12; round++) {
        settings s;
        s.k = round % 4 == 0 ? 16 : 1 + round;
        s.local = 8;
        s.row_bytes = round % 3 == 0 ? 512 : round % 3 == 1 ? 128 + F : F;
        if (s.k == 16 && s.row_bytes == 512)
            s.row_bytes = 256;
        s.ready = round < 3 ? 100 : 40 + 5 * round;
        s.port = round % N;
        bench b(seed + 4000 + round, s);
        // Received rows by source, of each in the order of its tokens.
        unsigned row = 0;
        for (unsigned q = 0; q < N; q++) {
            if (q == s.port)
                b.own_base = row;
            std::vector<unsigned> tokens;
            for (unsigned t = 0; t < 1u << TOKEN_SHIFT; t++) {
                if (row + tokens.size() < 28 && b.c.percent(48 / N))
                    tokens.push_back(t);
            }
            for (unsigned t : tokens)
                b.put_meta(row++, q, t, b.random_list(15));
            b.src_rows[q] = static_cast<unsigned>(tokens.size());
        }
        for (unsigned i = 0; i < 24; i++)
            b.put_route(i, b.random_list(15));
        for (unsigned i = 0; i < 24; i++)
            b.expect_sum(i);
        b.command(MW_I_SUM, 0, 0, 0, 10, 0); // remote ones, ahead of the own experts
        b.wait_retired(100000);
        b.command(MW_I_SUM, 0, 0, 10, 5, 0);
        b.wait_retired(100000);
        b.command(MW_I_SUM, 1, 0, 0, 10, 0);
        b.wait_retired(100000);
        b.command(MW_I_SUM, 0, 0, 15, 9, 0);
        b.wait_retired(100000);
        b.command(MW_I_SUM, 1, 0, 10, 14,
                  0); // the count of copies goes on from one range to the next
        b.cycle();
        if (round % 2 == 0) // else side by side
            b.wait_retired(100000);
        unsigned at[] = {0, b.c.below(5), 5 + b.c.below(9), 14 + b.c.below(10), 32};
        for (unsigned r = 1; r < 5; r++)
            b.push(at[r - 1], at[r], 100000);
        b.finish(100000);
    }
}

// Cycles per packet of a long run in which nothing but the adder limits.
static void rates(void **state)
{
    (void)state;
    for (unsigned m = 1; m <= 3; m++) {
        settings s;
        s.k = 8;
        s.row_bytes = 512;
        s.credit_delay = 0;
        s.port = 0;
        bench b(seed + 5000 + m, s);
        std::vector<int> here;
        for (unsigned e = 0; e < b.experts.size() && here.size() < m; e++) {
            if (b.gpu(e) == 0)
                here.push_back(static_cast<int>(e));
        }
        unsigned rows = 64;
        for (unsigned t = 0; t < rows; t++)
            b.ask_list(1 + t % (N - 1), (1 + t % (N - 1)) << TOKEN_SHIFT | t % 32, here);
        b.finish(100000);
        double per = static_cast<double>(b.last_part - b.first_part) /
                     static_cast<double>(b.part_packets - 1);
        unsigned adder = PF * (m > 2 ? m - 1 : 1), link = PF + 16 / F;
        printf("N=%u F=%u, %u terms: %.2f cycles per packet\n", N, F, m, per);
        assert_true(per <= std::max(adder, link) + 0.1);
    }
}

// Rows of one packet over a static group for all other GPUs: they are set up as fast as the uplink takes their packets.
static void rate_of_short_rows(void **state)
{
    (void)state;
    settings s;
    s.row_bytes = 128;
    s.credit_delay = 6;
    s.port = 0;
    bench b(seed + 5500, s);
    for (unsigned t = 0; t < 300; t++) {
        for (unsigned q = 1; q < N; q++)
            b.ask_static(q, YD + F * b.c.below(1000), 128, false, random_kind(b.c));
    }
    b.finish(100000);
    double per =
        static_cast<double>(b.last_part - b.first_part) / static_cast<double>(b.part_packets - 1);
    printf("N=%u F=%u: %.2f cycles per row of a packet\n", N, F, per);
    assert_true(per <= PF + 16 / F + 0.1);
}

// A GPU that serves partials of all others and its own rows, with all it needs always there: the adder never waits.
static void hot(void **state)
{
    (void)state;
    for (unsigned m = 1; m <= 3; m++) {
        for (unsigned own = 0; own < 2; own++) {
            settings s;
            s.k = 8;
            s.row_bytes = 512;
            s.credit_delay = 6;
            s.port = 0;
            bench b(seed + 6000 + m, s);
            std::vector<int> here, list;
            for (unsigned e = 0; e < b.experts.size() && here.size() < m; e++) {
                if (b.gpu(e) == 0)
                    here.push_back(static_cast<int>(e));
            }
            list = here;
            for (unsigned e = 0; e < b.experts.size() && list.size() < m + 2; e++) {
                if (b.gpu(e) != 0)
                    list.push_back(static_cast<int>(e));
            }
            list.resize(8, -1);
            unsigned tokens = 28;
            for (unsigned i = 0; i < tokens; i++) {
                b.put_route(i, list);
                b.expect_dynamic(i);
            }
            for (unsigned t = 0; t < (own ? 0 : 6 * tokens); t++) {
                unsigned q = 1 + t % (N - 1);
                b.ask_list(q, q << TOKEN_SHIFT | t % 32, here);
            }
            b.command(MW_I_DYMULTIMEM_LD_REDUCE, 0, 0, 0, tokens, 0);
            while (b.tokens_done < 4)
                b.cycle();
            uint64_t start = b.now, parts = b.part_packets, flits = b.out_flits;
            while (b.tokens_done < tokens - 8 && (own || b.requests_left()))
                b.cycle();
            double time = static_cast<double>(b.now - start),
                   sums = static_cast<double>(b.out_flits - flits) * m;
            parts = b.part_packets - parts;
            double work = sums + static_cast<double>(parts) * PF * (m > 2 ? m - 1 : 1);
            printf("N=%u F=%u, %u terms%s: adder busy %.1f %%\n", N, F, m,
                   own ? ", own rows alone" : "", 100 * work / time);
            // R comes with its header, a flit or two in PF + 16 / F; with 8-byte flits one at a time.
            assert_true(work >= (own ? (F < 16 ? 0.6 : 0.88) : F < 16 ? 0.95 : 0.99) * time);
            b.finish(100000);
        }
    }
}

int main()
{
    const char *s = getenv("MW_SEED");
    seed = s ? strtoull(s, nullptr, 0) : static_cast<uint64_t>(time(nullptr));
    printf("MW_SEED=%llu\n", static_cast<unsigned long long>(seed));
    Verilated::randReset(2); // registers and memories start with random contents
    Verilated::randSeed(static_cast<int>(seed % 0x7ffffffe) + 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(combines_and_serves),
        cmocka_unit_test(faults_poison_their_row_only),
        cmocka_unit_test(static_groups),
        cmocka_unit_test(unknown_reductions),
        cmocka_unit_test(unknown_instructions),
        cmocka_unit_test(unknown_groups),
        cmocka_unit_test(bad_ranges),
        cmocka_unit_test(bad_tokens),
        cmocka_unit_test(any_command),
        cmocka_unit_test(unicast_sums),
        cmocka_unit_test(rates),
        cmocka_unit_test(rate_of_short_rows),
        cmocka_unit_test(hot),
    };
    return cmocka_run_group_tests_name("reduction", tests, nullptr, nullptr);
}
