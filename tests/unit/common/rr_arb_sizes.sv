// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Bench for rr_arb: arbiters of many sizes side by side. Those with an odd number are Fast. Arbiter
// i has Sizes[i] requests. tests/unit/common/test_rr_arb_sizes.cpp has the same list.
`default_nettype none

module rr_arb_sizes #(
    localparam int unsigned Count = 18
) (
    input  wire logic        clk_i,
    input  wire logic        rst_ni,
    input  wire logic        clear_i   [Count],
    input  wire logic [63:0] req_i     [Count],
    output logic [63:0]      grant_o   [Count],
    output logic [7:0]       idx_o     [Count],
    input  wire logic        advance_i [Count]
);
    localparam int unsigned Sizes [Count] = '{1, 1, 2, 2, 3, 3, 4, 4, 7, 7, 8, 8, 33, 33, 63, 63,
                                              64, 64};

    for (genvar i = 0; i < Count; i++) begin : gen_arb
        localparam int unsigned N = Sizes[i];
        logic [N-1:0] grant;
        logic [((N > 1) ? $clog2(N) : 1)-1:0] idx;
        assign grant_o[i] = 64'(grant);
        assign idx_o[i]   = 8'(idx);
        rr_arb #(.N(N), .Fast(i % 2 == 1)) i_dut (
            .clk_i, .rst_ni, .clear_i(clear_i[i]), .req_i(req_i[i][N-1:0]),
            .grant_o(grant), .idx_o(idx), .advance_i(advance_i[i])
        );
    end

    // Requests above an arbiter's size are not connected.
    logic unused_req;
    always_comb begin
        unused_req = 1'b0;
        for (int unsigned i = 0; i < Count; i++) unused_req ^= ^req_i[i];
    end
endmodule

`default_nettype wire
