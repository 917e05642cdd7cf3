// SPDX-License-Identifier: CERN-OHL-P-2.0
//
// Turns tiles into rows: requests each row of a tile from the tracker, computes its addresses,
// reads coefficient and gate weight.
//
// Function: If rows have scales (RowTypes), a row leaves as blocks of ScaleBlock elements. Each has
// addresses of its own, and the product of gate weight and scale in place of the weight. The scale
// is the block's or, if elements are e2m1, the row's. Blocks of those have eight scales besides.
// With gradients_i a row also has the address of a row of x (f), the factor of the coefficient
// alone, and its token. The token comes from the tracker's list, is the number of a gathered row,
// or is the first word of the row's entry in the meta table.
// Ports: The row stride must be four flits or more, and region bases aligned to four flits, so that
// every row starts with a group of four. row_o is stable for 4 cycles after row_take_i, and
// row_o.factor is complete 3 cycles after it. Memory answers 3 cycles after the grant. A
// multiplication by a power of two replaces each shifter, because it costs less.
// Order: Tiles and rows in the order of arrival.
// Latency: A row costs 6 cycles if memory answers at once. It is read when the previous row was
// taken. One complete row waits for the engine. For the next row the address of the coefficient is
// ready, and for the one after it the list's answer. A block costs 7 cycles. With gradients_i a row
// costs a cycle more, and two if its token is read.
`default_nettype none
`include "bundles.svh"

