// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// One direction of a link between a hub and the switch: flits forward, credits
// back, both after latency_i register stages (1 is one register).
//
// Ordering: flits and credits keep their order and their spacing, so flits of a packet
// stay in consecutive cycles. No back-pressure: credits bound what is sent. latency_i is 1 .. MaxLatency
// and changes only while busy_o is low. busy_o: a flit or a credit is inside.
// NumPart is the number of requesters that crd_part_i can name (1 where partials need no name).
`default_nettype none

module link #(
    parameter int unsigned FlitBytes = 16,
    parameter int unsigned MaxLatency = 1,
    parameter int unsigned NumPart = 32
) (
    input  wire logic                   clk_i,
    input  wire logic                   rst_ni,
    input  wire logic [7:0]             latency_i,

    input  wire logic                   tx_valid_i,
    input  wire logic                   tx_last_i,
    input  wire logic                   tx_err_i,
    input  wire logic [1:0]             tx_cls_i,
    input  wire logic [8*FlitBytes-1:0] tx_data_i,

    output logic                        rx_valid_o,
    output logic                        rx_last_o,
    output logic                        rx_err_o,
    output logic [1:0]                  rx_cls_o,
    output logic [8*FlitBytes-1:0]      rx_data_o,

    input  wire logic [3:0]             crd_i,       // from the receiver, one packet per bit
    input  wire logic [4:0]             crd_part_i,  // requester of crd_i[3]
    output logic [3:0]                  crd_o,       // to the sender
    output logic [4:0]                  crd_part_o,

    output logic                        busy_o
);
    localparam int unsigned PartW = (NumPart > 1) ? $clog2(NumPart) : 1;

    if (NumPart < 1 || NumPart > 32) begin : gen_check
        $error("link: NumPart must be 1 to 32");
    end

    logic             flit_busy, crd_busy, crd_valid;
    logic [3:0]       crd;
    logic [PartW-1:0] part;
    logic [4:0]       part_in;

    assign part_in    = crd_part_i;
    assign busy_o     = flit_busy || crd_busy;
    assign crd_o      = crd_valid ? crd : '0;
    assign crd_part_o = 5'(part);

    link_delay #(
        .Width      (8 * FlitBytes + 4),
        .MaxLatency (MaxLatency)
    ) i_flits (
        .clk_i, .rst_ni, .latency_i,
        .valid_i (tx_valid_i),
        .data_i  ({tx_last_i, tx_err_i, tx_cls_i, tx_data_i}),
        .valid_o (rx_valid_o),
        .data_o  ({rx_last_o, rx_err_o, rx_cls_o, rx_data_o}),
        .busy_o  (flit_busy)
    );

    link_delay #(
        .Width      (4 + PartW),
        .MaxLatency (MaxLatency)
    ) i_credits (
        .clk_i, .rst_ni, .latency_i,
        .valid_i (crd_i != '0),
        .data_i  ({crd_i, part_in[PartW-1:0]}),
        .valid_o (crd_valid),
        .data_o  ({crd, part}),
        .busy_o  (crd_busy)
    );

    if (PartW < 5) begin : gen_unused
        logic unused;
        assign unused = ^part_in[4:PartW];
    end
endmodule

`default_nettype wire
