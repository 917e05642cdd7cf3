// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// What the ports of the switch share: limits, throttle, time base of the time limits, scan and read-out of the counters, time of the monitors, and the queue of errors.
//
// Errors are reported one per cycle, lowest port first.
`default_nettype none

module switch_common #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    localparam int unsigned MonW = $clog2(map_pkg::MonitorSamples)
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,
    input  wire logic go_i,
    input  wire logic run_i,

    // see switch_top
    input  wire logic [7:0]  throttle_i,
    input  wire logic [7:0]  store_credits_i,
    input  wire logic [7:0]  part_credits_i,
    input  wire logic [4:0]  window_i,
    input  wire logic [4:0]  limit_i,
    input  wire logic [4:0]  cnt_port_i,
    input  wire logic [3:0]  cnt_idx_i,
    output logic [31:0]      cnt_data_o,
    input  wire logic [15:0] mon_interval_i,
    output logic [31:0]      mon_samples_o,
    input  wire logic        mon_read_i,
    input  wire logic [4:0]  mon_port_i,
    output logic [31:0]      mon_data_o,
    output logic             err_valid_o,
    output error_pkg::err_e  err_code_o,
    output logic [4:0]       err_port_o,

    // to and from the ports
    output logic [Cfg.StoreW-1:0] store_limit_o,
    output logic [Cfg.PartW-1:0]  part_limit_o,
    output logic [Cfg.SeqW-1:0]   window_limit_o, // 0: none
    output logic [Cfg.N-1:0]      hold_o,
    output logic [2:0]            tick_o,         // end of a period of the time limits, of 2, of 4
    output logic                  step_o,         // every 32 cycles
    output logic                  cnt_clearing_o, // counters: see port_counters
    output logic                  cnt_visit_o,
    output logic [Cfg.N-1:0]      cnt_read_o,
    output logic [3:0]            cnt_addr_o,
    output logic [14:0]           cnt_at_o,
    input  wire logic [26:0]      cnt_high_i [Cfg.N],
    input  wire logic [9:0]       cnt_low_i [Cfg.N],
    input  wire logic [Cfg.N-1:0] err_waits_i,
    input  wire error_pkg::err_e  err_code_i [Cfg.N],
    output logic [Cfg.N-1:0]      err_take_o,
    output logic [Cfg.StampB-1:0] now_o,          // monitors: see switch_monitor
    output logic                  mon_count_o,
    output logic                  mon_sample_o,
    output logic [MonW-1:0]       mon_idx_o,
    output logic [Cfg.N-1:0]      mon_read_o,
    input  wire logic [31:0]      mon_data_i [Cfg.N]
);
    // ---- limits ----
    always_ff @(posedge clk_i) begin
        store_limit_o <= (store_credits_i == '0 || store_credits_i > 8'(Cfg.RxStorePkts)) ? Cfg.StoreW'(Cfg.RxStorePkts) : Cfg.StoreW'(store_credits_i);
        part_limit_o  <= (part_credits_i == '0 || part_credits_i > 8'(Cfg.RxResultPkts)) ? Cfg.PartW'(Cfg.RxResultPkts) : Cfg.PartW'(part_credits_i);
    end
    assign window_limit_o = (window_i > 5'(Cfg.Window)) ? Cfg.SeqW'(Cfg.Window) : Cfg.SeqW'(window_i);

    // ---- throttle ----
    logic [15:0] lfsr_q, hold_q;
    logic [4:0]  scan_q;
    logic        clearing_q;

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) begin
            lfsr_q         <= 16'h1;
            hold_q         <= '0;
            scan_q         <= '0;
            clearing_q     <= 1'b1;
        end else begin
            lfsr_q <= {lfsr_q[14:0], lfsr_q[15] ^ lfsr_q[14] ^ lfsr_q[12] ^ lfsr_q[3]};
            hold_q <= {hold_q[14:0], lfsr_q[7:0] < throttle_i};
            scan_q <= scan_q + 5'd1;
            if (scan_q == '1) clearing_q <= 1'b0;
        end
    end

    for (genvar p = 0; p < Cfg.N; p++) begin : gen_hold
        assign hold_o[p] = hold_q[(5 * p) % 16];
    end
    wire unused_hold = &{1'b0, hold_q};

    // ---- time limits: the period is that of a bit of a counter ----
    if (Cfg.Guard) begin : gen_tick
        logic [21:0] count_q;
        logic        bit_q, bit_d;
        logic [1:0]  periods_q;
        logic [2:0]  tick_q;

        assign bit_d  = limit_i != '0 && 32'(limit_i) <= 32'd22 && count_q[limit_i - 5'd1];
        assign tick_o = tick_q;

        always_ff @(posedge clk_i) begin
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
        assign tick_o = '0;
        wire unused_limit = &{1'b0, limit_i};
    end
    assign step_o = scan_q == '1;

    // ---- counters: the cycles behind those with scan_q[0] are for reading ----
    logic [3:0] cnt_addr;
    assign cnt_addr = scan_q[0] ? cnt_idx_i : scan_q[4:1];

    always_ff @(posedge clk_i) begin
        cnt_clearing_o <= clearing_q;
        cnt_visit_o    <= !scan_q[0];
        cnt_addr_o     <= cnt_addr;
        cnt_at_o       <= 15'(16'd1 << cnt_addr);
        for (int unsigned p = 0; p < Cfg.N; p++) cnt_read_o[p] <= scan_q[0] && cnt_port_i == 5'(p);
    end

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
        if (!cnt_visit_o) begin
            automatic logic [9:0] low = '0;
            for (int unsigned p = 0; p < Cfg.N; p++) begin
                if (cnt_port_i == 5'(p)) cnt_high_q <= cnt_high_i[p];
                low |= cnt_low_i[p];
            end
            cnt_low_q   <= low;
            cnt_bytes_q <= cnt_at_o[8] || cnt_at_o[9];
        end
    end
    assign cnt_data_o = cnt_bytes_q ? {cnt_high_q[21:0], cnt_low_q} : {cnt_high_q, place(cnt_low_q[4:0])};

    // ---- errors ----
    always_comb begin
        err_take_o = '0;
        err_code_o = error_pkg::ERR_NONE;
        err_port_o = '0;
        for (int unsigned p = 0; p < Cfg.N; p++) begin
            if (err_waits_i[p] && err_take_o == '0) begin
                err_take_o[p] = 1'b1;
                err_code_o    = err_code_i[p];
                err_port_o    = 5'(p);
            end
        end
    end
    assign err_valid_o = err_waits_i != '0;

    // ---- monitors ----
    if (Cfg.Monitor) begin : gen_monitor
        switch_monitor #(.Cfg(Cfg)) i_monitor (
            .clk_i, .rst_ni, .clear_i(go_i), .run_i, .interval_i(mon_interval_i), .samples_o(mon_samples_o), .read_i(mon_read_i), .read_port_i(mon_port_i), .data_o(mon_data_o),
            .now_o, .count_o(mon_count_o), .sample_o(mon_sample_o), .idx_o(mon_idx_o), .read_o(mon_read_o), .data_i(mon_data_i)
        );
    end else begin : gen_no_monitor
        assign {now_o, mon_count_o, mon_sample_o, mon_idx_o, mon_read_o, mon_samples_o, mon_data_o} = '0;
        wire unused_monitor = &{1'b0, run_i, mon_interval_i, mon_read_i, mon_port_i};
        for (genvar p = 0; p < Cfg.N; p++) begin : gen_unused
            wire unused_data = &{1'b0, mon_data_i[p]};
        end
    end
endmodule

`default_nettype wire
