// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Pointer into a ring of packet slots, see ring_pkg.
`default_nettype none

module slot_pointer #(
    parameter int unsigned W = 4
) (
    input  wire logic       clk_i,
    input  wire logic       rst_ni,
    input  wire logic       next_i,
    output logic [W:0]      ptr_o   // {round, slot}
);
    if (!ring_pkg::fits(W)) begin : gen_check
        $error("slot_pointer: W must be 1 to 11, not 8");
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni) ptr_o <= '0;
        else if (next_i) ptr_o <= (W+1)'(ring_pkg::after(ring_pkg::ptr_t'(ptr_o), W));
    end
endmodule

`default_nettype wire
