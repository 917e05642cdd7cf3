// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Bench for slot_pointer: every width side by side, stepped together.
`default_nettype none

module slot_pointer_sizes #(
    localparam int unsigned Count = 10,
    localparam int unsigned Widths [Count] = '{1, 2, 3, 4, 5, 6, 7, 9, 10, 11}
) (
    input  wire logic    clk_i,
    input  wire logic    rst_ni,
    input  wire logic    next_i,
    output logic [31:0]  width_o [Count],
    output logic [31:0]  ptr_o [Count]
);
    for (genvar i = 0; i < Count; i++) begin : gen_width
        logic [Widths[i]:0] ptr;
        assign width_o[i] = Widths[i];
        assign ptr_o[i]   = 32'(ptr);
        slot_pointer #(.W(Widths[i])) i_dut (.clk_i, .rst_ni, .next_i, .ptr_o(ptr));
    end
endmodule

`default_nettype wire
