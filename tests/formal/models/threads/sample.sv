// SPDX-License-Identifier: Apache-2.0
//
// There is one small sample per rule of experiments/node_threads/rewrite, for prove_threads. All
// have the same ports. A gated sample stands still while ce_i is 0, as a copy of a module whose
// clock is stopped.
`default_nettype none

module sample #(
    parameter int unsigned Rule = 0,
    parameter bit Gated = 1'b0
) (
    input  wire logic       clk_i,
    input  wire logic       ce_i,
    input  wire logic       a_i, // enable, or enable of reading
    input  wire logic       r_i, // reset
    input  wire logic       we_i,
    input  wire logic       waddr_i,
    input  wire logic       raddr_i,
    input  wire logic [1:0] d_i,
    output logic [1:0]      y_o
);
    localparam logic [1:0] Begin = 2'b01, Reset = 2'b10;
    logic ce;
    assign ce = !Gated || ce_i;

    if (Rule < 10) begin : gen_register
        logic [1:0] q = Begin;
        assign y_o = q;
        if (Rule == 0) begin : gen_plain
            always_ff @(posedge clk_i) if (ce) q <= d_i;
        end else if (Rule == 1) begin : gen_enable
            always_ff @(posedge clk_i) if (ce && a_i) q <= d_i;
        end else if (Rule == 2) begin : gen_enable_low
            always_ff @(posedge clk_i) if (ce && !a_i) q <= d_i + q;
        end else if (Rule == 3) begin : gen_reset
            always_ff @(posedge clk_i) if (ce) q <= r_i ? Reset : d_i;
        end else if (Rule == 4) begin : gen_reset_enable // reset comes first, and is low
            always_ff @(posedge clk_i) begin
                if (ce) begin
                    if (!r_i) q <= Reset;
                    else if (a_i) q <= d_i;
                end
            end
        end else if (Rule == 5) begin : gen_enable_reset // enable comes first
            always_ff @(posedge clk_i) if (ce && a_i) q <= r_i ? Reset : d_i;
        end else begin : gen_feedback // two registers that use each other
            logic [1:0] p = Reset;
            always_ff @(posedge clk_i) begin
                if (ce) q <= p ^ d_i;
                if (ce && a_i) p <= q;
            end
        end
    end else begin : gen_memory
        if (Rule == 10) begin : gen_async
            (* ram_style = "distributed" *)
            logic [1:0] mem [2];
            initial for (int i = 0; i < 2; i++) mem[i] = 2'(i + 1);
            always_ff @(posedge clk_i) if (ce && we_i) mem[waddr_i] <= d_i;
            assign y_o = mem[raddr_i];
        end else if (Rule <= 12) begin : gen_any // a read of a word being written is undefined
            (* no_rw_check *)
            logic [1:0] mem [2];
            logic [1:0] q;
            initial for (int i = 0; i < 2; i++) mem[i] = 2'(i + 1);
            always_ff @(posedge clk_i) begin
                if (ce && we_i) mem[waddr_i] <= d_i;
                if (ce && (Rule == 11 || a_i)) q <= mem[raddr_i];
            end
            assign y_o = q;
        end else if (Rule == 13) begin : gen_new // ... gives the new word
            logic [1:0] mem [2];
            logic       raddr_q;
            initial for (int i = 0; i < 2; i++) mem[i] = 2'(i + 1);
            always_ff @(posedge clk_i) begin
                if (ce && we_i) mem[waddr_i] <= d_i;
                if (ce) raddr_q <= raddr_i;
            end
            assign y_o = mem[raddr_q];
        end else if (Rule == 18) begin : gen_gaps // words that are no power of two, so that a bank
                                                  // ends before the next
            (* ram_style = "distributed" *)
            logic [1:0] mem [3];
            logic [1:0] w, r;
            assign w = {waddr_i, a_i};
            assign r = {raddr_i, r_i};
            initial for (int i = 0; i < 3; i++) mem[i] = 2'(i + 1);
            always_ff @(posedge clk_i) if (ce && we_i && w != 2'd3) mem[w] <= d_i;
            assign y_o = r == 2'd3 ? Begin : mem[r];
        end else if (Rule == 19) begin : gen_rom // never written
            logic [1:0] mem [2];
            logic [1:0] q;
            initial for (int i = 0; i < 2; i++) mem[i] = 2'(2 * i + 1);
            always_ff @(posedge clk_i) if (ce && a_i) q <= mem[raddr_i];
            assign y_o = q ^ {2{raddr_i}};
        end else if (Rule == 20) begin : gen_both // a read that gives the new word and one
                                                  // that gives the old one
            (* ram_style = "block" *)
            logic [1:0] mem [2];
            logic       raddr_q;
            logic [1:0] q;
            initial for (int i = 0; i < 2; i++) mem[i] = 2'(i + 1);
            always_ff @(posedge clk_i) begin
                if (ce && we_i) mem[waddr_i] <= d_i;
                if (ce) raddr_q <= raddr_i;
                if (ce) q <= mem[r_i];
            end
            assign y_o = mem[raddr_q] ^ {q[0], q[1]};
        end else begin : gen_old // ... gives the old one
            logic [1:0] mem [2];
            logic [1:0] q;
            initial for (int i = 0; i < 2; i++) mem[i] = 2'(i + 1);
            if (Rule == 16) begin : gen_begin
                initial q = Reset;
            end
            always_ff @(posedge clk_i) begin
                if (ce && we_i) mem[waddr_i] <= d_i;
                if (Rule == 15) begin
                    if (ce && r_i) q <= Reset;
                    else if (ce && a_i) q <= mem[raddr_i];
                end else if (Rule == 17) begin
                    if (ce && a_i) q <= r_i ? Reset : mem[raddr_i];
                end else begin
                    if (ce && a_i) q <= mem[raddr_i];
                end
            end
            assign y_o = q;
        end
    end
endmodule

`default_nettype wire
