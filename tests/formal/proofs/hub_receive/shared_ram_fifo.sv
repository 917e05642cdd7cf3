// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The owner of the RAM has jobs of up to Job cycles, and may read in each of them. It begins none
// while wait_o is high.
`default_nettype none

module prove_shared_ram_fifo #(
    parameter int unsigned Depth = 4,
    parameter int unsigned Job = 3
) (
    input wire logic clk_i, watch_i, push_i, ready_i, last_i, data_i, begin_i, end_i, read_i,
    input wire logic [$clog2(Depth+1)-1:0] own_addr_i
);
    localparam int unsigned AddrW = $clog2(Depth + 1), LevelW = AddrW;

    logic rst_n, we, re, waits, valid, data, rdata, taken;
    logic [AddrW-1:0] waddr, raddr;
    logic [$clog2(Depth+1)-1:0] level, count;
    logic [1:0] job_q;   // remaining cycles of the job, at most

    f_reset i_reset (.clk_i, .rst_no(rst_n));

    assign taken = job_q != '0 && read_i;

    always_ff @(posedge clk_i) begin
        if (!rst_n) job_q <= '0;
        else if (job_q != '0 && !end_i) job_q <= job_q - 1'b1;
        else job_q <= (begin_i && !waits) ? 2'(Job) : '0;
    end

    shared_ram_fifo #(.Width(1), .Depth(Depth)) i_dut (
        .clk_i, .rst_ni(rst_n), .push_i, .data_i, .we_o(we), .waddr_o(waddr),
        .free_i(job_q == '0), .taken_i(taken), .re_o(re), .raddr_o(raddr),
        .rdata_i(rdata), .wait_o(waits),
        .valid_o(valid), .ready_i, .data_o(data), .last_i, .level_o(level)
    );
    ram_sdp #(.Width(1), .Depth(2 << AddrW)) i_ram (
        .clk_i, .we_i(we), .waddr_i({1'b0, waddr}), .wdata_i(data_i), .wbe_i(1'b1),
        .re_i(re || taken), .raddr_i(taken ? {1'b1, own_addr_i} : {1'b0, raddr}), .rdata_o(rdata)
    );
    f_queue #(.Depth(Depth), .Latency(Job + 4)) i_queue (
        .clk_i, .rst_ni(rst_n), .watch_i, .push_i(push_i && level != LevelW'(Depth)), .in_i(data_i),
        .accept_i(level != LevelW'(Depth)), .pop_i(valid && ready_i), .show_i(valid),
        .out_i(data), .count_o(count)
    );
    f_stream i_out (.clk_i, .rst_ni(rst_n), .valid_i(valid), .ready_i, .data_i(data), .last_i(1'b1),
                    .inside_o());

    always_ff @(posedge clk_i) if (rst_n) a_level: assert (level == count);

    // reachable under the assumptions
    always_ff @(posedge clk_i) begin
        if (rst_n) begin
            c_taken: cover (taken && count == AddrW'(Depth));
            c_waits: cover (waits || Depth == 1);
            c_job:   cover (job_q == 2'd1 && end_i);
        end
    end
endmodule

`default_nettype wire
