// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Counters of one port of the switch: flits by class and payload bytes of both directions, rejected packets, waiting store copies.
//
// Events count in small registers; a scan moves them into 32-bit words of a LUT RAM, one in every other cycle,
// through one adder. The cycles between serve reads: with scan_i[0] high rd_data_o is the count of rd_idx_i up to this cycle, what the small register holds included.
// Counts are exact and wrap. clear_i (one cycle, with scan_i restarting at 0 behind it and
// clearing_i high for one scan) clears them. Bytes are counted with the header, by its length field.
`default_nettype none

module port_counters #(
    parameter int unsigned FlitBytes = 16,
    localparam int unsigned Count = 13
) (
    input  wire logic        clk_i,
    input  wire logic        clear_i,
    input  wire logic        clearing_i,
    input  wire logic [4:0]  scan_i,          // common to all ports

    input  wire logic [1:0]  valid_i,         // of the links: 0 up, 1 down
    input  wire logic [1:0]  last_i,
    input  wire logic [1:0]  cls_i [2],
    input  wire logic [14:0] len_i [2],       // where a header has its length
    input  wire logic        reject_i,
    input  wire logic        wait_turn_i,
    input  wire logic        wait_credit_i,

    input  wire logic [3:0]  rd_idx_i,
    output logic [31:0]      rd_data_o
);
    import packet_pkg::*;

    localparam int unsigned ByteW = $clog2(32 * FlitBytes + 256);

    logic [5:0]       small_q [Count];   // up to 32 events between two visits of the scan
    logic [ByteW-1:0] bytes_q [2];
    logic [Count-1:0] event_1;
    logic [1:0]       first_q, begins;
    logic [3:0]       slot;
    logic             visit;
    logic [31:0]      old;
    logic [ByteW-1:0] add;

    always_comb begin
        event_1 = '0;
        for (int unsigned d = 0; d < 2; d++) begin
            for (int unsigned c = 0; c < 4; c++) event_1[4*d + c] = valid_i[d] && cls_i[d] == 2'(c);
            begins[d] = valid_i[d] && first_q[d] && (cls_i[d] == CLS_STORE || cls_i[d] == CLS_PART);
        end
        event_1[10] = reject_i;
        event_1[11] = wait_turn_i;
        event_1[12] = wait_credit_i;
    end

    assign visit = !scan_i[0];
    assign slot  = visit ? scan_i[4:1] : rd_idx_i;

    always_comb begin
        add = '0;
        for (int unsigned i = 0; i < Count; i++) begin
            if (slot == 4'(i)) add = (i == 8 || i == 9) ? bytes_q[i & 1] : ByteW'(small_q[i]);
        end
    end

    lutram #(.Width(32), .Depth(16)) i_counts (
        .clk_i,
        .we_i    (visit),
        .waddr_i (scan_i[4:1]),
        .wdata_i (rd_data_o),
        .raddr_i (slot),
        .rdata_o (old)
    );

    assign rd_data_o = ((visit && clearing_i) ? 32'd0 : old) + 32'(add);

    always_ff @(posedge clk_i) begin
        for (int unsigned i = 0; i < Count; i++) begin
            if (clear_i) small_q[i] <= '0;
            else if (visit && slot == 4'(i)) small_q[i] <= 6'(event_1[i]);
            else if (event_1[i]) small_q[i] <= small_q[i] + 6'd1;
        end
        for (int unsigned d = 0; d < 2; d++) begin
            if (clear_i) bytes_q[d] <= '0;
            else if (begins[d] || (visit && slot == 4'(8 + d))) begin
                bytes_q[d] <= ((visit && slot == 4'(8 + d)) ? '0 : bytes_q[d]) + (begins[d] ? ByteW'(len_i[d][7:0]) : '0);
            end
            if (clear_i) first_q[d] <= 1'b1;
            else if (valid_i[d]) first_q[d] <= last_i[d];
        end
    end

    wire unused = &{1'b0, len_i[0][14:8], len_i[1][14:8]};
endmodule

`default_nettype wire
