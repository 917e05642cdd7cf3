// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Delay line: what enters with valid_i leaves latency_i cycles later, in order,
// one word per cycle, no back-pressure. Part of a link.
//
// latency_i is 1 .. MaxLatency and stable from a cycle before the first word enters until busy_o is low. Words travel in a ring,
// so a long latency costs no shifting; valid bits in a shift register, so that the ring needs no
// reset. data_o keeps its last word while valid_o is low.
`default_nettype none

module link_delay #(
    parameter int unsigned Width = 8,
    parameter int unsigned MaxLatency = 1
) (
    input  wire logic             clk_i,
    input  wire logic             rst_ni,
    input  wire logic [7:0]       latency_i,
    input  wire logic             valid_i,
    input  wire logic [Width-1:0] data_i,
    output logic                  valid_o,
    output logic [Width-1:0]      data_o,
    output logic                  busy_o
);
    if (MaxLatency < 1 || MaxLatency > 255) begin : gen_check
        $error("link_delay: MaxLatency must be 1 to 255");
    end

    if (MaxLatency == 1) begin : gen_one
        logic unused;
        assign unused = ^latency_i;
        assign busy_o = valid_o;

        always_ff @(posedge clk_i) begin
            if (!rst_ni) valid_o <= 1'b0;
            else         valid_o <= valid_i;
            if (valid_i) data_o <= data_i;
        end
    end else begin : gen_ring
        localparam int unsigned PtrW = $clog2(MaxLatency);

        logic [MaxLatency-1:0] valid_q;   // bit n: entered n + 1 cycles ago and still inside
        logic [MaxLatency-1:0] inside_q;  // bits below the latency
        logic [7:0]            latency_q;
        logic [PtrW-1:0]       wptr_q, rptr;
        logic [Width-1:0]      mem [2**PtrW];
        logic                  next;      // a word leaves at the coming edge
        logic [7:0]            last_stage;

        assign last_stage = latency_i - 8'd1;
        assign rptr       = wptr_q - PtrW'(last_stage);
        assign next       = (last_stage == '0) ? valid_i : valid_q[PtrW'(last_stage - 8'd1)];
        assign busy_o     = valid_q != '0;

        always_ff @(posedge clk_i) begin
            if (!rst_ni) begin
                valid_q <= '0;
                valid_o <= 1'b0;
                wptr_q  <= '0;
            end else begin
                valid_q <= {valid_q[MaxLatency-2:0], valid_i} & inside_q;
                valid_o <= next;
                wptr_q  <= wptr_q + PtrW'(1);
            end
            if (!rst_ni || latency_q != latency_i) begin
                latency_q <= latency_i;
                inside_q  <= ~({MaxLatency{1'b1}} << latency_i);
            end
            if (valid_i) mem[wptr_q] <= data_i;
            if (next) data_o <= (last_stage == '0) ? data_i : mem[rptr];
        end
    end
endmodule

`default_nettype wire
