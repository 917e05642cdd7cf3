// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Ports of the ECP5 cells that tops of boards instantiate, for tools that read the RTL.
//
// Function: Synthesis has its own cells of these names, and tests/gate/cells has models. Sources:
// FPGA-TN-02032 (I/O), FPGA-TN-02200 (clocks), FPGA-TN-02035 (I/O registers).
`default_nettype none
/* verilator lint_off DECLFILENAME */
/* verilator lint_off UNUSEDPARAM */
/* verilator lint_off UNUSEDSIGNAL */
/* verilator lint_off UNDRIVEN */

(* blackbox *)
module EHXPLLL #(
    parameter CLKI_DIV = 1,
    parameter CLKFB_DIV = 1,
    parameter CLKOP_DIV = 8,
    parameter CLKOS_DIV = 8,
    parameter CLKOS2_DIV = 8,
    parameter CLKOS3_DIV = 8,
    parameter CLKOP_CPHASE = 0,
    parameter CLKOS_CPHASE = 0,
    parameter CLKOS2_CPHASE = 0,
    parameter CLKOS3_CPHASE = 0,
    parameter CLKOS_ENABLE = "DISABLED",
    parameter CLKOS2_ENABLE = "DISABLED",
    parameter CLKOS3_ENABLE = "DISABLED",
    parameter FEEDBK_PATH = "CLKOP"
) (
    input  wire CLKI,
    CLKFB,
    RST,
    STDBY,
    PHASESEL0,
    PHASESEL1,
    PHASEDIR,
    PHASESTEP,
    PHASELOADREG,
    PLLWAKESYNC,
    input  wire ENCLKOP,
    ENCLKOS,
    ENCLKOS2,
    ENCLKOS3,
    output wire CLKOP,
    CLKOS,
    CLKOS2,
    CLKOS3,
    LOCK
);
endmodule

(* blackbox *) module BB (
    input wire I,
    T,
    output wire O,
    inout wire B
);
endmodule

(* blackbox *) module DELAYG #(
    parameter DEL_MODE = "USER_DEFINED",
    parameter DEL_VALUE = 0
) (
    input  wire A,
    output wire Z
);
endmodule

(* blackbox *) module ODDRX1F (
    input wire D0,
    D1,
    SCLK,
    RST,
    output wire Q
);
endmodule

(* blackbox *) module IFS1P3DX (
    input wire D,
    SP,
    SCLK,
    CD,
    output wire Q
);
endmodule

(* blackbox *) module OFS1P3DX (
    input wire D,
    SP,
    SCLK,
    CD,
    output wire Q
);
endmodule

(* blackbox *) module OFS1P3BX (
    input wire D,
    SP,
    SCLK,
    PD,
    output wire Q
);
endmodule

`default_nettype wire
