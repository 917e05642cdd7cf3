// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Bench for fifo and fifo_ram in fifo_sized: queues of many depths side by side, each with its own
// ports. Queue i has depth Depths[i]. From FirstRam on, queues are in block RAM.
// tests/unit/common/test_fifo_sizes.cpp has the same list.
`default_nettype none

module fifo_sizes #(
    localparam int unsigned Count    = 14,
    localparam int unsigned FirstRam = 7
) (
    input  wire logic        clk_i,
    input  wire logic        rst_ni,
    input  wire logic        valid_i [Count],
    output logic             ready_o [Count],
    input  wire logic [31:0] data_i  [Count],
    output logic             valid_o [Count],
    input  wire logic        ready_i [Count],
    output logic [31:0]      data_o  [Count],
    output logic [31:0]      level_o [Count]
);
    localparam int unsigned Depths [Count] = '{1, 2, 3, 5, 16, 17, 64, 1, 2, 3, 4, 7, 64, 100};

    for (genvar i = 0; i < Count; i++) begin : gen_queue
        logic [$clog2(Depths[i]+1)-1:0] level;
        assign level_o[i] = 32'(level);
        fifo_sized #(.Width(32), .Depth(Depths[i]), .LutDepth((i < FirstRam) ? 64 : 0)) i_dut (
            .clk_i, .rst_ni, .valid_i(valid_i[i]), .ready_o(ready_o[i]), .data_i(data_i[i]),
            .valid_o(valid_o[i]), .ready_i(ready_i[i]), .data_o(data_o[i]), .level_o(level)
        );
    end
endmodule

`default_nettype wire
