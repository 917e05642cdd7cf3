// SPDX-License-Identifier: Apache-2.0
//
// sum_table between an egress with credits and a hub that returns them at any rate. Reds of all
// sources for the same addresses, marks (FLAGs), and other packets come at any rate. Each source
// adds 1 to its own words, so memory shows whose contributions have arrived. Checked:
// - memory at each mark and at the end
// - the order of all other packets
// - no credit is used twice, and all return
// - a sum leaves after its time

#include "Vsum_table.h"
#include "bench/errors.h"
#include "bench/packet.h"
#include "bench/stream.h"
#include "bench/values.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

using namespace tb;

static const unsigned N = PARAM_N, F = PARAM_FlitBytes, CREDITS = PARAM_RxStorePkts;
static const unsigned PORT = 1;

struct sum_table : model<Vsum_table> {
    std::deque<wire> to_send;
    std::deque<bool> send_damaged;                   // whether their last flit is
    std::set<std::pair<uint64_t, unsigned>> damaged; // reds, by address and source
    std::map<uint64_t, bytes> exact;                 // complete sums have exactly these bytes
    size_t flit = 0;
    unsigned all = CREDITS, credits = CREDITS, out = 0; // egress's, packets at the hub
    std::map<uint64_t, std::vector<uint32_t>> pushed, memory;
    std::deque<std::map<uint64_t, std::vector<uint32_t>>> marks; // what was pushed before each

    packet_watch dn{"downlink"};
    error_watch errors{"sum_table"};
    // tags of packets other than reds, and whether they are damaged, by class
    std::deque<std::pair<uint32_t, bool>> want[4];
    bool last_damaged = false;
    unsigned damage = 0; // per cent of packets
    unsigned hub_rate = 50, rate = 70, reds = 0, sums = 0, flits_in = 0, flits_out = 0, arrived = 0,
             others = 0, slow = 0, pause = 0, started = 0;

    sum_table()
    {
        dut.go_i = dut.down_i = dut.crd_i = dut.in_valid_i = 0;
        dut.port_i = PORT;
        dut.epoch_i = 2;
        dut.all_i = ((1u << N) - 1) & ~(1u << PORT);
        dut.common_sum_entries_i = 511;
        dut.common_sum_cycles_i = 200;
        dut.common_store_limit_i = CREDITS;
        dn.gapless = true;
        reset();
    }

    static unsigned group(uint64_t addr) { return 0xffff & (0x5a3c + 0x9e35 * (addr >> 7)); }
    unsigned any_source() { return (PORT + 1 + static_cast<unsigned>(rng.below(N - 1))) % N; }

    // Sends a red. It is added to its sum, unless it is wrong.
    void red(unsigned src, uint64_t addr, unsigned words, bool wrong = false,
             unsigned redop = MW_REDOP_ADD)
    {
        packet p;
        p.h = header(MW_OP_MULTIMEM_RED);
        p.h.src = src;
        p.h.dst = PORT;
        p.h.epoch = 2;
        p.h.own = 1;
        p.h.dtype = MW_DTYPE_U32;
        p.h.redop = redop;
        p.h.addr = addr;
        p.h.len = 4 * words;
        p.h.target0 = group(addr);
        auto &sum = pushed[addr];
        sum.resize(32);
        for (unsigned i = 0; i < words; i++) {
            const uint32_t x = i % N == src;
            for (unsigned b = 0; b < 4; b++)
                p.payload.push_back(static_cast<uint8_t>(x >> 8 * b));
            sum[i] += wrong ? 0 : x;
        }
        send(p);
        reds += !wrong;
        if (send_damaged.back() && !wrong)
            damaged.insert({addr, src});
    }
    // Sends a red of random bytes by each source, and computes their sum.
    void any_reds(uint64_t addr)
    {
        const reduction_kind kind = random_kind(rng);
        const size_t size =
            mw_reduce_bytes(kind.dtype) * rng.between(1, 128 / mw_reduce_bytes(kind.dtype));
        bytes sum;
        const unsigned begin = rng.below(N - 1);
        for (unsigned d = 0; d < N - 1; d++) {
            packet p;
            p.h = header(MW_OP_MULTIMEM_RED);
            p.h.src = (PORT + 1 + (begin + d) % (N - 1)) % N;
            p.h.dst = PORT;
            p.h.epoch = 2;
            p.h.own = 1;
            p.h.dtype = kind.dtype;
            p.h.redop = kind.redop;
            p.h.addr = addr;
            p.h.len = static_cast<unsigned>(size);
            p.h.target0 = group(addr);
            p.payload = random_row(rng, size);
            sum = d ? reduce_rows({sum, p.payload}, size, kind)
                    : reduce_rows({p.payload}, size, kind);
            send(p);
            reds++;
        }
        exact[addr] = sum;
    }
    void send(const packet &p)
    {
        to_send.push_back(encode(p, F));
        send_damaged.push_back(!p.payload.empty() && rng.percent(damage));
    }
    void other(unsigned opcode, unsigned src)
    {
        packet p;
        p.h = header(opcode);
        p.h.src = src;
        p.h.dst = PORT;
        p.h.epoch = 2;
        p.h.tag = rng.below(256);
        if (opcode == MW_OP_ST || opcode == MW_OP_RESULT) {
            p.h.len = 4 * rng.between(1, 32);
            for (unsigned i = 0; i < p.h.len; i++)
                p.payload.push_back(static_cast<uint8_t>(rng.below(256)));
        }
        send(p);
        want[p.h.cls].push_back({p.h.tag, send_damaged.back()});
        if (opcode == MW_OP_FLAG)
            marks.push_back(pushed);
    }

