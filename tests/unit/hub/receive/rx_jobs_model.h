// SPDX-License-Identifier: Apache-2.0
//
// The rules of packets of class STORE, for the test of rx_resolve. For any header at a layer's
// limits and beyond them, the model has the job or error of each target, and its events.
#ifndef RX_JOBS_MODEL_H
#define RX_JOBS_MODEL_H

#include "bench/dut.h"
#include "bench/packet.h"
#include <errors.h>
#include "isa.h"
#include "node_cfg.h"

#include <deque>
#include <map>

namespace tb {
static const unsigned N = PARAM_N, F = PARAM_FlitBytes, F_BITS = log2_up(F),
                      MEM_BITS = PARAM_MemBytesLog2, TOK_W = PARAM_TokensLog2 + log2_up(N),
                      MADDR = TOK_W + 15, EXPERTS = PARAM_MaxExperts, LISTS = PARAM_MaxLocalExperts,
                      ROW_W = PARAM_RowsLog2, SLOTS = 32, LANE = F - 1;
static const uint64_t MEM = uint64_t{1} << MEM_BITS;

inline unsigned bits_of(uint64_t v, unsigned bits)
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

/// A layer's packets, and the expected result of each target.
struct jobs_of_layer : model<Vrx_jobs> {
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
    std::map<std::pair<unsigned, unsigned>, job> due; ///< by slot and position
    std::map<unsigned, unsigned> errors;              ///< how many of each code are to come
    arrived now_in;
    std::vector<unsigned> now_targets;
    using key = std::pair<unsigned, unsigned>;
    static constexpr unsigned ALONE = 16; ///< in place of the position of a packet's only target
    std::deque<key> fresh;                ///< look-ups to come
    unsigned slot = 0;
    unsigned seen[256] = {}; ///< errors, by code

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
    /// The address is one that does not exist, for any operation.
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
    /// The result of the target. Errors and events are expected from here on.
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
    std::deque<std::vector<unsigned>> flags; ///< event or report, and its fields
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
        if (percent(60)) // not beyond 128 bytes
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
            if (percent(70)) // up to the row's end, or just beyond it
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
};
} // namespace tb

#endif
