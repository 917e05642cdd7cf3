// SPDX-License-Identifier: Apache-2.0
//
// What enters the queue of an input: packets with credit, and packets beyond it. Also the order and
// depth of the queue, and the fields at its head.

#include "ingress_bench.h"

#define GATE(port) S(i_gate__DOT__##port)
#define FIFO(port) S(i_queue__DOT__i_queue__DOT__##port)
#define QUEUE_IN(field) bundle::take(QUEUE(in_i), bundle::link::field)
#define QUEUE_LOOKUP(field) bundle::take(QUEUE(lookup_o), bundle::lookup::field)

namespace {
struct credit_gate : input {
    struct {
        unsigned held[2] = {CTRL_PKTS, STORE_PKTS}, flit = 0;
        bool open = false;
    } gate;
    void check() override
    {
        const bool valid = GATE(valid_i), last = GATE(last_i), err = GATE(err_i),
                   almost_full = GATE(almost_full_i), first = gate.flit == 0;
        const unsigned cls = GATE(cls_i), crd = GATE(crd_i);
        const bool may =
            first ? !almost_full && (cls == MW_CLS_REQ || (cls < MW_CLS_REQ && gate.held[cls]))
                  : gate.open;
        const bool cut = !first && almost_full && !last;
        SAME(GATE(first_o), first);
        SAME(GATE(second_o), HF == 2 && gate.flit == 1);
        SAME(GATE(enters_o), valid && may);
        if (valid && may) {
            SAME(GATE(last_o), last || cut);
            SAME(GATE(err_o), err || cut);
        }
        SAME(GATE(code_o), !valid || !first || may || cls == MW_CLS_PART ? MW_HWERR_NONE
                           : cls == MW_CLS_REQ                           ? MW_HWERR_WINDOW
                                                                         : MW_HWERR_CREDIT);
        SAME(GATE(scarce_o), gate.held[MW_CLS_STORE] < (STORE_PKTS + 3) / 4);
        if (valid) {
            if (first && may && cls < MW_CLS_REQ)
                gate.held[cls]--;
            gate.open = may && !cut;
            gate.flit = last ? 0 : gate.flit + 1;
        }
        gate.held[0] += crd & 1;
        gate.held[1] += crd >> 1;
    }
};

struct flit_queue : input {
    struct {
        struct word {
            bytes data;
            uint64_t came;
            bool soon; // in the register from the next cycle on
        };
        std::deque<word> words;
        bytes load;
        bool loads = false;
        size_t before = 0;
        uint64_t most = 0;
    } fifo;
    void check() override
    {
        auto &q = fifo.words;
        const bool comes = FIFO(valid_i), direct = FIFO(direct_i), shown = FIFO(valid_o),
                   take = FIFO(take_i), load = FIFO(load_o), almost_full = FIFO(almost_full_o);
        const bytes in = tb::get(FIFO(data_i)), out = tb::get(FIFO(data_o)),
                    reg = tb::get(FIFO(held_o));
        constexpr unsigned most =
            (STORE_PKTS + 1) * (HF + TF + PF) + CTRL_PKTS * HF + OPEN_ROWS * (HF + TF);
        unsigned depth = 512;
        while (depth < most + 5)
            depth *= 2;
        SAME(FIFO(empty_o), q.empty());
        if (q.empty())
            SAME(shown, comes && direct);
        else if (q.front().soon || q.front().came + 3 <= now)
            SAME(shown, true);
        SAME(FIFO(held_valid_o), shown && !q.empty());
        if (shown && out != (q.empty() ? in : q.front().data))
            fail_msg("flit_queue: not the flit that came");
        if (fifo.loads && (reg != fifo.load || !FIFO(held_valid_o)))
            fail_msg("flit_queue: not what was loaded");
        if (almost_full)
            assert_true(q.size() + 5 >= depth);
        if (q.size() >= depth && fifo.before >= depth)
            assert_true(almost_full);
        assert_true(q.size() <= depth + 1);
        fifo.loads = load;
        fifo.load = tb::get(FIFO(load_data_o));
        fifo.before = q.size();
        fifo.most = std::max<uint64_t>(fifo.most, q.size());
        if (comes)
            q.push_back({in, now, q.empty() || (q.size() == 1 && take)});
        if (take)
            q.pop_front();
    }
};

struct queue_head : input {
    struct {
        struct word {
            bytes data;
            bool head, last, err;
            unsigned cls, stamp;
        };
        std::deque<word> words;
        unsigned stamp = 0, next = 0;
        bool loads = false;
    } heads;
    void check() override
    {
        auto &q = heads.words;
        const bool comes = QUEUE_IN(valid), shown = QUEUE_FLIT(valid), list = QUEUE(list_i),
                   begins = QUEUE(begin_i);
        if (comes)
            q.push_back({flit(QUEUE(in_i)), bool(QUEUE(head_i)), bool(QUEUE_IN(last)),
                         bool(QUEUE_IN(err)), QUEUE_IN(cls), QUEUE(now_i)});
        const bool straight = comes && q.size() == 1;
        SAME(QUEUE_LOOKUP(held), shown && !straight);
        SAME(lane_of(flit(QUEUE(in_i)), LANES - 1), QUEUE_LOOKUP(link));
        if (shown) {
            assert_false(q.empty());
            const auto &w = q.front();
            assert_true(w.data == flit(QUEUE(flit_o)));
            SAME(QUEUE_FLIT(last), w.last);
            SAME(QUEUE_FLIT(err), w.err);
            SAME(QUEUE_FLIT(cls), w.cls);
            if (list)
                SAME(QUEUE(target_o), lane_of(w.data, QUEUE(lane_i)));
            else if (w.head)
                SAME(QUEUE(target_o), lane_of(w.data, LANES - 1));
            if (heads.loads)
                SAME(QUEUE(target_o), heads.next);
            if (begins && !QUEUE(late_i))
                SAME(QUEUE(stamp_o), w.stamp);
        }
        if (STAMP_W && (!begins || QUEUE(late_i)) && shown)
            SAME(QUEUE(stamp_o), heads.stamp);
        if (shown && begins)
            heads.stamp = q.front().stamp;
        heads.loads = QUEUE_LOOKUP(next_we) && !(list && QUEUE(take_i) && !FIFO(load_o));
        heads.next = QUEUE_LOOKUP(next);
        if (QUEUE(take_i))
            q.pop_front();
    }
};
} // namespace