    void received(const bytes &data)
    {
        const packet p = decode(data, F);
        if (p.h.cls == MW_CLS_STORE)
            assert_in_range(++out, 1, CREDITS);
        else
            others++;
        if (p.h.opcode == MW_OP_MULTIMEM_RED) {
            sums++;
            assert_int_equal(p.h.target0, group(p.h.addr));
            assert_int_equal(p.h.dst, PORT);
            assert_int_equal(p.h.epoch, 2);
            assert_true(p.h.own);
            if (exact.count(p.h.addr)) {
                assert_int_equal(p.h.tag, N - 2);
                assert_true(p.payload == exact[p.h.addr]);
                arrived += N - 1;
                return;
            }
            auto &at = memory[p.h.addr];
            at.resize(32);
            assert_int_equal(p.payload.size(), p.h.len);
            unsigned inside = 0;
            bool bad = false;
            for (unsigned i = 0; i < p.h.len / 4; i++) {
                uint32_t x;
                memcpy(&x, &p.payload[4 * i], 4);
                at[i] += x;
                inside += i < N ? x : 0;
                bad |= i < N && x && damaged.count({p.h.addr, i});
            }
            assert_int_equal(p.h.tag, inside - 1);
            assert_int_equal(last_damaged, bad);
            arrived += inside;
            return;
        }
        assert_false(want[p.h.cls].empty());
        assert_int_equal(p.h.tag, want[p.h.cls].front().first);
        assert_int_equal(last_damaged, want[p.h.cls].front().second);
        want[p.h.cls].pop_front();
        if (p.h.opcode == MW_OP_FLAG) {
            for (auto &[addr, sum] : marks.front())
                for (unsigned i = 0; i < 32; i++) {
                    auto &at = memory[addr];
                    at.resize(32);
                    if (i % N == p.h.src) // its later reds have not passed the mark
                        assert_int_equal(at[i], sum[i]);
                }
            marks.pop_front();
        }
    }

