// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Makes bf16 of elements of a byte or half a byte, for the lanes of the emulated expert.
//
// Function: Without codes_i, x_o is data_i. With it, elements are e4m3, and the four flits of a
// group become eight. With fp4_i besides, they are e2m1, and four flits become sixteen. An element
// is then multiplied by the e4m3 of its 16 elements, of which scales_i has those of a block. Both
// conversions are exact. Step s writes flits 2 s and 2 s + 2 for an even s, 2 s - 1 and 2 s + 1 for
// an odd one.
// Ports: read_i, odd_i and step_i belong to one cycle, data_i, scales_i and x_o to that RdLat
// cycles later. read_i: flits 1 and 3 of a group are read if odd_i is high, else 0 and 2. Step 0 is
// taken when 1 and 3 are read. The first two of the next group may be read with the last step.
// Latency: None from data_i to x_o.
`default_nettype none

module expert_unpack #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter int unsigned RdLat = 3
) (
    input  wire logic                 clk_i,
    input  wire logic                 codes_i,
    input  wire logic                 fp4_i,
    input  wire logic                 read_i,
    input  wire logic                 odd_i,
    input  wire logic [3:0]           step_i,    // of a block
    input  wire logic [63:0]          scales_i,
    input  wire logic [Cfg.FlitW-1:0] data_i [2],
    output logic [Cfg.FlitW-1:0]      x_o [2]
);
    localparam int unsigned HalfW = Cfg.FlitW / 2;

    typedef struct packed {
        logic       read;
        logic       odd;
        logic [3:0] step;
    } slot_t;

    slot_t slot_q[RdLat], slot;
    logic [Cfg.FlitW-1:0] flit_q[4];  // of the group

    assign slot = slot_q[RdLat-1];

    always_ff @(posedge clk_i) begin
        slot_q[0] <= '{read: read_i, odd: odd_i, step: step_i};
        for (int unsigned i = 1; i < RdLat; i++) slot_q[i] <= slot_q[i-1];
        if (slot.read) begin
            for (int unsigned h = 0; h < 2; h++) begin
                if (slot.odd) flit_q[2*h+1] <= data_i[h];
                else flit_q[2*h] <= data_i[h];
            end
        end
    end

    // Flits whose halves a step takes: of the group's first two in steps 0 and 1. With fp4_i two
    // quarters of one flit.
    logic [Cfg.FlitW-1:0] from[2], whole;
    assign from[0] = flit_q[{slot.step[1], 1'b0}];
    assign from[1] = (slot.step[1:0] == 2'd0) ? data_i[0] : flit_q[{slot.step[1], 1'b1}];
    assign whole = flit_q[slot.step[2:1]];

    for (genvar h = 0; h < 2; h++) begin : gen_half
        logic [HalfW-1:0] codes;
        logic [HalfW/2-1:0] fp4;
        logic [Cfg.FlitW-1:0] values;
        logic [15:0] scale;
        assign codes = slot.step[0] ? from[h][Cfg.FlitW-1:HalfW] : from[h][HalfW-1:0];
        assign fp4 = slot.step[0] ? whole[(2*h+1)*HalfW/2+:HalfW/2] : whole[h*HalfW+:HalfW/2];
        // two flits of 16 bytes have a scale, or four of 8 bytes
        if (Cfg.FlitBytes == 16) begin : gen_two
            assign scale = fp_pkg::e4m3_to_bf16(scales_i[{slot.step[2:1], 1'(h), 3'd0}+:8]);
        end else begin : gen_four
            assign scale = fp_pkg::e4m3_to_bf16(scales_i[{slot.step[3:1], 3'd0}+:8]);
        end
        for (genvar i = 0; i < Cfg.Lanes; i++) begin : gen_lane
            logic [15:0] whole_byte, half_byte;
            assign whole_byte = fp_pkg::e4m3_to_bf16(codes[8*i+:8]);
            assign half_byte = fp_pkg::e2m1_times(fp4[4*i+:4], scale);
            assign values[16*i+:16] = fp4_i ? half_byte : whole_byte;
        end
        assign x_o[h] = codes_i ? values : data_i[h];
    end
endmodule

`default_nettype wire
