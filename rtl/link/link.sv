// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// One direction of a link between a hub and the switch: flits forward, credits back.
//
// Ports: latency_i is 1 .. MaxLatency register stages, and changes only while busy_o is low. busy_o
// is high while a flit or a credit is inside. NumPart is the number of requesters that crd_i.part
// can name (1 where partials need no name). Long selects the delay line for long latencies.
// Order: Flits and credits keep their order and spacing, so flits of a packet stay in consecutive
// cycles.
// Back-pressure: None, as credits bound what is sent.
// Latency: latency_i cycles in both directions.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module link #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type link_t = `MW_LINK(Cfg),
    parameter int unsigned NumPart = 32,
    parameter bit Long = Cfg.MaxLatency > 64
) (
    input  wire logic        clk_i,
    input  wire logic        rst_ni,
    input  wire logic [10:0] latency_i,

    input  wire link_t tx_i,

    output link_t rx_o,

    input  wire bundle_pkg::credit_t crd_i,  // from the receiver, one packet per bit
    output bundle_pkg::credit_t      crd_o,  // to the sender

    output logic busy_o
);
    localparam int unsigned PartW = (NumPart > 1) ? $clog2(NumPart) : 1;

    if (NumPart < 1 || NumPart > packet_pkg::PortsMax) begin : gen_check
        $error("link: NumPart must be 1 to 72");
    end

    logic flit_busy, crd_busy, crd_valid;
    logic [3:0] crd;
    logic [PartW-1:0] part;
    packet_pkg::port_t part_in;

    assign part_in = crd_i.part;
    assign busy_o = flit_busy || crd_busy;
    assign crd_o.cls = crd_valid ? crd : '0;
    assign crd_o.part = packet_pkg::port_t'(part);

    link_delay #(
        .Width(Cfg.FlitW + 4),
        .MaxLatency(Cfg.MaxLatency),
        .Long(Long)
    ) i_flits (
        .clk_i,
        .rst_ni,
        .latency_i,
        .valid_i(tx_i.valid),
        .data_i({tx_i.last, tx_i.err, tx_i.cls, tx_i.data}),
        .valid_o(rx_o.valid),
        .data_o({rx_o.last, rx_o.err, rx_o.cls, rx_o.data}),
        .busy_o(flit_busy)
    );

    link_delay #(
        .Width(4 + PartW),
        .MaxLatency(Cfg.MaxLatency),
        .Long(Long)
    ) i_credits (
        .clk_i,
        .rst_ni,
        .latency_i,
        .valid_i(crd_i.cls != '0),
        .data_i({crd_i.cls, part_in[PartW-1:0]}),
        .valid_o(crd_valid),
        .data_o({crd, part}),
        .busy_o(crd_busy)
    );

    if (PartW < 5) begin : gen_unused
        `MW_CONTRACT(NumPart > 1 && crd_i.cls[packet_pkg::CLS_PART],
                     crd_i.part < packet_pkg::port_t'(NumPart),
                     "a credit for a requester that does not exist")
    end

    `MW_CONTRACT(rx_o.valid || crd_o.cls != '0, busy_o, "idle, and a flit or a credit leaves")
endmodule

`default_nettype wire
