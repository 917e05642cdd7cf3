// SPDX-License-Identifier: Apache-2.0
//
// Traffic of a whole layer to one hub, for the tests rx_store: rows, explicit stores, counts, FLAG
// and FENCE of each source. Each packet has its expected effect.
#ifndef RX_STORE_TRAFFIC_H
#define RX_STORE_TRAFFIC_H

#include "rx_model.h"

#include <algorithm>
#include <numeric>

namespace tb {
static const unsigned TOKENS_LOG2 = 5;
static const unsigned ST_LO = MEM / 4 * 3 + 3, ST_HI = MEM / 8 * 7 - 11;
static const unsigned LISTS = 0x1230; // in a memory of their own
static const bool BY_SWITCH = PARAM_SwitchReductions;

/// A layer, and the delays around the hub.
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
    unsigned wrong = 0;   // percent of packets that follow an invalid one
    unsigned plain = 0;   // percent of packets that follow an explicit store
    unsigned ordered = 0; // percent of packets that follow FLAG or FENCE
    unsigned look = 30;   // percent of cycles with a look-up of client 1
    bool counts = true;
    unsigned results = 0;       // packets of class PART
    unsigned result_share = 50; // percent of the packets on the link, while there are any
    unsigned result_size = 0;   // bytes, 0: random
    unsigned result_ready = 100;
    unsigned result_wrong = 0; // percent with another epoch, and as many that turn bad inside
    unsigned cache_log2 = 0;   // of the entries that the allocator uses, 0: all
    unsigned rowsp =
        0; // percent of other GPUs' tokens whose rows come for each target by itself, in any order
    unsigned once = 50;     // percent of a row's packets that have no targets after the first
    bool by_switch = false; // switch-initiated reductions: lists of others' rows are written
    unsigned list_ready = 100;
};

struct key {
    unsigned le, token;
    bool operator<(const key &o) const { return le != o.le ? le < o.le : token < o.token; }
};

/// One source's stream of packets, with the expected effect of each.
struct item {
    packet p;
    std::vector<key> rows;               // of a right dynamic store
    std::map<unsigned, unsigned> errors; // code -> number
    bool writes = false;
};

struct sender {
    std::vector<item> items;
    size_t sent = 0;          // passed to the device
    std::deque<size_t> flags; // items that are FLAG and have not acted
    std::deque<size_t> fences;
};

/// A layer's packets from every source, valid and invalid.
struct traffic : rx_bench {
    explicit traffic(const settings &set)
        : rx_bench({{"port", set.port},
                    {"k", set.k},
                    {"token_shift", set.token_shift},
                    // results fill their places, whatever the size of rows of dispatch
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
    }

    // Experts: every GPU has LE of them, in its own order. The last ids are unmapped.
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
        want_errors.clear();
        rows.clear();
        expected_rows.assign(LE, 0);
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

    // A FLAG for the counter with the source's number. Half of them also report a row.
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

    // An explicit store into the source's own part of the window, each byte once in a layer.
    item plain(unsigned src, unsigned len)
    {
        item i = simple(src, percent(50) ? MW_OP_ST : MW_OP_MULTIMEM_ST, plain_at[src]);
        i.p.h.target0 = below(16);
        i.p.h.len = std::min(len, 128 - plain_at[src] % F);
        i.p.payload = rng.some(i.p.h.len);
        i.writes = true;
        return i;
    }

    // Makes a dynamic store one with an explicit address, for one expert or two.
    void flatten(item &i)
    {
        const bool two = percent(50);
        i.p.h.opcode = two || percent(50) ? MW_OP_DYMULTIMEM_ST : MW_OP_ST_ROWSP;
        i.p.h.stage = MW_STAGE_FLAT;
        i.p.h.dst = s.port;
        i.p.set_targets(two ? std::vector<uint16_t>{own(0), own(1, 1)}
                            : std::vector<uint16_t>{own(0)});
    }

    // Words of the high half of row counts belong to experts that this GPU does not have.
    item counts(unsigned src, unsigned kind)
    {
        item i = simple(src, MW_OP_COUNTS, 0);
        i.p.h.stage = kind;
        i.p.h.len = 4 * (kind == MW_COUNTS_COPIES ? N : kind == MW_COUNTS_ROWS_HIGH ? LE + 1 : LE);
        i.p.payload = rng.some(i.p.h.len);
        if (kind == MW_COUNTS_ROWS || kind == MW_COUNTS_ROWS_LOW)
            memcpy(i.p.payload.data(), count_of[src].data(), i.p.h.len);
        for (unsigned w = 0; kind == MW_COUNTS_ROWS_HIGH && w <= LE; w++)
            memcpy(&i.p.payload[4 * w], &LE, 4); // no more than the possible rows
        return i;
    }

    // An invalid packet. Its only effect is an error, once for every target if the target is
    // invalid.
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
        case 11: // beyond the row, or beyond its gate weights
            code = MW_HWERR_BOUNDS;
            if (percent(50)) {
                h.stage = MW_STAGE_GATE;
                resize(4 * s.k + 1);
            } else {
                h.stage = MW_STAGE_DISPATCH;
                h.addr += s.row_bytes - h.len + F;
            }
            break;
        case 12: // too many, or none, of a token without an open row
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

    // Whether the hub accepts a dynamic store as its header describes it.
    bool well_formed(const item &i) const
    {
        const size_t more = i.p.h.cnt > 1 ? i.p.h.cnt - 1 : 0, front = HF + (2 * more + F - 1) / F,
                     flits = encode(i.p, F).flits();
        return !i.p.err && !(i.p.h.addr >> (row_shift + TOKENS_LOG2 + LOG_N)) &&
               i.p.h.epoch == epoch && !i.p.h.poison && i.p.h.len > 0 && i.p.h.len <= 128 &&
               i.p.h.cnt <= LE && flits >= front;
    }

    // Removes the targets from some packets of an open row, for each source. The header of
    // row_lists states which packets open and close a row.
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

    // The same for one target, as row-sparse stores of sectors and lines in any order, like those
    // of packet managers.
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

    settings s;
    const unsigned row_shift, gate_shift;
    unsigned expert_id[N][LE] = {};
    unsigned plain_at[N] = {}, followers = 0;
    sender sources[N];
    std::map<unsigned, unsigned> want_errors;
    std::map<key, unsigned> rows;                   // list position
    std::map<unsigned, std::vector<uint16_t>> kept; // by address
    std::vector<unsigned> expected_rows;
    std::vector<std::vector<unsigned>> count_of;
    uint32_t split_counts = 0; // GPUs that send their counts in two packets
    bool lossy = false;
};
} // namespace tb

#endif
