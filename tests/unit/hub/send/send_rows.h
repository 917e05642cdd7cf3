// SPDX-License-Identifier: Apache-2.0
//
// The packets that send must make of each instruction, for its tests: random routing tables of a
// layer, rows, targets and errors.
#ifndef SEND_ROWS_H
#define SEND_ROWS_H

#include "bench/errors.h"
#include "bench/memory.h"
#include "bench/values.h"
#include "instr.h"
#include "node_cfg.h"

#include <algorithm>
#include <map>

#ifndef PARAM_SwitchReductions
#define PARAM_SwitchReductions 0
#endif
#ifndef PARAM_SumEntries
#define PARAM_SumEntries 0
#endif

namespace tb {
static const bool BY_SWITCH = PARAM_SwitchReductions, TYPES = PARAM_RowTypes;
static const unsigned N = PARAM_N, F = PARAM_FlitBytes, MEM = 1u << PARAM_MemBytesLog2,
                      EXPERTS = PARAM_MaxExperts, GROUPS = PARAM_Groups;
static const unsigned REDOPS = PARAM_SumEntries ? 7 : 15; // bits of the operator in imm

struct layer {
    // row_bytes: of a row of dispatch
    unsigned k, row_bytes, row_shift, tokens, token_shift, port, latency, in_flight;
    unsigned own_percent, empty_percent, bad_percent;
    unsigned once;        // only the first packet of a token has targets
    unsigned by_switch;   // and the last one lets the switch open its reduction
    unsigned lists = 0;   // st.rowsp sends the row in the list of the source
    unsigned scatter = 0; // see the register
};

struct expected {
    mw_header h;
    wire w;
    unsigned token;
};

static const unsigned LOCAL = 4; // experts of a GPU, where lists are of sources

inline bool by_token(const mw_instr &in)
{
    return in.op == MW_I_DYMULTIMEM_ST || in.op == MW_I_ST_ROWSP || in.op == MW_I_ST;
}

/// The packets that send must make of its instructions in a layer.
struct send_rows : model<Vsend> {
    explicit send_rows(const layer &with) : l(with) {}

    layer l;
    node_cfg cfg;
    memory mem{MEM, F};
    error_watch errors{"send"};
    uint64_t slots = 0; // cycles that the uplink's flits should take
    uint32_t row_of[32], group[GROUPS];

    // Rows of multimem.st with a stride, and routing entries, count from a base.
    static bool apart(const mw_instr &in) { return in.op == MW_I_MULTIMEM_ST && in.flags & 1; }
    uint64_t from_of(const mw_instr &in) const
    {
        const bool based = in.op == MW_I_MULTIMEM_ST && in.flags & 3;
        return (uint64_t{in.a_high} << 32 | in.a) + (!based ? 0 : apart(in) ? xs : rt);
    }
    static uint64_t to_of(const mw_instr &in) { return uint64_t{in.c_high} << 32 | in.c; }

    // Rows of every other home, to the static groups from imm on.
    static bool homes(const mw_instr &in)
    {
        return PARAM_SumEntries && in.op == MW_I_MULTIMEM_RED && in.flags & 1;
    }
    uint64_t home_from(unsigned q) const { return uint64_t{q} << (l.token_shift + l.row_shift); }

    // The error of a whole instruction, 0 if none.
    unsigned refusal(const mw_instr &in) const
    {
        if (by_token(in)) {
            const bool counted = in.op != MW_I_ST && !(in.flags & 1);
            return in.a_high || uint64_t{in.a} + in.b > (counted ? l.tokens : 1u << l.token_shift)
                       ? MW_HWERR_BOUNDS
                       : 0;
        }
        const bool red = in.op == MW_I_MULTIMEM_RED, multi = red || in.op == MW_I_MULTIMEM_ST;
        const unsigned to = red ? in.imm & 255 : in.imm, dtype = in.imm >> 8 & 15,
                       redop = in.imm >> 12 & REDOPS;
        if (red && (redop > 7 || !reduces(dtype, redop)))
            return MW_HWERR_REDUCTION;
        if (homes(in) ? to + N > GROUPS : multi ? to >= GROUPS || group[to] == 0 : to >= N)
            return MW_HWERR_UNMAPPED;
        const uint64_t last = homes(in) && in.b ? home_from(N - 1) : 0;
        return in.a % F || in.c % F || from_of(in) + in.b + last > MEM ||
                       ((apart(in) || homes(in)) && in.b % (1u << l.row_shift))
                   ? MW_HWERR_BOUNDS
                   : 0;
    }

