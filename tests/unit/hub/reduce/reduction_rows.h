// SPDX-License-Identifier: Apache-2.0
//
// Rows of one hub in a reduction, for the tests of reduction. The header has its tables, the
// requests of all GPUs, and the golden model of each packet and row.
#ifndef REDUCTION_ROWS_H
#define REDUCTION_ROWS_H

#include "Vreduction.h"
#include "bench/errors.h"
#include "instr.h"
#include "reduction_model.h"

#include <map>
#include <set>

#ifndef PARAM_SwitchReductions
#define PARAM_SwitchReductions 0
#endif
#ifndef PARAM_TileReductions
#define PARAM_TileReductions 0
#endif

namespace tb {
static const bool BY_SWITCH = PARAM_SwitchReductions, GATHERED = PARAM_Gathered,
                  TILES = PARAM_TileReductions;
static const unsigned GROUPS = PARAM_Groups;
static const unsigned WINDOW = 8, EPOCH = 2;
static const unsigned RT = 0x1000, GT = 0x4000, OUT = 0x8000, YD = 0x20000, CB = 0x60000;
static const unsigned TOKEN_SHIFT = 6, CAP_SHIFT = 4;
static const unsigned N_SHIFT = N <= 2 ? 1 : N <= 4 ? 2 : 3;
static const unsigned LIMIT = 100000; // cycles of a run
enum unit { COMBINE, SERVE, SUM };    // which reports errors; push does as COMBINE

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
    unsigned result_gap = 0; // percent of cycles without a result while one is due
    unsigned request_gap = 0;
    unsigned credit_delay = 10;
    bool by_switch = false; // the switch does
    bool tiles = false;     // rows of all tokens, without a dispatch
    bool returns = false;   // rows do, singly
};

/// A finished row of the own engine that returns to its token's home.
struct returning {
    unsigned home, row, token, pos;
};

/// Rows of a layer, and what must leave and be written for each.
struct reduction_rows : sums<Vreduction> {
    settings conf;
    error_watch errors{"reduction"};
    std::vector<unsigned> experts; // expert -> place: GPU = place % N, local expert = place / N
    std::vector<uint32_t> groups;
    std::map<unsigned, std::vector<int>> route;
    std::deque<unsigned> ready_tokens;
    std::deque<returning> back;
    std::map<uint64_t, bytes> out_due; // required contents of memory after a command
    unsigned tokens_due = 0, own_base = 0;
    const unsigned row_shift, k_shift;
    reduction_kind own_kind; // of the unit's commands

    explicit reduction_rows(const settings &set)
        : sums(EPOCH, set.port, set.ready, set.credits), conf(set),
          row_shift(std::max(log2_up(set.row_bytes), 4u)), k_shift(log2_up(set.k))
    {
    }

    unsigned gpu(unsigned expert) const { return experts[expert] % N; }
    unsigned local(unsigned expert) const { return experts[expert] / N; }
    bool is_own(int expert) const
    {
        return expert >= 0 && expert < static_cast<int>(experts.size()) &&
               gpu(static_cast<unsigned>(expert)) == conf.port;
    }
    // Experts of this GPU or of all others, by number.
    std::vector<int> some_experts(unsigned count, bool own) const
    {
        std::vector<int> list;
        for (int e = 0; e < static_cast<int>(experts.size()) && list.size() < count; e++) {
            if (is_own(e) == own)
                list.push_back(e);
        }
        return list;
    }

    uint64_t y_addr(unsigned le, unsigned row) const
    {
        return YD + ((uint64_t{le} << CAP_SHIFT | row) << row_shift);
    }
    uint64_t copy_addr(unsigned row, unsigned j) const
    {
        return YD + ((uint64_t{row} << k_shift | j) << row_shift);
    }
    uint64_t slot_addr(unsigned i, unsigned q) const
    {
        return CB + ((uint64_t{i} << N_SHIFT | q) << row_shift);
    }
    // Slot of own token i at this place of its list, or of another GPU's token there.
    uint64_t return_addr(unsigned i, unsigned pos) const
    {
        return CB + ((uint64_t{i} << k_shift | pos) << row_shift);
    }
    uint64_t dense_addr(unsigned t) const { return CB + (uint64_t{t} << row_shift); }
    uint64_t out_addr(unsigned i) const { return OUT + (uint64_t{i} << row_shift); }

