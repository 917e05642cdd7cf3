// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The hub's packets of class CTRL for the uplink: those of unit control, and LDs of unit load.
//
// Order: A packet that is offered stays until it is taken. If both kinds wait then, the other one
// is next.
// Latency: Combinational. A packet waits for one of the other kind at most.
`default_nettype none
`include "assert.svh"

module ctl_turn (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,

    input  wire logic                ctl_valid_i,
    output logic                     ctl_ready_o,
    input  wire packet_pkg::header_t ctl_header_i,
    input  wire logic                ld_valid_i,
    output logic                     ld_ready_o,
    input  wire packet_pkg::header_t ld_header_i,

    output logic                     valid_o,
    input  wire logic                ready_i,
    output packet_pkg::header_t      header_o
);
    logic offered_q, load_q, load_next_q, load;

    assign load = offered_q ? load_q : ld_valid_i && (!ctl_valid_i || load_next_q);
    assign valid_o = ctl_valid_i || ld_valid_i;
    assign header_o = load ? ld_header_i : ctl_header_i;
    assign ctl_ready_o = ready_i && !load;
    assign ld_ready_o = ready_i && load;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) {offered_q, load_next_q} <= '0;
        else begin
            offered_q <= valid_o && !ready_i;
            if (valid_o && ready_i) load_next_q <= !load;
        end
        load_q <= load;
    end

    `MW_CONTRACT(ready_i && valid_o, load ? ld_valid_i : ctl_valid_i,
                 "a packet is taken that is not there")
    `MW_STABLE(valid_o, ready_i, header_o.opcode, "a packet changes before it is taken")
endmodule

`default_nettype wire
