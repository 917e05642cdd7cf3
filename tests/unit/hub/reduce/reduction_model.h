// SPDX-License-Identifier: Apache-2.0
//
// The environment of row_sum, alone or within reduction: memory, reduced rows from the wire, the
// packets that leave, and the credits of partial sums.
#ifndef REDUCTION_MODEL_H
#define REDUCTION_MODEL_H

#include "bench/credits.h"
#include "bench/memory.h"
#include "bench/values.h"
#include "node_cfg.h"

#include <algorithm>

namespace tb {
static const unsigned N = PARAM_N, F = PARAM_FlitBytes, PF = 128 / F, HF = 16 / F;
static const unsigned CREDITS = 4, MEM = 1u << PARAM_MemBytesLog2;

/// A row as packets. All have this header, except for length and, in stores, address.
inline std::vector<packet> packets_of(const mw_header &h, const bytes &row)
{
    std::vector<packet> list;
    for (size_t from = 0; from < row.size(); from += 128) {
        const size_t to = std::min(from + 128, row.size());
        packet p;
        p.h = h;
        p.payload.assign(&row[from], &row[from] + (to - from));
        p.h.len = static_cast<uint32_t>(to - from);
        p.h.addr += h.opcode == MW_OP_ST ? from : 0;
        list.push_back(p);
    }
    return list;
}

/// Cycles of a kind of event.
struct interval {
    uint64_t first = 0, last = 0, count = 0;

