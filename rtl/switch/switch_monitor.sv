// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The monitors of all ports, and the time that they share: now_o, which packets take along as their stamp, and the intervals of the time series.
//
// Latency of a packet: cycles from its first flit on the uplink to its first flit on the downlink; of a result, from the first flit of its request.
// It counts where it leaves, if its class is one of classes_i, modulo 2^StampW.
// A layer is cut into intervals of interval_i cycles, from the first cycle with run_i on; the last one is as long as it is. samples_o of them were
// recorded since clear_i, of which the monitors keep the last Samples: sample s lies at s modulo Samples. An interval of 0 or 1 records nothing.
`default_nettype none

module switch_monitor #(
    parameter int unsigned N = 4,
    localparam int unsigned StampW = map_pkg::MonitorStampBits,
    localparam int unsigned SubLog2 = map_pkg::MonitorSubLog2,
    localparam int unsigned Samples = map_pkg::MonitorSamples,
    localparam int unsigned BinW = $clog2((StampW - SubLog2 + 1) << SubLog2),
    localparam int unsigned IdxW = $clog2(Samples)
) (
    input  wire logic              clk_i,
    input  wire logic              rst_ni,
    input  wire logic              clear_i,       // a layer starts
    input  wire logic              run_i,         // a layer runs, from the cycle after clear_i on
    input  wire logic [15:0]       interval_i,    // changes only when no layer runs
    input  wire logic [3:0]        classes_i,
    output logic [StampW-1:0]      now_o,

    input  wire logic [N-1:0]      leave_i,       // a packet leaves: its first flit is on the downlink in two cycles
    input  wire logic [1:0]        leave_cls_i [N],
    input  wire logic [StampW-1:0] leave_stamp_i [N],
    input  wire logic              up_valid_i [N],
    input  wire logic              dn_valid_i [N],
    input  wire logic [N-1:0]      wait_credit_i, // a store copy waits for it
    input  wire logic [N-1:0]      wait_turn_i,

    output logic [31:0]            samples_o,
    input  wire logic              read_i,        // data_o follows after 2 cycles
    input  wire logic [4:0]        read_port_i,
    input  wire logic              read_series_i, // a word of the time series, or a bin
    input  wire logic [IdxW:0]     read_word_i,
    output logic [31:0]            data_o
);
    // ---- time ----
    logic [15:0] count_q;      // cycles of the interval
    logic        run_q, on, last, sample;

    assign on     = run_i && interval_i > 16'd1;
    assign last   = on && count_q == interval_i - 16'd1;
    assign sample = last || (run_q && !run_i && count_q != '0);

    always_ff @(posedge clk_i) begin
        now_o <= rst_ni ? now_o + 1'b1 : '0;
        run_q <= run_i;
        if (!rst_ni || clear_i) begin
            count_q   <= '0;
            samples_o <= '0;
        end else begin
            if (sample) begin
                count_q   <= '0;
                samples_o <= samples_o + 32'd1;
            end else if (on) begin
                count_q <= count_q + 16'd1;
            end
        end
    end

    // ---- ports ----
    logic [31:0] bin_data [N], word_data [N];

    for (genvar p = 0; p < N; p++) begin : gen_port
        logic              leave_q;
        logic [StampW-1:0] latency_q;
        logic              at;

        assign at = read_i && read_port_i == 5'(p);

        always_ff @(posedge clk_i) begin
            leave_q <= leave_i[p] && classes_i[leave_cls_i[p]];
            if (leave_i[p]) latency_q <= now_o + StampW'(2) - leave_stamp_i[p];
        end

        monitor_port #(.LatencyW(StampW), .SubLog2(SubLog2), .Samples(Samples)) i_port (
            .clk_i, .clear_i(!rst_ni || clear_i),
            .leave_i(leave_q), .latency_i(latency_q),
            .count_i(on), .events_i({wait_turn_i[p], wait_credit_i[p], dn_valid_i[p], up_valid_i[p]}),
            .sample_i(sample), .sample_idx_i(samples_o[IdxW-1:0]),
            .read_i(at), .bin_i(read_word_i[BinW-1:0]), .word_i(read_word_i), .bin_data_o(bin_data[p]), .word_data_o(word_data[p])
        );
    end

    always_ff @(posedge clk_i) if (read_i) begin
        data_o <= '0;
        for (int unsigned p = 0; p < N; p++) begin
            if (read_port_i == 5'(p)) data_o <= read_series_i ? word_data[p] : bin_data[p];
        end
    end
endmodule

`default_nettype wire
