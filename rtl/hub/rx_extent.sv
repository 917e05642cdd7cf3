// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Where a store's payload lies, from its header. The address of a dymultimem.st is {token, byte inside the row}, with the split at row_shift; others have
// addresses of memory. Combinational, between the header memory and rx_resolve's first register: what is left behind it is one comparison with the end.
`default_nettype none

module rx_extent #(
    parameter int unsigned AddrB  = 14,  // of a byte in memory
    parameter int unsigned TokB   = 7,   // of a token, all GPUs'
    parameter int unsigned LogF   = 3,
    parameter int unsigned MAddrW = 22,
    localparam int unsigned ByteW = (AddrB > 15) ? AddrB : 15
) (
    input  wire logic [3:0]          row_shift_i,   // at least LogF
    input  wire packet_pkg::opcode_e op_i,          // ST for a dymultimem.st that says where it lands
    input  wire logic [7:0]          len_i,
    input  wire logic [MAddrW-1:0]   addr_i,
    output logic [ByteW-1:0]         first_o,       // byte in memory, or in the row
    output logic [ByteW:0]           end_o,         // the one behind the last
    output logic [TokB-1:0]          token_o,
    output logic                     beyond_o       // the address has more bits than there are tokens, memory or event counters, or counts do not begin with a flit
);
    import packet_pkg::*;

    // Shifts by numbers of the configuration are multiplications by a power of two: a multiplier costs less than a shifter.
    localparam int unsigned MaxShift = (AddrB < 15) ? AddrB : 15;  // of a row's stride, which memory holds
    localparam int unsigned TokTop   = TokB + MaxShift;

    logic [MaxShift-LogF:0] token_up;    // one bit: how far a token's bits are below bit MaxShift of the address
    logic [TokTop-LogF-1:0] token_mul;
    logic [14:0]            in_row;      // ones where an address has the byte inside the row

    assign in_row    = ~(15'h7fff << row_shift_i);
    assign token_up  = (MaxShift-LogF+1)'(1) << (4'(MaxShift) - row_shift_i);
    assign token_mul = addr_i[TokTop-1:LogF] * (TokTop-LogF)'(token_up);
    assign token_o   = token_mul[MaxShift-LogF +: TokB];
    assign first_o   = (op_i == OP_DYMULTIMEM_ST) ? ByteW'(addr_i[14:0] & in_row) : ByteW'(addr_i[AddrB-1:0]);
    assign end_o     = (ByteW+1)'(first_o) + (ByteW+1)'(len_i);

    always_comb begin
        unique case (op_i)
            OP_DYMULTIMEM_ST:  beyond_o = (addr_i[TokB+14:TokB] & ~in_row) != '0 || (addr_i >> (TokB + 15)) != '0;
            OP_FLAG:           beyond_o = (addr_i >> $clog2(isa_pkg::SwEvents)) != '0;
            OP_FENCE:          beyond_o = 1'b0;
            OP_COUNTS:         beyond_o = addr_i[LogF-1:0] != '0;
            default:           beyond_o = (addr_i >> AddrB) != '0;
        endcase
    end

    logic unused;
    assign unused = ^token_mul;
endmodule

`default_nettype wire
