// SPDX-License-Identifier: Apache-2.0
//
// rx_resolve against the rules of its packets, header by header: every opcode, any bit of an
// address, limits of a layer that are just reached and just exceeded, rows that follow, targets
// that miss and return. MW_SEED repeats a run.
#include "bench/dut.h"
#include "bench/packet.h"
#include <errors.h>
#include "isa.h"
#include "node_cfg.h"

#include <deque>
#include <map>

using namespace tb;

static const unsigned N = PARAM_N, F = PARAM_FlitBytes, F_BITS = log2_up(F),
                      MEM_BITS = PARAM_MemBytesLog2, TOK_W = PARAM_TokensLog2 + log2_up(N),
                      MADDR = TOK_W + 15, EXPERTS = PARAM_MaxExperts, LISTS = PARAM_MaxLocalExperts,
                      ROW_W = PARAM_RowsLog2, SLOTS = 32, LANE = F - 1;
static const uint64_t MEM = uint64_t{1} << MEM_BITS;

static unsigned bits_of(uint64_t v, unsigned bits)
{
    return static_cast<unsigned>(v & ((uint64_t{1} << bits) - 1));
}

struct arrived {
    bool bad = false, beyond = false, cut = false;
    unsigned op = 0, src = 0, len = 0, cnt = 1, stage = 0, row = 0, flits = 0;
    uint64_t addr = 0;
    std::vector<unsigned> targets{0};
};

struct job {
    bool asks = false, known = true, null = false, counts = false, red = false, track = false,
         home = false, at_token = false, at_row = false;
    unsigned lane = 0, span = 0, le = 0, row = 0, token = 0, pos = 0, asked_le = 0, stage = 0;
    uint64_t addr = 0, off = 0;
};

struct jobs : model<Vrx_jobs> {
    struct expert {
        bool here = false;
        unsigned le = 0;
    };
    struct open_row {
        bool open = false;
        unsigned token = 0;
        std::vector<unsigned> targets;
    };
    node_cfg cfg;
    std::vector<expert> map{EXPERTS};
    std::vector<open_row> rows{N};
    std::vector<arrived> headers{SLOTS};
    std::map<std::pair<unsigned, unsigned>, job> due; ///< by slot and position
    std::map<unsigned, unsigned> errors;              ///< how many of each code are to come
    arrived now_in;
    std::vector<unsigned> now_targets;
    using key = std::pair<unsigned, unsigned>;
    static constexpr unsigned ALONE = 16; ///< in place of the position of a packet's only target
    std::deque<key> fresh, parked;        ///< look-ups to come, and those that missed
    key asked;
    bool waiting = false, started = false, asking = false, more = true;
    unsigned slot = 0;
    uint64_t answer_at = 0, fill_at = 0;
    unsigned events = 0, said = 0, acks = 0, done = 0, missed = 0, seen[256] = {};

    jobs()
    {
        dut.emap_we_i = dut.pkt_valid_i = dut.al_valid_i = dut.al_fill_i = 0;
        dut.job_ready_i = 1;
    }
    unsigned get(const char *name) const { return static_cast<unsigned>(cfg[name]); }
    unsigned any(unsigned bits) { return static_cast<unsigned>(rng.bits(bits)); }
    uint64_t near(uint64_t v) { return v + below(3) - std::min<uint64_t>(v, 1); }

