// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Turns tiles into rows: reads the expert's list, and for each row computes its addresses and reads coefficient and gate weight.
//
// Order: tiles and rows as they come. Rows go to the data path in two parts: x_* (address of the hidden values, one row ahead) and
// row_* (everything the engine needs, up to 16 rows ahead). A row costs 6 cycles when memory answers at once; list reads run up to 16
// rows ahead. The list answers in order; so does memory, 3 cycles after the grant.
// Requires: a row stride of two flits or more, region bases aligned to two flits: every row begins at an even flit, and the last address bit is left out.
`default_nettype none

module expert_fetch #(
    parameter int unsigned FlitBytes    = 8,
    parameter int unsigned MemBytesLog2 = 14,
    parameter int unsigned CntW         = 11,  // rows of one expert
    localparam int unsigned FW    = 8 * FlitBytes,
    localparam int unsigned FlitW = $clog2(FlitBytes),
    localparam int unsigned AddrW = MemBytesLog2 - FlitW,
    localparam int unsigned PairW = AddrW - 1,              // address of a pair of flits
    localparam int unsigned RowW  = node_pkg::RowW,
    localparam int unsigned LeW   = node_pkg::ExpertW
) (
    input  wire logic                clk_i,
    input  wire logic                rst_ni,
    input  wire logic                go_i,
    /* verilator lint_off UNUSEDSIGNAL */  // a unit uses a part of the configuration
    input  wire node_pkg::node_cfg_t cfg_i,
    /* verilator lint_on UNUSEDSIGNAL */
    input  wire logic                unicast_i,     // list entries are received row << k_shift | list position

    input  wire logic                tile_valid_i,
    output logic                     tile_ready_o,  // its last row is asked for; depends on tile_valid_i
    input  wire logic                tile_allow_i,  // a tile may begin
    output logic                     tile_begin_o,  // its first row is asked for
    input  wire logic [LeW-1:0]      tile_le_i,
    input  wire logic [CntW-1:0]     tile_first_i,
    input  wire logic [7:0]          tile_rows_i,

    output logic                     list_valid_o,
    output logic [LeW-1:0]           list_le_o,
    output logic [RowW-1:0]          list_idx_o,
    input  wire logic                list_rvalid_i,
    /* verilator lint_off UNUSEDSIGNAL */  // memory may hold fewer rows
    input  wire logic [RowW-1:0]     list_row_i,
    /* verilator lint_on UNUSEDSIGNAL */
    input  wire logic [3:0]          list_pos_i,
    input  wire logic                hold_i,        // no room for tokens: ask the list for nothing more

    output logic                     rd_valid_o,
    input  wire logic                rd_ready_i,
    output logic [AddrW-1:0]         rd_addr_o,
    input  wire logic                rd_rvalid_i,
    input  wire logic [FW-1:0]       rd_rdata_i,

    output logic                     list_last_o,   // beside list_rvalid_i: last row of its tile

    output logic                     x_valid_o,
    input  wire logic                x_ready_i,
    output logic [PairW-1:0]         x_addr_o,

    output logic                     row_valid_o,
    input  wire logic                row_pop_i,
    output logic [PairW-1:0]         row_y_o,
    output logic                     row_last_o,    // of its tile
    output logic [31:0]              row_w_o,
    output logic [15:0]              row_c_o
);
    localparam int unsigned W     = MemBytesLog2;
    localparam int unsigned LineW = (RowW < W) ? RowW : W;  // memory holds no more rows
    localparam int unsigned Depth = 16, PtrW = 5;

    // ---- list reads -------------------------------------------------------------
    logic [7:0]      done_q, done_next;  // rows of the tile that were asked for
    logic [CntW-1:0] idx;
    logic [PtrW-1:0] req_q, rsp_q, pop_q;
    logic            last, room, info_pop, info_last;
    logic [LeW-1:0]  info_le;
    logic [LineW-1:0] info_row;
    logic [3:0]      info_pos;

    assign room         = req_q != {~pop_q[PtrW-1], pop_q[PtrW-2:0]};
    assign done_next    = done_q + 8'd1;
    assign last         = done_next == tile_rows_i;
    assign idx          = tile_first_i + CntW'(done_q);
    assign list_valid_o = tile_valid_i && room && !hold_i && (tile_allow_i || done_q != '0);
    assign tile_begin_o = list_valid_o && done_q == '0;
    assign list_le_o    = tile_le_i;
    assign list_idx_o   = RowW'(idx);
    assign tile_ready_o = list_valid_o && last;

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) begin
            done_q <= '0;
            req_q  <= '0;
            rsp_q  <= '0;
            pop_q  <= '0;
        end else begin
            if (list_valid_o) done_q <= last ? '0 : done_next;
            if (list_valid_o) req_q <= req_q + 1'b1;
            if (list_rvalid_i) rsp_q <= rsp_q + 1'b1;
            if (info_pop) pop_q <= pop_q + 1'b1;
        end
    end

    // What is known at the request, and what the list answers. The tokens' queue wants the last flag with the answer.
    lutram #(.Width(LeW + 1), .Depth(Depth)) i_info_req (
        .clk_i, .we_i(list_valid_o), .waddr_i(req_q[PtrW-2:0]), .wdata_i({tile_le_i, last}), .raddr_i(pop_q[PtrW-2:0]), .rdata_o({info_le, info_last})
    );
    lutram #(.Width(1), .Depth(Depth)) i_info_last (
        .clk_i, .we_i(list_valid_o), .waddr_i(req_q[PtrW-2:0]), .wdata_i(last), .raddr_i(rsp_q[PtrW-2:0]), .rdata_o(list_last_o)
    );
    lutram #(.Width(LineW + 4), .Depth(Depth)) i_info_rsp (
        .clk_i, .we_i(list_rvalid_i), .waddr_i(rsp_q[PtrW-2:0]), .wdata_i({list_row_i[LineW-1:0], list_pos_i}), .raddr_i(pop_q[PtrW-2:0]), .rdata_o({info_row, info_pos})
    );

    // ---- addresses, one step of a row per cycle -----------------------------------
    typedef enum logic [2:0] {
        Line,    // line = number of the row among the rows of all experts
        Coef,    // sum = address of the coefficient
        ReadC,   // read it; sum = address of the gate weight
        ReadW,   // read it; sum = address of the hidden values
        GiveX,   // give it to the data path; sum = address of the result
        GiveRow
    } step_e;

    step_e           step_q;
    logic [W-1:0]    line_q, operand, shifted, base;
    logic [W-1:1]    sum_q, sum;
    logic            unused_sum;  // no address is odd
    logic [3:0]      pos_q, pos;
    logic [4:0]      shift;
    logic [6:0]      low;
    logic [FlitW-3:0] word_c_q, word_w_q;
    logic            half_c_q, is_w_q;
    logic [PtrW-1:0] row_wr_q, row_w_q, row_rd_q;
    logic            row_room;

    // List position in the low bits of a unicast entry.
    assign pos = unicast_i ? info_row[3:0] & ~(4'hf << cfg_i.k_shift) : info_pos;

    always_comb begin
        operand = line_q;
        base    = '0;
        shift   = 5'(cfg_i.row_shift);
        low     = '0;
        case (step_q)
            Line: begin
                operand = W'(info_le);
                shift   = cfg_i.cap_shift;
            end
            Coef: begin
                operand = W'(info_le);
                shift   = 5'd1;
                base    = cfg_i.ce_base[W-1:0];
            end
            ReadC: begin
                shift = unicast_i ? 5'd7 - 5'(cfg_i.k_shift) : 5'(cfg_i.gate_shift);
                low   = {5'(pos_q) + 5'(unicast_i), 2'b00};  // behind the token in an entry of the meta table
                base  = cfg_i.gt_base[W-1:0];
            end
            ReadW: begin
                if (unicast_i) shift = 5'(cfg_i.row_shift) - 5'(cfg_i.k_shift);
                base = cfg_i.xd_base[W-1:0];
            end
            default: base = cfg_i.yd_base[W-1:0];
        endcase
        if (unicast_i && (step_q == ReadC || step_q == ReadW)) operand[3:0] &= 4'hf << cfg_i.k_shift;
        shifted = (operand << shift) | W'(low);
        {sum, unused_sum} = shifted + base;
    end

    assign rd_valid_o = step_q == ReadC || step_q == ReadW;
    assign rd_addr_o  = sum_q[W-1:FlitW];
    assign row_room   = row_wr_q != {~row_rd_q[PtrW-1], row_rd_q[PtrW-2:0]};
    assign info_pop   = step_q == GiveRow;

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) begin
            step_q    <= Line;
            x_valid_o <= 1'b0;
            row_wr_q  <= '0;
        end else begin
            if (x_ready_i) x_valid_o <= 1'b0;
            case (step_q)
                Line: if (rsp_q != pop_q && row_room) begin
                    line_q <= unicast_i ? W'(info_row) : shifted | W'(info_row);
                    pos_q  <= pos;
                    step_q <= Coef;
                end
                Coef: begin
                    sum_q  <= sum;
                    step_q <= ReadC;
                end
                ReadC: if (rd_ready_i) begin
                    sum_q    <= sum;
                    word_c_q <= sum_q[FlitW-1:2];
                    half_c_q <= sum_q[1];
                    step_q   <= ReadW;
                end
                ReadW: if (rd_ready_i) begin
                    sum_q    <= sum;
                    word_w_q <= sum_q[FlitW-1:2];
                    step_q   <= GiveX;
                end
                GiveX: if (!x_valid_o) begin
                    x_valid_o <= 1'b1;
                    x_addr_o  <= sum_q[W-1:FlitW+1];
                    sum_q     <= sum;
                    step_q    <= GiveRow;
                end
                default: begin
                    row_wr_q <= row_wr_q + 1'b1;
                    step_q   <= Line;
                end
            endcase
        end
    end

    // ---- rows for the data path -----------------------------------------------------
    // Memory answers with coefficient, weight, coefficient, .. : the next coefficient is asked for after the weight has come.
    logic [31:0] word;
    always_comb begin
        word = rd_rdata_i[31:0];
        for (int unsigned i = 1; i < FlitBytes / 4; i++) begin
            if ((is_w_q ? word_w_q : word_c_q) == (FlitW-2)'(i)) word = rd_rdata_i[32*i +: 32];
        end
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) begin
            is_w_q   <= 1'b0;
            row_w_q  <= '0;
            row_rd_q <= '0;
        end else begin
            if (rd_rvalid_i) is_w_q <= !is_w_q;
            if (rd_rvalid_i && is_w_q) row_w_q <= row_w_q + 1'b1;
            if (row_pop_i) row_rd_q <= row_rd_q + 1'b1;
        end
    end

    lutram #(.Width(PairW + 1), .Depth(Depth)) i_row_y (
        .clk_i, .we_i(step_q == GiveRow), .waddr_i(row_wr_q[PtrW-2:0]), .wdata_i({sum_q[W-1:FlitW+1], info_last}),
        .raddr_i(row_rd_q[PtrW-2:0]), .rdata_o({row_y_o, row_last_o})
    );
    lutram #(.Width(16), .Depth(Depth)) i_row_c (
        .clk_i, .we_i(rd_rvalid_i && !is_w_q), .waddr_i(row_w_q[PtrW-2:0]), .wdata_i(half_c_q ? word[31:16] : word[15:0]),
        .raddr_i(row_rd_q[PtrW-2:0]), .rdata_o(row_c_o)
    );
    lutram #(.Width(32), .Depth(Depth)) i_row_w (
        .clk_i, .we_i(rd_rvalid_i && is_w_q), .waddr_i(row_w_q[PtrW-2:0]), .wdata_i(word), .raddr_i(row_rd_q[PtrW-2:0]), .rdata_o(row_w_o)
    );
    assign row_valid_o = row_rd_q != row_wr_q && row_rd_q != row_w_q;
endmodule

`default_nettype wire
