// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Two flip-flops between clocks.
//
// Function: Every bit crosses independently, so bits that change together may be seen a cycle
// apart. data_i comes from flip-flops of one other clock, or from a pin, with no logic between.
// flow/ecp5/crossings.py checks this in the netlist, by the attribute. With MW_CDC_RANDOM a change
// is seen at once or a cycle later, as in silicon.
`default_nettype none

module cdc_sync #(
    parameter int unsigned Width = 1,
    parameter logic [Width-1:0] Reset = '0
) (
    input  wire logic             clk_i,
    input  wire logic             rst_ni,
    input  wire logic [Width-1:0] data_i,
    output logic [Width-1:0]      data_o
);
    (* keep, mw_cdc = "sync" *) logic [Width-1:0] first_q;
    logic [Width-1:0] seen;

`ifdef MW_CDC_RANDOM
    logic [Width-1:0] before_q;
    logic late_q;

    always_ff @(posedge clk_i) begin
        before_q <= data_i;
        late_q <= 1'($urandom);
    end
    assign seen = late_q ? before_q : data_i;
`else
    assign seen = data_i;
`endif

    always_ff @(posedge clk_i) begin
        first_q <= seen;  // a reset of its own might become logic before it
        data_o <= rst_ni ? first_q : Reset;
    end
endmodule

`default_nettype wire
