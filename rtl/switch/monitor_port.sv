// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// What one port of the switch shows of its time: a histogram of the latencies of the packets that leave it, and a time series of what goes on at its links.
//
// Histogram: a packet with leave_i counts in the bin of latency_i, up to the next clear_i. A bin is exact below 2^(SubLog2+1) cycles; above, each octave
// has 2^SubLog2 bins of equal width. One packet per cycle, counted exactly, seen in bin_data_o after at most 4 cycles.
//
// Time series: a sample holds in how many cycles of its interval a flit came and one left, and a store copy waited for a credit and for its turn.
// With sample_i the interval ends, this cycle included; its two words {down, up}, {turn, credit} are written to 2 sample_idx_i and the place behind in
// this cycle and the next. Intervals have at least 2 cycles and at most 65 535, so nothing overflows. Words that are being written read as anything.
`default_nettype none

module monitor_port #(
    parameter int unsigned LatencyW = 17,
    parameter int unsigned SubLog2 = 2,
    parameter int unsigned Samples = 128,   // a power of two
    localparam int unsigned Bins = (LatencyW - SubLog2 + 1) << SubLog2,
    localparam int unsigned BinW = $clog2(Bins),
    localparam int unsigned WordW = $clog2(Samples) + 1
) (
    input  wire logic                clk_i,
    input  wire logic                clear_i,       // of the histogram, and a new interval

    input  wire logic                leave_i,
    input  wire logic [LatencyW-1:0] latency_i,     // cycles

    input  wire logic                count_i,       // the cycle belongs to an interval
    input  wire logic [3:0]          events_i,      // a flit up, one down, a store copy waits for a credit, for its turn
    input  wire logic                sample_i,
    input  wire logic [WordW-2:0]    sample_idx_i,

    input  wire logic                read_i,        // both are read, the data are there in the next cycle
    input  wire logic [BinW-1:0]     bin_i,
    input  wire logic [WordW-1:0]    word_i,
    output logic [31:0]              bin_data_o,
    output logic [31:0]              word_data_o
);
    // ---- histogram ----
    logic             leave_q;
    logic [BinW-1:0]  bin_q;
    logic [Bins-1:0]  touched_q;   // bins that have counted since clear_i; of the others the memory holds anything

    function automatic logic [BinW-1:0] bin_of(input logic [LatencyW-1:0] latency);
        bin_of = BinW'(latency);
        for (int unsigned e = SubLog2 + 1; e < LatencyW; e++) begin
            if (latency[e]) bin_of = BinW'((e - SubLog2 + 1) << SubLog2) | BinW'(latency[e-1 -: SubLog2]);
        end
    endfunction

    (* ram_style = "distributed" *)
    logic [31:0] mem [Bins];

    always_ff @(posedge clk_i) begin
        leave_q <= leave_i && !clear_i;
        if (leave_i) bin_q <= bin_of(latency_i);
        if (leave_q) mem[bin_q] <= (touched_q[bin_q] ? mem[bin_q] : 32'd0) + 32'd1;
        if (read_i)  bin_data_o <= touched_q[bin_i] ? mem[bin_i] : 32'd0;
        if (clear_i) touched_q <= '0;
        else if (leave_q) touched_q[bin_q] <= 1'b1;
    end

    // ---- time series ----
    logic [3:0][15:0] count_q, count;
    logic [31:0]      second_q;      // second word of the sample whose first one was written in the last cycle
    logic [WordW-2:0] second_idx_q;
    logic             second_valid_q;

    always_comb begin
        count = count_q;
        if (count_i) begin
            for (int unsigned e = 0; e < 4; e++) count[e] = count_q[e] + 16'(events_i[e]);
        end
    end

    always_ff @(posedge clk_i) begin
        second_valid_q <= sample_i;
        if (sample_i) begin
            second_q     <= count[3:2];
            second_idx_q <= sample_idx_i;
        end
        if (clear_i || sample_i) count_q <= '0;
        else if (count_i) count_q <= count;
    end

    ram_sdp #(.Width(32), .Depth(2 * Samples)) i_series (
        .clk_i,
        .we_i    (sample_i || second_valid_q),
        .waddr_i (second_valid_q ? {second_idx_q, 1'b1} : {sample_idx_i, 1'b0}),
        .wdata_i (second_valid_q ? second_q : count[1:0]),
        .wbe_i   ('1),
        .re_i    (read_i),
        .raddr_i (word_i),
        .rdata_o (word_data_o)
    );
endmodule

`default_nettype wire
