// SPDX-License-Identifier: Apache-2.0
//
// What experiments/node_threads/rewrite makes of a register or memory of a sample, with N threads,
// against N copies of that sample: in the clock of thread t only copy t goes on, and what is to be
// seen of it is to be seen of the threaded one. Inputs are any in any clock, so those of one thread
// have nothing to do with those of another.
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

    // A read register without a value to begin with shows anything until it has read; where such a
    // memory is written and read at one address, it reads anything.
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
