// SPDX-License-Identifier: Apache-2.0
//
// The queues of an output: order and contents of packets and partial sums, the window of STORE, and
// the turns at shared RAMs. Of modules that exist once per input, the test checks those of input 0.

#include "egress_bench.h"

#define VOQ(port) IN(i_voq__DOT__##port)
#define VOQ_PUT(field) bundle::take(VOQ(put_i), bundle::queue_write::field)
#define VOQ_STEPS(field) bundle::take(VOQ(steps_i), bundle::store_steps::field)
#define VOQ_STATE(field) bundle::take(VOQ(state_o), bundle::queue_state::field)
#define VOQ_POP(field) bundle::take(VOQ(pop_i), bundle::queue_pop::field)
#define RAM(port) IN(i_voq__DOT__i_ram__DOT__##port)
#define PARTS(port) IN(i_part__DOT__##port)
#define WINDOW_OF(port) IN_WINDOW(i_window__DOT__##port)
#define TURNS(port) IN_TURNS(i_turns__DOT__##port)

namespace {
struct voq : output {
    using output::output;
    struct {
        int room = 0;
        bool missed = false, read = false, shared_read = false;
        packet_p free[3], filling, sending;
        unsigned sending_seq = 0;
        std::map<unsigned, packet_p> slots[3];
        std::deque<packet_p> waits[3];
        bytes must;
        bool must_bad = false, known = false;
        step word; // address of the cycle before
        packet_p word_to;
        std::map<unsigned, bytes> shared;
        bytes shared_must;
        unsigned shared_addr = 0;
        bool shared_we = false;
    } queue;
    void check() override
    {
        auto &q = queue;
        const unsigned region = dut.wr_region_i[0], cls = VOQ_POP(cls), limit = VOQ(limit_i),
                       oldest = static_cast<unsigned>(field(VOQ(win_i), 0, SEQ_W));
        auto &stores = q.waits[MW_CLS_STORE];
        const bool inside =
            !limit || (!stores.empty() && (stores[0]->seq + SEQS - oldest) % SEQS < limit);
        SAME(VOQ_STATE(has), (q.waits[0].empty() ? 0 : 1) | (stores.empty() || !inside ? 0 : 2) |
                                 (q.waits[2].empty() ? 0 : 4));
        SAME(VOQ(room_o), q.room > 0);
        if (WINDOW) {
            const bool first = !stores.empty() && stores[0]->seq == oldest;
            SAME(VOQ(here_o), first || (q.sending && !VOQ(sent_i) && q.sending_seq == oldest));
            SAME(VOQ_STATE(urgent), limit ? first : VOQ(scarce_i) && q.room <= 0);
        }
        // compares the data that was read
        if (q.read && q.known) {
            if (flit(IN(rdata)) != q.must)
                fail_msg("voq: a flit of class %u is not what was written", cls);
            SAME(bit(IN(rdata), 8 * F), q.must_bad);
        }
        if (!q.read)
            SAME(field(IN(rdata), 0, 8 * F + 1), 0);
        if (SHARED_RAM && q.shared_read && !q.shared_must.empty() &&
            tb::get(IN(shared_term)) != q.shared_must)
            fail_msg("voq: the queue of partials does not read what it wrote");
        if (!q.shared_read)
            SAME(field(IN(shared_term), 0, 8 * F + 1 + SHARED_RAM), 0);

        // a word is written at the address of its cycle, or of the previous cycle if it is late
        for (auto &f : q.free)
            if (!f)
                f = std::make_shared<packet>();
        step x;
        x.line = dut.wr_line_i[0];
        packet_p to = region == 3 ? q.filling : q.free[region];
        unsigned shared_addr = IN(waddr);
        bool shared_we = SHARED_RAM && (dut.part_we_i & 1);
        if (LATE) {
            std::swap(x, q.word);
            std::swap(to, q.word_to);
            std::swap(shared_addr, q.shared_addr);
            std::swap(shared_we, q.shared_we);
        }
        if (VOQ_PUT(wr) && shared_we) {
            q.shared[shared_addr] = tb::get(dut.wr_data_i[0]);
        } else if (VOQ_PUT(wr) && to) {
            auto &line = to->lines[x.line];
            line.first.resize(F);
            const bytes data = flit(dut.wr_data_i[0]);
            for (unsigned b = 0; b < F; b++)
                if (dut.wr_lane_i[0] >> b / 2 & 1)
                    line.first[b] = data[b];
            if (dut.wr_lane_i[0] >> (LANES - 1) & 1)
                line.second = bit(dut.wr_data_i[0], 8 * F);
        }
        if (VOQ(sent_i)) // the packet before the one taken in this cycle, of any class
            q.sending = nullptr;
        if (VOQ_POP(valid)) {
            assert_false(q.waits[cls].empty());
            packet_p p = q.waits[cls].front();
            q.waits[cls].pop_front();
            const unsigned desc_low = 6 + OFF_W;
            const unsigned more = static_cast<unsigned>(field(IN(desc), 1 + OFF_W, 4)),
                           slot = static_cast<unsigned>(field(IN(desc), desc_low, SLOT_W));
            SAME(field(IN(desc), desc_low + SLOT_W, STAMP_W), p->stamp);
            SAME(field(IN(desc), 5 + OFF_W, 1), p->dyn);
            if (p->dyn)
                SAME(more, p->more);
            SAME(field(IN(desc), OFF_W, 1), p->pay);
            if (p->pay)
                SAME(field(IN(desc), 0, OFF_W), p->len);
            q.slots[cls][slot] = p;
            if (cls == MW_CLS_STORE) {
                q.sending = p;
                q.sending_seq = p->seq;
            }
        }
        if (VOQ_PUT(push)) {
            const packet_p must = inputs[0].before.p;
            packet_p p = q.free[region];
            p->seq =
                region == MW_CLS_STORE ? static_cast<unsigned>(field(VOQ(win_i), SEQ_W, SEQ_W)) : 0;
            p->stamp = must->stamp;
            p->dyn = must->dyn;
            p->more = must->more;
            p->pay = must->pay;
            p->len = must->len;
            q.waits[region].push_back(p);
            q.free[region] = nullptr;
            if (region == MW_CLS_STORE)
                q.filling = p;
        }
        q.read = S(re_n) >> 1 & 1;
        if (q.read) {
            const unsigned line = S(rd_line), of = line < PF              ? MW_CLS_STORE
                                                   : line >= PF + PF / 2  ? MW_CLS_REQ
                                                   : line >= PF + HF + TF ? MW_CLS_CTRL
                                                                          : MW_CLS_STORE;
            packet_p p = q.slots[of][S(rd_slot)];
            assert_true(p != nullptr);
            auto at = p->lines.find(line);
            q.known = at != p->lines.end();
            assert_true(q.known || LATE);
            if (q.known) {
                q.must = at->second.first;
                q.must_bad = at->second.second;
            }
        }
        q.shared_read = SHARED_RAM && (dut.q_re_i & 1);
        if (q.shared_read)
            q.shared_must = q.shared.count(IN(raddr)) ? q.shared[IN(raddr)] : bytes();
        q.room += q.missed - VOQ_STEPS(issue) + VOQ(free_i);
        q.missed = VOQ_STEPS(arrive) && !VOQ_PUT(push);
        assert_in_range(q.room, 0, STORE_PKTS);
    }
};

struct gated_ram : output {
    using output::output;
    struct {
        std::map<unsigned, std::vector<int>> words; // bits, -1: never written
        std::vector<int> must = std::vector<int>(8 * F + 2, -1);
        bool read = SHARED_RAM; // then it is read in every cycle
    } ram;
    void check() override
    {
        const unsigned width = 8 * F + 1 + SHARED_RAM, lanes = width / 16;
        for (unsigned k = 0; k < width; k++)
            if (!ram.read)
                SAME(bit(RAM(rdata_o), k), 0);
            else if (ram.must[k] >= 0)
                SAME(bit(RAM(rdata_o), k), ram.must[k]);
        ram.read = RAM(re_i);
        const std::vector<int> unknown(width, -1);
        auto word = [&](unsigned a) -> std::vector<int> & {
            return ram.words.emplace(a, unknown).first->second;
        };
        if (ram.read)
            ram.must = RAM(we_i) && RAM(raddr_i) == RAM(waddr_i) ? unknown : word(RAM(raddr_i));
        if (RAM(we_i))
            for (unsigned k = 0; k < width; k++)
                if (RAM(lane_i) >> std::min(k / 16, lanes - 1) & 1)
                    word(RAM(waddr_i))[k] = bit(RAM(wdata_i), k);
    }
};

struct part_queue : output {
    using output::output;
    struct {
        unsigned come = 0, here = 0; // packets announced, begun; not read
        std::set<unsigned> taken;
    } part;
    void check() override
    {
        SAME(PARTS(has_o), part.here != 0);
        SAME(PARTS(full_o), (SHARED_RAM ? part.come : part.here) == PART_PKTS);
        part.come += PARTS(come_i) - PARTS(done_i);
        part.here += (PARTS(we_i) && PARTS(widx_i) == 0) - PARTS(done_i);
        if (PARTS(we_i))
            SAME(PARTS(waddr_o) % PF, PARTS(widx_i));
        if (PARTS(re_i))
            SAME(PARTS(raddr_o) % PF, PARTS(ridx_i));
    }
};

#if PARAM_Window
struct window : output {
    using output::output;
    struct {
        unsigned seq = 0, oldest = 0, load = STORE_PKTS;
    } win;
    void check() override
    {
        const bool limited = WINDOW_OF(limited_i), idle = win.seq == win.oldest;
        SAME(field(WINDOW_OF(win_o), SEQ_W, SEQ_W), win.seq);
        SAME(field(WINDOW_OF(win_o), 0, SEQ_W), win.oldest);
        SAME(WINDOW_OF(idle_o), idle);
        SAME(WINDOW_OF(may_o), !limited || win.load < STORE_PKTS);
        if (!limited)
            return;
        const unsigned moves = !WINDOW_OF(here_i) && !idle;
        win.load += WINDOW_OF(issue_i) - moves - WINDOW_OF(drop_i);
        win.seq = (win.seq + WINDOW_OF(push_i)) % SEQS;
        win.oldest = (win.oldest + moves) % SEQS;
        assert_in_range(win.load, 0, STORE_PKTS);
    }
};
#endif

#if PARAM_PartSharedRam
struct read_turns : output {
    using output::output;
    unsigned claims = 0, owes = 0;
    void check() override
    {
        const unsigned want = TURNS(want_i), reads = TURNS(read_i), done = TURNS(done_i),
                       able = TURNS(able_i), pop = TURNS(pop_i), busy = TURNS(reads_i);
        SAME(TURNS(claimed_o), claims);
        SAME(TURNS(may_o), claims & ~busy);
        SAME(reads & busy, 0); // never of one RAM in one cycle
        SAME(pop & claims, 0);
        const unsigned lost = TURNS(open_i) ? able & claims : 0;
        const unsigned next = (reads | (want & ~owes)) & ~done;
        owes = (owes | lost) & able & ~pop;
        claims = next;
    }
};
#endif
} // namespace

MODULE(voq)
MODULE(gated_ram)
MODULE(part_queue)
#if PARAM_Window
MODULE(window)
#endif
#if PARAM_PartSharedRam
MODULE(read_turns)
#endif
