// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Finds where a store's payload lies, from its header. Combinational, between the header memory and
// rx_resolve's first register.
//
// Function: The address of a row is {token, byte inside the row}, split at row_shift. Other
// addresses are memory addresses. Only one comparison with the end remains for rx_resolve.
`default_nettype none

module rx_extent #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    localparam int unsigned ByteW = (Cfg.MemBytesLog2 > 15) ? Cfg.MemBytesLog2 : 15
) (
    input  wire logic [3:0]            row_shift_i,  // at least LogF
    input  wire packet_pkg::extent_e   extent_i,     // what its address names
    input  wire logic                  said_i,       // a FLAG that says rows: 23 bits of
                                                     // its address count
    input  wire logic [7:0]            len_i,
    input  wire logic [Cfg.MaddrW-1:0] addr_i,
    output logic [ByteW-1:0]           first_o,      // byte in memory, or in the row
    output logic [ByteW:0]             end_o,        // the one behind the last
    output logic [Cfg.TokW-1:0]        token_o,
    // the address has more bits than there are tokens, memory or event counters, or
    // counts do not begin with a flit
    output logic                       beyond_o
);
    import packet_pkg::*;
    localparam int unsigned RowAt = $clog2(isa_pkg::Events);  // of the rows that a FLAG reports

    if (Cfg.RowRanges && RowAt + Cfg.TokW + 1 > ByteW) begin : gen_check
        $error("rx_extent: a FLAG tells more rows than an address has bits");
    end

    // A shift by a configured number is a multiplication by a power of two, because a multiplier
    // costs less than a shifter.
    // of a row's stride, which memory holds
    localparam int unsigned MaxShift = (Cfg.MemBytesLog2 < 15) ? Cfg.MemBytesLog2 : 15;
    localparam int unsigned TokTop = Cfg.TokW + MaxShift;

    // one bit: how far a token's bits are below bit MaxShift of the address
    logic [MaxShift-Cfg.FlitLog2:0] token_up;
    logic [TokTop-Cfg.FlitLog2-1:0] token_mul;
    logic [14:0] in_row;  // ones where an address has the byte inside the row

    assign in_row = ~(15'h7fff << row_shift_i);
    assign token_up = (MaxShift - Cfg.FlitLog2 + 1)'(1) << (4'(MaxShift) - row_shift_i);
    assign token_mul = addr_i[TokTop-1:Cfg.FlitLog2] * (TokTop - Cfg.FlitLog2)'(token_up);
    assign token_o = token_mul[MaxShift-Cfg.FlitLog2+:Cfg.TokW];
    assign first_o = (extent_i == EXTENT_ROW) ? ByteW'(addr_i[14:0] & in_row)
                     : ByteW'(addr_i[Cfg.MemBytesLog2-1:0]);
    assign end_o = (ByteW + 1)'(first_o) + (ByteW + 1)'(len_i);

    always_comb begin
        unique case (extent_i)
            EXTENT_ROW:        beyond_o = (addr_i[Cfg.TokW+14:Cfg.TokW] & ~in_row) != '0
                                          || (addr_i >> (Cfg.TokW + 15)) != '0;
            EXTENT_EVENT: if (Cfg.SourceLists && said_i)
                               beyond_o = (addr_i >> 23) != '0
                                          || (addr_i >> Cfg.MemBytesLog2) != '0;
                     else      beyond_o = !cfg_pkg::counted(Cfg.Events, Cfg.RowRanges
                                                            ? 48'(addr_i[4:0]) : 48'(addr_i))
                                          || (addr_i >> (RowAt + Cfg.TokW + 1)) != '0;
            EXTENT_NONE:       beyond_o = 1'b0;
            EXTENT_COUNTS:     beyond_o = addr_i[Cfg.FlitLog2-1:0] != '0
                                          || (Cfg.CopyPkts > 1 && (addr_i >> 9) != '0);
            default:           beyond_o = (addr_i >> Cfg.MemBytesLog2) != '0;
        endcase
    end

endmodule

`default_nettype wire
