// SPDX-License-Identifier: Apache-2.0
//
// What an input writes: rows that requests open, copies of packets, and partial sums. Where packets
// and partials share RAMs, their writes take turns.

#include "ingress_bench.h"

#define OPEN(port) S(i_open__DOT__##port)
#define COPY(port) S(i_copies__DOT__##port)
#define COPY_FLIT(field) bundle::take(COPY(flit_i), bundle::link::field)
#define COPY_PARSED(field) bundle::take(COPY(parsed_i), bundle::parsed::field)
#define COPY_BEFORE(field) bundle::take(COPY(before_i), bundle::before::field)
#define PART(port) S(i_partials__DOT__##port)
#define TURNS(port) IN_SHARED(i_turns__DOT__##port)

namespace {
struct request_open : input {
    struct {
        mw_header h = {};
        bool first = false, full = false, late = false;
        uint64_t opened = 0;
    } open;
    void check() override
    {
        const bool is_head = OPEN(head_i), decides = OPEN(decide_i), more = OPEN(more_i),
                   bad = OPEN(bad_i);
        SAME(OPEN(late_o), open.late);
        if (open.first) // after the first flit, which shows a late push
            open.full = OPEN(full_i);
        if (is_head && !open.late)
            open.h = head(OPEN(now_i));
        if (is_head || decides)
            SAME(OPEN(no_room_o), HF == 2 ? open.full : OPEN(full_i));
        const bool room = HF == 2 ? !open.full : !OPEN(full_i),
                   opens = decides && open.h.len && room;
        SAME(OPEN(valid_o), open.late || (opens && !more));
        if (OPEN(valid_o)) {
            open.opened++;
            SAME(OPEN(bytes_o), open.h.len - 1);
            SAME(OPEN(red_o), (open.h.dtype << 3 | open.h.redop) & ((1 << RED_BITS) - 1));
        }
        open.late = opens && more && bad;
        open.first = OPEN(first_i);
    }
};

// fields of wr_o, above its word
constexpr bundle::field LANE{8 * F + 1 + SHARED_RAM, LANES},
    LINE{LANE.at + LANES, tb::log2_up(PF) + 1}, REGION{LINE.at + LINE.width, 2};

struct copy_write : input {
    struct {
        unsigned flits = 0, count = 0;
    } copy;
    void check() override
    {
        const bool valid = COPY_FLIT(valid), last = COPY_FLIT(last), begins = COPY_PARSED(first),
                   is_head = COPY_PARSED(head), list = COPY_PARSED(list), pay = COPY_PARSED(pay);
        const unsigned cls = COPY_FLIT(cls), earlier = COPY_BEFORE(earlier);
        constexpr unsigned
            REQ_LINES = PF / 2,
            OTHER = PF; // lines: payload, then header and targets, those of REQ in the upper half
        const unsigned request = cls == MW_CLS_REQ ? REQ_LINES : 0;
        bytes in = flit(COPY(flit_i)), must = in, out = flit(COPY(wr_o));
        unsigned to = 0, line = 0, lanes = (1u << LANES) - 1, desc = 0;
        bool bad = false;
        if (begins || is_head) {
            to = valid && !COPY(refuse_i) ? ALL : 0;
            line = OTHER + request + (cls == MW_CLS_CTRL ? HF + TF : 0) + (HF == 2 && is_head);
            desc = is_head && COPY(described_i) ? COPY(sel_i) : 0;
            if (begins) {
                must[1] = static_cast<uint8_t>((must[1] & 0xe0) | me);
                if (tb::has_targets(in[0] & 63)) {
                    must[5] &= 0x01; // the count, bits 45:41
                    must[5] |= in[5] & 0xc0;
                }
            }
        } else if (list) {
            to = valid ? COPY(list_sel_i) : 0;
            desc = to;
            const unsigned target = COPY(target_i);
            line = OTHER + request + HF - 1;
            lanes = 1u << (LANES - 1);
            unsigned lane = LANES - 1;
            if (COPY_BEFORE(again)) {
                lane = earlier % LANES;
                line = OTHER + request + HF + earlier / LANES;
                lanes = lane ? 1u << lane : (1u << LANES) - 1;
            }
            std::fill(must.begin(), must.end(), 0);
            must[2 * lane] = static_cast<uint8_t>(target);
            must[2 * lane + 1] = static_cast<uint8_t>(target >> 8);
        } else if (pay) {
            to = valid ? COPY(all_i) : 0;
            line = last ? copy.flits : copy.count;
            bad = COPY_FLIT(err) || !last || copy.count != copy.flits;
        }
        const bool ends = valid && pay && (last || copy.count == copy.flits);
        SAME(COPY(wr_valid_o), to);
        SAME(COPY(desc_we_o), desc);
        SAME(COPY(end_o), ends);
        if (ends)
            SAME(COPY(wrong_o), !last || copy.count != copy.flits);
        if (to) {
            SAME(bundle::take(COPY(wr_o), REGION), pay ? 3 : cls);
            SAME(bundle::take(COPY(wr_o), LINE), line);
            SAME(bundle::take(COPY(wr_o), LANE), lanes);
            for (unsigned l = 0; l < LANES; l++)
                if (lanes >> l & 1)
                    SAME(lane_of(out, l), lane_of(must, l));
            if (!pay || ends)
                SAME(bit(COPY(wr_o), 8 * F), bad);
        }
        if (desc)
            SAME(COPY(desc_len_o), is_head ? COPY(flits_i) : copy.flits);
        if (valid && is_head) {
            copy.flits = COPY(flits_i);
            copy.count = 0;
        } else if (valid && pay) {
            copy.count++;
        }
    }
};

struct part_entry : input {
    struct {
        unsigned flit = 0;
        mw_header h = {};
        bool drop = false, poison = false;
    } part;
    void check() override
    {
        const bool valid = PART(valid_i), last = PART(last_i),
                   mine = valid && PART(cls_i) == MW_CLS_PART;
        const bytes in = flit(PART(data_i));
        const unsigned full = PART(full_i);
        unsigned code = MW_HWERR_NONE, we = 0;
        if (valid && part.flit == 0) {
            part.h = tb::header_of(in);
            part.poison =
                part.h.poison || part.h.epoch != rules.epoch || part.h.opcode != MW_OP_PARTIAL;
            part.drop = part.h.dst == me || part.h.dst >= N;
            if (mine)
                code = part.h.opcode != MW_OP_PARTIAL ? MW_HWERR_OPCODE
                       : part.h.epoch != rules.epoch  ? MW_HWERR_EPOCH
                       : part.drop                    ? MW_HWERR_UNMAPPED
                                                      : MW_HWERR_NONE;
        }
        if (mine && part.flit < HF && last)
            code = MW_HWERR_LENGTH;
        if (mine && part.flit >= HF && part.flit < HF + PF) {
            if (part.flit == HF && !part.drop && full >> part.h.dst & 1) {
                code = MW_HWERR_CREDIT;
                part.drop = true;
            }
            if (!part.drop)
                we = 1u << part.h.dst;
        }
        SAME(PART(code_o), code);
        SAME(PART(we_o), we);
        if (we) {
            SAME(PART(idx_o), part.flit - HF);
            assert_true(flit(PART(data_o)) == in);
            SAME(bit(PART(data_o), 8 * F), last);
            SAME(bit(PART(data_o), 8 * F + 1), part.poison || (last && PART(err_i)));
        }
        if (valid)
            part.flit = last ? 0 : part.flit + 1;
    }
};

#if PARAM_PartSharedRam
struct write_turns : input {
    struct {
        struct word {
            unsigned we, idx;
            bytes data;
        };
        std::deque<word> words;
        bool in_payload = false, late_pays = false;
        unsigned late_valid = 0, late_lane = 0;
        bytes late_data;
        unsigned turns = 0;
    } turn;
    void check() override
    {
        auto &q = turn.words;
        const bool pause = !q.empty() && !turn.in_payload;
        const unsigned copies = TURNS(copy_valid_i);
        bytes word = tb::get(TURNS(copy_data_i));
        unsigned lane = TURNS(copy_lane_i), valid = copies;
        SAME(TURNS(pause_o), pause);
        SAME(TURNS(part_we_o), pause ? q.front().we : 0);
        SAME(TURNS(idle_o), q.empty() && !TURNS(we_i));
        if (pause) {
            turn.turns++;
            SAME(copies, 0);
            SAME(TURNS(part_idx_o), q.front().idx);
            valid = q.front().we;
            lane = (1u << LANES) - 1;
            word = q.front().data;
            q.pop_front();
        }
        if (LATE) {
            std::swap(valid, turn.late_valid);
            std::swap(lane, turn.late_lane);
            std::swap(word, turn.late_data);
        }
        SAME(TURNS(wr_valid_o), valid);
        if (valid) {
            SAME(TURNS(wr_lane_o), lane);
            bytes out = tb::get(TURNS(wr_data_o));
            word.resize(out.size());
            if (out != word)
                fail_msg("write_turns: not the word that was to be written");
        }
        if (TURNS(we_i))
            q.push_back({TURNS(we_i), TURNS(idx_i), tb::get(TURNS(data_i))});
        turn.in_payload = TURNS(pay_i);
        assert_true(q.size() <= PF + 1);
    }
};
#endif
} // namespace

MODULE(request_open)
MODULE(copy_write)
MODULE(part_entry)
#if PARAM_PartSharedRam
MODULE(write_turns)
#endif