    void drive() override
    {
        dut.in_valid_i = 0;
        const bool some = !to_send.empty();
        const bool store = some && decode(to_send.front().data, F).h.cls == MW_CLS_STORE;
        const bool may = !held[0] && (!store || (!store_held[0] && credits)) && rng.percent(rate);
        if (some && (flit || may)) {
            const wire &w = to_send.front();
            if (!flit && store)
                credits--;
            dut.in_valid_i = 1;
            flits_in++;
            dut.in_last_i = w.last(flit);
            dut.in_err_i = w.last(flit) && send_damaged.front();
            dut.in_cls_i = decode(w.data, F).h.cls;
            put(dut.in_data_i, w.at(flit));
            if (w.last(flit)) {
                to_send.pop_front();
                send_damaged.pop_front();
                flit = 0;
            } else {
                flit++;
            }
        }
        dut.crd_i = out && rng.percent(hub_rate);
        dut.hold_i = pause > 2;
    }
    void sample() override
    {
        held = {held[1], held[2], static_cast<bool>(dut.hold_o)};
        store_held = {store_held[1], store_held[2], static_cast<bool>(dut.hold_store_o)};
        out -= dut.crd_i;
        credits += dut.crd_o;
        // like link_rate: a flit that has started leaves some cycles later
        pause += dut.starts_o ? slow : pause ? -1 : 0;
        assert_in_range(pause, 0, slow * 22 + 2);
        started += dut.starts_o;
        errors.see(now, dut.bad_o != 0, dut.bad_code_o, dut.bad_o);
        assert_in_range(credits + out, 0, all);
        last_damaged = dut.out_err_o;
        flits_out += dn.see(dut.out_valid_o, true, dut.out_data_o, dut.out_last_o);
        while (!dn.packets.empty())
            received(dn.take());
    }
    unsigned count(unsigned i)
    {
        dut.common_cnt_addr_i = static_cast<uint8_t>(i);
        settle();
        return dut.count_o;
    }
    void finish()
    {
        for (unsigned i = 0; i < 100000 && !(to_send.empty() && dut.idle_o && credits == all); i++)
            cycle();
        assert_true(dut.idle_o);
        assert_int_equal(credits, all);
        assert_int_equal(out, 0);
        for (auto &class_ : want)
            assert_true(class_.empty());
        errors.done();
        assert_int_equal(arrived, reds);
        assert_int_equal(started, flits_out);
        assert_int_equal(count(8) - count(9), reds - sums);
        assert_int_equal(count(11), flits_in - flits_out);
        assert_in_range(count(12), 1, PARAM_SumEntries);
        for (auto &[addr, sum] : pushed)
            for (unsigned i = 0; i < 32; i++)
                assert_int_equal(memory[addr].size() ? memory[addr][i] : 0, sum[i]);
    }

  private:
    std::array<bool, 3> held{}, store_held{};
};

TEST(sums)
{
    unsigned reds = 0, sums = 0, full = 0;
    for (unsigned r = 0; r < 40; r++) {
        sum_table b;
        b.hub_rate = b.rng.pick({3u, 20u, 100u});
        b.rate = b.rng.pick({10u, 70u, 100u});
        b.dut.common_store_limit_i = b.credits = b.all = b.rng.pick({2u, 5u, CREDITS});
        b.slow = b.rng.pick({0u, 0u, 1u, 3u});
        b.dut.common_sum_cycles_i = static_cast<uint16_t>(b.rng.pick({20u, 200u, 2000u}));
        b.dut.common_sum_entries_i = static_cast<uint16_t>(b.rng.pick({1u, 3u, 511u}));
        // sources differ by at most `ahead` rows, and some leave rows out
        const unsigned ahead = b.rng.pick({1u, 6u, 60u}), marks = b.rng.pick({0u, 1u, 10u});
        b.damage = b.rng.pick({0u, 5u});
        const unsigned left_out = b.rng.pick({0u, 10u});
        std::vector<unsigned> next(N), words(120);
        for (unsigned &w : words)
            w = b.rng.percent(80) ? 32 : b.rng.between(N, 32);
        next[PORT] = 120;
        for (unsigned least = 0; least < 120; least = *std::min_element(next.begin(), next.end())) {
            const unsigned src = b.any_source();
            if (b.rng.percent(marks))
                b.other(MW_OP_FLAG, b.rng.below(N));
            else if (b.rng.percent(15))
                b.other(b.rng.pick({MW_OP_ST, MW_OP_ST, MW_OP_EVENT, MW_OP_GRANT, MW_OP_RESULT}),
                        b.any_source());
            else if (next[src] < std::min(least + ahead, 120u)) {
                const unsigned row = next[src]++;
                if (!b.rng.percent(left_out))
                    b.red(src, 128 * row, words[row]);
            }
            for (unsigned c = b.rng.below(12); c; c--)
                b.cycle();
        }
        b.finish();
        full += b.count(9) - b.count(10);
        reds += b.reds;
        sums += b.sums;
    }
    print_message("%u reds, %u packets of sums, %u complete\n", reds, sums, full);
    assert_true(sums < reds && full > 50);
}

