// SPDX-License-Identifier: Apache-2.0
//
// gpu_mem against an array of bytes: random reads and writes of all ports with byte enables and
// contention. Checked: latency of every response, visibility of writes, the longest wait of a port,
// and the rate of streaming ports. MW_SEED repeats a run.
#include "bench/dut.h"

#include <algorithm>
#include <deque>

using namespace tb;

static const unsigned F = sizeof(Vgpu_mem::wr_data_i) / 5;
static const unsigned FLITS = 16384 / F;
static const unsigned BANKS = 4, RD = 4, WR = 5, LATENCY = 3;
// All writers except 0 share a path. The engine's port yields to readers, except the last one, at
// most this often in a row.
static const unsigned MOST_BACK = 3;

struct request {
    bool valid;
    unsigned addr;
    uint8_t data[F];
    unsigned be;
    unsigned waited;
};

struct expected {
    uint64_t cycle;
    bool known;
    uint8_t data[F];
};

// The request at the engine's port in this cycle. A step is two flits of a group of four.
struct engine {
    bool rd;
    unsigned rd_step, wr, wr_step;
    uint8_t data[2][F];
};

static unsigned flit(unsigned step, unsigned h)
{
    return step / 2 * 4 + 2 * h + step % 2;
}

struct ports : model<Vgpu_mem> {
    ports() : mem(FLITS * F)
    {
        dut.go_i = 0;
        reset();
        for (unsigned a = 0; a < FLITS; a++) {
            ask_write(0, a);
            wr[0].be = (1u << F) - 1;
            until("a write", 10, [&] { return !wr[0].valid; });
        }
    }

    void cycle() override
    {
        drive();
        settle();
        bool refused = false;
        engine_reads();
        for (unsigned p = 0; p < RD; p++)
            refused |= reads(p);
        look_at_shared_way();
        for (unsigned p = 0; p < WR; p++)
            refused |= writes(p);
        engine_writes();
        if (dut.go_i)
            stood_back = 0;
        edge();
        assert_int_equal(dut.conflict_o, refused);
        for (unsigned p = 0; p < RD; p++) {
            assert_int_equal(dut.rd_rvalid_o[p], !due[p].empty() && due[p].front().cycle == now);
            response(due[p], &dut.rd_rdata_o[p]);
        }
        for (unsigned h = 0; h < 2; h++) {
            bool next = !exp_due[h].empty() && exp_due[h].front().cycle == now;
            if (next)
                held[h] = exp_due[h].front();
            response(exp_due[h], &dut.exp_rd_data_o[h]);
            if (!next && held[h].known) // stays until the next
                assert_memory_equal(&dut.exp_rd_data_o[h], held[h].data, F);
        }
    }

    void ask_read(unsigned p, unsigned addr) { rd[p] = {true, addr, {}, 0, 0}; }

    void ask_write(unsigned p, unsigned addr)
    {
        wr[p] = {true, addr, {}, static_cast<unsigned>(rng() & ((1u << F) - 1)), 0};
        if (rng() % 2)
            wr[p].be = (1u << F) - 1;
        for (unsigned b = 0; b < F; b++)
            wr[p].data[b] = static_cast<uint8_t>(rng());
    }

    // The engine never takes the same banks in two consecutive cycles.
    void engine_read(unsigned step)
    {
        if (!exp.rd)
            exp = {true, step ^ ((step ^ last_rd ^ 1) & 1), exp.wr, exp.wr_step, {}};
    }

    void engine_write(unsigned step)
    {
        exp.wr = 1 + static_cast<unsigned>(rng() % 3);
        exp.wr_step = step ^ ((step ^ last_wr ^ 1) & 1);
        for (auto &d : exp.data) {
            for (auto &v : d)
                v = static_cast<uint8_t>(rng());
        }
    }

    engine exp = {};
    std::deque<expected> exp_due[2];
    unsigned last_rd = 0, last_wr = 0, stood_back = 0;
    uint64_t exp_flits = 0;
    request rd[RD] = {}, wr[WR] = {};
    std::deque<expected> due[RD];
    uint64_t done_rd[RD] = {}, done_wr[WR] = {};
    unsigned longest = 0;

  private:
    void drive() override
    {
        for (unsigned p = 0; p < RD; p++) {
            dut.rd_valid_i[p] = rd[p].valid;
            dut.rd_addr_i[p] = static_cast<uint16_t>(rd[p].valid ? rd[p].addr : rng() % FLITS);
        }
        for (unsigned p = 0; p < WR; p++) {
            dut.wr_valid_i[p] = wr[p].valid;
            dut.wr_addr_i[p] = static_cast<uint16_t>(wr[p].valid ? wr[p].addr : rng() % FLITS);
            dut.wr_be_i[p] = static_cast<uint16_t>(wr[p].be);
            memcpy(&dut.wr_data_i[p], wr[p].data, F);
        }
        dut.exp_rd_valid_i = exp.rd;
        dut.exp_rd_addr_i = static_cast<uint16_t>(exp.rd ? exp.rd_step : rng() % (FLITS / 2));
        dut.exp_wr_valid_i = static_cast<uint8_t>(exp.wr);
        dut.exp_wr_addr_i = static_cast<uint16_t>(exp.wr ? exp.wr_step : rng() % (FLITS / 2));
        memcpy(&dut.exp_wr_data_i, late, sizeof late); // of the cycle before
    }

