// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// For the test of tests/mutate/run.py. sum_o: a sum that the test checks. same_o: of two registers
// that always hold the same, so that nothing shows which one is taken. spare_o: the test does not
// look at it. In arrays, as the benches have their ports.
`default_nettype none

module mutate_sample #(
    parameter int unsigned Width = 2
) (
    input  wire logic              clk_i,
    input  wire logic              rst_ni,
    input  wire logic [Width-1:0]  a_i [2],
    output logic [Width-1:0]       sum_o,
    output logic                   same_o,
    output logic                   spare_o [2]
);
    logic one_q, two_q;

    always_ff @(posedge clk_i) begin
        sum_o   <= a_i[0] + a_i[1];
        one_q   <= a_i[0][0];
        two_q   <= a_i[0][0];
        spare_o <= '{a_i[1][1], a_i[1][0]};
        if (!rst_ni) begin
            one_q <= 1'b0;
            two_q <= 1'b0;
        end
    end

    assign same_o = one_q & (one_q | two_q);
endmodule

`default_nettype wire