    void set_layer()
    {
        cfg = {};
        const unsigned row_shift = F_BITS + 1 + below(14 - F_BITS), k = 1 + below(16);
        cfg.set("port", below(N));
        cfg.set("epoch", below(4));
        cfg.set("k", k);
        cfg.set("k_shift", log2_up(k));
        cfg.set("tokens", 1 + below(1u << PARAM_TokensLog2));
        cfg.set("token_shift", log2_up(get("tokens")));
        cfg.set("n_shift", log2_up(N));
        cfg.set("local_experts", below(LISTS + 2));
        cfg.set("row_shift", row_shift);
        cfg.set("row_bytes", F * (1 + below((1u << row_shift) / F)) % (1u << 15));
        cfg.set("dispatch_bytes",
                percent(50) ? 0 : F * (1 + below((1u << row_shift) / F)) % (1u << 15));
        cfg.set("gate_shift", F_BITS + below(5));
        cfg.set("cap_shift", below(ROW_W + 1));
        for (const char *base : {"xd_base", "yd_base", "gt_base", "cb_base", "rl_base"})
            cfg.set(base, uint64_t{any(MEM_BITS - 4)} << 4);
        cfg.set("st_lo", percent(20) ? uint64_t{1} << (4 + below(32)) : any(MEM_BITS - 6) << 4);
        cfg.set("st_hi", percent(30)   ? MEM
                         : percent(50) ? uint64_t{1} << (4 + below(32))
                                       : cfg["st_lo"] + (any(MEM_BITS - 4) << 4));
        cfg.set("source_lists", percent(50));
        cfg.set("row_returns", percent(60));
        cfg.set("switch_reductions", percent(50));
        cfg.set("load_first", below(2u << PARAM_TokensLog2));
        cfg.set("load_expert", below(LISTS));
        cfg.any_rest(rng);
        cfg.drive(dut.cfg_i);
    }
    void set_map()
    {
        for (unsigned e = 0; e < EXPERTS; e++) {
            dut.emap_we_i = 1;
            dut.emap_addr_i = static_cast<uint16_t>(e);
            const bool valid = percent(80);
            const unsigned gpu = percent(80) ? get("port") : below(N), le = below(LISTS);
            map[e] = {valid && gpu == get("port"), le};
            dut.emap_data_i = tb::place(valid, gpu, le);
            settle();
            edge();
        }
        dut.emap_we_i = 0;
    }

