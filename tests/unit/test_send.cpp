// SPDX-License-Identifier: Apache-2.0
//
// send against a model of its four instructions: random routing tables (1 to 16 experts per token, all at home, none at home, none at all, empty
// places, repeated and unmapped experts), rows of odd lengths, with and without gate weights, random grants of memory and back-pressure of both streams and of the token
// tracker, control's packets between send's. Every packet is compared bit for bit and in order; also checked: a token is armed before its packets, the in-flight limit, errors, rows
// taken by unicast, retirement only when all is out, and the rate: no cycle without a flit on the uplink stream.
// MW_SEED repeats a run.

#include "Vsend.h"
#include "verilated.h"

#include "hub_bench.h"
#include "reduce.h"

#ifndef SEND_N
#define SEND_N 4
#endif

static const unsigned N = SEND_N;
static const unsigned F = sizeof(Vsend::rd_rdata_i);
static const unsigned MEM = 1u << (F == 8 ? 15 : 18); // AddrW 12 or 14
static const unsigned EXPERTS = F == 8 ? 64 : 128;

struct pace {
    unsigned grant, st, loc,
        arm;          // percent of cycles in which memory, streams and tracker are ready
    unsigned control; // in which control begins a packet
};

struct layer {
    unsigned k, row_bytes, row_shift, tokens, token_shift, port, latency, in_flight;
    unsigned own_percent, empty_percent, bad_percent;
};

class bench {
  public:
    bench(uint64_t s, const layer &with, const pace &at)
        : l(with), p(at), rng(s), ram(MEM, F, with.latency)
    {
        configure();
        tables();
        reset();
        write_tables();
    }

    void run(const struct mw_instr &in)
    {
        model(in);
        control_on = true;
        issue(in);
        unsigned idle = 0;
        while (!retired) {
            bool any = cycle();
            idle = any ? 0 : idle + 1;
            assert_true(idle < 5000);
        }
        control_on = false;
        for (unsigned i = 0; i < 20 || (!control.empty() && i < 5000); i++)
            cycle();
        assert_true(want_control[0].empty() && want_control[1].empty() && control.empty());
        assert_true(want_st.empty() && want_loc.empty() && want_arm.empty());
        assert_int_equal(errors, want_errors);
        assert_true(st.open.empty() && loc.open.empty());
    }

    // The next layer starts: tokens in flight are forgotten.
    void go()
    {
        dut.go_i = 1;
        cycle();
        dut.go_i = 0;
        armed = 0;
        others = false;
    }

    node_cfg cfg;
    layer l;
    uint64_t first_flit = 0, last_flit = 0,
             slots = 0; // cycles of the uplink's flits, and how many they should take
    uint32_t row_of[32] = {};
    unsigned errors = 0, want_errors = 0, outside = 0;
    std::vector<std::vector<uint16_t>> lists; // routing of own tokens

    unsigned gpu_of(uint16_t e) const { return map[e] & 31; }
    uint32_t group[16];

  private:
    bool percent(unsigned x) { return rng() % 100 < x; }
    unsigned below(unsigned n) { return static_cast<unsigned>(rng() % n); }

    // ---- layer -----------------------------------------------------------------------------------------------
    void configure()
    {
        unsigned rows = l.tokens << l.row_shift;
        xs = 0;
        rt = (xs + rows + 127) & ~127u;
        assert_true(rt + 128 * l.tokens <= MEM);
        cfg.set("port", l.port);
        cfg.set("epoch", below(4));
        cfg.set("k", l.k);
        cfg.set("tokens", l.tokens);
        cfg.set("token_shift", l.token_shift);
        cfg.set("row_bytes", l.row_bytes);
        cfg.set("row_shift", l.row_shift);
        cfg.set("xs_base", xs);
        cfg.set("rt_base", rt);
        cfg.set("xd_base", F * below(MEM / F / 2));
        cfg.set("gt_base", 128 * below(MEM / 256));
        cfg.set("in_flight", l.in_flight);
    }

