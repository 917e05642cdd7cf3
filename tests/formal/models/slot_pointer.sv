// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Replaces rtl/switch/queue/slot_pointer.sv by a counter, because the order of the states does not
// matter to its users. A counter allows small memories (see gated_ram).
`default_nettype none

module slot_pointer #(
    parameter int unsigned W = 4
) (
    input  wire logic       clk_i,
    input  wire logic       rst_ni,
    input  wire logic       next_i,
    output logic [W:0]      ptr_o
);
    always_ff @(posedge clk_i) begin
        if (!rst_ni) ptr_o <= '0;
        else if (next_i) ptr_o <= ptr_o + 1'b1;
    end
endmodule

`default_nettype wire