    // Base of separate rows of multimem.st, or of its routing entries.
    unsigned base(bool rows) const { return rows ? xs : rt; }

    // An instruction of the unit with random operands, mostly near the limits.
    mw_instr any_instr()
    {
        mw_instr in = {};
        in.op =
            static_cast<uint8_t>(rng.pick({MW_I_DYMULTIMEM_ST, MW_I_ST_ROWSP, MW_I_ST,
                                           MW_I_ST_LINEAR, MW_I_MULTIMEM_ST, MW_I_MULTIMEM_RED}));
        in.flags = static_cast<uint8_t>(rng.bits(4));
        in.a_high = percent(90) ? 0 : static_cast<uint8_t>(rng.bits(2));
        in.c_high = percent(90) ? 0 : static_cast<uint8_t>(rng.bits(2));
        in.imm = static_cast<uint16_t>(percent(70) ? below(20) : rng());
        if (in.op == MW_I_MULTIMEM_RED && percent(60))
            in.imm = static_cast<uint16_t>(in.imm | below(8) << 8 | below(8) << 12);
        const uint64_t end = by_token(in) ? 1u << l.token_shift : MEM;
        auto operand = [&] {
            const uint64_t v = percent(60) ? rng.pick({uint64_t{0}, uint64_t{F}, uint64_t{end / 2},
                                                       end - F, end - 1, end, end + F, 2 * end})
                                           : rng() >> (32 + below(32));
            return static_cast<uint32_t>(rng.one_in(8) ? v + 1 : v);
        };
        in.a = operand();
        in.b = operand();
        in.c = operand();
        return in;
    }

  protected:
    // ---- layer ----------------------------------------------------------------------------------
    void configure()
    {
        const unsigned rows = l.tokens << l.row_shift;
        xs = rows + 256 + 128 * l.tokens <= MEM ? F * below(9) : 0;
        rt = (xs + rows + 127) & ~127u; // after the rows of own tokens
        assert_true(rt + 128 * l.tokens <= MEM);
        cfg.set("port", l.port);
        cfg.set("epoch", below(4));
        cfg.set("k", l.k);
        cfg.set("tokens", l.tokens);
        cfg.set("token_shift", l.token_shift);
        cfg.set("row_bytes", TYPES ? F * rng.between(1, 40) : l.row_bytes);
        cfg.set("dispatch_bytes", TYPES ? l.row_bytes : 0);
        cfg.set("scatter", l.scatter);
        cfg.set("row_shift", l.row_shift);
        cfg.set("xs_base", xs);
        cfg.set("rt_base", rt);
        cfg.set("xd_base", F * below(MEM / F / 2));
        cfg.set("gt_base", 128 * below(MEM / 256));
        cfg.set("in_flight", l.in_flight);
        cfg.set("target_list_cache", l.once);
        cfg.set("switch_reductions", l.by_switch);
        cfg.set("source_lists", l.lists);
        cfg.set("n_shift", log2_up(N));
        cfg.drive(dut.cfg_i);
    }

    // Two experts stay unmapped. The others are on random GPUs.
    void tables()
    {
        for (unsigned &m : map)
            m = 0x80 | below(N);
        for (unsigned &number : local)
            number = below(l.lists ? LOCAL : 64);
        map[EXPERTS - 1] = 0x1f & below(N);
        map[3] = below(32);
        const uint32_t all = UINT32_MAX >> (32 - N);
        for (uint32_t &g : group)
            g = rng.word() & all;
        group[5] = 1u << l.port;
        group[6] = all;
        group[7] = 0;
        for (uint32_t &r : row_of)
            r = rng.one_in(8) ? below(1u << 20)
                              : below(MEM / 2 >> std::max(7u, l.row_shift)) * 3 / 4;
        memcpy(model_row, row_of, sizeof model_row);
        mem.data = rng.some(MEM);
        for (unsigned i = 0; i < l.tokens; i++) {
            lists.push_back(make_list());
            for (unsigned j = 0; j < l.k; j++)
                mem.set<uint16_t>(rt + 128 * i + 2 * j, lists[i][j]);
        }
    }

    unsigned gpu_of(unsigned e) const { return map[e] & 31; }
    bool mapped(unsigned e) const { return e < EXPERTS && map[e] >> 7; }