    // Two experts stay unmapped; the others live anywhere.
    void tables()
    {
        for (unsigned e = 0; e < EXPERTS; e++)
            map[e] = 0x80 | below(N);
        map[EXPERTS - 1] = 0x1f & below(N);
        map[3] = N < 32 ? 0x80 | (N + below(32 - N)) : 0;
        const uint32_t all = 0xffffffffu >> (32 - N);
        for (uint32_t &g : group)
            g = static_cast<uint32_t>(rng()) & all;
        group[5] = 1u << l.port;
        group[6] = all;
        group[7] = 0;
        for (uint32_t &r : row_of)
            r = below(8) ? below(MEM / 2 >> std::max(7u, l.row_shift)) * 3 / 4 : below(1u << 20);
        for (uint8_t &b : ram.mem)
            b = static_cast<uint8_t>(rng());
        for (unsigned i = 0; i < l.tokens; i++) {
            lists.push_back(make_list());
            for (unsigned j = 0; j < 16; j++)
                ram.set16(rt + 128 * i + 2 * j,
                          j < l.k ? lists[i][j] : static_cast<uint16_t>(rng()));
        }
    }

    bool mapped(unsigned e) const { return e < EXPERTS && map[e] >> 7 && (map[e] & 31u) < N; }

    std::vector<uint16_t> make_list()
    {
        std::vector<uint16_t> list;
        std::vector<bool> used(EXPERTS);
        bool only_own = percent(l.own_percent), no_own = percent(l.own_percent),
             none = percent(l.empty_percent / 2);
        for (unsigned j = 0; j < l.k; j++) {
            unsigned e = below(EXPERTS);
            for (unsigned tries = 0; tries < 4 * EXPERTS && !fits(e, used, only_own, no_own);
                 tries++)
                e = (e + 1) % EXPERTS;
            bool fit = fits(e, used, only_own, no_own);
            if (none || !fit || percent(l.empty_percent)) {
                list.push_back(0xffff);
            } else {
                used[e] = true;
                list.push_back(static_cast<uint16_t>(e));
            }
        }
        if (percent(l.bad_percent))
            spoil(list);
        return list;
    }

    bool fits(unsigned e, const std::vector<bool> &used, bool only_own, bool no_own) const
    {
        if (!mapped(e) || used[e])
            return false;
        unsigned g = map[e] & 31;
        return only_own ? g == l.port : no_own ? g != l.port : true;
    }

    void spoil(std::vector<uint16_t> &list)
    {
        unsigned at = below(l.k);
        switch (below(4)) {
        case 0:
            list[at] = static_cast<uint16_t>(EXPERTS - 1);
            break;
        case 1:
            list[at] = 3;
            break;
        case 2:
            list[at] = static_cast<uint16_t>(EXPERTS + below(4096 - EXPERTS));
            break;
        default:
            list[at] = list[below(l.k)];
            break;
        }
    }

    bool bad(const std::vector<uint16_t> &list) const
    {
        for (size_t j = 0; j < list.size(); j++) {
            if (list[j] == 0xffff)
                continue;
            if (!mapped(list[j]))
                return true;
            for (size_t i = 0; i < j; i++) {
                if (list[i] == list[j])
                    return true;
            }
        }
        return false;
    }

    // ---- model -----------------------------------------------------------------------------------------------
    struct mw_header head(unsigned op, unsigned dst, uint64_t addr, unsigned len)
    {
        struct mw_header h = {};
        h.opcode = op;
        h.src = l.port;
        h.dst = dst;
        h.epoch = static_cast<uint32_t>(cfg["epoch"]);
        h.addr = addr;
        h.len = len;
        return h;
    }

    bytes memory(uint64_t at, unsigned len)
    {
        return bytes(ram.mem.begin() + at, ram.mem.begin() + at + len);
    }

    unsigned target_flits(size_t c)
    {
        return c > 1 ? static_cast<unsigned>((2 * (c - 1) + F - 1) / F) : 0;
    }

