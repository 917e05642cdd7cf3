// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Lets several clients share one read port of the GPU memory.
//
// Order: round robin; responses return to the client that asked, in the order of its grants (the memory answers in the order of
// grants). A request that waits at the memory keeps its place: address and client do not change under it.
// Back-pressure: none of its own; cl_ready_o is the grant, so a client must not wait for ready before it raises valid.
// Requests in flight never exceed MaxInFlight, which is the memory's latency or more.
// Worst case: a client waits for one access of every other client.
`default_nettype none

module mem_rd_mux #(
    parameter int unsigned FlitBytes   = 8,
    parameter int unsigned AddrW       = 11,
    parameter int unsigned Clients     = 6,
    parameter int unsigned MaxInFlight = 4,
    localparam int unsigned FW = 8 * FlitBytes
) (
    input  wire logic             clk_i,
    input  wire logic             rst_ni,
    input  wire logic             go_i,

    input  wire logic             cl_valid_i  [Clients],
    output logic                  cl_ready_o  [Clients],
    input  wire logic [AddrW-1:0] cl_addr_i   [Clients],
    output logic                  cl_rvalid_o [Clients],
    output logic [FW-1:0]         cl_rdata_o,             // shared by all clients

    output logic                  rd_valid_o,
    input  wire logic             rd_ready_i,
    output logic [AddrW-1:0]      rd_addr_o,
    input  wire logic             rd_rvalid_i,
    input  wire logic [FW-1:0]    rd_rdata_i
);
    localparam int unsigned IdxW = (Clients > 1) ? $clog2(Clients) : 1;

    logic [Clients-1:0] req, grant, held_q;
    logic [IdxW-1:0] idx, back;
    logic waiting_q, grant_now;

    always_comb begin
        for (int unsigned c = 0; c < Clients; c++) req[c] = cl_valid_i[c] && (!waiting_q || held_q[c]);
    end

    rr_arb #(.N(Clients)) i_arb (
        .clk_i, .rst_ni, .clear_i(go_i), .req_i(req), .grant_o(grant), .idx_o(idx), .advance_i(grant_now)
    );

    assign rd_valid_o = req != '0;
    assign grant_now  = rd_valid_o && rd_ready_i;

    always_comb begin
        rd_addr_o = '0;
        for (int unsigned c = 0; c < Clients; c++) begin
            cl_ready_o[c] = grant[c] && rd_ready_i;
            rd_addr_o |= cl_addr_i[c] & {AddrW{grant[c]}};
        end
    end

    always_ff @(posedge clk_i) begin
        waiting_q <= rst_ni && rd_valid_o && !rd_ready_i;
        held_q    <= grant;
    end

    logic unused_ready, unused_valid;
    logic [$clog2(MaxInFlight+1)-1:0] unused_level;
    fifo #(.Width(IdxW), .Depth(MaxInFlight)) i_order (
        .clk_i, .rst_ni,
        .valid_i(grant_now), .ready_o(unused_ready), .data_i(idx),
        .valid_o(unused_valid), .ready_i(rd_rvalid_i), .data_o(back), .level_o(unused_level)
    );

    assign cl_rdata_o = rd_rdata_i;
    always_comb begin
        for (int unsigned c = 0; c < Clients; c++) cl_rvalid_o[c] = rd_rvalid_i && back == IdxW'(c);
    end
endmodule

`default_nettype wire
