// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Turns a request into an open reduction at the join of its own port.
//
// Function: An accepted request has the outputs of its targets. A rejected request has none, so the
// requester still gets its results.
// Order: The order of the requests.
// Back-pressure: None. A request that started without room (no_room_o) is not pushed.
// Latency: It is pushed with its last target. A request that is rejected earlier is pushed one
// cycle later (late_o), and the parser checks no other header in that cycle. The push of an
// accepted request therefore does not wait for the checks.
`default_nettype none
`include "assert.svh"

module request_open #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    // of the parser
    input  wire logic                first_i,   // the first of two flits of a header comes
    // the header is complete: it is now_i; from the next cycle on its first half is low_i
    input  wire logic                head_i,
    input  wire packet_pkg::header_t now_i,
    input  wire logic [63:0]         low_i,
    input  wire logic                decide_i,  // a target of a request is checked
    input  wire logic                more_i,    // others follow
    input  wire logic                bad_i,     // the request is rejected
    output logic                     no_room_o,
    output logic                     late_o,

    // to the join
    output logic          valid_o,
    output logic [14:0]   bytes_o,  // less 1
    output red_pkg::red_t red_o,
    input  wire logic     full_i
);
    import packet_pkg::*;

    logic opens;
    header_t low;  // its first half
    logic [14:0] len;
    red_pkg::red_t red;

    assign red_o = red_pkg::kept(Cfg.RedTypes, red);
    assign low = header_t'({64'b0, low_i});

    if (Cfg.HeadFlits == 2) begin : gen_half_head
        logic first_q, full_q;

        // a late push of the request before may come with the first flit, and shows behind it
        assign no_room_o = first_q ? full_i : full_q;
        assign len = low.len;
        assign red = '{dtype: low.dtype, redop: low.redop};

        always_ff @(posedge clk_i) begin
            first_q <= first_i;
            if (first_q) full_q <= full_i;
        end
    end else begin : gen_full_head
        logic now;

        assign now = head_i && !late_o;
        assign no_room_o = full_i;
        assign len = now ? now_i.len : low.len;
        assign red = now ?
            '{dtype: now_i.dtype, redop: now_i.redop}
            : '{dtype: low.dtype, redop: low.redop};
    end

    assign opens = decide_i && len != '0 && !no_room_o;
    assign valid_o = (opens && !more_i) || late_o;
    assign bytes_o = len - 15'd1;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) late_o <= 1'b0;
        else late_o <= opens && more_i && bad_i;
    end

    `MW_CONTRACT(valid_o, !full_i, "a reduction opens without room")
    `MW_CONTRACT(late_o, !decide_i, "a header is checked while the request before is pushed")
endmodule

`default_nettype wire
