// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Packets have any content, and at most two targets. The allocator answers anything at any time.
// Workers take and finish jobs at any time. The proof computes the job of each target from the
// header of its packet. A packet without targets (TargetListCache) uses those of the packet that
// opened its source's row.
`default_nettype none
`include "bundles.svh"

module prove_rx_resolve #(
    parameter bit           TargetListCache = 1'b0,
    localparam int unsigned FlitBytes = 16,
    localparam int unsigned Slots     = 3,
    localparam int unsigned Parked    = 4,
    localparam int unsigned Jobs      = 4,
    localparam cfg_pkg::cfg_t Cfg = sizes()
) (
    input  wire logic            clk_i, come_i, free_i, pkt_bad_i, start_ready_i,
    job_ready_i, busy_i, ack_ready_i,
    input  wire logic            al_req_ready_i, al_valid_i, al_miss_i,
    al_err_i, al_fill_i, al_busy_i,
    input  wire logic [1:0]      slot_i, free_slot_i, al_row_i, epoch_i,
    input  wire logic [4:0]      pkt_flits_i,
    input  wire `MW_ARRIVED(Cfg) hd_i,
    input  wire logic [5:0]      tgt_i,       // the second target
    input  wire node_pkg::emap_t map_i
);
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.N = 2;
        c.FlitBytes = FlitBytes;
        c.MemBytesLog2 = 12;
        c.RowsLog2 = 2;
        c.TokensLog2 = 1;
        c.MaxExperts = 2;
        c.MaxLocalExperts = 2;
        c.Reds = 1'b0;
        c.SourceLists = 1'b0;
        c.TargetListCache = TargetListCache;
        c.SwitchReductions = 1'b0;
        c = cfg_pkg::derived(c);
        c.MaddrW = 17;
        return c;
    endfunction

    import packet_pkg::*;
    import error_pkg::*;

    localparam int unsigned RowBytes = 48, Stride = 64, Gate = 16, K = 2, Cap = 2;
    localparam int unsigned Xd = 'h000, Yd = 'h400, Gt = 'h800, Lo = 'hc03, Hi = 'hff5;

    typedef struct packed {
        logic            cut;
        logic [4:0]      flits;
        `MW_ARRIVED(Cfg) hd;
        logic [1:0][5:0] tgt;
        logic [4:0]      cnt;    // targets, those of its row if it has none
        logic [1:0][5:0] listed;
        logic            no_row; // neither targets nor a row
    } packet_t;
    // the open row of a source
    typedef struct packed {
        logic            open;
        logic [1:0]      token;
        logic [4:0]      cnt;
        logic [1:0][5:0] tgt;
    } row_t;
    typedef struct packed {
        logic                    null_, counts, red, track, home;
        logic [1:0]              slot;
        logic [Cfg.FlitLog2-1:0] lane;
        logic [6:0]              span;
        logic [Cfg.AddrW-1:0]    addr;
        logic [Cfg.LocalW-1:0]   le;
        logic [Cfg.RowsLog2-1:0] row;
        logic [Cfg.TokW-1:0]     token;
        logic [3:0]              pos;
        logic [Cfg.GpuW:0]       adds;
    } job_t;

    logic                    rst_n, pkt_valid_q, pkt_ready, start_valid, job_valid;
    logic [1:0]              pkt_slot_q, hd_slot, start_slot;
    logic [3:0]              hd_tgt;
    logic [4:0]              start_cnt;
    bundle_pkg::event_t      ev;
    bundle_pkg::port_t       ack;
    job_t                    job;
    packet_t                 packet_q [4];
    `MW_ARRIVED(Cfg)         hd;
    bundle_pkg::emap_write_t emap;
    bundle_pkg::alloc_req_t  al_req;
    bundle_pkg::alloc_rsp_t  al;
    bundle_pkg::error_t      err;
    node_pkg::node_cfg_t     cfg;

    always_comb begin
        cfg            = '0;
        cfg.epoch      = epoch_i;
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
        hd             = packet_q[hd_slot].hd;
        hd.tgt         = packet_q[hd_slot].tgt[hd_tgt[0]];
    end
    assign emap = '{we: !rst_n, addr: '0, data: map_i};   // any content, constant after the reset
    assign al   = '{valid: al_valid_i, miss: al_miss_i, err: al_err_i,
                    row: node_pkg::RowW'(al_row_i)};

    f_reset i_reset (.clk_i, .rst_no(rst_n));

    rx_resolve #(.Cfg(Cfg), .SlotW(2), .Parked(Parked), .Jobs(Jobs), .job_t(job_t)) i_dut (
        .clk_i, .rst_ni(rst_n), .cfg_i(cfg), .emap_i(emap),
        .pkt_valid_i(pkt_valid_q), .pkt_ready_o(pkt_ready), .pkt_slot_i(pkt_slot_q),
        .pkt_bad_i(packet_q[pkt_slot_q].cut), .pkt_flits_i(packet_q[pkt_slot_q].flits),
        .hd_slot_o(hd_slot), .hd_tgt_o(hd_tgt), .hd_i(hd),
        .start_valid_o(start_valid), .start_ready_i,
        .start_slot_o(start_slot), .start_cnt_o(start_cnt),
        .al_req_o(al_req), .al_req_ready_i, .al_i(al), .al_fill_i, .al_busy_i,
        .job_valid_o(job_valid), .job_ready_i, .job_o(job), .busy_i,
        .ev_o(ev), .said_o(), .ack_o(ack), .ack_ready_i, .err_o(err)
    );

    // ---- packets: each keeps its slot until all its targets have become jobs ----
    logic [3:0]       used_q;
    logic [3:0][1:0]  pending_q;          // targets fetched that have not become jobs
    logic [3:0][1:0]  held;               // the same, counted from where they are
    logic             come, fetch, push;
    `MW_ARRIVED(Cfg)  arrived;            // with a store's opcode, and at most two targets

    assign come  = come_i && (!pkt_valid_q || pkt_ready) && 32'(slot_i) < Slots && !used_q[slot_i];
    assign fetch = i_dut.fetch && !i_dut.from_park;
    assign push  = i_dut.s1_done && !i_dut.missed;

    always_comb begin
        arrived     = hd_i;
        arrived.op  = opcode_e'({3'(OP_ST >> 3), hd_i.op[2:0]});
        arrived.cnt = (arrived.op == OP_DYMULTIMEM_ST && !hd_i.bad && hd_i.cnt[0]) ? 5'd2 : 5'd1;
        if (TargetListCache && arrived.op == OP_DYMULTIMEM_ST && !hd_i.bad
            && hd_i.stage != STAGE_FLAT && hd_i.cnt[1])
            arrived.cnt = '0;
    end

    // ---- rows ----
    row_t       row_q [2];             // for the packet at the head
    row_t       row [2];               // for the next packet
    row_t       of;                    // row of the next packet's source
    packet_t    head, next;
    logic [1:0] epoch_q;

    function automatic logic names(packet_t p);
        return !p.hd.beyond && (p.hd.addr >> 8) == '0;
    endfunction
    function automatic logic follows(packet_t p);
        return TargetListCache && p.hd.op == OP_DYMULTIMEM_ST && !p.hd.bad && !p.cut
            && p.hd.cnt == '0;
    endfunction
    function automatic logic opens(packet_t p);
        return p.hd.op == OP_DYMULTIMEM_ST && !p.hd.bad && !p.cut && p.hd.cnt != '0
            && p.hd.stage != STAGE_FLAT && names(p);
    endfunction
    function automatic row_t after(row_t r, packet_t p);
        after = r;
        if (opens(p)) after = '{open: 1'b1, token: p.hd.addr[7:6], cnt: p.hd.cnt, tgt: p.tgt};
        if (p.hd.op == OP_DYMULTIMEM_ST) begin
            if (p.hd.bad || p.cut) after.open = 1'b0;
            else if (p.hd.stage != STAGE_FLAT
                     && (!names(p) || p.hd.stage == STAGE_GATE || p.no_row)) after.open = 1'b0;
        end
    endfunction

    assign head = packet_q[pkt_slot_q];
    always_comb begin
        for (int unsigned s = 0; s < 2; s++) begin
            row[s] = (pkt_valid_q && head.hd.src == 5'(s)) ? after(row_q[s], head) : row_q[s];
            if (epoch_q != epoch_i) row[s].open = 1'b0;
        end
        of   = row[arrived.src[0]];
        next = '{cut: pkt_bad_i, flits: pkt_flits_i, hd: arrived, tgt: {tgt_i, hd_i.tgt},
                 cnt: arrived.cnt, listed: {tgt_i, hd_i.tgt}, no_row: 1'b0};
        if (follows(next)) begin
            next.no_row = 32'(arrived.src) > 1 || !of.open || !names(next)
                          || of.token != arrived.addr[7:6];
            next.cnt    = next.no_row ? 5'd1 : of.cnt;
            next.listed = of.tgt;
        end
        if (pkt_bad_i) next.cnt = 5'd1;
        if (rst_n && pkt_valid_q) assume (epoch_q == epoch_i);
    end
    always_ff @(posedge clk_i) begin
        epoch_q <= epoch_i;
        for (int unsigned s = 0; s < 2; s++) begin
            if (pkt_ready || !pkt_valid_q) row_q[s] <= row[s];
            if (!rst_n) row_q[s].open <= 1'b0;
        end
    end

    always_ff @(posedge clk_i) begin
        if (!rst_n) begin
            used_q      <= '0;
            pkt_valid_q <= 1'b0;
            pending_q   <= '0;
        end else begin
            pkt_valid_q <= come || (pkt_valid_q && !pkt_ready);
            if (free_i && pending_q[free_slot_i] == '0
                && !(pkt_valid_q && pkt_slot_q == free_slot_i)) begin
                used_q[free_slot_i] <= 1'b0;
            end
            if (come) used_q[slot_i] <= 1'b1;
            if (push) pending_q[i_dut.s1_q.job.slot][i_dut.s1_q.idx[0]] <= 1'b0;
            if (fetch) pending_q[pkt_slot_q][hd_tgt[0]] <= 1'b1;
        end
        if (come) begin
            pkt_slot_q       <= slot_i;
            packet_q[slot_i] <= next;
        end
    end

    // What rx_arrive passes without an error, with the lengths that it allows.
    function automatic logic usual(opcode_e op, logic bad, logic [7:0] len);
        if (bad) return len != '0 && len < 8'd32;
        return len <= 8'd128 && (len == '0) == (op == OP_FLAG || op == OP_FENCE);
    endfunction
    always_comb begin
        assume (arrived.op <= OP_COUNTS && usual(arrived.op, arrived.bad, arrived.len));
        assume (pkt_flits_i <= 5'd10);
    end

    logic strange;                     // a packet that the assumptions exclude
    always_comb begin
        strange = 1'b0;
        for (int unsigned i = 0; i < Slots; i++) begin
            if (used_q[i]) begin
                strange |= packet_q[i].hd.cnt != 5'd1
                           && ((packet_q[i].hd.cnt != 5'd2 && !follows(packet_q[i])
                                                           && !(TargetListCache && packet_q[i].cut
                                                               && packet_q[i].hd.cnt == '0))
                                                          || packet_q[i].hd.bad
                                                          || packet_q[i].hd.op != OP_DYMULTIMEM_ST);
                strange |= packet_q[i].hd.cnt == '0 && packet_q[i].hd.stage == STAGE_FLAT;
                strange |= packet_q[i].cnt != 5'd1 && packet_q[i].cnt != 5'd2;
                strange |= !follows(packet_q[i])
                           && (packet_q[i].no_row || packet_q[i].listed != packet_q[i].tgt
                               || (!packet_q[i].cut && packet_q[i].cnt != packet_q[i].hd.cnt));
                strange |= (packet_q[i].cut || packet_q[i].no_row) && packet_q[i].cnt != 5'd1;
                strange |= packet_q[i].hd.op < OP_ST || packet_q[i].hd.op > OP_COUNTS
                           || packet_q[i].flits > 5'd10;
                strange |= !usual(packet_q[i].hd.op, packet_q[i].hd.bad, packet_q[i].hd.len);
            end
        end
        if (rst_n) a_strange: assert (!strange);
    end

    // ---- the job of a target, except for the row ----
    logic [1:0][1:0] map;                              // of the expert map: {here, place}
    always_comb for (int unsigned e = 0; e < 2; e++) map[e] = i_dut.i_emap.mem[e];

    typedef struct packed {
        logic                 ask, null_;
        logic [Cfg.AddrW-1:0] off;
        logic [Cfg.TokW-1:0]  token;
    } want_t;

    function automatic want_t want(packet_t p, logic [5:0] t, logic retry, logic [1:0][1:0] m);
        logic        dynamic, empty, wrong;
        logic [16:0] in_row, token;
        logic [8:0]  last;
        dynamic = p.hd.op == OP_DYMULTIMEM_ST && p.hd.stage != STAGE_FLAT;
        empty   = p.hd.op == OP_FLAG || p.hd.op == OP_FENCE;
        in_row  = p.hd.addr % 17'(Stride);
        token   = p.hd.addr / 17'(Stride);
        last    = 9'(p.hd.addr[3:0]) + 9'(p.hd.len) - 9'd1;
        wrong   = p.hd.bad || p.cut || p.no_row || (!empty && last >= 9'd128) || p.hd.beyond
                  || (!retry && p.flits != (empty ? 5'd0 : 5'(last / 9'(FlitBytes)) + 5'd1));
        if (dynamic) begin
            wrong |= token > 17'd3 || t[5] || !m[t[4]][1]
                     || 32'(in_row) + 32'(p.hd.len) > ((p.hd.stage == STAGE_GATE) ? 4 * K
                                                       : RowBytes);
        end else if (p.hd.op == OP_COUNTS) begin
            wrong |= p.hd.addr[3:0] != '0;
        end else if (!empty) begin
            wrong |= 32'(p.hd.addr) < Lo || 32'(p.hd.addr) + 32'(p.hd.len) > Hi;
        end
        want.ask   = dynamic && !wrong;
        want.null_ = empty || wrong;
        want.off   = dynamic ? Cfg.AddrW'(in_row / 17'(FlitBytes))
                     : (p.hd.op == OP_COUNTS) ? Cfg.AddrW'(p.hd.src)
                         : Cfg.AddrW'(p.hd.addr / 17'(FlitBytes));
        want.token = token[1:0];
    endfunction

    // ---- where targets are ----
    logic [Parked-1:0]      park_used;
    logic [Parked-1:0][11:0] parked; // with TargetListCache {target, ...}
    logic [Parked-1:0][5:0] park;
    always_comb begin
        for (int unsigned i = 0; i < Parked; i++) begin
            parked[i]    = 12'(i_dut.i_park.gen_ram.mem[i]);
            park[i]      = parked[i][5:0];
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

    // ---- targets and jobs ----
    packet_t          p0, p1;
    want_t            w0, w1;
    logic             idx0, idx1, beyond0;
    opcode_e          op0;
    attributes_t      arrived0;
    logic [14:0]      first0;
    logic [15:0]      end0;
    logic [1:0]       token0;
    logic [4:0]       cnt;
    logic [Cfg.AddrW-1:0] row_off, base;

    // State between the steps belongs to its packet. want() checks the numbers.
    rx_extent #(.Cfg(Cfg)) i_extent (
        .row_shift_i(cfg.row_shift), .extent_i(arrived0.extent), .len_i(p0.hd.len),
        .addr_i(p0.hd.addr), .first_o(first0),
        .end_o(end0), .token_o(token0), .beyond_o(beyond0)
    );

    assign arrived0 = attributes_of(op0, Cfg.MergeLoads);
    assign idx0 = i_dut.s0_q.idx[0];
    assign idx1 = i_dut.s1_q.idx[0];
    assign p0   = packet_q[i_dut.s0_q.slot];
    assign p1   = packet_q[i_dut.s1_q.job.slot];
    assign w1   = want(p1, p1.listed[idx1], 1'b0, map);
    assign w0   = want(p0, p0.listed[idx0], 1'b0, map);
    assign op0  = (p0.hd.op == OP_DYMULTIMEM_ST && p0.hd.stage == STAGE_FLAT && !p0.hd.bad) ? OP_ST
                  : p0.hd.op;
    assign cnt  = head.cnt;
    assign base = Cfg.AddrW'(((p1.hd.stage == STAGE_DISPATCH) ? Xd
                              : (p1.hd.stage == STAGE_COMBINE) ? Yd : Gt) / FlitBytes);
    assign row_off = (Cfg.AddrW'(i_dut.s1_q.job.le) * Cfg.AddrW'(Cap) + Cfg.AddrW'(al_row_i))
                     * Cfg.AddrW'(((p1.hd.stage == STAGE_GATE) ? Gate : Stride) / FlitBytes);

    always_comb begin
        if (al_valid_i) assume (al_row_i < 2'(Cap));
        if (rst_n) begin
            // every fetched target is in exactly one place until it is a job
            a_where:  assert (!twice && held == pending_q);
            a_used:   assert (pending_q[3] == '0 && !used_q[3] && (pending_q[0] == '0 || used_q[0])
                              && (pending_q[1] == '0 || used_q[1])
                              && (pending_q[2] == '0 || used_q[2]));
            a_next:   assert (!pkt_valid_q || (used_q[pkt_slot_q] && 5'(i_dut.idx_q) < cnt));
            a_fetch:  assert (!fetch
                              || (pkt_valid_q && hd_slot == pkt_slot_q && hd_tgt == i_dut.idx_q
                                         && !pending_q[pkt_slot_q][hd_tgt[0]]));
            a_behind: assert (!pkt_valid_q
                              || (i_dut.idx_q == '0 ? pending_q[pkt_slot_q] == '0
                                  : !pending_q[pkt_slot_q][1]));
            a_idle:   assert (pkt_valid_q || i_dut.idx_q == '0);
            // the slot waits for all targets, and the packet leaves with its last one
            a_start:  assert ((start_valid && start_ready_i) == (fetch && hd_tgt == '0));
            a_count:  assert (!start_valid || (start_slot == pkt_slot_q && start_cnt == cnt));
            a_leave:  assert ((pkt_valid_q && pkt_ready) == (fetch && 5'(hd_tgt) + 5'd1 == cnt));
            a_room:   assert (!(i_dut.park_push && !i_dut.park_room)
                              && !(push && !i_dut.job_push_ready));
            // the state of a target belongs to its packet
            if (i_dut.s0_valid_q) begin
                a_s0: assert (i_dut.s0_q.bad == p0.hd.bad && i_dut.s0_q.src == p0.hd.src
                              && i_dut.s0_q.len == p0.hd.len
                             && i_dut.s0_q.stage == p0.hd.stage
                             && i_dut.s0_q.lane == p0.hd.addr[3:0]
                             && i_dut.s0_q.beyond == (beyond0 || p0.hd.beyond)
                             && i_dut.s0_q.first == first0 && i_dut.s0_q.end_ == end0
                             && i_dut.s0_q.token == token0
                             && (p0.no_row || i_dut.s0_q.tgt == p0.listed[idx0])
                             && i_dut.s0_q.op == op0 && i_dut.s0_q.no_row == p0.no_row
                             && (i_dut.s0_q.retry ? !i_dut.s0_q.cut && w0.ask
                                 : i_dut.s0_q.cut == p0.cut && i_dut.s0_q.flits == p0.flits));
            end
            if (i_dut.s1_valid_q) begin
                a_s1: assert (i_dut.s1_q.ask == w1.ask && i_dut.s1_q.job.null_ == w1.null_
                              && (i_dut.s1_q.err == ERR_NONE || w1.null_));
                if (!w1.null_) begin
                    a_off:  assert (i_dut.s1_q.off == w1.off && i_dut.s1_q.stage == p1.hd.stage
                                    && i_dut.s1_q.job.lane == p1.hd.addr[3:0]
                                    && 8'(i_dut.s1_q.job.span) == 8'(p1.hd.addr[3:0]) + p1.hd.len
                                    - 8'd1);
                    a_kind: assert (i_dut.s1_q.job.counts == (p1.hd.op == OP_COUNTS)
                                    && !i_dut.s1_q.job.red
                                    && (p1.hd.op != OP_COUNTS
                                        || i_dut.s1_q.job.pos == 4'(p1.hd.stage))
                                    && i_dut.s1_q.job.track == (w1.ask
                                                                && p1.hd.stage != STAGE_COMBINE));
                    a_of:   assert (!w1.ask || (i_dut.s1_q.job.le == map[p1.listed[idx1][4]][0]
                                                && i_dut.s1_q.tgt == p1.listed[idx1]
                                                && i_dut.s1_q.job.token == w1.token
                                                && i_dut.s1_q.job.pos == p1.listed[idx1][3:0]));
                end
            end
            // the job that leaves
            if (push) begin
                a_slot: assert (i_dut.job.slot == i_dut.s1_q.job.slot);
                a_null: assert (i_dut.job.null_ == (w1.null_ || (w1.ask && al_err_i)));
                if (!i_dut.job.null_) begin
                    a_addr: assert (i_dut.job.addr == (w1.ask ? base + row_off + w1.off : w1.off)
                                    && (!w1.ask || i_dut.job.row == al_row_i));
                end
                a_track: assert (i_dut.job.track == (!i_dut.job.null_ && i_dut.s1_q.job.track));
            end
        end
    end

    // Only targets that request a row are parked.
    logic parked_wrong;
    always_comb begin
        parked_wrong = 1'b0;
        for (int unsigned i = 0; i < Parked; i++) begin
            parked_wrong |= park_used[i] && !want(packet_q[park[i][5:4]],
                                                  packet_q[park[i][5:4]].listed[park[i][0]],
                                                  1'b0, map).ask;
            parked_wrong |= TargetListCache && park_used[i]
                            && parked[i][11:6] != packet_q[park[i][5:4]].listed[park[i][0]];
        end
        if (rst_n) begin
            a_parked: assert (!parked_wrong);
            a_level:  assert (5'(i_dut.park_level) + 5'(i_dut.s0_valid_q)
                              + 5'(i_dut.s1_valid_q) <= 5'(Parked)
                              && i_dut.todo_q <= i_dut.park_level);
            a_jobs:   assert (i_dut.job_level <= (i_dut.s1_valid_q ? 3'(Jobs - 1) : 3'(Jobs)));
            // internal counters of a queue, which its own proof does not cover
            a_park_q: assert (i_dut.park_level[1:0]
                              == i_dut.i_park.gen_ram.wptr_q - i_dut.i_park.gen_ram.rptr_q
                              && i_dut.i_park.full_q == (i_dut.park_level == 3'(Parked))
                              && i_dut.park_valid == (i_dut.park_level != '0));
            a_job_q:  assert (i_dut.job_level[1:0]
                              == i_dut.i_jobs.gen_ram.wptr_q - i_dut.i_jobs.gen_ram.rptr_q
                              && i_dut.i_jobs.full_q == (i_dut.job_level == 3'(Jobs))
                              && job_valid == (i_dut.job_level != '0));
        end
    end

    // ---- stored rows ----
    if (TargetListCache) begin : gen_rows
        for (genvar s = 0; s < 2; s++) begin : gen_source
            logic [6:0]      kept;     // {token, cnt}
            logic [1:0][5:0] targets;
            logic            half;     // the packet at the head is writing its list there
            assign kept    = i_dut.gen_lists.i_lists.i_rows.mem[s];
            assign targets = {i_dut.gen_lists.i_lists.i_targets.mem[2*s+1],
                              i_dut.gen_lists.i_lists.i_targets.mem[2*s]};
            assign half    = pkt_valid_q && i_dut.idx_q != '0 && opens(head)
                             && head.hd.src == 5'(s);
            always_comb if (rst_n) begin
                a_open: assert (i_dut.gen_lists.i_lists.open_q[s] == row_q[s].open);
                a_row:  assert (!row_q[s].open || half
                                || (kept == {row_q[s].token, row_q[s].cnt}
                                    && targets[0] == row_q[s].tgt[0]
                                    && (row_q[s].cnt == 5'd1 || targets[1] == row_q[s].tgt[1])));
                a_half: assert (!half || (kept == {head.hd.addr[7:6], head.hd.cnt}
                                          && targets[0] == head.tgt[0]));
                a_cnt:  assert (!row_q[s].open || row_q[s].cnt == 5'd1 || row_q[s].cnt == 5'd2);
                // the packet at the head has the list of its row
                a_has:  assert (!pkt_valid_q || !follows(head) || head.no_row
                                || head.hd.src != 5'(s)
                                || (row_q[s].open && row_q[s].token == head.hd.addr[7:6]
                                    && names(head)
                                    && head.cnt == row_q[s].cnt && head.listed == row_q[s].tgt));
                a_not:  assert (!pkt_valid_q || !head.no_row || head.hd.src != 5'(s) || !names(head)
                                || !row_q[s].open || row_q[s].token != head.hd.addr[7:6]);
            end
        end
        always_comb if (rst_n) begin
            a_epoch:  assert (i_dut.gen_lists.i_lists.epoch_q == epoch_q);
            a_source: assert (!pkt_valid_q || !follows(head) || head.no_row
                              || 32'(head.hd.src) < 2);
        end
        always_ff @(posedge clk_i) if (rst_n) begin
            c_follows: cover (fetch && follows(head) && !head.no_row && head.cnt == 5'd2);
            c_no_row:  cover (fetch && head.no_row);
            c_ends:    cover (epoch_q != epoch_i && row_q[0].open);
        end
    end

    // After every miss that ends, and when no miss is open, all parked targets are looked up again.
    logic pass_q, again_q;
    always_ff @(posedge clk_i) begin
        pass_q  <= rst_n && i_dut.fill_q;
        again_q <= rst_n && !i_dut.fill_q && i_dut.todo_q == '0 && !al_busy_i && !al_fill_i
                   && i_dut.park_level != '0;
    end
    always_comb begin
        if (rst_n) begin
            a_pass:  assert (!pass_q || i_dut.todo_q == i_dut.park_level);
            a_again: assert (!again_q || (i_dut.todo_q != '0 && i_dut.start_q));
        end
    end

    // ---- FLAG and FENCE act when all jobs before them are finished ----
    logic busy_q, took_q, after_q;      // after_q: a FLAG or FENCE is about to act
    always_ff @(posedge clk_i) begin
        busy_q <= rst_n && busy_i;
        took_q <= rst_n && job_valid && job_ready_i;
    end
    always_comb begin
        if (rst_n) assume (busy_i || !took_q);                  // a worker with a job is busy,
        if (rst_n && !busy_q && !took_q) assume (!busy_i);      // and gets busy only by a job
        after_q = i_dut.s0_valid_q && !i_dut.s0_q.bad && !i_dut.s0_q.cut
                  && i_dut.s0_q.op inside {OP_FLAG, OP_FENCE};
        if (rst_n) begin
            a_acts:  assert (!(ev.valid || ack.valid)
                             || (after_q && !busy_i && !job_valid && !i_dut.s1_valid_q
                                              && i_dut.park_level == '0));
            a_alone: assert (!after_q
                             || (!busy_i && !busy_q && !took_q && !job_valid && !i_dut.s1_valid_q
                                          && i_dut.park_level == '0 && !i_dut.s0_q.retry));
            a_moves: assert (!i_dut.s0_valid_q || i_dut.s0_go || !i_dut.job_room
                             || (i_dut.s1_valid_q && i_dut.s1_q.ask && !al_valid_i)
                             || (al_req.valid && !al_req_ready_i) || (ack.valid && !ack_ready_i));
        end
    end

    // reachable under the assumptions
    always_ff @(posedge clk_i) begin
        if (rst_n) begin
            c_parked: cover (i_dut.park_level == 3'(Parked - 2));
            c_again:  cover (i_dut.s1_valid_q && i_dut.s1_q.ask && i_dut.s0_q.retry);
            c_acts:   cover (ev.valid || ack.valid);
            c_track:  cover (job_valid && i_dut.job.track);
            c_counts: cover (push && i_dut.job.counts);
            c_bad:    cover (used_q[0] && packet_q[0].hd.bad);
            c_two:    cover (pending_q[0] == '1);
            c_full:   cover (i_dut.job_level == 3'(Jobs));
            c_busy:   cover (busy_i && job_valid);
        end
    end

    logic unused;
    assign unused = ^{al_req, ev, ack, err};
endmodule

`default_nettype wire
