// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Model of the ECP5's block RAM, as FPGA-TN-02204 describes it: two ports of 1, 2, 4, 9, 18 or 36
// bits on 18 432 bits, byte enables at the low address bits from 18 bits on, three write modes,
// chip selects, a reset of the output latch, and an output register. At 36 bits port A writes and
// port B reads: bits 17:0 are DIA and DOA, bits 35:18 DIB and DOB.
//
// One clock edge and polarity. Of two ports that meet at one address the chip promises the reader
// nothing, unless the writer reads first (READBEFOREWRITE): here it gets the bits that the other
// one writes inverted, so that whoever depends on them is found.
`default_nettype none
/* verilator lint_off DECLFILENAME */

module DP16KD #(
    parameter DATA_WIDTH_A = 18, DATA_WIDTH_B = 18, REGMODE_A = "NOREG", REGMODE_B = "NOREG",
    parameter RESETMODE = "SYNC", ASYNC_RESET_RELEASE = "SYNC",
                          CSDECODE_A = "0b000", CSDECODE_B = "0b000",
    parameter WRITEMODE_A = "NORMAL", WRITEMODE_B = "NORMAL", CLKAMUX = "CLKA",
                            CLKBMUX = "CLKB", GSR = "ENABLED",
    parameter [319:0]
        INITVAL_00 = 0, INITVAL_01 = 0, INITVAL_02 = 0, INITVAL_03 = 0,
                     INITVAL_04 = 0, INITVAL_05 = 0,
        INITVAL_06 = 0, INITVAL_07 = 0, INITVAL_08 = 0, INITVAL_09 = 0,
                     INITVAL_0A = 0, INITVAL_0B = 0,
        INITVAL_0C = 0, INITVAL_0D = 0, INITVAL_0E = 0, INITVAL_0F = 0,
                     INITVAL_10 = 0, INITVAL_11 = 0,
        INITVAL_12 = 0, INITVAL_13 = 0, INITVAL_14 = 0, INITVAL_15 = 0,
                     INITVAL_16 = 0, INITVAL_17 = 0,
        INITVAL_18 = 0, INITVAL_19 = 0, INITVAL_1A = 0, INITVAL_1B = 0,
                     INITVAL_1C = 0, INITVAL_1D = 0,
        INITVAL_1E = 0, INITVAL_1F = 0, INITVAL_20 = 0, INITVAL_21 = 0,
                     INITVAL_22 = 0, INITVAL_23 = 0,
        INITVAL_24 = 0, INITVAL_25 = 0, INITVAL_26 = 0, INITVAL_27 = 0,
                     INITVAL_28 = 0, INITVAL_29 = 0,
        INITVAL_2A = 0, INITVAL_2B = 0, INITVAL_2C = 0, INITVAL_2D = 0,
                     INITVAL_2E = 0, INITVAL_2F = 0,
        INITVAL_30 = 0, INITVAL_31 = 0, INITVAL_32 = 0, INITVAL_33 = 0,
                     INITVAL_34 = 0, INITVAL_35 = 0,
        INITVAL_36 = 0, INITVAL_37 = 0, INITVAL_38 = 0, INITVAL_39 = 0,
                     INITVAL_3A = 0, INITVAL_3B = 0,
        INITVAL_3C = 0, INITVAL_3D = 0, INITVAL_3E = 0, INITVAL_3F = 0
) (
    input  wire DIA17, DIA16, DIA15, DIA14, DIA13, DIA12, DIA11, DIA10, DIA9, DIA8, DIA7, DIA6,
                DIA5, DIA4, DIA3, DIA2, DIA1, DIA0,
    input  wire ADA13, ADA12, ADA11, ADA10, ADA9, ADA8, ADA7, ADA6, ADA5, ADA4, ADA3, ADA2,
                ADA1, ADA0,
    input  wire CEA, OCEA, CLKA, WEA, RSTA, CSA2, CSA1, CSA0,
    output wire DOA17, DOA16, DOA15, DOA14, DOA13, DOA12, DOA11, DOA10, DOA9, DOA8, DOA7, DOA6,
                DOA5, DOA4, DOA3, DOA2, DOA1, DOA0,
    input  wire DIB17, DIB16, DIB15, DIB14, DIB13, DIB12, DIB11, DIB10, DIB9, DIB8, DIB7, DIB6,
                DIB5, DIB4, DIB3, DIB2, DIB1, DIB0,
    input  wire ADB13, ADB12, ADB11, ADB10, ADB9, ADB8, ADB7, ADB6, ADB5, ADB4, ADB3, ADB2,
                ADB1, ADB0,
    input  wire CEB, OCEB, CLKB, WEB, RSTB, CSB2, CSB1, CSB0,
    output wire DOB17, DOB16, DOB15, DOB14, DOB13, DOB12, DOB11, DOB10, DOB9, DOB8, DOB7, DOB6,
                DOB5, DOB4, DOB3, DOB2, DOB1, DOB0
);
    localparam int WA = DATA_WIDTH_A, WB = DATA_WIDTH_B;

    if ((WA == 36) != (WB == 36) || CLKAMUX != "CLKA" || CLKBMUX != "CLKB" || CSDECODE_A != "0b000"
        || CSDECODE_B != "0b000") begin : gen_unknown
        $error("DP16KD: a mode that this model does not have");
    end

    // words of 18 bits: two bytes of 9, whose bit 8 is the parity bit, which
    // widths below 9 do not have
    reg [17:0] mem [0:1023];

    localparam [64*320-1:0] INIT = {
        INITVAL_3F, INITVAL_3E, INITVAL_3D, INITVAL_3C, INITVAL_3B,
        INITVAL_3A, INITVAL_39, INITVAL_38, INITVAL_37, INITVAL_36, INITVAL_35, INITVAL_34,
        INITVAL_33, INITVAL_32, INITVAL_31, INITVAL_30,
        INITVAL_2F, INITVAL_2E, INITVAL_2D, INITVAL_2C, INITVAL_2B,
        INITVAL_2A, INITVAL_29, INITVAL_28, INITVAL_27, INITVAL_26, INITVAL_25, INITVAL_24,
        INITVAL_23, INITVAL_22, INITVAL_21, INITVAL_20,
        INITVAL_1F, INITVAL_1E, INITVAL_1D, INITVAL_1C, INITVAL_1B,
        INITVAL_1A, INITVAL_19, INITVAL_18, INITVAL_17, INITVAL_16, INITVAL_15, INITVAL_14,
        INITVAL_13, INITVAL_12, INITVAL_11, INITVAL_10,
        INITVAL_0F, INITVAL_0E, INITVAL_0D, INITVAL_0C, INITVAL_0B,
        INITVAL_0A, INITVAL_09, INITVAL_08, INITVAL_07, INITVAL_06, INITVAL_05, INITVAL_04,
        INITVAL_03, INITVAL_02, INITVAL_01, INITVAL_00};
    integer w;
    initial for (w = 0; w < 1024; w = w + 1) mem[w] = INIT[320*(w/16) + 20*(w%16) +: 18];

    wire [17:0] dia = {DIA17, DIA16, DIA15, DIA14, DIA13, DIA12, DIA11, DIA10, DIA9, DIA8, DIA7,
                       DIA6, DIA5, DIA4, DIA3, DIA2, DIA1, DIA0};
    wire [17:0] dib = {DIB17, DIB16, DIB15, DIB14, DIB13, DIB12, DIB11, DIB10, DIB9, DIB8, DIB7,
                       DIB6, DIB5, DIB4, DIB3, DIB2, DIB1, DIB0};
    wire [13:0] ada = {ADA13, ADA12, ADA11, ADA10, ADA9, ADA8, ADA7, ADA6, ADA5, ADA4, ADA3, ADA2,
                       ADA1, ADA0};
    wire [13:0] adb = {ADB13, ADB12, ADB11, ADB10, ADB9, ADB8, ADB7, ADB6, ADB5, ADB4, ADB3, ADB2,
                       ADB1, ADB0};
    wire        sela = {CSA2, CSA1, CSA0} == 3'b000, selb = {CSB2, CSB1, CSB0} == 3'b000;

    // ---- a word with the bits of an access, and the bits of an access out of a word ----
    function automatic [17:0] merge(input [17:0] old, input [17:0] data, input [13:0] addr,
                                    input integer width);
        merge = old;
        case (width)
            1: merge[{1'b0, addr[3:0]} + 5'(addr[3])] = data[0];
            2: merge[{1'b0, addr[3:1], 1'b0} + 5'(addr[3]) +: 2] = data[1:0];
            4: merge[{1'b0, addr[3:2], 2'b0} + 5'(addr[3]) +: 4] = data[3:0];
            9: if (addr[3]) merge[17:9] = data[8:0]; else merge[8:0] = data[8:0];
            default: begin
                if (addr[0]) merge[8:0] = data[8:0];
                if (addr[1]) merge[17:9] = data[17:9];
            end
        endcase
    endfunction

    function automatic [17:0] part(input [17:0] word, input [13:0] addr, input integer width);
        case (width)
            1: part = 18'(word[{1'b0, addr[3:0]} + 5'(addr[3])]);
            2: part = 18'(word[{1'b0, addr[3:1], 1'b0} + 5'(addr[3]) +: 2]);
            4: part = 18'(word[{1'b0, addr[3:2], 2'b0} + 5'(addr[3]) +: 4]);
            9: part = 18'(addr[3] ? word[17:9] : word[8:0]);
            default: part = word;
        endcase
    endfunction

    // what a port reads while the other one writes there
    function automatic [17:0] torn(input [17:0] word, input meets, input [13:0] addr,
                                   input integer width);
        torn = meets ? word ^ merge(18'd0, 18'h3ffff, addr, width) : word;
    endfunction

    reg [17:0] latch_a, latch_b, out_a, out_b;

    if (WA == 36) begin : gen_wide
        wire meets = CEA && WEA && sela && ada[13:5] == adb[13:5];
        always @(posedge CLKA) if (CEA && WEA && sela) begin
            mem[{ada[13:5], 1'b0}] <= merge(mem[{ada[13:5], 1'b0}], dia, {12'd0, ada[1:0]}, 18);
            mem[{ada[13:5], 1'b1}] <= merge(mem[{ada[13:5], 1'b1}], dib, {12'd0, ada[3:2]}, 18);
        end
        always @(posedge CLKB) begin
            if (RSTB && RESETMODE == "SYNC") {latch_b, latch_a} <= '0;
            else if (CEB && selb) begin
                latch_a <= torn(mem[{adb[13:5], 1'b0}], meets, {12'd0, ada[1:0]}, 18);
                latch_b <= torn(mem[{adb[13:5], 1'b1}], meets, {12'd0, ada[3:2]}, 18);
            end
        end
        always @(posedge CLKB) if (OCEB) {out_b, out_a} <= {latch_b, latch_a};
    end else begin : gen_two
        localparam OLD_A = WRITEMODE_A == "READBEFOREWRITE",
                   OLD_B = WRITEMODE_B == "READBEFOREWRITE";
        wire same = ada[13:4] == adb[13:4];
        wire [17:0] word_a = torn(mem[ada[13:4]], same && CEB && WEB && selb && !OLD_B, adb, WB);
        wire [17:0] word_b = torn(mem[adb[13:4]], same && CEA && WEA && sela && !OLD_A, ada, WA);
        always @(posedge CLKA) if (CEA && WEA && sela)
            mem[ada[13:4]] <= merge(mem[ada[13:4]], dia, ada, WA);
        always @(posedge CLKB) if (CEB && WEB && selb)
            mem[adb[13:4]] <= merge(mem[adb[13:4]], dib, adb, WB);
        always @(posedge CLKA) begin
            if (RSTA && RESETMODE == "SYNC") latch_a <= '0;
            else if (CEA && sela) begin
                if (!WEA || OLD_A) latch_a <= part(word_a, ada, WA);
                else if (WRITEMODE_A == "WRITETHROUGH")
                    latch_a <= part(merge(mem[ada[13:4]], dia, ada, WA), ada, WA);
            end
        end
        always @(posedge CLKB) begin
            if (RSTB && RESETMODE == "SYNC") latch_b <= '0;
            else if (CEB && selb) begin
                if (!WEB || OLD_B) latch_b <= part(word_b, adb, WB);
                else if (WRITEMODE_B == "WRITETHROUGH")
                    latch_b <= part(merge(mem[adb[13:4]], dib, adb, WB), adb, WB);
            end
        end
        always @(posedge CLKA) if (OCEA) out_a <= latch_a;
        always @(posedge CLKB) if (OCEB) out_b <= latch_b;
    end

    assign {DOA17, DOA16, DOA15, DOA14, DOA13, DOA12, DOA11, DOA10, DOA9, DOA8, DOA7, DOA6,
            DOA5, DOA4, DOA3, DOA2, DOA1, DOA0} = REGMODE_A == "OUTREG" ? out_a : latch_a;
    assign {DOB17, DOB16, DOB15, DOB14, DOB13, DOB12, DOB11, DOB10, DOB9, DOB8, DOB7, DOB6,
            DOB5, DOB4, DOB3, DOB2, DOB1, DOB0} = REGMODE_B == "OUTREG" ? out_b : latch_b;

    wire unused = &{1'b0, RSTA, RSTB, RESETMODE, ASYNC_RESET_RELEASE, GSR, WEB};
endmodule

`default_nettype wire