    bool written(unsigned addr) const
    {
        for (unsigned w = 0; w < WR; w++) {
            if (wr[w].valid && dut.wr_ready_o[w] && wr[w].addr == addr)
                return true;
        }
        for (unsigned h = 0; h < 2; h++) {
            if ((exp.wr >> h & 1) && flit(exp.wr_step, h) == addr)
                return true;
        }
        return false;
    }

    void engine_reads()
    {
        if (!exp.rd)
            return;
        bool meets = false;
        for (unsigned p = 0; p < RD - 1; p++)
            meets |= rd[p].valid && rd[p].addr % 2 == exp.rd_step % 2;
        assert_int_equal(dut.exp_rd_ready_o, !meets || stood_back == MOST_BACK);
        if (!dut.exp_rd_ready_o) {
            stood_back++;
            return;
        }
        stood_back = 0;
        for (unsigned h = 0; h < 2; h++) {
            expected e = {now + LATENCY, !written(flit(exp.rd_step, h)), {}};
            memcpy(e.data, &mem[flit(exp.rd_step, h) * F], F);
            exp_due[h].push_back(e);
        }
        last_rd = exp.rd_step;
        exp.rd = false;
        exp_flits += 2;
    }

    void engine_writes()
    {
        memcpy(late, exp.data, sizeof late);
        if (!exp.wr)
            return;
        for (unsigned h = 0; h < 2; h++) {
            if (exp.wr >> h & 1)
                memcpy(&mem[flit(exp.wr_step, h) * F], exp.data[h], F);
        }
        last_wr = exp.wr_step;
        exp.wr = 0;
        exp_flits += 2;
    }

    // The path that all writers except 0 share. One writer has it. If it has no request, or with
    // its 8th write, it passes the path to the next writer with a request.
    void look_at_shared_way()
    {
        const request &r = wr[1 + has_way];
        const bool engine = exp.wr >> (r.addr / 2 % 2) & 1 && exp.wr_step % 2 == r.addr % 2;
        const bool ready = dut.wr_ready_o[1 + has_way];
        for (unsigned p = 1; p < WR; p++)
            if (p != 1 + has_way)
                assert_false(dut.wr_ready_o[p]);
        if (r.valid && engine)
            assert_false(ready);
        else if (r.valid && !(wr[0].valid && wr[0].addr % BANKS == r.addr % BANKS))
            assert_true(ready);
        const bool pass = !r.valid || (ready && writes_in_a_row == 7);
        writes_in_a_row = pass ? 0 : writes_in_a_row + ready;
        if (pass) {
            unsigned next = has_way;
            for (unsigned d = WR - 2; d; d--)
                if (wr[1 + (has_way + d) % (WR - 1)].valid)
                    next = (has_way + d) % (WR - 1);
            has_way = next;
        }
        if (dut.go_i)
            has_way = writes_in_a_row = 0;
    }

    // True if the port was refused. Reads return the contents before this cycle's writes.
    bool reads(unsigned p)
    {
        if (!rd[p].valid)
            return false;
        if (!dut.rd_ready_o[p])
            return wait(rd[p]);
        expected e = {now + LATENCY, !written(rd[p].addr), {}};
        memcpy(e.data, &mem[rd[p].addr * F], F);
        due[p].push_back(e);
        rd[p].valid = false;
        done_rd[p]++;
        return false;
    }

    bool writes(unsigned p)
    {
        if (!wr[p].valid)
            return false;
        if (!dut.wr_ready_o[p])
            return wait(wr[p]);
        for (unsigned b = 0; b < F; b++) {
            if (wr[p].be >> b & 1)
                mem[wr[p].addr * F + b] = wr[p].data[b];
        }
        wr[p].valid = false;
        done_wr[p]++;
        return false;
    }

    bool wait(request &a)
    {
        if (++a.waited > longest)
            longest = a.waited;
        return true;
    }

    void response(std::deque<expected> &d, const void *data)
    {
        if (d.empty() || d.front().cycle != now)
            return;
        if (d.front().known)
            assert_memory_equal(data, d.front().data, F);
        d.pop_front();
    }

    bytes mem;
    uint8_t late[2][F] = {};
    unsigned has_way = 0, writes_in_a_row = 0;
    expected held[2] = {};
};

