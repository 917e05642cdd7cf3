// SPDX-License-Identifier: Apache-2.0
//
// The receive side of a hub (rx_hub: rx, loc_merge, rx_store, allocator, row_tracker,
// token_tracker) through whole layers: packets of every source interleaved at random on the link,
// the own ones on the local streams, memory ports and allocation table as slow as they like. Memory
// is compared byte by byte with a model that knows no order, the lists of rows with what was sent,
// credits and errors are counted. FLAG and FENCE are judged in the cycle in which they act.

#include "bench/credits.h"
#include "bench/errors.h"
#include "rx_model.h"

#include <algorithm>
#include <numeric>
#include <set>

using namespace tb;

static const unsigned TOKENS_LOG2 = 5;
static const unsigned ST_LO = MEM / 4 * 3 + 3, ST_HI = MEM / 8 * 7 - 11;
static const unsigned LISTS = 0x1230; // in a memory of their own
static const bool BY_SWITCH = PARAM_SwitchReductions;

struct settings {
    unsigned port = 1;
    unsigned k = 4;
    unsigned row_bytes = 256;
    unsigned token_shift = TOKENS_LOG2;
    unsigned cap_shift = 4;
    unsigned tokens = 8;     // per GPU
    unsigned density = 60;   // percent of the tokens that have experts here
    unsigned one_target = 0; // percent of tokens with a single expert here
    unsigned wr_ready[2] = {100, 100};
    unsigned al_ready = 100, al_latency = 3;
    unsigned gap = 0; // percent of cycles without a packet on the link
    unsigned credit_delay = 0;
    unsigned wrong = 0;   // percent of packets that are preceded by a wrong one
    unsigned plain = 0;   // percent of packets that are preceded by an explicit store
    unsigned ordered = 0; // percent of packets that are preceded by FLAG or FENCE
    unsigned look = 30;   // percent of cycles with a look-up of client 1
    bool counts = true;
    unsigned results = 0;       // packets of class PART
    unsigned result_share = 50; // percent of the packets on the link, while there are any
    unsigned result_size = 0;   // bytes, 0: random
    unsigned result_ready = 100;
    unsigned result_wrong = 0; // percent with another epoch, and as many that turn bad on the way
    unsigned cache_log2 = 0;   // of the entries that the allocator uses, 0: all
    unsigned rowsp =
        0; // percent of other GPUs' tokens whose rows come for each target by itself, in any order
    unsigned once = 50;     // percent of the packets of a row that leave its targets to the first
    bool by_switch = false; // the switch does: lists of others' rows are written
    unsigned list_ready = 100;
};

struct key {
    unsigned le, token;
    bool operator<(const key &o) const { return le != o.le ? le < o.le : token < o.token; }
};

// One source's stream of packets, with what each is expected to do.
struct item {
    packet p;
    std::vector<key> rows;               // of a right dynamic store
    std::map<unsigned, unsigned> errors; // code -> number
    bool writes = false;
};

struct sender {
    std::vector<item> items;
    size_t sent = 0;          // handed to the device
    std::deque<size_t> flags; // items that are FLAG, not seen yet
    std::deque<size_t> fences;
};

struct bench : rx_bench {
    explicit bench(const settings &set)
        : rx_bench({{"port", set.port},
                    {"k", set.k},
                    {"token_shift", set.token_shift},
                    // results fill their places, whatever the size of what is dispatched
                    {"row_bytes",
                     PARAM_RowTypes ? 1u << std::max(log2_up(set.row_bytes), 7u) : set.row_bytes},
                    {"dispatch_bytes", PARAM_RowTypes ? set.row_bytes : 0},
                    {"row_shift", std::max(log2_up(set.row_bytes), 7u)},
                    {"gate_shift", log2_up(std::max(4 * set.k, F))},
                    {"cap_shift", set.cap_shift},
                    {"cache_log2", set.cache_log2},
                    {"st_lo", ST_LO},
                    {"rl_base", LISTS},
                    {"switch_reductions", set.by_switch},
                    {"st_hi", ST_HI}}),
          s(set), row_shift(std::max(log2_up(set.row_bytes), 7u)),
          gate_shift(log2_up(std::max(4 * set.k, F)))
    {
        local.rate = control.rate = 100 - s.gap / 2;
        lists_before = lists.data;
        link.pauses = false;
        reset();
        fill_map();
    }

    // Experts: every GPU has LE of them, in an order of its own; the last ids are unmapped.
    void fill_map()
    {
        for (unsigned e = 0; e < EXPERTS; e++) {
            const unsigned gpu = e % N, le = (e / N + e % N) % LE;
            if (e < LE * N)
                expert_id[gpu][le] = e;
            map_expert(e, e < LE * N, gpu, le);
        }
    }

    uint64_t sweep()
    {
        const uint64_t took = rx_bench::sweep();
        for (unsigned e = 0; e < LE << (LOG_N + s.token_shift); e++)
            assert_int_equal(mem.get<uint32_t>(AL + 4 * e), 0);
        return took;
    }

    void go(unsigned new_epoch)
    {
        rx_bench::go(new_epoch);
        for (unsigned q = 0; q < N; q++) {
            sources[q] = sender();
            plain_at[q] = ST_LO + q * ((ST_HI - ST_LO) / N);
        }
        expected = mem.data;
        want_errors.clear();
        got_errors.clear();
        rows.clear();
        expected_rows.assign(LE, 0);
        late_rows.clear();
        count_words.assign(N, 0);
        row_events = hits = misses = looks = 0;
        stalled = 0;
        results_left = s.results;
    }

    // ---- what is sent ----
    // An expert of this GPU.
    uint16_t own(unsigned le, unsigned position = 0) const
    {
        return target(expert_id[s.port][le], position);
    }

    item simple(unsigned src, unsigned opcode, uint64_t addr)
    {
        item i;
        i.p.h = header(opcode);
        i.p.h.src = src;
        i.p.h.epoch = epoch;
        i.p.h.addr = addr;
        return i;
    }

    // Of the counter that has the source's number; half of them tell a row, too.
    item flag(unsigned src)
    {
        const uint64_t notified =
            PARAM_RowRanges && percent(50) ? 1 + below((2 * N << PARAM_TokensLog2) - 1) : 0;
        return simple(src, MW_OP_FLAG, notified << 5 | src);
    }

    item dynamic(unsigned src, unsigned token, const std::vector<uint16_t> &targets,
                 const std::vector<key> &keys, unsigned stage, unsigned offset, unsigned len)
    {
        item i = simple(src, MW_OP_DYMULTIMEM_ST, uint64_t{token} << row_shift | offset);
        i.p.h.dst = s.port;
        i.p.h.stage = stage;
        i.p.h.len = len;
        i.p.set_targets(targets);
        i.p.payload = rng.some(len);
        i.rows = keys;
        i.writes = true;
        return i;
    }

