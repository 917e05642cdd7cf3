// SPDX-License-Identifier: Apache-2.0
//
// experiments/node_threads/rewrite turns a sample, a register or a memory, into one with N threads.
// The proof compares it with N copies of the sample. In the clock of thread t only copy t advances,
// and its output equals that of the threaded one. Inputs are free in every clock, so those of
// different threads are independent.
`default_nettype none

module prove_threads #(
    parameter int unsigned Rule = 0,
    parameter int unsigned N = 3,
    localparam int unsigned ThreadW = $clog2(N)
) (
    input wire logic       clk_i,
    input wire logic       a_i,
    input wire logic       r_i,
    input wire logic       we_i,
    input wire logic       waddr_i,
    input wire logic       raddr_i,
    input wire logic [1:0] d_i
);
    logic [ThreadW-1:0] thread_q = '0;
    always_ff @(posedge clk_i) thread_q <= thread_q == ThreadW'(N - 1) ? '0 : thread_q + 1'b1;

    logic [1:0] y, of [N];
    sample_threads i_threaded (.clk_i, .ce_i(1'b1), .a_i, .r_i, .we_i, .waddr_i, .raddr_i, .d_i,
                               .y_o(y),
                               .thread_i(thread_q));
    for (genvar t = 0; t < N; t++) begin : gen_copy
        sample #(.Rule(Rule), .Gated(1'b1)) i_copy (
            .clk_i, .ce_i(thread_q == ThreadW'(t)), .a_i, .r_i, .we_i, .waddr_i,
            .raddr_i, .d_i, .y_o(of[t])
        );
    end

    // A read register without an initial value is undefined until it has read. With Rule 11 and 12
    // a read of a word that is being written is undefined.
    localparam bit Open = (Rule >= 11 && Rule <= 15) || Rule == 17 || Rule >= 19;
    logic [N-1:0] read_q = '0;
    logic         reads;
    assign reads = Rule == 11 || Rule == 13 || Rule == 20 || a_i;
    always_ff @(posedge clk_i) if (reads) read_q[thread_q] <= 1'b1;

    if (Rule == 11 || Rule == 12) begin : gen_any
        always_comb m_apart: assume (!(we_i && reads && waddr_i == raddr_i));
    end
    always_comb begin
        a_same: assert (Open && !read_q[thread_q] || y == of[thread_q]);
    end

    always_ff @(posedge clk_i) begin
        c_changed: cover (read_q == '1 && y != 2'b01 && y != 2'b10);
    end
endmodule

`default_nettype wire
