// SPDX-License-Identifier: Apache-2.0
//
// The rules of the switch for a packet, from docs/design/architecture.md and
// docs/design/microarchitecture/switch.md alone: the copies that leave, or the error.
#ifndef SWITCH_RULES_H
#define SWITCH_RULES_H

#include "bench/packet.h"
#include "bench/values.h"

#include "errors.h"

#include <map>
#include <set>

#ifndef PARAM_TargetListCache
#define PARAM_TargetListCache 1
#endif
#ifndef PARAM_SwitchReductions
#define PARAM_SwitchReductions 0
#endif
#ifndef PARAM_TileReductions
#define PARAM_TileReductions 0
#endif

/// Valid lanes of a READY, LD or GRANT: home, and index of a row.
inline std::vector<std::pair<unsigned, unsigned>> lanes_of(const mw_header &h)
{
    const uint64_t upper = h.addr | uint64_t{h.target0} << 48;
    std::vector<std::pair<unsigned, unsigned>> lanes;
    for (unsigned i = 0; i < MW_LANES; i++) {
        const uint64_t lane = upper >> MW_LANE_BITS * i;
        if (lane >> 20 & 1)
            lanes.emplace_back(lane >> 15 & 31, lane & 0x7fff);
    }
    return lanes;
}

struct verdict {
    unsigned code = MW_HWERR_NONE; ///< why it is rejected; of one that is accepted, why its copies
                                   ///< are marked bad, if that is an error of the sender
    bool accepted = false;
    bool opens = false;   ///< a request that gets a row of results
    bool bad = false;     ///< the copies are marked bad
    unsigned decided = 0; ///< flits of it that the parser has seen by then, and targets
    unsigned looked_up = 0;
    std::map<unsigned, tb::wire> copies; ///< by output
    // An accepted packet of a row that the switch will open: its token (of all GPUs), whether it
    // has targets elsewhere, and some at home.
    bool entry = false, own = false;
    uint64_t token = 0;
    unsigned targets = 0;
    uint32_t outputs() const
    {
        uint32_t mask = 0;
        for (const auto &c : copies)
            mask |= 1u << c.first;
        return mask;
    }
};

struct switch_rules {
    unsigned n, f; ///< ports, bytes of a flit
    unsigned max_experts = 64, groups = 16, epoch = 0;
    bool multicast = true, target_list_cache = PARAM_TargetListCache;
    bool by_switch = false; ///< the switch opens reductions
    unsigned row_shift = 0, token_shift = 0, tokens_log2 = 0;
    std::vector<int> emap;                  ///< expert -> port, -1: not mapped
    std::vector<uint32_t> group, partition; ///< members; by source: outputs that it may reach

    struct open_row { // what the packets of a row without targets have
        bool open = false;
        uint32_t outputs = 0;
        unsigned targets = 0;
    };
    std::vector<open_row> row; // by source

    switch_rules(unsigned ports, unsigned flit)
        : n(ports), f(flit), emap(64, -1), group(16, 0), partition(ports, ~0u), row(ports)
    {
    }

    void set_epoch(unsigned e)
    {
        if (e != epoch)
            row.assign(n, {});
        epoch = e;
    }
    /// A packet that uses the targets of its source's row.
    bool follows(const mw_header &h) const
    {
        return target_list_cache && multicast && h.opcode == MW_OP_DYMULTIMEM_ST && !h.cnt &&
               h.stage != MW_STAGE_FLAT;
    }

