// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// RAM of the soft CPU: one port of 32 bits, byte lanes for writes, block RAM that begins with the words of InitFile
// ($readmemh, empty: undefined).
// Nothing clears it later: what the firmware keeps in it outlives a restart of the CPU.
//
// rdata_o shows the word of addr_i one cycle after req_i, until the next access. Behind a write it is undefined: a lane
// that is not written may be read on the FPGA, where each has block RAM of its own.
`default_nettype none

module cpu_ram #(
    parameter int unsigned BytesLog2 = 14,
    parameter              InitFile  = ""
) (
    input  wire logic                 clk_i,
    input  wire logic                 req_i,
    input  wire logic [3:0]           we_i,     // 0: read
    input  wire logic [BytesLog2-3:0] addr_i,   // word
    input  wire logic [31:0]          wdata_i,
    output logic [31:0]               rdata_o
);
    localparam int unsigned Words = 1 << (BytesLog2 - 2);

    (* no_rw_check, ram_style = "block" *)
    logic [31:0] mem [Words];

    if (InitFile != "") begin : gen_init
        initial $readmemh(InitFile, mem);
    end

    always_ff @(posedge clk_i) begin
        if (req_i && we_i == '0) rdata_o <= mem[addr_i];
    end

    always_ff @(posedge clk_i) begin
        for (int unsigned b = 0; b < 4; b++) begin
            if (req_i && we_i[b]) mem[addr_i][8*b +: 8] <= wdata_i[8*b +: 8];
        end
    end
endmodule

`default_nettype wire
