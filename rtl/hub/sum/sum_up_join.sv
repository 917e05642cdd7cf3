// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Joins packets for the uplink from the adder and its bypass.
//
// Function: Each packet carries the number of packets of the other lane that were chosen earlier
// for its requester (turn_o, at its choice). It leaves when that many have left.
// Order: Packets of a requester leave in the order in which they were chosen, from either lane.
// Packets of other requesters may pass one that waits for the adder.
// Back-pressure: A packet waits for earlier ones of its requester, for the end of the packet that
// is leaving, and for ready_i. There is no circular wait: the oldest packet of all waits for none,
// and is at the front of its lane.
// Latency: A packet waits for packets chosen earlier in its lane or for its requester, and for one
// of the other lane if both can leave.
`default_nettype none
`include "assert.svh"

module sum_up_join #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type up_t = logic,  // see row_sum
    parameter int unsigned TurnW = 4
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,
    input  wire logic go_i,

    input  wire logic                choose_i,  // a packet
    input  wire logic [Cfg.GpuW-1:0] ctx_i,     // for
    input  wire logic                copy_i,    // in the adder bypass
    output logic [TurnW-1:0]         turn_o,

    input  wire up_t add_i,
    output logic     add_ready_o,
    input  wire up_t copy_word_i,
    output logic     copy_ready_o,

    output up_t       up_o,
    input  wire logic ready_i
);
    if (Cfg.AdderBypass) begin : gen_lanes
        // by requester, modulo more than are ever inside: packets chosen and left, {copies, adder}
        logic [Cfg.N-1:0][1:0][TurnW-1:0] chosen_q, left_q;
        logic add_turn, copy_turn, copy, open_q, copy_q, last_q, packet_end;

        assign turn_o = chosen_q[ctx_i][!copy_i];
        assign add_turn = add_i.valid && left_q[add_i.tag.dst][1] == add_i.tag.turn;
        assign copy_turn = copy_word_i.valid
                           && left_q[copy_word_i.tag.dst][0] == copy_word_i.tag.turn;
        assign copy = open_q ? copy_q : copy_turn && (!add_turn || !last_q);
        assign packet_end = up_o.valid && ready_i && up_o.last;

        always_comb begin
            up_o = copy ? copy_word_i : add_i;
            up_o.valid = open_q ? up_o.valid : add_turn || copy_turn;
        end

        assign add_ready_o = up_o.valid && !copy && ready_i;
        assign copy_ready_o = up_o.valid && copy && ready_i;

        always_ff @(posedge clk_i) begin
            if (!rst_ni) begin
                chosen_q <= '0;
                left_q <= '0;
                open_q <= 1'b0;
                last_q <= 1'b0;
            end else begin
                if (choose_i) chosen_q[ctx_i][copy_i] <= chosen_q[ctx_i][copy_i] + 1'b1;
                if (packet_end) left_q[up_o.tag.dst][copy] <= left_q[up_o.tag.dst][copy] + 1'b1;
                if (up_o.valid) open_q <= !packet_end;
                if (go_i) last_q <= 1'b0;
                else if (packet_end) last_q <= copy;
            end
            copy_q <= copy;
        end
    end else begin : gen_adder
        assign turn_o = '0;
        assign up_o = add_i;
        assign add_ready_o = ready_i;
        assign copy_ready_o = 1'b0;
    end

    `MW_NEXT(up_o.valid && ready_i && !up_o.last, up_o.valid && up_o.tag.dst == $past
             (up_o.tag.dst), "a gap inside a packet, or two of them mixed")
    `MW_CONTRACT(Cfg.AdderBypass, !(add_ready_o && copy_ready_o), "flits of both lanes are taken")
endmodule

`default_nettype wire
