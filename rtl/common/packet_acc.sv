// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Packet accumulator: sums bf16 flits in fp32, in exactly the order in which
// they come, for the switch's reduction join and the hub's row sums.
//
// Word idx_i of the accumulator holds the running sum of flit idx_i of a packet.
// A term is b_i; with first_i it starts a new sum instead of adding to the
// old one, and with pair_i too it starts it with a_i + b_i. With last_i the sum leaves
// on out, rounded to bf16, 6 cycles later, and its word is free. Every step
// rounds to nearest even in fp32; a single term passes through with only its
// NaN made canonical.
//
// Back-pressure: ready_o is low while an earlier term of the same word is in the
// pipeline (one word takes a term every 6 cycles); terms of
// different words and first terms go in every cycle. The output has none: the
// caller makes room before it starts. Outputs keep the order of the last terms.
`default_nettype none

module packet_acc #(
    parameter int unsigned FlitBytes = 16,
    parameter int unsigned MetaWidth = 1,
    localparam int unsigned Depth  = 128 / FlitBytes,  // flits of the longest packet
    localparam int unsigned IndexW = $clog2(Depth)
) (
    input  wire logic                   clk_i,
    input  wire logic                   rst_ni,

    input  wire logic                   valid_i,
    output logic                        ready_o,  // depends on idx_i and first_i
    input  wire logic [IndexW-1:0]      idx_i,
    input  wire logic                   first_i,
    input  wire logic                   pair_i,   // only with first_i
    input  wire logic [FlitBytes*8-1:0] a_i,      // only with pair_i
    input  wire logic [FlitBytes*8-1:0] b_i,      // lane 0 is bits 15:0
    input  wire logic                   last_i,
    input  wire logic [MetaWidth-1:0]   meta_i,   // only with last_i

    output logic                        valid_o,
    output logic [FlitBytes*8-1:0]      data_o,
    output logic [MetaWidth-1:0]        meta_o,

    output logic                        busy_o    // a term or a result is inside
);
    localparam int unsigned Lanes = FlitBytes / 2;
    // Stage 0 holds the operands, stages 1 .. Stages-1 follow the adders; the
    // sum is written back or rounded from the last one.
    localparam int unsigned Stages = fp_pkg::FpAddLatency + 1;

    if (FlitBytes < 2 || FlitBytes > 64 || 128 % FlitBytes != 0) begin : gen_check
        $error("packet_acc: FlitBytes must be a power of two, 2 to 64");
    end

    logic [Stages-1:0]                valid_q, last_q;
    logic [Stages-1:0][IndexW-1:0]    idx_q;
    logic [Stages-1:0][MetaWidth-1:0] meta_q;
    logic load_q;
    logic take, conflict, store, emit;
    logic [Lanes-1:0][31:0] acc, sum;

    always_comb begin
        conflict = 1'b0;
        for (int unsigned s = 0; s < Stages; s++) begin
            conflict |= valid_q[s] && !last_q[s] && idx_q[s] == idx_i;
        end
    end

    assign ready_o = first_i || !conflict;
    assign take    = valid_i && ready_o;
    assign store   = valid_q[Stages-1] && !last_q[Stages-1];
    assign emit    = valid_q[Stages-1] && last_q[Stages-1];
    assign busy_o  = valid_q != '0 || valid_o;

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            valid_q <= '0;
            valid_o <= 1'b0;
        end else begin
            valid_q <= {valid_q[Stages-2:0], take};
            valid_o <= emit;
        end
        last_q <= {last_q[Stages-2:0], last_i};
        idx_q  <= {idx_q[Stages-2:0], idx_i};
        meta_q <= {meta_q[Stages-2:0], meta_i};
        if (take) load_q <= first_i && !pair_i;
        if (emit) meta_o <= meta_q[Stages-1];
    end

    lutram #(
        .Width(Lanes * 32),
        .Depth(Depth)
    ) i_acc (
        .clk_i   (clk_i),
        .we_i    (store),
        .waddr_i (idx_q[Stages-1]),
        .wdata_i (sum),
        .raddr_i (idx_i),
        .rdata_o (acc)
    );

    for (genvar l = 0; l < Lanes; l++) begin : gen_lane
        logic [31:0] a_q;
        logic [15:0] b_q;

        always_ff @(posedge clk_i) begin
            if (take) begin
                a_q <= first_i ? fp_pkg::bf16_to_fp32(a_i[16*l +: 16]) : acc[l];
                b_q <= b_i[16*l +: 16];
            end
        end

        fp32_bf16_add i_add (
            .clk_i   (clk_i),
            .valid_i (valid_q[0]),
            .load_i  (load_q),
            .a_i     (a_q),
            .b_i     (b_q),
            .res_o   (sum[l])
        );

        always_ff @(posedge clk_i) begin
            if (emit) data_o[16*l +: 16] <= fp_pkg::rne16_canonical(sum[l]);
        end
    end
endmodule

`default_nettype wire
