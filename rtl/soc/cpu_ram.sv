// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// RAM of the soft CPU.
//
// Function: One port of 32 bits with byte lanes for writes, in block RAM. It starts with the
// words of InitFile ($readmemh, empty: undefined). No reset clears it, so its contents survive a
// restart of the CPU.
// Latency: rdata_o has the word of addr_i one cycle after req_i, until the next access. After a
// write it is undefined, as each lane has a block RAM of its own.
`default_nettype none

module cpu_ram #(
    parameter int unsigned BytesLog2 = 14,
    parameter InitFile = ""
) (
    input  wire logic                 clk_i,
    input  wire logic                 req_i,
    input  wire logic [3:0]           we_i,    // 0: read
    input  wire logic [BytesLog2-3:0] addr_i,  // word
    input  wire logic [31:0]          wdata_i,
    output logic [31:0]               rdata_o
);
    localparam int unsigned Words = 1 << (BytesLog2 - 2);

    (* no_rw_check, ram_style = "block" *)
    logic [31:0] mem[Words];

    if (InitFile != "") begin : gen_init
        initial $readmemh(InitFile, mem);
    end

    always_ff @(posedge clk_i) begin
        if (req_i && we_i == '0) rdata_o <= mem[addr_i];
    end

    always_ff @(posedge clk_i) begin
        for (int unsigned b = 0; b < 4; b++) begin
            if (req_i && we_i[b]) mem[addr_i][8*b+:8] <= wdata_i[8*b+:8];
        end
    end
endmodule

`default_nettype wire
