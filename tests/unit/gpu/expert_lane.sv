// SPDX-License-Identifier: CERN-OHL-P-2.0
// One lane of the expert with its factor, which accepts a new pair of c and w in every cycle. A
// factor takes Turns cycles, so Turns factors start in turn.
`default_nettype none

module expert_lane (
    input  wire logic        clk_i,
    input  wire logic        valid_i,
    input  wire logic [15:0] x_i,
    input  wire logic [15:0] c_i,
    input  wire logic [31:0] w_i,
    output logic [15:0]      y_o   // 8 cycles later
);
    localparam int unsigned Turns = 4;

    logic [1:0]      turn_q;
    logic [15:0]     x_q [Turns], c_q [Turns];
    logic [31:0]     w_q [Turns];
    logic            valid_q [Turns], start_q [Turns];
    fp_pkg::factor_t factor [Turns];

    always_ff @(posedge clk_i) begin
        turn_q <= turn_q + 1'b1;
        for (int unsigned t = 0; t < Turns; t++) begin
            start_q[t] <= turn_q == 2'(t);
            if (turn_q == 2'(t)) begin
                x_q[t]     <= x_i;
                c_q[t]     <= c_i;
                w_q[t]     <= w_i;
                valid_q[t] <= valid_i;
            end
        end
    end

    for (genvar t = 0; t < Turns; t++) begin : gen_factor
        expert_factor i_factor (.clk_i, .start_i(start_q[t]), .c_i(c_q[t]), .w_i(w_q[t]),
                                .factor_o(factor[t]));
    end

    // the oldest one is complete
    expert_lanes #(.Lanes(1)) i_lane (
        .clk_i, .valid_i(valid_q[turn_q]), .factor_i(factor[turn_q]), .x_i(x_q[turn_q]), .y_o
    );
endmodule

`default_nettype wire
