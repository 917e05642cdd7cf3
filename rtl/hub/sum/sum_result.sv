// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// R: reduced rows from the wire, on their way into own rows.
//
// Function: A packet's header is taken at once. The packet can then be claimed, and its payload
// follows without a wait here.
// Ports: free_o: a packet is present that is not claimed. claim_i (only with free_o) takes it.
// Order: Packets are claimed and used in the order of arrival.
// Back-pressure: res_ready_o delays the payload of a packet that the adder has not taken, and
// payload while 15 flits wait for the adder. Flits of 8 bytes pass one at a time. A local packet
// that has claimed waits only for the adder, so it ends.
// Errors: A poisoned packet is one error (err_valid_o). If its header is poisoned, all flits are.
// If it turns bad later (res_bad_i), all flits from that one on are. Earlier flits are in the
// adder, or in memory, and are right.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module sum_result #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type stream_t = `MW_STREAM(Cfg),
    parameter type result_t = `MW_RESULT(Cfg)
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    input  wire stream_t res_i,
    output logic         res_ready_o,
    input  wire logic    res_bad_i,  // the link's mark

    output logic      free_o,
    input  wire logic claim_i,

    // flits of claimed packets; also of the next one, which is not to be taken before its claim
    output result_t   r_o,
    input  wire logic ready_i,

    output logic err_valid_o
);
    localparam int unsigned HBeatW = $clog2(Cfg.HeadFlits + 1);

    logic [HBeatW-1:0] beat_q;
    // poison: from this flit on
    logic payload, fire, first, payload_begin, poison, poison_q;
    packet_pkg::header_low_t head;

    assign payload = beat_q == HBeatW'(Cfg.HeadFlits);
    assign fire = res_i.valid && res_ready_o;
    assign first = fire && beat_q == '0;
    assign payload_begin = fire && beat_q == HBeatW'(Cfg.HeadFlits - 1);
    assign head = res_i.data[63:0];
    assign poison = res_bad_i || ((beat_q == '0) ? head.poison : poison_q);

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            beat_q <= '0;
            err_valid_o <= 1'b0;
        end else begin
            if (fire) beat_q <= res_i.last ? '0 : payload ? beat_q : beat_q + 1'b1;
            err_valid_o <= fire && poison && (first || !poison_q);
        end
        if (fire) poison_q <= poison;
    end

    if (Cfg.FlitBytes < 16) begin : gen_direct
        // One packet of R at a time; the next one can be claimed when this one
        // has gone into the adder.
        logic claimed_q;

        assign free_o = payload && !claimed_q;
        assign r_o.valid = payload && res_i.valid;
        assign r_o.data = res_i.data;
        assign r_o.poison = poison_q || res_bad_i;
        assign res_ready_o = !payload || ready_i;

        always_ff @(posedge clk_i) begin
            if (!rst_ni) claimed_q <= 1'b0;
            else if (claim_i) claimed_q <= 1'b1;
            else if (fire && res_i.last) claimed_q <= 1'b0;
        end
    end else begin : gen_queue
        // Far enough ahead for own packets in a row.
        logic room, push;
        logic [4:0] free_q;  // unclaimed packets of R

        assign free_o = free_q != '0;
        assign res_ready_o = !payload || room;
        assign push = fire && payload;

        promise_fifo #(
            .Width(Cfg.FlitW + 1),
            .Depth(Cfg.SumFlits + 1)
        ) i_res (
            .clk_i,
            .rst_ni,
            .promise_i(push),
            .room_o(room),
            .push_i(push),
            .data_i({poison_q || res_bad_i, res_i.data}),
            .valid_o(r_o.valid),
            .ready_i,
            .data_o({r_o.poison, r_o.data})
        );

        always_ff @(posedge clk_i) begin
            if (!rst_ni) free_q <= '0;
            else if (payload_begin != claim_i) free_q <= free_q + (claim_i ? '1 : 5'd1);
        end
    end

    `MW_CONTRACT(claim_i, free_o, "a claim of a packet that is not there")
endmodule

`default_nettype wire
