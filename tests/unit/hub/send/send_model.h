// SPDX-License-Identifier: Apache-2.0
//
// send with random grants of memory and back-pressure of its streams. Every packet is compared in
// order, and an error with the read that causes it.
#ifndef SEND_MODEL_H
#define SEND_MODEL_H

#include "send_rows.h"

namespace tb {
struct rates {
    // percent of cycles in which memory, streams and tracker are ready
    unsigned grant, st, loc, arm;
    unsigned control; // in which control begins a packet
};

/// send between memory, both streams and the token tracker, with packets of control.
struct hub : send_rows {
    rates p;
    uint64_t first_flit = 0, last_flit = 0;

    hub(const layer &with, const rates &at) : send_rows(with), p(at)
    {
        port.latency = l.latency;
        port.rate = p.grant;
        configure();
        tables();
        dut.go_i = dut.cmd_valid_i = dut.emap_we_i = dut.groups_we_i = 0;
        dut.rd_rvalid_i = dut.tok_done_i = dut.cst_valid_i = dut.clo_valid_i = 0;
        dut.pick_valid_i = 0;
        reset();
        write_tables();
        go();
        others = true;
    }

    void run(const mw_instr &in)
    {
        const unsigned code = refusal(in);
        current = in;
        assert_true(dut.cmd_ready_o);
        if (code)
            errors.expect_between(now + 1, now + 1, code, in.op, in.imm);
        else
            expect(in);
        memcpy(&dut.cmd_i, &in, sizeof in);
        dut.cmd_valid_i = 1;
        retired = false;
        control_on = true;
        cycle();
        dut.cmd_valid_i = 0;
        const uint64_t took = until(
            "the instruction to retire", 5000, [&] { return retired; }, [&] { return moves; });
        if (code)
            assert_int_equal(took, 2);
        control_on = false;
        cycles(20);
        until("control's packet", 5000, [&] { return control.empty(); });
        assert_true(want_control[0].empty() && want_control[1].empty());
        assert_true(want_st.empty() && want_loc.empty() && want_arm.empty() && bad_tokens.empty());
        assert_true(st.open.empty() && loc.open.empty());
        errors.done();
    }

    unsigned listed_to(unsigned gpu, unsigned le) { return listed[{gpu, le}]; }

    // Starts the next layer. Tokens in flight are cleared.
    void go()
    {
        dut.go_i = 1;
        cycle();
        dut.go_i = 0;
        armed = 0;
        others = false;
    }

  private:
    // ---- pins -----------------------------------------------------------------------------------
    void write_tables()
    {
        for (unsigned e = 0; e < EXPERTS; e++) {
            dut.emap_we_i = 1;
            dut.emap_addr_i = static_cast<uint16_t>(e);
            // {valid, gpu[4:0], local expert[5:0]}
            dut.emap_data_i = tb::place(map[e] >> 7, gpu_of(e), local[e]);
            settle();
            edge();
        }
        dut.emap_we_i = 0;
        for (unsigned g = 0; g < GROUPS; g++) {
            dut.groups_we_i = 1;
            dut.groups_addr_i = static_cast<uint8_t>(g);
            dut.groups_data_i = group[g];
            settle();
            edge();
        }
        dut.groups_we_i = 0;
    }

    void drive() override
    {
        port.drive(rng, dut.rd_ready_i, dut.rd_rvalid_i, dut.rd_rdata_i);
        dut.st_ready_i = percent(p.st);
        dut.loc_ready_i = percent(p.loc);
        dut.arm_ready_i = percent(p.arm);
        dut.tok_done_i = percent(armed > 0 ? done_percent
                                 : others  ? 5
                                           : 0); // other tokens are done too: they do not count
        dut.base_row_i = row_of[dut.base_q_o];
        dut.pick_valid_i = next < order.size() && percent(p.arm);
        dut.pick_token_i =
            static_cast<uint16_t>(dut.pick_valid_i ? order[next] : rng.bits(PARAM_TokensLog2));
        if (!dut.cmd_valid_i)
            scramble(dut.cmd_i, 128, rng);
        // Packets of control, for either stream, one at a time.
        if (control.empty() && control_on && percent(p.control)) {
            mw_header h = header(MW_OP_COUNTS);
            h.addr = rng.bits(48);
            control.queue.push_back(
                encode({h, {}, rng.some(percent(50) ? 0 : 4 * rng.between(1, 16))}, F));
            control_own = percent(50);
        }
        bool valid = false;
        control.drive(rng, valid, dut.cst_data_i, dut.cst_last_i);
        dut.clo_data_i = dut.cst_data_i;
        dut.clo_last_i = dut.cst_last_i;
        dut.cst_valid_i = valid && !control_own;
        dut.clo_valid_i = valid && control_own;
    }

