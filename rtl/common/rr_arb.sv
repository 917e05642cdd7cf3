// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Round-robin arbiter.
//
// Ports: grant_o is one-hot: the first request at or above the pointer, or else the lowest request.
// It is 0 without a request. The pointer moves past the grant when advance_i is high. advance_i may
// depend on grant_o, and must be low without a grant. clear_i sets the pointer to 0 and has
// priority over advance_i.
// Latency: A request that stays up is granted after at most N-1 others.
`default_nettype none
`include "assert.svh"

module rr_arb #(
    parameter int unsigned N = 4,
    parameter bit Fast = 1'b0,  // a shorter path from req_i to grant_o, for some more LUTs
    localparam int unsigned IdxW = (N > 1) ? $clog2(N) : 1
) (
    input  wire logic         clk_i,
    input  wire logic         rst_ni,
    input  wire logic         clear_i,
    input  wire logic [N-1:0] req_i,
    output logic [N-1:0]      grant_o,
    output logic [IdxW-1:0]   idx_o,  // index of the grant, 0 without one
    input  wire logic         advance_i
);
    if (N < 1 || N > 128) begin : gen_check
        $error("rr_arb: N must be 1 to 128");
    end

    // Requests whose index has bit k set.
    function automatic logic [N-1:0] index_bit(input int unsigned k);
        for (int unsigned i = 0; i < N; i++) index_bit[i] = 1'((i >> k) & 1);
    endfunction

    // Ones from the pointer upwards; all zeros and all ones both mean pointer 0.
    logic [N-1:0] mask_q, masked, above;  // above: ones above the grant

    assign masked = req_i & mask_q;

    if (Fast) begin : gen_fast
        // Ones above the lowest one of a set.
        function automatic logic [N-1:0] above_first(input logic [N-1:0] set);
            above_first = '0;
            for (int unsigned i = 1; i < N; i++) above_first[i] = above_first[i-1] || set[i-1];
        endfunction

        function automatic logic [N-1:0] first(input logic [N-1:0] set);
            return set & ~above_first(set);
        endfunction

        // the first one from the pointer on and the first one of all, side by side
        assign above = (masked != '0) ? above_first(masked) : above_first(req_i);
        assign grant_o = (masked != '0) ? first(masked) : first(req_i);
    end else begin : gen_small
        logic [N-1:0] sel, below;

        // Subtracting 1 flips the lowest set bit and all below it.
        assign sel = (masked != '0) ? masked : req_i;
        assign below = sel - N'(1);
        assign above = ~(sel ^ below);
        assign grant_o = sel & ~below;
    end

    for (genvar k = 0; k < IdxW; k++) begin : gen_idx
        localparam logic [N-1:0] Pattern = index_bit(k);
        assign idx_o[k] = (grant_o & Pattern) != '0;
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni || clear_i) begin
            mask_q <= '0;
        end else if (advance_i) begin
            mask_q <= above;
        end
    end

    `MW_ASSERT((grant_o & (grant_o - 1'b1)) == '0 && (grant_o & ~req_i) == '0,
               "a grant that is not of one who asks")
    `MW_CONTRACT(req_i != '0, grant_o != '0, "requests, and no grant")
    `MW_CONTRACT(grant_o != '0, (grant_o & (N'(1) << idx_o)) != '0, "the index of another grant")
    `MW_CONTRACT(advance_i && !clear_i, grant_o != '0, "the pointer moves without a grant")
endmodule

`default_nettype wire
