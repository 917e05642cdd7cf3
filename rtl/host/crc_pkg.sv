// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// CRC-32 of the frames (host_pkg::CrcPolynomial, reflected).
//
// Function: A step takes 4 or 8 bytes, low byte first. A calculation begins with Start, and a
// frame carries ~crc. Good is the value after any bytes and their CRC.
// Latency: Combinational.
`default_nettype none
/* verilator lint_off UNUSEDPARAM */
package crc_pkg;
    localparam logic [31:0] Start = '1;
    localparam logic [31:0] Good = ~host_pkg::CrcResidue;

    function automatic logic [31:0] crc_4(logic [31:0] crc, logic [31:0] data);
        logic [31:0] c = crc ^ data;
        for (int unsigned i = 0; i < 32; i++) c = (c >> 1) ^ (c[0] ? host_pkg::CrcPolynomial : '0);
        return c;
    endfunction

    function automatic logic [31:0] crc_8(logic [31:0] crc, logic [63:0] data);
        return crc_4(crc_4(crc, data[31:0]), data[63:32]);
    endfunction
endpackage
/* verilator lint_on UNUSEDPARAM */
`default_nettype wire
