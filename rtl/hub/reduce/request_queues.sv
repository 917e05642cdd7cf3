// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Pointers of the queues of reduction requests, one queue of Slots requests per context, in LUT RAM
// with one port shared by the arriving flit and the reader.
//
// Ports: A request is written to slot {in_ctx_i, wptr_o}, flit by flit, and is available with
// push_i. pop_i frees slot {out_ctx_i, rptr_o}, and must not come in a cycle with in_valid_i.
// Order: First in, first out in each context.
// Back-pressure: None. full_o means that the requester exceeded its window, and the request must be
// dropped (no push_i).
`default_nettype none
`include "assert.svh"

module request_queues #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    input  wire logic                in_valid_i,  // a flit arrives
    input  wire logic [Cfg.GpuW-1:0] in_ctx_i,
    input  wire logic                push_i,      // the last of a request that is taken;
                                                  // only with in_valid_i
    output logic                     full_o,      // of in_ctx_i
    output logic [Cfg.OpenW-1:0]     wptr_o,      // with in_valid_i: of in_ctx_i

    input  wire logic [Cfg.GpuW-1:0] out_ctx_i,
    input  wire logic                pop_i,   // only where some_o says so
    output logic [Cfg.OpenW-1:0]     rptr_o,  // without in_valid_i: of out_ctx_i, if
                                              // it has a request
    output logic [Cfg.N-1:0]         some_o   // contexts with a request
);
    logic [Cfg.GpuW-1:0] ctx;

    assign ctx = in_valid_i ? in_ctx_i : out_ctx_i;
    assign full_o = some_o[in_ctx_i] && wptr_o == rptr_o;

    lutram #(
        .Width(Cfg.OpenW),
        .Depth(Cfg.N)
    ) i_wptr (
        .clk_i,
        .we_i(push_i),
        .waddr_i(ctx),
        .wdata_i(wptr_o + 1'b1),
        .raddr_i(ctx),
        .rdata_o(wptr_o)
    );
    // The pointers of an empty queue are made equal by the next request: no reset.
    lutram #(
        .Width(Cfg.OpenW),
        .Depth(Cfg.N)
    ) i_rptr (
        .clk_i,
        .we_i((push_i && !some_o[in_ctx_i]) || pop_i),
        .waddr_i(ctx),
        .wdata_i(in_valid_i ? wptr_o : rptr_o + 1'b1),
        .raddr_i(ctx),
        .rdata_o(rptr_o)
    );

    always_ff @(posedge clk_i) begin
        if (!rst_ni) some_o <= '0;
        else if (push_i) some_o[in_ctx_i] <= 1'b1;
        else if (pop_i) some_o[out_ctx_i] <= rptr_o + 1'b1 != wptr_o;
    end

    `MW_CONTRACT(push_i, in_valid_i && !full_o, "a request without a place")
    `MW_CONTRACT(pop_i, !in_valid_i && (some_o & (Cfg.N'(1) << out_ctx_i)) != '0,
                 "a request ends that is not there")
endmodule

`default_nettype wire