    std::vector<uint16_t> make_list()
    {
        std::vector<uint16_t> list;
        std::vector<bool> used(EXPERTS);
        const bool only_own = percent(l.own_percent), no_own = percent(l.own_percent),
                   none = percent(l.empty_percent / 2);
        auto fits = [&](unsigned e) {
            return mapped(e) && !used[e] &&
                   (only_own ? gpu_of(e) == l.port : !no_own || gpu_of(e) != l.port);
        };
        for (unsigned j = 0; j < l.k; j++) {
            unsigned e = below(EXPERTS);
            for (unsigned tries = 0; tries < 4 * EXPERTS && !fits(e); tries++)
                e = (e + 1) % EXPERTS;
            if (none || !fits(e) || percent(l.empty_percent)) {
                list.push_back(0xffff);
            } else {
                used[e] = true;
                list.push_back(static_cast<uint16_t>(e));
            }
        }
        if (percent(l.bad_percent)) {
            const unsigned at = below(l.k);
            list[at] = static_cast<uint16_t>(
                rng.pick({EXPERTS - 1, 3u, EXPERTS + below(0xffff - EXPERTS), EXPERTS,
                          uint32_t{list[below(l.k)]}, uint32_t{list[below(l.k)]}}));
        }
        return list;
    }

    // The error of a token's list, and the place that shows it first.
    unsigned bad(const std::vector<uint16_t> &list, unsigned &at) const
    {
        for (at = 0; at < list.size(); at++) {
            if (list[at] == 0xffff)
                continue;
            if (!mapped(list[at]))
                return MW_HWERR_UNMAPPED;
            if (std::count(list.begin(), list.begin() + at, list[at]))
                return MW_HWERR_DUPLICATE;
        }
        return 0;
    }

    // ---- model ----------------------------------------------------------------------------------
    mw_header head(unsigned op, unsigned dst, uint64_t addr, size_t len) const
    {
        mw_header h = header(op);
        h.src = l.port;
        h.dst = dst;
        h.epoch = static_cast<uint32_t>(cfg["epoch"]);
        h.addr = addr;
        h.len = static_cast<uint32_t>(len);
        return h;
    }

    static unsigned flits(size_t size) { return static_cast<unsigned>((size + F - 1) / F); }
    static unsigned target_flits(size_t count) { return count > 1 ? flits(2 * (count - 1)) : 0; }

    void expect(const mw_instr &in)
    {
        if (!by_token(in))
            return expect_linear(in);
        make_order(in);
        listed.clear();
        for (unsigned i : order) {
            unsigned at;
            const unsigned code = bad(lists[i], at);
            if (code) {
                errors.expect(code, in.op, i);
                bad_tokens.push_back({i, (rt + 128 * i + 2 * at) / F});
            } else if (in.op == MW_I_ST) {
                expect_unicast(i, in.flags & 1);
            } else {
                expect_experts(i, in);
            }
        }
    }

    // Tokens by their numbers, or in the order that is set from outside.
    void make_order(const mw_instr &in)
    {
        order.resize(in.b);
        for (unsigned i = 0; i < in.b; i++)
            order[i] = in.a + i;
        named = in.op == MW_I_DYMULTIMEM_ST && in.flags & 4;
        if (named)
            rng.shuffle(order);
        rank.assign(in.a + in.b, 0);
        for (unsigned i = 0; i < in.b; i++)
            rank[order[i]] = i;
        next = in.b;
    }

    // Whether a token precedes another one.
    bool before(unsigned a, unsigned b) const { return rank[a] < rank[b]; }

    // To all experts at once, or (rowsp) to each remote one, then to all own ones. If lists are of
    // sources, they also count what is left out with a token.
    void expect_experts(unsigned i, const mw_instr &in)
    {
        std::vector<uint16_t> remote, own;
        std::vector<unsigned> rows;
        for (unsigned j = 0; j < l.k; j++) {
            const unsigned e = lists[i][j];
            if (e == 0xffff)
                continue;
            (gpu_of(e) == l.port ? own : remote).push_back(target(e, j));
            if (gpu_of(e) != l.port)
                rows.push_back(listed[{gpu_of(e), local[e]}]);
            listed[{gpu_of(e), local[e]}]++;
        }
        const bool by_switch = BY_SWITCH && l.by_switch;
        want_arm.push_back({i, static_cast<unsigned>((by_switch ? 0 : remote.size()) + own.size()),
                            by_switch && !remote.empty()});
        if (in.op != MW_I_ST_ROWSP)
            return expect_row(i, in.flags, remote, own, false);
        for (size_t n = 0; n < remote.size(); n++)
            expect_row(i, in.flags, {remote[n]}, {}, true, l.lists ? rows[n] : 0);
        if (!own.empty())
            expect_row(i, in.flags, {}, own, true);
    }

