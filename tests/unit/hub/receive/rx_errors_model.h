// SPDX-License-Identifier: Apache-2.0
//
// A hub that waits for one packet, for the tests rx_errors. The model checks every report, event
// and credit, and compares memory.
#ifndef RX_ERRORS_MODEL_H
#define RX_ERRORS_MODEL_H

#include "bench/errors.h"
#include "rx_model.h"

#ifndef PARAM_Reds
#define PARAM_Reds 0
#endif
#ifndef PARAM_SourceLists
#define PARAM_SourceLists 1
#endif
#ifndef PARAM_TargetListCache
#define PARAM_TargetListCache 1
#endif

namespace tb {
static const unsigned PORT = 1, OTHER = 2;
static const unsigned TOKEN_SHIFT = 3, CAP_SHIFT = 2, ROW_SHIFT = 8, ROW = 2 * 128, K = 4;
static const unsigned ST_LO = 0x18000, ST_HI = 0x1c000, TOKEN_BITS = 5 + 2;
static const unsigned ROWS_LOG2 = F == 8 ? 6 : 9;
static const bool REDS = PARAM_Reds, LISTS = PARAM_TargetListCache, TYPES = PARAM_RowTypes;
enum unit { RX, STORE, ROWS, TOKENS, SAID };

/// An expert of this GPU.
inline uint16_t own(unsigned le)
{
    return target(le * N + PORT);
}

struct hub : rx_bench {
    error_watch errors{"hub"};
    packet_watch requests{"requests"}, results{"results"};
    unsigned credits[4] = {}, row_events = 0, acks = 0, answers = 0, flags = 0, events = 0,
             counts = 0;
    std::vector<bool> request_err, result_bad;          // of each flit
    std::vector<std::pair<unsigned, unsigned>> counted; // {row, contributions}
    std::vector<unsigned> ready;                        // tokens
    unsigned rate = 100, result_rate = 100;
    bool all_rows = false;

    explicit hub(unsigned its_epoch = 2)
        : rx_bench({{"port", PORT},
                    {"epoch", its_epoch},
                    {"k", K},
                    {"token_shift", TOKEN_SHIFT},
                    {"row_bytes", ROW},
                    {"dispatch_bytes", TYPES ? ROW : 0},
                    {"row_shift", ROW_SHIFT},
                    {"gate_shift", 4},
                    {"cap_shift", CAP_SHIFT},
                    {"st_lo", ST_LO},
                    {"st_hi", ST_HI}})
    {
        epoch = its_epoch;
        reset();
        write_map();
        sweep();
        go();
    }

    void write_map()
    {
        for (unsigned e = 0; e < EXPERTS; e++)
            map_expert(e, e < N * LE, e % N, e / N % LE);
    }
    using rx_bench::go;
    void go() { go(epoch); }
    void next_layer()
    {
        if (epoch == 3)
            sweep();
        go((epoch + 1) % 4);
    }

    void drive() override
    {
        io->store[0].rate = io->store[1].rate = rate;
        io->table_wr.rate = io->table_rd.rate = io->red_rd.rate = rate;
        rx_bench::drive();
        dut.ack_ready_i = percent(rate);
        dut.res_ready_i = percent(result_rate);
    }

    void sample() override
    {
        for (unsigned u = 0; u < 5; u++)
            errors.see(now, dut.err_valid_o[u], dut.err_code_o[u], u);
        rx_bench::sample();
        if (dut.added_valid_o)
            counted.push_back({dut.added_row_o, dut.added_adds_o});
        if (dut.req_valid_o)
            request_err.push_back(dut.req_err_o);
        requests.see(dut.req_valid_o, true, dut.req_data_o, dut.req_last_o);
        if (dut.res_valid_o && dut.res_ready_i)
            result_bad.push_back(dut.res_bad_o);
        results.see(dut.res_valid_o, dut.res_ready_i, dut.res_data_o, dut.res_last_o);
        for (unsigned c = 0; c < 4; c++)
            credits[c] += dut.crd_o >> c & 1;
        if (dut.rdy_valid_o && dut.rdy_ready_i)
            ready.push_back(dut.rdy_token_o);
        row_events += dut.ev_row_o;
        acks += dut.ev_ack_o;
        answers += dut.ack_valid_o && dut.ack_ready_i;
        flags += dut.ev_valid_o[0];
        events += dut.ev_valid_o[1];
        counts += dut.cnt_valid_o;
        assert_true(dut.rows_here_o || !all_rows || dut.go_i); // once set, it stays set
        all_rows = dut.rows_here_o && !dut.go_i;
    }

    // ---- packets ----
    mw_header head(unsigned opcode)
    {
        mw_header h = header(opcode);
        h.src = OTHER;
        h.dst = PORT;
        h.epoch = epoch;
        return h;
    }
    packet bare(unsigned opcode, uint64_t addr = 0)
    {
        packet p;
        p.h = head(opcode);
        p.h.addr = addr;
        return p;
    }
    packet result(unsigned len)
    {
        packet p = bare(MW_OP_RESULT);
        p.h.len = len;
        p.payload = rng.some(len);
        return p;
    }
    packet store(unsigned addr, unsigned len)
    {
        packet p = bare(MW_OP_ST, addr);
        p.h.len = len;
        p.payload = rng.some(len);
        p.lane = addr % F;
        return p;
    }
    packet row(unsigned token, unsigned stage, unsigned offset, unsigned len,
               const std::vector<uint16_t> &targets = {own(0)})
    {
        packet p = store(0, len);
        p.h.opcode = MW_OP_DYMULTIMEM_ST;
        p.h.stage = stage;
        p.h.addr = static_cast<uint64_t>(token) << ROW_SHIFT | offset;
        p.set_targets(targets);
        return p;
    }
    packet words(unsigned kind, const std::vector<uint32_t> &list)
    {
        packet p = bare(MW_OP_COUNTS);
        p.h.stage = kind;
        p.h.len = static_cast<uint32_t>(4 * list.size());
        p.payload.resize(p.h.len);
        memcpy(p.payload.data(), list.data(), p.h.len);
        return p;
    }

