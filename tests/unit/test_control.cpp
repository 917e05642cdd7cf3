// SPDX-License-Identifier: Apache-2.0
//
// control against a model: counts of random routing tables of both kinds, flags, fences, events, prefix sums of copy counts that arrive in any
// order, while signals of experts and requests for ACKs come in, under random grants of memory and back-pressure of every stream. Every packet is compared
// bit for bit and in its stream's order; also: a fence retires with the last answer and not before, own signals and ACKs stay at home,
// nobody among ACK, SIGNAL and EVENT is passed by more than two others. MW_SEED repeats a run.

#include "Vcontrol.h"
#include "verilated.h"

#include "hub_bench.h"

#ifndef CONTROL_N
#define CONTROL_N 4
#endif

static const unsigned N = CONTROL_N;
static const unsigned F = sizeof(Vcontrol::rd_rdata_i);
static const unsigned MEM = 1u << (F == 8 ? 15 : 18); // AddrW 12 or 14
static const unsigned EXPERTS = F == 8 ? 64 : 128, MAX_LOCAL = F == 8 ? 32 : 16;

struct layer {
    unsigned k, tokens, token_shift, port, latency, local_experts;
    unsigned ready,
        busy; // percent: of readiness of every stream, of cycles with a new signal or ACK
};

class bench {
  public:
    bench(uint64_t s, const layer &with) : l(with), rng(s), ram(MEM, F, with.latency)
    {
        rt = 128 * below(MEM / 128 - l.tokens);
        cfg.set("port", l.port);
        cfg.set("epoch", below(4));
        cfg.set("k", l.k);
        cfg.set("token_shift", l.token_shift);
        cfg.set("local_experts", l.local_experts);
        cfg.set("rt_base", rt);
        for (uint8_t &b : ram.mem)
            b = static_cast<uint8_t>(rng());
        for (unsigned i = 0; i < l.tokens; i++) {
            for (unsigned j = 0; j < l.k; j++) {
                unsigned e = below(10) ? below(EXPERTS) : below(2) ? 0xffff : below(0x10000);
                ram.set16(rt + 128 * i + 2 * j, static_cast<uint16_t>(e));
            }
        }
        reset();
        write_map();
    }

    void run(unsigned op, unsigned flags, unsigned imm, unsigned a, unsigned b)
    {
        model(op, flags, imm, a, b);
        uint32_t w[4] = {op | flags << 8 | imm << 16, a, b, static_cast<uint32_t>(rng())};
        memcpy(&dut.cmd_i, w, sizeof(w));
        dut.cmd_valid_i = 1;
        for (unsigned wait = 0; !accepted(); wait++) {
            assert_true(wait < 2000);
            cycle();
        }
        fencing = op == MW_I_FENCE;
        answers = 0;
        answered.clear();
        retired = false;
        cycle();
        dut.cmd_valid_i = 0;
        for (unsigned i = 0; !retired; i++) {
            assert_true(i < 20000);
            cycle();
        }
        assert_true(want_cst.empty() && want_clo.empty() && want_events.empty());
        if (op == MW_I_FENCE)
            assert_int_equal(answers, N);
    }

    // Everything asked for so far comes out.
    void settle()
    {
        unsigned keep = l.busy;
        l.busy = 0;
        for (unsigned i = 0; i < 3000; i++)
            cycle();
        l.busy = keep;
        assert_true(want_signals.empty() && want_acks.empty() && want_own.empty());
        assert_true(cst.open.empty() && clo.open.empty());
        assert_true(dut.idle_o);
    }

    // Copy counts of every GPU, own included, in random order, words of kind 0 between them.
    void copies()
    {
        std::vector<unsigned> order;
        for (unsigned s = 0; s < N; s++)
            order.insert(order.begin() + below(s + 1), s);
        dut.go_i = 1;
        cycle();
        dut.go_i = 0;
        uint32_t m[32][32];
        for (unsigned s : order) {
            for (unsigned g = 0; g < N; g++) {
                m[s][g] = below(3) ? below(F == 8 ? 257 : 1025) : 0; // tokens of a GPU, at most
                if (below(3) == 0)
                    count_word(0, below(N), below(N), static_cast<uint32_t>(rng()));
                count_word(1, s, g, m[s][g]);
            }
        }
        run(MW_I_PREFIX, 0, 0, 0, 0);
        first_take = true;
        uint32_t base[32] = {}, recv = 0;
        for (unsigned s = 0; s < N; s++) {
            for (unsigned g = 0; g < N; g++)
                base[g] += s < l.port ? m[s][g] : 0;
            recv += m[s][l.port];
        }
        assert_int_equal(dut.recv_rows_o, recv);
        for (unsigned s = 0; s < N; s++) {
            dut.src_i = static_cast<uint8_t>(s);
            dut.eval();
            assert_int_equal(dut.src_rows_o, m[s][l.port]);
        }
        for (unsigned i = 0; i < 100; i++)
            take_row(base);
        assert_int_equal(dut.recv_rows_o, recv);
    }

