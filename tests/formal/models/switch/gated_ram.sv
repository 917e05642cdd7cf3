// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Replaces rtl/switch/queue/gated_ram.sv. Of 16-byte flits it keeps only what the proof of
// multicasts uses: mark, number of targets, and the low bits of the first three experts.
`default_nettype none

module gated_ram #(
    parameter int unsigned Width = 64,
    parameter int unsigned Depth = 512,
    parameter int unsigned LaneW = Width,
    localparam int unsigned AddrW = (Depth > 1) ? $clog2(Depth) : 1,
    localparam int unsigned Lanes = (Width > LaneW) ? Width / LaneW : 1,
    localparam int unsigned Rest = (Width % LaneW != 0) ? Width % LaneW : 1
) (
    input  wire logic             clk_i,
    input  wire logic             we_i,
    input  wire logic [Lanes-1:0] lane_i,
    input  wire logic [AddrW-1:0] waddr_i,
    input  wire logic [Width-1:0] wdata_i,
    input  wire logic             re_i,
    input  wire logic [AddrW-1:0] raddr_i,
    output logic [Width-1:0]      rdata_o
);
    localparam logic [128:0] Kept = (129'd1 << 18) | (129'h1f << 41) | (129'hf << 116)
                                    | (129'hf << 4) | (129'hf << 20);

    for (genvar b = 0; b < Width; b++) begin : gen_bit
        localparam int unsigned Lane = (b / LaneW < Lanes) ? b / LaneW : Lanes - 1;
        if (Kept[b]) begin : gen_kept
            logic mem [Depth];
            always_ff @(posedge clk_i) begin
                rdata_o[b] <= re_i && mem[raddr_i];
                if (we_i && lane_i[Lane]) mem[waddr_i] <= wdata_i[b];
            end
        end else begin : gen_none
            assign rdata_o[b] = 1'b0;
        end
    end
endmodule

`default_nettype wire