    std::vector<unsigned> shuffled_experts()
    {
        std::vector<unsigned> all;
        for (unsigned e = 0; e < experts.size(); e++)
            all.push_back(e);
        rng.shuffle(all);
        return all;
    }

    // A list of experts: k different ones and some places empty.
    std::vector<int> random_list(unsigned empty_percent)
    {
        std::vector<unsigned> all = shuffled_experts();
        if (percent(30)) { // often many on one GPU
            const unsigned g = percent(50) ? conf.port : below(N);
            std::stable_partition(all.begin(), all.end(), [&](unsigned e) { return gpu(e) == g; });
        }
        std::vector<int> list;
        for (unsigned j = 0; j < conf.k; j++)
            list.push_back(percent(empty_percent) ? -1 : static_cast<int>(all[j]));
        return list;
    }

    void put_route(unsigned i, const std::vector<int> &list)
    {
        mem.write(RT + 128 * i, rng.some(32));
        put_list(RT + 128 * i, list);
        route[i] = list;
    }

    // A request of GPU q for one of its tokens with experts here.
    void ask(unsigned q)
    {
        std::vector<int> here;
        unsigned want = 1 + below(std::min(conf.k, conf.local));
        if (percent(50))
            want = 1 + below(std::min(2u, want));
        for (unsigned e : shuffled_experts()) {
            if (gpu(e) == conf.port && here.size() < want)
                here.push_back(static_cast<int>(e));
        }
        ask_list(q, q << TOKEN_SHIFT | below(1u << TOKEN_SHIFT), here);
    }

    void ask_list(unsigned q, unsigned token, const std::vector<int> &here)
    {
        bool bad;
        const std::vector<bytes> terms = own_terms(token, here, bad);
        const reduction_kind kind = random_kind(rng);
        packet p = request(q, MW_OP_DYMULTIMEM_LD_REDUCE, kind, conf.row_bytes,
                           conf.by_switch ? token : uint64_t{token} << row_shift);
        std::vector<uint16_t> targets;
        for (int e : here)
            targets.push_back(target(static_cast<unsigned>(e), below(16)));
        p.set_targets(targets);
        push_request(p, reduce_rows(terms, conf.row_bytes, kind), bad);
        if (bad)
            errors.expect(MW_HWERR_UNALLOCATED, SERVE);
    }

    // A request for one explicit row.
    void ask_static(unsigned q, uint64_t addr, unsigned length, bool bad, reduction_kind kind)
    {
        packet p = request(q, MW_OP_MULTIMEM_LD_REDUCE, kind, length, addr);
        p.h.target0 = below(16);
        push_request(p, bad ? bytes(length) : reduce_rows({mem.read(addr, length)}, length, kind),
                     bad);
        if (bad)
            errors.expect(MW_HWERR_BOUNDS, SERVE);
    }

    // With tile reductions the row's number gives the address of a GPU's term.
    bytes tile_term(unsigned token) const
    {
        return mem.read(YD + (uint64_t{token} << row_shift), conf.row_bytes);
    }
    void ask_tile(unsigned q)
    {
        const unsigned token = q << TOKEN_SHIFT | below(1u << TOKEN_SHIFT);
        packet p = request(q, MW_OP_DYMULTIMEM_LD_REDUCE, {}, conf.row_bytes, token);
        p.h.cnt = 1;
        push_request(p, reduce_rows({tile_term(token)}, conf.row_bytes, {}), false);
    }
    void expect_tile(unsigned i)
    {
        packet p = request(conf.port, MW_OP_DYMULTIMEM_LD_REDUCE, {}, conf.row_bytes, 0);
        tokens_due++;
        expect_own(out_addr(i), {tile_term(conf.port << TOKEN_SHIFT | i)}, false, true, p);
    }

    // The required own row of token i, and the request that must leave for it.
    void expect_dynamic(unsigned i)
    {
        const std::vector<int> &list = route[i];
        const unsigned token = conf.port << TOKEN_SHIFT | i;
        tokens_due++;
        for (int e : list) {
            if (e >= static_cast<int>(experts.size())) {
                errors.expect(MW_HWERR_UNMAPPED, COMBINE);
                out_due[out_addr(i)] = mem.read(out_addr(i), conf.row_bytes);
                return;
            }
        }
        bool bad;
        const std::vector<bytes> terms = own_terms(token, list, bad);
        if (bad)
            errors.expect(MW_HWERR_UNALLOCATED, SERVE);
        packet p = request(conf.port, MW_OP_DYMULTIMEM_LD_REDUCE, own_kind, conf.row_bytes,
                           uint64_t{token} << row_shift);
        std::vector<uint16_t> targets;
        for (unsigned j = 0; j < list.size(); j++) {
            if (list[j] >= 0 && !is_own(list[j]))
                targets.push_back(target(static_cast<unsigned>(list[j]), j));
        }
        p.set_targets(targets);
        expect_own(out_addr(i), terms, bad, !targets.empty(), p);
    }

