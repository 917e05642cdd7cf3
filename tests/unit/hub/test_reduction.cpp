// SPDX-License-Identifier: Apache-2.0
//
// combine, row_ranges, reduce_serve and row_sum together, as one hub has them, against a fake
// switch: it checks every request and answers with reduced rows made at random, sends requests
// of all other GPUs at the same time, each in an order of its own, takes partial sums and returns
// credits late. Every bit of every packet and of GPU memory is compared with the golden model's
// reductions. Then the rates that the machine's throughput rests on. With switch-initiated
// reductions (SwitchReductions) requests are those of grant_lists, and results come unasked.

#include "Vreduction.h"
#include "bench/errors.h"
#include "isa.h"
#include "reduction_model.h"

#include <map>
#include <set>

using namespace tb;

#ifndef PARAM_SwitchReductions
#define PARAM_SwitchReductions 0
#endif
#ifndef PARAM_TileReductions
#define PARAM_TileReductions 0
#endif
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
    unsigned result_gap = 0; // percent of cycles without a result though one is due
    unsigned request_gap = 0;
    unsigned credit_delay = 10;
    bool by_switch = false; // the switch does
    bool tiles = false;     // of rows of all tokens, which nothing dispatched
    bool returns = false;   // rows do, singly
};

/// A finished row of the own engine that returns to its token's home.
struct returning {
    unsigned home, row, token, pos;
};

struct bench : sums<Vreduction> {
    settings conf;
    read_port misc{mem, "MISC"};
    error_watch errors{"reduction"};
    std::vector<unsigned> experts; // expert -> place: GPU = place % N, local expert = place / N
    std::vector<uint32_t> groups;
    std::map<unsigned, std::vector<int>> route;
    std::deque<unsigned> ready_tokens;
    std::deque<returning> back;
    std::map<uint64_t, bytes> out_due; // what memory must have behind a command
    uint64_t command_at = 0;           // when the unit took the last one
    unsigned tokens_done = 0, tokens_due = 0, own_base = 0, src_rows[N] = {};
    const unsigned row_shift, k_shift;
    int notified[N];       // before which row those of a source are here, -1: it has not reported
    unsigned max_open = 0; // requests of a GPU
    bool retired = true;
    reduction_kind own_kind; // of the unit's commands

    explicit bench(const settings &set = settings())
        : sums(EPOCH, set.port, set.ready, set.credits), conf(set),
          row_shift(std::max(log2_up(set.row_bytes), 4u)), k_shift(log2_up(set.k))
    {
        credit_delay = conf.credit_delay;
        results.rate = 100 - conf.result_gap;
        request_source.rate = conf.request_gap ? 80 : 100;
        misc.rate = conf.ready;
        misc.most_waits = 5;
        std::fill(notified, notified + N, -1);
        configure();
        dut.go_i = dut.cmd_valid_i = dut.push_valid_i = dut.rdy_valid_i = dut.back_valid_i = 0;
        dut.req_valid_i = dut.res_valid_i = dut.part_crd_valid_i = dut.al_valid_i = 0;
        dut.emap_we_i = dut.groups_we_i = 0;
        dut.rd_rvalid_i = dut.sum_rd_rvalid_i[0] = dut.sum_rd_rvalid_i[1] = dut.copy_rd_rvalid_i =
            0;
        reset();
        fill_map();
        fill_groups();
        dut.go_i = 1;
        edge();
        dut.go_i = 0;
    }

    unsigned gpu(unsigned expert) const { return experts[expert] % N; }
    unsigned local(unsigned expert) const { return experts[expert] / N; }
    bool is_own(int expert) const
    {
        return expert >= 0 && expert < static_cast<int>(experts.size()) &&
               gpu(static_cast<unsigned>(expert)) == conf.port;
    }
    // Some of the experts of a GPU, or of all others, by number.
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
    // Of own token i's expert at that place of its list, or of another GPU's token there.
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

    // A request of GPU q for a token of its own with experts here.
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

    void command(unsigned op, unsigned flags, unsigned imm, uint32_t a, uint32_t b, uint32_t c)
    {
        const unsigned kind = own_kind.dtype << 8 | own_kind.redop << 12;
        const mw_instr in = {static_cast<uint8_t>(op),
                             static_cast<uint8_t>(flags & 15),
                             static_cast<uint8_t>(flags >> 4 & 3),
                             static_cast<uint8_t>(flags >> 6 & 3),
                             static_cast<uint16_t>(imm | kind),
                             a,
                             b,
                             c};
        memcpy(&dut.cmd_i, &in, sizeof in);
        dut.cmd_valid_i = 1;
        retired = false;
    }
    void run(unsigned op, unsigned flags, unsigned imm, uint32_t a, uint32_t b, uint32_t c)
    {
        command(op, flags, imm, a, b, c);
        finish();
    }

    void cycle() override
    {
        sums::cycle();
        if (command_taken)
            dut.cmd_valid_i = 0;
        dut.push_valid_i = 0;
    }

    // sum.st of tokens below `end`; returns when it has retired. No row behind has left then.
    void push(uint32_t first, uint32_t end)
    {
        const mw_instr in = {MW_I_SUM_ST, 0, 0, 0, 0, first, end - first, 0};
        memcpy(&dut.cmd_i, &in, sizeof in);
        dut.push_valid_i = 1;
        push_retired = false;
        until("the push to retire", LIMIT, [&] { return push_retired; });
        for (unsigned home = 0; home < N; home++) {
            for (const leaving &s : stores_due[home])
                assert_true(notified[home] >= 0 ||
                            header_of(s.packet.data).addr >= slot_addr(end, 0));
        }
    }

