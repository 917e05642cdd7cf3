// SPDX-License-Identifier: Apache-2.0
//
// packet_manager between stores and an uplink, for its tests, with the bytes that each GPU must
// get. A byte leaves in its order, or a later one replaces it.
#ifndef PACKET_MANAGER_MODEL_H
#define PACKET_MANAGER_MODEL_H

#include "bench/stream.h"

#include <algorithm>
#include <array>
#include <map>

namespace tb {
static const unsigned F = sizeof(Vpacket_manager::st_data_i), N = PARAM_N, E = PARAM_RpmEntries;
static const unsigned HEAD = MW_HEADER_BYTES / F, SECTOR = 32, LINE = MW_PAYLOAD_MAX_BYTES;
// lines that may be open at a GPU before one must make room
static const unsigned OPEN = E > 2 ? E - 2 : E;

// The key of stores to one line with one kind of address. The opcode without .nop's bit is not
// enough, because priorities are not merged.
struct line_key {
    unsigned gpu, opcode, stage, target;
    uint64_t line, row;
    bool operator<(const line_key &o) const
    {
        return std::tie(gpu, opcode, stage, target, line, row) <
               std::tie(o.gpu, o.opcode, o.stage, o.target, o.line, o.row);
    }
};

struct written {
    uint8_t value;
    uint64_t seq; // of its packet
};

struct manager : model<Vpacket_manager> {
    explicit manager(unsigned cycles_of_timer, bool is_on = true, bool once = false,
                     unsigned shift_of_row = 7)
        : timer(cycles_of_timer), row_shift(shift_of_row), on(is_on), target_list_cache(once)
    {
        dut.go_i = dut.emap_we_i = dut.st_valid_i = 0;
        dut.on_i = on;
        dut.timer_i = static_cast<uint16_t>(timer);
        dut.target_list_cache_i = target_list_cache;
        dut.row_shift_i = static_cast<uint8_t>(row_shift);
        reset();
        for (unsigned e = 0; e < PARAM_MaxExperts; e++) {
            gpu_of.push_back(e % N);
            dut.emap_we_i = 1;
            dut.emap_addr_i = static_cast<uint16_t>(e);
            dut.emap_data_i = tb::place(e != UNMAPPED, gpu_of[e]);
            settle();
            edge();
        }
        dut.emap_we_i = 0;
        dut.go_i = 1;
        settle();
        edge();
        dut.go_i = 0;
        settle();
        assert_true(dut.idle_o);
    }

    static const unsigned UNMAPPED = 3;    // an expert that no GPU has
    unsigned timer, row_shift, room = 100; // percent of the cycles in which the uplink takes a flit
    bool on, target_list_cache;
    packet_source in;
    packet_watch out{"uplink"};
    std::vector<unsigned> gpu_of;
    std::deque<packet> sent; // in the order in which they went in
    std::vector<packet> got; // and out
    std::vector<uint64_t> begun,
        arrived; // when the first flit of each left, when the last one went in
    uint64_t flits_in = 0, flits_out = 0, merged = 0, full = 0, by_timer = 0, count_in = 0,
             count_out = 0, last_out = 0, first_in = 0;

    // A byte of a line never has the value that it had shortly before. The value therefore shows
    // its store.
    void send(packet p)
    {
        if (on && !behind(p))
            for (unsigned b = 0; b < p.h.len; b++) {
                uint8_t &value = value_of[key(p)][p.h.addr % LINE + b];
                p.payload[b] = value = static_cast<uint8_t>(value + 1 + rng.below(5));
            }
        sent.push_back(p);
        in.queue.push_back(encode(p, F, &rng));
        note(p, seq++);
    }

    void drain(uint64_t limit = 0)
    {
        until(
            "the packets' end", limit ? limit : 3000 + 2 * (timer + N * E) + N * E * 40,
            [&] { return in.empty() && dut.idle_o && !dut.st_valid_o && !busy(); },
            [&] { return flits_out + flits_in; });
        cycles(5);
        assert_true(dut.idle_o && !dut.st_valid_o);
        for (const auto &l : bytes_of)
            for (const auto &b : l.second)
                assert_true(b.empty());
        for (const auto &w : waiting)
            assert_true(w.second.empty());
        assert_true(out.open.empty());
        assert_int_equal(count_out, got.size());
        if (on) {
            assert_int_equal(count_in, sent.size());
        }
    }

