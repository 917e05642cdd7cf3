// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Collects opened rows that concern one endpoint, and offers them as GRANT packets of up to three
// rows.
//
// Order: The order in which rows were opened.
// Back-pressure: While full_o is high, no row that concerns the endpoint is opened. A row that was
// decided in the previous cycle still comes. Packets leave without credit, so this state ends.
// Latency: A packet is offered (valid_o) when three rows are present, or when its first row has
// waited for 16 cycles. Its lanes are stable until sent_i. A row waits for earlier packets and for
// 16 cycles.
`default_nettype none
`include "assert.svh"

module grant_queue #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter int unsigned Places = 16  // LUT RAM comes in 16 words
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    input  wire logic                      push_i,
    input  wire logic [Cfg.GpuW-1:0]       home_i,
    input  wire logic [Cfg.TokensLog2-1:0] index_i,
    output logic                           full_o,

    output logic        valid_o,
    output logic [63:0] upper_o,  // half of the header
    input  wire logic   sent_i,

    output logic idle_o
);
    import packet_pkg::*;

    logic there, pop, room;
    logic [$clog2(Places+1)-1:0] level;
    logic [Cfg.GpuW-1:0] home;
    logic [Cfg.TokensLog2-1:0] index;
    logic [1:0] count_q;  // lanes that are filled
    logic [3:0] age_q;  // cycles that the first one has waited, at most 15
    lane_t [Lanes-1:0] lanes_q;

    fifo #(
        .Width(Cfg.GpuW + Cfg.TokensLog2),
        .Depth(Places)
    ) i_rows (
        .clk_i,
        .rst_ni,
        .valid_i(push_i),
        .ready_o(room),
        .data_i({home_i, index_i}),
        .valid_o(there),
        .ready_i(pop),
        .data_o({home, index}),
        .level_o(level)
    );

    assign full_o = 32'(level) >= Places - 1;
    assign valid_o = count_q == 2'(Lanes) || age_q == '1;
    assign upper_o = 64'(lanes_q);
    assign pop = there && !valid_o;
    assign idle_o = !there && count_q == '0;

    always_ff @(posedge clk_i) begin
        if (!rst_ni || sent_i) begin
            count_q <= '0;
            age_q <= '0;
            for (int unsigned i = 0; i < Lanes; i++) lanes_q[i] <= '0;
        end else begin
            if (pop) count_q <= count_q + 2'd1;
            if (count_q != '0 && age_q != '1) age_q <= age_q + 4'd1;
            for (int unsigned i = 0; i < Lanes; i++) begin
                if (pop && count_q == 2'(i))
                    lanes_q[i] <= cfg_pkg::lane_of(Cfg, port_t'(home), 15'(index));
            end
        end
    end

    `MW_ASSERT(!push_i || room, "a row has no place")
    `MW_NEXT(valid_o && !sent_i, valid_o && $stable(upper_o), "a GRANT changes before it is sent")
    `MW_CONTRACT(sent_i, valid_o, "a GRANT is sent that is not there")
    `MW_CONTRACT(valid_o, count_q != '0, "a GRANT without a row")
endmodule

`default_nettype wire
