// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Up to fourteen 32-bit event counters that share one adder.
//
// Function: Each input counts in its own shift register with feedback, which costs one LUT per
// counter. A scan, one counter per cycle, moves its count into a LUT RAM. Counts are exact and
// wrap. clear_i (one cycle) clears them during the next Count cycles. Events from the cycle after
// clear_i on are counted.
// Ports: Hold rd_valid_i and rd_idx_i until rd_ack_o. rd_data_o is the count one cycle before the
// previous cycle.
// Latency: A read takes Count cycles, and twice that and one after a clear.
`default_nettype none
`include "assert.svh"

module stat_counters #(
    parameter int unsigned Count = 13
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
    if (Count < 2 || Count > 14) begin : gen_check
        $error("stat_counters: Count must be 2 to 14");
    end

    // x^4 + x^3 + 1: 15 states; from one scan to the next lie at most Count events
    typedef logic [3:0] small_t;
    localparam small_t Zero = 4'd1;

    function automatic small_t next(small_t s);
        return {s[2:0], s[3] ^ s[2]};
    endfunction

    function automatic logic [15:0][3:0] counts();  // by state
        small_t state = Zero;
        counts = '0;
        for (int unsigned i = 0; i <= Count; i++) begin
            counts[state] = 4'(i);
            state = next(state);
        end
    endfunction
    localparam logic [15:0][3:0] Decoded = counts();

    // First step of the scan: the counter whose turn it is (one-hot) goes to scanned_q and starts
    // again; its count is read. Second step: they are added. Bit k of all counters is one vector,
    // so that a simulator computes them side by side.
    logic [3:0][Count-1:0] small_q;
    small_t scanned_q;
    logic [Count-1:0] turn_q;
    logic [3:0] scan_q, add_q;  // of the first and the second step
    logic clearing_q, valid_q;
    logic [31:0] old, old_q;

    lutram #(
        .Width(32),
        .Depth(16)
    ) i_counts (
        .clk_i,
        .we_i(1'b1),
        .waddr_i(add_q),
        .wdata_i(rd_data_o),
        .raddr_i(scan_q),
        .rdata_o(old)
    );

    assign rd_data_o = old_q + 32'(Decoded[scanned_q]);
    assign rd_ack_o = rd_valid_i && rd_idx_i == add_q && valid_q;

    // a clear restarts the scan, so that one full round of it writes every counter
    always_ff @(posedge clk_i) begin
        if (!rst_ni || clear_i) begin
            turn_q <= Count'(1);
            scan_q <= '0;
            clearing_q <= 1'b1;
            valid_q <= 1'b0;
        end else begin
            turn_q <= {turn_q[Count-2:0], turn_q[Count-1]};
            scan_q <= (scan_q == 4'(Count - 1)) ? '0 : scan_q + 4'd1;
            if (scan_q == 4'(Count - 1)) clearing_q <= 1'b0;
            valid_q <= !clearing_q;
        end
        add_q <= scan_q;
        if (clearing_q) old_q <= '0;
        else old_q <= old;
    end

    logic [Count-1:0] step, stay, one;

    assign step = event_i & ~turn_q;
    assign stay = ~event_i & ~turn_q;
    assign one = event_i & turn_q;  // the event in the cycle of its scan is the
                                    // first one for the next

    always_ff @(posedge clk_i) begin
        for (int unsigned k = 0; k < 4; k++) scanned_q[k] <= (small_q[k] & turn_q) != '0;
        if (!rst_ni || clear_i) begin
            small_q <= '0;
            small_q[0] <= '1;  // Zero
        end else begin
            small_q[0] <= ((small_q[3] ^ small_q[2]) & step) | (small_q[0] & stay) | (turn_q ^ one);
            small_q[1] <= (small_q[0] & step) | (small_q[1] & stay) | one;
            for (int unsigned k = 2; k < 4; k++)
            small_q[k] <= (small_q[k-1] & step) | (small_q[k] & stay);
        end
    end

    `MW_CONTRACT(1'b1, turn_q == Count'(1) << scan_q, "the scan is at two counters")
endmodule

`default_nettype wire