    // An explicit store into the part of the window that is this source's own, each
    // byte once in a layer.
    item plain(unsigned src, unsigned len)
    {
        item i = simple(src, percent(50) ? MW_OP_ST : MW_OP_MULTIMEM_ST, plain_at[src]);
        i.p.h.target0 = below(16);
        i.p.h.len = std::min(len, 128 - plain_at[src] % F);
        i.p.payload = rng.some(i.p.h.len);
        i.writes = true;
        return i;
    }

    // The same as a dynamic store with an explicit address, for one expert or two.
    void flatten(item &i)
    {
        const bool two = percent(50);
        i.p.h.opcode = two || percent(50) ? MW_OP_DYMULTIMEM_ST : MW_OP_ST_ROWSP;
        i.p.h.stage = MW_STAGE_FLAT;
        i.p.h.dst = s.port;
        i.p.set_targets(two ? std::vector<uint16_t>{own(0), own(1, 1)}
                            : std::vector<uint16_t>{own(0)});
    }

    // The words of a GPU whose experts are more than a packet holds belong to experts
    // that are not here.
    item counts(unsigned src, unsigned kind)
    {
        item i = simple(src, MW_OP_COUNTS, 0);
        i.p.h.stage = kind;
        i.p.h.len = 4 * (kind == MW_COUNTS_COPIES ? N : kind == MW_COUNTS_ROWS_HIGH ? LE + 1 : LE);
        i.p.payload = rng.some(i.p.h.len);
        if (kind == MW_COUNTS_ROWS || kind == MW_COUNTS_ROWS_LOW)
            memcpy(i.p.payload.data(), count_of[src].data(), i.p.h.len);
        for (unsigned w = 0; kind == MW_COUNTS_ROWS_HIGH && w <= LE; w++)
            memcpy(&i.p.payload[4 * w], &LE, 4); // no more than rows that there can be
        return i;
    }

    // A packet with something wrong; it must do nothing but be counted, once for every target where
    // the target is to blame.
    item wrong(unsigned src)
    {
        bool dyn = percent(50);
        unsigned len = F * (2 + below(64 / F));
        item i = dyn ? dynamic(src, src << s.token_shift, {own(0)}, {},
                               percent(50) ? MW_STAGE_DISPATCH : MW_STAGE_COMBINE, 0, len)
                     : plain(src, len);
        mw_header &h = i.p.h;
        unsigned code = MW_HWERR_LENGTH;
        i.writes = false;
        auto resize = [&](unsigned n) {
            h.len = n;
            i.p.payload.resize(n);
        };
        switch (below(dyn ? 14 : 11)) {
        case 0:
            h.epoch = (epoch + 1 + below(3)) % 4;
            code = MW_HWERR_EPOCH;
            break;
        case 1:
            h.opcode = percent(50) ? MW_OP_PARTIAL : MW_OP_LD_RESP;
            code = MW_HWERR_OPCODE;
            break;
        case 2:
            h.poison = 1;
            code = MW_HWERR_POISON;
            break;
        case 3:
            h.len = 129 + below(32000);
            break;
        case 4:
            h.len = 0;
            break;
        case 5:
            i.p.cut = 1 + static_cast<int>(below(40));
            break;
        case 6:
            i.p.cut = -1 - static_cast<int>(below(24));
            break;
        case 7:
            i.p.err = src != s.port;
            i.p.cut = i.p.err ? 0 : 1;
            break;
        case 8:
            h.addr |= 1ull << (23 + below(25));
            code = MW_HWERR_BOUNDS;
            break;
        case 9: // the address itself: home, or window
            if (dyn)
                h.addr = static_cast<uint64_t>(N) << s.token_shift << row_shift;
            else
                h.addr = percent(50) ? ST_LO - 1 : ST_HI - h.len + 1;
            code = MW_HWERR_BOUNDS;
            break;
        case 10:
            h.opcode = MW_OP_COUNTS;
            resize(percent(50) ? 4 * h.len / 4 - 2 : 4);
            code = MW_HWERR_LENGTH;
            if (h.len == 4) {
                h.addr = 4;
                code = MW_HWERR_BOUNDS;
            }
            break;
        case 11: // beyond the row, or its gate weights
            code = MW_HWERR_BOUNDS;
            if (percent(50)) {
                h.stage = MW_STAGE_GATE;
                resize(4 * s.k + 1);
            } else {
                h.stage = MW_STAGE_DISPATCH;
                h.addr += s.row_bytes - h.len + F;
            }
            break;
        case 12: // too many, or none, of a token that no row of this source is of
            h.cnt = percent(50) ? 0 : LE + 1 + below(std::max(16 - LE, 1u));
            i.p.targets.resize(h.cnt);
            if (!h.cnt)
                h.addr = uint64_t{(src + 1) % N} << s.token_shift << row_shift;
            code = MW_HWERR_TARGETS;
            break;
        default: { // an expert of another GPU, of none, or beyond the map
            unsigned ids[] = {expert_id[(s.port + 1) % N][0], EXPERTS - 1,
                              EXPERTS + expert_id[s.port][0]};
            std::vector<uint16_t> list;
            for (unsigned n = 1 + below(2); n; n--)
                list.push_back(target(rng.pick(ids)));
            i.p.set_targets(list);
            resize(F);
            code = MW_HWERR_UNMAPPED;
        }
        }
        i.errors[code] = code == MW_HWERR_UNMAPPED ? h.cnt : 1;
        return i;
    }

    // Whether a dynamic store is one that the hub takes for what its header says.
    bool well_formed(const item &i) const
    {
        const size_t more = i.p.h.cnt > 1 ? i.p.h.cnt - 1 : 0, front = HF + (2 * more + F - 1) / F,
                     flits = encode(i.p, F).flits();
        return !i.p.err && !(i.p.h.addr >> (row_shift + TOKENS_LOG2 + LOG_N)) &&
               i.p.h.epoch == epoch && !i.p.h.poison && i.p.h.len > 0 && i.p.h.len <= 128 &&
               i.p.h.cnt <= LE && flits >= front;
    }

    // Of what a source sends: packets of a row that is open leave its targets out, now and then.
    // What opens and closes one is in the header of row_lists.
    void leave_lists_out(unsigned src, std::vector<item> &items)
    {
        std::optional<packet> open;
        const unsigned tokens = (1u << (TOKENS_LOG2 + LOG_N)) - 1;
        auto token = [&](const packet &p) {
            return static_cast<unsigned>(p.h.addr >> row_shift) & tokens;
        };
        for (item &i : items) {
            packet &p = i.p;
            if (!stores_row(p.h.opcode))
                continue;
            if (!well_formed(i)) {
                open.reset();
                continue;
            }
            if (p.h.stage == MW_STAGE_FLAT)
                continue;
            const bool same = open && token(*open) == token(p);
            if (!p.h.cnt) {
                assert_false(same);
                open.reset();
            } else if (same && p.h.opcode == MW_OP_DYMULTIMEM_ST && open->targets == p.targets &&
                       i.errors.empty() && percent(s.once)) {
                p.set_targets({});
                followers++;
            } else {
                open = p;
                if (s.by_switch && p.h.stage == MW_STAGE_DISPATCH && src != s.port)
                    kept[LISTS + 32 * (src << s.token_shift |
                                       (token(p) & ((1u << s.token_shift) - 1)))] = p.targets;
            }
            if (p.h.stage == MW_STAGE_GATE)
                open.reset();
        }
    }

