// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Simple dual-port block RAM: one write port, one registered read port.
//
// Ports: With ByteEn, wbe_i selects the 8-bit lanes that a write changes. Without it wbe_i is
// ignored.
// Latency: rdata_o shows the word of raddr_i one cycle after re_i, and holds it while re_i is low.
// A read of the address that is written in the same cycle is undefined, with ByteEn only in the
// written lanes. Users must avoid it. Contents are undefined until written.
`default_nettype none

module ram_sdp #(
    parameter int unsigned Width = 32,
    parameter int unsigned Depth = 512,
    parameter int unsigned ByteEn = 0,
    localparam int unsigned AddrW = (Depth > 1) ? $clog2(Depth) : 1,
    localparam int unsigned Lanes = (Width + 7) / 8
) (
    input  wire logic             clk_i,
    input  wire logic             we_i,
    input  wire logic [AddrW-1:0] waddr_i,
    input  wire logic [Width-1:0] wdata_i,
    input  wire logic [Lanes-1:0] wbe_i,
    input  wire logic             re_i,
    input  wire logic [AddrW-1:0] raddr_i,
    output logic [Width-1:0]      rdata_o
);
    if (Width < 1 || Depth < 1 || (ByteEn != 0 && Width % 8 != 0)) begin : gen_check
        $error("ram_sdp: Width and Depth must be at least 1, Width a multiple of 8 with ByteEn");
    end

    (* no_rw_check, ram_style = "block" *)
    logic [Width-1:0] mem[Depth];

    always_ff @(posedge clk_i) begin
        if (re_i) rdata_o <= mem[raddr_i];
    end

    if (ByteEn != 0) begin : gen_lanes
        // A simulator stores one word instead of many lanes; synthesis makes write enables of it.
        always_ff @(posedge clk_i) begin
            if (we_i && wbe_i != '0) begin
                automatic logic [Width-1:0] word = wdata_i;
                if (wbe_i != '1) begin
                    word = mem[waddr_i];
                    for (int unsigned b = 0; b < Lanes; b++) begin
                        if (wbe_i[b]) word[8*b+:8] = wdata_i[8*b+:8];
                    end
                end
                mem[waddr_i] <= word;
            end
        end
    end else begin : gen_word
        wire unused_wbe = &{1'b0, wbe_i};
        always_ff @(posedge clk_i) begin
            if (we_i) mem[waddr_i] <= wdata_i;
        end
    end
endmodule

`default_nettype wire