    // ---- the packet's meaning ----
    bool lists() const { return get("source_lists"); }
    unsigned row_limit(const arrived &h, bool loaded) const
    {
        if (h.stage == MW_STAGE_GATE && !loaded)
            return 4 * get("k");
        const bool narrow = PARAM_RowTypes && h.stage == MW_STAGE_DISPATCH && get("dispatch_bytes");
        return narrow ? get("dispatch_bytes") : get("row_bytes");
    }
    bool no_expert(unsigned le, unsigned src) const
    {
        return le >= get("local_experts") || le >= LISTS ||
               (le << get("n_shift") | src) >= static_cast<unsigned>(LISTS);
    }
    /// The address names what is not there, whatever the packet wants there.
    bool far(const arrived &h, unsigned op) const
    {
        const bool flag_rows = lists() && h.stage != MW_FLAG_EVENT;
        switch (op) {
        case MW_OP_DYMULTIMEM_ST:
        case MW_OP_LD_RESP:
            return h.addr >> (TOK_W + get("row_shift"));
        case MW_OP_FENCE:
            return false;
        case MW_OP_COUNTS:
            return h.addr & LANE;
        case MW_OP_FLAG:
            return flag_rows ? h.addr >> std::min(23u, MEM_BITS)
                             : ((h.addr & 31) > MW_EV_SW7 && (h.addr & 31) < MW_EV_SW8) ||
                                   h.addr >> (5 + TOK_W + 1);
        default:
            return h.addr >> MEM_BITS;
        }
    }
    /// What the target does; errors and events are expected from here on.
    job resolve(const arrived &h, unsigned target, bool no_row)
    {
        const bool flat = !h.bad && h.op == MW_OP_DYMULTIMEM_ST && h.stage == MW_STAGE_FLAT;
        const unsigned op = flat ? MW_OP_ST : h.op, shift = get("row_shift"), port = get("port");
        const bool dynamic = op == MW_OP_DYMULTIMEM_ST, loaded = op == MW_OP_LD_RESP,
                   red = op == MW_OP_MULTIMEM_RED, flag = op == MW_OP_FLAG,
                   plain = op == MW_OP_FENCE || flag;
        const bool of_row = dynamic || loaded;
        const uint64_t first = of_row ? bits_of(h.addr, shift) : bits_of(h.addr, MEM_BITS),
                       end = first + h.len;
        const unsigned token = bits_of(h.addr >> shift, TOK_W);
        const expert &x = map[target >> 4 & (EXPERTS - 1)];
        const bool chosen = lists() && dynamic && h.src != port, tells = lists() && flag && h.stage;
        job j;
        j.pos = target & 15;
        j.lane = static_cast<unsigned>(h.addr & LANE);
        j.span = j.lane + h.len - 1;
        j.counts = op == MW_OP_COUNTS;
        j.red = red;
        j.off = j.counts ? h.src : bits_of(first >> F_BITS, MEM_BITS - F_BITS);
        j.stage = loaded ? MW_STAGE_DISPATCH : h.stage;
        // slots
        const uint64_t distance = first - bits_of(cfg["cb_base"], MEM_BITS),
                       place = distance >> shift;
        const uint64_t index = place >> get("k_shift"), nth = bits_of(place, get("k_shift"));
        const bool slot_here = get("row_returns") && first >= bits_of(cfg["cb_base"], MEM_BITS) &&
                               index >> get("token_shift") == 0 &&
                               (op == MW_OP_ST || op == MW_OP_MULTIMEM_ST);
        // bounds
        bool outside = false;
        const unsigned said_le = tells ? bits_of(first, 7) : x.le;
        const bool wrong_list = no_expert(said_le, h.src);
        if (of_row)
            outside = end > row_limit(h, loaded);
        if (chosen)
            outside |=
                wrong_list || token >> get("token_shift") != h.src || h.row >> get("cap_shift");
        if (loaded)
            outside |= token >> get("token_shift") || token < get("load_first");
        if (tells)
            outside = h.stage == MW_FLAG_LIST ? wrong_list : h.stage != MW_FLAG_TILE || first >> 8;
        if (!of_row && !plain && !j.counts)
            outside = first < cfg["st_lo"] || end > cfg["st_hi"] || end > MEM ||
                      (slot_here && (index >= get("tokens") || nth >= get("k") ||
                                     bits_of(distance, shift) + h.len > get("row_bytes")));
        const unsigned kind = h.src << 2 | h.stage, dtype = kind >> 3, redop = kind & 7;
        const unsigned flits = plain ? 0 : (j.span & 127) / F + 1;
        unsigned err = MW_HWERR_NONE;
        if (h.bad)
            err = h.len;
        else if (h.cut || (!plain && j.span > 127) || h.flits != flits)
            err = MW_HWERR_LENGTH;
        else if (no_row)
            err = MW_HWERR_TARGETS;
        else if (red && !reduces(dtype, redop))
            err = MW_HWERR_REDUCTION;
        else if (lists() && j.counts)
            err = MW_HWERR_OPCODE;
        else if (outside || h.beyond || far(h, op))
            err = MW_HWERR_BOUNDS;
        else if (dynamic && (target >> 4 >= EXPERTS || !x.here))
            err = MW_HWERR_UNMAPPED;
        seen[err]++;
        if (err) {
            errors[err]++;
            j.null = true;
            return j;
        }
        expect_event(h, op, tells, first, said_le);
        j.null = plain;
        j.asks = dynamic && !chosen;
        j.known = !j.asks;
        j.asked_le = x.le;
        j.at_token = dynamic || (slot_here && !j.null) || red;
        j.token = red ? dtype << 3 | redop : slot_here ? static_cast<unsigned>(index) : token;
        j.home = slot_here;
        j.track = (dynamic && h.stage != MW_STAGE_COMBINE) || loaded;
        j.at_row = of_row || (slot_here && lists());
        j.le = loaded    ? get("load_expert")
               : lists() ? bits_of(said_le << get("n_shift") | h.src, log2_up(LISTS))
                         : x.le;
        j.row = loaded      ? bits_of(h.src << get("token_shift") | token, ROW_W)
                : slot_here ? h.src
                            : bits_of(h.row, ROW_W);
        if (j.counts)
            j.pos = h.stage;
        place_row(j, chosen, loaded);
        return j;
    }
    bool reduces(unsigned dtype, unsigned redop) const
    {
        const bool logic = redop > MW_REDOP_MAX && redop <= 5;
        return dtype <= MW_DTYPE_S32 && redop <= 5 && !(dtype <= MW_DTYPE_FP32 && logic);
    }
    void place_row(job &j, bool chosen, bool loaded)
    {
        if (!j.asks && !chosen && !loaded) {
            j.addr = j.off;
            return;
        }
        const bool gate = j.stage == MW_STAGE_GATE;
        const uint64_t base = cfg[gate                          ? "gt_base"
                                  : j.stage == MW_STAGE_COMBINE ? "yd_base"
                                                                : "xd_base"];
        const uint64_t key = bits_of((loaded ? 0 : j.le << get("cap_shift")) | j.row, ROW_W);
        const uint64_t bytes = key << get(gate ? "gate_shift" : "row_shift");
        j.addr = bits_of((base >> F_BITS) + (bytes >> F_BITS | j.off), MEM_BITS - F_BITS);
    }

