// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Merges the local packet streams of send (loc_*_i) and control (clo_*) into the one that rx_store takes.
//
// Packets are never interleaved; between packets the two take turns. Order inside each stream is kept, and
// the merged order is the order of acceptance: what send has handed over is ahead of what control offers later.
// Nothing is stored; a stream waits for one packet of the other at most.
`default_nettype none

module loc_merge #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,
    input  wire logic go_i,

    input  wire logic                 loc_valid_i,
    output logic                      loc_ready_o,
    input  wire logic [Cfg.FlitW-1:0] loc_data_i,
    input  wire logic                 loc_last_i,

    input  wire logic                 clo_valid_i,
    output logic                      clo_ready_o,
    input  wire logic [Cfg.FlitW-1:0] clo_data_i,
    input  wire logic                 clo_last_i,

    output logic                 loc_valid_o,
    input  wire logic            loc_ready_i,
    output logic [Cfg.FlitW-1:0] loc_data_o,
    output logic                 loc_last_o
);
    logic open_q;  // a packet is under way, of sel_q
    logic sel_q;   // control's; between packets: control had the last one
    logic sel;

    // Between packets the one that did not have the last packet goes first.
    assign sel = open_q ? sel_q : (sel_q ? !loc_valid_i : clo_valid_i);

    assign loc_valid_o = sel ? clo_valid_i : loc_valid_i;
    assign loc_data_o  = sel ? clo_data_i : loc_data_i;
    assign loc_last_o  = sel ? clo_last_i : loc_last_i;
    // Ready of a stream looks at the other stream's valid only.
    assign loc_ready_o = loc_ready_i && (open_q ? !sel_q : sel_q || !clo_valid_i);
    assign clo_ready_o = loc_ready_i && (open_q ? sel_q : !sel_q || !loc_valid_i);

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) begin
            open_q <= 1'b0;
            sel_q  <= 1'b1;
        end else if (loc_valid_o) begin
            sel_q  <= sel;
            open_q <= !(loc_ready_i && loc_last_o);
        end
    end
endmodule

`default_nettype wire