module expert_fetch #(
    parameter cfg_pkg::cfg_t Cfg = cfg_pkg::Default,
    parameter type tile_t = `MW_TILE(Cfg),
    parameter type read_t = `MW_READ(Cfg),
    parameter type answer_t = `MW_ANSWER(Cfg),
    parameter type work_t = `MW_WORK(Cfg)
) (
    input  wire logic clk_i,
    input  wire logic rst_ni,
    input  wire logic go_i,
    /* verilator lint_off UNUSEDSIGNAL */  // a unit uses a part of the configuration
    input  wire node_pkg::node_cfg_t cfg_i,
    /* verilator lint_on UNUSEDSIGNAL */
    input  wire logic unicast_i,   // list entries are received row << k_shift | list position
    input  wire logic gathered_i,  // of those: rows have entries of the routing table,
                                   // not of the meta table
    input  wire logic gradients_i,

    input  wire tile_t tile_i,
    output logic       tile_ready_o,  // its last row is requested; depends on tile_i

    output bundle_pkg::list_req_t list_o,
    input  wire logic             list_ready_i,
    // memory may hold fewer rows, and the token is the engine's
    /* verilator lint_off UNUSEDSIGNAL */
    input  wire bundle_pkg::list_rsp_t list_i,
    /* verilator lint_on UNUSEDSIGNAL */
    input  wire logic list_mine_i,  // the answer is for a row of this module

    output read_t        rd_o,
    input  wire logic    rd_ready_i,
    input  wire answer_t rd_i,

    output work_t     row_o,
    input  wire logic row_take_i,

    output logic busy_o  // rows are on their way
);
    localparam int unsigned W = Cfg.MemBytesLog2;
    // memory holds no more rows
    localparam int unsigned LineW = (node_pkg::RowW < W) ? node_pkg::RowW : W;
    localparam int unsigned LowW = Cfg.RowTypes ? 15 : 7;  // offset in what a shifted number names

    // ---- the list -----------------------------------------------------------------
    logic going_q, asked_q, info_valid_q, info_last_q, info_pop, ask, last, listed;
    logic [Cfg.CountW-1:0] idx_q, info_idx_q, at, behind;
    logic [node_pkg::ExpertW-1:0] info_le_q;
    logic [LineW-1:0] info_row_q;
    logic [3:0] info_pos_q;
    logic [node_pkg::TokenW-1:0] info_token_q;

    assign list_o.valid = tile_i.valid && !asked_q && !info_valid_q;
    assign list_o.le = tile_i.le;
    assign list_o.idx = node_pkg::RowW'(at);
    assign at = going_q ? idx_q : tile_i.first;
    assign behind = at + 1'b1;
    assign last = behind == tile_i.behind;
    assign ask = list_o.valid && list_ready_i;
    assign listed = list_i.rvalid && list_mine_i;
    assign tile_ready_o = ask && last;

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) begin
            going_q <= 1'b0;
            asked_q <= 1'b0;
            info_valid_q <= 1'b0;
        end else begin
            if (ask) going_q <= !last;
            if (ask) asked_q <= 1'b1;
            else if (listed) asked_q <= 1'b0;
            if (listed) info_valid_q <= 1'b1;
            else if (info_pop) info_valid_q <= 1'b0;
        end
        if (ask) begin
            idx_q <= behind;
            info_idx_q <= at;
            info_le_q <= tile_i.le;
            info_last_q <= last;
        end
        if (listed) begin
            info_row_q <= list_i.row[LineW-1:0];
            info_pos_q <= list_i.pos;
            info_token_q <= list_i.token;
        end
    end

    // ---- addresses, one step of a row per cycle -----------------------------------
    typedef enum logic [2:0] {
        Line,   // line = number of the row among the rows of all experts
        Coef,   // sum = address of the coefficient
        ReadC,  // read it; sum = address of the gate weight
        ReadW,  // read it; sum = address of the hidden values, of a scale, or of the token
        Extra,  // read the row's scale; sum = address of the first block's. Of gradients: give
                // the row of x; sum = address of the result
        ReadS,  // read it, a scale or the token; sum = address of the block, or of hidden values
        GiveX,  // give it; sum = address of the result, or of the row of x
        GiveY   // give it; sum = address of the next block's scale
    } step_e;

    step_e step_q;
    logic [W-1:0] line_q, operand, shifted, base;
    logic [W-1:1] sum_q, sum;
    logic unused_sum;  // no address is odd
    logic [3:0] pos_q, keep;
    logic [4:0] shift;
    logic [LowW-1:0] low;
    logic [Cfg.FlitLog2-3:0] word_c_q, word_w_q;
    logic half_c_q, is_c, last_q, next_busy_q;
    logic [node_pkg::ExpertW-1:0] le_q;
    logic [Cfg.CountW-1:0] place_q;

    // Of rows that have scales: elements of half a byte; blocks after the first; another one comes;
    // offsets of a block's result and of a scale, which lies behind the elements.
    logic scaled, fp4, later, more;
    logic [LowW-1:0] block_at, scale_at;

    logic gradients, tokened;  // rows of x count; and the token is read
    assign gradients = Cfg.GateGradients && gradients_i;
    assign tokened = gradients && unicast_i && !gathered_i;

    // List position in the low bits of a unicast entry.
    assign keep = unicast_i ? 4'hf << cfg_i.k_shift : 4'hf;

    always_comb begin
        operand = line_q;
        base = '0;
        shift = 5'(cfg_i.row_shift);
        low = '0;
        case (step_q)
            Line: begin
                operand = W'(info_le_q);
                shift = cfg_i.cap_shift;
            end
            Coef: begin
                operand = (Cfg.SourceLists && cfg_i.source_lists) ? W'(info_le_q) >> cfg_i.n_shift
                          : W'(info_le_q);
                shift = 5'd1;
                base = cfg_i.ce_base[W-1:0];
            end
            ReadC: begin
                shift = unicast_i ? 5'd7 - 5'(cfg_i.k_shift) : 5'(cfg_i.gate_shift);
                // behind the token in an entry of the meta table, behind all expert IDs
                // in one of the routing table
                low = LowW'({
                    5'(pos_q) + ((Cfg.Gathered
                                     && gathered_i) ? 5'(isa_pkg::ListBytes / 4) : 5'(unicast_i)),
                    2'b00
                });
                base = cfg_i.gt_base[W-1:0];
            end
            ReadW: begin
                if (unicast_i) shift = 5'(cfg_i.row_shift) - 5'(cfg_i.k_shift);
                base = cfg_i.xd_base[W-1:0];
                low = scale_at;
            end
            default: base = cfg_i.yd_base[W-1:0];
        endcase
        if (Cfg.GateGradients) begin
            if (step_q == ReadW && tokened) begin
                shift = 5'd7 - 5'(cfg_i.k_shift);
                base = cfg_i.gt_base[W-1:0];
            end
            if (step_q == GiveX && gradients) begin
                if (unicast_i) shift = 5'(cfg_i.row_shift) - 5'(cfg_i.k_shift);
                base = cfg_i.xf_base[W-1:0];
            end
        end
        if (Cfg.RowTypes) begin
            if ((step_q == Extra && fp4) || step_q == ReadS || (step_q == GiveY && scaled)) begin
                if (unicast_i) shift = 5'(cfg_i.row_shift) - 5'(cfg_i.k_shift);
                base = cfg_i.xd_base[W-1:0];
                low = (step_q != ReadS) ? scale_at : fp4 ? block_at >> 2 : block_at >> 1;
            end
            if (step_q == GiveX) low = block_at;
        end
        if (step_q == ReadC || step_q == ReadW
            || (Cfg.RowTypes && ((step_q == Extra && fp4) || step_q == ReadS || step_q == GiveY))
            || (Cfg.GateGradients && step_q == GiveX && gradients))
            operand[3:0] &= keep;
        shifted = (operand * (W'(1) << shift)) | W'(low);
        {sum, unused_sum} = shifted + base;
    end

    assign rd_o.valid = (step_q == ReadC && !next_busy_q) || step_q == ReadW
                        || (Cfg.RowTypes && step_q == Extra && fp4)
                        || (Cfg.RowTypes && step_q == ReadS && !(later && next_busy_q));
    assign rd_o.addr = sum_q[W-1:Cfg.FlitLog2];
    assign info_pop = step_q == Coef;
    assign busy_o = asked_q || info_valid_q || step_q != Line || next_busy_q;

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) begin
            step_q <= Line;
            next_busy_q <= 1'b0;
        end else begin
            if (row_take_i) next_busy_q <= 1'b0;
            case (step_q)
                Line:
                if (info_valid_q) begin
                    line_q <= unicast_i ? W'(info_row_q) : shifted | W'(info_row_q);
                    pos_q <= unicast_i ? info_row_q[3:0] & ~keep : info_pos_q;
                    le_q <= info_le_q;
                    place_q <= info_idx_q;
                    last_q <= info_last_q;
                    step_q <= Coef;
                end
                Coef: begin
                    sum_q <= sum;
                    step_q <= ReadC;
                end
                ReadC:
                if (rd_ready_i && !next_busy_q) begin
                    sum_q <= sum;
                    word_c_q <= sum_q[Cfg.FlitLog2-1:2];
                    half_c_q <= sum_q[1];
                    next_busy_q <= 1'b1;
                    step_q <= ReadW;
                end
                ReadW:
                if (rd_ready_i) begin
                    sum_q <= sum;
                    word_w_q <= sum_q[Cfg.FlitLog2-1:2];
                    step_q <= !(Cfg.RowTypes && (scaled || tokened)) ? GiveX : fp4 ? Extra : ReadS;
                end
                Extra:
                if (Cfg.RowTypes && (rd_ready_i || !fp4)) begin
                    sum_q <= sum;
                    step_q <= fp4 ? ReadS : GiveY;
                end
                ReadS:
                if (Cfg.RowTypes && rd_ready_i && !(later && next_busy_q)) begin
                    sum_q <= sum;
                    next_busy_q <= 1'b1;
                    step_q <= GiveX;
                end
                GiveX: begin
                    row_o.x <= sum_q[W-1:Cfg.FlitLog2+2];
                    sum_q <= sum;
                    step_q <= (Cfg.GateGradients && gradients) ? Extra : GiveY;
                end
                default: begin
                    row_o.y <= sum_q[W-1:Cfg.FlitLog2+2];
                    row_o.last <= last_q && !(Cfg.RowTypes && more);
                    row_o.le <= le_q;
                    row_o.idx <= place_q;
                    if (Cfg.RowTypes) sum_q <= sum;
                    step_q <= (Cfg.RowTypes && more) ? ReadS : Line;
                end
            endcase
        end
    end

    // ---- coefficient, weight and scales, in this order ----------------------------------
    logic [31:0] word, w_q, weight;
    logic [15:0] c_q;
    logic [Cfg.FlitLog2-3:0] word_at;
    logic is_w, is_token, start_q, done;  // done: the last of a row or block is here

    always_comb begin
        word = rd_i.rdata[31:0];
        for (int unsigned i = 1; i < Cfg.FlitBytes / 4; i++) begin
            if (word_at == (Cfg.FlitLog2 - 2)'(i)) word = rd_i.rdata[32*i+:32];
        end
    end

    always_ff @(posedge clk_i) begin
        if (!rst_ni || go_i) begin
            start_q <= 1'b0;
            row_o.valid <= 1'b0;
        end else begin
            start_q <= done;
            if (done) row_o.valid <= 1'b1;
            else if (row_take_i) row_o.valid <= 1'b0;
        end
        if (rd_i.rvalid && is_c) c_q <= half_c_q ? word[31:16] : word[15:0];
        if (rd_i.rvalid && is_w) w_q <= word;
    end

    if (Cfg.RowTypes) begin : gen_scales
        typedef enum logic [1:0] {
            Coefficient,
            Weight,
            RowScale,
            Scale         // or the token
        } answer_e;

        localparam int unsigned BlockLog2 = $clog2(packet_pkg::ScaleBlock);
        localparam int unsigned BlockW = 14 - BlockLog2;

        answer_e answer_q;
        logic [BlockW-1:0] block_q, blocks;  // that is next; of a row
        logic more_q, is_s;  // the block of the next answer is not the row's last
        logic [1:0] done_q;
        logic [31:0] scale_q, product;
        logic [63:0] scales_q;
        logic [Cfg.FlitLog2-3:0] word_s_q;

        assign fp4 = cfg_i.dispatch_type == packet_pkg::ROWTYPE_NVFP4;
        assign scaled = fp4 || cfg_i.dispatch_type == packet_pkg::ROWTYPE_E4M3_BLOCKS;
        assign blocks = cfg_i.row_bytes[14:BlockLog2+1];
        assign later = block_q != '0;
        assign more = scaled && block_q != blocks;
        assign block_at = LowW'({block_q, (BlockLog2 + 1)'(0)});
        // four bytes for each block, or eight for the row and eight for each block
        always_comb begin
            scale_at = '0;
            if (fp4) begin
                scale_at = LowW'(cfg_i.row_bytes[14:2])
                           + LowW'({block_q + BlockW'(step_q != ReadW), 3'b000});
            end else if (scaled) begin
                scale_at = LowW'(cfg_i.row_bytes[14:1]) + LowW'({block_q, 2'b00});
            end
        end

        always_ff @(posedge clk_i) begin
            if (step_q == Line) block_q <= '0;
            else if (step_q == GiveX && scaled) block_q <= block_q + 1'b1;
            if (step_q == GiveX) more_q <= scaled && block_q + 1'b1 != blocks;
        end

        assign is_c = answer_q == Coefficient;
        assign is_w = answer_q == Weight;
        assign is_s = answer_q == Scale;
        assign is_token = is_s && tokened;
        assign done = scaled ? done_q[1] : rd_i.rvalid && (tokened ? is_s : is_w);
        assign word_at = is_c ? word_c_q : is_w ? word_w_q : is_s ? word_s_q : '0;
        assign row_o.scales = scales_q;

        always_ff @(posedge clk_i) begin
            if (!rst_ni || go_i) begin
                answer_q <= Coefficient;
                done_q <= '0;
            end else begin
                done_q <= {done_q[0], rd_i.rvalid && is_s};
                if (rd_i.rvalid) begin
                    case (answer_q)
                        Coefficient: answer_q <= Weight;
                        Weight:
                        answer_q <= fp4 ? RowScale : (scaled || tokened) ? Scale : Coefficient;
                        RowScale: answer_q <= Scale;
                        default: answer_q <= more_q ? Scale : Coefficient;
                    endcase
                end
            end
            if (rd_i.rvalid && !is_c && !is_w && is_s != fp4) scale_q <= word;
        end

        if (Cfg.FlitBytes == 16) begin : gen_half
            always_ff @(posedge clk_i)
                if (rd_i.rvalid && is_s)
                    scales_q <= word_s_q[1] ? rd_i.rdata[127:64] : rd_i.rdata[63:0];
        end else begin : gen_flit
            always_ff @(posedge clk_i) if (rd_i.rvalid && is_s) scales_q <= rd_i.rdata;
        end

        always_ff @(posedge clk_i)
            if (step_q == ReadS && rd_ready_i)
                word_s_q <= sum_q[Cfg.FlitLog2-1:2];

        scale_multiply i_multiply (
            .clk_i,
            .w_i(w_q),
            .s_i(scale_q),
            .p_o(product)
        );
        assign weight = scaled ? product : w_q;
    end else begin : gen_no_scales
        logic is_w_q;

        assign {scaled, fp4, later, more} = '0;
        assign row_o.scales = '0;
        assign {block_at, scale_at} = '0;
        assign is_c = !is_w_q;
        assign is_w = is_w_q;
        assign is_token = 1'b0;
        assign done = rd_i.rvalid && is_w_q;
        assign word_at = is_w_q ? word_w_q : word_c_q;
        assign weight = w_q;

        always_ff @(posedge clk_i) begin
            if (!rst_ni || go_i) is_w_q <= 1'b0;
            else if (rd_i.rvalid) is_w_q <= !is_w_q;
        end

        logic unused;
        assign unused = &{1'b0, fp4, later, more, block_at};
    end

    expert_factor i_factor (
        .clk_i,
        .start_i(start_q),
        .c_i(c_q),
        .w_i(weight),
        .factor_o(row_o.factor)
    );

    // ---- gradients ------------------------------------------------------------------------
    if (Cfg.GateGradients) begin : gen_gradients
        logic [node_pkg::TokenW-1:0] token_q;

        if (!Cfg.RowTypes) begin : gen_check
            $error("expert_fetch: GateGradients needs RowTypes, whose reads a token follows");
        end

        expert_factor i_factor_f (
            .clk_i,
            .start_i(start_q),
            .c_i(c_q),
            .w_i(fp_pkg::One32),
            .factor_o(row_o.factor_f)
        );

        always_ff @(posedge clk_i) begin
            if (step_q == Line)
                token_q <= unicast_i ? node_pkg::TokenW'(info_row_q >> cfg_i.k_shift)
                           : info_token_q;
            if (step_q == Extra) begin
                row_o.f <= sum_q[W-1:Cfg.FlitLog2+2];
                row_o.pos <= pos_q;
            end
            if (step_q == Extra && !tokened) row_o.token <= token_q;
            else if (rd_i.rvalid && is_token) row_o.token <= word[node_pkg::TokenW-1:0];
        end
    end else begin : gen_no_gradients
        assign {row_o.f, row_o.factor_f, row_o.token, row_o.pos} = '0;
    end
endmodule

`default_nettype wire
