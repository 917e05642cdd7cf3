// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Sixteen 32-bit event counters that share one adder: each input counts in a
// shift register with feedback of its own (one LUT per bit, where a small adder
// costs four times that), and a scan, one counter per cycle, moves its count into
// a LUT RAM. Counts are exact and wrap; clear_i (one cycle) clears them during the
// next 16 cycles, and what happens from the cycle behind it on is counted.
//
// Reading: hold rd_valid_i and rd_idx_i until rd_ack_o (within 16 cycles, 32
// behind a clear); rd_data_o is the count before that cycle, and 0 in others.
`default_nettype none

module stat_counters #(
    localparam int unsigned Count = 16
) (
    input  wire logic             clk_i,
    input  wire logic             rst_ni,
    input  wire logic             clear_i,
    input  wire logic [Count-1:0] event_i,
    input  wire logic             rd_valid_i,
    input  wire logic [3:0]       rd_idx_i,
    output logic                  rd_ack_o,
    output logic [31:0]           rd_data_o
);
    // x^5 + x^2 + 1: 31 states, of which the 17 that 16 cycles between two scans need are decoded
    typedef logic [4:0] small_t;
    localparam small_t Zero = 5'd1;

    function automatic small_t next(small_t s);
        return {s[3:0], s[4] ^ s[1]};
    endfunction

    // counts by state; states that 16 cycles do not reach count 0
    function automatic logic [31:0][4:0] counts();
        small_t state = Zero;
        counts = '0;
        for (int unsigned i = 0; i <= Count; i++) begin
            counts[state] = 5'(i);
            state = next(state);
        end
    endfunction
    localparam logic [31:0][4:0] Decoded = counts();

    small_t            small_q [Count];
    logic [3:0]        scan_q;
    logic              clearing_q;
    logic [31:0]       old, sum;

    lutram #(.Width(32), .Depth(Count)) i_counts (
        .clk_i, .we_i(1'b1), .waddr_i(scan_q), .wdata_i(sum), .raddr_i(scan_q), .rdata_o(old)
    );

    assign sum       = (clearing_q ? 32'd0 : old) + 32'(Decoded[small_q[scan_q]]);
    assign rd_ack_o  = rd_valid_i && rd_idx_i == scan_q && !clearing_q;
    assign rd_data_o = rd_ack_o ? sum : 32'd0;

    // a clear restarts the scan, so that one full round of it writes every counter
    always_ff @(posedge clk_i) begin
        if (!rst_ni || clear_i) begin
            scan_q     <= '0;
            clearing_q <= 1'b1;
        end else begin
            scan_q <= scan_q + 4'd1;
            if (scan_q == 4'(Count - 1)) clearing_q <= 1'b0;
        end
    end

    always_ff @(posedge clk_i) begin
        for (int unsigned i = 0; i < Count; i++) begin
            if (!rst_ni || clear_i) small_q[i] <= Zero;
            else if (scan_q == 4'(i)) small_q[i] <= event_i[i] ? next(Zero) : Zero;
            else if (event_i[i]) small_q[i] <= next(small_q[i]);
        end
    end
endmodule

`default_nettype wire
