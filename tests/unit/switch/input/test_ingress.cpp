// SPDX-License-Identifier: Apache-2.0
//
// The whole input: each packet reaches the queues of its outputs, or is rejected with its error.
// Also: kept answers between packets of the link, and rows that end with their epoch.

#include "ingress_bench.h"

#define ERRORS(port) S(i_errors__DOT__##port)

namespace {
struct ingress : input {
    struct slot {
        std::vector<bytes> line = std::vector<bytes>(2 * PF, bytes(F));
        std::vector<bool> bad = std::vector<bool>(2 * PF);
        unsigned dyn = 0, more = 0, pay = 0, len = 0, stamp = 0;
    };
    struct pushed {
        std::shared_ptr<slot> s;
        tb::wire must;
        unsigned cls, out;
        mw_header h;
        uint64_t due;
    };
    struct place {
        std::shared_ptr<slot> s;
        unsigned line = 0;
    };
    std::shared_ptr<slot> free_slot[32][3], filled[32];
    place places[2][32];
    std::deque<pushed> wanted;
    unsigned payload_code = 0, copies_seen = 0;
    bool parser_error = false;
    struct partial {
        unsigned to, idx, flags;
        bytes data;
    };
    std::deque<partial> partials;
    std::multiset<unsigned> link_codes;
    unsigned part_at[2] = {0, 0};

    // Required result of a flit of the partial sum on the link.
    void expect_link()
    {
        if (queue.empty())
            return;
        const outgoing &o = queue.front();
        if (!at && !o.enters && o.cls < MW_CLS_REQ)
            link_codes.insert(MW_HWERR_CREDIT);
        if (o.cls != MW_CLS_PART)
            return;
        const mw_header h = tb::header_of(o.w.data);
        const bool nowhere = h.dst == me || h.dst >= N, refused = dut.part_full_i >> h.dst & 1;
        if (!at) {
            if (h.opcode != MW_OP_PARTIAL)
                link_codes.insert(MW_HWERR_OPCODE);
            else if (h.epoch != rules.epoch)
                link_codes.insert(MW_HWERR_EPOCH);
            else if (nowhere)
                link_codes.insert(MW_HWERR_UNMAPPED);
            if (o.w.flits() <= HF)
                link_codes.insert(MW_HWERR_LENGTH);
            else if (!nowhere && refused)
                link_codes.insert(MW_HWERR_CREDIT);
        }
        if (at < HF || at >= HF + PF || nowhere || refused)
            return;
        part_comes -= at == HF;
        const bool last = o.w.last(at), poison = h.poison || h.epoch != rules.epoch ||
                                                 h.opcode != MW_OP_PARTIAL || (last && o.w.err);
        const bytes data(o.w.at(at), o.w.at(at) + F);
        partials.push_back({1u << h.dst, static_cast<unsigned>(at) - HF, poison * 2u + last, data});
    }
    void see_partial(unsigned to, unsigned idx, unsigned flags, const bytes &data)
    {
        assert_false(partials.empty());
        const partial &p = partials.front();
        SAME(to, p.to);
        SAME(idx, p.idx);
        SAME(flags, p.flags);
        assert_true(data == p.data);
        partials.pop_front();
    }