    std::vector<unsigned> shuffled(unsigned n)
    {
        std::vector<unsigned> list(n);
        std::iota(list.begin(), list.end(), 0);
        rng.shuffle(list);
        return list;
    }

    void add(unsigned src, const item &i)
    {
        if (i.p.h.opcode == MW_OP_FLAG && i.errors.empty())
            sources[src].flags.push_back(sources[src].items.size());
        if (i.p.h.opcode == MW_OP_FENCE && i.errors.empty())
            sources[src].fences.push_back(sources[src].items.size());
        for (auto &e : i.errors)
            want_errors[e.first] += e.second;
        sources[src].items.push_back(i);
    }

    void add_around(unsigned src)
    {
        while (percent(s.wrong))
            add(src, wrong(src));
        while (percent(s.plain)) {
            item i = plain(src, percent(30) ? 1 + below(4) : 1 + below(128));
            if (percent(30))
                flatten(i);
            if (plain_at[src] + i.p.h.len > ST_LO + (src + 1) * ((ST_HI - ST_LO) / N))
                break;
            plain_at[src] += i.p.h.len;
            add(src, i);
        }
        if (percent(s.ordered))
            add(src, percent(50) ? flag(src) : simple(src, MW_OP_FENCE, src));
    }

    // A token's row and gate weights for all these targets, packet by packet.
    void add_row(unsigned src, unsigned token, const std::vector<uint16_t> &targets,
                 const std::vector<key> &keys)
    {
        for (unsigned at = 0; at < s.row_bytes; at += 128) {
            add_around(src);
            add(src, dynamic(src, token, targets, keys, MW_STAGE_DISPATCH, at,
                             std::min(128u, s.row_bytes - at)));
        }
        add_around(src);
        add(src, dynamic(src, token, targets, keys, MW_STAGE_GATE, 0, 4 * s.k));
    }

    // The same for one target as row-sparse stores, of sectors and lines in any order, as packet
    // managers leave them.
    void add_row_sparse(unsigned src, unsigned token, uint16_t target, const key &k)
    {
        std::vector<item> list{dynamic(src, token, {target}, {k}, MW_STAGE_GATE, 0, 4 * s.k)};
        list[0].p.h.opcode = MW_OP_ST_ROWSP_NOP;
        for (unsigned at = 0, len; at < s.row_bytes; at += len) {
            len = std::min(s.row_bytes - at, 32 * (1 + below(4 - at % 128 / 32)));
            list.push_back(dynamic(src, token, {target}, {k}, MW_STAGE_DISPATCH, at, len));
            list.back().p.h.opcode = MW_OP_ST_ROWSP;
        }
        rng.shuffle(list);
        for (const item &i : list) {
            add_around(src);
            add(src, i);
        }
    }

    // A layer's dispatch to this GPU: every source sends its tokens in order.
    void make_layer()
    {
        split_counts = percent(50) ? 0 : rng.word();
        count_of.assign(N, std::vector<unsigned>(LE, 0));
        for (unsigned src = 0; src < N; src++) {
            size_t counts_at = below(s.tokens);
            std::vector<item> body;
            for (unsigned t = 0; t < s.tokens; t++) {
                if (!percent(s.density))
                    continue;
                unsigned token = src << s.token_shift | t;
                std::vector<unsigned> le = shuffled(LE), pos = shuffled(s.k);
                unsigned n = 1 + (percent(s.one_target) ? 0 : below(std::min(LE, s.k)));
                std::vector<uint16_t> targets;
                std::vector<key> keys;
                for (unsigned i = 0; i < n; i++) {
                    targets.push_back(own(le[i], pos[i]));
                    keys.push_back({le[i], token});
                    rows[{le[i], token}] = pos[i];
                    count_of[src][le[i]]++;
                    expected_rows[le[i]]++;
                }
                const bool sparse = src != s.port && percent(s.rowsp);
                if (!sparse)
                    add_row(src, token, targets, keys);
                for (unsigned i = 0; i < n && sparse; i++)
                    add_row_sparse(src, token, targets[i], keys[i]);
                if (percent(20) && s.plain) // a region of its own, not counted
                    add(src, dynamic(src, token, targets, keys, MW_STAGE_COMBINE, 0,
                                     std::min(128u, s.row_bytes)));
            }
            if (s.counts) {
                auto &items = sources[src].items;
                size_t at = std::min(counts_at, items.size());
                const bool split = split_counts >> src & 1;
                std::vector<item> notified{
                    counts(src, split ? MW_COUNTS_ROWS_LOW : MW_COUNTS_ROWS)};
                if (split)
                    notified.push_back(counts(src, MW_COUNTS_ROWS_HIGH));
                items.insert(items.begin() + static_cast<long>(at), notified.begin(),
                             notified.end());
                for (auto *list : {&sources[src].flags, &sources[src].fences})
                    for (auto &f : *list)
                        f += f >= at ? notified.size() : 0;
                if (percent(50))
                    add(src, counts(src, MW_COUNTS_COPIES));
            }
            add(src, flag(src));
            add(src, simple(src, MW_OP_FENCE, 0));
            leave_lists_out(src, sources[src].items);
        }
        lossy = *std::max_element(expected_rows.begin(), expected_rows.end()) > 1u << s.cap_shift;
    }

    // ---- memory and table ----
    // Row of a token at a local expert, -1 if the table has none.
    int row_of(const key &k) const
    {
        const uint32_t e = mem.get<uint32_t>(AL + 4 * (k.le << (LOG_N + s.token_shift) | k.token));
        if (!(e >> 31) || (e >> 29 & 3) != epoch)
            return -1;
        return static_cast<int>(e & 0xfffff);
    }

    // Places that an item's bytes go to, by the table of now; false if a row is missing.
    bool places(const item &i, std::vector<unsigned> &at) const
    {
        bool all = true;
        if (!stores_row(i.p.h.opcode) || i.p.h.stage == MW_STAGE_FLAT) {
            at.push_back(static_cast<unsigned>(i.p.h.addr));
            return true;
        }
        for (auto &k : i.rows) {
            int r = row_of(k);
            if (r < 0) {
                all = false;
                continue;
            }
            unsigned row = k.le << s.cap_shift | static_cast<unsigned>(r);
            unsigned offset = static_cast<unsigned>(i.p.h.addr & ((1u << row_shift) - 1));
            at.push_back(i.p.h.stage == MW_STAGE_GATE
                             ? GT + (row << gate_shift)
                             : (i.p.h.stage == MW_STAGE_COMBINE ? YD : XD) + (row << row_shift) +
                                   offset);
        }
        return all;
    }

