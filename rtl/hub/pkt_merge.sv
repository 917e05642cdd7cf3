// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Merges packet streams into one, packet by packet, round robin.
//
// The grant is a register: it stays where it is until a packet ends there, or while nothing is there, and goes to the next stream with a valid flit. So
// one busy stream has no gap, several busy streams take turns without a gap, and only a change to another stream after a pause costs a cycle. A
// packet that waits is passed by at most one packet of each other stream.
// Back-pressure: out_ready_i reaches the granted stream; ready does not depend on valid.
`default_nettype none

module pkt_merge #(
    parameter int unsigned FlitBytes = 8,
    parameter int unsigned Streams   = 2
) (
    input  wire logic                   clk_i,
    input  wire logic                   rst_ni,
    input  wire logic                   go_i,

    input  wire logic                   in_valid_i [Streams],
    output logic                        in_ready_o [Streams],
    input  wire logic [8*FlitBytes-1:0] in_data_i  [Streams],
    input  wire logic                   in_last_i  [Streams],

    output logic                        out_valid_o,
    input  wire logic                   out_ready_i,
    output logic [8*FlitBytes-1:0]      out_data_o,
    output logic                        out_last_o
);
    localparam int unsigned SelW = (Streams > 1) ? $clog2(Streams) : 1;

    logic [SelW-1:0] sel_q, next;
    logic            inside_q, other;  // inside a packet; another stream waits

    always_comb begin
        next  = sel_q;
        other = 1'b0;
        for (int unsigned s = 0; s < Streams; s++) begin
            for (int unsigned d = 1; d < Streams; d++) begin
                if (sel_q == SelW'(s) && !other && in_valid_i[(s + d) % Streams]) begin
                    next  = SelW'((s + d) % Streams);
                    other = 1'b1;
                end
            end
        end
    end

    always_comb begin
        out_valid_o = in_valid_i[sel_q];
        out_last_o  = in_last_i[sel_q];
        out_data_o  = in_data_i[sel_q];
        for (int unsigned s = 0; s < Streams; s++) in_ready_o[s] = out_ready_i && sel_q == SelW'(s);
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            sel_q    <= '0;
            inside_q <= 1'b0;
        end else begin
            if (out_valid_o && out_ready_i) inside_q <= !out_last_o;
            if (out_valid_o ? out_ready_i && out_last_o : !inside_q) sel_q <= (go_i && !out_valid_o) ? '0 : next;
        end
    end
endmodule

`default_nettype wire
