// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Packet queue in LUT RAM: flits go in at any pace, a packet comes out only when all of it is inside, so out_valid_o stays up
// from its first flit to its last and a sender can keep the rule that flits of a packet leave in consecutive cycles.
//
// Ordering: first in, first out. Back-pressure: in_ready_o falls when Flits flits are stored and depends on registers only. A packet
// is visible one cycle after its last flit was accepted; whole packets follow each other without a gap.
// Worst case: a packet longer than Flits would never come out; MaxPkt <= Flits is checked, longer packets are the writer's fault.
//
// Promises, for a writer that must know before it starts that a packet will not wait: reserve_i (only with room_o high) takes the place of
// one packet of MaxPkt flits, given back when that packet has left. A writer either reserves for every packet or never (reserve_i tied low, room_o
// means nothing then).
`default_nettype none

module pkt_fifo #(
    parameter int unsigned FlitBytes = 8,
    parameter int unsigned Flits     = 48,                                        // storage
    parameter int unsigned MaxPkt    = 16 / FlitBytes + (30 + FlitBytes - 1) / FlitBytes + 128 / FlitBytes  // longest packet
) (
    input  wire logic                         clk_i,
    input  wire logic                         rst_ni,

    input  wire logic                         in_valid_i,
    output logic                              in_ready_o,
    input  wire logic [8*FlitBytes-1:0]       in_data_i,
    input  wire logic                         in_last_i,

    output logic                              out_valid_o,
    input  wire logic                         out_ready_i,
    output logic [8*FlitBytes-1:0]            out_data_o,
    output logic                              out_last_o,

    input  wire logic                         reserve_i,
    output logic                              room_o,     // one more packet of MaxPkt flits fits besides all that were promised
    output logic [$clog2(Flits+1)-1:0]        packets_o   // whole packets inside
);
    localparam int unsigned CountW = $clog2(Flits + 1);
    localparam int unsigned Slots  = Flits / MaxPkt;
    localparam int unsigned SlotW  = $clog2(Slots + 1);

    if (MaxPkt > Flits) begin : gen_check
        $error("pkt_fifo: a packet does not fit");
    end

    logic              fifo_valid, whole_q, pkt_in, pkt_out;
    logic [CountW-1:0] packets_q, level;
    logic [SlotW-1:0]  used_q;

    assign packets_o   = packets_q;
    assign out_valid_o = whole_q;
    assign pkt_in      = in_valid_i && in_ready_o && in_last_i;
    assign pkt_out     = whole_q && out_ready_i && out_last_o;

    fifo #(
        .Width(8 * FlitBytes + 1),
        .Depth(Flits)
    ) i_fifo (
        .clk_i,
        .rst_ni,
        .valid_i (in_valid_i),
        .ready_o (in_ready_o),
        .data_i  ({in_last_i, in_data_i}),
        .valid_o (fifo_valid),
        .ready_i (whole_q && out_ready_i),
        .data_o  ({out_last_o, out_data_o}),
        .level_o (level)
    );

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            packets_q <= '0;
            whole_q   <= 1'b0;
        end else if (pkt_in != pkt_out) begin
            packets_q <= packets_q + (pkt_out ? '1 : CountW'(1));
            whole_q   <= pkt_in || packets_q != CountW'(1);
        end
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            used_q <= '0;
            room_o <= 1'b1;
        end else if (reserve_i != pkt_out) begin
            used_q <= used_q + (reserve_i ? SlotW'(1) : '1);
            room_o <= !reserve_i || used_q != SlotW'(Slots - 1);
        end
    end

    logic unused;  // a whole packet inside is all that counts
    assign unused = ^{1'b0, fifo_valid, level};
endmodule

`default_nettype wire