    void sample() override
    {
        if (!control.empty()) {
            const bytes data = control.front().data;
            if (control.taken(control_own ? dut.clo_ready_o : dut.cst_ready_o))
                want_control[control_own].push_back(data);
        }
        if (port.sample(rng, dut.rd_valid_o, dut.rd_ready_i, dut.rd_addr_o)) {
            granted[dut.rd_addr_o] = now;
            moves++;
        }
        if (dut.begin_valid_o) {
            assert_true(named && dut.begin_first_o == current.a &&
                        dut.begin_stop_o == current.a + current.b);
            next = 0;
        }
        if (dut.pick_take_o) {
            assert_true(dut.pick_valid_i);
            next++;
        }
        if (dut.tok_done_i && armed > 0)
            armed--;
        if (dut.arm_valid_o && dut.arm_ready_i)
            arm();
        if (dut.base_take_o)
            row_of[dut.base_q_o]++;
        if (dut.err_valid_o)
            error();
        if (st.see(dut.st_valid_o, dut.st_ready_i, dut.st_data_o, dut.st_last_o)) {
            first_flit = first_flit ? first_flit : now;
            last_flit = now;
            moves++;
        }
        moves += loc.see(dut.loc_valid_o, dut.loc_ready_i, dut.loc_data_o, dut.loc_last_o);
        compare(st, want_st, want_control[0], "uplink");
        compare(loc, want_loc, want_control[1], "local");
        if (dut.retire_o) {
            assert_false(retired);
            assert_true(want_st.empty() && want_loc.empty() && bad_tokens.empty());
            assert_true(next >= order.size());
            retired = true;
        }
    }

    // An error of a token comes after the read of the entry that shows it. Tokens come in order.
    void error()
    {
        unsigned place = current.imm;
        if (!bad_tokens.empty()) {
            const auto read = granted.find(bad_tokens.front().flit);
            assert_true(read != granted.end());
            assert_in_range(now, read->second + l.latency + 1, UINT64_MAX);
            place = bad_tokens.front().token;
            bad_tokens.pop_front();
        }
        errors.see(now, true, dut.err_code_o, current.op, place);
    }

    // No packet of a token comes before the error of an earlier one.
    void behind_errors(unsigned token)
    {
        assert_true(bad_tokens.empty() || before(token, bad_tokens.front().token));
    }

    void arm()
    {
        assert_false(want_arm.empty());
        assert_int_equal(dut.arm_token_o, l.port << l.token_shift | want_arm.front().token);
        assert_int_equal(dut.arm_count_o, want_arm.front().count);
        assert_int_equal(dut.arm_remote_o, want_arm.front().remote);
        behind_errors(want_arm.front().token);
        want_arm.pop_front();
        armed++;
        if (l.in_flight)
            assert_true(armed <= l.in_flight);
    }

    static bool of_control(const bytes &pkt) { return (pkt[0] & 63) == MW_OP_COUNTS; }

    void compare(packet_watch &s, std::deque<expected> &want, std::deque<bytes> &want_ctl,
                 const char *where)
    {
        if (!s.packets.empty() && of_control(s.packets.front())) {
            assert_false(want_ctl.empty());
            assert_true(want_ctl.front() == s.take());
            want_ctl.pop_front();
            return;
        }
        if (!s.open.empty() && !of_control(s.open)) {
            assert_false(want.empty());
            if (!want_arm.empty() && stores_row(want.front().h.opcode))
                assert_true(before(want.front().token, want_arm.front().token));
            if (by_token(current))
                behind_errors(want.front().token);
        }
        if (s.packets.empty())
            return;
        assert_false(want.empty());
        const bytes got = s.take();
        assert_wire(want.front().w, got, where);
        const mw_header &h = want.front().h;
        if (!stores_row(h.opcode) && h.addr >= MEM)
            assert_true(header_of(got).addr >= MEM);
        want.pop_front();
    }

    read_port port{mem, "memory"};
    packet_watch st{"uplink"}, loc{"local"};
    std::map<uint64_t, uint64_t> granted; // flit: cycle of its last read
    packet_source control;
    bool control_own = false, control_on = false;
    std::deque<bytes> want_control[2]; // taken: uplink, local
    mw_instr current = {};
    unsigned armed = 0;
    uint64_t moves = 0;
    bool retired = false, others = true;
    unsigned done_percent = rng.one_in(3) ? 20 : 1;
};
} // namespace tb

#endif
