// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Bench for parts of a switch port, side by side, each with its own ports. port_counters and
// monitor_port get their inputs from switch_common and switch_monitor.
`default_nettype none
`include "bundles.svh"

module switch_parts #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    localparam int unsigned LevelW = $clog2(Cfg.OpenRows + 1),
    localparam int unsigned StampW = map_pkg::MonitorStampBits
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
    input  wire bundle_pkg::error_t join_row_err_i,
    output logic            join_waits_o,
    output logic            join_valid_o,
    output logic [7:0]      join_code_o,

    // credit_return
    input  wire logic [Cfg.N-1:0] crd_room_i,
    input  wire logic [Cfg.N-1:0] crd_ctrl_free_i,
    input  wire logic             crd_ctrl_drop_i,
    input  wire logic [Cfg.N-1:0] crd_part_done_i,
    output logic [Cfg.N-1:0]      crd_part_hold_o,
    output bundle_pkg::credit_t   crd_o,
    output logic                  crd_idle_o,

    // stall_timer
    input  wire logic [3:0] timer_tick_i,
    input  wire logic [3:0] timer_wait_i,
    output logic [3:0]      timer_late_o,

    // dummy_partial
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

    // grant_queue
    input  wire logic                      grant_push_i,
    input  wire logic [Cfg.GpuW-1:0]       grant_home_i,
    input  wire logic [Cfg.TokensLog2-1:0] grant_index_i,
    output logic                           grant_full_o,
    output logic                           grant_valid_o,
    output logic [63:0]                    grant_upper_o,
    input  wire logic                      grant_sent_i,
    output logic                           grant_idle_o,

    // port_guard
    input  wire logic [2:0]   guard_tick_i,
    input  wire logic         guard_step_i,
    input  wire logic         guard_enable_i,
    input  wire logic         guard_disable_i,
    input  wire `MW_LINK(Cfg) guard_up_i,
    output `MW_LINK(Cfg)      guard_in_o,
    output logic              guard_drop_o,
    input  wire logic [2:0]   guard_starved_i,
    input  wire logic         guard_late_i,
    input  wire logic         guard_written_i,
    input  wire logic         guard_drained_i,
    input  wire logic         guard_ready_i,
    output logic              guard_down_o,
    output logic              guard_flush_o,
    output logic              guard_report_o,
    output logic [7:0]        guard_report_code_o,
    input  wire logic         guard_report_take_i,

    // switch_common, switch_monitor
    input  wire logic                    go_i,
    input  wire logic                    run_i,
    input  wire bundle_pkg::switch_ctl_t ctl_i,
    output logic [31:0]                  cnt_data_o,
    output logic [31:0]                  mon_samples_o,
    output logic [31:0]                  mon_data_o,
    output bundle_pkg::error_t           err_o,
    output logic [4:0]                   err_port_o,
    output `MW_COMMON(Cfg)               common_o,
    output logic [Cfg.N-1:0]             hold_o,
    input  wire bundle_pkg::error_t      err_i [Cfg.N],
    output logic [Cfg.N-1:0]             err_take_o,

    // port_counters, monitor_port; of each port
    input  wire logic [1:0]        link_valid_i [Cfg.N],
    input  wire logic [1:0]        link_last_i [Cfg.N],
    input  wire logic [3:0]        link_cls_i [Cfg.N], // two
    input  wire logic [15:0]       link_len_i [Cfg.N],
    input  wire logic [4:0]        events_i [Cfg.N],   // drop, discard, wait_credit,
                                                       // wait_turn, reject
    input  wire logic [Cfg.N-1:0]  leave_i,
    input  wire logic [1:0]        leave_cls_i [Cfg.N],
    input  wire logic [StampW-1:0] leave_stamp_i [Cfg.N]
);
    error_pkg::err_e join_code;
    error_join i_errors (
        .clk_i, .rst_ni, .reject_i(join_reject_i),
        .code_i(error_pkg::err_e'(join_code_i)), .cut_i(join_cut_i),
        .end_i(join_end_i), .wrong_i(join_wrong_i),
        .link_code_i(error_pkg::err_e'(join_link_code_i)), .row_err_i(join_row_err_i),
        .waits_o(join_waits_o), .valid_o(join_valid_o), .code_o(join_code)
    );
    assign join_code_o = join_code;

    credit_return #(.Cfg(Cfg)) i_credits (
        .clk_i, .rst_ni, .room_i(crd_room_i),
        .ctrl_free_i(crd_ctrl_free_i), .ctrl_drop_i(crd_ctrl_drop_i),
        .part_done_i(crd_part_done_i), .part_hold_o(crd_part_hold_o), .crd_o, .idle_o(crd_idle_o)
    );

    stall_timer #(.Count(4)) i_timer (
        .clk_i, .rst_ni, .tick_i(timer_tick_i), .wait_i(timer_wait_i), .late_o(timer_late_o)
    );

    dummy_partial #(.Cfg(Cfg), .Members(Cfg.N), .Width(18)) i_dummy (
        .clk_i, .rst_ni, .tick_i(stand_tick_i), .down_i(stand_down_i), .mark_i(stand_mark_i),
        .wait_i(stand_wait_i), .row_done_i(stand_row_done_i),
        .level_i(stand_level_i), .late_o(stand_late_o),
        .old_o(stand_old_o),
        .re_i(stand_re_i), .done_i(stand_done_i), .has_o(stand_has_o), .term_o(stand_term_o),
        .has_i(stand_has_i), .term_i(stand_term_i), .re_o(stand_re_o), .done_o(stand_done_o)
    );

    grant_queue #(.Cfg(Cfg)) i_grants (
        .clk_i, .rst_ni, .push_i(grant_push_i), .home_i(grant_home_i),
        .index_i(grant_index_i), .full_o(grant_full_o),
        .valid_o(grant_valid_o), .upper_o(grant_upper_o),
        .sent_i(grant_sent_i), .idle_o(grant_idle_o)
    );

    error_pkg::err_e report_code;
    port_guard #(.Cfg(Cfg)) i_guard (
        .clk_i, .rst_ni, .tick_i(guard_tick_i), .step_i(guard_step_i), .enable_i(guard_enable_i),
        .disable_i(guard_disable_i),
        .up_i(guard_up_i), .in_o(guard_in_o), .drop_o(guard_drop_o),
        .starved_i(guard_starved_i), .late_i(guard_late_i), .written_i(guard_written_i),
        .drained_i(guard_drained_i),
        .ready_i(guard_ready_i), .down_o(guard_down_o), .flush_o(guard_flush_o),
        .report_o(guard_report_o), .report_code_o(report_code), .report_take_i(guard_report_take_i)
    );
    assign guard_report_code_o = report_code;

    bundle_pkg::counter_t cnt [Cfg.N];
    logic [Cfg.N-1:0]     cnt_read, mon_read;
    logic [31:0]          mon_data [Cfg.N];

    switch_common #(.Cfg(Cfg)) i_common (
        .clk_i, .rst_ni, .go_i, .run_i, .ctl_i, .cnt_data_o,
        .mon_samples_o, .mon_data_o, .err_o, .err_port_o,
        .common_o, .hold_o, .cnt_read_o(cnt_read), .cnt_i(cnt), .err_i, .err_take_o,
        .mon_read_o(mon_read), .mon_data_i(mon_data)
    );

    for (genvar p = 0; p < Cfg.N; p++) begin : gen_port
        logic [1:0] cls [2];
        logic [7:0] len [2];
        assign cls = '{link_cls_i[p][1:0], link_cls_i[p][3:2]};
        assign len = '{link_len_i[p][7:0], link_len_i[p][15:8]};

        port_counters i_counters (
            .clk_i, .clear_i(!rst_ni || go_i), .clearing_i(common_o.cnt_clearing),
            .visit_i(common_o.cnt_visit),
            .read_i(cnt_read[p]), .addr_i(common_o.cnt_addr), .at_i(common_o.cnt_at),
            .valid_i(link_valid_i[p]), .last_i(link_last_i[p]), .cls_i(cls), .len_i(len),
            .reject_i(events_i[p][0]), .wait_turn_i(events_i[p][1]), .wait_credit_i(events_i[p][2]),
            .discard_i(events_i[p][3]), .drop_i(events_i[p][4]),
            .high_o(cnt[p].high), .low_o(cnt[p].low)
        );
        monitor_port i_monitor (
            .clk_i, .clear_i(!rst_ni || go_i), .now_i(common_o.now), .leave_i(leave_i[p]),
            .leave_cls_i(leave_cls_i[p]), .leave_stamp_i(leave_stamp_i[p]),
            .classes_i(common_o.mon_classes),
            .count_i(common_o.mon_count),
            .events_i({events_i[p][1], events_i[p][2], link_valid_i[p][1], link_valid_i[p][0]}),
            .sample_i(common_o.mon_sample), .sample_idx_i(common_o.mon_idx),
            .read_i(mon_read[p]), .series_i(common_o.mon_series),
            .word_i(common_o.mon_word), .data_o(mon_data[p])
        );
    end
endmodule

`default_nettype wire