    // ---- what acts by itself ----
    std::deque<std::vector<unsigned>> flags; ///< event or said, and its fields
    std::deque<unsigned> fences;
    void expect_event(const arrived &h, unsigned op, bool tells, uint64_t first, unsigned le)
    {
        if (op == MW_OP_FENCE)
            fences.push_back(h.src);
        if (op != MW_OP_FLAG)
            return;
        const unsigned f = static_cast<unsigned>(first), rows_of = bits_of(f >> 5, TOK_W + 1);
        const bool tile = h.stage == MW_FLAG_TILE;
        const unsigned list = bits_of(le << get("n_shift") | h.src, log2_up(LISTS));
        if (tells)
            flags.push_back(
                {1, h.src, tile, tile ? ~0u : list, tile ? f & 255 : bits_of(f >> 7, 16)});
        else
            flags.push_back({0, h.src, f & 31, rows_of != 0, rows_of - 1});
    }
    auto next_flag(unsigned kind)
    {
        assert_true(!flags.empty() && flags.front()[0] == kind);
        const auto f = flags.front();
        flags.pop_front();
        return f;
    }
    void see_events()
    {
        if (dut.ev_valid_o) {
            const auto f = next_flag(0);
            assert_int_equal(dut.ev_src_o, f[1]);
            assert_int_equal(dut.ev_idx_o, f[2]);
            assert_int_equal(dut.ev_notified_o, f[3]);
            if (f[3])
                assert_int_equal(dut.ev_row_o, f[4]);
            events++;
        }
        if (dut.said_valid_o) {
            const auto f = next_flag(1);
            assert_int_equal(dut.said_src_o, f[1]);
            assert_int_equal(dut.said_tile_o, f[2]);
            if (!f[2])
                assert_int_equal(dut.said_list_o, f[3]);
            assert_int_equal(dut.said_rows_o, f[4]);
            said++;
        }
        if (dut.ack_valid_o && dut.ack_ready_i) {
            assert_true(!fences.empty());
            assert_int_equal(dut.ack_port_o, fences.front());
            fences.pop_front();
            acks++;
        }
        if (dut.err_valid_o) {
            if (!errors[dut.err_code_o])
                fail_msg("error %u was not expected", dut.err_code_o);
            errors[dut.err_code_o]--;
        }
    }