    void check() override
    {
        if (!free_slot[0][0])
            for (unsigned o = 0; o < N; o++)
                for (auto &s : free_slot[o])
                    s = std::make_shared<slot>();
        expect_link();

        // Errors of the parser come in the order of packets. A rejected request is opened in the
        // cycle before its error, or with it.
        bool late_open = false;
        outgoing last;
        if (dut.err_valid_o) {
            const unsigned code = dut.err_code_o;
            if (!parser_error) {
                if (!link_codes.count(code))
                    fail_msg("ingress: error %u, which nothing on the link has", code);
                link_codes.erase(link_codes.find(code));
            } else if (payload_code) {
                SAME(code, payload_code);
                payload_code = 0;
            } else {
                assert_false(inside.empty());
                const outgoing &o = inside.front();
                SAME(o.v.accepted, false);
                SAME(code, o.v.code);
                late_open = o.v.opens;
                last = o;
                inside.pop_front();
                decided++;
            }
        }
        parser_error = ERRORS(reject_i) || ERRORS(cut_i) || (ERRORS(end_i) && ERRORS(wrong_i));

        // addresses: the words come with them or a cycle later
        place here[32];
        const unsigned parts = dut.part_we_o, region = dut.wr_region_o;
        pauses += SHARED_RAM && parts;
        for (unsigned o = 0; o < N; o++)
            if (!(SHARED_RAM && parts))
                here[o] = {region == 3 ? filled[o] : free_slot[o][region], dut.wr_line_o};
        std::copy(here, here + N, places[LATE ? now & 1 : 0]);
        part_at[LATE ? now & 1 : 0] = SHARED_RAM && parts ? parts << 8 | dut.part_idx_o : 0;
        const place *to = places[LATE ? ~now & 1 : 0];
        const unsigned part_to = part_at[LATE ? ~now & 1 : 0];
        const bytes word = flit(dut.wr_data_o);
        if (SHARED_RAM && part_to) {
            SAME(dut.wr_valid_o, part_to >> 8);
            see_partial(part_to >> 8, part_to & 255,
                        bit(dut.wr_data_o, 8 * F) + 2 * bit(dut.wr_data_o, 8 * F + SHARED_RAM),
                        word);
        } else {
            for (unsigned o = 0; o < N; o++) {
                if (!(dut.wr_valid_o >> o & 1))
                    continue;
                assert_true(to[o].s != nullptr);
                for (unsigned l = 0; l < F; l++)
                    if (dut.wr_lane_o >> l / 2 & 1)
                        to[o].s->line[to[o].line][l] = word[l];
                to[o].s->bad[to[o].line] = bit(dut.wr_data_o, 8 * F);
            }
        }
        if (!SHARED_RAM && parts)
            see_partial(parts, dut.part_idx_o,
                        bit(dut.part_data_o, 8 * F) + 2 * bit(dut.part_data_o, 8 * F + 1),
                        flit(dut.part_data_o));

        for (unsigned o = 0; o < N; o++)
            if (dut.desc_we_o >> o & 1) {
                slot &s = *free_slot[o][region];
                s.dyn = dut.desc_dyn_o;
                s.more = dut.desc_more_o;
                s.pay = dut.desc_pay_o;
                s.len = dut.desc_len_o;
                s.stamp = dut.desc_stamp_o;
            }
        if (dut.push_o) {
            const bool of_kept = keeps && dut.answer_kept_o;
            if (of_kept)
                SAME(kept.at, 0);
            else
                assert_false(inside.empty());
            outgoing o = of_kept ? kept.o : inside.front();
            if (of_kept) {
                o.began = now;
            } else {
                inside.pop_front();
                decided++;
            }
            if (!o.v.accepted)
                fail_msg("ingress: a packet was accepted that has error %u", o.v.code);
            SAME(dut.push_o, o.v.outputs());
            SAME(region, o.cls);
            // One target: with the header's last flit. A list's first flit is examined in the next
            // cycle. Then there is a target in every cycle, except while a partial that came after
            // the list is written to the same RAMs.
            if (o.idle)
                SAME(now, o.began + HF - 1 + (o.v.looked_up > 1 ? o.v.looked_up : 0) + pauses -
                              o.pauses);
            payload_code = o.v.code;
            const unsigned flits = rules.pays(o.h) ? rules.payload_flits(o.h) : 0;
            for (const auto &c : o.v.copies) {
                auto &s = free_slot[c.first][o.cls];
                wanted.push_back({s, c.second, o.cls, c.first, o.h, now + flits + 4});
                if (o.cls == MW_CLS_STORE)
                    filled[c.first] = s;
                const unsigned count = tb::header_of(c.second.data).cnt;
                SAME(s->dyn, tb::has_targets(o.h.opcode) && !rules.follows(o.h));
                if (s->dyn)
                    SAME(s->more, count - 1);
                SAME(s->pay, flits != 0);
                if (flits)
                    SAME(s->len, flits - 1);
                if (STAMP_W)
                    SAME(s->stamp, o.began & STAMPS);
                s = std::make_shared<slot>();
            }
            if (o.v.opens)
                opened(o, dut.push_o);
        } else if (late_open) {
            opened(last, 0);
        } else if (dut.open_valid_o) {
            assert_false(inside.empty());
            SAME(inside.front().v.accepted, false);
            SAME(inside.front().v.opens, true);
            opened(inside.front(), 0);
            inside.front().v.opens = false;
        }
        unsigned begun = 0;
        for (const outgoing &o : inside)
            begun += o.began == now;
        if (dut.idle_o)
            SAME(inside.size(), begun);
        if (dut.part_come_o) {
            SAME(dut.part_come_o, 1u << tb::header_of(queue.front().w.data).dst);
            SAME(at, HF);
        }
        part_comes += dut.part_come_o != 0;
        while (!wanted.empty() && wanted.front().due <= now) {
            compare(wanted.front());
            wanted.pop_front();
        }
    }
    uint64_t part_comes = 0;

    void check_end() override
    {
        assert_int_equal(inside.size(), 0);
        assert_int_equal(partials.size(), 0);
        assert_int_equal(part_comes, 0);
        assert_int_equal(held[MW_CLS_CTRL], CTRL_PKTS);
        assert_int_equal(held[MW_CLS_STORE], STORE_PKTS - (keeps ? SHARE : 0));
        assert_int_equal(kept.taken, 0);
    }