MODULE(queue_head)

// Packets come faster than they are rejected, from a sender that exceeds window and length. The
// queue takes what it has room for, and the rest is refused with a code. Nothing is lost without a
// report, and later packets are right.
template <class Module> static void flood(bool requests)
{
    started<Module> b;
    std::vector<uint16_t> list = b.reached(15);
    list.push_back(list[0]); // a duplicate, found at the end of the list
    b.flooding = true;
    while (b.now < 20000) {
        tb::packet p;
        p.h = tb::header(requests ? MW_OP_DYMULTIMEM_LD_REDUCE : MW_OP_DYMULTIMEM_ST);
        p.h.epoch = b.rules.epoch;
        p.h.len = requests;
        p.set_targets(list);
        const unsigned cls = p.h.cls;
        if (!requests && b.held[cls] == 1) // the parser works on the lists meanwhile
            p.cut = 250;
        if (requests || b.held[cls]) {
            if (!requests)
                b.held[cls]--;
            b.queue.push_back({tb::encode(p, F, &b.rng), cls, true, {}, 0, false, p.h});
        }
        b.cycle();
        b.until("the packet to leave", 1000, [&] { return b.queue.empty(); });
        b.inside.clear();
    }
    b.until("the input to be empty", 20000, [&] { return b.dut.idle_o && !b.level; });
    assert_true(b.codes[MW_HWERR_DUPLICATE] > 10);
    assert_true(requests ? b.codes[MW_HWERR_WINDOW] > 100 : b.codes[MW_HWERR_CREDIT] > 0);
    b.flooding = false;
    b.run(3000);
}
TEST(credit_gate)
{
    started<credit_gate> b;
    b.run(CYCLES);
    flood<credit_gate>(true);
    if (STORE_PKTS > 1) // with one credit the queue cannot fill
        flood<credit_gate>(false);
}
TEST(flit_queue)
{
    started<flit_queue> b;
    b.run(CYCLES);
    flood<flit_queue>(true);
    if (STORE_PKTS > 1)
        flood<flit_queue>(false);
}
