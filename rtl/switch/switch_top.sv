// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Switch with N ports: multicast trimmed to each output, and reductions joined at the requester's output.
//
// Input i writes into one queue (voq) per output; output o reads its queues, and the partial sums for requester o, one queue (part_queue)
// per hub. There is no queue from a port to itself: a hub keeps its own copies.
//
// Ordering: between two ports and inside a class first in, first out. Back-pressure: credits only.
// STORE credits of an input come back while each of its queues has room, so a blocked output
// costs the others nothing until its own queue is full. Nothing waits for a packet of a later class.
// Latency: the first flit leaves at most 4 cycles after it came; a target list takes one cycle per target but the first.
//
// A port whose endpoint breaks the rules is shut off (port_guard); its partials are replaced (part_stand_in), so the others go on.
//
// idle_o: nothing queued, no open reduction, every credit given back. Tables and limits change only then.
`default_nettype none

module switch_top #(
    parameter int unsigned N = 4,
    parameter int unsigned FlitBytes = 8,
    parameter int unsigned StorePkts = 16,
    parameter int unsigned CtrlPkts = 16,
    parameter int unsigned OpenRows = 8,
    parameter int unsigned PartPkts = 4,
    parameter bit          PartLut = 1'b0,  // partial sums wait in LUT RAM, not in block RAM
    parameter int unsigned MaxExperts = 64,
    parameter int unsigned Groups = 16,
    parameter bit          Multicast = 1'b1,  // 0: a packet of a multimem opcode is rejected
    parameter int unsigned Window = 0,    // largest look-ahead window, at most StorePkts; 0: none
    parameter bit          Monitor = 1'b0,  // latency histogram and time series of each port
    parameter bit          Guard = 1'b1,  // endpoints may misbehave; without, one that does may stop and spoil the others
    parameter int unsigned RxStorePkts = 16,
    parameter int unsigned RxResultPkts = 4,
    parameter int unsigned RxCtrlPkts = 16,
    parameter red_pkg::set_t RedTypes = red_pkg::AllTypes,
    parameter red_pkg::set_t RedOps   = red_pkg::AllOps,
    localparam int unsigned FW = 8 * FlitBytes
) (
    input  wire logic                   clk_i,
    input  wire logic                   rst_ni,
    input  wire logic                   go_i,
    input  wire logic [1:0]             epoch_i,

    input  wire logic                   run_i,            // a layer runs

    input  wire logic                   up_valid_i [N],
    input  wire logic                   up_last_i [N],
    input  wire logic                   up_err_i [N],
    input  wire logic [1:0]             up_cls_i [N],
    input  wire logic [FW-1:0]          up_data_i [N],
    output logic [3:0]                  up_crd_o [N],
    output logic [4:0]                  up_crd_part_o [N],

    output logic                        dn_valid_o [N],
    output logic                        dn_last_o [N],
    output logic                        dn_err_o [N],
    output logic [1:0]                  dn_cls_o [N],
    output logic [FW-1:0]               dn_data_o [N],
    input  wire logic [3:0]             dn_crd_i [N],

    input  wire logic                   emap_we_i,
    input  wire logic [11:0]            emap_addr_i,
    input  wire node_pkg::emap_t        emap_data_i,
    input  wire logic                   group_we_i,
    input  wire logic [3:0]             group_addr_i,
    input  wire logic [31:0]            group_data_i,
    input  wire logic [N-1:0][N-1:0]    partition_i,      // row = source: ports it may reach
    input  wire logic [7:0]             throttle_i,       // of 256 chances, how many a start of a packet is put off by a cycle
    input  wire logic [7:0]             store_credits_i,  // upper limits of downlink credits used, 0: all
    input  wire logic [7:0]             part_credits_i,
    input  wire logic [4:0]             window_i,         // look-ahead window of every input in STORE packets, 0: all that credits let in

    // ports that misbehave
    input  wire logic [4:0]             limit_i,          // log2 of the period of the time limits in cycles, at most 22, 0: no time limits
    input  wire logic [N-1:0]           enable_i,         // pulses: a port that is down is to be up; one that is up is to be down
    input  wire logic [N-1:0]           disable_i,
    input  wire logic [N-1:0]           quiet_i,          // nothing on the links of the port
    output logic [N-1:0]                down_o,
    output logic [N-1:0]                flush_o,          // the port's endpoint is to be reset

    output logic                        idle_o,
    input  wire logic [4:0]             cnt_port_i,       // cnt_data_o follows after at most 3 cycles
    input  wire logic [3:0]             cnt_idx_i,
    output logic [31:0]                 cnt_data_o,

    // monitors, see switch_monitor; without them all is 0
    input  wire logic [15:0]            mon_interval_i,
    input  wire logic [3:0]             mon_classes_i,
    output logic [31:0]                 mon_samples_o,
    input  wire logic                   mon_read_i,
    input  wire logic [4:0]             mon_port_i,
    input  wire logic                   mon_series_i,
    input  wire logic [7:0]             mon_word_i,
    output logic [31:0]                 mon_data_o,

    output logic                        err_valid_o,
    output error_pkg::err_e             err_code_o,
    output logic [4:0]                  err_port_o
);
    import packet_pkg::*;

    localparam int unsigned Lanes  = FlitBytes / 2;
    localparam int unsigned OffW   = $clog2(128 / FlitBytes);
    localparam int unsigned Most   = (StorePkts > CtrlPkts) ? ((StorePkts > OpenRows) ? StorePkts : OpenRows)
                                                            : ((CtrlPkts > OpenRows) ? CtrlPkts : OpenRows);
    localparam int unsigned SlotW  = (Most > 1) ? $clog2(Most) : 1;
    localparam int unsigned StampW = Monitor ? map_pkg::MonitorStampBits : 0;
    localparam int unsigned StampB = Monitor ? StampW : 1;
    localparam int unsigned DescW  = SlotW + 6 + OffW + StampW;
    localparam int unsigned SeqW   = $clog2(StorePkts) + 1;
    localparam int unsigned StoreW = $clog2(RxStorePkts + 1);
    localparam int unsigned PartW  = $clog2(RxResultPkts + 1);

    if (N < 2 || N > 32 || (FlitBytes != 8 && FlitBytes != 16)) begin : gen_check
        $error("switch_top: N must be 2 to 32, FlitBytes 8 or 16");
    end
    if (Window > 31 || Window > StorePkts) begin : gen_check_window
        $error("switch_top: Window must be at most 31 and StorePkts");
    end

    // ---- what every port shares ----
    logic [StoreW-1:0] store_limit;
    logic [PartW-1:0]  part_limit;
    logic [SeqW-1:0]   window_limit;   // 0: none
    logic [15:0]       lfsr_q;
    logic [4:0]        scan_q;
    logic [15:0]       hold_q;
    logic [3:0]        cnt_addr;
    logic [14:0]       cnt_at;
    logic              clearing_q;

    assign store_limit = (store_credits_i == '0 || store_credits_i > 8'(RxStorePkts)) ? StoreW'(RxStorePkts) : StoreW'(store_credits_i);
    assign part_limit  = (part_credits_i == '0 || part_credits_i > 8'(RxResultPkts)) ? PartW'(RxResultPkts) : PartW'(part_credits_i);
    assign window_limit = (window_i > 5'(Window)) ? SeqW'(Window) : SeqW'(window_i);

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) begin
            lfsr_q     <= 16'h1;
            hold_q     <= '0;
            scan_q     <= '0;
            clearing_q <= 1'b1;
        end else begin
            lfsr_q <= {lfsr_q[14:0], lfsr_q[15] ^ lfsr_q[14] ^ lfsr_q[12] ^ lfsr_q[3]};
            hold_q <= {hold_q[14:0], lfsr_q[7:0] < throttle_i};
            scan_q <= scan_q + 5'd1;
            if (scan_q == '1) clearing_q <= 1'b0;
        end
    end

    // ---- between inputs (first index) and outputs (second) ----
    logic [N-1:0][N-1:0] wr_valid, desc_we, push, room, part_we, part_full;   // [input][output]
    logic [1:0]          wr_region [N];
    logic [OffW:0]       wr_line [N];
    logic [Lanes-1:0]    wr_lane [N];
    logic [FW:0]         wr_data [N];
    logic [N-1:0]        desc_dyn, desc_pay, arrive, ctrl_drop;
    logic [3:0]          desc_more [N];
    logic [OffW-1:0]     desc_len [N];
    logic [OffW-1:0]     part_idx [N];
    logic [FW+1:0]       part_data [N];
    logic [N-1:0][N-1:0] ctrl_free, part_done, part_hold, here;                       // [input][output]
    logic [N-1:0]        scarce;
    logic [SeqW-1:0]     seq [N], oldest [N];

    logic [N-1:0][N-1:0] has_ctrl, has_req, has_store, urgent, pop, free_ctrl, free_store, sent, re;  // [output][input]
    logic [1:0]          arb_cls [N];
    logic [SlotW-1:0]    rd_slot [N];
    logic [OffW:0]       rd_line [N];

    logic [N-1:0]        open_valid, open_full;
    logic [N-1:0]        open_mask [N];
    logic [14:0]         open_bytes [N];
    red_pkg::red_t       open_red [N];

    logic [N-1:0]        err_valid, err_valid_q, err_waits_q, err_take, back_valid_q, back_sent;
    error_pkg::err_e     err_code [N];
    error_pkg::err_e     err_code_q [N];   // of the last error
    logic [N-1:0]        in_idle, crd_idle, win_idle, out_idle, join_idle;

    logic [N-1:0]        down_q, rst_in, flush, report, report_take, drop, discard, old;
    logic [N-1:0][N-1:0] late;                  // [join][member]
    logic [2:0]          starved [N];
    error_pkg::err_e     report_code [N];
    logic [2:0]          tick_q;                // end of a period of the time limits, of 2, of 4
    logic                mark;
    logic [StampB-1:0]   now, stamp [N], leave_stamp [N];   // the time; of the packet at each input, of the one that leaves each output
    logic [N-1:0]        leave, wait_turn, wait_credit;
    logic [26:0]         cnt_high [N];
    logic [9:0]          cnt_low [N];

    for (genvar p = 0; p < N; p++) begin : gen_port
        // ---- guard ----
        logic       in_valid, in_last, in_err;
        logic [1:0] in_cls;

        if (Guard) begin : gen_guard
            logic [N-1:0] left, asks, owes;   // packets of this port in the switch; requests that go to it; joins that it owes a partial

            for (genvar i = 0; i < N; i++) begin : gen_other
                assign left[i] = has_ctrl[i][p] || has_req[i][p] || has_store[i][p];
                assign asks[i] = has_req[p][i] || (push[i][p] && wr_region[i] == CLS_REQ);
                assign owes[i] = late[i][p];
            end

            port_guard i_guard (
                .clk_i, .rst_ni, .tick_i(tick_q), .step_i(scan_q == '1), .enable_i(enable_i[p]), .disable_i(disable_i[p]),
                .up_valid_i(up_valid_i[p]), .up_last_i(up_last_i[p]), .up_err_i(up_err_i[p]), .up_cls_i(up_cls_i[p]),
                .in_valid_o(in_valid), .in_last_o(in_last), .in_err_o(in_err), .in_cls_o(in_cls), .drop_o(drop[p]),
                .starved_i(starved[p]), .late_i(owes != '0),
                .drained_i(in_idle[p] && win_idle[p] && left == '0), .ready_i(quiet_i[p] && join_idle[p] && asks == '0 && old == '0),
                .down_o(down_o[p]), .flush_o(flush[p]), .report_o(report[p]), .report_code_o(report_code[p]), .report_take_i(report_take[p])
            );
        end else begin : gen_no_guard
            assign {in_valid, in_last, in_err} = {up_valid_i[p], up_last_i[p], up_err_i[p]};
            assign in_cls = up_cls_i[p];
            assign {drop[p], down_o[p], flush[p], report[p]} = '0;
            assign report_code[p] = error_pkg::ERR_NONE;
            wire unused_guard = &{1'b0, enable_i[p], disable_i[p], quiet_i[p], starved[p], report_take[p]};
        end
        assign rst_in[p] = rst_ni && !flush[p];

        // ---- input ----
        ingress #(
            .N(N), .FlitBytes(FlitBytes), .Port(p), .StorePkts(StorePkts), .CtrlPkts(CtrlPkts), .OpenRows(OpenRows),
            .MaxExperts(MaxExperts), .Groups(Groups), .Multicast(Multicast), .StampW(StampW), .RedTypes(RedTypes), .RedOps(RedOps)
        ) i_ingress (
            .clk_i, .rst_ni(rst_in[p]), .epoch_i, .now_i(now),
            .up_valid_i(in_valid), .up_last_i(in_last), .up_err_i(in_err), .up_cls_i(in_cls), .up_data_i(up_data_i[p]),
            .crd_i(up_crd_o[p][1:0]),
            .emap_we_i, .emap_addr_i, .emap_data_i,
            .group_we_i, .group_addr_i, .group_data_i(group_data_i[N-1:0]), .partition_i(partition_i[p]),
            .wr_valid_o(wr_valid[p]), .wr_region_o(wr_region[p]), .wr_line_o(wr_line[p]), .wr_lane_o(wr_lane[p]), .wr_data_o(wr_data[p]),
            .desc_we_o(desc_we[p]), .desc_dyn_o(desc_dyn[p]), .desc_more_o(desc_more[p]), .desc_pay_o(desc_pay[p]), .desc_len_o(desc_len[p]),
            .push_o(push[p]), .stamp_o(stamp[p]), .arrive_o(arrive[p]), .scarce_o(scarce[p]), .ctrl_drop_o(ctrl_drop[p]),
            .open_valid_o(open_valid[p]), .open_mask_o(open_mask[p]), .open_bytes_o(open_bytes[p]), .open_red_o(open_red[p]), .open_full_i(open_full[p]),
            .part_we_o(part_we[p]), .part_idx_o(part_idx[p]), .part_data_o(part_data[p]), .part_full_i(part_full[p]),
            .err_valid_o(err_valid[p]), .err_code_o(err_code[p]), .idle_o(in_idle[p])
        );

        logic may;   // STORE credits of this input may come back
        if (Window != 0) begin : gen_window
            window #(.StorePkts(StorePkts)) i_window (
                .clk_i, .rst_ni(rst_in[p]), .limited_i(window_limit != '0), .push_i(arrive[p] && push[p] != '0), .drop_i(arrive[p] && push[p] == '0),
                .issue_i(up_crd_o[p][CLS_STORE]), .here_i(here[p] != '0), .seq_o(seq[p]), .oldest_o(oldest[p]), .may_o(may), .idle_o(win_idle[p])
            );
        end else begin : gen_no_window
            assign may         = 1'b1;
            assign win_idle[p] = 1'b1;
            assign seq[p]      = '0;
            assign oldest[p]   = '0;
            wire unused_here = &{1'b0, here[p]};
        end

        credit_return #(.N(N), .CtrlPkts(CtrlPkts)) i_credits (
            .clk_i, .rst_ni(rst_in[p]),
            .room_i(room[p]), .ctrl_free_i(ctrl_free[p]), .ctrl_drop_i(ctrl_drop[p]),
            .part_done_i(part_done[p]), .part_hold_o(part_hold[p]),
            .crd_o(up_crd_o[p]), .crd_part_o(up_crd_part_o[p]), .idle_o(crd_idle[p])
        );

        // ---- queues of this output ----
        logic [N-2:0]     q_has, q_hold, q_re, q_done, members;   // by distance, see reduce_join
        logic [N-2:0]     j_has, j_re, j_done, j_wait, j_late, j_down;   // at the join
        logic [FW+1:0]    j_term;
        logic             q_en, row_done;
        logic [$clog2(OpenRows+1)-1:0] rows;
        logic [OffW-1:0]  q_idx;

        for (genvar i = 0; i < N; i++) begin : gen_in
            // what queues 0 .. i give; each gives 0 unless it was asked, but for the description
            logic [DescW-1:0] desc, desc_or;
            logic [FW:0]      rdata, rdata_or;
            logic [FW+1:0]    term, term_or;

            if (i == 0) begin : gen_first
                assign desc_or  = desc & {DescW{pop[p][i]}};
                assign rdata_or = rdata;
                assign term_or  = term;
            end else begin : gen_next
                assign desc_or  = (desc & {DescW{pop[p][i]}}) | gen_in[i-1].desc_or;
                assign rdata_or = rdata | gen_in[i-1].rdata_or;
                assign term_or  = term | gen_in[i-1].term_or;
            end

            if (i == p) begin : gen_self
                assign desc  = '0;
                assign rdata = '0;
                assign term  = '0;
                assign {has_req[p][i], has_store[p][i], has_ctrl[p][i], urgent[p][i]} = '0;
                assign room[i][p] = may;
                assign {part_full[i][p], part_done[i][p], ctrl_free[i][p], here[i][p], late[p][i]} = '0;
            end else begin : gen_queue
                localparam int unsigned D = (i + N - p - 1) % N;   // distance less 1

                voq #(
                    .FlitBytes(FlitBytes), .StorePkts(StorePkts), .CtrlPkts(CtrlPkts), .OpenRows(OpenRows), .SlotW(SlotW), .Window(Window), .Multicast(Multicast), .StampW(StampW)
                ) i_voq (
                    .clk_i, .rst_ni(rst_in[i]),
                    .wr_valid_i(wr_valid[i][p]), .wr_region_i(wr_region[i]), .wr_line_i(wr_line[i]), .wr_lane_i(wr_lane[i]), .wr_data_i(wr_data[i]),
                    .desc_we_i(desc_we[i][p]), .desc_dyn_i(desc_dyn[i]), .desc_more_i(desc_more[i]), .desc_pay_i(desc_pay[i]),
                    .desc_len_i(desc_len[i]), .stamp_i(stamp[i]), .push_i(push[i][p]),
                    .scarce_i(scarce[i]), .limit_i(window_limit), .seq_i(seq[i]), .oldest_i(oldest[i]), .here_o(here[i][p]), .urgent_o(urgent[p][i]), .sent_i(sent[p][i]),
                    .arrive_i(arrive[i]), .issue_i(up_crd_o[i][CLS_STORE]), .room_o(room[i][p]),
                    .has_o({has_req[p][i], has_store[p][i], has_ctrl[p][i]}), .pop_i(pop[p][i]), .cls_i(arb_cls[p]), .desc_o(desc),
                    .free_i(free_store[p][i]),
                    .re_i(re[p][i]), .rd_line_i(rd_line[p]), .rd_slot_i(rd_slot[p]), .rdata_o(rdata)
                );

                part_queue #(.FlitBytes(FlitBytes), .PartPkts(PartPkts), .Lut(PartLut)) i_part (
                    .clk_i, .rst_ni(rst_in[i]),
                    .we_i(part_we[i][p]), .widx_i(part_idx[i]), .wdata_i(part_data[i]), .full_o(part_full[i][p]),
                    .has_o(q_has[D]), .en_i(q_en), .re_i(q_re[D]), .ridx_i(q_idx), .done_i(q_done[D]), .rdata_o(term)
                );

                assign q_hold[D]       = part_hold[i][p];
                assign part_done[i][p] = q_done[D];
                assign ctrl_free[i][p] = free_ctrl[p][i];
                assign members[D]      = open_mask[p][i];
                assign j_down[D]       = down_o[i];
                assign late[p][i]      = j_late[D];
            end
        end

        if (Guard) begin : gen_stand_in
            part_stand_in #(.Members(N - 1), .Width(FW + 2), .OpenRows(OpenRows)) i_stand_in (
                .clk_i, .rst_ni, .tick_i(tick_q[2]), .down_i(j_down), .mark_i(mark),
                .wait_i(j_wait), .row_done_i(row_done), .level_i(rows), .late_o(j_late), .old_o(old[p]),
                .en_i(q_en), .re_i(j_re), .done_i(j_done), .has_o(j_has), .term_o(j_term),
                .has_i(q_has), .term_i(gen_in[N-1].term_or), .re_o(q_re), .done_o(q_done)
            );
        end else begin : gen_no_stand_in
            assign {j_has, q_re, q_done, j_term} = {q_has, j_re, j_done, gen_in[N-1].term_or};
            assign j_late = '0;
            assign old[p] = 1'b0;
            wire unused_stand_in = &{1'b0, j_wait, row_done, rows};
        end

        // ---- output ----
        logic          res_valid, res_poison, res_start, res_read, res_first, res_last, res_err;
        logic [6:0]    res_len;
        logic [FW-1:0] res_data;
        logic [StampB-1:0] res_stamp;

        reduce_join #(.N(N), .FlitBytes(FlitBytes), .OpenRows(OpenRows), .RedTypes(RedTypes), .RedOps(RedOps), .StampW(StampW)) i_join (
            .clk_i, .rst_ni,
            .open_valid_i(open_valid[p]), .open_poison_i((members & j_down) != '0), .open_mask_i(members & ~j_down), .open_bytes_i(open_bytes[p]), .open_red_i(open_red[p]), .open_stamp_i(stamp[p]), .open_full_o(open_full[p]),
            .q_has_i(j_has), .q_hold_i(q_hold), .q_en_o(q_en), .q_re_o(j_re), .q_idx_o(q_idx), .q_done_o(j_done), .q_data_i(j_term),
            .q_wait_o(j_wait), .row_done_o(row_done), .level_o(rows),
            .res_valid_o(res_valid), .res_len_o(res_len), .res_poison_o(res_poison), .res_stamp_o(res_stamp), .res_start_i(res_start),
            .res_read_i(res_read), .res_first_i(res_first), .res_last_i(res_last), .res_data_o(res_data), .res_err_o(res_err),
            .idle_o(join_idle[p])
        );

        egress #(
            .N(N), .FlitBytes(FlitBytes), .Port(p), .SlotW(SlotW), .RxStorePkts(RxStorePkts), .RxResultPkts(RxResultPkts), .RxCtrlPkts(RxCtrlPkts),
            .Window(Window), .StampW(StampW)
        ) i_egress (
            .clk_i, .rst_ni, .go_i, .epoch_i, .hold_i(hold_q[(5 * p) % 16]), .down_i(down_o[p]), .store_limit_i(store_limit), .part_limit_i(part_limit),
            .has_ctrl_i(has_ctrl[p]), .has_req_i(has_req[p]), .has_store_i(has_store[p]), .urgent_i(urgent[p]), .cls_o(arb_cls[p]), .pop_o(pop[p]),
            .desc_i(gen_in[N-1].desc_or), .re_o(re[p]), .rd_line_o(rd_line[p]), .rd_slot_o(rd_slot[p]), .rdata_i(gen_in[N-1].rdata_or),
            .free_ctrl_o(free_ctrl[p]), .free_store_o(free_store[p]), .sent_o(sent[p]),
            .res_valid_i(res_valid), .res_len_i(res_len), .res_poison_i(res_poison), .res_stamp_i(res_stamp), .res_start_o(res_start),
            .res_read_o(res_read), .res_first_o(res_first), .res_last_o(res_last), .res_data_i(res_data), .res_err_i(res_err),
            .error_valid_i(back_valid_q[p]), .error_code_i(8'(err_code_q[p])), .error_sent_o(back_sent[p]),
            .dn_valid_o(dn_valid_o[p]), .dn_last_o(dn_last_o[p]), .dn_err_o(dn_err_o[p]), .dn_cls_o(dn_cls_o[p]), .dn_data_o(dn_data_o[p]),
            .dn_crd_i(dn_crd_i[p]),
            .wait_turn_o(wait_turn[p]), .wait_credit_o(wait_credit[p]), .starved_o(starved[p]), .discard_o(discard[p]),
            .leave_o(leave[p]), .leave_stamp_o(leave_stamp[p]), .idle_o(out_idle[p])
        );

        // ---- counters ----
        logic [1:0]  link_cls [2];
        logic [7:0]  link_len [2];
        assign link_cls[0] = up_cls_i[p];
        assign link_cls[1] = dn_cls_o[p];
        assign link_len[0] = up_data_i[p][33:26];
        assign link_len[1] = dn_data_o[p][33:26];

        port_counters i_counters (
            .clk_i, .clear_i(!rst_ni || go_i), .clearing_i(clearing_q), .visit_i(!scan_q[0]), .read_i(scan_q[0] && cnt_port_i == 5'(p)), .addr_i(cnt_addr), .at_i(cnt_at),
            .valid_i({dn_valid_o[p], up_valid_i[p]}), .last_i({dn_last_o[p], up_last_i[p]}), .cls_i(link_cls), .len_i(link_len),
            .reject_i(err_valid_q[p]), .wait_turn_i(wait_turn[p]), .wait_credit_i(wait_credit[p]), .discard_i(discard[p]), .drop_i(drop[p]),
            .high_o(cnt_high[p]), .low_o(cnt_low[p])
        );
    end

    // ---- time limits: the period is that of a bit of a counter ----
    assign flush_o = flush;
    assign mark    = (down_o & ~down_q) != '0;

    if (Guard) begin : gen_tick
        logic [21:0] count_q;
        logic        bit_q, bit_d;
        logic [1:0]  periods_q;

        assign bit_d = limit_i != '0 && 32'(limit_i) <= 32'd22 && count_q[limit_i - 5'd1];

        always_ff @(posedge clk_i) begin
            down_q <= down_o;
            if (!rst_ni || go_i) begin
                count_q   <= '0;
                bit_q     <= 1'b0;
                periods_q <= '0;
                tick_q    <= '0;
            end else begin
                count_q <= count_q + 22'd1;
                bit_q   <= bit_d;
                tick_q  <= '0;
                if (bit_q && !bit_d) begin
                    periods_q <= periods_q + 2'd1;
                    tick_q    <= {periods_q == 2'd3, periods_q[0], 1'b1};
                end
            end
        end
    end else begin : gen_no_tick
        assign tick_q = '0;
        assign down_q = '0;
        wire unused_tick = &{1'b0, limit_i, mark, late, old, rst_in, tick_q};
    end

    // ---- counters: the cycles with scan_q[0] are for reading ----
    assign cnt_addr = scan_q[0] ? cnt_idx_i : scan_q[4:1];
    assign cnt_at   = 15'(16'd1 << cnt_addr);

    // Place of a state of port_counters' shift register in its order.
    function automatic logic [4:0] place(input logic [4:0] state);
        logic [4:0] s = '0;
        place = '0;
        for (int unsigned i = 0; i < 32; i++) begin
            if (s == state) place = 5'(i);
            s = {s[3:0], s[4] ^ s[1] ^ (s[3:0] == '0)};
        end
    endfunction

    logic [26:0] cnt_high_q;
    logic [9:0]  cnt_low_q;
    logic        cnt_bytes_q;

    always_ff @(posedge clk_i) begin
        if (scan_q[0]) begin
            automatic logic [9:0] low = '0;
            for (int unsigned p = 0; p < N; p++) begin
                if (cnt_port_i == 5'(p)) cnt_high_q <= cnt_high[p];
                low |= cnt_low[p];
            end
            cnt_low_q   <= low;
            cnt_bytes_q <= cnt_idx_i == 4'd8 || cnt_idx_i == 4'd9;
        end
    end
    assign cnt_data_o = cnt_bytes_q ? {cnt_high_q[21:0], cnt_low_q} : {cnt_high_q, place(cnt_low_q[4:0])};

    // ---- monitors ----
    if (Monitor) begin : gen_monitor
        switch_monitor #(.N(N)) i_monitor (
            .clk_i, .rst_ni, .clear_i(go_i), .run_i, .interval_i(mon_interval_i), .classes_i(mon_classes_i), .now_o(now),
            .leave_i(leave), .leave_cls_i(arb_cls), .leave_stamp_i(leave_stamp),
            .up_valid_i(up_valid_i), .dn_valid_i(dn_valid_o), .wait_credit_i(wait_credit), .wait_turn_i(wait_turn),
            .samples_o(mon_samples_o), .read_i(mon_read_i), .read_port_i(mon_port_i), .read_series_i(mon_series_i), .read_word_i(mon_word_i), .data_o(mon_data_o)
        );
    end else begin : gen_no_monitor
        assign {now, mon_samples_o, mon_data_o} = '0;
        wire unused_monitor = &{1'b0, run_i, mon_interval_i, mon_classes_i, mon_read_i, mon_port_i, mon_series_i, mon_word_i, leave};
        for (genvar p = 0; p < N; p++) begin : gen_unused
            wire unused_stamp = &{1'b0, leave_stamp[p]};
        end
    end

    // ---- errors: reported one per cycle, lowest port first, and sent back to the source ----
    always_comb begin
        err_take   = '0;
        err_code_o = error_pkg::ERR_NONE;
        err_port_o = '0;
        for (int unsigned p = 0; p < N; p++) begin
            if (err_waits_q[p] && err_take == '0) begin
                err_take[p] = 1'b1;
                err_code_o  = err_code_q[p];
                err_port_o  = 5'(p);
            end
        end
    end
    assign err_valid_o = err_waits_q != '0;
    assign report_take = report & ~err_valid & ~err_waits_q;

    always_ff @(posedge clk_i) begin
        for (int unsigned p = 0; p < N; p++) begin
            if (!rst_ni) begin
                err_valid_q[p]  <= 1'b0;
                err_waits_q[p]  <= 1'b0;
                back_valid_q[p] <= 1'b0;
            end else begin
                err_valid_q[p] <= err_valid[p];
                if (err_valid[p] || report_take[p]) err_waits_q[p] <= 1'b1;
                else if (err_take[p]) err_waits_q[p] <= 1'b0;
                if (err_valid[p]) back_valid_q[p] <= 1'b1;
                else if (back_sent[p]) back_valid_q[p] <= 1'b0;
            end
            if (err_valid[p]) err_code_q[p] <= err_code[p];
            else if (report_take[p]) err_code_q[p] <= report_code[p];
        end
    end

    if (N < 32) begin : gen_unused
        wire unused_members = &{1'b0, group_data_i[31:N]};
    end

    wire unused_hold = &{1'b0, hold_q};

    assign idle_o = &in_idle && &crd_idle && &win_idle && &out_idle && &join_idle && err_waits_q == '0 && report == '0 && flush == '0;
endmodule

`default_nettype wire