    void see(uint64_t now)
    {
        first = count++ ? first : now;
        last = now;
    }
    double per_event() const
    {
        return static_cast<double>(last - first) / static_cast<double>(count - 1);
    }
};

template <class Dut> struct sums : model<Dut> {
    using model<Dut>::dut, model<Dut>::rng, model<Dut>::now, model<Dut>::percent, model<Dut>::below;

    struct leaving {
        wire packet;
        bool ends_row;
    };

    node_cfg cfg;
    memory mem{MEM, F};
    read_port suma{mem, "SUMA"}, sumb{mem, "SUMB"}, copy{mem, "COPY"};
    write_port out{mem, "OUT"};
    packet_source results;
    packet_watch partials{"partial sums"}, stores{"stores"};
    std::deque<leaving> partials_due[N], stores_due[N]; // by GPU
    std::vector<credits> credit;                        // by requester
    unsigned ready, credit_delay = 4;
    unsigned up_period = 0; // cycles of the uplink per flit; 0: it is ready at random
    interval partials_out, stores_out, flits_written;
    unsigned any_behind = 50; // percent of the cycles in which who is behind changes
    uint64_t behind = 0;      // bit q for a requester that is
    unsigned ended[N] = {};   // rows of others, whose last packet was chosen

    /// percent_ready: percent of the cycles in which the ports are ready. part_credits:
    /// cfg.part_credits, 0 for all.
    sums(unsigned epoch, unsigned port, unsigned percent_ready, unsigned part_credits)
        : credit(N,
                 credits("partial sums", part_credits ? std::min(part_credits, CREDITS) : CREDITS)),
          ready(percent_ready)
    {
        mem.data = random_row(rng, MEM);
        suma.rate = sumb.rate = copy.rate = out.rate = ready;
        suma.most_waits = sumb.most_waits = 5; // as gpu_mem promises
        partials.gapless = stores.gapless = true;
        cfg.set("port", port);
        cfg.set("epoch", epoch);
        cfg.set("part_credits", part_credits);
        cfg.set("balance_rows", percent(50));
    }

    mw_header head(unsigned opcode, unsigned dst) const
    {
        mw_header h = header(opcode);
        h.src = static_cast<uint32_t>(cfg["port"]);
        h.dst = dst;
        h.epoch = static_cast<uint32_t>(cfg["epoch"]);
        h.stage = MW_STAGE_COMBINE;
        return h;
    }
    /// A row that must leave in packets with this header. The contents of a poisoned packet do not
    /// count.
    static void expect_row(std::deque<leaving> &due, const mw_header &h, const bytes &row)
    {
        for (const packet &p : packets_of(h, row)) {
            due.push_back({encode(p, F), false});
            if (h.poison)
                std::fill(due.back().packet.sure.begin() + MW_HEADER_BYTES,
                          due.back().packet.sure.end(), false);
        }
        due.back().ends_row = true;
    }
    /// A reduced row with canonical NaN, and its packets from the switch, of which one may be
    /// poisoned.
    bytes reduced_row(size_t size) { return reduce_rows({random_row(rng, size)}, size, {}); }
    std::vector<wire> reduced(const bytes &row, unsigned poisoned)
    {
        std::vector<wire> list;
        for (packet &p : packets_of(head(MW_OP_RESULT, static_cast<unsigned>(cfg["port"])), row)) {
            p.h.poison = list.size() == poisoned;
            list.push_back(encode(p, F, &rng));
        }
        return list;
    }
    bool nothing_leaves() const
    {
        for (unsigned q = 0; q < N; q++)
            if (!partials_due[q].empty() || !stores_due[q].empty())
                return false;
        return true;
    }

    void drive() override
    {
        suma.drive(rng, dut.sum_rd_ready_i[0], dut.sum_rd_rvalid_i[0], dut.sum_rd_rdata_i[0]);
        sumb.drive(rng, dut.sum_rd_ready_i[1], dut.sum_rd_rvalid_i[1], dut.sum_rd_rdata_i[1]);
        copy.drive(rng, dut.copy_rd_ready_i, dut.copy_rd_rvalid_i, dut.copy_rd_rdata_i);
        out.drive(rng, dut.out_wr_ready_i);
        dut.part_ready_i = up_period ? now % up_period == 0 : percent(ready);
        dut.sst_ready_i = up_period ? dut.part_ready_i : percent(ready);
        dut.res_bad_i = results.drive(rng, dut.res_valid_i, dut.res_data_i, dut.res_last_i)
                            ? results.err()
                            : percent(50);
        if (percent(any_behind))
            behind = rng.bits(N);
        dut.behind_i = static_cast<uint8_t>(behind);
        dut.part_crd_valid_i = 0;
        const unsigned first = below(N);
        for (unsigned i = 0; i < N && !dut.part_crd_valid_i; i++) {
            dut.part_crd_port_i = static_cast<uint8_t>((first + i) % N);
            dut.part_crd_valid_i = credit[dut.part_crd_port_i].due(now);
        }
    }

    void sample() override
    {
        suma.sample(rng, dut.sum_rd_valid_o[0], dut.sum_rd_ready_i[0], dut.sum_rd_addr_o[0]);
        sumb.sample(rng, dut.sum_rd_valid_o[1], dut.sum_rd_ready_i[1], dut.sum_rd_addr_o[1]);
        copy.sample(rng, dut.copy_rd_valid_o, dut.copy_rd_ready_i, dut.copy_rd_addr_o);
        if (out.sample(dut.out_wr_valid_o, dut.out_wr_ready_i, dut.out_wr_addr_o, dut.out_wr_data_o,
                       dut.out_wr_be_o)) {
            assert_int_equal(dut.out_wr_be_o, (1u << F) - 1);
            flits_written.see(now);
        }
        results.taken(dut.res_ready_o);
        partials.see(dut.part_valid_o, dut.part_ready_i, dut.part_data_o, dut.part_last_o);
        stores.see(dut.sst_valid_o, dut.sst_ready_i, dut.part_data_o, dut.part_last_o);
        if (!partials.packets.empty()) {
            const unsigned to = left(partials, partials_due);
            partials_out.see(now);
            credit[to].spend();
            credit[to].owe(now + 1 + (credit_delay ? below(credit_delay) : 0));
        }
        if (!stores.packets.empty()) {
            left(stores, stores_due);
            stores_out.see(now);
        }
    }
    /// In each cycle, the port that says whose row ends.
    void end_of_row(bool valid, unsigned port)
    {
        if (!valid)
            return;
        assert_true(port < N && port != cfg["port"]);
        ended[port]++;
    }
    void assert_all_ended() const
    {
        for (unsigned q = 0; q < N; q++)
            assert_int_equal(ended[q], gone[q]);
    }
    virtual void row_left(unsigned) {} ///< all partial sums of a row for this requester have left

  private:
    unsigned left(packet_watch &from, std::deque<leaving> *due)
    {
        const bytes p = from.take();
        const unsigned to = header_of(p).dst;
        assert_in_range(to, 0, N - 1);
        assert_false(due[to].empty());
        assert_wire(due[to].front().packet, p, "a row");
        if (due[to].front().ends_row) {
            gone[to]++;
            assert_true(ended[to] >= gone[to]);
            if (due == partials_due)
                row_left(to);
        }
        due[to].pop_front();
        return to;
    }

    unsigned gone[N] = {}; // and whose last packet has left
};
} // namespace tb

#endif
