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
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default
) (
    input  wire logic       clk_i,
    input  wire logic       rst_ni,
    input  wire logic       go_i,
    input  wire logic [1:0] epoch_i,

    input  wire logic run_i, // a layer runs

    input  wire logic                 up_valid_i [Cfg.N],
    input  wire logic                 up_last_i [Cfg.N],
    input  wire logic                 up_err_i [Cfg.N],
    input  wire logic [1:0]           up_cls_i [Cfg.N],
    input  wire logic [Cfg.FlitW-1:0] up_data_i [Cfg.N],
    output logic [3:0]                up_crd_o [Cfg.N],
    output logic [4:0]                up_crd_part_o [Cfg.N],

    output logic                 dn_valid_o [Cfg.N],
    output logic                 dn_last_o [Cfg.N],
    output logic                 dn_err_o [Cfg.N],
    output logic [1:0]           dn_cls_o [Cfg.N],
    output logic [Cfg.FlitW-1:0] dn_data_o [Cfg.N],
    input  wire logic [3:0]      dn_crd_i [Cfg.N],

    input  wire logic                        emap_we_i,
    input  wire logic [11:0]                 emap_addr_i,
    input  wire node_pkg::emap_t             emap_data_i,
    input  wire logic                        group_we_i,
    input  wire logic [3:0]                  group_addr_i,
    input  wire logic [31:0]                 group_data_i,
    input  wire logic [Cfg.N-1:0][Cfg.N-1:0] partition_i,     // row = source: ports it may reach
    input  wire logic [7:0]                  throttle_i,      // of 256 chances, how many a start of a packet is put off by a cycle
    input  wire logic [7:0]                  store_credits_i, // upper limits of downlink credits used, 0: all
    input  wire logic [7:0]                  part_credits_i,
    input  wire logic [4:0]                  window_i,        // look-ahead window of every input in STORE packets, 0: all that credits let in

    // ports that misbehave
    input  wire logic [4:0]       limit_i,  // log2 of the period of the time limits in cycles, at most 22, 0: no time limits
    input  wire logic [Cfg.N-1:0] enable_i, // pulses: a port that is down is to be up; one that is up is to be down
    input  wire logic [Cfg.N-1:0] disable_i,
    input  wire logic [Cfg.N-1:0] quiet_i,  // nothing on the links of the port
    output logic [Cfg.N-1:0]      down_o,
    output logic [Cfg.N-1:0]      flush_o,  // the port's endpoint is to be reset

    output logic            idle_o,
    input  wire logic [4:0] cnt_port_i, // cnt_data_o follows after at most 3 cycles
    input  wire logic [3:0] cnt_idx_i,
    output logic [31:0]     cnt_data_o,

    // monitors, see switch_monitor; without them all is 0
    input  wire logic [15:0] mon_interval_i,
    input  wire logic [3:0]  mon_classes_i,
    output logic [31:0]      mon_samples_o,
    input  wire logic        mon_read_i,
    input  wire logic [4:0]  mon_port_i,
    input  wire logic        mon_series_i,
    input  wire logic [7:0]  mon_word_i,
    output logic [31:0]      mon_data_o,

    output logic            err_valid_o,
    output error_pkg::err_e err_code_o,
    output logic [4:0]      err_port_o
);
    localparam int unsigned MonW   = $clog2(map_pkg::MonitorSamples);

    if (Cfg.N < 2 || Cfg.N > 32 || (Cfg.FlitBytes != 8 && Cfg.FlitBytes != 16)) begin : gen_check
        $error("switch_top: N must be 2 to 32, FlitBytes 8 or 16");
    end
    if (Cfg.Window > 31 || Cfg.Window > Cfg.StorePkts) begin : gen_check_window
        $error("switch_top: Window must be at most 31 and StorePkts");
    end

    // ---- what the ports share ----
    logic [Cfg.StoreW-1:0] store_limit;
    logic [Cfg.PartW-1:0]  part_limit;
    logic [Cfg.SeqW-1:0]   window_limit;
    logic [Cfg.N-1:0]      hold, cnt_read, err_waits, err_take, idle;
    logic [2:0]        tick;
    logic              step, cnt_clearing, cnt_visit;
    logic [3:0]        cnt_addr;
    logic [14:0]       cnt_at;
    logic [26:0]       cnt_high [Cfg.N];
    logic [9:0]        cnt_low [Cfg.N];
    error_pkg::err_e   err_code [Cfg.N];
    logic [Cfg.StampB-1:0] now;
    logic              mon_count, mon_sample;
    logic [MonW-1:0]   mon_idx;
    logic [Cfg.N-1:0]      mon_read;
    logic [31:0]       mon_data [Cfg.N];

    switch_common #(.Cfg(Cfg)) i_common (
        .clk_i, .rst_ni, .go_i, .run_i,
        .throttle_i, .store_credits_i, .part_credits_i, .window_i, .limit_i, .cnt_port_i, .cnt_idx_i, .cnt_data_o, .err_valid_o, .err_code_o, .err_port_o,
        .mon_interval_i, .mon_samples_o, .mon_read_i, .mon_port_i, .mon_data_o,
        .store_limit_o(store_limit), .part_limit_o(part_limit), .window_limit_o(window_limit), .hold_o(hold), .tick_o(tick), .step_o(step),
        .cnt_clearing_o(cnt_clearing), .cnt_visit_o(cnt_visit), .cnt_read_o(cnt_read), .cnt_addr_o(cnt_addr), .cnt_at_o(cnt_at),
        .cnt_high_i(cnt_high), .cnt_low_i(cnt_low), .err_waits_i(err_waits), .err_code_i(err_code), .err_take_o(err_take),
        .now_o(now), .mon_count_o(mon_count), .mon_sample_o(mon_sample), .mon_idx_o(mon_idx), .mon_read_o(mon_read), .mon_data_i(mon_data)
    );
    assign idle_o = &idle;

    // ---- between the ports, see switch_port: from_x is what it calls x_o, to_x what it calls x_i ----
    logic [Cfg.N-1:0] from_desc_dyn, from_desc_pay, from_scarce, from_arrive, from_issue, from_down, from_flush, from_mark, from_old;
    logic [Cfg.Others-1:0] from_wr_valid [Cfg.N], from_desc_we [Cfg.N], from_push [Cfg.N], from_part_come [Cfg.N], from_part_we [Cfg.N], from_part_hold [Cfg.N], from_room [Cfg.N],
                       from_here [Cfg.N], from_queued [Cfg.N], from_ctrl_free [Cfg.N], from_part_full [Cfg.N], from_part_done [Cfg.N], from_late [Cfg.N];
    logic [Cfg.Others-1:0] to_wr_valid [Cfg.N], to_desc_we [Cfg.N], to_push [Cfg.N], to_part_come [Cfg.N], to_part_we [Cfg.N], to_part_hold [Cfg.N], to_room [Cfg.N], to_here [Cfg.N], to_queued [Cfg.N],
                       to_ctrl_free [Cfg.N], to_part_full [Cfg.N], to_part_done [Cfg.N], to_late [Cfg.N], to_desc_dyn [Cfg.N], to_desc_pay [Cfg.N], to_scarce [Cfg.N], to_arrive [Cfg.N],
                       to_issue [Cfg.N], to_down [Cfg.N], to_flush [Cfg.N], to_mark [Cfg.N], to_old [Cfg.N];
    logic [1:0]          from_wr_region [Cfg.N], to_wr_region [Cfg.N][Cfg.Others];
    logic [Cfg.PayW:0]       from_wr_line [Cfg.N], to_wr_line [Cfg.N][Cfg.Others];
    logic [Cfg.Lanes-1:0]    from_wr_lane [Cfg.N], to_wr_lane [Cfg.N][Cfg.Others];
    logic [Cfg.WordW-1:0]    from_wr_data [Cfg.N], to_wr_data [Cfg.N][Cfg.Others];
    logic [3:0]          from_desc_more [Cfg.N], to_desc_more [Cfg.N][Cfg.Others];
    logic [Cfg.PayW-1:0]     from_desc_len [Cfg.N], to_desc_len [Cfg.N][Cfg.Others];
    logic [Cfg.SeqW-1:0]     from_seq [Cfg.N], to_seq [Cfg.N][Cfg.Others];
    logic [Cfg.SeqW-1:0]     from_oldest [Cfg.N], to_oldest [Cfg.N][Cfg.Others];
    logic [Cfg.StampB-1:0]   from_stamp [Cfg.N], to_stamp [Cfg.N][Cfg.Others];
    logic [Cfg.PayW-1:0]     from_part_idx [Cfg.N], to_part_idx [Cfg.N][Cfg.Others];
    logic [Cfg.FlitW+1:0]       from_part_data [Cfg.N], to_part_data [Cfg.N][Cfg.Others];

    for (genvar p = 0; p < Cfg.N; p++) begin : gen_port
        for (genvar d = 0; d < Cfg.Others; d++) begin : gen_other
            localparam int unsigned Q = (p + d + 1) % Cfg.N;   // p is that port's number N-2-d

            assign to_wr_valid[p][d] = from_wr_valid[Q][Cfg.N-2-d];
            assign to_desc_we[p][d] = from_desc_we[Q][Cfg.N-2-d];
            assign to_push[p][d] = from_push[Q][Cfg.N-2-d];
            assign to_part_come[p][d] = from_part_come[Q][Cfg.N-2-d];
            assign to_part_we[p][d] = from_part_we[Q][Cfg.N-2-d];
            assign to_part_hold[p][d] = from_part_hold[Q][Cfg.N-2-d];
            assign to_room[p][d] = from_room[Q][Cfg.N-2-d];
            assign to_here[p][d] = from_here[Q][Cfg.N-2-d];
            assign to_queued[p][d] = from_queued[Q][Cfg.N-2-d];
            assign to_ctrl_free[p][d] = from_ctrl_free[Q][Cfg.N-2-d];
            assign to_part_full[p][d] = from_part_full[Q][Cfg.N-2-d];
            assign to_part_done[p][d] = from_part_done[Q][Cfg.N-2-d];
            assign to_late[p][d] = from_late[Q][Cfg.N-2-d];
            assign to_desc_dyn[p][d] = from_desc_dyn[Q];
            assign to_desc_pay[p][d] = from_desc_pay[Q];
            assign to_scarce[p][d] = from_scarce[Q];
            assign to_arrive[p][d] = from_arrive[Q];
            assign to_issue[p][d] = from_issue[Q];
            assign to_down[p][d] = from_down[Q];
            assign to_flush[p][d] = from_flush[Q];
            assign to_mark[p][d] = from_mark[Q];
            assign to_old[p][d] = from_old[Q];
            assign to_wr_region[p][d] = from_wr_region[Q];
            assign to_wr_line[p][d] = from_wr_line[Q];
            assign to_wr_lane[p][d] = from_wr_lane[Q];
            assign to_wr_data[p][d] = from_wr_data[Q];
            assign to_desc_more[p][d] = from_desc_more[Q];
            assign to_desc_len[p][d] = from_desc_len[Q];
            assign to_seq[p][d] = from_seq[Q];
            assign to_oldest[p][d] = from_oldest[Q];
            assign to_stamp[p][d] = from_stamp[Q];
            assign to_part_idx[p][d] = from_part_idx[Q];
            assign to_part_data[p][d] = from_part_data[Q];
        end

        switch_port #(.Cfg(Cfg)) i_port (
            .clk_i, .rst_ni, .port_i(5'(p)), .go_i, .epoch_i,
            .up_valid_i(up_valid_i[p]), .up_last_i(up_last_i[p]), .up_err_i(up_err_i[p]), .up_cls_i(up_cls_i[p]), .up_data_i(up_data_i[p]),
            .up_crd_o(up_crd_o[p]), .up_crd_part_o(up_crd_part_o[p]),
            .dn_valid_o(dn_valid_o[p]), .dn_last_o(dn_last_o[p]), .dn_err_o(dn_err_o[p]), .dn_cls_o(dn_cls_o[p]), .dn_data_o(dn_data_o[p]), .dn_crd_i(dn_crd_i[p]),
            .emap_we_i, .emap_addr_i, .emap_data_i, .group_we_i, .group_addr_i, .group_data_i(group_data_i[Cfg.N-1:0]), .partition_i(partition_i[p]),
            .store_limit_i(store_limit), .part_limit_i(part_limit), .window_limit_i(window_limit), .hold_i(hold[p]), .tick_i(tick), .step_i(step),
            .cnt_clearing_i(cnt_clearing), .cnt_visit_i(cnt_visit), .cnt_read_i(cnt_read[p]), .cnt_addr_i(cnt_addr), .cnt_at_i(cnt_at),
            .cnt_high_o(cnt_high[p]), .cnt_low_o(cnt_low[p]), .err_waits_o(err_waits[p]), .err_code_o(err_code[p]), .err_take_i(err_take[p]),
            .enable_i(enable_i[p]), .disable_i(disable_i[p]), .quiet_i(quiet_i[p]), .idle_o(idle[p]),
            .now_i(now), .mon_classes_i, .mon_count_i(mon_count), .mon_sample_i(mon_sample), .mon_idx_i(mon_idx), .mon_read_i(mon_read[p]), .mon_series_i, .mon_word_i, .mon_data_o(mon_data[p]),
            .wr_valid_o(from_wr_valid[p]), .wr_valid_i(to_wr_valid[p]), .desc_we_o(from_desc_we[p]), .desc_we_i(to_desc_we[p]), .push_o(from_push[p]), .push_i(to_push[p]),
            .part_come_o(from_part_come[p]), .part_come_i(to_part_come[p]), .part_we_o(from_part_we[p]), .part_we_i(to_part_we[p]), .part_hold_o(from_part_hold[p]), .part_hold_i(to_part_hold[p]), .room_o(from_room[p]), .room_i(to_room[p]),
            .here_o(from_here[p]), .here_i(to_here[p]), .queued_o(from_queued[p]), .queued_i(to_queued[p]), .ctrl_free_o(from_ctrl_free[p]), .ctrl_free_i(to_ctrl_free[p]),
            .part_full_o(from_part_full[p]), .part_full_i(to_part_full[p]), .part_done_o(from_part_done[p]), .part_done_i(to_part_done[p]), .late_o(from_late[p]), .late_i(to_late[p]),
            .desc_dyn_o(from_desc_dyn[p]), .desc_dyn_i(to_desc_dyn[p]), .desc_pay_o(from_desc_pay[p]), .desc_pay_i(to_desc_pay[p]), .scarce_o(from_scarce[p]), .scarce_i(to_scarce[p]),
            .arrive_o(from_arrive[p]), .arrive_i(to_arrive[p]), .issue_o(from_issue[p]), .issue_i(to_issue[p]), .down_o(from_down[p]), .down_i(to_down[p]),
            .flush_o(from_flush[p]), .flush_i(to_flush[p]), .mark_o(from_mark[p]), .mark_i(to_mark[p]), .old_o(from_old[p]), .old_i(to_old[p]),
            .wr_region_o(from_wr_region[p]), .wr_region_i(to_wr_region[p]), .wr_line_o(from_wr_line[p]), .wr_line_i(to_wr_line[p]), .wr_lane_o(from_wr_lane[p]), .wr_lane_i(to_wr_lane[p]),
            .wr_data_o(from_wr_data[p]), .wr_data_i(to_wr_data[p]), .desc_more_o(from_desc_more[p]), .desc_more_i(to_desc_more[p]), .desc_len_o(from_desc_len[p]), .desc_len_i(to_desc_len[p]),
            .stamp_o(from_stamp[p]), .stamp_i(to_stamp[p]), .seq_o(from_seq[p]), .seq_i(to_seq[p]), .oldest_o(from_oldest[p]), .oldest_i(to_oldest[p]), .part_idx_o(from_part_idx[p]), .part_idx_i(to_part_idx[p]),
            .part_data_o(from_part_data[p]), .part_data_i(to_part_data[p])
        );
    end
    assign down_o  = from_down;
    assign flush_o = from_flush;

    if (Cfg.N < 32) begin : gen_unused
        wire unused_members = &{1'b0, group_data_i[31:Cfg.N]};
    end
endmodule

`default_nettype wire