    void check_behind(unsigned src, size_t upto)
    {
        for (size_t n = 0; n < upto; n++) {
            const item &i = sources[src].items[n];
            std::vector<unsigned> at;
            if (!i.writes)
                continue;
            if (!places(i, at))
                assert_true(lossy);
            for (unsigned a : at)
                assert_true(mem.read(a, i.p.payload.size()) == i.p.payload);
        }
    }

    // ---- one cycle ----
    void drive() override
    {
        for (unsigned w = 0; w < 2; w++)
            io->store[w].rate = s.wr_ready[w];
        io->table_rd.rate = io->table_wr.rate = s.al_ready;
        io->lists.rate = s.list_ready;
        io->table_rd.latency = s.al_latency;
        drive_link();
        next_local();
        rx_bench::drive();
        dut.ack_ready_i = percent(70);
        dut.res_ready_i = percent(s.result_ready);
        if (!dut.req1_valid_i && !look_open && running && percent(s.look)) {
            look = {below(LE), below(N << s.token_shift)};
            dut.req1_valid_i = 1;
            dut.req1_le_i = static_cast<uint8_t>(look.le);
            dut.req1_token_i = look.token;
            look_row = row_of(look);
        }
    }

    void cycle() override
    {
        rx_bench::cycle();
        if (look_taken)
            dut.req1_valid_i = 0;
    }

    void sample() override
    {
        for (unsigned e = 0; e < 4; e++)
            if (dut.err_valid_o[e])
                got_errors[dut.err_code_o[e]]++;
        if (dut.resp1_valid_o)
            looked_up();
        look_taken = dut.req1_valid_i && dut.req1_ready_o;
        look_open = look_open || look_taken;
        if (dut.ev_valid_o[0])
            flagged(dut.ev_idx_o[0]);
        if (dut.ack_valid_o && dut.ack_ready_i)
            acts(dut.ack_dst_o, &sender::fences);
        if (dut.ev_row_o)
            row_events++;
        hits += dut.hit_o;
        misses += dut.miss_o;
        if (dut.cnt_valid_o)
            count_word();
        rx_bench::sample();
        link.taken(true);
        if (dut.crd_o & 1 << MW_CLS_STORE)
            store_credits.owe(now + s.credit_delay);
        result();
        assert_int_equal(dut.crd_o & ~(1 << MW_CLS_STORE | 1 << MW_CLS_PART), 0);
        store_credits.due(now);
    }

    void looked_up()
    {
        assert_true(look_open);
        look_open = false;
        looks++;
        if (look_row >= 0) {
            assert_false(dut.resp1_err_o);
            assert_int_equal(dut.resp1_row_o, look_row);
        } else if (!dut.resp1_err_o) {
            assert_true(rows.count(look));
            late_rows[look] = static_cast<int>(dut.resp1_row_o);
        }
    }

    // Results come out whole, in their order, and wait as they are; a credit returns
    // with the last flit.
    void result()
    {
        bool gone = dut.res_valid_o && dut.res_ready_i;
        if (dut.res_valid_o) {
            assert_false(results.empty());
            assert_memory_equal(&dut.res_data_o, results.front().data.data(), F);
            assert_int_equal(dut.res_last_o, results.front().last);
            assert_int_equal(dut.res_bad_o, results.front().bad);
        } else {
            assert_false(result_waits);
        }
        assert_int_equal(dut.crd_o >> MW_CLS_PART & 1, gone && dut.res_last_o);
        result_waits = dut.res_valid_o && !gone;
        longest_gap = std::max(longest_gap, result_gap);
        result_gap = results.empty() || dut.res_valid_o ? 0 : result_gap + 1;
        if (gone) {
            if (results.front().last)
                result_credits.give_back();
            results.pop_front();
        }
    }

    void flagged(unsigned src)
    {
        assert_in_range(src, 0, N - 1);
        assert_false(sources[src].flags.empty());
        const uint64_t notified = sources[src].items[sources[src].flags.front()].p.h.addr >> 5;
        assert_int_equal(dut.flag_src_o, src);
        assert_int_equal(dut.flag_notified_o, notified != 0);
        if (notified)
            assert_int_equal(dut.flag_row_o, notified - 1);
        acts(src, &sender::flags);
    }

    // FLAG or FENCE of a source acts: what it sent before is in memory.
    void acts(unsigned src, std::deque<size_t> sender::*which)
    {
        assert_in_range(src, 0, N - 1);
        std::deque<size_t> &waiting = sources[src].*which;
        assert_false(waiting.empty());
        const size_t at = waiting.front();
        assert_true(at < sources[src].sent);
        waiting.pop_front();
        check_behind(src, at);
    }

    void count_word()
    {
        unsigned src = dut.cnt_src_o;
        assert_true(src < N);
        unsigned &word = count_words[src];
        const bool split = split_counts >> src & 1 && !dut.cnt_kind_o, high = split && word >= LE;
        assert_int_equal(dut.cnt_idx_o, high ? 32 + word - LE : word);
        unsigned last = (dut.cnt_kind_o ? N : split ? 2 * LE + 1 : LE) - 1;
        assert_int_equal(dut.cnt_last_o, word == last);
        if (high) {
            assert_int_equal(dut.cnt_kind_o, 0);
        } else if (!dut.cnt_kind_o) {
            assert_int_equal(dut.cnt_val_o, count_of[src][word]);
        } else {
            bool found = false; // the copy counts are in the only packet of that kind
            for (auto &i : sources[src].items)
                if (i.p.h.opcode == MW_OP_COUNTS && i.p.h.stage == 1)
                    found = !memcmp(&i.p.payload[4 * word], &dut.cnt_val_o, 4);
            assert_true(found);
        }
        word = dut.cnt_last_o ? 0 : word + 1;
    }

    // ---- running a layer ----
    wire encoded(packet p)
    {
        p.lane = p.h.addr % F;
        return encode(p, F, &rng);
    }

