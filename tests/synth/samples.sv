// SPDX-License-Identifier: Apache-2.0
//
// What flow/ecp5/carry.py has to take out of LUTs; how many it leaves stands in run.py.
`default_nettype none

// an operand behind XORs
module add_sub (
    input  wire logic        minus_i,
    input  wire logic [15:0] a_i,
    input  wire logic [15:0] b_i,
    output logic [15:0]      y_o
);
    assign y_o = a_i + (b_i ^ {16{minus_i}}) + 16'(minus_i);
endmodule

// a multiplexer in front of an operand: all four inputs of the half
module add_one_of (
    input  wire logic        which_i,
    input  wire logic [15:0] a_i,
    input  wire logic [15:0] b_i,
    input  wire logic [15:0] c_i,
    output logic [15:0]      y_o
);
    assign y_o = a_i + (which_i ? b_i : c_i);
endmodule

// no second operand: what is counted up may be any function that fits
module count_up (
    input  wire logic        which_i,
    input  wire logic        clear_i,
    input  wire logic [15:0] a_i,
    input  wire logic [15:0] b_i,
    output logic [15:0]      y_o
);
    assign y_o = (clear_i ? 16'd0 : which_i ? a_i : b_i) + 16'd1;
endmodule

// only the carry out of the last half is used
module compare (
    input  wire logic        invert_i,
    input  wire logic [15:0] a_i,
    input  wire logic [15:0] b_i,
    output logic             y_o
);
    assign y_o = (a_i ^ {16{invert_i}}) < b_i;
endmodule

// one operand for two chains
module two_chains (
    input  wire logic        s_i,
    input  wire logic [11:0] a_i,
    input  wire logic [11:0] b_i,
    input  wire logic [11:0] c_i,
    output logic [11:0]      y_o,
    output logic [11:0]      z_o
);
    logic [11:0] x;
    assign x   = a_i ^ {12{s_i}};
    assign y_o = x + b_i;
    assign z_o = x + c_i;
endmodule

// the same, and somebody else who reads it: those LUTs have to stay
module shared (
    input  wire logic        s_i,
    input  wire logic [11:0] a_i,
    input  wire logic [11:0] b_i,
    output logic [11:0]      x_o,
    output logic [11:0]      y_o
);
    assign x_o = a_i ^ {12{s_i}};
    assign y_o = x_o + b_i;
endmodule

// an odd number of bits, and a LUT behind the last
module odd_sum (
    input  wire logic       e_i,
    input  wire logic [8:0] a_i,
    input  wire logic [8:0] b_i,
    output logic [8:0]      y_o,
    output logic            z_o
);
    assign y_o = a_i + b_i;
    assign z_o = y_o[8] && e_i;
endmodule

// registers that begin with a value; the LUT for the idle half stands behind one of them,
// and has another behind itself
module registers (
    input  wire logic       clk_i,
    input  wire logic       e_i,
    input  wire logic       s_i,
    input  wire logic [8:0] a_i,
    output logic [8:0]      sum_o,
    output logic            z_o
);
    initial begin
        sum_o = 9'h155;
        z_o   = 1'b1;
    end

    always_ff @(posedge clk_i) begin
        sum_o <= sum_o + (a_i ^ {9{s_i}});
        z_o   <= sum_o[8] != e_i;
    end
endmodule

module samples (
    input  wire logic          clk_i,
    input  wire logic [49:0]   x_i,
    output logic [7:0][31:0]   y_o
);
    add_sub    i_add_sub    (.minus_i(x_i[0]), .a_i(x_i[16:1]), .b_i(x_i[32:17]),
                             .y_o(y_o[0][15:0]));
    add_one_of i_add_one_of (.which_i(x_i[0]), .a_i(x_i[16:1]), .b_i(x_i[32:17]), .c_i(x_i[48:33]),
                             .y_o(y_o[1][15:0]));
    count_up   i_count_up   (.which_i(x_i[0]), .clear_i(x_i[1]), .a_i(x_i[17:2]), .b_i(x_i[33:18]),
                             .y_o(y_o[2][15:0]));
    compare    i_compare    (.invert_i(x_i[0]), .a_i(x_i[16:1]), .b_i(x_i[32:17]), .y_o(y_o[3][0]));
    two_chains i_two_chains (.s_i(x_i[0]), .a_i(x_i[12:1]), .b_i(x_i[24:13]), .c_i(x_i[36:25]),
                             .y_o(y_o[4][11:0]), .z_o(y_o[4][23:12]));
    shared     i_shared     (.s_i(x_i[0]), .a_i(x_i[12:1]), .b_i(x_i[24:13]), .x_o(y_o[5][11:0]),
                             .y_o(y_o[5][23:12]));
    odd_sum    i_odd_sum    (.e_i(x_i[0]), .a_i(x_i[9:1]), .b_i(x_i[18:10]), .y_o(y_o[6][8:0]),
                             .z_o(y_o[6][9]));
    registers  i_registers  (.clk_i, .e_i(x_i[0]), .s_i(x_i[1]), .a_i(x_i[10:2]),
                             .sum_o(y_o[7][8:0]), .z_o(y_o[7][9]));
endmodule

`default_nettype wire