    // Sends the flits of a packet of a class in consecutive cycles. Flits are marked from `bad` on,
    // or as the packet requires.
    void send(const packet &p, unsigned cls, size_t bad = SIZE_MAX)
    {
        const wire w = encode(p, F, &rng);
        for (size_t i = 0; i < w.flits(); i++) {
            dut.rx_valid_i = 1;
            dut.rx_cls_i = static_cast<uint8_t>(cls);
            put(dut.rx_data_i, w.at(i));
            dut.rx_last_i = w.last(i);
            dut.rx_err_i = (w.last(i) && w.err) || i >= bad;
            cycle();
        }
        dut.rx_valid_i = 0;
        dut.rx_cls_i = static_cast<uint8_t>(below(4));
        dut.rx_last_i = percent(50);
        dut.rx_err_i = percent(50);
        rng.fill(&dut.rx_data_i, F);
    }
    bool idle() { return local.empty() && control.empty() && dut.idle_o == 0x1f; }
    void settle_down()
    {
        cycle();
        until("the hub to be idle", 2000, [&] { return idle(); });
        cycles(3);
    }

    // Sends a packet of class STORE, and waits for all its effects.
    void lands(const packet &p)
    {
        send(p, MW_CLS_STORE);
        settle_down();
    }
    // The same for a packet that counts. This GPU's own come from control.
    void comes(const packet &p)
    {
        if (p.h.src != PORT)
            return lands(p);
        control.queue.push_back(encode(p, F, &rng));
        settle_down();
    }
    // The packet causes an error between these cycles from now, and may have other effects.
    void reports(unsigned code, unit u, uint64_t from, uint64_t until, const packet &p)
    {
        errors.expect_between(now + from, now + until, code, u);
        lands(p);
        errors.done();
    }
    void arm(unsigned index, unsigned count)
    {
        dut.arm_valid_i = 1;
        dut.arm_token_i = PORT << TOKEN_SHIFT | index;
        dut.arm_count_i = static_cast<uint8_t>(count);
        settle();
        assert_true(dut.arm_ready_o);
        cycle();
        dut.arm_valid_i = 0;
    }

    // Sends an invalid packet, and checks that its only effect is this error, n times.
    enum way { LINK, LOCAL, CONTROL };
    void fails(unit u, unsigned code, const packet &p, way where = LINK, unsigned n = 1)
    {
        const bytes before = mem.data;
        const unsigned was[] = {row_events, acks, answers, flags, events, counts};
        const unsigned given[] = {credits[0], credits[1], credits[2], credits[3]};
        const uint64_t flits = encode(p, F, &rng).flits(), last = now + flits - 1;
        // A signal takes a cycle of rx and one of the tracker. A store takes a cycle each for
        // header, list and target, two more for each target, and a wait for a turn.
        const uint64_t from = u == STORE ? last + 2 : last + 1 + (u == TOKENS),
                       more = u == STORE ? 3 + 2 * n + (where ? 3 : 0) : 0;
        for (unsigned i = 0; i < n; i++)
            errors.expect_between(from, from + more, code, u);
        if (where == LINK)
            send(p, p.h.cls);
        else
            (where == LOCAL ? local : control).queue.push_back(encode(p, F, &rng));
        settle_down();
        errors.done();
        const unsigned is[] = {row_events, acks, answers, flags, events, counts};
        for (unsigned i = 0; i < 6; i++)
            assert_int_equal(is[i], was[i]);
        for (unsigned c = 0; c < 4; c++)
            assert_int_equal(credits[c] - given[c], where == LINK && c == p.h.cls);
        assert_true(mem.data == before);
    }
    // The same for a store from each source.
    void rejects(unsigned code, const packet &p, unsigned n = 1)
    {
        for (way where : {LINK, LOCAL, CONTROL})
            if (!p.err || where == LINK)
                fails(STORE, code, p, where, n);
    }

    struct looked {
        bool err;
        unsigned row;
    };
    looked look(unsigned le, unsigned token)
    {
        dut.req1_valid_i = 1;
        dut.req1_le_i = static_cast<uint8_t>(le);
        dut.req1_token_i = token;
        bool taken = false;
        until("the look-up to be taken", 50, [&] {
            settle();
            return taken || (taken = dut.req1_ready_o);
        });
        cycle();
        dut.req1_valid_i = 0;
        settle();
        until("the look-up's answer", 100, [&] { return dut.resp1_valid_o; });
        return {dut.resp1_err_o != 0, dut.resp1_row_o};
    }
    unsigned complete(unsigned le)
    {
        dut.stat_le_i = static_cast<uint8_t>(le);
        cycle();
        return dut.stat_complete_o;
    }
    unsigned expected(unsigned le)
    {
        complete(le);
        return dut.stat_expected_o;
    }
    // Sends a token's whole row at an expert.
    void whole_row(unsigned token, unsigned le)
    {
        for (unsigned at = 0; at < ROW; at += 128)
            send(row(token, MW_STAGE_DISPATCH, at, 128, {own(le)}), MW_CLS_STORE);
        lands(row(token, MW_STAGE_GATE, 0, 4 * K, {own(le)}));
    }
};
} // namespace tb

#endif
