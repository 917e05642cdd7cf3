// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Lets several clients share one write port of the GPU memory.
//
// Order: round robin, up to 8 writes of a client in a row (two streams write by write would keep meeting the others in the banks); the writes of a client in the
// order of its grants. A write that waits at the memory keeps its place: address and data do not change under it.
// Back-pressure: none of its own; cl_ready_o is the grant, so a client must not wait for ready before it raises valid.
// Worst case: a client waits for 8 accesses of every other client.
`default_nettype none

module mem_wr_mux #(
    parameter int unsigned FlitBytes = 8,
    parameter int unsigned AddrW     = 11,
    parameter int unsigned Clients   = 2,
    localparam int unsigned FW = 8 * FlitBytes
) (
    input  wire logic                 clk_i,
    input  wire logic                 rst_ni,
    input  wire logic                 go_i,

    input  wire logic                 cl_valid_i [Clients],
    output logic                      cl_ready_o [Clients],
    input  wire logic [AddrW-1:0]     cl_addr_i  [Clients],
    input  wire logic [FW-1:0]        cl_data_i  [Clients],
    input  wire logic [FlitBytes-1:0] cl_be_i    [Clients],

    output logic                      wr_valid_o,
    input  wire logic                 wr_ready_i,
    output logic [AddrW-1:0]          wr_addr_o,
    output logic [FW-1:0]             wr_data_o,
    output logic [FlitBytes-1:0]      wr_be_o
);
    logic [Clients-1:0] req, grant, held_q;
    logic waiting_q, keep;
    logic [2:0] run_q;   // writes of the held client in a row, modulo 8
    logic [((Clients > 1) ? $clog2(Clients) : 1)-1:0] unused_idx;

    always_comb begin
        keep = waiting_q;
        for (int unsigned c = 0; c < Clients; c++) keep |= cl_valid_i[c] && held_q[c] && run_q != '0;
        for (int unsigned c = 0; c < Clients; c++) req[c] = cl_valid_i[c] && (!keep || held_q[c]);
    end

    rr_arb #(.N(Clients)) i_arb (
        .clk_i, .rst_ni, .clear_i(go_i), .req_i(req), .grant_o(grant), .idx_o(unused_idx),
        .advance_i(wr_valid_o && wr_ready_i)
    );

    assign wr_valid_o = req != '0;

    always_comb begin
        wr_addr_o = cl_addr_i[Clients-1];
        wr_data_o = cl_data_i[Clients-1];
        wr_be_o   = cl_be_i[Clients-1];
        for (int unsigned c = 0; c < Clients - 1; c++) begin
            if (grant[c]) begin
                wr_addr_o = cl_addr_i[c];
                wr_data_o = cl_data_i[c];
                wr_be_o   = cl_be_i[c];
            end
        end
        for (int unsigned c = 0; c < Clients; c++) cl_ready_o[c] = grant[c] && wr_ready_i;
    end

    always_ff @(posedge clk_i) begin
        waiting_q <= rst_ni && wr_valid_o && !wr_ready_i;
        held_q    <= grant;
        if (!rst_ni || go_i) run_q <= '0;
        else if (wr_valid_o && wr_ready_i) run_q <= (grant == held_q) ? run_q + 1'b1 : 3'd1;
    end
endmodule

`default_nettype wire
