// SPDX-License-Identifier: Apache-2.0
//
// The packets and errors of each instruction of control in a random layer, and its order of tokens,
// for the tests of control.
#ifndef CONTROL_LAYER_H
#define CONTROL_LAYER_H

#include "bench/errors.h"
#include "bench/memory.h"
#include "event_numbers.h"
#include "instr.h"
#include "node_cfg.h"

#ifndef PARAM_SwitchReductions
#define PARAM_SwitchReductions 0
#endif
#ifndef PARAM_TileReductions
#define PARAM_TileReductions 0
#endif

namespace tb {
static const std::vector<unsigned> SOFTWARE = counted_events(PARAM_Events);
static const unsigned N = PARAM_N, F = PARAM_FlitBytes, MEM = 1u << PARAM_MemBytesLog2;
static const unsigned EXPERTS = PARAM_MaxExperts, MAX_LOCAL = PARAM_MaxLocalExperts;
static const bool TILES = PARAM_TileReductions;
static const bool CACHED = PARAM_CachedHandle; // layers may use the counts of others
// the switch in some layers: READYs replace signals
static const bool BY_SWITCH = PARAM_SwitchReductions;
// cycles from the FLAG of a tile to the next one: those of the packet, and 15 for an instruction's
// fetch
static const unsigned TILE_CYCLES = 15 + MW_HEADER_BYTES / F + 3;
static const uint32_t MAX_COUNT = (2u << PARAM_TokensLog2) - 1; // of a copy count

struct layer {
    unsigned k, tokens, token_shift, port, latency, local_experts;
    unsigned ready, busy;  // percent: of every stream, of cycles with a new signal or ACK
    bool by_switch, tiles; // tiles: it gets own rows, too

    explicit layer(dice &rng)
    {
        k = rng.between(1, 16);
        token_shift = rng.between(6, 8);
        tokens = rng.one_in(6) ? 1u << (token_shift = 6) : rng.between(1, 40);
        port = rng.below(N);
        latency = rng.between(1, 8);
        local_experts = rng.one_in(8) ? rng.pick({0u, MAX_LOCAL}) : rng.between(1, MAX_LOCAL);
        ready = rng.pick({100u, 80u, 50u, 20u});
        busy = rng.below(3) * 40;
        by_switch = BY_SWITCH && rng.percent(70);
        tiles = TILES && by_switch && rng.percent(50);
    }
};

struct expected {
    mw_header h;
    wire w;
    explicit expected(const mw_header &its_h, const bytes &payload = {})
        : h(its_h), w(encode({its_h, {}, payload}, F))
    {
    }
};

/// The packets that control must make of its instructions in a layer.
struct control_layer : model<Vcontrol> {
    layer l{rng};
    node_cfg cfg;
    memory mem{MEM, F};
    error_watch errors{"control"};
    const bool lists = PARAM_SourceLists && percent(40); // of sources
    uint32_t base[N] = {};                               // the next row of st at each GPU
    uint32_t sums[N] = {};                               // the first one

    static bool of_lists(const mw_instr &in)
    {
        return PARAM_SourceLists && in.op == MW_I_FLAG && in.flags & 4;
    }

    // The error of an instruction, 0 if none.
    unsigned refusal(const mw_instr &in) const
    {
        switch (in.op) {
        case MW_I_COUNT:
            if (!(in.flags & 1))
                return in.a_high || in.a || in.b != l.tokens ? MW_HWERR_BOUNDS : 0;
            [[fallthrough]];
        case MW_I_ORDER:
            return in.a_high || uint64_t{in.a} + in.b > 1u << l.token_shift ? MW_HWERR_BOUNDS : 0;
        case MW_I_SIGNAL:
        case MW_I_FLAG:
            if (of_lists(in))
                return lists && l.local_experts ? 0 : MW_HWERR_BOUNDS;
            return !is_counted(PARAM_Events, in.imm) ||
                           (in.op == MW_I_FLAG && in.flags & 2 && !PARAM_RowRanges)
                       ? MW_HWERR_BOUNDS
                       : 0;
        case MW_I_PREFIX:
        case MW_I_FENCE:
            return 0;
        default:
            return MW_HWERR_INSTR;
        }
    }

    // The rule of token_order, by sums of squares.
    static std::vector<unsigned> by_rule(unsigned first, const std::vector<unsigned> &classes,
                                         unsigned hot)
    {
        const int64_t n = static_cast<int64_t>(classes.size());
        std::vector<int64_t> total(hot), acc(hot);
        std::vector<bool> gone(classes.size());
        for (unsigned c : classes)
            for (unsigned i = 0; i < hot; i++)
                total[i] += c >> i & 1;
        std::vector<unsigned> order;
        for (int64_t s = 0; s < n; s++) {
            size_t best = classes.size();
            int64_t least = 0;
            for (size_t t = 0; t < classes.size(); t++) {
                int64_t sum = 0;
                for (unsigned i = 0; i < hot; i++) {
                    const int64_t f = acc[i] - total[i] + (classes[t] >> i & 1 ? n : 0);
                    sum += f * f;
                }
                if (!gone[t] && (best == classes.size() || sum < least ||
                                 (sum == least && classes[t] < classes[best]))) {
                    best = t;
                    least = sum;
                }
            }
            gone[best] = true;
            order.push_back(first + static_cast<unsigned>(best));
            for (unsigned i = 0; i < hot; i++)
                acc[i] += (classes[best] >> i & 1 ? n : 0) - total[i];
        }
        return order;
    }

