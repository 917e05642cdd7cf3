// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Small memory in LUT RAM: one write port, one asynchronous read port.
//
// Function: A read returns the contents after the last clock edge. Contents are undefined until
// written, and there is no reset. It costs one TRELLIS_DPR16X4 per 16 words of 4 bits on ECP5.
`default_nettype none

module lutram #(
    parameter int unsigned Width = 8,
    parameter int unsigned Depth = 16,
    localparam int unsigned AddrW = (Depth > 1) ? $clog2(Depth) : 1
) (
    input  wire logic             clk_i,
    input  wire logic             we_i,
    input  wire logic [AddrW-1:0] waddr_i,
    input  wire logic [Width-1:0] wdata_i,
    input  wire logic [AddrW-1:0] raddr_i,
    output logic [Width-1:0]      rdata_o
);
    if (Width < 1 || Depth < 1) begin : gen_check
        $error("lutram: Width and Depth must be at least 1");
    end

    (* ram_style = "distributed" *)
    logic [Width-1:0] mem[2**AddrW];

    assign rdata_o = mem[raddr_i];

    always_ff @(posedge clk_i) begin
        if (we_i) mem[waddr_i] <= wdata_i;
    end
endmodule

`default_nettype wire
