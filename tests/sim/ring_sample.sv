// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// For test_ring: copies that are wired to each other, as the ports of the switch are
// (rtl/switch/switch_port.sv): sets by distance, several of them together, the same bit and the
// same word for all, from registers and through two steps of logic.
`default_nettype none

module ring_sample #(
    parameter int unsigned N = 6,
    localparam int unsigned Others = N - 1
) (
    input  wire logic              clk_i,
    input  wire logic              rst_ni,
    input  wire logic [31:0]       a_i,

    // step 0: from registers
    output logic [Others-1:0]      set_o,
    output logic [2:0][Others-1:0]  three_o,
    output logic [8:0][Others-1:0]  nine_o,
    output logic [16:0][Others-1:0] many_o,
    output logic                   bit_o,
    output logic [79:0]            wide_o,
    input  wire logic [Others-1:0] set_i,
    input  wire logic [2:0][Others-1:0]  three_i,
    input  wire logic [8:0][Others-1:0]  nine_i,
    input  wire logic [16:0][Others-1:0] many_i,
    input  wire logic [Others-1:0] bit_i,
    input  wire logic [79:0]       wide_i [Others],

    // step 1: from these and inputs
    output logic [Others-1:0]      mixed_o,
    output logic [39:0]            long_o,
    input  wire logic [Others-1:0] mixed_i,
    input  wire logic [39:0]       long_i [Others],

    // step 2: from those
    output logic                   last_o,
    output logic [7:0]             sum_o,
    input  wire logic [Others-1:0] last_i,
    input  wire logic [7:0]        sum_i [Others],

    output logic [31:0]            out_o
);
    localparam int unsigned Most = 17 * Others;
    logic [31:0] state_q;
    logic [111:0] states;
    logic [Most-1:0] mixed;  // as many bits as the widest output has
    logic [79:0] wide_q, folded;
    logic [39:0] added;
    logic [7:0]  sums, total;

    assign states = {wide_q, state_q};
    for (genvar i = 0; i < Most; i++) begin : gen_mixed
        assign mixed[i] = states[i%112] ^ (i >= 112 && states[(13*i+i/112)%112]);
    end
    assign set_o  = mixed[Others-1:0];
    assign bit_o  = state_q[9];
    assign three_o = mixed[2*Others+:3*Others];
    assign nine_o  = mixed[Most-1-:9*Others];
    assign many_o  = mixed;
    assign wide_o = wide_q;

    always_comb begin
        folded = '0;
        for (int unsigned i = 0; i < Others; i++)
            if (bit_i[i]) folded = folded | (wide_i[i] & ~{80{set_i[i]}});
        mixed_o = (set_i & bit_i) ^ folded[Others-1:0];
        for (int unsigned s = 0; s < 3; s++) mixed_o ^= three_i[s] & nine_i[3*s];
        for (int unsigned s = 0; s < 17; s++) mixed_o ^= many_i[s] & nine_i[s / 2];
        if (a_i[0]) mixed_o = mixed_o | Others'({3{a_i}} >> 1);
    end
    assign long_o = 40'(folded[79:40]) + 40'(a_i);

    always_comb begin
        added = '0;
        for (int unsigned i = 0; i < Others; i++) if (mixed_i[i]) added = added + long_i[i];
        last_o = ^added[33:2];
        sum_o  = added[7:0] ^ {3'd0, added[39:35]};
    end

    always_comb begin
        sums = '0;
        for (int unsigned i = 0; i < Others; i++) sums = sums + (sum_i[i] << i);
        total = sums + 8'(last_i);
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            state_q <= '0;
            wide_q  <= '0;
            out_o   <= '0;
        end else begin
            state_q <= {state_q[23:0], total ^ state_q[31:24]} ^ a_i;
            if (a_i[8]) wide_q <= {wide_q[47:0], 32'(added)};
            out_o <= {out_o[23:0], total} ^ 32'(added[39:16]);
        end
    end
endmodule

`default_nettype wire
