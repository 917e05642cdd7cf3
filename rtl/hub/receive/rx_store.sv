// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Writes store packets from the link and from this GPU into memory.
//
// Function: rx_arrive puts packets into slots. rx_resolve makes one job per target. Two workers
// write the jobs. Each has its own payload RAM with the link's payload, so both read one flit per
// cycle. The local stream's payload has a separate RAM, and worker 0 writes it. This module holds
// the payload RAMs, the end of the job queue, and the count of open targets per slot. When all
// targets of a slot are finished, the slot is free, and st_crd_o returns the link's credit. Every
// finished job of a dispatched or loaded row is reported to the row tracker (trk_*). Results
// (class PART) wait in the RAM of worker 0 (shared_ram_fifo). The write port is enough for both,
// because the link delivers one flit per cycle, of any class. The read port serves results while
// worker 0 has no job of the link.
// Order: Stores of one source may overtake each other, because of parked look-ups and two workers.
// FLAG and FENCE act when memory has granted all earlier stores and these are reported.
// Back-pressure: None to the link, ready/valid to the local stream. The workers wait for memory,
// rx_resolve for the allocator, FENCE for ack_ready_i. Counts of slots with returned rows wait for
// the token tracker, which waits for nothing. No other waits exist.
// Latency: A single-target packet takes PF cycles of one worker and 2 cycles of resolve. At most
// one job in two cycles is counted as finished. A result waits for the job that worker 0 has
// started. A job of the link at worker 0 waits for the result that has started to move. Neither
// waits for the other's back-pressure.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module rx_store #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type marked_t = `MW_MARKED(Cfg),
    parameter type stream_t = `MW_STREAM(Cfg),
    parameter type read_t = `MW_READ(Cfg),
    parameter type answer_t = `MW_ANSWER(Cfg),
    parameter type write_t = `MW_WRITE(Cfg),
    parameter type arrived_t = `MW_ARRIVED(Cfg),
    parameter type store_t = `MW_STORE(Cfg),
    parameter int unsigned LocPkts = 2,
    localparam int unsigned KeepW = $clog2(Cfg.Lanes + 1)
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire node_pkg::node_cfg_t cfg_i,

    input  wire bundle_pkg::emap_write_t emap_i,

    // from rx, never stopped
    input  wire marked_t st_i,
    output logic         st_crd_o,
    input  wire logic    res_push_i,  // the flit is one of a result
    output logic         res_room_o,  // for a packet
    output logic         res_crd_o,   // a packet has left

    // results, in their order
    output stream_t   res_o,
    input  wire logic res_ready_i,
    output logic      res_bad_o,  // the link's mark

    // packets of this GPU for itself
    input  wire stream_t loc_i,
    output logic         loc_ready_o,

    // allocator, client 0
    output bundle_pkg::alloc_req_t      al_req_o,
    input  wire logic                   al_req_ready_i,
    input  wire bundle_pkg::alloc_rsp_t al_i,
    input  wire logic                   al_fill_i,
    input  wire logic                   al_busy_i,

    // memory: what reds read; ST0, ST1
    output read_t        rd_o,
    input  wire logic    rd_ready_i,
    input  wire answer_t rd_i,
    output write_t       wr_o [2],
    input  wire logic    wr_ready_i [2],

    // bytes of a row that are in memory; two pulses never in consecutive cycles
    output bundle_pkg::landed_t trk_o,

    // bytes in memory of a slot that rows return to
    output bundle_pkg::slot_bytes_t slot_o,
    input  wire logic               slot_ready_i,

    // contributions to own rows that are in memory
    output bundle_pkg::added_t added_o,
    input  wire logic          added_ready_i,

    // words of COUNTS
    output bundle_pkg::count_t cnt_o,

    output bundle_pkg::event_t       ev_o,
    output bundle_pkg::source_flag_t said_o,  // as ev_o
    output bundle_pkg::port_t        ack_o,
    input  wire logic                ack_ready_i,

    // lists of targets for grant_lists, see list_keep
    output write_t           keep_wr_o,
    input  wire logic        keep_wr_ready_i,
    output logic [KeepW-1:0] keep_level_o,
    output logic             keep_done_o,

    output bundle_pkg::error_t err_o,
    output logic               idle_o
);
    localparam int unsigned Slots = Cfg.RxStorePkts + LocPkts;
    localparam int unsigned SlotW = $clog2(Slots);
    localparam int unsigned PayAw = SlotW + Cfg.PayW;
    localparam int unsigned LinkAw = cfg_pkg::index_w(Cfg.RxStorePkts) + Cfg.PayW;
    localparam int unsigned PktFlits = Cfg.HeadFlits + Cfg.PayFlits;
    localparam int unsigned ResFlits = Cfg.RxResultPkts * PktFlits;
    localparam int unsigned ResAw = $clog2(ResFlits + 1);
    localparam int unsigned Ram0Aw = ((ResAw > LinkAw) ? ResAw : LinkAw) + 1;
    localparam int unsigned LocAw = ((LocPkts > 1) ? $clog2(LocPkts) : 1) + Cfg.PayW;
    localparam int unsigned MaxTargets = (Cfg.MaxLocalExperts < packet_pkg::TargetsMax)
                                         ? Cfg.MaxLocalExperts : packet_pkg::TargetsMax;
    localparam int unsigned CntW = $clog2(MaxTargets + 1);

    typedef struct packed {
        logic                    null_;   // nothing to write
        logic                    counts;  // COUNTS: to worker 0, addr is the source
        logic                    red;     // token is its type and operator
        logic                    track;   // counts for the row
        logic                    home;    // for the own token, which is an index here
        logic [SlotW-1:0]        slot;
        logic [Cfg.FlitLog2-1:0] lane;    // of the first byte
        logic [6:0]              span;    // lane + bytes - 1
        logic [Cfg.AddrW-1:0]    addr;    // of the first flit
        logic [Cfg.LocalW-1:0]   le;
        logic [Cfg.RowsLog2-1:0] row;
        logic [Cfg.TokW-1:0]     token;
        logic [3:0]              pos;     // of the target in the list; of COUNTS {part, kind}
        logic [Cfg.GpuW:0]       adds;    // contributions to own row `row`, of a red
    } job_t;

    // A packet that has arrived whole.
    typedef struct packed {
        logic                valid;
        logic [SlotW-1:0]    slot;
        logic                bad;    // it ended at the wrong place, or the link marks it
        logic [Cfg.PayW+1:0] flits;  // of its payload
    } whole_t;

    // ---- arrival ----
    arrived_t hd;
    whole_t pkt;
    logic pay_we[2], pkt_ready, free_valid, crd_err, all_idle;
    logic [LinkAw-1:0] pay_link_addr;
    logic [LocAw-1:0] pay_loc_addr;
    logic [SlotW-1:0] hd_slot;
    logic [3:0] hd_idx;
    job_t account_q;

    rx_arrive #(
        .Cfg(Cfg),
        .LocPkts(LocPkts),
        .MaxTargets(MaxTargets),
        .whole_t(whole_t)
    ) i_arrive (
        .clk_i,
        .rst_ni,
        .cfg_i,
        .st_i,
        .loc_i,
        .loc_ready_o,
        .pay_we_o(pay_we),
        .pay_link_addr_o(pay_link_addr),
        .pay_loc_addr_o(pay_loc_addr),
        .pkt_o(pkt),
        .pkt_ready_i(pkt_ready),
        .hd_slot_i(hd_slot),
        .hd_tgt_i(hd_idx),
        .hd_o(hd),
        .free_valid_i(free_valid),
        .free_slot_i(account_q.slot),
        .crd_o(st_crd_o),
        .err_o(crd_err),
        .idle_o(all_idle)
    );

    // ---- jobs ----
    logic start_valid, start_ready, job_valid, job_ready, working, keep_idle;
    logic [SlotW-1:0] start_slot;
    logic [4:0] start_cnt;
    job_t job;
    bundle_pkg::error_t res_err;
    logic account_valid_q;
    logic red_busy;
    logic w_ready[2], w_busy[2], w_done[2], w_done_ready[2];
    job_t w_info[2];

    rx_resolve #(
        .Cfg(Cfg),
        .SlotW(SlotW),
        .job_t(job_t)
    ) i_resolve (
        .clk_i,
        .rst_ni,
        .cfg_i,
        .emap_i,
        .pkt_valid_i(pkt.valid),
        .pkt_ready_o(pkt_ready),
        .pkt_slot_i(pkt.slot),
        .pkt_bad_i(pkt.bad),
        .pkt_flits_i(pkt.flits),
        .hd_slot_o(hd_slot),
        .hd_tgt_o(hd_idx),
        .hd_i(hd),
        .start_valid_o(start_valid),
        .start_ready_i(start_ready),
        .start_slot_o(start_slot),
        .start_cnt_o(start_cnt),
        .al_req_o,
        .al_req_ready_i,
        .al_i,
        .al_fill_i,
        .al_busy_i,
        .job_valid_o(job_valid),
        .job_ready_i(job_ready),
        .job_o(job),
        .busy_i(working),
        .ev_o,
        .said_o,
        .ack_o,
        .ack_ready_i,
        .keep_wr_o,
        .keep_wr_ready_i,
        .keep_level_o,
        .keep_done_o,
        .keep_idle_o(keep_idle),
        .err_o(res_err)
    );

    // Worker 0 serves payload of the local stream, COUNTS and reds. All other jobs prefer
    // worker 1.
    logic job_first, job_local, ready0, res_wait, res_idle;
    assign job_local = job.slot >= SlotW'(Cfg.RxStorePkts);
    assign job_first = job.counts || job.red || job_local;
    assign ready0 = w_ready[0] && (job_local || !res_wait);
    assign job_ready = ready0 || (w_ready[1] && !job_first);
    assign working = w_busy[0] || w_busy[1] || account_valid_q || red_busy;

    logic [Cfg.FlitBytes-1:0] first_mask, last_mask;  // bytes of the job's first and last flit
    assign first_mask = '1 << job.lane;
    assign last_mask = ~({Cfg.FlitBytes{1'b1}} << 1 << job.span[Cfg.FlitLog2-1:0]);

    bundle_pkg::count_t cnt[2];

    // what the workers write
    store_t w_wr[2];
    logic w_wr_ready[2];
    logic [Cfg.FlitW-1:0] pay_data[2];

    for (genvar w = 0; w < 2; w++) begin : gen_worker
        logic pay_next, pay_here, pay_re;
        logic [PayAw-1:0] pay_raddr;

        if (w == 0) begin : gen_local
            logic [SlotW-1:0] slot;
            logic from_loc;
            logic [Cfg.FlitW-1:0] loc_data;

            assign slot = pay_raddr[PayAw-1:Cfg.PayW];
            assign from_loc = slot >= SlotW'(Cfg.RxStorePkts);

            lut_table #(
                .Width(Cfg.FlitW),
                .Depth(2 ** LocAw)
            ) i_local (
                .clk_i,
                .we_i(pay_we[1]),
                .waddr_i(pay_loc_addr),
                .wdata_i(loc_i.data),
                .re_i(pay_re),
                .sel_i(from_loc),
                .raddr_i({
                    (LocAw - Cfg.PayW)'(slot - SlotW'(Cfg.RxStorePkts)), pay_raddr[Cfg.PayW-1:0]
                }),
                .rdata_o(loc_data)
            );

            // lower half: payload, upper half: results
            logic link_job, link_re, link_q, res_we, res_re;
            logic [ResAw-1:0] res_waddr, res_raddr;
            logic [$clog2(ResFlits+1)-1:0] res_level;
            logic [Cfg.FlitW+1:0] ram_data;

            assign link_job = pay_next && !from_loc;
            assign link_re = pay_re && !from_loc;

            always_ff @(posedge clk_i) if (pay_re) link_q <= !from_loc;

            ram_sdp #(
                .Width(Cfg.FlitW + 2),
                .Depth(2 ** Ram0Aw)
            ) i_payload (
                .clk_i,
                .we_i(pay_we[0] || res_we),
                .wdata_i({st_i.err, st_i.last, st_i.data}),
                .wbe_i('1),
                .waddr_i({
                    res_push_i, res_push_i ? (Ram0Aw - 1)'(res_waddr) : (Ram0Aw - 1)'(pay_link_addr)
                }),
                .re_i(link_re || res_re),
                .rdata_o(ram_data),
                .raddr_i({
                    !link_job,
                    link_job ? (Ram0Aw - 1)'(pay_raddr[LinkAw-1:0]) : (Ram0Aw - 1)'(res_raddr)
                })
            );

            // The local memory gives zeros while it is not read; the RAM may hold a result.
            assign pay_data[w] = loc_data | (link_q ? ram_data[Cfg.FlitW-1:0] : '0);

            shared_ram_fifo #(
                .Width(Cfg.FlitW + 2),
                .Depth(ResFlits)
            ) i_results (
                .clk_i,
                .rst_ni,
                .push_i(res_push_i),
                .data_i({st_i.err, st_i.last, st_i.data}),
                .we_o(res_we),
                .waddr_o(res_waddr),
                .free_i(!link_job && !(pay_here && link_q)),
                .taken_i(link_re),
                .re_o(res_re),
                .raddr_o(res_raddr),
                .rdata_i(ram_data),
                .wait_o(res_wait),
                .valid_o(res_o.valid),
                .ready_i(res_ready_i),
                .data_o({res_bad_o, res_o.last, res_o.data}),
                .last_i(res_o.last),
                .level_o(res_level)
            );

            assign res_room_o = res_level <= ($clog2(ResFlits + 1))'(ResFlits - PktFlits);
            assign res_crd_o = res_o.valid && res_ready_i && res_o.last;
            assign res_idle = res_level == '0;
        end else begin : gen_link
            ram_sdp #(
                .Width(Cfg.FlitW),
                .Depth(2 ** LinkAw)
            ) i_payload (
                .clk_i,
                .we_i(pay_we[0]),
                .waddr_i(pay_link_addr),
                .wdata_i(st_i.data),
                .wbe_i('1),
                .re_i(pay_re),
                .raddr_i(pay_raddr[LinkAw-1:0]),
                .rdata_o(pay_data[w])
            );
            wire unused_slot = &{1'b0, pay_next, pay_here};
        end

        if (Cfg.Reds && w == 0) begin : gen_red
            rx_red #(
                .Cfg(Cfg)
            ) i_red (
                .clk_i,
                .rst_ni,
                .in_i(w_wr[w]),
                .in_ready_o(w_wr_ready[w]),
                .in_data_i(pay_data[w]),
                .rd_o,
                .rd_ready_i,
                .rd_i,
                .wr_o(wr_o[w]),
                .wr_ready_i(wr_ready_i[w]),
                .added_o,
                .added_ready_i,
                .busy_o(red_busy)
            );
        end else begin : gen_plain
            assign wr_o[w] = '{
                    valid: w_wr[w].valid,
                    addr: w_wr[w].addr,
                    be: w_wr[w].be,
                    data: pay_data[w]
                };
            assign w_wr_ready[w] = wr_ready_i[w];
        end

        rx_worker #(
            .Cfg(Cfg),
            .SlotW(SlotW),
            .Counts((w == 0) ? 1 : 0),
            .Reds(Cfg.Reds && w == 0),
            .job_t(job_t)
        ) i_worker (
            .clk_i,
            .rst_ni,
            .job_valid_i(job_valid && ((w == 0) ? (job_first || !w_ready[1])
                                       && (job_local || !res_wait) : !job_first)),
            .job_ready_o(w_ready[w]),
            .job_i(job),
            .job_first_i(first_mask),
            .job_last_i(last_mask),
            .pay_next_o(pay_next),
            .pay_here_o(pay_here),
            .pay_re_o(pay_re),
            .pay_addr_o(pay_raddr),
            .pay_data_i(pay_data[w]),
            .wr_o(w_wr[w]),
            .wr_ready_i(w_wr_ready[w]),
            .done_valid_o(w_done[w]),
            .done_ready_i(w_done_ready[w]),
            .done_o(w_info[w]),
            .cnt_o(cnt[w]),
            .busy_o(w_busy[w])
        );
    end

    assign cnt_o = cnt[0];

    // ---- accounts: a finished job in one cycle, its slot's count in the next ----
    // Worker 0 has priority, but not twice in a row while worker 1 waits. Otherwise a stream of
    // bad packets, whose empty jobs finish at once, could block worker 1.
    logic [CntW-1:0] waiting, cnt_wdata;
    logic cnt_we, turn_q, second;  // turn_q: worker 1's
    logic hold;  // slot_o is not taken

    assign second = w_done[1] && (turn_q || !w_done[0]);
    assign w_done_ready[0] = !account_valid_q && !second;
    assign w_done_ready[1] = !account_valid_q && second;
    assign start_ready = !account_valid_q;
    assign hold = slot_o.valid && !slot_ready_i;
    assign free_valid = account_valid_q && !hold && waiting == CntW'(1);
    assign cnt_we = account_valid_q ? !hold : start_valid;
    assign cnt_wdata = account_valid_q ? waiting - 1'b1 : CntW'(start_cnt);

    lutram #(
        .Width(CntW),
        .Depth(Slots)
    ) i_waiting (
        .clk_i,
        .we_i(cnt_we),
        .waddr_i(account_valid_q ? account_q.slot : start_slot),
        .wdata_i(cnt_wdata),
        .raddr_i(account_q.slot),
        .rdata_o(waiting)
    );

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            account_valid_q <= 1'b0;
            turn_q <= 1'b0;
        end else begin
            account_valid_q <= hold || (!account_valid_q && (w_done[0] || w_done[1]));
            if (!account_valid_q) turn_q <= w_done[1] && !second;
        end
        if (!account_valid_q && (w_done[0] || w_done[1]))
            account_q <= second ? w_info[1] : w_info[0];
    end

    assign trk_o.valid = account_valid_q && account_q.track;
    assign trk_o.le = node_pkg::ExpertW'(account_q.le);
    assign trk_o.row = node_pkg::RowW'(account_q.row);
    assign trk_o.token = node_pkg::TokenW'(account_q.token);
    assign trk_o.pos = account_q.pos;
    assign trk_o.bytes = 8'(account_q.span) - 8'(account_q.lane) + 8'd1;

    assign slot_o.valid = Cfg.RowSparse && account_valid_q && account_q.home;
    assign slot_o.token = node_pkg::TokenW'(account_q.token);
    assign slot_o.bytes = trk_o.bytes;
    assign slot_o.src = Cfg.SourceLists ? packet_pkg::port_t'(Cfg.PortW'(account_q.row)) : '0;

    // An error of rx_arrive replaces one of rx_resolve in the same cycle, because it is rare.
    assign err_o.valid = crd_err || res_err.valid;
    assign err_o.code = crd_err ? error_pkg::ERR_CREDIT : res_err.code;

    assign idle_o = all_idle && !red_busy && res_idle && keep_idle;

    if (!Cfg.Reds) begin : gen_no_reds
        assign red_busy = 1'b0;
        assign rd_o.valid = 1'b0;
        assign rd_o.addr = '0;
        assign added_o = '0;
    end

    `MW_NEXT(trk_o.valid, !trk_o.valid, "two reports in two cycles")
    `MW_CONTRACT(account_valid_q, waiting != '0, "more jobs than the packet has targets")
    `MW_CONTRACT(err_o.valid, err_o.code != error_pkg::ERR_NONE, "an error without a code")
endmodule

`default_nettype wire