    // ---- packets ----
    void make_packet()
    {
        arrived h;
        h.op = rng.pick({MW_OP_ST, MW_OP_MULTIMEM_ST, MW_OP_DYMULTIMEM_ST, MW_OP_DYMULTIMEM_ST,
                         MW_OP_DYMULTIMEM_ST, MW_OP_FLAG, MW_OP_FENCE, MW_OP_COUNTS, MW_OP_LD_RESP,
                         MW_OP_MULTIMEM_RED});
        if (h.op == MW_OP_LD_RESP && !PARAM_MergeLoads)
            h.op = MW_OP_ST;
        const bool red = h.op == MW_OP_MULTIMEM_RED, dynamic = h.op == MW_OP_DYMULTIMEM_ST;
        h.src = red ? any(5) : percent(95) ? below(N) : below(32);
        h.stage = red ? below(2) << 1 : below(4);
        h.len = rng.pick({F, 128u, 1 + below(128), 4 * (1 + below(32))});
        if (h.op == MW_OP_FLAG || h.op == MW_OP_FENCE)
            h.len = 0;
        h.addr = address(h);
        if (percent(60)) // not behind 128 bytes
            h.len = std::min<unsigned>(h.len, 128 - (h.addr & LANE));
        h.flits = h.len ? static_cast<unsigned>((h.addr & LANE) + h.len - 1) % 128 / F + 1 : 0;
        if (percent(3))
            h.flits = below(128 / F + 1);
        h.cut = percent(2);
        h.beyond = percent(2);
        h.row =
            percent(50) ? any(14) : static_cast<unsigned>(near(1u << get("cap_shift")) & 0x3fff);
        if (percent(70))
            h.row &= (1u << get("cap_shift")) - 1;
        h.bad = percent(3);
        if (h.bad)
            h.len = 1 + below(19);
        std::vector<unsigned> order(16);
        for (unsigned i = 0; i < 16; i++)
            order[i] = i;
        rng.shuffle(order);
        h.cnt = dynamic && !h.bad ? 1 + (percent(60) ? below(3) : below(16)) : 1;
        const bool follows = dynamic && !h.bad && h.stage != MW_STAGE_FLAT && percent(25);
        if (follows)
            h.cnt = 0;
        h.targets.clear();
        for (unsigned i = 0; i < 16; i++)
            h.targets.push_back((percent(3) ? EXPERTS : 0) << 4 | below(EXPERTS) << 4 | order[i]);
        const open_row *r = h.src < N ? &rows[h.src] : nullptr;
        if (follows && r && percent(70)) // of the open row
            h.addr = bits_of(
                uint64_t{r->token} << get("row_shift") | bits_of(h.addr, get("row_shift")), MADDR);
        now_in = h;
    }
    uint64_t address(const arrived &h)
    {
        const unsigned shift = get("row_shift");
        if (h.op == MW_OP_DYMULTIMEM_ST || h.op == MW_OP_LD_RESP) {
            uint64_t token = any(TOK_W), in_row = any(shift);
            if (h.op == MW_OP_LD_RESP && percent(70))
                token = near(get("load_first")) & ((1u << get("token_shift")) - 1);
            else if (percent(60))
                token = bits_of((percent(80) ? h.src : h.src | any(3) << 5) << get("token_shift") |
                                    any(get("token_shift")),
                                TOK_W);
            const unsigned limit = row_limit(h, h.op == MW_OP_LD_RESP);
            if (percent(70)) // up to the row's end, or just behind it
                in_row =
                    bits_of(limit - std::min(limit, h.len) + (percent(20) ? below(3) : 0), shift);
            return bits_of((percent(3) ? any(MADDR) : 0) ^ (token << shift | in_row), MADDR);
        }
        if (h.op == MW_OP_FLAG && lists() && h.stage) {
            const unsigned rows_said = percent(50) ? any(16) : 1u << below(16);
            return h.stage == MW_FLAG_LIST
                       ? rows_said << 7 | (percent(80) ? below(LISTS + 1) : any(7))
                   : percent(80) ? any(8)
                                 : uint64_t{1} << below(MADDR);
        }
        if (h.op == MW_OP_FLAG)
            return bits_of(uint64_t{any(TOK_W + 2)} << 5, MADDR) | any(5);
        if (h.op == MW_OP_COUNTS)
            return any(MADDR) & ~(percent(90) ? LANE : 0u);
        if (percent(30)) {
            const uint64_t bound = rng.pick({cfg["st_lo"], cfg["st_hi"] - h.len, MEM - h.len});
            return bits_of(near(bound), percent(90) ? MEM_BITS : MADDR);
        }
        if (percent(50)) { // slots
            const uint64_t token =
                percent(50) ? below(1u << get("token_shift")) : near(get("tokens"));
            const uint64_t nth = percent(50) ? below(16) : near(get("k"));
            uint64_t in_row = percent(50)
                                  ? any(shift)
                                  : near(get("row_bytes") - std::min(get("row_bytes"), h.len));
            return bits_of(cfg["cb_base"] + ((token << get("k_shift") | nth) << shift) +
                               bits_of(in_row, shift),
                           MEM_BITS);
        }
        return any(percent(95) ? MEM_BITS : MADDR);
    }
    void expect_packet()
    {
        const arrived &h = now_in;
        const bool whole = !h.bad && !h.cut,
                   of_row = h.op == MW_OP_DYMULTIMEM_ST && !(whole && h.stage == MW_STAGE_FLAT),
                   follows = of_row && whole && !h.cnt, beyond = h.beyond || far(h, h.op);
        const unsigned token = bits_of(h.addr >> get("row_shift"), TOK_W);
        open_row *r = h.src < N ? &rows[h.src] : nullptr;
        const bool same = r && r->open && !beyond && r->token == token;
        const bool opens = of_row && whole && h.cnt && r && !beyond;
        now_targets.assign(h.targets.begin(), h.targets.begin() + h.cnt);
        if (h.cut)
            now_targets.assign(1, h.targets[0]);
        else if (follows)
            now_targets = same ? r->targets : std::vector<unsigned>(1, 0);
        for (unsigned t : now_targets) {
            const job j = resolve(h, t, follows && !same);
            const key at = {slot, now_targets.size() == 1 ? ALONE : j.pos};
            due[at] = j;
            if (j.asks)
                fresh.push_back(at);
        }
        if (of_row && r)
            r->open = (opens || (follows && same)) && h.stage != MW_STAGE_GATE;
        if (opens) {
            r->token = token;
            r->targets.assign(h.targets.begin(), h.targets.begin() + h.cnt);
            if (PARAM_SwitchReductions && get("switch_reductions") &&
                h.stage == MW_STAGE_DISPATCH && h.src != get("port"))
                keep_list(h, token);
        }
    }

