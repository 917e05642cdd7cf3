// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Workers and accounts of rx_store have any packets and jobs (models/store). The memory may stall
// each worker at any time. The proof follows one job, which the solver chooses. Units are the flits
// that a job writes, or the words of COUNTS that it passes on. Each word of data contains its
// position in the payload RAMs.
`default_nettype none
`include "bundles.svh"

module prove_rx_store #(
    parameter int unsigned FlitBytes = 16,
    localparam int unsigned LinkPkts = 2,
    localparam int unsigned LocPkts  = 1,
    localparam cfg_pkg::cfg_t Cfg = sizes()
) (
    input  wire logic                clk_i, watch_i,
    input  wire node_pkg::node_cfg_t cfg_i,
    input  wire `MW_MARKED(Cfg)      st_i,
    input  wire logic [1:0]          wr_ready_i
);
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.N = 2;
        c.FlitBytes = FlitBytes;
        c.MemBytesLog2 = 5 + $clog2(FlitBytes);
        c.RowsLog2 = 1;
        c.TokensLog2 = 1;
        c.MaxExperts = 2;
        c.MaxLocalExperts = 2;
        c.RxStorePkts = LinkPkts;
        c.Reds = 1'b0;
        c.SourceLists = 1'b0;
        return cfg_pkg::derived(c);
    endfunction

    localparam int unsigned SlotW = 2;

    logic                rst_n, crd, idle;
    logic                wr_ready [2];
    `MW_WRITE(Cfg)       wr [2];
    bundle_pkg::landed_t trk;
    bundle_pkg::count_t  cnt;
    bundle_pkg::error_t  err;

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    assign wr_ready = '{wr_ready_i[0], wr_ready_i[1]};

    rx_store #(.Cfg(Cfg), .LocPkts(LocPkts)) i_dut (
        .clk_i, .rst_ni(rst_n), .cfg_i, .emap_i('0), .st_i, .st_crd_o(crd),
        .res_push_i(1'b0), .res_room_o(),
        .res_crd_o(), .res_o(), .res_ready_i(1'b0), .res_bad_o(), .loc_i('0), .loc_ready_o(),
        .al_req_o(), .al_req_ready_i(1'b0), .al_i('0), .al_fill_i(1'b0), .al_busy_i(1'b0),
        .rd_o(), .rd_ready_i(1'b0), .rd_i('0), .wr_o(wr), .wr_ready_i(wr_ready), .trk_o(trk),
        .slot_o(),
        .slot_ready_i(1'b1), .cnt_o(cnt),
        .ev_o(), .said_o(), .ack_o(), .ack_ready_i(1'b0), .err_o(err), .idle_o(idle)
    );

    function automatic logic [31:0] stands(logic [SlotW-1:0] slot, logic [Cfg.PayW-1:0] at,
                                           logic [1:0] lane);
        return (slot < SlotW'(LinkPkts)) ? {2'b01, lane, 28'({slot, at})}
               : {2'b10, lane, 28'({SlotW'(slot - SlotW'(LinkPkts)), at})};
    endfunction

    // ---- jobs enter one worker, units leave it, and the job is reported ----
    typedef logic [6:0] units_t;
    typedef struct packed {    // as job_t of rx_store
        logic                    null_, counts, red, track, home;
        logic [SlotW-1:0]        slot;
        logic [Cfg.FlitLog2-1:0] lane;
        logic [6:0]              span;
        logic [Cfg.AddrW-1:0]    addr;
        logic [Cfg.LocalW-1:0]   le;
        logic [Cfg.RowsLog2-1:0] row;
        logic [Cfg.TokW-1:0]     token;
        logic [3:0]              pos;
        logic [Cfg.GpuW:0]       adds;
    } out_t;

    function automatic units_t units_of(out_t job);
        if (job.null_) return '0;
        return (job.counts ? units_t'(job.span[6:2]) : units_t'(job.span[6:Cfg.FlitLog2])) + 7'd1;
    endfunction

    // State of a worker. reads, front, idx: a job whose payload it reads, and the next flit. shows,
    // ends: a flit at its output, the last of its job. info, behind, granted: a job that has been
    // read, and memory has all of it.
    logic [1:0]          reads, shows, ends, info, granted;
    out_t                front [2], behind [2];
    logic [Cfg.PayW-1:0] idx [2];
    for (genvar w = 0; w < 2; w++) begin : gen_holds
        assign reads[w]   = i_dut.gen_worker[w].i_worker.job_valid_q;
        assign front[w]   = i_dut.gen_worker[w].i_worker.job_q;
        assign idx[w]     = i_dut.gen_worker[w].i_worker.idx_q;
        assign shows[w]   = i_dut.gen_worker[w].i_worker.flit_q;
        assign ends[w]    = i_dut.gen_worker[w].i_worker.last_q;
        assign info[w]    = i_dut.gen_worker[w].i_worker.info_q;
        assign granted[w] = i_dut.gen_worker[w].i_worker.granted_q;
        assign behind[w]  = i_dut.gen_worker[w].i_worker.done_o;
    end

    logic [1:0]          in, unit, done;
    units_t              units, units_q [2];   // of the job; inside each worker
    units_t              held [2], at_out [2]; // the same, counted from its registers; those at its
                                               // output
    logic [1:0]          jobs_q [2];
    logic                go;
    logic [1:0]          last_at;              // the last flit of a job is at the worker's output
    out_t                out_job [2];          // job of the flit there, and number of the flit
    logic [Cfg.PayW-1:0] out_flit [2];

    assign go    = i_dut.job_valid && i_dut.job_ready;
    assign in    = {go && !i_dut.job_first && i_dut.w_ready[1], go
                    && (i_dut.job_first || !i_dut.w_ready[1])};
    assign done  = {i_dut.w_done[1] && i_dut.w_done_ready[1], i_dut.w_done[0]
                    && i_dut.w_done_ready[0]};
    assign unit  = {wr[1].valid && wr_ready_i[1], (wr[0].valid && wr_ready_i[0]) || cnt.valid};
    assign units = units_of(i_dut.job);

    for (genvar w = 0; w < 2; w++) begin : gen_worker
        units_t               to_read;
        logic [FlitBytes-1:0] first_mask, last_mask;
        always_comb begin
            to_read = '0;
            if (reads[w] && !front[w].null_) begin
                to_read = units_of(front[w])
                          - (units_t'(idx[w]) << (front[w].counts ? Cfg.FlitLog2 - 2 : 0));
            end
        end
        if (w == 0) begin : gen_counts
            logic                    counting;
            logic [Cfg.FlitLog2-3:0] word, end_word;
            logic [1:0]              kind;
            assign kind      = i_dut.gen_worker[w].i_worker.gen_counts.kind_q;
            assign counting  = i_dut.gen_worker[w].i_worker.gen_counts.counts_q;
            assign word      = i_dut.gen_worker[w].i_worker.gen_counts.word_q;
            assign end_word  = i_dut.gen_worker[w].i_worker.gen_counts.end_q;
            assign at_out[w] = !shows[w] ? '0 : !counting ? 7'd1
                               : units_t'(ends[w] ? end_word
                                          : {(Cfg.FlitLog2-2){1'b1}}) + 7'd1 - units_t'(word);
            always_comb begin
                if (rst_n) begin
                    a_counts: assert (!shows[w] || (counting == out_job[w].counts
                                                    && kind == out_job[w].pos[1:0]
                                                    && end_word
                                                    == out_job[w].span[Cfg.FlitLog2-1:2]));
                    a_words:  assert (word == '0
                                      || (shows[w] && counting && (!ends[w] || word <= end_word)));
                end
            end
        end else begin : gen_flit
            assign at_out[w] = units_t'(shows[w]);
        end
        assign held[w] = to_read + at_out[w];

        // State of a worker, from which the rest follows: the job of the flit at its output.
        assign last_at[w]  = shows[w] && ends[w];
        assign out_job[w]  = last_at[w] ? behind[w] : front[w];
        assign out_flit[w] = last_at[w] ? out_job[w].span[6:Cfg.FlitLog2] : idx[w] - 1'b1;
        assign first_mask  = '1 << front[w].lane;
        assign last_mask   = ~({FlitBytes{1'b1}} << 1 << front[w].span[Cfg.FlitLog2-1:0]);
        always_comb begin
            if (rst_n) begin
                a_idx:     assert (idx[w] == '0
                                   || (reads[w] && !front[w].null_
                                       && idx[w] <= front[w].span[6:Cfg.FlitLog2]));
                a_ends:    assert (last_at[w] == (info[w] && !granted[w]));
                a_begun:   assert (!shows[w] || last_at[w] == (idx[w] == '0));
                a_real:    assert (!shows[w] || !out_job[w].null_);
                a_mask:    assert (!reads[w]
                                   || (i_dut.gen_worker[w].i_worker.first_mask_q == first_mask
                                                 && i_dut.gen_worker[w].i_worker.last_mask_q
                                                 == last_mask));
                if (w == 1) begin
                    a_link:    assert (!reads[w]
                                       || (front[w].slot < SlotW'(LinkPkts) && !front[w].counts));
                    a_link2:   assert (!last_at[w]
                                       || (behind[w].slot < SlotW'(LinkPkts) && !behind[w].counts));
                end
            end
        end

        always_ff @(posedge clk_i) begin
            if (!rst_n) begin
                units_q[w] <= '0;
                jobs_q[w]  <= '0;
            end else begin
                units_q[w] <= units_q[w] + (in[w] ? units : '0) - units_t'(unit[w]);
                jobs_q[w]  <= jobs_q[w] + 2'(in[w]) - 2'(done[w]);
            end
        end
        always_comb begin
            if (rst_n) begin
                a_units:  assert (units_q[w] == held[w]);
                a_jobs:   assert (jobs_q[w] == 2'(reads[w]) + 2'(info[w]));
                // every unit belongs to a job
                a_none:   assert (!unit[w] || units_q[w] != '0);
                a_inside: assert (!done[w] || jobs_q[w] != '0);
            end
        end
    end

    // ---- the chosen job ----
    logic                 in_q, at_q, notified_q;
    out_t                 job_q;
    logic [1:0]           ahead_q;             // jobs before it in its worker
    units_t               before_q, next_q;    // units before it in its worker; its own units that
                                               // have left
    units_t               all;
    logic                 mine, last;          // a unit of it leaves; the last one
    logic [Cfg.PayW-1:0]  flit;                // number of the flit
    logic [FlitBytes-1:0] be;
    logic                 data_right;

    for (genvar w = 0; w < 2; w++) begin : gen_place
        logic [FlitBytes-1:0] flit_be;
        logic                 flit_data;
        always_comb begin
            flit_data = 1'b1;
            for (int unsigned l = 0; l < Cfg.Words; l++) begin
                flit_data
                    &= i_dut.pay_data[w][32*l +: 32] == stands(out_job[w].slot, out_flit[w], 2'(l));
            end
            for (int unsigned b = 0; b < FlitBytes; b++) begin
                flit_be[b] = (out_flit[w] != '0 || Cfg.FlitLog2'(b) >= out_job[w].lane)
                             && (!last_at[w]
                                 || Cfg.FlitLog2'(b) <= out_job[w].span[Cfg.FlitLog2-1:0]);
            end
        end
        always_comb begin
            if (rst_n && shows[w]) begin
                a_addr: assert (i_dut.w_wr[w].addr == out_job[w].addr + Cfg.AddrW'(out_flit[w]));
                a_be:   assert (i_dut.w_wr[w].be == flit_be);
                a_data: assert (flit_data);
                if (w == 0) begin
                    a_cnt: assert (!out_job[w].counts
                                   || (i_dut.cnt[w].kind
                                       == (out_job[w].pos[1:0] == packet_pkg::COUNTS_COPIES)
                                       && i_dut.cnt[w].src == out_job[w].addr[4:0]
                                       && i_dut.cnt[w].idx[5:Cfg.FlitLog2-2]
                                          == {out_job[w].pos[1:0] == packet_pkg::COUNTS_ROWS_HIGH,
                                              out_flit[w]}));
                end
            end
        end
    end

    assign all  = units_of(job_q);
    assign mine = in_q && unit[at_q] && before_q == '0 && next_q != all;
    assign last = next_q + 7'd1 == all;
    assign flit = job_q.counts ? Cfg.PayW'(next_q >> (Cfg.FlitLog2 - 2)) : Cfg.PayW'(next_q);

    always_comb begin
        data_right = 1'b1;
        for (int unsigned l = 0; l < Cfg.Words; l++) begin
            data_right &= wr[at_q].data[32*l +: 32] == stands(job_q.slot, flit, 2'(l));
        end
        for (int unsigned b = 0; b < FlitBytes; b++) begin
            be[b] = {1'b0, next_q} * 8'(FlitBytes) + 8'(b) >= 8'(job_q.lane)
                    && {1'b0, next_q} * 8'(FlitBytes) + 8'(b) <= 8'(job_q.span);
        end
    end

    always_ff @(posedge clk_i) begin
        if (!rst_n) begin
            in_q   <= 1'b0;
            notified_q <= 1'b0;
        end else if (!in_q && go && watch_i) begin
            in_q     <= 1'b1;
            at_q     <= in[1];
            job_q    <= i_dut.job;
            ahead_q  <= jobs_q[in[1]] - 2'(done[in[1]]);
            before_q <= units_q[in[1]] - units_t'(unit[in[1]]);
            next_q   <= '0;
        end else if (in_q) begin
            if (unit[at_q] && before_q != '0) before_q <= before_q - 7'd1;
            if (mine) next_q <= next_q + 7'd1;
            if (done[at_q] && ahead_q != '0) ahead_q <= ahead_q - 2'd1;
            if (done[at_q] && ahead_q == '0) begin
                in_q   <= 1'b0;
                notified_q <= 1'b1;
            end
        end
        if (notified_q) notified_q <= 1'b0;
    end

    always_comb begin
        if (rst_n && in_q) begin
            // a job is reported when memory has all of it
            a_all:   assert (!(done[at_q] && ahead_q == '0) || (before_q == '0 && next_q == all));
            if (mine && !job_q.counts) begin
                a_write: assert (wr[at_q].valid && !(at_q == 1'b0 && cnt.valid));
                a_addr:  assert (wr[at_q].addr == job_q.addr + Cfg.AddrW'(flit));
                a_be:    assert (wr[at_q].be == be);
                a_data:  assert (data_right);
            end
            if (mine && job_q.counts) begin
                a_word: assert (at_q == 1'b0 && cnt.valid
                                && cnt.kind == (job_q.pos[1:0] == packet_pkg::COUNTS_COPIES)
                                && cnt.src == job_q.addr[4:0]
                                && cnt.idx == {job_q.pos[1:0] == packet_pkg::COUNTS_ROWS_HIGH,
                                               5'(next_q)}
                                && cnt.halves == {job_q.pos[1:0] != packet_pkg::COUNTS_ROWS_LOW,
                                                  job_q.pos[1:0] != packet_pkg::COUNTS_ROWS_HIGH}
                                && cnt.last == last);
                a_val:  assert (cnt.val == stands(job_q.slot, flit,
                                                  2'(next_q & 7'(Cfg.Words - 1))));
            end
            // with its last unit the job moves from the front register to the one behind
            a_there: assert (ahead_q < jobs_q[at_q]);
            if (ahead_q == 2'(info[at_q])) begin
                a_front:  assert (front[at_q] == job_q && before_q + all - next_q == units_q[at_q]);
                a_order:  assert (idx[at_q] == '0 ? next_q == '0 : before_q == '0);
            end else begin
                a_behind: assert (behind[at_q] == job_q && before_q == '0
                                  && all - next_q == (last_at[at_q] ? at_out[at_q] : '0));
            end
        end
        if (rst_n && notified_q) begin // the row tracker gets the job, once
            a_track: assert (trk.valid == job_q.track);
            a_what:  assert (!trk.valid
                             || (trk.le == node_pkg::ExpertW'(job_q.le)
                                 && trk.row == node_pkg::RowW'(job_q.row)
                                 && trk.token == node_pkg::TokenW'(job_q.token)
                                 && trk.pos == job_q.pos
                                 && trk.bytes == 8'(job_q.span) - 8'(job_q.lane) + 8'd1));
        end
    end

    // ---- accounts ----
    logic       done_q, trk_q;
    logic [4:0] due_q [4];   // jobs of each slot that are not accounted for
    logic [4:0] due [4];     // the same, counted from where they are
    logic       start;

    assign start = i_dut.start_valid && i_dut.start_ready;
    for (genvar s = 0; s < 4; s++) begin : gen_slot
        assign due[s] = i_dut.i_resolve.left_q[s] + 5'(i_dut.job_valid && i_dut.job.slot == 2'(s))
                        + 5'(i_dut.account_valid_q && i_dut.account_q.slot == 2'(s))
                        + 5'(reads[0] && front[0].slot == 2'(s))
                            + 5'(info[0] && behind[0].slot == 2'(s))
                        + 5'(reads[1] && front[1].slot == 2'(s))
                            + 5'(info[1] && behind[1].slot == 2'(s));
        always_ff @(posedge clk_i) begin
            if (!rst_n) due_q[s] <= '0;
            else if (start && i_dut.start_slot == 2'(s)) due_q[s] <= i_dut.start_cnt;
            else if (i_dut.account_valid_q && i_dut.account_q.slot == 2'(s))
                due_q[s] <= due_q[s] - 5'd1;
        end
        always_comb begin
            if (rst_n) begin
                a_few:   assert (due_q[s] <= 5'd2 && i_dut.i_resolve.left_q[s] <= 5'd2);
                a_due:   assert (due_q[s] == due[s]);
                a_start: assert (!(start && i_dut.start_slot == 2'(s)) || due_q[s] == '0);
                a_wait:  assert (due_q[s] == '0 || 5'(i_dut.i_waiting.mem[s]) == due_q[s]);
                a_used:  assert (due_q[s] == '0 || i_dut.i_arrive.used_q[s]);
            end
        end
    end

    always_ff @(posedge clk_i) begin
        done_q <= rst_n && done != '0;
        trk_q  <= rst_n && trk.valid;
    end
    always_comb begin
        if (rst_n) begin
            a_new:   assert (!i_dut.i_arrive.valid_q || i_dut.i_resolve.begun_q
                             || due_q[i_dut.i_arrive.slot_q] == '0);
            // every report is accounted for, one by one
            a_once:  assert (done != '1 && i_dut.account_valid_q == done_q);
            // a slot is free with its last job, once
            a_free:  assert (i_dut.free_valid == (i_dut.account_valid_q
                                                  && due_q[i_dut.account_q.slot] == 5'd1));
            a_crd:   assert (crd == (i_dut.free_valid && i_dut.account_q.slot < SlotW'(LinkPkts)));
            a_apart: assert (!(trk_q && trk.valid));
        end
    end

    // ---- workers wait only for memory, and at most three cycles to report ----
    // Every job ends, because each step makes progress.
    logic [2:0] wait_q [2];
    logic [1:0] moves, refused;
    for (genvar w = 0; w < 2; w++) begin : gen_live
        assign refused[w] = wr[w].valid && !wr_ready_i[w];
        assign moves[w]   = i_dut.gen_worker[w].i_worker.step
                            || i_dut.gen_worker[w].i_worker.finish || unit[w] || done[w];
        always_ff @(posedge clk_i) wait_q[w] <= (rst_n && i_dut.w_done[w] && !done[w])
                                                ? wait_q[w] + 3'd1 : '0;
        always_comb begin
            if (rst_n) begin
                a_moves: assert (jobs_q[w] == '0 || moves[w] || refused[w] || i_dut.w_done[w]);
                a_soon:  assert (wait_q[w] <= 3'd3 && (wait_q[w] == '0 || i_dut.w_done[w])
                                 && !(wait_q[w] == 3'd3 && i_dut.account_valid_q));
                a_turn:  assert (wait_q[w] < (i_dut.account_valid_q ? 3'd1 : 3'd2)
                                 || i_dut.turn_q == (w == 1));
            end
        end
    end

    // ---- a write stays until memory grants it ----
    for (genvar w = 0; w < 2; w++) begin : gen_stable
        f_stream #(.Width($bits(wr[w]))) i_stream (
            .clk_i, .rst_ni(rst_n), .valid_i(wr[w].valid), .ready_i(wr_ready_i[w]),
            .data_i(wr[w]), .last_i(1'b1),
            .inside_o()
        );
    end

    // reachable under the assumptions
    always_ff @(posedge clk_i) begin
        if (rst_n) begin
            c_both:    cover (wr[0].valid && wr[1].valid);
            c_refused: cover (refused == '1);
            c_track:   cover (trk.valid);
            c_counts:  cover (cnt.valid && cnt.last);
            c_freed:   cover (crd);
            c_soon:    cover (wait_q[0] == 3'd2 || wait_q[1] == 3'd2);
        end
    end

    logic unused;
    assign unused = ^{err, idle};
endmodule

`default_nettype wire
