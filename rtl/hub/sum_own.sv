// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Own rows from the adder to memory: writes each row's flits to where it goes, port OUT.
//
// Order: rows, and the flits of a row, as they come from the adder; dest_* says where rows go, in the same order. A
// poisoned flit is not written: memory keeps what it held there.
// Back-pressure: out_wr_ may stall, and a row waits for its dest_*; room_o is low with 15 flits promised or here.
// Worst case: a row of n flits takes n cycles and those in which memory refuses.
`default_nettype none
`include "bundles.svh"

module sum_own #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    input  wire logic                 promise_i,  // only with room_o
    output logic                      room_o,
    input  wire logic                 push_i,     // what was promised
    input  wire logic [Cfg.FlitW-1:0] data_i,
    input  wire logic                 last_i,     // of its packet
    input  wire logic                 row_last_i, // its packet is the last of the row
    input  wire logic                 poison_i,

    input  wire `MW_DEST(Cfg) dest_i, // where rows go
    output logic              dest_ready_o,

    output `MW_WRITE(Cfg) out_wr_o,
    input  wire logic     out_wr_ready_i,

    output logic pkt_done_o, // a packet is in memory
    output logic row_done_o, // one cycle later: a row is
    output logic row_more_o, // dest_i.more of this row
    output logic busy_o      // a flit is here
);
    logic                 valid, last, row_last, poison, pop, row_end;
    logic                 dest_q, dest_more_q; // dest_addr_q is the address of the next flit
    logic [Cfg.AddrW-1:0] dest_addr_q;

    promise_fifo #(
        .Width(Cfg.FlitW + 3),
        .Depth(16)
    ) i_flits (
        .clk_i, .rst_ni, .promise_i, .room_o, .push_i, .data_i({last_i, row_last_i, poison_i, data_i}),
        .valid_o(valid), .ready_i(pop), .data_o({last, row_last, poison, out_wr_o.data})
    );

    assign out_wr_o.valid = valid && dest_q && !poison;
    assign out_wr_o.addr  = dest_addr_q;
    assign out_wr_o.be    = '1;
    assign pop            = valid && dest_q && (poison || out_wr_ready_i);
    assign pkt_done_o     = pop && last;
    assign row_end        = pkt_done_o && row_last;
    assign dest_ready_o   = !dest_q || row_end;
    assign busy_o         = valid;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            dest_q     <= 1'b0;
            row_done_o <= 1'b0;
        end else begin
            if (dest_ready_o) dest_q <= dest_i.valid;
            row_done_o <= row_end;
        end
        row_more_o <= dest_more_q;
        if (dest_ready_o) dest_more_q <= dest_i.more;
        if (dest_ready_o) dest_addr_q <= dest_i.addr;
        else if (pop)     dest_addr_q <= dest_addr_q + 1'b1;
    end
endmodule

`default_nettype wire
