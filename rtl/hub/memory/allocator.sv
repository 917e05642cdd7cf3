// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Assigns rows: {local expert, token} -> row number, dense per expert in the order of first touch.
//
// Function: A table in GPU memory (an entry of 32 bits for every expert and token) and one bump
// pointer per expert hold the state. A direct-mapped cache precedes the table. A layer uses
// 2^cache_log2 of its entries (with CacheLimit; an invalid number means all), constant from one
// sweep to the next. Entries of another epoch are invalid in table, cache and bump pointers.
// sweep_i clears all of them, before the first layer and when the epoch wraps. Clients: 0 rx_store,
// which allocates, and 1 reduce_serve, which does not.
// - A miss of client 0 is reported (resp_o[0].miss). The client repeats it after fill_o. If
//   req_i[0].start is set, a read of the table starts, unless one for this row is in flight.
// - A miss of client 1 is answered when the table has answered.
// - Up to Misses reads of the table are in flight, one of them reserved for client 1, at most one
//   per row. An unallocated row gets the next row of its expert, and is written to the table before
//   the cache holds it. A write may hit the flit of another read in the same cycle. Only the entry
//   of the read itself is used.
// - A layer that uses a handle (cached) finds the entries of the handle's epoch. Nothing is
//   allocated.
// Ports: cfg_i must be set before a sweep. No requests while sweep_busy_o. hit_o and miss_o pulse
// once per look-up. Retries (req_i[0].retry) do not count.
// Order: One request in flight per client. Misses end in order.
// Back-pressure: Memory ports are valid/ready. Misses do not delay hits, except for one cycle per
// end of a miss.
// Latency: An answer comes two cycles after the request unless the look-up misses. A miss takes up
// to Misses reads and Misses writes of memory.
// Errors: err to client 0: the expert has no row left, expert or token do not exist, or a handle
// has no such row. err to client 1: the row was never stored, or cannot be.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module allocator #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type read_t = `MW_READ(Cfg),
    parameter type answer_t = `MW_ANSWER(Cfg),
    parameter type write_t = `MW_WRITE(Cfg),
    parameter int unsigned Misses = 4
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire node_pkg::node_cfg_t cfg_i,
    input  wire logic                sweep_i,
    output logic                     sweep_busy_o,

    input  wire bundle_pkg::alloc_req_t req_i [2],
    output logic                        req_ready_o [2],

    output bundle_pkg::alloc_rsp_t resp_o [2],
    output logic                   fill_o,  // a miss has ended
    output logic                   busy_o,  // a miss is under way

    output read_t        alm_rd_o,
    input  wire logic    alm_rd_ready_i,
    input  wire answer_t alm_rd_i,

    output write_t    alm_wr_o,
    input  wire logic alm_wr_ready_i,

    output logic hit_o,
    output logic miss_o,
    output logic idle_o
);
    localparam int unsigned IdxW = $clog2(Cfg.CacheEntries);
    // token bits that the index has not
    localparam int unsigned HighW = (Cfg.TokW > IdxW) ? Cfg.TokW - IdxW : 0;
    // where an index may have fewer bits a tag has all of the key
    localparam int unsigned TagW = Cfg.LocalW + (Cfg.CacheLimit ? Cfg.TokW : HighW);
    localparam int unsigned RingW = cfg_pkg::most(Cfg.TokW, cfg_pkg::most(Cfg.LocalW, IdxW));
    localparam int unsigned LaneW = $clog2(Cfg.Words);
    localparam int unsigned MissW = $clog2(Misses);
    localparam int unsigned WordW = Cfg.MemBytesLog2 - 2;
    localparam int unsigned SweepW = (Cfg.LocalW + Cfg.TokW + 1 > IdxW)
                                     ? Cfg.LocalW + Cfg.TokW + 1 : IdxW;

    if (Misses < 2 || 2**MissW != Misses || 2**IdxW != Cfg.CacheEntries || IdxW < 4
        || IdxW < Cfg.LocalW
        || IdxW > 15 || Cfg.LocalW > node_pkg::ExpertW || Cfg.TokW > node_pkg::TokenW
        || Cfg.RowsLog2 > node_pkg::RowW || WordW > 32) begin : gen_check
        $error(
            {
                "allocator: Misses and CacheEntries are powers of two, ",
                "CacheEntries at least MaxLocalExperts"
            }
        );
    end

    typedef struct packed {
        logic [Cfg.LocalW-1:0] le;
        logic [Cfg.TokW-1:0]   token;
    } key_t;

    typedef struct packed {
        logic                    valid;
        logic [1:0]              epoch;
        logic                    full;   // no row was left
        logic [TagW-1:0]         tag;
        logic [Cfg.RowsLog2-1:0] row;
    } line_t;

    logic [1:0] epoch;  // of the entries that are in use
    assign epoch = node_pkg::counts_epoch(Cfg.CachedHandle, cfg_i);

    // ---- place in the cache ----
    logic [3:0] size, turn;  // log2 of the entries in use; where the expert's bits go

    // The parts of a number that have `bits` bits, added up without carry, rotated to the left.
    function automatic logic [RingW-1:0] ring(input logic [RingW-1:0] number,
                                              input logic [3:0] bits, by);
        logic [RingW-1:0] sum;
        sum = '0;
        for (int unsigned part = 0; 4 * part < RingW; part++) sum ^= number >> (part * 32'(bits));
        sum &= ~(~RingW'(0) << bits);
        return ((sum << by) | (sum >> (bits - by))) & ~(~RingW'(0) << bits);
    endfunction

    // Rows in flight: few neighbouring indices at home, but all homes and experts. The home's
    // bits go to the top of the index wherever they are in the token, the expert's below them,
    // both away from the lowest bits.
    function automatic logic [IdxW-1:0] index(input key_t key, input logic [3:0] bits, by);
        logic [RingW-1:0] token, home;
        logic [Cfg.LocalW-1:0] expert;  // the lowest bit on top
        token = RingW'(key.token);
        for (int unsigned b = 0; b < Cfg.LocalW; b++) expert[Cfg.LocalW-1-b] = key.le[b];
        home = ring(token >> bits, bits, bits - 4'd3);
        token = (token & ~(~RingW'(0) << bits)) ^ home;
        return IdxW'(token ^ ring(RingW'(expert), bits, by));
    endfunction

    function automatic logic [3:0] turn_of(input int unsigned bits);
        return 4'((3 * bits - 3 - Cfg.LocalW) % bits);
    endfunction

    function automatic logic [TagW-1:0] tag(input key_t key);
        return TagW'({Cfg.CacheLimit ? key.token : key.token >> IdxW, key.le});
    endfunction

    if (Cfg.CacheLimit) begin : gen_limit
        logic [3:0] size_q, turn_q;
        always_ff @(posedge clk_i) begin
            size_q <= 4'(IdxW);
            turn_q <= turn_of(IdxW);
            for (int unsigned bits = 4; bits < IdxW; bits++) begin
                if (cfg_i.cache_log2 == 4'(bits)) begin
                    size_q <= 4'(bits);
                    turn_q <= turn_of(bits);
                end
            end
        end
        assign {size, turn} = {size_q, turn_q};
    end else begin : gen_all
        assign {size, turn} = {4'(IdxW), turn_of(IdxW)};
    end

    // ---- sweep ------------------------------------------------------------------------
    typedef enum logic [1:0] {
        SweepOff,
        SweepCache,
        SweepTable
    } sweep_e;
    sweep_e sweep_q;
    logic [SweepW-1:0] at_q;  // cache entry; then {local expert, token}, a
                              // flit's worth at a time
    logic sweep_wr;  // a word of the table is written
    logic [4:0] key_shift;
    logic rd_go;

    // ---- misses under way: a ring, answered by memory in order ---------------------------
    typedef logic [MissW:0] ptr_t;  // one more bit separates full from empty
    key_t miss_key_q[Misses];
    logic [Misses-1:0] miss_valid_q, miss_alloc_q;
    ptr_t tail_q, issue_q, answer_q, head_q;
    logic insert, retire;
    logic wait1_q;  // client 1 waits for miss wait1_idx_q
    logic [MissW-1:0] wait1_idx_q;

    // ---- look-up: request, compare, answer -----------------------------------------------
    typedef struct packed {
        logic client;
        logic alloc;
        logic start;
        logic retry;
        logic outside;  // no such expert or token
        key_t key;
    } look_t;

    logic look_q, take, take_client, filling;
    look_t look_in, look_data_q;
    line_t line, fill_line;
    logic [node_pkg::TokenW-1:0] take_token;
    logic [node_pkg::ExpertW-1:0] take_le;
    logic [Misses-1:0] same;
    logic hit, joined, room, miss;
    logic line_we;
    logic [IdxW-1:0] line_waddr;

    assign req_ready_o[0] = !filling && sweep_q == SweepOff;
    assign req_ready_o[1] = !filling && sweep_q == SweepOff && !req_i[0].valid;
    assign take_client = !req_i[0].valid;
    assign take = (req_i[0].valid || req_i[1].valid) && !filling && sweep_q == SweepOff;
    assign take_token = req_i[take_client].token;
    assign take_le = req_i[take_client].le;
    assign look_in.client = take_client;
    assign look_in.alloc = req_i[take_client].alloc && !(Cfg.CachedHandle && cfg_i.cached);
    assign look_in.start = take_client || req_i[0].start;
    assign look_in.retry = !take_client && req_i[0].retry;
    assign look_in.key = '{le: take_le[Cfg.LocalW-1:0], token: take_token[Cfg.TokW-1:0]};
    assign look_in.outside = 7'(take_le) >= cfg_i.local_experts || (take_le >> Cfg.LocalW) != '0
                             || (take_token >> Cfg.TokW) != '0
                             || (take_token[Cfg.TokW-1:0] >> cfg_i.token_shift) >= Cfg.TokW'(Cfg.N);

    table_ram #(
        .Width($bits(line_t)),
        .Depth(Cfg.CacheEntries)
    ) i_cache (
        .clk_i,
        .we_i(line_we),
        .waddr_i(line_waddr),
        .wdata_i(fill_line),
        .re_i(take),
        .raddr_i(index(look_in.key, size, turn)),
        .rdata_o(line)
    );

    always_comb begin
        for (int unsigned m = 0; m < Misses; m++)
        same[m] = miss_valid_q[m] && miss_key_q[m] == look_data_q.key;
    end

    assign hit = line.valid && line.epoch == epoch && line.tag == tag(look_data_q.key);
    assign joined = same != '0;
    // The last place is client 1's, which has one request at a time.
    assign room = ptr_t'(tail_q - head_q) < ptr_t'(Misses - 1) || look_data_q.client;
    assign miss = look_q && !hit && !look_data_q.outside;
    assign insert = miss && !joined && room && look_data_q.start;
    assign hit_o = look_q && hit && !look_data_q.retry && !look_data_q.outside;
    assign miss_o = miss && !look_data_q.retry;

    // ---- end of a miss --------------------------------------------------------------------
    typedef enum logic [1:0] {
        Wait,
        Write,
        Fill,
        Tell
    } end_e;
    end_e end_q;
    key_t head_key, issue_key, mem_key;
    logic found, answered, decide_alloc, full;
    logic [Cfg.RowsLog2-1:0] table_row, end_row_q, bump;
    logic [Cfg.RowsLog2:0] bump_next;
    logic end_err_q, end_keep_q;  // no row; the cache takes the answer
    logic [MissW-1:0] head, tail, issue, answer;

    assign head = head_q[MissW-1:0];
    assign tail = tail_q[MissW-1:0];
    assign issue = issue_q[MissW-1:0];
    assign answer = answer_q[MissW-1:0];
    assign answered = head_q != answer_q;
    assign filling = end_q == Fill;

    // The keys once more for each of their readers: LUT RAM costs less than a multiplexer.
    lutram #(
        .Width($bits(key_t)),
        .Depth(Misses)
    ) i_head_key (
        .clk_i,
        .we_i(insert),
        .waddr_i(tail),
        .wdata_i(look_data_q.key),
        .raddr_i(head),
        .rdata_o(head_key)
    );
    lutram #(
        .Width($bits(key_t)),
        .Depth(Misses)
    ) i_issue_key (
        .clk_i,
        .we_i(insert),
        .waddr_i(tail),
        .wdata_i(look_data_q.key),
        .raddr_i(issue),
        .rdata_o(issue_key)
    );

    // bump pointers: {epoch, rows given}
    logic [Cfg.RowsLog2+2:0] bump_word;
    logic bump_we;

    lutram #(
        .Width(Cfg.RowsLog2 + 3),
        .Depth(2 ** Cfg.LocalW)
    ) i_bump (
        .clk_i,
        .we_i(bump_we || sweep_q == SweepCache),
        .waddr_i((sweep_q == SweepCache) ? at_q[Cfg.LocalW-1:0] : head_key.le),
        .wdata_i((sweep_q == SweepCache) ? '0 : {epoch, bump_next}),
        .raddr_i(head_key.le),
        .rdata_o(bump_word)
    );

    logic [Cfg.RowsLog2:0] given;
    assign given = (bump_word[Cfg.RowsLog2+2-:2] == epoch) ? bump_word[Cfg.RowsLog2:0] : '0;
    assign bump = given[Cfg.RowsLog2-1:0];
    assign bump_next = given + 1'b1;
    assign full = given[Cfg.RowsLog2] || (given >> cfg_i.cap_shift) != '0;

    assign decide_alloc = end_q == Wait && answered && !found && miss_alloc_q[head] && !full;
    assign bump_we = decide_alloc;
    assign retire = end_q == Tell;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            end_q <= Wait;
        end else begin
            unique case (end_q)
                Wait:  if (answered) end_q <= decide_alloc ? Write : Fill;
                Write: if (alm_wr_ready_i) end_q <= Fill;
                Fill:  end_q <= Tell;
                Tell:  end_q <= Wait;
            endcase
        end
        if (end_q == Wait) begin
            end_row_q <= found ? table_row : bump;
            end_err_q <= !found && (!miss_alloc_q[head] || full);
            end_keep_q <= found || miss_alloc_q[head];
        end
    end

    assign line_we = (filling && end_keep_q) || sweep_q == SweepCache;
    assign line_waddr = filling ? index(head_key, size, turn) : at_q[IdxW-1:0];
    assign fill_line = '{
            valid: filling,
            epoch: epoch,
            full: end_err_q,
            tag: tag(head_key),
            row: end_row_q
        };
    assign fill_o = retire;
    assign busy_o = tail_q != head_q;

    // ---- answers ----------------------------------------------------------------------------
    // No look-up is compared while the result is reported, because none was taken in Fill.
    logic tell1;

    assign tell1 = retire && wait1_q && wait1_idx_q == head;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            look_q <= 1'b0;
            resp_o[0].valid <= 1'b0;
            resp_o[1].valid <= 1'b0;
            wait1_q <= 1'b0;
            miss_valid_q <= '0;
            tail_q <= '0;
            issue_q <= '0;
            answer_q <= '0;
            head_q <= '0;
        end else begin
            look_q <= take;
            resp_o[0].valid <= look_q && !look_data_q.client;
            resp_o[1].valid <= (look_q && look_data_q.client && !miss) || tell1;
            if (miss && look_data_q.client) wait1_q <= 1'b1;
            else if (tell1) wait1_q <= 1'b0;
            if (insert) begin
                miss_valid_q[tail] <= 1'b1;
                tail_q <= tail_q + 1'b1;
            end
            if (retire) begin
                miss_valid_q[head] <= 1'b0;
                head_q <= head_q + 1'b1;
            end
            if (rd_go) issue_q <= issue_q + 1'b1;
            if (alm_rd_i.rvalid) answer_q <= answer_q + 1'b1;
        end
        if (take) look_data_q <= look_in;
        if (look_q) begin
            for (int unsigned c = 0; c < 2; c++) resp_o[c].row <= node_pkg::RowW'(line.row);
            for (int unsigned c = 0; c < 2; c++)
            resp_o[c].err <= look_data_q.outside || (hit && line.full);
            for (int unsigned c = 0; c < 2; c++) resp_o[c].miss <= miss;
        end else if (tell1) begin
            for (int unsigned c = 0; c < 2; c++) resp_o[c].row <= node_pkg::RowW'(end_row_q);
            for (int unsigned c = 0; c < 2; c++) resp_o[c].err <= end_err_q;
            for (int unsigned c = 0; c < 2; c++) resp_o[c].miss <= 1'b0;
        end
        if (miss && look_data_q.client) begin
            for (int unsigned m = 0; m < Misses; m++)
            if (joined ? same[m] : tail == MissW'(m)) wait1_idx_q <= MissW'(m);
        end
        for (int unsigned m = 0; m < Misses; m++) begin
            if (insert && tail == MissW'(m)) begin
                miss_key_q[m] <= look_data_q.key;
                miss_alloc_q[m] <= look_data_q.alloc;
            end else if (miss && same[m] && look_data_q.alloc) begin
                miss_alloc_q[m] <= 1'b1;
            end
        end
    end

    // ---- memory -------------------------------------------------------------------------------
    logic [WordW-1:0] word;  // table entry, from the start of the table
    logic [Cfg.AddrW-1:0] word_addr;
    logic [LaneW-1:0] miss_lane_q[Misses];  // of the entry in its flit
    logic [Cfg.RowsLog2:0] miss_answer_q[Misses];  // {found, row}
    logic [31:0] entry;
    logic [LaneW-1:0] wr_lane_q;
    logic wr_go;
    logic [Cfg.TokW:0] token_next;
    logic token_wraps, cache_end;
    logic [Cfg.TokW-1:0] at_token;
    logic [Cfg.LocalW-1:0] at_le;

    assign {at_le, at_token} = at_q[Cfg.LocalW+Cfg.TokW-1:0];
    assign rd_go = (!alm_rd_o.valid || alm_rd_ready_i) && issue_q != tail_q && !decide_alloc;
    assign wr_go = decide_alloc || sweep_wr;
    assign mem_key = sweep_wr ?
        '{le: at_le, token: at_token}
        : decide_alloc ? head_key : issue_key;
    assign word = (WordW'(mem_key.le) << key_shift) | WordW'(mem_key.token);
    assign word_addr = cfg_i.al_base[Cfg.MemBytesLog2-1:Cfg.FlitLog2] + Cfg.AddrW'(word >> LaneW);
    assign key_shift = 5'(cfg_i.token_shift) + 5'(cfg_i.n_shift);

    assign entry = alm_rd_i.rdata[32*miss_lane_q[answer]+:32];
    assign {found, table_row} = miss_answer_q[head];

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            alm_rd_o.valid <= 1'b0;
            alm_wr_o.valid <= 1'b0;
        end else begin
            if (rd_go) alm_rd_o.valid <= 1'b1;
            else if (alm_rd_ready_i) alm_rd_o.valid <= 1'b0;
            if (wr_go) alm_wr_o.valid <= 1'b1;
            else if (alm_wr_ready_i) alm_wr_o.valid <= 1'b0;
        end
        if (rd_go) begin
            alm_rd_o.addr <= word_addr;
            miss_lane_q[issue] <= word[LaneW-1:0];
        end
        if (wr_go) begin
            alm_wr_o.addr <= word_addr;
            wr_lane_q <= word[LaneW-1:0];
        end
        if (alm_rd_i.rvalid)
            miss_answer_q[answer] <= {entry[31] && entry[30:29] == epoch, entry[Cfg.RowsLog2-1:0]};
    end

    always_comb begin
        alm_wr_o.data = '0;
        if (sweep_q == SweepOff) alm_wr_o.data = {Cfg.Words{1'b1, epoch, 9'd0, 20'(end_row_q)}};
        for (int unsigned l = 0; l < Cfg.Words; l++)
        alm_wr_o.be[4*l+:4] = {4{sweep_q != SweepOff || wr_lane_q == LaneW'(l)}};
    end

    // Sweep: the cache as far as it is used (and the bump pointers with it), then the table, flit
    // by flit, as far as the configuration uses it.
    assign cache_end = at_q[IdxW-1:0] == IdxW'(~(~RingW'(0) << size) | ~(~RingW'(0) << Cfg.LocalW));
    assign token_next = (Cfg.TokW + 1)'(at_token) + (Cfg.TokW + 1)'(Cfg.Words);
    assign token_wraps = token_next[Cfg.TokW] || (token_next >> key_shift) != '0;
    assign sweep_wr = sweep_q == SweepTable && (!alm_wr_o.valid || alm_wr_ready_i)
                      && 7'(at_q[SweepW-1:Cfg.TokW]) < cfg_i.local_experts;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            sweep_q <= SweepOff;
        end else begin
            unique case (sweep_q)
                SweepCache: if (cache_end) sweep_q <= SweepTable;
                SweepTable:
                    if (7'(at_q[SweepW-1:Cfg.TokW]) >= cfg_i.local_experts && !alm_wr_o.valid)
                        sweep_q <= SweepOff;
                default:    if (sweep_i) sweep_q <= SweepCache;
            endcase
        end
        if (sweep_q == SweepOff || (sweep_q == SweepCache && cache_end)) at_q <= '0;
        else if (sweep_q == SweepCache) at_q <= at_q + 1'b1;
        else if (sweep_wr)
            at_q <= token_wraps ? {at_q[SweepW-1:Cfg.TokW] + 1'b1, Cfg.TokW'(0)}
                    : {at_q[SweepW-1:Cfg.TokW], token_next[Cfg.TokW-1:0]};
    end

    assign sweep_busy_o = sweep_q != SweepOff;
    assign idle_o = !look_q && !busy_o && sweep_q == SweepOff;

    `MW_CONTRACT(req_i[0].valid || req_i[1].valid, !sweep_busy_o, "a request during a sweep")
    `MW_STABLE(alm_rd_o.valid, alm_rd_ready_i, alm_rd_o.addr,
               "a read changes before memory takes it")
    `MW_STABLE(alm_wr_o.valid, alm_wr_ready_i, alm_wr_o, "a write changes before memory takes it")
    `MW_CONTRACT(alm_rd_i.rvalid, answer_q != issue_q, "an answer that was not requested")
    `MW_CONTRACT(1'b1, ptr_t'(tail_q - head_q) <= ptr_t'(Misses), "more misses than places")
    `MW_CONTRACT(hit_o, !miss_o, "a look-up both hits and misses")
    `MW_CONTRACT(resp_o[1].valid, !resp_o[1].miss, "client 1 hears of a miss")
    `MW_CONTRACT(insert, !joined, "two misses of a row")
endmodule

`default_nettype wire