    void model(const struct mw_instr &in)
    {
        if (in.op == MW_I_DYMULTIMEM_ST || in.op == MW_I_ST) {
            for (unsigned i = in.a; i < in.a + in.b; i++) {
                if (bad(lists[i]))
                    want_errors++;
                else
                    in.op == MW_I_ST ? unicast(i, in.flags & 1) : multicast(i, in.flags);
            }
        } else {
            linear(in);
        }
    }

    void multicast(unsigned i, unsigned flags)
    {
        std::vector<uint16_t> remote, own;
        for (unsigned j = 0; j < l.k; j++) {
            uint16_t e = lists[i][j];
            if (e == 0xffff)
                continue;
            (gpu_of(e) == l.port ? own : remote).push_back(static_cast<uint16_t>(e << 4 | j));
        }
        want_arm.push_back({i, static_cast<unsigned>(remote.size() + own.size())});
        uint64_t maddr = static_cast<uint64_t>((l.port << l.token_shift) | i) << l.row_shift;
        for (unsigned at = 0; at < l.row_bytes; at += 128) {
            unsigned len = std::min(128u, l.row_bytes - at);
            dynamic(i, maddr + at, memory(xs + (i << l.row_shift) + at, len), remote, own,
                    flags & 2 ? MW_STAGE_FLAT : MW_STAGE_DISPATCH);
        }
        if (!(flags & 1))
            dynamic(i, maddr, memory(rt + 128 * i + 32, 4 * l.k), remote, own, MW_STAGE_GATE);
    }

    void dynamic(unsigned i, uint64_t addr, const bytes &payload,
                 const std::vector<uint16_t> &remote, const std::vector<uint16_t> &own,
                 unsigned stage)
    {
        struct mw_header h =
            head(MW_OP_DYMULTIMEM_ST, 0, addr, static_cast<unsigned>(payload.size()));
        h.stage = stage;
        if (!remote.empty()) {
            h.cnt = static_cast<uint32_t>(remote.size());
            want_st.push_back({make_packet(F, h, remote, payload), i});
        }
        if (!own.empty()) {
            h.dst = l.port;
            h.cnt = static_cast<uint32_t>(own.size());
            want_loc.push_back({make_packet(F, h, own, payload), i});
        }
        if (!remote.empty() || !own.empty()) {
            slots += 16 / F + std::max(target_flits(remote.size()), target_flits(own.size())) +
                     (payload.size() + F - 1) / F;
        }
    }

    void unicast(unsigned i, bool bare)
    {
        for (unsigned d = 1; d <= N; d++) {
            unsigned q = (l.port + d) % N;
            bool has = false;
            for (uint16_t e : lists[i])
                has |= e != 0xffff && gpu_of(e) == q;
            if (!has)
                continue;
            uint64_t r = model_row[q]++;
            for (unsigned at = 0; at < l.row_bytes; at += 128) {
                plain(q, cfg["xd_base"] + (r << l.row_shift) + at,
                      memory(xs + (i << l.row_shift) + at, std::min(128u, l.row_bytes - at)));
            }
            if (!bare)
                plain(q, cfg["gt_base"] + 128 * r, meta(i));
        }
    }

    bytes meta(unsigned i)
    {
        bytes b(4);
        uint32_t token = (l.port << l.token_shift) | i;
        memcpy(b.data(), &token, 4);
        bytes w = memory(rt + 128 * i + 32, 4 * l.k), e = memory(rt + 128 * i, 2 * l.k);
        b.insert(b.end(), w.begin(), w.end());
        b.insert(b.end(), e.begin(), e.end());
        return b;
    }

    // Beyond memory only that counts, not where.
    packet explicit_packet(struct mw_header h, const bytes &payload)
    {
        packet made = make_packet(F, h, {}, payload);
        if (h.addr >= MEM)
            std::fill(made.counts.begin() + 8, made.counts.begin() + 14, false);
        return made;
    }

    void plain(unsigned q, uint64_t addr, const bytes &payload)
    {
        struct mw_header h = head(MW_OP_ST, q, addr, static_cast<unsigned>(payload.size()));
        (q == l.port ? want_loc : want_st).push_back({explicit_packet(h, payload), 0});
        slots += 16 / F + (payload.size() + F - 1) / F;
    }

