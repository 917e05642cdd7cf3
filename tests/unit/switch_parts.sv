// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Bench for parts of a switch port that stand alone, side by side, each with ports of its own; port_counters and monitor_port with what switch_common and switch_monitor make for them.
`default_nettype none

module switch_parts #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    localparam int unsigned LevelW = $clog2(Cfg.OpenRows + 1),
    localparam int unsigned StampW = map_pkg::MonitorStampBits,
    localparam int unsigned IdxW = $clog2(map_pkg::MonitorSamples)
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    // error_join
    input  wire logic       join_reject_i,
    input  wire logic [7:0] join_code_i,
    input  wire logic       join_cut_i,
    input  wire logic       join_end_i,
    input  wire logic       join_wrong_i,
    input  wire logic [7:0] join_link_code_i,
    output logic            join_waits_o,
    output logic            join_valid_o,
    output logic [7:0]      join_code_o,

    // credit_return
    input  wire logic [Cfg.N-1:0] crd_room_i,
    input  wire logic [Cfg.N-1:0] crd_ctrl_free_i,
    input  wire logic             crd_ctrl_drop_i,
    input  wire logic [Cfg.N-1:0] crd_part_done_i,
    output logic [Cfg.N-1:0]      crd_part_hold_o,
    output logic [3:0]            crd_o,
    output logic [4:0]            crd_part_o,
    output logic                  crd_idle_o,

    // stall_timer
    input  wire logic [3:0] timer_tick_i,
    input  wire logic [3:0] timer_wait_i,
    output logic [3:0]      timer_late_o,

    // part_stand_in
    input  wire logic              stand_tick_i,
    input  wire logic [Cfg.N-1:0]  stand_down_i,
    input  wire logic              stand_mark_i,
    input  wire logic [Cfg.N-1:0]  stand_wait_i,
    input  wire logic              stand_row_done_i,
    input  wire logic [LevelW-1:0] stand_level_i,
    output logic [Cfg.N-1:0]       stand_late_o,
    output logic                   stand_old_o,
    input  wire logic [Cfg.N-1:0]  stand_re_i,
    input  wire logic [Cfg.N-1:0]  stand_done_i,
    output logic [Cfg.N-1:0]       stand_has_o,
    output logic [17:0]            stand_term_o,
    input  wire logic [Cfg.N-1:0]  stand_has_i,
    input  wire logic [17:0]       stand_term_i,
    output logic [Cfg.N-1:0]       stand_re_o,
    output logic [Cfg.N-1:0]       stand_done_o,

    // port_guard
    input  wire logic [2:0] guard_tick_i,
    input  wire logic       guard_step_i,
    input  wire logic       guard_enable_i,
    input  wire logic       guard_disable_i,
    input  wire logic       guard_up_valid_i,
    input  wire logic       guard_up_last_i,
    input  wire logic       guard_up_err_i,
    input  wire logic [1:0] guard_up_cls_i,
    output logic            guard_in_valid_o,
    output logic            guard_in_last_o,
    output logic            guard_in_err_o,
    output logic [1:0]      guard_in_cls_o,
    output logic            guard_drop_o,
    input  wire logic [2:0] guard_starved_i,
    input  wire logic       guard_late_i,
    input  wire logic       guard_written_i,
    input  wire logic       guard_drained_i,
    input  wire logic       guard_ready_i,
    output logic            guard_down_o,
    output logic            guard_flush_o,
    output logic            guard_report_o,
    output logic [7:0]      guard_report_code_o,
    input  wire logic       guard_report_take_i,

    // switch_common, switch_monitor
    input  wire logic             go_i,
    input  wire logic             run_i,
    input  wire logic [7:0]       throttle_i,
    input  wire logic [7:0]       store_credits_i,
    input  wire logic [7:0]       part_credits_i,
    input  wire logic [4:0]       window_i,
    input  wire logic [4:0]       limit_i,
    input  wire logic [4:0]       cnt_port_i,
    input  wire logic [3:0]       cnt_idx_i,
    output logic [31:0]           cnt_data_o,
    input  wire logic [15:0]      mon_interval_i,
    output logic [31:0]           mon_samples_o,
    input  wire logic             mon_read_i,
    input  wire logic [4:0]       mon_port_i,
    output logic [31:0]           mon_data_o,
    output logic                  err_valid_o,
    output logic [7:0]            err_code_o,
    output logic [4:0]            err_port_o,
    output logic [Cfg.StoreW-1:0] store_limit_o,
    output logic [Cfg.PartW-1:0]  part_limit_o,
    output logic [Cfg.SeqW-1:0]   window_limit_o,
    output logic [Cfg.N-1:0]      hold_o,
    output logic [2:0]            tick_o,
    output logic                  step_o,
    input  wire logic [Cfg.N-1:0] err_waits_i,
    input  wire logic [7:0]       err_code_i [Cfg.N],
    output logic [Cfg.N-1:0]      err_take_o,
    output logic [StampW-1:0]     now_o,

    // port_counters, monitor_port; of each port
    input  wire logic [1:0]        link_valid_i [Cfg.N],
    input  wire logic [1:0]        link_last_i [Cfg.N],
    input  wire logic [3:0]        link_cls_i [Cfg.N], // two
    input  wire logic [15:0]       link_len_i [Cfg.N],
    input  wire logic [4:0]        events_i [Cfg.N],   // drop, discard, wait_credit, wait_turn, reject
    input  wire logic [Cfg.N-1:0]  leave_i,
    input  wire logic [1:0]        leave_cls_i [Cfg.N],
    input  wire logic [StampW-1:0] leave_stamp_i [Cfg.N],
    input  wire logic [3:0]        mon_classes_i,
    input  wire logic              mon_series_i,
    input  wire logic [7:0]        mon_word_i
);
    error_pkg::err_e join_code;
    error_join i_errors (
        .clk_i, .rst_ni, .reject_i(join_reject_i), .code_i(error_pkg::err_e'(join_code_i)), .cut_i(join_cut_i), .end_i(join_end_i), .wrong_i(join_wrong_i),
        .link_code_i(error_pkg::err_e'(join_link_code_i)), .waits_o(join_waits_o), .valid_o(join_valid_o), .code_o(join_code)
    );
    assign join_code_o = join_code;

    credit_return #(.Cfg(Cfg)) i_credits (
        .clk_i, .rst_ni, .room_i(crd_room_i), .ctrl_free_i(crd_ctrl_free_i), .ctrl_drop_i(crd_ctrl_drop_i), .part_done_i(crd_part_done_i), .part_hold_o(crd_part_hold_o),
        .crd_o, .crd_part_o, .idle_o(crd_idle_o)
    );

    stall_timer #(.Count(4)) i_timer (.clk_i, .rst_ni, .tick_i(timer_tick_i), .wait_i(timer_wait_i), .late_o(timer_late_o));

    part_stand_in #(.Cfg(Cfg), .Members(Cfg.N), .Width(18)) i_stand_in (
        .clk_i, .rst_ni, .tick_i(stand_tick_i), .down_i(stand_down_i), .mark_i(stand_mark_i),
        .wait_i(stand_wait_i), .row_done_i(stand_row_done_i), .level_i(stand_level_i), .late_o(stand_late_o), .old_o(stand_old_o),
        .re_i(stand_re_i), .done_i(stand_done_i), .has_o(stand_has_o), .term_o(stand_term_o),
        .has_i(stand_has_i), .term_i(stand_term_i), .re_o(stand_re_o), .done_o(stand_done_o)
    );

    error_pkg::err_e report_code;
    port_guard i_guard (
        .clk_i, .rst_ni, .tick_i(guard_tick_i), .step_i(guard_step_i), .enable_i(guard_enable_i), .disable_i(guard_disable_i),
        .up_valid_i(guard_up_valid_i), .up_last_i(guard_up_last_i), .up_err_i(guard_up_err_i), .up_cls_i(guard_up_cls_i),
        .in_valid_o(guard_in_valid_o), .in_last_o(guard_in_last_o), .in_err_o(guard_in_err_o), .in_cls_o(guard_in_cls_o), .drop_o(guard_drop_o),
        .starved_i(guard_starved_i), .late_i(guard_late_i), .written_i(guard_written_i), .drained_i(guard_drained_i), .ready_i(guard_ready_i),
        .down_o(guard_down_o), .flush_o(guard_flush_o), .report_o(guard_report_o), .report_code_o(report_code), .report_take_i(guard_report_take_i)
    );
    assign guard_report_code_o = report_code;

    logic            clearing, visit, count, sample;
    logic [Cfg.N-1:0]    cnt_read, mon_read;
    logic [3:0]      addr;
    logic [14:0]     at;
    logic [26:0]     high [Cfg.N];
    logic [9:0]      low [Cfg.N];
    logic [31:0]     mon_data [Cfg.N];
    logic [IdxW-1:0] idx;
    error_pkg::err_e err_code [Cfg.N];
    error_pkg::err_e code;

    switch_common #(.Cfg(Cfg)) i_common (
        .clk_i, .rst_ni, .go_i, .run_i, .throttle_i, .store_credits_i, .part_credits_i, .window_i, .limit_i, .cnt_port_i, .cnt_idx_i, .cnt_data_o,
        .mon_interval_i, .mon_samples_o, .mon_read_i, .mon_port_i, .mon_data_o, .err_valid_o, .err_code_o(code), .err_port_o,
        .store_limit_o, .part_limit_o, .window_limit_o, .hold_o, .tick_o, .step_o,
        .cnt_clearing_o(clearing), .cnt_visit_o(visit), .cnt_read_o(cnt_read), .cnt_addr_o(addr), .cnt_at_o(at), .cnt_high_i(high), .cnt_low_i(low),
        .err_waits_i, .err_code_i(err_code), .err_take_o, .now_o, .mon_count_o(count), .mon_sample_o(sample), .mon_idx_o(idx), .mon_read_o(mon_read), .mon_data_i(mon_data)
    );
    assign err_code_o = code;

    for (genvar p = 0; p < Cfg.N; p++) begin : gen_port
        logic [1:0] cls [2];
        logic [7:0] len [2];
        assign cls = '{link_cls_i[p][1:0], link_cls_i[p][3:2]};
        assign len = '{link_len_i[p][7:0], link_len_i[p][15:8]};
        assign err_code[p] = error_pkg::err_e'(err_code_i[p]);

        port_counters i_counters (
            .clk_i, .clear_i(!rst_ni || go_i), .clearing_i(clearing), .visit_i(visit), .read_i(cnt_read[p]), .addr_i(addr), .at_i(at),
            .valid_i(link_valid_i[p]), .last_i(link_last_i[p]), .cls_i(cls), .len_i(len),
            .reject_i(events_i[p][0]), .wait_turn_i(events_i[p][1]), .wait_credit_i(events_i[p][2]), .discard_i(events_i[p][3]), .drop_i(events_i[p][4]),
            .high_o(high[p]), .low_o(low[p])
        );
        monitor_port i_monitor (
            .clk_i, .clear_i(!rst_ni || go_i), .now_i(now_o), .leave_i(leave_i[p]), .leave_cls_i(leave_cls_i[p]), .leave_stamp_i(leave_stamp_i[p]), .classes_i(mon_classes_i),
            .count_i(count), .events_i({events_i[p][1], events_i[p][2], link_valid_i[p][1], link_valid_i[p][0]}), .sample_i(sample), .sample_idx_i(idx),
            .read_i(mon_read[p]), .series_i(mon_series_i), .word_i(mon_word_i), .data_o(mon_data[p])
        );
    end
endmodule

`default_nettype wire
