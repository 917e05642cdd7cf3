// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Pointer into a ring of 2**W packet slots, with one bit more that changes in every round, so that full and empty differ.
//
// The slots are used in the order of a shift register with feedback that runs through all 2**W states: the
// order does not matter as long as writer and reader have the same, and this costs a third of an adder's logic.
`default_nettype none

module slot_pointer #(
    parameter int unsigned W = 4
) (
    input  wire logic       clk_i,
    input  wire logic       rst_ni,
    input  wire logic       next_i,
    output logic [W:0]      ptr_o   // {round, slot}
);
    if (W < 1 || W > 11 || W == 8) begin : gen_check
        $error("slot_pointer: W must be 1 to 11, not 8");
    end

    // Primitive polynomials x^W + x^(Tap+1) + 1, with the state 0 put in front of 1.
    localparam int unsigned Taps [12] = '{0, 0, 0, 1, 2, 2, 4, 5, 0, 4, 6, 8};
    localparam int unsigned Tap = Taps[W];

    logic zeros, feedback;

    if (W == 1) begin : gen_one
        assign zeros    = 1'b1;
        assign feedback = !ptr_o[0];
    end else begin : gen_more
        assign zeros    = ptr_o[W-2:0] == '0;
        assign feedback = ptr_o[W-1] ^ ptr_o[Tap] ^ zeros;
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            ptr_o <= '0;
        end else if (next_i) begin
            ptr_o <= {ptr_o[W] ^ (zeros && ptr_o[W-1]), W'({ptr_o[W-1:0], feedback})};
        end
    end
endmodule

`default_nettype wire
