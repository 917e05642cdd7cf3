// SPDX-License-Identifier: Apache-2.0
//
// rx_resolve with look-ups that miss and return, and random back-pressure at every output. Each
// target of a packet becomes its job, once.

#include "rx_jobs_model.h"

using namespace tb;

struct jobs : jobs_of_layer {
    std::vector<arrived> headers{SLOTS};
    std::deque<key> parked; ///< look-ups that missed
    key asked;
    bool waiting = false, started = false, asking = false, more = true;
    uint64_t answer_at = 0, fill_at = 0;
    unsigned events = 0, said = 0, acks = 0, done = 0, missed = 0;

    jobs()
    {
        dut.emap_we_i = dut.pkt_valid_i = dut.al_valid_i = dut.al_fill_i = 0;
        dut.job_ready_i = 1;
    }
    auto next_flag(unsigned kind)
    {
        assert_true(!flags.empty() && flags.front()[0] == kind);
        const auto f = flags.front();
        flags.pop_front();
        return f;
    }
    void see_events()
    {
        if (dut.ev_valid_o) {
            const auto f = next_flag(0);
            assert_int_equal(dut.ev_src_o, f[1]);
            assert_int_equal(dut.ev_idx_o, f[2]);
            assert_int_equal(dut.ev_notified_o, f[3]);
            if (f[3])
                assert_int_equal(dut.ev_row_o, f[4]);
            events++;
        }
        if (dut.said_valid_o) {
            const auto f = next_flag(1);
            assert_int_equal(dut.said_src_o, f[1]);
            assert_int_equal(dut.said_tile_o, f[2]);
            if (!f[2])
                assert_int_equal(dut.said_list_o, f[3]);
            assert_int_equal(dut.said_rows_o, f[4]);
            said++;
        }
        if (dut.ack_valid_o && dut.ack_ready_i) {
            assert_true(!fences.empty());
            assert_int_equal(dut.ack_port_o, fences.front());
            fences.pop_front();
            acks++;
        }
        if (dut.err_valid_o) {
            if (!errors[dut.err_code_o])
                fail_msg("error %u was not expected", dut.err_code_o);
            errors[dut.err_code_o]--;
        }
    }

    void see_write()
    {
        if (!dut.keep_wr_valid_o || !dut.keep_wr_ready_i)
            return;
        assert_true(!writes.empty() && dut.keep_wr_be_o == (1u << F) - 1);
        const write w = writes.front();
        writes.pop_front();
        assert_int_equal(dut.keep_wr_addr_o, w.addr);
        const bytes data = tb::get(dut.keep_wr_data_o);
        assert_memory_equal(data.data(), w.targets.data(), 2 * w.targets.size());
    }

    bool slot_used(unsigned s) const
    {
        const auto first = due.lower_bound({s, 0});
        return first != due.end() && first->first.first == s;
    }
    void drive() override
    {
        if (!waiting && more && percent(70)) {
            do
                slot = (slot + 1) % SLOTS;
            while (slot_used(slot));
            make_packet();
            headers[slot] = now_in;
            waiting = true;
            started = false;
        }
        dut.pkt_valid_i = waiting;
        dut.pkt_slot_i = static_cast<uint8_t>(slot);
        dut.pkt_bad_i = waiting && now_in.cut;
        dut.pkt_flits_i = static_cast<uint8_t>(now_in.flits);
        dut.start_ready_i = percent(70);
        dut.al_req_ready_i = percent(70);
        dut.job_ready_i = percent(60);
        dut.ack_ready_i = percent(60);
        dut.keep_wr_ready_i = percent(60);
        dut.busy_i = percent(30);
        dut.al_fill_i = fill_at && now >= fill_at;
        dut.al_busy_i = fill_at && !dut.al_fill_i;
        if (dut.al_fill_i)
            fill_at = 0;
        dut.al_valid_i = asking && now >= answer_at;
        scramble(dut.al_row_i, 22, rng);
        dut.al_miss_i = static_cast<uint8_t>(rng.bits(1));
        dut.al_err_i = static_cast<uint8_t>(rng.bits(1));
        if (dut.al_valid_i)
            allocate();
        header_at_port();
        header_at_port();
    }
    void header_at_port()
    {
        settle();
        const arrived &h = headers[dut.hd_slot_o];
        dut.hd_bad_i = h.bad;
        dut.hd_op_i = static_cast<uint8_t>(h.op);
        dut.hd_src_i = static_cast<uint8_t>(h.src);
        dut.hd_len_i = static_cast<uint8_t>(h.len);
        dut.hd_cnt_i = static_cast<uint8_t>(h.cnt);
        dut.hd_stage_i = static_cast<uint8_t>(h.stage);
        dut.hd_beyond_i = h.beyond;
        dut.hd_row_i = static_cast<uint16_t>(h.row);
        dut.hd_addr_i = static_cast<uint32_t>(h.addr);
        dut.hd_tgt_i = static_cast<uint16_t>(h.targets.empty() ? 0 : h.targets[dut.hd_tgt_o]);
    }
    void allocate()
    {
        job &j = due.at(asked);
        asking = false;
        dut.al_miss_i = percent(25);
        dut.al_err_i = !dut.al_miss_i && percent(10);
        if (dut.al_miss_i) {
            missed++;
            parked.push_back(asked);
            if (!fill_at)
                fill_at = now + 1 + below(20);
            return;
        }
        j.known = true;
        j.null = dut.al_err_i;
        errors[MW_HWERR_BOUNDS] += dut.al_err_i;
        j.row = bits_of(dut.al_row_i = static_cast<uint32_t>(bits_of(dut.al_row_i, ROW_W)), ROW_W);
        place_row(j, false, false);
    }

