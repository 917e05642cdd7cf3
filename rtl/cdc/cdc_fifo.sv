// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Queue of 16 words between two unrelated clocks, in LUT RAM.
//
// Function: Each side sees the other's pointer in Gray code through cdc_sync. One bit of a moving
// pointer changes, so a side sees the old or the new value. A word is in the RAM for two cycles of
// the reader before its pointer is visible. A place is no longer read when it is returned. A side
// that sees an older pointer sees the queue fuller, or emptier, than it is.
// Ports: wclear_i and rclear_i empty their side, which neither takes nor returns words meanwhile.
// cdc_restart holds both in the required order. Both resets must be low at the same time once.
// Order: First in, first out.
// Latency: One word per cycle of the slower clock.
`default_nettype none
`include "assert.svh"

module cdc_fifo #(
    parameter int unsigned Width = 8
) (
    input  wire logic             wclk_i,
    input  wire logic             wrst_ni,
    input  wire logic             wclear_i,
    input  wire logic             valid_i,
    output logic                  ready_o,
    input  wire logic [Width-1:0] data_i,

    input  wire logic        rclk_i,
    input  wire logic        rrst_ni,
    input  wire logic        rclear_i,
    output logic             valid_o,
    input  wire logic        ready_i,
    output logic [Width-1:0] data_o
);
    localparam int unsigned DepthLog2 = 4;
    localparam int unsigned PtrW = DepthLog2 + 1;
    typedef logic [PtrW-1:0] ptr_t;

    if (Width < 1) begin : gen_check
        $error("cdc_fifo: Width must be at least 1");
    end

    function automatic ptr_t gray(ptr_t binary);
        return binary ^ (binary >> 1);
    endfunction

    // ---- writer ----
    ptr_t wptr_q, wgray_q, rgray_there;
    logic push;

    (* ram_style = "distributed" *)
    logic [Width-1:0] mem[2**DepthLog2];

    // full: a whole round ahead, which in Gray code turns the two upper bits over
    assign ready_o = !wclear_i && wgray_q != {~rgray_there[PtrW-1:PtrW-2], rgray_there[PtrW-3:0]};
    assign push = valid_i && ready_o;

    always_ff @(posedge wclk_i) begin
        if (push) mem[wptr_q[DepthLog2-1:0]] <= data_i;
    end

    always_ff @(posedge wclk_i) begin
        if (!wrst_ni || wclear_i) begin
            wptr_q <= '0;
            wgray_q <= '0;
        end else if (push) begin
            wptr_q <= wptr_q + 1'b1;
            wgray_q <= gray(wptr_q + 1'b1);
        end
    end

    // ---- reader ----
    ptr_t rptr_q, rgray_q, wgray_there;
    logic fetch, valid_q;

    (* keep, mw_cdc = "data" *) logic [Width-1:0] data_q;

    assign data_o = data_q;
    assign valid_o = valid_q && !rclear_i;
    assign fetch = rgray_q != wgray_there && (!valid_q || ready_i);

    always_ff @(posedge rclk_i) begin
        if (fetch) data_q <= mem[rptr_q[DepthLog2-1:0]];
    end

    always_ff @(posedge rclk_i) begin
        if (!rrst_ni || rclear_i) begin
            rptr_q <= '0;
            rgray_q <= '0;
            valid_q <= 1'b0;
        end else begin
            valid_q <= fetch || (valid_q && !ready_i);
            if (fetch) begin
                rptr_q <= rptr_q + 1'b1;
                rgray_q <= gray(rptr_q + 1'b1);
            end
        end
    end

    cdc_sync #(
        .Width(PtrW)
    ) i_to_reader (
        .clk_i(rclk_i),
        .rst_ni(rrst_ni),
        .data_i(wgray_q),
        .data_o(wgray_there)
    );
    cdc_sync #(
        .Width(PtrW)
    ) i_to_writer (
        .clk_i(wclk_i),
        .rst_ni(wrst_ni),
        .data_i(rgray_q),
        .data_o(rgray_there)
    );

    // ---- what must hold: of the pointers that a side sees while it pushes or takes ----
    function automatic ptr_t binary(ptr_t code);
        for (int b = PtrW - 2; b >= 0; b--) code[b] ^= code[b+1];
        return code;
    endfunction

    ptr_t stored, waiting;
    assign stored = wptr_q - binary(rgray_there);
    assign waiting = binary(wgray_there) - rptr_q;

    localparam ptr_t Depth = ptr_t'(2 ** DepthLog2);
    `MW_ASSERT_AT(wclk_i, wrst_ni, wclear_i || !valid_i || stored <= Depth,
                  "cdc_fifo: written over")
    `MW_ASSERT_AT(rclk_i, rrst_ni, rclear_i || !ready_i || waiting <= Depth,
                  "cdc_fifo: read what was not written")
    wire unused = &{1'b0, stored, waiting};
endmodule

`default_nettype wire
