// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Keeps the outputs of a source's open row, for its packets without targets (cnt 0: followers).
//
// Function: An accepted dymultimem.st with targets opens the row, and replaces an older one. With
// stage GATE it leaves none open. FLAT packets do not affect rows. A follower goes to the outputs
// of the open row. A follower with stage GATE closes the row. A rejected dymultimem.st, one whose
// copies are marked bad, a packet of class STORE whose header is lost, and a new epoch also close
// it. Packets of other kinds may come in between, accepted or rejected. A list opens no row if the
// epoch changes after its header.
// Order: The order of the packets. The effect of a packet is visible in the next cycle. A new epoch
// closes the row in its first cycle. A header may be present in that cycle that was checked against
// the row.
// Back-pressure: None.
// Latency: One open row per input, with all outputs.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module row_outputs #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type row_outputs_t = `MW_ROW_OUTPUTS(Cfg)
) (
    input  wire logic       clk_i,
    input  wire logic       rst_ni,
    input  wire logic [1:0] epoch_i,

    input  wire logic                head_i,    // a header is complete
    input  wire packet_pkg::header_t header_i,  // with head_i
    input  wire logic                follow_i,  // with head_i: it is a follower's
    input  wire logic                accept_i,  // the packet is accepted
    input  wire logic [Cfg.N-1:0]    mask_i,    // with accept_i: its outputs
    input  wire logic                reject_i,  // it is rejected, and of class STORE
    input  wire logic                lost_i,    // its header is lost, and it is of class STORE
    input  wire logic                wrong_i,   // its payload has ended, and is marked bad

    output row_outputs_t row_o
);
    import packet_pkg::*;

    // keep: the row is open behind the packet
    logic dynamic, dynamic_q, keep, keep_q, of_row, of_row_q;
    logic open_q, turned;
    logic [1:0] epoch_q;

    assign turned = epoch_q != epoch_i;
    assign row_o.valid = open_q && !turned;
    assign dynamic = head_i ? cfg_pkg::stores_row(Cfg.RowSparse, header_i.opcode) : dynamic_q;
    assign of_row = head_i ? dynamic && header_i.stage != STAGE_FLAT : of_row_q && !turned;
    assign keep = head_i ? header_i.stage != STAGE_GATE : keep_q;

    always_ff @(posedge clk_i) begin
        epoch_q <= epoch_i;
        {dynamic_q, of_row_q, keep_q} <= {dynamic, of_row, keep};
        if (!rst_ni || lost_i || (reject_i && dynamic) || (wrong_i && dynamic_q)) open_q <= 1'b0;
        else if (accept_i && of_row) open_q <= keep;
        else if (turned) open_q <= 1'b0;
        if (accept_i && of_row && !(head_i && follow_i)) row_o.mask <= mask_i;
    end

    `MW_CONTRACT(accept_i, !reject_i, "a packet is accepted and rejected")
    `MW_CONTRACT(accept_i && head_i && follow_i, row_o.valid,
                 "a follower without an open row is accepted")
    `MW_CONTRACT(row_o.valid, row_o.mask != '0, "an open row without outputs")
endmodule

`default_nettype wire
