// SPDX-License-Identifier: Apache-2.0
//
// send against a model of its instructions: random routing tables (1 to 16 experts per token,
// all at home, none at home, none at all, empty places, repeated and unmapped experts), by their
// numbers or as an order names them, rows of odd lengths, with and without gate weights, random
// grants of memory and back-pressure of both streams and of the token tracker, control's packets
// between send's; st.rowsp as it is, and with the rows of lists. Every packet is compared bit for
// bit and in order; also checked: a token is armed before its packets, the in-flight limit, rows
// taken by unicast, retirement only when all is out, and the rate: no cycle without a flit on the
// uplink stream. Errors by code: of a token behind the read of its list and before the next token,
// of an instruction in the cycle behind it.

#include "bench/errors.h"
#include "bench/memory.h"
#include "bench/values.h"
#include "isa.h"
#include "node_cfg.h"

#include <algorithm>
#include <map>

using namespace tb;

#ifndef PARAM_SwitchReductions
#define PARAM_SwitchReductions 0
#endif
static const bool BY_SWITCH = PARAM_SwitchReductions, TYPES = PARAM_RowTypes;
static const unsigned N = PARAM_N, F = PARAM_FlitBytes, MEM = 1u << PARAM_MemBytesLog2,
                      EXPERTS = PARAM_MaxExperts, GROUPS = PARAM_Groups;

#ifndef PARAM_SumEntries
#define PARAM_SumEntries 0
#endif
static const unsigned REDOPS = PARAM_SumEntries ? 7 : 15; // bits of the operator in imm

struct rates {
    unsigned grant, st, loc,
        arm;          // percent of cycles in which memory, streams and tracker are ready
    unsigned control; // in which control begins a packet
};

struct layer {
    // row_bytes: of a row of dispatch
    unsigned k, row_bytes, row_shift, tokens, token_shift, port, latency, in_flight;
    unsigned own_percent, empty_percent, bad_percent;
    unsigned once;        // of a token's packets the first alone carries targets
    unsigned by_switch;   // and the last one tells the switch to open its reduction
    unsigned lists = 0;   // st.rowsp says the row in the list of the source
    unsigned scatter = 0; // see the register
};

struct expected {
    mw_header h;
    wire w;
    unsigned token;
};

static const unsigned LOCAL = 4; // experts of a GPU, where lists are of sources

static bool by_token(const mw_instr &in)
{
    return in.op == MW_I_DYMULTIMEM_ST || in.op == MW_I_ST_ROWSP || in.op == MW_I_ST;
}

struct hub : model<Vsend> {
    layer l;
    rates p;
    node_cfg cfg;
    memory mem{MEM, F};
    error_watch errors{"send"};
    uint64_t first_flit = 0, last_flit = 0;
    uint64_t slots = 0; // cycles that the uplink's flits should take
    uint32_t row_of[32], group[GROUPS];

    hub(const layer &with, const rates &at) : l(with), p(at)
    {
        port.latency = l.latency;
        port.rate = p.grant;
        configure();
        tables();
        dut.go_i = dut.cmd_valid_i = dut.emap_we_i = dut.groups_we_i = 0;
        dut.rd_rvalid_i = dut.tok_done_i = dut.cst_valid_i = dut.clo_valid_i = 0;
        dut.pick_valid_i = 0;
        reset();
        write_tables();
        go();
        others = true;
    }

    // Rows of multimem.st that lie apart, and routing entries, count from a base.
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

    // The error that an instruction is as a whole, 0 if none.
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

    // Where rows of multimem.st, or its routing entries, count from.
    unsigned base(bool rows) const { return rows ? xs : rt; }

