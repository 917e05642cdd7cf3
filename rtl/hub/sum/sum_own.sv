// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Writes own rows from adder and bypass to memory, port OUT.
//
// Order: Rows, and the flits of a row, as they come. dest_* gives the rows' destinations in the
// same order.
// Back-pressure: out_wr_ may stall. A row waits for its dest_*.
// Latency: A row of n flits takes n cycles, plus those in which memory refuses.
// Errors: A poisoned flit is not written: memory keeps its previous contents.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module sum_own #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type dest_t = `MW_DEST(Cfg),
    parameter type write_t = `MW_WRITE(Cfg),
    parameter type own_t = logic  // see row_sum
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    input  wire own_t own_i,
    output logic      ready_o,

    input  wire dest_t dest_i,  // where rows go
    output logic       dest_ready_o,

    output write_t    out_wr_o,
    input  wire logic out_wr_ready_i,

    output logic pkt_done_o,  // a packet is in memory
    output logic row_done_o,  // one cycle later: a row is
    output logic row_more_o   // dest_i.more of this row
);
    logic row_end;
    logic dest_q, dest_more_q;  // dest_addr_q is the address of the next flit
    logic [Cfg.AddrW-1:0] dest_addr_q;

    assign out_wr_o.valid = own_i.valid && dest_q && !own_i.poison;
    assign out_wr_o.data = own_i.data;
    assign out_wr_o.addr = dest_addr_q;
    assign out_wr_o.be = '1;
    assign ready_o = dest_q && (own_i.poison || out_wr_ready_i);
    assign pkt_done_o = own_i.valid && ready_o && own_i.last;
    assign row_end = pkt_done_o && own_i.row_last;
    assign dest_ready_o = !dest_q || row_end;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            dest_q <= 1'b0;
            row_done_o <= 1'b0;
        end else begin
            if (dest_ready_o) dest_q <= dest_i.valid;
            row_done_o <= row_end;
        end
        row_more_o <= dest_more_q;
        if (dest_ready_o) dest_more_q <= dest_i.more;
        if (dest_ready_o) dest_addr_q <= dest_i.addr;
        else if (own_i.valid && ready_o) dest_addr_q <= dest_addr_q + 1'b1;
    end

    `MW_STABLE(out_wr_o.valid, out_wr_ready_i, out_wr_o, "a write changes before memory takes it")
    `MW_CONTRACT(row_end, dest_q, "a row without a destination")
endmodule

`default_nettype wire
