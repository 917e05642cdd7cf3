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
    input  wire logic clk_i,
    input  wire logic rst_ni,

    input  wire bundle_pkg::ctl_t ctl_i,
    output logic                  ctl_ready_o,
    input  wire bundle_pkg::ctl_t ld_i,
    output logic                  ld_ready_o,

    output bundle_pkg::ctl_t out_o,
    input  wire logic        ready_i
);
    logic offered_q, load_q, load_next_q, load;

    assign load = offered_q ? load_q : ld_i.valid && (!ctl_i.valid || load_next_q);
    assign out_o.valid = ctl_i.valid || ld_i.valid;
    assign out_o.header = load ? ld_i.header : ctl_i.header;
    assign ctl_ready_o = ready_i && !load;
    assign ld_ready_o = ready_i && load;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) {offered_q, load_next_q} <= '0;
        else begin
            offered_q <= out_o.valid && !ready_i;
            if (out_o.valid && ready_i) load_next_q <= !load;
        end
        load_q <= load;
    end

    `MW_CONTRACT(ready_i && out_o.valid, load ? ld_i.valid : ctl_i.valid,
                 "a packet is taken that is not there")
    `MW_STABLE(out_o.valid, ready_i, out_o.header.opcode, "a packet changes before it is taken")
endmodule

`default_nettype wire