// Packets of other classes pass a FLAG whose sums wait for credits.
TEST(others_pass)
{
    for (unsigned r = 0; r < 4; r++) {
        sum_table b;
        b.dut.common_sum_cycles_i = 60000;
        b.hub_rate = 0;
        b.rate = 100;
        const unsigned first = (PORT + 1) % N, opcodes[] = {MW_OP_EVENT, MW_OP_GRANT, MW_OP_RESULT};
        for (unsigned i = 0; i < CREDITS; i++)
            b.red(first, 128 * i, 32);
        b.other(MW_OP_FLAG, first);
        b.cycles(200 + 40 * CREDITS);
        if (b.credits && b.rng.percent(50))
            b.other(MW_OP_ST, first);
        b.cycles(100);
        const unsigned before = b.others;
        for (unsigned i = 0; i < 100; i++)
            b.other(b.rng.pick(opcodes), b.any_source());
        b.until("the others", 100 * 40, [&] { return b.others == before + 100; });
        b.hub_rate = 50;
        b.finish();
    }
}

// A red that does not fit the sum of its address is dropped. The sum continues without it.
TEST(misfits)
{
    sum_table b;
    b.dut.common_sum_cycles_i = 60000;
    const unsigned first = (PORT + 1) % N, second = (PORT + 2) % N;
    for (unsigned i = 0; i < 12; i++) {
        const uint64_t addr = 128 * i;
        b.red(first, addr, 32);
        b.errors.expect(i % 3 == 0   ? MW_HWERR_COUNT
                        : i % 3 == 1 ? MW_HWERR_LENGTH
                                     : MW_HWERR_REDUCTION,
                        1u << (i % 3 == 0 ? first : second));
        if (i % 3 == 0)
            b.red(first, addr, b.rng.pick({31u, 32u}), true);
        else if (i % 3 == 1)
            b.red(second, addr, 31, true, b.rng.pick({MW_REDOP_ADD, MW_REDOP_MAX}));
        else
            b.red(second, addr, 32, true, MW_REDOP_MAX);
        for (unsigned d = 2; d < N; d++)
            b.red((PORT + d) % N, addr, 32);
        if (i % 4 == 0)
            b.other(MW_OP_ST, second);
        b.until("the errors", 2000, [&] { return b.to_send.empty() && !b.errors.missing(); });
    }
    b.finish();
    assert_int_equal(b.sums, 12);
}

// A sum without further reds leaves after sum_cycles cycles, also with the longest time.
TEST(times)
{
    for (unsigned time : {20u, 60000u, 65534u, 65535u}) {
        sum_table b;
        b.dut.common_sum_cycles_i = static_cast<uint16_t>(time);
        b.hub_rate = 100;
        b.red((PORT + 1) % N, 128, 32);
        const uint64_t begin = b.now;
        b.until("the sum", time + 300, [&] { return b.sums; });
        assert_in_range(b.now - begin, time, time + 300);
        b.finish();
    }
}

// A sum on its way leaves complete when the receiver goes down.
TEST(goes_down)
{
    sum_table b;
    b.dut.common_sum_cycles_i = 20;
    b.hub_rate = 0;
    b.red((PORT + 1) % N, 128, 32);
    b.until("the sum", 300, [&] { return b.dut.starts_o; });
    b.cycles(1 + b.rng.below(4));
    b.dut.down_i = 1;
    b.cycles(60);
    assert_int_equal(b.sums, 1);
    assert_true(b.dut.idle_o);
}

// Sums of every type and operator, in the order of arrival, with a rounding per step.
TEST(operators)
{
    sum_table b;
    b.dut.common_sum_cycles_i = 60000;
    b.rate = b.hub_rate = 100;
    for (unsigned row = 0; row < 200; row++)
        b.any_reds(128 * row);
    b.finish();
    assert_int_equal(b.sums, 200);
}

// Each row comes once from every source, in turn, and becomes one packet.
TEST(all_merge)
{
    sum_table b;
    b.dut.common_sum_cycles_i = 5000;
    b.rate = b.hub_rate = 100;
    for (unsigned row = 0; row < 64; row++)
        for (unsigned d = 1; d < N; d++)
            b.red((PORT + d) % N, 128 * row, 32);
    const uint64_t begin = b.now;
    while (!b.to_send.empty())
        b.cycle();
    const unsigned flits = 64 * (N - 1) * (16 + 128) / F;
    assert_in_range(b.now - begin, flits, flits + 10);
    b.finish();
    assert_int_equal(b.sums, 64);
}
