// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Makes the work of expert.rows: goes through the meta entries of the received rows and names every {row, list
// position} whose expert is on this GPU.
//
// Order: rows ascending, list positions ascending. push_o.row = row << k_shift | position, push_o.le the local expert;
// push_o.last rises after the last push was taken and stays until the instruction ends. Reads only the flits that hold
// expert IDs, one ahead of the one it works on; one ID per cycle. A row costs max(k, about 6 per flit) cycles. gt_base
// is a multiple of META_BYTES.
// An ID that is not in the expert map, or lives on another GPU, is passed over: the sender has checked the list.
`default_nettype none
`include "bundles.svh"

module expert_rows #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,
    /* verilator lint_off UNUSEDSIGNAL */  // a unit uses a part of the configuration
    input  wire node_pkg::node_cfg_t cfg_i,
    /* verilator lint_on UNUSEDSIGNAL */

    input  wire logic        run_i, // high while the instruction runs
    input  wire logic [15:0] recv_rows_i,

    output `MW_READ(Cfg)        rd_o,
    input  wire logic           rd_ready_i,
    input  wire `MW_ANSWER(Cfg) rd_i,

    output bundle_pkg::push_t push_o, // see expert_engine
    input  wire logic         push_ready_i,

    input  wire bundle_pkg::emap_write_t emap_i
);
    localparam int unsigned HalfW  = $clog2(isa_pkg::MetaBytes / 2);      // half words of an entry
    localparam int unsigned MetaFl = isa_pkg::MetaBytes / Cfg.FlitBytes;
    localparam int unsigned MetaW  = $clog2(MetaFl);
    // memory holds no more rows
    localparam int unsigned LineW  = (node_pkg::RowW < Cfg.MemBytesLog2) ? node_pkg::RowW : Cfg.MemBytesLog2;

    // IDs are the half words 2 + 2k .. 1 + 3k of an entry.
    logic [HalfW-1:0] first_half, last_half;
    assign first_half = HalfW'(2) + {cfg_i.k, 1'b0};
    assign last_half  = first_half + HalfW'(cfg_i.k) - HalfW'(1);

    // ---- reads ----------------------------------------------------------------
    logic [15:0]          row_q; // row and flit of the next read
    logic [MetaW-1:0]     flit_q;
    logic                 asked_q, next_valid_q, load, started_q;
    logic [Cfg.FlitW-1:0] next_q;

    assign rd_o.valid = run_i && started_q && row_q != recv_rows_i && !asked_q && !next_valid_q;
    assign rd_o.addr  = {cfg_i.gt_base[Cfg.MemBytesLog2-1:$clog2(isa_pkg::MetaBytes)] + (Cfg.AddrW-MetaW)'(row_q),
                         flit_q};

    always_ff @(posedge clk_i) begin
        if (!rst_ni || !run_i) begin
            started_q    <= 1'b0;
            row_q        <= '0;
            asked_q      <= 1'b0;
            next_valid_q <= 1'b0;
            flit_q       <= first_half[HalfW-1:Cfg.LaneW];
        end else begin
            started_q <= 1'b1;
            if (rd_o.valid && rd_ready_i) begin
                flit_q  <= (flit_q == last_half[HalfW-1:Cfg.LaneW]) ? first_half[HalfW-1:Cfg.LaneW] : flit_q + 1'b1;
                if (flit_q == last_half[HalfW-1:Cfg.LaneW]) row_q <= row_q + 1'b1;
                asked_q <= 1'b1;
            end
            if (rd_i.rvalid) asked_q <= 1'b0;
            if (rd_i.rvalid) next_valid_q <= 1'b1;
            else if (load) next_valid_q <= 1'b0;
        end
        if (rd_i.rvalid) next_q <= rd_i.rdata;
    end

    // ---- IDs --------------------------------------------------------------------
    logic [Cfg.FlitW-1:0] cur_q;
    logic                 cur_valid_q, step, row_end;
    logic [HalfW-1:0]     half_q;
    logic [3:0]           pos_q;
    logic [LineW-1:0]     base_q; // row << k_shift
    logic [15:0]          id;

    always_comb begin
        id = cur_q[15:0];
        for (int unsigned i = 1; i < Cfg.Lanes; i++) begin
            if (half_q[Cfg.LaneW-1:0] == Cfg.LaneW'(i)) id = cur_q[16*i +: 16];
        end
    end

    // A look-up is in the table's output register when look_q is high; it moves on when the push before it is taken.
    logic                  look_q, look_go, out_of_map_q, mine, push_q;
    logic [LineW-1:0]      look_row_q;
    logic [Cfg.LocalW-1:0] le;

    assign push_o.valid = push_q;
    assign look_go = !push_q || push_ready_i;
    assign step    = cur_valid_q && look_go;
    assign row_end = half_q == last_half;
    assign load    = next_valid_q && (!cur_valid_q || (step && (row_end || half_q[Cfg.LaneW-1:0] == '1)));

    table_ram #(.Width(1 + Cfg.LocalW), .Depth(Cfg.MaxExperts)) i_emap (
        .clk_i, .we_i(emap_i.we), .waddr_i(emap_i.addr[Cfg.ExpW-1:0]),
        .wdata_i({emap_i.data.valid && emap_i.data.gpu == cfg_i.port, emap_i.data.local_expert[Cfg.LocalW-1:0]}),
        .re_i(step), .raddr_i(id[Cfg.ExpW-1:0]), .rdata_o({mine, le})
    );

    always_ff @(posedge clk_i) begin
        if (!rst_ni || !run_i) begin
            cur_valid_q  <= 1'b0;
            look_q       <= 1'b0;
            push_q       <= 1'b0;
            half_q       <= first_half;
            pos_q        <= '0;
            base_q       <= '0;
        end else begin
            if (load) begin
                cur_valid_q <= 1'b1;
            end else if (step && (row_end || half_q[Cfg.LaneW-1:0] == '1)) begin
                cur_valid_q <= 1'b0;
            end
            if (step) begin
                half_q <= row_end ? first_half : half_q + 1'b1;
                pos_q  <= row_end ? '0 : pos_q + 1'b1;
                if (row_end) base_q <= base_q + (LineW'(1) << cfg_i.k_shift);
            end
            if (look_go) begin
                look_q       <= step;
                push_q       <= look_q && mine && !out_of_map_q;
            end
        end
        if (load) cur_q <= next_q;
        if (step) begin
            look_row_q   <= base_q | LineW'(pos_q);
            out_of_map_q <= (id >> Cfg.ExpW) != '0;
        end
        if (look_go && look_q) begin
            push_o.row <= node_pkg::RowW'(look_row_q);
            push_o.le  <= node_pkg::ExpertW'(le);
        end
    end

    assign push_o.last = run_i && started_q && row_q == recv_rows_i && !asked_q && !next_valid_q && !cur_valid_q
                         && !look_q && !push_q;
    wire unused = &{1'b0, emap_i.data.local_expert};
endmodule

`default_nettype wire
