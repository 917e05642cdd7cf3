// SPDX-License-Identifier: Apache-2.0
//
// The reduction of one hub between its memory, its allocator and a switch, for the tests of
// reduction. The switch checks every request and answers it with reduced rows.
#ifndef REDUCTION_BENCH_H
#define REDUCTION_BENCH_H

#include "reduction_rows.h"

namespace tb {
/// combine, row_ranges, reduce_serve and row_sum of one hub, and the switch around it.
struct bench : reduction_rows {
    read_port misc{mem, "MISC"};
    uint64_t command_at = 0; // when the unit took the last one
    unsigned tokens_done = 0, src_rows[N] = {};
    int notified[N];       // before which row those of a source are here, -1: it has not reported
    unsigned max_open = 0; // requests of a GPU
    bool retired = true;

    explicit bench(const settings &set = settings()) : reduction_rows(set)
    {
        credit_delay = conf.credit_delay;
        results.rate = 100 - conf.result_gap;
        request_source.rate = conf.request_gap ? 80 : 100;
        misc.rate = conf.ready;
        misc.most_waits = 5;
        std::fill(notified, notified + N, -1);
        configure();
        dut.go_i = dut.cmd_valid_i = dut.push_valid_i = dut.rdy_valid_i = dut.back_valid_i = 0;
        dut.req_valid_i = dut.res_valid_i = dut.part_crd_valid_i = dut.al_valid_i = 0;
        dut.emap_we_i = dut.groups_we_i = 0;
        dut.rd_rvalid_i = dut.sum_rd_rvalid_i[0] = dut.sum_rd_rvalid_i[1] = dut.copy_rd_rvalid_i =
            0;
        reset();
        fill_map();
        fill_groups();
        dut.go_i = 1;
        edge();
        dut.go_i = 0;
    }

    void command(unsigned op, unsigned flags, unsigned imm, uint32_t a, uint32_t b, uint32_t c)
    {
        const unsigned kind = own_kind.dtype << 8 | own_kind.redop << 12;
        const mw_instr in = instr(op, flags, imm | kind, a, b, c);
        memcpy(&dut.cmd_i, &in, sizeof in);
        dut.cmd_valid_i = 1;
        retired = false;
    }
    void run(unsigned op, unsigned flags, unsigned imm, uint32_t a, uint32_t b, uint32_t c)
    {
        command(op, flags, imm, a, b, c);
        finish();
    }

    void cycle() override
    {
        sums::cycle();
        if (command_taken)
            dut.cmd_valid_i = 0;
        dut.push_valid_i = 0;
    }

    // Runs sum.st of tokens below `end`, until it has retired. No later row may have left then.
    void push(uint32_t first, uint32_t end)
    {
        const mw_instr in = {MW_I_SUM_ST, 0, 0, 0, 0, first, end - first, 0};
        memcpy(&dut.cmd_i, &in, sizeof in);
        dut.push_valid_i = 1;
        push_retired = false;
        until("the push to retire", LIMIT, [&] { return push_retired; });
        for (unsigned home = 0; home < N; home++) {
            for (const leaving &s : stores_due[home])
                assert_true(notified[home] >= 0 ||
                            header_of(s.packet.data).addr >= slot_addr(end, 0));
        }
    }

    // Rows of sum.st that have not left for this GPU, in packets of 128 bytes.
    size_t rows_due(unsigned home) const
    {
        const size_t packets = (conf.row_bytes + 127) / 128;
        assert_int_equal(stores_due[home].size() % packets, 0);
        return stores_due[home].size() / packets;
    }

    void wait_retired()
    {
        until("the command to retire", LIMIT, [&] { return retired; });
    }

    bool requests_left() const
    {
        for (auto &list : requests)
            if (!list.empty())
                return true;
        return !request_source.empty();
    }

    // Runs until everything is done, and a little longer.
    void finish()
    {
        unsigned quiet = 0;
        until("the end", LIMIT, [&] {
            const bool done = dut.idle_o && results.empty() && !requests_left() && retired &&
                              nothing_leaves() && back.empty();
            quiet = done ? quiet + 1 : 0;
            return quiet > 60;
        });
        errors.done();
        assert_int_equal(tokens_done, tokens_due);
        for (auto &w : out_due)
            assert_true(mem.read(w.first, w.second.size()) == w.second);
        assert_true(requests_due.empty());
        assert_all_ended();
    }

