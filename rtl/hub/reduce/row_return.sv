// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Finished rows of the expert engine: rows that return to another GPU go to row_build, all others
// are reported to unit control.
//
// Function: A row that returns waits in a queue for its home, and goes to row_build as an item of
// unit push, one at a time. For all others unit control gets the token (sig_o). With source_lists a
// tile has rows of one home. When its last row has left, the home is notified (tile_o).
// Order: Rows for a home as the engine names them, and tiles after their rows. Rows for different
// homes may pass each other. Homes alternate, and each has at most one item that has not left
// (left_i). A home with a busy downlink therefore delays rows for others only when its queue is
// full.
// Back-pressure: ready_o. A row that returns waits for a place in its home's queue. The queue waits
// for a place among the rows of push (open_rows of them) and among the tiles to be reported.
`default_nettype none
`include "assert.svh"
`include "bundles.svh"

module row_return #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type back_t = `MW_BACK(Cfg),
    parameter int unsigned Depth = 64  // rows of a queue, a power of two
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire logic                go_i,
    input  wire node_pkg::node_cfg_t cfg_i,

    input  wire bundle_pkg::finished_t row_i,
    output logic                       ready_o,
    output bundle_pkg::token_t         sig_o,
    input  wire logic                  sig_ready_i,

    output back_t                     item_o,
    input  wire logic                 item_done_i,
    input  wire bundle_pkg::port_t    left_i,  // the last flit of an item's row for this home has

    output bundle_pkg::tile_back_t tile_o,
    input  wire logic              tile_ready_i,
    output logic                   idle_o
);
    if (Cfg.RowSparse) begin : gen_returns
        localparam int unsigned PtrW = $clog2(Depth) + 1;  // one more bit separates full from empty
        localparam int unsigned Most = 1;  // items of a home that have not left
        localparam int unsigned Tiles = 16;  // that are to be reported
        localparam int unsigned NumW = 13;  // of rows: more than those of
                                            // all tiles, twice

        typedef logic [PtrW-1:0] ptr_t;
        typedef struct packed {
            logic                      last;   // of its tile, which has so many rows
            logic [7:0]                rows;
            logic [Cfg.LineW-1:0]      row;
            logic [Cfg.TokensLog2-1:0] token;
            logic [3:0]                pos;
        } entry_t;

        logic [Cfg.GpuW-1:0] home, pick;
        logic [Cfg.N-1:0] some, full, can, grant;
        logic back, take, give, valid_q, tile_room;
        ptr_t wptr_q[Cfg.N], rptr_q[Cfg.N];
        logic [NumW-1:0] given_q[Cfg.N], left_q[Cfg.N];  // items for each home
        entry_t in, out;  // out: the item, from the cycle behind give on

        if (Cfg.RowsLog2 > Cfg.LineW) begin : gen_check
            $error("row_return: memory holds fewer rows than RowsLog2 says");
        end

        assign home = Cfg.GpuW'(row_i.token[Cfg.TokW-1:0] >> cfg_i.token_shift);
        assign back = row_i.back && home != cfg_i.port[Cfg.GpuW-1:0];
        assign sig_o.valid = row_i.valid && !back;
        assign ready_o = back ? !full[home] : sig_ready_i;
        assign take = row_i.valid && back && !full[home];
        assign item_o.valid = valid_q;
        assign in = '{
                last: row_i.last,
                rows: row_i.rows,
                row: Cfg.LineW'(row_i.le) << cfg_i.cap_shift | Cfg.LineW'(row_i.row),
                token: Cfg.TokensLog2'(row_i.token) & ~(~Cfg.TokensLog2'(0) << cfg_i.token_shift),
                pos: row_i.pos
            };

        for (genvar h = 0; h < Cfg.N; h++) begin : gen_home
            ptr_t level;
            logic [NumW-1:0] open;
            assign level = wptr_q[h] - rptr_q[h];
            assign open = given_q[h] - left_q[h];
            assign some[h] = level != '0;
            assign full[h] = level[PtrW-1];
            assign can[h] = some[h] && open < NumW'(Most) && tile_room;
            always_ff @(posedge clk_i) begin
                if (!rst_ni || go_i) begin
                    {wptr_q[h], rptr_q[h]} <= '0;
                    {given_q[h], left_q[h]} <= '0;
                end else begin
                    wptr_q[h] <= wptr_q[h] + ptr_t'(take && home == Cfg.GpuW'(h));
                    rptr_q[h] <= rptr_q[h] + ptr_t'(give && grant[h]);
                    given_q[h] <= given_q[h] + NumW'(give && grant[h]);
                    left_q[h] <= left_q[h]
                                 + NumW'(left_i.valid && left_i.port == packet_pkg::port_t'(h));
                end
            end
        end

        assign give = !valid_q && can != '0;

        rr_arb #(
            .N(Cfg.N)
        ) i_turn (
            .clk_i,
            .rst_ni,
            .clear_i(go_i),
            .req_i(can),
            .grant_o(grant),
            .idx_o(pick),
            .advance_i(give)
        );
        // A queue that is read has a row, and one that is full takes none: never the same address.
        ram_sdp #(
            .Width($bits(entry_t)),
            .Depth(Depth * 2 ** Cfg.GpuW)
        ) i_rows (
            .clk_i,
            .we_i(take),
            .waddr_i({home, wptr_q[home][PtrW-2:0]}),
            .wdata_i(in),
            .wbe_i('1),
            .re_i(give),
            .raddr_i({pick, rptr_q[pick][PtrW-2:0]}),
            .rdata_o(out)
        );

        always_ff @(posedge clk_i) begin
            if (!rst_ni || go_i) valid_q <= 1'b0;
            else valid_q <= valid_q ? !item_done_i : give;
            if (give) item_o.home <= pick;
        end

        assign item_o.row = out.row;
        assign item_o.token = out.token;
        assign item_o.pos = out.pos;

        if (Cfg.SourceLists) begin : gen_tiles
            logic [NumW-1:0] due, ahead;  // number of the row behind which the tile at
                                          // the front is reported
            logic [Cfg.GpuW-1:0] tile_home;
            logic waits, out_new_q;  // out is of the cycle before
            logic [$clog2(Tiles+1)-1:0] level;

            always_ff @(posedge clk_i) begin
                if (!rst_ni || go_i) out_new_q <= 1'b0;
                else out_new_q <= give;
            end

            fifo #(
                .Width(Cfg.GpuW + 8 + NumW),
                .Depth(Tiles)
            ) i_tiles (
                .clk_i,
                .rst_ni(rst_ni && !go_i),
                .valid_i(out_new_q && out.last && cfg_i.source_lists),
                .ready_o(tile_room),
                .data_i({item_o.home, out.rows, given_q[item_o.home]}),
                .valid_o(waits),
                .ready_i(tile_o.valid && tile_ready_i),
                .data_o({tile_home, tile_o.rows, due}),
                .level_o(level)
            );
            assign tile_o.home = packet_pkg::port_t'(tile_home);
            assign ahead = left_q[tile_home] - due;
            assign tile_o.valid = waits && !ahead[NumW-1];
            assign idle_o = some == '0 && !valid_q && !waits;
        end else begin : gen_no_tiles
            assign tile_room = 1'b1;
            assign tile_o = '0;
            assign idle_o = some == '0 && !valid_q;
        end
    end else begin : gen_signals
        assign sig_o.valid = row_i.valid;
        assign ready_o = sig_ready_i;
        assign item_o = '0;
        assign tile_o = '0;
        assign idle_o = 1'b1;
    end

    assign sig_o.token = row_i.token;

    `MW_CONTRACT(item_done_i, item_o.valid, "an item ends that is not there")
    `MW_NEXT(item_o.valid && !go_i && !item_done_i, item_o.valid && $stable(item_o),
             "an item changes before it is done")
endmodule

`default_nettype wire
