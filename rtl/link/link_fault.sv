// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Test equipment: makes an emulated endpoint misbehave at its end of the links, so that a whole
// device shows what the switch does about it.
//
// Function: From a set time after go, one of these faults is active:
//
//   send     flits after the first one of a packet are lost
//   answer   partial sums are lost
//   opcode   headers of stores get an unknown opcode
//   epoch    headers of stores get the epoch of the previous layer
//   accept   credits of the downlink are lost
//
// The node itself does not see the fault.
// Latency: Flits and credits pass in the same cycle. Without a fault nothing changes.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module link_fault #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type link_t = `MW_LINK(Cfg)
) (
    input  wire logic             clk_i,
    input  wire logic             rst_ni,
    input  wire logic             go_i,
    input  wire node_pkg::fault_t fault_i,

    input  wire link_t      up_i,
    input  wire logic [3:0] crd_i,
    output link_t           up_o,
    output logic [3:0]      crd_o
);
    import packet_pkg::*;

    logic [21:0] count_q;  // cycles behind go
    logic active_q, first_q, stopped_q, mute_q, asked, stores;
    header_t said, turned;  // the header of a packet, its bits that become others

    assign asked = fault_i.accept || fault_i.send || fault_i.answer || fault_i.opcode
                   || fault_i.epoch;
    assign stores = active_q && up_i.cls == CLS_STORE && first_q;
    assign up_o.last = up_i.last;
    assign up_o.err = up_i.err;
    assign up_o.cls = up_i.cls;
    assign up_o.valid = up_i.valid && !stopped_q
                        && !(first_q ? active_q && fault_i.answer && up_i.cls == CLS_PART : mute_q);
    assign up_o.data = stores ? up_i.data ^ Cfg.FlitW'(turned) : up_i.data;
    assign crd_o = (active_q && fault_i.accept) ? '0 : crd_i;

    always_comb begin
        said = header_t'($bits(header_t)'(up_i.data));
        turned = '0;
        if (fault_i.opcode) turned.opcode = ~said.opcode;
        if (fault_i.epoch) turned.epoch = {~said.epoch[0], 1'b1};  // so that it is one less
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) begin
            count_q <= '0;
            active_q <= 1'b0;
            stopped_q <= 1'b0;
        end else if (asked) begin
            if (!active_q) count_q <= count_q + 22'd1;
            if (count_q[21:6] == fault_i.after) active_q <= 1'b1;
            if (up_i.valid && first_q && !up_i.last && active_q && fault_i.send) stopped_q <= 1'b1;
        end
        if (!rst_ni) first_q <= 1'b1;
        else if (up_i.valid) first_q <= up_i.last;
        if (up_i.valid && first_q) mute_q <= active_q && fault_i.answer && up_i.cls == CLS_PART;
    end

    `MW_CONTRACT(up_o.valid, up_i.valid, "a flit that the endpoint has not sent")
    `MW_CONTRACT(!active_q && !stopped_q && (first_q || !mute_q), up_o == up_i && crd_o == crd_i,
                 "an endpoint without a fault, and its flits change")
    `MW_NEXT(stopped_q && !go_i, !up_o.valid, "a packet that stopped goes on")
endmodule

`default_nettype wire