    void opened(const outgoing &o, unsigned mask)
    {
        SAME(dut.open_valid_o, 1);
        SAME(dut.open_mask_o, mask);
        SAME(dut.open_bytes_o, o.h.len - 1);
        SAME(dut.open_red_o, (o.h.dtype << 3 | o.h.redop) & ((1 << RED_BITS) - 1));
        if (STAMP_W)
            SAME(dut.desc_stamp_o, o.began & STAMPS);
    }

    void compare(const pushed &p)
    {
        const unsigned base = PF + (p.cls == MW_CLS_REQ    ? PF / 2
                                    : p.cls == MW_CLS_CTRL ? HF + TF
                                                           : 0),
                       count = p.s->dyn ? p.s->more + 1 : 1;
        const unsigned front = HF + (2 * (count - 1) + F - 1) / F;
        bytes got;
        for (unsigned i = 0; i < front; i++)
            got.insert(got.end(), p.s->line[base + i].begin(), p.s->line[base + i].end());
        if (p.s->dyn) {
            mw_header h = tb::header_of(got);
            SAME(h.cnt, 0); // the output fills it in
            uint64_t half[2];
            h.cnt = count;
            mw_header_pack(&h, half);
            memcpy(got.data(), half, 16);
        }
        for (unsigned i = 0; p.s->pay && i <= p.s->len; i++)
            got.insert(got.end(), p.s->line[i].begin(), p.s->line[i].end());
        tb::assert_wire(p.must, got, "ingress");
        if (p.s->pay)
            SAME(p.s->bad[p.s->len], p.must.err);
        copies_seen++;
    }
};
} // namespace

MODULE(ingress)

// Each leaves complete and once, in turns with packets of the link, and takes a credit of its
// class.
TEST_IF(PARAM_MergeKeep, kept_packets)
{
    for (unsigned i = 0; i < 4; i++) {
        started<ingress> b;
        b.keep();
        b.run(CYCLES);
        assert_true(b.sent > 200);
        assert_true(b.kept.sent > 200);
    }
}

// The epoch changes in each cycle around a list and around a packet without one. No packet gets the
// outputs of another epoch.
TEST_IF(PARAM_TargetListCache, no_row_outlives_its_epoch)
{
    started<ingress> b;
    const std::vector<uint16_t> list = b.reached(16);
    assert_true(list.size() > 1);
    auto store = [&](unsigned epoch, size_t targets, unsigned flits) {
        tb::packet p;
        p.h = tb::header(MW_OP_DYMULTIMEM_ST);
        p.h.epoch = epoch;
        p.h.len = flits * F;
        p.set_targets({list.begin(), list.begin() + static_cast<long>(targets)});
        return p;
    };
    auto settle = [&] {
        b.until("the input to be empty", 1000,
                [&] { return b.queue.empty() && b.idle && !b.owed[MW_CLS_STORE]; });
        b.cycles(8);
    };
    for (size_t targets : {size_t{1}, size_t{2}, list.size()}) {
        for (unsigned flits : {0u, 1u, 3u}) {
            const unsigned whole = static_cast<unsigned>(HF + (2 * (targets - 1) + F - 1) / F +
                                                         flits); // of the list's packet
            // a list of the previous epoch, directly followed by a packet without targets
            for (unsigned at = 0; at < whole + HF; at++) {
                const unsigned before = b.rules.epoch, then = (before + 1 + b.below(3)) % 4;
                b.epoch_then = then;
                b.epoch_at = b.now + at;
                if (at < HF)
                    b.rules.set_epoch(then);
                assert_int_equal(b.offer(store(before, targets, flits)),
                                 at < HF ? MW_HWERR_EPOCH : MW_HWERR_NONE);
                b.rules.set_epoch(then);
                assert_int_equal(b.offer(store(then, 0, 1)), MW_HWERR_TARGETS);
                settle();
            }
            for (unsigned at = 0; at < HF; at++) {
                // a list of the new epoch, which starts in its header, opens a row
                b.epoch_then = (b.rules.epoch + 1) % 4;
                b.epoch_at = b.now + at;
                b.rules.set_epoch(b.epoch_then);
                assert_int_equal(b.offer(store(b.epoch_then, targets, flits)), MW_HWERR_NONE);
                assert_int_equal(b.offer(store(b.epoch_then, 0, 1)), MW_HWERR_NONE);
                settle();
                // the row is closed for a header in which the next epoch starts
                b.epoch_then = (b.epoch_then + 1) % 4;
                b.epoch_at = b.now + at;
                b.rules.set_epoch(b.epoch_then);
                assert_int_equal(b.offer(store(b.epoch_then, 0, 1)), MW_HWERR_TARGETS);
                settle();
            }
        }
    }
    b.inside_done();
}
