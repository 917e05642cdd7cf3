// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Counters of one port: flits by class and payload bytes in both directions, rejected packets,
// waiting store copies, discarded and dropped packets.
//
// Function: The low part of a counter is in registers. For events it is a 5-bit shift register
// with feedback, which passes 32 states and takes a tenth of the logic of 13 adders. For bytes it
// is a sum of 10 bits. Carries wait until a scan adds them to the high part in a LUT RAM, one
// counter in every second cycle. The other cycles serve reads. Bytes are counted with the header,
// from its length field. A carry waits at most 32 cycles, in which at most 1024 bytes come.
// Ports: With read_i, high_o and low_o are the parts of counter addr_i up to this cycle. The value
// is {high_o[26:0], position of low_o[4:0] in the sequence of states}, or {high_o[21:0], low_o} for
// bytes. low_o is 0 without read_i. clear_i lasts one cycle, at the start of a scan of 32 cycles
// with clearing_i high.
// Errors: None. Counts are exact and wrap.
`default_nettype none

module port_counters #(
    localparam int unsigned Count = 15
) (
    input  wire logic             clk_i,
    input  wire logic             clear_i,
    input  wire logic             clearing_i,
    input  wire logic             visit_i,  // the scan is at addr_i
    input  wire logic             read_i,   // not with visit_i: addr_i is read
    input  wire logic [3:0]       addr_i,
    input  wire logic [Count-1:0] at_i,     // addr_i one-hot

    input  wire logic [1:0] valid_i,    // of the links: 0 up, 1 down
    input  wire logic [1:0] last_i,
    input  wire logic [1:0] cls_i [2],
    input  wire logic [7:0] len_i [2],  // where a header has its length
    input  wire logic       reject_i,
    input  wire logic       wait_turn_i,
    input  wire logic       wait_credit_i,
    input  wire logic       discard_i,
    input  wire logic       drop_i,

    output logic [26:0] high_o,
    output logic [9:0]  low_o
);
    import packet_pkg::*;

    logic [4:0] small_q[Count];
    logic [9:0] bytes_q[2];
    logic [Count-1:0] waits_q;  // carries
    logic [1:0] first_q;
    logic [26:0] old;

    function automatic logic [4:0] next(input logic [4:0] s);
        return 5'(ring_pkg::next(ring_pkg::ptr_t'(s), 5));
    endfunction
    localparam logic [4:0] Last = 5'd16;  // before 0

    for (genvar d = 0; d < 2; d++) begin : gen_link
        logic [10:0] sum;
        assign sum = {1'b0, bytes_q[d]} + 11'(len_i[d]);

        always_ff @(posedge clk_i) begin
            if (clear_i) begin
                bytes_q[d] <= '0;
                first_q[d] <= 1'b1;
                waits_q[8+d] <= 1'b0;
                for (int unsigned c = 0; c < 4; c++) begin
                    small_q[4*d+c] <= '0;
                    waits_q[4*d+c] <= 1'b0;
                end
            end else begin
                if (visit_i) begin
                    for (int unsigned c = 0; c < 4; c++) if (at_i[4*d+c]) waits_q[4*d+c] <= 1'b0;
                    if (at_i[8+d]) waits_q[8+d] <= 1'b0;
                end
                if (valid_i[d]) begin
                    first_q[d] <= last_i[d];
                    for (int unsigned c = 0; c < 4; c++) begin
                        if (cls_i[d] == 2'(c)) begin
                            small_q[4*d+c] <= next(small_q[4*d+c]);
                            if (small_q[4*d+c] == Last) waits_q[4*d+c] <= 1'b1;
                        end
                    end
                    if (first_q[d] && (cls_i[d] == CLS_STORE || cls_i[d] == CLS_PART)) begin
                        bytes_q[d] <= sum[9:0];
                        if (sum[10]) waits_q[8+d] <= 1'b1;
                    end
                end
            end
        end
        assign small_q[8+d] = '0;
    end

    logic [4:0] events_q;  // what waits is known late in a cycle, and counted in the next
    always_ff @(posedge clk_i)
        events_q <= {
            drop_i, discard_i, wait_credit_i, wait_turn_i, reject_i
        };

    for (genvar i = 10; i < Count; i++) begin : gen_event
        always_ff @(posedge clk_i) begin
            if (clear_i) begin
                small_q[i] <= '0;
                waits_q[i] <= 1'b0;
            end else begin
                if (visit_i && at_i[i]) waits_q[i] <= 1'b0;
                if (events_q[i-10]) begin
                    small_q[i] <= next(small_q[i]);
                    if (small_q[i] == Last) waits_q[i] <= 1'b1;
                end
            end
        end
    end

    lutram #(
        .Width(27),
        .Depth(16)
    ) i_high (
        .clk_i,
        .we_i(visit_i),
        .waddr_i(addr_i),
        .wdata_i(high_o),
        .raddr_i(addr_i),
        .rdata_o(old)
    );

    assign high_o = ((visit_i && clearing_i) ? '0 : old) + 27'((waits_q & at_i) != '0);

    always_comb begin
        low_o = '0;
        if (read_i) begin
            for (int unsigned i = 0; i < Count; i++) begin
                if (at_i[i]) low_o |= (i == 8 || i == 9) ? bytes_q[i&1] : 10'(small_q[i]);
            end
        end
    end
endmodule

`default_nettype wire
