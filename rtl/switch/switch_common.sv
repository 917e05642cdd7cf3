// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Shared part of the switch's ports.
//
// Function: Limits, slots to open rows, throttle, time base of the time limits, scan and read-out
// of the counters, time of the monitors, and the queue of errors.
// Order: One error is reported per cycle, lowest port first.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module switch_common #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type common_t = `MW_COMMON(Cfg)
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,
    input  wire logic go_i,
    input  wire logic run_i,

    // see switch_top
    input  wire bundle_pkg::switch_ctl_t ctl_i,
    output logic [31:0]                  cnt_data_o,
    output logic [31:0]                  mon_samples_o,
    output logic [31:0]                  mon_data_o,
    output bundle_pkg::error_t           err_o,
    output logic [Cfg.PortW-1:0] err_port_o,

    // to and from the ports
    output common_t                   common_o,
    output logic [Cfg.N-1:0]          hold_o,
    output logic [Cfg.N-1:0]          cnt_read_o,
    input  wire bundle_pkg::counter_t cnt_i [Cfg.N],
    input  wire bundle_pkg::error_t   err_i [Cfg.N],  // each waits until it is taken
    output logic [Cfg.N-1:0]          err_take_o,
    output logic [Cfg.N-1:0]          mon_read_o,
    input  wire logic [31:0]          mon_data_i [Cfg.N]
);
    // ---- limits ----
    always_ff @(posedge clk_i) begin
        common_o.store_limit <= (ctl_i.store_credits == '0
                                 || 32'(ctl_i.store_credits) > Cfg.RxStorePkts)
                                ? Cfg.StoreW'(Cfg.RxStorePkts) : Cfg.StoreW'(ctl_i.store_credits);
        common_o.part_limit <= (ctl_i.part_credits == '0
                                || 32'(ctl_i.part_credits) > Cfg.RxResultPkts)
                               ? Cfg.PartW'(Cfg.RxResultPkts) : Cfg.PartW'(ctl_i.part_credits);
    end
    assign common_o.window_limit = (32'(ctl_i.window) > Cfg.Window) ? Cfg.SeqW'(Cfg.Window)
                                   : Cfg.SeqW'(ctl_i.window);

    assign common_o.link_wait = ctl_i.link_wait;

    // ---- rows that the switch opens: one port's in each cycle ----
    assign {common_o.switch_reductions, common_o.tile_reductions, common_o.row_bytes,
            common_o.row_shift, common_o.token_shift}
           = {
        ctl_i.switch_reductions,
        ctl_i.tile_reductions,
        ctl_i.row_bytes,
        ctl_i.row_shift,
        ctl_i.token_shift
    };
    assign {common_o.merge_loads, common_o.load_first, common_o.load_entries, common_o.load_keep,
            common_o.load_parts, common_o.fetch_cycles, common_o.cnt_loads, common_o.sum_entries,
            common_o.sum_cycles, common_o.push_sync}
           = {
        ctl_i.merge_loads,
        ctl_i.load_first,
        ctl_i.load_entries,
        ctl_i.load_keep,
        ctl_i.load_parts,
        ctl_i.fetch_cycles,
        ctl_i.cnt_loads,
        ctl_i.sum_entries,
        ctl_i.sum_cycles,
        ctl_i.push_sync
    };
    assign common_o.load_shift = bundle_pkg::load_shift(ctl_i.row_shift, ctl_i.load_parts);
    assign common_o.load_bytes = bundle_pkg::load_bytes(
        ctl_i.row_bytes, ctl_i.row_shift, ctl_i.load_parts
    );

    if (Cfg.SwitchReductions) begin : gen_turn
        always_ff @(posedge clk_i) begin
            if (!rst_ni || go_i || common_o.turn == Cfg.PortW'(Cfg.N - 1)) common_o.turn <= '0;
            else common_o.turn <= common_o.turn + 1'b1;
        end
    end else begin : gen_no_turn
        assign common_o.turn = '0;
    end

    // ---- throttle ----
    logic [15:0] lfsr_q, hold_q;
    logic [4:0] scan_q;
    logic clearing_q;

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) begin
            lfsr_q <= 16'h1;
            hold_q <= '0;
            scan_q <= '0;
            clearing_q <= 1'b1;
        end else begin
            lfsr_q <= {lfsr_q[14:0], lfsr_q[15] ^ lfsr_q[14] ^ lfsr_q[12] ^ lfsr_q[3]};
            hold_q <= {hold_q[14:0], lfsr_q[7:0] < ctl_i.throttle};
            scan_q <= scan_q + 5'd1;
            if (scan_q == '1) clearing_q <= 1'b0;
        end
    end

    for (genvar p = 0; p < Cfg.N; p++) begin : gen_hold
        assign hold_o[p] = hold_q[(5*p)%16];
    end

    // ---- time limits: the period is that of a bit of a counter ----
    if (Cfg.Guard) begin : gen_tick
        logic [21:0] count_q;
        logic bit_q, bit_d;
        logic [1:0] periods_q;
        logic [2:0] tick_q;

        assign bit_d = ctl_i.limit != '0 && 32'(ctl_i.limit) <= 32'd22 && count_q[ctl_i.limit-5'd1];
        assign common_o.tick = tick_q;

        always_ff @(posedge clk_i) begin
            if (!rst_ni || go_i) begin
                count_q <= '0;
                bit_q <= 1'b0;
                periods_q <= '0;
                tick_q <= '0;
            end else begin
                count_q <= count_q + 22'd1;
                bit_q <= bit_d;
                tick_q <= '0;
                if (bit_q && !bit_d) begin
                    periods_q <= periods_q + 2'd1;
                    tick_q <= {periods_q == 2'd3, periods_q[0], 1'b1};
                end
            end
        end
    end else begin : gen_no_tick
        assign common_o.tick = '0;
    end
    assign common_o.step = scan_q == '1;

    // ---- counters: the cycles behind those with scan_q[0] are for reading ----
    logic [3:0] cnt_addr;
    assign cnt_addr = scan_q[0] ? ctl_i.cnt_idx : scan_q[4:1];

    always_ff @(posedge clk_i) begin
        common_o.cnt_clearing <= clearing_q;
        common_o.cnt_visit <= !scan_q[0];
        common_o.cnt_addr <= cnt_addr;
        common_o.cnt_at <= 15'(16'd1 << cnt_addr);
        for (int unsigned p = 0; p < Cfg.N; p++)
        cnt_read_o[p] <= scan_q[0] && ctl_i.cnt_port == packet_pkg::port_t'(p);
    end

    // Place of a state of port_counters' shift register in its order.
    function automatic logic [4:0] place(input logic [4:0] state);
        logic [4:0] s = '0;
        place = '0;
        for (int unsigned i = 0; i < 32; i++) begin
            if (s == state) place = 5'(i);
            s = 5'(ring_pkg::next(ring_pkg::ptr_t'(s), 5));
        end
    endfunction

    logic [26:0] cnt_high_q;
    logic [9:0] cnt_low_q;
    logic cnt_bytes_q;

    always_ff @(posedge clk_i) begin
        if (!common_o.cnt_visit) begin
            automatic bundle_pkg::counter_t read = '0;  // of a port that is not there: 0
            for (int unsigned p = 0; p < Cfg.N; p++) begin
                if (ctl_i.cnt_port == packet_pkg::port_t'(p)) read.high = cnt_i[p].high;
                read.low |= cnt_i[p].low;
            end
            cnt_high_q <= read.high;
            cnt_low_q <= read.low;
            cnt_bytes_q <= common_o.cnt_at[8] || common_o.cnt_at[9]
                           || (Cfg.MergeLoads && common_o.cnt_loads);
        end
    end
    always_comb begin
        cnt_data_o = {cnt_high_q, place(cnt_low_q[4:0])};
        if (cnt_bytes_q) cnt_data_o = {cnt_high_q[21:0], cnt_low_q};
    end

    // ---- errors ----
    always_comb begin
        err_take_o = '0;
        err_o.code = error_pkg::ERR_NONE;
        err_port_o = '0;
        for (int unsigned p = 0; p < Cfg.N; p++) begin
            if (err_i[p].valid && err_take_o == '0) begin
                err_take_o[p] = 1'b1;
                err_o.code = err_i[p].code;
                err_port_o = Cfg.PortW'(p);
            end
        end
    end
    assign err_o.valid = err_take_o != '0;

    // ---- monitors ----
    assign {common_o.mon_classes, common_o.mon_series, common_o.mon_word} = {
        ctl_i.mon_classes, ctl_i.mon_series, ctl_i.mon_word
    };
    if (Cfg.Monitor) begin : gen_monitor
        switch_monitor #(
            .Cfg(Cfg)
        ) i_monitor (
            .clk_i,
            .rst_ni,
            .clear_i(go_i),
            .run_i,
            .interval_i(ctl_i.mon_interval),
            .samples_o(mon_samples_o),
            .read_i(ctl_i.mon_read),
            .read_port_i(ctl_i.mon_port[Cfg.PortW-1:0]),
            .data_o(mon_data_o),
            .now_o(common_o.now),
            .count_o(common_o.mon_count),
            .sample_o(common_o.mon_sample),
            .idx_o(common_o.mon_idx),
            .read_o(mon_read_o),
            .data_i(mon_data_i)
        );
    end else begin : gen_no_monitor
        assign {common_o.now, common_o.mon_count, common_o.mon_sample, common_o.mon_idx} = '0;
        assign {mon_read_o, mon_samples_o, mon_data_o} = '0;
        for (genvar p = 0; p < Cfg.N; p++) begin : gen_unused
        end
    end

    `MW_CONTRACT(err_o.valid, err_o.code != error_pkg::ERR_NONE, "an error without a code")
    `MW_CONTRACT(1'b1, common_o.store_limit != '0 && common_o.part_limit != '0,
                 "a limit that stops all packets")
    `MW_CONTRACT(cnt_read_o != '0, !common_o.cnt_visit, "a counter is read in a cycle of the scan")
endmodule

`default_nettype wire