  private:
    unsigned below(unsigned n) { return static_cast<unsigned>(rng() % n); }
    bool percent(unsigned x) { return rng() % 100 < x; }

    void count_word(unsigned kind, unsigned src, unsigned idx, uint32_t val)
    {
        dut.cnt_valid_i = 1;
        dut.cnt_kind_i = kind;
        dut.cnt_src_i = static_cast<uint8_t>(src);
        dut.cnt_idx_i = static_cast<uint8_t>(idx);
        dut.cnt_val_i = val;
        cycle();
        dut.cnt_valid_i = 0;
        if (percent(30))
            cycle();
    }

    void take_row(uint32_t *base)
    {
        unsigned q = below(N);
        if (first_take)
            own_base = base[l.port];
        first_take = false;
        dut.base_q_i = static_cast<uint8_t>(q);
        dut.base_take_i = percent(50);
        dut.eval();
        assert_int_equal(dut.base_row_o, base[q]);
        assert_int_equal(dut.own_base_o, own_base);
        if (dut.base_take_i)
            base[q]++;
        cycle();
        dut.base_take_i = 0;
    }

    // ---- model -----------------------------------------------------------------------------------------------
    struct mw_header head(unsigned op, unsigned dst)
    {
        struct mw_header h = {};
        h.opcode = op;
        h.src = l.port;
        h.dst = dst;
        h.epoch = static_cast<uint32_t>(cfg["epoch"]);
        return h;
    }

    void model(unsigned op, unsigned flags, unsigned imm, unsigned a, unsigned b)
    {
        if (op == MW_I_COUNT)
            return counts(flags & 1, a, b);
        bool alone = op == MW_I_FLAG && (flags & 1);
        for (unsigned d = op == MW_I_FENCE || alone ? 0 : 1;
             d < (alone ? 1 : N) && op != MW_I_PREFIX; d++) {
            unsigned q = (l.port + d) % N;
            struct mw_header h = head(op == MW_I_FLAG    ? MW_OP_FLAG
                                      : op == MW_I_FENCE ? MW_OP_FENCE
                                                         : MW_OP_EVENT,
                                      q);
            if (op != MW_I_FENCE)
                h.addr = imm & 15;
            (op == MW_I_SIGNAL ? want_events
             : d == 0          ? want_clo
                               : want_cst)
                .push_back(make_packet(F, h, {}, {}));
        }
    }

    void counts(bool copies_kind, unsigned a, unsigned b)
    {
        std::vector<std::vector<uint32_t>> n(N, std::vector<uint32_t>(64));
        for (unsigned i = a; i < a + b; i++) {
            std::vector<bool> seen(N);
            for (unsigned j = 0; j < l.k; j++) {
                unsigned e = ram.get16(rt + 128 * i + 2 * j);
                if (e >= EXPERTS || !(map[e] >> 11) || gpu(e) >= N ||
                    (map[e] & 63) >= l.local_experts)
                    continue;
                if (!copies_kind)
                    n[gpu(e)][map[e] & 63]++;
                else if (!seen[gpu(e)])
                    n[gpu(e)][0]++;
                seen[gpu(e)] = true;
            }
        }
        for (unsigned d = 0; d < N; d++) {
            unsigned q = (l.port + d) % N;
            bytes payload;
            for (unsigned i = 0; i < (copies_kind ? N : l.local_experts); i++) {
                uint32_t v = copies_kind ? n[i][0] : n[q][i];
                for (unsigned x = 0; x < 4; x++)
                    payload.push_back(static_cast<uint8_t>(v >> 8 * x));
            }
            struct mw_header h = head(MW_OP_COUNTS, q);
            h.stage = copies_kind;
            h.len = static_cast<uint32_t>(payload.size());
            (d == 0 ? want_clo : want_cst).push_back(make_packet(F, h, {}, payload));
        }
    }

    unsigned gpu(unsigned e) const { return map[e] >> 6 & 31; }