    // Rows of sum.st that have not left for that GPU, in packets of 128 bytes.
    size_t rows_due(unsigned home) const
    {
        const size_t packets = (conf.row_bytes + 127) / 128;
        assert_int_equal(stores_due[home].size() % packets, 0);
        return stores_due[home].size() / packets;
    }

    void wait_retired()
    {
        until("the command to retire", LIMIT, [&] { return retired; });
    }

    bool requests_left() const
    {
        for (auto &list : requests)
            if (!list.empty())
                return true;
        return !request_source.empty();
    }

    // Runs until all is done, and a little longer.
    void finish()
    {
        unsigned quiet = 0;
        until("the end", LIMIT, [&] {
            const bool done = dut.idle_o && results.empty() && !requests_left() && retired &&
                              nothing_leaves() && back.empty();
            quiet = done ? quiet + 1 : 0;
            return quiet > 60;
        });
        errors.done();
        assert_int_equal(tokens_done, tokens_due);
        for (auto &w : out_due)
            assert_true(mem.read(w.first, w.second.size()) == w.second);
        assert_true(requests_due.empty());
    }

    // With tile reductions a GPU's term of a row is where its number says.
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

    // What the own row of token i must be, and the request that must leave for it.
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

    // The same of rows that may lie apart.
    void expect_rows(unsigned group, uint64_t a, unsigned length, uint64_t to, unsigned stride)
    {
        for (unsigned off = 0; off < length; off += stride) {
            const unsigned n = std::min(conf.row_bytes, length - off);
            if (groups[group] == 0) { // nobody to ask: the row stays what it is
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

    // Where rows return: of each other GPU the sum, rounded, which lies in the first of its slots
    // then, if there are several and another GPU has any; R of these; own experts' rows, and R.
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
            out_due[out_addr(i)] = terms.back(); // R is there already
    }

    // Tokens whose slots memory has room for.
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

    // A gathered token, and what its dense row must be behind an instruction of these flags.
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

    // Own experts' rows of own token i, which is gathered token t: on top of the R that is there.
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

  private:
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

    // Experts behind those are not mapped.
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
            mem.set(at + 2 * j, static_cast<uint16_t>(list[j])); // of an empty place 0xffff
    }

    // Rows of a token at own experts: allocated, but for faults. Bad if one is missing.
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
                // rows may be shared: nothing writes them
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

    // An own row at `to`: its own terms, then, if others have some, a reduced row that
    // comes for the request.
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

    void drive() override
    {
        sums::drive();
        misc.drive(rng, dut.rd_ready_i, dut.rd_rvalid_i, dut.rd_rdata_i);
        dut.req_ready_i = percent(ready);
        dut.own_base_i = own_base;
        dut.rdy_valid_i = !ready_tokens.empty();
        dut.rdy_token_i =
            static_cast<uint32_t>(ready_tokens.empty() ? rng.bits(20) : ready_tokens.front());
        dut.back_valid_i = !back.empty();
        if (!back.empty()) {
            dut.back_home_i = static_cast<uint8_t>(back.front().home);
            dut.back_row_i = back.front().row;
            dut.back_token_i = static_cast<uint16_t>(back.front().token);
            dut.back_pos_i = static_cast<uint8_t>(back.front().pos);
        }
        dut.al_req_ready_i = !look_open && percent(ready);
        dut.al_valid_i = look_open && look_due == now;
        if (dut.al_valid_i) {
            const auto found = allocated.find(look);
            dut.al_err_i = found == allocated.end();
            dut.al_row_i =
                static_cast<uint32_t>(found == allocated.end() ? rng.bits(20) : found->second);
            look_open = false;
        }
        if (request_source.empty() && !percent(conf.request_gap))
            start_request();
        dut.req_err_i = request_source.drive(rng, dut.req_valid_i, dut.req_data_i, dut.req_last_i)
                            ? 0
                            : percent(50);
        settle();
        dut.src_rows_rows_i = src_rows[dut.src_o]; // from LUT RAM
        dut.src_rows_notified_i = notified[dut.src_o] >= 0;
        dut.src_rows_row_i =
            static_cast<uint32_t>(notified[dut.src_o] >= 0 ? notified[dut.src_o] : rng.bits(20));
    }

    // The next request of some GPU whose window is open.
    void start_request()
    {
        const unsigned start = below(N);
        for (unsigned t = 0; t < N; t++) {
            const unsigned q = (start + t) % N;
            if (requests[q].empty() || open[q] >= WINDOW)
                continue;
            max_open = std::max(max_open, ++open[q]);
            request_source.queue.push_back(requests[q].front());
            requests[q].pop_front();
            return;
        }
    }
    void row_left(unsigned q) override { open[q]--; }

    void sample() override
    {
        sums::sample();
        misc.sample(rng, dut.rd_valid_o, dut.rd_ready_i, dut.rd_addr_o);
        request_source.taken(true);
        for (unsigned u = 0; u < 3; u++)
            errors.see(now, dut.err_valid_o[u], dut.err_code_o[u], u);
        if (dut.rdy_valid_i && dut.rdy_ready_o)
            ready_tokens.pop_front();
        tokens_done += dut.tok_done_o;
        if (dut.back_done_o) {
            assert_false(back.empty());
            back.pop_front();
        }
        if (dut.al_req_valid_o && dut.al_req_ready_i) {
            assert_int_equal(dut.al_req_alloc_o, 0);
            look_open = true;
            look_due = now + (percent(conf.miss) ? 5 + below(20) : 2);
            look = {dut.al_req_le_o, dut.al_req_token_o};
        }
        requests_out.see(dut.req_valid_o, dut.req_ready_i, dut.req_data_o, dut.req_last_o);
        if (!requests_out.packets.empty()) {
            assert_false(requests_due.empty());
            assert_wire(requests_due.front().request, requests_out.take(), "a request");
            for (const wire &w : requests_due.front().answer)
                results.queue.push_back(w);
            requests_due.pop_front();
        }
        sample_commands();
    }

    void sample_commands()
    {
        command_taken = dut.cmd_valid_i && dut.cmd_ready_o;
        if (command_taken) {
            command_at = now;
        } else if (dut.retire_o) {
            assert_false(retired);
            retired = true;
        }
        assert_true(!dut.push_valid_i || dut.push_ready_o);
        push_retired = push_retired || dut.push_retire_o;
    }

    std::map<unsigned, std::vector<int>> gathered;
    std::map<std::pair<unsigned, unsigned>, unsigned> allocated; // {local expert, token} -> row
    std::set<std::pair<unsigned, unsigned>> missing;
    std::map<unsigned, unsigned> next_row; // by local expert
    bool look_open = false;                // of the allocator: one at a time
    uint64_t look_due = 0;
    std::pair<unsigned, unsigned> look;
    std::deque<wire> requests[N]; // of the other GPUs
    unsigned open[N] = {};
    packet_source request_source;
    packet_watch requests_out{"requests"};
    std::deque<asked> requests_due;
    unsigned copies = 0;
    bool push_retired = true, command_taken = false;
};

// Own tokens and requests of everyone at once.
static void combine_run(bench &b, unsigned tokens, unsigned requested, bool by_ready, bool unmapped)
{
    b.own_kind = b.conf.by_switch ? reduction_kind() : random_kind(b.rng);
    const unsigned first = b.below(4);
    std::vector<unsigned> order;
    for (unsigned i = first; i < first + tokens; i++) {
        std::vector<int> list = b.random_list(10);
        if (unmapped && b.percent(20))
            b.rng.pick(list) = static_cast<int>(b.experts.size() + b.below(100));
        b.put_route(i, list);
        order.push_back(i);
    }
    if (by_ready)
        b.rng.shuffle(order);
    for (unsigned i : order)
        b.expect_dynamic(i);
    if (by_ready)
        b.ready_tokens.assign(order.begin(), order.end());
    for (unsigned q = 0; q < N; q++) {
        for (unsigned t = 0; t < requested && q != b.conf.port; t++)
            b.ask(q);
    }
    b.run(MW_I_DYMULTIMEM_LD_REDUCE, by_ready && (!b.conf.by_switch || b.percent(50)), 0, first,
          tokens, 0);
}

TEST(combines_and_serves)
{
    static const unsigned sizes[] = {512, 128, 384 + F, 256 - F, 2 * F, F};
    unsigned most_open = 0;
    dice rng;
    for (unsigned round = 0; round < 24; round++) {
        settings s;
        s.row_bytes = sizes[round % 6];
        s.k = round % 4 == 3 ? 16 : 1 + rng.below(16);
        s.local = round % 4 == 3 ? 64 / N : std::max((s.k + N - 1) / N, 1 + rng.below(64 / N));
        if (s.local > 16)
            s.local = 16;
        if (s.k > s.local * N)
            s.k = s.local * N;
        s.ready = round < 6 ? 100 : 25 + rng.below(75);
        s.miss = rng.below(100);
        s.credits = rng.below(6);
        s.open_rows = rng.below(12);
        s.port = rng.below(N);
        s.result_gap = rng.below(70);
        s.request_gap = rng.below(90);
        bench b(s);
        combine_run(b, 20, 20, round % 2, false);
        most_open = std::max(most_open, b.max_open);
    }
    assert_int_equal(most_open, WINDOW);
}

// With switch-initiated reductions: nothing is requested, and tokens come in the order of their
// GRANTs whatever the instruction says.
TEST_IF(BY_SWITCH, combines_what_is_granted)
{
    dice rng;
    for (unsigned round = 0; round < cases(12, 24); round++) {
        settings s;
        s.by_switch = true;
        s.row_bytes = rng.pick({512u, 128u, 256 - F, F});
        s.k = 1 + rng.below(16);
        s.local = std::max((s.k + N - 1) / N, 1 + rng.below(64 / N));
        s.local = std::min(s.local, 16u);
        s.k = std::min(s.k, s.local * N);
        s.ready = round < 6 ? 100 : 25 + rng.below(75);
        s.miss = rng.below(100);
        s.open_rows = rng.below(12);
        s.port = rng.below(N);
        s.result_gap = rng.below(70);
        s.request_gap = rng.below(90);
        s.faults = round % 3 ? 0 : 20;
        bench b(s);
        combine_run(b, 24, 20, true, false);
    }
}

// With tile reductions no row has a routing entry or a list: what the table holds does not matter.
TEST_IF(TILES, sums_of_tiles)
{
    dice rng;
    for (unsigned round = 0; round < cases(12, 24); round++) {
        settings s;
        s.by_switch = s.tiles = true;
        s.row_bytes = rng.pick({512u, 128u, 256 - F, F});
        s.k = 1;
        s.ready = round < 6 ? 100 : 25 + rng.below(75);
        s.open_rows = rng.below(12);
        s.port = rng.below(N);
        s.result_gap = rng.below(70);
        s.request_gap = rng.below(90);
        s.faults = round % 3 ? 0 : 20;
        bench b(s);
        b.own_kind = {};
        for (unsigned first : {0u, 12u}) {
            for (unsigned i = first; i < first + 12; i++) {
                b.mem.write(RT + 128 * i, rng.some(32));
                b.expect_tile(i);
                b.ready_tokens.push_back(i);
            }
            for (unsigned q = 0; q < N; q++)
                for (unsigned t = 0; t < 12 && q != s.port; t++)
                    b.ask_tile(q);
            b.run(MW_I_DYMULTIMEM_LD_REDUCE, b.below(2), 0, first, 12, 0);
        }
    }
}

// There static rows, and sums of anything else than bf16, are refused as a whole.
TEST_IF(BY_SWITCH, refused_with_switch_reductions)
{
    settings s;
    s.by_switch = true;
    bench b(s);
    for (unsigned group = 0; group < GROUPS; group++) {
        b.errors.expect(MW_HWERR_WINDOW, COMBINE);
        b.run(MW_I_MULTIMEM_LD_REDUCE, 0, group, OUT, 512, OUT + 512);
    }
    for (unsigned dtype = 0; dtype < 5; dtype++) {
        for (unsigned redop = 0; redop < 3; redop++) {
            if (dtype == 0 && redop == 0)
                continue;
            b.own_kind.dtype = dtype;
            b.own_kind.redop = redop;
            b.errors.expect(MW_HWERR_REDUCTION, COMBINE);
            b.run(MW_I_DYMULTIMEM_LD_REDUCE, b.below(2), 0, 0, 4, 0);
        }
    }
}

TEST(faults_poison_their_row_only)
{
    for (unsigned round = 0; round < 8; round++) {
        settings s;
        s.row_bytes = round % 2 ? 128 + F : 384;
        s.faults = 20;
        s.ready = 60;
        s.port = round % N;
        s.result_gap = 30;
        s.request_gap = 30;
        bench b(s);
        combine_run(b, 24, 16, round % 2, true);
        assert_true(b.errors.count(MW_HWERR_UNALLOCATED) > 0);
    }
}

TEST(static_groups)
{
    for (unsigned round = 0; round < 8; round++) {
        settings s;
        s.row_bytes = round % 3 ? 256 : 128 + F;
        s.ready = round ? 70 : 100;
        s.port = round % N;
        bench b(s);
        b.own_kind = random_kind(b.rng);
        unsigned group = 17 * round % GROUPS, length = 3 * s.row_bytes + F * b.below(12);
        uint32_t from = YD + 4096 + F * b.below(8);
        b.expect_static(group, from, length, OUT + F);
        for (unsigned q = 0; q < N; q++) {
            for (unsigned t = 0; t < 6 && q != s.port; t++) {
                bool bad = t == 3;
                unsigned n = F * (1 + b.below(s.row_bytes / F));
                uint64_t at =
                    YD + F * b.below(1000) + (bad ? (b.percent(50) ? 2 : uint64_t{MEM}) : 0);
                reduction_kind kind = random_kind(b.rng);
                if (bad && b.percent(30)) { // a type or operator that does not exist
                    at = YD;
                    kind.dtype = b.percent(50) ? 5 + b.below(3) : b.below(3);
                    kind.redop = kind.dtype < 5 || b.percent(50) ? 3 + b.below(5) : 0;
                }
                if (t == 4) { // ends with memory, or a flit behind it
                    bad = b.percent(50);
                    at = MEM - n + (bad ? F : 0);
                }
                b.ask_static(q, at, n, bad, kind);
            }
        }
        b.run(MW_I_MULTIMEM_LD_REDUCE, 0, group, from, length, OUT + F);
    }
}

// A command that is refused: one error of unit combine in the cycle behind it, by name,
// and it retires; nothing is asked for, no memory changes, and the command behind it does
// what it always does.
static void refused(bench &b, unsigned code, unsigned op, unsigned imm, uint32_t at, uint32_t count,
                    uint32_t to)
{
    const bytes before = b.mem.data;
    b.own_kind = {};
    b.errors.expect(code, COMBINE);
    b.run(op, b.below(2), imm, at, count, to);
    assert_true(b.mem.data == before);
    assert_int_equal(b.errors.seen.back().from, b.command_at + 1);
}

static void allowed(bench &b)
{
    const unsigned group = 4 + b.below(GROUPS - 4); // 3 has no member
    b.own_kind = random_kind(b.rng);
    b.expect_static(group, YD, b.conf.row_bytes, OUT);
    b.run(MW_I_MULTIMEM_LD_REDUCE, 0, group, YD, b.conf.row_bytes, OUT);
}

// Types and operators, their bits that have no wires included.
TEST(unknown_reductions)
{
    for (unsigned round = 0; round < 6; round++) {
        bench b;
        for (unsigned i = 0; i < 8; i++) {
            const bool no_type = i % 2;
            unsigned dtype = no_type ? 5 + b.below(11) : b.below(3);
            unsigned redop = no_type ? b.below(16) : 3 + b.below(13);
            if (i == 7)
                dtype = 0, redop = 8; // as sum, but for the highest bit
            if (i == 6)
                dtype = 8, redop = 0;
            const bool fixed = i % 4 < 2; // also wrong in other ways, which are reported after it
            refused(b, MW_HWERR_REDUCTION,
                    fixed ? MW_I_MULTIMEM_LD_REDUCE : MW_I_DYMULTIMEM_LD_REDUCE,
                    (fixed ? b.below(256) : 0) | dtype << 8 | redop << 12,
                    fixed ? YD + b.below(2) : b.below(100), 64, OUT);
        }
        allowed(b);
    }
}

// What another unit does, at the unit by mistake.
TEST(unknown_instructions)
{
    bench b;
    for (unsigned op = 0; op < 256; op++) {
        if (op != MW_I_DYMULTIMEM_LD_REDUCE && op != MW_I_MULTIMEM_LD_REDUCE && op != MW_I_SUM)
            refused(b, MW_HWERR_INSTR, op, b.below(1u << 16), b.rng.word(), b.rng.word(),
                    b.rng.word());
    }
    allowed(b);
}

// Groups that the number in an instruction cannot mean, and one without a member.
TEST(unknown_groups)
{
    bench b;
    for (unsigned group = GROUPS; group < 256; group++)
        refused(b, MW_HWERR_UNMAPPED, MW_I_MULTIMEM_LD_REDUCE, group, YD, b.conf.row_bytes, OUT);
    const bytes before = b.mem.data;
    b.expect_static(3, YD, 3 * b.conf.row_bytes, OUT); // each of its rows
    b.run(MW_I_MULTIMEM_LD_REDUCE, 0, 3, YD, 3 * b.conf.row_bytes, OUT);
    assert_int_equal(b.errors.count(MW_HWERR_UNMAPPED), 256 - GROUPS + 3);
    assert_true(b.mem.data == before);
    allowed(b);
}

// A static range does not begin and end at flits, or lies outside on either side, by its first
// byte or by its last.
TEST(bad_ranges)
{
    for (unsigned round = 0; round < 4; round++) {
        bench b;
        const uint32_t row = b.conf.row_bytes, far = MEM << b.below(12);
        const uint32_t bad[][3] = {// from, bytes, to
                                   {YD + F / 2, row, OUT},
                                   {YD, row + 1, OUT},
                                   {YD, row, OUT + 1},
                                   {YD | far, row, OUT},
                                   {YD, row, OUT | 1u << 31},
                                   {MEM, row, OUT},
                                   {YD, row, MEM},
                                   {MEM - row + F, row, OUT},
                                   {YD, row, MEM - row + F},
                                   {MEM - F, MEM, OUT},
                                   {MEM - 32 * row, 33 * row, 0},
                                   {0, 33 * row, MEM - 32 * row},
                                   {0, MEM + F, 0},
                                   {F, MEM, 0},
                                   {0, MEM, F},
                                   {YD, 0u - YD, OUT},
                                   {YD, 0u - F, OUT},
                                   {YD, 1u << 31, OUT}};
        for (const auto &r : bad)
            refused(b, MW_HWERR_BOUNDS, MW_I_MULTIMEM_LD_REDUCE, b.below(GROUPS), r[0], r[1], r[2]);
        // The last rows of memory lie inside, on both sides; an empty range may begin
        // where memory ends.
        b.own_kind = random_kind(b.rng);
        b.expect_static(5, MEM - 2 * row, 2 * row, OUT);
        b.run(MW_I_MULTIMEM_LD_REDUCE, 0, 5, MEM - 2 * row, 2 * row, OUT);
        b.expect_static(6, YD, 2 * row, MEM - 2 * row);
        b.run(MW_I_MULTIMEM_LD_REDUCE, 0, 6, YD, 2 * row, MEM - 2 * row);
        b.run(MW_I_MULTIMEM_LD_REDUCE, 0, 6, MEM, 0, MEM);
        allowed(b);
    }
}

// Tokens from 2^token_shift on are another GPU's.
TEST(bad_tokens)
{
    const uint32_t end = 1u << TOKEN_SHIFT;
    static const uint32_t bad[][2] = {{0, end + 1},  {end, 1},        {end - 1, 2},
                                      {1u << 12, 1}, {1u << 13, 1},   {1u << 31, 1},
                                      {0, 1u << 13}, {5, 0u - 4},     {0u - 1, 1},
                                      {0u - 1, 2},   {5, 0x1ffe},     {1u << 31, 1u << 31},
                                      {0, 1u << 31}, {0, 0xffffffffu}};
    bench b;
    for (const auto &r : bad) {
        refused(b, MW_HWERR_BOUNDS, MW_I_DYMULTIMEM_LD_REDUCE, 0, r[0], r[1], 0);
        refused(b, MW_HWERR_BOUNDS, MW_I_SUM, b.below(1u << 16), r[0], r[1], 0);
        b.errors.expect_between(b.now, b.now, MW_HWERR_BOUNDS, COMBINE);
        b.push(r[0], r[0] + r[1]);
        b.finish();
    }
    // The last token is one.
    b.own_kind = random_kind(b.rng);
    b.put_route(end - 1, b.random_list(10));
    b.expect_dynamic(end - 1);
    b.run(MW_I_DYMULTIMEM_LD_REDUCE, 0, 0, end - 1, 1, 0);
    b.run(MW_I_DYMULTIMEM_LD_REDUCE, 0, 0, end, 0, 0);
    allowed(b);
}

// Commands whose operands are anything at all: as the rules of docs/reference/isa.md have it, and
// the machine is as good as new behind each.
TEST(any_command)
{
    const uint32_t tokens = 1u << TOKEN_SHIFT;
    bench b;
    for (unsigned i = 0; i < tokens; i++)
        b.put_route(i, std::vector<int>(b.conf.k, -1));
    unsigned went = 0;
    for (unsigned round = 0; round < cases(240, 600); round++) {
        static const unsigned ops[] = {MW_I_DYMULTIMEM_LD_REDUCE, MW_I_MULTIMEM_LD_REDUCE,
                                       MW_I_SUM};
        auto operand = [&](uint64_t limit) {
            const uint64_t near[] = {0, F, limit - F, limit, limit + F, 2 * limit};
            const uint64_t v = b.percent(60) ? near[b.below(6)] : b.rng() >> (32 + b.below(32));
            return static_cast<uint32_t>(b.percent(20) ? v + 1 : v);
        };
        const unsigned op = b.percent(10) ? b.below(256) : ops[b.below(3)];
        const bool fixed = op == MW_I_MULTIMEM_LD_REDUCE;
        const uint64_t limit = fixed ? MEM : tokens;
        const uint32_t at = operand(limit), to = operand(MEM);
        const uint32_t count = b.percent(20) ? 0 : operand(limit);
        const unsigned imm = b.percent(50) ? b.below(20) : b.below(1u << 16);
        const unsigned dtype = imm >> 8 & 15, redop = imm >> 12;
        unsigned code = 0;
        if (op != ops[0] && op != ops[1] && op != ops[2])
            code = MW_HWERR_INSTR;
        else if (op != MW_I_SUM && (redop > 7 || !reduces(dtype, redop)))
            code = MW_HWERR_REDUCTION;
        else if (fixed && (imm & 255) >= GROUPS)
            code = MW_HWERR_UNMAPPED;
        else if (uint64_t{at} + count > limit ||
                 (fixed && (at % F || count % F || to % F || uint64_t{to} + count > MEM)))
            code = MW_HWERR_BOUNDS;
        if (code) {
            refused(b, code, op, imm, at, count, to);
        } else if (!fixed && count == 0) {
            b.run(op, 0, imm, at, count, to);
            went++;
        }
    }
    assert_true(went > 0);
    allowed(b);
}

// Where rows return: sums of slots and own rows, and own engine's rows on their way to other
// homes beside them; nothing else of memory changes. In the order of tokens, and in that in
// which they are complete.
TEST(rows_return)
{
    for (unsigned round = 0; round < cases(12, 24); round++) {
        settings s;
        s.returns = true;
        s.k = round % 4 == 3 ? 16 : 1 + round % 13;
        s.row_bytes = round % 3 == 0 ? 256 : round % 3 == 1 ? 128 + F : F;
        s.ready = round < 6 ? 100 : 30 + 3 * round;
        s.miss = round * 4;
        s.faults = round % 5 == 4 ? 20 : 0;
        s.open_rows = round % 9;
        s.port = round % N;
        bench b(s);
        const unsigned first = b.below(4), tokens = std::min(20u, b.slots() - first),
                       by_ready = round % 2;
        std::vector<unsigned> order;
        for (unsigned i = first; i < first + tokens; i++) {
            std::vector<int> list = b.random_list(i % 7 ? 15 : 100);
            if (s.faults && b.percent(20))
                b.rng.pick(list) = static_cast<int>(b.experts.size() + b.below(100));
            b.put_route(i, list);
            order.push_back(i);
        }
        if (by_ready)
            b.rng.shuffle(order);
        bytes after = b.mem.data;
        for (unsigned i : order)
            b.expect_returned(i);
        for (const auto &w : b.out_due)
            std::copy(w.second.begin(), w.second.end(), after.begin() + static_cast<long>(w.first));
        if (by_ready)
            b.ready_tokens.assign(order.begin(), order.end());
        for (unsigned i = 0; i < 30; i++)
            b.give_back((s.port + 1 + b.below(N - 1)) % N);
        b.run(MW_I_SUM, by_ready, 0, first, tokens, b.rng.word());
        assert_true(b.mem.data == after);
    }
}

// A slow uplink holds up rows that return, and no sum.
TEST(rows_return_to_a_slow_uplink)
{
    settings s;
    s.returns = true;
    bench b(s);
    b.up_period = 9;
    for (unsigned i = 0; i < 8; i++) {
        b.put_route(i, b.random_list(10));
        b.expect_returned(i);
    }
    for (unsigned i = 0; i < 40; i++)
        b.give_back((s.port + 1 + i % (N - 1)) % N);
    b.command(MW_I_SUM, 0, 0, 0, 8, 0);
    b.wait_retired();
    assert_true(b.back.size() > 5);
    b.finish();
}

// Dense rows of gathered tokens: -0, or partial sums, of those tokens alone that the flags
// say, and of no other GPU's experts; no token is notified of as done. Experts that nobody
// has count as absent.
TEST_IF(GATHERED, dense_rows)
{
    for (unsigned round = 0; round < 12; round++) {
        settings s;
        s.k = round % 4 == 0 ? 16 : 1 + round;
        s.local = 8;
        s.row_bytes = round % 3 == 0 ? 256 : round % 3 == 1 ? 128 + F : F;
        s.ready = round < 3 ? 100 : 40 + 5 * round;
        s.port = round % N;
        s.open_rows = round % 4;
        bench b(s);
        for (unsigned t = 0; t < 28; t++) {
            std::vector<int> list = b.random_list(t % 7 ? 15 : 100);
            if (b.percent(20))
                b.rng.pick(list) = static_cast<int>(b.experts.size() + b.below(100));
            b.put_gathered(t, list);
        }
        for (unsigned i = 0; i < 6; i++) {
            const unsigned first = b.below(20), count = b.below(9),
                           flags = b.rng.pick({2u, 3u, 6u});
            for (unsigned t = first; t < first + count; t++)
                b.expect_dense(t, flags);
            b.run(MW_I_SUM, flags, 0, first, count, b.rng.word());
        }
    }
}

// Own experts' rows where every own token has its place among the gathered ones, behind
// sums of either kind.
TEST_IF(GATHERED, gathered_sums)
{
    for (unsigned round = 0; round < 12; round++) {
        settings s;
        s.k = 1 + round;
        s.row_bytes = round % 3 == 0 ? 256 : round % 3 == 1 ? 128 + F : F;
        s.ready = round < 3 ? 100 : 40 + 5 * round;
        s.port = round % N;
        bench b(s);
        for (unsigned i = 0; i < 24; i++)
            b.put_route(i, b.random_list(i % 6 ? 15 : 100));
        unsigned at = 0;
        for (unsigned end : {b.below(9), 9 + b.below(8), 24u}) {
            const unsigned t = b.below(12);
            for (unsigned i = at; i < end; i++)
                b.expect_gathered(i, t + i - at);
            b.run(MW_I_SUM, 5, 0, at, end - at, t);
            at = end;
        }
    }
}

// Static rows that lie apart: what is between them is not asked for, and stays.
TEST_IF(GATHERED, static_rows_apart)
{
    for (unsigned round = 0; round < 12; round++) {
        settings s;
        s.row_bytes = round % 3 ? 256 - F : 128 + F;
        s.ready = round ? 70 : 100;
        s.port = round % N;
        s.open_rows = round % 4;
        bench b(s);
        b.own_kind = random_kind(b.rng);
        const unsigned group = 17 * round % GROUPS, stride = 1u << b.row_shift, rows = b.below(7),
                       to = F * b.below(40);
        const uint32_t from = YD + F * b.below(1000);
        const bytes before = b.mem.data;
        b.expect_rows(group, from, rows * stride, OUT + to, stride);
        b.run(MW_I_MULTIMEM_LD_REDUCE, 1, group, from, rows * stride, to);
        for (unsigned i = 0; i < rows; i++) {
            const uint64_t gap = OUT + to + i * stride + s.row_bytes;
            assert_memory_equal(&b.mem.data[gap], &before[gap], stride - s.row_bytes);
        }
    }
}

// Gathered tokens that no GPU has; rows apart that are not whole, or whose result lies outside.
TEST_IF(GATHERED, bad_gathered)
{
    const uint32_t end = 1u << (TOKEN_SHIFT + N_SHIFT), own = 1u << TOKEN_SHIFT;
    const uint32_t bad[][2] = {{0, end + 1},  {end, 1},      {end - 1, 2},        {2 * end, 1},
                               {1u << 20, 1}, {1u << 31, 1}, {5, 0u - 4},         {0u - 1, 1},
                               {0u - 1, 2},   {0, 1u << 31}, {1u << 31, 1u << 31}};
    bench b;
    const uint32_t stride = 1u << b.row_shift;
    auto refuse = [&](unsigned op, unsigned flags, uint32_t at, uint32_t count, uint32_t to) {
        const bytes before = b.mem.data;
        b.own_kind = {};
        b.errors.expect(MW_HWERR_BOUNDS, COMBINE);
        b.run(op, flags, 5, at, count, to);
        assert_true(b.mem.data == before);
    };
    for (const auto &r : bad) {
        for (unsigned flags : {2u, 3u, 6u})
            refuse(MW_I_SUM, flags, r[0], r[1], b.below(20));
        refuse(MW_I_SUM, 5, 0, r[1] > own ? 1 : r[1], r[1] > own ? 0u - 1 : r[0]);
    }
    refuse(MW_I_SUM, 5, own, 1, 0); // of own tokens there are fewer
    refuse(MW_I_SUM, 3 | 1u << 4, 0, 1, 0);
    for (uint32_t length : {F, stride - F, stride + F, stride / 2, stride + 1})
        refuse(MW_I_MULTIMEM_LD_REDUCE, 1, YD, length, 0);
    refuse(MW_I_MULTIMEM_LD_REDUCE, 1, YD, 2 * stride, MEM - OUT - stride);
    refuse(MW_I_MULTIMEM_LD_REDUCE, 1, YD, stride, 0u - F);
    refuse(MW_I_MULTIMEM_LD_REDUCE, 1 | 0xc0, YD, stride,
           0u - F); // beyond any memory with its base
    refuse(MW_I_MULTIMEM_LD_REDUCE, 1, MEM - stride, 2 * stride, 0);
    b.expect_rows(5, YD, stride, MEM - stride, stride); // the last place there is
    b.run(MW_I_MULTIMEM_LD_REDUCE, 1, 5, YD, stride, MEM - OUT - stride);
    b.expect_rows(6, MEM - stride, stride, OUT, stride);
    b.run(MW_I_MULTIMEM_LD_REDUCE, 1, 6, MEM - stride, stride, 0);
    for (unsigned flags : {2u, 6u}) {
        b.put_gathered(end / 2 - 1, std::vector<int>(b.conf.k, -1));
        b.expect_dense(end / 2 - 1, flags);
        b.run(MW_I_SUM, flags, 0, end / 2 - 1, 1, 0);
        b.run(MW_I_SUM, flags, 0, end, 0, 0);
    }
    allowed(b);
}

TEST(unicast_sums)
{
    for (unsigned round = 0; round < 12; round++) {
        settings s;
        s.k = round % 4 == 0 ? 16 : 1 + round;
        s.local = 8;
        s.row_bytes = round % 3 == 0 ? 512 : round % 3 == 1 ? 128 + F : F;
        if (s.k == 16 && s.row_bytes == 512)
            s.row_bytes = 256;
        s.ready = round < 3 ? 100 : 40 + 5 * round;
        s.port = round % N;
        bench b(s);
        // Received rows by source, of each in the order of its tokens.
        unsigned row = 0, first_row[N];
        std::vector<unsigned> of[N];
        for (unsigned q = 0; q < N; q++) {
            first_row[q] = row;
            if (q == s.port)
                b.own_base = row;
            std::vector<unsigned> tokens;
            for (unsigned t = 0; t < 1u << TOKEN_SHIFT; t++) {
                if (row + tokens.size() < 28 && b.percent(24 / N))
                    tokens.push_back(t);
            }
            for (unsigned t : tokens)
                b.put_meta(row++, q, t, b.random_list(15));
            b.src_rows[q] = static_cast<unsigned>(tokens.size());
            of[q] = tokens;
        }
        for (unsigned i = 0; i < 24; i++)
            b.put_route(i, b.random_list(15));
        for (unsigned i = 0; i < 24; i++)
            b.expect_sum(i);
        b.command(MW_I_SUM, 0, 0, 0, 10, 0); // remote ones, ahead of the own experts
        b.wait_retired();
        b.command(MW_I_SUM, 0, 0, 10, 5, 0);
        b.wait_retired();
        b.command(MW_I_SUM, 1, 0, 0, 10, 0);
        b.wait_retired();
        b.command(MW_I_SUM, 0, 0, 15, 9, 0);
        b.wait_retired();
        b.command(MW_I_SUM, 1, 0, 10, 14,
                  0); // the count of copies goes on from one range to the next
        b.cycle();
        if (round % 2 == 0) // else side by side
            b.wait_retired();
        unsigned at[] = {0, b.below(5), 5 + b.below(9), 14 + b.below(10), 1u << TOKEN_SHIFT};
        const bool tells = round % 3 == 1;
        unsigned gone[N] = {};
        for (unsigned r = 1; r < 5; r++) {
            // Rows behind what a source has reported wait for the next instruction, whatever
            // tokens stand there; what it tells beyond its last row, or before what has
            // left, says nothing.
            for (unsigned q = 0; q < N && tells; q++)
                b.notified[q] =
                    static_cast<int>(r == 4 ? first_row[q] + b.src_rows[q] + b.below(3)
                                            : first_row[q] + b.below(b.src_rows[q] + 1));
            b.push(at[r - 1], at[r]);
            for (unsigned q = 0; q < N && tells; q++) {
                unsigned here = 0;
                while (here < of[q].size() && of[q][here] < at[r] &&
                       static_cast<int>(first_row[q] + here) < b.notified[q])
                    here++;
                gone[q] = std::max(gone[q], here);
                if (q != s.port)
                    assert_int_equal(b.rows_due(q), of[q].size() - gone[q]);
            }
        }
        b.finish();
    }
}

// Cycles per packet of a long run in which nothing but the adder limits.
TEST(rates)
{
    for (unsigned m = 1; m <= 3; m++) {
        settings s;
        s.k = 8;
        s.row_bytes = 512;
        s.credit_delay = 0;
        s.port = 0;
        bench b(s);
        const std::vector<int> here = b.some_experts(m, true);
        unsigned rows = 64;
        for (unsigned t = 0; t < rows; t++)
            b.ask_list(1 + t % (N - 1), (1 + t % (N - 1)) << TOKEN_SHIFT | t % 32, here);
        b.finish();
        const double per = b.partials_out.per_event();
        unsigned adder = PF * (m > 2 ? m - 1 : 1), link = PF + HF;
        printf("N=%u F=%u, %u terms: %.2f cycles per packet\n", N, F, m, per);
        assert_true(per <= std::max(adder, link) + 0.1);
    }
}

// Rows of one packet over a static group for all other GPUs: they are set up as fast as the
// uplink takes their packets.
TEST(rate_of_short_rows)
{
    settings s;
    s.row_bytes = 128;
    s.credit_delay = 6;
    s.port = 0;
    bench b(s);
    for (unsigned t = 0; t < 300; t++) {
        for (unsigned q = 1; q < N; q++)
            b.ask_static(q, YD + F * b.below(1000), 128, false, random_kind(b.rng));
    }
    b.finish();
    const double per = b.partials_out.per_event();
    printf("N=%u F=%u: %.2f cycles per row of a packet\n", N, F, per);
    assert_true(per <= PF + HF + 0.1);
}

// A GPU that serves partials of all others and its own rows, with all it needs always there:
// the adder never waits.
TEST(hot)
{
    for (unsigned m = 1; m <= 3; m++) {
        for (unsigned own = 0; own < 2; own++) {
            settings s;
            s.k = 8;
            s.row_bytes = 512;
            s.credit_delay = 6;
            s.port = 0;
            bench b(s);
            const std::vector<int> here = b.some_experts(m, true);
            std::vector<int> list = here;
            for (int e : b.some_experts(2, false))
                list.push_back(e);
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
            uint64_t start = b.now, parts = b.partials_out.count, flits = b.flits_written.count;
            while (b.tokens_done < tokens - 8 && (own || b.requests_left()))
                b.cycle();
            double time = static_cast<double>(b.now - start),
                   sums = static_cast<double>(b.flits_written.count - flits) * m;
            parts = b.partials_out.count - parts;
            double work = sums + static_cast<double>(parts) * PF * (m > 2 ? m - 1 : 1);
            printf("N=%u F=%u, %u terms%s: adder busy %.1f %%\n", N, F, m,
                   own ? ", own rows alone" : "", 100 * work / time);
            // R comes with its header, a flit or two in PF + HF; with 8-byte flits one at a time.
            assert_true(work >= (own ? (F < 16 ? 0.6 : 0.88) : F < 16 ? 0.95 : 0.99) * time);
            b.finish();
        }
    }
}