    /// Flits of the list of a row of another GPU, 32 bytes for each token.
    struct write {
        uint64_t addr;
        std::vector<uint16_t> targets;
    };
    std::deque<write> writes;
    void keep_list(const arrived &h, unsigned token)
    {
        const unsigned shift = get("token_shift"), number = h.src << shift | bits_of(token, shift);
        for (unsigned i = 0; i < h.cnt; i += F / 2) {
            write w{bits_of((cfg["rl_base"] + 32 * number + 2 * i) >> F_BITS, MEM_BITS - F_BITS),
                    {}};
            for (unsigned j = i; j < std::min(h.cnt, i + F / 2); j++) {
                const unsigned e = h.targets[j] >> 4;
                w.targets.push_back(static_cast<uint16_t>(
                    (e & EXPERTS ? (0xfff & ~(EXPERTS - 1)) | e : e) << 4 | (h.cnt - 1)));
            }
            writes.push_back(w);
        }
    }
    void see_write()
    {
        if (!dut.keep_wr_valid_o || !dut.keep_wr_ready_i)
            return;
        assert_true(!writes.empty() && dut.keep_wr_be_o == (1u << F) - 1);
        const write w = writes.front();
        writes.pop_front();
        assert_int_equal(dut.keep_wr_addr_o, w.addr);
        const bytes data = tb::get(dut.keep_wr_data_o);
        assert_memory_equal(data.data(), w.targets.data(), 2 * w.targets.size());
    }

    bool slot_used(unsigned s) const
    {
        const auto first = due.lower_bound({s, 0});
        return first != due.end() && first->first.first == s;
    }
    void drive() override
    {
        if (!waiting && more && percent(70)) {
            do
                slot = (slot + 1) % SLOTS;
            while (slot_used(slot));
            make_packet();
            headers[slot] = now_in;
            waiting = true;
            started = false;
        }
        dut.pkt_valid_i = waiting;
        dut.pkt_slot_i = static_cast<uint8_t>(slot);
        dut.pkt_bad_i = waiting && now_in.cut;
        dut.pkt_flits_i = static_cast<uint8_t>(now_in.flits);
        dut.start_ready_i = percent(70);
        dut.al_req_ready_i = percent(70);
        dut.job_ready_i = percent(60);
        dut.ack_ready_i = percent(60);
        dut.keep_wr_ready_i = percent(60);
        dut.busy_i = percent(30);
        dut.al_fill_i = fill_at && now >= fill_at;
        dut.al_busy_i = fill_at && !dut.al_fill_i;
        if (dut.al_fill_i)
            fill_at = 0;
        dut.al_valid_i = asking && now >= answer_at;
        scramble(dut.al_row_i, 22, rng);
        dut.al_miss_i = static_cast<uint8_t>(rng.bits(1));
        dut.al_err_i = static_cast<uint8_t>(rng.bits(1));
        if (dut.al_valid_i)
            allocate();
        header_at_port();
        header_at_port();
    }
    void header_at_port()
    {
        settle();
        const arrived &h = headers[dut.hd_slot_o];
        dut.hd_bad_i = h.bad;
        dut.hd_op_i = static_cast<uint8_t>(h.op);
        dut.hd_src_i = static_cast<uint8_t>(h.src);
        dut.hd_len_i = static_cast<uint8_t>(h.len);
        dut.hd_cnt_i = static_cast<uint8_t>(h.cnt);
        dut.hd_stage_i = static_cast<uint8_t>(h.stage);
        dut.hd_beyond_i = h.beyond;
        dut.hd_row_i = static_cast<uint16_t>(h.row);
        dut.hd_addr_i = static_cast<uint32_t>(h.addr);
        dut.hd_tgt_i = static_cast<uint16_t>(h.targets.empty() ? 0 : h.targets[dut.hd_tgt_o]);
    }
    void allocate()
    {
        job &j = due.at(asked);
        asking = false;
        dut.al_miss_i = percent(25);
        dut.al_err_i = !dut.al_miss_i && percent(10);
        if (dut.al_miss_i) {
            missed++;
            parked.push_back(asked);
            if (!fill_at)
                fill_at = now + 1 + below(20);
            return;
        }
        j.known = true;
        j.null = dut.al_err_i;
        errors[MW_HWERR_BOUNDS] += dut.al_err_i;
        j.row = bits_of(dut.al_row_i = static_cast<uint32_t>(bits_of(dut.al_row_i, ROW_W)), ROW_W);
        place_row(j, false, false);
    }

