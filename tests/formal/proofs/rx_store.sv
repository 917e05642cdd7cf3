// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Workers and accounts of rx_store, between any packets and jobs (models/store) and a memory that lets each worker wait as it likes. One job, chosen by the solver, is followed; units are
// the flits that a job writes, or the words of COUNTS that it hands out. What memory is given tells where it stood in the payload RAMs.
`default_nettype none

module prove_rx_store #(
    parameter int unsigned FlitBytes = 16,
    localparam int unsigned FW        = 8 * FlitBytes,
    localparam int unsigned LogF      = $clog2(FlitBytes),
    localparam int unsigned LinkPkts  = 2,
    localparam int unsigned LocPkts   = 1,
    localparam int unsigned AddrW     = 5
) (
    input  wire logic                clk_i, watch_i,
    input  wire node_pkg::node_cfg_t        cfg_i,
    input  wire logic [FW-1:0]              st_data_i,
    input  wire logic [1:0]                 wr_ready_i
);
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.N = 2;
        c.FlitBytes = FlitBytes;
        c.MemBytesLog2 = AddrW + $clog2(FlitBytes);
        c.RowsLog2 = 1;
        c.TokensLog2 = 1;
        c.MaxExperts = 2;
        c.MaxLocalExperts = 2;
        c.RxStorePkts = LinkPkts;
        c.Reds = 1'b0;
        return cfg_pkg::derived(c);
    endfunction
    localparam cfg_pkg::cfg_t Cfg = sizes();

    localparam int unsigned TokenW  = node_pkg::TokenW;
    localparam int unsigned RowW    = node_pkg::RowW;
    localparam int unsigned ExpertW = node_pkg::ExpertW;
    localparam int unsigned SlotW   = 2;
    localparam int unsigned IdxW    = 7 - LogF;

    logic                 rst_n, crd, trk_valid, cnt_valid, cnt_kind, cnt_last, idle;
    logic                 wr_valid [2], wr_ready [2];
    logic [AddrW-1:0]     wr_addr [2];
    logic [FW-1:0]        wr_data [2];
    logic [FlitBytes-1:0] wr_be [2];
    logic [ExpertW-1:0]   trk_le;
    logic [RowW-1:0]      trk_row;
    logic [TokenW-1:0]    trk_token;
    logic [3:0]           trk_pos;
    logic [7:0]           trk_bytes;
    logic [4:0]           cnt_src, cnt_idx;
    logic [31:0]          cnt_val;
    error_pkg::err_e      err_code;

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    assign wr_ready = '{wr_ready_i[0], wr_ready_i[1]};

    rx_store #(.Cfg(Cfg), .LocPkts(LocPkts)) i_dut (
        .clk_i, .rst_ni(rst_n), .cfg_i, .emap_we_i(1'b0), .emap_addr_i('0), .emap_data_i('0),
        .st_valid_i(1'b0), .st_last_i(1'b0), .st_err_i(1'b0), .st_data_i, .st_crd_o(crd), .res_push_i(1'b0), .res_room_o(), .res_crd_o(), .res_valid_o(), .res_ready_i(1'b0), .res_last_o(), .res_bad_o(), .res_data_o(),
        .loc_valid_i(1'b0), .loc_ready_o(), .loc_data_i('0), .loc_last_i(1'b0),
        .al_req_valid_o(), .al_req_ready_i(1'b0), .al_req_le_o(), .al_req_token_o(), .al_req_start_o(), .al_req_retry_o(), .al_resp_valid_i(1'b0), .al_resp_miss_i(1'b0),
        .al_resp_err_i(1'b0), .al_resp_row_i('0), .al_fill_i(1'b0), .al_busy_i(1'b0),
        .rd_valid_o(), .rd_ready_i(1'b0), .rd_addr_o(), .rd_rvalid_i(1'b0), .rd_rdata_i('0), .wr_valid_o(wr_valid), .wr_ready_i(wr_ready), .wr_addr_o(wr_addr), .wr_data_o(wr_data), .wr_be_o(wr_be),
        .trk_valid_o(trk_valid), .trk_le_o(trk_le), .trk_row_o(trk_row), .trk_token_o(trk_token), .trk_pos_o(trk_pos), .trk_bytes_o(trk_bytes),
        .cnt_valid_o(cnt_valid), .cnt_kind_o(cnt_kind), .cnt_src_o(cnt_src), .cnt_idx_o(cnt_idx), .cnt_val_o(cnt_val), .cnt_last_o(cnt_last),
        .ev_valid_o(), .ev_idx_o(), .ack_valid_o(), .ack_ready_i(1'b0), .ack_dst_o(), .err_valid_o(), .err_code_o(err_code), .idle_o(idle)
    );

    function automatic logic [31:0] stands(logic [SlotW-1:0] slot, logic [IdxW-1:0] at, logic [1:0] lane);
        return (slot < SlotW'(LinkPkts)) ? {2'b01, lane, 28'({slot, at})} : {2'b10, lane, 28'({SlotW'(slot - SlotW'(LinkPkts)), at})};
    endfunction

    // ---- jobs go in at one worker, units come out, and it is reported ----
    typedef logic [6:0] units_t;
    typedef struct packed {    // as job_t of rx_store
        logic             null_, counts, kind, track;
        logic [SlotW-1:0] slot;
        logic [LogF-1:0]  lane;
        logic [6:0]       span;
        logic [AddrW-1:0] addr;
        logic             le, row;
        logic [1:0]       token;
        logic [3:0]       pos;
    } out_t;
    logic [1:0]       in, unit, done;
    units_t           units, units_q [2], held [2];   // of the job; inside each worker; the same, counted from its registers
    logic [1:0]       jobs_q [2];
    logic             go;
    logic [1:0]       last_at;                        // the last flit of a job is at the worker's output
    out_t             out_job [2];                    // the job whose flit is there, and which of its flits
    logic [IdxW-1:0]  out_flit [2];

    assign go    = i_dut.job_valid && i_dut.job_ready;
    assign in    = {go && !i_dut.job_first && i_dut.w_ready[1], go && (i_dut.job_first || !i_dut.w_ready[1])};
    assign done  = {i_dut.w_done[1] && i_dut.w_done_ready[1], i_dut.w_done[0] && i_dut.w_done_ready[0]};
    assign unit  = {wr_valid[1] && wr_ready_i[1], (wr_valid[0] && wr_ready_i[0]) || cnt_valid};
    assign units = i_dut.job.null_ ? '0 : (i_dut.job.counts ? units_t'(i_dut.job.span[6:2]) : units_t'(i_dut.job.span[6:LogF])) + 7'd1;

    for (genvar w = 0; w < 2; w++) begin : gen_worker
        units_t to_read, at_output;
        always_comb begin
            to_read = '0;
            if (i_dut.gen_worker[w].i_worker.job_valid_q && !i_dut.gen_worker[w].i_worker.job_q.null_) begin
                if (i_dut.gen_worker[w].i_worker.job_q.counts) to_read = units_t'(i_dut.gen_worker[w].i_worker.job_q.span[6:2]) + 7'd1 - (units_t'(i_dut.gen_worker[w].i_worker.idx_q) << (LogF - 2));
                else to_read = units_t'(i_dut.gen_worker[w].i_worker.job_q.span[6:LogF]) + 7'd1 - units_t'(i_dut.gen_worker[w].i_worker.idx_q);
            end
        end
        if (w == 0) begin : gen_counts
            assign at_output = !i_dut.gen_worker[w].i_worker.flit_q ? '0 : !i_dut.gen_worker[w].i_worker.gen_counts.counts_q ? 7'd1 :
                               units_t'(i_dut.gen_worker[w].i_worker.last_q ? i_dut.gen_worker[w].i_worker.gen_counts.end_q : {(LogF-2){1'b1}}) + 7'd1 - units_t'(i_dut.gen_worker[w].i_worker.gen_counts.word_q);
            always_comb begin
                if (rst_n) begin
                    a_counts: assert (!i_dut.gen_worker[w].i_worker.flit_q || (i_dut.gen_worker[w].i_worker.gen_counts.counts_q == out_job[w].counts
                                      && i_dut.gen_worker[w].i_worker.gen_counts.end_q == out_job[w].span[LogF-1:2]));
                    a_words:  assert (i_dut.gen_worker[w].i_worker.gen_counts.word_q == '0 || (i_dut.gen_worker[w].i_worker.flit_q && i_dut.gen_worker[w].i_worker.gen_counts.counts_q
                                      && (!i_dut.gen_worker[w].i_worker.last_q || i_dut.gen_worker[w].i_worker.gen_counts.word_q <= i_dut.gen_worker[w].i_worker.gen_counts.end_q)));
                end
            end
        end else begin : gen_flit
            assign at_output = units_t'(i_dut.gen_worker[w].i_worker.flit_q);
        end
        assign held[w] = to_read + at_output;

        // How a worker counts, which the rest follows from: of what is at its output, which job it is of.
        assign last_at[w]   = i_dut.gen_worker[w].i_worker.flit_q && i_dut.gen_worker[w].i_worker.last_q;
        assign out_job[w]   = last_at[w] ? i_dut.gen_worker[w].i_worker.done_o : i_dut.gen_worker[w].i_worker.job_q;
        assign out_flit[w]  = last_at[w] ? out_job[w].span[6:LogF] : i_dut.gen_worker[w].i_worker.idx_q - 1'b1;
        always_comb begin
            if (rst_n) begin
                a_idx:     assert (i_dut.gen_worker[w].i_worker.idx_q == '0 || (i_dut.gen_worker[w].i_worker.job_valid_q && !i_dut.gen_worker[w].i_worker.job_q.null_
                                   && i_dut.gen_worker[w].i_worker.idx_q <= i_dut.gen_worker[w].i_worker.job_q.span[6:LogF]));
                a_ends:    assert (last_at[w] == (i_dut.gen_worker[w].i_worker.info_q && !i_dut.gen_worker[w].i_worker.granted_q));
                a_begun:   assert (!i_dut.gen_worker[w].i_worker.flit_q || last_at[w] == (i_dut.gen_worker[w].i_worker.idx_q == '0));
                a_real:    assert (!i_dut.gen_worker[w].i_worker.flit_q || !out_job[w].null_);
                a_mask:    assert (!i_dut.gen_worker[w].i_worker.job_valid_q || (i_dut.gen_worker[w].i_worker.first_mask_q == ('1 << i_dut.gen_worker[w].i_worker.job_q.lane)
                                   && i_dut.gen_worker[w].i_worker.last_mask_q == ~({FlitBytes{1'b1}} << 1 << i_dut.gen_worker[w].i_worker.job_q.span[LogF-1:0])));
                if (w == 1) begin
                    a_link:    assert (!i_dut.gen_worker[w].i_worker.job_valid_q || (i_dut.gen_worker[w].i_worker.job_q.slot < SlotW'(LinkPkts) && !i_dut.gen_worker[w].i_worker.job_q.counts));
                    a_link2:   assert (!last_at[w] || (i_dut.gen_worker[w].i_worker.done_o.slot < SlotW'(LinkPkts) && !i_dut.gen_worker[w].i_worker.done_o.counts));
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
                a_jobs:   assert (jobs_q[w] == 2'(i_dut.gen_worker[w].i_worker.job_valid_q) + 2'(i_dut.gen_worker[w].i_worker.info_q));
                a_none:   assert (!unit[w] || units_q[w] != '0);            // nothing is written that no job asks for
                a_inside: assert (!done[w] || jobs_q[w] != '0);
            end
        end
    end

    // ---- the chosen job ----
    logic             in_q, at_q, told_q;
    out_t             job_q;
    logic [1:0]       ahead_q;             // jobs before it in its worker
    units_t           before_q, next_q;    // units before it in its worker; of its own, how many have come out
    units_t           all;
    logic             mine, last;          // a unit of its own comes out; its last
    logic [IdxW-1:0]  flit;                // of which
    logic [FlitBytes-1:0] be;
    logic             data_right;
    logic [1:0]       info;                // the worker's register behind is in use
    out_t             front [2], behind [2];
    logic [IdxW-1:0]  idx [2];
    units_t           at_out [2];

    for (genvar w = 0; w < 2; w++) begin : gen_place
        logic [FlitBytes-1:0] flit_be;
        logic                 flit_data;
        assign info[w]   = i_dut.gen_worker[w].i_worker.info_q;
        assign front[w]  = i_dut.gen_worker[w].i_worker.job_q;
        assign behind[w] = i_dut.gen_worker[w].i_worker.done_o;
        assign idx[w]    = i_dut.gen_worker[w].i_worker.idx_q;
        assign at_out[w] = gen_worker[w].at_output;
        always_comb begin
            flit_data = 1'b1;
            for (int unsigned l = 0; l < FlitBytes / 4; l++) flit_data &= i_dut.pay_data[w][32*l +: 32] == stands(out_job[w].slot, out_flit[w], 2'(l));
            for (int unsigned b = 0; b < FlitBytes; b++) flit_be[b] = (out_flit[w] != '0 || LogF'(b) >= out_job[w].lane) && (!last_at[w] || LogF'(b) <= out_job[w].span[LogF-1:0]);
        end
        always_comb begin
            if (rst_n && i_dut.gen_worker[w].i_worker.flit_q) begin
                a_addr: assert (i_dut.w_wr_addr[w] == out_job[w].addr + AddrW'(out_flit[w]));
                a_be:   assert (i_dut.w_wr_be[w] == flit_be);
                a_data: assert (flit_data);
                if (w == 0) a_cnt: assert (!out_job[w].counts || (i_dut.cnt_kind[w] == out_job[w].kind && i_dut.cnt_src[w] == out_job[w].addr[4:0] && i_dut.cnt_idx[w][4:LogF-2] == out_flit[w]));
            end
        end
    end

    assign all  = job_q.null_ ? '0 : (job_q.counts ? units_t'(job_q.span[6:2]) : units_t'(job_q.span[6:LogF])) + 7'd1;
    assign mine = in_q && unit[at_q] && before_q == '0 && next_q != all;
    assign last = next_q + 7'd1 == all;
    assign flit = job_q.counts ? IdxW'(next_q >> (LogF - 2)) : IdxW'(next_q);

    always_comb begin
        data_right = 1'b1;
        for (int unsigned l = 0; l < FlitBytes / 4; l++) data_right &= wr_data[at_q][32*l +: 32] == stands(job_q.slot, flit, 2'(l));
        for (int unsigned b = 0; b < FlitBytes; b++) be[b] = {1'b0, next_q} * 8'(FlitBytes) + 8'(b) >= 8'(job_q.lane) && {1'b0, next_q} * 8'(FlitBytes) + 8'(b) <= 8'(job_q.span);
    end

    always_ff @(posedge clk_i) begin
        if (!rst_n) begin
            in_q   <= 1'b0;
            told_q <= 1'b0;
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
                told_q <= 1'b1;
            end
        end
        if (told_q) told_q <= 1'b0;
    end

    always_comb begin
        if (rst_n && in_q) begin
            a_all:   assert (!(done[at_q] && ahead_q == '0) || (before_q == '0 && next_q == all));    // reported when memory has all of it
            if (mine && !job_q.counts) begin
                a_write: assert (wr_valid[at_q] && !(at_q == 1'b0 && cnt_valid));
                a_addr:  assert (wr_addr[at_q] == job_q.addr + AddrW'(flit));
                a_be:    assert (wr_be[at_q] == be);
                a_data:  assert (data_right);
            end
            if (mine && job_q.counts) begin
                a_word: assert (at_q == 1'b0 && cnt_valid && cnt_kind == job_q.kind && cnt_src == job_q.addr[4:0] && cnt_idx == 5'(next_q) && cnt_last == last);
                a_val:  assert (cnt_val == stands(job_q.slot, flit, 2'(next_q & 7'(FlitBytes / 4 - 1))));
            end
            // where it is: with its last unit it moves from the register in front to the one behind
            a_there: assert (ahead_q < jobs_q[at_q]);
            if (ahead_q == 2'(info[at_q])) begin
                a_front:  assert (front[at_q] == job_q && before_q + all - next_q == units_q[at_q]);
                a_order:  assert (idx[at_q] == '0 ? next_q == '0 : before_q == '0);
            end else begin
                a_behind: assert (behind[at_q] == job_q && before_q == '0 && all - next_q == (last_at[at_q] ? units_t'(at_out[at_q]) : '0));
            end
        end
        if (rst_n && told_q) begin                                                                   // and then the row tracker hears of it, once
            a_track: assert (trk_valid == job_q.track);
            a_what:  assert (!trk_valid || (trk_le == ExpertW'(job_q.le) && trk_row == RowW'(job_q.row) && trk_token == TokenW'(job_q.token) && trk_pos == job_q.pos && trk_bytes == 8'(job_q.span) - 8'(job_q.lane) + 8'd1));
        end
    end

    // ---- accounts ----
    logic            done_q, trk_q;
    logic [4:0]      due_q [4], due [4];      // jobs of each slot that are not accounted for; the same, counted from where they are
    logic            start;

    assign start = i_dut.start_valid && i_dut.start_ready;
    for (genvar s = 0; s < 4; s++) begin : gen_slot
        assign due[s] = i_dut.i_resolve.left_q[s] + 5'(i_dut.job_valid && i_dut.job.slot == 2'(s)) + 5'(i_dut.account_valid_q && i_dut.account_q.slot == 2'(s))
                        + 5'(i_dut.gen_worker[0].i_worker.job_valid_q && i_dut.gen_worker[0].i_worker.job_q.slot == 2'(s)) + 5'(i_dut.gen_worker[0].i_worker.info_q && i_dut.gen_worker[0].i_worker.done_o.slot == 2'(s))
                        + 5'(i_dut.gen_worker[1].i_worker.job_valid_q && i_dut.gen_worker[1].i_worker.job_q.slot == 2'(s)) + 5'(i_dut.gen_worker[1].i_worker.info_q && i_dut.gen_worker[1].i_worker.done_o.slot == 2'(s));
        always_ff @(posedge clk_i) begin
            if (!rst_n) due_q[s] <= '0;
            else if (start && i_dut.start_slot == 2'(s)) due_q[s] <= i_dut.start_cnt;
            else if (i_dut.account_valid_q && i_dut.account_q.slot == 2'(s)) due_q[s] <= due_q[s] - 5'd1;
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
        trk_q  <= rst_n && trk_valid;
    end
    always_comb begin
        if (rst_n) begin
            a_new:   assert (!i_dut.i_arrive.valid_q || i_dut.i_resolve.begun_q || due_q[i_dut.i_arrive.slot_q] == '0);
            a_once:  assert (done != '1 && i_dut.account_valid_q == done_q);                          // every report is accounted for, one by one
            a_free:  assert (i_dut.free_valid == (i_dut.account_valid_q && due_q[i_dut.account_q.slot] == 5'd1));  // a slot is free with its last job, once
            a_crd:   assert (crd == (i_dut.free_valid && i_dut.account_q.slot < SlotW'(LinkPkts)));
            a_apart: assert (!(trk_q && trk_valid));
        end
    end

    // ---- nobody waits for anybody but memory, and a report for three cycles: there is an end, as every step uses something up ----
    logic [2:0] wait_q [2];
    logic [1:0] moves, refused;
    for (genvar w = 0; w < 2; w++) begin : gen_live
        assign refused[w] = wr_valid[w] && !wr_ready_i[w];
        assign moves[w]   = i_dut.gen_worker[w].i_worker.step || i_dut.gen_worker[w].i_worker.finish || unit[w] || done[w];
        always_ff @(posedge clk_i) wait_q[w] <= (rst_n && i_dut.w_done[w] && !done[w]) ? wait_q[w] + 3'd1 : '0;
        always_comb begin
            if (rst_n) begin
                a_moves: assert (jobs_q[w] == '0 || moves[w] || refused[w] || i_dut.w_done[w]);
                a_soon:  assert (wait_q[w] <= 3'd3 && (wait_q[w] == '0 || i_dut.w_done[w]) && !(wait_q[w] == 3'd3 && i_dut.account_valid_q));
                a_turn:  assert (wait_q[w] < (i_dut.account_valid_q ? 3'd1 : 3'd2) || i_dut.turn_q == (w == 1));
            end
        end
    end

    // ---- what memory is offered stays ----
    for (genvar w = 0; w < 2; w++) begin : gen_stable
        logic inside_unused;
        f_stream #(.Width(AddrW + FlitBytes + FW)) i_stream (
            .clk_i, .rst_ni(rst_n), .valid_i(wr_valid[w]), .ready_i(wr_ready_i[w]), .data_i({wr_addr[w], wr_be[w], wr_data[w]}), .last_i(1'b1), .inside_o(inside_unused)
        );
    end

    // what the assumptions leave
    always_ff @(posedge clk_i) begin
        if (rst_n) begin
            c_both:    cover (wr_valid[0] && wr_valid[1]);
            c_refused: cover (refused == '1);
            c_track:   cover (trk_valid);
            c_counts:  cover (cnt_valid && cnt_last);
            c_freed:   cover (crd);
            c_soon:    cover (wait_q[0] == 3'd2 || wait_q[1] == 3'd2);
        end
    end

    logic unused;
    assign unused = ^{err_code, idle};
endmodule

`default_nettype wire
