// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Back of packet_manager: makes packets of the entries that leave.
//
// Function: An entry becomes one packet for each run of its sectors, in ascending order. The packet
// has the header that came first, with length and address of the run, then the run's flits from the
// payload RAM.
// Ports: next_take_o takes an entry. It starts when nothing more is written to it (hold_i). free_o:
// all of it has been read.
// Order: As taken, without a gap between entries.
// Back-pressure: st_ready_i. An entry that has started waits for nothing else.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module manager_send #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type claim_t = `MW_CLAIM(Cfg),
    parameter type stream_t = `MW_STREAM(Cfg),
    localparam int unsigned SlotW = Cfg.GpuW + Cfg.RpmW
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,

    input  wire claim_t      next_i,
    output logic             next_take_o,
    input  wire logic        hold_i,  // next_i is being written
    output logic             free_valid_o,
    output logic [SlotW-1:0] free_slot_o,

    output logic                      re_o,    // a word of the RAM, there in the next cycle
    output logic                      head_o,  // of a header: half word_o; else flit
                                               // word_o of its payload
    output logic [Cfg.PayW-1:0]       word_o,
    input  wire logic [Cfg.FlitW-1:0] data_i,

    output stream_t   st_o,
    input  wire logic st_ready_i
);
    import packet_pkg::*;
    localparam int unsigned SubW = Cfg.PayW - 2;  // of a flit in a sector

    logic active_q, in_pay_q, half_q, head_q, out_half_q, step, run_end, sector_end, done;
    logic [3:0] mask_q, above;  // sectors that have not been read; those behind the run
    logic [SlotW-1:0] slot_q;
    logic [Cfg.PayW-1:0] flit_q;  // of the line
    logic [1:0] first;  // sector of the run
    logic [2:0] sectors;

    // The run: adding its lowest sector carries through it.
    always_comb begin
        automatic logic [3:0] low = mask_q & (~mask_q + 1'b1);
        automatic logic [3:0] run;
        above = mask_q & (mask_q + low);
        run = mask_q & ~above;
        first = {low[3] || low[2], low[3] || low[1]};
        sectors = 3'(run[0]) + 3'(run[1]) + 3'(run[2]) + 3'(run[3]);
    end

    assign next_take_o = next_i.valid && !hold_i && (!active_q || done);
    assign step = active_q && (!st_o.valid || st_ready_i);
    assign sector_end = flit_q[SubW-1:0] == '1;
    assign run_end = step && in_pay_q && sector_end
                     && 3'(flit_q[Cfg.PayW-1-:2]) + 3'd1 == 3'(first) + sectors;
    assign done = run_end && above == '0;
    assign free_valid_o = done;
    assign free_slot_o = slot_q;
    assign re_o = step;
    assign head_o = !in_pay_q;
    assign word_o = in_pay_q ? flit_q : Cfg.PayW'(half_q);

    always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
            active_q <= 1'b0;
            st_o.valid <= 1'b0;
            in_pay_q <= 1'b0;
            half_q <= 1'b0;
        end else begin
            if (next_take_o) active_q <= 1'b1;
            else if (done) active_q <= 1'b0;
            if (step) st_o.valid <= 1'b1;
            else if (st_ready_i) st_o.valid <= 1'b0;
            if (run_end) in_pay_q <= 1'b0;
            else if (step && (Cfg.HeadFlits == 1 || half_q)) in_pay_q <= 1'b1;
            if (step) half_q <= Cfg.HeadFlits == 2 && !in_pay_q && !half_q;
        end
        if (next_take_o) begin
            slot_q <= {next_i.part, next_i.idx};
            mask_q <= next_i.mask;
        end else if (run_end) begin
            mask_q <= above;
        end
        if (!in_pay_q) flit_q <= {first, SubW'(0)};
        else if (step) flit_q <= flit_q + 1'b1;
        if (step) begin
            st_o.last <= run_end;
            head_q <= !in_pay_q;
            out_half_q <= half_q;
        end
    end

    // The run is that of the header on its way out: its last flit is read later.
    always_comb begin
        automatic header_t header;
        header = header_t'((Cfg.HeadFlits == 2 && out_half_q) ? 128'(data_i) << Cfg.FlitW
                           : 128'(data_i));
        header.len = 15'({sectors, 5'd0});
        header.addr[6:0] = {first, 5'd0};
        st_o.data = !head_q ? data_i
                    : Cfg.FlitW'(header >> ((Cfg.HeadFlits == 2 && out_half_q) ? Cfg.FlitW : 0));
    end

    `MW_STABLE(st_o.valid, st_ready_i, {st_o.last, st_o.data}, "a flit changes before it is taken")
    `MW_CONTRACT(next_take_o, next_i.mask != '0, "a store without a sector")
endmodule

`default_nettype wire