    void sample() override
    {
        settle();
        if (dut.start_valid_o) {
            assert_true(waiting && !started);
            assert_int_equal(dut.start_slot_o, slot);
            const bool ordered =
                !now_in.bad && !now_in.cut && (now_in.op == MW_OP_FLAG || now_in.op == MW_OP_FENCE);
            assert_true(!ordered || (due.empty() && !dut.busy_i));
            if (dut.start_ready_i) {
                started = true;
                expect_packet();
                assert_int_equal(dut.start_cnt_o, now_targets.size());
            }
        }
        see_events();
        see_request();
        see_job();
        see_write();
        if (dut.pkt_ready_o) {
            assert_true(waiting && started);
            waiting = false;
        }
    }
    void see_request()
    {
        if (!dut.al_req_valid_o || !dut.al_req_ready_i)
            return;
        assert_true(!asking && dut.al_req_alloc_o);
        std::deque<key> &from = dut.al_req_retry_o ? parked : fresh;
        assert_true(!from.empty() && (dut.al_req_retry_o || dut.al_req_start_o));
        asked = from.front();
        from.pop_front();
        asking = true;
        answer_at = now + 1 + (percent(70) ? 0 : below(3));
        assert_int_equal(dut.al_req_le_o, due.at(asked).asked_le);
        assert_int_equal(dut.al_req_token_o, due.at(asked).token);
    }

    void see_job()
    {
        if (!dut.job_valid_o || !dut.job_ready_i)
            return;
        const unsigned s = dut.job_slot_o;
        auto d = due.find({s, ALONE});
        if (d == due.end())
            d = due.find({s, dut.job_pos_o});
        assert_true(d != due.end() && d->second.known);
        const job j = d->second;
        due.erase(d);
        done++;
        const unsigned track = j.track && !j.null, home = j.home && !j.null;
        assert_int_equal(dut.job_kind_o,
                         j.null << 4 | j.counts << 3 | j.red << 2 | track << 1 | home);
        if (j.null)
            return;
        assert_int_equal(dut.job_lane_o, j.lane);
        assert_int_equal(dut.job_span_o, j.span);
        assert_int_equal(dut.job_addr_o, j.addr);
        if (j.at_token)
            assert_int_equal(dut.job_token_o, j.token);
        if (j.at_row)
            assert_int_equal(dut.job_row_o, j.row);
        if (j.track)
            assert_int_equal(dut.job_le_o, j.le);
        if (j.track || j.counts)
            assert_int_equal(dut.job_pos_o, j.pos);
    }

    /// Ends in the middle, or when everything is done.
    void layer(unsigned length)
    {
        dut.pkt_valid_i = dut.al_valid_i = dut.al_fill_i = 0;
        set_layer();
        reset();
        rows.assign(N, {});
        due.clear();
        errors.clear();
        flags.clear();
        fences.clear();
        fresh.clear();
        parked.clear();
        waiting = asking = false;
        writes.clear();
        fill_at = 0;
        set_map();
        more = true;
        cycles(length);
        more = false;
        if (percent(30))
            return;
        until("all jobs, flags, fences and lists", 5000, [&] {
            return !waiting && due.empty() && flags.empty() && fences.empty() && writes.empty();
        });
        for (auto &e : errors)
            if (e.second)
                fail_msg("error %u did not come", e.first);
    }
};

TEST(every_target_becomes_its_job)
{
    jobs b;
    for (unsigned i = 0; i < cases(60, 600); i++)
        b.layer(1500);
    assert_true(b.done > 10000 && b.missed > 500 && b.events > 100 && b.said > 50 && b.acks > 200);
    for (unsigned e : {MW_HWERR_LENGTH, MW_HWERR_TARGETS, MW_HWERR_REDUCTION, MW_HWERR_OPCODE,
                       MW_HWERR_BOUNDS, MW_HWERR_UNMAPPED})
        assert_true(b.seen[e] > 30);
}