    // `at_list`: the row of the remote expert's list that it becomes.
    void expect_row(unsigned i, unsigned flags, const std::vector<uint16_t> &remote,
                    const std::vector<uint16_t> &own, bool rowsp, uint64_t at_list = 0)
    {
        const uint64_t maddr = at_list << MW_ROW_BIT | uint64_t{l.port << l.token_shift | i}
                                                           << l.row_shift;
        const bool once = l.once && !(flags & 2) && !rowsp;
        for (const auto &[at, len] : cuts(l.row_bytes, rowsp && !remote.empty()))
            expect_dynamic(i, maddr + at, mem.read(xs + (i << l.row_shift) + at, len), remote, own,
                           flags & 2 ? MW_STAGE_FLAT : MW_STAGE_DISPATCH, once && at,
                           rowsp ? MW_OP_ST_ROWSP : MW_OP_DYMULTIMEM_ST);
        if (!(flags & 1))
            expect_dynamic(i, maddr, mem.read(rt + 128 * i + 32, 4 * l.k), remote, own,
                           MW_STAGE_GATE, once, rowsp ? MW_OP_ST_ROWSP_NOP : MW_OP_DYMULTIMEM_ST);
    }

    // On the uplink with the opcode `op`.
    void expect_dynamic(unsigned i, uint64_t addr, const bytes &payload,
                        const std::vector<uint16_t> &remote, const std::vector<uint16_t> &own,
                        unsigned stage, bool follows, unsigned op)
    {
        packet pkt = {head(op, 0, addr, payload.size()), {}, payload};
        pkt.h.stage = stage;
        for (const auto *list : {&remote, &own}) {
            if (list == &own)
                pkt.h.opcode = MW_OP_DYMULTIMEM_ST;
            pkt.set_targets(follows ? std::vector<uint16_t>() : *list);
            pkt.h.reduce =
                BY_SWITCH && l.by_switch && list == &remote && stage == MW_STAGE_GATE && follows;
            pkt.h.own = pkt.h.reduce && !own.empty();
            if (!list->empty())
                (list == &own ? want_loc : want_st).push_back({pkt.h, encode(pkt, F), i});
            pkt.h.dst = l.port;
        }
        if (!remote.empty() || !own.empty())
            slots +=
                16 / F + flits(payload.size()) +
                (follows ? 0 : std::max(target_flits(remote.size()), target_flits(own.size())));
    }

    // Start and length of the packets of `total` bytes. With scatter, each whole window of lines
    // begins with the first 32 bytes of every line, then the second ones. The rest is in order.
    std::vector<std::pair<uint64_t, uint64_t>> cuts(uint64_t total, bool may_scatter) const
    {
        std::vector<std::pair<uint64_t, uint64_t>> list;
        const bool scattered = PARAM_RpmEntries && l.scatter && may_scatter;
        const uint64_t size = scattered ? 32 : 128;
        const uint64_t lines = 1u << (std::min(l.scatter, 5u) - (l.scatter != 0));
        uint64_t from = 0;
        auto add = [&](uint64_t at) { list.push_back({at, std::min(size, total - at)}); };
        if (scattered)
            for (; from + 128 * lines - 32 < total; from += 128 * lines)
                for (uint64_t part = 0; part < 128; part += 32)
                    for (uint64_t line = 0; line < lines; line++)
                        add(from + 128 * line + part);
        for (; from < total; from += size)
            add(from);
        return list;
    }

    void expect_unicast(unsigned i, bool bare)
    {
        for (unsigned d = 1; d <= N; d++) {
            const unsigned q = (l.port + d) % N;
            if (std::none_of(lists[i].begin(), lists[i].end(),
                             [&](unsigned e) { return e != 0xffff && gpu_of(e) == q; }))
                continue;
            const uint64_t r = model_row[q]++;
            for (const auto &[at, len] : cuts(l.row_bytes, q != l.port))
                expect_plain(head(MW_OP_ST, q, cfg["xd_base"] + (r << l.row_shift) + at, 0),
                             mem.read(xs + (i << l.row_shift) + at, len), i);
            if (!bare)
                expect_plain(head(MW_OP_ST, q, cfg["gt_base"] + 128 * r, 0), meta(i), i);
        }
    }

