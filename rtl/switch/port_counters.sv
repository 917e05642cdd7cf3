// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Counters of one port of the switch: flits by class and payload bytes of both directions, rejected packets, waiting store copies.
//
// The low part of a counter is in registers: a 5-bit shift register with feedback that runs through 32 states (a tenth of
// the logic of 13 adders), 10 bits of a sum for bytes. Their carries wait until a scan adds them to the high part in a LUT RAM, one counter in every other cycle.
// The cycles between serve reads: high_o and low_o are the parts of counter addr_i up to this cycle, to be joined by
// counter_word. Counts are exact and wrap. clear_i (one cycle, at the start of a scan of 32 cycles with clearing_i high) clears them.
// Bytes are counted with the header, by its length field; a carry waits at most 32 cycles, in which at most 1024 bytes come.
`default_nettype none

module port_counters #(
    localparam int unsigned Count = 13
) (
    input  wire logic             clk_i,
    input  wire logic             clear_i,
    input  wire logic             clearing_i,
    input  wire logic             visit_i,      // the scan is at addr_i; else addr_i is read
    input  wire logic [3:0]       addr_i,
    input  wire logic [Count-1:0] at_i,         // addr_i one-hot

    input  wire logic [1:0]       valid_i,      // of the links: 0 up, 1 down
    input  wire logic [1:0]       last_i,
    input  wire logic [1:0]       cls_i [2],
    input  wire logic [14:0]      len_i [2],    // where a header has its length
    input  wire logic             reject_i,
    input  wire logic             wait_turn_i,
    input  wire logic             wait_credit_i,

    output logic [26:0]           high_o,
    output logic [9:0]            low_o
);
    import packet_pkg::*;

    logic [4:0]       small_q [Count];
    logic [9:0]       bytes_q [2];
    logic [Count-1:0] event_1, carry, waits_q;
    logic [1:0]       first_q, begins;
    logic [26:0]      old;

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

    // x^5 + x^2 + 1 with the state 0 put in front of state 1; 16 is the last one before 0
    for (genvar i = 0; i < Count; i++) begin : gen_count
        if (i == 8 || i == 9) begin : gen_bytes
            logic [10:0] sum;
            assign sum        = {1'b0, bytes_q[i-8]} + 11'(len_i[i-8][7:0]);
            assign carry[i]   = begins[i-8] && sum[10];
            assign small_q[i] = '0;

            always_ff @(posedge clk_i) begin
                if (clear_i)          bytes_q[i-8] <= '0;
                else if (begins[i-8]) bytes_q[i-8] <= sum[9:0];
            end
        end else begin : gen_events
            logic zeros;
            assign zeros    = small_q[i][3:0] == '0;
            assign carry[i] = event_1[i] && zeros && small_q[i][4];

            always_ff @(posedge clk_i) begin
                if (clear_i)         small_q[i] <= '0;
                else if (event_1[i]) small_q[i] <= {small_q[i][3:0], small_q[i][4] ^ small_q[i][1] ^ zeros};
            end
        end
    end

    always_ff @(posedge clk_i) begin
        if (clear_i) begin
            waits_q <= '0;
            first_q <= '1;
        end else begin
            waits_q <= (visit_i ? waits_q & ~at_i : waits_q) | carry;
            for (int unsigned d = 0; d < 2; d++) if (valid_i[d]) first_q[d] <= last_i[d];
        end
    end

    lutram #(.Width(27), .Depth(16)) i_high (
        .clk_i,
        .we_i    (visit_i),
        .waddr_i (addr_i),
        .wdata_i (high_o),
        .raddr_i (addr_i),
        .rdata_o (old)
    );

    assign high_o = ((visit_i && clearing_i) ? '0 : old) + 27'((waits_q & at_i) != '0);

    always_comb begin
        low_o = '0;
        for (int unsigned i = 0; i < Count; i++) begin
            if (at_i[i]) low_o |= (i == 8 || i == 9) ? bytes_q[i & 1] : 10'(small_q[i]);
        end
    end

    wire unused = &{1'b0, len_i[0][14:8], len_i[1][14:8], event_1[9:8]};
endmodule

`default_nettype wire
