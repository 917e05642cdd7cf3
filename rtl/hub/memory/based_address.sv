// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Adds an instruction's address to its base. Combinational.
//
// Function: If the sum lies far beyond memory, the result is the last possible byte address, which
// no range and no alignment allows. Without Gathered no address has a base.
`default_nettype none

module based_address #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default
) (
    input  wire logic [35:0]     base_i,  // inside memory
    input  wire node_pkg::byte_t address_i,
    output node_pkg::byte_t      address_o
);
    if (Cfg.Gathered) begin : gen_sum
        localparam int unsigned SumW = Cfg.MemBytesLog2 + 2;

        logic [SumW-1:0] sum;
        logic far;

        assign sum = SumW'((SumW - 1)'(address_i)) + SumW'(base_i[Cfg.MemBytesLog2-1:0]);
        assign far = (address_i >> (SumW - 1)) != '0 || (sum >> $bits(address_o)) != '0;
        assign address_o = far ? '1 : $bits(address_o)'(sum);
    end else begin : gen_own
        assign address_o = address_i;
    end

endmodule

`default_nettype wire
