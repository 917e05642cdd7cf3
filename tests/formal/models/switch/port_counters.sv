// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Replaces the counters of a port of the switch in a proof of its packets.
`default_nettype none

module port_counters #(
    localparam int unsigned Count = 15
) (
    input  wire logic             clk_i,
    input  wire logic             clear_i,
    input  wire logic             clearing_i,
    input  wire logic             visit_i,      // the scan is at addr_i
    input  wire logic             read_i,       // not with visit_i: addr_i is read
    input  wire logic [3:0]       addr_i,
    input  wire logic [Count-1:0] at_i,         // addr_i one-hot

    input  wire logic [1:0]       valid_i,      // of the links: 0 up, 1 down
    input  wire logic [1:0]       last_i,
    input  wire logic [1:0]       cls_i [2],
    input  wire logic [7:0]       len_i [2],    // where a header has its length
    input  wire logic             reject_i,
    input  wire logic             wait_turn_i,
    input  wire logic             wait_credit_i,
    input  wire logic             discard_i,
    input  wire logic             drop_i,

    output logic [26:0]           high_o,
    output logic [9:0]            low_o
);
    assign high_o = '0;
    assign low_o  = '0;
endmodule

`default_nettype wire
