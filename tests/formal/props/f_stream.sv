// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// The handshake of a stream of packets. With Assume it is what the surroundings do, else what a
// module must do: valid does not fall before ready, and what is offered stays as it is. With Whole
// a packet that has begun has no gap.
`default_nettype none

module f_stream #(
    parameter int unsigned Width = 1,
    parameter bit Assume = 1'b0,
    parameter bit Whole = 1'b0
) (
    input  wire logic             clk_i,
    input  wire logic             rst_ni,
    input  wire logic             valid_i,
    input  wire logic             ready_i,
    input  wire logic [Width-1:0] data_i,
    input  wire logic             last_i,
    output logic                  inside_o   // a packet has begun and not ended
);
    logic             wait_q, inside_q, last_q;
    logic [Width-1:0] data_q;

    assign inside_o = inside_q;

    always_ff @(posedge clk_i) begin
        data_q <= data_i;
        last_q <= last_i;
        if (!rst_ni) begin
            wait_q   <= 1'b0;
            inside_q <= 1'b0;
        end else begin
            wait_q <= valid_i && !ready_i;
            if (valid_i && ready_i) inside_q <= !last_i;
        end
    end

    if (Assume) begin : gen_assume
        always_comb begin
            if (rst_ni && wait_q) assume (valid_i && data_i == data_q && last_i == last_q);
            if (rst_ni && Whole && inside_q) assume (valid_i);
        end
    end else begin : gen_assert
        always_ff @(posedge clk_i) begin
            if (rst_ni) begin
                a_stable: assert (!wait_q || (valid_i && data_i == data_q && last_i == last_q));
                a_whole:  assert (!Whole || !inside_q || valid_i);
            end
        end
    end
endmodule

`default_nettype wire