    /// A packet that ends in the switch.
    bool is_ready(const mw_header &h) const { return by_switch && h.opcode == MW_OP_READY; }
    /// The error of its lanes.
    unsigned check_lanes(const mw_header &h, unsigned src) const
    {
        bool some = false, nowhere = false, barred = false, beyond = false;
        for (const auto &[home, index] : lanes_of(h)) {
            some = true;
            nowhere |= home >= n;
            barred |= home < n && home != src && !(reach(src) >> home & 1);
            beyond |= index >> tokens_log2 != 0 || index >> token_shift != 0;
        }
        return !some     ? MW_HWERR_LENGTH
               : nowhere ? MW_HWERR_UNMAPPED
               : barred  ? MW_HWERR_PARTITION
               : beyond  ? MW_HWERR_BOUNDS
                         : MW_HWERR_NONE;
    }
    unsigned head_flits() const { return MW_HEADER_BYTES / f; }
    unsigned payload_flits(const mw_header &h) const
    {
        return h.len ? static_cast<unsigned>((h.addr % f + h.len + f - 1) / f) : 0;
    }
    bool pays(const mw_header &h) const
    {
        return tb::has_payload(h.opcode) && h.cls == MW_CLS_STORE && h.len;
    }

    /// The first error of a header.
    unsigned check(const mw_header &h, unsigned link_cls, bool room = true) const
    {
        if (!(tb::may_ask(h.opcode) || is_ready(h)) || h.opcode >> 4 != link_cls ||
            h.cls != link_cls ||
            (!multicast && (tb::has_targets(h.opcode) || tb::has_group(h.opcode))))
            return MW_HWERR_OPCODE;
        if (link_cls == MW_CLS_REQ && !room)
            return MW_HWERR_WINDOW;
        if (link_cls == MW_CLS_REQ && !tb::reduces(h.dtype, h.redop))
            return MW_HWERR_REDUCTION;
        if (h.epoch != epoch)
            return MW_HWERR_EPOCH;
        if (link_cls == MW_CLS_REQ      ? h.len == 0
            : tb::has_payload(h.opcode) ? h.len > 128 || payload_flits(h) > 128 / f
                                        : h.len != 0)
            return MW_HWERR_LENGTH;
        if (tb::has_targets(h.opcode) && !follows(h) &&
            (h.cnt < 1 || h.cnt > (tb::is_rowsp(h.opcode) ? 1 : MW_TARGETS_MAX)))
            return MW_HWERR_TARGETS;
        return MW_HWERR_NONE;
    }

    uint32_t all() const { return static_cast<uint32_t>((UINT64_C(1) << n) - 1); }
    uint32_t reach(unsigned src) const { return partition[src] & ~(1u << src) & all(); }

    /// The output of an expert as a mask, 0: none.
    uint32_t behind_expert(unsigned e) const
    {
        return e < max_experts && emap[e] >= 0 ? 1u << emap[e] : 0;
    }
    uint32_t behind_group(unsigned g, unsigned src) const
    {
        return g < groups ? group[g] & ~(1u << src) & all() : 0;
    }
    uint32_t behind_port(unsigned p) const { return p < n ? 1u << p : 0; }
    unsigned reachable(uint32_t outputs, unsigned src) const
    {
        return !outputs                ? MW_HWERR_UNMAPPED
               : outputs & ~reach(src) ? MW_HWERR_PARTITION
                                       : MW_HWERR_NONE;
    }

    /// The next packet of `src` that reaches the parser complete, with its flits as on the link.
    verdict judge(const tb::wire &w, unsigned src, unsigned link_cls, bool room = true)
    {
        const verdict v = judge_alone(w, src, link_cls, room);
        const mw_header h = tb::header_of(w.data);
        open_row &r = row[src];
        const unsigned have = static_cast<unsigned>(w.flits());
        const bool lost = have < head_flits() || (have == head_flits() && w.err); // its header
        if (link_cls == MW_CLS_STORE && !v.accepted) {
            r.open = r.open && !lost && !tb::stores_row(h.opcode);
        } else if (v.accepted && tb::stores_row(h.opcode)) {
            if (h.stage != MW_STAGE_FLAT && h.cnt)
                r = {h.stage != MW_STAGE_GATE, v.outputs(), h.cnt};
            else if (h.stage == MW_STAGE_GATE)
                r.open = false;
            if (v.bad)
                r.open = false;
        }
        return v;
    }

