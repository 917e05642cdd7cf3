// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Shares one read port of the GPU memory among several clients.
//
// Order: Round robin. Responses return to the client that requested them, Latency cycles after the
// grant. A request that waits at the memory keeps its slot: address and client do not change.
// Back-pressure: cl_ready_o is the grant, so a client must not wait for ready before it raises
// valid.
// Latency: A client waits for one access of every other client.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module mem_rd_mux #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type read_t = `MW_READ(Cfg),
    parameter type answer_t = `MW_ANSWER(Cfg),
    parameter int unsigned Clients = 6,
    parameter int unsigned Latency = 3  // of the memory, cycles from grant to answer
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,
    input  wire logic go_i,

    input  wire read_t           cl_i [Clients],
    output logic                 cl_ready_o [Clients],
    output logic                 cl_rvalid_o [Clients],
    output logic [Cfg.FlitW-1:0] cl_rdata_o,  // shared by all clients

    output read_t        rd_o,
    input  wire logic    rd_ready_i,
    input  wire answer_t rd_i
);
    logic [Clients-1:0] req, grant, held_q;
    logic waiting_q, grant_now;

    always_comb begin
        for (int unsigned c = 0; c < Clients; c++)
        req[c] = cl_i[c].valid && (!waiting_q || held_q[c]);
    end

    rr_arb #(
        .N(Clients)
    ) i_arb (
        .clk_i,
        .rst_ni,
        .clear_i(go_i),
        .req_i(req),
        .grant_o(grant),
        .idx_o(),
        .advance_i(grant_now)
    );

    assign rd_o.valid = req != '0;
    assign grant_now = rd_o.valid && rd_ready_i;

    always_comb begin
        rd_o.addr = '0;
        for (int unsigned c = 0; c < Clients; c++) begin
            cl_ready_o[c] = grant[c] && rd_ready_i;
            rd_o.addr |= cl_i[c].addr & {Cfg.AddrW{grant[c]}};
        end
    end

    always_ff @(posedge clk_i) begin
        waiting_q <= rst_ni && rd_o.valid && !rd_ready_i;
        held_q <= grant;
    end

    // The grants of the last cycles lead the answers back.
    logic [Clients-1:0] back_q[Latency];
    always_ff @(posedge clk_i) begin
        for (int unsigned l = 0; l < Latency; l++) begin
            if (!rst_ni) back_q[l] <= '0;
            else if (l == 0) back_q[l] <= grant & {Clients{rd_ready_i}};
            else back_q[l] <= back_q[l-1];
        end
    end

    assign cl_rdata_o = rd_i.rdata;
    always_comb begin
        for (int unsigned c = 0; c < Clients; c++) cl_rvalid_o[c] = back_q[Latency-1][c];
    end

    `MW_ASSERT(rd_i.rvalid == (back_q[Latency-1] != '0), "memory with another latency")
`ifdef SYNTHESIS
`endif
    `MW_NEXT(rd_o.valid && !go_i && !rd_ready_i, rd_o.valid && $stable(rd_o.addr),
             "a read changes before memory takes it")
    `MW_CONTRACT(rd_o.valid, $onehot(grant), "reads of two clients in one cycle")
endmodule

`default_nettype wire
