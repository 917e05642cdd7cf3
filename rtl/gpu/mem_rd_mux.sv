// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Lets several clients share one read port of the GPU memory.
//
// Order: round robin; responses return to the client that asked: the memory answers Latency cycles after the grant. A request that waits at the memory keeps its place: address and client do not change under it.
// Back-pressure: none of its own; cl_ready_o is the grant, so a client must not wait for ready before it raises valid.
// Worst case: a client waits for one access of every other client.
`default_nettype none

module mem_rd_mux #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter int unsigned Clients = 6,
    parameter int unsigned Latency = 3  // of the memory, cycles from grant to answer
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,
    input  wire logic go_i,

    input  wire logic                 cl_valid_i [Clients],
    output logic                      cl_ready_o [Clients],
    input  wire logic [Cfg.AddrW-1:0] cl_addr_i [Clients],
    output logic                      cl_rvalid_o [Clients],
    output logic [Cfg.FlitW-1:0]      cl_rdata_o, // shared by all clients

    output logic                      rd_valid_o,
    input  wire logic                 rd_ready_i,
    output logic [Cfg.AddrW-1:0]      rd_addr_o,
    input  wire logic                 rd_rvalid_i,
    input  wire logic [Cfg.FlitW-1:0] rd_rdata_i
);
    logic [Clients-1:0] req, grant, held_q;
    logic [((Clients > 1) ? $clog2(Clients) : 1)-1:0] unused_idx;
    logic waiting_q, grant_now;

    always_comb begin
        for (int unsigned c = 0; c < Clients; c++) req[c] = cl_valid_i[c] && (!waiting_q || held_q[c]);
    end

    rr_arb #(.N(Clients)) i_arb (
        .clk_i, .rst_ni, .clear_i(go_i), .req_i(req), .grant_o(grant), .idx_o(unused_idx), .advance_i(grant_now)
    );

    assign rd_valid_o = req != '0;
    assign grant_now  = rd_valid_o && rd_ready_i;

    always_comb begin
        rd_addr_o = '0;
        for (int unsigned c = 0; c < Clients; c++) begin
            cl_ready_o[c] = grant[c] && rd_ready_i;
            rd_addr_o |= cl_addr_i[c] & {Cfg.AddrW{grant[c]}};
        end
    end

    always_ff @(posedge clk_i) begin
        waiting_q <= rst_ni && rd_valid_o && !rd_ready_i;
        held_q    <= grant;
    end

    // The grants of the last cycles lead the answers back.
    logic [Clients-1:0] back_q [Latency];
    always_ff @(posedge clk_i) begin
        for (int unsigned l = 0; l < Latency; l++) begin
            if (!rst_ni) back_q[l] <= '0;
            else if (l == 0) back_q[l] <= grant & {Clients{rd_ready_i}};
            else back_q[l] <= back_q[l-1];
        end
    end

    assign cl_rdata_o = rd_rdata_i;
    always_comb begin
        for (int unsigned c = 0; c < Clients; c++) cl_rvalid_o[c] = back_q[Latency-1][c];
    end

`ifndef SYNTHESIS
    always_ff @(posedge clk_i) begin
        if (rst_ni && rd_rvalid_i != (back_q[Latency-1] != '0)) $fatal(1, "mem_rd_mux: memory with another latency");
    end
`else
    logic unused_rvalid;
    assign unused_rvalid = rd_rvalid_i;
`endif
endmodule

`default_nettype wire
