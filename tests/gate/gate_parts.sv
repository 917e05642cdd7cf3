// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Memories and multipliers in every mode in which Yosys makes block RAM and multipliers
// of the device's, and carry chains and LUT RAM: the unit test gate_cells runs
// this beside its own netlist.
`default_nettype none

module gate_parts (
    input  wire logic        clk_i,
    input  wire logic        rst_ni,

    input  wire logic        we_i,
    input  wire logic [10:0] waddr_i,
    input  wire logic [35:0] wdata_i,
    input  wire logic [3:0]  wbe_i,
    input  wire logic        re_i,
    input  wire logic [10:0] raddr_i,
    output logic [35:0]      wide_o,    // 36 bits, both ways
    output logic [35:0]      lanes_o,   // with byte lanes
    output logic [35:0]      cleared_o, // its output register has a reset
    output logic [8:0]       bytes_o,   // 2048 bytes of 9 bits
    output logic [3:0]       nibbles_o, // 4096 x 4
    output logic [31:0]      lutram_o,

    input  wire logic        cpu_req_i,
    input  wire logic [3:0]  cpu_we_i,
    input  wire logic [11:0] cpu_addr_i,
    output logic [31:0]      cpu_o,     // the CPU's RAM, with contents at power-up

    input  wire logic [17:0] a_i,
    input  wire logic [17:0] b_i,
    output logic [35:0]      product_o,
    output logic [35:0]      signed_o,
    output logic [35:0]      sum_o
);
    ram_sdp #(.Width(36), .Depth(512)) i_wide (
        .clk_i, .we_i, .waddr_i(waddr_i[8:0]), .wdata_i, .wbe_i('1), .re_i,
        .raddr_i(raddr_i[8:0]), .rdata_o(wide_o)
    );

    logic [31:0] lanes;
    ram_sdp #(.Width(32), .Depth(512), .ByteEn(1)) i_lanes (
        .clk_i, .we_i, .waddr_i(waddr_i[8:0]), .wdata_i(wdata_i[31:0]), .wbe_i,
        .re_i, .raddr_i(raddr_i[8:0]),
        .rdata_o(lanes)
    );
    assign lanes_o = {4'd0, lanes};

    (* no_rw_check, ram_style = "block" *) logic [35:0] cleared [512];
    always_ff @(posedge clk_i) begin
        if (we_i) cleared[waddr_i[8:0]] <= wdata_i;
        if (!rst_ni) cleared_o <= '0;
        else cleared_o <= cleared[raddr_i[8:0]];
    end

    // as Amaranth's memories, which read what was there before
    (* ram_style = "block" *) logic [8:0] bytes [2048];
    always_ff @(posedge clk_i) begin
        if (we_i) bytes[waddr_i] <= wdata_i[8:0];
        if (re_i) bytes_o <= bytes[raddr_i];
    end

    (* ram_style = "block" *) logic [3:0] nibbles [4096];
    always_ff @(posedge clk_i) begin
        if (we_i) nibbles[{wdata_i[35], waddr_i}] <= wdata_i[3:0];
        nibbles_o <= nibbles[{a_i[17], raddr_i}];
    end

    (* ram_style = "distributed" *) logic [31:0] few [16];
    assign lutram_o = few[raddr_i[3:0]];
    always_ff @(posedge clk_i) if (we_i) few[waddr_i[3:0]] <= wdata_i[31:0];

    cpu_ram #(.BytesLog2(14), .InitFile("build/gate/parts/words.hex")) i_cpu (
        .clk_i, .req_i(cpu_req_i), .we_i(cpu_we_i), .addr_i(cpu_addr_i),
        .wdata_i(wdata_i[31:0]), .rdata_o(cpu_o)
    );

    assign product_o = a_i * b_i;
    assign signed_o  = 36'($signed(a_i) * $signed(b_i));
    assign sum_o     = wdata_i + {a_i, b_i};
endmodule

`default_nettype wire
