// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Flit queue of one input of the switch: block RAM and an output register.
//
// Function: The register exists because the readers have no time for the delay of the RAM.
// Order: First in, first out. One flit per cycle in and out.
// Back-pressure: almost_full_o (almost full). While it is high, one more flit may come, then none
// until it falls. Up to Depth - 5 flits do not raise it.
// Latency: If the queue is empty and direct_i is high, a flit is shown in the cycle in which it
// comes. If it is not taken then, or comes when the last flit is taken, it is in the register from
// the next cycle on. Other flits pass through the RAM. They are shown at most 3 cycles after they
// came, or as soon as all earlier flits are taken.
`default_nettype none
`include "assert.svh"

module flit_queue #(
    parameter int unsigned Width = 68,
    parameter int unsigned DepthLog2 = 9,
    localparam int unsigned DW = DepthLog2
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    input  wire logic             valid_i,
    input  wire logic [Width-1:0] data_i,
    input  wire logic             direct_i,  // a flit may be shown in the cycle in
                                             // which it comes

    output logic             valid_o,
    output logic [Width-1:0] data_o,
    output logic             held_valid_o,  // that flit is in the register
    output logic             load_o,        // load_data_o goes into the register
    output logic [Width-1:0] load_data_o,
    output logic [Width-1:0] held_o,        // the register
    input  wire logic        take_i,        // only with valid_o

    output logic almost_full_o,  // the RAM has room for four flits or fewer
    output logic empty_o
);
    logic [DW:0] wptr, rptr;
    logic [Width-1:0] ram_data, out_q;
    logic read_q, held_q;  // a flit is at the RAM's output, in the register
    logic behind_q;  // a flit is in the RAM or at its output
    logic in_ram, put, fetch, move, pass;

    assign in_ram = wptr[DW-1:0] != rptr[DW-1:0];  // it is never full, see almost_full_o
    assign empty_o = !behind_q && !held_q;
    assign valid_o = held_q || (valid_i && !behind_q && direct_i);
    assign data_o = held_q ? out_q : data_i;
    assign put = valid_i && (behind_q || (held_q && !take_i));
    assign pass = valid_i && !behind_q && held_q == take_i;  // into the register
    assign move = read_q && (!held_q || take_i);
    assign fetch = in_ram && (!read_q || move);
    assign load_o = move || pass;
    assign load_data_o = read_q ? ram_data : data_i;
    assign held_o = out_q;
    assign held_valid_o = held_q;

    ram_sdp #(
        .Width(Width),
        .Depth(1 << DW)
    ) i_ram (
        .clk_i,
        .we_i(put),
        .waddr_i(wptr[DW-1:0]),
        .wdata_i(data_i),
        .wbe_i('1),
        .re_i(fetch),
        .raddr_i(rptr[DW-1:0]),
        .rdata_o(ram_data)
    );

    slot_pointer #(
        .W(DW)
    ) i_wptr (
        .clk_i,
        .rst_ni,
        .next_i(put),
        .ptr_o(wptr)
    );
    slot_pointer #(
        .W(DW)
    ) i_rptr (
        .clk_i,
        .rst_ni,
        .next_i(fetch),
        .ptr_o(rptr)
    );

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            read_q <= 1'b0;
            behind_q <= 1'b0;
            held_q <= 1'b0;
        end else begin
            read_q <= fetch || (read_q && !move);
            behind_q <= put || in_ram || (read_q && !move);  // what is fetched is at the output
            held_q <= move || pass || (held_q && !take_i);
        end
        if (load_o) out_q <= load_data_o;
    end

    // ---- flits in the RAM, a cycle ago ----
    // The pointers do not show it, and what is taken is known late.
    logic [DW-1:0] level_q;
    logic put_q, fetch_q;

    assign almost_full_o = level_q[DW-1:2] == '1;

    always_ff @(posedge clk_i) begin
        {put_q, fetch_q} <= rst_ni ? {put, fetch} : 2'b00;
        if (!rst_ni) level_q <= '0;
        else if (put_q != fetch_q) level_q <= level_q + (put_q ? DW'(1) : '1);
    end

    `MW_ASSERT(!put || level_q + DW'(put_q) - DW'(fetch_q) != '1,
               "a flit for which there is no room")
    `MW_ASSERT(!take_i || valid_o, "nothing to take")

    `MW_NEXT(held_valid_o && !take_i, held_valid_o && $stable(held_o),
             "a flit goes before it is taken")
    `MW_CONTRACT(empty_o, level_q + DW'(put_q) == DW'(fetch_q), "empty, and flits are in the RAM")
endmodule

`default_nettype wire