    // Static rows: own memory (if a member) last, R from the others.
    void expect_static(unsigned group, uint64_t a, unsigned length, uint64_t to)
    {
        expect_rows(group, a, length, to, conf.row_bytes);
    }

    // The same for rows with a stride.
    void expect_rows(unsigned group, uint64_t a, unsigned length, uint64_t to, unsigned stride)
    {
        for (unsigned off = 0; off < length; off += stride) {
            const unsigned n = std::min(conf.row_bytes, length - off);
            if (groups[group] == 0) { // no member: the row does not change
                errors.expect(MW_HWERR_UNMAPPED, COMBINE);
                out_due[to + off] = mem.read(to + off, n);
                continue;
            }
            std::vector<bytes> terms;
            if (groups[group] >> conf.port & 1)
                terms.push_back(mem.read(a + off, n));
            packet p = request(conf.port, MW_OP_MULTIMEM_LD_REDUCE, own_kind, n, a + off);
            p.h.target0 = group;
            expect_own(to + off, terms, false, (groups[group] & ~(1u << conf.port)) != 0, p);
        }
    }

    // Unicast: remote slots in the order of R, then own copies.
    void expect_sum(unsigned i)
    {
        const std::vector<int> &list = route[i];
        std::vector<bytes> remote, own;
        for (unsigned t = 1; t < N; t++) {
            const unsigned q = (conf.port + t) % N;
            if (std::any_of(list.begin(), list.end(),
                            [&](int e) { return e >= 0 && gpu(static_cast<unsigned>(e)) == q; }))
                remote.push_back(mem.read(slot_addr(i, q), conf.row_bytes));
        }
        own = own_copies(own_base + copies, list);
        copies += !own.empty();
        tokens_due++;
        if (!remote.empty())
            own.push_back(reduce_rows(remote, conf.row_bytes, {}));
        out_due[out_addr(i)] = reduce_rows(own, conf.row_bytes, {});
    }

    // Where rows return. For each other GPU the term is the rounded sum of its slots. If a GPU has
    // several slots and another GPU has any, this sum is written to the first of them. R is the sum
    // of these terms. The row is the sum of own experts' rows and R.
    void expect_returned(unsigned i)
    {
        const std::vector<int> &list = route[i];
        tokens_due++;
        if (std::any_of(list.begin(), list.end(),
                        [&](int e) { return e >= static_cast<int>(experts.size()); })) {
            errors.expect(MW_HWERR_UNMAPPED, COMBINE);
            return;
        }
        bool bad;
        std::vector<bytes> terms = own_terms(conf.port << TOKEN_SHIFT | i, list, bad), of_gpu;
        if (bad)
            errors.expect(MW_HWERR_UNALLOCATED, SERVE);
        std::map<uint64_t, bytes> summed; // slots of several
        for (unsigned t = 1; t < N; t++) {
            std::vector<bytes> rows;
            uint64_t first = 0;
            for (unsigned j = 0; j < list.size(); j++) {
                if (list[j] < 0 || gpu(static_cast<unsigned>(list[j])) != (conf.port + t) % N)
                    continue;
                first = rows.empty() ? return_addr(i, j) : first;
                rows.push_back(mem.read(return_addr(i, j), conf.row_bytes));
            }
            if (rows.empty())
                continue;
            of_gpu.push_back(reduce_rows(rows, conf.row_bytes, {}));
            if (rows.size() > 1)
                summed[first] = of_gpu.back();
        }
        if (of_gpu.size() > 1)
            out_due.insert(summed.begin(), summed.end());
        if (!of_gpu.empty())
            terms.push_back(reduce_rows(of_gpu, conf.row_bytes, {}));
        if (!bad)
            out_due[out_addr(i)] = reduce_rows(terms, conf.row_bytes, {});
        else if (!of_gpu.empty())
            out_due[out_addr(i)] = terms.back(); // R is in memory already
    }

