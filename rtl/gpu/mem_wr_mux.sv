// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Shares one write port of the GPU memory among several clients.
//
// Function: One client owns the port. It passes on, round robin, in a cycle in which its owner has
// nothing to write, or with the 8th write in a row. Two streams that alternated write by write
// would keep meeting the others in the banks. The owner is a register, so its multiplexer is cheap.
// Order: The writes of a client in the order of its grants. A write that waits at the memory keeps
// its slot: address and data do not change.
// Back-pressure: cl_ready_o depends on the port's ready and not on valid. A client that does not
// own the port is not ready, so it must not wait for ready before it raises valid.
// Latency: A client waits for 8 accesses of every other client, and one cycle to get the port.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module mem_wr_mux #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type write_t = `MW_WRITE(Cfg),
    parameter int unsigned Clients = 4
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,
    input  wire logic go_i,

    input  wire write_t cl_i [Clients],
    output logic        cl_ready_o [Clients],

    output write_t    wr_o,
    input  wire logic wr_ready_i
);
    localparam int unsigned IdxW = (Clients > 1) ? $clog2(Clients) : 1;

    logic [IdxW-1:0] sel_q, next;
    logic [2:0] run_q;  // writes of this client in a row, modulo 8
    logic pass;

    // A multiplexer of n pairs takes n LUT4 per bit. The value that runs down its chain first
    // selects inside a pair. From the chosen pair on it is data. The pair is one-hot in registers
    // of its own, so that synthesis cannot see that they exclude each other and undo the chain.
    localparam int unsigned Pairs = (Clients + 1) / 2;
    logic [Pairs-1:0] pair_q;

    always_comb begin
        wr_o.addr = {Cfg.AddrW{sel_q[0]}};
        wr_o.data = {Cfg.FlitW{sel_q[0]}};
        wr_o.be = {Cfg.FlitBytes{sel_q[0]}};
        for (int unsigned k = 0; k < Pairs; k++) begin
            if (pair_q[k]) begin
                wr_o.addr = (wr_o.addr & cl_i[(2*k+1 < Clients) ? 2*k+1 : 2*k].addr)
                            | (~wr_o.addr & cl_i[2*k].addr);
                wr_o.data = (wr_o.data & cl_i[(2*k+1 < Clients) ? 2*k+1 : 2*k].data)
                            | (~wr_o.data & cl_i[2*k].data);
                wr_o.be = (wr_o.be & cl_i[(2*k+1 < Clients) ? 2*k+1 : 2*k].be)
                          | (~wr_o.be & cl_i[2*k].be);
            end
        end
    end

    assign wr_o.valid = cl_i[sel_q].valid;
    assign pass = !wr_o.valid || (wr_ready_i && run_q == '1);

    // The next client with a request; else it stays.
    always_comb begin
        next = sel_q;
        for (int unsigned i = 0; i < Clients; i++) begin
            if (cl_i[i].valid && IdxW'(i) < sel_q) begin
                next = IdxW'(i);
                break;
            end
        end
        for (int unsigned i = 0; i < Clients; i++) begin
            if (cl_i[i].valid && IdxW'(i) > sel_q) begin
                next = IdxW'(i);
                break;
            end
        end
        for (int unsigned c = 0; c < Clients; c++) cl_ready_o[c] = wr_ready_i && sel_q == IdxW'(c);
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) begin
            sel_q <= '0;
            pair_q <= Pairs'(1);
            run_q <= '0;
        end else begin
            if (pass) sel_q <= next;
            for (int unsigned k = 0; k < Pairs; k++) begin
                if (pass) pair_q[k] <= (next >> 1) == IdxW'(k);
            end
            if (pass) run_q <= '0;
            else if (wr_ready_i) run_q <= run_q + 1'b1;
        end
    end

    `MW_CONTRACT(1'b1, $onehot(pair_q) && (pair_q & (Pairs'(1) << (sel_q >> 1))) != '0,
                 "the multiplexer is not at the owner")
    `MW_NEXT(wr_o.valid && !go_i && !wr_ready_i, wr_o.valid && $stable(wr_o),
             "a write changes before memory takes it")
endmodule

`default_nettype wire
