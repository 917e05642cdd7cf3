// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// RAM whose output is 0 in every cycle that does not follow a read.
//
// Function: An OR joins the outputs of many such RAMs. The reset of the RAM's own output register
// replaces a multiplexer.
// Ports: rdata_o shows the word of raddr_i one cycle after re_i. A read of the address that is
// written in the same cycle is undefined. lane_i selects the lanes of LaneW bits that a write
// changes. Remaining bits at the top belong to the last lane.
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
    (* no_rw_check, ram_style = "block" *)
    logic [Width-1:0] mem[Depth];

    always_ff @(posedge clk_i) begin
        if (re_i) rdata_o <= mem[raddr_i];
        else rdata_o <= '0;
    end

    if (Lanes == 1) begin : gen_word
        wire unused_lane = &{1'b0, lane_i};

        always_ff @(posedge clk_i) begin
            if (we_i) mem[waddr_i] <= wdata_i;
        end
    end else begin : gen_lanes
        // A simulator stores one word instead of many lanes; synthesis makes write enables of it.
        always_ff @(posedge clk_i) begin
            if (we_i) begin
                automatic logic [Width-1:0] word = wdata_i;
                if (lane_i != '1) begin
                    word = mem[waddr_i];
                    for (int unsigned l = 0; l < Lanes; l++) begin
                        if (lane_i[l]) word[LaneW*l+:LaneW] = wdata_i[LaneW*l+:LaneW];
                    end
                    if (Width % LaneW != 0 && lane_i[Lanes-1])
                        word[Width-1-:Rest] = wdata_i[Width-1-:Rest];
                end
                mem[waddr_i] <= word;
            end
        end
    end
endmodule

`default_nettype wire