    void sample() override
    {
        settle();
        if (dut.start_valid_o) {
            assert_true(waiting && !started);
            assert_int_equal(dut.start_slot_o, slot);
            const bool ordered =
                !now_in.bad && !now_in.cut && (now_in.op == MW_OP_FLAG || now_in.op == MW_OP_FENCE);
            assert_true(!ordered || (due.empty() && !dut.busy_i));
            if (dut.start_ready_i) {
                started = true;
                expect_packet();
                assert_int_equal(dut.start_cnt_o, now_targets.size());
            }
        }
        see_events();
        see_request();
        see_job();
        see_write();
        if (dut.pkt_ready_o) {
            assert_true(waiting && started);
            waiting = false;
        }
    }
    void see_request()
    {
        if (!dut.al_req_valid_o || !dut.al_req_ready_i)
            return;
        assert_true(!asking && dut.al_req_alloc_o);
        std::deque<key> &from = dut.al_req_retry_o ? parked : fresh;
        assert_true(!from.empty() && (dut.al_req_retry_o || dut.al_req_start_o));
        asked = from.front();
        from.pop_front();
        asking = true;
        answer_at = now + 1 + (percent(70) ? 0 : below(3));
        assert_int_equal(dut.al_req_le_o, due.at(asked).asked_le);
        assert_int_equal(dut.al_req_token_o, due.at(asked).token);
    }

    void see_job()
    {
        if (!dut.job_valid_o || !dut.job_ready_i)
            return;
        const unsigned s = dut.job_slot_o;
        auto d = due.find({s, ALONE});
        if (d == due.end())
            d = due.find({s, dut.job_pos_o});
        assert_true(d != due.end() && d->second.known);
        const job j = d->second;
        due.erase(d);
        done++;
        const unsigned track = j.track && !j.null, home = j.home && !j.null;
        assert_int_equal(dut.job_kind_o,
                         j.null << 4 | j.counts << 3 | j.red << 2 | track << 1 | home);
        if (j.null)
            return;
        assert_int_equal(dut.job_lane_o, j.lane);
        assert_int_equal(dut.job_span_o, j.span);
        assert_int_equal(dut.job_addr_o, j.addr);
        if (j.at_token)
            assert_int_equal(dut.job_token_o, j.token);
        if (j.at_row)
            assert_int_equal(dut.job_row_o, j.row);
        if (j.track)
            assert_int_equal(dut.job_le_o, j.le);
        if (j.track || j.counts)
            assert_int_equal(dut.job_pos_o, j.pos);
    }

    /// Ends in the middle, or when all is done.
    void layer(unsigned length)
    {
        dut.pkt_valid_i = dut.al_valid_i = dut.al_fill_i = 0;
        set_layer();
        reset();
        rows.assign(N, {});
        due.clear();
        errors.clear();
        flags.clear();
        fences.clear();
        fresh.clear();
        parked.clear();
        waiting = asking = false;
        writes.clear();
        fill_at = 0;
        set_map();
        more = true;
        cycles(length);
        more = false;
        if (percent(30))
            return;
        until("all jobs, flags, fences and lists", 5000, [&] {
            return !waiting && due.empty() && flags.empty() && fences.empty() && writes.empty();
        });
        for (auto &e : errors)
            if (e.second)
                fail_msg("error %u did not come", e.first);
    }
};

TEST(every_target_becomes_its_job)
{
    jobs b;
    for (unsigned i = 0; i < cases(60, 600); i++)
        b.layer(1500);
    assert_true(b.done > 10000 && b.missed > 500 && b.events > 100 && b.said > 50 && b.acks > 200);
    for (unsigned e : {MW_HWERR_LENGTH, MW_HWERR_TARGETS, MW_HWERR_REDUCTION, MW_HWERR_OPCODE,
                       MW_HWERR_BOUNDS, MW_HWERR_UNMAPPED})
        assert_true(b.seen[e] > 30);
}
