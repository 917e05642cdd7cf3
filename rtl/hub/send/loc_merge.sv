// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Merges the local packet streams of send (loc_*_i) and control (clo_*) into the stream of
// rx_store.
//
// Order: Packets are never interleaved, and the two alternate between packets. The order inside
// each stream is kept. The merged order is the order of acceptance: packets that send has delivered
// precede packets that control offers later.
// Back-pressure: Nothing is stored. A stream waits for one packet of the other at most.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module loc_merge #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type stream_t = `MW_STREAM(Cfg)
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,
    input  wire logic go_i,

    input  wire stream_t loc_i,
    output logic         loc_ready_o,

    input  wire stream_t clo_i,
    output logic         clo_ready_o,

    output stream_t   loc_o,
    input  wire logic loc_ready_i
);
    logic open_q;  // a packet is under way, of sel_q
    logic sel_q;  // control's; between packets: control had the last one
    logic sel;

    // Between packets the one that did not have the last packet goes first.
    assign sel = open_q ? sel_q : (sel_q ? !loc_i.valid : clo_i.valid);

    assign loc_o.valid = sel ? clo_i.valid : loc_i.valid;
    assign loc_o.data = sel ? clo_i.data : loc_i.data;
    assign loc_o.last = sel ? clo_i.last : loc_i.last;
    // Ready of a stream looks at the other stream's valid only.
    assign loc_ready_o = loc_ready_i && (open_q ? !sel_q : sel_q || !clo_i.valid);
    assign clo_ready_o = loc_ready_i && (open_q ? sel_q : !sel_q || !loc_i.valid);

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) begin
            open_q <= 1'b0;
            sel_q <= 1'b1;
        end else if (loc_o.valid) begin
            sel_q <= sel;
            open_q <= !(loc_ready_i && loc_o.last);
        end
    end

    `MW_NEXT(loc_o.valid && !(loc_ready_i && loc_o.last) && !go_i, sel == $past(sel),
             "packets of two streams are mixed")
    `MW_CONTRACT(loc_i.valid && clo_i.valid, !(loc_ready_o && clo_ready_o),
                 "both streams are taken in one cycle")
endmodule

`default_nettype wire
