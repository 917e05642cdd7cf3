// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// rx_resolve between packets of any content (two targets at most), an allocator that answers whatever it likes, whenever it likes, and workers that take jobs and finish them
// whenever they like. What each target's job must be is computed from the packet's header.
`default_nettype none

module prove_rx_resolve #(
    localparam int unsigned FlitBytes = 16,
    localparam int unsigned Slots     = 3,
    localparam int unsigned AddrW     = 8,
    localparam int unsigned MAddrW    = 17,
    localparam int unsigned Parked    = 4,
    localparam int unsigned Jobs      = 4,
    localparam int unsigned RowW      = node_pkg::RowW
) (
    input  wire logic              clk_i, come_i, free_i, bad_i, hd_bad_i, hd_far_i, start_ready_i, al_ready_i, al_valid_i, al_miss_i, al_err_i, al_fill_i, al_busy_i, job_ready_i, busy_i, ack_ready_i,
    input  wire logic [1:0]        slot_i, free_slot_i, hd_stage_i,                                                                                                                         al_row_i,
    input  wire logic [4:0]        flits_i,                                                                                                                                                 hd_src_i,
    input  wire logic                                                                                                                                                                       hd_two_i,
    input  wire logic [2:0]                                                                                                                                                                 hd_op_i,
    input  wire logic [7:0]                                                                                                                                                                 hd_len_i,
    input  wire logic [MAddrW-1:0]                                                                                                                                                          hd_addr_i,
    input  wire logic [1:0][5:0]                                                                                                                                                            hd_tgt_i,
    input  wire node_pkg::emap_t                                                                                                                                                            map_i
);
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.N = 2;
        c.FlitBytes = FlitBytes;
        c.MemBytesLog2 = AddrW + 4;
        c.RowsLog2 = 2;
        c.TokensLog2 = 1;
        c.MaxExperts = 2;
        c.MaxLocalExperts = 2**1;
        c.Reds = 1'b0;
        c = cfg_pkg::derived(c);
        c.MaddrW = MAddrW;
        return c;
    endfunction
    localparam cfg_pkg::cfg_t Cfg = sizes();

    import packet_pkg::*;
    import error_pkg::*;

    localparam int unsigned RowBytes = 48, Stride = 64, Gate = 16, K = 2, Cap = 2, Xd = 'h000, Yd = 'h400, Gt = 'h800, Lo = 'hc03, Hi = 'hff5;

    typedef struct packed {
        logic              cut, bad, far, two;
        opcode_e           op;
        logic [4:0]        flits, src;
        logic [7:0]        len;
        logic [1:0]        stage;
        logic [MAddrW-1:0] addr;
        logic [1:0][5:0]   tgt;
    } packet_t;
    typedef struct packed {
        logic             null_, counts, kind, track;
        logic [1:0]       slot;
        logic [3:0]       lane;
        logic [6:0]       span;
        logic [AddrW-1:0] addr;
        logic             le;
        logic [1:0]       row, token;
        logic [3:0]       pos;
    } job_t;

    logic                rst_n, pkt_valid_q, pkt_ready, start_valid, al_req, al_start, al_retry, job_valid, ev, ack, err_valid, hd;
    logic [1:0]          pkt_slot_q, hd_slot, start_slot;
    logic [3:0]          hd_idx, ev_idx;
    logic [4:0]          start_cnt, ack_dst;
    logic [5:0]          al_le;
    logic [21:0]         al_token;
    job_t                job;
    err_e                err_code;
    packet_t             packet_q [4];
    node_pkg::node_cfg_t cfg;

    always_comb begin
        cfg            = '0;
        cfg.k          = 5'(K);
        cfg.row_bytes  = 15'(RowBytes);
        cfg.row_shift  = 4'd6;
        cfg.gate_shift = 4'd4;
        cfg.cap_shift  = 5'd1;
        cfg.xd_base    = Xd;
        cfg.yd_base    = Yd;
        cfg.gt_base    = Gt;
        cfg.st_lo      = Lo;
        cfg.st_hi      = Hi;
    end

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    assign hd = hd_idx[0];

    rx_resolve #(.Cfg(Cfg), .SlotW(2), .Parked(Parked), .Jobs(Jobs), .job_t(job_t)) i_dut (
        .clk_i, .rst_ni(rst_n), .cfg_i(cfg), .emap_we_i(!rst_n), .emap_addr_i('0), .emap_data_i(map_i),   // the map: anything, but the same from the reset on
        .pkt_valid_i(pkt_valid_q), .pkt_ready_o(pkt_ready), .pkt_slot_i(pkt_slot_q), .pkt_bad_i(packet_q[pkt_slot_q].cut), .pkt_flits_i(packet_q[pkt_slot_q].flits),
        .hd_slot_o(hd_slot), .hd_tgt_o(hd_idx), .hd_bad_i(packet_q[hd_slot].bad), .hd_op_i(packet_q[hd_slot].op), .hd_src_i(packet_q[hd_slot].src), .hd_len_i(packet_q[hd_slot].len),
        .hd_cnt_i(packet_q[hd_slot].two ? 5'd2 : 5'd1), .hd_stage_i(packet_q[hd_slot].stage), .hd_addr_i(packet_q[hd_slot].addr), .hd_far_i(packet_q[hd_slot].far), .hd_tgt_i(packet_q[hd_slot].tgt[hd]),
        .start_valid_o(start_valid), .start_ready_i, .start_slot_o(start_slot), .start_cnt_o(start_cnt),
        .al_req_valid_o(al_req), .al_req_ready_i(al_ready_i), .al_req_le_o(al_le), .al_req_token_o(al_token), .al_req_start_o(al_start), .al_req_retry_o(al_retry),
        .al_resp_valid_i(al_valid_i), .al_resp_miss_i(al_miss_i), .al_resp_err_i(al_err_i), .al_resp_row_i(RowW'(al_row_i)), .al_fill_i, .al_busy_i,
        .job_valid_o(job_valid), .job_ready_i, .job_o(job), .busy_i,
        .ev_valid_o(ev), .ev_idx_o(ev_idx), .ack_valid_o(ack), .ack_ready_i, .ack_dst_o(ack_dst), .err_valid_o(err_valid), .err_code_o(err_code)
    );

    // ---- packets, each in a slot of its own until all its targets have become jobs ----
    logic [3:0]       used_q;
    logic [3:0][1:0]  pending_q, held;    // targets that were fetched, and have not become jobs; the same, counted from where they are
    logic             come, fetch, push;
    logic [1:0]       from;               // slot of what is fetched

    assign come  = come_i && (!pkt_valid_q || pkt_ready) && 32'(slot_i) < Slots && !used_q[slot_i];
    assign fetch = i_dut.fetch && !i_dut.from_park;
    assign push  = i_dut.s1_done && !i_dut.missed;
    assign from  = pkt_slot_q;

    always_ff @(posedge clk_i) begin
        if (!rst_n) begin
            used_q      <= '0;
            pkt_valid_q <= 1'b0;
            pending_q   <= '0;
        end else begin
            pkt_valid_q <= come || (pkt_valid_q && !pkt_ready);
            if (free_i && pending_q[free_slot_i] == '0 && !(pkt_valid_q && pkt_slot_q == free_slot_i)) used_q[free_slot_i] <= 1'b0;
            if (come) used_q[slot_i] <= 1'b1;
            if (push) pending_q[i_dut.s1_q.job.slot][i_dut.s1_q.idx[0]] <= 1'b0;
            if (fetch) pending_q[from][hd] <= 1'b1;
        end
        if (come) begin
            pkt_slot_q       <= slot_i;
            packet_q[slot_i] <= '{cut: bad_i, bad: hd_bad_i, far: hd_far_i, two: hd_two_i && hd_op_i == OP_DYMULTIMEM_ST[2:0] && !hd_bad_i, op: opcode_e'({3'(OP_ST >> 3), hd_op_i}), flits: flits_i,
                                  src: hd_src_i, len: hd_len_i, stage: hd_stage_i, addr: hd_addr_i, tgt: hd_tgt_i};
        end
    end
    always_comb begin
        assume (hd_op_i <= 3'd5);                      // what rx_arrive lets through as no error, with the lengths that it does
        assume (hd_bad_i ? hd_len_i != '0 && hd_len_i < 8'd32 : hd_len_i <= 8'd128 && (hd_len_i == '0) == (hd_op_i == OP_FLAG[2:0] || hd_op_i == OP_FENCE[2:0]));
        assume (flits_i <= 5'd10);
    end

    logic strange;                     // a packet that was assumed not to come
    always_comb begin
        strange = 1'b0;
        for (int unsigned i = 0; i < Slots; i++) begin
            if (used_q[i]) begin
                strange |= packet_q[i].two && (packet_q[i].bad || packet_q[i].op != OP_DYMULTIMEM_ST);
                strange |= packet_q[i].op < OP_ST || packet_q[i].op > OP_COUNTS || packet_q[i].flits > 5'd10;
                strange |= packet_q[i].bad ? packet_q[i].len == '0 || packet_q[i].len >= 8'd32 : packet_q[i].len > 8'd128 || (packet_q[i].len == '0) != (packet_q[i].op == OP_FLAG || packet_q[i].op == OP_FENCE);
            end
        end
        if (rst_n) a_strange: assert (!strange);
    end

    // ---- the job of a target, but for the row ----
    logic [1:0][1:0] map;                              // of the expert map: {here, place}
    always_comb for (int unsigned e = 0; e < 2; e++) map[e] = i_dut.i_emap.mem[e];

    typedef struct packed {
        logic             ask, null_;
        logic [AddrW-1:0] off;
        logic [1:0]       token;
    } want_t;

    function automatic want_t want(packet_t p, logic [5:0] t, logic retry, logic [1:0][1:0] m);
        logic        dynamic, empty, wrong;
        logic [16:0] in_row, token;
        logic [8:0]  last;
        dynamic = p.op == OP_DYMULTIMEM_ST && p.stage != STAGE_FLAT;
        empty   = p.op == OP_FLAG || p.op == OP_FENCE;
        in_row  = p.addr % 17'(Stride);
        token   = p.addr / 17'(Stride);
        last    = 9'(p.addr[3:0]) + 9'(p.len) - 9'd1;
        wrong   = p.bad || p.cut || (!retry && p.flits != (empty ? 5'd0 : 5'(last / 9'(FlitBytes)) + 5'd1)) || (!empty && last >= 9'd128);
        if (dynamic) wrong |= p.far || token > 17'd3 || 32'(in_row) + 32'(p.len) > ((p.stage == STAGE_GATE) ? 4 * K : RowBytes) || t[5] || !m[t[4]][1];
        else if (p.op == OP_COUNTS) wrong |= p.far || p.addr[3:0] != '0;
        else if (empty) wrong |= p.far;
        else wrong |= p.far || 32'(p.addr) < Lo || 32'(p.addr) + 32'(p.len) > Hi;
        want.ask   = dynamic && !wrong;
        want.null_ = empty || wrong;
        want.off   = dynamic ? AddrW'(in_row / 17'(FlitBytes)) : (p.op == OP_COUNTS) ? AddrW'(p.src) : AddrW'(p.addr / 17'(FlitBytes));
        want.token = token[1:0];
    endfunction

    // ---- where targets are ----
    logic [Parked-1:0]      park_used;
    logic [Parked-1:0][5:0] park;
    always_comb begin
        for (int unsigned i = 0; i < Parked; i++) begin
            park[i]      = i_dut.i_park.gen_ram.mem[i];
            park_used[i] = 3'(2'(2'(i) - i_dut.i_park.gen_ram.rptr_q)) < i_dut.park_level;
        end
    end
    logic twice;
    always_comb begin
        held  = '0;
        twice = 1'b0;
        for (int unsigned i = 0; i < Parked; i++) begin
            if (park_used[i]) begin
                twice |= held[park[i][5:4]][park[i][0]] || park[i][3:1] != '0;
                held[park[i][5:4]][park[i][0]] = 1'b1;
            end
        end
        if (i_dut.s0_valid_q) begin
            twice |= held[i_dut.s0_q.slot][i_dut.s0_q.idx[0]] || i_dut.s0_q.idx[3:1] != '0;
            held[i_dut.s0_q.slot][i_dut.s0_q.idx[0]] = 1'b1;
        end
        if (i_dut.s1_valid_q) begin
            twice |= held[i_dut.s1_q.job.slot][i_dut.s1_q.idx[0]] || i_dut.s1_q.idx[3:1] != '0;
            held[i_dut.s1_q.job.slot][i_dut.s1_q.idx[0]] = 1'b1;
        end
    end

    // ---- all of it ----
    packet_t          p0, p1;
    want_t            w0, w1;
    logic             idx0, idx1, beyond0;
    opcode_e          op0;
    logic [14:0]      first0;
    logic [15:0]      end0;
    logic [1:0]       token0;
    logic [4:0]       cnt;
    logic [AddrW-1:0] row_off, base;

    // That what is held between the steps is of its packet: the numbers themselves are judged by want().
    rx_extent #(.Cfg(Cfg)) i_extent (
        .row_shift_i(cfg.row_shift), .op_i(op0), .len_i(p0.len), .addr_i(p0.addr), .first_o(first0), .end_o(end0), .token_o(token0), .beyond_o(beyond0)
    );

    assign idx0 = i_dut.s0_q.idx[0];
    assign idx1 = i_dut.s1_q.idx[0];
    assign p0   = packet_q[i_dut.s0_q.slot];
    assign p1   = packet_q[i_dut.s1_q.job.slot];
    assign w1   = want(p1, p1.tgt[idx1], 1'b0, map);
    assign w0   = want(p0, p0.tgt[idx0], 1'b0, map);
    assign op0  = (p0.op == OP_DYMULTIMEM_ST && p0.stage == STAGE_FLAT && !p0.bad) ? OP_ST : p0.op;
    assign cnt  = packet_q[pkt_slot_q].cut ? 5'd1 : packet_q[pkt_slot_q].two ? 5'd2 : 5'd1;
    assign base    = AddrW'(((p1.stage == STAGE_DISPATCH) ? Xd : (p1.stage == STAGE_COMBINE) ? Yd : Gt) / FlitBytes);
    assign row_off = (AddrW'(i_dut.s1_q.job.le) * AddrW'(Cap) + AddrW'(al_row_i)) * AddrW'(((p1.stage == STAGE_GATE) ? Gate : Stride) / FlitBytes);

    always_comb begin
        if (al_valid_i) assume (al_row_i < 2'(Cap));
        if (rst_n) begin
            a_where:  assert (!twice && held == pending_q);                   // every target that was fetched is in one place, once, until it is a job
            a_used:   assert (pending_q[3] == '0 && !used_q[3] && (pending_q[0] == '0 || used_q[0]) && (pending_q[1] == '0 || used_q[1]) && (pending_q[2] == '0 || used_q[2]));
            a_next:   assert (!pkt_valid_q || (used_q[pkt_slot_q] && 5'(i_dut.idx_q) < cnt));
            a_fetch:  assert (!fetch || (pkt_valid_q && hd_slot == pkt_slot_q && hd_idx == i_dut.idx_q && !pending_q[from][hd]));
            a_behind: assert (!pkt_valid_q || (i_dut.idx_q == '0 ? pending_q[pkt_slot_q] == '0 : !pending_q[pkt_slot_q][1]));
            a_idle:   assert (pkt_valid_q || i_dut.idx_q == '0);
            a_start:  assert ((start_valid && start_ready_i) == (fetch && hd_idx == '0));   // the slot waits for as many
            a_count:  assert (!start_valid || (start_slot == pkt_slot_q && start_cnt == cnt));
            a_leave:  assert ((pkt_valid_q && pkt_ready) == (fetch && 5'(hd_idx) + 5'd1 == cnt));  // the packet leaves with its last
            a_room:   assert (!(i_dut.park_push && !i_dut.park_room) && !(push && !i_dut.job_push_ready));
            // what is held of them is theirs
            if (i_dut.s0_valid_q) begin
                a_s0: assert (i_dut.s0_q.bad == p0.bad && i_dut.s0_q.src == p0.src && i_dut.s0_q.len == p0.len && i_dut.s0_q.stage == p0.stage && i_dut.s0_q.lane == p0.addr[3:0] && i_dut.s0_q.beyond == (beyond0 || p0.far)
                             && i_dut.s0_q.first == first0 && i_dut.s0_q.end_ == end0 && i_dut.s0_q.token == token0
                             && i_dut.s0_q.tgt == p0.tgt[idx0] && i_dut.s0_q.op == op0
                             && (i_dut.s0_q.retry ? !i_dut.s0_q.cut && w0.ask : i_dut.s0_q.cut == p0.cut && i_dut.s0_q.flits == p0.flits));
            end
            if (i_dut.s1_valid_q) begin
                a_s1: assert (i_dut.s1_q.ask == w1.ask && i_dut.s1_q.job.null_ == w1.null_ && (i_dut.s1_q.err == ERR_NONE || w1.null_));
                if (!w1.null_) begin
                    a_off:  assert (i_dut.s1_q.off == w1.off && i_dut.s1_q.stage == p1.stage && i_dut.s1_q.job.lane == p1.addr[3:0] && 8'(i_dut.s1_q.job.span) == 8'(p1.addr[3:0]) + p1.len - 8'd1);
                    a_kind: assert (i_dut.s1_q.job.counts == (p1.op == OP_COUNTS) && i_dut.s1_q.job.kind == (p1.op == OP_COUNTS && p1.stage[0]) && i_dut.s1_q.job.track == (w1.ask && p1.stage != STAGE_COMBINE));
                    a_of:   assert (!w1.ask || (i_dut.s1_q.job.le == map[p1.tgt[idx1][4]][0] && i_dut.s1_q.job.token == w1.token && i_dut.s1_q.job.pos == p1.tgt[idx1][3:0]));
                end
            end
            // the job that leaves
            if (push) begin
                a_slot: assert (i_dut.job.slot == i_dut.s1_q.job.slot);
                a_null: assert (i_dut.job.null_ == (w1.null_ || (w1.ask && al_err_i)));
                if (!i_dut.job.null_) a_addr: assert (i_dut.job.addr == (w1.ask ? base + row_off + w1.off : w1.off) && (!w1.ask || i_dut.job.row == al_row_i));
                a_track: assert (i_dut.job.track == (!i_dut.job.null_ && i_dut.s1_q.job.track));
            end
        end
    end

    // parked targets are those that ask
    logic parked_wrong;
    always_comb begin
        parked_wrong = 1'b0;
        for (int unsigned i = 0; i < Parked; i++) parked_wrong |= park_used[i] && !want(packet_q[park[i][5:4]], packet_q[park[i][5:4]].tgt[park[i][0]], 1'b0, map).ask;
        if (rst_n) begin
            a_parked: assert (!parked_wrong);
            a_level:  assert (5'(i_dut.park_level) + 5'(i_dut.s0_valid_q) + 5'(i_dut.s1_valid_q) <= 5'(Parked) && i_dut.todo_q <= i_dut.park_level);
            a_jobs:   assert (i_dut.job_level <= (i_dut.s1_valid_q ? 3'(Jobs - 1) : 3'(Jobs)));
            // how a queue counts (its own proof does not say)
            a_park_q: assert (i_dut.park_level[1:0] == i_dut.i_park.gen_ram.wptr_q - i_dut.i_park.gen_ram.rptr_q && i_dut.i_park.full_q == (i_dut.park_level == 3'(Parked)) && i_dut.park_valid == (i_dut.park_level != '0));
            a_job_q:  assert (i_dut.job_level[1:0] == i_dut.i_jobs.gen_ram.wptr_q - i_dut.i_jobs.gen_ram.rptr_q && i_dut.i_jobs.full_q == (i_dut.job_level == 3'(Jobs)) && job_valid == (i_dut.job_level != '0));
        end
    end

    // and looked up again, all of them, behind every miss that ends, and when none is under way
    logic pass_q, again_q;
    always_ff @(posedge clk_i) begin
        pass_q  <= rst_n && i_dut.fill_q;
        again_q <= rst_n && !i_dut.fill_q && i_dut.todo_q == '0 && !al_busy_i && !al_fill_i && i_dut.park_level != '0;
    end
    always_comb begin
        if (rst_n) begin
            a_pass:  assert (!pass_q || i_dut.todo_q == i_dut.park_level);
            a_again: assert (!again_q || (i_dut.todo_q != '0 && i_dut.start_q));
        end
    end

    // ---- FLAG and FENCE act when all jobs before them are finished ----
    logic busy_q, took_q, after_q;      // after_q: one of them is on its way to act
    always_ff @(posedge clk_i) begin
        busy_q <= rst_n && busy_i;
        took_q <= rst_n && job_valid && job_ready_i;
    end
    always_comb begin
        if (rst_n) assume (busy_i || !took_q);                  // a worker that has a job is busy,
        if (rst_n && !busy_q && !took_q) assume (!busy_i);      // and gets busy by one alone
        after_q = i_dut.s0_valid_q && !i_dut.s0_q.bad && !i_dut.s0_q.cut && (i_dut.s0_q.op == OP_FLAG || i_dut.s0_q.op == OP_FENCE);
        if (rst_n) begin
            a_acts:  assert (!(ev || ack) || (after_q && !busy_i && !job_valid && !i_dut.s1_valid_q && i_dut.park_level == '0));
            a_alone: assert (!after_q || (!busy_i && !busy_q && !took_q && !job_valid && !i_dut.s1_valid_q && i_dut.park_level == '0 && !i_dut.s0_q.retry));
            a_moves: assert (!i_dut.s0_valid_q || i_dut.s0_go || !i_dut.job_room || (i_dut.s1_valid_q && i_dut.s1_q.ask && !al_valid_i) || (al_req && !al_ready_i) || (ack && !ack_ready_i));
        end
    end

    // what the assumptions leave
    always_ff @(posedge clk_i) begin
        if (rst_n) begin
            c_parked: cover (i_dut.park_level == 3'(Parked - 2));
            c_again:  cover (i_dut.s1_valid_q && i_dut.s1_q.ask && i_dut.s0_q.retry);
            c_acts:   cover (ev || ack);
            c_track:  cover (job_valid && i_dut.job.track);
            c_counts: cover (push && i_dut.job.counts);
            c_bad:    cover (used_q[0] && packet_q[0].bad);
            c_two:    cover (pending_q[0] == '1);
            c_full:   cover (i_dut.job_level == 3'(Jobs));
            c_busy:   cover (busy_i && job_valid);
        end
    end

    logic unused;
    assign unused = ^{al_le, al_token, al_start, al_retry, ev_idx, ack_dst, err_valid, err_code};
endmodule

`default_nettype wire
