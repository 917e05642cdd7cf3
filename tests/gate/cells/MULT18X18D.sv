// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Model of the ECP5's multiplier without its registers (FPGA-TN-02205): P = A * B, each signed
// where its SIGNED input says so. The outputs that chain multipliers are 0.
`default_nettype none
/* verilator lint_off DECLFILENAME */

module MULT18X18D #(
    parameter REG_INPUTA_CLK = "NONE", REG_INPUTB_CLK = "NONE",
                               REG_PIPELINE_CLK = "NONE", REG_OUTPUT_CLK = "NONE"
) (
    input  wire A17, A16, A15, A14, A13, A12, A11, A10, A9, A8, A7, A6,
                A5, A4, A3, A2, A1, A0,
    input  wire B17, B16, B15, B14, B13, B12, B11, B10, B9, B8, B7, B6,
                B5, B4, B3, B2, B1, B0,
    input  wire C17, C16, C15, C14, C13, C12, C11, C10, C9, C8, C7, C6,
                C5, C4, C3, C2, C1, C0,
    input  wire SIGNEDA, SIGNEDB, SOURCEA, SOURCEB,
    output wire P35, P34, P33, P32, P31, P30, P29, P28, P27, P26, P25, P24,
                P23, P22, P21, P20, P19, P18, P17, P16, P15, P14, P13, P12,
                P11, P10, P9, P8, P7, P6, P5, P4, P3, P2, P1, P0
);
    if (REG_INPUTA_CLK != "NONE" || REG_INPUTB_CLK != "NONE" || REG_PIPELINE_CLK != "NONE"
        || REG_OUTPUT_CLK != "NONE") begin : gen_unknown
        $error("MULT18X18D: a mode that this model does not have");
    end

    wire [17:0] a = {A17, A16, A15, A14, A13, A12, A11, A10, A9, A8, A7, A6,
                A5, A4, A3, A2, A1, A0};
    wire [17:0] b = {B17, B16, B15, B14, B13, B12, B11, B10, B9, B8, B7, B6,
                B5, B4, B3, B2, B1, B0};
    wire signed [36:0] as = {{19{SIGNEDA && a[17]}}, a};
    wire signed [36:0] bs = {{19{SIGNEDB && b[17]}}, b};
    wire signed [36:0] p = as * bs;

    assign {P35, P34, P33, P32, P31, P30, P29, P28, P27, P26, P25, P24,
                P23, P22, P21, P20, P19, P18, P17, P16, P15, P14, P13, P12,
                P11, P10, P9, P8, P7, P6, P5, P4, P3, P2, P1, P0} = p[35:0];

    wire unused = &{1'b0, SOURCEA, SOURCEB, p[36],
                    C17, C16, C15, C14, C13, C12, C11, C10, C9, C8, C7, C6,
                    C5, C4, C3, C2, C1, C0};
endmodule

`default_nettype wire