    void start_result()
    {
        packet p;
        p.h = header(MW_OP_RESULT);
        p.h.src = (s.port + 1) % N;
        p.h.dst = s.port;
        p.h.epoch = epoch;
        p.payload = rng.some(s.result_size ? s.result_size : 1 + below(128));
        p.h.len = static_cast<uint32_t>(p.payload.size());
        if (percent(s.result_wrong)) {
            p.h.epoch = (epoch + 1 + below(3)) % 4;
            want_errors[MW_HWERR_EPOCH]++;
        }
        wire w = encoded(p);
        if (percent(s.result_wrong)) { // from one flit on
            w.bad.assign(w.flits(), true);
            std::fill_n(w.bad.begin(), HF + below(w.flits() - HF), false);
            want_errors[MW_HWERR_LENGTH]++;
        }
        link.queue.push_back(w);
        // what another epoch sent is poisoned
        p.h.poison = p.h.epoch != epoch;
        const wire head = encode({p.h}, F);
        std::copy(head.data.begin(), head.data.end(), w.data.begin());
        expected_results.clear();
        for (size_t i = 0; i < w.flits(); i++)
            expected_results.push_back({bytes(w.at(i), w.at(i) + F), w.last(i), w.marked(i)});
        link_cls = MW_CLS_PART;
        result_credits.spend();
        results_left--;
    }

    void next_on_link()
    {
        if (results_left && result_credits.left() && percent(s.result_share)) {
            start_result();
            return;
        }
        std::vector<sender *> can;
        for (unsigned q = 0; q < N; q++)
            if (q != s.port && sources[q].sent < sources[q].items.size())
                can.push_back(&sources[q]);
        if (can.empty() || !store_credits.left() || percent(s.gap)) {
            stalled += !can.empty() && !store_credits.left();
            return;
        }
        sender &src = *rng.pick(can);
        link.queue.push_back(encoded(src.items[src.sent++].p));
        link_cls = MW_CLS_STORE;
        store_credits.spend();
    }
    void drive_link()
    {
        if (link.empty())
            next_on_link();
        const bool flit = link.drive(rng, dut.rx_valid_i, dut.rx_data_i, dut.rx_last_i);
        dut.rx_cls_i = static_cast<uint8_t>(flit ? link_cls : below(4));
        dut.rx_err_i = flit ? link.err() : percent(50);
        if (flit && link_cls == MW_CLS_PART) {
            results.push_back(expected_results.front());
            expected_results.pop_front();
        }
    }

    // The own packets come from send and, every few, from control: one stream after the other, as
    // ordered stores need it.
    void next_local()
    {
        sender &src = sources[s.port];
        if (!local.empty() || !control.empty() || src.sent == src.items.size() || percent(s.gap))
            return;
        const packet &p = src.items[src.sent++].p;
        const bool ordered =
            p.h.opcode == MW_OP_COUNTS || p.h.opcode == MW_OP_FLAG || p.h.opcode == MW_OP_FENCE;
        (ordered ? control : local).queue.push_back(encoded(p));
    }

    bool finished() const
    {
        for (auto &src : sources)
            if (src.sent < src.items.size() || !src.flags.empty() || !src.fences.empty())
                return false;
        return link.empty() && local.empty() && control.empty() && store_credits.left() == SLOTS &&
               results_left == 0 && result_credits.left() == RESULTS && dut.idle_o == 0x1f;
    }

    void run(uint64_t limit)
    {
        running = true;
        cycle();
        taken = 1 + until("the layer", limit, [&] { return finished(); });
        running = false;
        until("the look-up", 1000, [&] { return !look_open && !dut.req1_valid_i; });
        cycles(10);
    }

    // ---- after a layer ----
    void check_errors()
    {
        for (unsigned code = 0; code < 32; code++)
            if (want_errors[code] != got_errors[code])
                fail_msg("error %u: %u reported, %u expected", code, got_errors[code],
                         want_errors[code]);
    }

    // Rows of an expert are dense, each belongs to one token that was sent, and nothing else
    // changed in the table.
    void check_table()
    {
        for (unsigned le = 0; le < LE; le++) {
            std::set<int> used;
            unsigned asked = 0;
            for (unsigned token = 0; token < N << s.token_shift; token++) {
                key k{le, token};
                int r = row_of(k);
                asked += rows.count(k) != 0;
                if (r < 0)
                    continue;
                assert_true(rows.count(k));
                assert_true(used.insert(r).second);
            }
            assert_int_equal(used.size(), std::min(asked, 1u << s.cap_shift));
            if (!used.empty())
                assert_int_equal(*used.rbegin(), used.size() - 1);
        }
        for (auto &l : late_rows)
            assert_int_equal(l.second, row_of(l.first));
    }

    void check_memory()
    {
        unsigned lost = 0;
        for (auto &src : sources) {
            for (auto &i : src.items) {
                std::vector<unsigned> at;
                if (!i.writes)
                    continue;
                places(i, at);
                if (stores_row(i.p.h.opcode) && i.p.h.stage != MW_STAGE_FLAT)
                    lost += static_cast<unsigned>(i.rows.size() - at.size());
                for (unsigned a : at)
                    std::copy(i.p.payload.begin(), i.p.payload.end(), expected.begin() + a);
            }
        }
        want_errors[MW_HWERR_BOUNDS] += lost;
        if (!lossy)
            assert_int_equal(lost, 0);
        unsigned table_end = AL + (4 * LE << (LOG_N + s.token_shift));
        std::copy(mem.data.begin() + AL, mem.data.begin() + table_end, expected.begin() + AL);
        for (unsigned a = 0; a < MEM; a++)
            if (mem.data[a] != expected[a])
                fail_msg("memory at %05x is %02x, not %02x", a, mem.data[a], expected[a]);
    }

    // Every row is in its expert's list once, with its token and list position.
    void check_lists()
    {
        unsigned total = 0;
        for (unsigned le = 0; le < LE; le++) {
            dut.stat_le_i = static_cast<uint8_t>(le);
            cycle();
            unsigned complete = dut.stat_complete_o;
            unsigned capacity = 1u << s.cap_shift;
            assert_int_equal(complete, std::min(expected_rows[le], capacity));
            if (s.counts)
                assert_int_equal(dut.stat_expected_o, expected_rows[le]);
            std::set<unsigned> seen;
            for (unsigned i = 0; i < complete; i++) {
                dut.list_valid_i = 1;
                dut.list_le_i = static_cast<uint8_t>(le);
                dut.list_idx_i = i;
                cycle();
                assert_true(dut.list_rvalid_o);
                key k{le, dut.list_token_o};
                assert_true(rows.count(k));
                assert_int_equal(dut.list_pos_o, rows[k]);
                assert_int_equal(dut.list_row_o, row_of(k));
                assert_true(seen.insert(k.token).second);
            }
            dut.list_valid_i = 0;
            total += complete;
        }
        assert_int_equal(row_events, total);
        assert_int_equal(dut.counts_all_o, s.counts);
        assert_int_equal(dut.rows_done_o, s.counts && !lossy);
    }

    // Of each row of another GPU the list that came last, and nothing else. The targets' places in
    // their token's list are not kept.
    void check_kept()
    {
        for (const auto &k : kept) {
            const size_t flits = (2 * k.second.size() + F - 1) / F;
            for (size_t t = 0; t < k.second.size(); t++) {
                const unsigned is = lists.get<uint16_t>(k.first + 2 * t), want = k.second[t] >> 4;
                assert_int_equal(is & 15, k.second.size() - 1);
                assert_true(is >> 4 == want || (want >= EXPERTS && is >> 4 >= EXPERTS));
            }
            std::copy_n(lists.data.begin() + k.first, F * flits, lists_before.begin() + k.first);
        }
        assert_true(lists_before == lists.data);
    }

