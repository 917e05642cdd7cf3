// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Turns loads of this GPU's rows into transfers for unit send: FETCH packets of other GPUs, and
// own rows of unit load.
//
// Function: The row with number index lies at load_base + (index << row_shift). Its LD_RESP
// packets carry the ref of its FETCH and the address index << row_shift. An own row goes to the
// local stream. If a row is not inside memory, its packets are poisoned, and their number is the
// same. With load_parts the module handles each part as a row, with the number and the stride of a
// part.
// Order: FETCHs in order of arrival, own rows in order of arrival, in turns.
// Back-pressure: The queue has a place for each row that other GPUs may load at a time
// (Cfg.LoadPlaces), so an expected FETCH is always accepted. If the queue is full, room_o is low.
// Transfers wait for xfer_take_i, own rows for own_ready_o.
// Latency: A transfer is offered two cycles after its FETCH, or three if the queue is in block
// RAM. An own row waits for one transfer. A FETCH waits for all earlier ones, and for one own row
// per FETCH.
`default_nettype none
`include "assert.svh"

module load_serve #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter int unsigned ShiftW = 40,  // of a transfer's address
    parameter int unsigned LutDepth = 128,  // the deepest queue in LUT RAM, as in grant_lanes
    localparam int unsigned LenW = (Cfg.MemBytesLog2 > 15) ? Cfg.MemBytesLog2 : 15
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire node_pkg::node_cfg_t cfg_i,

    input  wire logic                      push_i,
    output logic                           room_o,
    input  wire logic [Cfg.LoadIndexW-1:0] index_i,
    input  wire logic [15:0]               ref_i,

    input  wire logic                      own_valid_i,
    output logic                           own_ready_o,
    input  wire logic [Cfg.LoadIndexW-1:0] own_index_i,

    output logic                         xfer_valid_o,
    input  wire logic                    xfer_take_i,
    output logic                         xfer_own_o,
    output logic [15:0]                  xfer_ref_o,
    output logic                         xfer_poison_o,
    output logic [ShiftW-1:0]            xfer_addr_o,
    output logic [Cfg.AddrW-1:0]         xfer_from_o,
    output logic [LenW-1:0]              xfer_end_o,  // bytes, less 1
    output logic                         idle_o
);
    localparam int unsigned RowW = Cfg.LoadIndexW + 16;  // of a byte in all own rows
    localparam int unsigned SumW = ((RowW > 36) ? RowW : 36) + 2;

    logic [3:0] shift;
    logic [14:0] bytes;

    assign shift = bundle_pkg::load_shift(cfg_i.row_shift, cfg_i.load_parts);
    assign bytes = bundle_pkg::load_bytes(cfg_i.row_bytes, cfg_i.row_shift, cfg_i.load_parts);

    // ---- queue of FETCHs ------------------------------------------------------------------------
    logic here, take, take_own, push, own_first_q;
    logic [$clog2(Cfg.LoadPlaces+1)-1:0] level;
    logic [Cfg.LoadIndexW-1:0] fetch_index, index;
    logic [15:0] fetch_ref;

    assign push = push_i && room_o;

    fifo_sized #(
        .Width(Cfg.LoadIndexW + 16),
        .Depth(Cfg.LoadPlaces),
        .LutDepth(LutDepth)
    ) i_fetches (
        .clk_i,
        .rst_ni,
        .valid_i(push),
        .ready_o(room_o),
        .data_i({index_i, ref_i}),
        .valid_o(here),
        .ready_i(take && !take_own),
        .data_o({fetch_index, fetch_ref}),
        .level_o(level)
    );

    // ---- a transfer -----------------------------------------------------------------------------
    logic [RowW-1:0] row;
    logic [SumW-1:0] first, behind;

    assign take = !xfer_valid_o || xfer_take_i;
    assign take_own = own_valid_i && (own_first_q || !here);
    assign own_ready_o = take && take_own;
    assign index = take_own ? own_index_i : fetch_index;
    // a multiplication for a shift: see rx_extent
    assign row = RowW'(index) * RowW'(16'd1 << shift);
    assign first = SumW'(cfg_i.load_base) + SumW'(row);
    assign behind = first + SumW'(bytes);

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            xfer_valid_o <= 1'b0;
            own_first_q <= 1'b0;
        end else if (take) begin
            xfer_valid_o <= here || own_valid_i;
            if (here || own_valid_i) own_first_q <= !take_own;
        end
        if (take) begin
            xfer_own_o <= take_own;
            xfer_ref_o <= take_own ? '0 : fetch_ref;
            xfer_poison_o <= (behind - 1'b1) >> Cfg.MemBytesLog2 != '0;
            xfer_addr_o <= ShiftW'(row);
            xfer_from_o <= first[Cfg.MemBytesLog2-1:Cfg.FlitLog2];
        end
    end

    assign xfer_end_o = LenW'(bytes) - 1'b1;
    assign idle_o = level == '0 && !xfer_valid_o;


    `MW_STABLE(xfer_valid_o, xfer_take_i, {xfer_own_o, xfer_ref_o, xfer_poison_o, xfer_addr_o,
                                           xfer_from_o}, "a transfer changes before it is taken")
endmodule

`default_nettype wire