    // Tokens whose slots fit in memory.
    unsigned slots() const
    {
        return std::min(1u << TOKEN_SHIFT, (MEM - CB) >> (row_shift + k_shift));
    }

    // A row of the own engine for a token of GPU home.
    void give_back(unsigned home)
    {
        const returning r = {home, below(conf.local << CAP_SHIFT), below(slots()), below(conf.k)};
        back.push_back(r);
        mw_header h = head(MW_OP_ST, home);
        h.addr = return_addr(r.token, r.pos);
        expect_row(stores_due[home], h,
                   reduce_rows({mem.read(YD + (uint64_t{r.row} << row_shift), conf.row_bytes)},
                               conf.row_bytes, {}));
    }

    // A gathered token, and its required dense row after an instruction with these flags.
    void put_gathered(unsigned t, const std::vector<int> &list)
    {
        mem.write(GT + 128 * t, rng.some(128));
        put_list(GT + 128 * t, list);
        gathered[t] = list;
    }
    void expect_dense(unsigned t, unsigned flags)
    {
        const std::vector<bytes> terms = own_copies(t, gathered[t]);
        bytes minus(conf.row_bytes);
        for (unsigned i = 1; i < conf.row_bytes; i += 2)
            minus[i] = 0x80;
        if (flags == 6 || (flags == 2 && terms.empty()))
            out_due[dense_addr(t)] = minus;
        else if (flags == 3 && !terms.empty())
            out_due[dense_addr(t)] = reduce_rows(terms, conf.row_bytes, {});
        else
            out_due[dense_addr(t)] = mem.read(dense_addr(t), conf.row_bytes);
    }

    // Own experts' rows of own token i, which is gathered token t, are added to the R in memory.
    void expect_gathered(unsigned i, unsigned t)
    {
        std::vector<bytes> own = own_copies(t, route[i]);
        const bool remote = std::any_of(route[i].begin(), route[i].end(), [&](int e) {
            return e >= 0 && gpu(static_cast<unsigned>(e)) != conf.port;
        });
        const bytes r = mem.read(out_addr(i), conf.row_bytes);
        const bool left = own.empty() && remote;
        if (remote)
            own.push_back(r);
        tokens_due += !left;
        out_due[out_addr(i)] = left ? r : reduce_rows(own, conf.row_bytes, {});
    }

    // Received row r of a token of GPU home.
    void put_meta(unsigned r, unsigned home, unsigned index, const std::vector<int> &list)
    {
        mem.write(GT + 128 * r, rng.some(128));
        mem.set<uint32_t>(GT + 128 * r, home << TOKEN_SHIFT | index);
        put_list(GT + 128 * r + 4 + 4 * conf.k, list);
        if (home == conf.port)
            return;
        const std::vector<bytes> terms = own_copies(r, list);
        mw_header h = head(MW_OP_ST, home);
        h.addr = slot_addr(index, conf.port);
        expect_row(stores_due[home], h, reduce_rows(terms, conf.row_bytes, {}));
    }

  protected:
    struct asked {
        wire request;
        std::vector<wire> answer;
    };

    void configure()
    {
        const std::map<std::string, unsigned> fields = {{"k", conf.k},
                                                        {"token_shift", TOKEN_SHIFT},
                                                        {"n_shift", N_SHIFT},
                                                        {"k_shift", k_shift},
                                                        {"row_bytes", conf.row_bytes},
                                                        {"row_shift", row_shift},
                                                        {"cap_shift", CAP_SHIFT},
                                                        {"rt_base", RT},
                                                        {"gt_base", GT},
                                                        {"yd_base", YD},
                                                        {"out_base", OUT},
                                                        {"cb_base", CB},
                                                        {"open_rows", conf.open_rows},
                                                        {"row_returns", conf.returns},
                                                        {"source_lists", 0}};
        for (auto &f : fields)
            cfg.set(f.first, f.second);
        if (BY_SWITCH)
            cfg.set("switch_reductions", conf.by_switch);
        if (TILES)
            cfg.set("tile_reductions", conf.tiles);
        cfg.any_rest(rng);
        cfg.drive(dut.cfg_i);
    }