    void run(const mw_instr &in)
    {
        const unsigned code = refusal(in);
        current = in;
        assert_true(dut.cmd_ready_o);
        if (code)
            errors.expect_between(now + 1, now + 1, code, in.op, in.imm);
        else
            expect(in);
        memcpy(&dut.cmd_i, &in, sizeof in);
        dut.cmd_valid_i = 1;
        retired = false;
        control_on = true;
        cycle();
        dut.cmd_valid_i = 0;
        const uint64_t took = until(
            "the instruction to retire", 5000, [&] { return retired; }, [&] { return moves; });
        if (code)
            assert_int_equal(took, 2);
        control_on = false;
        cycles(20);
        until("control's packet", 5000, [&] { return control.empty(); });
        assert_true(want_control[0].empty() && want_control[1].empty());
        assert_true(want_st.empty() && want_loc.empty() && want_arm.empty() && bad_tokens.empty());
        assert_true(st.open.empty() && loc.open.empty());
        errors.done();
    }

    unsigned listed_to(unsigned gpu, unsigned le) { return listed[{gpu, le}]; }

    // The next layer starts: tokens in flight are forgotten.
    void go()
    {
        dut.go_i = 1;
        cycle();
        dut.go_i = 0;
        armed = 0;
        others = false;
    }

    // An instruction of the unit with anything in it, mostly near what is allowed.
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