    void linear(const struct mw_instr &in)
    {
        bool red = in.op == MW_I_MULTIMEM_RED, multi = in.op == MW_I_MULTIMEM_ST || red;
        unsigned to = red ? in.imm & 0xff : in.imm, dtype = in.imm >> 8 & 7,
                 redop = in.imm >> 12 & 7;
        if (in.a % F || in.c % F || (multi ? group[to] == 0 : in.imm >= N) ||
            (red && !mw_reduce_exists(dtype, redop))) {
            want_errors++;
            return;
        }
        for (unsigned at = 0; at < in.b; at += 128) {
            bytes payload = memory(in.a + at, std::min(128u, in.b - at));
            if (!multi) {
                plain(in.imm, in.c + at, payload);
                continue;
            }
            struct mw_header h = head(red ? MW_OP_MULTIMEM_RED : MW_OP_MULTIMEM_ST, 0, in.c + at,
                                      static_cast<unsigned>(payload.size()));
            if (red) {
                h.dtype = dtype;
                h.redop = redop;
            }
            h.target0 = to;
            if (group[to] & ~(1u << l.port))
                want_st.push_back({explicit_packet(h, payload), 0});
            if (!red)
                h.opcode = MW_OP_ST;
            h.dst = l.port;
            h.target0 = 0;
            if (group[to] >> l.port & 1)
                want_loc.push_back({explicit_packet(h, payload), 0});
            slots += 16 / F + (payload.size() + F - 1) / F;
        }
    }

    // ---- pins ------------------------------------------------------------------------------------------------
    void reset()
    {
        memcpy(model_row, row_of, sizeof(model_row));
        dut.clk_i = 0;
        dut.rst_ni = 0;
        dut.go_i = 0;
        dut.cmd_valid_i = 0;
        dut.emap_we_i = 0;
        dut.group_we_i = 0;
        dut.rd_ready_i = 0;
        dut.rd_rvalid_i = 0;
        dut.arm_ready_i = 0;
        dut.tok_done_i = 0;
        dut.base_row_i = 0;
        dut.st_ready_i = 0;
        dut.loc_ready_i = 0;
        dut.cst_valid_i = dut.clo_valid_i = 0;
        cfg.drive(dut.cfg_i);
        edge();
        edge();
        dut.rst_ni = 1;
        dut.go_i = 1;
        edge();
        dut.go_i = 0;
    }

    void write_tables()
    {
        for (unsigned e = 0; e < 4096; e++) {
            dut.emap_we_i = 1;
            dut.emap_addr_i = static_cast<uint16_t>(e);
            // {valid, gpu[4:0], local expert[5:0]}: entries beyond the table must not fall back into it
            dut.emap_data_i = static_cast<uint16_t>(
                e < EXPERTS ? (map[e] >> 7) << 11 | (map[e] & 31) << 6 | below(64) : below(4096));
            edge();
        }
        dut.emap_we_i = 0;
        for (unsigned g = 0; g < 16; g++) {
            dut.group_we_i = 1;
            dut.group_addr_i = static_cast<uint8_t>(g);
            dut.group_data_i = group[g];
            edge();
        }
        dut.group_we_i = 0;
    }

    void issue(const struct mw_instr &in)
    {
        uint32_t w[4] = {in.op | static_cast<uint32_t>(in.flags) << 8 |
                             static_cast<uint32_t>(in.imm) << 16,
                         in.a, in.b, in.c};
        memcpy(&dut.cmd_i, w, sizeof(w));
        dut.cmd_valid_i = 1;
        dut.eval();
        assert_true(dut.cmd_ready_o);
        retired = false;
        cycle();
        dut.cmd_valid_i = 0;
    }

