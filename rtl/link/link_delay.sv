// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Delay line of a link.
//
// Function: Words travel in a ring, so a long latency costs no shifting. The valid bits of a short
// line travel in a shift register. Those of a Long one lie in the ring, and words count only from
// the first one since the line was last empty. Neither ring needs a reset.
// Ports: latency_i is 1 .. MaxLatency, and stable from one cycle before the first word enters until
// busy_o is low. data_o comes directly from the ring, so its user must allow for a LUT RAM's delay.
// It is valid only with valid_o.
// Order: First in, first out.
// Back-pressure: None.
// Latency: latency_i cycles, one word per cycle.
`default_nettype none
`include "assert.svh"

module link_delay #(
    parameter int unsigned Width = 8,
    parameter int unsigned MaxLatency = 1,
    parameter bit Long = MaxLatency > 64
) (
    input  wire logic             clk_i,
    input  wire logic             rst_ni,
    input  wire logic [10:0]      latency_i,
    input  wire logic             valid_i,
    input  wire logic [Width-1:0] data_i,
    output logic                  valid_o,
    output logic [Width-1:0]      data_o,
    output logic                  busy_o
);
    if (MaxLatency < 1 || MaxLatency > 2047) begin : gen_check
        $error("link_delay: MaxLatency must be 1 to 2047");
    end

    if (MaxLatency == 1) begin : gen_one
        assign busy_o = valid_o;

        always_ff @(posedge clk_i) begin
            if (!rst_ni) valid_o <= 1'b0;
            else valid_o <= valid_i;
            if (valid_i) data_o <= data_i;
        end
    end else if (Long) begin : gen_long
        localparam int unsigned PtrW = $clog2(MaxLatency + 1);

        // {valid, word}; a place is written in every cycle
        logic [Width:0] mem[2**PtrW];
        logic [PtrW-1:0] wptr_q, latency, old_q, level_q;
        logic valid;

        assign latency = PtrW'(latency_i);
        assign {valid, data_o} = mem[PtrW'(wptr_q-latency)];
        assign valid_o = valid && old_q >= latency;
        assign busy_o = level_q != '0;

        always_ff @(posedge clk_i) begin
            if (!rst_ni) begin
                wptr_q <= '0;
                level_q <= '0;
            end else begin
                wptr_q <= wptr_q + 1'b1;
                level_q <= level_q + PtrW'(valid_i) - PtrW'(valid_o);
            end
            mem[wptr_q] <= {valid_i, data_i};
            // cycles since the first word entered that is still inside, or a later one followed
            if (!rst_ni || (!busy_o && !valid_i)) old_q <= '0;
            else if (old_q < latency) old_q <= old_q + 1'b1;
        end
    end else begin : gen_ring
        localparam int unsigned PtrW = $clog2(MaxLatency);

        logic [MaxLatency-1:0] enter_q;  // one-hot: where a word enters the shift register
        logic [MaxLatency-1:0] valid_q, valid_d;  // bit n: leaves in n cycles
        logic [PtrW-1:0] wptr_q, rptr_q, last_stage;
        logic [Width-1:0] mem[2**PtrW];

        assign last_stage = PtrW'(latency_i - 11'd1);
        assign valid_d = {1'b0, valid_q[MaxLatency-1:1]} | (enter_q & {MaxLatency{valid_i}});
        assign valid_o = valid_q[0];
        assign busy_o = valid_q != '0;
        assign data_o = mem[rptr_q];  // written one cycle ago at the earliest, so the
                                      // RAM is the last stage

        always_ff @(posedge clk_i) begin
            if (!rst_ni) begin
                valid_q <= '0;
                wptr_q <= '0;
            end else begin
                valid_q <= valid_d;
                wptr_q <= wptr_q + PtrW'(1);
            end
            enter_q <= MaxLatency'(1) << last_stage;
            if (valid_d[0]) rptr_q <= wptr_q - last_stage;
            if (valid_i) mem[wptr_q] <= data_i;
        end
    end

    `MW_CONTRACT(valid_i, latency_i - 11'd1 < 11'(MaxLatency), "a latency that the line lacks")
    `MW_NEXT(busy_o, $stable(latency_i), "the latency changes while a word is inside")
    `MW_CONTRACT(valid_o, busy_o, "idle, and a word leaves")
endmodule

`default_nettype wire
