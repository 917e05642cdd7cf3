// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Pointer into a ring of packet slots, see ring_pkg. Rings for which that has no order count up.
`default_nettype none

module slot_pointer #(
    parameter int unsigned W = 4
) (
    input  wire logic  clk_i,
    input  wire logic  rst_ni,
    input  wire logic  next_i,
    output logic [W:0] ptr_o  // {round, slot}
);
    if (ring_pkg::fits(W)) begin : gen_ring
        always_ff @(posedge clk_i) begin
            if (!rst_ni) ptr_o <= '0;
            else if (next_i) ptr_o <= (W + 1)'(ring_pkg::after(ring_pkg::ptr_t'(ptr_o), W));
        end
    end else begin : gen_count
        always_ff @(posedge clk_i) begin
            if (!rst_ni) ptr_o <= '0;
            else if (next_i) ptr_o <= ptr_o + 1'b1;
        end
    end
endmodule

`default_nettype wire