    // ---- pins ------------------------------------------------------------------------------------------------
    void reset()
    {
        memset(static_cast<void *>(&dut.cmd_i), 0, sizeof(dut.cmd_i));
        dut.clk_i = 0;
        dut.rst_ni = 0;
        dut.go_i = dut.cmd_valid_i = dut.emap_we_i = dut.rd_ready_i = dut.rd_rvalid_i = 0;
        dut.sig_valid_i = dut.own_ready_i = dut.ack_valid_i = dut.ack_rx_i = dut.cnt_valid_i =
            dut.cnt_last_i = 0;
        dut.base_take_i = dut.base_q_i = dut.ctl_ready_i = dut.cst_ready_i = dut.clo_ready_i = 0;
        cfg.drive(dut.cfg_i);
        edge();
        edge();
        dut.rst_ni = 1;
        dut.go_i = 1;
        edge();
        dut.go_i = 0;
    }

    void write_map()
    {
        for (unsigned e = 0; e < 4096; e++) {
            uint16_t v =
                static_cast<uint16_t>(below(4096)); // beyond the table: must not be written
            if (e < EXPERTS) {
                unsigned g = below(20) ? below(N) : below(32),
                         le = below(20) ? below(l.local_experts ? l.local_experts : 1) : below(64);
                v = static_cast<uint16_t>((below(12) != 0) << 11 | g << 6 | le);
                map[e] = v;
            }
            dut.emap_we_i = 1;
            dut.emap_addr_i = static_cast<uint16_t>(e);
            dut.emap_data_i = v;
            edge();
        }
        dut.emap_we_i = 0;
    }

    bool accepted()
    {
        dut.eval();
        return dut.cmd_ready_o;
    }

    void cycle()
    {
        drive();
        dut.eval();
        watch();
        edge();
        const uint8_t *a = ram.answer();
        dut.rd_rvalid_i = a != nullptr;
        if (a)
            put(dut.rd_rdata_i, a);
        if (sig_taken)
            dut.sig_valid_i = 0;
        if (ack_taken)
            dut.ack_valid_i = 0;
        sig_taken = ack_taken = false;
        dut.eval();
    }

    void drive()
    {
        dut.rd_ready_i = percent(l.ready);
        dut.ctl_ready_i = percent(l.ready);
        dut.cst_ready_i = percent(l.ready);
        dut.clo_ready_i = percent(l.ready);
        dut.own_ready_i = percent(l.ready);
        // Answers come in any order; who has answered does so again, which counts no more.
        dut.ack_rx_i = !asked.empty() && percent(10);
        dut.ack_src_i = static_cast<uint8_t>(l.port);
        if (dut.ack_rx_i) {
            auto who = asked.begin() + below(static_cast<unsigned>(asked.size()));
            dut.ack_src_i = static_cast<uint8_t>(*who);
            answered.push_back(*who);
            asked.erase(who);
            answers++;
        } else if (!answered.empty() && percent(10)) {
            dut.ack_rx_i = 1;
            dut.ack_src_i =
                static_cast<uint8_t>(answered[below(static_cast<unsigned>(answered.size()))]);
        }
        if (!dut.sig_valid_i && percent(l.busy))
            new_signal();
        if (!dut.ack_valid_i && own_fences > 0 && percent(10))
            new_ack(l.port);
        else if (!dut.ack_valid_i && percent(l.busy))
            new_ack((l.port + 1 + below(N - 1)) % N);
    }

    void new_signal()
    {
        uint32_t token = below(N << l.token_shift);
        unsigned home = token >> l.token_shift;
        dut.sig_valid_i = 1;
        dut.sig_token_i = token;
        if (home == l.port) {
            want_own.push_back(token);
            return;
        }
        struct mw_header h = head(MW_OP_SIGNAL, home);
        h.addr = token;
        want_signals.push_back(make_packet(F, h, {}, {}));
        sig_passed = 0;
    }

    void new_ack(unsigned dst)
    {
        dut.ack_valid_i = 1;
        dut.ack_dst_i = static_cast<uint8_t>(dst);
        if (dst == l.port)
            own_fences--;
        else
            want_acks.push_back(make_packet(F, head(MW_OP_ACK, dst), {}, {}));
        ack_passed = 0;
    }

