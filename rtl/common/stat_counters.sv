// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Up to fifteen 32-bit event counters that share one adder: each input counts in a
// shift register with feedback of its own (one LUT per counter, where a small adder
// costs many times that), and a scan, one counter per cycle, moves its count into
// a LUT RAM. Counts are exact and wrap; clear_i (one cycle) clears them during the
// next Count cycles, and what happens from the cycle behind it on is counted.
//
// Reading: hold rd_valid_i and rd_idx_i until rd_ack_o (within Count cycles, twice that and one
// behind a clear); rd_data_o is the count before that cycle.
`default_nettype none

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
    if (Count < 2 || Count > 15) begin : gen_check
        $error("stat_counters: Count must be 2 to 15");
    end

    // x^4 + x^3 + 1: 15 states; between two scans lie at most Count - 1 events besides that of the scan's own cycle
    typedef logic [3:0] small_t;
    localparam small_t Zero = 4'd1;

    function automatic small_t next(small_t s);
        return {s[2:0], s[3] ^ s[2]};
    endfunction

    function automatic logic [31:0][3:0] counts();  // by {state, one more}
        small_t state = Zero;
        counts = '0;
        for (int unsigned i = 0; i < Count; i++) begin
            counts[{state, 1'b0}] = 4'(i);
            counts[{state, 1'b1}] = 4'(i + 1);
            state = next(state);
        end
    endfunction
    localparam logic [31:0][3:0] Decoded = counts();

    // First step of the scan: the counter whose turn it is (one-hot) goes to its place in scanned_q, all others are 0 there, so an OR joins them;
    // its count is read. Second step: they are added. Bit k of all counters is one vector, so that a simulator computes them side by side.
    logic [3:0][Count-1:0] small_q;
    logic [4:0][Count-1:0] scanned_q;  // {count, event in that cycle}
    logic [4:0]        scanned;
    logic [Count-1:0]  turn_q;
    logic [3:0]        scan_q, add_q;      // of the first and the second step
    logic              clearing_q, valid_q;
    logic [31:0]       old, old_q;

    lutram #(.Width(32), .Depth(16)) i_counts (
        .clk_i, .we_i(1'b1), .waddr_i(add_q), .wdata_i(rd_data_o), .raddr_i(scan_q), .rdata_o(old)
    );

    for (genvar k = 0; k < 5; k++) begin : gen_join
        assign scanned[k] = scanned_q[k] != '0;
    end

    assign rd_data_o = old_q + 32'(Decoded[scanned]);
    assign rd_ack_o  = rd_valid_i && rd_idx_i == add_q && valid_q;

    // a clear restarts the scan, so that one full round of it writes every counter
    always_ff @(posedge clk_i) begin
        if (!rst_ni || clear_i) begin
            turn_q     <= Count'(1);
            scan_q     <= '0;
            clearing_q <= 1'b1;
            valid_q    <= 1'b0;
        end else begin
            turn_q  <= {turn_q[Count-2:0], turn_q[Count-1]};
            scan_q  <= (scan_q == 4'(Count - 1)) ? '0 : scan_q + 4'd1;
            if (scan_q == 4'(Count - 1)) clearing_q <= 1'b0;
            valid_q <= !clearing_q;
        end
        add_q <= scan_q;
        if (clearing_q) old_q <= '0;
        else old_q <= old;
    end

    logic [Count-1:0] restart, step, stay;

    assign restart = (!rst_ni || clear_i) ? '1 : turn_q;
    assign step    = event_i & ~restart;
    assign stay    = ~event_i & ~restart;

    always_ff @(posedge clk_i) begin
        small_q[0] <= ((small_q[3] ^ small_q[2]) & step) | (small_q[0] & stay) | restart;  // restart: Zero
        for (int unsigned k = 1; k < 4; k++) small_q[k] <= (small_q[k-1] & step) | (small_q[k] & stay);
        scanned_q[0] <= event_i & turn_q;
        for (int unsigned k = 0; k < 4; k++) scanned_q[k+1] <= small_q[k] & turn_q;
    end
endmodule

`default_nettype wire