    // Returns true when something moved.
    bool cycle()
    {
        dut.rd_ready_i = percent(p.grant);
        dut.st_ready_i = percent(p.st);
        dut.loc_ready_i = percent(p.loc);
        dut.arm_ready_i = percent(p.arm);
        dut.tok_done_i = percent(armed > 0 ? done_percent
                                 : others  ? 5
                                           : 0); // other tokens are done too: they do not count
        offer_control();
        dut.eval();
        dut.base_row_i = row_of[dut.base_q_o];
        dut.eval();
        bool moved = watch();
        now++;
        edge();
        const uint8_t *a = ram.answer();
        dut.rd_rvalid_i = a != nullptr;
        if (a)
            put(dut.rd_rdata_i, a);
        dut.eval();
        return moved;
    }

    // Packets of control, for either stream, one at a time.
    void offer_control()
    {
        if (control.empty() && control_on && percent(p.control)) {
            struct mw_header h = {};
            h.opcode = MW_OP_COUNTS;
            h.addr = rng() & 0xffffffffffff;
            bytes payload(below(2) ? 0 : 4 * (1 + below(16)));
            for (uint8_t &x : payload)
                x = static_cast<uint8_t>(rng());
            control = make_packet(F, h, {}, payload).data;
            control_at = 0;
            control_own = below(2);
        }
        dut.cst_valid_i = !control.empty() && !control_own;
        dut.clo_valid_i = !control.empty() && control_own;
        if (control.empty())
            return;
        put(dut.ctl_data_i, control.data() + control_at);
        dut.ctl_last_i = control_at + F == control.size();
    }

    void take_control()
    {
        if (control.empty() || !(control_own ? dut.clo_ready_o : dut.cst_ready_o))
            return;
        control_at += F;
        if (control_at < control.size())
            return;
        want_control[control_own].push_back(control);
        control.clear();
    }

    bool watch()
    {
        take_control();
        ram.ask(dut.rd_valid_o, dut.rd_ready_i, dut.rd_addr_o);
        bool moved = dut.rd_valid_o && dut.rd_ready_i;
        if (dut.tok_done_i && armed > 0)
            armed--;
        if (dut.arm_valid_o && dut.arm_ready_i)
            arm();
        if (dut.base_take_o)
            row_of[dut.base_q_o]++;
        if (dut.err_valid_o)
            errors++;
        bool sent = st.see(dut.st_valid_o, dut.st_ready_i, get(dut.st_data_o), dut.st_last_o);
        if (sent) {
            if (!first_flit)
                first_flit = now;
            last_flit = now;
        }
        moved |=
            sent | loc.see(dut.loc_valid_o, dut.loc_ready_i, get(dut.loc_data_o), dut.loc_last_o);
        compare(st, want_st, want_control[0], "uplink");
        compare(loc, want_loc, want_control[1], "local");
        if (dut.retire_o) {
            assert_false(retired);
            assert_true(want_st.empty() && want_loc.empty());
            retired = true;
        }
        return moved || dut.retire_o;
    }

    void arm()
    {
        assert_false(want_arm.empty());
        assert_int_equal(dut.arm_token_o, l.port << l.token_shift | want_arm.front().token);
        assert_int_equal(dut.arm_count_o, want_arm.front().count);
        want_arm.pop_front();
        armed++;
        if (l.in_flight)
            assert_true(armed <= l.in_flight);
    }

    struct expected {
        packet pkt;
        unsigned token;
    };

    static bool of_control(const bytes &pkt) { return (pkt[0] & 63) == MW_OP_COUNTS; }

    void compare(stream_watch &s, std::deque<expected> &want, std::deque<bytes> &want_ctl,
                 const char *where)
    {
        if (!s.packets.empty() && of_control(s.packets.front())) {
            assert_false(want_ctl.empty());
            assert_true(want_ctl.front() == s.packets.front());
            want_ctl.pop_front();
            s.packets.pop_front();
            return;
        }
        if (!s.open.empty() && !of_control(s.open)) {
            assert_false(want.empty());
            if (!want_arm.empty() && want.front().pkt.head.opcode == MW_OP_DYMULTIMEM_ST)
                assert_true(want.front().token < want_arm.front().token);
        }
        if (s.packets.empty())
            return;
        assert_false(want.empty());
        assert_packet(want.front().pkt, s.packets.front(), where);
        const struct mw_header &h = want.front().pkt.head;
        if (h.opcode != MW_OP_DYMULTIMEM_ST && h.addr >= MEM) {
            uint64_t addr = 0;
            memcpy(&addr, &s.packets.front()[8], 6);
            assert_true(addr >= MEM);
            outside++;
        }
        s.packets.pop_front();
        want.pop_front();
    }

