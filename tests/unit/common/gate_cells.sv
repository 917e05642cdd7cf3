// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// gate_parts and its netlist side by side: differ_o has a bit for each output that differs.
`default_nettype none

module gate_cells (
    input  wire logic        clk_i,
    input  wire logic        rst_ni,
    input  wire logic        we_i,
    input  wire logic [10:0] waddr_i,
    input  wire logic [35:0] wdata_i,
    input  wire logic [3:0]  wbe_i,
    input  wire logic        re_i,
    input  wire logic [10:0] raddr_i,
    input  wire logic        cpu_req_i,
    input  wire logic [3:0]  cpu_we_i,
    input  wire logic [11:0] cpu_addr_i,
    input  wire logic [17:0] a_i,
    input  wire logic [17:0] b_i,
    output logic [9:0]       differ_o
);
    logic [35:0] wide [2], lanes [2], cleared [2], product [2], sproduct [2], sum [2];
    logic [31:0] lutram [2], cpu [2];
    logic [8:0]  bytes [2];
    logic [3:0]  nibbles [2];

    gate_parts i_rtl (
        .clk_i, .rst_ni, .we_i, .waddr_i, .wdata_i, .wbe_i, .re_i, .raddr_i,
        .wide_o(wide[0]), .lanes_o(lanes[0]),
        .cleared_o(cleared[0]), .bytes_o(bytes[0]), .nibbles_o(nibbles[0]),
        .lutram_o(lutram[0]), .cpu_req_i,
        .cpu_we_i, .cpu_addr_i, .cpu_o(cpu[0]), .a_i, .b_i,
        .product_o(product[0]), .signed_o(sproduct[0]),
        .sum_o(sum[0])
    );
    gate_parts_netlist i_netlist (
        .clk_i, .rst_ni, .we_i, .waddr_i, .wdata_i, .wbe_i, .re_i, .raddr_i,
        .wide_o(wide[1]), .lanes_o(lanes[1]),
        .cleared_o(cleared[1]), .bytes_o(bytes[1]), .nibbles_o(nibbles[1]),
        .lutram_o(lutram[1]), .cpu_req_i,
        .cpu_we_i, .cpu_addr_i, .cpu_o(cpu[1]), .a_i, .b_i,
        .product_o(product[1]), .signed_o(sproduct[1]),
        .sum_o(sum[1])
    );

    assign differ_o = {sum[0] != sum[1], sproduct[0] != sproduct[1], product[0] != product[1],
                       cpu[0] != cpu[1],
                       lutram[0] != lutram[1], nibbles[0] != nibbles[1], bytes[0] != bytes[1],
                       cleared[0] != cleared[1], lanes[0] != lanes[1], wide[0] != wide[1]};
endmodule

`default_nettype wire
