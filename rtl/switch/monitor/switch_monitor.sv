// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Time base and read-out of the monitors of all ports (monitor_port).
//
// Ports: now_o is the stamp that packets carry. A layer is divided into intervals of interval_i
// cycles, from the first cycle with run_i on. The last interval ends with the layer. samples_o is
// the number of samples since clear_i. The monitors keep the last Samples of them: sample s lies at
// s modulo Samples. An interval of 0 or 1 records nothing.
`default_nettype none
`include "assert.svh"

module switch_monitor #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    localparam int unsigned StampW = map_pkg::MonitorStampBits,
    localparam int unsigned IdxW = $clog2(map_pkg::MonitorSamples)
) (
    input  wire logic        clk_i,
    input  wire logic        rst_ni,
    input  wire logic        clear_i,     // a layer starts
    input  wire logic        run_i,       // a layer runs, from the cycle after clear_i on
    input  wire logic [15:0] interval_i,  // changes only when no layer runs
    output logic [31:0]      samples_o,
    input  wire logic        read_i,      // data_o follows after 2 cycles
    input  wire logic [Cfg.PortW-1:0] read_port_i,
    output logic [31:0]      data_o,

    // to and from the monitors
    output logic [StampW-1:0] now_o,
    output logic              count_o,   // the cycle belongs to an interval,
    output logic              sample_o,  // is its last one
    output logic [IdxW-1:0]   idx_o,     // the sample's place
    output logic [Cfg.N-1:0]  read_o,
    input  wire logic [31:0]  data_i [Cfg.N]
);
    // ---- time ----
    logic [15:0] count_q;  // cycles of the interval
    logic run_q, last;

    assign count_o = run_i && interval_i > 16'd1;
    assign last = count_o && count_q == interval_i - 16'd1;
    assign sample_o = last || (run_q && !run_i && count_q != '0);

    always_ff @(posedge clk_i) begin
        now_o <= rst_ni ? now_o + 1'b1 : '0;
        run_q <= run_i;
        if (!rst_ni || clear_i) begin
            count_q <= '0;
            samples_o <= '0;
        end else begin
            if (sample_o) begin
                count_q <= '0;
                samples_o <= samples_o + 32'd1;
            end else if (count_o) begin
                count_q <= count_q + 16'd1;
            end
        end
    end

    assign idx_o = samples_o[IdxW-1:0];

    // ---- read-out ----
    for (genvar p = 0; p < Cfg.N; p++) begin : gen_read
        assign read_o[p] = read_i && read_port_i == Cfg.PortW'(p);
    end

    always_ff @(posedge clk_i)
        if (read_i) begin
            data_o <= '0;
            for (int unsigned p = 0; p < Cfg.N; p++) begin
                if (read_port_i == Cfg.PortW'(p)) data_o <= data_i[p];
            end
        end

    `MW_CONTRACT(sample_o && count_o, count_q < interval_i, "an interval that is too long")
    `MW_NEXT(count_o, !count_o || $stable(interval_i), "the interval changes in a layer")
endmodule

`default_nettype wire
