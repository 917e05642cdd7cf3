// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// A delay line: what enters leaves latency_i cycles later, once, as it was; nothing else leaves.
// A word chosen by the solver is followed for its value.
`default_nettype none

module f_delay #(
    parameter int unsigned Width = 1,
    parameter int unsigned MaxLatency = 4
) (
    input wire logic             clk_i,
    input wire logic             rst_ni,
    input wire logic [10:0]      latency_i,     // 1 .. MaxLatency, constant
    input wire logic             watch_i,
    input wire logic             valid_i,
    input wire logic [Width-1:0] data_i,
    input wire logic             out_valid_i,
    input wire logic [Width-1:0] out_data_i,
    input wire logic             busy_i
);
    logic [MaxLatency:0] went_q;   // bit n: a word entered n + 1 cycles ago
    logic [MaxLatency:0] seen_q;   // and it is the chosen one
    logic [Width-1:0]    data_q;
    logic                out, chosen;

    always_comb begin
        out    = 1'b0;
        chosen = 1'b0;
        for (int unsigned n = 0; n < MaxLatency; n++) begin
            out    |= went_q[n] && 32'(latency_i) == n + 1;
            chosen |= seen_q[n] && 32'(latency_i) == n + 1;
        end
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            went_q <= '0;
            seen_q <= '0;
        end else begin
            went_q <= {went_q[MaxLatency-1:0], valid_i};
            seen_q <= {seen_q[MaxLatency-1:0], valid_i && watch_i && seen_q == '0};
            if (valid_i && watch_i && seen_q == '0) data_q <= data_i;
            a_when: assert (out_valid_i == out);
            a_what: assert (!chosen || out_data_i == data_q);
            a_busy: assert (busy_i || !out);
            c_what: cover (chosen);
        end
    end
endmodule

`default_nettype wire