TEST(random_accesses)
{
    ports b;
    for (unsigned load : {10u, 50u, 90u, 100u}) {
        for (unsigned range : {4u, 16u, FLITS}) {
            for (unsigned c = 0; c < 5000; c++) {
                for (unsigned p = 0; p < RD; p++) {
                    if (!b.rd[p].valid && b.percent(load))
                        b.ask_read(p, b.rng() % range);
                }
                for (unsigned p = 0; p < WR; p++) {
                    if (!b.wr[p].valid && b.percent(load))
                        b.ask_write(p, b.rng() % range);
                }
                b.dut.go_i = b.rng() % 100 == 0;
                if (b.percent(load))
                    b.engine_read(b.rng() % (range / 2));
                if (b.percent(load))
                    b.engine_write(b.rng() % (range / 2));
                b.cycle();
            }
        }
    }
    for (unsigned p = 0; p < RD; p++)
        assert_true(b.done_rd[p] > 4000);
    for (unsigned p = 0; p < WR; p++)
        assert_true(b.done_wr[p] > 2000);
}

// All ports use one bank. Each waits for at most one access of each other port, and shares are
// equal.
TEST(one_bank_is_shared_fairly)
{
    for (unsigned bank = 0; bank < BANKS; bank++) {
        ports b;
        b.longest = 0;
        for (unsigned p = 0; p < WR; p++)
            b.done_wr[p] = 0;
        const unsigned cycles = 1152;
        for (unsigned c = 0; c < cycles; c++) {
            for (unsigned p = 0; p < RD; p++) {
                if (!b.rd[p].valid)
                    b.ask_read(p, BANKS * (b.rng() % (FLITS / BANKS)) + bank);
            }
            for (unsigned p = 0; p < WR; p++) {
                if (!b.wr[p].valid)
                    b.ask_write(p, BANKS * (b.rng() % (FLITS / BANKS)) + bank);
            }
            b.cycle();
        }
        assert_in_range(b.longest, 3, 68); // a shared port waits for its partners' turns as well
        for (unsigned p = 0; p < RD; p++)
            assert_int_equal(b.done_rd[p], cycles / RD);
        for (unsigned p = 0; p < WR; p++) {
            assert_int_equal(b.done_wr[p], p == 0 ? cycles / 2 : cycles / 8);
        }
    }
}

// Total flits per cycle of streams through memory, after they have spread over the banks.
static double stream_rate(unsigned readers, unsigned writers, bool engine)
{
    ports b;
    unsigned rpos[RD], wpos[WR];
    for (unsigned p = 0; p < RD; p++)
        rpos[p] = static_cast<unsigned>(b.rng() % FLITS);
    for (unsigned p = 0; p < WR; p++)
        wpos[p] = static_cast<unsigned>(b.rng() % FLITS);
    unsigned step = 0;
    uint64_t before = 0, after = 0;
    for (unsigned c = 0; c < 1100; c++) {
        for (unsigned p = 0; p < RD; p++) {
            if ((readers >> p & 1) && !b.rd[p].valid)
                b.ask_read(p, ++rpos[p] % FLITS);
        }
        for (unsigned p = 0; p < WR; p++) {
            if ((writers >> p & 1) && !b.wr[p].valid)
                b.ask_write(p, ++wpos[p] % FLITS);
        }
        if (engine && !b.exp.rd)
            b.engine_read(step = (step + 1) % (FLITS / 2));
        b.cycle();
        uint64_t sum = b.exp_flits;
        for (unsigned p = 0; p < RD; p++)
            sum += b.done_rd[p];
        for (unsigned p = 0; p < WR; p++)
            sum += b.done_wr[p];
        if (c == 99)
            before = sum;
        after = sum;
    }
    return static_cast<double>(after - before) / 1000;
}

TEST(streams_run_at_full_rate)
{
    struct {
        unsigned readers, writers;
        bool engine;
        double least;
    } mix[] = {
        {0x01, 0x00, false, 1.0}, {0x07, 0x00, false, 3.0}, {0x0f, 0x00, false, 4.0},
        {0x00, 0x00, true, 2.0},  {0x01, 0x00, true, 3.0},  {0x03, 0x00, true, 2.4},
        {0x07, 0x00, true, 2.4},  {0x00, 0x03, false, 2.0}, {0x00, 0x1f, false, 1.88},
        {0x0f, 0x1f, false, 5.8}, {0x03, 0x03, true, 4.4},
    };
    // Three streams and the engine request more than the four banks provide. From some starts, the
    // engine's yielding and the round robin settle in a pattern with less than the banks' rate.
    for (const auto &m : mix) {
        double least = 99;
        for (unsigned i = 0; i < 4; i++)
            least = std::min(least, stream_rate(m.readers, m.writers, m.engine));
        printf("readers 0x%02x writers 0x%02x%s: %.3f flits per cycle\n", m.readers, m.writers,
               m.engine ? " and the engine" : "", least);
        assert_true(least >= m.least);
    }
}
