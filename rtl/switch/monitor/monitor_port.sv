// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Latency histogram and time series of one port of the switch.
//
// Function: Histogram: a packet with leave_i counts in the bin of its latency until the next
// clear_i. The latency is the number of cycles from its stamp to its first flit on the downlink,
// modulo 2^StampW. A bin is exact below 2^(SubLog2+1) cycles. Above, each octave has 2^SubLog2 bins
// of equal width. Time series: a sample has four counts of cycles in its interval: a flit came, a
// flit left, a store copy waited for a credit, a store copy waited for its output.
// Ports: The interval ends with sample_i, including this cycle. Its two words {down, up} and {turn,
// credit} are written to 2 sample_idx_i and the next place, in this cycle and the next. A read of a
// word that is being written is undefined. Intervals have 2 to 65 535 cycles, so nothing overflows.
// Latency: One packet per cycle, counted exactly, visible in data_o after at most 4 cycles.
`default_nettype none

module monitor_port #(
    localparam int unsigned StampW = map_pkg::MonitorStampBits,
    localparam int unsigned SubLog2 = map_pkg::MonitorSubLog2,
    localparam int unsigned Samples = map_pkg::MonitorSamples,  // a power of two
    localparam int unsigned Bins = (StampW - SubLog2 + 1) << SubLog2,
    localparam int unsigned BinW = $clog2(Bins),
    localparam int unsigned WordW = $clog2(Samples) + 1
) (
    input  wire logic              clk_i,
    input  wire logic              clear_i,  // of the histogram, and a new interval
    input  wire logic [StampW-1:0] now_i,

    input  wire logic              leave_i,    // a packet leaves: its first flit is on the
                                               // downlink in two cycles
    input  wire logic [1:0]        leave_cls_i,
    // now_i when its first flit came; of a result, the first flit of its request
    input  wire logic [StampW-1:0] leave_stamp_i,
    input  wire logic [3:0]        classes_i,  // classes that count

    input  wire logic             count_i,   // the cycle belongs to an interval
    input  wire logic [3:0]       events_i,  // a flit up, one down, a store copy waits for a
                                             // credit, for its turn
    input  wire logic             sample_i,
    input  wire logic [WordW-2:0] sample_idx_i,

    input  wire logic             read_i,    // data_o is there in the next cycle, while
                                             // the inputs below stay
    input  wire logic             series_i,  // a word of the time series, or a bin
    input  wire logic [WordW-1:0] word_i,
    output logic [31:0]           data_o
);
    // ---- histogram ----
    logic leave_q, hit_q;
    logic [StampW-1:0] latency_q;
    logic [BinW-1:0] bin_q, bin;
    logic [31:0] bin_data, word_data;
    logic [Bins-1:0] touched_q;  // bins that have counted since clear_i; of the others
                                 // the memory holds anything

    function automatic logic [BinW-1:0] bin_of(input logic [StampW-1:0] latency);
        bin_of = BinW'(latency);
        for (int unsigned e = SubLog2 + 1; e < StampW; e++) begin
            if (latency[e])
                bin_of = BinW'((e - SubLog2 + 1) << SubLog2) | BinW'(latency[e-1-:SubLog2]);
        end
    endfunction

    (* ram_style = "distributed" *)
    logic [31:0] mem[Bins];

    always_ff @(posedge clk_i) begin
        leave_q <= leave_i && classes_i[leave_cls_i];
        if (leave_i) latency_q <= now_i + StampW'(2) - leave_stamp_i;
        hit_q <= leave_q && !clear_i;
        if (leave_q) bin_q <= bin_of(latency_q);
        if (hit_q) mem[bin_q] <= (touched_q[bin_q] ? mem[bin_q] : 32'd0) + 32'd1;
        if (read_i) bin_data <= touched_q[bin] ? mem[bin] : 32'd0;
        if (clear_i) touched_q <= '0;
        else if (hit_q) touched_q[bin_q] <= 1'b1;
    end

    assign bin = word_i[BinW-1:0];
    assign data_o = series_i ? word_data : bin_data;

    // ---- time series ----
    logic [3:0][15:0] count_q, count;
    logic [31:0] second_q;  // second word of the sample whose first one was
                            // written in the last cycle
    logic [WordW-2:0] second_idx_q;
    logic second_valid_q;

    always_comb begin
        count = count_q;
        if (count_i) begin
            for (int unsigned e = 0; e < 4; e++) count[e] = count_q[e] + 16'(events_i[e]);
        end
    end

    always_ff @(posedge clk_i) begin
        second_valid_q <= sample_i;
        if (sample_i) begin
            second_q <= count[3:2];
            second_idx_q <= sample_idx_i;
        end
        if (clear_i || sample_i) count_q <= '0;
        else if (count_i) count_q <= count;
    end

    ram_sdp #(
        .Width(32),
        .Depth(2 * Samples)
    ) i_series (
        .clk_i,
        .we_i(sample_i || second_valid_q),
        .waddr_i(second_valid_q ? {second_idx_q, 1'b1} : {sample_idx_i, 1'b0}),
        .wdata_i(second_valid_q ? second_q : count[1:0]),
        .wbe_i('1),
        .re_i(read_i),
        .raddr_i(word_i),
        .rdata_o(word_data)
    );
endmodule

`default_nettype wire