    verdict judge_alone(const tb::wire &w, unsigned src, unsigned link_cls, bool room) const
    {
        verdict v;
        const unsigned hf = head_flits(), lanes = f / 2, have = static_cast<unsigned>(w.flits());
        v.decided = have < hf ? have : hf;
        if (have < hf) {
            v.code = MW_HWERR_LENGTH;
            return v;
        }
        const mw_header h = tb::header_of(w.data);
        v.opens = link_cls == MW_CLS_REQ && h.len && room;
        v.code = have == hf && w.err ? unsigned{MW_HWERR_LENGTH} : check(h, link_cls, room);
        if (v.code)
            return v;
        const bool reduce =
            by_switch && h.opcode == MW_OP_DYMULTIMEM_ST && h.stage == MW_STAGE_GATE && h.reduce;
        if (is_ready(h)) {
            v.code = check_lanes(h, src);
            if (!v.code && have != hf)
                v.code = MW_HWERR_LENGTH;
            v.accepted = !v.code;
            return v;
        }
        if (reduce && !h.len) {
            v.code = MW_HWERR_LENGTH;
            return v;
        }
        const bool follow = follows(h), dynamic = tb::has_targets(h.opcode) && !follow,
                   pay = pays(h);
        const unsigned count = dynamic ? h.cnt : 1;
        std::map<unsigned, std::vector<uint16_t>> lists;
        std::set<unsigned> named;
        for (unsigned t = 0; t < count; t++) {
            const unsigned flit = t ? hf + (t - 1) / lanes : hf - 1;
            const bool flit_ends = t == 0 || t + 1 == count || t % lanes == 0,
                       last = flit + 1 == have;
            v.decided = flit + 1;
            v.looked_up = t + 1;
            if (last && w.err) { // whatever its targets are
                v.code = MW_HWERR_LENGTH;
                return v;
            }
            uint16_t target = 0;
            memcpy(&target, &w.data[t ? MW_HEADER_BYTES + 2 * (t - 1) : 14], 2);
            const uint32_t outputs = follow    ? row[src].open ? row[src].outputs : 0
                                     : dynamic ? behind_expert(target >> 4)
                                     : tb::has_group(h.opcode) ? behind_group(h.target0, src)
                                                               : behind_port(h.dst);
            v.code = follow && !outputs ? unsigned{MW_HWERR_TARGETS} : reachable(outputs, src);
            if (!v.code && dynamic && !named.insert(target >> 4).second)
                v.code = MW_HWERR_DUPLICATE;
            if (!v.code && flit_ends && last != (t + 1 == count && !pay))
                v.code = MW_HWERR_LENGTH;
            if (v.code)
                return v;
            for (unsigned o = 0; o < n; o++)
                if (outputs >> o & 1)
                    lists[o].push_back(target);
        }
        v.accepted = true;
        v.entry = reduce;
        v.own = h.own;
        v.token = h.addr >> row_shift;
        v.targets = follow ? row[src].targets : h.cnt;
        const unsigned said = pay ? payload_flits(h) : 0, came = have - v.decided;
        v.bad = pay && (came != said || w.err);
        v.code = came != said ? MW_HWERR_LENGTH : MW_HWERR_NONE;
        for (const auto &l : lists) {
            tb::packet p;
            p.h = h;
            p.h.src = src;
            if (dynamic)
                p.set_targets(l.second);
            tb::wire c = tb::encode(p, f);
            const size_t head = c.data.size();
            c.data.resize(head + said * f);
            c.sure.resize(c.data.size(), false);
            c.err = v.bad;
            // a packet that is too short has its last flit at the end, and nothing between
            for (unsigned i = 0; i < said && i < came; i++) {
                const size_t to = head + (i + 1 == came ? said - 1 : i) * f;
                std::copy_n(w.at(v.decided + i), f, &c.data[to]);
                std::fill_n(c.sure.begin() + static_cast<long>(to), f, true);
            }
            v.copies[l.first] = c;
        }
        return v;
    }
};
#endif