    void edge()
    {
        dut.clk_i = 1;
        dut.eval();
        dut.clk_i = 0;
        dut.eval();
    }

    struct arming {
        unsigned token, count;
    };

    Vsend dut;
    pace p;
    std::mt19937_64 rng;
    read_port ram;
    unsigned map[EXPERTS]; // bit 7 valid, 4:0 GPU
    unsigned xs = 0, rt = 0;
    uint32_t model_row[32];
    stream_watch st, loc;
    std::deque<expected> want_st, want_loc;
    std::deque<arming> want_arm;
    bytes control; // packet on offer
    size_t control_at = 0;
    bool control_own = false, control_on = false;
    std::deque<bytes> want_control[2]; // taken: uplink, local
    unsigned armed = 0;
    uint64_t now = 1;
    bool retired = false, others = true;
    unsigned done_percent = below(3) ? 1 : 20;
};

static unsigned log2_up(unsigned x)
{
    unsigned s = 0;
    while ((1u << s) < x)
        s++;
    return s;
}

static layer random_layer(std::mt19937_64 &rng)
{
    layer l = {};
    l.k = 1 + static_cast<unsigned>(rng() % 16);
    l.row_bytes = F * (1 + static_cast<unsigned>(rng() % (rng() % 4 ? 40 : 8)));
    l.row_shift = log2_up(l.row_bytes) + static_cast<unsigned>(rng() % 2);
    l.tokens =
        std::min(1 + static_cast<unsigned>(rng() % 30), (MEM - 128) / ((1u << l.row_shift) + 128));
    l.token_shift = log2_up(l.tokens) + static_cast<unsigned>(rng() % 3);
    l.port = static_cast<unsigned>(rng() % N);
    l.latency = 1 + static_cast<unsigned>(rng() % 9);
    l.own_percent = static_cast<unsigned>(rng() % 40);
    l.empty_percent = rng() % 2 ? 0 : 25;
    l.bad_percent = rng() % 2 ? 0 : 15;
    return l;
}

static pace random_pace(std::mt19937_64 &rng)
{
    static const unsigned choice[] = {100, 100, 90, 50, 20};
    static const unsigned control[] = {0, 0, 3, 30};
    return {choice[rng() % 5], choice[rng() % 5], choice[rng() % 5], choice[rng() % 5],
            control[rng() % 4]};
}

static struct mw_instr instr(unsigned op, uint32_t a, uint32_t b, uint32_t c, unsigned imm,
                             unsigned flags = 0)
{
    struct mw_instr in = {};
    in.op = static_cast<uint8_t>(op);
    in.flags = static_cast<uint8_t>(flags);
    in.imm = static_cast<uint16_t>(imm);
    in.a = a;
    in.b = b;
    in.c = c;
    return in;
}

// Mostly with gate weights; rows alone, and those at explicit addresses, now and then.
static unsigned flags(std::mt19937_64 &rng)
{
    return rng() % 4 ? 0 : 1 + 2 * (rng() % 2);
}

static void random_tokens(unsigned op, unsigned runs, unsigned in_flight)
{
    std::mt19937_64 rng(seed + op + in_flight);
    for (unsigned r = 0; r < runs; r++) {
        layer l = random_layer(rng);
        l.in_flight = in_flight ? 1 + static_cast<unsigned>(rng() % in_flight) : 0;
        std::unique_ptr<bench> b(new bench(rng(), l, random_pace(rng)));
        unsigned split = static_cast<unsigned>(rng() % (l.tokens + 1));
        b->run(instr(op, 0, split, 0, 0, flags(rng)));
        if (rng() % 2)
            b->go();
        b->run(instr(op, split, l.tokens - split, 0, 0, flags(rng)));
    }
}