    packet store(unsigned opcode, unsigned to, unsigned stage, uint64_t addr, unsigned len)
    {
        packet p = {header(opcode)};
        p.h.src = 1;
        p.h.epoch = 2;
        p.h.stage = stage;
        p.h.addr = addr;
        p.h.len = len;
        p.payload = rng.some(len);
        p.lane = static_cast<unsigned>(addr % F);
        if (opcode == MW_OP_ST)
            p.h.dst = to;
        else
            p.set_targets({target(to, to % 3)});
        return p;
    }
    packet st(unsigned gpu, uint64_t addr, unsigned len)
    {
        return store(MW_OP_ST, gpu, MW_STAGE_DISPATCH, addr, len);
    }
    packet bare(unsigned opcode, unsigned gpu)
    {
        packet p = {header(opcode)};
        p.h.src = 1;
        p.h.epoch = 2;
        p.h.dst = gpu;
        return p;
    }

    // The packets that one must follow. 0: only those with the same bytes, 1: all of its GPU, 2:
    // all.
    unsigned behind(const packet &p) const
    {
        const mw_header &h = p.h;
        const bool plain = !h.tag && !h.poison && !h.dtype && !h.redop && !h.reduce && !h.own;
        const bool short_one = h.addr % LINE + h.len <= LINE && h.len;
        if (h.opcode == MW_OP_ST && h.cnt == 0 && h.dst < N)
            return plain && short_one && !(h.addr >> ADDR_BITS) && !h.target0 ? 0 : 1;
        if (mw_opcode_of(h.opcode).targets == MW_TARGETS_PORT)
            return h.dst < N ? 1 : 2;
        const bool one = h.cnt == 1 && (is_rowsp(h.opcode) ||
                                        (h.opcode == MW_OP_DYMULTIMEM_ST && !target_list_cache));
        const unsigned expert = h.target0 >> 4;
        return one && expert < PARAM_MaxExperts && expert != UNMAPPED && plain && short_one &&
                       !(h.addr >> ADDR_BITS)
                   ? 0
                   : 2;
    }
    unsigned gpu(const packet &p) const { return has_list(p) ? gpu_of[p.h.target0 >> 4] : p.h.dst; }

  private:
    static const unsigned TOKEN_BITS = PARAM_TokensLog2 + (N > 2 ? log2_up(N) : 1) + 15;
    static const unsigned ADDR_BITS =
        TOKEN_BITS > PARAM_MemBytesLog2 ? TOKEN_BITS : PARAM_MemBytesLog2;

    static bool has_list(const packet &p) { return stores_row(p.h.opcode); }
    bool busy() const { return in.busy(); }
    // a token's row, where a line holds several
    unsigned row_bits() const { return std::min(row_shift, 7u); }
    line_key key(const packet &p) const
    {
        return {gpu(p),      p.h.opcode,      p.h.stage,
                p.h.target0, p.h.addr / LINE, has_list(p) ? p.h.addr >> row_bits() : 0};
    }

    void note(const packet &p, uint64_t s)
    {
        if (!on)
            return;
        if (behind(p)) {
            waiting[behind(p) == 1 ? p.h.dst : N].push_back({s, encode(p, F)});
            return;
        }
        auto &line = bytes_of[key(p)];
        for (unsigned b = 0; b < p.h.len; b++)
            line[p.h.addr % LINE + b].push_back({p.payload[b], s});
    }

    // No packet from before s is still to come, for one GPU or for all (N).
    void nothing_before(uint64_t s, unsigned gpu) const
    {
        for (const auto &l : bytes_of)
            if (gpu == N || l.first.gpu == gpu)
                for (const auto &b : l.second)
                    if (!b.empty() && b.front().seq < s)
                        fail_msg("a packet that must follow a store has passed it");
        for (const auto &w : waiting)
            if (gpu == N || w.first == gpu || w.first == N)
                if (!w.second.empty() && w.second.front().first < s)
                    fail_msg("a packet that must follow another one has passed it");
    }