    // Experts beyond those are not mapped.
    void fill_map()
    {
        for (unsigned e = 0; e < N * conf.local; e++)
            experts.push_back(e);
        rng.shuffle(experts);
        dut.emap_we_i = 1;
        for (unsigned e = 0; e < PARAM_MaxExperts; e++) {
            const bool mapped = e < experts.size();
            dut.emap_addr_i = static_cast<uint16_t>(e);
            dut.emap_data_i =
                mapped ? tb::place(true, gpu(e), local(e)) : static_cast<uint16_t>(rng.bits(13));
            edge();
        }
        dut.emap_we_i = 0;
    }
    void fill_groups()
    {
        dut.groups_we_i = 1;
        for (unsigned g = 0; g < GROUPS; g++) {
            groups.push_back(g == 3 ? 0 : static_cast<uint32_t>(rng.bits(N)));
            dut.groups_addr_i = static_cast<uint8_t>(g);
            dut.groups_data_i = groups[g];
            edge();
        }
        dut.groups_we_i = 0;
    }

    void put_list(unsigned at, const std::vector<int> &list)
    {
        for (unsigned j = 0; j < list.size(); j++)
            mem.set(at + 2 * j, static_cast<uint16_t>(list[j])); // 0xffff for an empty place
    }

    // Rows of a token at own experts. They are allocated, except for faults. bad is set if one is
    // missing.
    std::vector<bytes> own_terms(unsigned token, const std::vector<int> &list, bool &bad)
    {
        std::vector<bytes> terms;
        bad = false;
        for (int e : list) {
            if (!is_own(e))
                continue;
            const std::pair<unsigned, unsigned> key{local(static_cast<unsigned>(e)), token};
            auto found = allocated.find(key);
            if (found == allocated.end()) {
                if (missing.count(key) || percent(conf.faults)) {
                    missing.insert(key);
                    bad = true;
                    continue;
                }
                // rows may be shared, because nothing writes them
                const unsigned row = next_row[key.first]++ % (1u << CAP_SHIFT);
                found = allocated.insert({key, row}).first;
            }
            terms.push_back(mem.read(y_addr(key.first, found->second), conf.row_bytes));
        }
        return terms;
    }
    // Copies of a received row by the own experts of its list.
    std::vector<bytes> own_copies(unsigned row, const std::vector<int> &list)
    {
        std::vector<bytes> terms;
        for (unsigned j = 0; j < list.size(); j++) {
            if (is_own(list[j]))
                terms.push_back(mem.read(copy_addr(row, j), conf.row_bytes));
        }
        return terms;
    }

    packet request(unsigned src, unsigned op, reduction_kind kind, unsigned length, uint64_t addr)
    {
        packet p;
        p.h = head(op, 0);
        p.h.src = src;
        p.h.dtype = kind.dtype;
        p.h.redop = kind.redop;
        p.h.len = length;
        p.h.addr = addr;
        return p;
    }
    void push_request(const packet &p, const bytes &row, bool poison)
    {
        requests[p.h.src].push_back(encode(p, F, &rng));
        mw_header h = head(MW_OP_PARTIAL, p.h.src);
        h.poison = poison;
        expect_row(partials_due[p.h.src], h, row);
    }

    // An own row at `to`: its own terms and, if others have some, the reduced row that answers the
    // request.
    void expect_own(uint64_t to, std::vector<bytes> terms, bool bad, bool remote, const packet &p)
    {
        const unsigned n = p.h.len;
        const bytes before = mem.read(to, n);
        unsigned poisoned = ~0u; // packet of the reduced row
        if (remote) {
            terms.push_back(reduced_row(n));
            if (percent(conf.faults))
                poisoned = below((n + 127) / 128);
            const std::vector<wire> answer = reduced(terms.back(), poisoned);
            if (conf.by_switch)
                results.queue.insert(results.queue.end(), answer.begin(), answer.end());
            else
                requests_due.push_back({encode(p, F), answer});
        }
        bytes sum = bad ? before : reduce_rows(terms, n, own_kind);
        if (poisoned != ~0u) {
            errors.expect(MW_HWERR_POISON, SUM);
            for (unsigned i = 128 * poisoned; i < std::min(n, 128 * (poisoned + 1)); i++)
                sum[i] = before[i];
        }
        out_due[to] = sum;
    }

    std::map<unsigned, std::vector<int>> gathered;
    std::map<std::pair<unsigned, unsigned>, unsigned> allocated; // {local expert, token} -> row
    std::set<std::pair<unsigned, unsigned>> missing;
    std::map<unsigned, unsigned> next_row; // by local expert
    std::deque<wire> requests[N];          // of the other GPUs
    std::deque<asked> requests_due;
    unsigned copies = 0;
};
} // namespace tb

#endif
