// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The memory of the allocator may stall at any time. There are one expert with two rows, and four
// tokens. Two tokens each share a line of the cache, two each a flit of the table. Clients request
// any token in any order. A request may therefore join an open miss, and be repeated, as by a
// parked packet. The proof compares every answer for a token with the first one.
//
// Earlier layers may leave anything in table, cache and row count, except entries of this layer's
// epoch. With Sweep they may leave anything, and the layer begins with a sweep.
`default_nettype none
`include "bundles.svh"

module prove_allocator #(
    parameter bit Sweep = 1'b0,
    localparam int unsigned RowW = node_pkg::RowW
) (
    input  wire logic            clk_i, start_i, retry_i, rd_ready_i, wr_ready_i, answer_i,
    input  wire logic [1:0]      valid_i,
    input  wire logic [1:0][1:0] token_i
);
    localparam int unsigned Tokens = 4, Misses = 2;
    function automatic cfg_pkg::cfg_t sizes();
        cfg_pkg::cfg_t c;
        c = cfg_pkg::usual();
        c.N = 2;
        c.FlitBytes = 8;
        c.MemBytesLog2 = 8;
        c.RowsLog2 = 2;
        c.TokensLog2 = 4;
        c.MaxLocalExperts = 1;
        c.CacheEntries = 16;
        c.CacheLimit = 1'b0;
        return cfg_pkg::derived(c);
    endfunction
    localparam cfg_pkg::cfg_t Cfg = sizes();

    localparam logic [1:0]  Epoch = 2'd1;

    logic                   rst_n, sweep_busy, fill, busy, hit, miss, idle, started_q, swept_q;
    logic                   req_ready [2];
    bundle_pkg::alloc_req_t req [2];
    bundle_pkg::alloc_rsp_t resp [2];
    `MW_READ(Cfg)           rd;
    `MW_ANSWER(Cfg)         answer;
    `MW_WRITE(Cfg)          wr;
    node_pkg::node_cfg_t    cfg;

    // 0 and 18, 1 and 19 share a line. 0 and 1, 18 and 19 share a flit.
    function automatic logic [4:0] token_of(logic [1:0] t);
        return (t[1] ? 5'd18 : 5'd0) | 5'(t[0]);
    endfunction

    always_comb begin
        cfg               = '0;
        cfg.epoch         = Epoch;
        cfg.token_shift   = 4'd4;
        cfg.n_shift       = 3'd1;
        cfg.local_experts = 7'd1;
        cfg.cap_shift     = 5'd1;
        for (int unsigned c = 0; c < 2; c++) begin
            req[c] = '{
                valid: valid_i[c] && started_q, alloc: c == 0,
                start: start_i, retry: retry_i, le: '0,
                token: node_pkg::TokenW'(token_of(token_i[c]))
            };
        end
    end

    f_reset i_reset (.clk_i, .rst_no(rst_n));
    always_ff @(posedge clk_i) begin
        swept_q   <= rst_n;                                       // the sweep begins in the first
                                                                  // cycle
        started_q <= rst_n && (started_q || !Sweep || (swept_q && !sweep_busy));
    end

    allocator #(.Cfg(Cfg), .Misses(Misses)) i_dut (
        .clk_i, .rst_ni(rst_n), .cfg_i(cfg),
        .sweep_i(Sweep && rst_n && !swept_q), .sweep_busy_o(sweep_busy),
        .req_i(req), .req_ready_o(req_ready), .resp_o(resp), .fill_o(fill), .busy_o(busy),
        .alm_rd_o(rd), .alm_rd_ready_i(rd_ready_i), .alm_rd_i(answer), .alm_wr_o(wr),
        .alm_wr_ready_i(wr_ready_i),
        .hit_o(hit), .miss_o(miss), .idle_o(idle)
    );

    // ---- memory: each entry is {valid, epoch, row} ----
    // Reads are answered in order, with the content at the time of their grant.
    typedef logic [4:0] entry_t;
    entry_t     mem_q [Tokens];
    logic [9:0] queue_q [Misses];
    logic [1:0] queued_q;
    logic       grant, behind;   // another read is queued before the granted one

    assign grant  = rd.valid && rd_ready_i;
    assign behind = queued_q != 2'(answer.rvalid);
    assign answer = '{
        rvalid: rst_n && answer_i && queued_q != '0,
        rdata: {queue_q[0][9:7], 27'd0, queue_q[0][6:5], queue_q[0][4:2], 27'd0, queue_q[0][1:0]}
    };

    always_ff @(posedge clk_i) begin
        if (!rst_n) queued_q <= '0;
        else queued_q <= queued_q + 2'(grant) - 2'(answer.rvalid);
        if (answer.rvalid) queue_q[0] <= queue_q[1];
        if (rst_n && grant)
            queue_q[behind] <= {mem_q[{rd.addr[3], 1'b1}], mem_q[{rd.addr[3], 1'b0}]};
        if (rst_n && wr.valid && wr_ready_i && wr.addr[2:0] == {2'd0, wr.addr[3]}) begin
            if (wr.be[0]) mem_q[{wr.addr[3], 1'b0}] <= {wr.data[31:29], wr.data[1:0]};
            if (wr.be[4]) mem_q[{wr.addr[3], 1'b1}] <= {wr.data[63:61], wr.data[33:32]};
        end
        if (rst_n) begin
            a_room: assert (!grant || queued_q != 2'(Misses));
            a_addr: assert (!(rd.valid && !(rd.addr inside {5'd0, 5'd9}))
                            && !(wr.valid && wr.addr[4])
                            && !(wr.valid && !sweep_busy && !(wr.addr inside {5'd0, 5'd9})));
        end
    end

    // ---- answers ----
    logic [1:0]              open_q;      // a client waits for an answer
    logic [1:0][1:0]         key_q;
    logic [Tokens-1:0]       known_q;     // the token has a row
    logic [Tokens-1:0][1:0]  row_q;
    bundle_pkg::alloc_rsp_t  notified;
    logic                    got, other;  // a row is reported
    logic [1:0]              key;

    assign notified = resp[0].valid ? resp[0] : resp[1];
    assign key  = resp[0].valid ? key_q[0] : key_q[1];
    assign got  = notified.valid && !notified.err && !(resp[0].valid && notified.miss);

    always_comb begin
        other = 1'b0;
        for (int unsigned t = 0; t < Tokens; t++) other |= known_q[t] && 2'(t) != key
            && RowW'(row_q[t]) == notified.row;
        if (!rst_n) assume (valid_i == '0);
        if (open_q[0]) assume (!valid_i[0]);
        if (open_q[1]) assume (!valid_i[1]);
    end

    // the table agrees with the answers
    logic [Tokens-1:0] there;
    logic              twice, unnotified;

    always_comb begin
        twice  = 1'b0;
        unnotified = 1'b0;
        for (int unsigned t = 0; t < Tokens; t++) there[t] = mem_q[t][4:2] == {1'b1, Epoch};
        for (int unsigned t = 0; t < Tokens; t++) begin
            for (int unsigned u = 0; u < t; u++)
                twice |= there[t] && there[u] && mem_q[t][1:0] == mem_q[u][1:0];
            twice  |= there[t] && mem_q[t][1];
            unnotified |= known_q[t] && !(there[t] && mem_q[t][1:0] == row_q[t]);
        end
    end

    // ---- what earlier layers left ----
    // A line or a count of rows that this layer has not written is not of its epoch.
    logic       given_q;       // the count was written
    logic [1:0] line_q;        // each of the two lines was
    logic [1:0] owner_q;       // for 18 and 19
    logic       at_q;          // the line that is looked up

    if (!Sweep) begin : gen_stale
        always_comb begin
            if (!rst_n) assume (there == '0);
            if (!given_q) assume (i_dut.bump_word[Cfg.RowsLog2+2 -: 2] != Epoch);
            if (rst_n && i_dut.look_q && !line_q[at_q])
                assume (!(i_dut.line.valid && i_dut.line.epoch == Epoch));
        end
    end

    always_ff @(posedge clk_i) begin
        if (!rst_n) begin
            given_q <= 1'b0;
            line_q  <= '0;
        end else begin
            if (i_dut.bump_we) given_q <= 1'b1;
            if (i_dut.line_we && !sweep_busy) begin
                line_q[i_dut.line_waddr[0]]  <= 1'b1;
                owner_q[i_dut.line_waddr[0]] <= i_dut.head_key.token[4];
            end
        end
        at_q <= token_i[i_dut.take_client][0];
    end

    // ---- invariants that make the proof inductive ----
    function automatic logic [1:0] index_of(logic [4:0] token);
        return {token[4], token[0]};
    endfunction
    function automatic logic is_token(logic [4:0] token);
        return token inside {5'd0, 5'd1, 5'd18, 5'd19};
    endfunction

    typedef struct packed {
        logic       valid;
        logic [1:0] epoch;
        logic       full;
        logic       high, le;   // of the token, the bits that the index lacks
        logic [1:0] row;
    } line_t;

    logic [1:0]        used, issued, answered, waiting;   // of the ring: misses; reads begun; reads
                                                          // answered; reads not answered
    logic [1:0]        rows;
    logic              live, head, next, writes, tells;
    logic              i_ring, i_keys, i_reads, i_end, i_rows, i_client, i_cache, i_look, i_sweep;
    logic [Misses-1:0] alive;
    line_t             cache [2];
    logic [1:0]        head_t, look_t;
    logic              looks [2];

    assign live     = rst_n && (!Sweep || swept_q) && !sweep_busy;
    assign used     = i_dut.tail_q - i_dut.head_q;
    assign issued   = i_dut.issue_q - i_dut.head_q;
    assign answered = i_dut.answer_q - i_dut.head_q;
    assign waiting  = issued - answered;
    assign head     = i_dut.head_q[0];
    assign next     = !head;
    assign head_t   = index_of(i_dut.miss_key_q[head].token);
    assign look_t   = index_of(i_dut.look_data_q.key.token);
    assign writes   = i_dut.end_q == 2'd1;
    assign tells    = i_dut.end_q == 2'd3;
    assign rows     = 2'(there[0]) + 2'(there[1]) + 2'(there[2]) + 2'(there[3]);
    for (genvar m = 0; m < Misses; m++) begin : gen_alive
        assign alive[m] = (head == 1'(m)) ? used != 2'd0 : used == 2'd2;
    end
    for (genvar c = 0; c < 2; c++) begin : gen_looks
        assign looks[c] = i_dut.look_q && i_dut.look_data_q.client == 1'(c);
        assign cache[c] = i_dut.i_cache.gen_lut.i_ram.gen_bank[0].i_ram.mem[c];
    end

    // A read that is answered, or will be, returns what the table has, because only the oldest miss
    // writes, after its answer.
    function automatic logic tells_truth(logic found, logic [1:0] said, logic there_t,
                                         logic [1:0] row_t);
        return found == there_t && (!found || said == row_t);
    endfunction
    // A line of this layer has the row of its token. A full line has a token without a row, and no
    // row is left.
    function automatic logic line_holds(logic full, logic [1:0] said, logic there_t,
                                        logic [1:0] row_t, logic all_given);
        return full ? !there_t && all_given : there_t && said == row_t;
    endfunction

    function automatic entry_t entry_in(logic [9:0] flit, logic lane);
        return lane ? flit[9:5] : flit[4:0];
    endfunction

    logic [1:0] t, at_ring;
    entry_t     read;   // the read that waits
    always_comb begin
        i_ring = used <= 2'd2 && issued <= used && answered <= issued
                 && 3'(waiting) == 3'(queued_q) + 3'(rd.valid) && i_dut.miss_valid_q == alive
                 && (used != 2'd2 || (i_dut.wait1_q && i_dut.wait1_idx_q == next))
                 && (i_dut.end_q == 2'd0 || answered != 2'd0) && wr.valid == writes
                     && sweep_busy == 1'b0;
        i_keys  = !(used == 2'd2 && i_dut.miss_key_q[0] == i_dut.miss_key_q[1]);
        i_reads = 1'b1;
        for (int unsigned m = 0; m < Misses; m++) begin
            at_ring = (head == 1'(m)) ? 2'd0 : 2'd1;
            t       = index_of(i_dut.miss_key_q[m].token);
            read    = entry_in(queue_q[at_ring - answered], t[0]);
            if (alive[m]) begin
                i_keys &= is_token(i_dut.miss_key_q[m].token) && i_dut.miss_key_q[m].le == '0
                          && i_dut.i_head_key.mem[m] == i_dut.miss_key_q[m]
                          && i_dut.i_issue_key.mem[m] == i_dut.miss_key_q[m];
                if (at_ring < answered && !(at_ring == 2'd0 && i_dut.end_q > 2'd1)) begin
                    i_reads &= tells_truth(i_dut.miss_answer_q[m][2], i_dut.miss_answer_q[m][1:0],
                                           there[t], mem_q[t][1:0]);
                end
                if (at_ring >= answered && at_ring < issued)
                    i_reads &= i_dut.miss_lane_q[m] == t[0];
                if (at_ring >= answered && at_ring < answered + queued_q) begin
                    i_reads &= tells_truth(read[4:2] == {1'b1, Epoch}, read[1:0], there[t],
                                           mem_q[t][1:0]);
                end
                if (rd.valid && at_ring + 2'd1 == issued)
                    i_reads &= rd.addr == (t[1] ? 5'd9 : 5'd0);
            end
        end

        // the end of a miss
        i_end = !writes || (!there[head_t] && wr.addr == (head_t[1] ? 5'd9 : 5'd0)
                            && i_dut.wr_lane_q == head_t[0]
                            && i_dut.end_row_q == rows && !i_dut.end_err_q && i_dut.end_keep_q);
        if (i_dut.end_q > 2'd1) begin
            i_end &= i_dut.end_err_q ? !there[head_t] && (!i_dut.end_keep_q || rows == 2'd2)
                     : there[head_t] && mem_q[head_t][1:0] == i_dut.end_row_q && i_dut.end_keep_q;
        end
        // rows are assigned from 0 on
        i_rows = rows <= 2'd2 && (given_q ? i_dut.i_bump.mem[0] == {Epoch, 1'b0, rows + 2'(writes)}
                                            && rows + 2'(writes) != 2'd0
                                            && rows + 2'(writes) != 2'd3 : rows == 2'd0 && !writes);
        for (int unsigned u = 0; u < Tokens; u++) i_rows &= !there[u] || mem_q[u][1:0] < rows;

        // clients: each request is in exactly one place
        i_client = 1'b1;
        for (int unsigned c = 0; c < 2; c++) begin
            i_client &= 2'(looks[c]) + 2'(resp[c].valid) + 2'(c == 1 && i_dut.wait1_q)
                        == 2'(open_q[c]);
        end
        if (i_dut.wait1_q) begin
            i_client &= alive[i_dut.wait1_idx_q]
                        && index_of(i_dut.miss_key_q[i_dut.wait1_idx_q].token) == key_q[1];
        end
        if (i_dut.look_q) begin
            i_client &= is_token(i_dut.look_data_q.key.token) && i_dut.look_data_q.key.le == '0
                        && look_t == key_q[i_dut.look_data_q.client] && !i_dut.look_data_q.outside
                        && i_dut.look_data_q.alloc == !i_dut.look_data_q.client
                        && (!i_dut.look_data_q.client || i_dut.look_data_q.start)
                        && at_q == look_t[0] && !tells;
        end
        if (got) i_client &= there[key] && notified.row == RowW'(mem_q[key][1:0]);
        if (resp[1].valid && resp[1].miss) i_client = 1'b0;
        if (notified.valid && notified.err && !notified.miss) i_client &= !there[key];
        i_client &= !(resp[0].valid && resp[1].valid);

        // the cache, and the line read from it
        i_cache = 1'b1;
        for (int unsigned l = 0; l < 2; l++) begin
            t = {cache[l].high, 1'(l)};
            if (line_q[l]) begin
                i_cache &= cache[l].valid && cache[l].epoch == Epoch && !cache[l].le
                           && line_holds(cache[l].full, cache[l].row, there[t], mem_q[t][1:0],
                                         rows == 2'd2) && owner_q[l] == t[1];
            end
        end
        // During a sweep nothing else is active. What it has passed is empty.
        i_sweep = (!sweep_busy && (started_q || !Sweep))
                  || (used == 2'd0 && i_dut.end_q == 2'd0 && queued_q == 2'd0 && !rd.valid
                      && !i_dut.look_q
                      && open_q == 2'd0 && !resp[0].valid && !resp[1].valid && known_q == '0
                      && !given_q && line_q == '0 && !i_dut.wait1_q && i_dut.miss_valid_q == '0
                      && i_dut.issue_q == i_dut.head_q && i_dut.answer_q == i_dut.head_q);
        if (Sweep && swept_q) begin
            for (int unsigned l = 0; l < 2; l++) begin
                if (!line_q[l]
                    && (!sweep_busy || i_dut.sweep_q == 2'd2 || i_dut.at_q[3:0] > 4'(l))) begin
                    i_sweep &= !cache[l].valid;
                end
            end
            if (!given_q && (!sweep_busy || i_dut.sweep_q == 2'd2 || i_dut.at_q[3:0] != '0)) begin
                i_sweep &= i_dut.i_bump.mem[0][4:3] == 2'd0;
            end
        end
        if (i_dut.sweep_q == 2'd1) i_sweep &= !wr.valid;
        if (i_dut.sweep_q == 2'd2) begin
            if (i_dut.at_q > 7'd0 && !(wr.valid && wr.addr == 5'd0))
                i_sweep &= !there[0] && !there[1];
            if (i_dut.at_q > 7'd18 && !(wr.valid && wr.addr == 5'd9))
                i_sweep &= !there[2] && !there[3];
            i_sweep &= i_dut.at_q <= 7'd32 && !i_dut.at_q[0]
                       && (!wr.valid
                           || (i_dut.at_q != 7'd0 && 7'({wr.addr, 1'b0}) == i_dut.at_q - 7'd2));
        end

        t      = {i_dut.line.tag[1], at_q};
        i_look = !(i_dut.look_q && line_q[at_q]) || i_dut.line == cache[at_q];
    end

    // ---- how long a miss takes ----
    // age_q, wait1_q: cycles without a wait for memory. left, left1: cycles that remain.
    logic [4:0] age_q, wait1_q, left, left1;
    logic       held;
    assign held = (rd.valid && !rd_ready_i) || (wr.valid && !wr_ready_i)
                  || (queued_q != '0 && !answer.rvalid);

    always_comb begin
        unique case (i_dut.end_q)
            2'd3:    left = 5'd0;
            2'd2:    left = 5'd1;
            2'd1:    left = 5'd2;
            default: left = (answered != 2'd0) ? 5'd3 : (queued_q != 2'd0) ? 5'd4
                            : (issued != 2'd0) ? 5'd5 : 5'd6;
        endcase
        left1 = looks[1] ? 5'd15 : !i_dut.wait1_q ? 5'd0
                : (i_dut.wait1_idx_q == head) ? left + 5'd1 : left + 5'd8;
    end

    always_ff @(posedge clk_i) begin
        if (rst_n) begin
            a_sweep:  assert (!sweep_busy || (Sweep && !started_q && swept_q));
            a_swept:  assert (i_sweep);
            // reachable: every kind of miss and answer
            c_joined:  cover (i_dut.miss && i_dut.joined);
            c_both:    cover (used == 2'd2);
            c_retried: cover (i_dut.look_q && i_dut.look_data_q.retry && i_dut.hit
                              && known_q == '0);
            c_evicted: cover (looks[0] && i_dut.miss && known_q[look_t]);
            c_full:    cover (resp[0].valid && resp[0].err && !resp[0].miss);
            c_other:   cover (resp[1].valid && !resp[1].err);
            c_none:    cover (resp[1].valid && resp[1].err);
        end
        if (live) begin
            a_table: assert (!twice);     // rows differ, and belong to the expert
            a_notified: assert (!unnotified); // reported rows are in the table
            a_ends:  assert (6'(age_q) + 6'(left) <= (busy ? 6'd6 : 6'(left)));
            a_wait1: assert (6'(wait1_q) + 6'(left1) <= (open_q[1] ? 6'd15 : 6'(left1)));
            // a token whose miss has ended hits until another token takes its line
            a_again: assert (!(looks[0] && i_dut.miss && line_q[at_q]
                               && owner_q[at_q] == look_t[1]));
            a_ring:   assert (i_ring);
            a_keys:   assert (i_keys);
            a_reads:  assert (i_reads);
            a_end:    assert (i_end);
            a_rows:   assert (i_rows);
            a_client: assert (i_client);
            a_cache:  assert (i_cache);
            a_look:   assert (i_look);
        end
        if (!rst_n || !busy || fill) age_q <= '0;
        else if (!held) age_q <= age_q + 5'd1;
        if (!rst_n || !open_q[1] || resp[1].valid) wait1_q <= '0;
        else if (!held) wait1_q <= wait1_q + 5'd1;
        if (!rst_n) begin
            open_q  <= '0;
            known_q <= '0;
        end else begin
            for (int unsigned c = 0; c < 2; c++) begin
                if (req[c].valid && req_ready[c]) begin
                    open_q[c] <= 1'b1;
                    key_q[c]  <= token_i[c];
                end else if (resp[c].valid) begin
                    open_q[c] <= 1'b0;
                end
            end
            if (got) begin
                known_q[key] <= 1'b1;
                row_q[key]   <= notified.row[1:0];
            end
            a_asked:  assert (!(resp[0].valid && resp[1].valid) && !(resp[0].valid && !open_q[0])
                              && !(resp[1].valid && !open_q[1]));
            // A token keeps its row,
            a_same:   assert (!got || !known_q[key] || notified.row == RowW'(row_q[key]));
            // no other token has it,
            a_other:  assert (!got || !other);
            a_inside: assert (!got || notified.row < RowW'(2));
            // and it is never lost.
            a_kept:   assert (!(notified.err && known_q[key]
                                && (resp[1].valid || (resp[0].valid && !notified.miss))));
        end
    end

    logic unused;
    assign unused = ^{fill, busy, hit, miss, idle, wr.data, wr.be};
endmodule

`default_nettype wire