    void check(const bytes &b)
    {
        packet p = {header_of(b)};
        const size_t head = MW_HEADER_BYTES;
        if (behind(p)) {
            const unsigned to = behind(p) == 1 ? p.h.dst : N;
            auto &list = waiting[to];
            assert_false(list.empty());
            assert_wire(list.front().second, b, "a packet that passes");
            const uint64_t s = list.front().first;
            list.pop_front();
            nothing_before(s, to);
            return;
        }
        assert_int_equal(p.h.cls, MW_CLS_STORE);
        assert_int_equal(p.h.src, 1);
        assert_int_equal(p.h.epoch, 2);
        p.lane = p.h.addr % F;
        assert_int_equal(b.size(), (head + (p.lane + p.h.len + F - 1) / F * F));
        p.payload.assign(b.begin() + static_cast<long>(head + p.lane),
                         b.begin() + static_cast<long>(head + p.lane + p.h.len));
        const auto line = bytes_of.find(key(p));
        assert_true(line != bytes_of.end());
        uint64_t newest = 0;
        for (unsigned i = 0; i < p.h.len; i++) {
            auto &byte = line->second[p.h.addr % LINE + i];
            // values in between were replaced before they left
            while (!byte.empty() && byte.front().value != p.payload[i])
                byte.pop_front();
            if (byte.empty())
                fail_msg("byte %u of a store at %llx was never stored, or has left before", i,
                         static_cast<unsigned long long>(p.h.addr));
            newest = std::max(newest, byte.front().seq);
            byte.pop_front();
        }
        // it has not passed an earlier packet that still waits, for its GPU or for all
        for (unsigned to : {line->first.gpu, N}) {
            const auto w = waiting.find(to);
            if (w != waiting.end() && !w->second.empty() && w->second.front().first < newest)
                fail_msg("a store has passed a packet that came before");
        }
        got.push_back(p);
    }

    void drive() override
    {
        in.drive(rng, dut.st_valid_i, dut.st_data_i, dut.st_last_i);
        dut.st_ready_i = percent(room);
    }
    bool percent(unsigned p) { return rng.percent(p); }

    void sample() override
    {
        if (!on) {
            assert_int_equal(dut.st_valid_o, dut.st_valid_i);
            assert_int_equal(dut.st_ready_o, dut.st_ready_i);
            if (dut.st_valid_o)
                assert_true(get(dut.st_data_o) == get(dut.st_data_i) &&
                            dut.st_last_o == dut.st_last_i);
        }
        if (dut.st_valid_o && dut.st_ready_i) {
            if (out.open.empty())
                begun.push_back(now);
            flits_out++;
            last_out = now;
        }
        if (out.see(dut.st_valid_o, dut.st_ready_i, dut.st_data_o, dut.st_last_o)) {
            while (!out.packets.empty()) {
                const bytes b = out.take();
                const size_t before = got.size();
                if (on)
                    check(b);
                if (got.size() == before)
                    got.push_back({header_of(b)});
            }
        }
        if (dut.st_valid_i && dut.st_ready_o) {
            if (!flits_in++)
                first_in = now;
            if (dut.st_last_i)
                arrived.push_back(now);
        }
        in.taken(dut.st_ready_o);
        merged += dut.count_merged_o;
        full += dut.count_full_o;
        by_timer += dut.count_timer_o;
        count_in += dut.count_in_o;
        count_out += on ? dut.count_out_o : dut.st_valid_o && dut.st_ready_i && dut.st_last_o;
    }

    uint64_t seq = 0;
    std::map<line_key, std::array<std::deque<written>, LINE>> bytes_of;
    std::map<line_key, std::array<uint8_t, LINE>> value_of;            // given last
    std::map<unsigned, std::deque<std::pair<uint64_t, wire>>> waiting; // by GPU; N: after all
};
} // namespace tb

#endif
