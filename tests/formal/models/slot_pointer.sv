// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// In place of rtl/switch/queue/slot_pointer.sv: the order of its states does not matter to its
// users, so a counter stands for it, which lets memories be small (see gated_ram).
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