    // The GPUs of a token, as the unit sees them.
    uint32_t gpus_of(unsigned token) const
    {
        uint32_t seen = 0;
        for (unsigned j = 0; j < l.k; j++) {
            const unsigned e = mem.get<uint16_t>(rt + 128 * token + 2 * j);
            if (e < EXPERTS && map[e] >> 13 && local(e) < l.local_experts)
                seen |= 1u << gpu(e);
        }
        return seen;
    }

    // A number of `bits` bits that is too large for a number below `end`, a power of two, by one
    // bit. The unit must not lose that bit.
    uint32_t beyond(uint32_t end, unsigned bits)
    {
        unsigned lowest = 0;
        while (end >> (lowest + 1))
            lowest++;
        return below(end) | 1u << rng.between(lowest, bits - 1);
    }

    // ---- model ----------------------------------------------------------------------------------
    mw_header head(unsigned op, unsigned dst) const
    {
        mw_header h = header(op);
        h.src = l.port;
        h.dst = dst;
        h.epoch = static_cast<uint32_t>(cfg["epoch"]);
        return h;
    }

    void expect(const mw_instr &in)
    {
        if (in.op == MW_I_COUNT)
            return expect_counts(in.flags & 1, in.a, in.b);
        if (in.op == MW_I_PREFIX || in.op == MW_I_ORDER)
            return;
        if (of_lists(in)) {
            for (unsigned d = 0; d < N; d++)
                for (unsigned le = 0; le < l.local_experts; le++) {
                    mw_header h = head(MW_OP_FLAG, (l.port + d) % N);
                    h.stage = MW_FLAG_LIST;
                    h.addr = listed[h.dst][le] << 7 | le;
                    (d == 0 ? want_clo : want_cst).emplace_back(h);
                }
            return;
        }
        const bool alone = in.op == MW_I_FLAG && (in.flags & 1);
        for (unsigned d = in.op == MW_I_FENCE || alone ? 0 : 1; d < (alone ? 1 : N); d++) {
            mw_header h = head(in.op == MW_I_FLAG    ? MW_OP_FLAG
                               : in.op == MW_I_FENCE ? MW_OP_FENCE
                                                     : MW_OP_EVENT,
                               (l.port + d) % N);
            if (in.op != MW_I_FENCE)
                h.addr = in.imm;
            if (in.op == MW_I_FLAG && in.flags & 2) // and how many rows the GPU gets before it
                h.addr |= uint64_t{base[h.dst] + 1} << 5;
            (in.op == MW_I_SIGNAL ? want_events : d == 0 ? want_clo : want_cst).emplace_back(h);
        }
    }

    unsigned gpu(unsigned e) const { return map[e] >> 6 & 127; }
    unsigned local(unsigned e) const { return map[e] & 63; }

    void expect_counts(bool copies_kind, unsigned a, unsigned b)
    {
        uint32_t n[32][64] = {};
        for (unsigned i = a; i < a + b; i++) {
            uint32_t seen = 0;
            for (unsigned j = 0; j < l.k; j++) {
                const unsigned e = mem.get<uint16_t>(rt + 128 * i + 2 * j);
                if (e >= EXPERTS || !(map[e] >> 13) || local(e) >= l.local_experts)
                    continue;
                n[gpu(e)][copies_kind ? 0 : local(e)] += !copies_kind || !(seen >> gpu(e) & 1);
                seen |= 1u << gpu(e);
            }
        }
        for (unsigned d = 0; d < N; d++) {
            const unsigned q = (l.port + d) % N;
            const unsigned words = copies_kind ? N : l.local_experts,
                           most = MW_PAYLOAD_MAX_BYTES / 4;
            for (unsigned first = 0; first == 0 || first < words; first += most) {
                bytes payload(4 * std::min(words - first, most));
                for (unsigned i = 0; i < payload.size() / 4; i++)
                    memcpy(&payload[4 * i], copies_kind ? &n[i][0] : &n[q][first + i], 4);
                mw_header h = head(MW_OP_COUNTS, q);
                h.stage = copies_kind     ? MW_COUNTS_COPIES
                          : words <= most ? MW_COUNTS_ROWS
                          : first == 0    ? MW_COUNTS_ROWS_LOW
                                          : MW_COUNTS_ROWS_HIGH;
                h.len = static_cast<uint32_t>(payload.size());
                (d == 0 ? want_clo : want_cst).emplace_back(h, payload);
            }
        }
    }

    unsigned rt = 0, map[EXPERTS];
    uint64_t listed[N][64]; // rows of each list, by {GPU, number there}
    std::deque<expected> want_cst, want_clo, want_events;
};
} // namespace tb

#endif