  private:
    void drive() override
    {
        sums::drive();
        misc.drive(rng, dut.rd_ready_i, dut.rd_rvalid_i, dut.rd_rdata_i);
        dut.req_ready_i = percent(ready);
        dut.own_base_i = own_base;
        dut.rdy_valid_i = !ready_tokens.empty();
        dut.rdy_token_i =
            static_cast<uint32_t>(ready_tokens.empty() ? rng.bits(20) : ready_tokens.front());
        dut.back_valid_i = !back.empty();
        if (!back.empty()) {
            dut.back_home_i = static_cast<uint8_t>(back.front().home);
            dut.back_row_i = back.front().row;
            dut.back_token_i = static_cast<uint16_t>(back.front().token);
            dut.back_pos_i = static_cast<uint8_t>(back.front().pos);
        }
        dut.al_req_ready_i = !look_open && percent(ready);
        dut.al_valid_i = look_open && look_due == now;
        if (dut.al_valid_i) {
            const auto found = allocated.find(look);
            dut.al_err_i = found == allocated.end();
            dut.al_row_i =
                static_cast<uint32_t>(found == allocated.end() ? rng.bits(20) : found->second);
            look_open = false;
        }
        if (request_source.empty() && !percent(conf.request_gap))
            start_request();
        dut.req_err_i = request_source.drive(rng, dut.req_valid_i, dut.req_data_i, dut.req_last_i)
                            ? 0
                            : percent(50);
        settle();
        dut.src_rows_rows_i = src_rows[dut.src_o]; // from LUT RAM
        dut.src_rows_notified_i = notified[dut.src_o] >= 0;
        dut.src_rows_row_i =
            static_cast<uint32_t>(notified[dut.src_o] >= 0 ? notified[dut.src_o] : rng.bits(20));
    }

    // The next request of some GPU whose window is open.
    void start_request()
    {
        const unsigned start = below(N);
        for (unsigned t = 0; t < N; t++) {
            const unsigned q = (start + t) % N;
            if (requests[q].empty() || open[q] >= WINDOW)
                continue;
            max_open = std::max(max_open, ++open[q]);
            request_source.queue.push_back(requests[q].front());
            requests[q].pop_front();
            return;
        }
    }
    void row_left(unsigned q) override { open[q]--; }

    void sample() override
    {
        sums::sample();
        end_of_row(dut.row_done_valid_o, dut.row_done_port_o);
        misc.sample(rng, dut.rd_valid_o, dut.rd_ready_i, dut.rd_addr_o);
        request_source.taken(true);
        for (unsigned u = 0; u < 3; u++)
            errors.see(now, dut.err_valid_o[u], dut.err_code_o[u], u);
        if (dut.rdy_valid_i && dut.rdy_ready_o)
            ready_tokens.pop_front();
        tokens_done += dut.tok_done_o;
        if (dut.back_done_o) {
            assert_false(back.empty());
            back.pop_front();
        }
        if (dut.al_req_valid_o && dut.al_req_ready_i) {
            assert_int_equal(dut.al_req_alloc_o, 0);
            look_open = true;
            look_due = now + (percent(conf.miss) ? 5 + below(20) : 2);
            look = {dut.al_req_le_o, dut.al_req_token_o};
        }
        requests_out.see(dut.req_valid_o, dut.req_ready_i, dut.req_data_o, dut.req_last_o);
        if (!requests_out.packets.empty()) {
            assert_false(requests_due.empty());
            assert_wire(requests_due.front().request, requests_out.take(), "a request");
            for (const wire &w : requests_due.front().answer)
                results.queue.push_back(w);
            requests_due.pop_front();
        }
        sample_commands();
    }

    void sample_commands()
    {
        command_taken = dut.cmd_valid_i && dut.cmd_ready_o;
        if (command_taken) {
            command_at = now;
        } else if (dut.retire_o) {
            assert_false(retired);
            retired = true;
        }
        assert_true(!dut.push_valid_i || dut.push_ready_o);
        push_retired = push_retired || dut.push_retire_o;
    }

    bool look_open = false; // of the allocator: one at a time
    uint64_t look_due = 0;
    std::pair<unsigned, unsigned> look;
    unsigned open[N] = {};
    packet_source request_source;
    packet_watch requests_out{"requests"};
    bool push_retired = true, command_taken = false;
};
} // namespace tb

#endif