  private:
    // ---- layer ----------------------------------------------------------------------------------
    void configure()
    {
        const unsigned rows = l.tokens << l.row_shift;
        xs = rows + 256 + 128 * l.tokens <= MEM ? F * below(9) : 0;
        rt = (xs + rows + 127) & ~127u; // behind the rows of own tokens
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

    // Two experts stay unmapped; the others live anywhere.
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

    // What is wrong with a token's list: the code, and where it shows first.
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

    // Tokens by their numbers, or as they are named from outside.
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

    // Whether a token comes before another one.
    bool before(unsigned a, unsigned b) const { return rank[a] < rank[b]; }

    // To all experts at once, or (rowsp) to each remote one, then to all own ones. Where lists are
    // of sources they count, also what is left out with a token.
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

    // `at_list`: of a remote expert's list the row that it becomes.
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

    // Where the packets of so many bytes begin and what they carry. Scattered: of each whole window
    // of lines the first 32 bytes of every line, then the second ones; what is left in order.
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

    // Beyond memory only that counts, not where.
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

    // ---- pins -----------------------------------------------------------------------------------
    void write_tables()
    {
        for (unsigned e = 0; e < EXPERTS; e++) {
            dut.emap_we_i = 1;
            dut.emap_addr_i = static_cast<uint16_t>(e);
            // {valid, gpu[4:0], local expert[5:0]}
            dut.emap_data_i = tb::place(map[e] >> 7, gpu_of(e), local[e]);
            settle();
            edge();
        }
        dut.emap_we_i = 0;
        for (unsigned g = 0; g < GROUPS; g++) {
            dut.groups_we_i = 1;
            dut.groups_addr_i = static_cast<uint8_t>(g);
            dut.groups_data_i = group[g];
            settle();
            edge();
        }
        dut.groups_we_i = 0;
    }

    void drive() override
    {
        port.drive(rng, dut.rd_ready_i, dut.rd_rvalid_i, dut.rd_rdata_i);
        dut.st_ready_i = percent(p.st);
        dut.loc_ready_i = percent(p.loc);
        dut.arm_ready_i = percent(p.arm);
        dut.tok_done_i = percent(armed > 0 ? done_percent
                                 : others  ? 5
                                           : 0); // other tokens are done too: they do not count
        dut.base_row_i = row_of[dut.base_q_o];
        dut.pick_valid_i = next < order.size() && percent(p.arm);
        dut.pick_token_i =
            static_cast<uint16_t>(dut.pick_valid_i ? order[next] : rng.bits(PARAM_TokensLog2));
        if (!dut.cmd_valid_i)
            scramble(dut.cmd_i, 128, rng);
        // Packets of control, for either stream, one at a time.
        if (control.empty() && control_on && percent(p.control)) {
            mw_header h = header(MW_OP_COUNTS);
            h.addr = rng.bits(48);
            control.queue.push_back(
                encode({h, {}, rng.some(percent(50) ? 0 : 4 * rng.between(1, 16))}, F));
            control_own = percent(50);
        }
        bool valid = false;
        control.drive(rng, valid, dut.cst_data_i, dut.cst_last_i);
        dut.clo_data_i = dut.cst_data_i;
        dut.clo_last_i = dut.cst_last_i;
        dut.cst_valid_i = valid && !control_own;
        dut.clo_valid_i = valid && control_own;
    }

    void sample() override
    {
        if (!control.empty()) {
            const bytes data = control.front().data;
            if (control.taken(control_own ? dut.clo_ready_o : dut.cst_ready_o))
                want_control[control_own].push_back(data);
        }
        if (port.sample(rng, dut.rd_valid_o, dut.rd_ready_i, dut.rd_addr_o)) {
            granted[dut.rd_addr_o] = now;
            moves++;
        }
        if (dut.begin_valid_o) {
            assert_true(named && dut.begin_first_o == current.a &&
                        dut.begin_stop_o == current.a + current.b);
            next = 0;
        }
        if (dut.pick_take_o) {
            assert_true(dut.pick_valid_i);
            next++;
        }
        if (dut.tok_done_i && armed > 0)
            armed--;
        if (dut.arm_valid_o && dut.arm_ready_i)
            arm();
        if (dut.base_take_o)
            row_of[dut.base_q_o]++;
        if (dut.err_valid_o)
            error();
        if (st.see(dut.st_valid_o, dut.st_ready_i, dut.st_data_o, dut.st_last_o)) {
            first_flit = first_flit ? first_flit : now;
            last_flit = now;
            moves++;
        }
        moves += loc.see(dut.loc_valid_o, dut.loc_ready_i, dut.loc_data_o, dut.loc_last_o);
        compare(st, want_st, want_control[0], "uplink");
        compare(loc, want_loc, want_control[1], "local");
        if (dut.retire_o) {
            assert_false(retired);
            assert_true(want_st.empty() && want_loc.empty() && bad_tokens.empty());
            assert_true(next >= order.size());
            retired = true;
        }
    }

    // Of a token: once the entry is there in which it shows. Tokens come in order.
    void error()
    {
        unsigned place = current.imm;
        if (!bad_tokens.empty()) {
            const auto read = granted.find(bad_tokens.front().flit);
            assert_true(read != granted.end());
            assert_in_range(now, read->second + l.latency + 1, UINT64_MAX);
            place = bad_tokens.front().token;
            bad_tokens.pop_front();
        }
        errors.see(now, true, dut.err_code_o, current.op, place);
    }

    // Nothing of a token before the error of one ahead of it.
    void behind_errors(unsigned token)
    {
        assert_true(bad_tokens.empty() || before(token, bad_tokens.front().token));
    }

    void arm()
    {
        assert_false(want_arm.empty());
        assert_int_equal(dut.arm_token_o, l.port << l.token_shift | want_arm.front().token);
        assert_int_equal(dut.arm_count_o, want_arm.front().count);
        assert_int_equal(dut.arm_remote_o, want_arm.front().remote);
        behind_errors(want_arm.front().token);
        want_arm.pop_front();
        armed++;
        if (l.in_flight)
            assert_true(armed <= l.in_flight);
    }

    static bool of_control(const bytes &pkt) { return (pkt[0] & 63) == MW_OP_COUNTS; }

    void compare(packet_watch &s, std::deque<expected> &want, std::deque<bytes> &want_ctl,
                 const char *where)
    {
        if (!s.packets.empty() && of_control(s.packets.front())) {
            assert_false(want_ctl.empty());
            assert_true(want_ctl.front() == s.take());
            want_ctl.pop_front();
            return;
        }
        if (!s.open.empty() && !of_control(s.open)) {
            assert_false(want.empty());
            if (!want_arm.empty() && stores_row(want.front().h.opcode))
                assert_true(before(want.front().token, want_arm.front().token));
            if (by_token(current))
                behind_errors(want.front().token);
        }
        if (s.packets.empty())
            return;
        assert_false(want.empty());
        const bytes got = s.take();
        assert_wire(want.front().w, got, where);
        const mw_header &h = want.front().h;
        if (!stores_row(h.opcode) && h.addr >= MEM)
            assert_true(header_of(got).addr >= MEM);
        want.pop_front();
    }

    struct arming {
        unsigned token, count;
        bool remote;
    };
    struct bad_token {
        unsigned token, flit; // of the entry in which it shows
    };

    read_port port{mem, "memory"};
    std::vector<std::vector<uint16_t>> lists; // routing of own tokens
    unsigned map[EXPERTS];                    // bit 7 valid, 4:0 GPU
    unsigned local[EXPERTS];                  // number there
    unsigned rt = 0, xs = 0;
    uint32_t model_row[32];
    std::map<std::pair<unsigned, unsigned>, unsigned>
        listed; // rows of the last st.rowsp, by {GPU, number there}
    packet_watch st{"uplink"}, loc{"local"};
    std::deque<expected> want_st, want_loc;
    std::deque<arming> want_arm;
    std::deque<bad_token> bad_tokens;
    std::map<uint64_t, uint64_t> granted; // flit: when it was read last
    packet_source control;
    bool control_own = false, control_on = false;
    std::deque<bytes> want_control[2]; // taken: uplink, local
    mw_instr current = {};
    std::vector<unsigned> order, rank; // tokens as they come, and the place of each
    size_t next = 0;                   // that is named
    bool named = false;
    unsigned armed = 0;
    uint64_t moves = 0;
    bool retired = false, others = true;
    unsigned done_percent = rng.one_in(3) ? 20 : 1;
};

static layer random_layer(dice &rng)
{
    layer l = {};
    l.k = rng.between(1, 16);
    l.row_bytes = F * rng.between(1, rng.one_in(4) ? 8 : 40);
    l.row_shift = log2_up(l.row_bytes) + rng.below(2);
    l.tokens = std::min(rng.between(1, 30), (MEM - 128) / ((1u << l.row_shift) + 128));
    l.token_shift = log2_up(l.tokens) + rng.below(3);
    l.port = rng.below(N);
    l.latency = rng.between(1, 9);
    l.own_percent = rng.below(40);
    l.empty_percent = rng.percent(50) ? 0 : 25;
    l.bad_percent = rng.percent(50) ? 0 : 15;
    l.once = rng.below(2);
    l.scatter = rng.one_in(2) ? rng.below(8) : 0;
    l.by_switch = BY_SWITCH ? l.once && rng.below(2) : rng.below(2);
    return l;
}

static rates random_rate(dice &rng)
{
    auto ready = [&] { return rng.pick({100u, 100u, 90u, 50u, 20u}); };
    return {ready(), ready(), ready(), ready(), rng.pick({0u, 0u, 3u, 30u})};
}

static mw_instr instr(unsigned op, uint32_t a, uint32_t b, uint32_t c, unsigned imm,
                      unsigned flags = 0)
{
    return {static_cast<uint8_t>(op),
            static_cast<uint8_t>(flags & 15),
            static_cast<uint8_t>(flags >> 4 & 3),
            static_cast<uint8_t>(flags >> 6 & 3),
            static_cast<uint16_t>(imm),
            a,
            b,
            c};
}

// Mostly with gate weights; rows alone, and those at explicit addresses, now and then.
static unsigned flags(dice &rng)
{
    return (rng.one_in(4) ? rng.pick({1u, 3u}) : 0) | (rng.one_in(3) ? 4 : 0);
}

static void random_tokens(unsigned op, unsigned runs, unsigned in_flight)
{
    dice rng;
    runs = cases(runs * 2 / 5, runs);
    size_t unmapped = 0, duplicate = 0;
    for (unsigned r = 0; r < runs; r++) {
        layer l = random_layer(rng);
        l.in_flight = in_flight ? rng.between(1, in_flight) : 0;
        hub b(l, random_rate(rng));
        const unsigned split = rng.below(l.tokens + 1);
        b.run(instr(op, 0, split, rng.word(), rng.below(0x10000), flags(rng)));
        if (rng.percent(50))
            b.go();
        b.run(instr(op, split, l.tokens - split, rng.word(), rng.below(0x10000), flags(rng)));
        unmapped += b.errors.count(MW_HWERR_UNMAPPED);
        duplicate += b.errors.count(MW_HWERR_DUPLICATE);
    }
    assert_true(unmapped > 10 && duplicate > 0);
}

TEST(dymultimem)
{
    random_tokens(MW_I_DYMULTIMEM_ST, 150, 0);
}

TEST(in_flight)
{
    random_tokens(MW_I_DYMULTIMEM_ST, 120, 5);
}

TEST(rowsp)
{
    random_tokens(MW_I_ST_ROWSP, 150, 0);
}

TEST(rowsp_in_flight)
{
    random_tokens(MW_I_ST_ROWSP, 80, 3);
}

// Rows that say their places in lists of this GPU, anew with each instruction; what the lists are
// told to have is what was sent. A list that is wrong would leave a hole, so none is.
TEST(rowsp_of_lists)
{
    dice rng;
    const unsigned runs = cases(32, 80);
    size_t rows = 0;
    for (unsigned r = 0; r < runs; r++) {
        layer l = random_layer(rng);
        l.lists = 1;
        l.by_switch = l.bad_percent = 0;
        l.in_flight = rng.one_in(3) ? rng.between(1, 5) : 0;
        hub b(l, random_rate(rng));
        const unsigned split = rng.below(l.tokens + 1);
        for (unsigned half = 0; half < 2; half++) {
            b.run(instr(MW_I_ST_ROWSP, half * split, half ? l.tokens - split : split, rng.word(),
                        rng.below(0x10000)));
            for (unsigned g = 0; g < N; g++)
                for (unsigned le = 0; le < LOCAL; le++) {
                    b.dut.notified_gpu_i = static_cast<uint8_t>(g);
                    b.dut.notified_local_i = static_cast<uint8_t>(le);
                    b.settle();
                    assert_int_equal(b.dut.notified_rows_o, b.listed_to(g, le));
                    rows += b.dut.notified_rows_o;
                }
        }
    }
    assert_true(rows > 12 * runs);
}

TEST(unicast)
{
    random_tokens(MW_I_ST, 150, 0);
}

// Rows that lie apart, some of the own tokens' to all of them and all to some group,
// and routing entries.
TEST(gathered)
{
    dice rng;
    for (unsigned r = 0; r < cases(24, 60); r++) {
        const layer l = random_layer(rng);
        hub b(l, random_rate(rng));
        for (unsigned i = 0; i < 4; i++) {
            const bool rows = rng.percent(70);
            const unsigned first = rng.below(l.tokens), count = rng.below(l.tokens - first + 1),
                           shift = rows ? l.row_shift : 7;
            const uint32_t length = (count << shift) + (rng.one_in(6) ? F * rng.between(1, 3) : 0);
            const uint32_t a = (first << shift) + (rng.one_in(8) ? MEM : 0);
            b.run(instr(MW_I_MULTIMEM_ST, a, length, F * rng.below(2 * MEM / F), rng.between(5, 6),
                        rows ? 1 : 2));
        }
    }
}

// multimem.red with flags 1: rows of every other home in turn.
TEST(homes)
{
    dice rng;
    for (unsigned r = 0; r < (PARAM_SumEntries ? 24 : 0); r++) {
        layer l = random_layer(rng);
        l.row_shift = rng.between(7, 9);
        l.token_shift = rng.between(1, 3);
        l.tokens = 1u << l.token_shift;
        l.row_bytes = F * rng.between(1, (1u << l.row_shift) / F);
        hub b(l, random_rate(rng));
        for (unsigned i = 0; i < 4; i++) {
            const uint32_t rows = rng.below(l.tokens + 1) << l.row_shift;
            const uint32_t a = F * rng.below((MEM - b.home_from(N - 1)) / F);
            const unsigned group = rng.one_in(4) ? rng.below(256) : rng.below(GROUPS - N + 1);
            b.run(instr(MW_I_MULTIMEM_RED, a, rows + (rng.one_in(8) ? F : 0),
                        F * rng.below(2 * MEM / F), group | MW_DTYPE_U32 << 8 | 0x8000, 1));
        }
    }
}

TEST(linear)
{
    dice rng;
    for (unsigned r = 0; r < 20; r++) {
        hub b(random_layer(rng), random_rate(rng));
        for (unsigned i = 0; i < 12; i++) {
            const unsigned op =
                rng.pick({MW_I_ST_LINEAR, MW_I_ST_LINEAR, MW_I_MULTIMEM_ST, MW_I_MULTIMEM_RED});
            uint32_t a = F * rng.below(MEM / F / 2), c = F * rng.below(MEM / F / 2);
            const uint32_t n = rng.below(rng.one_in(3) ? 30 : 700);
            if (rng.one_in(8))
                a += rng.between(1, F - 1);
            else if (rng.one_in(8))
                c += rng.between(1, F - 1);
            else if (rng.one_in(6))
                c += MEM << rng.below(15);
            else if (rng.one_in(6))
                c = MEM - F * rng.below(60); // leaves memory on the way
            if (rng.one_in(6))
                a = (MEM - n) / F * F; // up to the end of own memory
            unsigned imm = rng.below(op == MW_I_ST_LINEAR ? N + 1 : 16);
            if (op == MW_I_MULTIMEM_RED) // mostly types and operators that exist
                imm |= rng.below(rng.one_in(8) ? 16 : MW_DTYPES) << 8 |
                       rng.below(rng.one_in(4) ? 16 : 3) << 12;
            b.run(instr(op, a, n, c, imm, rng.below(256)));
        }
    }
}

static const layer FULL = {4, 4 * F, F == 8 ? 5u : 6u, 16, 4, 1, 3, 0, 20, 0, 0, 0,
                           0, 0}; // as many tokens as token_shift has

// Groups, GPUs, tokens and own bytes at their limits and beyond, by all bits of the operands;
// between them what is allowed.
TEST(refused)
{
    dice rng;
    const uint32_t half = MEM / 2;
    hub b(FULL, {100, 100, 100, 100, 3});
    auto refuse = [&](unsigned code, const mw_instr &in) {
        assert_int_equal(b.refusal(in), code);
        b.run(in);
    };
    auto allow = [&](const mw_instr &in) {
        assert_int_equal(b.refusal(in), 0);
        b.run(in);
    };
    for (unsigned op : {MW_I_MULTIMEM_ST, MW_I_MULTIMEM_RED}) {
        for (unsigned imm = 0; imm < 0x10000;
             imm = imm < 300 ? imm + 1 : imm + rng.between(1, 999)) {
            const mw_instr in = instr(op, 0, F, half, imm);
            if ((op == MW_I_MULTIMEM_ST ? imm : imm & 255) >= GROUPS || b.refusal(in))
                refuse(b.refusal(in), in);
            else
                allow(in);
        }
        refuse(MW_HWERR_UNMAPPED, instr(op, 0, F, half, 7)); // has no member
        refuse(MW_HWERR_UNMAPPED, instr(op, 0, F, half, GROUPS + 6));
        refuse(MW_HWERR_UNMAPPED, instr(op, 0, F, half, 0xf0 + 6));
        allow(instr(op, 0, F, half, 6));
    }
    refuse(MW_HWERR_UNMAPPED, instr(MW_I_MULTIMEM_ST, 0, F, half, 0x100 + 6));
    for (unsigned imm :
         {0x0806u, 0x8806u, 0x0506u, 0x6006u, 0x3006u}) // fp types have no bits to combine
        refuse(MW_HWERR_REDUCTION, instr(MW_I_MULTIMEM_RED, 0, F, half, imm));
    if (!PARAM_SumEntries)
        refuse(MW_HWERR_REDUCTION, instr(MW_I_MULTIMEM_RED, 0, F, half, 0x8006u));
    refuse(MW_HWERR_REDUCTION,
           instr(MW_I_MULTIMEM_RED, 1, F, half, 0x0816)); // the first of three errors
    for (unsigned gpu : {N, N + 1, 31u, 32u, 33u, 0x100u, 0x8000u, 0xffffu})
        refuse(MW_HWERR_UNMAPPED, instr(MW_I_ST_LINEAR, 0, F, half, gpu));
    for (unsigned op : {MW_I_ST_LINEAR, MW_I_MULTIMEM_ST, MW_I_MULTIMEM_RED}) {
        const unsigned to = op == MW_I_ST_LINEAR ? 0 : 6;
        const uint32_t bad[][3] = {
            {F / 2, F, half},     {0, F, half + 1},        {MEM, 1, half},
            {MEM, F, half},       {MEM - F, F + 1, half},  {0, MEM + 1, half},
            {F, MEM, half},       {1u << 31, F, half},     {0, 1u << 31, half},
            {half, 0u - half, 0}, {1u << 31, 1u << 31, 0}, {0u - F, 2 * F, 0},
            {2 * MEM, F, half},   {MEM | F, F, half},      {MEM, MEM, half},
            {0, UINT32_MAX, 0},   {half, half + 1, half},  {2 * MEM, 0, half}};
        for (const auto &r : bad)
            refuse(MW_HWERR_BOUNDS, instr(op, r[0], r[1], r[2], to));
        allow(instr(op, MEM - F, F, half, to));
        allow(instr(op, MEM, 0, half, to));
    }
    allow(instr(MW_I_ST_LINEAR, 0, MEM, 0, N - 1)); // all of it
    const uint32_t stride = 1u << FULL.row_shift, rows = (MEM - b.base(true)) & ~(stride - 1);
    allow(instr(MW_I_MULTIMEM_ST, 0, 2 * stride, half, 6, 1));
    allow(instr(MW_I_MULTIMEM_ST, 0, rows, half, 6, 1));
    allow(instr(MW_I_MULTIMEM_ST, 0, MEM - b.base(false), half, 6, 2));
    for (uint32_t length : {1u, F, stride - F, stride + F, stride / 2, rows + stride, MEM + stride})
        refuse(MW_HWERR_BOUNDS, instr(MW_I_MULTIMEM_ST, 0, length, half, 6, 1));
    refuse(MW_HWERR_BOUNDS, instr(MW_I_MULTIMEM_ST, 0, MEM - b.base(false) + F, half, 6, 2));
    refuse(MW_HWERR_BOUNDS, instr(MW_I_MULTIMEM_ST, F, MEM - b.base(false), half, 6, 2));
    for (unsigned flag : {1u, 2u}) // beyond any memory with its base
        refuse(MW_HWERR_BOUNDS, instr(MW_I_MULTIMEM_ST, 0u - F, stride, half, 6, flag | 0x30));
    for (unsigned op : {MW_I_DYMULTIMEM_ST, MW_I_ST_ROWSP, MW_I_ST}) {
        const uint32_t end = 1u << FULL.token_shift;
        const uint32_t bad[][2] = {{0, end + 1},
                                   {end, 1},
                                   {end - 1, 2},
                                   {2 * end, 1},
                                   {1u << PARAM_TokensLog2, 1},
                                   {2u << PARAM_TokensLog2, 1},
                                   {0, 2u << PARAM_TokensLog2},
                                   {1u << 31, 1},
                                   {0, 1u << 31},
                                   {1u << 31, 1u << 31},
                                   {3, 0u - 2},
                                   {UINT32_MAX, 1},
                                   {UINT32_MAX, 2},
                                   {5, (2u << PARAM_TokensLog2) - 2}};
        for (const auto &r : bad)
            refuse(MW_HWERR_BOUNDS,
                   instr(op, r[0], r[1], rng.word(), rng.below(0x10000), rng.below(256)));
        allow(instr(op, 0, end, rng.word(), rng.below(0x10000)));
        allow(instr(op, end, 0, rng.word(), rng.below(0x10000)));
    }
}

// Anything at all, in its six opcodes; what is long is left out, for its time.
TEST(any_operands)
{
    dice rng;
    size_t seen[3] = {}, went = 0;
    const unsigned codes[] = {MW_HWERR_REDUCTION, MW_HWERR_UNMAPPED, MW_HWERR_BOUNDS};
    for (unsigned r = 0; r < 6; r++) {
        layer l = FULL;
        l.port = rng.below(N);
        hub b(l, random_rate(rng));
        for (unsigned i = 0; i < 400; i++) {
            const mw_instr in = b.any_instr();
            if (b.refusal(in) || in.b < 2000) {
                b.run(in);
                went += !b.refusal(in);
            }
        }
        for (unsigned c = 0; c < 3; c++)
            seen[c] += b.errors.count(codes[c]);
    }
    assert_true(seen[0] > 100 && seen[1] > 100 && seen[2] > 100 && went > 100);
}

// Uplink and memory never stall: from the first flit to the last every cycle belongs to a packet.
// The slack is for the first payload, which is not yet there right behind the header; in st
// also for packing META.
static void rate(unsigned op, unsigned row_bytes, unsigned k, uint64_t slack, unsigned flag = 0)
{
    layer l = {};
    l.k = k;
    l.row_bytes = row_bytes;
    l.row_shift = log2_up(row_bytes);
    l.tokens = std::min(24u, MEM / (2 * row_bytes) - 1);
    l.token_shift = 5;
    l.port = 1;
    l.latency = 3;
    hub b(l, {100, 100, 100, 100, 0});
    b.run(instr(op, 0, l.tokens, 0, 0, flag));
    const uint64_t took = b.last_flit - b.first_flit + 1;
    printf("op %u row %u k %u: %llu cycles for %llu\n", op, row_bytes, k, (unsigned long long)took,
           (unsigned long long)b.slots);
    assert_true(took <= b.slots + slack);
}

// The same of rows that lie apart.
static void rate_apart(unsigned row_bytes)
{
    layer l = {};
    l.k = 1;
    l.row_bytes = row_bytes;
    l.row_shift = log2_up(row_bytes) + 1;
    l.tokens = 12;
    l.token_shift = 4;
    l.latency = 3;
    hub b(l, {100, 100, 100, 100, 0});
    b.run(instr(MW_I_MULTIMEM_ST, 0, l.tokens << l.row_shift, 0, 6, 1));
    const uint64_t took = b.last_flit - b.first_flit + 1;
    printf("rows of %u apart: %llu cycles for %llu\n", row_bytes, (unsigned long long)took,
           (unsigned long long)b.slots);
    assert_true(took <= b.slots + 8);
}

TEST(rates)
{
    rate(MW_I_DYMULTIMEM_ST, 512, 8, 8);
    rate(MW_I_DYMULTIMEM_ST, 128, 8, 8);
    rate(MW_I_DYMULTIMEM_ST, 256, 2, 8);
    rate(MW_I_DYMULTIMEM_ST, 256, 16, 8);
    rate(MW_I_DYMULTIMEM_ST, 128, 1, 8, 1);
    rate(MW_I_DYMULTIMEM_ST, 128, 6, 8, 1);
    rate(MW_I_DYMULTIMEM_ST, 1024, 4, 8, 4);
    rate(MW_I_DYMULTIMEM_ST, 512, 8, 8, 4);
    rate(MW_I_ST_ROWSP, 512, 8, 8);
    rate(MW_I_ST_ROWSP, 128, 8, 8);
    rate(MW_I_ST_ROWSP, 128, 4, 8, 1);
    rate(MW_I_ST, 512, 8, 8);
    rate(MW_I_ST, 256, 6, 300);
    rate_apart(512);
    rate_apart(128);
}