    void check_lookups()
    {
        unsigned asked = 0;
        for (auto &src : sources)
            for (auto &i : src.items)
                if (i.writes)
                    asked += static_cast<unsigned>(i.rows.size());
        assert_int_equal(hits + misses, asked + looks);
    }

    void check()
    {
        check_table();
        check_memory();
        check_errors();
        check_lists();
        check_lookups();
        check_kept();
        assert_true(count_words == std::vector<unsigned>(N, 0));
    }

    settings s;
    const unsigned row_shift, gate_shift;
    bytes expected;
    packet_source link;
    credits store_credits{"stores", SLOTS}, result_credits{"results", RESULTS};
    uint64_t taken = 0, stalled = 0, looks = 0;
    unsigned expert_id[N][LE] = {};
    unsigned plain_at[N] = {}, followers = 0;
    sender sources[N];
    std::map<unsigned, unsigned> want_errors, got_errors;
    std::map<key, unsigned> rows; // list position
    std::map<key, int> late_rows;
    std::map<unsigned, std::vector<uint16_t>> kept; // by address
    bytes lists_before;
    std::vector<unsigned> expected_rows;
    std::vector<std::vector<unsigned>> count_of;
    uint32_t split_counts = 0;         // GPUs that tell their counts in two packets
    std::vector<unsigned> count_words; // next word of each GPU's counts
    unsigned row_events = 0, hits = 0, misses = 0;
    struct result_flit {
        bytes data;
        bool last, bad;
    };
    std::deque<result_flit> results, expected_results; // came, will come
    unsigned results_left = 0, result_gap = 0, longest_gap = 0;
    unsigned link_cls = 0;
    bool result_waits = false;
    bool look_open = false, look_taken = false, running = false, lossy = false;
    key look = {0, 0};
    int look_row = -1;
};

// ---- the tests ----
static unsigned one_layer(const settings &s) // returns packets without targets
{
    bench b(s);
    b.sweep();
    b.go(1);
    b.make_layer();
    b.run(400000);
    b.check();
    return b.followers;
}

TEST(layer_at_full_speed)
{
    one_layer(settings());
}

TEST(layer_with_everything)
{
    dice rng;
    unsigned followers = 0;
    for (unsigned run = 0; run < 12; run++) {
        settings s;
        s.port = rng.below(N);
        s.k = 1 + rng.below(16);
        s.row_bytes = F * (1 + rng.below(256 / F));
        s.token_shift = 3 + rng.below(TOKENS_LOG2 - 2);
        s.tokens = 1 + rng.below(std::min(8u, 1u << s.token_shift));
        s.wr_ready[0] = 10 + rng.below(91);
        s.wr_ready[1] = 10 + rng.below(91);
        s.al_ready = 10 + rng.below(91);
        s.al_latency = 1 + rng.below(40);
        s.gap = rng.below(70);
        s.credit_delay = rng.below(30);
        s.wrong = rng.below(25);
        s.plain = rng.below(40);
        s.ordered = rng.below(10);
        s.counts = rng.percent(80);
        s.results = rng.below(300);
        s.result_share = 5 + rng.below(96);
        s.result_ready = 10 + rng.below(91);
        s.result_wrong = rng.below(20);
        s.once = rng.below(101);
        s.cache_log2 = rng.below(16);
        s.by_switch = BY_SWITCH && run % 3;
        s.list_ready = rng.pick({100u, 50u, 4u});
        followers += one_layer(s);
    }
    assert_true(followers > 20);
}

// Rows that come for each expert by itself, which allocate with whichever piece is first,
// beside others that do not.
TEST(row_sparse)
{
    dice rng;
    for (unsigned run = 0; run < 8; run++) {
        settings s;
        s.rowsp = run < 4 ? 100 : 50;
        s.k = 1 + rng.below(8);
        s.row_bytes = rng.pick({256u, 128 + F, 32u, F});
        s.density = 80;
        s.al_latency = 1 + rng.below(40);
        s.al_ready = 40 + rng.below(61);
        s.cap_shift = run % 4 == 3 ? 2 : 4;
        s.plain = rng.below(20);
        s.ordered = rng.below(10);
        s.by_switch = BY_SWITCH && run % 2;
        one_layer(s);
    }
}

// What is pushed is listed as it was: token and position, by their bits.
TEST(pushed_rows_are_listed)
{
    settings s;
    bench b(s);
    b.sweep();
    b.go(1);
    const unsigned bits = 4 + TOKENS_LOG2 + LOG_N, n = 1u << s.cap_shift;
    std::vector<unsigned> pushed;
    for (unsigned i = 0; i < n; i++) {
        pushed.push_back(b.rng.bits(bits));
        b.dut.push_valid_i = 1;
        b.dut.push_le_i = 2;
        b.dut.push_row_i = pushed[i];
        b.settle();
        assert_true(b.dut.push_ready_o);
        b.cycle();
        b.dut.push_valid_i = 0;
        b.cycles(2);
    }
    for (unsigned i = 0; i < n; i++) {
        b.dut.list_valid_i = 1;
        b.dut.list_le_i = 2;
        b.dut.list_idx_i = i;
        b.cycle();
        assert_true(b.dut.list_rvalid_o);
        assert_int_equal(b.dut.list_token_o << 4 | b.dut.list_pos_o, pushed[i]);
    }
    b.dut.list_valid_i = 0;
}

// Rows of a KB, as many as there can be: they fill half of the memory.
TEST(long_rows)
{
    for (unsigned run = 0; run < 2; run++) {
        settings s;
        s.row_bytes = 1024 - 8 * F * run;
        s.tokens = run ? 8 : 4;
        s.density = 100;
        s.cap_shift = 4;
        one_layer(s);
    }
}

// Results share a RAM with worker 0: alone they come through at one flit per cycle; beside stores
// for every target, that keep both workers busy, one of them waits for a job that was begun at
// most, and the stores keep their rate.
TEST(results_between_stores)
{
    settings s;
    s.results = 100;
    s.result_share = 100;
    s.result_size = 128;
    s.tokens = 0;
    s.counts = false;
    {
        bench b(s);
        b.sweep();
        b.go(1);
        b.run(100000);
        b.check();
        assert_true(b.taken <= s.results * (16 + 128) / F + 12);
    }
    s.tokens = 8;
    s.counts = true;
    s.density = 100;
    s.row_bytes = 256;
    s.look = 0;
    for (unsigned busy = 0; busy < 2; busy++) {
        s.result_share = 30;
        s.wr_ready[0] = busy ? 50 : 100;
        bench b(s);
        b.sweep();
        b.go(1);
        b.make_layer();
        b.run(100000);
        b.check();
        print_message("results beside stores: %llu cycles, a flit waited %u at most\n",
                      static_cast<unsigned long long>(b.taken), b.longest_gap);
        assert_true(b.longest_gap <= (busy ? 6 : 2) * 128 / F + 8);
    }
}