    bytes meta(unsigned i) const
    {
        bytes b(4);
        const uint32_t token = l.port << l.token_shift | i;
        memcpy(b.data(), &token, 4);
        const bytes w = mem.read(rt + 128 * i + 32, 4 * l.k), e = mem.read(rt + 128 * i, 2 * l.k);
        b.insert(b.end(), w.begin(), w.end());
        b.insert(b.end(), e.begin(), e.end());
        return b;
    }

    void expect_linear(const mw_instr &in)
    {
        const uint32_t stride = 1u << l.row_shift;
        for (uint32_t at = 0; at < in.b && homes(in); at += stride)
            for (unsigned i = 1; i < N; i++)
                expect_home(in, (l.port + i) % N, at);
        if (homes(in))
            return;
        if (!apart(in))
            return expect_copy(in, from_of(in), in.b, to_of(in));
        for (uint32_t at = 0; at < in.b; at += stride)
            expect_copy(in, from_of(in) + at, l.row_bytes, to_of(in) + at);
    }

    void expect_home(const mw_instr &in, unsigned q, uint32_t row)
    {
        for (const auto &[at, len] : cuts(cfg["row_bytes"], false)) {
            mw_header h = head(MW_OP_MULTIMEM_RED, q, to_of(in) + row + at, 0);
            h.dtype = in.imm >> 8 & 15;
            h.redop = in.imm >> 12 & REDOPS;
            h.own = in.imm >> 15;
            h.target0 = (in.imm & 255) + q;
            expect_plain(h, mem.read(from_of(in) + row + home_from(q) + at, len), 0);
        }
    }

    void expect_copy(const mw_instr &in, uint64_t first, uint64_t length, uint64_t there)
    {
        const bool red = in.op == MW_I_MULTIMEM_RED, multi = red || in.op == MW_I_MULTIMEM_ST;
        const unsigned to = red ? in.imm & 255 : in.imm;
        for (const auto &[at, len] : cuts(length, !multi && to != l.port)) {
            const bytes payload = mem.read(first + at, len);
            mw_header h = head(multi ? red ? MW_OP_MULTIMEM_RED : MW_OP_MULTIMEM_ST : MW_OP_ST,
                               multi ? 0 : to, there + at, 0);
            if (!multi) {
                expect_plain(h, payload, 0);
                continue;
            }
            const uint64_t before = slots;
            h.dtype = red ? in.imm >> 8 & 15 : 0;
            h.redop = red ? in.imm >> 12 & REDOPS : 0;
            h.own = red && in.imm >> 15; // on the uplink, where the switch may add it up
            h.target0 = to;
            if (group[to] & ~(1u << l.port))
                expect_plain(h, payload, 0, &want_st);
            h.opcode = red ? MW_OP_MULTIMEM_RED : MW_OP_ST;
            h.dst = l.port;
            h.target0 = 0;
            if (group[to] >> l.port & 1)
                expect_plain(h, payload, 0, &want_loc);
            slots = before + 16 / F + flits(payload.size());
        }
    }

    // Beyond memory only the number of packets counts, not their place.
    void expect_plain(mw_header h, const bytes &payload, unsigned token,
                      std::deque<expected> *want = nullptr)
    {
        h.len = static_cast<uint32_t>(payload.size());
        wire w = encode({h, {}, payload}, F);
        if (h.addr >= MEM)
            std::fill_n(w.sure.begin() + 8, 6, false);
        (want ? *want : h.dst == l.port ? want_loc : want_st).push_back({h, w, token});
        slots += 16 / F + flits(payload.size());
    }

    struct arming {
        unsigned token, count;
        bool remote;
    };
    struct bad_token {
        unsigned token, flit; // of the entry that shows it
    };

    std::vector<std::vector<uint16_t>> lists; // routing of own tokens
    unsigned map[EXPERTS];                    // bit 7 valid, 4:0 GPU
    unsigned local[EXPERTS];                  // number there
    unsigned rt = 0, xs = 0;
    uint32_t model_row[32];
    std::map<std::pair<unsigned, unsigned>, unsigned>
        listed; // rows of the last st.rowsp, by {GPU, number there}
    std::deque<expected> want_st, want_loc;
    std::deque<arming> want_arm;
    std::deque<bad_token> bad_tokens;
    std::vector<unsigned> order, rank; // tokens as they come, and the place of each
    size_t next = 0;                   // that is named
    bool named = false;
};
} // namespace tb

#endif
