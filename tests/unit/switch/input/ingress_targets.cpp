// SPDX-License-Identifier: Apache-2.0
//
// The header and the targets of a packet at an input: each error, the outputs of each target, and
// duplicate targets. Also the outputs that a row keeps.

#include "ingress_bench.h"

#define CHECK(port) S(i_header__DOT__##port)
#define LOOKUP(port) S(i_lookup__DOT__##port)
#define LOOKUPS(field) bundle::take(LOOKUP(lookup_i), bundle::lookup::field)
#define SEEN(port) S(i_walk__DOT__i_seen__DOT__##port)
#define WALK(port) S(i_walk__DOT__##port)
#define WALK_PARSED(field) bundle::take(WALK(parsed_i), bundle::parsed::field)
#define WALK_BEFORE(field) bundle::take(WALK(before_o), bundle::before::field)
#define ROW(port) IN_ROW(i_row__DOT__##port)

namespace {
struct header_check : input {
    void check() override
    {
        const mw_header h = head(CHECK(head_i));
        const unsigned cls = CHECK(cls_i);
        const bool valid = CHECK(valid_i);
        const unsigned code = rules.check(h, cls, !CHECK(no_room_i));
        SAME(CHECK(code_o), valid ? code : 0);
        if (!valid || code)
            return;
        SAME(CHECK(dynamic_o), tb::has_targets(h.opcode) && !rules.follows(h));
        SAME(CHECK(follow_o), rules.follows(h));
        SAME(CHECK(group_o), tb::has_group(h.opcode));
        SAME(CHECK(pay_o), rules.pays(h));
        if (rules.pays(h))
            SAME(CHECK(flits_o), rules.payload_flits(h) - 1);
    }
};

using bundle::take;
// fields of found_o and listed_o, of row_i, and of lane_o
constexpr bundle::field SEL{0, N}, OUT{N, tb::log2_up(N)}, MASK{0, N}, VALID{N, 1}, MORE{0, 1},
    LAST{1, 1}, LANE_NO{2, tb::log2_up(LANES)};

struct target_lookup : input {
    unsigned lookup_next = 0;
    void check() override
    {
        const bool list = LOOKUP(listing_i), group = LOOKUP(grouped_i), held_i = LOOKUPS(held),
                   follow = LOOKUP(follow_i) && !list && !group;
        if (now > EXPERTS + 30) {
            const unsigned e = (held_i ? lookup_next : LOOKUPS(link)) >> 4;
            const mw_header h = head(LOOKUP(header_i));
            const unsigned g = h.target0, dst = h.dst;
            const uint32_t outs = list    ? rules.behind_expert(e)
                                  : group ? rules.behind_group(g, me)
                                  : follow
                                      ? take(LOOKUP(row_i), VALID) ? take(LOOKUP(row_i), MASK) : 0
                                      : rules.behind_port(dst);
            if (!follow || outs)
                SAME(take(LOOKUP(found_o), SEL), outs);
            SAME(LOOKUP(somewhere_o), outs != 0);
            if (outs)
                SAME(LOOKUP(allowed_o), !rules.reachable(outs, me));
            SAME(LOOKUP(port_good_o), !rules.reachable(rules.behind_port(dst), me));
            if (!list && (group || follow))
                SAME(LOOKUP(other_good_o), !rules.reachable(outs, me));
            SAME(LOOKUP(other_good_o) && list, false);
            SAME(LOOKUP(in_range_o), e < EXPERTS);
            if (e < EXPERTS)
                SAME(LOOKUP(reached_o), !rules.reachable(rules.behind_expert(e), me));
            if (rules.behind_expert(e))
                SAME(take(LOOKUP(found_o), OUT), rules.emap[e]);
            if (held_i) {
                SAME(take(LOOKUP(listed_o), SEL), rules.behind_expert(e));
                if (rules.behind_expert(e))
                    SAME(take(LOOKUP(listed_o), OUT), rules.emap[e]);
            }
        }
        if (LOOKUPS(next_we))
            lookup_next = LOOKUPS(next);
    }
};

struct target_walk : input {
    struct {
        unsigned left = 0, lane = LANES - 1, clear = 8;
        uint32_t found = 0;
        std::map<unsigned, unsigned> behind; // targets, by output
        std::set<unsigned> named;
    } walk;
    void check() override
    {
        const bool valid = WALK(valid_i), is_head = WALK_PARSED(head), list = WALK_PARSED(list),
                   dynamic = WALK(dynamic_i);
        const unsigned cnt = WALK(cnt_i), e = WALK(expert_i), o = take(WALK(found_i), OUT);
        const uint32_t sel = take(WALK(found_i), SEL);
        const bool listing = list || dynamic, listed = list || (dynamic && cnt != 1),
                   right = !is_head || !dynamic || (cnt >= 1 && cnt <= 16);
        SAME(WALK(clearing_o), walk.clear != 0);
        if (valid && (is_head || list) && right) {
            const bool more = list ? walk.left > 1 : dynamic && cnt > 1,
                       wait = is_head && listed && walk.clear;
            if (is_head) {
                walk.found = 0;
                walk.behind.clear();
                if (!wait)
                    walk.named.clear();
            }
            SAME(WALK(listing_o), listing);
            SAME(WALK(wait_o), wait);
            SAME(take(WALK(lane_o), MORE), more);
            SAME(take(WALK(lane_o), LANE_NO), walk.lane);
            SAME(take(WALK(lane_o), LAST), walk.lane == LANES - 1 || !more);
            SAME(WALK(mask_o), walk.found | sel);
            if (!wait) {
                SAME(WALK(twice_o), listed && walk.named.count(e));
                const unsigned before = listing && sel ? walk.behind[o] : 0;
                SAME(WALK_BEFORE(again), list && before);
                if (before)
                    SAME(WALK_BEFORE(earlier), before - 1);
                SAME(WALK(count_o), before);
                if (listed)
                    walk.named.insert(e);
                if (listing && sel)
                    walk.behind[o]++;
                walk.found |= sel;
            }
            if (list)
                walk.left--;
            else
                walk.left = cnt - 1;
        } else if (valid && is_head) {
            walk.found = 0;
        } else if (valid && !list && walk.found) {
            SAME(WALK(all_o), walk.found);
        }
        if (valid && (is_head || list))
            walk.lane = WALK(next_i) ? (walk.lane + 1) % LANES : LANES - 1;
        walk.clear -= walk.clear != 0;
        if (WALK(done_i) && listed)
            walk.clear = 8;
    }
};

#if PARAM_TargetListCache
struct row_outputs : input {
    struct {
        bool open = false, store = false, of_row = false, keep = false;
        unsigned outputs = 0, epoch = 0;
    } row;
    void check() override
    {
        if (row.epoch !=
            ROW(epoch_i)) // no row survives it, and a list that began before opens none
            row.open = row.of_row = false;
        row.epoch = ROW(epoch_i);
        SAME(take(ROW(row_o), VALID), row.open);
        if (row.open)
            SAME(take(ROW(row_o), MASK), row.outputs);
        bool follows = false;
        if (ROW(head_i)) {
            const mw_header h = head(ROW(header_i));
            row.store = tb::stores_row(h.opcode);
            row.of_row = row.store && h.stage != MW_STAGE_FLAT;
            row.keep = h.stage != MW_STAGE_GATE;
            follows = rules.follows(h);
            SAME(ROW(follow_i), follows);
        }
        if (row.of_row && ROW(accept_i)) {
            if (!follows)
                row.outputs = ROW(mask_i);
            row.open = row.keep;
        }
        if (ROW(lost_i) || (row.store && (ROW(reject_i) || ROW(wrong_i))))
            row.open = false;
    }
};
#endif

struct seen_table : input {
    std::set<unsigned> seen;
    unsigned seen_clear = 8;
    void check() override
    {
        const unsigned e = SEEN(expert_i);
        SAME(SEEN(clearing_o), seen_clear != 0);
        if (!seen_clear) {
            SAME(SEEN(seen_o), seen.count(e));
            if (SEEN(mark_i))
                seen.insert(e);
        }
        seen_clear -= seen_clear != 0;
        if (SEEN(clear_i)) {
            seen_clear = 8;
            seen.clear();
        }
    }
};
} // namespace

MODULE(header_check)
MODULE(target_lookup)
MODULE(target_walk)
#if PARAM_TargetListCache
MODULE(row_outputs)
#endif
MODULE(seen_table)
