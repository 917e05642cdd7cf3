// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Packets of class REQ that an output of the switch makes: GRANTs and FETCHs take turns.
//
// Order: A packet that is offered stays until it is sent. If both kinds wait then, the other one is
// next.
// Latency: Combinational. A GRANT waits for one FETCH at most, and a FETCH for one GRANT.
`default_nettype none
`include "assert.svh"

module request_turn (
    input  wire logic        clk_i,
    input  wire logic        rst_ni,

    input  wire logic        grant_valid_i,
    input  wire logic [63:0] grant_upper_i, // half of the header
    output logic             grant_sent_o,
    input  wire logic        fetch_valid_i,
    input  wire logic [63:0] fetch_upper_i,
    output logic             fetch_sent_o,

    output logic             valid_o,
    output logic             fetch_o, // it is a FETCH
    output logic [63:0]      upper_o,
    input  wire logic        sent_i
);
    logic offered_q, fetch_q, fetch_next_q;

    assign valid_o = grant_valid_i || fetch_valid_i;
    assign fetch_o = offered_q ? fetch_q : fetch_valid_i && (!grant_valid_i || fetch_next_q);
    assign upper_o = fetch_o ? fetch_upper_i : grant_upper_i;
    assign grant_sent_o = sent_i && !fetch_o;
    assign fetch_sent_o = sent_i && fetch_o;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) {offered_q, fetch_next_q} <= '0;
        else begin
            offered_q <= valid_o && !sent_i;
            if (sent_i) fetch_next_q <= !fetch_o;
        end
        fetch_q <= fetch_o;
    end

    `MW_CONTRACT(sent_i, valid_o, "a packet is sent that is not there")
    `MW_NEXT(valid_o && !sent_i, valid_o && $stable(fetch_o) && $stable(upper_o),
             "a packet changes before it is sent")
endmodule

`default_nettype wire