    void watch()
    {
        ram.ask(dut.rd_valid_o, dut.rd_ready_i, dut.rd_addr_o);
        sig_taken = dut.sig_valid_i && dut.sig_ready_o;
        ack_taken = dut.ack_valid_i && dut.ack_ready_o;
        if (sig_taken && ack_taken && !dut.own_valid_o && dut.ack_dst_i != l.port)
            fail(); // one control packet per cycle
        if (sig_taken && !dut.own_valid_o)
            ack_passed++;
        if (ack_taken && dut.ack_dst_i != l.port)
            sig_passed++;
        if (dut.sig_valid_i && !dut.own_valid_o)
            assert_true(sig_passed <= 2);
        if (dut.ack_valid_i && dut.ack_dst_i != l.port)
            assert_true(ack_passed <= 2);
        if (dut.own_valid_o) {
            assert_false(want_own.empty());
            assert_int_equal(dut.own_token_o, want_own.front());
            if (dut.own_ready_i)
                want_own.pop_front();
        }
        if (ack_taken && dut.ack_dst_i == l.port)
            answers++;
        bytes header = get(dut.ctl_header_o);
        if (ctl.see(dut.ctl_valid_o, dut.ctl_ready_i, header, true))
            control_packet(header);
        cst.see(dut.cst_valid_o, dut.cst_ready_i, get(dut.st_data_o), dut.st_last_o);
        clo.see(dut.clo_valid_o, dut.clo_ready_i, get(dut.st_data_o), dut.st_last_o);
        compare(cst, want_cst, "uplink");
        compare(clo, want_clo, "local");
        assert_int_equal(dut.err_valid_o, 0);
        if (dut.retire_o) {
            if (fencing)
                assert_int_equal(answers, N);
            retired = true;
        }
    }

    void control_packet(const bytes &header)
    {
        uint64_t w[2];
        struct mw_header h;
        memcpy(w, header.data(), 16);
        mw_header_unpack(&h, w);
        std::deque<packet> &want = h.opcode == MW_OP_ACK      ? want_acks
                                   : h.opcode == MW_OP_SIGNAL ? want_signals
                                                              : want_events;
        assert_false(want.empty());
        assert_packet(want.front(), header, "control");
        want.pop_front();
    }

    void compare(stream_watch &s, std::deque<packet> &want, const char *where)
    {
        if (s.packets.empty())
            return;
        assert_false(want.empty());
        assert_packet(want.front(), s.packets.front(), where);
        if (want.front().head.opcode == MW_OP_FENCE) {
            if (&s == &clo)
                own_fences++;
            else
                asked.push_back(want.front().head.dst);
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

    Vcontrol dut;
    node_cfg cfg;
    layer l;
    std::mt19937_64 rng;
    read_port ram;
    unsigned rt, map[EXPERTS];
    stream_watch ctl, cst, clo;
    std::deque<packet> want_cst, want_clo, want_events, want_signals, want_acks;
    std::deque<uint32_t> want_own;
    std::vector<unsigned> asked, answered; // other GPUs, of the fence
    unsigned answers = 0, own_fences = 0, sig_passed = 0, ack_passed = 0;
    uint32_t own_base = 0;
    bool retired = false, sig_taken = false, ack_taken = false, first_take = true, fencing = false;
};

static layer random_layer(std::mt19937_64 &rng)
{
    static const unsigned paces[] = {100, 80, 50, 20};
    layer l = {};
    l.k = 1 + static_cast<unsigned>(rng() % 16);
    l.tokens = 1 + static_cast<unsigned>(rng() % 40);
    l.token_shift = 6 + static_cast<unsigned>(rng() % 3);
    l.port = static_cast<unsigned>(rng() % N);
    l.latency = 1 + static_cast<unsigned>(rng() % 8);
    l.local_experts = rng() % 8   ? 1 + static_cast<unsigned>(rng() % MAX_LOCAL)
                      : rng() % 2 ? 0
                                  : MAX_LOCAL;
    l.ready = paces[rng() % 4];
    l.busy = static_cast<unsigned>(rng() % 3) * 40;
    return l;
}

static void test_instructions(void **state)
{
    (void)state;
    static const unsigned ops[] = {MW_I_COUNT, MW_I_COUNT, MW_I_SIGNAL, MW_I_FLAG, MW_I_FENCE};
    std::mt19937_64 rng(seed);
    for (unsigned r = 0; r < 80; r++) {
        layer l = random_layer(rng);
        std::unique_ptr<bench> b(new bench(rng(), l));
        for (unsigned i = 0; i < 8; i++) {
            unsigned a = static_cast<unsigned>(rng() % (l.tokens + 1));
            b->run(ops[rng() % 5], static_cast<unsigned>(rng() % 2),
                   static_cast<unsigned>(rng() % 8), a, l.tokens - a);
        }
        b->settle();
    }
}

static void test_prefix(void **state)
{
    (void)state;
    std::mt19937_64 rng(seed + 1);
    for (unsigned r = 0; r < 40; r++) {
        std::unique_ptr<bench> b(new bench(rng(), random_layer(rng)));
        b->copies();
        b->copies();
        b->settle();
    }
}

int main(void)
{
    seed_from_env();
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_instructions),
                                       cmocka_unit_test(test_prefix)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