static void test_dymultimem(void **state)
{
    (void)state;
    random_tokens(MW_I_DYMULTIMEM_ST, 150, 0);
}

static void test_in_flight(void **state)
{
    (void)state;
    random_tokens(MW_I_DYMULTIMEM_ST, 120, 5);
}

static void test_unicast(void **state)
{
    (void)state;
    random_tokens(MW_I_ST, 150, 0);
}

static void test_linear(void **state)
{
    (void)state;
    std::mt19937_64 rng(seed + 4);
    for (unsigned r = 0; r < 20; r++) {
        std::unique_ptr<bench> b(new bench(rng(), random_layer(rng), random_pace(rng)));
        for (unsigned i = 0; i < 12; i++) {
            bool multi = rng() % 2;
            uint32_t a = F * static_cast<uint32_t>(rng() % (MEM / F / 2)),
                     n = static_cast<uint32_t>(rng() % (rng() % 3 ? 700 : 30));
            uint32_t c = F * static_cast<uint32_t>(rng() % (MEM / F / 2));
            if (rng() % 8 == 0)
                a += 1 + static_cast<uint32_t>(rng() % (F - 1));
            else if (rng() % 8 == 0)
                c += 1 + static_cast<uint32_t>(rng() % (F - 1));
            else if (rng() % 6 == 0)
                c += MEM << rng() % 15;
            else if (rng() % 6 == 0)
                c = MEM - F * static_cast<uint32_t>(rng() % 60); // leaves memory on the way
            unsigned imm =
                multi ? static_cast<unsigned>(rng() % 16) : static_cast<unsigned>(rng() % (N + 1));
            bool red = multi && rng() % 2;
            if (red) // mostly types and operators that exist
                imm |= static_cast<unsigned>(rng() % (rng() % 8 ? MW_DTYPES : 8)) << 8 |
                       static_cast<unsigned>(rng() % (rng() % 4 ? 3 : 8)) << 12;
            b->run(instr(red     ? MW_I_MULTIMEM_RED
                         : multi ? MW_I_MULTIMEM_ST
                                 : MW_I_ST_LINEAR,
                         a, n, c, imm));
        }
    }
}

// Uplink and memory never stall: from the first flit to the last every cycle belongs to a packet. The slack is for the first payload, which is not yet
// there right behind the header; in st also for packing META.
static void rate(unsigned op, unsigned row_bytes, unsigned k, uint64_t slack, bool bare = false)
{
    layer l = {};
    l.k = k;
    l.row_bytes = row_bytes;
    l.row_shift = log2_up(row_bytes);
    l.tokens = std::min(24u, MEM / (2 * row_bytes) - 1);
    l.token_shift = 5;
    l.port = 1;
    l.latency = 3;
    std::unique_ptr<bench> b(new bench(seed + op + k, l, {100, 100, 100, 100, 0}));
    b->run(instr(op, 0, l.tokens, 0, 0, bare));
    uint64_t took = b->last_flit - b->first_flit + 1;
    printf("op %u row %u k %u: %llu cycles for %llu\n", op, row_bytes, k, (unsigned long long)took,
           (unsigned long long)b->slots);
    assert_true(took <= b->slots + slack);
}

static void test_rate(void **state)
{
    (void)state;
    rate(MW_I_DYMULTIMEM_ST, 512, 8, 8);
    rate(MW_I_DYMULTIMEM_ST, 128, 8, 8);
    rate(MW_I_DYMULTIMEM_ST, 256, 2, 8);
    rate(MW_I_DYMULTIMEM_ST, 256, 16, 8);
    rate(MW_I_DYMULTIMEM_ST, 128, 1, 8, true);
    rate(MW_I_DYMULTIMEM_ST, 128, 6, 8, true);
    rate(MW_I_ST, 512, 8, 8);
    rate(MW_I_ST, 256, 6, 300);
}

int main(void)
{
    seed_from_env();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dymultimem), cmocka_unit_test(test_in_flight),
        cmocka_unit_test(test_unicast),    cmocka_unit_test(test_linear),
        cmocka_unit_test(test_rate),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
