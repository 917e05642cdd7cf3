// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Turns complete store packets into jobs for the write workers: one job per target.
//
// Function: Three steps, each with a register. fetch reads header and target of the next packet,
// or of a parked target, and derives token and bytes (rx_extent). check compares these with the
// limits and sends the look-up to the allocator. place adds the row to the address and queues the
// job. A packet without targets uses those of its source's open row (row_lists). With
// switch-initiated reductions, list_keep writes the targets of other GPUs' rows to memory, and a
// packet that opens a row waits for a place in list_keep.
//
// A target whose look-up misses is parked as {slot, target}, and the following targets continue.
// The allocator announces every miss that has returned (al_fill_i). Each parked target is then
// looked up again, once. These look-ups start no new misses, so they cannot evict each other's rows
// for ever. If no miss is in flight at all, a parked target is looked up with the right to start
// one.
// Order: A packet's targets in order, except parked ones. FLAG and FENCE are fetched only when all
// earlier packets are done (busy_i covers those that have left this module). They therefore act
// when every earlier store is in memory.
// Back-pressure: Packets wait in their slots. Every target becomes a job, because the workers
// count the slot's targets. An error, a FLAG or a FENCE becomes an empty job (null).
// Latency: A look-up takes two cycles, so a packet of t targets takes 2 t cycles. A target waits
// for one pass over all parked targets (two cycles each), and for room in the job queue, which the
// workers free without this module.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module rx_resolve #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type arrived_t = `MW_ARRIVED(Cfg),
    parameter type write_t = `MW_WRITE(Cfg),
    parameter int unsigned SlotW = 5,
    parameter int unsigned Parked = 16,  // targets, at least 3
    parameter int unsigned Jobs = 16,  // at least 2
    parameter type job_t = logic,
    localparam int unsigned FlitsW = 9 - Cfg.FlitLog2,
    localparam int unsigned TgtW = Cfg.ExpW + 5,
    localparam int unsigned KeepW = $clog2(Cfg.Lanes + 1)
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    // port is constant from reset on: the expert map is judged by it when written
    input  wire node_pkg::node_cfg_t cfg_i,

    input  wire bundle_pkg::emap_write_t emap_i,

    // whole packets
    input  wire logic              pkt_valid_i,
    output logic                   pkt_ready_o,
    input  wire logic [SlotW-1:0]  pkt_slot_i,
    input  wire logic              pkt_bad_i,
    input  wire logic [FlitsW-1:0] pkt_flits_i,

    // their headers
    output logic [SlotW-1:0] hd_slot_o,
    output logic [3:0]       hd_tgt_o,
    input  wire arrived_t    hd_i,

    // a packet starts: targets that its slot waits for
    output logic             start_valid_o,
    input  wire logic        start_ready_i,
    output logic [SlotW-1:0] start_slot_o,
    output logic [4:0]       start_cnt_o,

    // allocator
    output bundle_pkg::alloc_req_t      al_req_o,
    input  wire logic                   al_req_ready_i,
    input  wire bundle_pkg::alloc_rsp_t al_i,
    input  wire logic                   al_fill_i,
    input  wire logic                   al_busy_i,  // a miss is under way

    output logic      job_valid_o,
    input  wire logic job_ready_i,
    output job_t      job_o,
    input  wire logic busy_i,  // jobs have left and are not finished

    output bundle_pkg::event_t       ev_o,
    output bundle_pkg::source_flag_t said_o,
    output bundle_pkg::port_t        ack_o,
    input  wire logic                ack_ready_i,

    // lists that are written to memory, see list_keep
    output write_t           keep_wr_o,
    input  wire logic        keep_wr_ready_i,
    output logic [KeepW-1:0] keep_level_o,
    output logic             keep_done_o,
    output logic             keep_idle_o,

    output bundle_pkg::error_t err_o
);
    import packet_pkg::*;
    import error_pkg::*;

    localparam int unsigned ByteW = (Cfg.MemBytesLog2 > 15) ? Cfg.MemBytesLog2 : 15;
    localparam int unsigned ParkW = $clog2(Parked + 1);
    localparam int unsigned JobLvW = $clog2(Jobs + 1);
    // parked: with lists the target too, as its row's list may be another one by then
    localparam int unsigned ParkedW = SlotW + 4 + (Cfg.TargetListCache ? TgtW : 0);

    localparam int unsigned RedW = red_pkg::red_bits(Cfg.RedTypes);

    if (Cfg.MergeLoads && Cfg.RowsLog2 < Cfg.TokW) begin : gen_check_loads
        $error("rx_resolve: with MergeLoads there are as many rows as tokens of all GPUs");
    end
    if (Cfg.MaddrW < Cfg.MemBytesLog2 || Cfg.MaddrW < Cfg.TokW + 15 || Cfg.MaddrW > 48
        || Cfg.MemBytesLog2 > 34
        || Cfg.RowsLog2 > node_pkg::RowW || Cfg.TokW > node_pkg::TokenW
        || Cfg.LocalW > node_pkg::ExpertW || Parked < 3 || Jobs < 2
        || (Cfg.Reds && Cfg.TokW < RedW)) begin : gen_check
        $error("rx_resolve: sizes do not fit each other");
    end

    // ---- fetch ----------------------------------------------------------------------------
    typedef struct packed {
        logic                    retry;   // parked before
        logic                    start;   // may start a miss
        logic [SlotW-1:0]        slot;
        logic [3:0]              idx;     // of the target
        logic                    cut;     // ended in the wrong place, or with the wrong number of
                                          // flits
        logic                    bad;
        opcode_e                 op;
        logic [Cfg.PortW-1:0]    src;
        logic [7:0]              len;
        logic [1:0]              stage;
        logic [Cfg.GpuW:0]       adds;    // contributions
        logic [Cfg.FlitLog2-1:0] lane;    // of the address
        logic [ByteW-1:0]        first;   // byte in memory, or in the row
        logic [ByteW:0]          end_;    // the one behind the last
        logic [Cfg.TokW-1:0]     token;
        logic                    beyond;
        logic                    no_row;  // a follower without a row
        logic [TgtW-1:0]         tgt;
        logic [RowBits-1:0]      row;     // that the source has chosen, in the list of its own
        logic [FlitsW-1:0]       flits;
    } fetch_t;

    typedef struct packed {
        logic                 ask;     // waits for the allocator
        logic                 chosen;  // or has the row of its source
        logic                 loaded;  // or is one that this GPU loads: its place is its number's
        logic [3:0]           idx;
        logic [1:0]           stage;
        logic [Cfg.AddrW-1:0] off;     // flit offset in the row, flit address, or source of counts
        err_e                 err;
        logic [TgtW-1:0]      tgt;     // to park
        job_t                 job;     // without the address
    } place_t;

    place_t s1_q, s1_d;
    logic s0_valid_q, s0_go, s1_valid_q, s1_done, drained, fetch, fetch_new, ordered;
    fetch_t s0_q;
    logic [3:0] idx_q;  // next target of the packet at the head
    logic park_push, park_pop, park_room, park_valid, job_room, job_left;
    logic [SlotW-1:0] park_slot;
    logic [3:0] park_idx;
    logic [ParkedW-1:0] park_out;
    logic [TgtW-1:0] tgt;
    logic [4:0] cnt;
    logic no_row, opens, keep_wait;  // it opens a row, whose list has no place
    logic [ParkW-1:0] park_level, todo_q;
    logic [JobLvW-1:0] job_level;
    logic fill_q, start_q, from_park, last_target, flat, beyond;
    opcode_e op;
    attributes_t arrived;  // of op
    logic said_in;  // a FLAG that says rows
    logic [ByteW-1:0] first;
    logic [ByteW:0] end_;
    logic [Cfg.TokW-1:0] token;

    assign from_park = todo_q != '0;
    assign hd_slot_o = from_park ? park_slot : pkt_slot_i;
    assign hd_tgt_o = from_park ? park_idx : idx_q;
    // A dynamic store with an explicit address: each target becomes the job of a plain store.
    assign flat = !hd_i.bad && hd_i.op == OP_DYMULTIMEM_ST && hd_i.stage == STAGE_FLAT;
    assign ordered = !hd_i.bad && !pkt_bad_i && arrived.ordered;
    assign drained = !s0_valid_q && !s1_valid_q && park_level == '0 && !job_left && !busy_i;
    assign start_slot_o = pkt_slot_i;
    assign start_cnt_o = pkt_bad_i ? 5'd1 : cnt;
    // Room to park every target that is fetched: up to two are between fetch and the parked queue.
    assign fetch_new = pkt_valid_i && !from_park && park_level < ParkW'(Parked - 2)
                       && (!ordered || drained) && (!s0_valid_q || s0_go) && !keep_wait;
    assign start_valid_o = fetch_new && idx_q == '0;
    assign last_target = 5'(idx_q) + 5'd1 == start_cnt_o;
    assign pkt_ready_o = fetch_new && last_target && (idx_q != '0 || start_ready_i);
    assign park_pop = from_park && !fill_q && (!s0_valid_q || s0_go);
    assign op = flat ? OP_ST : hd_i.op;
    assign arrived = attributes_of(op, Cfg.MergeLoads);
    assign said_in = Cfg.SourceLists && cfg_i.source_lists && op == OP_FLAG
                     && hd_i.stage != FLAG_EVENT;
    assign fetch = park_pop || (fetch_new && (idx_q != '0 || start_ready_i));

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            s0_valid_q <= 1'b0;
            idx_q <= '0;
        end else begin
            s0_valid_q <= fetch || (s0_valid_q && !s0_go);
            if (fetch && !from_park) idx_q <= last_target ? '0 : idx_q + 1'b1;
        end
        if (fetch) begin
            s0_q <= '{
                retry: from_park,
                start: !from_park || start_q,
                slot: hd_slot_o,
                idx: hd_tgt_o,
                cut: !from_park && pkt_bad_i,
                bad: hd_i.bad,
                op: op,
                src: hd_i.src,
                len: hd_i.len,
                stage: hd_i.stage,
                adds: hd_i.adds,
                lane: hd_i.addr[Cfg.FlitLog2-1:0],
                first: first,
                end_: end_,
                token: token,
                beyond: beyond || hd_i.beyond,
                no_row: !from_park && no_row,
                tgt: tgt,
                row: hd_i.row,
                flits: pkt_flits_i
            };
        end
    end

    rx_extent #(
        .Cfg(Cfg)
    ) i_extent (
        .row_shift_i(cfg_i.row_shift),
        .extent_i(arrived.extent),
        .said_i(said_in),
        .len_i(hd_i.len),
        .addr_i(hd_i.addr),
        .first_o(first),
        .end_o(end_),
        .token_o(token),
        .beyond_o(beyond)
    );

    // A pass over the parked targets: after every miss that has come back (no new misses), or, when
    // no miss is under way, to start what is left.
    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            fill_q <= 1'b0;
            todo_q <= '0;
            start_q <= 1'b0;
        end else begin
            fill_q <= al_fill_i;
            if (fill_q) begin
                todo_q <= park_level + ParkW'(park_push);
                start_q <= 1'b0;
            end else if (todo_q != '0) begin
                todo_q <= todo_q - ParkW'(park_pop);
            end else if (!al_busy_i && !al_fill_i) begin
                todo_q <= park_level;
                start_q <= 1'b1;
            end
        end
    end

    fifo #(
        .Width(ParkedW),
        .Depth(Parked)
    ) i_park (
        .clk_i,
        .rst_ni,
        .valid_i(park_push),
        .ready_o(park_room),
        .data_i(ParkedW'({s1_q.tgt, s1_q.job.slot, s1_q.idx})),
        .valid_o(park_valid),
        .ready_i(park_pop),
        .data_o(park_out),
        .level_o(park_level)
    );
    assign {park_slot, park_idx} = park_out[SlotW+3:0];

    if (Cfg.TargetListCache) begin : gen_lists
        logic [TgtW-1:0] listed;

        row_lists #(
            .Cfg(Cfg)
        ) i_lists (
            .clk_i,
            .rst_ni,
            .epoch_i(cfg_i.epoch),
            .hd_i,
            .cut_i(pkt_bad_i),
            .token_i(token),
            .beyond_i(beyond || hd_i.beyond),
            .idx_i(idx_q),
            .take_i(fetch && !from_park),
            .last_i(last_target),
            .cnt_o(cnt),
            .tgt_o(listed),
            .no_row_o(no_row),
            .opens_o(opens)
        );
        assign tgt = from_park ? park_out[SlotW+4+:TgtW] : listed;
    end else begin : gen_no_lists
        assign {tgt, cnt, no_row, opens} = {hd_i.tgt, hd_i.cnt, 2'b00};
    end

    if (Cfg.SwitchReductions) begin : gen_keep
        logic keep, room;

        assign keep = cfg_i.switch_reductions && opens
                      && hd_i.stage == STAGE_DISPATCH && port_t'(hd_i.src) != cfg_i.port;
        assign keep_wait = keep && !room;

        list_keep #(
            .Cfg(Cfg)
        ) i_keep (
            .clk_i,
            .rst_ni,
            .cfg_i,
            .room_o(room),
            .take_i(fetch && !from_park && keep),
            .last_i(last_target),
            .idx_i(idx_q),
            .cnt_i(hd_i.cnt),
            .tgt_i(hd_i.tgt),
            .src_i(hd_i.src[Cfg.GpuW-1:0]),
            .token_i(token),
            .level_o(keep_level_o),
            .done_o(keep_done_o),
            .wr_o(keep_wr_o),
            .wr_ready_i(keep_wr_ready_i),
            .idle_o(keep_idle_o)
        );
    end else begin : gen_no_keep
        assign {keep_wait, keep_wr_o, keep_level_o, keep_done_o} = '0;
        assign keep_idle_o = 1'b1;
    end

    // ---- check ----------------------------------------------------------------------------
    logic mapped;
    logic [Cfg.LocalW-1:0] le;
    logic [7:0] span;  // last byte of the payload, from the start of its first flit on
    logic dynamic, loaded, outside, red, lo_far, hi_far, below, above;
    attributes_t resolved;  // of the packet in s0
    red_pkg::red_t red_kind;
    logic [ByteW:0] row_end;  // bytes of the row
    logic [14:0] row_bytes;  // unless they are gate weights
    err_e err;

    lutram #(
        .Width(1 + Cfg.LocalW),
        .Depth(Cfg.MaxExperts)
    ) i_emap (
        .clk_i,
        .we_i(emap_i.we),
        .waddr_i(emap_i.addr[Cfg.ExpW-1:0]),
        .wdata_i({
            emap_i.data.valid && emap_i.data.gpu == cfg_i.port,
            emap_i.data.local_expert[Cfg.LocalW-1:0]
        }),
        .raddr_i(s0_q.tgt[Cfg.ExpW+3:4]),
        .rdata_o({mapped, le})
    );

    assign dynamic = s0_q.op == OP_DYMULTIMEM_ST;
    assign loaded = Cfg.MergeLoads && s0_q.op == OP_LD_RESP;
    assign red = Cfg.Reds && s0_q.op == OP_MULTIMEM_RED;
    assign red_kind = {s0_q.src[NearBits-1:0], s0_q.stage};
    assign resolved = attributes_of(s0_q.op, Cfg.MergeLoads);
    assign span = 8'(s0_q.lane) + s0_q.len - 8'd1;
    assign row_bytes = (s0_q.stage == STAGE_DISPATCH) ? node_pkg::dispatch_row(
        Cfg.RowTypes, cfg_i
    ) : cfg_i.row_bytes;
    assign row_end = (s0_q.stage == STAGE_GATE && !loaded) ? (ByteW+1)'({cfg_i.k, 2'b00})
                     : (ByteW+1)'(row_bytes);

    // Explicit stores: between st_lo and st_hi, which may have any value, and inside memory, behind
    // which an end is by 127 bytes at most.
    assign lo_far = (cfg_i.st_lo >> Cfg.MemBytesLog2) != '0;
    assign hi_far = (cfg_i.st_hi >> Cfg.MemBytesLog2) != '0;
    assign below = lo_far || s0_q.first[Cfg.MemBytesLog2-1:0] < Cfg.MemBytesLog2'(cfg_i.st_lo);
    assign above = s0_q.end_[Cfg.MemBytesLog2] ? !hi_far || s0_q.end_[6:0] != '0
                   : !hi_far && Cfg.MemBytesLog2'(cfg_i.st_hi) < s0_q.end_[Cfg.MemBytesLog2-1:0];

    // Bytes of rows that return to slots are counted for the token, see token_tracker.
    logic slot, slot_outside;
    logic [Cfg.TokensLog2-1:0] slot_index;

    if (Cfg.RowSparse) begin : gen_slots
        logic here;

        slot_place #(
            .Cfg(Cfg)
        ) i_slot (
            .cfg_i,
            .first_i(s0_q.first[Cfg.MemBytesLog2-1:0]),
            .len_i(s0_q.len),
            .slot_o(here),
            .outside_o(slot_outside),
            .index_o(slot_index)
        );
        assign slot = cfg_i.row_returns && here && !red && resolved.extent == EXTENT_MEMORY;
    end else begin : gen_no_slots
        assign {slot, slot_outside, slot_index} = '0;
    end

    // Reds that are counted name own rows.
    logic counted, uncounted;  // uncounted: it names none
    logic [Cfg.TokensLog2-1:0] red_row;

    if (Cfg.SumEntries != 0) begin : gen_red_rows
        red_place #(
            .Cfg(Cfg)
        ) i_place (
            .cfg_i,
            .first_i(s0_q.first[Cfg.MemBytesLog2-1:0]),
            .len_i(s0_q.len),
            .outside_o(uncounted),
            .index_o(red_row)
        );
        assign counted = red && s0_q.adds != '0 && cfg_i.red_count != '0;
    end else begin : gen_no_red_rows
        assign {counted, uncounted, red_row} = '0;
    end

    // With source_lists other GPUs choose the rows, and FLAGs report their number. The allocator
    // chooses own rows.
    logic acts, s1_free;  // see below
    logic lists, chosen, said, no_list;  // no_list: of a row that is chosen, or a FLAG
    logic [Cfg.LocalW-1:0] list;

    if (Cfg.SourceLists) begin : gen_lists_of
        logic no_expert, strange;
        logic [6:0] said_le;
        logic [22:0] said_rows;  // with the local expert below
        assign lists = cfg_i.source_lists;
        assign chosen = lists && dynamic && port_t'(s0_q.src) != cfg_i.port;
        assign said = lists && s0_q.op == OP_FLAG && s0_q.stage != FLAG_EVENT;
        assign said_le = said ? 7'(s0_q.first) : 7'(le);
        assign no_expert = said_le >= cfg_i.local_experts || (said_le >> Cfg.LocalW) != '0
                           || (32'(said_le) << cfg_i.n_shift
                               | 32'(s0_q.src)) >= 32'(Cfg.MaxLocalExperts);
        // rows of other homes would return there
        assign strange = 32'(s0_q.token) >> cfg_i.token_shift != 32'(s0_q.src)
                         || (s0_q.row >> cfg_i.cap_shift) != '0;
        assign list = Cfg.LocalW'(node_pkg::list_of(
            1'b1, cfg_i, said_le[node_pkg::ExpertW-1:0], port_t'(s0_q.src)
        ));
        always_comb begin
            no_list = chosen && (no_expert || strange);
            if (said && s0_q.stage == FLAG_LIST) no_list = no_expert;
            if (said && s0_q.stage != FLAG_LIST)
                no_list = s0_q.stage != FLAG_TILE || (s0_q.first >> 8) != '0;
        end
        assign said_rows = 23'(s0_q.first);
        assign said_o = '{
                valid: acts && said,
                tile: s0_q.stage == FLAG_TILE,
                src: port_t'(s0_q.src),
                list: node_pkg::ExpertW'(list),
                rows: (s0_q.stage == FLAG_TILE) ? 16'(said_rows[7:0]) : said_rows[22:7]
            };
    end else begin : gen_no_lists_of
        assign {lists, chosen, said, no_list, said_o} = '0;
        assign list = le;
    end

    // Rows that this GPU loads lie at their numbers, {home, index}.
    logic not_loaded;  // the index is none of a row that is loaded
    logic [Cfg.RowsLog2-1:0] number;

    if (Cfg.MergeLoads) begin : gen_loaded
        assign number = Cfg.RowsLog2'(s0_q.src) << cfg_i.token_shift | Cfg.RowsLog2'(s0_q.token);
        assign not_loaded = s0_q.token >> cfg_i.token_shift != '0
                            || 32'(s0_q.token) < 32'(cfg_i.load_first);
    end else begin : gen_none_loaded
        assign {number, not_loaded} = '0;
    end

    always_comb begin
        unique case (resolved.extent)
            EXTENT_ROW:    outside = row_end < s0_q.end_ || no_list || (loaded && not_loaded);
            EXTENT_MEMORY: outside = below || above || (slot && slot_outside)
                                    || (counted && uncounted);
            EXTENT_EVENT:  outside = no_list;
            default:       outside = 1'b0;
        endcase
        err = ERR_NONE;
        if (s0_q.bad) err = err_e'(s0_q.len);
        else if (s0_q.cut || (resolved.payload && span[7]) ||
                 (!s0_q.retry
                  && s0_q.flits != (resolved.payload ? FlitsW'(span[6:Cfg.FlitLog2]) + 1'b1 : '0)))
            err = ERR_LENGTH;
        else if (s0_q.no_row) err = ERR_TARGETS;
        else if (red && !red_pkg::has(Cfg.RedTypes, Cfg.RedOps, red_kind)) err = ERR_REDUCTION;
        else if (lists && s0_q.op == OP_COUNTS) err = ERR_OPCODE;
        else if (outside || s0_q.beyond) err = ERR_BOUNDS;
        else if (dynamic && (s0_q.tgt[TgtW-1] || !mapped)) err = ERR_UNMAPPED;
    end

    always_comb begin
        s1_d.ask = dynamic && !chosen && err == ERR_NONE;
        s1_d.chosen = chosen;
        s1_d.loaded = loaded;
        s1_d.idx = s0_q.idx;
        s1_d.stage = loaded ? 2'(STAGE_DISPATCH) : s0_q.stage;
        s1_d.off = (s0_q.op == OP_COUNTS) ? Cfg.AddrW'(s0_q.src)
                   : Cfg.AddrW'(s0_q.first >> Cfg.FlitLog2);
        s1_d.err = err;
        s1_d.tgt = s0_q.tgt;
        s1_d.job = '0;
        s1_d.job.slot = s0_q.slot;
        s1_d.job.null_ = !resolved.payload || err != ERR_NONE;
        s1_d.job.counts = s0_q.op == OP_COUNTS;
        s1_d.job.red = red;
        s1_d.job.track = (dynamic && s0_q.stage != STAGE_COMBINE) || loaded;
        s1_d.job.lane = s0_q.lane;
        s1_d.job.span = span[6:0];
        s1_d.job.le = loaded ? cfg_i.load_expert[Cfg.LocalW-1:0] : list;
        s1_d.job.row    = loaded ? number : lists && slot ? Cfg.RowsLog2'(s0_q.src)
                          : Cfg.RowsLog2'(s0_q.row);
        s1_d.job.home = slot;
        s1_d.job.adds = counted ? s0_q.adds : '0;
        if (counted) s1_d.job.row = Cfg.RowsLog2'(red_row);
        s1_d.job.token = red ? Cfg.TokW'(red_pkg::kept(Cfg.RedTypes, red_kind)) :
            slot ? Cfg.TokW'(slot_index) : s0_q.token;
        s1_d.job.pos = s0_q.tgt[3:0];
        if (s1_d.job.counts)
            s1_d.job.pos = {(Cfg.CopyPkts > 1) ? s0_q.first[8:7] : 2'd0, s0_q.stage};
    end

    logic [Cfg.TokW:0] notified;  // 1 more than a row, or 0

    assign s1_free = !s1_valid_q || s1_done;
    assign job_room = job_level < JobLvW'(Jobs - 1);
    assign acts = s0_valid_q && err == ERR_NONE && s1_free && job_room;
    assign al_req_o.valid = acts && dynamic && !chosen;
    assign al_req_o.le = node_pkg::ExpertW'(le);
    assign al_req_o.token = node_pkg::TokenW'(s0_q.token);
    assign al_req_o.alloc = 1'b1;
    assign al_req_o.start = s0_q.start;
    assign al_req_o.retry = s0_q.retry;
    assign ev_o.valid = acts && s0_q.op == OP_FLAG && !said;
    assign ev_o.idx = 5'(s0_q.first[Cfg.EventW-1:0]);
    assign ev_o.src = port_t'(s0_q.src);
    assign ev_o.notified = Cfg.RowRanges && notified != '0;
    assign ev_o.row = node_pkg::RowW'(notified - (Cfg.TokW + 1)'(1));
    assign notified = (Cfg.TokW + 1)'(s0_q.first >> $clog2(isa_pkg::Events));
    assign ack_o.valid = acts && s0_q.op == OP_FENCE;
    assign ack_o.port = port_t'(s0_q.src);

    always_comb begin
        s0_go = s0_valid_q && s1_free && job_room;
        if (al_req_o.valid && !al_req_ready_i) s0_go = 1'b0;
        if (ack_o.valid && !ack_ready_i) s0_go = 1'b0;
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni) s1_valid_q <= 1'b0;
        else s1_valid_q <= s0_go || (s1_valid_q && !s1_done);
        if (s0_go) s1_q <= s1_d;
    end

    // ---- place ----------------------------------------------------------------------------
    logic [Cfg.RowsLog2-1:0] key;
    logic [3:0] shift;
    logic [35:0] base;
    logic [Cfg.AddrW-1:0] row_off;
    logic missed, job_push_ready;
    logic row_loaded;  // the row is loaded
    job_t job;

    assign row_loaded = Cfg.MergeLoads && s1_q.loaded;
    assign s1_done = s1_valid_q && (!s1_q.ask || al_i.valid);
    assign missed = s1_q.ask && al_i.miss;
    assign park_push = s1_done && missed;

    always_comb begin
        unique case (s1_q.stage)
            STAGE_DISPATCH: base = cfg_i.xd_base;
            STAGE_COMBINE:  base = cfg_i.yd_base;
            default:        base = cfg_i.gt_base;
        endcase
        if (!s1_q.ask && !s1_q.chosen && !row_loaded) base = '0;
        // strides are a flit at least
        shift = ((s1_q.stage == STAGE_GATE) ? cfg_i.gate_shift : cfg_i.row_shift)
                - 4'(Cfg.FlitLog2);
        job = s1_q.job;
        if ((!lists || s1_q.ask) && !row_loaded && (Cfg.SumEntries == 0 || job.adds == '0))
            job.row = al_i.row[Cfg.RowsLog2-1:0];
        key = (row_loaded ? '0 : Cfg.RowsLog2'(s1_q.job.le) << cfg_i.cap_shift) | job.row;
        // a multiplication for a shift: see rx_extent
        row_off = (s1_q.ask || s1_q.chosen || row_loaded)
                  ? Cfg.AddrW'(key) * (Cfg.AddrW'(1) << shift) : '0;
        job.addr = base[Cfg.MemBytesLog2-1:Cfg.FlitLog2] + (row_off | s1_q.off);
        if (s1_q.ask && al_i.err) begin
            job.null_ = 1'b1;
        end
        if (job.null_) {job.track, job.home} = '0;
    end

    assign err_o.valid = s1_done && (s1_q.err != ERR_NONE || (s1_q.ask && al_i.err && !missed));
    assign err_o.code = (s1_q.err != ERR_NONE) ? s1_q.err : ERR_BOUNDS;

    fifo #(
        .Width($bits(job_t)),
        .Depth(Jobs)
    ) i_jobs (
        .clk_i,
        .rst_ni,
        .valid_i(s1_done && !missed),
        .ready_o(job_push_ready),
        .data_i(job),
        .valid_o(job_valid_o),
        .ready_i(job_ready_i),
        .data_o(job_o),
        .level_o(job_level)
    );

    assign job_left = job_level != '0;

    wire unused = &{1'b0, park_valid};

    `MW_STABLE(job_valid_o, job_ready_i, job_o, "a job changes before it is taken")
    `MW_CONTRACT(park_push, park_room, "a parked target without a place")
    `MW_CONTRACT(s1_done && !missed, job_push_ready, "a job without a place")
    `MW_CONTRACT(1'b1, todo_q <= park_level, "more targets to look up than are parked")
    `MW_CONTRACT(al_i.valid, s1_valid_q && s1_q.ask, "an answer that was not requested")
    `MW_CONTRACT(err_o.valid, err_o.code != ERR_NONE, "an error without a code")
endmodule

`default_nettype wire