// Results that nobody takes are in nobody's way.
TEST(results_wait)
{
    settings s;
    s.results = RESULTS;
    s.result_share = 100;
    s.result_ready = 0;
    bench b(s);
    b.sweep();
    b.go(1);
    b.make_layer();
    b.cycles(5000);
    for (auto &src : b.sources)
        assert_int_equal(src.sent, src.items.size());
    assert_int_equal(b.store_credits.left(), SLOTS);
    assert_int_equal(b.result_credits.left(), 0);
    b.s.result_ready = 100;
    b.run(1000);
    b.check();
}

// Few rows per expert: those that come too late get none, are counted target by target, and
// leave nothing behind.
TEST(no_row_left)
{
    for (unsigned cap = 0; cap < 3; cap++) {
        settings s;
        s.cap_shift = cap;
        s.density = 100;
        s.wr_ready[0] = 60;
        s.al_latency = 9;
        s.ordered = 5;
        one_layer(s);
    }
}

// More rows in flight than the cache holds, and a slow table: parked targets all the time.
TEST(table_is_slow)
{
    settings s;
    s.density = 100;
    s.tokens = 12;
    s.row_bytes = F;
    s.al_latency = 60;
    s.al_ready = 30;
    s.ordered = 3;
    s.cap_shift = 6 - 2;
    one_layer(s);
}

// More rows of an expert than its number within 5 bits can name.
TEST_IF(PARAM_RowsLog2 - log2_up(LE) >= 6, many_rows_of_an_expert)
{
    settings s;
    s.cap_shift = 6;
    s.k = 8;
    s.tokens = 1 << TOKENS_LOG2;
    s.density = 100;
    s.row_bytes = F;
    bench b(s);
    b.sweep();
    b.go(1);
    b.make_layer();
    assert_true(*std::max_element(b.expected_rows.begin(), b.expected_rows.end()) > 32);
    b.run(400000);
    b.check();
}

// Of packets that send and control offer in the same cycle, the first of a layer is send's, whoever
// had the last one of the layer before.
TEST(send_goes_first)
{
    settings s;
    s.counts = false;
    bench b(s);
    b.sweep();
    for (unsigned layer = 0; layer < 4; layer++) {
        b.go(layer);
        std::vector<packet_source *> order{&b.local, &b.control};
        if (layer % 2 == 0)
            order.push_back(&b.local); // the last one
        for (packet_source *stream : order) {
            item p = b.plain(s.port, F);
            b.plain_at[s.port] += p.p.h.len;
            b.add(s.port, p);
            b.sources[s.port].sent++;
            stream->queue.push_back(b.encoded(p.p));
        }
        b.cycle();
        assert_true(b.dut.loc_valid_i && b.dut.clo_valid_i);
        b.until("a flit", 100, [&] { return b.dut.loc_ready_o || b.dut.clo_ready_o; });
        assert_false(b.dut.clo_ready_o);
        b.run(1000);
        b.check();
    }
}

// The same layers with fewer entries in use: the same answers, more misses. Single layers may have
// fewer by chance, as the order in which packets come differs.
TEST_IF(F == 8, smaller_caches_miss_more)
{
    uint64_t layers[16];
    dice rng;
    for (uint64_t &layer : layers)
        layer = rng();
    unsigned misses[7] = {};
    for (unsigned log2 : {6u, 4u}) {
        for (uint64_t layer : layers) {
            settings s;
            s.density = 100;
            s.tokens = 16;
            s.row_bytes = 256;
            s.cache_log2 = log2;
            bench b(s);
            b.sweep();
            b.rng = dice(layer);
            b.go(1);
            b.make_layer();
            b.run(400000);
            b.check();
            misses[log2] += b.misses;
        }
    }
    print_message("%u misses with 64 entries, %u with 16\n", misses[6], misses[4]);
    assert_true(misses[4] > misses[6]);
}

// Layers one after the other: epochs differ until they wrap, then the tables are swept. The same
// layer takes the same cycles.
TEST(layers_repeat)
{
    settings s;
    s.gap = 20;
    s.al_latency = 7;
    s.wr_ready[0] = s.wr_ready[1] = 80;
    s.credit_delay = 5;
    bench b(s);
    b.sweep();
    uint64_t taken = 0, layers[6];
    for (uint64_t &stream : layers)
        stream = b.rng();
    for (unsigned layer = 0; layer < 11; layer++) {
        if (layer && layer % 4 == 0)
            b.sweep();
        b.rng = dice(layers[layer / 2]);
        b.go(layer % 4);
        b.make_layer();
        b.run(400000);
        if (layer % 2)
            assert_int_equal(b.taken, taken);
        taken = b.taken;
        b.check();
    }
}

// A small layer does not wait for tables that it does not use: of the allocation table a flit per
// cycle, of the rows one.
TEST(sweeps_are_short)
{
    settings s;
    for (s.cap_shift = 1; s.cap_shift < 4; s.cap_shift++) {
        bench b(s);
        unsigned cache = F == 16 ? 16 : 64; // entries, of the parameters in modules.mk
        unsigned table = (LE << (LOG_N + s.token_shift)) / (F / 4), rows = LE << s.cap_shift;
        assert_true(b.sweep() < cache + table + rows + 16);
    }
}

// ... and reach every row of those that it uses. 256 rows of an expert end where those of the next
// one begin.
TEST_IF(PARAM_RowsLog2 >= 10, lists_of_many_rows)
{
    const unsigned each = 256;
    for (unsigned experts = 1; experts <= 4; experts++) {
        settings s;
        s.cap_shift = 8;
        bench b(s);
        b.set("local_experts", experts);
        assert_in_range(b.rx_bench::sweep(), experts * each - 4, experts * each + 4);
        b.go(1);
        std::vector<std::vector<unsigned>> pushed(experts);
        for (unsigned i = 0; i < 8; i++)
            for (unsigned le = 0; le < experts; le++) {
                pushed[le].push_back(b.rng.bits(4 + TOKENS_LOG2 + LOG_N));
                b.dut.push_valid_i = 1;
                b.dut.push_le_i = le;
                b.dut.push_row_i = pushed[le][i];
                b.settle();
                assert_true(b.dut.push_ready_o);
                b.cycle();
                b.dut.push_valid_i = 0;
                b.cycles(2);
            }
        for (unsigned le = 0; le < experts; le++)
            for (unsigned i = 0; i < 8; i++) {
                b.dut.list_valid_i = 1;
                b.dut.list_le_i = le;
                b.dut.list_idx_i = i;
                b.cycle();
                assert_int_equal(b.dut.list_token_o << 4 | b.dut.list_pos_o, pushed[le][i]);
            }
        b.dut.list_valid_i = 0;
    }
}

