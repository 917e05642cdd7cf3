// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Makes bf16 of elements of one byte, for the lanes of the emulated expert.
//
// Function: Without codes_i, x_o is data_i. With it, elements are e4m3, and the four flits of a
// group become eight. Steps 0 to 3 of these (step_i) are {0, 2}, {1, 3}, {4, 6} and {5, 7}, the
// lower half of a flit first. Conversion is exact.
// Ports: read_i, odd_i and step_i belong to one cycle, data_i and x_o to that RdLat cycles later.
// read_i: flits 1 and 3 of a group are read if odd_i is high, else 0 and 2. Step 0 is the one that
// reads 1 and 3. Step 3 may read the first two of the next group.
// Latency: None from data_i to x_o.
`default_nettype none

module expert_unpack #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter int unsigned RdLat = 3
) (
    input  wire logic                 clk_i,
    input  wire logic                 codes_i,
    input  wire logic                 read_i,
    input  wire logic                 odd_i,
    input  wire logic [1:0]           step_i,
    input  wire logic [Cfg.FlitW-1:0] data_i [2],
    output logic [Cfg.FlitW-1:0]      x_o [2]
);
    localparam int unsigned HalfW = Cfg.FlitW / 2;

    typedef struct packed {
        logic       read;
        logic       odd;
        logic [1:0] step;
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

    // Flits whose halves a step takes: of the group's first two in steps 0 and 1.
    logic [Cfg.FlitW-1:0] from[2];
    assign from[0] = flit_q[{slot.step[1], 1'b0}];
    assign from[1] = (slot.step == 2'd0) ? data_i[0] : flit_q[{slot.step[1], 1'b1}];

    for (genvar h = 0; h < 2; h++) begin : gen_half
        logic [HalfW-1:0] codes;
        logic [Cfg.FlitW-1:0] values;
        assign codes = slot.step[0] ? from[h][Cfg.FlitW-1:HalfW] : from[h][HalfW-1:0];
        for (genvar i = 0; i < Cfg.Lanes; i++) begin : gen_lane
            assign values[16*i+:16] = fp_pkg::e4m3_to_bf16(codes[8*i+:8]);
        end
        assign x_o[h] = codes_i ? values : data_i[h];
    end
endmodule

`default_nettype wire
