// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Marks the GPUs that have received a smaller part of their partial sums from this hub than all
// GPUs together. row_sum serves marked GPUs first, so that all end together. For layers with
// uses.balance_rows.
//
// Function: T[g] is the number of rows that GPU g will request here, by its copy count, and D[g]
// those whose last packet has been chosen (done_i). T and D are the sums over all other GPUs. One
// comparison after the other sets mark g if D T[g] > D[g] T. Both products are made together, one
// bit of T[g] and of D[g] per cycle. Marks begin when the copy counts of all GPUs are here. go_i
// clears marks and D. A cached layer keeps T of its forward layer. D[g] includes rows that no copy
// count announces, such as those that return singly. It stops at 2^(TokensLog2 + 1) - 1.
// Ports: behind_o[g] is mark g. The own GPU has no mark.
// Order: A comparison sees all events before its first cycle.
// Back-pressure: None. A comparison starts in a cycle without done_i.
// Latency: A comparison takes TokensLog2 + 2 cycles, and one for each event at its start. A mark is
// renewed after N comparisons.
`default_nettype none
`include "assert.svh"

module row_balance #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire logic                go_i,
    input  wire node_pkg::node_cfg_t cfg_i,

    input  wire bundle_pkg::count_t cnt_i,          // of each GPU once, see count_once
    input  wire logic               copies_here_i,  // the copy counts of all GPUs are
    input  wire bundle_pkg::port_t  done_i,         // a row for this other GPU

    output logic [Cfg.N-1:0] behind_o
);
    localparam int unsigned CountW = Cfg.TokensLog2 + 1;  // rows of a GPU
    localparam int unsigned AllW = Cfg.TokW + 1;  // rows of all
    localparam int unsigned DiffW = AllW + CountW + 1;

    logic anew, count, adds, start, last_bit;
    logic [Cfg.GpuW-1:0] gpu_q, from, at;
    logic [Cfg.N-1:0] counted_q, done_q;  // T, D of a GPU are in the tables
    logic [CountW-1:0] rows_word, done_word, rows, done;
    logic [AllW-1:0] rows_all_q, done_all_q;

    assign anew = go_i && !(Cfg.CachedHandle && cfg_i.cached);
    assign count = cnt_i.valid && cnt_i.kind && cnt_i.idx == cfg_i.port && cnt_i.src != cfg_i.port;
    assign from = cnt_i.src[Cfg.GpuW-1:0];
    assign at = done_i.valid ? done_i.port[Cfg.GpuW-1:0] : gpu_q;
    assign rows = counted_q[at] ? rows_word : '0;
    assign done = done_q[at] ? done_word : '0;
    assign adds = done_i.valid && done != '1;

    lutram #(
        .Width(CountW),
        .Depth(Cfg.N)
    ) i_rows (
        .clk_i,
        .we_i(count),
        .waddr_i(from),
        .wdata_i(cnt_i.val[CountW-1:0]),
        .raddr_i(at),
        .rdata_o(rows_word)
    );

    lutram #(
        .Width(CountW),
        .Depth(Cfg.N)
    ) i_done (
        .clk_i,
        .we_i(adds),
        .waddr_i(at),
        .wdata_i(done + 1'b1),
        .raddr_i(at),
        .rdata_o(done_word)
    );

    always_ff @(posedge clk_i) begin
        if (!rst_ni || anew) begin
            counted_q <= '0;
            rows_all_q <= '0;
        end else if (count) begin
            counted_q[from] <= 1'b1;
            rows_all_q <= rows_all_q + AllW'(cnt_i.val[CountW-1:0]);
        end
        if (!rst_ni || go_i) begin
            done_q <= '0;
            done_all_q <= '0;
        end else if (adds) begin
            done_q[at] <= 1'b1;
            done_all_q <= done_all_q + 1'b1;
        end
    end

    // ---- one comparison after the other ---------------------------------------------------------
    logic busy_q;
    logic [$clog2(CountW)-1:0] bit_q;
    logic [CountW-1:0] rows_q, done_bits_q;  // of gpu_q, the next bit on top
    logic [AllW-1:0] all_q;  // D when the comparison started
    logic signed [DiffW-1:0] diff_q, diff;

    assign start = cfg_i.balance_rows && copies_here_i && !busy_q && !done_i.valid;
    assign last_bit = bit_q == ($clog2(CountW))'(CountW - 1);
    assign diff = (diff_q <<< 1) + (rows_q[CountW-1] ? DiffW'(all_q) : '0)
                  - (done_bits_q[CountW-1] ? DiffW'(rows_all_q) : '0);

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) begin
            busy_q <= 1'b0;
            gpu_q <= '0;
            behind_o <= '0;
        end else if (start) begin
            busy_q <= 1'b1;
        end else if (busy_q && last_bit) begin
            busy_q <= 1'b0;
            gpu_q <= (gpu_q == Cfg.GpuW'(Cfg.N - 1)) ? '0 : gpu_q + 1'b1;
            behind_o[gpu_q] <= diff > 0;
        end
        if (start) begin
            bit_q <= '0;
            rows_q <= rows;
            done_bits_q <= done;
            all_q <= done_all_q;
            diff_q <= '0;
        end else if (busy_q) begin
            bit_q <= bit_q + 1'b1;
            rows_q <= rows_q << 1;
            done_bits_q <= done_bits_q << 1;
            diff_q <= diff;
        end
    end

    `MW_CONTRACT(done_i.valid, done_i.port != cfg_i.port, "an own row counts as one of another GPU")
    `MW_CONTRACT(count, !copies_here_i, "a copy count comes behind the last one")
endmodule

`default_nettype wire