// What the link can bring in back-to-back packets must not wait for credits, with the local
// stream in the gaps.
static void measure(unsigned targets, unsigned local, double *per_packet, unsigned *stalled)
{
    const unsigned packets = 96;
    settings s;
    s.row_bytes = 1024;
    s.cap_shift = 2;
    s.k = 8;
    s.look = 0;
    s.counts = false;
    s.credit_delay = 4;
    bench b(s);
    b.sweep();
    b.go(1);
    for (unsigned i = 0; i < packets + local; i++) {
        unsigned src = i < packets ? (s.port + 1) % N : s.port, n = i < packets ? i : i - packets;
        std::vector<uint16_t> t;
        std::vector<key> k;
        unsigned token = src << s.token_shift | n / (s.row_bytes / 128) % (s.port == src ? 1 : 2);
        for (unsigned j = 0; j < targets; j++) {
            t.push_back(b.own(j, j));
            k.push_back({j, token});
            b.rows[{j, token}] = j;
        }
        b.add(src, b.dynamic(src, token, t, k, MW_STAGE_COMBINE, n * 128 % s.row_bytes, 128));
    }
    // the same bytes are written several times: only the time counts here
    b.run(100000);
    *per_packet = static_cast<double>(b.taken) / packets;
    *stalled = static_cast<unsigned>(b.stalled);
    assert_int_equal(b.io->store[0].writes + b.io->store[1].writes,
                     (packets + local) * targets * (128 / F));
}

// Who sees that all rows are counted must see all of them in the numbers: the engine would end too
// early. Each instruction adds to those of the ones before, and while it does they are not all.
TEST(pushed_rows_are_counted)
{
    for (unsigned rows = 1; rows <= 3; rows++) {
        settings s;
        s.counts = false;
        bench b(s);
        b.sweep();
        b.go(1);
        b.dut.stat_le_i = 1;
        unsigned pushed = 0;
        for (unsigned ranges = 1; ranges <= 3; ranges++) {
            b.dut.push_last_i = 0;
            b.dut.push_more_i = ranges > 1;
            b.cycle();
            b.dut.push_more_i = 0;
            assert_false(b.dut.counts_all_o);
            for (unsigned i = 0; i < 40; i++) {
                b.dut.push_valid_i = pushed < ranges * rows;
                b.dut.push_le_i = 1;
                b.dut.push_row_i = pushed;
                b.dut.push_last_i = pushed == ranges * rows;
                b.dut.eval();
                pushed += b.dut.push_valid_i && b.dut.push_ready_o;
                b.cycle();
                if (b.dut.counts_all_o) {
                    assert_int_equal(b.dut.stat_expected_o, ranges * rows);
                    assert_int_equal(b.dut.stat_complete_o, ranges * rows);
                }
            }
            assert_true(b.dut.counts_all_o);
            assert_true(b.dut.rows_done_o);
        }
        assert_int_equal(b.row_events, 0); // the engine knows of those
    }
}

TEST(rates)
{
    const unsigned pf = 128 / F, hf = 16 / F;
    struct {
        unsigned targets, local;
        double most;
    } cases[] = {
        {1, 0, hf + pf + 0.6}, {1, 12, hf + pf + 0.6}, {2, 0, hf + pf + 1.6},
        {3, 0, 1.5 * pf + 1},  {4, 0, 2.0 * pf + 1},
    };
    for (auto &m : cases) {
        double per_packet;
        unsigned stalled;
        measure(m.targets, m.local, &per_packet, &stalled);
        print_message("%u targets, %u local packets: %.2f cycles per packet, %u stalled\n",
                      m.targets, m.local, per_packet, stalled);
        assert_true(per_packet <= m.most);
        if (m.targets <= 2)
            assert_int_equal(stalled, 0);
    }
}

// A sender that ignores credits loses what has no slot, and only that.
TEST(beyond_credit)
{
    settings s;
    s.wr_ready[0] = s.wr_ready[1] = 0;
    s.look = 0;
    s.counts = false;
    bench b(s);
    b.sweep();
    b.go(2);
    unsigned src = (s.port + 1) % N, lost = 5;
    for (unsigned i = 0; i < SLOTS + lost; i++) {
        item p = b.plain(src, 1 + b.below(100));
        b.plain_at[src] += p.p.h.len;
        p.writes = i < SLOTS;
        if (!p.writes)
            p.errors[MW_HWERR_CREDIT] = 1;
        b.add(src, p);
    }
    b.store_credits.limit = SLOTS + lost;
    b.cycles(900);
    assert_int_equal(b.store_credits.left(), 0);
    assert_int_equal(b.sources[src].sent, SLOTS + lost);
    b.s.wr_ready[0] = b.s.wr_ready[1] = 100;
    b.run(1000);
    b.check();
}

// The window of plain stores, to the byte, wherever its ends are, behind the end of memory too:
// what lies inside both is written, what leaves either is not.
TEST(window_to_the_byte)
{
    const uint64_t ends[] = {0,        1,       ST_LO,       MEM - 1,  MEM,       MEM + 1,
                             MEM + 64, 2 * MEM, 2 * MEM + 1, 1u << 31, 0xffffffff};
    settings s;
    s.counts = false;
    bench b(s);
    b.sweep();
    unsigned src = (s.port + 1) % N, written = 0, rejected = 0;
    for (uint64_t lo : ends) {
        for (uint64_t hi : ends) {
            b.cfg.set("st_lo", lo);
            b.cfg.set("st_hi", hi);
            for (unsigned i = 0; i < 12; i++) {
                unsigned len = i % 3 == 0 ? 1 : i % 3 == 1 ? 2 * F : 128;
                uint64_t from = b.percent(50) ? lo : b.percent(50) ? hi : MEM;
                uint64_t at = from + b.below(3) - 1 - (b.percent(50) ? len : 0);
                at &= (1ull << 48) - 1;
                if (len == 128)
                    at &= ~static_cast<uint64_t>(F - 1); // or it has a flit too many
                if (b.percent(5))
                    at |= 1ull << (33 + b.below(15));
                if (at >= AL - 128 && at < GT)
                    continue;
                b.go(2);
                item p = b.plain(src, F);
                p.p.h.addr = at;
                p.p.h.len = len;
                p.p.payload = b.rng.some(len);
                p.writes = lo <= at && at + len <= hi && at + len <= MEM;
                if (at % F + len > 128)
                    continue;
                if (!p.writes)
                    p.errors[MW_HWERR_BOUNDS] = 1;
                (p.writes ? written : rejected)++;
                b.add(src, p);
                b.run(1000);
                b.check();
            }
        }
    }
    assert_true(written > 50 && rejected > 500);
}
